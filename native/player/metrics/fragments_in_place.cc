#include "fragment_source.h"

namespace dt::play::metrics::fragments {

bool FragmentSource::counts_in_place(State& s) {
  if (s.lists.here < 0) {
    const auto* renderer = driver::glGetString(GL_RENDERER);
    const bool pays = renderer && !strncmp(reinterpret_cast<const char*>(renderer), "llvmpipe", 8);
    s.lists.here = pays && version() >= 31u && FetchCounter::missing().empty();
    drain_errors();
  }
  return s.lists.here > 0;
}

bool FragmentSource::can_count_in_place(State& s, const Draw& draw, uint32_t program, const ProgramSource* source,
                                        bool counts) const {
  return (pictures_ || (counts && (counts_again_ || passes_))) && program && counts_in_place(s) &&
         !source->reads_target && !source->writes_depth && draw.given().vertices < 0 && draw.flags & FLAG_DRAW &&
         !(draw.flags & FLAG_LIST_CALL);
}

bool FragmentSource::count_in_place(State& s, Drawn& d, Draw& draw, uint32_t program, const ProgramSource* source,
                                    bool queries, bool counts) {
  if (!can_count_in_place(s, draw, program, source, counts)) return false;
  Target t;
  t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
  if (const char* why = nullptr; !target_size(t.draw, t.size, why)) return false;
  const bool stencil = enabled(GL_STENCIL_TEST), depth_test = enabled(GL_DEPTH_TEST);
  const bool writes = passes_ && !queries && depth_test && boolean(GL_DEPTH_WRITEMASK);
  const uint64_t last = last_made(s, d.key),
                 few = std::max(FEW_FRAGMENTS,
                                static_cast<uint64_t>(t.size.width) * static_cast<uint64_t>(t.size.height) * 4);
  if (last > few || (stencil && passes_ && counts)) {
    if (writes && last != UINT64_MAX) s.followed[t.draw] = frames_;
    return false;
  }
  // Where larger draws have a depth buffer of ours follow the program's, it follows all.
  if (writes)
    if (auto it = s.followed.find(t.draw); it != s.followed.end() && it->second + 1 >= frames_) return false;
  if (driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) return false;
  bool depth = passes_ && counts && depth_test;
  if (depth) {
    int type = 0;
    depth_format(t.draw, t.depth_bits, type);
    depth = t.depth_bits > 0;
  }
  std::string no;
  const bool plain = passes_ && counts && !depth,
             makes = pictures_ || (counts && (counts_again_ || (plain && !d.discards)));
  const bool survives = counts && d.discards && (discards_ || plain);
  const bool bounds = !is_es() && has_extension("GL_EXT_depth_bounds_test") && enabled(GL_DEPTH_BOUNDS_TEST_EXT);
  const bool untested = alone && !stencil && !bounds && (!depth_test || (counts && passes_ && !depth));
  const bool once = makes && untested && !d.discards && has_placing_copy(program, false, listed(), no);
  if (depth && (!alone || d.discards)) return false;
  if ((depth || survives) && !has_placing_copy(program, false, Placed::NUMBER, no)) return false;
  if (makes && !once && !has_placing_copy(program, true, listed(), no)) return false;
  if (!make_lists(s, t.size)) return false;
  if (counts) d.real = false;
  s.kept.begin();
  if (once) {
    Job job = new_job(s, t, true);
    job.counts = &Drawn::generated;
    if (plain) job.counts_too = &Drawn::passed;
    s.in_place = {.program = program,
                  .target = t.draw,
                  .size = t.size,
                  .few = few,
                  .pictured = pictures_,
                  .writes = d.writes,
                  .repeats = !d.real,
                  .job = std::move(job)};
    return true;
  }
  std::optional<Job> all{};
  if (makes) {
    Job job = new_job(s, t, true);
    job.counts = &Drawn::generated;
    if (plain && !d.discards) job.counts_too = &Drawn::passed;
    if ((depth || (survives && untested)) && s.tried[LISTED] && draw.kept())
      all = std::move(job);
    else
      list(s, t, draw, program, true, last, std::move(job));
  }
  if (!depth && !survives) return true;
  Job job = new_job(s, t, false);
  job.counts = depth ? &Drawn::passed : &Drawn::survived;
  if (survives && plain) job.counts_too = &Drawn::passed;
  if (survives && !untested)
    list(s, t, draw, program, false, last, std::move(job));
  else
    s.in_place = {.program = program,
                  .target = t.draw,
                  .size = t.size,
                  .few = few,
                  .writes = d.writes,
                  .repeats = !makes || all,
                  .job = std::move(job),
                  .all = std::move(all)};
  return true;
}

uint64_t FragmentSource::last_made(const State& s, uint64_t draw) {
  if (s.ordinal >= s.made.size()) return UINT64_MAX;
  const auto& made = s.made[s.ordinal];
  // A single frame tells little: first ones are often empty, or set up what later ones draw.
  return made.seen > 1 && made.draw == draw ? std::max(made.fragments, made.before) : UINT64_MAX;
}

void FragmentSource::list(State& s, const Target& t, Draw& draw, uint32_t program, bool bare, uint64_t last, Job job) {
  place(s, job, draw, program, bare, bare && pictures_, last);
  take_storage(s);
  const char* why = nullptr;
  {
    Masked masked;
    Off tests;
    tests_off(tests);
    use_copy(s, program, bare, job.placed, place_of(job, t.size), t.draw, t.size);
    why = draw.perform() ? nullptr : "the player left it out";
    use_program(program);
  }
  s.storage.give_back();
  queue(s, std::move(job), why);
}

void FragmentSource::use_copy(State& s, uint32_t program, bool bare, Placed as, const Place& place, uint32_t target,
                              Extent size, const UniformValues* values) {
  if (values)
    use_placing_copy(program, bare, as, place, *values);
  else
    use_placing_copy(program, bare, as, place, uniform_epoch_);
  // Mesa turns gl_FragCoord in windows, by what it notes for the program that is current when the target changes. For
  // a copy that drew to another kind of target last it would not note that again: the target changes once more.
  int& drew_to = s.drew_to[{program, bare, as}];
  const int now = target ? -1 : size.height;
  if (drew_to && drew_to != now) {
    if (s.empty)
      driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, s.empty);
    else
      s.empty = bind_new(GL_DRAW_FRAMEBUFFER, driver::glBindFramebuffer, driver::glGenFramebuffers);
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, target);
  }
  drew_to = now;
}

void FragmentSource::take_storage(State& s) {
  s.storage.take();
  driver::glBindBufferBase(GL_SHADER_STORAGE_BUFFER, fetch_binding(), s.lists.buffers[s.lists.now].name());
}

void FragmentSource::play_in_place(State& s, Drawn& d, const Draw& draw) {
  InPlace& p = *s.in_place;
  const uint64_t last = last_made(s, d.key);
  p.repeats = p.repeats && !d.fetches.ticket && !d.fetches.lost;
  p.reads = d.reads, p.discards = d.discards;
  take_storage(s);
  if (p.all) put_off(s, draw.kept(), last);
  count_played(s, draw, last, true);
}

void FragmentSource::put_off(State& s, std::unique_ptr<Draw> draw, uint64_t last) {
  InPlace& p = *s.in_place;
  Job job = *p.all;
  job.drawn = s.drawn;
  job.ordinal = s.ordinal;
  place(s, job, *draw, p.program, true, pictures_, last);
  if (p.stale || p.uniforms.empty()) p.uniforms.emplace_back(), p.stale = false;
  auto& values = p.uniforms.back()[static_cast<size_t>(job.placed)];
  if (!values) values = uniform_values(p.program, true, job.placed);
  p.put_off.push_back({std::move(draw), s.drawn, job.placed, place_of(job, p.size), p.uniforms.size() - 1});
  ++s.drawn->unread;
  keep(s, std::move(job));
}

bool FragmentSource::stay_put_off(InPlace& p, const Call& call) {
  const auto index = static_cast<uint32_t>(call.number("index"));
  if (p.put_off.size() >= MOST_PUT_OFF ||
      (!tls.context->buffers[gl::ARRAY] && !strcmp(call.name, "glVertexAttribPointer")))
    return false;
  auto same = call.kept();
  if (!same) return false;
  if (!p.arrays.contains(index)) {
    Array a;
    int integer = 0, binding = static_cast<int>(index), offset = 0;
    driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &a.enabled),
        driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_SIZE, &a.size),
        driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_STRIDE, &a.stride),
        driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_TYPE, &a.type),
        driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_NORMALIZED, &a.normalized),
        driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, &a.buffer);
    driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_ARRAY_INTEGER, &integer);
    if (version() >= (is_es() ? 31u : 43u))
      driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_BINDING, &binding),
          driver::glGetVertexAttribiv(index, GL_VERTEX_ATTRIB_RELATIVE_OFFSET, &offset);
    driver::glGetVertexAttribPointerv(index, GL_VERTEX_ATTRIB_ARRAY_POINTER, &a.pointer);
    if (take_error() || integer || binding != static_cast<int>(index) || offset || (a.enabled && !a.buffer))
      return false;
    p.arrays[index] = a;
  }
  p.put_off.push_back({std::move(same), nullptr, Placed::NUMBER, {}, 0});
  return true;
}

void FragmentSource::give_arrays(const InPlace& p) {
  for (auto& [index, a] : p.arrays) {
    driver::glBindBuffer(GL_ARRAY_BUFFER, static_cast<uint32_t>(a.buffer));
    if (a.buffer)
      driver::glVertexAttribPointer(index, a.size, static_cast<uint32_t>(a.type), static_cast<uint8_t>(a.normalized),
                                    a.stride, a.pointer);
    (a.enabled ? driver::glEnableVertexAttribArray : driver::glDisableVertexAttribArray)(index);
  }
  if (!p.arrays.empty()) driver::glBindBuffer(GL_ARRAY_BUFFER, tls.context->buffers[gl::ARRAY]);
}

void FragmentSource::draw_put_off(State& s) {
  if (!s.in_place || s.in_place->put_off.empty()) return;
  InPlace& p = *s.in_place;
  {
    s.kept.begin();
    Masked masked;
    Off tests;
    tests_off(tests);
    give_arrays(p);
    const PutOff* before = nullptr;
    for (auto& one : p.put_off) {
      if (one.drawn && before && before->uniforms == one.uniforms && before->placed == one.placed)
        move_placing_copy(p.program, true, one.placed, one.place);
      else if (one.drawn)
        use_copy(s, p.program, true, one.placed, one.place, p.target, p.size,
                 &*p.uniforms[one.uniforms][static_cast<size_t>(one.placed)]);
      if (one.drawn) before = &one;
      if (!one.call->perform() && one.drawn) one.drawn->refused = "the player left it out";
    }
  }
  p.put_off.clear(), p.uniforms.clear(), p.arrays.clear();
  use_program(p.program);
  p.left = true;
  drain_errors();
}

void FragmentSource::count_played(State& s, const Draw& draw, uint64_t last, bool first) {
  InPlace& p = *s.in_place;
  Job job = p.job;
  job.drawn = s.drawn;
  job.ordinal = s.ordinal;
  place(s, job, draw, p.program, false, p.pictured, last);
  const Place at = place_of(job, p.size);
  if (first || p.left || p.job.placed != job.placed)
    use_copy(s, p.program, false, job.placed, at, p.target, p.size);
  else
    move_placing_copy(p.program, false, job.placed, at);
  p.job.placed = job.placed;
  p.left = false;
  ++s.drawn->unread;
  keep(s, std::move(job));
}

bool FragmentSource::goes_on(State& s, Draw& draw) {
  InPlace& p = *s.in_place;
  const uint64_t key = draw_key(p.program, p.target, draw), last = last_made(s, key);
  if (!p.repeats || last > p.few || draw.in_query || !(draw.flags & FLAG_DRAW) || draw.given().vertices >= 0 ||
      *draw.refusal() || draw.flags & FLAG_LIST_CALL)
    return false;
  std::unique_ptr<Draw> later = p.all ? draw.kept() : nullptr;
  if (p.all && !later) return false;
  s.drawn = std::make_shared<Drawn>();
  s.drawn->writes = p.writes;
  s.drawn->reads = p.reads, s.drawn->discards = p.discards;
  p.job.draw = key;
  if (p.put_off.size() >= MOST_PUT_OFF) draw_put_off(s);
  if (later) p.all->draw = key, put_off(s, std::move(later), last);
  count_played(s, draw, last, false);
  ++s.ordinal;
  return true;
}

bool FragmentSource::make_lists(State& s, Extent size) {
  auto& l = s.lists;
  const size_t plane = static_cast<size_t>(size.width) * static_cast<size_t>(size.height);
  if (l.size && l.plane >= plane) return true;
  if ((LISTS_SIZE + plane) * 16 > INT32_MAX) return false;  // places and pixels are stored so
  read_back(s);
  drop_lists(s);
  l.size = LISTS_SIZE + plane;
  for (auto& buffer : l.buffers) buffer.make(l.size * sizeof(int32_t));
  l.plane = l.used[0] = l.used[1] = plane;
  if (take_error()) l.here = 0, l.broken = true;
  return !l.broken;
}

void FragmentSource::drop_lists(State& s) {
  for (auto& buffer : s.lists.buffers) buffer.drop();
  drop_fence(s);
}

void FragmentSource::drop_fence(State& s) {
  if (s.lists.drawn) driver::glDeleteSync(s.lists.drawn);
  s.lists.drawn = nullptr;
}

void FragmentSource::turn_lists(State& s) {
  auto& l = s.lists;
  if (!s.jobs.empty() && s.jobs.front().lists != l.now) {
    const uint32_t said = l.drawn ? driver::glClientWaitSync(l.drawn, 0, 10'000'000'000) : GL_WAIT_FAILED;
    read_back(s, said == GL_ALREADY_SIGNALED || said == GL_CONDITION_SATISFIED);
  }
  drop_fence(s);
  if (s.jobs.empty()) return;
  l.drawn = driver::glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  l.now = 1 - l.now;
}

void FragmentSource::place(State& s, Job& job, const Draw& draw, uint32_t program, bool bare, bool pictured,
                           uint64_t last) {
  auto& l = s.lists;
  std::string no;
  if (job.placed == Placed::SAMPLES)
    pictured = false;
  else
    job.placed = pictured ? Placed::LIST : Placed::NUMBER;
  job.room = pictured ? static_cast<size_t>(std::min<uint64_t>(std::max(16 * last, ROOM), LISTS_SIZE / 2)) : 0;
  if (pictured && last >= MANY_FRAGMENTS && places_quads() && most_fragments(draw, program_source(program)) <= 254 &&
      has_placing_copy(program, bare, Placed::PLANE, no)) {
    job.placed = Placed::PLANE;
    job.room = Picture::cells_of(job.picture->size, job.odd);
  }
  if (l.used[l.now] + job.room + 2 > l.size) read_back(s);
  job.kind = LISTED;
  job.stencil = false;
  job.first = l.used[l.now];
  l.used[l.now] += job.room + 2;
}

}  // namespace dt::play::metrics::fragments
