// Where the objects of OpenGL are bound, for the files about their kinds.
#pragma once
#include <algorithm>

#include "gl.h"

namespace dt::state::run {

inline constexpr int64_t MOST_UNITS = 256;

// Where a buffer target's binding stands; -1: no target.
int buffer_binding(int64_t target);
// The place of an indexed buffer target in the node that has it.
struct Indexed {
  Node* node;
  unsigned binding, start, size;
};
bool indexed_binding(Machine& m, int64_t target, Indexed& at);
// Where a texture target's binding stands; -1: no target.
int texture_binding(int64_t target);
// The target that a texture is bound to, of a target that may be a face of it.
int64_t base_target(int64_t target);
Node* level_node(Machine& m, Node* texture, int64_t target, int64_t level, bool make);
void init_renderbuffer(Machine& m, Node* n);
Node* named_texture(Machine& m, int64_t name);
inline Num unit_range(Num v) { return Num(std::clamp(v.floating(), 0.0, 1.0)); }

}  // namespace dt::state::run
