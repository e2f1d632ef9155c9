// An open trace: the mapped file, its chunks, the clock, the order of calls and the frames. Decodes as little as it
// can.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../common/format.h"
#include "../common/ring.h"
#include "core.h"
#include "error.h"
#include "signature.h"

namespace dt {

class OpenChunk;

struct Problem {
  std::string kind;
  uint64_t offset = 0, bytes = 0;
  std::string text;
};

struct ChunkInfo {
  uint64_t offset = 0;
  dt_chunk_header header{};
  const uint8_t* meta = nullptr;  // header.meta_bytes; in the file, or the footer's copy
};

struct CallsFunction : dt_calls_function {
  bool tap() const { return function & DT_RECORD_TAP; }
  unsigned id() const { return function & DT_FUNCTION_MASK; }
};

struct CallsChunk {
  size_t chunk = 0;  // index of its ChunkInfo
  dt_calls_meta meta{};
  std::vector<CallsFunction> functions;
  uint32_t thread = 0;          // index among Trace::threads
  uint64_t base = 0;            // seq of the first call, where the group is this chunk alone; else of the group
  size_t group = 0, place = 0;  // its group, and its number in there
  size_t in_thread = 0;         // number among the thread's chunks
  uint64_t key_first = 0, key_last = 0;  // bounds of the order keys of its calls
  bool has(unsigned function) const;     // with DT_RECORD_TAP where it is the tap's
  const CallsFunction* find(unsigned function) const;
};

struct ThreadInfo {
  uint32_t pid = 0, thread = 0, tid = 0;
  std::string name;
  uint64_t calls = 0;
  std::vector<size_t> chunks;  // indices among Trace::calls_chunks, in order
};

// Chunks whose calls interleave; most often one chunk alone.
struct OrderGroup {
  uint64_t base = 0, calls = 0;
  std::vector<size_t> chunks;
  uint32_t merged = 0;                         // offsets are there (groups of one chunk need none)
  std::vector<std::vector<uint32_t>> offsets;  // per chunk, per call: seq - base
};

struct BlobPart {
  dt_blob_entry entry{};
  const uint8_t* stored = nullptr;
};
struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator<(const Hash128& o) const { return high != o.high ? high < o.high : low < o.low; }
  bool operator==(const Hash128& o) const { return high == o.high && low == o.low; }
};
std::string hash_text(const Hash128& hash);

struct Annotation {
  uint64_t offset = 0;
  std::string kind, json;
};

// Raw clock ticks to CLOCK_MONOTONIC nanoseconds: monotone, piecewise linear.
class Clock {
 public:
  struct Pair {
    uint64_t ticks, ns, width;
  };
  void build(std::vector<Pair> pairs, bool nanoseconds, double ticks_per_ns_hint);
  int64_t ns(uint64_t ticks) const {
    size_t hint = 0;
    return ns(ticks, hint);
  }
  int64_t ns(uint64_t ticks, size_t& hint) const;  // `hint`: the segment of the call before
  int64_t duration(uint64_t ticks) const {
    return identity_ ? clamp(static_cast<double>(ticks)) : clamp(static_cast<double>(ticks) * slope_ + 0.5);
  }
  bool guessed() const { return guessed_; }
  double ns_per_tick() const { return slope_; }
  size_t pairs() const { return points_.size(); }

 private:
  static int64_t clamp(double v) { return v >= 9.2e18 ? INT64_MAX : static_cast<int64_t>(v); }
  bool identity_ = true, guessed_ = false;
  double slope_ = 1;
  struct Point {
    uint64_t ticks;
    int64_t ns;
    double slope;
  };
  std::vector<Point> points_;
};

// The operation that a caller may cancel or watch.
class Work {
 public:
  explicit Work(const std::atomic<uint64_t>& generation) : generation_(generation), started_(generation.load()) {}
  void check() const {
    if (generation_.load(std::memory_order_relaxed) != started_) throw Error(DT_E_CANCELLED, "cancelled");
  }

 private:
  const std::atomic<uint64_t>& generation_;
  uint64_t started_;
};

class Trace : public std::enable_shared_from_this<Trace> {
 public:
  explicit Trace(const std::string& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return bytes_; }
  const uint8_t* at(uint64_t offset) const { return data_ + offset; }
  const dt_file_header& header() const { return header_; }
  bool has_footer() const { return has_footer_; }

  Signatures signatures;
  // Functions that the file does not explain since nobody called them: they have tables too, without rows. The first
  // text stays: columns of open streams refer to it. Returns how many lines made no sense.
  size_t know(std::string_view text);
  // A function of `signatures`, else of the texts that `know` got; nullptr: no such function.
  const Function* function_named(std::string_view name) const;
  // Those that have this function of `function_named`.
  const Signatures& signatures_of(const Function& function) const;
  std::vector<ChunkInfo> chunks;
  std::vector<CallsChunk> calls_chunks;  // in the order of seq of their first call
  std::vector<ThreadInfo> threads;
  std::vector<OrderGroup> groups;
  std::vector<Annotation> annotations;
  Clock clock;
  uint64_t calls = 0;
  uint32_t timing = 0;

  void problem(std::string kind, uint64_t offset, uint64_t bytes, std::string text) const;
  std::vector<Problem> problems() const;

  // Order. A call is (index of the chunk, number of the call in it).
  void merge(size_t group) const;  // make the offsets of a group
  uint64_t seq_of(size_t chunk, uint32_t call) const {
    const OrderGroup& g = groups[calls_chunks[chunk].group];
    if (g.chunks.size() == 1) return g.base + call;
    auto& o = offsets(chunk);
    if (call >= o.size()) throw Error(DT_E_FORMAT, "a calls chunk has no place in the order of calls");
    return g.base + o[call];
  }
  // The seq of the thread's next call after a chunk, which what the tap noted at the chunk's end belongs to; `calls`:
  // there is none.
  uint64_t seq_after(size_t chunk) const;
  // The seq of the thread's last call before a chunk, which what the tap noted at the chunk's start stands behind.
  uint64_t seq_before(size_t chunk) const;
  const std::vector<uint32_t>& offsets(size_t chunk) const;  // of a chunk in a merged group
  size_t group_of(uint64_t seq) const;
  // Where a call is; false: no such call.
  bool locate(uint64_t seq, size_t& chunk, uint32_t& call) const;

  // Frames. Ends are the seqs of the frame-end calls, ascending; `functions` are all of whose calls end one.
  struct Frames {
    std::string rule, why;
    std::vector<uint16_t> functions;
    std::vector<uint64_t> ends;
  };
  void set_frame_end(const std::string& rule);
  std::shared_ptr<const Frames> frames() const;

  const std::map<Hash128, std::vector<BlobPart>>& blobs() const;
  // Content of a blob; throws when absent or damaged.
  std::vector<uint8_t> blob(const Hash128& hash, uint64_t limit = UINT64_MAX) const;

  // Per calls chunk: how many records of a tap function stand in the chunks before it, the rows of its table.
  std::vector<uint64_t> tap_rows(unsigned function) const;
  uint64_t calls_of(unsigned function) const { return function < counts_.size() ? counts_[function] : 0; }

  mutable std::atomic<uint64_t> generation{0}, done{0}, total{0};

 private:
  void map();
  bool read_footer();
  void scan();
  void add_chunk(uint64_t offset, const dt_chunk_header& header, const uint8_t* meta);
  void read_signatures();
  void read_annotation(uint64_t offset, std::string text);
  void read_calls_metas();
  void order_chunks();
  struct Mark {
    uint64_t order;
    uint32_t thread;
    size_t in_thread;
    uint32_t call;
    uint64_t ticks;
  };
  struct Floor {
    size_t in_thread;
    uint32_t call;
    uint64_t key;
  };
  void read_marks();
  std::vector<uint64_t> keys(size_t chunk, OpenChunk& open) const;

  std::string path_;
  std::unique_ptr<Signatures> uncalled_;
  mutable std::mutex uncalled_mutex_;
  int fd_ = -1;
  const uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  dt_file_header header_{};
  bool has_footer_ = false;
  std::vector<uint64_t> counts_;
  std::vector<std::vector<Floor>> floors_;  // per thread, ascending
  std::string frame_rule_ = "auto";
  double clock_hint_ = 0;
  std::vector<Clock::Pair> clock_pairs_;

  mutable std::mutex mutex_, merge_mutex_, frames_mutex_;
  mutable std::vector<Problem> problems_;
  mutable std::shared_ptr<const Frames> frames_;
  mutable std::unique_ptr<std::map<Hash128, std::vector<BlobPart>>> blobs_;
};

// Put a damaged chunk of calls among the problems of the trace; another error is thrown again.
void say_damaged(const Trace& trace, size_t chunk, const Error& e);
// The same of any error; returns the text of the problem.
std::string note_damaged(const Trace& trace, size_t chunk, const std::exception& e);

// Call `one` with the index of every calls chunk, on several threads and in no order. A chunk that cannot be read
// becomes a problem of the trace; any other error ends the walk and is thrown.
void each_calls_chunk(const Trace& trace, const Work& work, const std::function<void(size_t)>& one);

// Decompress a stored block; throws dt::Error on anything odd. `limit`: no more raw bytes than this.
void decompress(uint16_t codec, const uint8_t* stored, uint64_t stored_bytes, uint8_t* raw, uint64_t raw_bytes);
bool sane_sizes(uint16_t codec, uint64_t stored_bytes, uint64_t raw_bytes, uint64_t limit);

}  // namespace dt
