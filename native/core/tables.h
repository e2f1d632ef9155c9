// The small tables, made whole.
#pragma once
#include "calls.h"

namespace dt {

struct Table {
  std::vector<NamedType> columns;
  Batch rows;
};
// A table by its name: its columns are known before its rows are made.
struct KnownTable {
  std::vector<NamedType> (*columns)();
  Table (*make)(const Trace& trace);
};
const KnownTable& known_table(const std::string& name);  // throws for a name that is none
std::string info_json(const Trace& trace);
void table_json(const Table& table, Bytes& out);  // a list of objects

}  // namespace dt
