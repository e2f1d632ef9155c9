#include "front_buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame_image.h"
#include "losses.h"
#include "tap.h"
#include "targets.h"
#include "gl_enums.h"

namespace dt {
namespace hook {

using namespace gl;

uint32_t g_reads_front;

namespace {

bool tell_front(Thread* t, GlContext* c, int32_t x, int32_t y, int32_t width, int32_t height) {
  if (!driver::glReadPixels || transfers_change(c)) return false;
  const size_t bytes = (size_t)width * (size_t)height * 4;
  void* pixels = malloc(bytes);
  if (!pixels) return false;
  {
    PlainPack plain(c);
    driver::glReadPixels(x, y, width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  }
  const Data content = prepare_blob(t, pixels, bytes);
  free(pixels);
  emit_content(t, c->read, content);
  char text[96];
  snprintf(text, sizeof text, "x=%d;y=%d;width=%d;height=%d", x, y, width, height);
  emit_native(t, "front", c->read, text);
  return true;
}

}  // namespace

void front_is_read(Thread* t, int32_t x, int32_t y, int32_t width, int32_t height) {
  GlContext* c = t->context;
  if (!can_ask(c) || c->api != 1) return;
  const int saved = errno;
  uint8_t two = 0;
  if (driver::glGetBooleanv) driver::glGetBooleanv(GL_DOUBLEBUFFER, &two);
  const bool front = two && !(c->version >= 30 && ask(c, GL_READ_FRAMEBUFFER_BINDING, 0)) &&
                     is_front((uint32_t)ask(c, GL_READ_BUFFER, 0));
  const int64_t right = (int64_t)x + width, top = (int64_t)y + height;
  const bool sized = c->draw == c->read && c->draw_width > 0 && c->draw_height > 0;
  const int64_t most_x = sized ? c->draw_width : 16384, most_y = sized ? c->draw_height : 16384;
  x = x < 0 ? 0 : x, y = y < 0 ? 0 : y;
  width = (int32_t)((right < most_x ? right : most_x) - x), height = (int32_t)((top < most_y ? top : most_y) - y);
  if (front && width > 0 && height > 0 && !tell_front(t, c, x, y, width, height))
    emit_loss(t, "front-buffer", "the front buffer of a window was read: what it held could not be recorded");
  errno = saved;
}

}  // namespace hook
}  // namespace dt
