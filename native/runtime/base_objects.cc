// Objects and what they hold: buffers, textures, renderbuffers, samplers, display lists; vertex arrays and
// framebuffers.
#include <stdlib.h>

#include "base.h"
#include "sampled.h"
#include "targets.h"
#include "told.h"
#include "gl_enums.h"

namespace dt {
namespace hook {

using namespace gl;

namespace {

// names up to here are asked about, and as many behind the last that there is
constexpr uint32_t LEAST_SEARCHED = 1u << 16;
constexpr int32_t MOST_LEVELS = 17;
constexpr uint64_t MOST_BUFFER = 1ull << 32;

struct TargetBinding {
  uint32_t target, binding;
  const char* name;
};
const TargetBinding TARGETS[] = {
    {GL_TEXTURE_2D, GL_TEXTURE_BINDING_2D, "GL_TEXTURE_2D"},
    {GL_TEXTURE_CUBE_MAP, GL_TEXTURE_BINDING_CUBE_MAP, "GL_TEXTURE_CUBE_MAP"},
    {GL_TEXTURE_3D, GL_TEXTURE_BINDING_3D, "GL_TEXTURE_3D"},
    {GL_TEXTURE_2D_ARRAY, GL_TEXTURE_BINDING_2D_ARRAY, "GL_TEXTURE_2D_ARRAY"},
    {GL_TEXTURE_1D, GL_TEXTURE_BINDING_1D, "GL_TEXTURE_1D"},
    {GL_TEXTURE_RECTANGLE, GL_TEXTURE_BINDING_RECTANGLE, "GL_TEXTURE_RECTANGLE"},
    {GL_TEXTURE_1D_ARRAY, GL_TEXTURE_BINDING_1D_ARRAY, "GL_TEXTURE_1D_ARRAY"},
    {GL_TEXTURE_BUFFER, GL_TEXTURE_BINDING_BUFFER, "GL_TEXTURE_BUFFER"},
    {GL_TEXTURE_CUBE_MAP_ARRAY, GL_TEXTURE_BINDING_CUBE_MAP_ARRAY, "GL_TEXTURE_CUBE_MAP_ARRAY"},
    {GL_TEXTURE_2D_MULTISAMPLE, GL_TEXTURE_BINDING_2D_MULTISAMPLE, "GL_TEXTURE_2D_MULTISAMPLE"},
    {GL_TEXTURE_2D_MULTISAMPLE_ARRAY, GL_TEXTURE_BINDING_2D_MULTISAMPLE_ARRAY, "GL_TEXTURE_2D_MULTISAMPLE_ARRAY"},
    {GL_TEXTURE_EXTERNAL_OES, GL_TEXTURE_BINDING_EXTERNAL_OES, "GL_TEXTURE_EXTERNAL_OES"}};

// Formats and types that OpenGL ES takes together with an internal format; desktop OpenGL takes any that are of one
// kind.
struct Transfer {
  uint16_t internal, format, type;
};
const Transfer TRANSFERS[] = {{GL_R8, GL_RED, GL_UNSIGNED_BYTE},
                              {GL_R8_SNORM, GL_RED, GL_BYTE},
                              {GL_R16F, GL_RED, GL_HALF_FLOAT},
                              {GL_R32F, GL_RED, GL_FLOAT},
                              {GL_R8UI, GL_RED_INTEGER, GL_UNSIGNED_BYTE},
                              {GL_R8I, GL_RED_INTEGER, GL_BYTE},
                              {GL_R16UI, GL_RED_INTEGER, GL_UNSIGNED_SHORT},
                              {GL_R16I, GL_RED_INTEGER, GL_SHORT},
                              {GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT},
                              {GL_R32I, GL_RED_INTEGER, GL_INT},
                              {GL_RG8, GL_RG, GL_UNSIGNED_BYTE},
                              {GL_RG8_SNORM, GL_RG, GL_BYTE},
                              {GL_RG16F, GL_RG, GL_HALF_FLOAT},
                              {GL_RG32F, GL_RG, GL_FLOAT},
                              {GL_RG8UI, GL_RG_INTEGER, GL_UNSIGNED_BYTE},
                              {GL_RG8I, GL_RG_INTEGER, GL_BYTE},
                              {GL_RG16UI, GL_RG_INTEGER, GL_UNSIGNED_SHORT},
                              {GL_RG16I, GL_RG_INTEGER, GL_SHORT},
                              {GL_RG32UI, GL_RG_INTEGER, GL_UNSIGNED_INT},
                              {GL_RG32I, GL_RG_INTEGER, GL_INT},
                              {GL_RGB8, GL_RGB, GL_UNSIGNED_BYTE},
                              {GL_SRGB8, GL_RGB, GL_UNSIGNED_BYTE},
                              {GL_RGB565, GL_RGB, GL_UNSIGNED_SHORT_5_6_5},
                              {GL_RGB8_SNORM, GL_RGB, GL_BYTE},
                              {GL_R11F_G11F_B10F, GL_RGB, GL_UNSIGNED_INT_10F_11F_11F_REV},
                              {GL_RGB9_E5, GL_RGB, GL_UNSIGNED_INT_5_9_9_9_REV},
                              {GL_RGB16F, GL_RGB, GL_HALF_FLOAT},
                              {GL_RGB32F, GL_RGB, GL_FLOAT},
                              {GL_RGB8UI, GL_RGB_INTEGER, GL_UNSIGNED_BYTE},
                              {GL_RGB8I, GL_RGB_INTEGER, GL_BYTE},
                              {GL_RGB16UI, GL_RGB_INTEGER, GL_UNSIGNED_SHORT},
                              {GL_RGB16I, GL_RGB_INTEGER, GL_SHORT},
                              {GL_RGB32UI, GL_RGB_INTEGER, GL_UNSIGNED_INT},
                              {GL_RGB32I, GL_RGB_INTEGER, GL_INT},
                              {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE},
                              {GL_SRGB8_ALPHA8, GL_RGBA, GL_UNSIGNED_BYTE},
                              {GL_RGBA8_SNORM, GL_RGBA, GL_BYTE},
                              {GL_RGB5_A1, GL_RGBA, GL_UNSIGNED_SHORT_5_5_5_1},
                              {GL_RGBA4, GL_RGBA, GL_UNSIGNED_SHORT_4_4_4_4},
                              {GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV},
                              {GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT},
                              {GL_RGBA32F, GL_RGBA, GL_FLOAT},
                              {GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE},
                              {GL_RGBA8I, GL_RGBA_INTEGER, GL_BYTE},
                              {GL_RGB10_A2UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT_2_10_10_10_REV},
                              {GL_RGBA16UI, GL_RGBA_INTEGER, GL_UNSIGNED_SHORT},
                              {GL_RGBA16I, GL_RGBA_INTEGER, GL_SHORT},
                              {GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT},
                              {GL_RGBA32I, GL_RGBA_INTEGER, GL_INT},
                              {GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT},
                              {GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT},
                              {GL_DEPTH_COMPONENT32, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT},
                              {GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT},
                              {GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8},
                              {GL_DEPTH32F_STENCIL8, GL_DEPTH_STENCIL, GL_FLOAT_32_UNSIGNED_INT_24_8_REV},
                              {GL_STENCIL_INDEX8, GL_STENCIL_INDEX, GL_UNSIGNED_BYTE},
                              {GL_BGRA8_EXT, GL_BGRA, GL_UNSIGNED_BYTE},
                              {GL_ALPHA8, GL_ALPHA, GL_UNSIGNED_BYTE},
                              {GL_LUMINANCE8, GL_LUMINANCE, GL_UNSIGNED_BYTE},
                              {GL_LUMINANCE8_ALPHA8, GL_LUMINANCE_ALPHA, GL_UNSIGNED_BYTE},
                              {GL_R16, GL_RED, GL_UNSIGNED_SHORT},
                              {GL_RG16, GL_RG, GL_UNSIGNED_SHORT},
                              {GL_RGB16, GL_RGB, GL_UNSIGNED_SHORT},
                              {GL_RGBA16, GL_RGBA, GL_UNSIGNED_SHORT}};

struct Parameter {
  uint32_t name;
  char kind;        // 'i', 'f', or 'c' for a colour
  uint32_t gl, es;  // versions that have it; 0: never
  bool sampler;     // that samplers have as well
  const char* extension;
};
const Parameter PARAMETERS[] = {{GL_TEXTURE_MIN_FILTER, 'i', 10, 10, true, nullptr},
                                {GL_TEXTURE_MAG_FILTER, 'i', 10, 10, true, nullptr},
                                {GL_TEXTURE_WRAP_S, 'i', 10, 10, true, nullptr},
                                {GL_TEXTURE_WRAP_T, 'i', 10, 10, true, nullptr},
                                {GL_TEXTURE_WRAP_R, 'i', 12, 30, true, nullptr},
                                {GL_TEXTURE_MIN_LOD, 'f', 12, 30, true, nullptr},
                                {GL_TEXTURE_MAX_LOD, 'f', 12, 30, true, nullptr},
                                {GL_TEXTURE_BASE_LEVEL, 'i', 12, 30, false, nullptr},
                                {GL_TEXTURE_MAX_LEVEL, 'i', 12, 30, false, nullptr},
                                {GL_TEXTURE_COMPARE_MODE, 'i', 14, 30, true, nullptr},
                                {GL_TEXTURE_COMPARE_FUNC, 'i', 14, 30, true, nullptr},
                                {GL_TEXTURE_LOD_BIAS, 'f', 14, 0, true, nullptr},
                                {GL_TEXTURE_SWIZZLE_R, 'i', 33, 30, false, nullptr},
                                {GL_TEXTURE_SWIZZLE_G, 'i', 33, 30, false, nullptr},
                                {GL_TEXTURE_SWIZZLE_B, 'i', 33, 30, false, nullptr},
                                {GL_TEXTURE_SWIZZLE_A, 'i', 33, 30, false, nullptr},
                                {GL_TEXTURE_BORDER_COLOR, 'c', 10, 32, true, nullptr},
                                {GL_DEPTH_STENCIL_TEXTURE_MODE, 'i', 43, 31, false, nullptr},
                                {GL_TEXTURE_MAX_ANISOTROPY, 'f', 46, 0, true, "GL_EXT_texture_filter_anisotropic"},
                                {GL_TEXTURE_SRGB_DECODE_EXT, 'i', 0, 0, true, "GL_EXT_texture_sRGB_decode"}};

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
  tell<uint32_t, int32_t>(t, "glPixelStorei", GL_UNPACK_ALIGNMENT, 1);
  for (uint32_t i = 0; i < found[TEXTURES].count; i++) take_texture(found[TEXTURES].list[i]);
  for (uint32_t i = 0; i < found[RENDERBUFFERS].count; i++) take_renderbuffer(found[RENDERBUFFERS].list[i]);
  for (uint32_t i = 0; i < found[SAMPLERS].count; i++) take_sampler(found[SAMPLERS].list[i]);
  take_syncs();
}

// A fence that is made here is done no later than one that was made before: what waits for it goes on.
void Base::take_syncs() {
  if (!has(32, 30) || !d.glIsSync) return;
  constexpr uint32_t MOST = 4096;
  void** const list = (void**)malloc(MOST * sizeof(void*));
  const uint32_t count = list ? keep_syncs(list, MOST) : 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!d.glIsSync(list[i])) continue;  // of other contexts, or gone
    keep_forget_sync(list[i]);
    tell_result<uint32_t, uint32_t>(t, (uint64_t)(uintptr_t)list[i], "glFenceSync", GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  }
  free(list);
}

void Base::own_objects() {
  for (uint32_t i = 0; i < found[VERTEX_ARRAYS].count; i++) take_vertex_array(found[VERTEX_ARRAYS].list[i]);
  if (has(15, 11) || !c->core) take_vertex_array(0);
  const uint32_t draw = (uint32_t)get(GL_DRAW_FRAMEBUFFER_BINDING),
                 read = has(30, 30) ? (uint32_t)get(GL_READ_FRAMEBUFFER_BINDING) : draw;
  for (uint32_t i = 0; i < found[FRAMEBUFFERS].count; i++) take_framebuffer(found[FRAMEBUFFERS].list[i]);
  if (found[FRAMEBUFFERS].count) {
    if (has(30, 30))
      d.glBindFramebuffer(GL_DRAW_FRAMEBUFFER, draw), d.glBindFramebuffer(GL_READ_FRAMEBUFFER, read);
    else
      d.glBindFramebuffer(GL_FRAMEBUFFER, draw);
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
  const uint32_t was = (uint32_t)get(GL_ARRAY_BUFFER_BINDING);
  d.glBindBuffer(GL_ARRAY_BUFFER, name);
  int64_t size = 0;
  int32_t usage = 0, immutable = 0, flags = 0, mapped = 0;
  if (has(32, 30)) {
    d.glGetBufferParameteri64v(GL_ARRAY_BUFFER, GL_BUFFER_SIZE, &size);
  } else {
    int32_t small = 0;
    d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_SIZE, &small);
    size = small;
  }
  d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_USAGE, &usage);
  if (has(15, 30)) d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_MAPPED, &mapped);
  if (has(44, 0)) {
    d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_IMMUTABLE_STORAGE, &immutable);
    d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_STORAGE_FLAGS, &flags);
  }
  const bool known = fine() && size >= 0 && (uint64_t)size <= MOST_BUFFER;
  char* const content = known && size ? (char*)malloc((size_t)size) : nullptr;
  bool had = !size && known;
  if (content && mapped) {
    // While it is mapped nothing but the mapping can be looked at, unless it is a persistent one.
    int64_t offset = 0, length = 0;
    void* at = nullptr;
    if (has(32, 30))
      d.glGetBufferParameteri64v(GL_ARRAY_BUFFER, GL_BUFFER_MAP_OFFSET, &offset),
          d.glGetBufferParameteri64v(GL_ARRAY_BUFFER, GL_BUFFER_MAP_LENGTH, &length);
    else
      length = size;
    d.glGetBufferPointerv(GL_ARRAY_BUFFER, GL_BUFFER_MAP_POINTER, &at);
    if (!es) d.glGetBufferSubData(GL_ARRAY_BUFFER, 0, size, content);
    had = !es && fine();
    if (!had && at && offset >= 0 && offset + length <= size) {
      memset(content, 0, (size_t)size);
      memcpy(content + offset, at, (size_t)length);
      if (offset || length != size) lacks("buffer %u: what of it is not mapped, since it is mapped just now", name);
      had = true;
    }
  } else if (content && !es) {
    d.glGetBufferSubData(GL_ARRAY_BUFFER, 0, size, content);
    had = fine();
  } else if (content && has(0, 30)) {
    const void* at = d.glMapBufferRange(GL_ARRAY_BUFFER, 0, size, 1);
    if (at) memcpy(content, at, (size_t)size), d.glUnmapBuffer(GL_ARRAY_BUFFER);
    had = fine() && at;
  }
  if (!had) lacks("buffer %u of %lld bytes: its content; the driver does not hand it out", name, (long long)size);
  tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ARRAY_BUFFER, name);
  const void* data = had && size ? content : nullptr;
  if (immutable)
    tell<uint32_t, intptr_t, const void*, uint32_t>(t, "glBufferStorage", GL_ARRAY_BUFFER, size, data, (uint32_t)flags);
  else if (size)
    tell<uint32_t, intptr_t, const void*, uint32_t>(t, "glBufferData", GL_ARRAY_BUFFER, size, data, (uint32_t)usage);
  if (had) bytes += (uint64_t)size;
  if (mapped) take_map(name, GL_ARRAY_BUFFER);
  free(content);
  tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ARRAY_BUFFER, 0);
  d.glBindBuffer(GL_ARRAY_BUFFER, was);
}

void Base::take_map(uint32_t name, uint32_t target) {
  void* at = nullptr;
  d.glGetBufferPointerv(target, GL_BUFFER_MAP_POINTER, &at);
  if (!has(30, 30)) {
    int32_t access = 0;
    d.glGetBufferParameteriv(target, GL_BUFFER_ACCESS, &access);
    if (fine() && at)
      tell_result<uint32_t, uint32_t>(t, (uint64_t)(uintptr_t)at, "glMapBuffer", target, (uint32_t)access);
    return;
  }
  int32_t access = 0, offset = 0, length = 0;
  d.glGetBufferParameteriv(target, GL_BUFFER_ACCESS_FLAGS, &access);
  d.glGetBufferParameteriv(target, GL_BUFFER_MAP_OFFSET, &offset);
  d.glGetBufferParameteriv(target, GL_BUFFER_MAP_LENGTH, &length);
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
  const bool samples = target == GL_TEXTURE_2D_MULTISAMPLE || target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY;
  if (target == GL_TEXTURE_EXTERNAL_OES)
    lacks("texture %u: an image of another API or process that it shows", name);
  else if (!has(11, 31))
    lacks("texture %u (%s): OpenGL ES tells the sizes of textures from version 3.1 on", name, bound->name);
  else
    take_levels(name, target);
  for (auto& p : PARAMETERS) {
    if (samples || target == GL_TEXTURE_BUFFER) break;
    if (!has(p.gl, p.es) && !(p.extension && has_extension(c, p.extension))) continue;
    if (p.name == GL_TEXTURE_WRAP_R && target == GL_TEXTURE_EXTERNAL_OES) continue;
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
  if (old && has(14, 11) && c->version < 20 + (es ? 0u : 100u) && !samples && target != GL_TEXTURE_BUFFER &&
      target != GL_TEXTURE_RECTANGLE) {
    int32_t generate = 0, mode = 0;
    d.glGetTexParameteriv(target, GL_GENERATE_MIPMAP, &generate);
    if (fine() && generate) tell<uint32_t, uint32_t, int32_t>(t, "glTexParameteri", target, GL_GENERATE_MIPMAP, 1);
    if (!es) d.glGetTexParameteriv(target, GL_DEPTH_TEXTURE_MODE, &mode);
    if (!es && fine()) tell<uint32_t, uint32_t, int32_t>(t, "glTexParameteri", target, GL_DEPTH_TEXTURE_MODE, mode);
  }
  tell<uint32_t, uint32_t>(t, "glBindTexture", target, 0);
  d.glBindTexture(target, (uint32_t)was);
  fine();
}

void Base::take_levels(uint32_t name, uint32_t target) {
  int32_t immutable = 0, levels = 0;
  const uint32_t first_face = target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X : target;
  auto about = [&](uint32_t face, int32_t level, uint32_t what) {
    int32_t value = 0;
    d.glGetTexLevelParameteriv(face, level, what, &value);
    return value;
  };
  if (target == GL_TEXTURE_BUFFER) {
    const uint32_t format = (uint32_t)about(target, 0, GL_TEXTURE_INTERNAL_FORMAT),
                   buffer = (uint32_t)about(target, 0, GL_TEXTURE_BUFFER_DATA_STORE_BINDING);
    const int32_t offset = has(43, 32) ? about(target, 0, GL_TEXTURE_BUFFER_OFFSET) : 0,
                  size = has(43, 32) ? about(target, 0, GL_TEXTURE_BUFFER_SIZE) : 0;
    if (!fine() || !buffer) return;
    if (offset)
      tell<uint32_t, uint32_t, uint32_t, intptr_t, intptr_t>(t, "glTexBufferRange", target, format, buffer, offset,
                                                             size);
    else
      tell<uint32_t, uint32_t, uint32_t>(t, "glTexBuffer", target, format, buffer);
    return;
  }
  if (has(42, 30)) d.glGetTexParameteriv(target, GL_TEXTURE_IMMUTABLE_FORMAT, &immutable);
  if (!fine()) immutable = 0;
  if (immutable && has(43, 30)) d.glGetTexParameteriv(target, GL_TEXTURE_IMMUTABLE_LEVELS, &levels);
  const int32_t width = about(first_face, 0, GL_TEXTURE_WIDTH), height = about(first_face, 0, GL_TEXTURE_HEIGHT);
  const int32_t depth = has(12, 31) ? about(first_face, 0, GL_TEXTURE_DEPTH) : 1,
                samples = has(32, 31) ? about(first_face, 0, GL_TEXTURE_SAMPLES) : 0;
  const uint32_t internal = (uint32_t)about(first_face, 0, GL_TEXTURE_INTERNAL_FORMAT);
  if (!fine()) return lacks("texture %u: the driver does not tell its size", name);
  if (target == GL_TEXTURE_2D_MULTISAMPLE || target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY) {
    const uint8_t fixed = about(target, 0, GL_TEXTURE_FIXED_SAMPLE_LOCATIONS) != 0;
    if (!width) return;
    const bool array = target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY;
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
  const bool three = target == GL_TEXTURE_3D || target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY;
  if (immutable && width) {
    if (target == GL_TEXTURE_1D)
      tell<uint32_t, int32_t, uint32_t, int32_t>(t, "glTexStorage1D", target, levels, internal, width);
    else if (three)
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t, int32_t>(t, "glTexStorage3D", target, levels, internal, width,
                                                                   height, depth);
    else
      tell<uint32_t, int32_t, uint32_t, int32_t, int32_t>(t, "glTexStorage2D", target, levels, internal, width, height);
  }
  const int32_t most = target == GL_TEXTURE_RECTANGLE ? 1 : immutable ? levels : MOST_LEVELS;
  for (uint32_t face = first_face; face < first_face + (target == GL_TEXTURE_CUBE_MAP ? 6 : 1); face++)
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
    *format = depth                                       ? (stencil ? GL_DEPTH_STENCIL : GL_DEPTH_COMPONENT)
              : stencil                                   ? GL_STENCIL_INDEX
              : kind == GL_INT || kind == GL_UNSIGNED_INT ? GL_RGBA_INTEGER
                                                          : GL_RGBA;
    *type = depth && stencil ? GL_UNSIGNED_INT_24_8 : depth ? GL_FLOAT : GL_UNSIGNED_BYTE;
    return true;
  }
  // Formats without a size are both.
  *format = internal;
  switch (internal) {
    case GL_DEPTH_COMPONENT: *type = sizes[0] > 16 ? GL_UNSIGNED_INT : GL_UNSIGNED_SHORT; return true;
    case GL_DEPTH_STENCIL: *type = GL_UNSIGNED_INT_24_8; return true;
    case GL_RGB:
    case GL_RGBA:
    case GL_ALPHA:
    case GL_LUMINANCE:
    case GL_LUMINANCE_ALPHA:
    case GL_BGRA:
    case GL_RED:
    case GL_RG: break;
    default: return false;
  }
  if (kind == GL_FLOAT)
    *type = sizes[0] > 16 || sizes[3] > 16 ? GL_FLOAT : GL_HALF_FLOAT_OES;
  else if (sizes[0] == 5 && sizes[1] == 6)
    *type = GL_UNSIGNED_SHORT_5_6_5;
  else if (sizes[0] == 4 && sizes[3] == 4)
    *type = GL_UNSIGNED_SHORT_4_4_4_4;
  else if (sizes[0] == 5 && sizes[3] == 1)
    *type = GL_UNSIGNED_SHORT_5_5_5_1;
  else if (sizes[0] == 10)
    *type = GL_UNSIGNED_INT_2_10_10_10_REV;
  else
    *type = GL_UNSIGNED_BYTE;
  return true;
}

}  // namespace

// False: there is no such level.
void Base::take_compressed(uint32_t name, uint32_t face, int32_t level, bool three, bool immutable, int32_t width,
                           int32_t height, int32_t depth, uint32_t internal) {
  int32_t size = 0;
  d.glGetTexLevelParameteriv(face, level, GL_TEXTURE_COMPRESSED_IMAGE_SIZE, &size);
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
}

bool Base::take_level(uint32_t name, uint32_t target, uint32_t face, int32_t level, bool immutable) {
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetTexLevelParameteriv(face, level, what, &value);
    return value;
  };
  const int32_t width = about(GL_TEXTURE_WIDTH), height = about(GL_TEXTURE_HEIGHT),
                depth = has(12, 31) ? about(GL_TEXTURE_DEPTH) : 1;
  const uint32_t internal = (uint32_t)about(GL_TEXTURE_INTERNAL_FORMAT);
  int32_t sizes[4];
  for (uint32_t i = 0; i < 4; i++) sizes[i] = about(GL_TEXTURE_RED_SIZE + i);
  const bool measures = has(30, 31);
  int32_t kind = measures ? about(GL_TEXTURE_RED_TYPE) : 0;
  if (measures && !kind) kind = about(GL_TEXTURE_ALPHA_TYPE);
  const int32_t deep = has(14, 31) ? about(GL_TEXTURE_DEPTH_SIZE) : 0,
                stencil = measures ? about(GL_TEXTURE_STENCIL_SIZE) : 0,
                compressed = has(13, 31) ? about(GL_TEXTURE_COMPRESSED) : 0;
  if (deep) sizes[0] = deep;
  const int32_t border = old && !es ? about(GL_TEXTURE_BORDER) : 0;
  if (!fine() || width <= 0) return level < 1 ? level == 0 && !immutable : false;
  const bool three = target == GL_TEXTURE_3D || target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY,
             flat = target == GL_TEXTURE_1D;
  if (border) return lacks("texture %u, level %d: it has a border", name, level), true;
  if (compressed) {
    take_compressed(name, face, level, three, immutable, width, height, depth, internal);
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
  if (flat || target == GL_TEXTURE_1D_ARRAY) {
    // Nothing but bytes, of which desktop OpenGL hands out all there are.
    const size_t size = (size_t)width * (size_t)(flat ? 1 : height) * 4;
    char* const content = sizes[0] <= 8 && sizes[3] <= 8 && !deep && kind != (int32_t)GL_FLOAT && kind != GL_INT &&
                                  kind != GL_UNSIGNED_INT
                              ? (char*)malloc(size)
                              : nullptr;
    if (content) d.glGetTexImage(face, level, GL_RGBA, GL_UNSIGNED_BYTE, content);
    if (!content || !fine())
      lacks("texture %u, level %d: its content; %s", name, level, why_not(DT_REFUSED_FORMAT));
    else if (flat)
      tell<uint32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
          t, "glTexSubImage1D", face, level, 0, width, GL_RGBA, GL_UNSIGNED_BYTE, content);
    else
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
          t, "glTexSubImage2D", face, level, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, content);
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
  const uint32_t was = (uint32_t)get(GL_RENDERBUFFER_BINDING);
  d.glBindRenderbuffer(GL_RENDERBUFFER, name);
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetRenderbufferParameteriv(GL_RENDERBUFFER, what, &value);
    return value;
  };
  const int32_t width = about(GL_RENDERBUFFER_WIDTH), height = about(GL_RENDERBUFFER_HEIGHT),
                samples = has(30, 30) ? about(GL_RENDERBUFFER_SAMPLES) : 0;
  const uint32_t internal = (uint32_t)about(GL_RENDERBUFFER_INTERNAL_FORMAT);
  d.glBindRenderbuffer(GL_RENDERBUFFER, was);
  tell<uint32_t, uint32_t>(t, "glBindRenderbuffer", GL_RENDERBUFFER, name);
  if (!fine() || width <= 0) return;
  if (samples)
    tell<uint32_t, int32_t, uint32_t, int32_t, int32_t>(t, "glRenderbufferStorageMultisample", GL_RENDERBUFFER, samples,
                                                        internal, width, height);
  else
    tell<uint32_t, uint32_t, int32_t, int32_t>(t, "glRenderbufferStorage", GL_RENDERBUFFER, internal, width, height);
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
  const uint32_t was = objects ? (uint32_t)get(GL_VERTEX_ARRAY_BINDING) : 0;
  if (objects) {
    d.glBindVertexArray(name);
    tell<uint32_t>(t, "glBindVertexArray", name);
  }
  const bool attributes = has(20, 20);
  for (uint32_t i = 0; attributes && i < c->max_attribs; i++) take_attribute(i, name);
  if (old && !name) take_fixed_arrays();
  if (has(15, 11))
    tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ELEMENT_ARRAY_BUFFER,
                             (uint32_t)get(GL_ELEMENT_ARRAY_BUFFER_BINDING));
  if (objects) d.glBindVertexArray(was);
  fine();
}

void Base::take_attribute(uint32_t index, uint32_t vao) {
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetVertexAttribiv(index, what, &value);
    return value;
  };
  const int32_t on = about(GL_VERTEX_ATTRIB_ARRAY_ENABLED), size = about(GL_VERTEX_ATTRIB_ARRAY_SIZE),
                stride = about(GL_VERTEX_ATTRIB_ARRAY_STRIDE), normalized = about(GL_VERTEX_ATTRIB_ARRAY_NORMALIZED);
  const uint32_t type = (uint32_t)about(GL_VERTEX_ATTRIB_ARRAY_TYPE),
                 buffer = (uint32_t)about(GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING);
  const bool integer = has(30, 30) && about(GL_VERTEX_ATTRIB_ARRAY_INTEGER),
             wide = has(41, 0) && about(GL_VERTEX_ATTRIB_ARRAY_LONG);
  const int32_t divisor = has(33, 30) ? about(GL_VERTEX_ATTRIB_ARRAY_DIVISOR) : 0;
  void* pointer = nullptr;
  d.glGetVertexAttribPointerv(index, GL_VERTEX_ATTRIB_ARRAY_POINTER, &pointer);
  if (!fine()) return;
  uint32_t binding = index, relative = 0;
  int32_t effective = 0, offset = 0;
  if (has(43, 31)) {
    binding = (uint32_t)about(GL_VERTEX_ATTRIB_BINDING);
    relative = (uint32_t)about(GL_VERTEX_ATTRIB_RELATIVE_OFFSET);
    d.glGetIntegeri_v(GL_VERTEX_BINDING_OFFSET, index, &offset);
    d.glGetIntegeri_v(GL_VERTEX_BINDING_STRIDE, index, &effective);
    if (!fine()) return;
  }
  const bool plain = type == GL_FLOAT && size == 4 && !buffer && !pointer;
  const bool apart = has(43, 31) && (binding != index || relative || (buffer && (intptr_t)offset != (intptr_t)pointer));
  if (apart) {
    int32_t bound = 0;
    d.glGetIntegeri_v(GL_VERTEX_BINDING_BUFFER, index, &bound);
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
    tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ARRAY_BUFFER, buffer);
    if (integer)
      tell<uint32_t, int32_t, uint32_t, int32_t, const void*>(t, "glVertexAttribIPointer", index, size, type, stride,
                                                              pointer);
    else if (wide)
      tell<uint32_t, int32_t, uint32_t, int32_t, const void*>(t, "glVertexAttribLPointer", index, size, type, stride,
                                                              pointer);
    else
      tell<uint32_t, int32_t, uint32_t, uint8_t, int32_t, const void*>(t, "glVertexAttribPointer", index, size, type,
                                                                       (uint8_t)normalized, stride, pointer);
    tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ARRAY_BUFFER, 0);
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
      {GL_VERTEX_ARRAY, GL_VERTEX_ARRAY_SIZE, GL_VERTEX_ARRAY_TYPE, GL_VERTEX_ARRAY_STRIDE, GL_VERTEX_ARRAY_POINTER,
       GL_VERTEX_ARRAY_BUFFER_BINDING, 11, 10, "glVertexPointer"},
      {GL_NORMAL_ARRAY, 0, GL_NORMAL_ARRAY_TYPE, GL_NORMAL_ARRAY_STRIDE, GL_NORMAL_ARRAY_POINTER,
       GL_NORMAL_ARRAY_BUFFER_BINDING, 11, 10, "glNormalPointer"},
      {GL_COLOR_ARRAY, GL_COLOR_ARRAY_SIZE, GL_COLOR_ARRAY_TYPE, GL_COLOR_ARRAY_STRIDE, GL_COLOR_ARRAY_POINTER,
       GL_COLOR_ARRAY_BUFFER_BINDING, 11, 10, "glColorPointer"},
      {GL_INDEX_ARRAY, 0, GL_INDEX_ARRAY_TYPE, GL_INDEX_ARRAY_STRIDE, GL_INDEX_ARRAY_POINTER,
       GL_INDEX_ARRAY_BUFFER_BINDING, 11, 0, "glIndexPointer"},
      {GL_EDGE_FLAG_ARRAY, 0, 0, GL_EDGE_FLAG_ARRAY_STRIDE, GL_EDGE_FLAG_ARRAY_POINTER,
       GL_EDGE_FLAG_ARRAY_BUFFER_BINDING, 11, 0, "glEdgeFlagPointer"},
      {GL_FOG_COORD_ARRAY, 0, GL_FOG_COORD_ARRAY_TYPE, GL_FOG_COORD_ARRAY_STRIDE, GL_FOG_COORD_ARRAY_POINTER,
       GL_FOG_COORD_ARRAY_BUFFER_BINDING, 14, 0, "glFogCoordPointer"},
      {GL_SECONDARY_COLOR_ARRAY, GL_SECONDARY_COLOR_ARRAY_SIZE, GL_SECONDARY_COLOR_ARRAY_TYPE,
       GL_SECONDARY_COLOR_ARRAY_STRIDE, GL_SECONDARY_COLOR_ARRAY_POINTER, GL_SECONDARY_COLOR_ARRAY_BUFFER_BINDING, 14,
       0, "glSecondaryColorPointer"},
      {GL_TEXTURE_COORD_ARRAY, GL_TEXTURE_COORD_ARRAY_SIZE, GL_TEXTURE_COORD_ARRAY_TYPE, GL_TEXTURE_COORD_ARRAY_STRIDE,
       GL_TEXTURE_COORD_ARRAY_POINTER, GL_TEXTURE_COORD_ARRAY_BUFFER_BINDING, 11, 10, "glTexCoordPointer"}};
  const uint32_t unit = has(13, 10) ? (uint32_t)get(GL_CLIENT_ACTIVE_TEXTURE, GL_TEXTURE0) : GL_TEXTURE0;
  for (auto& q : questions) {
    if (!has(q.gl, q.es)) continue;
    const bool texture = q.array == GL_TEXTURE_COORD_ARRAY;
    for (uint32_t i = 0; i < (texture ? c->max_tex_units : 1); i++) {
      if (texture && has(13, 10)) {
        d.glClientActiveTexture(GL_TEXTURE0 + i);
        tell<uint32_t>(t, "glClientActiveTexture", GL_TEXTURE0 + i);
      }
      const int32_t size = q.size ? get(q.size) : 0, stride = get(q.stride);
      const uint32_t type = q.type ? (uint32_t)get(q.type) : 0, buffer = has(15, 11) ? (uint32_t)get(q.buffer) : 0;
      const bool on = is(q.array);
      void* pointer = nullptr;
      d.glGetPointerv(q.pointer, &pointer);
      if (!fine()) continue;
      if (pointer || buffer) {
        if (has(15, 11)) tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ARRAY_BUFFER, buffer);
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
  if (has(15, 11)) tell<uint32_t, uint32_t>(t, "glBindBuffer", GL_ARRAY_BUFFER, 0);
  if (!has(13, 10)) return;
  d.glClientActiveTexture(unit);
  tell<uint32_t>(t, "glClientActiveTexture", unit);
}

// ---- framebuffers -------------------------------------------------------------------------------

void Base::take_framebuffer(uint32_t name) {
  const bool two = has(30, 30);
  const uint32_t target = two ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER;
  d.glBindFramebuffer(target, name);
  if (two) d.glBindFramebuffer(GL_READ_FRAMEBUFFER, name);
  tell<uint32_t, uint32_t>(t, "glBindFramebuffer", GL_FRAMEBUFFER, name);
  const int32_t colors = two ? get(GL_MAX_COLOR_ATTACHMENTS, 1) : 1;
  for (int32_t i = 0; i < colors; i++) take_attachment(target, GL_COLOR_ATTACHMENT0 + (uint32_t)i);
  take_attachment(target, GL_DEPTH_ATTACHMENT);
  take_attachment(target, GL_STENCIL_ATTACHMENT);
  if (has(43, 31))
    for (uint32_t what :
         Each<uint32_t>{GL_FRAMEBUFFER_DEFAULT_WIDTH, GL_FRAMEBUFFER_DEFAULT_HEIGHT, GL_FRAMEBUFFER_DEFAULT_LAYERS,
                        GL_FRAMEBUFFER_DEFAULT_SAMPLES, GL_FRAMEBUFFER_DEFAULT_FIXED_SAMPLE_LOCATIONS}) {
      int32_t value = 0;
      d.glGetFramebufferParameteriv(target, what, &value);
      if (fine() && value) tell<uint32_t, uint32_t, int32_t>(t, "glFramebufferParameteri", target, what, value);
    }
  if (!two) return;
  uint32_t buffers[32];
  int32_t count = get(GL_MAX_DRAW_BUFFERS, 1), used = 0;
  for (int32_t i = 0; i < count && i < 32; i++) {
    buffers[i] = (uint32_t)get(GL_DRAW_BUFFER0 + (uint32_t)i);
    if (buffers[i]) used = i + 1;
  }
  tell<int32_t, const uint32_t*>(t, "glDrawBuffers", used ? used : 1, buffers);
  tell<uint32_t>(t, "glReadBuffer", (uint32_t)get(GL_READ_BUFFER));
}

void Base::take_attachment(uint32_t target, uint32_t point) {
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    d.glGetFramebufferAttachmentParameteriv(target, point, what, &value);
    return value;
  };
  const uint32_t kind = (uint32_t)about(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE);
  if (!fine() || !kind) return;
  const uint32_t name = (uint32_t)about(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME);
  if (!name) return;
  if (kind == GL_RENDERBUFFER)
    return tell<uint32_t, uint32_t, uint32_t, uint32_t>(t, "glFramebufferRenderbuffer", GL_FRAMEBUFFER, point,
                                                        GL_RENDERBUFFER, name);
  const int32_t level = about(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL);
  const uint32_t face = (uint32_t)about(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE);
  const int32_t layer = has(30, 30) ? about(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER) : 0;
  const bool layered = has(32, 32) && about(GL_FRAMEBUFFER_ATTACHMENT_LAYERED);
  fine();
  if (layered)
    return tell<uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture", GL_FRAMEBUFFER, point, name, level);
  if (face)
    return tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture2D", GL_FRAMEBUFFER, point,
                                                                 face, name, level);
  // Which kind it is decides which call attaches it.
  for (auto& candidate : TARGETS) {
    const int32_t was = get(candidate.binding, -1);
    if (was < 0) continue;
    d.glBindTexture(candidate.target, name);
    if (!fine()) continue;
    d.glBindTexture(candidate.target, (uint32_t)was);
    const uint32_t kind_of = candidate.target;
    if (has_layers(kind_of) || kind_of == GL_TEXTURE_1D_ARRAY || kind_of == GL_TEXTURE_2D_MULTISAMPLE_ARRAY)
      tell<uint32_t, uint32_t, uint32_t, int32_t, int32_t>(t, "glFramebufferTextureLayer", GL_FRAMEBUFFER, point, name,
                                                           level, layer);
    else if (kind_of == GL_TEXTURE_1D)
      tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture1D", GL_FRAMEBUFFER, point, kind_of,
                                                            name, level);
    else
      tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture2D", GL_FRAMEBUFFER, point, kind_of,
                                                            name, level);
    return;
  }
  lacks("a texture %u that a framebuffer draws to", name);
}

}  // namespace hook
}  // namespace dt
