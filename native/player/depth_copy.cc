#include "depth_copy.h"

#include <string>

#include "../mirror/gl_state.h"
#include "beside.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

const char DEPTH[] =
    "precision highp float; uniform highp sampler2D values; out vec4 color;\n"
    "void main() {\n"
    "  float v = floor(clamp(texelFetch(values, ivec2(gl_FragCoord.xy), 0).r, 0.0, 1.0) * 65535.0 + 0.5), high = "
    "floor(v / 256.0);\n"
    "  color = vec4(high / 255.0, (v - high * 256.0) / 255.0, 0.0, 1.0);\n"
    "}\n";
const char STENCIL[] =
    "precision highp float; uniform highp usampler2D values; out vec4 color;\n"
    "void main() { color = vec4(float(texelFetch(values, ivec2(gl_FragCoord.xy), 0).r) / 255.0, 0.0, 0.0, 1.0); }\n";

bool attach(const DepthSource& from, uint32_t point) {
  if (!from.texture) {
    driver::glFramebufferRenderbuffer(GL_READ_FRAMEBUFFER, point, GL_RENDERBUFFER, from.name);
  } else {
    driver::glFramebufferTexture2D(GL_READ_FRAMEBUFFER, point, from.face ? from.face : GL_TEXTURE_2D, from.name,
                                   from.level);
    if (!no_errors()) driver::glFramebufferTextureLayer(GL_READ_FRAMEBUFFER, point, from.name, from.level, from.layer);
  }
  return no_errors() && driver::glCheckFramebufferStatus(GL_READ_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
}

// The values in a texture of ours that can be sampled; 0: there is no format in which they can be had.
uint32_t sampled(const DepthSource& from, bool depth) {
  uint32_t framebuffers[2] = {};
  driver::glGenFramebuffers(2, framebuffers);
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  if (from.name) {
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffers[0]);
    if (!attach(from, depth ? GL_DEPTH_ATTACHMENT : GL_STENCIL_ATTACHMENT) &&
        !attach(from, GL_DEPTH_STENCIL_ATTACHMENT))
      return 0;
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffers[1]);
  // The source of a copy must have the format of its target, and not every driver says which it is.
  for (uint32_t format : {from.format, GL_DEPTH24_STENCIL8, GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT16,
                          GL_DEPTH_COMPONENT32F, GL_DEPTH32F_STENCIL8}) {
    const bool both = format == GL_DEPTH24_STENCIL8 || format == GL_DEPTH32F_STENCIL8;
    if (!format || (!depth && !both)) continue;
    uint32_t texture = 0;
    driver::glGenTextures(1, &texture);
    driver::glBindTexture(GL_TEXTURE_2D, texture);
    driver::glTexStorage2D(GL_TEXTURE_2D, 1, format, from.width, from.height);
    driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_TEXTURE_2D, 0, 0);
    driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, both ? GL_DEPTH_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT,
                                   GL_TEXTURE_2D, texture, 0);
    if (no_errors() && driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE) {
      driver::glBlitFramebuffer(0, 0, from.width, from.height, 0, 0, from.width, from.height,
                                depth ? GL_DEPTH_BUFFER_BIT : GL_STENCIL_BUFFER_BIT, GL_NEAREST);
      if (no_errors()) return texture;
    }
    driver::glDeleteTextures(1, &texture);
  }
  return 0;
}

}  // namespace

const char* copy_depth(const DepthSource& from, bool depth, std::vector<uint8_t>& values) {
  Beside beside(EGL_OPENGL_ES_API);
  if (!beside.there()) return "the driver has no OpenGL ES 3 that shares objects with this context";
  if (!driver::glBlitFramebuffer || !driver::glTexStorage2D) return "the driver has no OpenGL ES 3";
  uint32_t texture = sampled(from, depth);
  if (!texture) return "the driver does not copy it into a texture";
  uint32_t drawn = copying_program("#version 300 es\n", depth ? DEPTH : STENCIL);
  if (!drawn) return "the driver has no shader that reads it (stencil needs OpenGL ES 3.1)";
  driver::glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  driver::glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  if (!depth) driver::glTexParameteri(GL_TEXTURE_2D, GL_DEPTH_STENCIL_TEXTURE_MODE, GL_STENCIL_INDEX);
  uint32_t framebuffer = 0, target = 0;
  driver::glGenFramebuffers(1, &framebuffer);
  driver::glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  driver::glGenRenderbuffers(1, &target);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, target);
  driver::glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, from.width, from.height);
  driver::glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, target);
  driver::glViewport(0, 0, from.width, from.height);
  driver::glDisable(GL_DITHER);
  driver::glUseProgram(drawn);
  driver::glDrawArrays(GL_TRIANGLES, 0, 3);
  const size_t pixels = static_cast<size_t>(from.width) * static_cast<size_t>(from.height);
  std::vector<uint8_t> colors(pixels * 4);
  driver::glReadPixels(0, 0, from.width, from.height, GL_RGBA, GL_UNSIGNED_BYTE, colors.data());
  const bool read = no_errors();
  // Objects are shared: what is not deleted would stay.
  driver::glDeleteTextures(1, &texture);
  driver::glDeleteRenderbuffers(1, &target);
  driver::glUseProgram(0);
  driver::glDeleteProgram(drawn);
  no_errors();
  if (!read) return "the driver does not draw it";
  values.clear();
  for (size_t i = 0; i < pixels; ++i) {
    values.push_back(colors[i * 4]);
    if (depth) values.push_back(colors[i * 4 + 1]);
  }
  return nullptr;
}

}  // namespace dt::play
