// Fonts and glyphs (OpenVG 1.1, chapter 11).
#include <new>
#include <stdexcept>

#include "engine.h"

namespace dt::vg {
namespace {

std::shared_ptr<Font> font_of(Context& context, VGFont handle) {
  auto font = context.find<Font>(handle);
  if (!font) context.fail(VG_BAD_HANDLE_ERROR);
  return font;
}

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
  auto font = font_of(context, handle);
  if (!font) return;
  if (!pair_of(origin, glyph.origin) || !pair_of(escapement, glyph.escapement))
    return context.fail(VG_ILLEGAL_ARGUMENT_ERROR);
  font->glyphs[index] = std::move(glyph);
}

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

VGFont vgCreateFont(VGint capacity_hint) {
  Entry context;
  if (!context) return VG_INVALID_HANDLE;
  DT_VG_TRY
  if (capacity_hint < 0) {
    context->fail(VG_ILLEGAL_ARGUMENT_ERROR);
    return VG_INVALID_HANDLE;
  }
  return context->keep(std::make_shared<Font>());
  DT_VG_CATCH(*context, VG_INVALID_HANDLE)
}

void vgDestroyFont(VGFont handle) {
  Entry context;
  if (!context) return;
  if (font_of(*context, handle)) context->share->objects.erase(handle);
}

void vgSetGlyphToPath(VGFont font, VGuint index, VGPath path, VGboolean hinted, const VGfloat* origin,
                      const VGfloat* escapement) {
  (void)hinted;  // outlines are drawn as they are
  Entry context;
  if (!context) return;
  DT_VG_TRY
  Glyph glyph;
  glyph.path = context->find<Path>(path);
  if (path != VG_INVALID_HANDLE && !glyph.path) return context->fail(VG_BAD_HANDLE_ERROR);
  set_glyph(font, index, std::move(glyph), origin, escapement, *context);
  DT_VG_CATCH(*context)
}

void vgSetGlyphToImage(VGFont font, VGuint index, VGImage image, const VGfloat* origin, const VGfloat* escapement) {
  Entry context;
  if (!context) return;
  DT_VG_TRY
  Glyph glyph;
  glyph.image = context->find<Image>(image);
  if (image != VG_INVALID_HANDLE && !glyph.image) return context->fail(VG_BAD_HANDLE_ERROR);
  if (in_use(glyph)) return context->fail(VG_IMAGE_IN_USE_ERROR);
  set_glyph(font, index, std::move(glyph), origin, escapement, *context);
  DT_VG_CATCH(*context)
}

void vgClearGlyph(VGFont handle, VGuint index) {
  Entry context;
  if (!context) return;
  auto font = font_of(*context, handle);
  if (font && !font->glyphs.erase(index)) context->fail(VG_ILLEGAL_ARGUMENT_ERROR);
}

void vgDrawGlyph(VGFont handle, VGuint index, VGbitfield modes, VGboolean hinting) {
  (void)hinting;  // outlines are drawn as they are
  Entry context;
  if (!context) return;
  DT_VG_TRY
  auto font = font_of(*context, handle);
  if (!font) return;
  auto it = font->glyphs.find(index);
  if (it == font->glyphs.end() || !paint_modes(modes)) return context->fail(VG_ILLEGAL_ARGUMENT_ERROR);
  if (in_use(it->second)) return context->fail(VG_IMAGE_IN_USE_ERROR);
  draw(*context, it->second, modes, {});
  DT_VG_CATCH(*context)
}

void vgDrawGlyphs(VGFont handle, VGint count, const VGuint* indices, const VGfloat* adjustments_x,
                  const VGfloat* adjustments_y, VGbitfield modes, VGboolean hinting) {
  (void)hinting;
  Entry context;
  if (!context) return;
  DT_VG_TRY
  auto font = font_of(*context, handle);
  if (!font) return;
  bool aligned = (uintptr_t)adjustments_x % alignof(VGfloat) == 0 && (uintptr_t)adjustments_y % alignof(VGfloat) == 0;
  if (count <= 0 || !usable(indices) || !aligned || !paint_modes(modes))
    return context->fail(VG_ILLEGAL_ARGUMENT_ERROR);
  for (VGint i = 0; i < count; i++) {
    auto it = font->glyphs.find(indices[i]);
    if (it == font->glyphs.end()) return context->fail(VG_ILLEGAL_ARGUMENT_ERROR);
    if (in_use(it->second)) return context->fail(VG_IMAGE_IN_USE_ERROR);
  }
  for (VGint i = 0; i < count; i++) {
    Point adjustment{adjustments_x ? input(adjustments_x[i]) : 0, adjustments_y ? input(adjustments_y[i]) : 0};
    draw(*context, font->glyphs[indices[i]], modes, adjustment);
  }
  DT_VG_CATCH(*context)
}

}  // extern "C"
