// Puts records of any order together to a new trace: columns, chunks, contents, signatures, footer.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "../common/container.h"
#include "../common/worker.h"
#include "../core/chunk.h"

namespace dt::edit {

// An array of a record: `bytes` is the content (inline) or the 16 bytes of its hash (blob).
struct Payload {
  unsigned kind = DT_DATA_NONE;
  uint64_t length = 0;
  std::string_view bytes;
};

// The arguments of one record, in the slots of the function of the new trace.
struct Row {
  std::vector<uint64_t> w8;
  std::vector<uint32_t> w4;
  std::vector<Payload> payloads;  // in the order of Function::descriptors

  void clear(const Function& of) {
    w8.assign(of.w8, 0), w4.assign(of.w4, 0), payloads.assign(of.descriptors.size(), {});
  }
  // The value of a field that has a slot.
  uint64_t get(const Field& f) const {
    const auto slot = static_cast<size_t>(f.slot);
    return f.wide ? w8[slot] : w4[slot];
  }
  void set(const Field& f, uint64_t value) {
    const auto slot = static_cast<size_t>(f.slot);
    f.wide ? w8[slot] = value : w4[slot] = static_cast<uint32_t>(value);
  }
  Payload& payload(const Field& f) { return payloads[static_cast<size_t>(f.payload)]; }
};

class Maker {
 public:
  Maker(int level, uint32_t timing);
  void create(const std::string& path, const std::vector<std::string>& annotations);
  // Make functions of a trace (or of signature text) known. One that is there by name stays as it is.
  void add_signatures(const Signatures& from, const std::vector<const Function*>& functions);
  // A function of the new trace; nullptr: there is none of that name.
  const Function* function(std::string_view name) const { return signatures_.by_name(name); }
  // Content that an earlier trace holds: its stored bytes are copied as they are. Missing content stays missing.
  void need_blob(const Trace& from, const Hash128& hash);
  // New content; returns its hash.
  Hash128 put_content(std::string_view content);

  struct Thread {
    uint32_t pid = 0, number = 0, tid = 0;
    char name[16] = {};
  };
  size_t lane(const Thread& thread);
  // Append a record. `context`: current at it (of the tap's records: as before). `duration`: as dt_record has it, or
  // with DT_LONG_DURATION the ns in `long_ns`.
  void add(size_t lane, const Function& function, bool tap, const Row& row, uint64_t entry, uint32_t duration,
           uint64_t long_ns, uint64_t origin);
  void set_context(size_t lane, uint32_t context);  // by what the next record finds, without a dtapContext record
  uint32_t context(size_t lane) const { return lanes_[lane]->context; }
  void note_context(size_t lane, uint32_t context) { lanes_[lane]->context = context; }  // a dtapContext record said so
  void mark(size_t lane, uint64_t number);                                               // dtapOrder
  void finish(const std::vector<std::string>& annotations);
  uint64_t calls() const { return calls_; }
  uint64_t blobs() const { return known_.size(); }
  uint64_t size() const { return file_.size(); }

 private:
  struct Local {
    uint16_t key = 0;
    const Function* function = nullptr;
    uint32_t count = 0;
    std::vector<std::vector<uint64_t>> w8;
    std::vector<std::vector<uint32_t>> w4;
    std::vector<std::string> payloads;
    uint64_t duration_sum = 0, duration_max = 0, payload_bytes = 0;
  };
  struct Block {  // one calls chunk before it is encoded
    dt_calls_meta meta{};
    std::vector<Local> locals;
    std::vector<uint16_t> order;
    std::vector<uint64_t> entries;
    std::vector<uint32_t> durations;
    std::vector<uint64_t> origins;  // per call
    size_t bytes = 0;
    bool has_origin = false;
    std::string signatures;  // to stand before it
  };
  struct Lane {
    Thread thread;
    uint32_t context = 0;
    uint64_t serial = 0, calls = 0;
    uint16_t last_call = 0xffff;
    std::unique_ptr<Block> block;
    std::vector<uint16_t> local_of;  // by key
  };
  Block& open(Lane& lane);
  Local& local(Lane& lane, Block& block, const Function& function, bool tap);
  void seal(Lane& lane);
  void encode(Block& block);
  static size_t columns(const Local& l, std::string& to);
  void flush_blobs();
  void append(std::span<const char> chunk);

  Signatures signatures_;
  std::vector<uint8_t> written_;  // per function of signatures_
  std::unordered_set<std::string> written_groups_, known_groups_;
  ContainerWriter file_;
  std::mutex file_mutex_;
  const int level_;
  const uint32_t timing_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> lane_of_;
  uint64_t calls_ = 0;

  struct HashOf {
    size_t operator()(const Hash128& h) const { return static_cast<size_t>(h.low ^ h.high * 31); }
  };
  std::unordered_set<Hash128, HashOf> known_;
  std::vector<dt_blob_entry> blob_entries_;
  std::string blob_bytes_;

  Worker<std::unique_ptr<Block>> worker_;
};

}  // namespace dt::edit
