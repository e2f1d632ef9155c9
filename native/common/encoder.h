// From the records of one pool chunk to the bytes of trace chunks.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "container.h"
#include "ring.h"
#include "signatures.h"

namespace dt {

// The encoder's knowledge of every function, by id. It refers to the set, which must live as long.
class Layouts {
 public:
  explicit Layouts(const SignatureSet& signatures);
  // Words of a record without arrays; 0: unknown function; ARRAYS: look at `shape`.
  static constexpr uint16_t ARRAYS = 0xffff;
  struct Shape {
    uint16_t w8 = 0, w4 = 0;
    uint32_t fixed_bytes = 0;
    std::span<const uint16_t> arrays;
  };
  uint16_t words(uint32_t id) const { return words_[id]; }
  // nullptr: unknown function.
  const Shape* shape(uint32_t id) const {
    return id < shapes_.size() && shapes_[id].fixed_bytes ? &shapes_[id] : nullptr;
  }

 private:
  std::vector<uint16_t> words_;
  std::vector<Shape> shapes_;
};

// The content that the trace already has, so that each byte of it is written once. Shared by the workers.
class KnownBlobs {
 public:
  struct Hash {
    uint64_t low, high;
    bool operator==(const Hash&) const = default;
  };
  struct Range {
    uint64_t begin, end;
  };
  struct HashOf {
    size_t operator()(const Hash& h) const { return static_cast<size_t>(h.low ^ h.high); }
  };
  // The sub-ranges of [begin, end) that nobody claimed yet; they count as claimed from now on.
  std::vector<Range> claim(Hash hash, uint64_t total, uint64_t begin, uint64_t end);
  // Returns whether every byte of it was claimed.
  bool has(Hash hash);
  // Claims from here on are of the next epoch.
  void next_epoch();
  // Content that was last claimed two epochs ago or longer is forgotten: it can be claimed again. False: it is younger.
  bool forget(Hash hash);

 private:
  struct Known {
    bool whole = false;
    uint32_t epoch = 0;
    std::vector<Range> ranges;  // sorted, disjoint; dropped once the content is whole
  };
  std::mutex lock_;
  uint32_t epoch_ = 0;
  std::unordered_map<Hash, Known, HashOf> known_;
};

// A pool chunk as the drainer took it: its header fields read once, its records untrusted and perhaps still changing.
struct TakenChunk {
  uint32_t index = 0;  // in the pool
  const char* base = nullptr;
  uint32_t begin = DT_CHUNK_HEADER_BYTES;  // offset of the first record that was not taken before
  uint32_t end = 0;                        // offset after the last committed record
  uint32_t thread = 0, tid = 0, context = 0;
  uint64_t serial = 0, first_call = 0;
  uint64_t calibration_clock = 0, calibration_ns = 0, calibration_width = 0;
  char thread_name[16] = {};
  uint32_t unnamed = 0;  // dt_ring_chunk
};

struct Encoded {
  ChunkBuffer calls;  // sealed payload, `calls_meta_bytes` of meta
  uint32_t calls_meta_bytes = 0;
  ChunkBuffer blobs;
  uint32_t blobs_meta_bytes = 0;           // 0: no blobs
  std::vector<uint16_t> functions;         // ids used (without DT_RECORD_TAP), each once or twice
  std::vector<KnownBlobs::Hash> contents;  // that the records refer to; filled where the caller wants it
  uint32_t records = 0, calls_count = 0, in_flight = 0;
  uint64_t raw_bytes = 0;
  uint64_t invalid_records = 0;  // dropped: unknown function or sizes that cannot be
  uint64_t invalid_bytes = 0;    // of records whose end could not be found either
};

// Encodes one chunk at a time; each worker has one.
class Encoder {
 public:
  Encoder(const Layouts& layouts, KnownBlobs& blobs, uint32_t chunk_bytes);
  bool list_contents = false;  // fill Encoded::contents
  // `level`: as put_block takes it.
  void encode(const TakenChunk& chunk, uint32_t pid, uint32_t clock, uint32_t timing, int level, Encoded* out);

 private:
  struct Local {
    uint16_t key;
    uint32_t count;
    uint64_t duration_sum, duration_max, payload_bytes;
  };
  struct Array {
    uint64_t descriptor;  // capacity removed
    uint32_t offset;      // of the content in the chunk
    uint32_t bytes;       // of it there
  };
  struct BlobPart {
    KnownBlobs::Hash hash;
    uint64_t total, begin, end;
    const char* content;
  };
  struct Args {
    size_t begin, end;  // of an ARGS block in args_
  };
  void index(const TakenChunk& chunk, Encoded* out);
  void describe(const TakenChunk& chunk, uint32_t pid, uint32_t clock, uint32_t timing, const Encoded& out);
  std::vector<dt_calls_function> sort_by_function(std::vector<uint32_t>* starts, Encoded* out);
  std::vector<Args> lay_out_args(const TakenChunk& chunk, const std::vector<uint32_t>& starts,
                                 std::vector<dt_calls_function>* functions);
  void put_records(size_t functions, int level, Encoded* out);
  bool check_arrays(const char* record, uint32_t bytes, const Layouts::Shape& shape, uint64_t* content) const;
  void take_blob(const char* record, uint32_t bytes, Encoded* out);
  int level_for(std::string_view raw, int level);
  void write_blobs(int level, Encoded* out);
  size_t columns(const TakenChunk& chunk, const Local& local, const uint32_t* offsets, char* out);
  void put(Encoded* out, std::string_view raw, uint16_t kind, int level);

  const Layouts& layouts_;
  KnownBlobs& blobs_;
  const uint32_t chunk_bytes_;
  std::vector<uint16_t> local_of_;  // by key; 0xffff: not seen in this chunk
  std::vector<Local> locals_;
  uint32_t count_ = 0;
  uint64_t payload_room_ = 0;  // bytes of array content that this chunk may still claim to have
  std::vector<uint32_t> offsets_, sorted_;
  std::vector<uint16_t> order_;
  std::vector<uint64_t> entries_;
  std::vector<uint32_t> durations_;
  std::vector<Array> arrays_;
  std::vector<char> scratch_, args_;
  std::vector<BlobPart> parts_;
  ChunkBuffer probe_;
  std::vector<KnownBlobs::Hash> contents_;
  std::vector<dt_block> blocks_;
  dt_calls_meta meta_{};
};

// Application calls among the committed records of a chunk that will not be written.
uint64_t count_calls(const TakenChunk& chunk);

}  // namespace dt
