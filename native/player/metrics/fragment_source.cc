#include "fragment_source.h"

#include "call_shapes.h"

namespace dt::play::metrics::fragments {

void FragmentSource::see(const Call& call) {
  const Changes changes = changes_of(call);
  if (changes.uniforms) uniform_epoch_ = next_epoch();
  if (!call.in_list && changes.depth) ++depth_epoch_;
}

void FragmentSource::around(Draw& draw) {
  State& s = states_[current_context()];
  abandon(s);
  if (s.in_place && goes_on(s, draw)) {
    ++frame_->draws;
    return;
  }
  restore(nullptr);
  if (s.begun != frames_) {
    s.begun = frames_;
    if (std::any_of(s.jobs.begin(), s.jobs.end(), [](auto& j) { return j.kind == LISTED; })) turn_lists(s);
  }
  const bool queries = no_queries().empty();
  if (!(draw.flags & FLAG_DRAW) && !*draw.refusal() && draw.given().vertices <= 0) {
    if (passes_ && !queries && !strcmp(draw.name, "glClear")) {
      const auto mask = static_cast<uint32_t>(draw.number("mask"));
      version() < 20 ? clear_mirror(s, mask) : cleared(s, mask);
    }
    return;
  }
  follows_ = false;
  count(s, draw, queries);
  ++s.ordinal;
  if (!alone || draw.in_query) s.kept.end();  // somebody else may want such a query
  // Draws that our depth buffers do not follow leave them behind.
  if (!follows_ && passes_ && !queries && enabled(GL_DEPTH_TEST) && boolean(GL_DEPTH_WRITEMASK))
    ++depth_epoch_, s.mirror.equal = false;
  drain_errors();
}

bool FragmentSource::restore(const Call* next) {
  State& s = states_[current_context()];
  if (!s.in_place) return false;
  const Changes changes = next ? changes_of(*next) : Changes{};
  if (changes.nothing) return true;
  if (!s.in_place->put_off.empty()) {
    if (changes.inputs && changes.uniforms)
      s.in_place->stale = true;
    else if (!changes.inputs || !stay_put_off(*s.in_place, *next))
      draw_put_off(s);
  }
  if (changes.inputs) {
    // The next draw may be counted like this one. Their changes of a program are changes of the program that is
    // current.
    if (changes.uniforms && !s.in_place->left) use_program(s.in_place->program), s.in_place->left = true;
    return true;
  }
  if (!s.in_place->left) use_program(s.in_place->program);
  s.storage.give_back();
  s.in_place.reset();
  return false;
}

bool FragmentSource::begin(uint64_t segment, std::string& why) {
  State& s = states_[current_context()];
  if (segment == TRIAL || !s.asked) {
    s.asked = true;
    for (auto& e : entries_)
      if (std::string no = no_metric(e.what); !no.empty()) s.why = lasting(no);
  }
  if (s.why) return why = s.why, false;
  Pending p;
  p.segment = segment;
  if (segment == TRIAL && passes_ && no_queries().empty()) {
    // The flag says whether the driver's only query of samples is free beside the others of the pass.
    p.drawn = std::make_shared<Drawn>();
    p.drawn->real = true;
    p.drawn->passed.query = take(s);
    s.kept.end();
    driver::glBeginQuery(GL_SAMPLES_PASSED, p.drawn->passed.query);
    if (take_error()) {
      give_back(s, *p.drawn);
      return why = "the driver refuses another query of samples beside the one that runs", false;
    }
  } else if (segment != TRIAL && segment != CALIBRATION) {
    p.drawn = std::move(s.drawn);
    if (p.drawn && p.drawn->own && !p.drawn->queried().lost) {
      p.drawn->queried().query = p.drawn->own->name;
      p.drawn->real = false;
    } else if (p.drawn && p.drawn->real && !p.drawn->queried().lost) {
      p.drawn->queried().query = take(s);
      s.kept.end();
      driver::glBeginQuery(GL_SAMPLES_PASSED, p.drawn->queried().query);
    } else if (p.drawn) {
      p.drawn->real = false;
    }
  }
  s.pending.push_back(std::move(p));
  return true;
}

void FragmentSource::end() {
  State& s = states_[current_context()];
  Pending& p = s.pending.back();
  if (p.drawn && p.drawn->real) driver::glEndQuery(GL_SAMPLES_PASSED);
  p.ended = true;
  if (p.segment == TRIAL) {
    if (p.drawn) give_back(s, *p.drawn);
    s.pending.pop_back();
    return;
  }
  if (!pictures_) return;
  p.overdraw = frame_->sums;
  if (frame_->why) p.overdraw.why = frame_->why;
  // The draws so far are known when the last of its pictures is read.
  auto last = std::find_if(s.jobs.rbegin(), s.jobs.rend(), [&](const Job& j) { return j.frame == frame_; });
  if (last != s.jobs.rend()) last->dependents.push_back(&p), p.unread = true;
}

void FragmentSource::collect(Sink& to, bool wait) {
  auto it = states_.find(current_context());
  if (it == states_.end()) return;
  State& s = it->second;
  if (wait) s.kept.end();
  while (!s.pending.empty() && s.pending.front().ended) {
    Pending& p = s.pending.front();
    bool now = wait || s.pending.size() > MOST_DRAWS_KEPT;
    if (!ready(s, p, now) || (p.drawn && !s.fetches.take(p.drawn->fetches, now))) return;
    for (auto& e : entries_) deliver(to, p, e);
    if (p.drawn) give_back(s, *p.drawn);
    s.pending.pop_front();
  }
}

void FragmentSource::leave() {
  auto it = states_.find(current_context());
  uniform_epoch_ = next_epoch();  // programs are shared
  if (it == states_.end()) return;
  it->second.kept.end();
  it->second.mirror.equal = false;  // other surfaces may come
  read_back(it->second);
}

bool FragmentSource::pending(const void* context) const {
  auto it = states_.find(context);
  return it != states_.end() && !it->second.pending.empty();
}

void FragmentSource::forget(const void* context) {
  auto it = states_.find(context);
  if (it == states_.end()) return;
  State& s = it->second;
  if (context == current_context() && context) {
    abandon(s);
    for (auto& p : s.pending)
      if (p.drawn) give_back(s, *p.drawn);
    if (!s.free.empty()) driver::glDeleteQueries(static_cast<int>(s.free.size()), s.free.data());
    drop(s.counting);
    drop(s.adding);
    drop(s.sampled);
    drop_slots(s);
    drop_mirror(s);
    drop_lists(s);
    if (s.empty) driver::glDeleteFramebuffers(1, &s.empty);
    s.kept.forget(true);
    s.fetches.forget(true);
  }
  for (auto& job : s.jobs)
    if (job.frame) job.frame->lose_read("the context went before what it drew was read back"), read(*job.frame);
  states_.erase(it);
}

bool FragmentSource::disturbs(uint32_t target) const {
  // Samples, any samples, and all that a draw that is made again would count too.
  return target == GL_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED ||
         target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE || target == GL_PRIMITIVES_GENERATED ||
         target == GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN ||
         (target >= GL_TRANSFORM_FEEDBACK_OVERFLOW && target <= GL_CLIPPING_OUTPUT_PRIMITIVES) ||
         target == GL_GEOMETRY_SHADER_INVOCATIONS;
}

void FragmentSource::block(uint32_t /*target*/, bool blocked) {
  if (auto it = states_.find(current_context()); blocked && it != states_.end()) it->second.kept.end();
}

void FragmentSource::frame(uint64_t number) {
  ++depth_epoch_;
  uniform_epoch_ = next_epoch();
  ++frames_;
  for (auto& [context, s] : states_) s.ordinal = 0, s.mirror.equal = false, s.kept.drawn();
  frame_->over = true;
  frame_->number = number;
  if (!frame_->unread) save(*frame_);
  frame_ = std::make_shared<Frame>();
}

uint32_t FragmentSource::take(State& s) {
  if (s.free.empty()) {
    s.free.resize(32);
    driver::glGenQueries(32, s.free.data());
  }
  uint32_t name = s.free.back();
  s.free.pop_back();
  return name;
}

void FragmentSource::give_back(State& s, Drawn& d) {
  for (Count* c :
       {&d.generated, &d.survived, &d.passed, &d.samples_generated, &d.samples_survived, &d.samples_passed}) {
    if (c->query && !(d.own && d.own->name == c->query)) s.free.push_back(c->query);
    c->query = 0;
  }
}

void FragmentSource::abandon(State& s) {
  if (s.drawn) give_back(s, *s.drawn);
  s.drawn = nullptr;
}

bool FragmentSource::ready(State& s, Pending& p, bool wait) {
  if (p.unread || (p.drawn && p.drawn->unread)) {
    if (!wait) return false;
    read_back(s);
  }
  if (!p.drawn) return true;
  Drawn& d = *p.drawn;
  if (d.own && d.own->runs) {
    if (!wait) return false;
    d.own->settle();
  }
  for (Count* c :
       {&d.passed, &d.survived, &d.generated, &d.samples_passed, &d.samples_survived, &d.samples_generated}) {
    if (!c->query) continue;
    const ResultsHere here;
    uint32_t there = 0;
    if (!wait) driver::glGetQueryObjectuiv(c->query, GL_QUERY_RESULT_AVAILABLE, &there);
    if (!wait && !there) return false;
    if (driver::glGetQueryObjectui64v && version() >= 33) {
      driver::glGetQueryObjectui64v(c->query, GL_QUERY_RESULT, &c->value);
    } else {
      uint32_t v = 0;
      driver::glGetQueryObjectuiv(c->query, GL_QUERY_RESULT, &v);
      c->value = v;
    }
  }
  return true;
}

void FragmentSource::deliver(Sink& to, const Pending& p, const Entry& e) {
  static const Drawn nothing;
  const Drawn& d = p.drawn ? *p.drawn : nothing;
  auto tell = [&](const Count& c, double v) {
    c.lost ? to.lost(p.segment, e.metric, c.lost) : to.value(p.segment, e.metric, v);
  };
  const bool samples = d.sampled && e.what >= SAMPLES_GENERATED && e.what <= SAMPLES_WRITTEN;
  const Count &generated = samples ? d.samples_generated : d.generated,
              &survived = samples ? d.samples_survived : d.survived, &passed = samples ? d.samples_passed : d.passed;
  switch (e.what) {
    case GENERATED:
    case SAMPLES_GENERATED: return tell(generated, static_cast<double>(generated.value));
    case DISCARDED:
    case SAMPLES_DISCARDED:
      if (generated.lost) return to.lost(p.segment, e.metric, generated.lost);
      return tell(survived,
                  d.discards ? static_cast<double>(generated.value) - static_cast<double>(survived.value) : 0);
    case PASSED:
    case SAMPLES_PASSED: return tell(passed, static_cast<double>(passed.value));
    case WRITTEN:
    case SAMPLES_WRITTEN: return tell(passed, d.writes ? static_cast<double>(passed.value) : 0);
    case FETCHES:
    case EARLIER_FETCHES:
      if (d.fetches.lost) return to.lost(p.segment, e.metric, d.fetches.lost);
      if (d.reads >= 0)
        return e.what == FETCHES ? tell(d.generated, static_cast<double>(d.generated.value) * d.reads)
                                 : to.value(p.segment, e.metric, 0);
      return to.value(p.segment, e.metric,
                      static_cast<double>(e.what == FETCHES ? d.fetches.fragment : d.fetches.earlier));
    default:
      if (p.overdraw.why) return to.lost(p.segment, e.metric, p.overdraw.why);
      return to.value(p.segment, e.metric, p.overdraw.value(e.what));
  }
}

void FragmentSource::lose(Drawn& d, const char* why, bool passed) {
  d.generated.lost = d.survived.lost = d.fetches.lost = why;
  if (passed) d.passed.lost = why;
  if (pictures_) frame_->lose(why);
}

void FragmentSource::count(State& s, Draw& draw, bool queries) {
  s.drawn = std::make_shared<Drawn>();
  ++frame_->draws;
  Drawn& d = *s.drawn;
  d.real = queries && passes_;
  if (d.real) d.own = draw.samples;
  if (passes_) d.writes = writes_color();
  const char* why = unrepeatable(draw);
  if (version() >= 30 && enabled(GL_RASTERIZER_DISCARD))
    undrawn(s, d, draw, why);
  else if (why)
    lose(d, lasting(why), !queries);
  else
    again(s, d, draw, queries);
}

// A draw without fragments, whatever keeps it from being drawn again (`why`): its earlier stages may fetch.
void FragmentSource::undrawn(State& s, Drawn& d, Draw& draw, const char* why) {
  follows_ = true;
  if (why)
    d.fetches.lost = lasting(why);
  else if (fetches_)
    count_fetches(s, d, draw, current_program(), false);
}

FragmentSource::Changes FragmentSource::changes_of(const Call& call) {
  auto [it, fresh] = changes_.emplace(call.name, Changes{});
  if (!fresh) return it->second;
  constexpr uint64_t OF_UNIFORMS = FLAG_UNIFORM | FLAG_LINK | FLAG_LIST_CALL | FLAG_MAKE_CURRENT | FLAG_FRAME_END;
  const std::string_view name = call.name;
  it->second.uniforms = call.flags & OF_UNIFORMS;
  it->second.inputs = shapes_of(name) & SHAPE_DRAW_INPUT;
  it->second.nothing = name == "glGetUniformLocation" || name == "glGetAttribLocation";
  it->second.depth = !(call.flags & FLAG_KEEPS_DEPTH);  // around() sees to clears
  return it->second;
}

void FragmentSource::cleared(State& s, uint32_t mask) {
  constexpr uint32_t KNOWN = GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT;
  if (version() < 30 || !(mask & GL_DEPTH_BUFFER_BIT) || mask & ~KNOWN || !boolean(GL_DEPTH_WRITEMASK) ||
      enabled(GL_RASTERIZER_DISCARD))
    return;
  ++depth_epoch_;
  if (enabled(GL_SCISSOR_TEST) || driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return;
  s.clear.epoch = depth_epoch_;
  s.clear.owner = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
  driver::glGetFloatv(GL_DEPTH_CLEAR_VALUE, &s.clear.value);
}

bool FragmentSource::writes_color() {
  static const auto attachment = driver::glGetFramebufferAttachmentParameteriv;
  uint8_t mask[4] = {};
  if (version() < 30) {
    driver::glGetBooleanv(GL_COLOR_WRITEMASK, mask);
    return mask[0] | mask[1] | mask[2] | mask[3];
  }
  uint32_t framebuffer = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
  bool indexed = driver::glGetBooleani_v && version() >= (is_es() ? 32u : 30u);
  for (uint32_t i = 0, n = static_cast<uint32_t>(std::clamp(integer(GL_MAX_DRAW_BUFFERS), 1, 16)); i < n; ++i) {
    int buffer = integer(GL_DRAW_BUFFER0 + i), type = 1;
    if (!buffer) continue;
    if (framebuffer)
      attachment(GL_DRAW_FRAMEBUFFER, static_cast<uint32_t>(buffer), GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &type);
    indexed ? driver::glGetBooleani_v(GL_COLOR_WRITEMASK, i, mask) : driver::glGetBooleanv(GL_COLOR_WRITEMASK, mask);
    if (type && (mask[0] | mask[1] | mask[2] | mask[3])) return true;
  }
  return false;
}

const char* FragmentSource::unrepeatable(const Draw& draw) {
  const uint32_t program = current_program();
  if (const char* why = metrics::unrepeatable(draw, program); why || program || is_es()) return why;
  if (has_extension("GL_ARB_fragment_program") && enabled(GL_FRAGMENT_PROGRAM_ARB))
    return "an ARB fragment program draws it";
  if (has_extension("GL_ATI_fragment_shader") && enabled(GL_FRAGMENT_SHADER_ATI))
    return "an ATI fragment shader draws it";
  return nullptr;
}

void FragmentSource::again(State& s, Drawn& d, Draw& draw, bool queries) {
  bool feedback = version() >= (is_es() ? 30u : 40u) && driver::glPauseTransformFeedback &&
                  driver::glResumeTransformFeedback && boolean(GL_TRANSFORM_FEEDBACK_ACTIVE) &&
                  !boolean(GL_TRANSFORM_FEEDBACK_PAUSED);
  if (feedback) driver::glPauseTransformFeedback();
  uint32_t program = current_program();
  const ProgramSource* source = program ? program_source(program) : nullptr;
  bool samples = version() >= 13 && integer(GL_SAMPLE_BUFFERS) > 0;
  bool alpha = fixed_function() && enabled(GL_ALPHA_TEST);
  bool coverage = samples && (enabled(GL_SAMPLE_ALPHA_TO_COVERAGE) || enabled(GL_SAMPLE_COVERAGE) ||
                              (version() >= (is_es() ? 31u : 32u) && enabled(GL_SAMPLE_MASK)));
  bool shader = source && source->discards;
  d.key = draw_key(program, version() >= 30 ? static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)) : 0, draw);
  d.discards = alpha || coverage || shader;
  if (is_es() && version() < 20) return count_plain(s, d, draw, alpha);
  // Where all can be counted in place, a query for each draw would only cost more.
  if (samples) {
    count_sampled(s, d, draw, program, shader, alpha || coverage, queries, !feedback && !draw.in_query);
    if (fetches_) count_fetches(s, d, draw, program, samples);
    if (feedback) driver::glResumeTransformFeedback();
    if (s.in_place) play_in_place(s, d, draw);
    return;
  }
  const bool here = !feedback && !alpha && !draw.in_query,
             all_here = here && count_in_place(s, d, draw, program, source, queries, true);
  if (all_here || (here && queries && count_in_place(s, d, draw, program, source, queries, false))) {
    if (!all_here && counts_again_) count_by_queries(s, d, draw, program, shader, false);
    if (fetches_) count_fetches(s, d, draw, program, samples);
    if (s.in_place) play_in_place(s, d, draw);
    return;
  }
  // Where there is an exact picture of what is generated, no query has to count it too.
  bool counted = queries && pictures_ && counts_again_ && most_fragments(draw, source) <= 254 &&
                 (integer(GL_DRAW_FRAMEBUFFER_BINDING) || can_turn());
  if (pictures_ || (!queries && (counts_again_ || passes_)))
    counted = !count_by_pictures(s, d, draw, program, source, shader, !queries, counted) && counted;
  if (queries && counts_again_) count_by_queries(s, d, draw, program, shader, !counted);
  if (fetches_) count_fetches(s, d, draw, program, samples);
  if (feedback) driver::glResumeTransformFeedback();
}

const char* FragmentSource::perform(Draw& draw, uint32_t program, bool bare) {
  std::string why;
  if (bare && !use_bare_copy(program, why)) return use_program(program), lasting(why);
  const bool drew = draw.perform();
  if (bare) use_program(program);
  return drew ? nullptr : "the player left it out";
}

uint64_t FragmentSource::most_fragments(const Draw& draw, const ProgramSource* source) {
  if (source)
    for (auto& [stage, text] : source->stages)
      if (stage != GL_FRAGMENT_SHADER && stage != GL_VERTEX_SHADER) return UINT64_MAX;  // it may make more of them
  const uint64_t vertices = vertices_of(draw);
  return vertices > UINT32_MAX ? UINT64_MAX : is_es() ? vertices : 3 * vertices;  // outlines of triangles
}

uint64_t FragmentSource::vertices_of(const Draw& draw) {
  if (int64_t given = draw.given().vertices; given >= 0) return static_cast<uint64_t>(given);
  std::string_view name = draw.name;
  if (!(shapes_of(name) & SHAPE_ARRAYS) || draw.flags & FLAG_INDIRECT) return UINT64_MAX;
  const uint64_t count = draw.number("count"),
                 instances = name.find("Instanced") == name.npos
                                 ? 1
                                 : std::max(draw.number("instancecount"), draw.number("primcount"));
  return count > INT32_MAX || instances > INT32_MAX || !instances ? UINT64_MAX : count * instances;
}

void FragmentSource::save(const Frame& f) {
  if (pictures_folder().empty()) return;
  const char* why = f.why ? f.why : f.sums.why ? f.sums.why : "";
  size_t saved = 0;
  for (auto& [key, p] : f.pictures) {
    if (p.empty()) continue;
    char name[64];
    snprintf(name, sizeof name, "/%06llu-%zu.counts", static_cast<unsigned long long>(f.number), saved++);
    FILE* to = fopen((pictures_folder() + name).c_str(), "wb");
    if (!to) return;
    fprintf(to, "%d %d %u %llu %llu %s\n", p.size.width, p.size.height, p.framebuffer,
            static_cast<unsigned long long>(f.draws), static_cast<unsigned long long>(std::min(f.unknown, f.draws)),
            why);
    const std::vector<uint32_t> counts = p.counts();
    fwrite(counts.data(), 4, counts.size(), to);
    fclose(to);
  }
}

uint64_t FragmentSource::next_epoch() {
  static uint64_t last = 0;
  return ++last;
}

}  // namespace dt::play::metrics::fragments
