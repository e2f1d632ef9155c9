#include "texel_copy.h"

#include <string>
#include <utility>

#include "../mirror/gl_state.h"
#include "beside.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

bool sampled_often(uint32_t target) {
  return target == GL_TEXTURE_2D_MULTISAMPLE || target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY;
}

// The text of a shader that hands over one texel for each pixel.
std::string texel_shader(const TexelSource& from) {
  static const char* const prefixes[] = {"", "i", "u"};
  const std::string prefix = prefixes[from.kind];
  const bool many = sampled_often(from.target),
             layered = from.target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY || from.target == GL_TEXTURE_2D_ARRAY;
  const std::string sampler = prefix + "sampler2D" + (many ? "MS" : "") + (layered ? "Array" : "");
  const std::string at = "gl_FragCoord.xy", place = layered ? "ivec3(ivec2(" + at + "), layer)" : "ivec2(" + at + ")";
  return std::string("precision highp float; precision highp int;\n") + "uniform highp " + sampler + " values;\n" +
         "uniform int layer, level, which;\nout highp " + prefix + "vec4 color;\n" +
         "void main() { color = texelFetch(values, " + place + ", " + (many ? "which" : "level") + "); }\n";
}

// While it lives, a bound texture is sampled as it is kept: no swizzle, no filter, no decoding of sRGB.
class AsKept {
 public:
  explicit AsKept(const TexelSource& from) : target_(from.target) {
    driver::glBindTexture(target_, from.name);
    for (uint32_t i = 0; i < 4; ++i) {
      driver::glGetTexParameteriv(target_, GL_TEXTURE_SWIZZLE_R + i, &swizzle_[i]);
      driver::glTexParameteri(target_, GL_TEXTURE_SWIZZLE_R + i, static_cast<int32_t>(GL_RED + i));
    }
    driver::glGenSamplers(1, &sampler_);
    const uint32_t filter = from.level ? GL_NEAREST_MIPMAP_NEAREST : GL_NEAREST;
    driver::glSamplerParameteri(sampler_, GL_TEXTURE_MIN_FILTER, static_cast<int32_t>(filter));
    driver::glSamplerParameteri(sampler_, GL_TEXTURE_MAG_FILTER, static_cast<int32_t>(GL_NEAREST));
    bool clean = no_errors();
    driver::glSamplerParameteri(sampler_, GL_TEXTURE_SRGB_DECODE_EXT, static_cast<int32_t>(GL_SKIP_DECODE_EXT));
    decodes_ = !no_errors() || !clean;
    driver::glBindSampler(0, sampler_);
  }
  ~AsKept() {
    for (uint32_t i = 0; i < 4; ++i) driver::glTexParameteri(target_, GL_TEXTURE_SWIZZLE_R + i, swizzle_[i]);
    driver::glBindSampler(0, 0);
    driver::glDeleteSamplers(1, &sampler_);
    driver::glBindTexture(target_, 0);
  }
  AsKept(const AsKept&) = delete;
  AsKept& operator=(const AsKept&) = delete;
  bool decodes() const { return decodes_; }

 private:
  uint32_t target_, sampler_ = 0;
  int32_t swizzle_[4] = {};
  bool decodes_ = false;
};

bool drawn_texels(const TexelSource& from, uint32_t program, std::vector<uint8_t>& values) {
  static const struct {
    uint32_t internal, format, type;
  } kinds[] = {{GL_RGBA32F, GL_RGBA, GL_FLOAT},
               {GL_RGBA32I, GL_RGBA_INTEGER, GL_INT},
               {GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT}};
  const auto& kind = kinds[from.kind];
  uint32_t framebuffer = 0, target = 0;
  driver::glGenFramebuffers(1, &framebuffer);
  driver::glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  driver::glGenRenderbuffers(1, &target);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, target);
  driver::glRenderbufferStorage(GL_RENDERBUFFER, kind.internal, from.width, from.height);
  driver::glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, target);
  bool drawn = no_errors() && driver::glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  if (drawn) {
    uint32_t vertices = 0;  // the core profile draws from an array of vertices, if from an empty one
    driver::glGenVertexArrays(1, &vertices);
    driver::glBindVertexArray(vertices);
    driver::glViewport(0, 0, from.width, from.height);
    driver::glUseProgram(program);
    for (auto [name, value] :
         {std::pair{"layer", from.layer}, std::pair{"level", from.level}, std::pair{"which", from.sample}})
      if (int32_t place = driver::glGetUniformLocation(program, name); place >= 0) driver::glUniform1i(place, value);
    driver::glDrawArrays(GL_TRIANGLES, 0, 3);
    values.assign(static_cast<size_t>(from.width) * static_cast<size_t>(from.height) * 16, 0);
    driver::glReadPixels(0, 0, from.width, from.height, kind.format, kind.type, values.data());
    drawn = no_errors();
    driver::glUseProgram(0);
    driver::glDeleteVertexArrays(1, &vertices);
  }
  driver::glDeleteRenderbuffers(1, &target);
  driver::glDeleteFramebuffers(1, &framebuffer);
  no_errors();
  return drawn;
}

}  // namespace

const char* copy_texels(const TexelSource& from, bool es, std::vector<uint8_t>& values) {
  Beside beside(es ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
  if (!beside.there() || !driver::glGenSamplers || !driver::glGenVertexArrays)
    return "the driver has no OpenGL 3.3 or ES 3 that shares objects with this context";
  const char* version = !es                          ? "#version 330 core\n"
                        : sampled_often(from.target) ? "#version 310 es\n"
                                                     : "#version 300 es\n";
  const uint32_t program = copying_program(version, texel_shader(from).c_str());
  if (!program) return "the driver has no shader that reads it";
  AsKept kept(from);
  const bool drawn = drawn_texels(from, program, values);
  if (from.srgb && kept.decodes()) return "the driver hands sRGB over to shaders as linear values alone";
  driver::glDeleteProgram(program);
  return drawn ? nullptr : "the driver does not draw it to colours of 32 bits";
}

}  // namespace dt::play
