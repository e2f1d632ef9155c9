#include "pixel_history.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../line.h"
#include "call_shapes.h"
#include "draw_state.h"
#include "gl_enums.h"
#include "programs.h"

namespace dt::play::metrics {
namespace {

// The kind of a call that may change images, or which of them are bound, without drawing; nullptr: it does not.
const char* other_kind(const Call& call, uint32_t shapes) {
  if (shapes & SHAPE_IMAGE_UPLOAD) return "upload";
  if (shapes & SHAPE_IMAGE_COPY) return "copy";
  if (shapes & SHAPE_CLEAR_OBJECT) return "clear";
  if (shapes & SHAPE_IMAGE_CHANGE) return "other";
  if (call.flags & (FLAG_FRAMEBUFFER_BIND | FLAG_MAKE_CURRENT)) return "between";
  return call.flags & FLAG_LIST_CALL ? "draw" : nullptr;
}

// Draws are seen at one pixel alone, and write nothing.
class OneUnseen {
 public:
  OneUnseen(int x, int y) {
    several_ = !is_es() && version() >= 41 ? std::clamp(integer(GL_MAX_VIEWPORTS), 1, 16) : 1;
    for (int i = 0; i < several_; ++i) {
      if (several_ == 1) {
        driver::glGetIntegerv(GL_SCISSOR_BOX, boxes_[0]);
        on_[0] = enabled(GL_SCISSOR_TEST);
      } else {
        driver::glGetIntegeri_v(GL_SCISSOR_BOX, static_cast<uint32_t>(i), boxes_[i]);
        on_[i] = driver::glIsEnabledi(GL_SCISSOR_TEST, static_cast<uint32_t>(i));
      }
    }
    driver::glScissor(x, y, 1, 1);
    driver::glEnable(GL_SCISSOR_TEST);
    two_sides_ = version() >= 20;
    front_ = integer(GL_STENCIL_WRITEMASK);
    if (two_sides_) back_ = integer(GL_STENCIL_BACK_WRITEMASK);
    driver::glStencilMask(0);
  }
  OneUnseen(const OneUnseen&) = delete;
  OneUnseen& operator=(const OneUnseen&) = delete;
  ~OneUnseen() {
    for (int i = 0; i < several_; ++i) {
      const int* b = boxes_[i];
      const auto n = static_cast<uint32_t>(i);
      if (several_ == 1) {
        driver::glScissor(b[0], b[1], b[2], b[3]);
        on_[0] ? driver::glEnable(GL_SCISSOR_TEST) : driver::glDisable(GL_SCISSOR_TEST);
      } else {
        driver::glScissorIndexed(n, b[0], b[1], b[2], b[3]);
        (on_[i] ? driver::glEnablei : driver::glDisablei)(GL_SCISSOR_TEST, n);
      }
    }
    if (!two_sides_)
      driver::glStencilMask(static_cast<uint32_t>(front_));
    else
      driver::glStencilMaskSeparate(GL_FRONT, static_cast<uint32_t>(front_)),
          driver::glStencilMaskSeparate(GL_BACK, static_cast<uint32_t>(back_));
  }
  // Returns whether the program's own scissor leaves out the pixel.
  bool outside(int x, int y) const {
    const int* b = boxes_[0];
    return on_[0] && (x < b[0] || y < b[1] || x >= b[0] + b[2] || y >= b[1] + b[3]);
  }

 private:
  int several_ = 1, boxes_[16][4] = {}, front_ = 0, back_ = 0;
  bool on_[16] = {}, two_sides_ = false;
  Masked masked_;
};

// Occlusion queries, by whatever name the context has them.
struct Occlusion {
  uint32_t target = 0;
  bool only_any = false;
  const char* why = nullptr;
  void (*gen)(int, uint32_t*) = nullptr;
  void (*begin)(uint32_t, uint32_t) = nullptr;
  void (*end)(uint32_t) = nullptr;
  void (*result)(uint32_t, uint32_t, uint32_t*) = nullptr;
};
Occlusion occlusion() {
  Occlusion o;
  const bool es = is_es(), old = es && version() < 30;
  if (es && version() < 20)
    o.why = "OpenGL ES 1 has no occlusion queries";
  else if (old && !has_extension("GL_EXT_occlusion_query_boolean"))
    o.why = "the driver has no GL_EXT_occlusion_query_boolean";
  else if (!es && version() < 15)
    o.why = "OpenGL 1.5 has occlusion queries";
  if (o.why) return o;
  o.target = es ? GL_ANY_SAMPLES_PASSED : GL_SAMPLES_PASSED;
  o.only_any = es || integer(GL_SAMPLE_BUFFERS) > 0;
  o.gen = old ? driver::glGenQueriesEXT : driver::glGenQueries;
  o.begin = old ? driver::glBeginQueryEXT : driver::glBeginQuery;
  o.end = old ? driver::glEndQueryEXT : driver::glEndQuery;
  o.result = old ? driver::glGetQueryObjectuivEXT : driver::glGetQueryObjectuiv;
  if (!o.gen || !o.begin || !o.end || !o.result) o.why = "the driver has no occlusion queries";
  return o;
}

bool is_clear(const Draw& draw) { return draw.flags & FLAG_CLEAR; }

// Returns whether the program's scissor leaves out a pixel.
bool scissored(int x, int y) {
  int b[4] = {};
  if (!enabled(GL_SCISSOR_TEST)) return false;
  driver::glGetIntegerv(GL_SCISSOR_BOX, b);
  return x < b[0] || y < b[1] || x >= b[0] + b[2] || y >= b[1] + b[3];
}

// Returns whether a blit's rectangle has a pixel.
bool within(const Call& blit, int x, int y) {
  auto side = [&](const char* name) { return static_cast<int32_t>(blit.number(name)); };
  const auto [left, right] = std::minmax({side("dstX0"), side("dstX1")});
  const auto [low, high] = std::minmax({side("dstY0"), side("dstY1")});
  return x >= left && x < right && y >= low && y < high;
}

// The state that keeps fragments that pass every test from leaving a trace.
const char* masks() {
  uint8_t mask[4] = {};
  driver::glGetBooleanv(GL_COLOR_WRITEMASK, mask);
  const bool colors = mask[0] || mask[1] || mask[2] || mask[3];
  if (colors) return nullptr;
  return boolean(GL_DEPTH_WRITEMASK) && enabled(GL_DEPTH_TEST) ? "colour is masked" : "colour and depth are masked";
}

}  // namespace

void PixelHistory::see(const Call& call) {
  const uint32_t shapes = shapes_of(call.name);
  if (!(shapes & SHAPE_KEEPS_IMAGES)) stale_ = true;
  const char* kind = other_kind(call, shapes);
  other_ = {call.seq, kind != nullptr, kind, !strcmp(call.name, "glBlitFramebuffer") && within(call, x_, y_)};
}

void PixelHistory::remember(uint64_t seq, const PixelValues& now) {
  auto one = [&](const PixelValue& v) {
    if (!v.image.empty() && v.count) known_[v.image + v.kind] = {v, seq};
  };
  for (auto& color : now.colors) one(color);
  one(now.depth), one(now.stencil);
  last_ = now;
  stale_ = false;
}

// An image that is not as it was left has been written to by something that draws nothing to it.
bool PixelHistory::compare(uint64_t seq, const PixelValues& now, const char* kind) {
  PixelEvent e;
  e.kind = kind;
  bool any = false;
  uint64_t since = 0;
  auto one = [&](const PixelValue& v, PixelValue& was) {
    auto it = known_.find(v.image + v.kind);
    if (v.image.empty() || !v.count || it == known_.end() || it->second.first.same(v)) return;
    was = it->second.first, any = true, since = std::max(since, it->second.second);
  };
  const bool between = !strcmp(kind, "between");
  e.before = e.after = now;
  for (size_t i = 0; i < now.colors.size(); ++i) one(now.colors[i], e.before.colors[i]);
  one(now.depth, e.before.depth), one(now.stencil, e.before.stencil);
  if (!any && (between || !other_.covers)) return false;
  e.call = between ? since : seq, e.until = between ? seq : 0;
  if (!between && other_.covers) {
    e.tested = e.only_any = true;
    e.through[COVERS] = 1;
    if (scissored(x_, y_)) e.through[SCISSOR] = 0;
  }
  events_.push_back(e);
  return true;
}

void PixelHistory::around(Draw& draw, uint64_t seq) {
  if (waits_) played(seq);
  PixelEvent e;
  e.call = seq;
  e.before = stale_ ? read_pixel(x_, y_) : last_;
  if (stale_) compare(seq, e.before), remember(seq, e.before);
  e.kind = is_clear(draw) ? "clear" : "draw";
  if (draw.flags & FLAG_DISPATCH) return stale_ = true, void();
  // Those of objects write to images that are named, not to those that are bound.
  if (shapes_of(draw.name) & SHAPE_CLEAR_OBJECT) return stale_ = true, void();
  if (is_clear(draw)) {
    e.tested = true;
    e.through[COVERS] = 1;
    e.only_any = true;
    if (scissored(x_, y_)) e.through[SCISSOR] = 0;
  } else if (version() >= 30 && enabled(GL_RASTERIZER_DISCARD)) {
    return;
  } else {
    test(draw, e);
  }
  e.masked = masks();
  events_.push_back(std::move(e));
  waits_ = true;
  drain_errors();
}

int64_t PixelHistory::let_through(Draw& draw, uint32_t program, bool bare, uint32_t query) {
  const Occlusion o = occlusion();
  std::string why;
  if (bare && !use_bare_copy(program, why)) return use_program(program), -1;
  o.begin(o.target, query);
  const bool drew = draw.perform();
  o.end(o.target);
  if (bare) use_program(program);
  return drew ? 1 : -1;
}

void PixelHistory::test(Draw& draw, PixelEvent& e) {
  const Occlusion o = occlusion();
  const uint32_t program = version() >= 20 ? static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM)) : 0;
  if ((e.unknown = o.why ? o.why : unrepeatable(draw, program))) return;
  const bool feedback = version() >= (is_es() ? 30u : 40u) && driver::glPauseTransformFeedback &&
                        driver::glResumeTransformFeedback && boolean(GL_TRANSFORM_FEEDBACK_ACTIVE) &&
                        !boolean(GL_TRANSFORM_FEEDBACK_PAUSED);
  auto& queries = queries_[current_context()];
  if (queries.empty()) queries.resize(PIXEL_TESTS), o.gen(PIXEL_TESTS, queries.data());
  const bool discards = program && program_source(program)->discards,
             coverage = (fixed_function() && enabled(GL_ALPHA_TEST)) ||
                        (integer(GL_SAMPLE_BUFFERS) > 0 &&
                         (enabled(GL_SAMPLE_ALPHA_TO_COVERAGE) || enabled(GL_SAMPLE_COVERAGE) ||
                          (version() >= (is_es() ? 31u : 32u) && enabled(GL_SAMPLE_MASK)))),
             stencil = enabled(GL_STENCIL_TEST), depth = enabled(GL_DEPTH_TEST), culls = enabled(GL_CULL_FACE);
  const bool wanted[PIXEL_TESTS] = {true, culls, false, discards, coverage, stencil, depth};
  if (feedback) driver::glPauseTransformFeedback();
  drain_errors();
  bool outside = false;
  {
    const OneUnseen unseen(x_, y_);
    outside = unseen.outside(x_, y_);
    for (uint8_t t = 0; t < PIXEL_TESTS && !e.unknown; ++t) {
      if (!wanted[t]) continue;
      Off off;
      if (t < CULLING) off(GL_CULL_FACE);
      if (t < COVERAGE) coverage_off(off);
      if (t < STENCIL) off(GL_STENCIL_TEST);
      if (t < DEPTH) {
        off(GL_DEPTH_TEST);
        if (!is_es() && has_extension("GL_EXT_depth_bounds_test")) off(GL_DEPTH_BOUNDS_TEST_EXT);
      }
      if (let_through(draw, program, discards && t < DISCARD, queries[t]) < 0) e.unknown = "it cannot be drawn again";
    }
  }
  if (feedback) driver::glResumeTransformFeedback();
  const ResultsHere here;
  for (uint8_t t = 0; t < PIXEL_TESTS && !e.unknown; ++t) {
    if (!wanted[t]) continue;
    uint32_t counted = 0;
    o.result(queries[t], GL_QUERY_RESULT, &counted);
    e.through[t] = outside && t > SCISSOR ? 0 : counted;
  }
  if (outside) e.through[SCISSOR] = 0;
  if (take_error()) e.unknown = "the driver refuses to draw it under a query";
  e.tested = !e.unknown;
  e.only_any = o.only_any;
  drain_errors();
}

void PixelHistory::played(uint64_t seq) {
  if (!waits_) {
    if (!other_.reads || other_.seq != seq) return;
    const PixelValues now = read_pixel(x_, y_);
    compare(seq, now, other_.kind);
    return remember(seq, now);
  }
  waits_ = false;
  PixelEvent& e = events_.back();
  e.after = read_pixel(x_, y_);
  remember(seq, e.after);
  const bool seen = any_changed(e) || !e.tested || e.through[COVERS];
  if (!seen) events_.pop_back();
}

void PixelHistory::write(FILE* to, unsigned buffer) {
  const PixelValues now = read_pixel(x_, y_);
  compare(other_.seq, now);
  const PixelValue* image = buffer < now.colors.size() && !now.colors[buffer].image.empty() ? &now.colors[buffer]
                            : now.colors.empty() && !now.depth.image.empty()                ? &now.depth
                                                                                            : nullptr;
  const char* why = !image ? "there is no such image to read back here" : image->count ? nullptr : image->why;
  Extent size;
  const char* no_size = nullptr;
  const bool sized =
      version() &&
      target_size(version() >= (is_es() ? 20u : 30u) ? static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)) : 0,
                  size, no_size);
  if (sized && !why && (x_ >= size.width || y_ >= size.height))
    why = lasting("the image has " + std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels");
  JsonObject line;
  auto& out = line.put("x", x_).put("y", y_).put("why", why).writer();
  out.put("format", image ? image->kind : nullptr);
  write_values(out, "now", now, buffer);
  out.list("events");
  for (auto& e : events_) {
    if (!image) break;
    // Another draw may have the image at another place.
    const auto at =
        std::find_if(e.after.colors.begin(), e.after.colors.end(), [&](auto& v) { return v.image == image->image; });
    if (at == e.after.colors.end() && e.after.depth.image != image->image) continue;
    write_event(out, e, static_cast<size_t>(at - e.after.colors.begin()));
  }
  out.end();
  put_line(to, line);
}

void PixelHistory::forget() { queries_.clear(); }

}  // namespace dt::play::metrics
