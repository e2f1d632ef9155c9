// Filling and stroking paths, paints, and composition with the surface (OpenVG 1.1, chapters 8, 9 and 13).
#include "raster.h"

#include <agg_conv_stroke.h>
#include <agg_gamma_functions.h>
#include <agg_path_storage.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace dt::vg {

namespace {

constexpr Space PLAIN{};          // sRGBA, not premultiplied: how programs give colours
constexpr double FLATNESS = 0.1;  // of a pixel

Color mix(Color a, Color b, float t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t, a.a + (b.a - a.a) * t};
}

}  // namespace

Rect bounds(const Surface& surface) { return {0, 0, surface.width(), surface.height()}; }

Space blend_space(const Surface& surface) {
  Space space = surface.color->format.space;
  space.premultiplied = true;
  return space;
}

std::vector<Rect> scissor(const Context& context) {
  std::vector<Rect> result;
  Rect area = bounds(*context.surface);
  if (!context.scissoring) return {area};
  for (size_t i = 0; i + 3 < context.scissor_rects.size(); i += 4) {
    const VGint* r = context.scissor_rects.data() + i;
    Rect rect = intersection({r[0], r[1], r[2], r[3]}, area);
    if (!rect.empty()) result.push_back(rect);
  }
  return result;
}

RowClip::RowClip(const Context& context) : area_(bounds(*context.surface)), rects_(scissor(context)) {}

const std::vector<std::pair<int, int>>& RowClip::row(int y) {
  if (y == last_) return intervals_;
  last_ = y;
  intervals_.clear();
  for (const Rect& rect : rects_)
    if (y >= rect.y && y < rect.y + rect.height) intervals_.emplace_back(rect.x, rect.x + rect.width);
  if (intervals_.size() < 2) return intervals_;
  std::sort(intervals_.begin(), intervals_.end());
  size_t kept = 0;
  for (size_t i = 1; i < intervals_.size(); i++) {
    if (intervals_[i].first <= intervals_[kept].second)
      intervals_[kept].second = std::max(intervals_[kept].second, intervals_[i].second);
    else
      intervals_[++kept] = intervals_[i];
  }
  intervals_.resize(kept + 1);
  return intervals_;
}

// ---- paints

PaintSource::PaintSource(const Context& context, const Paint& paint, const Matrix& paint_to_surface, Space target)
    : context_(context), paint_(paint), target_(target), kind_(paint.type) {
  if (kind_ == VG_PAINT_TYPE_PATTERN && !paint.pattern) kind_ = VG_PAINT_TYPE_COLOR;
  if (kind_ == VG_PAINT_TYPE_COLOR) {
    solid_ = convert(clamped(paint.color.data()), PLAIN, target);
    return;
  }
  if (!paint_to_surface.inverse(to_paint_)) {
    drawable_ = false;
    return;
  }
  if (kind_ == VG_PAINT_TYPE_PATTERN) return;
  // Stops outside 0..1 are ignored; where offsets fall, all of them are.
  bool falls = false;
  double last = -1;
  for (size_t i = 0; i + 4 < paint.stops.size(); i += 5) {
    double offset = paint.stops[i];
    if (offset < 0 || offset > 1) continue;
    falls |= offset < last;
    last = offset;
    Color color = clamped(paint.stops.data() + i + 1);
    stops_.push_back({offset, paint.ramp_premultiplied ? convert(color, PLAIN, {false, true, false}) : color});
  }
  if (falls || stops_.empty()) stops_ = {{0, {0, 0, 0, 1}}, {1, {1, 1, 1, 1}}};
  if (stops_.front().offset > 0) stops_.insert(stops_.begin(), {0, stops_.front().color});
  if (stops_.back().offset < 1) stops_.push_back({1, stops_.back().color});
  if (kind_ == VG_PAINT_TYPE_LINEAR_GRADIENT) {
    const auto& g = paint.linear;
    degenerate_ = g[0] == g[2] && g[1] == g[3];
    return;
  }
  const auto& g = paint.radial;
  radius_ = g[4];
  degenerate_ = !(radius_ > 0);
  // A focus outside the circle is brought just inside it.
  focus_ = {(double)g[2] - g[0], (double)g[3] - g[1]};
  double away = length(focus_), most = radius_ * 0.999;
  if (!degenerate_ && away > most) focus_ = focus_ * (most / away);
}

Color PaintSource::ramp(double t) const {
  switch (paint_.spread) {
    case VG_COLOR_RAMP_SPREAD_REPEAT: t -= std::floor(t); break;
    case VG_COLOR_RAMP_SPREAD_REFLECT: t = std::fabs(t - 2 * std::floor(t / 2 + 0.5)); break;
    default: t = std::clamp(t, 0.0, 1.0); break;
  }
  auto above =
      std::upper_bound(stops_.begin(), stops_.end(), t, [](double at, const Stop& s) { return at < s.offset; });
  Color color;
  if (above == stops_.begin()) {
    color = stops_.front().color;
  } else if (above == stops_.end()) {
    color = stops_.back().color;
  } else {
    const Stop &a = *(above - 1), &b = *above;
    color = mix(a.color, b.color, (float)((t - a.offset) / (b.offset - a.offset)));
  }
  return convert(color, {false, paint_.ramp_premultiplied, false}, target_);
}

Color PaintSource::at(double x, double y) const {
  if (kind_ == VG_PAINT_TYPE_COLOR) return solid_;
  Point p = to_paint_.apply({x, y});
  if (kind_ == VG_PAINT_TYPE_PATTERN) {
    Color outside = convert(clamped(context_.tile_fill_color.data()), PLAIN, target_);
    return sample(*paint_.pattern, p.x, p.y, paint_.tiling, outside, target_, used_quality(context_, *paint_.pattern));
  }
  if (degenerate_) return convert(stops_.back().color, {false, paint_.ramp_premultiplied, false}, target_);
  if (kind_ == VG_PAINT_TYPE_LINEAR_GRADIENT) {
    const auto& g = paint_.linear;
    double dx = (double)g[2] - g[0], dy = (double)g[3] - g[1];
    return ramp(((p.x - g[0]) * dx + (p.y - g[1]) * dy) / (dx * dx + dy * dy));
  }
  const auto& g = paint_.radial;
  double dx = p.x - g[0] - focus_.x, dy = p.y - g[1] - focus_.y, r2 = radius_ * radius_;
  double cross = dx * focus_.y - dy * focus_.x;
  double root = std::sqrt(std::max(0.0, r2 * (dx * dx + dy * dy) - cross * cross));
  return ramp((dx * focus_.x + dy * focus_.y + root) / (r2 - focus_.x * focus_.x - focus_.y * focus_.y));
}

// ---- composition

Color transformed(const Context& context, Color color) {
  if (!context.color_transform) return color;
  const auto& v = context.color_transform_values;
  auto scale = [&](size_t i) { return std::clamp(v[i], -127.0f, 127.0f); };
  auto bias = [&](size_t i) { return std::clamp(v[4 + i], -1.0f, 1.0f); };
  float factor = color.a > 0 ? 1 / color.a : 0;
  Color plain{color.r * factor, color.g * factor, color.b * factor, color.a};
  plain.r = clamp01(plain.r * scale(0) + bias(0));
  plain.g = clamp01(plain.g * scale(1) + bias(1));
  plain.b = clamp01(plain.b * scale(2) + bias(2));
  plain.a = clamp01(plain.a * scale(3) + bias(3));
  return {plain.r * plain.a, plain.g * plain.a, plain.b * plain.a, plain.a};
}

namespace {

// One channel; all values premultiplied. `sa`: the alpha of the source for this channel.
float blend(VGint mode, float s, float sa, float d, float da) {
  switch (mode) {
    case VG_BLEND_SRC: return s;
    case VG_BLEND_DST_OVER: return d + s * (1 - da);
    case VG_BLEND_SRC_IN: return s * da;
    case VG_BLEND_DST_IN: return d * sa;
    case VG_BLEND_MULTIPLY: return s * (1 - da) + d * (1 - sa) + s * d;
    case VG_BLEND_SCREEN: return s + d - s * d;
    case VG_BLEND_DARKEN: return std::min(s + d * (1 - sa), d + s * (1 - da));
    case VG_BLEND_LIGHTEN: return std::max(s + d * (1 - sa), d + s * (1 - da));
    case VG_BLEND_ADDITIVE: return std::min(s + d, 1.0f);
    default: return s + d * (1 - sa);
  }
}

// Alpha blends as a channel does, except where colours alone are multiplied.
float blend_alpha(VGint mode, float sa, float da) {
  switch (mode) {
    case VG_BLEND_SRC: return sa;
    case VG_BLEND_SRC_IN:
    case VG_BLEND_DST_IN: return sa * da;
    case VG_BLEND_ADDITIVE: return std::min(sa + da, 1.0f);
    default: return sa + da * (1 - sa);
  }
}

Color blended(VGint mode, const Source& source, bool by_channel, Color d) {
  const Color &s = source.color, &a = source.alphas;
  float ar = by_channel ? a.r : s.a, ag = by_channel ? a.g : s.a, ab = by_channel ? a.b : s.a;
  return {blend(mode, s.r, ar, d.r, d.a), blend(mode, s.g, ag, d.g, d.a), blend(mode, s.b, ab, d.b, d.a),
          blend_alpha(mode, s.a, d.a)};
}

class SolidPainter final : public Painter {
 public:
  explicit SolidPainter(Color color) : source_{color, {}} {}
  Source at(int, int) const override { return source_; }
  bool constant() const override { return true; }

 private:
  Source source_;
};

class PathPainter final : public Painter {
 public:
  PathPainter(const Context& context, const PaintSource& paint) : context_(context), paint_(paint) {}
  Source at(int x, int y) const override { return {transformed(context_, paint_.at(x + 0.5, y + 0.5)), {}}; }

 private:
  const Context& context_;
  const PaintSource& paint_;
};

// Calls `span(y, x, count, covers)` for what is covered.
template <class Span> void sweep(Rasterizer& rasterizer, Span span) {
  if (!rasterizer.rewind_scanlines()) return;
  agg::scanline_u8 line;
  line.reset(rasterizer.min_x(), rasterizer.max_x());
  while (rasterizer.sweep_scanline(line)) {
    auto it = line.begin();
    for (unsigned i = line.num_spans(); i; i--, ++it) span(line.y(), it->x, it->len, it->covers);
  }
}

}  // namespace

void compose(Context& context, Rasterizer& rasterizer, const Painter& painter) {
  Surface& surface = *context.surface;
  Image& target = *surface.color;
  Space own = target.format.space, space = blend_space(surface);
  RowClip clip(context);
  const Rect& area = clip.area();
  bool constant = painter.constant(), by_channel = painter.by_channel();
  Source source = constant ? painter.at(0, 0) : Source();
  // The commonest pixel of all: a plain opaque colour.
  bool replaces = constant && (context.blend_mode == VG_BLEND_SRC ||
                               (context.blend_mode == VG_BLEND_SRC_OVER && source.color.a >= 1));
  uint32_t packed = replaces ? target.format.pack(convert(source.color, space, own)) : 0;
  int64_t pixels = 0;
  sweep(rasterizer, [&](int y, int x, int count, const uint8_t* covers) {
    if (y < 0 || y >= area.height) return;
    uint8_t* row = target.row(y);
    const uint8_t* mask = context.masking ? surface.mask.data() + (size_t)y * (size_t)area.width : nullptr;
    for (auto [begin, end] : clip.row(y)) {
      for (int at = std::max(begin, x); at < std::min(end, x + count); at++) {
        unsigned cover = covers[at - x];
        if (!cover) continue;
        pixels++;
        if (replaces && cover == 255 && (!mask || mask[at] == 255)) {
          store(row, target.left + at, target.format.bits, packed);
          continue;
        }
        float share = (float)cover / 255.0f * (mask ? (float)mask[at] / 255.0f : 1);
        if (share <= 0) continue;
        if (!constant) source = painter.at(at, y);
        Color old = convert(target.read(at, y), own, space);
        Color result = mix(old, blended(context.blend_mode, source, by_channel, old), share);
        target.write(at, y, convert(result, space, own));
      }
    }
  });
  context.sensors.rasterized_pixels += pixels;
}

// ---- from paths to coverage

namespace {

// Hands lines to the rasterizer and counts them.
class Edges {
 public:
  Edges(Context& context, Rasterizer& rasterizer, const Matrix& matrix)
      : context_(context), rasterizer_(rasterizer), matrix_(matrix), area_(bounds(*context.surface)) {}
  void move(Point p) {
    close();
    first_ = last_ = matrix_.apply(p);
    rasterizer_.move_to_d(last_.x, last_.y);
  }
  void line(Point p) {
    Point at = matrix_.apply(p);
    count(at);
    rasterizer_.line_to_d(at.x, at.y);
  }
  void close() {
    if (last_.x != first_.x || last_.y != first_.y) count(first_);
    rasterizer_.close_polygon();
  }

 private:
  void count(Point to) {
    context_.sensors.tessellated_edges++;
    bool outside = std::max(to.x, last_.x) < 0 || std::min(to.x, last_.x) > area_.width ||
                   std::max(to.y, last_.y) < 0 || std::min(to.y, last_.y) > area_.height;
    context_.sensors.accepted_edges += !outside;
    last_ = to;
  }

  Context& context_;
  Rasterizer& rasterizer_;
  const Matrix& matrix_;
  Rect area_;
  Point first_, last_;
};

}  // namespace

void prepare(const Context& context, Rasterizer& rasterizer) {
  rasterizer.reset();
  Rect area = bounds(*context.surface);
  rasterizer.clip_box(0, 0, area.width, area.height);
  if (context.rendering_quality == VG_RENDERING_QUALITY_NONANTIALIASED)
    rasterizer.gamma(agg::gamma_threshold(0.5));
  else
    rasterizer.gamma(agg::gamma_none());
}

namespace {

void fill(Context& context, Rasterizer& rasterizer, const std::vector<Vertex>& vertices, const Matrix& matrix) {
  rasterizer.filling_rule(context.fill_rule == VG_NON_ZERO ? agg::fill_non_zero : agg::fill_even_odd);
  Edges edges(context, rasterizer, matrix);
  for (const Vertex& vertex : vertices) vertex.step == Step::move ? edges.move(vertex.at) : edges.line(vertex.at);
  edges.close();
}

// One run of connected points that is stroked with caps at its ends, or closed.
struct Run {
  std::vector<Point> points;
  Point tangent{1, 0};  // of a run without length
  bool closed = false;
};

// The part of user space that the surface shows.
class Window {
 public:
  Window(const Context& context, const Matrix& to_surface) {
    Matrix back;
    known_ = to_surface.inverse(back);
    if (!known_) return;
    Rect area = bounds(*context.surface);
    // A pixel more on each side: what touches a pixel shows in it.
    double right = area.width + 1.0, top = area.height + 1.0;
    corners_ = {back.apply({-1, -1}), back.apply({right, -1}), back.apply({right, top}), back.apply({-1, top})};
  }
  // Between which distances from `from` a line along `along` can be seen, if it is `side` wide on each side and goes on
  // for `cap` beyond its ends; the first is larger where it cannot be seen at all.
  std::pair<double, double> seen(Point from, Point along, double side, double cap) const {
    constexpr double FAR = std::numeric_limits<double>::infinity();
    if (!known_) return {-FAR, FAR};
    double first = FAR, last = -FAR, left = FAR, right = -FAR;
    for (Point corner : corners_) {
      Point p = corner - from;
      double on = p.x * along.x + p.y * along.y, across = p.x * along.y - p.y * along.x;
      first = std::min(first, on), last = std::max(last, on);
      left = std::min(left, across), right = std::max(right, across);
    }
    if (left > side || right < -side) return {FAR, -FAR};
    return {first - cap, last + cap};
  }

 private:
  bool known_ = false;
  std::array<Point, 4> corners_;
};

// Cuts runs into dashes. Only dashes that may touch the surface are made: a line that leads far away loses whole
// periods. Where dashes are too fine to be seen apart, longer ones cover the same share of the line.
class Dasher {
 public:
  Dasher(const Context& context, const Matrix& to_surface, const std::vector<Run>& runs)
      : window_(context, to_surface), reset_(context.dash_phase_reset), side_(context.line_width / 2.0) {
    // An odd last entry is ignored; negative lengths are none.
    size_t count = context.dash_pattern.size() & ~(size_t)1;
    for (size_t i = 0; i < count; i++) pattern_.push_back(std::max(0.0f, context.dash_pattern[i]));
    for (double part : pattern_) total_ += part;
    if (!(total_ > 0)) return;
    cap_ = context.cap_style == VG_CAP_BUTT ? 0 : side_;
    double periods = std::ceil(periods_for_one(runs, to_surface));
    if (periods > 1) coarsen(context, periods);
    expected_ /= std::max(periods, 1.0);
    if (total_ > 0) phase_ = std::fmod(context.dash_phase, total_);
    if (phase_ < 0) phase_ += total_;
  }
  bool active() const { return total_ > 0; }
  bool butt() const { return butt_; }            // the dashes have no caps, whatever the context says
  double expected() const { return expected_; }  // about how many dashes there will be

  // Calls `draw(run)` for each dash.
  template <class Draw> void run(const Run& run, Draw draw) {
    if (run.points.size() < 2) return;
    double at = reset_ || first_ ? phase_ : at_;
    first_ = false;
    size_t part = 0;
    while (part + 1 < pattern_.size() && at >= pattern_[part]) at -= pattern_[part++];
    double left = pattern_[part] - at;
    bool started_on = part % 2 == 0, whole = true;
    Run dash, head;  // `head`: the first dash of a closed run, in which the last one may go on
    auto done = [&](Run one) {
      if (run.closed && started_on && head.points.empty())
        head = std::move(one);
      else
        draw(one);
    };
    if (started_on) dash.points.push_back(run.points[0]);
    for (size_t i = 1; i < run.points.size(); i++) {
      Point from = run.points[i - 1], to = run.points[i];
      double size = length(to - from), gone = 0;
      if (size == 0) continue;
      Point along = (to - from) * (1 / size);
      dash.tangent = along;
      if (size / total_ > MAX_PERIODS) {
        if (part % 2 == 0) dash.points.push_back(to);
        continue;
      }
      auto [enter, leave] = window_.seen(from, along, side_, cap_);
      while (size - gone > left) {
        gone += left;
        Point edge = from + along * gone;
        whole = false;
        if (part % 2 == 0) {
          dash.points.push_back(edge);
          done(std::exchange(dash, Run{{}, along, false}));
          double until = gone < enter ? std::min(enter, size) : gone > leave ? size : gone;
          gone += total_ * std::floor((until - gone) / total_);
        } else {
          dash.points = {edge};
        }
        part = (part + 1) % pattern_.size();
        left = pattern_[part];
      }
      left -= size - gone;
      if (part % 2 == 0) dash.points.push_back(to);
    }
    bool on = part % 2 == 0 && !dash.points.empty();
    if (on && run.closed && whole) {
      dash.closed = true;
    } else if (on && !head.points.empty()) {
      dash.points.insert(dash.points.end(), head.points.begin() + 1, head.points.end());
      head.points.clear();
    }
    if (!head.points.empty()) draw(head);
    if (on) draw(dash);
    at_ = 0;
    for (size_t i = 0; i < part; i++) at_ += pattern_[i];
    at_ += pattern_[part] - left;
  }

 private:
  static constexpr double FINE = 1.0 / 16;       // of a pixel: a shorter period is not drawn dash by dash
  static constexpr double MAX_DASHES = 1 << 18;  // that one path shows
  static constexpr double MAX_PERIODS = 1e9;     // of one line: floats that are so large are farther apart than dashes

  // The number of periods that one has to stand for: where the surface shows the runs, they are too short or too many.
  double periods_for_one(const std::vector<Run>& runs, const Matrix& to_surface) {
    double visible = 0, stretch = 0;
    for (const Run& run : runs) {
      for (size_t i = 1; i < run.points.size(); i++) {
        Point from = run.points[i - 1], to = run.points[i];
        double size = length(to - from);
        if (!(size > 0)) continue;
        Point along = (to - from) * (1 / size);
        auto [enter, leave] = window_.seen(from, along, side_, cap_);
        double shown = std::min(size, leave) - std::max(0.0, enter);
        if (!(shown > 0)) continue;
        visible += shown;
        stretch = std::max(stretch, length(to_surface.direction(along)));
      }
    }
    if (!(stretch > 0)) return 1;
    expected_ = visible / total_ * (double)(pattern_.size() / 2);
    return std::max(FINE / (total_ * stretch), expected_ / MAX_DASHES);
  }

  // Let one dash stand for the dashes of this number of periods. Caps, which reach into the gaps, become a part of its
  // length: the two halves of a round one cover what pi / 2 of its radius would.
  void coarsen(const Context& context, double periods) {
    double reach = context.cap_style == VG_CAP_ROUND ? side_ * M_PI / 2 : 2 * cap_, gaps = 0;
    for (size_t i = 1; i < pattern_.size(); i += 2) gaps += std::max(0.0, pattern_[i] - reach);
    double covered = total_ - gaps;
    pattern_ = {covered * periods, gaps * periods};
    total_ = gaps > 0 ? total_ * periods : 0;  // without gaps the line is whole
    butt_ = true, cap_ = 0;
  }

  Window window_;
  std::vector<double> pattern_;
  double total_ = 0, phase_ = 0, at_ = 0, expected_ = 0;
  bool reset_, first_ = true, butt_ = false;
  double side_, cap_ = 0;
};

std::vector<Run> runs_of(const std::vector<Vertex>& vertices) {
  std::vector<Run> result;
  for (const Vertex& vertex : vertices) {
    if (vertex.step == Step::move) {
      result.push_back({{vertex.at}, {1, 0}, false});
      continue;
    }
    Run& run = result.back();
    run.tangent = vertex.tangent;
    run.points.push_back(vertex.at);
    if (vertex.step == Step::close) run.closed = true;
  }
  return result;
}

void dot(Edges& edges, const Context& context, const Run& run, VGint cap, double scale) {
  if (cap == VG_CAP_BUTT) return;
  double radius = context.line_width / 2.0;
  Point center = run.points[0], along = run.tangent * radius, across{-along.y, along.x};
  if (cap == VG_CAP_SQUARE) {
    edges.move(center + along + across);
    edges.line(center - along + across);
    edges.line(center - along - across);
    edges.line(center + along - across);
    edges.close();
    return;
  }
  double step = 2 * std::acos(std::clamp(1 - FLATNESS / std::max(radius * scale, FLATNESS), 0.0, 1.0));
  int count = (int)std::clamp(std::ceil(2 * M_PI / std::max(step, 1e-3)), 8.0, 5000.0);
  for (int i = 0; i < count; i++) {
    double angle = 2 * M_PI * i / count;
    Point p{center.x + radius * std::cos(angle), center.y + radius * std::sin(angle)};
    i ? edges.line(p) : edges.move(p);
  }
  edges.close();
}

// The scale at which AGG makes no more edges of a round join or cap than a stroke with this number of them can afford.
// The limit is 300 edges, the need of radii as large as the largest surface, or more where joins are few.
double scale_of_arcs(double radius, double joins) {
  double most = std::clamp(1e6 / joins, 300.0, 5000.0);
  return 0.125 / (radius * (1 / std::cos(M_PI / 2 / most) - 1));
}

// Hand the outline of a run on, which is the whole line or a dash.
void outline(Edges& edges, const Context& context, const Run& run, VGint cap, double scale) {
  agg::path_storage polyline;
  Point last = run.points[0];
  polyline.move_to(last.x, last.y);
  size_t points = 1;
  for (Point p : run.points) {
    if (length(p - last) <= 1e-9 * (std::fabs(p.x) + std::fabs(p.y))) continue;
    polyline.line_to(p.x, p.y);
    last = p;
    points++;
  }
  if (points == 1) {
    // A move alone draws nothing; a segment without length draws its caps.
    if (run.points.size() > 1) dot(edges, context, run, cap, scale);
    return;
  }
  if (run.closed) polyline.close_polygon();
  agg::conv_stroke<agg::path_storage> line(polyline);
  line.width(context.line_width);
  line.line_cap(cap == VG_CAP_ROUND ? agg::round_cap : cap == VG_CAP_SQUARE ? agg::square_cap : agg::butt_cap);
  line.line_join(context.join_style == VG_JOIN_ROUND   ? agg::round_join
                 : context.join_style == VG_JOIN_BEVEL ? agg::bevel_join
                                                       : agg::miter_join_revert);
  line.miter_limit(std::max(1.0f, context.miter_limit));
  line.inner_join(agg::inner_round);
  line.approximation_scale(std::max(scale, 1e-6));
  line.rewind(0);
  double x, y;
  for (unsigned command; !agg::is_stop(command = line.vertex(&x, &y));) {
    if (agg::is_move_to(command))
      edges.move({x, y});
    else if (agg::is_vertex(command))
      edges.line({x, y});
    else if (agg::is_end_poly(command))
      edges.close();
  }
}

void stroke(Context& context, Rasterizer& rasterizer, const std::vector<Vertex>& vertices, const Matrix& matrix) {
  rasterizer.filling_rule(agg::fill_non_zero);
  Edges edges(context, rasterizer, matrix);
  std::vector<Run> runs = runs_of(vertices);
  Dasher dasher(context, matrix, runs);
  double joins = (double)vertices.size() + dasher.expected();
  double scale = std::min(matrix.scale(), scale_of_arcs(context.line_width / 2.0, joins));
  for (const Run& run : runs) {
    if (!dasher.active()) {
      outline(edges, context, run, context.cap_style, scale);
      continue;
    }
    VGint cap = dasher.butt() ? VG_CAP_BUTT : context.cap_style;
    dasher.run(run, [&](const Run& dash) { outline(edges, context, dash, cap, scale); });
  }
}

}  // namespace

void draw_path(Context& context, const Path& path, const Matrix& to_surface, VGbitfield modes,
               std::vector<uint8_t>* mask) {
  if (!context.surface) return;
  if (!mask) {
    context.sensors.render_calls++;
    context.sensors.paths++;
    context.sensors.path_segments += (int64_t)path.segments.size();
    context.sensors.path_coordinates += (int64_t)path.raw.size();
  }
  double scale = to_surface.scale();
  if (!(scale > 0) || to_surface.determinant() == 0) return;
  auto vertices = flatten(path, FLATNESS / scale);
  if (vertices.empty()) return;
  Rasterizer rasterizer;
  Space space = blend_space(*context.surface);
  for (VGbitfield mode : {(VGbitfield)VG_FILL_PATH, (VGbitfield)VG_STROKE_PATH}) {
    if (!(modes & mode) || (mode == VG_STROKE_PATH && !(context.line_width > 0))) continue;
    prepare(context, rasterizer);
    if (mode == VG_FILL_PATH)
      fill(context, rasterizer, vertices, to_surface);
    else
      stroke(context, rasterizer, vertices, to_surface);
    if (mask) {
      int width = context.surface->width(), height = context.surface->height();
      sweep(rasterizer, [&](int y, int x, int count, const uint8_t* covers) {
        if (y < 0 || y >= height) return;
        for (int at = std::max(x, 0); at < std::min(x + count, width); at++)
          (*mask)[(size_t)y * (size_t)width + (size_t)at] = covers[at - x];
      });
      continue;
    }
    const Matrix& paint_matrix = mode == VG_FILL_PATH ? context.fill_matrix : context.stroke_matrix;
    PaintSource paint(context, context.paint((VGPaintMode)mode), to_surface * paint_matrix, space);
    if (!paint.drawable()) continue;
    if (paint.constant())
      compose(context, rasterizer, SolidPainter(transformed(context, paint.at(0, 0))));
    else
      compose(context, rasterizer, PathPainter(context, paint));
  }
}

}  // namespace dt::vg
