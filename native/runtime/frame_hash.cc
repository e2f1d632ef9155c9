// Hashes of the frames as the program showed them: what a replay must show too. Off unless it was asked for, since reading a
// frame back waits for the GPU.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame_image.h"
#include "hash.h"

namespace dt {
namespace hook {

uint32_t g_hash_frames = 2;  // not asked yet

void before_frame_end(Thread* t) {
  if (g_hash_frames == 2) {
    const char* value = getenv("DRAWTAP_HASH_FRAMES");
    g_hash_frames = value && *value && *value != '0';
  }
  GlContext* c = t->context;
  if (!g_hash_frames || !c) return;
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
