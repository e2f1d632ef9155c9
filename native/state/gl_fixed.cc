// The fixed function: matrices, lights, materials, current values, stacks, display lists, glBegin and glEnd.
#include <algorithm>
#include <array>
#include <cmath>

#include "../common/primitives.h"
#include "gl.h"
#include "gl_enums.h"

namespace dt::state::run {
namespace {

using Matrix4 = std::array<double, 16>;  // column by column
constexpr unsigned DEEPEST = 64;

Stack stack_of_unit(Node* u) {
  return {u, f_texture_unit::GL_TEXTURE_MATRIX, f_texture_unit::GL_TEXTURE_STACK_DEPTH, (3 + u->key) * DEEPEST};
}
}  // namespace
Stack stack_of(Machine& m, int64_t mode) {
  Node* c = m.context();
  switch (mode) {
    case GL_PROJECTION: return {c, f_context::GL_PROJECTION_MATRIX, f_context::GL_PROJECTION_STACK_DEPTH, DEEPEST};
    case GL_COLOR: return {c, f_context::GL_COLOR_MATRIX, f_context::GL_COLOR_MATRIX_STACK_DEPTH, 2 * DEEPEST};
    case GL_TEXTURE:
      if (Node* u = unit(m)) return stack_of_unit(u);
      break;
    default:
      if (mode >= GL_TEXTURE0 && mode < GL_TEXTURE0 + 32)
        if (Node* u = m.child(c, c_context::texture_units, static_cast<uint64_t>(mode - GL_TEXTURE0)))
          return stack_of_unit(u);
  }
  return {c, f_context::GL_MODELVIEW_MATRIX, f_context::GL_MODELVIEW_STACK_DEPTH, 0};
}
Stack current_stack(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_MATRIX_MODE);
  return stack_of(m, c->get(f_context::GL_MATRIX_MODE));
}
namespace {

Matrix4 load(const Stack& s) {
  Matrix4 x;
  memcpy(x.data(), s.node->at(s.matrix), sizeof x);
  return x;
}
void store(Machine& m, const Stack& s, const Matrix4& x) {
  Num numbers[16];
  for (unsigned i = 0; i < 16; ++i) numbers[i] = Num(x[i]);
  m.set(s.node, s.matrix, 0, numbers, 16);
}
Matrix4 product(const Matrix4& a, const Matrix4& b) {
  Matrix4 x;
  for (int c = 0; c < 4; ++c)
    for (int r = 0; r < 4; ++r) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) sum += a[static_cast<size_t>(k * 4 + r)] * b[static_cast<size_t>(c * 4 + k)];
      x[static_cast<size_t>(c * 4 + r)] = sum;
    }
  return x;
}
constexpr Matrix4 IDENTITY{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
void multiply(Machine& m, const Stack& s, const Matrix4& by) {
  const Matrix4 before = load(s);
  m.read(s.node, s.matrix);
  store(m, s, product(before, by));
  // A computed value may equal the old one, and yet differ from it by bits in the driver: after a full turn, say.
  if (by != IDENTITY && load(s) == before) m.part(s.node, s.matrix);
}
bool given(Array& a, bool transpose, Matrix4& x) {
  if (a.count() < 16) return false;
  for (uint64_t i = 0; i < 16; ++i) x[transpose ? (i % 4) * 4 + i / 4 : i] = a.at(i).floating();
  return true;
}
bool invert(const Matrix4& m, Matrix4& out) {
  double a[4][8];
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) a[r][c] = m[static_cast<size_t>(c * 4 + r)], a[r][4 + c] = r == c;
  for (int i = 0; i < 4; ++i) {
    int p = i;
    for (int r = i + 1; r < 4; ++r)
      if (std::fabs(a[r][i]) > std::fabs(a[p][i])) p = r;
    if (a[p][i] == 0) return false;
    std::swap(a[p], a[i]);
    double d = a[i][i];
    for (double& v : a[i]) v /= d;
    for (int r = 0; r < 4; ++r)
      if (r != i) {
        double f = a[r][i];
        for (int c = 0; c < 8; ++c) a[r][c] -= f * a[i][c];
      }
  }
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) out[static_cast<size_t>(c * 4 + r)] = a[r][4 + c];
  return true;
}
Matrix4 modelview(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_MODELVIEW_MATRIX);
  Matrix4 x;
  memcpy(x.data(), c->at(f_context::GL_MODELVIEW_MATRIX), sizeof x);
  return x;
}
// A plane in eye coordinates: by the inverse of the modelview matrix.
bool to_eye(Machine& m, double plane[4]) {
  Matrix4 inverse;
  if (!invert(modelview(m), inverse)) return false;
  double out[4];
  for (size_t c = 0; c < 4; ++c) {
    out[c] = 0;
    for (size_t r = 0; r < 4; ++r) out[c] += plane[r] * inverse[c * 4 + r];
  }
  memcpy(plane, out, sizeof out);
  return true;
}

}  // namespace

// ---- matrices -----------------------------------------------------------------------------------

void load_identity(Machine& m, const Stack& s) {
  Matrix4 x{};
  x[0] = x[5] = x[10] = x[15] = 1;
  store(m, s, x);
}
void load_matrix(Machine& m, const Stack& s, Array a, int64_t transpose) {
  Matrix4 x;
  if (given(a, transpose, x)) store(m, s, x);
}
void mult_matrix(Machine& m, const Stack& s, Array a, int64_t transpose) {
  Matrix4 x;
  if (given(a, transpose, x)) multiply(m, s, x);
}
void rotate(Machine& m, const Stack& stack, Num angle, Num x_, Num y_, Num z_) {
  double x = x_.floating(), y = y_.floating(), z = z_.floating(), length = std::sqrt(x * x + y * y + z * z);
  if (length <= 1e-4) return m.read(stack.node, stack.matrix);
  x /= length, y /= length, z /= length;
  double r = angle.floating() * 3.14159265358979323846 / 180, s = std::sin(r), c = std::cos(r), k = 1 - c;
  multiply(m, stack,
           {x * x * k + c, y * x * k + z * s, x * z * k - y * s, 0, x * y * k - z * s, y * y * k + c, y * z * k + x * s,
            0, x * z * k + y * s, y * z * k - x * s, z * z * k + c, 0, 0, 0, 0, 1});
}
void translate(Machine& m, const Stack& s, Num x, Num y, Num z) {
  multiply(m, s, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x.floating(), y.floating(), z.floating(), 1});
}
void scale(Machine& m, const Stack& s, Num x, Num y, Num z) {
  multiply(m, s, {x.floating(), 0, 0, 0, 0, y.floating(), 0, 0, 0, 0, z.floating(), 0, 0, 0, 0, 1});
}
void frustum(Machine& m, const Stack& s, Num l_, Num r_, Num b_, Num t_, Num n_, Num f_) {
  double l = l_.floating(), r = r_.floating(), b = b_.floating(), t = t_.floating(), n = n_.floating(),
         f = f_.floating();
  if (n <= 0 || f <= 0 || n == f || l == r || b == t) return m.refuse();
  multiply(m, s,
           {2 * n / (r - l), 0, 0, 0, 0, 2 * n / (t - b), 0, 0, (r + l) / (r - l), (t + b) / (t - b),
            -(f + n) / (f - n), -1, 0, 0, -2 * f * n / (f - n), 0});
}
void ortho(Machine& m, const Stack& s, Num l_, Num r_, Num b_, Num t_, Num n_, Num f_) {
  double l = l_.floating(), r = r_.floating(), b = b_.floating(), t = t_.floating(), n = n_.floating(),
         f = f_.floating();
  if (n == f || l == r || b == t) return m.refuse();
  multiply(m, s,
           {2 / (r - l), 0, 0, 0, 0, 2 / (t - b), 0, 0, 0, 0, -2 / (f - n), 0, -(r + l) / (r - l), -(t + b) / (t - b),
            -(f + n) / (f - n), 1});
}
void push_matrix(Machine& m, const Stack& s) {
  int64_t depth = s.node->get(s.depth);
  bool modelview_stack = s.matrix == f_context::GL_MODELVIEW_MATRIX && s.node == m.context();
  if (depth >= (modelview_stack ? 32 : s.node->cls == &g_classes[class_texture_unit] ? 10 : 32)) return m.refuse();
  m.read(s.node, s.depth);
  m.read(s.node, s.matrix);
  if (Node* saved = m.child(m.context(), c_context::matrices, s.key + static_cast<uint64_t>(depth)))
    m.set_words(saved, f_matrix::value, 0, s.node->at(s.matrix));
  m.set(s.node, s.depth, Num(depth + 1));
}
void pop_matrix(Machine& m, const Stack& s) {
  int64_t depth = s.node->get(s.depth);
  if (depth <= 1) return m.refuse();
  m.read(s.node, s.depth);
  if (Node* saved = m.child(m.context(), c_context::matrices, s.key + static_cast<uint64_t>(depth - 1))) {
    m.read(saved, f_matrix::value);
    m.set_words(s.node, s.matrix, 0, saved->at(f_matrix::value));
  }
  m.set(s.node, s.depth, Num(depth - 1));
}

// ---- lights and materials -----------------------------------------------------------------------

void light_v(Machine& m, int64_t light, int64_t pname, Array params) {
  if (light < GL_LIGHT0 || light > GL_LIGHT7) return m.refuse();
  Node* n = m.child(m.context(), c_context::lights, static_cast<uint64_t>(light - GL_LIGHT0));
  if (!n) return;
  // In coordinates of the eye; a direction has no fourth one.
  const uint64_t in_space = pname == GL_POSITION ? 4 : pname == GL_SPOT_DIRECTION ? 3 : 0;
  if (in_space && params.count() >= in_space) {
    Matrix4 x = modelview(m);
    double p[4] = {};
    Num v[4];
    for (uint64_t i = 0; i < in_space; ++i) p[i] = params.at(i).floating();
    for (size_t r = 0; r < 4; ++r) v[r] = x[r] * p[0] + x[4 + r] * p[1] + x[8 + r] * p[2] + x[12 + r] * p[3];
    return m.set(n, in_space == 4 ? f_light::GL_POSITION : f_light::GL_SPOT_DIRECTION, 0, v,
                 static_cast<unsigned>(in_space));
  }
  if (params.count() && !light_value_ok(pname, params.at(0).floating())) return m.refuse();
  m.set_any(n, prefix_none, static_cast<uint32_t>(pname), 0, params);
}
void light(Machine& m, int64_t light, int64_t pname, Num param) {
  if (light < GL_LIGHT0 || light > GL_LIGHT7 || pname < GL_SPOT_EXPONENT || !light_value_ok(pname, param.floating()))
    return m.refuse();
  Node* n = m.child(m.context(), c_context::lights, static_cast<uint64_t>(light - GL_LIGHT0));
  m.set_any(n, prefix_none, static_cast<uint32_t>(pname), 0, {param});
}

namespace {
bool tracked(Node* c, int64_t face, int64_t pname) {
  if (!c->get(f_context::enabled_GL_COLOR_MATERIAL)) return false;
  int64_t f = c->get(f_context::GL_COLOR_MATERIAL_FACE), p = c->get(f_context::GL_COLOR_MATERIAL_PARAMETER);
  return (f == GL_FRONT_AND_BACK || f == face) &&
         (p == pname || (p == GL_AMBIENT_AND_DIFFUSE && (pname == GL_AMBIENT || pname == GL_DIFFUSE)));
}
void follow_color(Machine& m, const Num* color) {
  Node* c = m.context();
  for (int64_t face : {GL_FRONT, GL_BACK})
    for (int64_t pname : {GL_AMBIENT, GL_DIFFUSE, GL_SPECULAR, GL_EMISSION})
      if (tracked(c, face, pname))
        if (Node* n = m.child(c, c_context::materials, static_cast<uint64_t>(face))) {
          int field = m.field_of(n, prefix_none, static_cast<uint32_t>(pname));
          if (field >= 0) m.set(n, static_cast<unsigned>(field), 0, color, 4);
        }
}
template <class Set> void each_material(Machine& m, int64_t face, int64_t pname, Set set) {
  if (face != GL_FRONT && face != GL_BACK && face != GL_FRONT_AND_BACK) return m.refuse();
  for (int64_t f : {GL_FRONT, GL_BACK}) {
    if (face != GL_FRONT_AND_BACK && face != f) continue;
    Node* n = m.child(m.context(), c_context::materials, static_cast<uint64_t>(f));
    if (!n) continue;
    for (int64_t p : {GL_AMBIENT, GL_DIFFUSE}) {
      if (pname != GL_AMBIENT_AND_DIFFUSE) p = pname;
      if (!tracked(m.context(), f, p)) set(n, static_cast<uint32_t>(p));
      if (pname != GL_AMBIENT_AND_DIFFUSE) break;
    }
  }
}
}  // namespace
void color_changed(Machine& m) {
  Node* c = m.context();
  if (!c->get(f_context::enabled_GL_COLOR_MATERIAL)) return;
  Num color[4];
  for (unsigned i = 0; i < 4; ++i) color[i] = Num(c->real(f_context::GL_CURRENT_COLOR, i));
  m.read(c, f_context::GL_CURRENT_COLOR);
  m.read(c, f_context::enabled_GL_COLOR_MATERIAL);
  m.read(c, f_context::GL_COLOR_MATERIAL_FACE);
  m.read(c, f_context::GL_COLOR_MATERIAL_PARAMETER);
  follow_color(m, color);
}
void material(Machine& m, int64_t face, int64_t pname, Num param) {
  if (pname == GL_SHININESS && !(param.floating() >= 0 && param.floating() <= 128)) return m.refuse();
  each_material(m, face, pname, [&](Node* n, uint32_t p) { m.set_any(n, prefix_none, p, 0, {param}); });
}
void material_v(Machine& m, int64_t face, int64_t pname, Array params) {
  if (pname == GL_SHININESS && params.count() && !(params.at(0).floating() >= 0 && params.at(0).floating() <= 128))
    return m.refuse();
  each_material(m, face, pname, [&](Node* n, uint32_t p) { m.set_any(n, prefix_none, p, 0, params); });
}
void color_material(Machine& m, int64_t face, int64_t mode) {
  m.set(m.context(), f_context::GL_COLOR_MATERIAL_FACE, Num(face));
  m.set(m.context(), f_context::GL_COLOR_MATERIAL_PARAMETER, Num(mode));
  color_changed(m);
}
void clip_plane(Machine& m, int64_t plane, Array equation) {
  if (plane < GL_CLIP_DISTANCE0 || plane > GL_CLIP_DISTANCE7 || equation.count() < 4) return m.refuse();
  double p[4];
  for (uint64_t i = 0; i < 4; ++i) p[i] = equation.at(i).floating();
  if (!to_eye(m, p)) return;
  Node* n = m.child(m.context(), c_context::clip_planes, static_cast<uint64_t>(plane - GL_CLIP_DISTANCE0));
  if (n) m.set(n, f_clip_plane::equation, 0, {p[0], p[1], p[2], p[3]});
}
void alpha_ref(Machine& m, Num ref) { m.set(m.context(), f_context::GL_ALPHA_TEST_REF, Num(ref.floating())); }

void tex_env(Machine& m, int64_t target, int64_t pname, Num param) {
  Node* u = unit(m);
  // GL_POINT_SPRITE
  if (target == GL_POINT_SPRITE && pname == GL_COORD_REPLACE)
    return m.set(u, f_texture_unit::env_GL_COORD_REPLACE, param);
  if (target == GL_TEXTURE_FILTER_CONTROL && pname == GL_TEXTURE_LOD_BIAS)
    return m.set(u, f_texture_unit::env_GL_TEXTURE_LOD_BIAS, param);
  if (target == GL_TEXTURE_ENV && pname != GL_COORD_REPLACE && pname != GL_TEXTURE_LOD_BIAS)
    m.set_any(u, prefix_env, static_cast<uint32_t>(pname), 0, {param});
}
void tex_env_v(Machine& m, int64_t target, int64_t pname, Array params) {
  if (!params.count()) return;
  if (pname == GL_TEXTURE_ENV_COLOR) return m.set(unit(m), f_texture_unit::env_GL_TEXTURE_ENV_COLOR, 0, params);
  tex_env(m, target, pname, params.at(0));
}
namespace {
Node* gen(Machine& m, int64_t coord) {
  return coord >= GL_S && coord <= GL_Q ? m.child(unit(m), c_texture_unit::gen, static_cast<uint64_t>(coord)) : nullptr;
}
}  // namespace
void tex_gen(Machine& m, int64_t coord, int64_t pname, Num param) {
  if (coord == GL_TEXTURE_GEN_STR_OES) {
    for (int64_t c : {GL_S, GL_T, GL_R}) tex_gen(m, c, pname, param);
    return;
  }
  if (Node* n = gen(m, coord); n && pname == GL_TEXTURE_GEN_MODE) m.set(n, f_gen::GL_TEXTURE_GEN_MODE, param);
}
void tex_gen_v(Machine& m, int64_t coord, int64_t pname, Array params) {
  if (!params.count()) return;
  if (pname == GL_TEXTURE_GEN_MODE) return tex_gen(m, coord, pname, params.at(0));
  Node* n = gen(m, coord);
  if (!n || params.count() < 4) return;
  if (pname == GL_OBJECT_PLANE) return m.set(n, f_gen::GL_OBJECT_PLANE, 0, params);
  if (pname != GL_EYE_PLANE) return;
  double p[4];
  for (uint64_t i = 0; i < 4; ++i) p[i] = params.at(i).floating();
  if (to_eye(m, p)) m.set(n, f_gen::GL_EYE_PLANE, 0, {p[0], p[1], p[2], p[3]});
}

// ---- current values -----------------------------------------------------------------------------

namespace {
// Integers to [0, 1] or [-1, 1]: `scale` is the type's largest value, 1 for what is real already.
Num scaled(const Num& n, int64_t scale) {
  if (n.real || scale == 1) return Num(n.floating());
  bool is_signed = scale == 127 || scale == 32767 || scale == 0x7fffffff;
  double v = static_cast<double>(n.i);
  if (!is_signed) return Num(v / static_cast<double>(scale));
  // OpenGL before 4.2, which drivers keep for these: (2c + 1) / (2^b - 1)
  return Num((2 * v + 1) / (2 * static_cast<double>(scale) + 1));
}
}  // namespace
void color(Machine& m, Num r, Num g, Num b, Num a) {
  m.set(m.context(), f_context::GL_CURRENT_COLOR, 0,
        {Num(r.floating()), Num(g.floating()), Num(b.floating()), Num(a.floating())});
  color_changed(m);
}
void color_n(Machine& m, int64_t r, int64_t g, int64_t b, int64_t a, int64_t scale) {
  // The form with three components gives the largest value as alpha: 1.
  color(m, scaled(r, scale), scaled(g, scale), scaled(b, scale), a == scale ? Num(1.0) : scaled(a, scale));
}
void color_v(Machine& m, Array v, int64_t scale) {
  uint64_t n = v.count();
  if (n < 3) return;
  color(m, scaled(v.at(0), scale), scaled(v.at(1), scale), scaled(v.at(2), scale),
        n > 3 ? scaled(v.at(3), scale) : Num(1.0));
}
namespace {
void set_scaled(Machine& m, unsigned field, Num x, Num y, Num z, int64_t scale) {
  const bool color = field == f_context::GL_CURRENT_SECONDARY_COLOR;
  const Num numbers[] = {scaled(x, scale), scaled(y, scale), scaled(z, scale), Num(1.0)};
  m.set(m.context(), field, 0, numbers, color ? 4 : 3);
}
}  // namespace
void secondary_color_n(Machine& m, int64_t r, int64_t g, int64_t b, int64_t scale) {
  set_scaled(m, f_context::GL_CURRENT_SECONDARY_COLOR, r, g, b, scale);
}
void secondary_color_v(Machine& m, Array v, int64_t scale) {
  if (v.count() >= 3) set_scaled(m, f_context::GL_CURRENT_SECONDARY_COLOR, v.at(0), v.at(1), v.at(2), scale);
}
void normal_n(Machine& m, int64_t x, int64_t y, int64_t z, int64_t scale) {
  set_scaled(m, f_context::GL_CURRENT_NORMAL, x, y, z, scale);
}
void normal_v(Machine& m, Array v, int64_t scale) {
  if (v.count() >= 3) set_scaled(m, f_context::GL_CURRENT_NORMAL, v.at(0), v.at(1), v.at(2), scale);
}
void tex_coord(Machine& m, int64_t target, Num s, Num t, Num r, Num q) {
  if (target < GL_TEXTURE0 || target >= GL_TEXTURE0 + 8) return;
  Node* u = m.child(m.context(), c_context::texture_units, static_cast<uint64_t>(target - GL_TEXTURE0));
  if (u) m.set(u, f_texture_unit::GL_CURRENT_TEXTURE_COORDS, 0, {s, t, r, q});
}
void tex_coord_v(Machine& m, int64_t target, Array v) {
  uint64_t n = v.count();
  if (n) tex_coord(m, target, v.at(0), n > 1 ? v.at(1) : Num(0), n > 2 ? v.at(2) : Num(0), n > 3 ? v.at(3) : Num(1));
}
void attribute(Machine& m, int64_t index, Num x, Num y, Num z, Num w) {
  if (m.current()->in_begin && index == 0) return vertex(m);
  if (index < 0 || index >= 64) return m.refuse();
  Node* n = m.child(m.context(), c_context::attributes, static_cast<uint64_t>(index));
  if (n) m.set(n, f_attribute::GL_CURRENT_VERTEX_ATTRIB, 0, {x, y, z, w});
}
// n components of 10, 10, 10 and 2 bits; `what`: 0 color, 1 normal, 2 secondary color, 3 a vertex, 4 the attribute
// `which`, else the coordinates of the unit `which`.
void packed(Machine& m, int64_t what, int64_t which, int64_t type, int64_t normalized, int64_t n, int64_t value) {
  if (type != GL_UNSIGNED_INT_2_10_10_10_REV && type != GL_INT_2_10_10_10_REV) return m.refuse();  // unsigned, signed
  auto bits = static_cast<uint32_t>(value);
  Num part[4] = {Num(0.0), Num(0.0), Num(0.0), Num(1.0)};
  for (unsigned i = 0; i < 4 && i < n; ++i) {
    unsigned width = i < 3 ? 10 : 2;
    uint32_t raw = bits >> (10 * i) & ((1u << width) - 1);
    double v = raw;
    if (type == GL_INT_2_10_10_10_REV && raw >> (width - 1)) v -= 1u << width;
    if (normalized)
      v = type == GL_INT_2_10_10_10_REV ? std::max(v / ((1u << (width - 1)) - 1), -1.0) : v / ((1u << width) - 1);
    part[i] = Num(v);
  }
  switch (what) {
    case 0: return color(m, part[0], part[1], part[2], part[3]);
    case 1: return m.set(m.context(), f_context::GL_CURRENT_NORMAL, 0, {part[0], part[1], part[2]});
    case 2: return m.set(m.context(), f_context::GL_CURRENT_SECONDARY_COLOR, 0, {part[0], part[1], part[2], Num(1.0)});
    case 3: return vertex(m);
    case 4: return attribute(m, which, part[0], part[1], part[2], part[3]);
    default: return tex_coord(m, which, part[0], part[1], part[2], part[3]);
  }
}
void packed_v(Machine& m, int64_t what, int64_t which, int64_t type, int64_t normalized, int64_t n, Array value) {
  if (value.count()) packed(m, what, which, type, normalized, n, value.integer(0));
}
void attribute_n(Machine& m, int64_t index, int64_t x, int64_t y, int64_t z, int64_t w, int64_t scale) {
  attribute(m, index, scaled(x, scale), scaled(y, scale), scaled(z, scale), scaled(w, scale));
}
void attribute_v(Machine& m, int64_t index, Array v, int64_t scale) {
  uint64_t n = v.count();
  if (!n) return;
  auto at = [&](uint64_t i, int64_t otherwise) {
    return i < n ? (scale ? scaled(v.at(i), scale) : v.at(i)) : Num(otherwise);
  };
  attribute(m, index, at(0, 0), at(1, 0), at(2, 0), at(3, 1));
}

// ---- primitives ---------------------------------------------------------------------------------

void begin(Machine& m, int64_t mode) {
  Context& c = *m.current();
  if (c.in_begin || mode < 0 || mode > 14) return m.refuse();
  c.in_begin = true;
  c.begin_mode = static_cast<uint32_t>(mode);
  c.begin_vertices = 0;
  m.set(c.node, f_context::in_begin, Num(1));
  Hash128 none;
  m.set_content(c.node, f_context::vertices, none, 0);
}
void vertex(Machine& m) {
  Context& c = *m.current();
  if (!c.in_begin) return;
  ++c.begin_vertices;
  // All that may change before the next vertex is read now: by glEnd only the last of it would be seen.
  read_current(m);
  if (c.node->get(f_context::enabled_GL_LIGHTING)) m.read_children(c.node, c_context::materials);
  m.touch_content(c.node, f_context::vertices);
}
namespace {
void read_maps(Machine& m) {
  m.read(m.context(), f_context::group_grid);
  m.read_children(m.context(), c_context::maps);
}
}  // namespace
// A vertex, and perhaps its color, normal and texture coordinates, that the maps make.
void eval_vertex(Machine& m) {
  read_maps(m);
  vertex(m);
}
namespace {
// Arrays whose elements become current, and what that is: bits of `arrays_on`, those of units and attributes behind
// them.
constexpr struct {
  uint64_t array;
  unsigned field;
} CURRENT[] = {{GL_COLOR_ARRAY, f_context::GL_CURRENT_COLOR},
               {GL_NORMAL_ARRAY, f_context::GL_CURRENT_NORMAL},
               {GL_SECONDARY_COLOR_ARRAY, f_context::GL_CURRENT_SECONDARY_COLOR},
               {GL_FOG_COORD_ARRAY, f_context::GL_CURRENT_FOG_COORD},
               {GL_INDEX_ARRAY, f_context::GL_CURRENT_INDEX}};
constexpr unsigned UNIT_BIT = 8, ATTRIBUTE_BIT = 16;
}  // namespace
uint32_t arrays_on(Machine& m) {
  Node* v = vao(m);
  if (!v) return 0;
  uint32_t on = 0;
  for (unsigned i = 0; i < std::size(CURRENT); ++i)
    if (Node* a = m.find(v, c_vertex_array::arrays, CURRENT[i].array); a && a->get(f_client_array::enabled))
      on |= 1u << i;
  for (Node* a : v->children[c_vertex_array::texture_coord_arrays].near)
    if (a && a->key < 8 && a->get(f_client_array::enabled)) on |= 1u << (UNIT_BIT + a->key);
  for (Node* a : v->children[c_vertex_array::attributes].near)
    if (a && a->key < 16 && a->get(f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_ENABLED))
      on |= 1u << (ATTRIBUTE_BIT + a->key);
  return on;
}
// An element of these arrays has become current: what it is stands in memory that is not looked into here.
void forget_current(Machine& m, uint32_t arrays) {
  double none = std::nan("");
  for (unsigned i = 0; i < std::size(CURRENT); ++i)
    if (arrays >> i & 1) m.set(m.context(), CURRENT[i].field, 0, {none, none, none, none});
  for (unsigned i = 0; i < 8; ++i)
    if (arrays >> (UNIT_BIT + i) & 1)
      if (Node* u = m.find(m.context(), c_context::texture_units, i))
        m.set(u, f_texture_unit::GL_CURRENT_TEXTURE_COORDS, 0, {none, none, none, none});
  for (unsigned i = 0; i < 16; ++i)
    if (arrays >> (ATTRIBUTE_BIT + i) & 1)
      if (Node* n = m.find(m.context(), c_context::attributes, i))
        m.set(n, f_attribute::GL_CURRENT_VERTEX_ATTRIB, 0, {none, none, none, none});
}
void array_element(Machine& m) {
  read_vertex_arrays(m, false);
  vertex(m);
  if (!m.list_depth) forget_current(m, arrays_on(m));
}
void end(Machine& m) {
  Context& c = *m.current();
  if (!c.in_begin) return m.refuse();
  c.in_begin = false;
  m.set(c.node, f_context::in_begin, Num(0));
  m.read(c.node, f_context::vertices);
  Draw& d = m.drawing();
  d.mode = c.begin_mode;
  d.vertices += c.begin_vertices;
  d.primitives += primitives_of(c.begin_mode, c.begin_vertices).count;
  read_raster(m, false);
}
void rect(Machine& m) {
  Draw& d = m.drawing();
  d.mode = 9;  // GL_POLYGON
  d.vertices += 4;
  d.primitives += 1;
  read_current(m);
  read_raster(m, false);
}
void eval_mesh(Machine& m) {
  read_maps(m);
  read_current(m);
  read_raster(m, false);
}
namespace {
void position_read(Machine& m) {
  Node* c = m.context();
  read_current(m);
  m.read(c, f_context::group_fixed);
  m.read(c, f_context::GL_VIEWPORT);
  m.read(c, f_context::GL_DEPTH_RANGE);
  m.read_children(c, c_context::lights);
  m.read_children(c, c_context::materials);
  Hash128 none;
  m.set_content(c, f_context::raster_position, none, 0);
}
double depth_at(Node* c, double z) {
  double n = c->real(f_context::GL_DEPTH_RANGE, 0), f = c->real(f_context::GL_DEPTH_RANGE, 1);
  return n + z * (f - n);
}
}  // namespace
void raster_position(Machine& m, Num x, Num y, Num z, Num w) {
  Node* c = m.context();
  position_read(m);
  Matrix4 model, projection;
  memcpy(model.data(), c->at(f_context::GL_MODELVIEW_MATRIX), sizeof model);
  memcpy(projection.data(), c->at(f_context::GL_PROJECTION_MATRIX), sizeof projection);
  Matrix4 all = product(projection, model);
  double v[4] = {x.floating(), y.floating(), z.floating(), w.floating()}, clip[4];
  for (size_t r = 0; r < 4; ++r) clip[r] = all[r] * v[0] + all[4 + r] * v[1] + all[8 + r] * v[2] + all[12 + r] * v[3];
  bool valid = true;
  for (int i = 0; i < 3; ++i) valid = valid && clip[i] >= -clip[3] && clip[i] <= clip[3];
  m.set(c, f_context::GL_CURRENT_RASTER_POSITION_VALID, Num(valid));
  if (!valid || clip[3] == 0) {
    // Where it is not valid nobody may ask for it.
    double none = std::nan("");
    return m.set(c, f_context::GL_CURRENT_RASTER_POSITION, 0, {none, none, none, none});
  }
  double vx = c->real(f_context::GL_VIEWPORT, 0), vy = c->real(f_context::GL_VIEWPORT, 1),
         vw = c->real(f_context::GL_VIEWPORT, 2), vh = c->real(f_context::GL_VIEWPORT, 3);
  m.set(c, f_context::GL_CURRENT_RASTER_POSITION, 0,
        {vx + (clip[0] / clip[3] + 1) * vw / 2, vy + (clip[1] / clip[3] + 1) * vh / 2,
         depth_at(c, (clip[2] / clip[3] + 1) / 2), clip[3]});
}
void raster_position_v(Machine& m, Array v) {
  uint64_t n = v.count();
  if (n >= 2) raster_position(m, v.at(0), v.at(1), n > 2 ? v.at(2) : Num(0), n > 3 ? v.at(3) : Num(1));
}
void window_position(Machine& m, Num x, Num y, Num z) {
  Node* c = m.context();
  position_read(m);
  m.set(c, f_context::GL_CURRENT_RASTER_POSITION_VALID, Num(1));
  m.set(c, f_context::GL_CURRENT_RASTER_POSITION, 0,
        {x, y, Num(depth_at(c, std::clamp(z.floating(), 0.0, 1.0))), Num(1.0)});
}
void window_position_v(Machine& m, Array v) {
  uint64_t n = v.count();
  if (n >= 2) window_position(m, v.at(0), v.at(1), n > 2 ? v.at(2) : Num(0));
}
namespace {
Node* evaluator(Machine& m, int64_t target) {
  bool known = (target >= GL_MAP1_COLOR_4 && target <= GL_MAP1_VERTEX_4) ||
               (target >= GL_MAP2_COLOR_4 && target <= GL_MAP2_VERTEX_4);
  return known ? m.child(m.context(), c_context::maps, static_cast<uint64_t>(target)) : nullptr;
}
}  // namespace
void map1(Machine& m, int64_t target, Num u1, Num u2, int64_t order, Array points) {
  Node* n = evaluator(m, target);
  if (!n || order < 1) return m.refuse();
  m.set(n, f_evaluator::order, 0, {Num(order), Num(1)});
  m.set(n, f_evaluator::domain, 0, {u1, u2, Num(0), Num(1)});
  m.set_content(n, f_evaluator::coefficients, points.content_hash(), points.bytes);
}
void map2(Machine& m, int64_t target, Num u1, Num u2, int64_t uorder, Num v1, Num v2, int64_t vorder, Array points) {
  Node* n = evaluator(m, target);
  if (!n || uorder < 1 || vorder < 1) return m.refuse();
  m.set(n, f_evaluator::order, 0, {Num(uorder), Num(vorder)});
  m.set(n, f_evaluator::domain, 0, {u1, u2, v1, v2});
  m.set_content(n, f_evaluator::coefficients, points.content_hash(), points.bytes);
}
void pixel_map(Machine& m, int64_t map, int64_t size, Array values) {
  if (map < GL_PIXEL_MAP_I_TO_I || map > GL_PIXEL_MAP_A_TO_A) return m.refuse();
  Node* n = m.child(m.context(), c_context::pixel_maps, static_cast<uint64_t>(map));
  if (!n) return;
  m.set(n, f_pixel_map::size, Num(size));
  read_unpack(m, values);
  m.set_content(n, f_pixel_map::values, values.content_hash(), values.bytes);
}
void polygon_stipple(Machine& m, Array mask) {
  read_unpack(m, mask);
  m.set_content(m.context(), f_context::polygon_stipple, mask.content_hash(), mask.bytes);
}

}  // namespace dt::state::run
