// Kernel traces of any format: event classes, lanes in order of time, and rows for those who ask.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../core/arrow.h"
#include "../core/error.h"
#include "file.h"
#include "plan.h"

namespace dt::kernel {

constexpr int64_t k_first = INT64_MIN, k_last = INT64_MAX;

// A field: hidden ones have no name, they are there for the columns that every event has.
struct FieldInfo {
  std::string name;
  ColumnType type;
};

enum Base { base_cpu, base_tid, base_pid, base_comm, base_count };

struct EventClass {
  std::string name;
  std::vector<FieldInfo> fields;
  int base[base_count] = {-1, -1, -1, -1};  // the field that this column comes from; -1: the lane knows it
};

struct Problem {
  std::string kind, where, text;
  uint64_t count = 0;
  int64_t begin = k_first, end = k_last;  // unknown
};

class Trace;

// Columns being filled. A field may go to several columns: `next` chains them.
class Output {
 public:
  struct Class {
    std::vector<int> target;                  // by field: the first column, -1 none
    std::vector<int> next;                    // by column
    int base[base_count] = {-1, -1, -1, -1};  // columns that the lane fills
  };
  std::vector<NamedType> schema;
  std::vector<Class> classes;
  std::vector<uint8_t> wanted;  // by class
  std::vector<uint32_t> word_of_class;
  int event = -1;
  int64_t begin = k_first, end = k_last;
  std::shared_ptr<void> prepared;  // what the format made of it

  void name_words(const std::vector<EventClass>& all);
  void start(Batch& batch);
  void finish();
  // One row: begin_row, then values, then end_row gives NULL to what had none.
  void begin_row(int64_t t, uint32_t cls) {
    batch_->columns[0].data.value(t);
    ++batch_->columns[0].length;
    current_ = &classes[cls];
    if (event >= 0) {
      auto& column = batch_->columns[static_cast<size_t>(event)];
      column.data.value(word_of_class[cls]);
      ++column.length;
    }
  }
  void end_row() {
    int64_t rows = ++batch_->rows;
    for (auto& column : batch_->columns)
      if (column.length < rows) column.null();
  }
  const Class& current() const { return *current_; }
  int target(size_t field) const { return current_->target[field]; }
  // These take the first column of a chain; -1 is none. A column that has its value already keeps it.
  void integer(int column, uint64_t bits, bool is_signed) {
    for (; column >= 0; column = next(column)) one_integer(column, bits, is_signed);
  }
  void real(int column, double value);
  void text(int column, std::string_view value) {
    for (; column >= 0; column = next(column)) one_text(column, value);
  }
  void binary(int column, std::string_view value);
  // Integers as a list: `count` of them, `width` bytes each.
  void list(int column, const uint8_t* at, size_t count, size_t width, bool is_signed, bool swapped);
  void base(Base which, int64_t value) {
    if (current_->base[which] >= 0) integer(current_->base[which], static_cast<uint64_t>(value), true);
  }
  void comm(std::string_view name) {
    if (current_->base[base_comm] >= 0) text(current_->base[base_comm], name);
  }
  bool wants(Base which) const { return current_->base[which] >= 0; }
  Column* open(int column) {  // a column that has no value in this row yet
    auto& c = batch_->columns[static_cast<size_t>(column)];
    return c.length <= batch_->rows ? &c : nullptr;
  }

 private:
  int next(int column) const { return current_->next[static_cast<size_t>(column)]; }
  void one_integer(int column, uint64_t bits, bool is_signed);
  void one_text(int column, std::string_view value);
  uint32_t intern(std::string_view word);

  Batch* batch_ = nullptr;
  const Class* current_ = nullptr;
  std::vector<std::string> words_;
  std::unordered_map<std::string, uint32_t> word_of_;
  struct Recent {
    uint32_t word = 0;
    bool used = false;
  };
  Recent recent_[256];
};

// Events of one source in order of time. `next` goes to the next one that is wanted (all where `wanted` is null) within
// the times; `emit` puts its values. Broken input ends the lane or leaves a part out, with a note; it does not throw.
class Lane {
 public:
  virtual ~Lane() = default;
  virtual bool next() = 0;
  virtual void emit(Output& out) = 0;
  int64_t t = 0;
  uint32_t cls = 0;
  const uint8_t* wanted = nullptr;
  int64_t begin = k_first, end = k_last;
};

class Trace {
 public:
  virtual ~Trace() = default;
  virtual std::vector<std::unique_ptr<Lane>> lanes() = 0;
  virtual void prepare(Output&) {}

  void read_classes(Plan& plan);
  void index_names();
  const std::map<std::string, std::vector<uint32_t>>& names() const { return names_; }
  void note(Problem problem);
  std::vector<Problem> problems();
  void scan();  // counts all events, once

  std::vector<EventClass> classes;
  std::vector<uint64_t> counts;
  int64_t first = k_last, last = k_first;
  std::atomic<uint64_t> generation{0}, done{0}, total{0};

 protected:
  uint32_t add_class(std::string name);

 private:
  struct Noted {
    std::vector<Problem> kept;
    uint64_t more = 0;
    Problem rest;
  };
  std::map<std::string, std::vector<uint32_t>> names_;
  std::mutex noted_mutex_, scan_mutex_;
  std::map<std::pair<std::string, std::string>, Noted> noted_;
  bool scanned_ = false;
};

struct Request {
  bool all_names = false, all_fields = false;
  std::vector<std::string> names;
  struct Column {
    std::string column;
    std::vector<std::string> sources;
  };
  std::vector<Column> columns;
  int64_t begin = k_first, end = k_last;
};
Request read_request(Plan& plan);
std::unique_ptr<Output> make_output(Trace& trace, const Request& request);
void export_events(std::shared_ptr<Trace> trace, std::unique_ptr<Output> output, ArrowArrayStream* out);

// A lane over places in memory that were found before: (time, where, class, CPU), sorted.
struct Place {
  int64_t t;
  uint64_t at;
  uint32_t cls;
  int32_t cpu;
};

ColumnType type_of(int64_t code);  // 32 + item: a list
std::string valid_utf8(std::string_view text);

// Compression methods of plans: 0 none, 1 zstd, 2 zlib. Returns the bytes made; `why` is set where it failed.
size_t decompress(int method, const uint8_t* data, size_t length, uint8_t* out, size_t room, std::string* why);

using Opener = std::shared_ptr<Trace> (*)(Plan&);
std::shared_ptr<Trace> open_ctf(Plan& plan);
std::shared_ptr<Trace> open_ring(Plan& plan);
std::shared_ptr<Trace> open_perf(Plan& plan);
std::shared_ptr<Trace> open_lines(Plan& plan);
std::shared_ptr<Trace> open_perfetto(Plan& plan);

template <class T> T load(const uint8_t* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}
inline uint64_t load_bytes(const uint8_t* at, size_t width, bool big) {
  switch (width) {
    case 1: return *at;
    case 2: return big ? __builtin_bswap16(load<uint16_t>(at)) : load<uint16_t>(at);
    case 4: return big ? __builtin_bswap32(load<uint32_t>(at)) : load<uint32_t>(at);
    case 8: return big ? __builtin_bswap64(load<uint64_t>(at)) : load<uint64_t>(at);
  }
  uint64_t v = 0;
  for (size_t i = 0; i < width && i < 8; ++i) v |= static_cast<uint64_t>(at[big ? width - 1 - i : i]) << (8 * i);
  return v;
}
inline uint64_t extend_sign(uint64_t v, unsigned bits) {
  if (bits >= 64 || !bits) return v;
  uint64_t sign = uint64_t{1} << (bits - 1);
  v &= (uint64_t{1} << bits) - 1;
  return (v ^ sign) - sign;
}
inline double real_of(uint64_t bits, unsigned bytes) {
  return bytes == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                    : std::bit_cast<double>(bits);
}
inline std::string_view until_nul(const uint8_t* at, size_t n) {
  const void* end = n ? memchr(at, 0, n) : nullptr;
  return {reinterpret_cast<const char*>(at), end ? static_cast<size_t>(static_cast<const uint8_t*>(end) - at) : n};
}

}  // namespace dt::kernel
