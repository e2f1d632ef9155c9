// The objects of OpenVG: those that calls name and make, and those that variables stand for.
#pragma once
#include "vg.h"

namespace dt::state::run {

inline Node* object(Machine& m, unsigned collection, int64_t name) {
  return name ? m.find(m.vg_share(), collection, static_cast<uint64_t>(name)) : nullptr;
}
// The object that a call names, which it needs: nullptr, and the call does nothing, where there is none.
inline Node* used(Machine& m, unsigned collection, int64_t name) {
  Node* n = object(m, collection, name);
  if (n)
    m.read(n);
  else
    m.refuse();  // VG_BAD_HANDLE_ERROR
  return n;
}
inline Node* any_object(Machine& m, int64_t name) {
  for (unsigned collection :
       {c_vg_share::paints, c_vg_share::images, c_vg_share::paths, c_vg_share::fonts, c_vg_share::mask_layers})
    if (Node* n = object(m, collection, name)) return n;
  return nullptr;
}
inline Node* make(Machine& m, unsigned collection, int64_t name) {
  return name ? m.make(m.vg_share(), collection, static_cast<uint64_t>(name)) : nullptr;
}

inline Node* referred(Machine& m, const Node* from, unsigned field) {
  auto it = m.vg_refers.find({from, field});
  return it == m.vg_refers.end() ? nullptr : it->second;
}
inline void refer(Machine& m, const Node* from, unsigned field, Node* to) {
  if (to)
    m.vg_refers[{from, field}] = to;
  else
    m.vg_refers.erase({from, field});
}
// All that an object is, content included.
inline void read_object(Machine& m, Node* n) {
  if (!n) return;
  m.read(n);
  if (n->cls->locations > 1) m.log(n->base + 1, n->cls->locations - 1u, Touch::read);
}

inline Node* read_matrix(Machine& m, uint64_t mode) {
  Node* n = m.find(m.vg_context(), c_vg_context::matrices, mode);
  m.read(n, f_vg_matrix::values);
  return n;
}

}  // namespace dt::state::run
