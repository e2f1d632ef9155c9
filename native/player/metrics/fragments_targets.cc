#include "fragment_source.h"

namespace dt::play::metrics::fragments {

uint32_t FragmentSource::sampled_target(State& s, const Target& t, int samples) {
  if (s.sampled.size() > MOST_PRIVATE) drop(s.sampled);
  Private& p = s.sampled[{t.format + (static_cast<uint32_t>(samples) << 17) + (is_turned(t) ? 1u << 16 : 0u),
                          static_cast<uint32_t>(t.size.width), static_cast<uint32_t>(t.size.height)}];
  if (p.framebuffer) return p.framebuffer;
  static const uint32_t none = 0;
  const int was = integer(GL_RENDERBUFFER_BINDING);
  p.framebuffer = bind_new(GL_DRAW_FRAMEBUFFER, driver::glBindFramebuffer, driver::glGenFramebuffers);
  turn(t);
  driver::glDrawBuffers(1, &none);
  p.storage = bind_new(GL_RENDERBUFFER, driver::glBindRenderbuffer, driver::glGenRenderbuffers);
  driver::glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, t.format, t.size.width, t.size.height);
  driver::glFramebufferRenderbuffer(
      GL_DRAW_FRAMEBUFFER, t.format == GL_DEPTH_COMPONENT16 ? GL_DEPTH_ATTACHMENT : GL_DEPTH_STENCIL_ATTACHMENT,
      GL_RENDERBUFFER, p.storage);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, static_cast<uint32_t>(was));
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  return p.framebuffer;
}

void FragmentSource::depth_format(uint32_t framebuffer, int& bits, int& type) {
  int object = 0;
  uint32_t point = framebuffer ? GL_DEPTH_ATTACHMENT : GL_DEPTH;
  driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE,
                                                &object);
  if (take_error() || !object) return;
  driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE,
                                                &bits);
  driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE,
                                                &type);
  drain_errors();
}

FragmentSource::Private* FragmentSource::slot(State& s, Kind kind, const Target& t, uint32_t storage,
                                              const char*& why) {
  static const uint32_t none = 0;
  const std::array<uint32_t, 4> key{kind + (is_turned(t) ? KINDS : 0u), storage, static_cast<uint32_t>(t.size.width),
                                    static_cast<uint32_t>(t.size.height)};
  if (s.slots.size() > MOST_PRIVATE && !s.slots.contains(key)) {
    read_back(s);
    drop_slots(s);
  }
  auto& all = s.slots[key];
  for (auto& p : all)
    if (!p.waits) return &p;
  if (all.size() >= SLOTS) {
    read_back(s);
    return &all.front();
  }
  Private made;
  const int was = integer(GL_RENDERBUFFER_BINDING);
  made.framebuffer = bind_new(GL_DRAW_FRAMEBUFFER, driver::glBindFramebuffer, driver::glGenFramebuffers);
  turn(t);
  auto add = [&](uint32_t& name, uint32_t format, uint32_t point) {
    name = bind_new(GL_RENDERBUFFER, driver::glBindRenderbuffer, driver::glGenRenderbuffers);
    driver::glRenderbufferStorage(GL_RENDERBUFFER, format, t.size.width, t.size.height);
    driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, point, GL_RENDERBUFFER, name);
  };
  if (kind == STENCILS) {
    driver::glDrawBuffers(1, &none);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, made.framebuffer);
    driver::glReadBuffer(none);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, t.read);
    add(made.storage, GL_STENCIL_INDEX8, GL_STENCIL_ATTACHMENT);
    if (take_error() || driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
      driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, 0);
      driver::glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, t.size.width, t.size.height);
      driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER,
                                        made.storage);
    }
  } else {
    add(made.color, kind == STEPS_8 ? GL_R8 : GL_R16, GL_COLOR_ATTACHMENT0);
    Depth& depth = s.depths[{storage, key[2], key[3]}];
    const uint32_t point = storage == GL_DEPTH_COMPONENT16 ? GL_DEPTH_ATTACHMENT : GL_DEPTH_STENCIL_ATTACHMENT;
    if (storage == AS_TEXTURE) {
      if (!depth.texture) depth.texture = new_depth_texture(t);
      driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, depth.texture, 0);
    } else if (depth.storage) {
      driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, point, GL_RENDERBUFFER, depth.storage);
    } else {
      add(depth.storage, storage, point);
    }
  }
  driver::glBindRenderbuffer(GL_RENDERBUFFER, static_cast<uint32_t>(was));
  if (take_error() || driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    why = kind == STENCILS ? "the driver takes no framebuffer of stencil alone"
                           : "the driver takes no framebuffer with such a depth buffer";
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  all.push_back(made);
  return &all.back();
}

uint32_t FragmentSource::new_depth_texture(const Target& t) {
  static const auto image = driver::glTexImage2D;
  const auto bound = static_cast<uint32_t>(integer(GL_TEXTURE_BINDING_2D));
  const uint32_t unpack = tls.context->buffers[gl::UNPACK];
  if (unpack) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  const uint32_t name = bind_new(GL_TEXTURE_2D, driver::glBindTexture, driver::glGenTextures);
  image(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT, t.size.width, t.size.height, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT,
        nullptr);
  driver::glBindTexture(GL_TEXTURE_2D, bound);
  if (unpack) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, unpack);
  return name;
}

void FragmentSource::drop_slots(State& s) {
  for (auto& [key, all] : s.slots) {
    std::map<std::array<uint32_t, 3>, Private> one;
    for (auto& p : all) one[{static_cast<uint32_t>(one.size()), 0, 0}] = p;
    drop(one);
  }
  s.slots.clear();
  for (auto& [key, depth] : s.depths) {
    if (depth.storage) driver::glDeleteRenderbuffers(1, &depth.storage);
    if (depth.texture) driver::glDeleteTextures(1, &depth.texture);
  }
  s.depths.clear();
}

void FragmentSource::stencil_format(uint32_t framebuffer, int& bits) {
  int object = 0;
  uint32_t point = framebuffer ? GL_STENCIL_ATTACHMENT : GL_STENCIL;
  driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE,
                                                &object);
  if (take_error() || !object) return;
  driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE,
                                                &bits);
  drain_errors();
}

const char* FragmentSource::make_colored(State& s, const Target& t, bool depth, int stencil_bits) {
  static const auto image = driver::glTexImage2D;
  uint32_t kind = 0;
  if (stencil_bits)
    kind = !depth || (t.depth_bits == 24 && !t.depth_is_float) ? GL_DEPTH24_STENCIL8
           : t.depth_is_float                                  ? GL_DEPTH32F_STENCIL8
                                                               : 0u;
  else if (!depth)
    kind = 2;  // colours alone
  else
    kind = t.depth_is_float     ? GL_DEPTH_COMPONENT32F
           : t.depth_bits == 16 ? GL_DEPTH_COMPONENT16
           : t.depth_bits == 24 ? GL_DEPTH24_STENCIL8
           : t.depth_bits == 32 ? AS_TEXTURE
                                : 0;
  if (!kind) return lasting("a depth buffer of " + std::to_string(t.depth_bits) + " bits cannot be copied");
  if (s.adding.size() > MOST_PRIVATE) drop(s.adding);
  const std::array<uint32_t, 3> which{kind + (is_turned(t) ? 1u << 16 : 0u), static_cast<uint32_t>(t.size.width),
                                      static_cast<uint32_t>(t.size.height)};
  Private& c = s.adding[which];
  if (c.framebuffer) {
    s.framebuffer = c.framebuffer;
    return nullptr;
  }
  int was = integer(GL_RENDERBUFFER_BINDING);
  static uint32_t next = 0x6E000000;  // downwards, as in make_target
  c.framebuffer = c.color = next--;   // names that no program chooses
  bool chosen = true;
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, c.framebuffer);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, c.color);
  if (take_error()) {
    chosen = false;
    driver::glGenFramebuffers(1, &c.framebuffer), driver::glGenRenderbuffers(1, &c.color);
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, c.framebuffer);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, c.color);
  }
  turn(t);
  driver::glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, t.size.width, t.size.height);
  driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, c.color);
  if (kind == AS_TEXTURE) {
    int bound = integer(GL_TEXTURE_BINDING_2D);
    uint32_t unpack = tls.context->buffers[gl::UNPACK];
    if (unpack) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    chosen ? void(c.texture = next--) : driver::glGenTextures(1, &c.texture);
    driver::glBindTexture(GL_TEXTURE_2D, c.texture);
    image(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT, t.size.width, t.size.height, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT,
          nullptr);
    driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, c.texture, 0);
    driver::glBindTexture(GL_TEXTURE_2D, static_cast<uint32_t>(bound));
    if (unpack) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, unpack);
  } else if (kind != 2) {
    chosen ? void(c.storage = next--) : driver::glGenRenderbuffers(1, &c.storage);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, c.storage);
    driver::glRenderbufferStorage(GL_RENDERBUFFER, kind, t.size.width, t.size.height);
    driver::glFramebufferRenderbuffer(
        GL_DRAW_FRAMEBUFFER,
        kind == GL_DEPTH24_STENCIL8 || kind == GL_DEPTH32F_STENCIL8 ? GL_DEPTH_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT,
        GL_RENDERBUFFER, c.storage);
  }
  driver::glBindRenderbuffer(GL_RENDERBUFFER, static_cast<uint32_t>(was));
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  s.framebuffer = c.framebuffer;
  return take_error() ? "the driver takes no framebuffer with such a depth buffer" : nullptr;
}

void FragmentSource::scissored(int* box) {
  int v[4] = {};
  driver::glGetIntegerv(GL_SCISSOR_BOX, v);
  int right = std::min(box[2], v[0] + v[2]), top = std::min(box[3], v[1] + v[3]);
  box[0] = std::clamp(v[0], 0, box[2]), box[1] = std::clamp(v[1], 0, box[3]);
  box[2] = std::max(right - box[0], 0), box[3] = std::max(top - box[1], 0);
}

const char* FragmentSource::read_counts(State& s, const int* box, const Row& row, size_t channels) {
  auto width = static_cast<size_t>(box[2]), height = static_cast<size_t>(box[3]);
  if (!width || !height) return nullptr;
  s.read.assign(width * height * channels + 8, 0);
  read_pixels(box, channels == 4 ? GL_RGBA : GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, s.read.data());
  if (channels == 4)
    for (size_t i = 0; i < width * height; ++i) s.read[i] = s.read[i * 4];
  if (memchr(s.read.data(), 255, width * height)) return "more than 254 fragments of one draw lie on a pixel";
  for (size_t y = 0; y < height; ++y) {
    row(static_cast<size_t>(box[0]), y + static_cast<size_t>(box[1]), s.read.data() + y * width, width);
    if (also_counted())
      also_counted()(static_cast<size_t>(box[0]), y + static_cast<size_t>(box[1]), s.read.data() + y * width, width);
  }
  return nullptr;
}

void FragmentSource::read_pixels(const int* box, uint32_t format, uint32_t type, void* to) {
  const GlContext* c = tls.context;
  uint32_t pack = c->buffers[gl::PACK];
  if (pack) driver::glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  const gl::PixelStore& p = c->pack;
  const struct {
    uint32_t name;
    int value, plain;
  } values[] = {{GL_PACK_ALIGNMENT, p.alignment, 1},   {GL_PACK_ROW_LENGTH, p.row_length, 0},
                {GL_PACK_SKIP_ROWS, p.skip_rows, 0},   {GL_PACK_SKIP_PIXELS, p.skip_pixels, 0},
                {GL_PACK_SWAP_BYTES, p.swap_bytes, 0}, {GL_PACK_LSB_FIRST, p.lsb_first, 0}};
  for (auto& v : values)
    if (v.value != v.plain) driver::glPixelStorei(v.name, v.plain);
  driver::glReadPixels(box[0], box[1], box[2], box[3], format, type, to);
  for (auto& v : values)
    if (v.value != v.plain) driver::glPixelStorei(v.name, v.value);
  if (pack) driver::glBindBuffer(GL_PIXEL_PACK_BUFFER, pack);
}

void FragmentSource::make_target(State& s, const Target& t) {
  static const uint32_t none = 0;
  if (s.counting.size() > MOST_PRIVATE) drop(s.counting);
  Private& p = s.counting[{t.format + (is_turned(t) ? 1u << 16 : 0u), static_cast<uint32_t>(t.size.width),
                           static_cast<uint32_t>(t.size.height)}];
  if (p.framebuffer) {
    s.framebuffer = p.framebuffer;
    return;
  }
  int was = integer(GL_RENDERBUFFER_BINDING);
  {
    bool chosen = !tls.context->core;
    static uint32_t next = 0x6D000000;  // downwards
    p.framebuffer = p.storage = chosen ? next-- : 0;
    if (chosen) {
      driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, p.framebuffer);
      driver::glBindRenderbuffer(GL_RENDERBUFFER, p.storage);
      chosen = !take_error();
    }
    if (!chosen) {
      driver::glGenFramebuffers(1, &p.framebuffer);
      driver::glGenRenderbuffers(1, &p.storage);
      driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, p.framebuffer);
    }
    driver::glDrawBuffers(1, &none);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, p.framebuffer);
    driver::glReadBuffer(none);
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, p.framebuffer);
  turn(t);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, p.storage);
  driver::glRenderbufferStorage(GL_RENDERBUFFER, t.format, t.size.width, t.size.height);
  driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER, p.storage);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, static_cast<uint32_t>(was));
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, t.read);
  s.framebuffer = p.framebuffer;
}

void FragmentSource::drop(std::map<std::array<uint32_t, 3>, Private>& all) {
  for (auto& [key, p] : all) {
    if (p.framebuffer) driver::glDeleteFramebuffers(1, &p.framebuffer);
    for (uint32_t* name : {&p.color, &p.storage})
      if (*name) driver::glDeleteRenderbuffers(1, name);
    if (p.texture) driver::glDeleteTextures(1, &p.texture);
  }
  all.clear();
}

}  // namespace dt::play::metrics::fragments
