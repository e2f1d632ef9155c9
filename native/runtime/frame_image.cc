#include "frame_image.h"

namespace dt {
namespace gl {

namespace {

enum : uint32_t {
  READ_FRAMEBUFFER = 0x8CA8,
  DRAW_FRAMEBUFFER = 0x8CA9,
  FRAMEBUFFER = 0x8D40,
  DRAW_BINDING = 0x8CA6,
  READ_BINDING = 0x8CAA,
  PACK_BUFFER = 0x88EB,
  READ_BUFFER = 0x0C02,
  DRAW_BUFFER0 = 0x8825,
  BACK = 0x0405,
  FRONT = 0x0404,
  SAMPLE_BUFFERS = 0x80A8,
  COLOR_ATTACHMENT0 = 0x8CE0,
};

bool has_framebuffers(const GlContext* c) { return c->version >= (c->api == 2 ? 20u : 30u); }
bool has_two_bindings(const GlContext* c) { return c->version >= 30; }
bool has_read_buffer(const GlContext* c) { return c->api == 1 || c->version >= 30; }

struct StoreValue {
  uint32_t name;
  int32_t value, plain;
};

}  // namespace

void PlainPack::set(bool plain) {
  auto bind_buffer = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
  auto store = DT_REAL(void, glPixelStorei, uint32_t, int32_t);
  const uint32_t buffer = c_->buffers[PACK];
  const PixelStore& p = c_->pack;
  const StoreValue values[] = {{0x0D05, p.alignment, 4},   {0x0D02, p.row_length, 0}, {0x0D03, p.skip_rows, 0},
                               {0x0D04, p.skip_pixels, 0}, {0x0D00, p.swap_bytes, 0}, {0x0D01, p.lsb_first, 0}};
  if (buffer && bind_buffer) bind_buffer(PACK_BUFFER, plain ? 0 : buffer);
  // Values that a context's version does not have are never anything else than plain.
  for (const StoreValue& v : values)
    if (store && v.value != v.plain) store(v.name, plain ? v.plain : v.value);
}

bool frame_extent(GlContext* c, FrameImage* image) {
  if (!can_ask(c) || c->api > 2 || !c->api) return false;
  image->framebuffer = has_framebuffers(c) ? (uint32_t)ask(c, DRAW_BINDING, 0) : 0;
  if (!image->framebuffer) return image->width > 0 && image->height > 0;
  auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
  auto get = DT_REAL(void, glGetIntegerv, uint32_t, int32_t*);
  auto attachment = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int32_t*);
  uint32_t target = has_two_bindings(c) ? DRAW_FRAMEBUFFER : FRAMEBUFFER;
  if (!status || !get || !attachment || status(target) != 0x8CD5) return false;
  if (ask(c, SAMPLE_BUFFERS, 0)) return false;
  uint32_t buffer = has_read_buffer(c) ? (uint32_t)ask(c, DRAW_BUFFER0, 0) : COLOR_ATTACHMENT0;
  if (buffer < COLOR_ATTACHMENT0 || buffer > COLOR_ATTACHMENT0 + 31) return false;
  int32_t kind = 0, component = 0;
  attachment(target, buffer, 0x8CD0, &kind);
  if (!kind) return false;
  if (has_two_bindings(c)) {
    attachment(target, buffer, 0x8211, &component);
    if (component == 0x1404 || component == 0x1405 || (component == 0x1406 && c->api == 2)) return false;
  }
  int32_t viewport[4] = {};
  get(0x0BA2, viewport);
  image->width = viewport[0] + viewport[2];
  image->height = viewport[1] + viewport[3];
  return viewport[0] >= 0 && viewport[1] >= 0 && image->width > 0 && image->height > 0 && image->width <= 16384 &&
         image->height <= 16384;
}

void read_frame(GlContext* c, const FrameImage& image, void* pixels) {
  auto read = DT_REAL(void, glReadPixels, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void*);
  auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
  auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
  auto is_double = DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*);
  if (!read || !DT_REAL(void, glPixelStorei, uint32_t, int32_t)) return;
  uint32_t bound = has_two_bindings(c) ? (uint32_t)ask(c, READ_BINDING, 0) : image.framebuffer;
  if (bound != image.framebuffer && bind) bind(READ_FRAMEBUFFER, image.framebuffer);
  uint32_t from = 0, wanted = 0;
  if (has_read_buffer(c) && read_buffer) {
    from = (uint32_t)ask(c, READ_BUFFER, 0);
    uint8_t two = 1;
    if (c->api == 1 && is_double) is_double(0x0C32, &two);
    wanted = image.framebuffer ? (uint32_t)ask(c, DRAW_BUFFER0, 0) : two ? (uint32_t)BACK : (uint32_t)FRONT;
    if (from != wanted) read_buffer(wanted);
  }
  {
    PlainPack plain(c);
    read(0, 0, image.width, image.height, 0x1908, 0x1401, pixels);
  }
  if (from != wanted) read_buffer(from);
  if (bound != image.framebuffer && bind) bind(READ_FRAMEBUFFER, bound);
}

}  // namespace gl
}  // namespace dt
