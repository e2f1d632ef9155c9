// Hashes of the frames as the program showed them: what a replay must show too. Off unless it was asked for, since reading a
// frame back waits for the GPU.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame_image.h"
#include "hash.h"

namespace dt {
namespace hook {

namespace {

int g_wanted = -1;  // not asked yet

}  // namespace

void before_frame_end(Thread* t) {
  if (DT_UNLIKELY(g_wanted < 0)) {
    const char* value = getenv("DRAWTAP_HASH_FRAMES");
    g_wanted = value && *value && *value != '0';
  }
  GlContext* c = t->context;
  if (DT_LIKELY(!g_wanted) || !c) return;
  int saved = errno;
  gl::FrameImage image{c->draw_width, c->draw_height, 0};
  if (gl::frame_extent(c, &image)) {
    size_t bytes = (size_t)image.width * (size_t)image.height * 4;
    void* pixels = calloc(1, bytes);
    if (pixels) {
      gl::read_frame(c, image, pixels);
      Hash128 hash = hash128(pixels, bytes);
      char text[160];
      snprintf(text, sizeof text, "width=%d;height=%d;framebuffer=%u;format=rgba8;hash=%016llx%016llx", image.width, image.height,
               image.framebuffer, (unsigned long long)hash.high, (unsigned long long)hash.low);
      emit_native(t, "frame", c->draw, text);
      free(pixels);
    }
  }
  errno = saved;
}

}  // namespace hook
}  // namespace dt
