// The arrays, pixel store and vertex array object of a context: between the hooks that change them (gl_state.cc) and
// what asks the driver for all of them (contexts.cc).
#pragma once
#include "gl_state.h"
#include "gl_enums.h"

namespace dt::gl {

void default_pixel_store(PixelStore* p);
void default_vertex(VertexState* v);
// Finds the arrays in client memory, after bindings changed.
void recompute_client(VertexState* v);
// Bytes of an element of an array; 0: no such type.
int64_t element_bytes(int32_t size, uint32_t type);
void set_array(GlContext* c, uint32_t slot, int64_t bytes, int32_t stride, const void* pointer);
void enable(GlContext* c, uint32_t slot, bool on);
void use_vao(GlContext* c, uint32_t vao);
// Parameters of the pixel store whose names follow each other, and the number of the first one's field.
struct PixelNames {
  uint32_t first, count;
  bool packs;
  uint8_t field;
};
constexpr PixelNames PIXEL_NAMES[] = {{GL_UNPACK_SWAP_BYTES, 6, false, 0},
                                      {GL_PACK_SWAP_BYTES, 6, true, 0},
                                      {GL_PACK_SKIP_IMAGES, 2, true, 6},
                                      {GL_UNPACK_SKIP_IMAGES, 2, false, 6},
                                      {GL_UNPACK_COMPRESSED_BLOCK_WIDTH, 4, false, 8},
                                      {GL_PACK_COMPRESSED_BLOCK_WIDTH, 4, true, 8}};
// The place of a parameter; nullptr: none.
int32_t* pixel_field(GlContext* c, uint32_t pname);
bool has_pixel_parameter(const GlContext* c, uint32_t pname);
// In all contexts of the group.
void forget_program(const GlContext* of, uint32_t program);

}  // namespace dt::gl
