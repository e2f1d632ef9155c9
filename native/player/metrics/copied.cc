#include "copied.h"

#include <cstring>

#include "../../common/uniform_type.h"
#include "driver.h"
#include "gl_enums.h"
#include "shader_text.h"
#include "source.h"

namespace dt::play::metrics {
namespace {

constexpr int MOST_NAME = 512;

// The kind of a type of uniform (f i u), 0: one that is not copied.
char kind_of(uint32_t type) {
  const char of = uniform_type(type).of;
  const bool sampler = (type >= GL_SAMPLER_1D && type <= GL_SAMPLER_2D_RECT_SHADOW) ||
                       (type >= GL_SAMPLER_1D_ARRAY && type <= GL_SAMPLER_CUBE_SHADOW) ||
                       (type >= GL_INT_SAMPLER_1D && type <= GL_UNSIGNED_INT_SAMPLER_BUFFER) ||
                       (type >= GL_SAMPLER_2D_MULTISAMPLE && type <= GL_UNSIGNED_INT_SAMPLER_2D_MULTISAMPLE_ARRAY) ||
                       (type >= GL_SAMPLER_CUBE_MAP_ARRAY && type <= GL_UNSIGNED_INT_SAMPLER_CUBE_MAP_ARRAY) ||
                       type == GL_SAMPLER_EXTERNAL_OES;
  return sampler || of == 'b' ? 'i' : of == 'd' ? 0 : of;
}

// In the program that is current.
void set_uniform(uint32_t type, int location, const void* value) {
  static const driver::Function<void(int32_t, int32_t, uint8_t, const float*)> matrices[3][3] = {
      {driver::glUniformMatrix2fv, driver::glUniformMatrix2x3fv, driver::glUniformMatrix2x4fv},
      {driver::glUniformMatrix3x2fv, driver::glUniformMatrix3fv, driver::glUniformMatrix3x4fv},
      {driver::glUniformMatrix4x2fv, driver::glUniformMatrix4x3fv, driver::glUniformMatrix4fv}};
  static const driver::Function<void(int32_t, int32_t, const float*)> floats[4] = {
      driver::glUniform1fv, driver::glUniform2fv, driver::glUniform3fv, driver::glUniform4fv};
  static const driver::Function<void(int32_t, int32_t, const int32_t*)> integers[4] = {
      driver::glUniform1iv, driver::glUniform2iv, driver::glUniform3iv, driver::glUniform4iv};
  static const driver::Function<void(int32_t, int32_t, const uint32_t*)> unsigneds[4] = {
      driver::glUniform1uiv, driver::glUniform2uiv, driver::glUniform3uiv, driver::glUniform4uiv};
  const UniformType t = uniform_type(type);
  const char kind = kind_of(type);
  if (t.columns)
    matrices[t.columns - 2][t.rows - 2](location, 1, 0, static_cast<const float*>(value));
  else if (kind == 'f')
    floats[t.rows - 1](location, 1, static_cast<const float*>(value));
  else if (kind == 'i')
    integers[t.rows - 1](location, 1, static_cast<const int32_t*>(value));
  else
    unsigneds[t.rows - 1](location, 1, static_cast<const uint32_t*>(value));
}

}  // namespace

bool is_image(uint32_t type) { return type >= GL_IMAGE_1D && type <= GL_UNSIGNED_INT_IMAGE_2D_MULTISAMPLE_ARRAY; }

std::string shader_source(uint32_t shader) {
  int length = 0;
  driver::glGetShaderiv(shader, GL_SHADER_SOURCE_LENGTH, &length);
  if (length <= 1) return "";
  std::string text(static_cast<size_t>(length), 0);
  driver::glGetShaderSource(shader, length, &length, text.data());
  text.resize(static_cast<size_t>(length));
  return text;
}

uint32_t compiled(uint32_t stage, const std::string& text) {
  const uint32_t shader = driver::glCreateShader(stage);
  const char* begin = text.c_str();
  driver::glShaderSource(shader, 1, &begin, nullptr);
  driver::glCompileShader(shader);
  return shader;
}

void bind_attributes(uint32_t program, uint32_t copy, bool renamed) {
  int count = 0;
  char name[MOST_NAME];
  if (program) driver::glGetProgramiv(program, GL_ACTIVE_ATTRIBUTES, &count);
  for (int i = 0; i < count; ++i) {
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetActiveAttrib(program, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
    int at = driver::glGetAttribLocation(program, name);
    if (at < 0) continue;
    driver::glBindAttribLocation(copy, static_cast<uint32_t>(at), name);
    if (renamed) driver::glBindAttribLocation(copy, static_cast<uint32_t>(at), (std::string(RENAMED) + name).c_str());
  }
}

std::string CopiedUniforms::find(uint32_t program, uint32_t copy, bool images) {
  int count = 0;
  char name[MOST_NAME];
  driver::glGetProgramiv(copy, GL_ACTIVE_UNIFORMS, &count);
  for (int i = 0; i < count; ++i) {
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetActiveUniform(copy, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
    if (driver::glGetUniformLocation(copy, name) < 0) continue;  // of the fixed function, or of a block
    if (images && is_image(type)) continue;
    if (!kind_of(type)) return std::string("it has a uniform of a kind that is not copied: ") + name;
    std::string base = name;
    if (base.ends_with("[0]")) base.resize(base.size() - 3);
    for (int k = 0; k < size; ++k) {
      std::string element = size > 1 || base.size() != strlen(name) ? base + "[" + std::to_string(k) + "]" : base;
      int from = program ? driver::glGetUniformLocation(program, original_name(element).c_str()) : -1,
          to = driver::glGetUniformLocation(copy, element.c_str());
      if (from >= 0 && to >= 0) uniforms_.push_back({type, from, to});
    }
  }
  count = 0;
  if (program && driver::glGetActiveUniformBlockName && tls.context->version >= (is_es() ? 30u : 31u))
    driver::glGetProgramiv(copy, GL_ACTIVE_UNIFORM_BLOCKS, &count);
  for (int i = 0; i < count; ++i) {
    driver::glGetActiveUniformBlockName(copy, static_cast<uint32_t>(i), sizeof name, nullptr, name);
    uint32_t from = driver::glGetUniformBlockIndex(program, original_name(name).c_str());
    if (from != 0xFFFFFFFFu) blocks_.emplace_back(from, static_cast<uint32_t>(i));
  }
  return "";
}

UniformValues::value_type CopiedUniforms::value_of(const Uniform& u, uint32_t program) {
  UniformValues::value_type value{};
  const char kind = kind_of(u.type);
  if (kind == 'f')
    driver::glGetUniformfv(program, u.from, reinterpret_cast<float*>(value.data()));
  else if (kind == 'i')
    driver::glGetUniformiv(program, u.from, reinterpret_cast<int32_t*>(value.data()));
  else
    driver::glGetUniformuiv(program, u.from, value.data());
  return value;
}

UniformValues CopiedUniforms::values(uint32_t program) const {
  UniformValues all;
  for (auto& u : uniforms_) all.push_back(value_of(u, program));
  return all;
}

void CopiedUniforms::write(uint32_t program, uint32_t copy, const UniformValues& values) {
  for (size_t i = 0; i < uniforms_.size(); ++i) {
    Uniform& u = uniforms_[i];
    if (u.known && u.holds == values[i]) continue;
    u.holds = values[i], u.known = true;
    set_uniform(u.type, u.to, u.holds.data());
  }
  for (auto& [from, to] : blocks_) {
    int at = 0;
    driver::glGetActiveUniformBlockiv(program, from, GL_UNIFORM_BLOCK_BINDING, &at);
    driver::glUniformBlockBinding(copy, to, static_cast<uint32_t>(at));
  }
}

}  // namespace dt::play::metrics
