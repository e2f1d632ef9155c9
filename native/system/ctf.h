// The C++ form of a plan of the Common Trace Format: operations, events, streams, files.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel.h"

namespace dt::kernel::ctf {

enum Kind : uint8_t {
  op_integer,
  op_time,
  op_real,
  op_string,
  op_text,
  op_text_sequence,
  op_list,
  op_list_sequence,
  op_loop,
  op_loop_sequence,
  op_variant,
  op_align,
  op_varint,
  op_bytes,
  op_bytes_sequence,
  op_kinds
};
enum : uint8_t { flag_signed = 1, flag_big = 2, flag_reversed = 4 };
// Variables that mean something to the reader; the others are lengths and tags.
enum Var {
  var_magic,
  var_stream,
  var_begin,
  var_end,
  var_content,
  var_packet,
  var_sequence,
  var_discarded,
  var_cpu,
  var_event,
  var_first_free
};

struct Op {
  Kind kind;
  uint8_t size;   // bits; bytes of a character for strings
  uint8_t align;  // bits
  uint8_t flags;
  int var, field;
  // integer: -. text, list, bytes: a = how many. ..._sequence: a = variable with that. loop: operations [b, b + size of
  // it) follow behind this one: b is where they end. variant: a = variable, choices [b, b + size of it).
  uint32_t a, b;
};
struct Choice {
  int64_t low, high;
  uint32_t begin, end;
};
struct Range {
  uint32_t begin = 0, end = 0;
};
// A field at a fixed place behind the event header.
struct Flat {
  uint32_t offset;
  uint8_t width, flags;
  Kind kind;
  int var, field;
  uint32_t count;
};
struct Event {
  uint32_t cls = 0;
  Range ops;
  std::vector<Flat> flat;
  uint32_t flat_bytes = 0, rest = 0;  // operations from `rest` on are walked one by one
  bool has_vars = false;
};
enum HeaderKind { header_ops, header_compact, header_large };
struct StreamClass {
  uint64_t id = 0;
  Range context, header;
  HeaderKind kind = header_ops;
  int clock = -1;
  std::vector<int> by_id;  // small ids
  std::unordered_map<uint64_t, int> by_large_id;
  std::vector<Event> events;
  const Event* find(uint64_t id) const {
    if (id < by_id.size()) return by_id[id] < 0 ? nullptr : &events[static_cast<size_t>(by_id[id])];
    auto it = by_large_id.find(id);
    return it == by_large_id.end() ? nullptr : &events[static_cast<size_t>(it->second)];
  }
};
struct Clock {
  uint64_t frequency = 1000000000;
  int64_t add = 0;
  int64_t ns(uint64_t cycles) const {
    if (frequency == 1000000000) return static_cast<int64_t>(cycles + static_cast<uint64_t>(add));
    return static_cast<int64_t>(static_cast<unsigned __int128>(cycles) * 1000000000 / frequency) + add;
  }
};
struct DataFile {
  std::unique_ptr<File> file;
  std::string name;
};
struct Metadata {
  std::vector<Op> ops;
  std::vector<Choice> choices;
  size_t vars = 0;
  Range header;
  std::vector<StreamClass> streams;
  std::vector<DataFile> files;
};

class Ctf : public Trace {
 public:
  std::vector<Clock> clocks;
  std::vector<Metadata> traces;
  std::vector<std::unique_ptr<Lane>> lanes() override;
  void prepare(Output& out) override;
};

}  // namespace dt::kernel::ctf
