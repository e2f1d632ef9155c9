// The fixed function: matrices, lights, materials, current values, stacks, display lists, glBegin and glEnd.
#include <algorithm>
#include <array>
#include <cmath>

#include "gl.h"
#include "gl_enums.h"

namespace dt::state::run {
namespace {

using Matrix = std::array<double, 16>;  // column by column
constexpr unsigned DEEPEST = 64;

struct Stack {
  Node* node;
  unsigned matrix, depth;  // fields
  uint64_t key;            // of its saved matrices
};

Stack stack_of_unit(Node* u) {
  return {u, f_texture_unit::GL_TEXTURE_MATRIX, f_texture_unit::GL_TEXTURE_STACK_DEPTH, (3 + u->key) * DEEPEST};
}
// That of a matrix mode; GL_TEXTUREn is the texture matrix of a unit (EXT_direct_state_access).
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

Matrix load(const Stack& s) {
  Matrix x;
  memcpy(x.data(), s.node->at(s.matrix), sizeof x);
  return x;
}
void store(Machine& m, const Stack& s, const Matrix& x) {
  Num numbers[16];
  for (unsigned i = 0; i < 16; ++i) numbers[i] = Num(x[i]);
  m.set(s.node, s.matrix, 0, numbers, 16);
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix x;
  for (int c = 0; c < 4; ++c)
    for (int r = 0; r < 4; ++r) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) sum += a[static_cast<size_t>(k * 4 + r)] * b[static_cast<size_t>(c * 4 + k)];
      x[static_cast<size_t>(c * 4 + r)] = sum;
    }
  return x;
}
constexpr Matrix IDENTITY{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
void multiply(Machine& m, const Stack& s, const Matrix& by) {
  const Matrix before = load(s);
  m.read(s.node, s.matrix);
  store(m, s, product(before, by));
  // What is computed here may be what was there, and yet not be that to the bit in the driver: a full turn, say.
  if (by != IDENTITY && load(s) == before) m.part(s.node, s.matrix);
}
bool given(Array& a, bool transpose, Matrix& x) {
  if (a.count() < 16) return false;
  for (uint64_t i = 0; i < 16; ++i) x[transpose ? (i % 4) * 4 + i / 4 : i] = a.at(i).floating();
  return true;
}
bool invert(const Matrix& m, Matrix& out) {
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
Matrix modelview(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_MODELVIEW_MATRIX);
  Matrix x;
  memcpy(x.data(), c->at(f_context::GL_MODELVIEW_MATRIX), sizeof x);
  return x;
}
// A plane in eye coordinates: by the inverse of the modelview matrix.
bool to_eye(Machine& m, double plane[4]) {
  Matrix inverse;
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

namespace {
void load_identity(Machine& m, const Stack& s) {
  Matrix x{};
  x[0] = x[5] = x[10] = x[15] = 1;
  store(m, s, x);
}
void load_matrix(Machine& m, const Stack& s, Array a, int64_t transpose) {
  Matrix x;
  if (given(a, transpose, x)) store(m, s, x);
}
void mult_matrix(Machine& m, const Stack& s, Array a, int64_t transpose) {
  Matrix x;
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
}  // namespace

// Of the current matrix, and of that of a mode.
void load_identity(Machine& m) { load_identity(m, current_stack(m)); }
void load_matrix(Machine& m, Array a, int64_t transpose) { load_matrix(m, current_stack(m), a, transpose); }
void mult_matrix(Machine& m, Array a, int64_t transpose) { mult_matrix(m, current_stack(m), a, transpose); }
void rotate(Machine& m, Num angle, Num x, Num y, Num z) { rotate(m, current_stack(m), angle, x, y, z); }
void translate(Machine& m, Num x, Num y, Num z) { translate(m, current_stack(m), x, y, z); }
void scale(Machine& m, Num x, Num y, Num z) { scale(m, current_stack(m), x, y, z); }
void frustum(Machine& m, Num l, Num r, Num b, Num t, Num n, Num f) { frustum(m, current_stack(m), l, r, b, t, n, f); }
void ortho(Machine& m, Num l, Num r, Num b, Num t, Num n, Num f) { ortho(m, current_stack(m), l, r, b, t, n, f); }
void push_matrix(Machine& m) { push_matrix(m, current_stack(m)); }
void pop_matrix(Machine& m) { pop_matrix(m, current_stack(m)); }

void load_identity_of(Machine& m, int64_t mode) { load_identity(m, stack_of(m, mode)); }
void load_matrix_of(Machine& m, int64_t mode, Array a, int64_t transpose) {
  load_matrix(m, stack_of(m, mode), a, transpose);
}
void mult_matrix_of(Machine& m, int64_t mode, Array a, int64_t transpose) {
  mult_matrix(m, stack_of(m, mode), a, transpose);
}
void rotate_of(Machine& m, int64_t mode, Num angle, Num x, Num y, Num z) {
  rotate(m, stack_of(m, mode), angle, x, y, z);
}
void translate_of(Machine& m, int64_t mode, Num x, Num y, Num z) { translate(m, stack_of(m, mode), x, y, z); }
void scale_of(Machine& m, int64_t mode, Num x, Num y, Num z) { scale(m, stack_of(m, mode), x, y, z); }
void frustum_of(Machine& m, int64_t mode, Num l, Num r, Num b, Num t, Num n, Num f) {
  frustum(m, stack_of(m, mode), l, r, b, t, n, f);
}
void ortho_of(Machine& m, int64_t mode, Num l, Num r, Num b, Num t, Num n, Num f) {
  ortho(m, stack_of(m, mode), l, r, b, t, n, f);
}
void push_matrix_of(Machine& m, int64_t mode) { push_matrix(m, stack_of(m, mode)); }
void pop_matrix_of(Machine& m, int64_t mode) { pop_matrix(m, stack_of(m, mode)); }

// ---- lights and materials -----------------------------------------------------------------------

void light_v(Machine& m, int64_t light, int64_t pname, Array params) {
  if (light < GL_LIGHT0 || light > GL_LIGHT7) return m.refuse();
  Node* n = m.child(m.context(), c_context::lights, static_cast<uint64_t>(light - GL_LIGHT0));
  if (!n) return;
  if (pname == GL_POSITION && params.count() >= 4) {
    Matrix x = modelview(m);
    double p[4], v[4];
    for (uint64_t i = 0; i < 4; ++i) p[i] = params.at(i).floating();
    for (size_t r = 0; r < 4; ++r) v[r] = x[r] * p[0] + x[4 + r] * p[1] + x[8 + r] * p[2] + x[12 + r] * p[3];
    return m.set(n, f_light::GL_POSITION, 0, {v[0], v[1], v[2], v[3]});
  }
  if (pname == GL_SPOT_DIRECTION && params.count() >= 3) {
    Matrix x = modelview(m);
    double p[3], v[3];
    for (uint64_t i = 0; i < 3; ++i) p[i] = params.at(i).floating();
    for (size_t r = 0; r < 3; ++r) v[r] = x[r] * p[0] + x[4 + r] * p[1] + x[8 + r] * p[2];
    return m.set(n, f_light::GL_SPOT_DIRECTION, 0, {v[0], v[1], v[2]});
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
void color_n(Machine& m, Num r, Num g, Num b, Num a, int64_t scale) {
  // The form with three components gives the largest value as alpha: 1.
  color(m, scaled(r, scale), scaled(g, scale), scaled(b, scale), !a.real && a.i == scale ? Num(1.0) : scaled(a, scale));
}
void color_v(Machine& m, Array v, int64_t scale) {
  uint64_t n = v.count();
  if (n < 3) return;
  color(m, scaled(v.at(0), scale), scaled(v.at(1), scale), scaled(v.at(2), scale),
        n > 3 ? scaled(v.at(3), scale) : Num(1.0));
}
void secondary_color_n(Machine& m, Num r, Num g, Num b, int64_t scale) {
  m.set(m.context(), f_context::GL_CURRENT_SECONDARY_COLOR, 0,
        {scaled(r, scale), scaled(g, scale), scaled(b, scale), Num(1.0)});
}
void secondary_color_v(Machine& m, Array v, int64_t scale) {
  if (v.count() >= 3) secondary_color_n(m, v.at(0), v.at(1), v.at(2), scale);
}
void normal_n(Machine& m, Num x, Num y, Num z, int64_t scale) {
  m.set(m.context(), f_context::GL_CURRENT_NORMAL, 0, {scaled(x, scale), scaled(y, scale), scaled(z, scale)});
}
void normal_v(Machine& m, Array v, int64_t scale) {
  if (v.count() >= 3) normal_n(m, v.at(0), v.at(1), v.at(2), scale);
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
void attribute_n(Machine& m, int64_t index, Num x, Num y, Num z, Num w, int64_t scale) {
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
  d.primitives += primitives(c.begin_mode, c.begin_vertices);
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
  Matrix model, projection;
  memcpy(model.data(), c->at(f_context::GL_MODELVIEW_MATRIX), sizeof model);
  memcpy(projection.data(), c->at(f_context::GL_PROJECTION_MATRIX), sizeof projection);
  Matrix all = product(projection, model);
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

// ---- attribute stacks ---------------------------------------------------------------------------

namespace {

class Keeper {
 public:
  Keeper(Machine& m, Saved& to) : m_(m), to_(to) {}
  void field(Node* n, unsigned field) {
    if (!n) return;
    const FieldInfo& f = n->cls->fields[field];
    for (unsigned e = 0; e < f.elements; ++e) {
      const Word* w = n->at(field, e);
      to_.items.push_back(
          {n, static_cast<uint16_t>(field), static_cast<uint16_t>(e), std::vector<Word>(w, w + f.components)});
    }
    m_.log(n->location(field), f.elements, Touch::read);
  }
  void all(Node* n) {
    if (!n) return;
    for (unsigned i = 0; i < n->cls->field_count; ++i) field(n, i);
  }
  void children(Node* n, unsigned collection, int from = 0, int to = -1) {
    if (!n || !n->children) return;
    for (Node* x : n->children[collection].near)
      if (x) some(x, from, to);
    for (auto& [key, x] : n->children[collection].far) some(x, from, to);
  }
  void some(Node* n, int from, int to) {
    for (int i = from; i < (to < 0 ? n->cls->field_count : to); ++i) field(n, static_cast<unsigned>(i));
  }

 private:
  Machine& m_;
  Saved& to_;
};

constexpr size_t MOST_SAVED = 16;
void restore(Machine& m, const Saved& saved) {
  for (auto& item : saved.items)
    if (item.node->alive) m.set_words(item.node, item.field, item.element, item.words.data());
}
void saved_written(Machine& m, uint64_t depth, uint32_t mask) {
  Hash128 none;
  if (Node* n = m.child(m.context(), c_context::saved, depth)) {
    m.set(n, f_saved::mask, Num(mask));
    m.set_content(n, f_saved::values, none, 0);
  }
}
void saved_read(Machine& m, uint64_t depth) {
  if (Node* n = m.child(m.context(), c_context::saved, depth)) m.read_all(n);
}

}  // namespace

void push_attrib(Machine& m, int64_t mask_) {
  Context& c = *m.current();
  Node* n = c.node;
  if (c.attribs.size() >= MOST_SAVED) return m.refuse();
  auto mask = static_cast<uint32_t>(mask_);
  Saved& saved = c.attribs.emplace_back();
  saved.mask = mask;
  Keeper keep(m, saved);
  // GL_ACTIVE_TEXTURE comes back last, so that nothing else depends on it.
  for (unsigned i = 0; i < g_attrib_field_count; ++i)
    if (mask & g_attrib_fields[i].bit) keep.field(n, g_attrib_fields[i].field);
  if (mask & 0x40) {  // GL_LIGHTING_BIT
    keep.children(n, c_context::lights);
    keep.children(n, c_context::materials);
  }
  if (mask & GL_TRANSFORM_BIT) keep.children(n, c_context::clip_planes);
  if (mask & 0x1) {  // GL_CURRENT_BIT
    keep.children(n, c_context::texture_units, f_texture_unit::GL_CURRENT_TEXTURE_COORDS,
                  f_texture_unit::GL_CURRENT_TEXTURE_COORDS + 1);
    keep.children(n, c_context::attributes);
  }
  if (mask & GL_ENABLE_BIT)
    keep.children(n, c_context::texture_units, f_texture_unit::enabled_GL_TEXTURE_1D,
                  f_texture_unit::enabled_GL_TEXTURE_EXTERNAL_OES + 1);
  if (mask & 0x40000) {  // GL_TEXTURE_BIT
    // Samplers stay bound; they came after the stacks.
    keep.children(n, c_context::texture_units, 0, f_texture_unit::GL_SAMPLER_BINDING);
    keep.children(n, c_context::texture_units, f_texture_unit::enabled_GL_TEXTURE_1D,
                  f_texture_unit::GL_CURRENT_TEXTURE_COORDS);
    for (Node* u : n->children[c_context::texture_units].near)
      if (u) {
        keep.children(u, c_texture_unit::gen);
        for (unsigned f = f_texture_unit::GL_TEXTURE_BINDING_1D; f < f_texture_unit::GL_SAMPLER_BINDING; ++f)
          if (u->get(f))
            if (Node* t = m.find(m.share(), c_share::textures, static_cast<uint64_t>(u->get(f))))
              keep.some(t, f_texture::GL_TEXTURE_MIN_FILTER, f_texture::GL_TEXTURE_IMMUTABLE_FORMAT);
      }
  }
  if (mask & 0x20) {  // GL_PIXEL_MODE_BIT: of tables and filters what is no content
    keep.children(n, c_context::color_tables, f_color_table::GL_COLOR_TABLE_SCALE,
                  f_color_table::GL_COLOR_TABLE_FORMAT);
    keep.children(n, c_context::convolutions, f_convolution::GL_CONVOLUTION_BORDER_MODE,
                  f_convolution::GL_CONVOLUTION_FORMAT);
  }
  if (mask & GL_COLOR_BUFFER_BIT ||
      mask & 0x20) {  // GL_COLOR_BUFFER_BIT: draw buffers; GL_PIXEL_MODE_BIT: the read buffer
    Node* f = bound_framebuffer(m, GL_DRAW_FRAMEBUFFER);
    if (f && mask & GL_COLOR_BUFFER_BIT)
      keep.some(f, f_framebuffer::GL_DRAW_BUFFER0, f_framebuffer::GL_DRAW_BUFFER7 + 1);
    Node* r = bound_framebuffer(m, GL_READ_FRAMEBUFFER);
    if (r && mask & 0x20) keep.field(r, f_framebuffer::GL_READ_BUFFER);
  }
  saved_written(m, c.attribs.size(), mask);
  m.set(n, f_context::GL_ATTRIB_STACK_DEPTH, Num(c.attribs.size()));
}
void pop_attrib(Machine& m) {
  Context& c = *m.current();
  if (c.attribs.empty()) return m.refuse();
  saved_read(m, c.attribs.size());
  m.read(c.node, f_context::GL_ATTRIB_STACK_DEPTH);
  Saved saved = std::move(c.attribs.back());
  c.attribs.pop_back();
  restore(m, saved);
  m.set(c.node, f_context::GL_ATTRIB_STACK_DEPTH, Num(c.attribs.size()));
}
void push_client_attrib(Machine& m, int64_t mask_) {
  Context& c = *m.current();
  Node* n = c.node;
  if (c.clients.size() >= MOST_SAVED) return m.refuse();
  auto mask = static_cast<uint32_t>(mask_);
  Saved& saved = c.clients.emplace_back();
  saved.mask = mask;
  saved.seq = m.seq();
  Keeper keep(m, saved);
  if (mask & 1) {  // GL_CLIENT_PIXEL_STORE_BIT
    keep.some(n, f_context::GL_UNPACK_SWAP_BYTES, f_context::GL_PACK_INVERT_MESA + 1);
    keep.field(n, f_context::GL_PIXEL_PACK_BUFFER_BINDING);
    keep.field(n, f_context::GL_PIXEL_UNPACK_BUFFER_BINDING);
  }
  if (mask & 2) {  // GL_CLIENT_VERTEX_ARRAY_BIT
    Node* v = vao(m);
    saved.vao = v;
    saved.arrays_from = saved.items.size();
    keep.all(v);
    for (unsigned k : {c_vertex_array::attributes, c_vertex_array::bindings, c_vertex_array::arrays,
                       c_vertex_array::texture_coord_arrays})
      keep.children(v, k);
    keep.field(n, f_context::GL_ARRAY_BUFFER_BINDING);
    keep.field(n, f_context::GL_VERTEX_ARRAY_BINDING);
    keep.field(n, f_context::GL_CLIENT_ACTIVE_TEXTURE);
    keep.field(n, f_context::enabled_GL_PRIMITIVE_RESTART);
    keep.field(n, f_context::GL_PRIMITIVE_RESTART_INDEX);
  }
  saved_written(m, 100 + c.clients.size(), mask);
  m.set(n, f_context::GL_CLIENT_ATTRIB_STACK_DEPTH, Num(c.clients.size()));
}
void pop_client_attrib(Machine& m) {
  Context& c = *m.current();
  if (c.clients.empty()) return m.refuse();
  saved_read(m, 100 + c.clients.size());
  Saved saved = std::move(c.clients.back());
  c.clients.pop_back();
  Node* v = saved.vao;
  if (v && !v->alive)
    saved.items.resize(saved.arrays_from);  // they went with their object
  else if (v)                               // arrays that were nothing yet when the others were saved
    for (unsigned k : {c_vertex_array::attributes, c_vertex_array::bindings, c_vertex_array::texture_coord_arrays})
      for (Node* n : v->children[k].near)
        if (n && n->created > saved.seq)
          for (unsigned f = 0; f < n->cls->field_count; ++f) {
            Word own = n->key;
            bool binding = k == c_vertex_array::attributes && f == f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING;
            m.set_words(n, f, 0, binding ? &own : n->cls->initial + n->cls->fields[f].word);
          }
  restore(m, saved);
  if (v && v->alive) follow_bindings(m, v);
  m.set(c.node, f_context::GL_CLIENT_ATTRIB_STACK_DEPTH, Num(c.clients.size()));
}

// ---- display lists ------------------------------------------------------------------------------

namespace {
constexpr int64_t MOST_LISTS = 1 << 20;
Node* list_node(Machine& m, uint64_t list, bool make) {
  Node* n = m.find(m.share(), c_share::lists, list);
  if (!n && make && list) n = m.make(m.share(), c_share::lists, list);
  m.read(n);
  return n;
}
}  // namespace
void gen_lists(Machine& m, int64_t first, int64_t range) {
  if (first <= 0 || range <= 0) return;
  for (int64_t i = 0; i < std::min(range, MOST_LISTS); ++i)
    m.make(m.share(), c_share::lists, static_cast<uint64_t>(first + i));
}
void delete_lists(Machine& m, int64_t first, int64_t range) {
  if (range < 0) return m.refuse();
  auto& lists = m.current()->share->lists;
  for (int64_t i = 0; i < std::min(range, MOST_LISTS); ++i) {
    auto name = static_cast<uint64_t>(first + i);
    if (Node* n = m.find(m.share(), c_share::lists, name)) m.remove(n);
    lists.erase(static_cast<uint32_t>(name));
  }
}
void new_list(Machine& m, int64_t list, int64_t mode) {
  Context& c = *m.current();
  if (list <= 0 || c.list || (mode != GL_COMPILE && mode != GL_COMPILE_AND_EXECUTE) || c.in_begin) return m.refuse();
  c.list = static_cast<uint32_t>(list);
  c.list_mode = static_cast<uint32_t>(mode);
  c.compiling = std::make_shared<DisplayList>();
  m.set(c.node, f_context::GL_LIST_INDEX, Num(list));
  m.set(c.node, f_context::GL_LIST_MODE, Num(mode));
  Hash128 none;
  if (Node* n = list_node(m, c.list, true)) m.set_content(n, f_list::content, none, 0);
}
void listed(Machine& m) {
  Context& c = *m.current();
  if (Node* n = list_node(m, c.list, true)) m.touch_content(n, f_list::content);
  m.read(c.node, f_context::GL_LIST_INDEX);
  // Arrays are read when the call is listed, not when the list is called.
  read_vertex_arrays_if_drawn(m);
}
void end_list(Machine& m) {
  Context& c = *m.current();
  if (!c.list) return m.refuse();
  if (Node* n = list_node(m, c.list, true)) {
    m.touch_content(n, f_list::content);
    m.set(n, f_list::calls, Num(c.compiling ? c.compiling->calls.size() : 0));
  }
  c.share->lists[c.list] = std::move(c.compiling);
  c.compiling.reset();
  c.list = c.list_mode = 0;
  m.set(c.node, f_context::GL_LIST_INDEX, Num(0));
  m.set(c.node, f_context::GL_LIST_MODE, Num(0));
}
void call_list(Machine& m, int64_t list) {
  Node* n = list_node(m, static_cast<uint64_t>(list), false);
  if (!n) return;
  m.read_all(n);
  Context& c = *m.current();
  auto it = c.share->lists.find(static_cast<uint32_t>(list));
  if (it == c.share->lists.end() || !it->second || m.list_depth >= 64 || m.list_calls > 1'000'000) return;
  auto kept = it->second;
  ++m.list_depth;
  for (auto& call : kept->calls) {
    // Lists that call lists are finite work, but a small file may ask for a very great deal of it.
    if (++m.list_calls > 1'000'000) break;
    m.run(call, m.list_depth);
    if (!m.current()) break;
  }
  --m.list_depth;
}
void call_lists(Machine& m, int64_t n, int64_t type, Array lists) {
  if (n < 0 || !lists.load()) return;
  int64_t base = m.context()->get(f_context::GL_LIST_BASE);
  m.read(m.context(), f_context::GL_LIST_BASE);
  const uint8_t* p = lists.data;
  auto size = [&]() -> uint64_t {
    switch (type) {
      case GL_BYTE:
      case GL_UNSIGNED_BYTE: return 1;
      case GL_SHORT:
      case GL_UNSIGNED_SHORT:
      case GL_2_BYTES: return 2;
      case GL_3_BYTES: return 3;
      case GL_INT:
      case GL_UNSIGNED_INT:
      case GL_FLOAT:
      case GL_4_BYTES: return 4;
      default: return 0;
    }
  }();
  if (!size) return m.refuse();
  for (uint64_t i = 0; i < static_cast<uint64_t>(n) && (i + 1) * size <= lists.bytes; ++i, p += size) {
    int64_t v = 0;
    switch (type) {
      case GL_BYTE: v = static_cast<int8_t>(*p); break;
      case GL_UNSIGNED_BYTE: v = *p; break;
      case GL_SHORT: {
        int16_t x;
        memcpy(&x, p, 2);
        v = x;
        break;
      }
      case GL_UNSIGNED_SHORT: {
        uint16_t x;
        memcpy(&x, p, 2);
        v = x;
        break;
      }
      case GL_INT: {
        int32_t x;
        memcpy(&x, p, 4);
        v = x;
        break;
      }
      case GL_UNSIGNED_INT: {
        uint32_t x;
        memcpy(&x, p, 4);
        v = x;
        break;
      }
      case GL_FLOAT: {
        float x;
        memcpy(&x, p, 4);
        v = x >= 0 && x < 4e9f ? static_cast<int64_t>(x) : 0;
        break;
      }
      case GL_2_BYTES: v = p[0] << 8 | p[1]; break;
      case GL_3_BYTES: v = p[0] << 16 | p[1] << 8 | p[2]; break;
      default: v = static_cast<int64_t>(p[0]) << 24 | p[1] << 16 | p[2] << 8 | p[3]; break;
    }
    call_list(m, static_cast<int64_t>(static_cast<uint32_t>(base + v)));
  }
}
void render_mode(Machine& m) {
  Node* c = m.context();
  const int64_t mode = c->get(f_context::GL_RENDER_MODE);
  // It is an error where there is no buffer for what comes.
  if (mode == GL_FEEDBACK) m.read(c, f_context::GL_FEEDBACK_BUFFER_SIZE), m.read(c, f_context::GL_FEEDBACK_BUFFER_TYPE);
  if (mode == GL_SELECT) m.read(c, f_context::GL_SELECTION_BUFFER_SIZE);
  m.touch_content(c, f_context::names);
}
void names(Machine& m, int64_t change) {
  Node* c = m.context();
  int64_t depth = c->get(f_context::GL_NAME_STACK_DEPTH);
  if (c->get(f_context::GL_RENDER_MODE) != GL_SELECT) return;  // only while selecting
  m.set(c, f_context::GL_NAME_STACK_DEPTH, Num(std::clamp<int64_t>(change < -1 ? 0 : depth + change, 0, 64)));
  m.touch_content(c, f_context::names);
}
void pass_through(Machine&) {}

}  // namespace dt::state::run
