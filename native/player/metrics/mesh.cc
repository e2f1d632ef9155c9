#include "mesh.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "../../common/pixel_size.h"
#include "../../mirror/fixed_arrays.h"
#include "draw_state.h"
#include "geometry_draws.h"
#include "gl_enums.h"

namespace dt::play::metrics {

namespace {

// Where the values of an input stand.
struct Array {
  int size = 4;
  uint32_t type = GL_FLOAT, buffer = 0;
  bool normalized = false, integer = false;
  uint64_t stride = 0;
  const uint8_t* at = nullptr;  // in memory, or an offset into the buffer
};

// 0: a type that no array has.
uint64_t array_type_bytes(uint32_t type) {
  return type <= GL_FIXED || type == GL_HALF_FLOAT_OES ? static_cast<uint64_t>(pixels::type_size(type)) : 0;
}
bool is_packed(uint32_t type) { return type == GL_INT_2_10_10_10_REV || type == GL_UNSIGNED_INT_2_10_10_10_REV; }

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

template <typename T> double whole(const uint8_t* at, bool normalized) {
  T v;
  memcpy(&v, at, sizeof v);
  const auto number = static_cast<double>(v);
  return normalized ? std::max(-1.0, number / static_cast<double>(std::numeric_limits<T>::max())) : number;
}
template <typename T> double real(const uint8_t* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return static_cast<double>(v);
}

double packed(const uint8_t* at, uint32_t type, int component, bool normalized) {
  uint32_t bits;
  memcpy(&bits, at, 4);
  const int width = component == 3 ? 2 : 10;
  const uint32_t raw = bits >> (10 * component) & ((1u << width) - 1);
  if (type == GL_UNSIGNED_INT_2_10_10_10_REV) return normalized ? raw / double((1u << width) - 1) : raw;
  const int v = raw >> (width - 1) ? static_cast<int>(raw) - (1 << width) : static_cast<int>(raw);
  return normalized ? std::max(-1.0, v / double((1 << (width - 1)) - 1)) : v;
}

double component_of(const Array& a, const uint8_t* at, int i) {
  if (is_packed(a.type)) return packed(at, a.type, i, a.normalized);
  at += static_cast<uint64_t>(i) * array_type_bytes(a.type);
  switch (a.type) {
    case GL_BYTE: return whole<int8_t>(at, a.normalized);
    case GL_UNSIGNED_BYTE: return whole<uint8_t>(at, a.normalized);
    case GL_SHORT: return whole<int16_t>(at, a.normalized);
    case GL_UNSIGNED_SHORT: return whole<uint16_t>(at, a.normalized);
    case GL_INT: return whole<int32_t>(at, a.normalized);
    case GL_UNSIGNED_INT: return whole<uint32_t>(at, a.normalized);
    case GL_FIXED: return whole<int32_t>(at, false) / 65536;
    case GL_DOUBLE: return real<double>(at);
    case GL_FLOAT: return real<float>(at);
    default: {
      uint16_t bits;
      memcpy(&bits, at, 2);
      return half(bits);
    }
  }
}

// A part of a buffer, or of the program's memory.
bool read_bytes(const Array& a, uint64_t bytes, std::vector<uint8_t>& to, const char*& why) {
  to.assign(bytes, 0);
  if (!a.buffer) {
    if (!a.at) return why = "its values are not in the recording", false;
    memcpy(to.data(), a.at, bytes);
    return true;
  }
  const auto was = static_cast<uint32_t>(integer(GL_ARRAY_BUFFER_BINDING));
  driver::glBindBuffer(GL_ARRAY_BUFFER, a.buffer);
  const bool read = geometry::read_buffer(GL_ARRAY_BUFFER, reinterpret_cast<uint64_t>(a.at), bytes, to, why);
  driver::glBindBuffer(GL_ARRAY_BUFFER, was);
  drain_errors();
  to.resize(bytes);  // beyond its end are zeros, as robust contexts read them
  return read;
}

void read_array(const Mesh& mesh, const Array& a, VertexInput& to) {
  const uint64_t each = is_packed(a.type) ? 4 : array_type_bytes(a.type) * static_cast<uint64_t>(a.size);
  if (!each) return to.why = "its type is not known here", void();
  to.size = a.size;
  const uint64_t stride = a.stride ? a.stride : each;
  std::vector<uint32_t> all = mesh.vertices;
  if (to.divisor) {
    const uint64_t values = std::max<uint64_t>(1, (mesh.instances + to.divisor - 1) / to.divisor);
    all.resize(std::min<uint64_t>(values, Mesh::MOST));
    std::iota(all.begin(), all.end(), static_cast<uint32_t>(mesh.base_instance));
  }
  const uint64_t count = all.empty() ? 0 : all.back();
  if (count * stride + each > 1ull << 28) return to.why = "its vertices lie too far apart", void();
  std::vector<uint8_t> content;
  if (!read_bytes(a, count * stride + each, content, to.why)) return;
  to.values.reserve(all.size() * static_cast<size_t>(a.size));
  for (uint32_t v : all)
    for (int i = 0; i < a.size; ++i) to.values.push_back(component_of(a, &content[v * stride], i));
}

void read_generic(Mesh& mesh, uint32_t program) {
  int count = 0;
  driver::glGetProgramiv(program, GL_ACTIVE_ATTRIBUTES, &count);
  const bool bindings = version() >= (is_es() ? 31u : 43u) && driver::glGetIntegeri_v && driver::glGetInteger64i_v;
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetActiveAttrib(program, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
    const int at = driver::glGetAttribLocation(program, name);
    VertexInput input;
    input.name = name;
    if (at < 0) continue;
    const auto where = static_cast<uint32_t>(at);
    auto number = [&](uint32_t what) {
      int v = 0;
      driver::glGetVertexAttribiv(where, what, &v);
      return v;
    };
    if (!number(GL_VERTEX_ATTRIB_ARRAY_ENABLED)) {
      float v[4] = {};
      driver::glGetVertexAttribfv(where, GL_CURRENT_VERTEX_ATTRIB, v);
      input.constant = true;
      input.values.assign(v, v + 4);
    } else {
      Array a;
      a.size = number(GL_VERTEX_ATTRIB_ARRAY_SIZE), a.type = static_cast<uint32_t>(number(GL_VERTEX_ATTRIB_ARRAY_TYPE));
      a.normalized = number(GL_VERTEX_ATTRIB_ARRAY_NORMALIZED);
      a.stride = static_cast<uint64_t>(number(GL_VERTEX_ATTRIB_ARRAY_STRIDE));
      a.buffer = static_cast<uint32_t>(number(GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING));
      if (version() >= (is_es() ? 30u : 33u))
        input.divisor = static_cast<uint32_t>(number(GL_VERTEX_ATTRIB_ARRAY_DIVISOR));
      void* memory = nullptr;
      driver::glGetVertexAttribPointerv(where, GL_VERTEX_ATTRIB_ARRAY_POINTER, &memory);
      a.at = static_cast<const uint8_t*>(memory);
      if (bindings && a.buffer) {
        const auto binding = static_cast<uint32_t>(number(GL_VERTEX_ATTRIB_BINDING));
        int64_t offset = 0;
        int stride = 0;
        driver::glGetInteger64i_v(GL_VERTEX_BINDING_OFFSET, binding, &offset);
        driver::glGetIntegeri_v(GL_VERTEX_BINDING_STRIDE, binding, &stride);
        a.at = reinterpret_cast<const uint8_t*>(offset + number(GL_VERTEX_ATTRIB_RELATIVE_OFFSET));
        a.stride = static_cast<uint64_t>(stride);
      }
      if (a.size == static_cast<int>(GL_BGRA)) a.size = 4;
      read_array(mesh, a, input);
    }
    drain_errors();
    mesh.inputs.push_back(std::move(input));
  }
}

// The arrays of fixed function.
void read_fixed(Mesh& mesh) {
  for (const FixedArray& one : FIXED_ARRAYS) {
    if (!one.shown || !enabled(one.array)) continue;
    VertexInput input;
    input.name = one.shown;
    Array a;
    a.size = one.size ? integer(one.size) : one.components;
    a.type = static_cast<uint32_t>(integer(one.type));
    a.stride = static_cast<uint64_t>(integer(one.stride));
    a.buffer = static_cast<uint32_t>(integer(one.buffer));
    a.normalized = (one.array == GL_COLOR_ARRAY || one.array == GL_NORMAL_ARRAY) && a.type != GL_FIXED;
    void* memory = nullptr;
    driver::glGetPointerv(one.pointer, &memory);
    a.at = static_cast<const uint8_t*>(memory);
    read_array(mesh, a, input);
    drain_errors();
    mesh.inputs.push_back(std::move(input));
  }
}

}  // namespace

void read_inputs(Mesh& mesh) {
  mesh.vertices = mesh.indices;
  std::sort(mesh.vertices.begin(), mesh.vertices.end());
  mesh.vertices.erase(std::unique(mesh.vertices.begin(), mesh.vertices.end()), mesh.vertices.end());
  if (!mesh.vertices.empty() && mesh.vertices.back() == ~0u) mesh.vertices.pop_back();
  driver::glGetIntegerv(GL_VIEWPORT, mesh.viewport);
  if (mesh.why_in) return;
  const uint32_t program = version() >= 20 ? static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM)) : 0;
  if (program)
    read_generic(mesh, program);
  else if (fixed_function())
    read_fixed(mesh);
  else
    mesh.why_in = "no program draws it";
  drain_errors();
}

}  // namespace dt::play::metrics
