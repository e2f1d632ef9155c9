// The small tables, made whole.
#pragma once
#include "calls.h"

namespace dt {

struct Table {
  std::vector<NamedType> columns;
  Batch rows;
};
Table make_table(const Trace& trace, const std::string& name);  // throws for a name that is none
std::string info_json(const Trace& trace);
void table_json(const Table& table, Bytes& out);  // a list of objects

}  // namespace dt
