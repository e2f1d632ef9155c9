#include "geometry_draws.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "call_shapes.h"
#include "gl_enums.h"

namespace dt::play::metrics::geometry {

namespace {

uint64_t index_size(uint32_t type) {
  return type == GL_UNSIGNED_BYTE ? 1 : type == GL_UNSIGNED_SHORT ? 2 : type == GL_UNSIGNED_INT ? 4 : 0;
}

}  // namespace

bool read_buffer(uint32_t target, uint64_t offset, uint64_t bytes, std::vector<uint8_t>& to, const char*& why) {
  int size = 0, mapped = 0;
  driver::glGetBufferParameteriv(target, GL_BUFFER_SIZE, &size);
  if (tls.context->version >= 15) driver::glGetBufferParameteriv(target, GL_BUFFER_MAPPED, &mapped);
  if (mapped) return why = "the program has mapped the buffer that it draws from", false;
  if (offset >= static_cast<uint64_t>(std::max(size, 0))) return to.clear(), true;
  bytes = std::min(bytes, static_cast<uint64_t>(size) - offset);
  if (!bytes) return to.clear(), true;
  auto map = driver::glMapBufferRange;
  auto unmap = driver::glUnmapBuffer;
  if (tls.context->api == 2 && tls.context->version < 30)
    map = driver::glMapBufferRangeEXT, unmap = driver::glUnmapBufferOES;
  void* at = map && unmap ? map(target, static_cast<intptr_t>(offset), static_cast<intptr_t>(bytes), GL_MAP_READ_BIT)
                          : nullptr;
  if (!at) return why = "the driver does not let a buffer be read that it draws from", false;
  to.assign(static_cast<uint8_t*>(at), static_cast<uint8_t*>(at) + bytes);
  unmap(target);
  return true;
}

uint32_t captured_mode(uint32_t asked) {
  switch (asked) {
    case 0: return GL_POINTS;
    case 1:
    case 2:
    case 3:
    case 0xA:
    case 0xB: return GL_LINES;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 0xC:
    case 0xD: return GL_TRIANGLES;
    default: return ~0u;
  }
}

namespace {

int64_t signed_(uint64_t v) { return static_cast<int32_t>(v); }
uint64_t positive(uint64_t v) { return static_cast<uint64_t>(std::max<int64_t>(signed_(v), 0)); }

// Draws whose parameters lie in a buffer.
bool indirect_parts(const Call& call, bool indexed, std::vector<DrawPart>& parts, const char*& why) {
  const char* name = call.name;
  if (contains(name, "Count")) return why = "how many draws it makes is in a buffer", false;
  uint64_t draws =
      shapes_of(name) & SHAPE_MULTI_ARRAYS ? positive(std::max(call.number("drawcount"), call.number("primcount"))) : 1;
  uint64_t words = indexed ? 5 : 4, stride = positive(call.number("stride"));
  if (!stride) stride = words * 4;
  std::vector<uint8_t> content;
  auto given = call.array("indirect");
  if (!given.empty())
    content.assign(given.begin(), given.end());
  else if (!integer(GL_DRAW_INDIRECT_BUFFER_BINDING))
    return why = "the draw's parameters are not in the recording", false;
  else if (!read_buffer(GL_DRAW_INDIRECT_BUFFER, call.number("indirect"), draws * stride, content, why))
    return false;
  for (uint64_t i = 0; i < draws; ++i) {
    uint32_t v[5] = {};
    if (i * stride + words * 4 > content.size()) break;
    memcpy(v, &content[i * stride], words * 4);
    DrawPart p;
    p.count = v[0], p.instances = v[1], p.first = v[2], p.indexed = indexed, p.base_instance = v[words - 1];
    if (indexed) {
      p.type = static_cast<uint32_t>(call.number("type"));
      p.offset = v[2] * index_size(p.type), p.base = static_cast<int32_t>(v[3]), p.first = 0;
    }
    parts.push_back(p);
  }
  return true;
}

// glEvalMesh.
void add_mesh(const Call& call, std::vector<DrawPart>& parts) {
  const char* name = call.name;
  // Strips along the grid; without a map of vertices there are none.
  const bool surface = contains(name, "2");
  const int64_t across = signed_(call.number("i2")) - signed_(call.number("i1")) + 1,
                along = surface ? signed_(call.number("j2")) - signed_(call.number("j1")) + 1 : 1;
  const uint64_t mode = call.number("mode");
  if (across < 1 || along < 1 ||
      !(surface ? enabled(GL_MAP2_VERTEX_3) || enabled(GL_MAP2_VERTEX_4)
                : enabled(GL_MAP1_VERTEX_3) || enabled(GL_MAP1_VERTEX_4)))
    return;
  auto strips = [&](int64_t n, int64_t each) {
    for (int64_t i = 0; i < n; ++i) parts.emplace_back().count = static_cast<uint64_t>(each);
  };
  if (mode == GL_POINT)
    strips(1, across * along);
  else if (mode == GL_LINE)
    strips(along, across), strips(surface ? across : 0, along);
  else if (surface)
    strips(along - 1, 2 * across);
}

bool multi_parts(const Call& call, bool indexed, uint64_t instances, std::vector<DrawPart>& parts, const char*& why) {
  auto counts = call.array("count"), firsts = call.array(indexed ? "indices" : "first"),
       bases = call.array("basevertex");
  uint64_t n = positive(std::max(call.number("drawcount"), call.number("primcount")));
  size_t word = indexed ? 8 : 4;
  if (counts.size() < n * 4 || firsts.size() < n * word) return why = "what it draws is not in the recording", false;
  if (indexed && !integer(GL_ELEMENT_ARRAY_BUFFER_BINDING))
    return why = "its lists of indices are in the program's memory", false;
  for (uint64_t i = 0; i < n; ++i) {
    DrawPart p;
    int32_t count = 0, base = 0;
    uint64_t at = 0;
    memcpy(&count, &counts[i * 4], 4);
    memcpy(&at, &firsts[i * word], word);
    if (bases.size() >= n * 4) memcpy(&base, &bases[i * 4], 4);
    p.count = positive(static_cast<uint32_t>(count)), p.indexed = indexed, p.base = base, p.instances = instances;
    p.type = static_cast<uint32_t>(call.number("type"));
    (indexed ? p.offset : p.first) = at;
    parts.push_back(p);
  }
  return true;
}

}  // namespace

bool parts_of(const Call& call, std::vector<DrawPart>& parts, const char*& why) {
  const char* name = call.name;
  const uint32_t shapes = shapes_of(name);
  bool indexed = contains(name, "Elements"), instanced = contains(name, "Instanced");
  uint64_t instances = instanced ? std::max(call.number("instancecount"), call.number("primcount")) : 1;
  if (call.flags & FLAG_INDIRECT) return indirect_parts(call, indexed, parts, why);
  if (shapes & SHAPE_RECT) return parts.emplace_back().count = 4, true;
  if (call.flags & FLAG_MESH) return add_mesh(call, parts), true;
  if (shapes & SHAPE_MULTI_ARRAYS) return multi_parts(call, indexed, instances, parts, why);
  if (!(shapes & SHAPE_ARRAYS)) return why = "how many vertices it draws is not known", false;
  DrawPart p;
  p.first = positive(call.number("first")), p.count = positive(call.number("count")), p.instances = positive(instances),
  p.indexed = indexed, p.base_instance = call.number("baseinstance");
  if (indexed) {
    p.type = static_cast<uint32_t>(call.number("type"));
    p.base = signed_(call.number("basevertex"));
    p.indices = call.array("indices");
    p.offset = call.number("indices");
  }
  parts.push_back(p);
  return true;
}

bool vertices_of(const DrawPart& part, int64_t restart, std::vector<uint64_t>& to, const char*& why) {
  to.clear();
  if (part.count > 1ull << 27) return why = "it draws too many vertices", false;
  if (!part.indexed) {
    for (uint64_t i = 0; i < part.count; ++i) to.push_back(part.first + i);
    return true;
  }
  uint64_t size = index_size(part.type);
  if (!size) return why = "its indices have no type", false;
  std::vector<uint8_t> content;
  std::span<const uint8_t> bytes = part.indices;
  if (bytes.empty() && part.count) {
    if (!integer(GL_ELEMENT_ARRAY_BUFFER_BINDING)) return why = "its indices are not in the recording", false;
    if (!read_buffer(GL_ELEMENT_ARRAY_BUFFER, part.offset, part.count * size, content, why)) return false;
    bytes = content;
  }
  for (uint64_t i = 0; i < part.count; ++i) {
    uint32_t v = 0;  // beyond the buffer: robust contexts read zeros
    if ((i + 1) * size <= bytes.size()) memcpy(&v, &bytes[i * size], size);
    to.push_back(restart >= 0 && v == static_cast<uint64_t>(restart)
                     ? RESTART
                     : static_cast<uint64_t>(static_cast<int64_t>(v) + part.base));
  }
  return true;
}

int64_t restart_index(uint32_t type) {
  const GlContext* c = tls.context;
  int64_t all = static_cast<int64_t>((1ull << (8 * index_size(type))) - 1);
  bool es = c->api == 2;
  if (c->version >= (es ? 30u : 43u) && enabled(GL_PRIMITIVE_RESTART_FIXED_INDEX)) return all;
  if (!es && c->version >= 31 && enabled(GL_PRIMITIVE_RESTART))
    return static_cast<uint32_t>(integer(GL_PRIMITIVE_RESTART_INDEX));
  return -1;
}

void raster_state(Raster& r, unsigned& own_planes) {
  const GlContext* c = tls.context;
  bool es = c->api == 2;
  int v[4] = {};
  driver::glGetIntegerv(GL_VIEWPORT, v);
  r.width = v[2], r.height = v[3];
  // To the nearest of the places that a pixel has for the driver, after arithmetic in single precision.
  r.rounding = std::ldexp(0.5, -integer(GL_SUBPIXEL_BITS)) + std::ldexp(std::max(r.width, r.height), -22);
  if (enabled(GL_CULL_FACE)) {
    int mode = integer(GL_CULL_FACE_MODE);
    r.cull_front = mode != GL_BACK, r.cull_back = mode != GL_FRONT;
  }
  r.front_clockwise = integer(GL_FRONT_FACE) == GL_CW;
  if (!es ? c->version >= 32 || has_extension("GL_ARB_depth_clamp") : has_extension("GL_EXT_depth_clamp"))
    r.depth_clamp = enabled(GL_DEPTH_CLAMP);
  if (!es ? c->version >= 45 || has_extension("GL_ARB_clip_control") : has_extension("GL_EXT_clip_control")) {
    // Where the origin is at the top, the picture is upside down, and the facing of a triangle is decided before.
    r.zero_to_one = integer(GL_CLIP_DEPTH_MODE) == GL_ZERO_TO_ONE;
  }
  bool planes =
      !es || c->version < 20 || has_extension("GL_EXT_clip_cull_distance") || has_extension("GL_APPLE_clip_distance");
  own_planes = 0;
  for (int i = 0, n = planes ? std::min(integer(GL_MAX_CLIP_DISTANCES), Own::MOST) : 0; i < n; ++i)
    if (enabled(GL_CLIP_DISTANCE0 + static_cast<uint32_t>(i))) own_planes |= 1u << i;
  bool colour = false;
  uint8_t mask[4] = {};
  int buffers = c->version >= (es ? 30u : 20u) ? std::clamp(integer(GL_MAX_DRAW_BUFFERS), 1, 16) : 1;
  bool indexed = driver::glGetBooleani_v && c->version >= (es ? 32u : 30u);
  for (int i = 0; i < buffers; ++i) {
    bool drawn = true;
    if (c->version >= (es ? 30u : 20u))
      drawn = integer(GL_DRAW_BUFFER0 + static_cast<uint32_t>(i)) != 0;  // GL_DRAW_BUFFERi
    if (!drawn) continue;
    if (indexed)
      driver::glGetBooleani_v(GL_COLOR_WRITEMASK, static_cast<uint32_t>(i), mask);
    else
      driver::glGetBooleanv(GL_COLOR_WRITEMASK, mask);
    colour |= mask[0] || mask[1] || mask[2] || mask[3];
    if (colour) break;
  }
  uint8_t depth = 0;
  driver::glGetBooleanv(GL_DEPTH_WRITEMASK, &depth);
  bool depths = depth && enabled(GL_DEPTH_TEST);
  bool stencils = enabled(GL_STENCIL_TEST) &&
                  (integer(GL_STENCIL_WRITEMASK) || (c->version >= 20 && integer(GL_STENCIL_BACK_WRITEMASK)));
  r.discards_all = !(colour || depths || stencils);
  if (c->version >= 30) r.discards_all |= enabled(GL_RASTERIZER_DISCARD);
  r.discards = r.discards_all || !r.width || !r.height;
  if (enabled(GL_SCISSOR_TEST)) {
    driver::glGetIntegerv(GL_SCISSOR_BOX, v);
    r.discards |= !v[2] || !v[3];
  }
}

uint32_t primitive_mode(const Call& draw) {
  const auto mode = static_cast<uint32_t>(draw.number("mode"));
  // GL_POINT, GL_LINE, GL_FILL
  if (draw.flags & FLAG_MESH) return mode == GL_POINT ? 0 : mode == GL_LINE ? 3 : 8;
  return shapes_of(draw.name) & SHAPE_RECT ? 7 : mode;
}

int64_t count_primitives(const std::vector<DrawPart>& parts, uint32_t mode) {
  int64_t sum = 0;
  std::vector<uint64_t> stream;
  for (auto& part : parts) {
    int64_t each = 0, restart = part.indexed ? restart_index(part.type) : -1;
    const char* why = nullptr;
    if (restart < 0) {
      each = primitives_of(mode, static_cast<int64_t>(part.count));
    } else if (vertices_of(part, restart, stream, why)) {
      int64_t n = 0;
      stream.push_back(RESTART);
      for (uint64_t v : stream) {
        if (v != RESTART) {
          ++n;
          continue;
        }
        int64_t some = primitives_of(mode, n);
        if (some < 0) return -1;
        each += some;
        n = 0;
      }
    } else {
      return -1;
    }
    if (each < 0) return -1;
    sum += each * static_cast<int64_t>(part.instances);
  }
  return sum;
}

std::vector<Raster> viewports(const Raster& first) {
  std::vector<Raster> out{first};
  for (int i = 1, n = std::clamp(integer(GL_MAX_VIEWPORTS), 1, 64); i < n; ++i) {
    Raster r = first;
    float v[4] = {};
    int box[4] = {};
    driver::glGetFloati_v(GL_VIEWPORT, static_cast<uint32_t>(i), v);
    r.width = static_cast<double>(v[2]), r.height = static_cast<double>(v[3]);
    r.discards = first.discards_all || !(v[2] > 0) || !(v[3] > 0);
    if (driver::glIsEnabledi(GL_SCISSOR_TEST, static_cast<uint32_t>(i))) {
      driver::glGetIntegeri_v(GL_SCISSOR_BOX, static_cast<uint32_t>(i), box);
      r.discards |= !box[2] || !box[3];
    }
    out.push_back(r);
  }
  return out;
}

std::vector<Position> eye_planes(unsigned own_planes) {
  std::vector<Position> planes;
  for (uint32_t i = 0; i < Own::MOST; ++i) {
    if (!(own_planes >> i & 1)) continue;
    Position p{};
    float single[4] = {};
    if (tls.context->api == 2) {
      driver::glGetClipPlanef(GL_CLIP_DISTANCE0 + i, single);
      for (size_t k = 0; k < 4; ++k) p[k] = static_cast<double>(single[k]);
    } else {
      driver::glGetClipPlane(GL_CLIP_DISTANCE0 + i, p.data());
    }
    planes.push_back(p);
  }
  return planes;
}

}  // namespace dt::play::metrics::geometry
