#include "special.h"

#include <algorithm>
#include <cstring>

#include "lists.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

uint64_t recorded(const Row& w) {
  const Function* f = w.columns->function;
  return f->result ? w.columns->decoded->raw(*f->result, w.i) : 0;
}

GLint located(Player& p, const Row& w, uint32_t program, const char* name, GLint now) {
  auto was = static_cast<GLint>(recorded(w));
  if (was < 0) return now;
  Program& known = p.program(program);
  if (now != was) {
    known.locations[was] = now;
    if (now < 0)
      p.report("uniform", w.seq, "glGetUniformLocation",
               std::string(name) + " is not active here; what sets it has no effect");
  } else if (!known.locations.empty()) {
    known.locations.erase(was);
  }
  // The elements of an array follow the first one in the recording; here they are asked for.
  if (now == was || now < 0) return now;
  auto locate = p.gl<GLint (*)(GLuint, const GLchar*)>("glGetUniformLocation");
  std::string base(name);
  if (base.size() > 3 && base.ends_with("[0]")) base.resize(base.size() - 3);
  for (int i = 1; i < 1024; ++i) {
    GLint at = locate(program, (base + "[" + std::to_string(i) + "]").c_str());
    if (at < 0) break;
    known.locations.try_emplace(was + i, at);
  }
  return now;
}

// The driver's function of a command that is called often: looked up by name once.
#define REAL(TYPE, NAME)                       \
  (reinterpret_cast<TYPE>(p.real([] {          \
    static const int id = find_function(NAME); \
    return static_cast<unsigned>(id);          \
  }())))

GLenum color_buffer(Player& p, GLenum buffer) {
  if (!p.context->single_buffered || p.context->api != EGL_OPENGL_API) return buffer;
  // What the program drew into a window's back buffer goes to the only buffer that a pbuffer has.
  switch (buffer) {
    case GL_BACK: return GL_FRONT;
    case GL_BACK_LEFT: return GL_STENCIL_BUFFER_BIT;
    case GL_BACK_RIGHT: return GL_FRONT_RIGHT;
    default: return buffer;
  }
}

}  // namespace

GLint special_glGetUniformLocation(Player& p, const Row& w, GLuint program, const GLchar* name) {
  if (!name) return -1;
  return located(p, w, program, name, p.gl<GLint (*)(GLuint, const GLchar*)>("glGetUniformLocation")(program, name));
}
GLint special_glGetUniformLocationARB(Player& p, const Row& w, GLhandleARB program, const GLcharARB* name) {
  if (!name) return -1;
  return located(p, w, program, name,
                 p.gl<GLint (*)(GLhandleARB, const GLcharARB*)>("glGetUniformLocationARB")(program, name));
}

GLint special_glGetAttribLocation(Player& p, const Row& w, GLuint program, const GLchar* name) {
  if (!name) return -1;
  auto get = p.gl<GLint (*)(GLuint, const GLchar*)>("glGetAttribLocation");
  auto bind = p.gl<void (*)(GLuint, GLuint, const GLchar*)>("glBindAttribLocation");
  auto link = p.gl<void (*)(GLuint)>("glLinkProgram");
  GLint now = get(program, name);
  auto was = static_cast<GLint>(recorded(w));
  if (was < 0 || now < 0) return now;
  Program& known = p.program(program);
  known.attributes[name] = static_cast<uint32_t>(was);
  if (now == was) return now;
  // Another driver counts otherwise: the program is linked again with the recording's numbers.
  for (auto& [attribute, index] : known.attributes) bind(program, index, attribute.c_str());
  link(program);
  p.report("attribute", w.seq, "glGetAttribLocation",
           std::string(name) + " had another location; the program was linked again");
  return get(program, name);
}

GLuint special_glGetUniformBlockIndex(Player& p, const Row& w, GLuint program, const GLchar* name) {
  if (!name) return GL_INVALID_INDEX;
  GLuint now = p.gl<GLuint (*)(GLuint, const GLchar*)>("glGetUniformBlockIndex")(program, name);
  auto was = static_cast<GLuint>(recorded(w));
  if (now != was && was != GL_INVALID_INDEX) p.program(program).blocks[0][was] = now;
  return now;
}
GLuint special_glGetProgramResourceIndex(Player& p, const Row& w, GLuint program, GLenum kind, const GLchar* name) {
  if (!name) return GL_INVALID_INDEX;
  GLuint now = p.gl<GLuint (*)(GLuint, GLenum, const GLchar*)>("glGetProgramResourceIndex")(program, kind, name);
  auto was = static_cast<GLuint>(recorded(w));
  if (now != was && was != GL_INVALID_INDEX && (kind == GL_UNIFORM_BLOCK || kind == GL_SHADER_STORAGE_BLOCK))
    p.program(program).blocks[kind == GL_SHADER_STORAGE_BLOCK][was] = now;
  return now;
}

void special_glUseProgram(Player& p, const Row&, GLuint program) {
  p.context->program = program;
  p.context->current = nullptr;
  REAL(void (*)(GLuint), "glUseProgram")(program);
}
void special_glUseProgramObjectARB(Player& p, const Row&, GLhandleARB program) {
  p.context->program = program;
  p.context->current = nullptr;
  p.gl<void (*)(GLhandleARB)>("glUseProgramObjectARB")(program);
}
void special_glActiveShaderProgram(Player& p, const Row&, GLuint pipeline, GLuint program) {
  p.context->pipeline_program = program;
  p.context->current = nullptr;
  p.gl<void (*)(GLuint, GLuint)>("glActiveShaderProgram")(pipeline, program);
}

void special_glDrawBuffer(Player& p, const Row&, GLenum buffer) {
  REAL(void (*)(GLenum), "glDrawBuffer")(color_buffer(p, buffer));
}
void special_glReadBuffer(Player& p, const Row&, GLenum buffer) {
  p.gl<void (*)(GLenum)>("glReadBuffer")(color_buffer(p, buffer));
}
void special_glDrawBuffers(Player& p, const Row&, GLsizei n, const GLenum* buffers) {
  auto real = REAL(void (*)(GLsizei, const GLenum*), "glDrawBuffers");
  if (n < 1 || n > 64) return real(n, buffers);
  GLenum changed[64];
  for (GLsizei i = 0; i < n; ++i) changed[i] = color_buffer(p, buffers[i]);
  real(n, changed);
}

void special_glListBase(Player& p, const Row&, GLuint base) {
  p.context->list_base = base;
  p.gl<void (*)(GLuint)>("glListBase")(base);
}

void special_glCallLists(Player& p, const Row&, GLsizei n, GLenum type, const void* lists) {
  auto real = REAL(void (*)(GLsizei, GLenum, const void*), "glCallLists");
  Names& names = p.names_of(LIST);
  if (n <= 0 || !lists || names.identity() || type < GL_BYTE || type > GL_4_BYTES) return real(n, type, lists);
  // Numbers relative to a base cannot be renamed; whole names can.
  auto* renamed = static_cast<GLuint*>(p.scratch(static_cast<size_t>(n) * 4));
  if (!list_numbers(type, lists, static_cast<size_t>(n), p.context->list_base, renamed)) return real(n, type, lists);
  for (GLsizei i = 0; i < n; ++i) renamed[i] = names.of(renamed[i]);
  auto base = p.gl<void (*)(GLuint)>("glListBase");
  base(0);
  real(n, GL_UNSIGNED_INT, renamed);
  base(p.context->list_base);
}

VGImage special_vgCreateEGLImageTargetKHR(Player& p, const Row&, VGeglImageKHR image) {
  const VGImage made = REAL(VGImage (*)(VGeglImageKHR), "vgCreateEGLImageTargetKHR")(image);
  if (made) p.shares_images();
  return made;
}

GLuint special_glGenLists(Player& p, const Row& w, GLsizei range) {
  return p.gl<GLuint (*)(GLsizei)>("glGenLists")(static_cast<GLsizei>(p.names_range(w, range)));
}

void special_glDeleteLists(Player& p, const Row& w, GLuint list, GLsizei range) {
  range = static_cast<GLsizei>(p.names_range(w, range));
  auto real = p.gl<void (*)(GLuint, GLsizei)>("glDeleteLists");
  Names& names = p.names_of(LIST);
  if (names.identity() || range <= 0) return real(list, range);
  const Function* f = w.columns->function;
  for (auto& field : f->params)
    if (field.name == "list") list = static_cast<GLuint>(w.columns->decoded->raw(field, w.i));
  for (GLsizei i = 0; i < range && i < 1 << 20; ++i)
    if (names.has(list + static_cast<GLuint>(i))) real(names.of(list + static_cast<GLuint>(i)), 1);
}

// The lengths of the strings came with them: they are terminated now.
void special_glShaderSource(Player& p, const Row&, GLuint shader, GLsizei count, const GLchar* const* string,
                            const GLint*) {
  p.gl<void (*)(GLuint, GLsizei, const GLchar* const*, const GLint*)>("glShaderSource")(shader, count, string, nullptr);
}
void special_glShaderSourceARB(Player& p, const Row&, GLhandleARB shader, GLsizei count, const GLcharARB** string,
                               const GLint*) {
  p.gl<void (*)(GLhandleARB, GLsizei, const GLcharARB**, const GLint*)>("glShaderSourceARB")(shader, count, string,
                                                                                             nullptr);
}

namespace {

// Where the driver looks for an array of no buffer.
GLintptr place(Player& p, GLuint buffer, GLintptr offset) {
  const GlContext* c = tls.context;
  bool memory = c && !buffer && offset > 0 && !c->core && !c->vao;  // nothing lies at 0: draws from there are left out
  return memory ? reinterpret_cast<GLintptr>(p.shadow.at(static_cast<uint64_t>(offset))) : offset;
}

}  // namespace

// What lay in a buffer that goes lies in client memory then, at an address that was an offset: nothing of ours.
void special_glDeleteBuffers(Player& p, const Row&, GLsizei n, const GLuint* buffers) {
  GlContext* c = tls.context;
  if (c && !c->core && !c->vao && buffers)
    for (auto& b : c->vertex.bindings)
      if (b.buffer && std::find(buffers, buffers + std::max(n, 0), b.buffer) != buffers + std::max(n, 0))
        b.pointer = gl::NO_ADDRESS;
  REAL(void (*)(GLsizei, const GLuint*), "glDeleteBuffers")(n, buffers);
}
void special_glBindVertexBuffer(Player& p, const Row&, GLuint index, GLuint buffer, GLintptr offset, GLsizei stride) {
  REAL(void (*)(GLuint, GLuint, GLintptr, GLsizei), "glBindVertexBuffer")(index, buffer, place(p, buffer, offset),
                                                                          stride);
}
void special_glBindVertexBuffers(Player& p, const Row&, GLuint first, GLsizei count, const GLuint* buffers,
                                 const GLintptr* offsets, const GLsizei* strides) {
  auto real = p.gl<void (*)(GLuint, GLsizei, const GLuint*, const GLintptr*, const GLsizei*)>("glBindVertexBuffers");
  if (count <= 0 || !buffers || !offsets) return real(first, count, buffers, offsets, strides);
  auto* places = static_cast<GLintptr*>(p.scratch(static_cast<size_t>(count) * sizeof(GLintptr)));
  for (GLsizei i = 0; i < count; ++i) places[i] = place(p, buffers[i], offsets[i]);
  real(first, count, buffers, places, strides);
}

namespace {

void query_buffer(Player& p, const char* function, GLuint id, GLuint buffer, GLenum pname, GLintptr offset) {
  p.gl<void (*)(GLuint, GLuint, GLenum, GLintptr)>(function)(id, buffer, pname, offset);
  p.answered_in_buffer(id, pname, buffer, offset, strstr(function, "64") != nullptr);
}

}  // namespace

void special_glGetQueryBufferObjectiv(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname, GLintptr offset) {
  query_buffer(p, "glGetQueryBufferObjectiv", id, buffer, pname, offset);
}
void special_glGetQueryBufferObjectuiv(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname, GLintptr offset) {
  query_buffer(p, "glGetQueryBufferObjectuiv", id, buffer, pname, offset);
}
void special_glGetQueryBufferObjecti64v(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname,
                                        GLintptr offset) {
  query_buffer(p, "glGetQueryBufferObjecti64v", id, buffer, pname, offset);
}
void special_glGetQueryBufferObjectui64v(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname,
                                         GLintptr offset) {
  query_buffer(p, "glGetQueryBufferObjectui64v", id, buffer, pname, offset);
}

void special_glBeginQuery(Player& p, const Row&, GLenum target, GLuint id) {
  p.query_targets[id] = target;
  p.gl<void (*)(GLenum, GLuint)>("glBeginQuery")(target, id);
}
void special_glBeginQueryARB(Player& p, const Row&, GLenum target, GLuint id) {
  p.query_targets[id] = target;
  p.gl<void (*)(GLenum, GLuint)>("glBeginQueryARB")(target, id);
}
void special_glBeginQueryEXT(Player& p, const Row&, GLenum target, GLuint id) {
  p.query_targets[id] = target;
  p.gl<void (*)(GLenum, GLuint)>("glBeginQueryEXT")(target, id);
}
void special_glQueryCounter(Player& p, const Row&, GLuint id, GLenum target) {
  p.query_targets[id] = target;
  p.gl<void (*)(GLuint, GLenum)>("glQueryCounter")(id, target);
}
void special_glQueryCounterEXT(Player& p, const Row&, GLuint id, GLenum target) {
  p.query_targets[id] = target;
  p.gl<void (*)(GLuint, GLenum)>("glQueryCounterEXT")(id, target);
}

}  // namespace dt::play
