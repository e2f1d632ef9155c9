#include "targets.h"

#include <errno.h>
#include <stdlib.h>

#include "frame_image.h"

namespace dt {
namespace hook {

dt_pool_targets* g_targets;

namespace {

using namespace gl;

enum : uint32_t {
  READ_FRAMEBUFFER = 0x8CA8, DRAW_FRAMEBUFFER = 0x8CA9, FRAMEBUFFER = 0x8D40, DRAW_BINDING = 0x8CA6, READ_BINDING = 0x8CAA,
  RENDERBUFFER = 0x8D41, COLOR_ATTACHMENT0 = 0x8CE0, COMPLETE = 0x8CD5, COLOR = 0x1800, COLOR_BIT = 0x4000, NEAREST = 0x2600,
  BACK = 0x0405, BACK_LEFT = 0x0402, READ_BUFFER = 0x0C02, DRAW_BUFFER0 = 0x8825, SAMPLE_BUFFERS = 0x80A8, SCISSOR_TEST = 0x0C11,
  FRAMEBUFFER_SRGB = 0x8DB9, UNPACK_BUFFER = 0x88EC, TEXTURE_2D = 0x0DE1, TEXTURE_3D = 0x806F, TEXTURE_CUBE = 0x8513,
  TEXTURE_RECTANGLE = 0x84F5, TEXTURE_ARRAY = 0x8C1A, TEXTURE_CUBE_ARRAY = 0x9009,
  RED = 0x1903, RG = 0x8227, RGB = 0x1907, RGBA = 0x1908, BGRA = 0x80E1, RGBA_INTEGER = 0x8D99,
  BYTE = 0x1400, UNSIGNED_BYTE = 0x1401, SHORT = 0x1402, UNSIGNED_SHORT = 0x1403, INT = 0x1404, UNSIGNED_INT = 0x1405, FLOAT = 0x1406,
  NORMALIZED = 0x8C17, SIGNED_NORMALIZED = 0x8F9C, SRGB = 0x8C40, TEN_AND_TWO = 0x8368,
  LUMINANCE = 0x1909, LUMINANCE_ALPHA = 0x190A, ALPHA = 0x1906, DEPTH = 0x1902, DEPTH_STENCIL = 0x84F9, TWENTY_FOUR_AND_EIGHT = 0x84FA,
  FLOAT_AND_EIGHT = 0x8DAD,
  // Names that no driver has given out by then.
  OUR_TEXTURE = 0xD7A90001, OUR_SOURCE = 0xD7A90002, OUR_DESTINATION = 0xD7A90003,
};
constexpr uint64_t MOST_PIXEL_BYTES = 256ull << 20;
constexpr uint32_t MOST_SIDE = 1u << 16;

// A call that the trace gets and the driver does not. Types must be those of the command's parameters.
template <class... A>
void tell(Thread* t, const char* name, A... arguments) {
  const int id = find_function(name);
  if (id < 0) return;
  t->special = SPECIAL_TOLD | SPECIAL_USER;
  ((void (*)(A...))recording_entry((unsigned)id))(arguments...);
  t->special = SPECIAL_BUSY;
}

// How pixels are read, and what of them is handed over, so that every bit arrives.
struct Layout {
  uint32_t read_format, read_type;
  uint32_t read_components;                 // four, but where one call hands over what another takes back
  uint32_t format, type;                    // as they are uploaded
  uint32_t components, read_width, width;   // bytes of one component; 0: all in one word
  bool swapped;                             // blue first
  uint32_t own_format;                      // internal format of a texture that holds them
};

// `whole`: four components are uploaded, into a texture of our own; else as many as the texture has that they go to.
bool layout_of(const GlContext* c, const int32_t size[4], uint32_t kind, bool srgb, uint32_t internal, bool whole, Layout* l) {
  const bool es = c->api == 2;
  int32_t most = 0;
  for (int i = 0; i < 4; i++) most = size[i] > most ? size[i] : most;
  if (!size[0] || !most) return false;  // luminance, alpha: not through a framebuffer
  bool without_alpha = !size[3];
  l->read_components = 4;
  switch (internal) {
    case 0x1907: case 0x8051: case 0x8D62: case 0x8C40: case 0x8C41: case 0x2A10: case 0x804F: case 0x8050: without_alpha = true;
    default: break;
  }
  l->components = whole || !without_alpha ? 4 : size[2] ? 3 : size[1] ? 2 : 1;
  static const uint32_t formats[] = {RED, RG, RGB, RGBA}, integers[] = {0x8D94, 0x8228, 0x8D98, RGBA_INTEGER};
  l->format = formats[l->components - 1];
  l->read_format = RGBA;
  l->swapped = false;
  if (kind == NORMALIZED) {
    if (most <= 8) {
      l->read_type = l->type = UNSIGNED_BYTE;
      l->read_width = l->width = 1;
      l->own_format = srgb ? 0x8C43 : 0x8058;
      if (es && !whole && (internal == BGRA || internal == 0x93A1)) l->format = BGRA, l->swapped = true, l->components = 4;
      return true;
    }
    if (es) {
      if (most != 10 || size[3] != 2) return false;
      l->read_type = l->type = TEN_AND_TWO;
      l->read_width = l->width = 0;
      l->components = 4;
      l->format = RGBA;
      l->own_format = 0x8059;
      return true;
    }
    if (most > 16) return false;
    l->read_type = l->type = UNSIGNED_SHORT;
    l->read_width = l->width = 2;
    l->own_format = most == 10 && size[3] == 2 ? 0x8059 : 0x805B;
    return true;
  }
  if (kind == FLOAT) {
    // Textures of ES 2 that were made of halves take nothing but halves.
    if (es && !whole && (internal == RGBA || internal == RGB)) return false;
    l->read_type = l->type = FLOAT;
    l->read_width = l->width = 4;
    l->own_format = 0x8814;
    return true;
  }
  if (kind == INT || kind == UNSIGNED_INT) {
    if (most != 8 && most != 16 && most != 32) return false;
    const bool sign = kind == INT;
    l->read_format = RGBA_INTEGER;
    l->format = integers[l->components - 1];
    l->read_type = kind;
    l->read_width = 4;
    l->width = (uint32_t)most / 8;
    l->type = most == 8 ? (sign ? BYTE : UNSIGNED_BYTE) : most == 16 ? (sign ? SHORT : UNSIGNED_SHORT) : kind;
    static const uint32_t own[2][3] = {{0x8D7C, 0x8D76, 0x8D70}, {0x8D8E, 0x8D88, 0x8D82}};
    l->own_format = own[sign][most == 8 ? 0 : most == 16 ? 1 : 2];
    return true;
  }
  return false;
}

size_t pixel_bytes(const Layout& l, bool reading) { return reading ? (l.read_width ? l.read_components * l.read_width : 4) : l.width ? l.components * l.width : 4; }

// From what the driver gives to what is uploaded, in place: never wider.
void pack(const Layout& l, uint8_t* pixels, size_t count) {
  const size_t from = pixel_bytes(l, true), to = pixel_bytes(l, false);
  if (l.swapped)
    for (size_t i = 0; i < count; i++) {
      const uint8_t first = pixels[4 * i];
      pixels[4 * i] = pixels[4 * i + 2];
      pixels[4 * i + 2] = first;
    }
  if (from == to) return;
  for (size_t i = 0; i < count; i++)
    for (uint32_t n = 0; n < l.components; n++) memmove(pixels + i * to + n * l.width, pixels + i * from + n * l.read_width, l.width);  // little endian
}

uint32_t binding_of(uint32_t target) {
  switch (target) {
    case TEXTURE_2D: return 0x8069;
    case TEXTURE_3D: return 0x806A;
    case TEXTURE_CUBE: return 0x8514;
    case TEXTURE_ARRAY: return 0x8C1D;
    case TEXTURE_CUBE_ARRAY: return 0x900A;
    case TEXTURE_RECTANGLE: return 0x84F6;
    default: return 0;
  }
}
// How a level's content is handed over by glGetTexImage of desktop OpenGL, and taken back the same way: more kinds than can be
// read through a framebuffer. `about` tells of the level.
template <class About>
bool layout_of_level(const GlContext* c, uint32_t internal, About about, Layout* l) {
  auto same = [&](uint32_t format, uint32_t components, uint32_t type, uint32_t width) {
    *l = Layout{format, type, components, format, type, components, width, width, false, 0};
    return true;
  };
  if (about(0x86A1)) return false;  // compressed
  const int32_t depth = about(0x884A), stencil = about(0x88F1);
  if (depth) {
    const bool floats = about(0x8C16) == (int32_t)FLOAT;
    if (stencil) return floats ? same(DEPTH_STENCIL, 2, FLOAT_AND_EIGHT, 4) : depth <= 24 && same(DEPTH_STENCIL, 1, TWENTY_FOUR_AND_EIGHT, 0);
    return floats ? same(DEPTH, 1, FLOAT, 4) : depth <= 16 ? same(DEPTH, 1, UNSIGNED_SHORT, 2) : same(DEPTH, 1, UNSIGNED_INT, 4);
  }
  if (stencil) return false;
  int32_t sizes[4], kind = 0, most = 0;
  for (uint32_t i = 0; i < 4; i++) {
    sizes[i] = about(0x805C + i);
    if (sizes[i] && !kind) kind = about(0x8C10 + i);
    most = sizes[i] > most ? sizes[i] : most;
  }
  const int32_t luminance = c->core ? 0 : about(0x8060), intensity = c->core ? 0 : about(0x8061);
  if (luminance) kind = about(0x8C14);
  if (intensity) kind = about(0x8C15);
  most = luminance > most ? luminance : intensity > most ? intensity : most;
  const bool old = luminance || intensity || (!sizes[0] && sizes[3]);
  if (!old && kind != (int32_t)SIGNED_NORMALIZED) return layout_of(c, sizes, (uint32_t)kind, false, internal, false, l);
  static const uint32_t formats[] = {RED, RG, RGB, RGBA};
  const uint32_t components = old ? (luminance && sizes[3] ? 2 : 1) : sizes[3] ? 4 : sizes[2] ? 3 : sizes[1] ? 2 : 1;
  const uint32_t format = !old ? formats[components - 1] : luminance ? (sizes[3] ? LUMINANCE_ALPHA : LUMINANCE) : intensity ? (uint32_t)RED : (uint32_t)ALPHA;
  if (kind == (int32_t)FLOAT) return same(format, components, FLOAT, 4);
  const bool sign = kind == (int32_t)SIGNED_NORMALIZED;
  if ((!sign && kind != (int32_t)NORMALIZED) || most > 16) return false;
  return most <= 8 ? same(format, components, sign ? BYTE : UNSIGNED_BYTE, 1) : same(format, components, sign ? SHORT : UNSIGNED_SHORT, 2);
}

bool is_face(uint32_t target) { return target >= 0x8515 && target <= 0x851A; }

// What changes pixels on their way in and out of OpenGL 1.
bool transfers_change(GlContext* c) {
  if (c->api != 1 || c->core) return false;
  auto get = DT_REAL(void, glGetFloatv, uint32_t, float*);
  if (!get || ask(c, 0x0D10, 0) || ask(c, 0x0D11, 0)) return true;
  static const uint32_t names[] = {0x0D14, 0x0D18, 0x0D1A, 0x0D1C, 0x0D1E, 0x0D15, 0x0D19, 0x0D1B, 0x0D1D, 0x0D1F, 0x0D12, 0x0D13};
  for (uint32_t name : names) {
    float value = 0;
    get(name, &value);
    const bool scale = name == 0x0D14 || name == 0x0D18 || name == 0x0D1A || name == 0x0D1C || name == 0x0D1E;
    if (value != (scale ? 1.0f : 0.0f)) return true;
  }
  return false;
}

bool is_enabled(uint32_t capability) {
  auto is = DT_REAL(uint8_t, glIsEnabled, uint32_t);
  return is && is(capability);
}

struct Image {
  uint8_t* pixels = nullptr;
  uint32_t width = 0, height = 0, depth = 0;
  Layout layout{};
  size_t bytes() const { return (size_t)width * height * depth * pixel_bytes(layout, false); }
  ~Image() { free(pixels); }
};

// Reads the framebuffer that is bound for reading: `depth` times after `next` has made the next layer its image.
template <class Next>
bool read_layers(GlContext* c, uint32_t target, uint32_t point, uint32_t internal, bool whole, Image* image, Next next) {
  auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int32_t*);
  auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
  auto read = DT_REAL(void, glReadPixels, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void*);
  if (!get || !status || !read) return false;
  PlainPack plain(c);
  for (uint32_t layer = 0; layer < image->depth; layer++) {
    next(layer);
    if (status(target) != COMPLETE) return false;
    if (!layer) {
      int32_t sizes[4] = {}, kind = NORMALIZED, encoding = 0;
      if (c->version >= 30) {
        for (uint32_t i = 0; i < 4; i++) get(target, point, 0x8212 + i, &sizes[i]);
        get(target, point, 0x8211, &kind);
        get(target, point, 0x8210, &encoding);
      } else {
        // OpenGL ES 2 does not tell how many bits there are: eight are enough unless there may be floats.
        if (has_extension(c, "GL_OES_texture_half_float") || has_extension(c, "GL_OES_texture_float")) return false;
        for (int32_t& size : sizes) size = 8;
      }
      if (!layout_of(c, sizes, (uint32_t)kind, encoding == (int32_t)SRGB, internal, whole, &image->layout)) return false;
      const uint64_t room = (uint64_t)image->width * image->height * image->depth * pixel_bytes(image->layout, true);
      if (!room || room > MOST_PIXEL_BYTES) return false;
      image->pixels = (uint8_t*)calloc(1, room);  // whatever the driver leaves out is not this program's memory
      if (!image->pixels) return false;
    }
    const Layout& l = image->layout;
    read(0, 0, (int32_t)image->width, (int32_t)image->height, l.read_format, l.read_type,
         image->pixels + (size_t)layer * image->width * image->height * pixel_bytes(l, true));
  }
  pack(image->layout, image->pixels, (size_t)image->width * image->height * image->depth);
  return true;
}

using GetTexImage = void (*)(uint32_t, int32_t, uint32_t, uint32_t, void*);
GetTexImage tex_image_of(const GlContext* c) {
  if (auto get = DT_REAL(void, glGetTexImage, uint32_t, int32_t, uint32_t, uint32_t, void*)) return get;
  // No library that the program has exports it.
  auto look_up = c->system == 1 ? DT_REAL(void*, eglGetProcAddress, const char*) : DT_REAL(void*, glXGetProcAddressARB, const char*);
  return look_up ? (GetTexImage)look_up("glGetTexImage") : nullptr;
}

// A level of a texture, as desktop OpenGL hands it over.
bool read_level(GlContext* c, GetTexImage get, const dt_target& w, Image* image) {
  auto is = DT_REAL(uint8_t, glIsTexture, uint32_t);
  auto bind = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
  auto ask_level = DT_REAL(void, glGetTexLevelParameteriv, uint32_t, int32_t, uint32_t, int32_t*);
  const uint32_t binding = is_face(w.target) ? TEXTURE_CUBE : w.target;
  if (!is || !bind || !ask_level || !binding_of(binding) || !is((uint32_t)w.name)) return false;
  const bool layers = w.target == TEXTURE_3D || w.target == TEXTURE_ARRAY || w.target == TEXTURE_CUBE_ARRAY;
  image->width = w.width, image->height = w.height, image->depth = layers ? w.depth : 1;
  const uint32_t was = (uint32_t)ask(c, binding_of(binding), 0);
  if (was != (uint32_t)w.name) bind(binding, (uint32_t)w.name);
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    ask_level(w.target, (int32_t)w.level, what, &value);
    return value;
  };
  // All of the level comes, whatever it was thought to be.
  bool good = about(0x1000) == (int32_t)w.width && about(0x1001) == (int32_t)w.height && (!layers || about(0x8071) == (int32_t)w.depth);
  good = good && layout_of_level(c, w.format, about, &image->layout);
  const uint64_t count = (uint64_t)image->width * image->height * image->depth, room = good ? count * pixel_bytes(image->layout, true) : 0;
  good = good && room && room <= MOST_PIXEL_BYTES && (image->pixels = (uint8_t*)calloc(1, room));
  if (good) {
    PlainPack plain(c);
    get(w.target, (int32_t)w.level, image->layout.read_format, image->layout.read_type, image->pixels);
    pack(image->layout, image->pixels, count);
  }
  if (was != (uint32_t)w.name) bind(binding, was);
  return good;
}

// An object's picture, through a framebuffer of our own.
bool read_object(GlContext* c, const dt_target& w, Image* image) {
  if (c->api == 1 && c->version >= 30 && w.kind == DT_TARGET_TEXTURE)
    if (const GetTexImage get = tex_image_of(c)) return read_level(c, get, w, image);
  auto gen = DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*);
  auto drop = DT_REAL(void, glDeleteFramebuffers, int32_t, const uint32_t*);
  auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
  auto flat = DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int32_t);
  auto layered = DT_REAL(void, glFramebufferTextureLayer, uint32_t, uint32_t, uint32_t, int32_t, int32_t);
  auto storage = DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t);
  if (c->version < 20 || !gen || !drop || !bind || !flat || !storage) return false;
  if (c->api == 1 && c->version < 30) return false;
  const bool two = c->version >= 30;
  const uint32_t target = two ? READ_FRAMEBUFFER : FRAMEBUFFER;
  const bool layers = w.target == TEXTURE_3D || w.target == TEXTURE_ARRAY || w.target == TEXTURE_CUBE_ARRAY;
  if (w.kind == DT_TARGET_TEXTURE) {
    // What has one dimension, or several samples a pixel, is not read.
    const bool known = w.target == TEXTURE_2D || w.target == TEXTURE_RECTANGLE || is_face(w.target) || (layers && two && layered);
    auto is = DT_REAL(uint8_t, glIsTexture, uint32_t);
    if (!known || !is || !is((uint32_t)w.name)) return false;
  } else {
    auto is = DT_REAL(uint8_t, glIsRenderbuffer, uint32_t);
    auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    auto about = DT_REAL(void, glGetRenderbufferParameteriv, uint32_t, uint32_t, int32_t*);
    if (!two || !is || !is((uint32_t)w.name) || !bind_storage || !about) return false;
    const uint32_t was = (uint32_t)ask(c, 0x8CA7, 0);
    int32_t samples = 0, width = 0, height = 0;
    bind_storage(RENDERBUFFER, (uint32_t)w.name);
    about(RENDERBUFFER, 0x8CAB, &samples);
    about(RENDERBUFFER, 0x8D42, &width);
    about(RENDERBUFFER, 0x8D43, &height);
    bind_storage(RENDERBUFFER, was);
    if (samples || width != (int32_t)w.width || height != (int32_t)w.height) return false;
  }
  image->width = w.width, image->height = w.height, image->depth = layers ? w.depth : 1;
  const uint32_t was = (uint32_t)ask(c, two ? READ_BINDING : DRAW_BINDING, 0);
  uint32_t ours = 0;
  gen(1, &ours);
  if (!ours) return false;
  bind(target, ours);
  const bool good = read_layers(c, target, COLOR_ATTACHMENT0, w.format, w.kind == DT_TARGET_RENDERBUFFER, image, [&](uint32_t layer) {
    if (w.kind == DT_TARGET_RENDERBUFFER) storage(target, COLOR_ATTACHMENT0, RENDERBUFFER, (uint32_t)w.name);
    else if (layers) layered(target, COLOR_ATTACHMENT0, (uint32_t)w.name, (int32_t)w.level, (int32_t)layer);
    else flat(target, COLOR_ATTACHMENT0, w.target, (uint32_t)w.name, (int32_t)w.level);
  });
  bind(target, was);
  drop(1, &ours);
  return good;
}

// What is drawn to the surface and not shown yet.
bool read_surface(GlContext* c, Image* image) {
  auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
  auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
  if (c->version < 30 || !bind || !read_buffer || c->draw_width <= 0 || c->draw_height <= 0) return false;
  const uint32_t draw = (uint32_t)ask(c, DRAW_BINDING, 0), read = (uint32_t)ask(c, READ_BINDING, 0);
  if (draw) bind(DRAW_FRAMEBUFFER, 0);
  if (read) bind(READ_FRAMEBUFFER, 0);
  bool good = !ask(c, SAMPLE_BUFFERS, 0);
  const uint32_t to = (uint32_t)ask(c, DRAW_BUFFER0, 0);
  good = good && (to == BACK || to == BACK_LEFT);
  const uint32_t from = (uint32_t)ask(c, READ_BUFFER, 0);
  image->width = (uint32_t)c->draw_width, image->height = (uint32_t)c->draw_height, image->depth = 1;
  if (good) {
    if (from != BACK) read_buffer(BACK);
    good = read_layers(c, READ_FRAMEBUFFER, c->api == 2 ? (uint32_t)BACK : (uint32_t)BACK_LEFT, 0, true, image, [](uint32_t) {});
    if (from != BACK) read_buffer(from);
  }
  if (read) bind(READ_FRAMEBUFFER, read);
  if (draw) bind(DRAW_FRAMEBUFFER, draw);
  return good;
}

// While it lives, the trace has uploads come from memory without gaps.
class PlainUnpack {
 public:
  PlainUnpack(Thread* t, GlContext* c) : t_(t), c_(c), buffer_(c->buffers[UNPACK]), store_(c->unpack) {
    if (buffer_) tell<uint32_t, uint32_t>(t, "glBindBuffer", UNPACK_BUFFER, 0);
    each(true);
  }
  ~PlainUnpack() {
    each(false);
    if (buffer_) tell<uint32_t, uint32_t>(t_, "glBindBuffer", UNPACK_BUFFER, buffer_);
    // What the hooks of these calls made of it, exactly.
    c_->unpack = store_;
    c_->buffers[UNPACK] = buffer_;
  }
  PlainUnpack(const PlainUnpack&) = delete;
  PlainUnpack& operator=(const PlainUnpack&) = delete;

 private:
  void each(bool plain) {
    const struct {
      uint32_t name;
      int32_t value, plain;
    } values[] = {{0x0CF5, store_.alignment, 1},   {0x0CF2, store_.row_length, 0}, {0x0CF3, store_.skip_rows, 0},   {0x0CF4, store_.skip_pixels, 0},
                  {0x0CF0, store_.swap_bytes, 0},  {0x0CF1, store_.lsb_first, 0},  {0x806D, store_.skip_images, 0}, {0x806E, store_.image_height, 0}};
    for (auto& v : values)
      if (v.value != v.plain) tell<uint32_t, int32_t>(t_, "glPixelStorei", v.name, plain ? v.plain : v.value);
  }
  Thread* t_;
  GlContext* c_;
  const uint32_t buffer_;
  const PixelStore store_;
};

void tell_texture(Thread* t, GlContext* c, const dt_target& w, const Image& image) {
  const uint32_t binding = is_face(w.target) ? TEXTURE_CUBE : w.target, name = (uint32_t)w.name;
  const uint32_t was = (uint32_t)ask(c, binding_of(binding), 0);
  const Layout& l = image.layout;
  PlainUnpack plain(t, c);
  if (was != name) tell<uint32_t, uint32_t>(t, "glBindTexture", binding, name);
  const int32_t level = (int32_t)w.level, width = (int32_t)image.width, height = (int32_t)image.height;
  if (w.target == TEXTURE_3D || w.target == TEXTURE_ARRAY || w.target == TEXTURE_CUBE_ARRAY)
    tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
        t, "glTexSubImage3D", w.target, level, 0, 0, 0, width, height, (int32_t)image.depth, l.format, l.type, image.pixels);
  else
    tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(
        t, "glTexSubImage2D", w.target, level, 0, 0, width, height, l.format, l.type, image.pixels);
  if (was != name) tell<uint32_t, uint32_t>(t, "glBindTexture", binding, was);
}

// `storage` 0: the surface.
void tell_framebuffer(Thread* t, GlContext* c, uint32_t storage, const Image& image) {
  uint32_t texture = OUR_TEXTURE, source = OUR_SOURCE, destination = OUR_DESTINATION;
  const uint32_t was = (uint32_t)ask(c, binding_of(TEXTURE_2D), 0), draw = (uint32_t)ask(c, DRAW_BINDING, 0), read = (uint32_t)ask(c, READ_BINDING, 0);
  const int32_t width = (int32_t)image.width, height = (int32_t)image.height;
  const Layout& l = image.layout;
  PlainUnpack plain(t, c);
  tell<int32_t, uint32_t*>(t, "glGenTextures", 1, &texture);
  tell<uint32_t, uint32_t>(t, "glBindTexture", TEXTURE_2D, texture);
  tell<uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*>(t, "glTexImage2D", TEXTURE_2D, 0, (int32_t)l.own_format, width, height, 0,
                                                                                                 l.format, l.type, image.pixels);
  tell<int32_t, uint32_t*>(t, "glGenFramebuffers", 1, &source);
  tell<uint32_t, uint32_t>(t, "glBindFramebuffer", READ_FRAMEBUFFER, source);
  tell<uint32_t, uint32_t, uint32_t, uint32_t, int32_t>(t, "glFramebufferTexture2D", READ_FRAMEBUFFER, COLOR_ATTACHMENT0, TEXTURE_2D, texture, 0);
  if (storage) {
    tell<int32_t, uint32_t*>(t, "glGenFramebuffers", 1, &destination);
    tell<uint32_t, uint32_t>(t, "glBindFramebuffer", DRAW_FRAMEBUFFER, destination);
    tell<uint32_t, uint32_t, uint32_t, uint32_t>(t, "glFramebufferRenderbuffer", DRAW_FRAMEBUFFER, COLOR_ATTACHMENT0, RENDERBUFFER, storage);
  } else if (draw) {
    tell<uint32_t, uint32_t>(t, "glBindFramebuffer", DRAW_FRAMEBUFFER, 0);
  }
  const bool scissor = is_enabled(SCISSOR_TEST), encodes = c->api == 1 && is_enabled(FRAMEBUFFER_SRGB);
  if (scissor) tell<uint32_t>(t, "glDisable", SCISSOR_TEST);
  if (encodes) tell<uint32_t>(t, "glDisable", FRAMEBUFFER_SRGB);
  // Says that nothing of before is needed, whatever the blit leaves out.
  const uint32_t wiped = storage ? (uint32_t)COLOR_ATTACHMENT0 : (uint32_t)COLOR;
  tell<uint32_t, int32_t, const uint32_t*>(t, "glInvalidateFramebuffer", DRAW_FRAMEBUFFER, 1, &wiped);
  tell<int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t>(t, "glBlitFramebuffer", 0, 0, width, height, 0, 0, width, height, COLOR_BIT, NEAREST);
  if (encodes) tell<uint32_t>(t, "glEnable", FRAMEBUFFER_SRGB);
  if (scissor) tell<uint32_t>(t, "glEnable", SCISSOR_TEST);
  tell<uint32_t, uint32_t>(t, "glBindFramebuffer", READ_FRAMEBUFFER, read);
  if (storage || draw) tell<uint32_t, uint32_t>(t, "glBindFramebuffer", DRAW_FRAMEBUFFER, draw);
  tell<int32_t, const uint32_t*>(t, "glDeleteFramebuffers", 1, &source);
  if (storage) tell<int32_t, const uint32_t*>(t, "glDeleteFramebuffers", 1, &destination);
  tell<uint32_t, uint32_t>(t, "glBindTexture", TEXTURE_2D, was);
  tell<int32_t, const uint32_t*>(t, "glDeleteTextures", 1, &texture);
}

bool can_tell_framebuffer(const GlContext* c) { return c->version >= (c->api == 2 ? 30u : 43u); }

bool take(Thread* t, GlContext* c, const dt_target& w) {
  if (transfers_change(c) || w.width > MOST_SIDE || w.height > MOST_SIDE || w.depth > MOST_SIDE) return false;
  Image image;
  if (w.kind == DT_TARGET_TEXTURE) {
    if (!read_object(c, w, &image)) return false;
    tell_texture(t, c, w, image);
  } else if (w.kind == DT_TARGET_RENDERBUFFER) {
    if (!can_tell_framebuffer(c) || !read_object(c, w, &image)) return false;
    tell_framebuffer(t, c, (uint32_t)w.name, image);
  } else {
    if (!can_tell_framebuffer(c) || !read_surface(c, &image)) return false;
    tell_framebuffer(t, c, 0, image);
  }
  g_targets->bytes.fetch_add(image.bytes(), std::memory_order_relaxed);
  return true;
}

}  // namespace

void take_targets(Thread* t) {
  GlContext* c = t->context;
  if (!can_ask(c) || c->api > 2 || !c->api || !c->share_group || (g_mode & (MODE_DROPPING | MODE_OFF))) return;
  const int saved = errno;
  // A list that is being made would swallow the calls.
  const bool fixed = c->api == 1 && !c->core;
  if (!(fixed && (ask(c, 0x0B33, 0) || ask(c, 0x0C40, 0x1C00) != 0x1C00))) {
    const uint32_t count = g_targets->count < DT_MOST_TARGETS ? g_targets->count : DT_MOST_TARGETS;
    for (uint32_t i = 0; i < count; i++) {
      dt_target& w = g_targets->list[i];
      if (w.kind == DT_TARGET_SURFACE ? w.name != c->draw : w.share_group != c->share_group) continue;
      uint32_t asked = DT_TARGET_ASKED;
      if (!w.state.compare_exchange_strong(asked, DT_TARGET_BUSY, std::memory_order_acq_rel)) continue;
      const bool taken = take(t, c, w);
      if (taken) emit_note(t, "pictures-taken", "the flight recorder read pictures back; calls that write them were recorded that the program did not make");
      w.state.store(taken ? DT_TARGET_TAKEN : DT_TARGET_REFUSED, std::memory_order_release);
      g_targets->open.fetch_sub(1, std::memory_order_release);
    }
  }
  t->special = SPECIAL_BUSY;
  errno = saved;
}

}  // namespace hook
}  // namespace dt
