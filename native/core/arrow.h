// Arrow C data interface, and the little of it that is needed to hand out tables.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif
}

namespace dt {

// The values that a column holds. Dictionary: u16 or u32 indices into strings. Json: a text.
enum class Type : uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f32,
  f64,
  text,
  binary,
  json,
  dictionary,
  list,
  structure
};

struct NamedType;

// The types in declared tables (rows.h): no structures.
struct PlainType {
  Type type = Type::u64;
  Type item = Type::u64;  // of lists
};
struct ColumnType {
  using Fields = std::shared_ptr<const std::vector<NamedType>>;
  Type type, item;
  Fields fields;  // of structures, and of lists of them
  ColumnType(Type of, Type in_list = Type::u64, Fields in_structure = {})
      : type(of), item(in_list), fields(std::move(in_structure)) {}
  ColumnType(PlainType plain) : type(plain.type), item(plain.item) {}
};
const char* duckdb_type(Type type);
std::string duckdb_type(const ColumnType& type);

// Bytes that grow without being zeroed first.
class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& o) noexcept : at_(o.at_), size_(o.size_), room_(o.room_) {
    o.at_ = nullptr;
    o.size_ = o.room_ = 0;
  }
  Bytes& operator=(Bytes&& o) noexcept {
    std::swap(at_, o.at_);
    std::swap(size_, o.size_);
    std::swap(room_, o.room_);
    return *this;
  }
  ~Bytes() { free(at_); }
  char* data() { return at_; }
  const char* data() const { return at_; }
  size_t size() const { return size_; }
  void clear() { size_ = 0; }
  char* reserve(size_t more) {  // room for `more` bytes at the end
    if (more > room_ - size_) grow(more);
    return at_ + size_;
  }
  void advance(size_t n) { size_ += n; }
  char* extend(size_t n) {
    char* at = reserve(n);
    size_ += n;
    return at;
  }
  void put(std::string_view s) {
    if (!s.empty()) memcpy(extend(s.size()), s.data(), s.size());
  }
  void put(char c) { *extend(1) = c; }
  template <class T> void value(T v) { memcpy(extend(sizeof v), &v, sizeof v); }
  std::string_view view() const { return {at_, size_}; }

 private:
  void grow(size_t more);
  char* at_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

// One column of one batch, being filled.
struct Column {
  ColumnType type;
  int64_t length = 0, nulls = 0;
  Bytes validity, data, offsets;                          // offsets: i64 for text, JSON and binary, i32 for lists
  std::unique_ptr<Column> child;                          // items of a list, strings of a dictionary
  std::vector<Column> members;                            // of a structure
  std::shared_ptr<const std::vector<std::string>> words;  // of a dictionary; copied at export

  explicit Column(ColumnType t);
  void null();
  template <class T> void value(T v) {
    data.value(v);
    valid();
  }
  void boolean(bool v);
  void text(std::string_view v);  // of text bytes that are no UTF-8 are replaced, of binary none
  void end_text() {
    offsets.value<int64_t>(static_cast<int64_t>(data.size()));
    valid();
  }  // after putting into data
  void end_list() {
    offsets.value<int32_t>(static_cast<int32_t>(child->length));
    valid();
  }
  void end_structure() { valid(); }
  void valid() {
    if (validity.size()) mark(true);
    ++length;
  }
  // `n` values copied at once; the column must have no nulls so far or gets validity for them.
  void values(const void* from, size_t n, size_t width);
  void valid_many(size_t n);

 private:
  void mark(bool ok);
};

struct NamedType {
  std::string name;
  ColumnType type;
};

struct Batch {
  int64_t rows = 0;
  std::vector<Column> columns;
  // No rows, and these columns: named types, or declared ones.
  template <class Types> void start(const Types& types) {
    rows = 0;
    columns.clear();
    for (auto& column : types) columns.emplace_back(column.type);
  }
};

// Where batches come from. `next` returns false at the end and throws dt::Error.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual bool next(Batch& batch) = 0;
};
void export_stream(std::vector<NamedType> columns, std::unique_ptr<BatchSource> source, ArrowArrayStream* out);

}  // namespace dt
