#include "fragment_source.h"

namespace dt::play::metrics::fragments {

FragmentSource::Row& FragmentSource::also_counted() {
  static Row row;
  return row;
}

const char* FragmentSource::mask_in_stencil(State& s, const Target& t, Draw& draw, uint32_t program, bool bare,
                                            bool whole, const Row& row) {
  Target plain = t;
  plain.format = GL_DEPTH24_STENCIL8;
  return counted_in_stencil(s, plain, t, row, [&] { return count_untested(draw, program, bare, whole); });
}

void FragmentSource::masks_es1(State& s, Draw& draw, Masks& to) {
  const bool alpha = enabled(GL_ALPHA_TEST),
             tests = (enabled(GL_DEPTH_TEST) && integer(GL_DEPTH_BITS) > 0) || enabled(GL_STENCIL_TEST);
  const char* why = nullptr;
  target_size(0, to.size, why);
  // In the order in which they are read.
  std::vector<Masks::Plane> order;
  if (alpha) order.push_back(Masks::KEPT);
  if (tests) order.push_back(Masks::PASSED_);
  order.push_back(Masks::GENERATED_);
  size_t at = 0, next = 0;
  const size_t width = static_cast<size_t>(to.size.width), height = static_cast<size_t>(to.size.height);
  also_counted() = [&](size_t x, size_t y, const uint8_t* row, size_t n) {
    if (y < next) ++at;  // another picture begins
    next = y + 1;
    if (at >= order.size()) return;
    auto& counts = to.counts[order[at]];
    counts.resize(width * height);
    if (y < height && x + n <= width) std::copy(row, row + n, counts.begin() + static_cast<long>(y * width + x));
  };
  s.drawn = std::make_shared<Drawn>();
  Drawn& d = *s.drawn;
  count_plain(s, d, draw, alpha);
  also_counted() = nullptr;
  to.why[Masks::GENERATED_] = d.generated.lost, to.why[Masks::KEPT] = d.survived.lost,
  to.why[Masks::PASSED_] = d.passed.lost;
  // Pictures that could not be counted were not read, and the others came too early.
  const bool shifted = (alpha && d.survived.lost) || (tests && d.passed.lost);
  if (shifted && !d.generated.lost) {
    to.counts[Masks::GENERATED_] = to.counts[order[at]];
    for (auto plane : {Masks::KEPT, Masks::PASSED_}) to.counts[plane].clear();
  }
  if (!alpha) to.counts[Masks::KEPT] = to.counts[Masks::GENERATED_];
  if (!tests) to.counts[Masks::PASSED_] = to.counts[Masks::KEPT];
  auto same = [&](Masks::Plane plane, Masks::Plane as, bool known) {
    to.why[plane] = known ? to.why[as] : "OpenGL ES 1: what this test alone leaves out is not known";
    if (known) to.counts[plane] = to.counts[as];
  };
  same(Masks::STENCILLED, Masks::KEPT, !enabled(GL_STENCIL_TEST));
  same(Masks::FACING_ANY, Masks::GENERATED_, !enabled(GL_CULL_FACE));
}

// A draw makes no fragment then, whatever keeps it from being drawn again.
void FragmentSource::masks_without_rasteriser(Masks& to, bool all) {
  const char* why = nullptr;
  if (!target_size(static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)), to.size, why) || all)
    return to.why.fill(why ? why : "nothing is rasterised");
  to.counts[Masks::GENERATED_].assign(static_cast<size_t>(to.size.width) * static_cast<size_t>(to.size.height), 0);
}

void FragmentSource::masks(Draw& draw, Masks& to, bool all) {
  if (version() >= 30 && enabled(GL_RASTERIZER_DISCARD)) return masks_without_rasteriser(to, all);
  State& s = states_[current_context()];
  const std::string missing = no_metric(MEAN);
  const char* why = *draw.refusal()                  ? draw.refusal()
                    : !missing.empty()               ? lasting(missing)
                    : integer(GL_SAMPLE_BUFFERS) > 0 ? "the target has several samples a pixel"
                                                     : unrepeatable(draw);
  auto lost = [&](const char* because) { to.why.fill(because); };
  if (why) return lost(why);
  if (is_es() && version() < 20) return masks_es1(s, draw, to);
  if (driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return lost("the framebuffer is not complete");
  Target t;
  t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
  t.read = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
  if (!target_size(t.draw, t.size, why)) return lost(why);
  to.size = t.size;
  const uint32_t program = current_program();
  const ProgramSource* source = program ? program_source(program) : nullptr;
  const bool shader = source && source->discards, alpha = fixed_function() && enabled(GL_ALPHA_TEST);
  if (source && source->reads_target) return lost("the fragment shader reads the target");
  const bool feedback = version() >= (is_es() ? 30u : 40u) && driver::glPauseTransformFeedback &&
                        driver::glResumeTransformFeedback && boolean(GL_TRANSFORM_FEEDBACK_ACTIVE) &&
                        !boolean(GL_TRANSFORM_FEEDBACK_PAUSED);
  if (feedback) driver::glPauseTransformFeedback();
  const size_t width = static_cast<size_t>(t.size.width);
  auto into = [&](Masks::Plane plane) -> Row {
    auto& counts = to.counts[plane];
    counts.assign(width * static_cast<size_t>(t.size.height), 0);
    return [&counts, width](size_t x, size_t y, const uint8_t* row, size_t n) {
      std::copy(row, row + n, counts.begin() + static_cast<long>(y * width + x));
    };
  };
  auto settle = [&](Masks::Plane plane, const char* because) {
    if ((to.why[plane] = because)) to.counts[plane].clear();
  };
  settle(Masks::GENERATED_, mask_in_stencil(s, t, draw, program, shader, true, into(Masks::GENERATED_)));
  if (all) mask_tests(s, t, draw, program, shader, shader || alpha, to, into, settle);
  if (feedback) driver::glResumeTransformFeedback();
  drain_errors();
}

void FragmentSource::mask_tests(State& s, Target t, Draw& draw, uint32_t program, bool shader, bool discards, Masks& to,
                                const std::function<Row(Masks::Plane)>& into,
                                const std::function<void(Masks::Plane, const char*)>& settle) {
  auto same = [&](Masks::Plane plane, Masks::Plane as) {
    to.counts[plane] = to.counts[as], to.why[plane] = to.why[as];
  };
  if (enabled(GL_CULL_FACE)) {
    Off off;
    off(GL_CULL_FACE);
    settle(Masks::FACING_ANY, mask_in_stencil(s, t, draw, program, shader, true, into(Masks::FACING_ANY)));
  } else {
    same(Masks::FACING_ANY, Masks::GENERATED_);
  }
  if (discards)
    settle(Masks::KEPT, mask_in_stencil(s, t, draw, program, false, false, into(Masks::KEPT)));
  else
    same(Masks::KEPT, Masks::GENERATED_);
  const bool stencil = enabled(GL_STENCIL_TEST), wanted = enabled(GL_DEPTH_TEST);
  if (wanted) storage_for(t);
  const bool depth = wanted && t.depth_bits;  // without a buffer the test passes
  const bool odd = depth && !t.format;        // no copy of it can have a stencil buffer beside it
  if (!t.format) t.format = GL_DEPTH24_STENCIL8;
  if (stencil)
    settle(Masks::STENCILLED, draw_colors(s, t, draw, program, false, true, into(Masks::STENCILLED)));
  else
    same(Masks::STENCILLED, Masks::KEPT);
  if (!depth)
    same(Masks::PASSED_, Masks::STENCILLED);
  else if (stencil || odd || (program && program_source(program)->writes_depth))
    settle(Masks::PASSED_, draw_colors(s, t, draw, program, true, stencil, into(Masks::PASSED_)));
  else
    settle(Masks::PASSED_, draw_picture(s, t, draw, program, into(Masks::PASSED_)));
}

}  // namespace dt::play::metrics::fragments
