// Objects and what they hold: buffers, textures, renderbuffers, samplers, display lists; vertex arrays and
// framebuffers.
#include <stdlib.h>

#include "base.h"
#include "sampled.h"
#include "targets.h"
#include "told.h"

namespace dt {
namespace hook {

using namespace gl;

namespace {

enum : uint32_t {
  ARRAY_BUFFER = 0x8892,
  ELEMENT_BUFFER = 0x8893,
  BUFFER_SIZE = 0x8764,
  BUFFER_USAGE = 0x8765,
  BUFFER_MAPPED = 0x88BC,
  BUFFER_POINTER = 0x88BD,
  ACCESS_FLAGS = 0x911F,
  MAP_LENGTH = 0x9120,
  MAP_OFFSET = 0x9121,
  IMMUTABLE_STORAGE = 0x821F,
  STORAGE_FLAGS = 0x8220,
  TEXTURE_1D = 0x0DE0,
  TEXTURE_2D = 0x0DE1,
  TEXTURE_3D = 0x806F,
  TEXTURE_CUBE = 0x8513,
  TEXTURE_RECTANGLE = 0x84F5,
  TEXTURE_1D_ARRAY = 0x8C18,
  TEXTURE_2D_ARRAY = 0x8C1A,
  TEXTURE_BUFFER = 0x8C2A,
  TEXTURE_CUBE_ARRAY = 0x9009,
  TEXTURE_2D_SAMPLES = 0x9100,
  TEXTURE_2D_ARRAY_SAMPLES = 0x9102,
  TEXTURE_EXTERNAL = 0x8D65,
  CUBE_FACE = 0x8515,
  WIDTH = 0x1000,
  HEIGHT = 0x1001,
  INTERNAL_FORMAT = 0x1003,
  BORDER = 0x1005,
  DEPTH = 0x8071,
  RED_SIZE = 0x805C,
  GREEN_SIZE = 0x805D,
  ALPHA_SIZE = 0x805F,
  RED_TYPE = 0x8C10,
  COMPRESSED = 0x86A1,
  COMPRESSED_SIZE = 0x86A0,
  DEPTH_SIZE = 0x884A,
  STENCIL_SIZE = 0x88F1,
  SAMPLES = 0x9106,
  FIXED_SAMPLES = 0x9107,
  STORE_BINDING = 0x8C2D,
  STORE_OFFSET = 0x919D,
  STORE_SIZE = 0x919E,
  IMMUTABLE_FORMAT = 0x912F,
  IMMUTABLE_LEVELS = 0x82DF,
  GENERATE_MIPMAP = 0x8191,
  RENDERBUFFER = 0x8D41,
  FRAMEBUFFER = 0x8D40,
  READ_FRAMEBUFFER = 0x8CA8,
  DRAW_FRAMEBUFFER = 0x8CA9,
  COLOR_ATTACHMENT0 = 0x8CE0,
  DEPTH_ATTACHMENT = 0x8D00,
  STENCIL_ATTACHMENT = 0x8D20,
  DEPTH_STENCIL_ATTACHMENT = 0x821A,
  OBJECT_TYPE = 0x8CD0,
  OBJECT_NAME = 0x8CD1,
  OBJECT_LEVEL = 0x8CD2,
  OBJECT_FACE = 0x8CD3,
  OBJECT_LAYER = 0x8CD4,
  OBJECT_LAYERED = 0x8DA7,
  OBJECT_SAMPLES = 0x8D6C,
  UNSIGNED_BYTE = 0x1401,
  UNSIGNED_SHORT = 0x1403,
  UNSIGNED_INT = 0x1405,
  FLOAT = 0x1406,
  HALF = 0x140B,
  HALF_OES = 0x8D61,
  RED = 0x1903,
  RGBA = 0x1908,
  RGBA_INTEGER = 0x8D99,
};
// names up to here are asked about, and as many behind the last that there is
constexpr uint32_t LEAST_SEARCHED = 1u << 16;
constexpr int32_t MOST_LEVELS = 17;
constexpr uint64_t MOST_BUFFER = 1ull << 32;

struct TargetBinding {
  uint32_t target, binding;
  const char* name;
};
const TargetBinding TARGETS[] = {{TEXTURE_2D, 0x8069, "GL_TEXTURE_2D"},
                                 {TEXTURE_CUBE, 0x8514, "GL_TEXTURE_CUBE_MAP"},
                                 {TEXTURE_3D, 0x806A, "GL_TEXTURE_3D"},
                                 {TEXTURE_2D_ARRAY, 0x8C1D, "GL_TEXTURE_2D_ARRAY"},
                                 {TEXTURE_1D, 0x8068, "GL_TEXTURE_1D"},
                                 {TEXTURE_RECTANGLE, 0x84F6, "GL_TEXTURE_RECTANGLE"},
                                 {TEXTURE_1D_ARRAY, 0x8C1C, "GL_TEXTURE_1D_ARRAY"},
                                 {TEXTURE_BUFFER, 0x8C2C, "GL_TEXTURE_BUFFER"},
                                 {TEXTURE_CUBE_ARRAY, 0x900A, "GL_TEXTURE_CUBE_MAP_ARRAY"},
                                 {TEXTURE_2D_SAMPLES, 0x9104, "GL_TEXTURE_2D_MULTISAMPLE"},
                                 {TEXTURE_2D_ARRAY_SAMPLES, 0x9105, "GL_TEXTURE_2D_MULTISAMPLE_ARRAY"},
                                 {TEXTURE_EXTERNAL, 0x8D67, "GL_TEXTURE_EXTERNAL_OES"}};

// Formats and types that OpenGL ES takes together with an internal format; desktop OpenGL takes any that are of one
// kind.
struct Transfer {
  uint16_t internal, format, type;
};
const Transfer TRANSFERS[] = {
    {0x8229, 0x1903, 0x1401}, {0x8F94, 0x1903, 0x1400}, {0x822D, 0x1903, 0x140B}, {0x822E, 0x1903, 0x1406},
    {0x8232, 0x8D94, 0x1401}, {0x8231, 0x8D94, 0x1400}, {0x8234, 0x8D94, 0x1403}, {0x8233, 0x8D94, 0x1402},
    {0x8236, 0x8D94, 0x1405}, {0x8235, 0x8D94, 0x1404}, {0x822B, 0x8227, 0x1401}, {0x8F95, 0x8227, 0x1400},
    {0x822F, 0x8227, 0x140B}, {0x8230, 0x8227, 0x1406}, {0x8238, 0x8228, 0x1401}, {0x8237, 0x8228, 0x1400},
    {0x823A, 0x8228, 0x1403}, {0x8239, 0x8228, 0x1402}, {0x823C, 0x8228, 0x1405}, {0x823B, 0x8228, 0x1404},
    {0x8051, 0x1907, 0x1401}, {0x8C41, 0x1907, 0x1401}, {0x8D62, 0x1907, 0x8363}, {0x8F96, 0x1907, 0x1400},
    {0x8C3A, 0x1907, 0x8C3B}, {0x8C3D, 0x1907, 0x8C3E}, {0x881B, 0x1907, 0x140B}, {0x8815, 0x1907, 0x1406},
    {0x8D7D, 0x8D98, 0x1401}, {0x8D8F, 0x8D98, 0x1400}, {0x8D77, 0x8D98, 0x1403}, {0x8D89, 0x8D98, 0x1402},
    {0x8D71, 0x8D98, 0x1405}, {0x8D83, 0x8D98, 0x1404}, {0x8058, 0x1908, 0x1401}, {0x8C43, 0x1908, 0x1401},
    {0x8F97, 0x1908, 0x1400}, {0x8057, 0x1908, 0x8034}, {0x8056, 0x1908, 0x8033}, {0x8059, 0x1908, 0x8368},
    {0x881A, 0x1908, 0x140B}, {0x8814, 0x1908, 0x1406}, {0x8D7C, 0x8D99, 0x1401}, {0x8D8E, 0x8D99, 0x1400},
    {0x906F, 0x8D99, 0x8368}, {0x8D76, 0x8D99, 0x1403}, {0x8D88, 0x8D99, 0x1402}, {0x8D70, 0x8D99, 0x1405},
    {0x8D82, 0x8D99, 0x1404}, {0x81A5, 0x1902, 0x1403}, {0x81A6, 0x1902, 0x1405}, {0x81A7, 0x1902, 0x1405},
    {0x8CAC, 0x1902, 0x1406}, {0x88F0, 0x84F9, 0x84FA}, {0x8CAD, 0x84F9, 0x8DAD}, {0x8D48, 0x1901, 0x1401},
    {0x93A1, 0x80E1, 0x1401}, {0x803C, 0x1906, 0x1401}, {0x8040, 0x1909, 0x1401}, {0x8045, 0x190A, 0x1401},
    {0x822A, 0x1903, 0x1403}, {0x822C, 0x8227, 0x1403}, {0x8054, 0x1907, 0x1403}, {0x805B, 0x1908, 0x1403}};

struct Parameter {
  uint32_t name;
  char kind;        // 'i', 'f', or 'c' for a colour
  uint32_t gl, es;  // versions that have it; 0: never
  bool sampler;     // that samplers have as well
  const char* extension;
};
const Parameter PARAMETERS[] = {{0x2801, 'i', 10, 10, true, nullptr},
                                {0x2800, 'i', 10, 10, true, nullptr},
                                {0x2802, 'i', 10, 10, true, nullptr},
                                {0x2803, 'i', 10, 10, true, nullptr},
                                {0x8072, 'i', 12, 30, true, nullptr},
                                {0x813A, 'f', 12, 30, true, nullptr},
                                {0x813B, 'f', 12, 30, true, nullptr},
                                {0x813C, 'i', 12, 30, false, nullptr},
                                {0x813D, 'i', 12, 30, false, nullptr},
                                {0x884C, 'i', 14, 30, true, nullptr},
                                {0x884D, 'i', 14, 30, true, nullptr},
                                {0x8501, 'f', 14, 0, true, nullptr},
                                {0x8E42, 'i', 33, 30, false, nullptr},
                                {0x8E43, 'i', 33, 30, false, nullptr},
                                {0x8E44, 'i', 33, 30, false, nullptr},
                                {0x8E45, 'i', 33, 30, false, nullptr},
                                {0x1004, 'c', 10, 32, true, nullptr},
                                {0x90EA, 'i', 43, 31, false, nullptr},
                                {0x84FE, 'f', 46, 0, true, "GL_EXT_texture_filter_anisotropic"},
                                {0x8A48, 'i', 0, 0, true, "GL_EXT_texture_sRGB_decode"}};

const char* why_not(uint32_t why) {
  switch (why) {
    case DT_REFUSED_FORMAT: return "its format cannot be read back and written again bit by bit";
    case DT_REFUSED_SAMPLES: return "it has several samples a pixel";
    case DT_REFUSED_VERSION: return "this version of the API cannot read it back";
    case DT_REFUSED_SIZE: return "it is too large";
    case DT_REFUSED_TRANSFER: return "pixel transfer changes values";
    case DT_REFUSED_SHADER: return "the driver gives no context to read it in";
    case DT_REFUSED_CALL: return "only a frame's end of EGL is a place to read it";
    default: return "it cannot be read back";
  }
}

}  // namespace

// ---- names --------------------------------------------------------------------------------------

void Base::Names::add(uint32_t name) {
  if (count == room) {
    const uint32_t more = room ? room * 2 : 64;
    uint32_t* grown = (uint32_t*)realloc(list, more * sizeof *list);
    if (!grown) return;
    list = grown;
    room = more;
  }
  list[count++] = name;
}
Base::~Base() {
  for (Names& n : found) free(n.list);
}

void Base::find(Kind kind, uint8_t (*is_one)(uint32_t)) {
  uint32_t end = LEAST_SEARCHED;
  for (uint32_t name = 1; is_one && name < end; name++) {
    if (!is_one(name)) continue;
    found[kind].add(name);
    if (name + LEAST_SEARCHED > end) end = name + LEAST_SEARCHED;
  }
}

void Base::names(bool shared) {
  const bool framebuffers = has(30, 20), arrays = has(30, 30);
  if (shared) {
    if (has(11, 10)) find(TEXTURES, d.glIsTexture);
    if (has(15, 11)) find(BUFFERS, d.glIsBuffer);
    if (framebuffers) find(RENDERBUFFERS, d.glIsRenderbuffer);
    if (has(33, 30)) find(SAMPLERS, d.glIsSampler);
    if (has(20, 20)) find(PROGRAMS, d.glIsProgram), find(SHADERS, d.glIsShader);
    if (!es && old) find(LISTS, d.glIsList);
  }
  if (framebuffers) find(FRAMEBUFFERS, d.glIsFramebuffer);
  if (arrays) find(VERTEX_ARRAYS, d.glIsVertexArray);
  if (has(41, 31)) find(PIPELINES, d.glIsProgramPipeline);
  if (has(40, 30)) find(FEEDBACKS, d.glIsTransformFeedback);
  if (has(15, 30)) find(QUERIES, d.glIsQuery);
  static const struct {
    Kind kind;
    const char* maker;
  } makers[] = {{TEXTURES, "glGenTextures"},
                {BUFFERS, "glGenBuffers"},
                {RENDERBUFFERS, "glGenRenderbuffers"},
                {SAMPLERS, "glGenSamplers"},
                {FRAMEBUFFERS, "glGenFramebuffers"},
                {VERTEX_ARRAYS, "glGenVertexArrays"},
                {PIPELINES, "glGenProgramPipelines"},
                {FEEDBACKS, "glGenTransformFeedbacks"},
                {QUERIES, "glGenQueries"}};
  for (auto& m : makers)
    if (found[m.kind].count) tell<int32_t, uint32_t*>(t, m.maker, (int32_t)found[m.kind].count, found[m.kind].list);
  fine();
}

void Base::shared_objects() {
  programs();
  take_lists();
  for (uint32_t i = 0; i < found[BUFFERS].count; i++) take_buffer(found[BUFFERS].list[i]);
  tell<uint32_t, int32_t>(t, "glPixelStorei", 0x0CF5, 1);
  for (uint32_t i = 0; i < found[TEXTURES].count; i++) take_texture(found[TEXTURES].list[i]);
  for (uint32_t i = 0; i < found[RENDERBUFFERS].count; i++) take_renderbuffer(found[RENDERBUFFERS].list[i]);
  for (uint32_t i = 0; i < found[SAMPLERS].count; i++) take_sampler(found[SAMPLERS].list[i]);
}

void Base::own_objects() {
  for (uint32_t i = 0; i < found[VERTEX_ARRAYS].count; i++) take_vertex_array(found[VERTEX_ARRAYS].list[i]);
  if (has(15, 11) || !c->core) take_vertex_array(0);
  const uint32_t draw = (uint32_t)get(0x8CA6), read = has(30, 30) ? (uint32_t)get(0x8CAA) : draw;
  for (uint32_t i = 0; i < found[FRAMEBUFFERS].count; i++) take_framebuffer(found[FRAMEBUFFERS].list[i]);
  if (found[FRAMEBUFFERS].count) {
    if (has(30, 30))
      d.glBindFramebuffer(DRAW_FRAMEBUFFER, draw), d.glBindFramebuffer(READ_FRAMEBUFFER, read);
    else
      d.glBindFramebuffer(FRAMEBUFFER, draw);
  }
  pipelines();
  for (uint32_t i = 0; i < found[QUERIES].count; i++)
    lacks("query %u: what it counted until here", found[QUERIES].list[i]);
}

// ---- display lists: none can be asked for -------------------------------------------------------

void Base::take_lists() {
  const Names& lists = found[LISTS];
  // What was made while it was recorded is in this recording, if the context is.
  auto is_there = [&](uint32_t name) {
    return c->in_recording && keep_state(KEEP_LIST, c->share_group, name) != Kept::WHOLE;
  };
  for (uint32_t i = 0; i < lists.count; i++)
    if (!is_there(lists.list[i])) tell_result<int32_t>(t, lists.list[i], "glGenLists", 1);
  for (uint32_t i = 0; i < lists.count; i++) {
    if (is_there(lists.list[i])) continue;
    // One of which nothing was kept was never made: glGenLists leaves empty ones.
    if (keep_tell(t, KEEP_LIST, c->share_group, lists.list[i]) == Kept::LOST)
      lacks("display list %u: its calls are in an earlier recording, or there was no room to keep them", lists.list[i]);
  }
}

// ---- buffers ------------------------------------------------------------------------------------

void Base::take_buffer(uint32_t name) {
  const uint32_t was = (uint32_t)get(0x8894);
  d.glBindBuffer(ARRAY_BUFFER, name);
  int64_t size = 0;
  int32_t usage = 0, immutable = 0, flags = 0, mapped = 0;
  if (has(32, 30)) {
    d.glGetBufferParameteri64v(ARRAY_BUFFER, BUFFER_SIZE, &size);
  } else {
    int32_t small = 0;
    d.glGetBufferParameteriv(ARRAY_BUFFER, BUFFER_SIZE, &small);
    size = small;
  }
  d.glGetBufferParameteriv(ARRAY_BUFFER, BUFFER_USAGE, &usage);
  if (has(15, 30)) d.glGetBufferParameteriv(ARRAY_BUFFER, BUFFER_MAPPED, &mapped);
  if (has(44, 0)) {
    d.glGetBufferParameteriv(ARRAY_BUFFER, IMMUTABLE_STORAGE, &immutable);
    d.glGetBufferParameteriv(ARRAY_BUFFER, STORAGE_FLAGS, &flags);
  }
  const bool known = fine() && size >= 0 && (uint64_t)size <= MOST_BUFFER;
  char* const content = known && size ? (char*)malloc((size_t)size) : nullptr;
  bool had = !size && known;
  if (content && mapped) {
    // While it is mapped nothing but the mapping can be looked at, unless it is a persistent one.
    int64_t offset = 0, length = 0;
    void* at = nullptr;
    if (has(32, 30))
      d.glGetBufferParameteri64v(ARRAY_BUFFER, MAP_OFFSET, &offset),
          d.glGetBufferParameteri64v(ARRAY_BUFFER, MAP_LENGTH, &length);
    else
      length = size;
    d.glGetBufferPointerv(ARRAY_BUFFER, BUFFER_POINTER, &at);
    if (!es) d.glGetBufferSubData(ARRAY_BUFFER, 0, size, content);
    had = !es && fine();
    if (!had && at && offset >= 0 && offset + length <= size) {
      memset(content, 0, (size_t)size);
      memcpy(content + offset, at, (size_t)length);
      if (offset || length != size) lacks("buffer %u: what of it is not mapped, since it is mapped just now", name);
      had = true;
    }
  } else if (content && !es) {
    d.glGetBufferSubData(ARRAY_BUFFER, 0, size, content);
    had = fine();
  } else if (content && has(0, 30)) {
    const void* at = d.glMapBufferRange(ARRAY_BUFFER, 0, size, 1);
    if (at) memcpy(content, at, (size_t)size), d.glUnmapBuffer(ARRAY_BUFFER);
    had = fine() && at;
  }
  if (!had) lacks("buffer %u of %lld bytes: its content; the driver does not hand it out", name, (long long)size);
  tell<uint32_t, uint32_t>(t, "glBindBuffer", ARRAY_BUFFER, name);
  const void* data = had && size ? content : nullptr;
  if (immutable)
    tell<uint32_t, intptr_t, const void*, uint32_t>(t, "glBufferStorage", ARRAY_BUFFER, size, data, (uint32_t)flags);
  else if (size)
    tell<uint32_t, intptr_t, const void*, uint32_t>(t, "glBufferData", ARRAY_BUFFER, size, data, (uint32_t)usage);
  if (had) bytes += (uint64_t)size;
  if (mapped) take_map(name, ARRAY_BUFFER);
  free(content);
  tell<uint32_t, uint32_t>(t, "glBindBuffer", ARRAY_BUFFER, 0);
  d.glBindBuffer(ARRAY_BUFFER, was);
}

void Base::take_map(uint32_t name, uint32_t target) {
  void* at = nullptr;
  d.glGetBufferPointerv(target, BUFFER_POINTER, &at);
  if (!has(30, 30)) {
    int32_t access = 0;
    d.glGetBufferParameteriv(target, 0x88BB, &access);
    if (fine() && at)
      tell_result<uint32_t, uint32_t>(t, (uint64_t)(uintptr_t)at, "glMapBuffer", target, (uint32_t)access);
    return;
  }
  int32_t access = 0, offset = 0, length = 0;
  d.glGetBufferParameteriv(target, ACCESS_FLAGS, &access);
  d.glGetBufferParameteriv(target, MAP_OFFSET, &offset);
  d.glGetBufferParameteriv(target, MAP_LENGTH, &length);
  if (!fine() || !at) return lacks("buffer %u: that it is mapped", name);
  // What it held was told: the mapping must not throw it away.
  const uint32_t kept = (uint32_t)access & ~0xCu;
  tell_result<uint32_t, intptr_t, intptr_t, uint32_t>(t, (uint64_t)(uintptr_t)at, "glMapBufferRange", target, offset,
                                                      length, kept);
}

// ---- textures -----------------------------------------------------------------------------------

void Base::take_texture(uint32_t name) {
  const TargetBinding* bound = nullptr;
  int32_t was = 0;
  for (auto& candidate : TARGETS) {
    // What the context does not have is refused, as is a texture of another kind.
    was = get(candidate.binding, -1);
    if (was < 0) continue;
    d.glBindTexture(candidate.target, name);
    if (!fine()) continue;
    bound = &candidate;
    break;
  }
  if (!bound) return lacks("texture %u: the driver does not tell what kind it is of", name);
  const uint32_t target = bound->target;
  tell<uint32_t, uint32_t>(t, "glBindTexture", target, name);
  const bool samples = target == TEXTURE_2D_SAMPLES || target == TEXTURE_2D_ARRAY_SAMPLES;
  if (target == TEXTURE_EXTERNAL)
    lacks("texture %u: an image of another API or process that it shows", name);
  else if (!has(11, 31))
    lacks("texture %u (%s): OpenGL ES tells the sizes of textures from version 3.1 on", name, bound->name);
  else
    take_levels(name, target);
  for (auto& p : PARAMETERS) {
    if (samples || target == TEXTURE_BUFFER) break;
    if (!has(p.gl, p.es) && !(p.extension && has_extension(c, p.extension))) continue;
    if (p.name == 0x8072 && target == TEXTURE_EXTERNAL) continue;
    int32_t i[4] = {};
    float f[4] = {};
    if (p.kind == 'i')
      d.glGetTexParameteriv(target, p.name, i);
    else
      d.glGetTexParameterfv(target, p.name, f);
    if (!fine()) continue;
    if (p.kind == 'i')
      tell<uint32_t, uint32_t, int32_t>(t, "glTexParameteri", target, p.name, i[0]);
    else if (p.kind == 'f')
      tell<uint32_t, uint32_t, float>(t, "glTexParameterf", target, p.name, f[0]);
    else
      tell<uint32_t, uint32_t, const float*>(t, "glTexParameterfv", target, p.name, f);
  }
  if (old && has(14, 11) && c->version < 20 + (es ? 0u : 100u) && !samples && target != TEXTURE_BUFFER &&
      target != TEXTURE_RECTANGLE) {
    int32_t generate = 0, mode = 0;
    d.glGetTexParameteriv(target, GENERATE_MIPMAP, &generate);
    if (fine() && generate) tell<uint32_t, uint32_t, int32_t>(t, "glTexParameteri", target, GENERATE_MIPMAP, 1);
    if (!es) d.glGetTexParameteriv(target, 0x884B, &mode);
    if (!es && fine()) tell<uint32_t, uint32_t, int32_t>(t, "glTexParameteri", target, 0x884B, mode);
  }
  tell<uint32_t, uint32_t>(t, "glBindTexture", target, 0);
  d.glBindTexture(target, (uint32_t)was);
  fine();
}

void Base::take_levels(uint32_t name, uint32_t target) {
  int32_t immutable = 0, levels = 0;
  const uint32_t first_face = target == TEXTURE_CUBE ? +CUBE_FACE : target;
  auto about = [&](uint32_t face, int32_t level, uint32_t what) {
    int32_t value = 0;
    d.glGetTexLevelParameteriv(face, level, what, &value);
    return value;
  };
  if (target == TEXTURE_BUFFER) {
    const uint32_t format = (uint32_t)about(target, 0, INTERNAL_FORMAT),
                   buffer = (uint32_t)about(target, 0, STORE_BINDING);
    const int32_t offset = has(43, 32) ? about(target, 0, STORE_OFFSET) : 0,
                  size = has(43, 32) ? about(target, 0, STORE_SIZE) : 0;
    if (!fine() || !buffer) return;
    if (offset)
      tell<uint32_t, uint32_t, uint32_t, intptr_t, intptr_t>(t, "glTexBufferRange", target, format, buffer, offset,
                                                             size);
    else
      tell<uint32_t, uint32_t, uint32_t>(t, "glTexBuffer", target, format, buffer);
    return;
  }
  if (has(42, 30)) d.glGetTexParameteriv(target, IMMUTABLE_FORMAT, &immutable);
  if (!fine()) immutable = 0;
  if (immutable && has(43, 30)) d.glGetTexParameteriv(target, IMMUTABLE_LEVELS, &levels);
  const int32_t width = about(first_face, 0, WIDTH), height = about(first_face, 0, HEIGHT);
  const int32_t depth = has(12, 31) ? about(first_face, 0, DEPTH) : 1,
                samples = has(32, 31) ? about(first_face, 0, SAMPLES) : 0;
  const uint32_t internal = (uint32_t)about(first_face, 0, INTERNAL_FORMAT);
  if (!fine()) return lacks("texture %u: the driver does not tell its size", name);
  if (target == TEXTURE_2D_SAMPLES || target == TEXTURE_2D_ARRAY_SAMPLES) {
    const uint8_t fixed = about(target, 0, FIXED_SAMPLES) != 0;
    if (!width) return;
    const bool array = target == TEXTURE_2D_ARRAY_SAMPLES;
    if (array)
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t, int32_t, uint8_t>(
          t, immutable ? "glTexStorage3DMultisample" : "glTexImage3DMultisample", target, samples, internal, width,
          height, depth, fixed);
    else
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t, uint8_t>(
          t, immutable ? "glTexStorage2DMultisample" : "glTexImage2DMultisample", target, samples, internal, width,
          height, fixed);
    return lacks("texture %u: its content, since it has several samples a pixel", name);
  }
  const bool three = target == TEXTURE_3D || target == TEXTURE_2D_ARRAY || target == TEXTURE_CUBE_ARRAY;
  if (immutable && width) {
    if (target == TEXTURE_1D)
      tell<uint32_t, int32_t, uint32_t, int32_t>(t, "glTexStorage1D", target, levels, internal, width);
    else if (three)
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t, int32_t>(t, "glTexStorage3D", target, levels, internal, width,
                                                                   height, depth);
    else
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t>(t, "glTexStorage2D", target, levels, internal, width, height);
  }
  const int32_t most = target == TEXTURE_RECTANGLE ? 1 : immutable ? levels : MOST_LEVELS;
  for (uint32_t face = first_face; face < first_face + (target == TEXTURE_CUBE ? 6 : 1); face++)
    for (int32_t level = 0; level < most; level++)
      if (!take_level(name, target, face, level, immutable != 0)) break;
}

namespace {

// How storage of an internal format is asked for. False: it is not known for OpenGL ES.
bool transfer_of(const Base& b, uint32_t internal, const int32_t sizes[4], uint32_t kind, bool depth, bool stencil,
                 uint32_t* format, uint32_t* type) {
  for (auto& x : TRANSFERS)
    if (x.internal == internal) return *format = x.format, *type = x.type, true;
  if (!b.es) {
    *format = depth                              ? (stencil ? 0x84F9 : 0x1902)
              : stencil                          ? 0x1901
              : kind == 0x1404 || kind == 0x1405 ? +RGBA_INTEGER
                                                 : +RGBA;
    *type = depth && stencil ? 0x84FA : depth ? +FLOAT : +UNSIGNED_BYTE;
    return true;
  }
  // Formats without a size are both.
  *format = internal;
  switch (internal) {
    case 0x1902: *type = sizes[0] > 16 ? UNSIGNED_INT : UNSIGNED_SHORT; return true;
    case 0x84F9: *type = 0x84FA; return true;
    case 0x1907:
    case 0x1908:
    case 0x1906:
    case 0x1909:
    case 0x190A:
    case 0x80E1:
    case 0x1903:
    case 0x8227: break;
    default: return false;
  }
  if (kind == FLOAT)
    *type = sizes[0] > 16 || sizes[3] > 16 ? +FLOAT : +HALF_OES;
  else if (sizes[0] == 5 && sizes[1] == 6)
    *type = 0x8363;
  else if (sizes[0] == 4 && sizes[3] == 4)
    *type = 0x8033;
  else if (sizes[0] == 5 && sizes[3] == 1)
    *type = 0x8034;
  else if (sizes[0] == 10)
    *type = 0x8368;
  else
    *type = UNSIGNED_BYTE;
  return true;
}

}  // namespace

// False: there is no such level.
bool Base::take_level(uint32_t name, uint32_t target, uint32_t face, int32_t level, bool immutable) {
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetTexLevelParameteriv(face, level, what, &value);
    return value;
  };
  const int32_t width = about(WIDTH), height = about(HEIGHT), depth = has(12, 31) ? about(DEPTH) : 1;
  const uint32_t internal = (uint32_t)about(INTERNAL_FORMAT);
  int32_t sizes[4];
  for (uint32_t i = 0; i < 4; i++) sizes[i] = about(RED_SIZE + i);
  const bool measures = has(30, 31);
  int32_t kind = measures ? about(RED_TYPE) : 0;
  if (measures && !kind) kind = about(0x8C13);
  const int32_t deep = has(14, 31) ? about(DEPTH_SIZE) : 0, stencil = measures ? about(STENCIL_SIZE) : 0,
                compressed = has(13, 31) ? about(COMPRESSED) : 0;
  if (deep) sizes[0] = deep;
  const int32_t border = old && !es ? about(BORDER) : 0;
  if (!fine() || width <= 0) return level < 1 ? level == 0 && !immutable : false;
  const bool three = target == TEXTURE_3D || target == TEXTURE_2D_ARRAY || target == TEXTURE_CUBE_ARRAY,
             flat = target == TEXTURE_1D;
  if (border) return lacks("texture %u, level %d: it has a border", name, level), true;
  if (compressed) {
    const int32_t size = about(COMPRESSED_SIZE);
    char* const content = !es && fine() && size > 0 ? (char*)malloc((size_t)size) : nullptr;
    if (content) d.glGetCompressedTexImage(face, level, content);
    const bool had = content && fine();
    if (!had)
      lacks("texture %u, level %d: its content; %s", name, level,
            es ? "OpenGL ES does not hand out compressed textures" : "the driver does not hand it out");
    else if (three && immutable)
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, int32_t, const void*>(
          t, "glCompressedTexSubImage3D", face, level, 0, 0, 0, width, height, depth, internal, size, content);
    else if (three)
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, const void*>(
          t, "glCompressedTexImage3D", face, level, internal, width, height, depth, 0, size, content);
    else if (immutable)
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, int32_t, const void*>(
          t, "glCompressedTexSubImage2D", face, level, 0, 0, width, height, internal, size, content);
    else
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t, int32_t, int32_t, const void*>(
          t, "glCompressedTexImage2D", face, level, internal, width, height, 0, size, content);
    if (had) bytes += (uint64_t)size;
    free(content);
    return true;
  }
  uint32_t format = 0, type = 0;
  const bool known = transfer_of(*this, internal, sizes, (uint32_t)kind, deep > 0, stencil > 0, &format, &type);
  if (!known) return lacks("texture %u, level %d: its format 0x%X is not known here", name, level, internal), true;
  if (!immutable) {
    if (three)
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
          t, "glTexImage3D", face, level, (int32_t)internal, width, height, depth, 0, format, type, nullptr);
    else if (flat)
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
          t, "glTexImage1D", face, level, (int32_t)internal, width, 0, format, type, nullptr);
    else
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
          t, "glTexImage2D", face, level, (int32_t)internal, width, height, 0, format, type, nullptr);
  }
  if (flat || target == TEXTURE_1D_ARRAY) {
    // Nothing but bytes, of which desktop OpenGL hands out all there are.
    const size_t size = (size_t)width * (size_t)(flat ? 1 : height) * 4;
    char* const content =
        sizes[0] <= 8 && sizes[3] <= 8 && !deep && kind != (int32_t)FLOAT && kind != 0x1404 && kind != 0x1405
            ? (char*)malloc(size)
            : nullptr;
    if (content) d.glGetTexImage(face, level, RGBA, UNSIGNED_BYTE, content);
    if (!content || !fine())
      lacks("texture %u, level %d: its content; %s", name, level, why_not(DT_REFUSED_FORMAT));
    else if (flat)
      tell<uint32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(t, "glTexSubImage1D", face, level, 0,
                                                                                 width, RGBA, UNSIGNED_BYTE, content);
    else
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
          t, "glTexSubImage2D", face, level, 0, 0, width, height, RGBA, UNSIGNED_BYTE, content);
    free(content);
    return true;
  }
  dt_target picture{};
  picture.name = name;
  picture.kind = DT_TARGET_TEXTURE;
  picture.share_group = c->share_group;
  picture.target = face, picture.level = (uint32_t)level;
  picture.width = (uint32_t)width, picture.height = (uint32_t)height, picture.depth = (uint32_t)depth;
  picture.format = internal;
  const uint32_t why = take_picture(t, picture, c->system == 1, &bytes);
  if (!fine() || why)
    lacks("texture %u, level %d of %d x %d: its content; %s", name, level, width, height, why_not(why));
  // The pictures' way binds what is bound now; here it stays bound in the recording.
  tell<uint32_t, uint32_t>(t, "glBindTexture", target, name);
  return true;
}

void Base::take_renderbuffer(uint32_t name) {
  const uint32_t was = (uint32_t)get(0x8CA7);
  d.glBindRenderbuffer(RENDERBUFFER, name);
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetRenderbufferParameteriv(RENDERBUFFER, what, &value);
    return value;
  };
  const int32_t width = about(0x8D42), height = about(0x8D43), samples = has(30, 30) ? about(0x8CAB) : 0;
  const uint32_t internal = (uint32_t)about(0x8D44);
  d.glBindRenderbuffer(RENDERBUFFER, was);
  tell<uint32_t, uint32_t>(t, "glBindRenderbuffer", RENDERBUFFER, name);
  if (!fine() || width <= 0) return;
  if (samples)
    tell<uint32_t, int32_t, uint32_t, int32_t, int32_t>(t, "glRenderbufferStorageMultisample", RENDERBUFFER, samples,
                                                        internal, width, height);
  else
    tell<uint32_t, uint32_t, int32_t, int32_t>(t, "glRenderbufferStorage", RENDERBUFFER, internal, width, height);
  dt_target picture{};
  picture.name = name;
  picture.kind = DT_TARGET_RENDERBUFFER;
  picture.share_group = c->share_group;
  picture.width = (uint32_t)width, picture.height = (uint32_t)height, picture.depth = 1;
  picture.format = internal;
  const uint32_t why = samples ? +DT_REFUSED_SAMPLES : take_picture(t, picture, c->system == 1, &bytes);
  if (!fine() || why) lacks("renderbuffer %u of %d x %d: its content; %s", name, width, height, why_not(why));
}

void Base::take_sampler(uint32_t name) {
  for (auto& p : PARAMETERS) {
    if (!p.sampler || (!has(p.gl, p.es) && !(p.extension && has_extension(c, p.extension)))) continue;
    int32_t i[4] = {};
    float f[4] = {};
    if (p.kind == 'i')
      d.glGetSamplerParameteriv(name, p.name, i);
    else
      d.glGetSamplerParameterfv(name, p.name, f);
    if (!fine()) continue;
    if (p.kind == 'i')
      tell<uint32_t, uint32_t, int32_t>(t, "glSamplerParameteri", name, p.name, i[0]);
    else if (p.kind == 'f')
      tell<uint32_t, uint32_t, float>(t, "glSamplerParameterf", name, p.name, f[0]);
    else
      tell<uint32_t, uint32_t, const float*>(t, "glSamplerParameterfv", name, p.name, f);
  }
}

// ---- vertex arrays ------------------------------------------------------------------------------

void Base::take_vertex_array(uint32_t name) {
  const bool objects = has(30, 30);
  const uint32_t was = objects ? (uint32_t)get(0x85B5) : 0;
  if (objects) {
    d.glBindVertexArray(name);
    tell<uint32_t>(t, "glBindVertexArray", name);
  }
  const bool attributes = has(20, 20);
  for (uint32_t i = 0; attributes && i < c->max_attribs; i++) take_attribute(i, name);
  if (old && !name) take_fixed_arrays();
  if (has(15, 11)) tell<uint32_t, uint32_t>(t, "glBindBuffer", ELEMENT_BUFFER, (uint32_t)get(0x8895));
  if (objects) d.glBindVertexArray(was);
  fine();
}

void Base::take_attribute(uint32_t index, uint32_t vao) {
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetVertexAttribiv(index, what, &value);
    return value;
  };
  const int32_t on = about(0x8622), size = about(0x8623), stride = about(0x8624), normalized = about(0x886A);
  const uint32_t type = (uint32_t)about(0x8625), buffer = (uint32_t)about(0x889F);
  const bool integer = has(30, 30) && about(0x88FD), wide = has(41, 0) && about(0x874E);
  const int32_t divisor = has(33, 30) ? about(0x88FE) : 0;
  void* pointer = nullptr;
  d.glGetVertexAttribPointerv(index, 0x8645, &pointer);
  if (!fine()) return;
  uint32_t binding = index, relative = 0;
  int32_t effective = 0, offset = 0;
  if (has(43, 31)) {
    binding = (uint32_t)about(0x82D4);
    relative = (uint32_t)about(0x82D5);
    d.glGetIntegeri_v(0x82D7, index, &offset);
    d.glGetIntegeri_v(0x82D8, index, &effective);
    if (!fine()) return;
  }
  const bool plain = type == FLOAT && size == 4 && !buffer && !pointer;
  const bool apart = has(43, 31) && (binding != index || relative || (buffer && (intptr_t)offset != (intptr_t)pointer));
  if (apart) {
    int32_t bound = 0;
    d.glGetIntegeri_v(0x8F4F, index, &bound);
    if (!fine()) bound = (int32_t)buffer;
    if (integer)
      tell<uint32_t, int32_t, uint32_t, uint32_t>(t, "glVertexAttribIFormat", index, size, type, relative);
    else if (wide)
      tell<uint32_t, int32_t, uint32_t, uint32_t>(t, "glVertexAttribLFormat", index, size, type, relative);
    else
      tell<uint32_t, int32_t, uint32_t, uint8_t, uint32_t>(t, "glVertexAttribFormat", index, size, type,
                                                           (uint8_t)normalized, relative);
    tell<uint32_t, uint32_t>(t, "glVertexAttribBinding", index, binding);
    tell<uint32_t, uint32_t, intptr_t, int32_t>(t, "glBindVertexBuffer", index, (uint32_t)bound, offset, effective);
  } else if (!plain || (vao && buffer) || c->in_recording) {
    tell<uint32_t, uint32_t>(t, "glBindBuffer", ARRAY_BUFFER, buffer);
    if (integer)
      tell<uint32_t, int32_t, uint32_t, int32_t, const void*>(t, "glVertexAttribIPointer", index, size, type, stride,
                                                              pointer);
    else if (wide)
      tell<uint32_t, int32_t, uint32_t, int32_t, const void*>(t, "glVertexAttribLPointer", index, size, type, stride,
                                                              pointer);
    else
      tell<uint32_t, int32_t, uint32_t, uint8_t, int32_t, const void*>(t, "glVertexAttribPointer", index, size, type,
                                                                       (uint8_t)normalized, stride, pointer);
    tell<uint32_t, uint32_t>(t, "glBindBuffer", ARRAY_BUFFER, 0);
  }
  if (divisor)
    tell<uint32_t, uint32_t>(t, apart ? "glVertexBindingDivisor" : "glVertexAttribDivisor", index, (uint32_t)divisor);
  tell<uint32_t>(t, on ? "glEnableVertexAttribArray" : "glDisableVertexAttribArray", index);
}

void Base::take_fixed_arrays() {
  struct Question {
    uint32_t array, size, type, stride, pointer, buffer, gl, es;
    const char* name;
  };
  static const Question questions[] = {
      {0x8074, 0x807A, 0x807B, 0x807C, 0x808E, 0x8896, 11, 10, "glVertexPointer"},
      {0x8075, 0, 0x807E, 0x807F, 0x808F, 0x8897, 11, 10, "glNormalPointer"},
      {0x8076, 0x8081, 0x8082, 0x8083, 0x8090, 0x8898, 11, 10, "glColorPointer"},
      {0x8077, 0, 0x8085, 0x8086, 0x8091, 0x8899, 11, 0, "glIndexPointer"},
      {0x8079, 0, 0, 0x808C, 0x8093, 0x889B, 11, 0, "glEdgeFlagPointer"},
      {0x8457, 0, 0x8454, 0x8455, 0x8456, 0x889D, 14, 0, "glFogCoordPointer"},
      {0x845E, 0x845A, 0x845B, 0x845C, 0x845D, 0x889C, 14, 0, "glSecondaryColorPointer"},
      {0x8078, 0x8088, 0x8089, 0x808A, 0x8092, 0x889A, 11, 10, "glTexCoordPointer"}};
  const uint32_t unit = has(13, 10) ? (uint32_t)get(0x84E1, 0x84C0) : 0x84C0;
  for (auto& q : questions) {
    if (!has(q.gl, q.es)) continue;
    const bool texture = q.array == 0x8078;
    for (uint32_t i = 0; i < (texture ? c->max_tex_units : 1); i++) {
      if (texture && has(13, 10)) {
        d.glClientActiveTexture(0x84C0 + i);
        tell<uint32_t>(t, "glClientActiveTexture", 0x84C0 + i);
      }
      const int32_t size = q.size ? get(q.size) : 0, stride = get(q.stride);
      const uint32_t type = q.type ? (uint32_t)get(q.type) : 0, buffer = has(15, 11) ? (uint32_t)get(q.buffer) : 0;
      const bool on = is(q.array);
      void* pointer = nullptr;
      d.glGetPointerv(q.pointer, &pointer);
      if (!fine()) continue;
      if (pointer || buffer) {
        if (has(15, 11)) tell<uint32_t, uint32_t>(t, "glBindBuffer", ARRAY_BUFFER, buffer);
        if (q.size)
          tell<int32_t, uint32_t, int32_t, const void*>(t, q.name, size, type, stride, pointer);
        else if (q.type)
          tell<uint32_t, int32_t, const void*>(t, q.name, type, stride, pointer);
        else
          tell<int32_t, const void*>(t, q.name, stride, pointer);
      }
      tell<uint32_t>(t, on ? "glEnableClientState" : "glDisableClientState", q.array);
    }
  }
  if (has(15, 11)) tell<uint32_t, uint32_t>(t, "glBindBuffer", ARRAY_BUFFER, 0);
  if (!has(13, 10)) return;
  d.glClientActiveTexture(unit);
  tell<uint32_t>(t, "glClientActiveTexture", unit);
}

// ---- framebuffers -------------------------------------------------------------------------------

void Base::take_framebuffer(uint32_t name) {
  const bool two = has(30, 30);
  const uint32_t target = two ? +DRAW_FRAMEBUFFER : +FRAMEBUFFER;
  d.glBindFramebuffer(target, name);
  if (two) d.glBindFramebuffer(READ_FRAMEBUFFER, name);
  tell<uint32_t, uint32_t>(t, "glBindFramebuffer", FRAMEBUFFER, name);
  const int32_t colors = two ? get(0x8CDF, 1) : 1;
  for (int32_t i = 0; i < colors; i++) take_attachment(target, COLOR_ATTACHMENT0 + (uint32_t)i);
  take_attachment(target, DEPTH_ATTACHMENT);
  take_attachment(target, STENCIL_ATTACHMENT);
  if (has(43, 31))
    for (uint32_t what : Each<uint32_t>{0x9310u, 0x9311u, 0x9312u, 0x9313u, 0x9314u}) {
      int32_t value = 0;
      d.glGetFramebufferParameteriv(target, what, &value);
      if (fine() && value) tell<uint32_t, uint32_t, int32_t>(t, "glFramebufferParameteri", target, what, value);
    }
  if (!two) return;
  uint32_t buffers[32];
  int32_t count = get(0x8824, 1), used = 0;
  for (int32_t i = 0; i < count && i < 32; i++) {
    buffers[i] = (uint32_t)get(0x8825 + (uint32_t)i);
    if (buffers[i]) used = i + 1;
  }
  tell<int32_t, const uint32_t*>(t, "glDrawBuffers", used ? used : 1, buffers);
  tell<uint32_t>(t, "glReadBuffer", (uint32_t)get(0x0C02));
}

void Base::take_attachment(uint32_t target, uint32_t point) {
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetFramebufferAttachmentParameteriv(target, point, what, &value);
    return value;
  };
  const uint32_t kind = (uint32_t)about(OBJECT_TYPE);
  if (!fine() || !kind) return;
  const uint32_t name = (uint32_t)about(OBJECT_NAME);
  if (!name) return;
  if (kind == RENDERBUFFER)
    return tell<uint32_t, uint32_t, uint32_t, uint32_t>(t, "glFramebufferRenderbuffer", FRAMEBUFFER, point,
                                                        RENDERBUFFER, name);
  const int32_t level = about(OBJECT_LEVEL);
  const uint32_t face = (uint32_t)about(OBJECT_FACE);
  const int32_t layer = has(30, 30) ? about(OBJECT_LAYER) : 0;
  const bool layered = has(32, 32) && about(OBJECT_LAYERED);
  fine();
  if (layered)
    return tell<uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture", FRAMEBUFFER, point, name, level);
  if (face)
    return tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture2D", FRAMEBUFFER, point, face,
                                                                 name, level);
  // Which kind it is decides which call attaches it.
  for (auto& candidate : TARGETS) {
    const int32_t was = get(candidate.binding, -1);
    if (was < 0) continue;
    d.glBindTexture(candidate.target, name);
    if (!fine()) continue;
    d.glBindTexture(candidate.target, (uint32_t)was);
    const uint32_t kind_of = candidate.target;
    if (has_layers(kind_of) || kind_of == TEXTURE_1D_ARRAY || kind_of == TEXTURE_2D_ARRAY_SAMPLES)
      tell<uint32_t, uint32_t, uint32_t, int32_t, int32_t>(t, "glFramebufferTextureLayer", FRAMEBUFFER, point, name,
                                                           level, layer);
    else if (kind_of == TEXTURE_1D)
      tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture1D", FRAMEBUFFER, point, kind_of,
                                                            name, level);
    else
      tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture2D", FRAMEBUFFER, point, kind_of,
                                                            name, level);
    return;
  }
  lacks("a texture %u that a framebuffer draws to", name);
}

}  // namespace hook
}  // namespace dt
