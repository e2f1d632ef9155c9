#include "fragment_source.h"

namespace dt::play::metrics::fragments {

uint32_t FragmentSource::storage_for(Target& t) {
  int bits = 0, type = 0;
  depth_format(t.draw, bits, type);
  if (bits == 24 && type != GL_FLOAT)
    t.format = GL_DEPTH24_STENCIL8;
  else if (bits == 32 && type == GL_FLOAT)
    t.format = GL_DEPTH32F_STENCIL8;
  t.depth_bits = bits, t.depth_is_float = type == GL_FLOAT;
  return t.format ? t.format : bits == 16 ? GL_DEPTH_COMPONENT16 : bits == 32 ? AS_TEXTURE : 0u;
}

const char* FragmentSource::count_by_pictures(State& s, Drawn& d, Draw& draw, uint32_t program,
                                              const ProgramSource* source, bool shader, bool counts, bool generated) {
  const char* why = nullptr;
  Target t;
  t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
  t.read = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
  if (integer(GL_SAMPLE_BUFFERS) > 0)
    why = "the target has several samples a pixel";
  else if (driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return nullptr;  // nothing is drawn
  else if (program && source->reads_target)
    why = "the fragment shader reads the target";
  else if (fixed_function() && !is_es() &&
           (integer(GL_INDEX_SHIFT) || integer(GL_INDEX_OFFSET) || boolean(GL_MAP_STENCIL)))
    why = "what is read back of a stencil buffer is changed by glPixelTransfer";
  else
    target_size(t.draw, t.size, why);
  if (why) {
    if (counts)
      lose(d, why, true);
    else
      frame_->lose(why);
    return why;
  }
  bool depth = passes_ && counts && enabled(GL_DEPTH_TEST), stencil = passes_ && counts && enabled(GL_STENCIL_TEST);
  const uint32_t storage = depth ? storage_for(t) : 0;
  depth = depth && t.depth_bits;  // without a buffer the test passes
  bool odd = depth && !t.format;  // no copy of it can have a stencil buffer beside it
  if (!t.format) t.format = GL_DEPTH24_STENCIL8;
  const uint64_t most = most_fragments(draw, source);
  bool steps = depth && !stencil && storage && program && !source->other_outputs && (most <= 126 || has_16_bits());
  Kind kind = most <= 126 ? STEPS_8 : STEPS_16;
  // With one draw less: the stencil buffer beside the depth counts what is not discarded, whatever the depth test
  // says.
  bool both = steps && !odd && vertices_of(draw) > FEW_VERTICES;

  bool plain = passes_ && counts && !depth && !stencil;  // nothing but the program takes fragments away
  bool makes = pictures_ || (counts && (counts_again_ || (plain && !d.discards))),
       survives = counts && d.discards && (discards_ || plain);
  auto passes = plain ? &Drawn::passed : nullptr;
  if (makes && !(both && !d.discards)) {
    Job job = new_job(s, t, true);
    if (counts || generated) job.counts = &Drawn::generated;
    if (!d.discards) job.counts_too = passes;
    why = count_in_stencil(s, t, draw, program, shader, true, std::move(job));
  }
  if (survives && !both) {
    Job job = new_job(s, t, false);
    job.counts = &Drawn::survived;
    job.counts_too = passes;
    count_in_stencil(s, t, draw, program, false, false, std::move(job));
  }
  if (!depth && !stencil) return why;
  auto add = [&](size_t, size_t, const uint8_t* row, size_t n) { d.passed.value += sum_of(row, n); };
  if (stencil || (odd && !steps)) {
    d.passed.lost = draw_colors(s, t, draw, program, depth, stencil, add);
  } else if (!steps) {
    d.passed.lost = draw_picture(s, t, draw, program, add);
  } else {
    Job job = new_job(s, t, both && makes && !d.discards);
    job.steps = &Drawn::passed;
    if (both && (d.discards ? survives : makes))
      job.stencil = true, job.counts = d.discards ? &Drawn::survived : &Drawn::generated;
    const char* no = count_in_steps(s, t, draw, program, storage, kind, std::move(job));
    if (both && !d.discards) why = no;
  }
  return why;
}

FragmentSource::Job FragmentSource::new_job(State& s, const Target& t, bool pictured) {
  Job job;
  job.drawn = s.drawn;
  job.ordinal = s.ordinal, job.made_in = frames_, job.draw = s.drawn->key;
  job.box[2] = t.size.width, job.box[3] = t.size.height;
  job.odd = !t.draw && t.size.height % 2;
  job.lists = s.lists.now;
  if (enabled(GL_SCISSOR_TEST)) scissored(job.box);
  if (!pictured || !pictures_) return job;
  Picture& picture = frame_->pictures[{current_context(), t.draw}];
  if (picture.size.width != t.size.width || picture.size.height != t.size.height) {
    if (!picture.empty()) {
      read_back(s);
      frame_->lose("a target had two sizes in one frame");
    }
    picture.clear(t.size);
    picture.framebuffer = t.draw;
  }
  job.picture = &picture;
  job.frame = frame_;
  return job;
}

const char* FragmentSource::count_in_stencil(State& s, const Target& t, Draw& draw, uint32_t program, bool bare,
                                             bool whole, Job job) {
  drain_errors();
  const char* why = nullptr;
  job.kind = STENCILS;
  job.stencil = true;
  job.slot = slot(s, STENCILS, t, 0, why);
  if (!why) {
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, job.slot->framebuffer);
    StencilState saved;
    StencilState::count();
    why = count_untested(draw, program, bare, whole);
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  return queue(s, std::move(job), why);
}

const char* FragmentSource::count_untested(Draw& draw, uint32_t program, bool bare, bool whole) {
  static const int zero = 0;
  {
    Off off;
    off(GL_SCISSOR_TEST);
    driver::glClearBufferiv(GL_STENCIL, 0, &zero);
  }
  Off off;
  tests_off(off);
  return counting_stencil([&] {
    Off coverage;
    if (whole) coverage_off(coverage);
    return perform(draw, program, bare);
  });
}

const char* FragmentSource::counting_stencil(const std::function<const char*()>& draw) {
  const bool was = enabled(GL_STENCIL_TEST);
  Off off;
  if (!is_es() && has_extension("GL_EXT_stencil_two_side")) off(GL_STENCIL_TEST_TWO_SIDE_EXT);
  driver::glEnable(GL_STENCIL_TEST);
  const char* why = draw();
  if (!was) driver::glDisable(GL_STENCIL_TEST);
  return why;
}

const char* FragmentSource::count_in_steps(State& s, const Target& t, Draw& draw, uint32_t program, uint32_t storage,
                                           Kind kind, Job job) {
  static const float white[4] = {1, 1, 1, 1};
  static const int zero = 0;
  drain_errors();
  const char* why = nullptr;
  job.kind = kind;
  job.slot = slot(s, kind, t, storage, why);
  // There is one stencil buffer beside the depth: what it counted before has to be read.
  if (job.stencil)
    for (auto& other : s.jobs)
      if (other.stencil && other.kind != STENCILS) {
        read_back(s);
        break;
      }
  if (!why) {
    Depth& depth = s.depths[{storage, static_cast<uint32_t>(t.size.width), static_cast<uint32_t>(t.size.height)}];
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, job.slot->framebuffer);
    Added steps(1 / (kind == STEPS_8 ? 255.f : 65535.f));
    std::optional<StencilState> saved;
    if (job.stencil) saved.emplace(), StencilState::count(true);
    {
      Off off;
      off(GL_SCISSOR_TEST);
      why = follow(s, t, depth);
      driver::glClearBufferfv(GL_COLOR, 0, white);
      if (job.stencil) driver::glClearBufferiv(GL_STENCIL, 0, &zero);
    }
    Off dither;
    dither(GL_DITHER);
    auto drawn = [&] { return perform(draw, program, false); };
    if (!why) why = job.stencil ? counting_stencil(drawn) : drawn();
    if (why)
      depth.epoch = 0;
    else
      follows_ = true;
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  return queue(s, std::move(job), why);
}

const char* FragmentSource::copy_tested(const Target& t, uint32_t bits) {
  const auto [width, height] = t.size;
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, t.draw);
  if (bits) driver::glBlitFramebuffer(0, 0, width, height, 0, 0, width, height, bits, GL_NEAREST);
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, t.read);
  return take_error() ? "the driver does not copy this depth buffer" : nullptr;
}

const char* FragmentSource::follow(State& s, const Target& t, Depth& depth) {
  if (depth.epoch == depth_epoch_ && depth.owner == t.draw) return nullptr;
  if (s.clear.epoch == depth_epoch_ && s.clear.owner == t.draw) {
    const bool writes = boolean(GL_DEPTH_WRITEMASK);
    if (!writes) driver::glDepthMask(1);
    driver::glClearBufferfv(GL_DEPTH, 0, &s.clear.value);
    if (!writes) driver::glDepthMask(0);
  } else {
    if (const char* why = copy_tested(t, GL_DEPTH_BUFFER_BIT)) return why;
  }
  depth.epoch = depth_epoch_;
  depth.owner = t.draw;
  return nullptr;
}

void FragmentSource::turn(const Target& t) {
  if (!is_turned(t)) return;
  // Mesa's compatibility profile has the extension, but an error for its function.
  if (is_es())
    driver::glFramebufferParameteriMESA(GL_DRAW_FRAMEBUFFER, GL_FRAMEBUFFER_FLIP_Y_MESA, 1);
  else
    driver::glFramebufferParameteri(GL_DRAW_FRAMEBUFFER, GL_FRAMEBUFFER_FLIP_Y_MESA, 1);
}

const char* FragmentSource::counted_beside(State& s, const Target& t, const Row& row, size_t channels,
                                           const std::function<const char*()>& draw) {
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, s.framebuffer);
  const char* why = nullptr;
  if (driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    why = channels == 1 ? "the driver takes no framebuffer of depth and stencil alone"
                        : "the driver takes no framebuffer with such a depth buffer";
  if (!why) {
    why = draw();
    int box[4] = {0, 0, t.size.width, t.size.height};
    if (enabled(GL_SCISSOR_TEST)) scissored(box);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, s.framebuffer);
    if (!why) why = read_counts(s, box, row, channels);
    if (!why && take_error()) why = "the driver does not give back the counts";
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, t.read);
  drain_errors();
  return why;
}

const char* FragmentSource::counted_in_stencil(State& s, const Target& made, const Target& t, const Row& row,
                                               const std::function<const char*()>& draw) {
  drain_errors();
  make_target(s, made);
  return counted_beside(s, t, row, 1, [&] {
    StencilState saved;
    StencilState::count();
    return draw();
  });
}

const char* FragmentSource::draw_picture(State& s, const Target& t, Draw& draw, uint32_t program, const Row& row) {
  return counted_in_stencil(s, t, t, row, [&]() -> const char* {
    static const int zero = 0;
    const char* why = nullptr;
    {
      Off off;
      off(GL_SCISSOR_TEST);
      why = copy_tested(t, GL_DEPTH_BUFFER_BIT);
      // After the copy: drivers have been seen to lose what was cleared before it.
      driver::glClearBufferiv(GL_STENCIL, 0, &zero);
    }
    return why ? why : counting_stencil([&] { return perform(draw, program, false); });
  });
}

const char* FragmentSource::draw_colors(State& s, const Target& t, Draw& draw, uint32_t program, bool depth,
                                        bool stencil, const Row& row) {
  static const float zero[4] = {};
  if (!program) return "no program draws it";
  int stencil_bits = 0;
  if (stencil) {
    stencil_format(t.draw, stencil_bits);
    if (stencil_bits && stencil_bits != 8) return "the stencil buffer has not 8 bits";
  }
  drain_errors();
  if (const char* why = make_colored(s, t, depth, stencil_bits)) return drain_errors(), why;
  return counted_beside(s, t, row, 4, [&]() -> const char* {
    Added added;
    {
      Off off;
      off(GL_SCISSOR_TEST);
      driver::glClearBufferfv(GL_COLOR, 0, zero);
      const uint32_t bits = (depth ? GL_DEPTH_BUFFER_BIT : 0u) | (stencil_bits ? GL_STENCIL_BUFFER_BIT : 0u);
      if (const char* why = copy_tested(t, bits)) return why;
    }
    Off off;
    if (!depth) off(GL_DEPTH_TEST);
    if (!stencil_bits) off(GL_STENCIL_TEST);
    std::string no;
    if (!use_counting_copy(program, no)) return use_program(program), lasting(no);
    const bool drawn = draw.perform();
    use_program(program);
    return drawn ? nullptr : "the player left it out";
  });
}

}  // namespace dt::play::metrics::fragments
