// The references of the overlay's paths, and what the hand-written semantics of OpenGL share. The functions that the
// overlay names with `run` are declared in the generated effects.h.
#pragma once
#include <set>

#include "effects.h"
#include "machine.h"
#include "gl_enums.h"

namespace dt::state::run {

// Returns whether the driver takes a value of a light.
inline bool light_value_ok(int64_t pname, double v) {
  switch (pname) {
    case GL_SPOT_EXPONENT: return v >= 0 && v <= 128;
    case GL_SPOT_CUTOFF: return (v >= 0 && v <= 90) || v == 180;
    case GL_CONSTANT_ATTENUATION:
    case GL_LINEAR_ATTENUATION:
    case GL_QUADRATIC_ATTENUATION: return v >= 0;  // attenuations
    default: return true;
  }
}
void set_name(Machine& m, Node* n, const std::string& name);
void init_texture(Machine& m, Node* t, uint32_t target);
Node* texture_of_unit(Machine& m, Node* unit, unsigned field, uint32_t target);

// gl_imaging.cc
void read_imaging(Machine& m);

// gl_fixed.cc
struct Stack {  // of matrices
  Node* node;
  unsigned matrix, depth;  // fields
  uint64_t key;            // of its saved matrices
};
Stack stack_of(Machine& m, int64_t mode);  // GL_TEXTUREn: the texture matrix of a unit (EXT_direct_state_access)
Stack current_stack(Machine& m);
void color_changed(Machine& m);
uint32_t arrays_on(Machine& m);  // arrays whose elements become current, one a bit
void forget_current(Machine& m, uint32_t arrays);
void listed(Machine& m);

// gl_objects.cc
void init_vertex_array(Machine& m, Node* v);
void context_made(Machine& m, Context& c, const Node* creation);  // creation: nullptr where nothing is known
void context_current(Machine& m, Context& c);
Node* attrib_of(Machine& m, Node* v, int64_t index);
Node* unit(Machine& m);
Node* vao(Machine& m);
Node* bound_framebuffer(Machine& m, int64_t target);
Node* draw_framebuffer(Machine& m);
Node* used_program(Machine& m);
Node* bound_texture(Machine& m, int64_t target);
Node* bound_buffer(Machine& m, int64_t target);
Node* named_buffer(Machine& m, int64_t name);
Node* touched_buffer(Machine& m, int64_t name);  // that is about to be used by its name
Node* bound_renderbuffer(Machine& m);
Node* client_unit_array(Machine& m);
void create_names(Machine& m, Node* parent, unsigned collection, Array names);
void delete_names(Machine& m, Node* parent, unsigned collection, Array names);
void follow_bindings(Machine& m, Node* v);
void read_unpack(Machine& m, const Array& pixels);
void image_made(Machine& m, Node* image, uint64_t context, uint32_t target, uint64_t of, int64_t level);  // EGL's

// gl_program.cc
Node* uniform_program(Machine& m);  // that glUniform* are about
const std::string* name_of(Machine& m, const Node& node);
void sampler_names(const std::string& source, std::set<std::string>& names);

// gl_draw.cc
void read_current(Machine& m);
void read_pixel_transfer(Machine& m);
void read_vertex_arrays(Machine& m, bool indexed);
void read_vertex_arrays_if_drawn(Machine& m);
void read_raster(Machine& m, bool arrays);
void draw_unknown(Machine& m);
void read_pixels_of(Machine& m, int64_t format);

}  // namespace dt::state::run
