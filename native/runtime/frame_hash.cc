// Hashes of the frames as the program showed them: what a replay must show too. Off unless somebody turned it on, since
// reading a frame back waits for the GPU.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame_image.h"
#include "hash.h"
#include "egl_enums.h"

namespace dt {
namespace hook {

uint32_t g_hash_frames = 2;  // not asked yet

namespace {

void emit_hash(Thread* t, uint64_t surface, const gl::FrameImage& image, const void* pixels, size_t bytes) {
  Digest hash = hash128(pixels, bytes);
  char text[160];
  snprintf(text, sizeof text, "width=%d;height=%d;framebuffer=%u;format=rgba8;hash=%016llx%016llx", image.width,
           image.height, image.framebuffer, (unsigned long long)hash.high, (unsigned long long)hash.low);
  emit_native(t, "frame", surface, text);
}

// Returns whether the program uses that library; libraries are not loaded for our sake.
bool is_used(unsigned witness) {
  bool used = false;
  for (unsigned i = 0; i < VARIANTS; i++) used |= g_real[witness][i] != nullptr;
  return used;
}

// Where OpenVG is the API that is bound, the frame is what it drew. False: it is not.
bool hash_openvg(Thread* t) {
  enum : unsigned {
    ABGR = 0xC1,
  };
  if (!is_used(driver::eglBindAPI.id) || !driver::eglQueryAPI || driver::eglQueryAPI() != EGL_OPENVG_API) return false;
  if (!driver::eglGetCurrentDisplay || !driver::eglGetCurrentSurface || !driver::eglQuerySurface ||
      !driver::vgReadPixels)
    return true;
  void *on = driver::eglGetCurrentDisplay(), *drawn = driver::eglGetCurrentSurface(EGL_DRAW);
  gl::FrameImage image{0, 0, 0};
  if (!drawn || !driver::eglQuerySurface(on, drawn, EGL_WIDTH, &image.width) ||
      !driver::eglQuerySurface(on, drawn, EGL_HEIGHT, &image.height) || image.width <= 0 || image.height <= 0)
    return true;
  size_t bytes = (size_t)image.width * (size_t)image.height * 4;
  void* pixels = calloc(1, bytes);
  if (!pixels) return true;
  driver::vgReadPixels(pixels, image.width * 4, ABGR, 0, 0, image.width, image.height);
  emit_hash(t, (uint64_t)(uintptr_t)drawn, image, pixels, bytes);
  free(pixels);
  return true;
}

}  // namespace

void before_frame_end(Thread* t) {
  if (g_hash_frames == 2) {
    const char* value = getenv("DRAWTAP_HASH_FRAMES");
    g_hash_frames = value && *value && *value != '0';
  }
  GlContext* c = t->context;
  if (!g_hash_frames) return;
  int saved = errno;
  if (hash_openvg(t) || !c) {
    errno = saved;
    return;
  }
  gl::FrameImage image{c->draw_width, c->draw_height, 0};
  static uint32_t noted;
  if (!gl::frame_extent(c, &image)) {
    if (!__atomic_exchange_n(&noted, 1u, __ATOMIC_RELAXED))
      emit_note(t, "frame-without-hash",
                "from this frame on, frames that cannot be read back have no hash: no known size, an incomplete "
                "framebuffer, several samples, or integers");
  } else {
    size_t bytes = (size_t)image.width * (size_t)image.height * 4;
    void* pixels = calloc(1, bytes);
    if (pixels) {
      gl::read_frame(c, image, pixels);
      emit_hash(t, c->draw, image, pixels, bytes);
      free(pixels);
    }
  }
  errno = saved;
}

}  // namespace hook
}  // namespace dt
