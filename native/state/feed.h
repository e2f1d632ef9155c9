// The calls of a trace in their total order, decoded ahead on a thread of its own.
#pragma once
#include <bit>
#include <condition_variable>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../core/chunk.h"

namespace dt::play {

class Player;
struct Row;

// Where one function's arguments stand in one decoded chunk, in the order that the player knows the function by.
struct Columns {
  const Function* function = nullptr;  // the trace's own signature
  const FunctionColumns* decoded = nullptr;
  void (*play)(Player&, const Row&) = nullptr;  // of a GL command
  std::vector<const uint64_t*> w8;
  std::vector<const uint32_t*> w4;
  std::vector<const uint64_t*> starts;  // per array
};

// The arguments of one recorded call.
struct Cells {
  const Columns* columns;
  uint32_t i;  // row in the columns
  uint64_t w8(int slot) const { return columns->w8[static_cast<size_t>(slot)][i]; }
  uint32_t w4(int slot) const { return columns->w4[static_cast<size_t>(slot)][i]; }
  float f32(int slot) const { return std::bit_cast<float>(w4(slot)); }
  double f64(int slot) const { return std::bit_cast<double>(w8(slot)); }
};

// A chunk with everything decoded that playing needs.
struct Decoded {
  std::unique_ptr<OpenChunk> open;
  std::vector<Columns> columns;  // per entry of the chunk's function table
  std::vector<int> known;        // per entry: number among the player's functions; -1: the tap's own; -2: unknown
  std::vector<uint64_t> none;    // zeros for what a trace of another version lacks: "no array" in a descriptor
  std::vector<uint32_t> calls;   // per record: number of the (next) call; empty: the record's own number
  const std::vector<uint32_t>* offsets = nullptr;  // of seqs, where chunks interleave
  uint64_t base = 0, first_seq = 0;
  uint64_t after = 0;  // seq of the call that the tap's notes behind the last call belong to: the thread's next call
  uint32_t records = 0, call_count = 0, thread = 0;
  const uint16_t* order = nullptr;
  const uint32_t* ordinals = nullptr;
  uint64_t seq(uint32_t record) const {
    uint32_t call = calls.empty() ? record : calls[record];
    if (call >= call_count) return after;
    return base + (offsets ? (call < offsets->size() ? (*offsets)[call] : 0) : call);
  }
};

// The places of the player's functions in this trace.
struct Mapping {
  const Function* function = nullptr;
  int known = -2;
  std::vector<int> w8, w4;    // the trace's slots in the player's order; -1: this trace does not have it
  std::vector<int> payloads;  // likewise, per array
};
std::vector<Mapping> map_functions(const Trace& trace);

struct Item {
  std::shared_ptr<Decoded> chunk;
  uint32_t record = 0;
  uint64_t seq = 0;
};

class Feed {
 public:
  // At most `window` decoded chunks wait; 0: all of them (preloaded).
  Feed(const Trace& trace, const std::vector<Mapping>& mapping, size_t window);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // The next record, tap's ones too; false at the end. The item's chunk stays valid until the next call.
  bool next(Decoded*& chunk, uint32_t& record, uint64_t& seq) {
    if (current_ && current_->at < current_->chunk->records) {
      seq = current_->chunk->seq(current_->at);
      if (seq < limit_) {
        chunk = current_->chunk.get();
        record = current_->at++;
        return true;
      }
    }
    return pick(chunk, record, seq);
  }
  std::shared_ptr<Decoded> shared() const { return current_->chunk; }
  std::vector<std::string> problems();

 private:
  struct Active {
    std::shared_ptr<Decoded> chunk;
    uint32_t at = 0;
    uint64_t seq() const { return chunk->seq(at); }
  };
  bool pick(Decoded*& chunk, uint32_t& record, uint64_t& seq);
  bool peek(uint64_t& first_seq);
  void work();
  std::shared_ptr<Decoded> decode(size_t chunk);

  const Trace& trace_;
  const std::vector<Mapping>& mapping_;
  size_t window_;
  std::vector<std::unique_ptr<Active>> active_;
  Active* current_ = nullptr;
  uint64_t limit_ = 0;

  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<std::shared_ptr<Decoded>> queue_;
  std::vector<std::string> problems_;
  bool done_ = false, stop_ = false;
  std::thread worker_;
};

}  // namespace dt::play
