// What becomes of primitives and vertices: every draw is made once more with its positions captured by transform
// feedback and nothing rasterised, and the positions are told apart on the processor.
//
// The positions are those of a twin of the program: the same shaders, linked with gl_Position captured. Fixed-function
// vertices have a twin that says ftransform(). OpenGL ES 1 has no transform feedback: its arrays are read and
// transformed here, in double precision.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "../../core/signature.h"
#include "geometry_classes.h"
#include "mesh.h"
#include "source.h"
#include "uniform.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

int integer(uint32_t name) {
  int v[16] = {};
  driver::glGetIntegerv(name, v);
  return v[0];
}
bool enabled(uint32_t name) { return driver::glIsEnabled(name); }

// ---- what there is ------------------------------------------------------------------------------

enum Part : uint8_t { PRIMITIVES, VERTICES, CALLS, PARTS };
enum What : uint8_t {
  SUBMITTED,
  DEGENERATE,
  OUTSIDE,
  BACKFACE,
  IN_DOUBT,
  DISCARDED,
  RASTERISED,
  CLIPPED,
  CORNERS,
  AREA,
  AVERAGE,
  SIZE_0,
  SIZE_1,
  SIZE_2,
  SIZE_3,
  SIZE_4,
  SIZE_5,
  SIZE_6,
  VERTICES_SUBMITTED,
  DISTINCT,
  TRANSFORMED,
  LIT,
  ACCESSES,
  HITS_16,
  HITS_32,
  RENDER,
  MATRIX,
  MATRIX_UNIFORMS,
  TEXELS,
  WHATS
};
struct Known {
  const char *group, *spec;
  Part part;
};
const Known KNOWN[WHATS] = {
    {"primitives", "submitted", PRIMITIVES},
    {"primitives", "degenerate", PRIMITIVES},
    {"primitives", "frustum_culled", PRIMITIVES},
    {"primitives", "backface_culled", PRIMITIVES},
    {"primitives", "culling_in_doubt", PRIMITIVES},
    {"primitives", "discarded", PRIMITIVES},
    {"primitives", "rasterised", PRIMITIVES},
    {"primitives", "clipped", PRIMITIVES},
    {"vertices", "viewport_transformed", PRIMITIVES},
    {"triangles", "area", PRIMITIVES},
    {"triangles", "average_area", PRIMITIVES},
    {"triangles", "area_below_1", PRIMITIVES},
    {"triangles", "area_1_to_4", PRIMITIVES},
    {"triangles", "area_4_to_16", PRIMITIVES},
    {"triangles", "area_16_to_64", PRIMITIVES},
    {"triangles", "area_64_to_256", PRIMITIVES},
    {"triangles", "area_256_to_1024", PRIMITIVES},
    {"triangles", "area_from_1024", PRIMITIVES},
    {"vertices", "vertices_submitted", VERTICES},
    {"vertices", "distinct", VERTICES},
    {"vertices", "transformed_fifo_32", VERTICES},
    {"vertices", "lit", VERTICES},
    {"vertices", "cache_accesses", VERTICES},
    {"vertices", "cache_hits_fifo_16", VERTICES},
    {"vertices", "cache_hits_fifo_32", VERTICES},
    {"calls", "render", CALLS},
    {"calls", "matrix", CALLS},
    {"calls", "matrix_uniforms", CALLS},
    {"calls", "texels_uploaded", CALLS},
};

// ---- programs -----------------------------------------------------------------------------------

struct Uniform {
  int from, to;  // locations
  char kind;     // f, i, u
  int columns, rows;
  uint32_t last[16];
  bool set = false;
};
// What a vertex has beside its position, in the order in which it is captured.
enum Captured : uint8_t { CLIP_DISTANCE, CULL_DISTANCE, VIEWPORT_INDEX, CLIP_VERTEX, CAPTURED };
const char* const CAPTURED_NAMES[CAPTURED] = {"gl_ClipDistance", "gl_CullDistance", "gl_ViewportIndex",
                                              "gl_ClipVertex"};
// Drivers do not hand out gl_CullDistance: in the twin it is an output of another name, which culls nothing.
const char* const OUR_CULL_DISTANCE = "dt_CullDistance";
struct Twin {
  int sizes[CAPTURED] = {};   // how many numbers; 0: it has none
  bool named[CAPTURED] = {};  // its shaders name it
  uint64_t stride() const {   // numbers of a vertex
    uint64_t sum = 4;
    for (int size : sizes) sum += static_cast<uint64_t>(size);
    return sum;
  }
  uint64_t offset(Captured which) const {
    uint64_t sum = 4;
    for (int i = 0; i < which; ++i) sum += static_cast<uint64_t>(sizes[i]);
    return sum;
  }
  uint32_t program = 0;
  std::string why;            // there is none
  uint32_t stage_mode = ~0u;  // what a geometry or tessellation shader puts out, ~0: there is none
  std::vector<Uniform> uniforms;
  std::vector<std::pair<uint32_t, uint32_t>> blocks;  // indices there and here
};

// How a type of uniforms is read and set.
bool shape(uint32_t type, char& kind, int& columns, int& rows) {
  columns = 1;
  if (type == GL_FLOAT) return kind = 'f', rows = 1, true;
  if (type >= GL_FLOAT_VEC2 && type <= GL_FLOAT_VEC4)
    return kind = 'f', rows = static_cast<int>(type - GL_FLOAT_VEC2) + 2, true;
  if (type == GL_INT || type == GL_BOOL) return kind = 'i', rows = 1, true;
  if (type >= GL_INT_VEC2 && type <= GL_INT_VEC4)
    return kind = 'i', rows = static_cast<int>(type - GL_INT_VEC2) + 2, true;
  if (type >= GL_BOOL_VEC2 && type <= GL_BOOL_VEC4)
    return kind = 'i', rows = static_cast<int>(type - GL_BOOL_VEC2) + 2, true;
  if (type == GL_UNSIGNED_INT) return kind = 'u', rows = 1, true;
  if (type >= GL_UNSIGNED_INT_VEC2 && type <= GL_UNSIGNED_INT_VEC4)
    return kind = 'u', rows = static_cast<int>(type - GL_UNSIGNED_INT_VEC2) + 2, true;
  if (type >= GL_FLOAT_MAT2 && type <= GL_FLOAT_MAT4)
    return kind = 'f', columns = rows = static_cast<int>(type - GL_FLOAT_MAT2) + 2, true;
  static const int mixed[6][2] = {{2, 3}, {2, 4}, {3, 2}, {3, 4}, {4, 2}, {4, 3}};
  if (type >= GL_FLOAT_MAT2x3 && type <= GL_FLOAT_MAT4x3)
    return kind = 'f', columns = mixed[type - GL_FLOAT_MAT2x3][0], rows = mixed[type - GL_FLOAT_MAT2x3][1], true;
  bool is_double = type == GL_DOUBLE || (type >= GL_DOUBLE_VEC2 && type <= GL_DOUBLE_VEC4) ||
                   (type >= GL_DOUBLE_MAT2 && type <= GL_DOUBLE_MAT4x3);
  if (is_double) return false;
  return kind = 'i', rows = 1, true;  // a sampler
}
bool is_image(uint32_t type) { return type >= GL_IMAGE_1D && type <= GL_UNSIGNED_INT_IMAGE_2D_MULTISAMPLE_ARRAY; }

// Whether stages before the rasteriser write to buffers or images: they would write twice.
bool writes_memory(uint32_t program) {
  const GlContext* c = tls.context;
  if (!driver::glGetProgramInterfaceiv || !driver::glGetProgramResourceiv || c->version < (c->api == 2 ? 31u : 43u))
    return false;
  for (uint32_t interface :
       {uint32_t{GL_SHADER_STORAGE_BLOCK}, uint32_t{GL_ATOMIC_COUNTER_BUFFER}, uint32_t{GL_UNIFORM}}) {
    int count = 0;
    driver::glGetProgramInterfaceiv(program, interface, GL_ACTIVE_RESOURCES, &count);
    for (int i = 0; i < count; ++i) {
      static const uint32_t asked[] = {GL_REFERENCED_BY_VERTEX_SHADER, GL_REFERENCED_BY_VERTEX_SHADER + 1,
                                       GL_REFERENCED_BY_VERTEX_SHADER + 2, GL_REFERENCED_BY_VERTEX_SHADER + 3};
      int by[4] = {}, type = 0;
      if (interface == GL_UNIFORM) {
        static const uint32_t type_of = GL_TYPE;
        driver::glGetProgramResourceiv(program, interface, static_cast<uint32_t>(i), 1, &type_of, 1, nullptr, &type);
        if (!is_image(static_cast<uint32_t>(type))) continue;
      }
      // Stages that the context does not know are errors of ours alone.
      for (size_t k = 0; k < 4; ++k)
        driver::glGetProgramResourceiv(program, interface, static_cast<uint32_t>(i), 1, &asked[k], 1, nullptr, &by[k]);
      if (by[0] || by[1] || by[2] || by[3]) return true;
    }
  }
  return false;
}

void make_uniforms(Twin& twin, uint32_t original) {
  int count = 0;
  driver::glGetProgramiv(twin.program, GL_ACTIVE_UNIFORMS, &count);
  for (int i = 0; i < count; ++i) {
    char name[512] = "";
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetActiveUniform(twin.program, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
    Uniform u{};
    if (is_image(type)) continue;
    std::string base = name;
    if (base.ends_with("[0]")) base.resize(base.size() - 3);
    for (int k = 0; k < size; ++k) {
      std::string each = size > 1 ? base + "[" + std::to_string(k) + "]" : std::string(name);
      u.to = driver::glGetUniformLocation(twin.program, each.c_str());
      u.from = driver::glGetUniformLocation(original, each.c_str());
      if (u.to < 0 || u.from < 0) continue;
      if (!shape(type, u.kind, u.columns, u.rows)) {
        twin.why = "it has uniforms of double precision";
        return;
      }
      twin.uniforms.push_back(u);
    }
  }
  if (!driver::glGetActiveUniformBlockName || tls.context->version < (tls.context->api == 2 ? 30u : 31u)) return;
  driver::glGetProgramiv(twin.program, GL_ACTIVE_UNIFORM_BLOCKS, &count);
  for (int i = 0; i < count; ++i) {
    char name[512] = "";
    int length = 0;
    driver::glGetActiveUniformBlockName(twin.program, static_cast<uint32_t>(i), sizeof name, &length, name);
    uint32_t there = driver::glGetUniformBlockIndex(original, name);
    if (there != ~0u) twin.blocks.emplace_back(there, static_cast<uint32_t>(i));
  }
}

const char* const POSITION[] = {"gl_Position"};

// The text with an output of ours in place of gl_CullDistance.
std::string with_our_cull_distance(const std::string& text) {
  const std::string theirs = CAPTURED_NAMES[CULL_DISTANCE], ours = OUR_CULL_DISTANCE;
  std::string made = text;
  unsigned size = 1;
  bool declared = false;
  for (size_t at = 0; (at = made.find(theirs, at)) != made.npos; at += ours.size()) {
    size_t line = made.rfind('\n', at), before = made.find("out ", line == made.npos ? 0 : line);
    declared |= before < at && made.find(';', before) > at;
    size_t bracket = made.find_first_not_of(" \t", at + theirs.size());
    if (bracket < made.size() && made[bracket] == '[')
      size = std::max(size, static_cast<unsigned>(strtoul(made.c_str() + bracket + 1, nullptr, 10)) + 1);
    made.replace(at, theirs.size(), ours);
  }
  if (declared) return made;
  size_t place = 0;  // behind the last line about the version or extensions
  for (size_t at = 0; at < made.size();) {
    size_t end = std::min(made.find('\n', at), made.size() - 1) + 1, word = made.find_first_not_of(" \t", at);
    if (word < end && made[word] == '#') {
      word = made.find_first_not_of(" \t", word + 1);
      if (word < end && (!made.compare(word, 7, "version") || !made.compare(word, 9, "extension"))) place = end;
    }
    at = end;
  }
  made.insert(place, std::string("out ") + (tls.context->api == 2 ? "highp " : "") + "float " + ours + "[" +
                         std::to_string(std::min(size, static_cast<unsigned>(Own::MOST))) + "];\n");
  return made;
}

// Which of CAPTURED the shaders of the last stage before the rasteriser name. Where one culls, another comes in its
// place, which the caller deletes.
void look_for_more(uint32_t* shaders, int count, uint32_t stage, Twin& twin, std::vector<uint32_t>& own) {
  const GlContext* c = tls.context;
  for (int i = 0; i < count; ++i) {
    int type = 0, length = 0;
    driver::glGetShaderiv(shaders[i], GL_SHADER_TYPE, &type);
    driver::glGetShaderiv(shaders[i], GL_SHADER_SOURCE_LENGTH, &length);
    if (static_cast<uint32_t>(type) != stage || length <= 1) continue;
    std::string text(static_cast<size_t>(length), 0);
    driver::glGetShaderSource(shaders[i], length, &length, text.data());
    text.resize(static_cast<size_t>(length));
    bool culls = text.find(CAPTURED_NAMES[CULL_DISTANCE]) != text.npos;
    for (int which = 0; which < CAPTURED; ++which) twin.named[which] |= text.find(CAPTURED_NAMES[which]) != text.npos;
    if (!culls) continue;
    std::string made = with_our_cull_distance(text);
    const char* begin = made.c_str();
    own.push_back(driver::glCreateShader(stage));
    driver::glShaderSource(own.back(), 1, &begin, nullptr);
    driver::glCompileShader(own.back());
    shaders[i] = own.back();
  }
  if (c->api == 2 || c->core) twin.named[CLIP_VERTEX] = false;
}

// Links it so that it hands out the position, and as much of the rest as the driver does.
int link_capturing(Twin& twin) {
  auto link = [&](const std::vector<int>& more) {
    std::vector<const char*> names{POSITION[0]};
    for (int which : more) names.push_back(which == CULL_DISTANCE ? OUR_CULL_DISTANCE : CAPTURED_NAMES[which]);
    driver::glTransformFeedbackVaryings(twin.program, static_cast<int>(names.size()), names.data(),
                                        GL_INTERLEAVED_ATTRIBS);
    driver::glLinkProgram(twin.program);
    int good = 0;
    driver::glGetProgramiv(twin.program, GL_LINK_STATUS, &good);
    return good;
  };
  std::vector<int> more, each;
  for (int which = 0; which < CAPTURED; ++which)
    if (twin.named[which]) more.push_back(which);
  int good = link(more);
  if (!good && !more.empty()) {
    for (int which : more)
      if (link({which})) each.push_back(which);
    more = each;
    good = link(more);
    if (!good) more.clear(), good = link(more);
  }
  for (size_t i = 0; good && i < more.size(); ++i) {
    char name[64] = "";
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetTransformFeedbackVarying(twin.program, static_cast<uint32_t>(i) + 1, sizeof name, &length, &size,
                                          &type, name);
    twin.sizes[more[i]] = more[i] == CLIP_VERTEX ? 4 : std::clamp(size, 1, Own::MOST);
  }
  return good;
}

Twin make_twin(uint32_t original) {
  Twin twin;
  int good = 0, separable = 0;
  driver::glGetProgramiv(original, GL_LINK_STATUS, &good);
  if (!good) return twin.why = "its program is not linked", twin;
  const GlContext* c = tls.context;
  if (c->version >= (c->api == 2 ? 31u : 41u)) driver::glGetProgramiv(original, GL_PROGRAM_SEPARABLE, &separable);
  uint32_t shaders[32];
  int count = 0;
  driver::glGetAttachedShaders(original, 32, &count, shaders);
  bool vertex = false, geometry = false, tessellation = false;
  for (int i = 0; i < count; ++i) {
    int type = 0;
    driver::glGetShaderiv(shaders[i], GL_SHADER_TYPE, &type);
    vertex |= type == GL_VERTEX_SHADER, geometry |= type == GL_GEOMETRY_SHADER,
        tessellation |= type == GL_TESS_EVALUATION_SHADER;
  }
  if (!count) return twin.why = "its program has no shaders to link again", twin;
  if (!vertex)
    return twin.why = separable ? "it draws with separate programs" : "its program has no vertex shader", twin;
  if (writes_memory(original)) return twin.why = "its shaders write memory before the rasteriser", twin;
  if (driver::glGetProgramStageiv && c->api == 1 && c->version >= 40) {
    static const uint32_t stages[] = {GL_VERTEX_SHADER, GL_GEOMETRY_SHADER, GL_TESS_EVALUATION_SHADER,
                                      GL_TESS_EVALUATION_SHADER + 1};
    for (uint32_t stage : stages) {
      int subroutines = 0;
      driver::glGetProgramStageiv(original, stage, GL_ACTIVE_SUBROUTINE_UNIFORMS, &subroutines);
      if (subroutines) return twin.why = "it has subroutines", twin;
    }
  }
  twin.program = driver::glCreateProgram();
  std::vector<uint32_t> own;
  look_for_more(shaders, count,
                geometry       ? GL_GEOMETRY_SHADER
                : tessellation ? GL_TESS_EVALUATION_SHADER
                               : GL_VERTEX_SHADER,
                twin, own);
  for (int i = 0; i < count; ++i) driver::glAttachShader(twin.program, shaders[i]);
  int attributes = 0;
  driver::glGetProgramiv(original, GL_ACTIVE_ATTRIBUTES, &attributes);
  for (int i = 0; i < attributes; ++i) {
    char name[512] = "";
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetActiveAttrib(original, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
    int at = driver::glGetAttribLocation(original, name);
    if (at >= 0 && strncmp(name, "gl_", 3)) driver::glBindAttribLocation(twin.program, static_cast<uint32_t>(at), name);
  }
  good = link_capturing(twin);
  for (int i = 0; i < count; ++i) driver::glDetachShader(twin.program, shaders[i]);
  for (uint32_t shader : own) driver::glDeleteShader(shader);
  if (!good) {
    driver::glDeleteProgram(twin.program);
    twin.program = 0;
    twin.why = "its program writes no gl_Position, or none that can be captured";
    return twin;
  }
  int out = 0;
  if (geometry) {
    driver::glGetProgramiv(original, GL_GEOMETRY_OUTPUT_TYPE, &out);
    twin.stage_mode = out == 0 ? 0u : out == 3 ? 1u : 4u;
  } else if (tessellation) {
    int points = 0;
    driver::glGetProgramiv(original, GL_TESS_GEN_POINT_MODE, &points);
    driver::glGetProgramiv(original, GL_TESS_GEN_MODE, &out);
    twin.stage_mode = points ? 0u : out == GL_ISOLINES ? 1u : 4u;
  }
  make_uniforms(twin, original);
  return twin;
}

// gl_Position as fixed function computes it, and where that is in front of the eye, where planes of the program's own
// cut.
Twin make_fixed_twin() {
  Twin twin;
  const char* source =
      "#version 120\nvarying vec4 dt_eye;\nvoid main() { gl_Position = ftransform(); dt_eye = gl_ModelViewMatrix * gl_Vertex; }\n";
  const char* const names[] = {POSITION[0], "dt_eye"};
  uint32_t shader = driver::glCreateShader(GL_VERTEX_SHADER);
  driver::glShaderSource(shader, 1, &source, nullptr);
  driver::glCompileShader(shader);
  twin.program = driver::glCreateProgram();
  driver::glAttachShader(twin.program, shader);
  driver::glTransformFeedbackVaryings(twin.program, 2, names, GL_INTERLEAVED_ATTRIBS);
  driver::glLinkProgram(twin.program);
  driver::glDeleteShader(shader);
  twin.sizes[CLIP_VERTEX] = 4;
  int good = 0;
  driver::glGetProgramiv(twin.program, GL_LINK_STATUS, &good);
  if (!good) twin.why = "the driver does not capture fixed-function positions";
  return twin;
}

// ---- draws --------------------------------------------------------------------------------------

// One draw, or one of many that a call makes.
struct Part_ {
  uint64_t first = 0, count = 0, instances = 1;
  int64_t base = 0;
  bool indexed = false;
  uint32_t type = 0;
  uint64_t offset = 0;               // into the buffer of indices
  std::span<const uint8_t> indices;  // in the program's memory
};
uint64_t index_size(uint32_t type) {
  return type == GL_UNSIGNED_BYTE ? 1 : type == GL_UNSIGNED_SHORT ? 2 : type == GL_UNSIGNED_INT ? 4 : 0;
}

// Reads a part of the buffer that is bound to a target.
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

bool starts(const char* name, const char* with) { return !strncmp(name, with, strlen(with)); }
bool contains(const char* name, const char* what) { return strstr(name, what) != nullptr; }

// What primitives of a mode are captured as: points, lines or triangles; ~0: none that are known.
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

int64_t signed_(uint64_t v) { return static_cast<int32_t>(v); }
uint64_t positive(uint64_t v) { return static_cast<uint64_t>(std::max<int64_t>(signed_(v), 0)); }

// Draws whose parameters lie in a buffer.
bool indirect_parts(const Call& call, bool indexed, std::vector<Part_>& parts, const char*& why) {
  const char* name = call.name;
  if (contains(name, "Count")) return why = "how many draws it makes is in a buffer", false;
  uint64_t draws = starts(name, "glMulti") ? positive(std::max(call.number("drawcount"), call.number("primcount"))) : 1;
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
    Part_ p;
    p.count = v[0], p.instances = v[1], p.first = v[2], p.indexed = indexed;
    if (indexed) {
      p.type = static_cast<uint32_t>(call.number("type"));
      p.offset = v[2] * index_size(p.type), p.base = static_cast<int32_t>(v[3]), p.first = 0;
    }
    parts.push_back(p);
  }
  return true;
}

// glEvalMesh.
void add_mesh(const Call& call, std::vector<Part_>& parts) {
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

bool multi_parts(const Call& call, bool indexed, uint64_t instances, std::vector<Part_>& parts, const char*& why) {
  auto counts = call.array("count"), firsts = call.array(indexed ? "indices" : "first"),
       bases = call.array("basevertex");
  uint64_t n = positive(std::max(call.number("drawcount"), call.number("primcount")));
  size_t word = indexed ? 8 : 4;
  if (counts.size() < n * 4 || firsts.size() < n * word) return why = "what it draws is not in the recording", false;
  if (indexed && !integer(GL_ELEMENT_ARRAY_BUFFER_BINDING))
    return why = "its lists of indices are in the program's memory", false;
  for (uint64_t i = 0; i < n; ++i) {
    Part_ p;
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

// What the call draws; false: `why` says why it is not known.
bool parts_of(const Call& call, std::vector<Part_>& parts, const char*& why) {
  const char* name = call.name;
  bool indexed = contains(name, "Elements"), instanced = contains(name, "Instanced");
  uint64_t instances = instanced ? std::max(call.number("instancecount"), call.number("primcount")) : 1;
  if (contains(name, "Indirect")) {
    return indirect_parts(call, indexed, parts, why);
  }
  if (starts(name, "glRect")) {
    Part_ p;
    p.count = 4;
    parts.push_back(p);
    return true;
  }
  if (starts(name, "glEvalMesh")) {
    add_mesh(call, parts);
    return true;
  }
  if (starts(name, "glMultiDraw")) {
    return multi_parts(call, indexed, instances, parts, why);
  }
  if (!starts(name, "glDrawArrays") && !starts(name, "glDrawElements") && !starts(name, "glDrawRangeElements"))
    return why = "how many vertices it draws is not known", false;
  Part_ p;
  p.first = positive(call.number("first")), p.count = positive(call.number("count")), p.instances = positive(instances),
  p.indexed = indexed;
  if (indexed) {
    p.type = static_cast<uint32_t>(call.number("type"));
    p.base = signed_(call.number("basevertex"));
    p.indices = call.array("indices");
    p.offset = call.number("indices");
  }
  parts.push_back(p);
  return true;
}

constexpr uint64_t RESTART = ~0ull;

// The vertices of a part in order; RESTART where a primitive ends.
bool vertices_of(const Part_& part, int64_t restart, std::vector<uint64_t>& to, const char*& why) {
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

// The state between the last vertex stage and the rasteriser.
// `own_planes`: the planes of the program's own that are on.
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
    // Where the origin is at the top, the picture is upside down, and which way a triangle faces is told before.
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

// ---- a source -----------------------------------------------------------------------------------

struct Result {
  uint64_t segment = 0;
  Classes classes;
  uint64_t counts[WHATS] = {};
  const char* why[PARTS] = {};
};

class GeometrySource : public Source {
 public:
  GeometrySource(const std::vector<int>& numbers, std::vector<What> whats) : Source(numbers), whats_(std::move(whats)) {
    for (What w : whats_) needs_[KNOWN[w].part] = true;
  }
  bool per_context() const override { return false; }  // what is counted here is not the driver's
  unsigned watches() const override {
    unsigned w = WATCH_CALLS;
    if (needs_[PRIMITIVES] || needs_[VERTICES]) w |= WATCH_DRAWS;
    if (needs_[PRIMITIVES]) w |= WATCH_LINKS;
    return w;
  }
  bool begin(uint64_t segment, std::string& why) override {
    (void)why;
    Result fresh = std::move(learnt_);
    learnt_ = {};
    fresh.segment = segment;
    results_.push_back(fresh);
    runs_ = true;
    return true;
  }
  void end() override { runs_ = false; }
  void collect(Sink& to, bool) override {
    while (!results_.empty() && !(runs_ && results_.size() == 1)) {
      deliver(to, results_.front());
      results_.pop_front();
    }
  }
  bool disturbs(uint32_t target) const override {
    // Counts of primitives and of what shaders ran: our draws would be among them.
    bool counts = target == GL_PRIMITIVES_GENERATED || target == GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN ||
                  target == GL_TRANSFORM_FEEDBACK_OVERFLOW || target == GL_TRANSFORM_FEEDBACK_STREAM_OVERFLOW ||
                  (target >= GL_VERTICES_SUBMITTED && target <= GL_CLIPPING_OUTPUT_PRIMITIVES) ||
                  target == GL_GEOMETRY_SHADER_INVOCATIONS;
    return counts && needs_[PRIMITIVES];
  }
  void forget(const void* context) override {
    auto it = captures_.find(context);
    if (it == captures_.end()) return;
    if (context == current_context() && it->second.feedback) {
      driver::glDeleteTransformFeedbacks(1, &it->second.feedback);
      driver::glDeleteBuffers(1, &it->second.buffer);
      driver::glDeleteQueries(2, it->second.queries);
    }
    captures_.erase(it);
  }

  void see(const Call& call) override;
  void linked(uint32_t program) override {
    if (!can_capture().empty()) return;
    drain_errors();
    Twin& twin = twins_[{tls.context->share_group, program}];
    if (twin.program) driver::glDeleteProgram(twin.program);
    twin = make_twin(program);
    drain_errors();
  }
  void around(Draw& draw) override;

 private:
  struct Capture {  // of a context
    uint32_t feedback = 0, buffer = 0, queries[2] = {};
    uint64_t room = 0;  // bytes
    Twin fixed;
    bool fixed_made = false;
  };
  void deliver(Sink& to, const Result& r);
  static std::string can_capture();
  // `expected` primitives are to come; -1: it is not known how many.
  struct Captures {
    uint64_t written, corners;  // primitives, and how many corners each has
    unsigned own_planes;
  };
  Twin* twin_for(uint32_t program, unsigned own_planes, const char*& why);
  static void give_uniforms(Twin& twin, uint32_t program);
  static void bind_feedback(Capture& mine);
  static bool draw_captured(Draw& draw, Capture& mine, uint32_t mode, uint64_t each, int64_t expected, bool& drew,
                            uint64_t& generated, uint64_t& written);
  static bool classify(const float* at, Captures size, const Twin& twin, const std::vector<Position>& eyes,
                       const std::vector<Raster>& states, Classes& to, const char*& why);
  bool capture(Draw& draw, int64_t expected, const Raster& state, unsigned own_planes, Classes& to, const char*& why);
  bool transform(const std::vector<Part_>& parts, uint32_t mode, const Raster& state, unsigned own_planes, Classes& to,
                 const char*& why);
  void vertices(const std::vector<Part_>& parts, bool lights);

  std::vector<What> whats_;
  bool needs_[PARTS] = {};
  Result learnt_;  // of draws that no segment has yet
  std::deque<Result> results_;
  bool runs_ = false, list_runs_ = false, list_expands_ = false;
  std::map<const void*, Capture> captures_;
  std::map<std::pair<uint32_t, uint32_t>, Twin> twins_;
};

// Why positions cannot be captured in the current context.
std::string GeometrySource::can_capture() {
  const GlContext* c = tls.context;
  if (!c || !c->version) return "there is no context";
  if (!driver::glBindTransformFeedback || !driver::glBeginTransformFeedback || !driver::glMapBufferRange)
    return "the driver has no transform feedback objects";
  if (c->api == 1) {
    if (c->version < 30 || (c->version < 40 && !has_extension("GL_ARB_transform_feedback2")))
      return "OpenGL 4.0 or GL_ARB_transform_feedback2 has what it needs";
  } else if (c->version < 32 && (c->version < 30 || !(has_extension("GL_EXT_geometry_shader") ||
                                                      has_extension("GL_OES_geometry_shader")))) {
    return c->version < 20 ? "OpenGL ES 1 has no transform feedback"
                           : "OpenGL ES 3.2 or GL_EXT_geometry_shader has what it needs";
  }
  return "";
}

uint32_t primitive_mode(const Call& draw) {
  const auto mode = static_cast<uint32_t>(draw.number("mode"));
  // GL_POINT, GL_LINE, GL_FILL
  if (starts(draw.name, "glEvalMesh")) return mode == GL_POINT ? 0 : mode == GL_LINE ? 3 : 8;
  return starts(draw.name, "glRect") ? 7 : mode;
}

// How many primitives the parts make up; -1: it is not known.
int64_t count_primitives(const std::vector<Part_>& parts, uint32_t mode) {
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

// The state of each of the program's viewports: `first` is that of number 0.
std::vector<Raster> viewports(const Raster& first) {
  std::vector<Raster> found{first};
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
    found.push_back(r);
  }
  return found;
}

// Planes of the program's own in front of the eye, as they were transformed when they were given.
std::vector<Position> eye_planes(unsigned own_planes) {
  std::vector<Position> found;
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
    found.push_back(p);
  }
  return found;
}
double distance(const Position& plane, const Position& at) {
  return plane[0] * at[0] + plane[1] * at[1] + plane[2] * at[2] + plane[3] * at[3];
}

// The program that captures what the current one makes of vertices; nullptr: there is none, and `why`.
Twin* GeometrySource::twin_for(uint32_t program, unsigned own_planes, const char*& why) {
  const GlContext* c = tls.context;
  const bool es = c->api == 2;
  Capture& mine = captures_[current_context()];
  Twin* twin = nullptr;
  if (program) {
    auto it = twins_.find({c->share_group, program});
    if (it == twins_.end()) return why = "its program was not linked from shaders in the recording", nullptr;
    twin = &it->second;
    int deleted = 0;
    driver::glGetProgramiv(program, GL_DELETE_STATUS, &deleted);
    if (deleted) return why = "its program is deleted and lives only as long as it is in use", nullptr;
  }
  bool fixed = !es && !c->core && (!twin || twin->why == "its program has no vertex shader");
  if (!program && c->version >= (es ? 31u : 41u) && integer(GL_PROGRAM_PIPELINE_BINDING))
    return why = "it draws with separate programs", nullptr;
  if (fixed) {
    if (has_extension("GL_ARB_vertex_program") && enabled(GL_VERTEX_PROGRAM_ARB))
      return why = "a program in assembler transforms its vertices", nullptr;
    if (!mine.fixed_made) mine.fixed_made = true, mine.fixed = make_fixed_twin();
    twin = &mine.fixed;
  }
  if (!twin) return why = "it draws without a program", nullptr;
  if (!twin->why.empty()) return why = lasting(twin->why), nullptr;
  if (twin->named[CULL_DISTANCE] && !twin->sizes[CULL_DISTANCE])
    return why = "its shader names gl_CullDistance, which the driver does not hand out", nullptr;
  if (twin->named[VIEWPORT_INDEX] && !twin->sizes[VIEWPORT_INDEX])
    return why = "its shader names gl_ViewportIndex, which the driver does not hand out", nullptr;
  if (own_planes && twin->sizes[CLIP_DISTANCE] ? own_planes >> twin->sizes[CLIP_DISTANCE] != 0
                                               : own_planes && !twin->sizes[CLIP_VERTEX])
    return why = twin->named[CLIP_DISTANCE] || twin->named[CLIP_VERTEX]
                     ? "the driver does not hand out what the program clips by"
                     : "the program clips at planes, and its shader does not say how far away they are",
           nullptr;
  return twin;
}

// Its uniforms and blocks as the program has them.
void GeometrySource::give_uniforms(Twin& twin, uint32_t program) {
  for (auto& u : twin.uniforms) {
    uint32_t now[16] = {};
    if (u.kind == 'f')
      driver::glGetUniformfv(program, u.from, reinterpret_cast<float*>(now));
    else if (u.kind == 'i')
      driver::glGetUniformiv(program, u.from, reinterpret_cast<int*>(now));
    else
      driver::glGetUniformuiv(program, u.from, now);
    if (u.set && !memcmp(now, u.last, sizeof now)) continue;
    memcpy(u.last, now, sizeof now);
    u.set = true;
    set_uniform(u.kind, static_cast<unsigned>(u.columns), static_cast<unsigned>(u.rows), u.to, u.last);
  }
  for (auto& [there, here] : twin.blocks) {
    int binding = 0;
    driver::glGetActiveUniformBlockiv(program, there, GL_UNIFORM_BLOCK_BINDING, &binding);
    driver::glUniformBlockBinding(twin.program, here, static_cast<uint32_t>(binding));
  }
}

void GeometrySource::bind_feedback(Capture& mine) {
  bool made = !mine.feedback;
  if (made) {
    driver::glGenTransformFeedbacks(1, &mine.feedback);
    driver::glGenBuffers(1, &mine.buffer);
    driver::glGenQueries(2, mine.queries);
  }
  driver::glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, mine.feedback);
  if (made) driver::glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, mine.buffer);
}

// Takes the captured primitives into account.
bool GeometrySource::classify(const float* at, Captures size, const Twin& twin, const std::vector<Position>& eyes,
                              const std::vector<Raster>& states, Classes& to, const char*& why) {
  const uint64_t stride = twin.stride();
  for (uint64_t i = 0; i < size.written; ++i) {
    Position p[3];
    Own own;
    int viewport[3] = {};
    unsigned inside_of_culls = 0;
    for (uint64_t k = 0; k < size.corners; ++k, at += stride) {
      p[k] = {at[0], at[1], at[2], at[3]};
      const float* clip = at + twin.offset(CLIP_DISTANCE);
      own.planes = 0;
      for (int n = 0; n < twin.sizes[CLIP_DISTANCE]; ++n)
        if (size.own_planes >> n & 1)
          own.distances[k][static_cast<size_t>(own.planes++)] = static_cast<double>(clip[n]);
      for (auto& plane : eyes) {
        const float* eye = at + twin.offset(CLIP_VERTEX);
        own.distances[k][static_cast<size_t>(own.planes++)] = distance(plane, {eye[0], eye[1], eye[2], eye[3]});
      }
      for (int n = 0; n < twin.sizes[CULL_DISTANCE]; ++n)
        if (!(at[twin.offset(CULL_DISTANCE) + static_cast<uint64_t>(n)] < 0)) inside_of_culls |= 1u << n;
      if (twin.sizes[VIEWPORT_INDEX]) memcpy(&viewport[k], at + twin.offset(VIEWPORT_INDEX), 4);
    }
    own.culled = inside_of_culls != (1u << twin.sizes[CULL_DISTANCE]) - 1;
    int which = viewport[size.corners - 1];
    for (uint64_t k = 0; k + 1 < size.corners && twin.sizes[VIEWPORT_INDEX]; ++k)
      if (viewport[k] != which) return why = "corners of one primitive are in different viewports", false;
    if (which < 0 || static_cast<size_t>(which) >= states.size())
      return why = "it draws to a viewport that there is not", false;
    classify_primitive(size.corners, p, states[static_cast<size_t>(which)], to, own);
  }
  return true;
}

// Draws with transform feedback on, into a buffer with room for all; `each`: bytes of a primitive. False: it is
// refused.
bool GeometrySource::draw_captured(Draw& draw, Capture& mine, uint32_t mode, uint64_t each, int64_t expected,
                                   bool& drew, uint64_t& generated, uint64_t& written) {
  bool good = true;
  auto make_room = [&](uint64_t bytes) {
    if (mine.room >= bytes) return;
    mine.room = std::max<uint64_t>(1 << 20, bytes * 5 / 4);
    driver::glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<intptr_t>(mine.room), nullptr, GL_STREAM_READ);
    driver::glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, mine.buffer);
  };
  auto draw_once = [&] {
    driver::glBeginTransformFeedback(mode);
    good = !take_error();
    drew = good && draw.perform();
    good = good && !take_error();
    driver::glEndTransformFeedback();
    good = good && !take_error();
  };
  driver::glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, mine.buffer);
  // How many come is asked of the driver only where it cannot be known before: it would finish what it has been given.
  // What stands at the end beforehand shows that they did come.
  if (expected > 0) {
    static const uint32_t mark[4] = {0x7FC0DEAD, 0x7FC0DEAD, 0x7FC0DEAD, 0x7FC0DEAD};
    written = generated = static_cast<uint64_t>(expected);
    uint64_t last = written * each - 16;
    make_room(last + 16);
    driver::glBufferSubData(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<intptr_t>(last), 16, mark);
    draw_once();
    if (good && drew) {
      void* at =
          driver::glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<intptr_t>(last), 16, GL_MAP_READ_BIT);
      if (!at || !memcmp(at, mark, sizeof mark)) expected = -1;
      if (at) driver::glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
    }
  }
  for (int round = 0; expected < 0 && round < 3; ++round) {
    make_room(std::max<uint64_t>(1, generated * each));
    driver::glBeginQuery(GL_PRIMITIVES_GENERATED, mine.queries[0]);
    driver::glBeginQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, mine.queries[1]);
    draw_once();
    driver::glEndQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
    driver::glEndQuery(GL_PRIMITIVES_GENERATED);
    const ResultsHere here;
    uint32_t counted[2] = {};
    driver::glGetQueryObjectuiv(mine.queries[0], GL_QUERY_RESULT, &counted[0]);
    driver::glGetQueryObjectuiv(mine.queries[1], GL_QUERY_RESULT, &counted[1]);
    generated = counted[0], written = counted[1];
    if (!good || !drew || generated <= written) break;
  }
  return good;
}

bool GeometrySource::capture(Draw& draw, int64_t expected, const Raster& state, unsigned own_planes, Classes& to,
                             const char*& why) {
  if (std::string no = can_capture(); !no.empty()) return why = lasting(no), false;
  if (*draw.refusal()) return why = draw.refusal(), false;
  auto program = static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM));
  Capture& mine = captures_[current_context()];
  Twin* twin = twin_for(program, own_planes, why);
  if (!twin) return false;
  std::vector<Raster> states{state};
  if (twin->sizes[VIEWPORT_INDEX]) states = viewports(state);
  std::vector<Position> eyes;
  if (own_planes && !twin->sizes[CLIP_DISTANCE]) eyes = eye_planes(own_planes);
  const uint64_t stride = twin->stride(), size = stride * 4;

  uint32_t asked = primitive_mode(draw), mode = twin->stage_mode;
  if (mode != ~0u) expected = -1;
  if (mode == ~0u) mode = captured_mode(asked);
  if (mode == ~0u) return why = "its primitives are none that are known here", false;
  drain_errors();
  uint64_t corners = mode == 0 ? 1 : mode == 1 ? 2 : 3;
  int own_buffer = integer(GL_TRANSFORM_FEEDBACK_BUFFER_BINDING), own_feedback = integer(GL_TRANSFORM_FEEDBACK_BINDING);
  bool pause = integer(GL_TRANSFORM_FEEDBACK_ACTIVE) && !integer(GL_TRANSFORM_FEEDBACK_PAUSED);
  if (pause) driver::glPauseTransformFeedback();
  bind_feedback(mine);
  driver::glUseProgram(twin->program);
  give_uniforms(*twin, program);
  bool discards = enabled(GL_RASTERIZER_DISCARD);
  if (!discards) driver::glEnable(GL_RASTERIZER_DISCARD);
  drain_errors();

  bool drew = true;
  uint64_t generated = 0, written = 0;
  bool good = draw_captured(draw, mine, mode, corners * size, expected, drew, generated, written);
  if (good && generated > written)
    good = false, why = "the driver captures fewer primitives than it draws";
  else if (!good)
    why = "the driver refuses to capture this draw";
  if (good && drew && written) {
    uint64_t bytes = written * corners * size;
    const auto* mapped = static_cast<const float*>(
        driver::glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, static_cast<intptr_t>(bytes), GL_MAP_READ_BIT));
    if (!mapped) good = false, why = "the driver does not hand out what it captured";
    good = good && classify(mapped, {written, corners, own_planes}, *twin, eyes, states, to, why);
    if (mapped) driver::glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
  }

  if (!discards) driver::glDisable(GL_RASTERIZER_DISCARD);
  driver::glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, static_cast<uint32_t>(own_feedback));
  driver::glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<uint32_t>(own_buffer));
  driver::glUseProgram(program);
  if (pause) driver::glResumeTransformFeedback();
  drain_errors();
  return good;
}

// The product of two matrices, column by column.
void multiply(const float* p, const float* m, double* both) {
  for (size_t column = 0; column < 4; ++column)
    for (size_t row = 0; row < 4; ++row) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k)
        sum += static_cast<double>(p[k * 4 + row]) * static_cast<double>(m[column * 4 + k]);
      both[column * 4 + row] = sum;
    }
}

// A vertex that is transformed.
struct Seen {
  Position at{};
  std::array<double, Own::MOST> own{};  // distances to the program's planes, which are in front of the eye
};

// 0: none that vertices are known to be of.
uint64_t component_bytes(uint32_t type) {
  return type == GL_BYTE ? 1 : type == GL_SHORT ? 2 : type == GL_FLOAT || type == GL_FIXED ? 4 : 0;
}

// A number of a vertex in an array of that type.
double component(uint32_t type, const uint8_t* at) {
  int8_t b;
  int16_t s;
  int32_t i;
  float x;
  switch (type) {
    case GL_BYTE: return memcpy(&b, at, 1), b;
    case GL_SHORT: return memcpy(&s, at, 2), s;
    case GL_FIXED: return memcpy(&i, at, 4), i / 65536.0;
    default: return memcpy(&x, at, 4), static_cast<double>(x);
  }
}

// OpenGL ES 1: the array of vertices, times the matrices.
bool GeometrySource::transform(const std::vector<Part_>& parts, uint32_t mode, const Raster& state, unsigned own_planes,
                               Classes& to, const char*& why) {
  std::vector<Position> eyes = eye_planes(own_planes);
  if (has_extension("GL_OES_matrix_palette") && enabled(GL_MATRIX_PALETTE_ARB))
    return why = "a palette of matrices transforms its vertices", false;
  if (!enabled(GL_VERTEX_ARRAY)) return true;
  float m[16], p[16];
  driver::glGetFloatv(GL_MODELVIEW_MATRIX, m);
  driver::glGetFloatv(GL_PROJECTION_MATRIX, p);
  double both[16];
  multiply(p, m, both);
  auto size = static_cast<uint64_t>(integer(GL_VERTEX_ARRAY_SIZE));
  auto type = static_cast<uint32_t>(integer(GL_VERTEX_ARRAY_TYPE));
  auto stride = static_cast<uint64_t>(integer(GL_VERTEX_ARRAY_STRIDE));
  auto buffer = static_cast<uint32_t>(integer(GL_VERTEX_ARRAY_BUFFER_BINDING));
  const uint64_t each = component_bytes(type);
  if (!each) return why = "its vertices are of a type that is not known here", false;
  if (!stride) stride = size * each;
  void* pointer = nullptr;
  driver::glGetPointerv(GL_VERTEX_ARRAY_POINTER, &pointer);
  std::vector<uint8_t> content;
  const auto* base = static_cast<const uint8_t*>(pointer);
  uint64_t bytes = ~0ull;
  if (buffer) {
    int old = integer(GL_ARRAY_BUFFER_BINDING);
    driver::glBindBuffer(GL_ARRAY_BUFFER, buffer);
    bool read = read_buffer(GL_ARRAY_BUFFER, reinterpret_cast<uint64_t>(pointer), ~0ull >> 1, content, why);
    driver::glBindBuffer(GL_ARRAY_BUFFER, static_cast<uint32_t>(old));
    if (!read) return false;
    base = content.data(), bytes = content.size();
  } else {
    // The player's copy of the program's memory goes at least so far behind any address.
    bytes = 1ull << 28;
    if (!base) return why = "its vertices are not in the recording", false;
  }
  auto position = [&](uint64_t index) {
    double v[4] = {0, 0, 0, 1};
    for (uint64_t k = 0; k < size && k < 4; ++k) {
      uint64_t at = index * stride + k * each;
      if (at + each > bytes) continue;
      v[k] = component(type, base + at);
    }
    Seen out;
    Position eye{};
    for (size_t row = 0; row < 4; ++row)
      for (size_t k = 0; k < 4; ++k) {
        out.at[row] += both[k * 4 + row] * v[k];
        eye[row] += static_cast<double>(m[k * 4 + row]) * v[k];
      }
    for (size_t i = 0; i < eyes.size(); ++i) out.own[i] = distance(eyes[i], eye);
    return out;
  };
  std::vector<uint64_t> stream;
  for (auto& part : parts) {
    if (!vertices_of(part, -1, stream, why)) return false;
    std::unordered_map<uint64_t, Seen> known;
    auto at = [&](size_t n) -> const Seen& {
      auto [it, fresh] = known.try_emplace(stream[n]);
      if (fresh) it->second = position(stream[n]);
      return it->second;
    };
    bool some = assemble(mode, stream.size(), [&](int corners, size_t a, size_t b, size_t c) {
      Own own;
      own.planes = static_cast<int>(eyes.size());
      own.distances = {at(a).own, at(b).own, at(c).own};
      const Position p[3] = {at(a).at, at(b).at, at(c).at};
      classify_primitive(static_cast<uint64_t>(corners), p, state, to, own);
    });
    if (!some) return why = "its primitives are none that are known here", false;
  }
  return true;
}

void GeometrySource::vertices(const std::vector<Part_>& parts, bool lights) {
  const char*& why = learnt_.why[VERTICES];
  std::vector<uint64_t> stream;
  std::vector<uint32_t> indices;
  for (auto& part : parts) {
    uint64_t submitted = part.count, distinct = part.count, transformed = part.count;
    if (part.indexed && part.count) {
      if (!vertices_of(part, restart_index(part.type), stream, why)) return;
      indices.clear();
      for (uint64_t v : stream)
        if (v != RESTART) indices.push_back(static_cast<uint32_t>(v));
      CacheUse use = cache_use(indices);
      submitted = use.accesses, distinct = use.distinct, transformed = use.accesses - use.hits_32;
      learnt_.counts[ACCESSES] += use.accesses * part.instances;
      learnt_.counts[HITS_16] += use.hits_16 * part.instances;
      learnt_.counts[HITS_32] += use.hits_32 * part.instances;
    }
    learnt_.counts[VERTICES_SUBMITTED] += submitted * part.instances;
    learnt_.counts[DISTINCT] += distinct * part.instances;
    learnt_.counts[TRANSFORMED] += transformed * part.instances;
    if (lights) learnt_.counts[LIT] += transformed * part.instances;
  }
}

// Pixels that are copied are no primitives.
bool draws_primitives(const Call& call) {
  if (!(call.flags & FLAG_DRAW) && !starts(call.name, "glCallList") && strcmp(call.name, "glBegin")) return false;
  static const char* const none[] = {"glDrawPixels", "glBitmap", "glCopyPixels", "glBlit",
                                     "glDrawBuffer", "glAccum",  "glEnd"};
  for (const char* name : none)
    if (starts(call.name, name)) return false;
  return true;
}

void GeometrySource::around(Draw& draw) {
  if (!draws_primitives(draw)) return;
  const GlContext* c = tls.context;
  if (!c || !c->version) return;
  drain_errors();
  std::vector<Part_> parts;
  const char* why = nullptr;
  Draw::Given given = draw.given();
  if (given.vertices == 0) return;  // a list that only sets state
  if (given.vertices > 0) {
    Part_ p;
    p.count = static_cast<uint64_t>(given.vertices);
    parts.push_back(p);
  }
  bool known = *draw.refusal() ? (why = draw.refusal(), false) : !parts.empty() || parts_of(draw, parts, why);
  bool es1 = c->api == 2 && c->version < 20;
  if (Mesh* mesh = wanted_mesh()) {
    const char* no = !known ? why : given.vertices > 0 ? "its vertices are given one by one" : nullptr;
    mesh->why_in = no;
    std::vector<uint64_t> stream;
    for (auto& part : parts)
      if (!mesh->why_in && vertices_of(part, part.indexed ? restart_index(part.type) : -1, stream, mesh->why_in))
        keep_vertices(*mesh, stream, primitive_mode(draw), parts.size() == 1);
  }
  if (needs_[VERTICES]) {
    if (!known) {
      learnt_.why[VERTICES] = why;
    } else {
      bool fixed = es1 || (c->api == 1 && !c->core && !(c->version >= 20 && integer(GL_CURRENT_PROGRAM)));
      vertices(parts, fixed && enabled(GL_LIGHTING));
    }
  }
  if (needs_[PRIMITIVES]) {
    Raster state;
    unsigned own_planes = 0;
    const char*& lost = learnt_.why[PRIMITIVES];
    Classes found;
    raster_state(state, own_planes);
    bool good = true;
    if (es1) {
      if (!known)
        lost = why, good = false;
      else
        good = transform(parts, static_cast<uint32_t>(draw.number("mode")), state, own_planes, found, lost);
    } else {
      int64_t expected = !known               ? -1
                         : given.vertices > 0 ? given.primitives
                                              : count_primitives(parts, primitive_mode(draw));
      good = capture(draw, expected, state, own_planes, found, lost);
    }
    if (good) learnt_.classes.add(found);
  }
  drain_errors();
}

// ---- calls --------------------------------------------------------------------------------------

bool changes_matrix(const char* name) {
  static const char* const exact[] = {"glLoadIdentity", "glPushMatrix", "glPopMatrix"};
  for (const char* e : exact)
    if (!strcmp(name, e)) return true;
  static const char* const first[] = {"glLoadMatrix",
                                      "glMultMatrix",
                                      "glLoadTransposeMatrix",
                                      "glMultTransposeMatrix",
                                      "glRotate",
                                      "glScale",
                                      "glTranslate",
                                      "glOrtho",
                                      "glFrustum",
                                      "glLoadPaletteFromModelViewMatrix",
                                      "glMatrixLoad",
                                      "glMatrixMult",
                                      "glMatrixRotate",
                                      "glMatrixScale",
                                      "glMatrixTranslate",
                                      "glMatrixOrtho",
                                      "glMatrixFrustum",
                                      "glMatrixPush",
                                      "glMatrixPop"};
  for (const char* f : first)
    if (starts(name, f)) return true;
  return false;
}

void GeometrySource::see(const Call& call) {
  const char* name = call.name;
  if (call.expanded && strcmp(name, "glNewList") != 0) return;  // it was counted when it was compiled
  // GL_COMPILE_AND_EXECUTE
  if (!strcmp(name, "glNewList"))
    list_runs_ = call.number("mode") == GL_COMPILE_AND_EXECUTE, list_expands_ = call.expanded;
  Result* to = runs_ && !results_.empty() ? &results_.back() : nullptr;
  if (!to) return;
  bool draws = draws_primitives(call);
  if (call.in_list && draws && list_runs_ && !list_expands_)
    to->why[PRIMITIVES] = to->why[VERTICES] = "a display list is compiled and executed";
  if (draws && (!call.in_list || list_runs_)) ++to->counts[RENDER];
  if (call.in_list && !list_runs_) return;
  if (changes_matrix(name))
    ++to->counts[MATRIX];
  else if (starts(name, "glUniformMatrix") || starts(name, "glProgramUniformMatrix"))
    ++to->counts[MATRIX_UNIFORMS];
  else if (contains(name, "Image") &&
           (starts(name, "glTexImage") || starts(name, "glTexSubImage") || starts(name, "glTextureImage") ||
            starts(name, "glTextureSubImage") || starts(name, "glCompressedTex"))) {
    if (contains(name, "Multisample")) return;
    bool content = call.number("pixels") || call.number("data") || (tls.context && tls.context->buffers[gl::UNPACK]);
    if (!content) return;
    auto extent = [&](const char* parameter, bool has) {
      return has ? static_cast<uint64_t>(std::max<int32_t>(static_cast<int32_t>(call.number(parameter)), 0)) : 1;
    };
    to->counts[TEXELS] +=
        extent("width", true) * extent("height", !contains(name, "1D")) * extent("depth", contains(name, "3D"));
  }
}

void GeometrySource::deliver(Sink& to, const Result& r) {
  const Classes& c = r.classes;
  for (size_t i = 0; i < whats_.size(); ++i) {
    What w = whats_[i];
    if (const char* why = r.why[KNOWN[w].part]) {
      to.lost(r.segment, metrics[i], why);
      continue;
    }
    double v = static_cast<double>(r.counts[w]);
    switch (w) {
      case SUBMITTED: v = static_cast<double>(c.submitted); break;
      case DEGENERATE: v = static_cast<double>(c.degenerate); break;
      case OUTSIDE: v = static_cast<double>(c.outside); break;
      case BACKFACE: v = static_cast<double>(c.backface); break;
      case IN_DOUBT: v = static_cast<double>(c.in_doubt); break;
      case DISCARDED: v = static_cast<double>(c.discarded); break;
      case RASTERISED: v = static_cast<double>(c.rasterised); break;
      case CLIPPED: v = static_cast<double>(c.clipped); break;
      case CORNERS: v = static_cast<double>(c.corners); break;
      case AREA: v = c.area; break;
      case AVERAGE: to.mean(r.segment, metrics[i], c.area, static_cast<double>(c.triangles)); continue;
      default:
        if (w >= SIZE_0 && w <= SIZE_6) v = static_cast<double>(c.sizes[static_cast<size_t>(w - SIZE_0)]);
    }
    to.value(r.segment, metrics[i], v);
  }
}

class Geometry : public Backend {
 public:
  Geometry() : Backend("geometry") {}
  std::string reason() override { return current_context() ? "" : "there is no context"; }
  std::vector<Offer> offers() override {
    std::vector<Offer> found;
    for (auto& k : KNOWN) found.push_back({k.spec, k.group, k.spec, "sum", "count", ""});
    return found;
  }
  std::string group_of(const std::string&) override { return "geometry"; }
  std::unique_ptr<Source> source(const std::vector<Wanted>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    std::vector<What> whats;
    for (int n : numbers) {
      const std::string& spec = all[static_cast<size_t>(n)].spec;
      auto* it = std::find_if(std::begin(KNOWN), std::end(KNOWN), [&](auto& k) { return spec == k.spec; });
      if (it == std::end(KNOWN)) return why = "there is no " + spec, nullptr;
      whats.push_back(static_cast<What>(it - std::begin(KNOWN)));
    }
    return std::make_unique<GeometrySource>(numbers, std::move(whats));
  }
} g_geometry;

}  // namespace
}  // namespace dt::play::metrics
