#include "special.h"

#include <algorithm>
#include <cstring>

#include "front.h"
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
  // The elements of an array follow the first one in the recording; here a query returns them.
  if (now == was || now < 0) return now;
  std::string base(name);
  if (base.size() > 3 && base.ends_with("[0]")) base.resize(base.size() - 3);
  for (int i = 1; i < 1024; ++i) {
    GLint at = driver::glGetUniformLocation(program, (base + "[" + std::to_string(i) + "]").c_str());
    if (at < 0) break;
    known.locations.try_emplace(was + i, at);
  }
  return now;
}

GLenum color_buffer(Player& p, GLenum buffer) {
  if (!p.context->single_buffered || p.context->api != EGL_OPENGL_API) return buffer;
  // The program's draws into a window's back buffer go to the only buffer that a pbuffer has.
  switch (buffer) {
    case GL_BACK: return GL_FRONT;
    case GL_BACK_LEFT: return GL_FRONT_LEFT;
    case GL_BACK_RIGHT: return GL_FRONT_RIGHT;
    default: return buffer;
  }
}

}  // namespace

GLint special_glGetUniformLocation(Player& p, const Row& w, GLuint program, const GLchar* name) {
  if (!name) return -1;
  return located(p, w, program, name, driver::glGetUniformLocation(program, name));
}
GLint special_glGetUniformLocationARB(Player& p, const Row& w, GLhandleARB program, const GLcharARB* name) {
  if (!name) return -1;
  return located(p, w, program, name, driver::glGetUniformLocationARB(program, name));
}

GLint special_glGetAttribLocation(Player& p, const Row& w, GLuint program, const GLchar* name) {
  if (!name) return -1;
  GLint now = driver::glGetAttribLocation(program, name);
  auto was = static_cast<GLint>(recorded(w));
  if (was < 0 || now < 0) return now;
  Program& known = p.program(program);
  known.attributes[name] = static_cast<uint32_t>(was);
  if (now == was) return now;
  // Another driver counts otherwise: the program is linked again with the recording's numbers.
  for (auto& [attribute, index] : known.attributes) driver::glBindAttribLocation(program, index, attribute.c_str());
  driver::glLinkProgram(program);
  p.report("attribute", w.seq, "glGetAttribLocation",
           std::string(name) + " had another location; the program was linked again");
  return driver::glGetAttribLocation(program, name);
}

GLuint special_glGetUniformBlockIndex(Player& p, const Row& w, GLuint program, const GLchar* name) {
  if (!name) return GL_INVALID_INDEX;
  GLuint now = driver::glGetUniformBlockIndex(program, name);
  auto was = static_cast<GLuint>(recorded(w));
  if (now != was && was != GL_INVALID_INDEX) p.program(program).blocks[0][was] = now;
  return now;
}
GLuint special_glGetProgramResourceIndex(Player& p, const Row& w, GLuint program, GLenum kind, const GLchar* name) {
  if (!name) return GL_INVALID_INDEX;
  GLuint now = driver::glGetProgramResourceIndex(program, kind, name);
  auto was = static_cast<GLuint>(recorded(w));
  if (now != was && was != GL_INVALID_INDEX && (kind == GL_UNIFORM_BLOCK || kind == GL_SHADER_STORAGE_BLOCK))
    p.program(program).blocks[kind == GL_SHADER_STORAGE_BLOCK][was] = now;
  return now;
}

void special_glUseProgram(Player& p, const Row&, GLuint program) {
  p.context->program = program;
  p.context->current = nullptr;
  driver::glUseProgram(program);
}
void special_glUseProgramObjectARB(Player& p, const Row&, GLhandleARB program) {
  p.context->program = program;
  p.context->current = nullptr;
  driver::glUseProgramObjectARB(program);
}
void special_glActiveShaderProgram(Player& p, const Row&, GLuint pipeline, GLuint program) {
  p.context->pipeline_program = program;
  p.context->current = nullptr;
  driver::glActiveShaderProgram(pipeline, program);
}

void special_glDrawBuffer(Player& p, const Row&, GLenum buffer) { driver::glDrawBuffer(color_buffer(p, buffer)); }
void special_glReadBuffer(Player& p, const Row&, GLenum buffer) { driver::glReadBuffer(color_buffer(p, buffer)); }
void special_glDrawBuffers(Player& p, const Row&, GLsizei n, const GLenum* buffers) {
  auto real = driver::glDrawBuffers;
  if (n < 1 || n > 64) return real(n, buffers);
  GLenum changed[64];
  for (GLsizei i = 0; i < n; ++i) changed[i] = color_buffer(p, buffers[i]);
  real(n, changed);
}

void special_glListBase(Player& p, const Row&, GLuint base) {
  p.context->list_base = base;
  driver::glListBase(base);
}

void special_glCallLists(Player& p, const Row&, GLsizei n, GLenum type, const void* lists) {
  auto real = driver::glCallLists;
  Names& names = p.names_of(LIST);
  if (n <= 0 || !lists || names.identity() || type < GL_BYTE || type > GL_4_BYTES) return real(n, type, lists);
  // Numbers relative to a base cannot be renamed; whole names can.
  auto* renamed = static_cast<GLuint*>(p.scratch(static_cast<size_t>(n) * 4));
  if (!list_numbers(type, lists, static_cast<size_t>(n), p.context->list_base, renamed)) return real(n, type, lists);
  for (GLsizei i = 0; i < n; ++i) renamed[i] = names.of(renamed[i]);
  driver::glListBase(0);
  real(n, GL_UNSIGNED_INT, renamed);
  driver::glListBase(p.context->list_base);
}

VGImage special_vgCreateEGLImageTargetKHR(Player& p, const Row&, VGeglImageKHR image) {
  const VGImage made = driver::vgCreateEGLImageTargetKHR(image);
  if (made) p.shares_images();
  return made;
}

GLuint special_glGenLists(Player& p, const Row& w, GLsizei range) {
  return driver::glGenLists(static_cast<GLsizei>(p.names_range(w, range)));
}

void special_glDeleteLists(Player& p, const Row& w, GLuint list, GLsizei range) {
  range = static_cast<GLsizei>(p.names_range(w, range));
  Names& names = p.names_of(LIST);
  if (names.identity() || range <= 0) return driver::glDeleteLists(list, range);
  const Function* f = w.columns->function;
  for (auto& field : f->params)
    if (field.name == "list") list = static_cast<GLuint>(w.columns->decoded->raw(field, w.i));
  for (GLsizei i = 0; i < range && i < 1 << 20; ++i)
    if (names.has(list + static_cast<GLuint>(i))) driver::glDeleteLists(names.of(list + static_cast<GLuint>(i)), 1);
}

// The lengths of the strings came with them: they are terminated now.
void special_glShaderSource(Player&, const Row&, GLuint shader, GLsizei count, const GLchar* const* string,
                            const GLint*) {
  driver::glShaderSource(shader, count, string, nullptr);
}
void special_glShaderSourceARB(Player&, const Row&, GLhandleARB shader, GLsizei count, const GLcharARB** string,
                               const GLint*) {
  driver::glShaderSourceARB(shader, count, string, nullptr);
}

namespace {

// Where the driver looks for an array of no buffer.
GLintptr place(Player& p, GLuint buffer, GLintptr offset) {
  const GlContext* c = tls.context;
  bool memory = c && !buffer && offset > 0 && !c->core && !c->vao;  // nothing lies at 0: draws from there are left out
  return memory ? reinterpret_cast<GLintptr>(p.shadow.at(static_cast<uint64_t>(offset))) : offset;
}

}  // namespace

// Arrays in a deleted buffer lie in client memory then, at an address that was an offset: nothing of ours.
void special_glDeleteBuffers(Player&, const Row&, GLsizei n, const GLuint* buffers) {
  GlContext* c = tls.context;
  if (c && !c->core && !c->vao && buffers)
    for (auto& b : c->vertex.bindings)
      if (b.buffer && std::find(buffers, buffers + std::max(n, 0), b.buffer) != buffers + std::max(n, 0))
        b.pointer = gl::NO_ADDRESS;
  driver::glDeleteBuffers(n, buffers);
}
void special_glBindVertexBuffer(Player& p, const Row&, GLuint index, GLuint buffer, GLintptr offset, GLsizei stride) {
  driver::glBindVertexBuffer(index, buffer, place(p, buffer, offset), stride);
}
void special_glBindVertexBuffers(Player& p, const Row&, GLuint first, GLsizei count, const GLuint* buffers,
                                 const GLintptr* offsets, const GLsizei* strides) {
  if (count <= 0 || !buffers || !offsets) return driver::glBindVertexBuffers(first, count, buffers, offsets, strides);
  auto* places = static_cast<GLintptr*>(p.scratch(static_cast<size_t>(count) * sizeof(GLintptr)));
  for (GLsizei i = 0; i < count; ++i) places[i] = place(p, buffers[i], offsets[i]);
  driver::glBindVertexBuffers(first, count, buffers, places, strides);
}

namespace {

using AskIntoBuffer = driver::Function<void(uint32_t, uint32_t, uint32_t, intptr_t)>;
void query_buffer(Player& p, const AskIntoBuffer& ask, GLuint id, GLuint buffer, GLenum pname, GLintptr offset,
                  bool wide) {
  ask(id, buffer, pname, offset);
  p.answered_in_buffer(id, pname, buffer, offset, wide);
}

}  // namespace

void special_glGetQueryBufferObjectiv(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname, GLintptr offset) {
  query_buffer(p, driver::glGetQueryBufferObjectiv, id, buffer, pname, offset, false);
}
void special_glGetQueryBufferObjectuiv(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname, GLintptr offset) {
  query_buffer(p, driver::glGetQueryBufferObjectuiv, id, buffer, pname, offset, false);
}
void special_glGetQueryBufferObjecti64v(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname,
                                        GLintptr offset) {
  query_buffer(p, driver::glGetQueryBufferObjecti64v, id, buffer, pname, offset, true);
}
void special_glGetQueryBufferObjectui64v(Player& p, const Row&, GLuint id, GLuint buffer, GLenum pname,
                                         GLintptr offset) {
  query_buffer(p, driver::glGetQueryBufferObjectui64v, id, buffer, pname, offset, true);
}

void special_glBeginQuery(Player& p, const Row&, GLenum target, GLuint id) {
  p.query_targets[id] = target;
  driver::glBeginQuery(target, id);
}
void special_glBeginQueryARB(Player& p, const Row&, GLenum target, GLuint id) {
  p.query_targets[id] = target;
  driver::glBeginQueryARB(target, id);
}
void special_glBeginQueryEXT(Player& p, const Row&, GLenum target, GLuint id) {
  p.query_targets[id] = target;
  driver::glBeginQueryEXT(target, id);
}
void special_glQueryCounter(Player& p, const Row&, GLuint id, GLenum target) {
  p.query_targets[id] = target;
  driver::glQueryCounter(id, target);
}
void special_glQueryCounterEXT(Player& p, const Row&, GLuint id, GLenum target) {
  p.query_targets[id] = target;
  driver::glQueryCounterEXT(id, target);
}

namespace {

Front g_front;

// While it lives, framebuffer 0 is read from a texture that holds what the program read from its window's front buffer.
class FrontBuffer {
 public:
  explicit FrontBuffer(Player& p) : p_(p) {
    if (DT_LIKELY(p.spans.empty())) return;
    const Front& front = g_front;
    if (front.width <= 0 || front.height <= 0 || front.x < 0 || front.y < 0) return;
    const size_t bytes = static_cast<size_t>(front.width) * static_cast<size_t>(front.height) * 4;
    for (auto& span : p.spans)
      if (span.begin == front.drawable && span.end - span.begin == bytes) {
        show(front, span.data);
        return;
      }
  }
  ~FrontBuffer() {
    if (!framebuffer_) return;
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
    driver::glDeleteFramebuffers(1, &framebuffer_);
    driver::glDeleteTextures(1, &texture_);
  }
  FrontBuffer(const FrontBuffer&) = delete;
  FrontBuffer& operator=(const FrontBuffer&) = delete;
  bool shown() const { return framebuffer_ != 0; }

 private:
  int ask(GLenum name) {
    int value = 0;
    driver::glGetIntegerv(name, &value);
    return value;
  }
  void upload(const Front& front, const uint8_t* pixels) {
    static const GLenum names[] = {GL_UNPACK_ALIGNMENT,   GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS,
                                   GL_UNPACK_SKIP_PIXELS, GL_UNPACK_SWAP_BYTES, GL_UNPACK_LSB_FIRST};
    const int buffer = ask(GL_PIXEL_UNPACK_BUFFER_BINDING);
    if (buffer) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    int kept[6];
    for (int i = 0; i < 6; ++i) {
      kept[i] = ask(names[i]);
      driver::glPixelStorei(names[i], i ? 0 : 4);
    }
    driver::glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, front.x + front.width, front.y + front.height, 0, GL_RGBA,
                         GL_UNSIGNED_BYTE, nullptr);
    driver::glTexSubImage2D(GL_TEXTURE_2D, 0, front.x, front.y, front.width, front.height, GL_RGBA, GL_UNSIGNED_BYTE,
                            pixels);
    for (int i = 0; i < 6; ++i) driver::glPixelStorei(names[i], kept[i]);
    if (buffer) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, static_cast<GLuint>(buffer));
  }
  void show(const Front& front, const uint8_t* pixels) {
    if (!driver::glBindFramebuffer || !driver::glGenFramebuffers || !driver::glFramebufferTexture2D)
      return p_.report("front", p_.seq, p_.running, "the driver here has no framebuffers: the front buffer is another");
    const int bound = ask(GL_TEXTURE_BINDING_2D);
    driver::glGenTextures(1, &texture_);
    driver::glBindTexture(GL_TEXTURE_2D, texture_);
    upload(front, pixels);
    driver::glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(bound));
    driver::glGenFramebuffers(1, &framebuffer_);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
    driver::glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
  }
  Player& p_;
  GLuint framebuffer_ = 0, texture_ = 0;
};

bool is_depth(GLenum format) {
  return format == GL_DEPTH_COMPONENT || format == GL_STENCIL_INDEX || format == GL_DEPTH_STENCIL;
}

}  // namespace

void set_front(const Front& front) { g_front = front; }

void special_glReadPixels(Player& p, const Row&, GLint x, GLint y, GLsizei width, GLsizei height, GLenum format,
                          GLenum type, void* pixels) {
  if (is_depth(format)) return driver::glReadPixels(x, y, width, height, format, type, pixels);
  const FrontBuffer front(p);
  driver::glReadPixels(x, y, width, height, format, type, pixels);
}
void special_glReadnPixels(Player& p, const Row&, GLint x, GLint y, GLsizei width, GLsizei height, GLenum format,
                           GLenum type, GLsizei size, void* pixels) {
  if (is_depth(format)) return driver::glReadnPixels(x, y, width, height, format, type, size, pixels);
  const FrontBuffer front(p);
  driver::glReadnPixels(x, y, width, height, format, type, size, pixels);
}
void special_glCopyPixels(Player& p, const Row&, GLint x, GLint y, GLsizei width, GLsizei height, GLenum type) {
  if (type != GL_COLOR) return driver::glCopyPixels(x, y, width, height, type);
  const FrontBuffer front(p);
  driver::glCopyPixels(x, y, width, height, type);
}
void special_glCopyTexImage1D(Player& p, const Row&, GLenum target, GLint level, GLenum format, GLint x, GLint y,
                              GLsizei width, GLint border) {
  const FrontBuffer front(p);
  driver::glCopyTexImage1D(target, level, format, x, y, width, border);
}
void special_glCopyTexImage2D(Player& p, const Row&, GLenum target, GLint level, GLenum format, GLint x, GLint y,
                              GLsizei width, GLsizei height, GLint border) {
  const FrontBuffer front(p);
  driver::glCopyTexImage2D(target, level, format, x, y, width, height, border);
}
void special_glCopyTexSubImage1D(Player& p, const Row&, GLenum target, GLint level, GLint to, GLint x, GLint y,
                                 GLsizei width) {
  const FrontBuffer front(p);
  driver::glCopyTexSubImage1D(target, level, to, x, y, width);
}
void special_glCopyTexSubImage2D(Player& p, const Row&, GLenum target, GLint level, GLint to_x, GLint to_y, GLint x,
                                 GLint y, GLsizei width, GLsizei height) {
  const FrontBuffer front(p);
  driver::glCopyTexSubImage2D(target, level, to_x, to_y, x, y, width, height);
}
void special_glCopyTexSubImage3D(Player& p, const Row&, GLenum target, GLint level, GLint to_x, GLint to_y, GLint to_z,
                                 GLint x, GLint y, GLsizei width, GLsizei height) {
  const FrontBuffer front(p);
  driver::glCopyTexSubImage3D(target, level, to_x, to_y, to_z, x, y, width, height);
}
void special_glCopyTextureSubImage2D(Player& p, const Row&, GLuint texture, GLint level, GLint to_x, GLint to_y,
                                     GLint x, GLint y, GLsizei width, GLsizei height) {
  const FrontBuffer front(p);
  driver::glCopyTextureSubImage2D(texture, level, to_x, to_y, x, y, width, height);
}
void special_glBlitFramebuffer(Player& p, const Row&, GLint x0, GLint y0, GLint x1, GLint y1, GLint to_x0, GLint to_y0,
                               GLint to_x1, GLint to_y1, GLbitfield mask, GLenum filter) {
  if (DT_LIKELY(p.spans.empty()))
    return driver::glBlitFramebuffer(x0, y0, x1, y1, to_x0, to_y0, to_x1, to_y1, mask, filter);
  {
    // Colors alone have a front buffer.
    const FrontBuffer front(p);
    const GLbitfield colors = front.shown() ? mask & GL_COLOR_BUFFER_BIT : mask;
    if (colors) driver::glBlitFramebuffer(x0, y0, x1, y1, to_x0, to_y0, to_x1, to_y1, colors, filter);
    mask &= ~colors;
  }
  if (mask) driver::glBlitFramebuffer(x0, y0, x1, y1, to_x0, to_y0, to_x1, to_y1, mask, filter);
}

}  // namespace dt::play
