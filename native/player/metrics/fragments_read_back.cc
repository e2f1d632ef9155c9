#include "fragment_source.h"

namespace dt::play::metrics::fragments {

const char* FragmentSource::queue(State& s, Job job, const char* why) {
  drain_errors();
  if (why) {
    for (auto member : {job.counts, job.counts_too, job.steps, job.samples})
      if (member) (*job.drawn).*member = {why, 0, 0};
    if (job.frame) frame_->lose(why);
    return why;
  }
  const Kind kind = job.kind;
  const auto drawn = job.drawn;
  const std::shared_ptr<Frame> frame = job.frame;
  const std::array<Count Drawn::*, 4> members{job.counts, job.counts_too, job.steps, job.samples};
  ++job.drawn->unread;
  keep(s, std::move(job));
  if (s.tried[kind]) return nullptr;
  // The driver's ability is found out here, where its errors are not the program's.
  read_back(s);
  if (!take_error()) {
    s.tried[kind] = true;
    return nullptr;
  }
  why = "the driver does not give back the counts";
  for (auto member : members)
    if (member) (*drawn).*member = {why, 0, 0};
  if (frame) frame->why = why;
  return why;
}

void FragmentSource::keep(State& s, Job job) {
  if (job.slot) job.slot->waits = true;
  if (job.frame) ++job.frame->unread;
  s.jobs.push_back(std::move(job));
}

void FragmentSource::read_back(State& s, bool older) {
  if (s.jobs.empty()) return;
  if (!older) draw_put_off(s);
  const auto was = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
  int shift = 0, offset = 0;
  bool mapped = false;
  if (!is_es() && !tls.context->core && driver::glPixelTransferi) {
    shift = integer(GL_INDEX_SHIFT), offset = integer(GL_INDEX_OFFSET), mapped = boolean(GL_MAP_STENCIL);
    if (shift || offset || mapped)
      driver::glPixelTransferi(GL_INDEX_SHIFT, 0), driver::glPixelTransferi(GL_INDEX_OFFSET, 0),
          driver::glPixelTransferi(GL_MAP_STENCIL, 0);
  }
  int32_t* lists[2] = {};
  for (int i = 0; i < 2; ++i)
    if ((!older || i != s.lists.now) &&
        std::any_of(s.jobs.begin(), s.jobs.end(), [i](auto& j) { return j.kind == LISTED && j.lists == i; }))
      lists[i] = static_cast<int32_t*>(s.lists.buffers[i].map(s.lists.used[i] * sizeof(int32_t), !older));
  while (!s.jobs.empty() && (!older || s.jobs.front().lists != s.lists.now)) {
    Job job = std::move(s.jobs.front());
    s.jobs.pop_front();
    Drawn& d = *job.drawn;
    uint64_t most = 0;
    if (job.slot) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, job.slot->framebuffer);
    if (job.kind == LISTED) {
      const int32_t* const list = lists[job.lists];
      const uint32_t covered = list && job.placed == Placed::SAMPLES ? static_cast<uint32_t>(list[job.first + 1]) : 0;
      Count made = read_list(s, job, lists[job.lists]);
      if (d.refused) made.lost = d.refused;
      most = made.lost ? UINT64_MAX : made.value;
      if (job.counts) d.*job.counts = made;
      if (job.counts_too) d.*job.counts_too = made;
      if (job.samples) d.*job.samples = {made.lost, 0, covered};
      if (job.samples_too) d.samples_passed = {made.lost, 0, covered};
      if (job.frame && made.lost) job.frame->lose_read(made.lost);
    } else if (job.stencil) {
      Count made;
      made.lost = read_counts(s, job.box, [&](size_t x, size_t y, const uint8_t* counts, size_t n) {
        made.value += job.picture ? job.picture->add(x, y, counts, n, job.frame->sums) : sum_of(counts, n);
      });
      if (job.counts) d.*job.counts = made;
      if (job.counts_too) d.*job.counts_too = made;
      if (job.frame && made.lost) job.frame->lose_read(made.lost);
      most = made.lost ? UINT64_MAX : made.value;
    }
    if (job.steps) {
      Count& c = d.*job.steps = {};
      c.lost = read_steps(s, job, c.value);
      most = c.lost ? UINT64_MAX : std::max(most, c.value);
    }
    learn(s, job, most);
    if (job.slot) job.slot->waits = false;
    --d.unread;
    for (Pending* p : job.dependents) {
      const char* why = p->overdraw.why;
      p->overdraw = job.frame->sums;
      if (why) p->overdraw.why = why;
      p->unread = false;
    }
    if (job.frame) read(*job.frame);
  }
  for (int i = 0; i < 2; ++i)
    if (lists[i]) s.lists.buffers[i].unmap(), s.lists.used[i] = s.lists.plane;
  driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, was);
  if (shift || offset || mapped)
    driver::glPixelTransferi(GL_INDEX_SHIFT, shift), driver::glPixelTransferi(GL_INDEX_OFFSET, offset),
        driver::glPixelTransferi(GL_MAP_STENCIL, mapped);
}

Count FragmentSource::read_list(State& s, const Job& job, int32_t* lists) {
  if (!lists) return {"the driver does not give back the counts", 0, 0};
  Count made;
  int32_t* const list = lists + job.first;
  if (job.placed == Placed::PLANE) {
    made.value = job.picture->add_cells(list, job.odd, job.frame->sums);
    memset(list, 0, job.room * sizeof *list);
    return made;
  }
  const auto all = static_cast<uint32_t>(list[0]);
  const size_t listed = std::min<size_t>(all, job.room);
  const bool quads = places_quads();
  made.value = all;
  if (job.picture && quads)
    made.value = job.picture->add_quads(list + 2, listed, job.frame->sums) + static_cast<uint32_t>(list[1]);
  else if (job.picture)
    job.picture->add(list + 2, listed, job.frame->sums);
  memset(list, 0, (listed + 2) * sizeof *list);
  if (!job.picture || all == listed) return made;
  size_t others = 0;
  const int32_t width = job.picture->size.width, first = static_cast<int32_t>(job.first);
  for (size_t i = 0; i < s.lists.plane; ++i) {
    const auto pixel = static_cast<int32_t>(i);
    if (!quads && lists[i] == first) {
      job.picture->add(&pixel, 1, job.frame->sums);
    } else if (quads && lists[i] > 0 && lists[i] / 16 == first) {
      const int32_t x = pixel % width, y = pixel / width, lower = y - ((y + job.odd) & 1);
      const int32_t quad = (lower * width + (x & ~1)) * 16 + lists[i] % 16;
      job.picture->add_quads(&quad, 1, job.frame->sums);
    } else {
      continue;
    }
    lists[i] = 0, ++others;
  }
  if (listed + others != all)
    job.frame->lose_read("a draw made many more fragments than the same one of the frame before");
  return made;
}

void FragmentSource::learn(State& s, const Job& job, uint64_t most) {
  if (s.made.size() <= job.ordinal) s.made.resize(job.ordinal + 1);
  auto& made = s.made[job.ordinal];
  if (made.draw != job.draw || made.frame > job.made_in) made = {0, job.draw};
  if (made.frame != job.made_in) made = {job.made_in, job.draw, 0, made.fragments, made.seen + 1};
  made.fragments = std::max(made.fragments, most);
}

const char* FragmentSource::read_steps(State& s, const Job& job, uint64_t& sum) {
  const size_t bytes = job.kind == STEPS_8 ? 1 : 2,
               n = static_cast<size_t>(job.box[2]) * static_cast<size_t>(job.box[3]);
  if (!n) return nullptr;
  s.read.assign(n * bytes + 8, 0);
  read_pixels(job.box, GL_RED, bytes == 1 ? GL_UNSIGNED_BYTE : GL_UNSIGNED_SHORT, s.read.data());
  if (bytes == 1) {
    // Not more than there are primitives: see most_fragments().
    sum = 255 * n - sum_of(s.read.data(), n);
    return nullptr;
  }
  uint16_t least = 0xFFFF;
  sum = 0xFFFF * n - sum_of(reinterpret_cast<const uint16_t*>(s.read.data()), n, least);
  return 0xFFFF - least > 32000 ? "more than 32,000 fragments of one draw lie on a pixel" : nullptr;
}

}  // namespace dt::play::metrics::fragments
