// Records in memory to a trace: what a tap and a drainer do together, in one process.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "../common/container.h"
#include "../common/signatures.h"
#include "../common/encoder.h"
#include "../common/worker.h"
#include "../core/error.h"

namespace dt::peers {

// One record as it is put together: values by slot, contents by the slot of their descriptor.
class Record {
 public:
  void begin(const FunctionSignature& function);
  void set(Slot slot, uint64_t value) {
    if (slot.width == 8)
      w8[slot.index] = value;
    else if (slot.width == 4)
      w4[slot.index] = static_cast<uint32_t>(value);
  }
  // The content of the array whose descriptor stands in w8 field `slot`; it must live until the record is written.
  void set_content(uint16_t slot, std::string_view content);
  void set_kind(uint16_t slot, unsigned kind) { w8[slot] = kind; }

  const FunctionSignature* function = nullptr;
  std::vector<uint64_t> w8;
  std::vector<uint32_t> w4;
  struct Content {
    uint16_t slot;
    std::string_view bytes;
  };
  std::vector<Content> contents;
};

class TraceWriter {
 public:
  TraceWriter(int level, uint32_t timing);

  // All return an empty string or what went wrong.
  std::string create(const std::string& path, std::string_view recording_json);
  std::string add_signatures(std::string text);
  std::string finish(const std::vector<std::string>& annotations);
  // The signatures of a file. Throws.
  void read_signatures(const std::string& path);
  // The last words of an import. Throws where the trace is not whole.
  void finish_import(std::string_view end, const std::string& path);

  const SignatureSet& signatures() const { return signatures_; }
  // Append a record to a thread (numbers from 0). `entry`: ns, at least 1. `extra`: DT_RECORD_TAP or 0.
  void write(uint32_t thread, const Record& record, uint64_t entry, uint32_t duration, uint16_t extra);
  // From here on this context is current on the thread.
  void set_context(uint32_t thread, uint32_t context) { lane(thread).context = context; }
  void set_tid(uint32_t thread, uint32_t tid) { lane(thread).tid = tid; }
  bool failed() const { return worker_.failed(); }
  size_t threads() const { return lanes_.size(); }

 private:
  struct Sealed {
    std::vector<char> memory;
    TakenChunk taken;
  };
  struct Lane {
    std::vector<char> memory;
    uint32_t used = 0;
    uint32_t context = 0, first_context = 0, tid = 0;
    uint64_t serial = 0, calls = 0, first_call = 0;
  };
  Lane& lane(uint32_t thread);
  char* reserve(Lane& lane, uint32_t thread, size_t bytes);
  void seal(Lane& lane, uint32_t thread);
  void put_blob(Lane& lane, uint32_t thread, std::string_view content, uint64_t low, uint64_t high);
  std::string encode(Sealed& sealed);
  std::string append();

  SignatureSet signatures_;
  Layouts layouts_;
  KnownBlobs blobs_;
  ContainerWriter file_;
  const int level_;
  const uint32_t timing_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  struct Hash {
    uint64_t low, high;
    bool operator==(const Hash&) const = default;
  };
  struct HashOf {
    size_t operator()(const Hash& h) const { return static_cast<size_t>(h.low); }
  };
  std::unordered_set<Hash, HashOf> written_blobs_;
  std::vector<bool> written_functions_;
  std::unordered_set<std::string> written_groups_;

  std::mutex spare_lock_;
  std::vector<std::vector<char>> spare_;
  uint64_t invalid_ = 0;
  Encoder encoder_;
  Encoded encoded_;
  Worker<Sealed> worker_;
};

}  // namespace dt::peers
