#include "frame_image.h"
#include "gl_enums.h"

namespace dt {
namespace gl {

namespace {

bool has_framebuffers(const GlContext* c) { return c->version >= (c->api == 2 ? 20u : 30u); }
bool has_two_bindings(const GlContext* c) { return c->version >= 30; }
bool has_read_buffer(const GlContext* c) { return c->api == 1 || c->version >= 30; }

struct StoreValue {
  uint32_t name;
  int32_t value, plain;
};

}  // namespace

void PlainPack::set(bool plain) {
  const uint32_t buffer = c_->buffers[PACK];
  const PixelStore& p = c_->pack;
  const StoreValue values[] = {{GL_PACK_ALIGNMENT, p.alignment, alignment_}, {GL_PACK_ROW_LENGTH, p.row_length, 0},
                               {GL_PACK_SKIP_ROWS, p.skip_rows, 0},          {GL_PACK_SKIP_PIXELS, p.skip_pixels, 0},
                               {GL_PACK_SWAP_BYTES, p.swap_bytes, 0},        {GL_PACK_LSB_FIRST, p.lsb_first, 0}};
  if (buffer && driver::glBindBuffer) driver::glBindBuffer(GL_PIXEL_PACK_BUFFER, plain ? 0 : buffer);
  // Values that a context's version does not have are never anything else than plain.
  for (const StoreValue& v : values)
    if (driver::glPixelStorei && v.value != v.plain) driver::glPixelStorei(v.name, plain ? v.plain : v.value);
}

bool frame_extent(GlContext* c, FrameImage* image) {
  if (!can_ask(c) || c->api > 2 || !c->api) return false;
  image->framebuffer = has_framebuffers(c) ? (uint32_t)ask(c, GL_DRAW_FRAMEBUFFER_BINDING, 0) : 0;
  if (!image->framebuffer) return image->width > 0 && image->height > 0;
  uint32_t target = has_two_bindings(c) ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER;
  if (!driver::glCheckFramebufferStatus || !driver::glGetIntegerv || !driver::glGetFramebufferAttachmentParameteriv ||
      driver::glCheckFramebufferStatus(target) != GL_FRAMEBUFFER_COMPLETE)
    return false;
  if (ask(c, GL_SAMPLE_BUFFERS, 0)) return false;
  uint32_t buffer = has_read_buffer(c) ? (uint32_t)ask(c, GL_DRAW_BUFFER0, 0) : GL_COLOR_ATTACHMENT0;
  if (buffer < GL_COLOR_ATTACHMENT0 || buffer > GL_COLOR_ATTACHMENT0 + 31) return false;
  int32_t kind = 0, component = 0;
  driver::glGetFramebufferAttachmentParameteriv(target, buffer, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &kind);
  if (!kind) return false;
  if (has_two_bindings(c)) {
    driver::glGetFramebufferAttachmentParameteriv(target, buffer, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &component);
    if (component == GL_INT || component == GL_UNSIGNED_INT || (component == GL_FLOAT && c->api == 2)) return false;
  }
  int32_t viewport[4] = {};
  driver::glGetIntegerv(GL_VIEWPORT, viewport);
  image->width = viewport[0] + viewport[2];
  image->height = viewport[1] + viewport[3];
  return viewport[0] >= 0 && viewport[1] >= 0 && image->width > 0 && image->height > 0 && image->width <= 16384 &&
         image->height <= 16384;
}

void read_frame(GlContext* c, const FrameImage& image, void* pixels) {
  if (!driver::glReadPixels || !driver::glPixelStorei) return;
  uint32_t bound = has_two_bindings(c) ? (uint32_t)ask(c, GL_READ_FRAMEBUFFER_BINDING, 0) : image.framebuffer;
  if (bound != image.framebuffer && driver::glBindFramebuffer)
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, image.framebuffer);
  uint32_t from = 0, wanted = 0;
  if (has_read_buffer(c) && driver::glReadBuffer) {
    from = (uint32_t)ask(c, GL_READ_BUFFER, 0);
    uint8_t two = 1;
    if (c->api == 1 && driver::glGetBooleanv) driver::glGetBooleanv(GL_DOUBLEBUFFER, &two);
    wanted = image.framebuffer ? (uint32_t)ask(c, GL_DRAW_BUFFER0, 0) : two ? GL_BACK : GL_FRONT;
    if (from != wanted) driver::glReadBuffer(wanted);
  }
  {
    PlainPack plain(c);
    driver::glReadPixels(0, 0, image.width, image.height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  }
  if (from != wanted) driver::glReadBuffer(from);
  if (bound != image.framebuffer && driver::glBindFramebuffer) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, bound);
}

}  // namespace gl
}  // namespace dt
