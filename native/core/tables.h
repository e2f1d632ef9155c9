// The small tables, made whole.
#pragma once
#include "calls.h"

namespace dt {

struct Table {
  std::vector<NamedType> columns;
  Batch rows;
};
// A table made row by row.
template <class Row> class Rows {
 public:
  Rows() : writer_(table_.rows) { table_.columns = columns_of<Row>(); }
  void add(const Row& row) { writer_.add(row); }
  Table take() { return std::move(table_); }

 private:
  Table table_;
  RowWriter<Row> writer_;
};

// A table by its name: its columns are known before its rows are made.
struct KnownTable {
  std::vector<NamedType> (*columns)();
  Table (*make)(const Trace& trace);
};
// Visit the records of one of the tap's own functions, in file order per thread. Each comes with the seq of the next
// call of the thread (the number of calls, where none follows).
void each_tap_record(
    const Trace& trace, unsigned function,
    const std::function<void(OpenChunk&, const FunctionColumns&, uint32_t i, uint32_t record, uint64_t seq)>& visit);
const KnownTable& known_table(const std::string& name);  // throws for a name that is none
std::string info_json(const Trace& trace);
void table_json(const Table& table, Bytes& out);  // a list of objects

}  // namespace dt
