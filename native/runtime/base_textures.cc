// Textures that the program had before recording began.
#include <stdlib.h>

#include "base_objects.h"
#include "sampled.h"
#include "targets.h"

namespace dt {
namespace hook {

using namespace gl;

void Base::take_texture(uint32_t name) {
  const gl::TextureTarget* bound = nullptr;
  int32_t was = 0;
  for (auto& candidate : gl::TEXTURE_TARGETS) {
    // The driver refuses a target that the context does not have, and a texture of another kind.
    was = get(candidate.binding, -1);
    if (was < 0) continue;
    d.glBindTexture(candidate.target, name);
    if (!fine()) continue;
    bound = &candidate;
    break;
  }
  if (!bound) return lacks("texture %u: the driver does not tell what kind it is of", name);
  const uint32_t target = bound->target;
  tell(driver::glBindTexture, target, name);
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
    take_parameter(p, target, d.glGetTexParameteriv, d.glGetTexParameterfv,
                   {"glTexParameteri", "glTexParameterf", "glTexParameterfv"});
  }
  if (old && has(14, 11) && c->version < 20 + (es ? 0u : 100u) && !samples && target != GL_TEXTURE_BUFFER &&
      target != GL_TEXTURE_RECTANGLE) {
    int32_t generate = 0, mode = 0;
    d.glGetTexParameteriv(target, GL_GENERATE_MIPMAP, &generate);
    if (fine() && generate) tell(driver::glTexParameteri, target, GL_GENERATE_MIPMAP, 1);
    if (!es) d.glGetTexParameteriv(target, GL_DEPTH_TEXTURE_MODE, &mode);
    if (!es && fine()) tell(driver::glTexParameteri, target, GL_DEPTH_TEXTURE_MODE, mode);
  }
  tell(driver::glBindTexture, target, 0);
  d.glBindTexture(target, (uint32_t)was);
  fine();
}

void Base::take_levels(uint32_t name, uint32_t target) {
  int32_t immutable = 0, levels = 0;
  const uint32_t first_face = target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X : target;
  auto about = [&](uint32_t face, int32_t level, uint32_t what) {
    return asked(d.glGetTexLevelParameteriv, face, level, what);
  };
  if (target == GL_TEXTURE_BUFFER) {
    const uint32_t format = (uint32_t)about(target, 0, GL_TEXTURE_INTERNAL_FORMAT),
                   buffer = (uint32_t)about(target, 0, GL_TEXTURE_BUFFER_DATA_STORE_BINDING);
    const int32_t offset = has(43, 32) ? about(target, 0, GL_TEXTURE_BUFFER_OFFSET) : 0,
                  size = has(43, 32) ? about(target, 0, GL_TEXTURE_BUFFER_SIZE) : 0;
    if (!fine() || !buffer) return;
    if (offset)
      tell(driver::glTexBufferRange, target, format, buffer, offset, size);
    else
      tell(driver::glTexBuffer, target, format, buffer);
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
      tell(immutable ? driver::glTexStorage3DMultisample : driver::glTexImage3DMultisample, target, samples, internal,
           width, height, depth, fixed);
    else
      tell(immutable ? driver::glTexStorage2DMultisample : driver::glTexImage2DMultisample, target, samples, internal,
           width, height, fixed);
    return lacks("texture %u: its content, since it has several samples a pixel", name);
  }
  const bool three = target == GL_TEXTURE_3D || target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY;
  if (immutable && width) {
    if (target == GL_TEXTURE_1D)
      tell(driver::glTexStorage1D, target, levels, internal, width);
    else if (three)
      tell(driver::glTexStorage3D, target, levels, internal, width, height, depth);
    else
      tell(driver::glTexStorage2D, target, levels, internal, width, height);
  }
  const int32_t most = target == GL_TEXTURE_RECTANGLE ? 1 : immutable ? levels : MOST_LEVELS;
  for (uint32_t face = first_face; face < first_face + (target == GL_TEXTURE_CUBE_MAP ? 6 : 1); face++)
    for (int32_t level = 0; level < most; level++)
      if (!take_level(name, target, face, level, immutable != 0)) break;
}

namespace {

// The format to read storage of an internal format in. False: it is not known for OpenGL ES.
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
  const int32_t size = asked(d.glGetTexLevelParameteriv, face, level, GL_TEXTURE_COMPRESSED_IMAGE_SIZE);
  char* const content = !es && fine() && size > 0 ? (char*)malloc((size_t)size) : nullptr;
  if (content) d.glGetCompressedTexImage(face, level, content);
  const bool had = content && fine();
  if (!had)
    lacks("texture %u, level %d: its content; %s", name, level,
          es ? "OpenGL ES does not hand out compressed textures" : "the driver does not hand it out");
  else if (three && immutable)
    tell(driver::glCompressedTexSubImage3D, face, level, 0, 0, 0, width, height, depth, internal, size, content);
  else if (three)
    tell(driver::glCompressedTexImage3D, face, level, internal, width, height, depth, 0, size, content);
  else if (immutable)
    tell(driver::glCompressedTexSubImage2D, face, level, 0, 0, width, height, internal, size, content);
  else
    tell(driver::glCompressedTexImage2D, face, level, internal, width, height, 0, size, content);
  if (had) bytes += (uint64_t)size;
  free(content);
}

bool Base::take_level(uint32_t name, uint32_t target, uint32_t face, int32_t level, bool immutable) {
  auto about = [&](uint32_t what) { return asked(d.glGetTexLevelParameteriv, face, level, what); };
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
      tell(driver::glTexImage3D, face, level, internal, width, height, depth, 0, format, type, nullptr);
    else if (flat)
      tell(driver::glTexImage1D, face, level, internal, width, 0, format, type, nullptr);
    else
      tell(driver::glTexImage2D, face, level, internal, width, height, 0, format, type, nullptr);
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
      tell(driver::glTexSubImage1D, face, level, 0, width, GL_RGBA, GL_UNSIGNED_BYTE, content);
    else
      tell(driver::glTexSubImage2D, face, level, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, content);
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
  tell(driver::glBindTexture, target, name);
  return true;
}

void Base::take_renderbuffer(uint32_t name) {
  const uint32_t was = (uint32_t)get(GL_RENDERBUFFER_BINDING);
  d.glBindRenderbuffer(GL_RENDERBUFFER, name);
  auto about = [&](uint32_t what) { return asked(d.glGetRenderbufferParameteriv, GL_RENDERBUFFER, what); };
  const int32_t width = about(GL_RENDERBUFFER_WIDTH), height = about(GL_RENDERBUFFER_HEIGHT),
                samples = has(30, 30) ? about(GL_RENDERBUFFER_SAMPLES) : 0;
  const uint32_t internal = (uint32_t)about(GL_RENDERBUFFER_INTERNAL_FORMAT);
  d.glBindRenderbuffer(GL_RENDERBUFFER, was);
  tell(driver::glBindRenderbuffer, GL_RENDERBUFFER, name);
  if (!fine() || width <= 0) return;
  if (samples)
    tell(driver::glRenderbufferStorageMultisample, GL_RENDERBUFFER, samples, internal, width, height);
  else
    tell(driver::glRenderbufferStorage, GL_RENDERBUFFER, internal, width, height);
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
  for (auto& p : PARAMETERS)
    if (p.sampler && (has(p.gl, p.es) || (p.extension && has_extension(c, p.extension))))
      take_parameter(p, name, d.glGetSamplerParameteriv, d.glGetSamplerParameterfv,
                     {"glSamplerParameteri", "glSamplerParameterf", "glSamplerParameterfv"});
}

// A parameter of a texture or sampler. `tellers`: the commands for an integer, a float and a colour.
void Base::take_parameter(const Parameter& p, uint32_t of, GetIntegers integers, GetFloats floats,
                          const char* const (&tellers)[3]) {
  int32_t i[4] = {};
  float f[4] = {};
  if (p.kind == 'i')
    integers(of, p.name, i);
  else
    floats(of, p.name, f);
  if (!fine()) return;
  if (p.kind == 'i')
    tell_named<uint32_t, uint32_t, int32_t>(t, tellers[0], of, p.name, i[0]);
  else if (p.kind == 'f')
    tell_named<uint32_t, uint32_t, float>(t, tellers[1], of, p.name, f[0]);
  else
    tell_named<uint32_t, uint32_t, const float*>(t, tellers[2], of, p.name, f);
}

}  // namespace hook
}  // namespace dt
