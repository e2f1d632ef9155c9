// Shaders and programs: sources as they were when the program was linked, and the values of uniforms.
#include <stdio.h>
#include <stdlib.h>

#include "../common/uniform_type.h"
#include "base.h"
#include "told.h"

namespace dt {
namespace hook {

using namespace gl;

namespace {

enum : uint32_t {
  OUR_SHADER = 0xD7A91000,  // names that no driver has given out by then
};
constexpr int32_t MOST_NAME = 1024, MOST_SHADERS = 16, MOST_VARYINGS = 64;

// Calls `each` with the name and location of every uniform outside of blocks, element by element of arrays.
template <class F> void each_uniform(const Driver& d, uint32_t program, F each) {
  const int32_t count = asked(d.glGetProgramiv, program, GL_ACTIVE_UNIFORMS);
  for (int32_t i = 0; i < count; i++) {
    char name[MOST_NAME + 16] = {};
    int32_t length = 0, size = 0;
    uint32_t type = 0;
    d.glGetActiveUniform(program, (uint32_t)i, MOST_NAME, &length, &size, &type, name);
    if (length <= 0 || !strncmp(name, "gl_", 3)) continue;
    const bool indexed = length > 3 && !strcmp(name + length - 3, "[0]");
    if (indexed) length -= 3;
    for (int32_t k = 0; k < size; k++) {
      if (indexed || size > 1) snprintf(name + length, 16, "[%d]", k);
      const int32_t location = d.glGetUniformLocation(program, name);
      if (location >= 0) each(name, location, type);
    }
  }
}

template <class F> void each_attribute(const Driver& d, uint32_t program, F each) {
  const int32_t count = asked(d.glGetProgramiv, program, GL_ACTIVE_ATTRIBUTES);
  for (int32_t i = 0; i < count; i++) {
    char name[MOST_NAME] = {};
    int32_t length = 0, size = 0;
    uint32_t type = 0;
    d.glGetActiveAttrib(program, (uint32_t)i, MOST_NAME, &length, &size, &type, name);
    const int32_t location = length > 0 && strncmp(name, "gl_", 3) ? d.glGetAttribLocation(program, name) : -1;
    if (location >= 0) each(name, location);
  }
}

// A shader under `name`, as `shader` is now. False: its source is not there.
bool tell_shader(Thread* t, const Driver& d, uint32_t shader, uint32_t name, bool compiled) {
  int32_t type = 0, length = 0;
  d.glGetShaderiv(shader, GL_SHADER_TYPE, &type);
  d.glGetShaderiv(shader, GL_SHADER_SOURCE_LENGTH, &length);
  tell_result(t, name, driver::glCreateShader, type);
  if (length <= 1) return false;
  char* const source = (char*)calloc(1, (size_t)length + 1);
  if (!source) return false;
  int32_t got = 0;
  d.glGetShaderSource(shader, length, &got, source);
  const char* const texts[] = {source};
  const int32_t lengths[] = {got};
  tell(t, driver::glShaderSource, name, 1, texts, lengths);
  if (compiled) tell(t, driver::glCompileShader, name);
  free(source);
  return got > 0;
}

// Other settings that decide how the program is linked.
void tell_link_settings(Thread* t, GlContext* c, const Driver& d, uint32_t program) {
  each_attribute(d, program, [&](const char* name, int32_t location) {
    tell(t, driver::glBindAttribLocation, program, location, name);
  });
  int32_t value = 0;
  if (c->version >= (c->api == 2 ? 31u : 41u)) {
    d.glGetProgramiv(program, GL_PROGRAM_SEPARABLE, &value);
    if (value) tell(t, driver::glProgramParameteri, program, GL_PROGRAM_SEPARABLE, 1);
  }
  if (c->version >= 30) {
    int32_t varyings = 0, mode = 0;
    d.glGetProgramiv(program, GL_TRANSFORM_FEEDBACK_VARYINGS, &varyings);
    d.glGetProgramiv(program, GL_TRANSFORM_FEEDBACK_BUFFER_MODE, &mode);
    if (varyings > 0 && varyings <= MOST_VARYINGS) {
      constexpr int32_t ROOM = 128;
      char text[MOST_VARYINGS][ROOM];
      const char* names[MOST_VARYINGS];
      for (int32_t i = 0; i < varyings; i++) {
        int32_t length = 0, size = 0;
        uint32_t type = 0;
        d.glGetTransformFeedbackVarying(program, (uint32_t)i, ROOM, &length, &size, &type, text[i]);
        names[i] = text[i];
      }
      tell(t, driver::glTransformFeedbackVaryings, program, varyings, names, mode);
    }
  }
  // OpenGL ES has them in the source.
  if (c->api != 1 || c->version < 43) return;
  const int32_t outputs = asked(d.glGetProgramInterfaceiv, program, GL_PROGRAM_OUTPUT, GL_ACTIVE_RESOURCES);
  for (int32_t i = 0; i < outputs; i++) {
    char name[MOST_NAME] = {};
    d.glGetProgramResourceName(program, GL_PROGRAM_OUTPUT, (uint32_t)i, MOST_NAME, nullptr, name);
    const uint32_t properties[] = {GL_LOCATION, GL_LOCATION_INDEX};
    int32_t values[2] = {-1, 0}, got = 0;
    d.glGetProgramResourceiv(program, GL_PROGRAM_OUTPUT, (uint32_t)i, 2, properties, 2, &got, values);
    const size_t length = strlen(name);
    if (length > 3 && !strcmp(name + length - 3, "[0]")) name[length - 3] = 0;
    if (values[0] < 0 || !strncmp(name, "gl_", 3)) continue;
    tell(t, driver::glBindFragDataLocationIndexed, program, values[0], values[1] > 0 ? 1u : 0u, name);
  }
}

}  // namespace

void tell_program_names(Thread* t, uint32_t program) {
  const GlContext* c = t->context;
  const Driver& d = driver_of(c);
  const int32_t linked = asked(d.glGetProgramiv, program, GL_LINK_STATUS);
  if (!linked) return;
  each_uniform(d, program, [&](const char* name, int32_t location, uint32_t) {
    tell_result(t, (uint64_t)(int64_t)location, driver::glGetUniformLocation, program, name);
  });
  each_attribute(d, program, [&](const char* name, int32_t location) {
    tell_result(t, (uint64_t)(int64_t)location, driver::glGetAttribLocation, program, name);
  });
  if (c->version < (c->api == 2 ? 30u : 31u)) return;
  const int32_t blocks = asked(d.glGetProgramiv, program, GL_ACTIVE_UNIFORM_BLOCKS);
  for (int32_t i = 0; i < blocks; i++) {
    char name[MOST_NAME] = {};
    d.glGetActiveUniformBlockName(program, (uint32_t)i, MOST_NAME, nullptr, name);
    tell_result(t, (uint64_t)i, driver::glGetUniformBlockIndex, program, name);
  }
}

void tell_linked_program(Thread* t, uint32_t program) {
  GlContext* c = t->context;
  const Driver& d = driver_of(c);
  uint32_t shaders[MOST_SHADERS];
  int32_t count = 0, linked = 0;
  d.glGetAttachedShaders(program, MOST_SHADERS, &count, shaders);
  d.glGetProgramiv(program, GL_LINK_STATUS, &linked);
  // Names of shaders come back once the shaders are deleted, so these have others; they live as long as the linking
  // takes.
  for (int32_t i = 0; i < count; i++) tell_shader(t, d, shaders[i], OUR_SHADER + (uint32_t)i, true);
  tell_result(t, program, driver::glCreateProgram);
  for (int32_t i = 0; i < count; i++) tell(t, driver::glAttachShader, program, OUR_SHADER + (uint32_t)i);
  if (linked) tell_link_settings(t, c, d, program);
  tell(t, driver::glLinkProgram, program);
  tell_program_names(t, program);
  for (int32_t i = 0; i < count; i++) {
    tell(t, driver::glDetachShader, program, OUR_SHADER + (uint32_t)i);
    tell(t, driver::glDeleteShader, OUR_SHADER + (uint32_t)i);
  }
}

namespace {

template <class T>
void tell_matrix(Thread* t, const char* suffix, int32_t location, UniformType type, const T* values) {
  char name[32];
  if (type.rows == type.columns)
    snprintf(name, sizeof name, "glUniformMatrix%d%s", type.rows, suffix);
  else
    snprintf(name, sizeof name, "glUniformMatrix%dx%d%s", type.columns, type.rows, suffix);
  tell_named<int32_t, int32_t, uint8_t, const T*>(t, name, location, 1, 0, values);
}
template <class T>
void tell_vector(Thread* t, const char* suffix, int32_t location, UniformType type, const T* values) {
  char name[32];
  snprintf(name, sizeof name, "glUniform%d%s", type.rows, suffix);
  tell_named<int32_t, int32_t, const T*>(t, name, location, 1, values);
}

void tell_values(Base& b, uint32_t program) {
  const Driver& d = b.d;
  tell(b.t, driver::glUseProgram, program);
  each_uniform(d, program, [&](const char*, int32_t location, uint32_t kind) {
    const UniformType type = uniform_type(kind);
    union {
      float f[16];
      int32_t i[16];
      uint32_t u[16];
      double d[16];
    } v = {};
    if (type.of == 'f')
      d.glGetUniformfv(program, location, v.f);
    else if (type.of == 'd')
      d.glGetUniformdv(program, location, v.d);
    else if (type.of == 'u')
      d.glGetUniformuiv(program, location, v.u);
    else
      d.glGetUniformiv(program, location, v.i);
    if (!b.fine()) return;
    if (type.of == 'f')
      type.columns ? tell_matrix(b.t, "fv", location, type, v.f) : tell_vector(b.t, "fv", location, type, v.f);
    else if (type.of == 'd')
      type.columns ? tell_matrix(b.t, "dv", location, type, v.d) : tell_vector(b.t, "dv", location, type, v.d);
    else if (type.of == 'u')
      tell_vector(b.t, "uiv", location, type, v.u);
    else
      tell_vector(b.t, "iv", location, type, v.i);
  });
  if (b.has(31, 30)) {
    const int32_t blocks = asked(d.glGetProgramiv, program, GL_ACTIVE_UNIFORM_BLOCKS);
    for (int32_t i = 0; i < blocks; i++) {
      int32_t binding = 0;
      d.glGetActiveUniformBlockiv(program, (uint32_t)i, GL_UNIFORM_BLOCK_BINDING, &binding);
      tell(b.t, driver::glUniformBlockBinding, program, i, binding);
    }
  }
  if (b.has(43, 0)) {
    const int32_t blocks = asked(d.glGetProgramInterfaceiv, program, GL_SHADER_STORAGE_BLOCK, GL_ACTIVE_RESOURCES);
    for (int32_t i = 0; i < blocks; i++) {
      const uint32_t property = GL_BUFFER_BINDING;
      int32_t binding = 0, got = 0;
      d.glGetProgramResourceiv(program, GL_SHADER_STORAGE_BLOCK, (uint32_t)i, 1, &property, 1, &got, &binding);
      tell(b.t, driver::glShaderStorageBlockBinding, program, i, binding);
    }
  }
  if (b.has(40, 0))
    for (uint32_t stage : Each<uint32_t>{GL_VERTEX_SHADER, GL_FRAGMENT_SHADER, GL_GEOMETRY_SHADER,
                                         GL_TESS_CONTROL_SHADER, GL_TESS_EVALUATION_SHADER}) {
      const int32_t count = asked(d.glGetProgramStageiv, program, stage, GL_ACTIVE_SUBROUTINE_UNIFORMS);
      if (b.fine() && count > 0) b.lacks("program %u: which subroutines are chosen was not asked for", program);
    }
}

}  // namespace

void Base::take_program(uint32_t name) {
  if (keep_tell(t, KEEP_PROGRAM, c->share_group, name) == Kept::WHOLE) return;
  int32_t linked = 0, count = 0, length = 0;
  uint32_t shaders[MOST_SHADERS];
  d.glGetProgramiv(name, GL_LINK_STATUS, &linked);
  d.glGetAttachedShaders(name, MOST_SHADERS, &count, shaders);
  if (!linked) return tell_result(name, driver::glCreateProgram);
  bool sources = count > 0;
  for (int32_t i = 0; i < count; i++) {
    const int32_t bytes_here = asked(d.glGetShaderiv, shaders[i], GL_SHADER_SOURCE_LENGTH);
    sources = sources && bytes_here > 1;
  }
  if (sources) return tell_linked_program(t, name);
  tell_result(name, driver::glCreateProgram);
  if (has(41, 30)) d.glGetProgramiv(name, GL_PROGRAM_BINARY_LENGTH, &length);
  char* const binary = fine() && length > 0 ? (char*)malloc((size_t)length) : nullptr;
  uint32_t format = 0;
  if (binary) d.glGetProgramBinary(name, length, &length, &format, binary);
  if (binary && fine()) {
    tell(driver::glProgramBinary, name, format, binary, length);
    tell_program_names(t, name);
    lacks("program %u: the sources that it was linked from are gone; its binary was taken, which no other driver plays",
          name);
  } else {
    lacks("program %u: the sources that it was linked from are gone, and the driver hands out no binary", name);
  }
  free(binary);
}

void Base::programs() {
  if (!has(20, 20)) return;
  const Names& all = names_by_kind[PROGRAMS];
  for (uint32_t i = 0; i < all.count; i++) take_program(all.list[i]);
  // Shaders that are there now, and where they are attached.
  for (uint32_t i = 0; i < names_by_kind[SHADERS].count; i++) {
    const uint32_t shader = names_by_kind[SHADERS].list[i];
    const int32_t compiled = asked(d.glGetShaderiv, shader, GL_COMPILE_STATUS);
    tell_shader(t, d, shader, shader, compiled != 0);
  }
  for (uint32_t i = 0; i < all.count; i++) {
    uint32_t shaders[MOST_SHADERS];
    int32_t count = 0, linked = 0;
    d.glGetAttachedShaders(all.list[i], MOST_SHADERS, &count, shaders);
    for (int32_t k = 0; k < count; k++) tell(driver::glAttachShader, all.list[i], shaders[k]);
    d.glGetProgramiv(all.list[i], GL_LINK_STATUS, &linked);
    if (linked) tell_values(*this, all.list[i]);
  }
  for (uint32_t i = 0; i < names_by_kind[SHADERS].count; i++) {
    const int32_t gone = asked(d.glGetShaderiv, names_by_kind[SHADERS].list[i], GL_DELETE_STATUS);
    if (gone) tell(driver::glDeleteShader, names_by_kind[SHADERS].list[i]);
  }
  fine();
}

void Base::pipelines() {
  static const struct {
    uint32_t stage, bit;
  } stages[] = {{GL_VERTEX_SHADER, 1},       {GL_FRAGMENT_SHADER, 2},         {GL_GEOMETRY_SHADER, 4},
                {GL_TESS_CONTROL_SHADER, 8}, {GL_TESS_EVALUATION_SHADER, 16}, {GL_COMPUTE_SHADER, 32}};
  for (uint32_t i = 0; i < names_by_kind[PIPELINES].count; i++) {
    const uint32_t name = names_by_kind[PIPELINES].list[i];
    for (auto& s : stages) {
      const int32_t program = asked(d.glGetProgramPipelineiv, name, s.stage);
      if (fine() && program) tell(driver::glUseProgramStages, name, s.bit, program);
    }
    const int32_t active = asked(d.glGetProgramPipelineiv, name, GL_ACTIVE_PROGRAM);
    if (fine() && active) tell(driver::glActiveShaderProgram, name, active);
  }
}

}  // namespace hook
}  // namespace dt
