// Rows of the tables that drawtap/tables declares: a struct a table, whose cells are NULL until they are given a value.
//
//   rows::Frames row{.frame = 3, .first_seq = 120};
//   if (timed) row.t_start = start;
//   RowWriter<rows::Frames>(batch).add(row);
//
// A column that is declared and that nothing writes is NULL.
#pragma once
#include <type_traits>

#include "arrow.h"

namespace dt {

// As std::optional, of which GCC believes that its value may be used before there is one.
template <class T> struct Cell {
  T value{};
  bool is_given = false;
  Cell() = default;
  template <class Value>
    requires std::is_convertible_v<Value, T>
  Cell(Value&& v) : value(static_cast<T>(std::forward<Value>(v))), is_given(true) {}
};
struct DeclaredColumn {
  const char* name;
  PlainType type;
};

}  // namespace dt

#include "declared_tables.h"

namespace dt {

inline void put_value(Column& column, bool v) { column.boolean(v); }
inline void put_value(Column& column, std::string_view v) { column.text(v); }
template <class T> void put_value(Column& column, const std::vector<T>& items) {
  for (auto& item : items) put_value(*column.child, item);
  column.end_list();
}
template <class T> void put_value(Column& column, const T& v) {
  if constexpr (std::is_convertible_v<T, std::string_view>)
    column.text(v);
  else
    column.value(v);
}

template <class Row> std::vector<NamedType> columns_of() {
  std::vector<NamedType> out;
  for (auto& column : Row::COLUMNS) out.push_back({column.name, column.type});
  return out;
}

// Adds rows of one table to a batch.
template <class Row> class RowWriter {
 public:
  explicit RowWriter(Batch& batch) : batch_(batch) { batch.start(Row::COLUMNS); }
  void add(const Row& row) {
    size_t at = 0;
    row.each([&](auto& cell) {
      Column& column = batch_.columns[at++];
      if (cell.is_given)
        put_value(column, cell.value);
      else
        column.null();
    });
    ++batch_.rows;
  }

 private:
  Batch& batch_;
};

// A cell of a text that may be missing.
inline Cell<std::string_view> unless_empty(std::string_view text) {
  return text.empty() ? Cell<std::string_view>() : Cell<std::string_view>(text);
}

}  // namespace dt
