// The drainer's side of the shared-memory pool (native/common/ring.h).
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../common/chains.h"
#include "../common/losses.h"
#include "../common/ring.h"
#include "../common/encoder.h"

namespace dt {

struct PoolSettings {
  uint64_t limit_bytes = 256ull << 20;
  uint32_t chunk_bytes = DT_CHUNK_BYTES;
  uint32_t timing = DT_TIMING_BOTH;
  uint64_t inline_limit = 1024;
  bool names_contents = true;
  uint32_t hold_ms = 60000, stopped_ms = 5000;  // dt_pool_header
};

// The part of a successor's page that only drainers read; behind dt_pool_origin.
struct PoolRun {
  uint64_t start_clock, start_ns;  // of the first hello: they name this run in every file that is made of it
};

// Likewise, in a chunk's header behind dt_ring_chunk: the number of bytes that a flight recorder has of the chunk with
// this serial.
struct ChunkNote {
  uint64_t serial;
  uint32_t bytes, reserved;
};
static_assert(sizeof(dt_ring_chunk) % alignof(ChunkNote) == 0 &&
              sizeof(dt_ring_chunk) + sizeof(ChunkNote) <= DT_CHUNK_HEADER_BYTES);

class Pool {
 public:
  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A new pool with `chunks` free chunks whose pages are there already.
  std::string create(const PoolSettings& settings, uint32_t chunks);
  // One that a process has been writing to. Takes the descriptor. Nothing in it is believed unchecked.
  std::string adopt(int fd);

  // Become the drainer of an adopted pool. An error: there is another.
  std::string claim();
  // Returns whether the process that drained an adopted pool before is still there.
  bool other_drainer_lives();
  // Says to the program that this drainer runs.
  void beat() { header()->beat.fetch_add(1, std::memory_order_relaxed); }

  int fd() const { return fd_; }
  uint64_t bytes() const { return mapped_; }
  uint32_t chunk_bytes() const { return chunk_bytes_; }
  uint32_t chunk_max() const { return chunk_max_; }
  uint32_t chunk_count() const { return chunk_count_; }
  dt_pool_header* header() { return reinterpret_cast<dt_pool_header*>(base_); }
  dt_pool_targets* targets() { return reinterpret_cast<dt_pool_targets*>(base_ + DT_POOL_TARGETS_OFFSET); }
  const dt_loss* losses() const { return reinterpret_cast<const dt_loss*>(base_ + DT_POOL_LOSSES_OFFSET); }
  // A structure of this type stood in a chain.
  bool was_in_chain(int32_t stype) const { return base_[DT_POOL_CHAINS_OFFSET + dt_chain_place(stype)] != 0; }
  dt_pool_origin* origin() { return reinterpret_cast<dt_pool_origin*>(base_ + DT_POOL_ORIGIN_OFFSET); }
  PoolRun* run() { return reinterpret_cast<PoolRun*>(origin() + 1); }

  // Chunks by state now.
  struct Census {
    uint32_t free = 0, owned = 0, sealed = 0;
  };
  // Append to `sealed` (and `owned`, if wanted) what stands in those states and is not among `taken`.
  Census survey(const std::vector<bool>& taken, std::vector<TakenChunk>* sealed, std::vector<TakenChunk>* owned);

  // A chunk of a thread by its number, whoever has it now.
  std::optional<TakenChunk> find(uint32_t thread, uint64_t serial, bool* sealed);

  // Make up to `chunks` more usable; returns how many.
  uint32_t grow(uint32_t chunks);
  // Empty a chunk and put it on the free list. `wake`: who waits for one is to know now, not at its next look.
  void give_back(uint32_t index, bool wake = true);
  // A note for a successor: how far a chunk was taken while its thread still writes to it. 0: not noted.
  void note_taken(const TakenChunk& part);
  uint32_t noted(const TakenChunk& chunk);
  // Take free chunks out of the pool and return their memory to the system, until `keep` are free.
  void shrink(uint32_t free, uint32_t keep);
  void stop();
  void wake_free(bool now = true);
  // Wakes every sleeper on free_wake, also one that wants no chunk.
  void wake_waiting();
  void wake_drainer();
  // Sleep until a chunk is sealed after `seen` was read from seal_wake, or for `ms`.
  void wait_seal(uint32_t seen, int ms);

 private:
  static bool drainer_lives(uint64_t pid);  // and is not this one
  dt_ring_chunk* chunk(uint32_t index) {
    return reinterpret_cast<dt_ring_chunk*>(base_ + (uint64_t{index} + 1) * chunk_bytes_);
  }
  ChunkNote* note(uint32_t index) { return reinterpret_cast<ChunkNote*>(chunk(index) + 1); }
  void populate(uint32_t index);
  TakenChunk take(uint32_t index);

  int fd_ = -1;
  char* base_ = nullptr;
  uint64_t mapped_ = 0;
  uint32_t chunk_bytes_ = 0, chunk_max_ = 0, chunk_count_ = 0;
  std::mutex grow_lock_;          // chunk_count_, parked_
  std::vector<uint32_t> parked_;  // chunks without memory, in no list
};

}  // namespace dt
