// The calls table and the tables of single functions.
#pragma once
#include "rows.h"
#include "text.h"

namespace dt {

using Source = rows::Calls::At;  // columns of the table `calls`
// The part of a parameter, or of the result, that a column holds.
enum class Part : uint8_t {
  none,
  value,    // as it is: enum -> name
  number,   // the integer twin of an enum or bitmask
  pointer,  // the address of an array
  list,     // the array itself
  blob,     // its hash
  bytes,    // its size
  data      // its content as BLOB
};

struct ColumnSpec {
  std::string name;
  ColumnType type;
  Source source = Source::count_;  // count_: a part of `field`
  Part part = Part::none;
  const Field* field = nullptr;
  bool shown = true;        // part of *
  std::string twin, group;  // for names of enumerants: the column with their numbers, their group
};

std::vector<ColumnSpec> calls_schema(const Trace& trace, const Function* function);

// Return whether a call makes a fence. FLAG_CREATE does not count some calls that return one.
inline bool makes_sync(const Function& f) { return f.result && f.result->object_class == "sync"; }

struct Selection {
  const Function* function = nullptr;
  std::string columns;
  bool default_columns = true;
  uint64_t first_seq = 0, end_seq = UINT64_MAX;
  uint32_t threads = 0, batch_rows = 0;
};
// Resolve the C selection; frames become seqs.
Selection resolve(const Trace& trace, const dt_selection* selection);

void calls_stream(std::shared_ptr<const Trace> trace, const Selection& selection, ArrowArrayStream* out);
// Text to a file descriptor.
void calls_text(const Trace& trace, const Selection& selection, int fd, uint32_t flags);
// Rows as a JSON array by seq: seq frame thread tid context name t_start duration; text (or null) if columns are it.
void calls_rows(const Trace& trace, const Selection& selection, Bytes& out);
// One call with its arguments: JSON, arrays in `data` (offset and bytes are in the JSON).
void one_call(const Trace& trace, uint64_t seq, Bytes& json, Bytes& data);

// Visit calls in order of seq.
void each_call(const Trace& trace, const Selection& selection,
               const std::function<void(OpenChunk&, uint32_t call, uint64_t seq)>& visit);

}  // namespace dt
