// FreeType's coordinates are longs, of which programs for 32 bits take the lower halves: they get pairs of those.
#pragma once
#include <ft2build.h>
#include <stdint.h>
#include FT_FREETYPE_H

static inline FT_Error pi_load_glyph(FT_Face face, FT_UInt glyph, FT_Int32 flags) {
  FT_Error error = FT_Load_Glyph(face, glyph, flags);
  const FT_Outline& outline = face->glyph->outline;
  int32_t* packed = (int32_t*)outline.points;
  for (int i = 0; !error && i < outline.n_points; i++) {
    FT_Vector point = outline.points[i];
    packed[2 * i] = (int32_t)point.x, packed[2 * i + 1] = (int32_t)point.y;
  }
  return error;
}
#define FT_Load_Glyph pi_load_glyph
