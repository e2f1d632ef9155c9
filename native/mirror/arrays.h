// The arrays, pixel store and vertex array object of a context: between the hooks that change them (gl_state.cc) and
// what asks the driver for all of them (contexts.cc).
#pragma once
#include "gl_state.h"

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
// The place of a parameter, and which of the two stores it belongs to; nullptr: none.
PixelStore* pixel_field(GlContext* c, uint32_t pname, int32_t** field);
bool has_pixel_parameter(const GlContext* c, uint32_t pname);
// In all contexts of the group.
void forget_program(const GlContext* of, uint32_t program);

}  // namespace dt::gl
