// What programs for the Raspberry Pi ask of its display, for any EGL: the screen is a pbuffer of 640 x 480.
#pragma once
#include <EGL/egl.h>
#include <assert.h>
#include <stdint.h>

typedef uint32_t DISPMANX_ELEMENT_HANDLE_T, DISPMANX_DISPLAY_HANDLE_T, DISPMANX_UPDATE_HANDLE_T;
struct VC_RECT_T {
  int32_t x, y, width, height;
};
struct EGL_DISPMANX_WINDOW_T {
  DISPMANX_ELEMENT_HANDLE_T element;
  int width, height;
};
enum { DISPMANX_PROTECTION_NONE, DISPMANX_NO_ROTATE = 0 };

static inline void bcm_host_init() {}
static inline int32_t graphics_get_display_size(uint16_t, uint32_t* width, uint32_t* height) {
  *width = 640, *height = 480;
  return 0;
}
static inline uint32_t vc_dispmanx_display_open(uint32_t) { return 1; }
static inline uint32_t vc_dispmanx_update_start(int32_t) { return 1; }
static inline uint32_t vc_dispmanx_element_add(uint32_t, uint32_t, int32_t, const VC_RECT_T*, uint32_t,
                                               const VC_RECT_T*, int, int, int, int) {
  return 1;
}
static inline void vc_dispmanx_update_submit_sync(uint32_t) {}

// Pointers have 32 bits there, and so have those that JavaScript of the time can hold: contexts and surfaces are
// numbers to the program.
static void* pi_handles[256];
static inline void* pi_keep(void* handle) {
  static intptr_t made;
  if (!handle || made == 255) return nullptr;
  pi_handles[++made] = handle;
  return (void*)(made << 4);
}
static inline void* pi_real(void* number) {
  return (uintptr_t)number < sizeof pi_handles * 2 ? pi_handles[(uintptr_t)number >> 4] : number;
}

static inline EGLContext pi_create_context(EGLDisplay display, EGLConfig config, EGLContext share,
                                           const EGLint* attributes) {
  return pi_keep(eglCreateContext(display, config, pi_real(share), attributes));
}
static inline EGLSurface pi_window_surface(EGLDisplay display, EGLConfig config, const EGL_DISPMANX_WINDOW_T* window,
                                           const EGLint*) {
  const EGLint size[] = {EGL_WIDTH, window->width, EGL_HEIGHT, window->height, EGL_NONE};
  return pi_keep(eglCreatePbufferSurface(display, config, size));
}
static inline EGLSurface pi_image_surface(EGLDisplay display, EGLenum type, EGLClientBuffer buffer, EGLConfig config,
                                          const EGLint* attributes) {
  return pi_keep(eglCreatePbufferFromClientBuffer(display, type, buffer, config, attributes));
}
static inline EGLBoolean pi_make_current(EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext context) {
  return eglMakeCurrent(display, pi_real(draw), pi_real(read), pi_real(context));
}
#define eglCreateContext pi_create_context
#define eglCreateWindowSurface pi_window_surface
#define eglCreatePbufferFromClientBuffer pi_image_surface
#define eglMakeCurrent pi_make_current
#define eglDestroyContext(display, context) eglDestroyContext(display, pi_real(context))
#define eglDestroySurface(display, surface) eglDestroySurface(display, pi_real(surface))
#define eglSwapBuffers(display, surface) eglSwapBuffers(display, pi_real(surface))
#define eglSurfaceAttrib(display, surface, ...) eglSurfaceAttrib(display, pi_real(surface), __VA_ARGS__)
