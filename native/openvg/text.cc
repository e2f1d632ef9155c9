// Fonts and glyphs (OpenVG 1.1, chapter 11).

#include "engine.h"

namespace dt::vg {
namespace {

bool pair_of(const VGfloat* values, Point& out) {
  if (!usable(values)) return false;
  out = {input(values[0]), input(values[1])};
  return true;
}

bool paint_modes(VGbitfield modes) { return !(modes & ~(VGbitfield)(VG_FILL_PATH | VG_STROKE_PATH)); }

// Draws a glyph at the glyph origin and moves that on. `modes` 0: the origin moves, nothing is drawn.
void draw(Context& context, const Glyph& glyph, VGbitfield modes, Point adjustment) {
  Point at{context.glyph_origin[0], context.glyph_origin[1]};
  Matrix place = context.glyph_matrix * Matrix::translation(at.x - glyph.origin.x, at.y - glyph.origin.y);
  if (modes && glyph.path) draw_path(context, *glyph.path, place, modes);
  if (modes && glyph.image) draw_image(context, glyph.image, place);
  context.glyph_origin = {(float)(at.x + glyph.escapement.x + adjustment.x),
                          (float)(at.y + glyph.escapement.y + adjustment.y)};
}

bool in_use(const Glyph& glyph) { return glyph.image && glyph.image->target; }

void set_glyph(VGFont handle, VGuint index, Glyph glyph, const VGfloat* origin, const VGfloat* escapement,
               Context& context) {
  auto font = context.need<Font>(handle);
  if (!pair_of(origin, glyph.origin) || !pair_of(escapement, glyph.escapement)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  font->glyphs[index] = std::move(glyph);
}

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

VGFont vgCreateFont(VGint capacity_hint) {
  return enter<VGFont>(VG_INVALID_HANDLE, [&](Context& context) {
    if (capacity_hint < 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    return context.keep(std::make_shared<Font>());
  });
}

void vgDestroyFont(VGFont handle) {
  enter([&](Context& context) { context.destroy<Font>(handle); });
}

void vgSetGlyphToPath(VGFont font, VGuint index, VGPath path, VGboolean hinted, const VGfloat* origin,
                      const VGfloat* escapement) {
  (void)hinted;  // outlines are drawn as they are
  enter([&](Context& context) {
    Glyph glyph;
    glyph.path = context.find<Path>(path);
    if (path != VG_INVALID_HANDLE && !glyph.path) refuse(VG_BAD_HANDLE_ERROR);
    set_glyph(font, index, std::move(glyph), origin, escapement, context);
  });
}

void vgSetGlyphToImage(VGFont font, VGuint index, VGImage image, const VGfloat* origin, const VGfloat* escapement) {
  enter([&](Context& context) {
    Glyph glyph;
    glyph.image = context.find<Image>(image);
    if (image != VG_INVALID_HANDLE && !glyph.image) refuse(VG_BAD_HANDLE_ERROR);
    if (in_use(glyph)) refuse(VG_IMAGE_IN_USE_ERROR);
    set_glyph(font, index, std::move(glyph), origin, escapement, context);
  });
}

void vgClearGlyph(VGFont handle, VGuint index) {
  enter([&](Context& context) {
    auto font = context.need<Font>(handle);
    if (font && !font->glyphs.erase(index)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

void vgDrawGlyph(VGFont handle, VGuint index, VGbitfield modes, VGboolean hinting) {
  (void)hinting;  // outlines are drawn as they are
  enter([&](Context& context) {
    auto font = context.need<Font>(handle);
    auto it = font->glyphs.find(index);
    if (it == font->glyphs.end() || !paint_modes(modes)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (in_use(it->second)) refuse(VG_IMAGE_IN_USE_ERROR);
    draw(context, it->second, modes, {});
  });
}

void vgDrawGlyphs(VGFont handle, VGint count, const VGuint* indices, const VGfloat* adjustments_x,
                  const VGfloat* adjustments_y, VGbitfield modes, VGboolean hinting) {
  (void)hinting;
  enter([&](Context& context) {
    auto font = context.need<Font>(handle);
    bool aligned = (uintptr_t)adjustments_x % alignof(VGfloat) == 0 && (uintptr_t)adjustments_y % alignof(VGfloat) == 0;
    if (count <= 0 || !usable(indices) || !aligned || !paint_modes(modes)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    for (VGint i = 0; i < count; i++) {
      auto it = font->glyphs.find(indices[i]);
      if (it == font->glyphs.end()) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
      if (in_use(it->second)) refuse(VG_IMAGE_IN_USE_ERROR);
    }
    for (VGint i = 0; i < count; i++) {
      Point adjustment{adjustments_x ? input(adjustments_x[i]) : 0, adjustments_y ? input(adjustments_y[i]) : 0};
      draw(context, font->glyphs[indices[i]], modes, adjustment);
    }
  });
}

}  // extern "C"
