// One calls chunk, decoded as far as asked.
#pragma once
#include <cstring>
#include <optional>
#include <unordered_map>

#include "trace.h"

namespace dt {

constexpr uint64_t NO_ORIGIN = UINT64_MAX;

struct FunctionColumns {
  const CallsFunction* entry = nullptr;
  const Function* function = nullptr;  // nullptr: the trace does not explain it
  uint32_t count = 0;
  std::vector<std::vector<uint64_t>> w8;
  std::vector<std::vector<uint32_t>> w4;
  // Per descriptor (in the order of Function::descriptors): where each record's payload begins, count + 1 of them.
  std::vector<std::vector<uint64_t>> payloads;
  const uint8_t* payload_base = nullptr;

  uint64_t raw(const Field& field, uint32_t i) const {
    if (field.slot < 0) return 0;
    return field.wide ? w8[static_cast<size_t>(field.slot)][i] : w4[static_cast<size_t>(field.slot)][i];
  }
  uint64_t descriptor(const Field& field, uint32_t i) const { return w8[static_cast<size_t>(field.data_slot)][i]; }
  std::string_view payload(const Field& field, uint32_t i) const {
    auto& at = payloads[static_cast<size_t>(field.payload)];
    return {reinterpret_cast<const char*>(payload_base) + at[i], at[i + 1] - at[i]};
  }
  // The numbers of an array, 4 or 8 bytes each; none where its content is not in the record.
  std::vector<int64_t> numbers(const Field& field, uint32_t i) const;
  Hash128 hash(const Field& field, uint32_t i) const {
    Hash128 h;
    memcpy(&h, payload(field, i).data(), 16);
    return h;
  }
};

// The content of an array, where the record has it or a blob of at most `limit` bytes; `keep` owns what a blob has.
std::optional<std::string_view> content_of(const Trace& trace, const FunctionColumns& columns, const Field& field,
                                           uint32_t i, std::vector<uint8_t>& keep, uint64_t limit = UINT64_MAX);
// The names of objects that a parameter holds; none where its content is lost.
std::vector<uint64_t> names_in(const Trace& trace, const FunctionColumns& columns, const Field& field, uint32_t i);

class OpenChunk {
 public:
  OpenChunk(const Trace& trace, size_t index);  // checks the checksum; throws dt::Error

  const Trace& trace;
  const size_t index;
  const CallsChunk& info;

  const std::vector<uint16_t>& order();                                // per record: index into info.functions
  uint32_t record_of(uint32_t call);                                   // record of a call
  bool plain() const { return info.meta.records == info.meta.calls; }  // no tap records: record == call
  const std::vector<uint32_t>& call_records();                         // only when !plain()
  const std::vector<uint32_t>& record_calls();                         // only when !plain(): number of the (next) call
  const std::vector<uint64_t>& entries();                              // ticks per record; 0: not timed
  const std::vector<uint32_t>& durations();                            // as dt_record has them
  // Ticks; false: none (in flight or not timed).
  bool duration(uint32_t record, uint64_t& ticks);
  uint32_t context(uint32_t record);
  // Seq that a call had in the recording this trace was made from; NO_ORIGIN: it is not said, or the call is new.
  uint64_t origin(uint32_t call);
  const std::vector<uint32_t>& ordinals();                   // per record: number among the records of its function
  const std::vector<uint32_t>& records_of(size_t function);  // records of one function
  const FunctionColumns& columns(size_t function);           // index into info.functions

 private:
  const std::vector<uint8_t>& block(size_t i);
  const std::vector<uint8_t>& order_block();
  size_t block_of(uint16_t kind) const;
  std::vector<dt_block> blocks_;
  std::vector<uint64_t> block_offsets_;
  const uint8_t* payload_;
  std::vector<std::vector<uint8_t>> raw_;
  std::vector<uint16_t> order_;
  std::vector<uint32_t> call_records_, record_calls_, durations_, ordinals_;
  std::vector<uint64_t> entries_;
  std::vector<std::pair<uint32_t, uint32_t>> contexts_;
  std::vector<uint64_t> origins_;
  bool origins_done_ = false;
  bool contexts_done_ = false, order_done_ = false, entries_done_ = false, durations_done_ = false;
  std::unordered_map<uint32_t, uint64_t> long_;
  std::unordered_map<size_t, std::vector<uint32_t>> records_of_;
  std::unordered_map<size_t, FunctionColumns> columns_;
};

}  // namespace dt
