// The order of calls across threads.
#include "trace.h"

#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "../common/json.h"
#include "chunk.h"
#include "text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt {

// ---- order --------------------------------------------------------------------------------------

void Trace::order_chunks() {
  // Per thread by serial number; what is missing in between was lost.
  std::vector<std::vector<size_t>> of_thread(threads.size());
  for (size_t i = 0; i < calls_chunks.size(); ++i) of_thread[calls_chunks[i].thread].push_back(i);
  for (auto& list : of_thread) {
    std::stable_sort(list.begin(), list.end(),
                     [&](size_t a, size_t b) { return calls_chunks[a].meta.serial < calls_chunks[b].meta.serial; });
    uint64_t expected = 0, key = 0;
    for (size_t n = 0; n < list.size(); ++n) {
      auto& c = calls_chunks[list[n]];
      c.in_thread = n;
      if (c.meta.serial > expected) {
        uint64_t first = n ? calls_chunks[list[n - 1]].meta.first_call + calls_chunks[list[n - 1]].meta.calls : 0;
        std::string lost = c.meta.first_call > first ? std::to_string(c.meta.first_call - first) + " calls"
                                                     : "an unknown number of calls";
        problem("lost", chunks[c.chunk].offset, 0,
                "thread " + std::to_string(c.thread) + ": " + std::to_string(c.meta.serial - expected) +
                    " chunks with " + lost + " are missing before call " + std::to_string(c.meta.first_call) +
                    " of the thread");
      }
      expected = c.meta.serial + 1;
      uint64_t first = c.meta.t_first ? c.meta.t_first : c.meta.calibration_clock;
      c.key_first = std::max(first, key);
      key = c.key_last = std::max(c.meta.t_last, c.key_first);
    }
  }
  for (size_t t = 0; t < threads.size(); ++t) threads[t].chunks = of_thread[t];
  if (threads.size() > 1) read_marks();

  std::vector<size_t> sorted(calls_chunks.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
    auto &x = calls_chunks[a], &y = calls_chunks[b];
    if (x.key_first != y.key_first) return x.key_first < y.key_first;  // never falls within a thread
    return x.thread != y.thread ? x.thread < y.thread : x.in_thread < y.in_thread;
  });
  std::vector<CallsChunk> ordered;
  ordered.reserve(sorted.size());
  for (size_t i : sorted) ordered.push_back(std::move(calls_chunks[i]));
  calls_chunks = std::move(ordered);
  for (auto& t : threads) t.chunks.clear();
  uint64_t base = 0, end = 0;
  for (size_t i = 0; i < calls_chunks.size(); ++i) {
    auto& c = calls_chunks[i];
    auto& own = threads[c.thread].chunks;
    own.push_back(i);
    bool overlaps = !groups.empty() && c.key_first <= end;
    if (overlaps && groups.back().chunks.size() == 1)
      overlaps = calls_chunks[groups.back().chunks[0]].thread != c.thread;
    if (!overlaps) {
      groups.emplace_back();
      groups.back().base = base;
      end = 0;
    }
    auto& g = groups.back();
    c.group = groups.size() - 1;
    c.base = g.base;
    c.place = g.chunks.size();
    g.chunks.push_back(i);
    g.calls += c.meta.calls;
    base += c.meta.calls;
    end = std::max(end, c.key_last);
  }
  // A thread's chunks must stay in one run of groups: `in_thread` numbers follow the order in `threads`.
  for (auto& t : threads)
    for (size_t n = 0; n < t.chunks.size(); ++n) calls_chunks[t.chunks[n]].in_thread = n;
}

// Exact order marks: the call after mark n + 1 comes after the call after mark n, whatever the clocks said.
void Trace::read_marks() {
  constexpr unsigned ORDER = DT_FN_ORDER | DT_RECORD_TAP;
  std::vector<Mark> marks;
  floors_.assign(threads.size(), {});
  for (uint32_t t = 0; t < threads.size(); ++t) {
    bool pending = false;
    uint64_t pending_order = 0, last_ticks = 0;
    for (size_t n = 0; n < threads[t].chunks.size(); ++n) {
      size_t i = threads[t].chunks[n];
      auto& c = calls_chunks[i];
      if (!pending && !c.has(ORDER)) {
        last_ticks = std::max(last_ticks, c.key_last);
        continue;
      }
      try {
        OpenChunk open(*this, i);
        auto& order = open.order();
        auto& entries = open.entries();
        auto& ordinals = open.ordinals();
        uint32_t call = 0;
        last_ticks = std::max(last_ticks, c.key_first);
        for (uint32_t r = 0; r < order.size(); ++r) {
          auto& f = c.functions[order[r]];
          last_ticks = std::max(last_ticks, entries[r]);
          if (f.function == ORDER) {
            auto& columns = open.columns(order[r]);
            if (columns.w8.empty()) continue;
            pending = true;
            pending_order = columns.w8[0][ordinals[r]];
          } else if (!f.tap()) {
            if (pending) marks.push_back({pending_order, t, n, call, last_ticks});
            pending = false;
            ++call;
          }
        }
      } catch (const Error&) {  // said when its calls are read
        pending = false;
      }
    }
  }
  std::stable_sort(marks.begin(), marks.end(), [](auto& a, auto& b) { return a.order < b.order; });
  uint64_t last = 0;
  for (auto& m : marks) {
    auto& floors = floors_[m.thread];
    uint64_t key = std::max(m.ticks, last + 1);
    if (!floors.empty()) {
      // A hostile file may number the marks of one thread backwards: the thread's own order wins.
      if (floors.back().in_thread > m.in_thread ||
          (floors.back().in_thread == m.in_thread && floors.back().call >= m.call))
        continue;
      key = std::max(key, floors.back().key);
    }
    floors.push_back({m.in_thread, m.call, key});
    last = key;
  }
  for (uint32_t t = 0; t < threads.size(); ++t) {
    size_t f = 0;
    uint64_t floor = 0;
    for (size_t n = 0; n < threads[t].chunks.size(); ++n) {
      auto& c = calls_chunks[threads[t].chunks[n]];
      c.key_first = std::max(c.key_first, floor);
      if (f < floors_[t].size() && floors_[t][f].in_thread == n && floors_[t][f].call == 0)
        c.key_first = std::max(c.key_first, floors_[t][f].key);
      for (; f < floors_[t].size() && floors_[t][f].in_thread == n; ++f) floor = floors_[t][f].key;
      c.key_last = std::max({c.key_last, floor, c.key_first});
    }
  }
}

// Order keys of a chunk's calls: entry ticks, never falling, raised by the marks.
std::vector<uint64_t> Trace::keys(size_t chunk, OpenChunk& open) const {
  auto& c = calls_chunks[chunk];
  auto& entries = open.entries();
  std::vector<uint64_t> keys(c.meta.calls);
  static const std::vector<Floor> none;
  auto& floors = floors_.empty() ? none : floors_[c.thread];
  auto floor = std::lower_bound(floors.begin(), floors.end(), c.in_thread,
                                [](const Floor& f, size_t n) { return f.in_thread < n; });
  uint64_t key = c.key_first;
  bool plain = open.plain();
  for (uint32_t i = 0; i < keys.size(); ++i) {
    key = std::max(key, entries[plain ? i : open.record_of(i)]);
    if (floor != floors.end() && floor->in_thread == c.in_thread && floor->call == i) {
      key = std::max(key, floor->key);
      ++floor;
    }
    keys[i] = key;
  }
  return keys;
}

void Trace::merge(size_t index) const {
  auto& g = const_cast<OrderGroup&>(groups[index]);
  if (g.chunks.size() == 1 || __atomic_load_n(&g.merged, __ATOMIC_ACQUIRE)) return;
  std::lock_guard lock(merge_mutex_);
  if (g.merged) return;
  if (g.calls > UINT32_MAX) throw Error(DT_E_MEMORY, "more than 4 G calls of several threads interleave without a gap");
  Work work(generation);
  g.offsets.assign(g.chunks.size(), {});
  struct Cursor {
    std::vector<size_t> places;  // indices into g.chunks
    size_t place = 0;
    std::vector<uint64_t> keys;
    uint32_t call = 0;
    bool open = false;
  };
  std::map<uint32_t, Cursor> by_thread;
  for (size_t n = 0; n < g.chunks.size(); ++n) by_thread[calls_chunks[g.chunks[n]].thread].places.push_back(n);
  std::vector<Cursor> cursors;
  for (auto& [thread, cursor] : by_thread) cursors.push_back(std::move(cursor));
  auto load = [&](Cursor& cursor) {  // false: no more
    while (cursor.place < cursor.places.size()) {
      size_t n = cursor.places[cursor.place], chunk = g.chunks[n];
      uint32_t count = calls_chunks[chunk].meta.calls;
      if (cursor.open && cursor.call < count) return true;
      if (cursor.open) {
        cursor.open = false;
        ++cursor.place;
        continue;
      }
      work.check();
      try {
        OpenChunk open(*this, chunk);
        cursor.keys = keys(chunk, open);
      } catch (const Error& e) {
        say_damaged(*this, chunk, e);
        ++cursor.place;  // none of its calls gets a number
        continue;
      }
      g.offsets[n].resize(cursor.keys.size());
      cursor.call = 0;
      cursor.open = true;
    }
    return false;
  };
  // Live cursors in thread order; ties go to the lower thread.
  std::vector<Cursor*> live;
  for (auto& cursor : cursors)
    if (load(cursor)) live.push_back(&cursor);
  uint32_t next = 0;
  while (!live.empty()) {
    size_t best = 0;
    uint64_t best_key = UINT64_MAX, second = UINT64_MAX;
    size_t second_at = SIZE_MAX;
    for (size_t i = 0; i < live.size(); ++i) {
      uint64_t key = live[i]->keys[live[i]->call];
      if (i == 0 || key < best_key)
        second = i ? best_key : UINT64_MAX, second_at = i ? best : SIZE_MAX, best_key = key, best = i;
      else if (key < second || second_at == SIZE_MAX)
        second = key, second_at = i;
    }
    Cursor& c = *live[best];
    auto& offsets = g.offsets[c.places[c.place]];
    uint32_t end = static_cast<uint32_t>(c.keys.size());
    do offsets[c.call++] = next++;
    while (c.call < end &&
           (second_at == SIZE_MAX || c.keys[c.call] < second || (c.keys[c.call] == second && best < second_at)));
    if (c.call == end && !load(c)) live.erase(live.begin() + static_cast<long>(best));
  }
  __atomic_store_n(&g.merged, 1u, __ATOMIC_RELEASE);
}

uint64_t Trace::seq_after(size_t chunk) const {
  auto& own = threads[calls_chunks[chunk].thread].chunks;
  for (size_t n = calls_chunks[chunk].in_thread + 1; n < own.size(); ++n)
    if (calls_chunks[own[n]].meta.calls) return seq_of(own[n], 0);
  return calls;
}

uint64_t Trace::seq_before(size_t chunk) const {
  auto& own = threads[calls_chunks[chunk].thread].chunks;
  for (size_t n = calls_chunks[chunk].in_thread; n-- > 0;)
    if (const uint64_t held = calls_chunks[own[n]].meta.calls) return seq_of(own[n], static_cast<uint32_t>(held - 1));
  return calls;
}

const std::vector<uint32_t>& Trace::offsets(size_t chunk) const {
  const OrderGroup& g = groups[calls_chunks[chunk].group];
  merge(calls_chunks[chunk].group);
  return g.offsets[calls_chunks[chunk].place];
}

size_t Trace::group_of(uint64_t seq) const {
  auto after =
      std::upper_bound(groups.begin(), groups.end(), seq, [](uint64_t s, const OrderGroup& g) { return s < g.base; });
  while (after != groups.begin()) {
    --after;
    if (after->calls) break;
  }
  return static_cast<size_t>(after - groups.begin());
}

std::vector<uint64_t> Trace::tap_rows(unsigned function) const {
  std::vector<uint64_t> before;
  uint64_t rows = 0;
  for (auto& c : calls_chunks) {
    before.push_back(rows);
    if (auto* f = c.find(function | DT_RECORD_TAP)) rows += f->count;
  }
  return before;
}

bool Trace::locate(uint64_t seq, size_t& chunk, uint32_t& call) const {
  if (seq >= calls) return false;
  size_t group = group_of(seq);
  const OrderGroup& g = groups[group];
  if (seq - g.base >= g.calls) return false;
  if (g.chunks.size() == 1) return chunk = g.chunks[0], call = static_cast<uint32_t>(seq - g.base), true;
  merge(group);
  uint32_t wanted = static_cast<uint32_t>(seq - g.base);
  for (size_t n = 0; n < g.chunks.size(); ++n) {
    auto& o = g.offsets[n];
    if (o.empty() || wanted < o.front() || wanted > o.back()) continue;
    auto it = std::lower_bound(o.begin(), o.end(), wanted);
    if (*it == wanted) return chunk = g.chunks[n], call = static_cast<uint32_t>(it - o.begin()), true;
  }
  return false;
}

}  // namespace dt
