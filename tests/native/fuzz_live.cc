// A page of frames that another thread fills with nonsense, read as the manager reads it. Ends with an abort where
// anything that is read breaks what dt_live_frames promises.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "../../native/common/live.h"
#include "../../native/core/core.h"

int main(int, char** given) {
  const uint64_t rounds = strtoull(given[1], nullptr, 10);
  auto page = std::make_unique<dt_live_surface>();
  std::atomic<bool> over{false};
  uint64_t kept = 0, grown = 0;
  {
    // What a well-behaved program shows is there, once there is room for it.
    for (int64_t i = 0; i < 100; ++i) page->ring[i] = {static_cast<uint64_t>(1000 + i), 1, 2};
    page->frames = 100;
    std::vector<int64_t> rows(3 * 200);
    dt_live_seen seen{};
    grown += dt_live_frames(page.get(), &seen, rows.data(), 16, 2000, 0) == 100 && seen.frames == 0;
    kept += dt_live_frames(page.get(), &seen, rows.data(), 200, 2000, 0) == 0 && seen.end == 100 && rows[99] == 1099 &&
            rows[200] == 1 && rows[400] == 2;
  }
  std::thread program([&] {
    std::mt19937_64 random(1);
    while (!over) {
      const uint64_t kind = random() % 4;
      const uint64_t frames = kind == 0 ? random() : page->frames.load() + random() % (kind == 1 ? 5000 : 20);
      for (uint64_t i = 0; i < 30; ++i) {
        const uint64_t time = random() % 8 ? 1000000 * (frames % 1000000) + random() % 1000 : random();
        page->ring[random() % DT_LIVE_RING] = {time, static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
      }
      page->frames = frames;
    }
  });
  std::vector<int64_t> rows;
  uint64_t room = 0;
  dt_live_seen seen{};
  for (uint64_t round = 0; round < rounds; ++round) {
    if (round % 64 == 0) seen = {}, room = round % 3 ? 1024 : 16, rows.assign(3 * room, 0);
    const int64_t now = static_cast<int64_t>(round) * 1000000000, oldest = now - 4000000000;
    const uint64_t before = seen.frames;
    const uint64_t lacking = dt_live_frames(page.get(), &seen, rows.data(), room, now, oldest);
    if (lacking) {
      if (lacking > DT_LIVE_RING || seen.frames != before) abort();
      ++grown;
      seen = {before, seen.lost, 0, 0};
      room = 2 * lacking, rows.assign(3 * room, 0);
      continue;
    }
    if (seen.begin > seen.end || seen.end > room || seen.frames < before) abort();
    for (uint64_t i = seen.begin + 1; i < seen.end; ++i)
      if (rows[i] < rows[i - 1]) abort();
    kept += seen.end - seen.begin;
  }
  over = true;
  program.join();
  printf("%llu %llu\n", static_cast<unsigned long long>(kept), static_cast<unsigned long long>(grown));
}
