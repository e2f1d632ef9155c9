// The pixels that a program reads from the front buffer of a window: the window system's, which a player does not have.
#pragma once
#include "gl_enums.h"
#include "gl_state.h"

namespace dt {
namespace hook {

#ifdef DT_PLAYER
static inline void front_is_chosen() {}
static inline void may_read_front(Thread*, int32_t, int32_t, int32_t, int32_t) {}
#else
// Some context has chosen a front buffer to read from, at some time.
extern uint32_t g_reads_front __attribute__((visibility("hidden")));
DT_COLD void front_is_read(Thread* t, int32_t x, int32_t y, int32_t width, int32_t height);
static inline void front_is_chosen() { __atomic_store_n(&g_reads_front, 1u, __ATOMIC_RELAXED); }
static inline void may_read_front(Thread* t, int32_t x, int32_t y, int32_t width, int32_t height) {
  if (DT_UNLIKELY(g_reads_front | g_began_late)) front_is_read(t, x, y, width, height);
}
#endif
static inline bool is_front(uint32_t buffer) {
  return buffer == GL_FRONT_LEFT || buffer == GL_FRONT_RIGHT || buffer == GL_FRONT || buffer == GL_LEFT;
}
// For a format, or for the value that glCopyPixels copies.
static inline bool has_color(uint32_t kind) {
  return kind != GL_STENCIL_INDEX && kind != GL_DEPTH_COMPONENT && kind != GL_DEPTH_STENCIL && kind != GL_DEPTH &&
         kind != GL_STENCIL;
}
static inline void after_glReadBuffer(Thread*, uint32_t src) {
  if (is_front(src)) front_is_chosen();
}
static inline void after_glNamedFramebufferReadBuffer(Thread* t, uint32_t framebuffer, uint32_t src) {
  if (!framebuffer) after_glReadBuffer(t, src);
}
static inline void before_glReadPixels(Thread* t, int32_t x, int32_t y, int32_t width, int32_t height, uint32_t format,
                                       uint32_t, void*) {
  if (has_color(format)) may_read_front(t, x, y, width, height);
}
static inline void before_glReadnPixels(Thread* t, int32_t x, int32_t y, int32_t width, int32_t height, uint32_t format,
                                        uint32_t, int32_t, void*) {
  if (has_color(format)) may_read_front(t, x, y, width, height);
}
static inline void before_glCopyPixels(Thread* t, int32_t x, int32_t y, int32_t width, int32_t height, uint32_t type) {
  if (has_color(type)) may_read_front(t, x, y, width, height);
}
static inline void before_glCopyTexImage1D(Thread* t, uint32_t, int32_t, uint32_t, int32_t x, int32_t y, int32_t width,
                                           int32_t) {
  may_read_front(t, x, y, width, 1);
}
static inline void before_glCopyTexImage2D(Thread* t, uint32_t, int32_t, uint32_t, int32_t x, int32_t y, int32_t width,
                                           int32_t height, int32_t) {
  may_read_front(t, x, y, width, height);
}
static inline void before_glCopyTexSubImage1D(Thread* t, uint32_t, int32_t, int32_t, int32_t x, int32_t y,
                                              int32_t width) {
  may_read_front(t, x, y, width, 1);
}
static inline void before_glCopyTexSubImage2D(Thread* t, uint32_t, int32_t, int32_t, int32_t, int32_t x, int32_t y,
                                              int32_t width, int32_t height) {
  may_read_front(t, x, y, width, height);
}
static inline void before_glCopyTexSubImage3D(Thread* t, uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t x,
                                              int32_t y, int32_t width, int32_t height) {
  may_read_front(t, x, y, width, height);
}
static inline void before_glCopyTextureSubImage2D(Thread* t, uint32_t, int32_t, int32_t, int32_t, int32_t x, int32_t y,
                                                  int32_t width, int32_t height) {
  may_read_front(t, x, y, width, height);
}
static inline void before_glBlitFramebuffer(Thread* t, int32_t x0, int32_t y0, int32_t x1, int32_t y1, int32_t, int32_t,
                                            int32_t, int32_t, uint32_t, uint32_t) {
  const bool right = x0 < x1, up = y0 < y1;
  may_read_front(t, right ? x0 : x1, up ? y0 : y1, right ? x1 - x0 : x0 - x1, up ? y1 - y0 : y0 - y1);
}

}  // namespace hook
}  // namespace dt
