#include "fragment_source.h"

namespace dt::play::metrics::fragments {

void FragmentSource::count_by_queries(State& s, Drawn& d, Draw& draw, uint32_t program, bool shader, bool generated) {
  if (!generated && !(discards_ && d.discards)) return;
  s.kept.end();
  Masked masked;
  Off tests;
  tests_off(tests);
  auto count = [&](Count& c, bool bare) {
    if (c.lost) return;
    c.query = take(s);
    driver::glBeginQuery(GL_SAMPLES_PASSED, c.query);
    c.lost = perform(draw, program, bare);
    driver::glEndQuery(GL_SAMPLES_PASSED);
  };
  if (generated) {
    Off off;
    coverage_off(off);
    count(d.sampled ? d.samples_generated : d.generated, shader);
  }
  if (discards_ && d.discards) count(d.sampled ? d.samples_survived : d.survived, false);
}

void FragmentSource::count_sampled(State& s, Drawn& d, Draw& draw, uint32_t program, bool shader, bool leaves_out,
                                   bool queries, bool here) {
  d.sampled = true;
  if (queries && counts_again_) count_by_queries(s, d, draw, program, shader, true);
  drain_errors();
  if (driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) return;  // nothing is drawn
  Target t;
  t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)),
  t.read = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
  std::string no = FetchCounter::missing();
  const char* why = no.empty() ? nullptr : lasting(no);
  if (!why && (draw.given().vertices < 0 && !(draw.flags & FLAG_DRAW))) why = "it is no draw of primitives";
  if (!why && !has_placing_copy(program, true, Placed::SAMPLES, no)) why = lasting(no);
  if (!why) target_size(t.draw, t.size, why);
  if (!why && !make_lists(s, t.size)) why = "the driver does not give back the counts";
  if (why) {
    for (Count* c : {&d.generated, &d.survived, &d.passed}) c->lost = why;
    if (!queries) d.samples_generated.lost = d.samples_survived.lost = d.samples_passed.lost = why;
    if (pictures_) frame_->lose(why);
    return;
  }
  const uint64_t last = last_made(s, d.key);
  const bool tests = enabled(GL_DEPTH_TEST) || enabled(GL_STENCIL_TEST), plain = passes_ && !tests;
  Off each;
  coverage_off(each);
  if (version() >= (is_es() ? 32u : 40u)) each(GL_SAMPLE_SHADING);
  auto counted = [&](bool pictured, Count Drawn::* fragments, Count Drawn::* samples) {
    Job job = new_job(s, t, pictured);
    job.counts = fragments;
    if (!pictured) job.placed = Placed::SAMPLES, job.samples = queries ? nullptr : samples;
    return job;
  };
  s.kept.begin();
  if (pictures_) list(s, t, draw, program, true, last, counted(true, nullptr, nullptr));
  if (counts_again_ || (plain && !d.discards)) {
    Job job = counted(false, &Drawn::generated, &Drawn::samples_generated);
    if (plain && !d.discards) job.counts_too = &Drawn::passed, job.samples_too = !queries;
    list(s, t, draw, program, true, last, std::move(job));
  }
  if (d.discards && (discards_ || plain)) {
    if (leaves_out || !program)
      why = "the alpha test or coverage leaves out samples: see samples_discarded and samples_passed";
    else if (!has_placing_copy(program, false, Placed::SAMPLES, no))
      why = lasting(no);
    if (!why) {
      Job job = counted(false, &Drawn::survived, &Drawn::samples_survived);
      if (plain) job.counts_too = &Drawn::passed, job.samples_too = !queries;
      list(s, t, draw, program, false, last, std::move(job));
    } else {
      d.survived.lost = why;
      if (plain) d.passed.lost = why;
      if (!queries) d.samples_survived.lost = why;
      if (!queries && plain) d.samples_passed.lost = why;
    }
  }
  if (!passes_ || !tests) return;
  if (!queries) d.samples_passed.lost = "OpenGL ES does not tell which samples pass the tests";
  Job job = counted(false, &Drawn::passed, nullptr);
  if (d.discards) {
    d.passed.lost = "of fragments that pass discards and tests, the driver counts samples only: see samples_passed";
  } else if (!is_es()) {
    d.passed.lost = list_behind(s, t, draw, program, std::move(job));
  } else if (here && alone && program && !program_source(program)->writes_depth &&
             !program_source(program)->reads_target && has_placing_copy(program, false, Placed::SAMPLES, no)) {
    // OpenGL ES copies no depth of several samples: the program's own draw counts.
    s.in_place = {
        .program = program, .target = t.draw, .size = t.size, .few = 0, .writes = d.writes, .job = std::move(job)};
  } else {
    d.passed.lost =
        draw.in_query
            ? "OpenGL ES copies no depth buffer with several samples, and the program's own query counts the draw"
            : "OpenGL ES copies no depth buffer with several samples; in a pass with nothing but fragments:* they are "
              "counted";
  }
}

const char* FragmentSource::list_behind(State& s, Target t, Draw& draw, uint32_t program, Job job) {
  int depth = 0, type = 0, stencil = 0;
  depth_format(t.draw, depth, type);
  stencil_format(t.draw, stencil);
  if (depth && depth != 16 && depth != 24 && (depth != 32 || type != GL_FLOAT))
    return lasting("a depth buffer of " + std::to_string(depth) + " bits and several samples cannot be copied");
  t.format = depth == 16 && !stencil ? GL_DEPTH_COMPONENT16 : depth == 32 ? GL_DEPTH32F_STENCIL8 : GL_DEPTH24_STENCIL8;
  drain_errors();
  const uint32_t framebuffer = sampled_target(s, t, integer(GL_SAMPLES));
  const char* why = take_error() ? "the driver takes no framebuffer with such a depth buffer" : nullptr;
  place(s, job, draw, program, true, false, 0);
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
  if (!why && driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    why = "the driver takes no framebuffer with such a depth buffer";
  if (!why) {
    Off off;
    off(GL_SCISSOR_TEST);
    why = copy_tested(t, (depth ? GL_DEPTH_BUFFER_BIT : 0u) | (stencil ? GL_STENCIL_BUFFER_BIT : 0u));
  }
  if (!why) {
    Off missing;
    if (!depth) missing(GL_DEPTH_TEST);
    if (!stencil) missing(GL_STENCIL_TEST);
    take_storage(s);
    use_copy(s, program, true, job.placed, place_of(job, t.size), framebuffer, t.size);
    why = draw.perform() ? nullptr : "the player left it out";
    use_program(program);
    s.storage.give_back();
  }
  driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, t.draw);
  return queue(s, std::move(job), why);
}

void FragmentSource::count_fetches(State& s, Drawn& d, Draw& draw, uint32_t program, bool samples) {
  if (program && program_source(program)->reads_target) {
    d.fetches.lost = "the fragment shader reads the target";
    return;
  }
  // Where each fragment reads as often, it is enough to know how many there are.
  if (program && counts_again_ && !samples && (d.reads = reads_of_each_fragment(program)) >= 0) return;
  drain_errors();
  if (!s.fetches.begin(program, d.fetches)) return;
  {
    Masked masked;
    Off tests;
    tests_off(tests);
    if (const char* why = perform(draw, program, false)) d.fetches.lost = why;
  }
  s.fetches.end();
  use_program(program);
  if (take_error()) d.fetches.lost = "the driver refuses to draw it with shaders that count";
}

}  // namespace dt::play::metrics::fragments
