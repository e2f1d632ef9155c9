#include "fragment_source.h"

namespace dt::play::metrics::fragments {

const char* FragmentSource::no_mirror(bool depth) {
  if (!has_extension("GL_OES_packed_depth_stencil"))
    return "OpenGL ES 1: the driver has no GL_OES_packed_depth_stencil";
  if (enabled(GL_STENCIL_TEST)) return "OpenGL ES 1: what the stencil test lets through cannot be counted";
  if (depth && integer(GL_DEPTH_BITS) != 24) return "OpenGL ES 1: the depth buffer has not 24 bits";
  return nullptr;
}

bool FragmentSource::bind_mirror(State& s, Extent size) {
  auto& m = s.mirror;
  if (m.framebuffer && (m.size.width != size.width || m.size.height != size.height)) drop_mirror(s);
  if (m.framebuffer)
    return driver::glBindFramebufferOES(GL_FRAMEBUFFER, m.framebuffer),
           driver::glCheckFramebufferStatusOES(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  static uint32_t next = 0x6C000000;  // downwards: names that no program chooses
  m.framebuffer = m.color = next--;
  m.storage = next--;
  m.size = size;
  const auto was = static_cast<uint32_t>(integer(GL_RENDERBUFFER_BINDING));
  driver::glBindFramebufferOES(GL_FRAMEBUFFER, m.framebuffer);
  driver::glBindRenderbufferOES(GL_RENDERBUFFER, m.color);
  driver::glRenderbufferStorageOES(GL_RENDERBUFFER, GL_RGBA8, size.width, size.height);
  driver::glFramebufferRenderbufferOES(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, m.color);
  driver::glBindRenderbufferOES(GL_RENDERBUFFER, m.storage);
  driver::glRenderbufferStorageOES(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, size.width, size.height);
  driver::glFramebufferRenderbufferOES(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, m.storage);
  driver::glFramebufferRenderbufferOES(GL_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, m.storage);
  driver::glBindRenderbufferOES(GL_RENDERBUFFER, was);
  return driver::glCheckFramebufferStatusOES(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
}

void FragmentSource::drop_mirror(State& s) {
  auto& m = s.mirror;
  if (m.framebuffer) {
    driver::glDeleteFramebuffersOES(1, &m.framebuffer);
    for (uint32_t* name : {&m.color, &m.storage}) driver::glDeleteRenderbuffersOES(1, name);
  }
  m = {};
}

void FragmentSource::clear_mirror(State& s, uint32_t mask) {
  const char* why = nullptr;
  Extent size;
  if (!(mask & GL_DEPTH_BUFFER_BIT) || !boolean(GL_DEPTH_WRITEMASK) || integer(GL_DRAW_FRAMEBUFFER_BINDING) ||
      integer(GL_SAMPLE_BUFFERS) > 0 || !has_extension("GL_OES_packed_depth_stencil"))
    return;
  const bool whole = !enabled(GL_SCISSOR_TEST);
  if (!whole && !s.mirror.equal) return;
  if (!target_size(0, size, why) || !bind_mirror(s, size))
    s.mirror.equal = false;
  else
    driver::glClear(GL_DEPTH_BUFFER_BIT), s.mirror.equal = true;
  driver::glBindFramebufferOES(GL_FRAMEBUFFER, 0);
  drain_errors();
}

const char* FragmentSource::count_behind(State& s, Draw& draw, Extent size, bool depth, Count& to) {
  if (const char* no = no_mirror(depth)) return no;
  if (depth && !s.mirror.equal) return "OpenGL ES 1: the depth buffer was not cleared in this frame";
  const char* why = nullptr;
  if (!bind_mirror(s, size)) {
    driver::glBindFramebufferOES(GL_FRAMEBUFFER, 0);
    s.mirror.equal = false;
    return "the driver takes no framebuffer with such a depth buffer";
  }
  const int was[] = {integer(GL_STENCIL_FUNC),
                     integer(GL_STENCIL_REF),
                     integer(GL_STENCIL_VALUE_MASK),
                     integer(GL_STENCIL_FAIL),
                     integer(GL_STENCIL_PASS_DEPTH_FAIL),
                     integer(GL_STENCIL_PASS_DEPTH_PASS),
                     integer(GL_STENCIL_WRITEMASK),
                     integer(GL_STENCIL_CLEAR_VALUE)};
  uint8_t colors[4] = {};
  driver::glGetBooleanv(GL_COLOR_WRITEMASK, colors);
  driver::glClearStencil(0);
  driver::glStencilMask(0xFF);
  {
    Off whole;
    whole(GL_SCISSOR_TEST);
    driver::glClear(GL_STENCIL_BUFFER_BIT);
  }
  driver::glStencilFunc(GL_ALWAYS, 0, 0xFF);
  driver::glStencilOp(GL_KEEP, GL_KEEP, GL_INCR);
  driver::glColorMask(0, 0, 0, 0);
  driver::glEnable(GL_STENCIL_TEST);
  {
    Off off;
    if (!depth) off(GL_DEPTH_TEST);
    if (!draw.perform()) why = "the player left it out";
  }
  driver::glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
  int box[4] = {0, 0, size.width, size.height};
  if (enabled(GL_SCISSOR_TEST)) scissored(box);
  colors_of_counts(size);
  if (!why)
    why = read_counts(s, box, [&](size_t, size_t, const uint8_t* row, size_t n) { to.value += sum_of(row, n); }, 4);
  driver::glDisable(GL_STENCIL_TEST);
  driver::glColorMask(colors[0], colors[1], colors[2], colors[3]);
  driver::glStencilFunc(static_cast<uint32_t>(was[0]), was[1], static_cast<uint32_t>(was[2]));
  driver::glStencilOp(static_cast<uint32_t>(was[3]), static_cast<uint32_t>(was[4]), static_cast<uint32_t>(was[5]));
  driver::glStencilMask(static_cast<uint32_t>(was[6]));
  driver::glClearStencil(was[7]);
  driver::glBindFramebufferOES(GL_FRAMEBUFFER, 0);
  if (!why && take_error()) why = "the driver does not give back the counts";
  if (why && depth) s.mirror.equal = false;
  return why;
}

namespace {

// A strip of four vertices covers all pixels for a while, in fixed function.
class Everywhere {
 public:
  explicit Everywhere(Extent size) {
    static constexpr float corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
    for (uint32_t cap : {GL_CULL_FACE, GL_MATRIX_PALETTE_ARB, GL_CLIP_PLANE0, GL_CLIP_PLANE1, GL_CLIP_PLANE2,
                         GL_CLIP_PLANE3, GL_CLIP_PLANE4, GL_CLIP_PLANE5}) {
      off_(cap);  // culling, a palette of matrices, planes
      drain_errors();
    }
    driver::glGetIntegerv(GL_VIEWPORT, viewport_);
    get(GL_MODELVIEW_MATRIX, matrices_[0]), get(GL_PROJECTION_MATRIX, matrices_[1]);
    for (uint32_t m : {GL_MODELVIEW, GL_PROJECTION}) mode(m), driver::glLoadIdentity();
    driver::glViewport(0, 0, size.width, size.height);
    driver::glGetPointerv(GL_VERTEX_ARRAY_POINTER, &pointer_);
    if (colored_) client(false, GL_COLOR_ARRAY);
    client(true, GL_VERTEX_ARRAY);
    bind(0);
    vertices(2, GL_FLOAT, 0, corners);
  }
  Everywhere(const Everywhere&) = delete;
  Everywhere& operator=(const Everywhere&) = delete;
  ~Everywhere() {
    bind(static_cast<uint32_t>(buffer_));
    vertices(size_, static_cast<uint32_t>(type_), stride_, pointer_);
    bind(tls.context->buffers[gl::ARRAY]);
    if (!shaped_) client(false, GL_VERTEX_ARRAY);
    if (colored_) client(true, GL_COLOR_ARRAY);
    const int* v = viewport_;
    driver::glViewport(v[0], v[1], v[2], v[3]);
    for (uint32_t i = 0; i < 2; ++i) mode(GL_MODELVIEW + i), driver::glLoadMatrixf(matrices_[i]);
    mode(mode_);
  }

 private:
  static void get(uint32_t name, float* to) { driver::glGetFloatv(name, to); }
  static void mode(uint32_t m) { driver::glMatrixMode(m); }
  static void bind(uint32_t buffer) { driver::glBindBuffer(GL_ARRAY_BUFFER, buffer); }
  static void client(bool on, uint32_t array) {
    on ? driver::glEnableClientState(array) : driver::glDisableClientState(array);
  }
  static void vertices(int size, uint32_t type, int stride, const void* at) {
    driver::glVertexPointer(size, type, stride, at);
  }
  Off off_;
  int viewport_[4] = {};
  float matrices_[2][16] = {};
  void* pointer_ = nullptr;
  const uint32_t mode_ = static_cast<uint32_t>(integer(GL_MATRIX_MODE));
  const int size_ = integer(GL_VERTEX_ARRAY_SIZE), type_ = integer(GL_VERTEX_ARRAY_TYPE),
            stride_ = integer(GL_VERTEX_ARRAY_STRIDE), buffer_ = integer(GL_VERTEX_ARRAY_BUFFER_BINDING);
  const bool shaped_ = enabled(GL_VERTEX_ARRAY), colored_ = enabled(GL_COLOR_ARRAY);
};

// Primitives add up plain colours for a while: nothing else of the program's state takes part but their shape and, with
// `tested`, the stencil test. The buffer of colours is cleared.
class PlainColors {
 public:
  explicit PlainColors(bool tested) {
    driver::glGetBooleanv(GL_COLOR_WRITEMASK, masks_);
    driver::glGetFloatv(GL_COLOR_CLEAR_VALUE, background_);
    driver::glGetFloatv(GL_CURRENT_COLOR, current_);
    if (!tested)
      for (uint32_t cap : {GL_STENCIL_TEST, GL_SAMPLE_ALPHA_TO_COVERAGE, GL_SAMPLE_COVERAGE}) off_(cap);
    // Lights, fog, logic operation, dither.
    for (uint32_t cap : {GL_DEPTH_TEST, GL_ALPHA_TEST, GL_LIGHTING, GL_FOG, GL_COLOR_LOGIC_OP, GL_DITHER}) off_(cap);
    const auto units = static_cast<uint32_t>(std::clamp(integer(GL_MAX_TEXTURE_UNITS), 1, 8));
    for (uint32_t i = GL_TEXTURE0; i < GL_TEXTURE0 + units; ++i) {
      driver::glActiveTexture(i);
      if (enabled(GL_TEXTURE_2D)) driver::glDisable(GL_TEXTURE_2D), textured_.push_back(i);
    }
    driver::glActiveTexture(active_);
    driver::glColorMask(1, 1, 1, 1);
    driver::glClearColor(0, 0, 0, 0);
    {
      Off whole;
      whole(GL_SCISSOR_TEST);
      driver::glClear(GL_COLOR_BUFFER_BIT);
    }
    driver::glEnable(GL_BLEND);
    driver::glBlendFunc(1, 1);
  }
  PlainColors(const PlainColors&) = delete;
  PlainColors& operator=(const PlainColors&) = delete;
  ~PlainColors() {
    if (!blends_) driver::glDisable(GL_BLEND);
    driver::glBlendFunc(from_, to_);
    for (uint32_t i : textured_) driver::glActiveTexture(i), driver::glEnable(GL_TEXTURE_2D);
    driver::glActiveTexture(active_);
    driver::glColor4f(current_[0], current_[1], current_[2], current_[3]);
    driver::glColorMask(masks_[0], masks_[1], masks_[2], masks_[3]);
    driver::glClearColor(background_[0], background_[1], background_[2], background_[3]);
  }

 private:
  Off off_;
  uint8_t masks_[4] = {};
  float background_[4] = {}, current_[4] = {};
  const uint32_t from_ = static_cast<uint32_t>(integer(GL_BLEND_SRC)),
                 to_ = static_cast<uint32_t>(integer(GL_BLEND_DST)),
                 active_ = static_cast<uint32_t>(integer(GL_ACTIVE_TEXTURE));
  const bool blends_ = enabled(GL_BLEND);
  std::vector<uint32_t> textured_;
};

}  // namespace

void FragmentSource::colors_of_counts(Extent size) {
  const PlainColors plain(true);
  const Everywhere everywhere(size);
  for (int bit = 1; bit < 256; bit *= 2) {
    const float value = static_cast<float>(bit) / 255.f;
    driver::glColor4f(value, value, value, value);
    driver::glStencilFunc(GL_EQUAL, bit, static_cast<uint32_t>(bit));
    driver::glDrawArrays(5, 0, 4);
  }
}

bool FragmentSource::bind_plain(State& s, Extent size) {
  const auto storage = static_cast<uint32_t>(integer(GL_RENDERBUFFER_BINDING));
  Private& p = s.adding[{0u, static_cast<uint32_t>(size.width), static_cast<uint32_t>(size.height)}];
  bool fresh = !p.framebuffer;
  if (fresh) {
    static uint32_t next = 0x6F000000;  // downwards: names that no program chooses
    p.framebuffer = p.color = next--;
  }
  driver::glBindFramebufferOES(GL_FRAMEBUFFER, p.framebuffer);
  if (fresh) {
    driver::glBindRenderbufferOES(GL_RENDERBUFFER, p.color);
    driver::glRenderbufferStorageOES(GL_RENDERBUFFER, GL_RGBA8, size.width, size.height);
    driver::glFramebufferRenderbufferOES(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, p.color);
    driver::glBindRenderbufferOES(GL_RENDERBUFFER, storage);
  }
  return driver::glCheckFramebufferStatusOES(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
}

const char* FragmentSource::draw_plain(Draw& draw) {
  const bool array = enabled(GL_COLOR_ARRAY);
  const PlainColors plain(false);
  if (array) driver::glDisableClientState(GL_COLOR_ARRAY);
  driver::glColor4f(1 / 255.f, 1 / 255.f, 1 / 255.f, 1 / 255.f);
  const bool drawn = draw.perform();
  if (array) driver::glEnableClientState(GL_COLOR_ARRAY);
  return drawn ? nullptr : "the player left it out";
}

const char* FragmentSource::read_plain(State& s, Drawn& d, const Target& t) {
  int box[4] = {0, 0, t.size.width, t.size.height};
  if (enabled(GL_SCISSOR_TEST)) scissored(box);
  Picture* picture = nullptr;
  if (pictures_) {
    picture = &frame_->pictures[{current_context(), 0}];
    if (picture->empty()) {
      picture->clear(t.size);
    } else if (picture->size.width != t.size.width || picture->size.height != t.size.height) {
      frame_->lose("a target had two sizes in one frame");
      picture = nullptr;
    }
  }
  const char* why = read_counts(
      s, box,
      [&](size_t x, size_t y, const uint8_t* counts, size_t n) {
        d.generated.value += picture ? picture->add(x, y, counts, n, frame_->sums) : sum_of(counts, n);
      },
      4);
  if (!why && take_error()) why = "the driver does not give back the counts";
  return why;
}

void FragmentSource::count_plain(State& s, Drawn& d, Draw& draw, bool alpha) {
  auto was = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
  const char* why = nullptr;
  Target t;
  if (was)
    why = "a framebuffer object of OpenGL ES 1: its size cannot be read";
  else if (integer(GL_SAMPLE_BUFFERS) > 0)
    why = "the target has several samples a pixel";
  else if (draw.flags & FLAG_LIST_CALL)
    why = draw.refusal();
  else
    target_size(0, t.size, why);
  if (why) return lose(d, why, true);
  const bool depth = enabled(GL_DEPTH_TEST) && integer(GL_DEPTH_BITS) > 0, stencil = enabled(GL_STENCIL_TEST);
  if (alpha && (discards_ || (passes_ && !depth && !stencil)))
    d.survived.lost = count_behind(s, draw, t.size, false, d.survived);
  if (passes_ && (depth || stencil)) {
    d.passed.lost = count_behind(s, draw, t.size, depth, d.passed);
    follows_ = !d.passed.lost;
  } else {
    follows_ = !depth;  // the mirror stays equal
  }
  if (!bind_plain(s, t.size)) why = "the driver takes no framebuffer of colours alone";
  if (!why) why = draw_plain(draw);
  if (!why) why = read_plain(s, d, t);
  driver::glBindFramebufferOES(GL_FRAMEBUFFER, was);
  if (why) return lose(d, why, true);
  if (fetches_) d.fetches.fragment = d.generated.value * textured_units();
  if (!depth && !stencil) d.passed = alpha ? d.survived : d.generated;
}

}  // namespace dt::play::metrics::fragments
