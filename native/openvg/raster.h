// Coverage and composition: what drawing paths and images shares.
#pragma once
#include <agg_rasterizer_scanline_aa.h>
#include <agg_scanline_u.h>

#include "engine.h"

namespace dt::vg {

// Programs give coordinates far outside; clipping in double keeps them from overflowing AGG's fixed point.
using Rasterizer = agg::rasterizer_scanline_aa<agg::rasterizer_sl_clip_dbl>;

// Gives the source of a pixel: its colour (premultiplied, in the space of the surface), or one alpha a channel.
struct Source {
  Color color;
  Color alphas;  // of each channel; used where `by_channel`
};

class Painter {
 public:
  virtual ~Painter() = default;
  virtual Source at(int x, int y) const = 0;
  virtual bool constant() const { return false; }
  virtual bool by_channel() const { return false; }
};

// Colours of one paint on one surface.
class PaintSource {
 public:
  PaintSource(const Context& context, const Paint& paint, const Matrix& paint_to_surface, Space target);
  bool drawable() const { return drawable_; }
  bool constant() const { return kind_ == VG_PAINT_TYPE_COLOR; }
  Color at(double x, double y) const;  // of a place on the surface, in the target space

 private:
  Color ramp(double t) const;

  const Context& context_;
  const Paint& paint_;
  Space target_;
  Matrix to_paint_;
  int kind_;
  bool drawable_ = true;
  Color solid_;
  struct Stop {
    double offset;
    Color color;  // in ramp space (maybe premultiplied), sRGB
  };
  std::vector<Stop> stops_;
  Point focus_;
  double radius_ = 0;
  bool degenerate_ = false;  // a gradient without extent: the last colour everywhere
};

// The space in which a surface is blended: its own, premultiplied.
Space blend_space(const Surface& surface);

// A colour as the context's colour transform makes it; premultiplied before and after.
Color transformed(const Context& context, Color color);

// The rasterizer begins anew, for the context's surface and in its quality.
void prepare(const Context& context, Rasterizer& rasterizer);

// Compose what the rasterizer covers with the context's surface.
void compose(Context& context, Rasterizer& rasterizer, const Painter& painter);

// The parts of row y that may be drawn, as [begin, end), in order and apart.
class RowClip {
 public:
  explicit RowClip(const Context& context);
  const std::vector<std::pair<int, int>>& row(int y);
  const Rect& area() const { return area_; }

 private:
  Rect area_;
  std::vector<Rect> rects_;
  std::vector<std::pair<int, int>> intervals_;
  int last_ = -1;
};

}  // namespace dt::vg
