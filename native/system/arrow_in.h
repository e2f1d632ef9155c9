// Reads tables that come as Arrow C streams, row by row.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernel.h"

namespace dt::kernel {

class TableReader {
 public:
  // Takes what the stream holds; throws where it fails.
  explicit TableReader(ArrowArrayStream* stream);
  ~TableReader();
  TableReader(const TableReader&) = delete;

  size_t columns() const { return columns_.size(); }
  const std::string& name(size_t column) const { return columns_[column].name; }
  int find(std::string_view name) const;  // -1: there is none
  int need(std::string_view name) const;

  bool next();  // to the next row
  bool is_null(int column) const;
  int64_t integer(int column) const;  // the bits of what has no sign
  double real(int column) const;
  std::string_view text(int column) const;
  // A list of numbers, or bytes: where they stand, how many, how wide each is.
  const uint8_t* list(int column, size_t* count, size_t* width) const;
  char kind(int column) const { return columns_[static_cast<size_t>(column)].kind; }
  std::string_view format(int column) const { return columns_[static_cast<size_t>(column)].format; }

 private:
  struct Input {
    std::string name, format;
    char kind;  // i signed, u unsigned, f real, s text, b bytes, l list, o boolean
    size_t width = 0;
    bool wide = false, view = false;  // 64-bit offsets; views instead of offsets
    bool dictionary = false;
    size_t item_width = 0;
  };
  static Input describe(const ArrowSchema& schema);
  static std::string_view text_of(const ArrowArray& array, size_t row, bool wide, bool view);
  void release_batch();

  ArrowArrayStream stream_;
  ArrowSchema schema_{};
  ArrowArray batch_{};
  std::vector<Input> columns_;
  size_t row_ = 0, rows_ = 0;
  bool started_ = false;
};

}  // namespace dt::kernel
