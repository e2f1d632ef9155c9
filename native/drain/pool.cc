#include "pool.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace dt {
namespace {

constexpr uint32_t LEAST_CHUNK = 64 * 1024, LARGEST_CHUNK = 64 * 1024 * 1024;

long futex(void* word, int op, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, op, value, timeout, nullptr, 0);
}

std::string failed(const char* what) { return std::string(what) + ": " + strerror(errno); }

}  // namespace

Pool::~Pool() {
  if (base_) munmap(base_, mapped_);
  if (fd_ >= 0) close(fd_);
}

std::string Pool::create(const PoolSettings& settings, uint32_t chunks) {
  const uint32_t chunk = settings.chunk_bytes;
  if (chunk < LEAST_CHUNK || chunk > LARGEST_CHUNK || (chunk & (chunk - 1)))
    return "the chunk size must be a power of two from 64 KB to 64 MB";
  chunk_bytes_ = chunk;
  chunk_max_ = static_cast<uint32_t>(std::clamp<uint64_t>(settings.limit_bytes / chunk, 2, 1u << 20));
  // A limit on the size of files holds for memory files too.
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur / chunk < uint64_t{chunk_max_} + 1) {
    if (most.rlim_cur / chunk < 3)
      return "the limit on the size of files (ulimit -f) leaves no room for a pool of shared memory";
    chunk_max_ = static_cast<uint32_t>(most.rlim_cur / chunk) - 1;
  }
  mapped_ = (uint64_t{chunk_max_} + 1) * chunk;
  fd_ = memfd_create("drawtap-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) return failed("memfd_create");
  if (ftruncate(fd_, static_cast<off_t>(mapped_)) != 0) return failed("ftruncate of the pool");
  // Nobody may shrink it under our feet: reading it would then kill us.
  fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) return failed("mmap of the pool");
  base_ = static_cast<char*>(at);
  dt_pool_header* h = header();
  h->version = DT_RING_VERSION;
  h->chunk_bytes = chunk;
  h->chunk_max = chunk_max_;
  h->timing = settings.timing;
  h->inline_limit = settings.inline_limit;
  h->names_contents = settings.names_contents;
  h->hold_ms = settings.hold_ms;
  h->stopped_ms = settings.stopped_ms;
  h->control.store(DT_CONTROL_RECORD);
  h->drainer_pid.store(static_cast<uint64_t>(getpid()));
  h->magic = DT_RING_MAGIC;
  grow(chunks);
  return {};
}

static_assert(offsetof(dt_pool_header, beat) == 164 && offsetof(dt_pool_header, calls_unrecorded) == 176,
              "src/drawtap/capture/pools.py has them there");

std::string Pool::adopt(int fd) {
  fd_ = fd;
  struct stat status;
  if (fstat(fd, &status) != 0) return failed("fstat of the pool");
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK)) return "the descriptor is not a sealed memory file";
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  if (size < LEAST_CHUNK) return "the pool is too small";
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return failed("mmap of the pool");
  base_ = static_cast<char*>(at);
  mapped_ = size;
  dt_pool_header* h = header();
  if (h->magic != DT_RING_MAGIC || h->version != DT_RING_VERSION) return "the pool is of another version";
  chunk_bytes_ = h->chunk_bytes;
  chunk_max_ = h->chunk_max;
  chunk_count_ = h->chunk_count.load();
  if (chunk_bytes_ < LEAST_CHUNK || chunk_bytes_ > LARGEST_CHUNK || (chunk_bytes_ & (chunk_bytes_ - 1)) ||
      (uint64_t{chunk_max_} + 1) * chunk_bytes_ != size || chunk_count_ > chunk_max_)
    return "the pool's header was overwritten";
  return {};
}

std::string Pool::claim() {
  // The program's own successor and that of whoever started the first drainer may come at once: one of them gets it.
  uint64_t before = header()->drainer_pid.load();
  if (drainer_lives(before) || !header()->drainer_pid.compare_exchange_strong(before, static_cast<uint64_t>(getpid())))
    return "the pool's drainer still runs";
  return {};
}

bool Pool::other_drainer_lives() { return drainer_lives(header()->drainer_pid.load()); }

bool Pool::drainer_lives(uint64_t pid) {
  if (pid == static_cast<uint64_t>(getpid())) return false;
  char path[64], name[16] = {};
  snprintf(path, sizeof path, "/proc/%llu/comm", static_cast<unsigned long long>(pid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  if (n <= 0 || strncmp(name, "drawtap-drain", 13) != 0) return false;
  // Killed and not yet waited for is not alive.
  snprintf(path, sizeof path, "/proc/%llu/maps", static_cast<unsigned long long>(pid));
  const int maps = open(path, O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  char byte;
  const bool alive = read(maps, &byte, 1) == 1;
  close(maps);
  return alive;
}

void Pool::populate(uint32_t index) {
  char* at = reinterpret_cast<char*>(chunk(index));
  if (madvise(at, chunk_bytes_, MADV_POPULATE_WRITE) == 0) return;
  for (uint32_t page = 0; page < chunk_bytes_; page += 4096) const_cast<volatile char*>(at)[page] = 0;
}

uint32_t Pool::grow(uint32_t chunks) {
  // Called by one thread at a time. Pages are made without the lock: that takes long, and surveys must go on.
  uint32_t done = 0;
  for (; done < chunks; done++) {
    uint32_t index;
    bool fresh = false;
    {
      std::lock_guard guard(grow_lock_);
      if (!parked_.empty()) {
        index = parked_.back();
        parked_.pop_back();
      } else if (chunk_count_ < chunk_max_) {
        index = chunk_count_;
        fresh = true;
      } else {
        break;
      }
    }
    populate(index);
    if (fresh) {
      std::lock_guard guard(grow_lock_);
      header()->chunk_count.store(++chunk_count_, std::memory_order_release);
    }
    give_back(index);
  }
  return done;
}

void Pool::give_back(uint32_t index, bool wake) {
  dt_ring_chunk* c = chunk(index);
  // An owner that dies between taking the chunk and writing its header must not bring old records to life.
  c->commit.store(0, std::memory_order_relaxed);
  c->serial = c->first_call = 0;
  c->unnamed = 0;
  note(index)->bytes = 0;
  c->state.store(DT_CHUNK_FREE, std::memory_order_release);
  dt_pool_header* h = header();
  uint64_t head = h->free_head.load(std::memory_order_acquire);
  uint64_t mine;
  do {
    c->next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    mine = ((head >> 32) + 1) << 32 | (index + 1);
  } while (!h->free_head.compare_exchange_weak(head, mine, std::memory_order_acq_rel));
  wake_free(wake);
}

void Pool::note_taken(const TakenChunk& part) { *note(part.index) = {chunk(part.index)->serial, part.end, 0}; }

uint32_t Pool::noted(const TakenChunk& taken) {
  const ChunkNote n = *note(taken.index);
  return n.serial == taken.serial ? n.bytes : 0;
}

void Pool::shrink(uint32_t free, uint32_t keep) {
  std::lock_guard guard(grow_lock_);
  dt_pool_header* h = header();
  for (; free > keep; free--) {
    uint64_t head = h->free_head.load(std::memory_order_acquire);
    uint64_t next;
    uint32_t index;
    do {
      index = static_cast<uint32_t>(head) - 1;
      if (index >= chunk_count_) return;  // the list is empty
      next = ((head >> 32) + 1) << 32 | chunk(index)->next_free.load(std::memory_order_relaxed);
    } while (!h->free_head.compare_exchange_weak(head, next, std::memory_order_acq_rel));
    madvise(chunk(index), chunk_bytes_, MADV_REMOVE);
    parked_.push_back(index);
  }
}

void Pool::wake_free(bool now) {
  dt_pool_header* h = header();
  h->free_wake.fetch_add(1);
  if (now && h->free_wanted.load()) futex(&h->free_wake, FUTEX_WAKE, INT_MAX, nullptr);
}

void Pool::wake_waiting() {
  header()->free_wake.fetch_add(1);
  futex(&header()->free_wake, FUTEX_WAKE, INT_MAX, nullptr);
}

void Pool::stop() {
  header()->control.fetch_or(DT_CONTROL_STOP);
  header()->control.fetch_and(~uint32_t{DT_CONTROL_RECORD});
  header()->free_wake.fetch_add(1);
  futex(&header()->free_wake, FUTEX_WAKE, INT_MAX, nullptr);
}

void Pool::wake_drainer() {
  header()->seal_wake.fetch_add(1);
  futex(&header()->seal_wake, FUTEX_WAKE, INT_MAX, nullptr);
}

void Pool::wait_seal(uint32_t seen, int ms) {
  const timespec timeout = {ms / 1000, (ms % 1000) * 1000000L};
  futex(&header()->seal_wake, FUTEX_WAIT, seen, &timeout);
}

TakenChunk Pool::take(uint32_t index) {
  dt_ring_chunk* c = chunk(index);
  TakenChunk taken;
  taken.index = index;
  taken.base = reinterpret_cast<const char*>(c);
  const uint32_t commit = c->commit.load(std::memory_order_acquire);
  taken.end = commit & (chunk_bytes_ - 1);
  taken.thread = c->thread;
  taken.tid = c->tid;
  taken.context = c->context;
  taken.serial = c->serial;
  taken.first_call = c->first_call;
  taken.calibration_clock = c->calibration_clock;
  taken.calibration_ns = c->calibration_ns;
  taken.calibration_width = c->calibration_width;
  taken.unnamed = c->unnamed;
  memcpy(taken.thread_name, c->thread_name, sizeof taken.thread_name);
  return taken;
}

Pool::Census Pool::survey(const std::vector<bool>& taken, std::vector<TakenChunk>* sealed,
                          std::vector<TakenChunk>* owned) {
  std::lock_guard guard(grow_lock_);
  Census census;
  for (uint32_t i = 0; i < chunk_count_; i++) {
    const uint32_t state = chunk(i)->state.load(std::memory_order_acquire);
    if (state == DT_CHUNK_SEALED) {
      census.sealed++;
      if (sealed && !taken[i]) sealed->push_back(take(i));
    } else if (state == DT_CHUNK_OWNED) {
      census.owned++;
      if (owned && !taken[i]) owned->push_back(take(i));
    } else {
      census.free++;
    }
  }
  census.free -= std::min<uint32_t>(census.free, static_cast<uint32_t>(parked_.size()));
  return census;
}

std::optional<TakenChunk> Pool::find(uint32_t thread, uint64_t serial, bool* sealed) {
  std::lock_guard guard(grow_lock_);
  for (uint32_t i = 0; i < chunk_count_; i++) {
    const uint32_t state = chunk(i)->state.load(std::memory_order_acquire);
    if (state == DT_CHUNK_FREE || chunk(i)->thread != thread || chunk(i)->serial != serial) continue;
    *sealed = state == DT_CHUNK_SEALED;
    return take(i);
  }
  return std::nullopt;
}

}  // namespace dt
