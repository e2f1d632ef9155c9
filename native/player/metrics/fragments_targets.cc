#include "../../mirror/frame_image.h"
#include "fragment_source.h"

namespace dt::play::metrics::fragments {

namespace {

// The program's renderbuffer is bound again.
class SameRenderbuffer {
 public:
  SameRenderbuffer() = default;
  SameRenderbuffer(const SameRenderbuffer&) = delete;
  SameRenderbuffer& operator=(const SameRenderbuffer&) = delete;
  ~SameRenderbuffer() { driver::glBindRenderbuffer(GL_RENDERBUFFER, was_); }

 private:
  const uint32_t was_ = static_cast<uint32_t>(integer(GL_RENDERBUFFER_BINDING));
};

uint32_t point_of(uint32_t format) {
  switch (format) {
    case GL_DEPTH24_STENCIL8:
    case GL_DEPTH32F_STENCIL8: return GL_DEPTH_STENCIL_ATTACHMENT;
    case GL_STENCIL_INDEX8: return GL_STENCIL_ATTACHMENT;
    case GL_RGBA8:
    case GL_R8:
    case GL_R16: return GL_COLOR_ATTACHMENT0;
    default: return GL_DEPTH_ATTACHMENT;
  }
}
// A new renderbuffer, where its format belongs in the framebuffer that is drawn to.
void attach(uint32_t& name, uint32_t format, Extent size, int samples = 0) {
  name = bind_new(GL_RENDERBUFFER, driver::glBindRenderbuffer, driver::glGenRenderbuffers);
  if (samples)
    driver::glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, size.width, size.height);
  else
    driver::glRenderbufferStorage(GL_RENDERBUFFER, format, size.width, size.height);
  driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, point_of(format), GL_RENDERBUFFER, name);
}

}  // namespace

FragmentSource::Private& FragmentSource::private_of(std::map<std::array<uint32_t, 3>, Private>& all, uint32_t kind,
                                                    const Target& t) {
  if (all.size() > MOST_PRIVATE) drop(all);
  return all[{kind + (is_turned(t) ? 1u << 16 : 0u), static_cast<uint32_t>(t.size.width),
              static_cast<uint32_t>(t.size.height)}];
}

uint32_t FragmentSource::new_framebuffer(Private& p, const Target& t) {
  p.framebuffer = bind_new(GL_DRAW_FRAMEBUFFER, driver::glBindFramebuffer, driver::glGenFramebuffers);
  turn(t);
  return p.framebuffer;
}

void FragmentSource::no_colors(const Target& t, uint32_t framebuffer) {
  static const uint32_t none = 0;
  driver::glDrawBuffers(1, &none);
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
  driver::glReadBuffer(none);
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, t.read);
}

uint32_t FragmentSource::sampled_target(State& s, const Target& t, int samples) {
  Private& p = private_of(s.sampled, t.format + (static_cast<uint32_t>(samples) << 17), t);
  if (p.framebuffer) return p.framebuffer;
  const SameRenderbuffer same;
  new_framebuffer(p, t);
  no_colors(t, p.framebuffer);
  attach(p.storage, t.format, t.size, samples);
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  return p.framebuffer;
}

namespace {
// Asks about an attachment of the framebuffer that is drawn to, where there is one.
void ask_attachment(uint32_t point, std::initializer_list<std::pair<uint32_t, int*>> questions) {
  int object = 0;
  driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE,
                                                &object);
  if (take_error() || !object) return;
  for (auto& [name, to] : questions)
    driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, name, to);
  drain_errors();
}
}  // namespace

void FragmentSource::depth_format(uint32_t framebuffer, int& bits, int& type) {
  ask_attachment(framebuffer ? GL_DEPTH_ATTACHMENT : GL_DEPTH,
                 {{GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE, &bits}, {GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &type}});
}
void FragmentSource::stencil_format(uint32_t framebuffer, int& bits) {
  ask_attachment(framebuffer ? GL_STENCIL_ATTACHMENT : GL_STENCIL, {{GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE, &bits}});
}

FragmentSource::Private* FragmentSource::slot(State& s, Kind kind, const Target& t, uint32_t storage,
                                              const char*& why) {
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
  {
    const SameRenderbuffer same;
    new_framebuffer(made, t);
    if (kind == STENCILS) {
      no_colors(t, made.framebuffer);
      attach(made.storage, GL_STENCIL_INDEX8, t.size);
      if (take_error() || driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, 0);
        driver::glDeleteRenderbuffers(1, &made.storage);
        attach(made.storage, GL_DEPTH24_STENCIL8, t.size);
      }
    } else {
      attach(made.color, kind == STEPS_8 ? GL_R8 : GL_R16, t.size);
      Depth& depth = s.depths[{storage, key[2], key[3]}];
      if (storage == AS_TEXTURE)
        attach_texture(depth.texture, t);
      else if (depth.storage)
        driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, point_of(storage), GL_RENDERBUFFER, depth.storage);
      else
        attach(depth.storage, storage, t.size);
    }
  }
  if (take_error() || driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    why = kind == STENCILS ? "the driver takes no framebuffer of stencil alone"
                           : "the driver takes no framebuffer with such a depth buffer";
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  all.push_back(made);
  return &all.back();
}

void FragmentSource::attach_texture(uint32_t& name, const Target& t) {
  static const auto image = driver::glTexImage2D;
  if (!name) {
    const auto bound = static_cast<uint32_t>(integer(GL_TEXTURE_BINDING_2D));
    const uint32_t unpack = tls.context->buffers[gl::UNPACK];
    if (unpack) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    name = bind_new(GL_TEXTURE_2D, driver::glBindTexture, driver::glGenTextures);
    image(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT, t.size.width, t.size.height, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT,
          nullptr);
    driver::glBindTexture(GL_TEXTURE_2D, bound);
    if (unpack) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, unpack);
  }
  driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, name, 0);
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

const char* FragmentSource::make_colored(State& s, const Target& t, bool depth, int stencil_bits) {
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
  Private& c = private_of(s.adding, kind, t);
  s.framebuffer = c.framebuffer;
  if (c.framebuffer) return nullptr;
  {
    const SameRenderbuffer same;
    s.framebuffer = new_framebuffer(c, t);
    attach(c.color, GL_RGBA8, t.size);
    if (kind == AS_TEXTURE)
      attach_texture(c.texture, t);
    else if (kind != 2)
      attach(c.storage, kind, t.size);
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
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
  const gl::PlainPack plain(tls.context, 1);
  driver::glReadPixels(box[0], box[1], box[2], box[3], format, type, to);
}

void FragmentSource::make_target(State& s, const Target& t) {
  Private& p = private_of(s.counting, t.format, t);
  s.framebuffer = p.framebuffer;
  if (p.framebuffer) return;
  const SameRenderbuffer same;
  s.framebuffer = new_framebuffer(p, t);
  no_colors(t, p.framebuffer);
  attach(p.storage, t.format, t.size);
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
