// A trace of apitrace on its way to ours: its calls become records.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../common/json.h"
#include "apitrace_reader.h"
#include "apitrace_special.h"
#include "gl_enums.h"
#include "import.h"
#include "trace_writer.h"

namespace dt::peers::from_apitrace {

enum class Kind : uint8_t { integer, f32, f64, boolean };
enum class Element : uint8_t { none, i8, i16, i32, i64, f32, f64, chars, strings, bytes, structure };

// Where a value goes.
struct Place {
  Slot slot;
  Kind kind = Kind::integer;
  bool pointer = false;
  int content = -1;  // w8 field of the descriptor
  Element element = Element::none;
};

struct Plan {
  const FunctionSignature* function = nullptr;
  std::vector<Place> arguments;  // per argument of the trace's function
  Place result;
  bool has_result = false;
  bool made = false;  // the function is not one of ours
  Special special = Special::none;
};

uint64_t to_integer(const Node& node);

class Import {
 public:
  Import(const dt_import& options);
  std::string run();

 private:
  struct Thread;
  void recording(const std::string& path);
  void source(JsonWriter<std::string>& out) const;
  Plan& plan(const Call& call);
  void plan_known(Plan& plan, const FunctionSignature& function, const ListSig& sig);
  void plan_made(Plan& plan, const Call& call, const ListSig& sig);
  std::string made_value(const Call& call, int32_t node, uint16_t* w8, uint16_t* w4, const char* start,
                         std::string* groups);
  std::string group(const EnumSig& sig, bool bitmask, std::string* groups);
  void one(const Call& call);
  void fill(const Plan& plan, const Call& call);
  void put(const Place& place, const Call& call, uint32_t node);
  std::string_view content(Element element, const Call& call, uint32_t node);
  void scalars(Element element, const Call& call, uint32_t node, std::string* out);
  void describe(const Call& call, uint32_t node, std::string* out);
  void write(const Call& call, uint16_t extra);
  uint64_t argument(const Call& call, size_t index) const {
    return index < call.arguments.size() && call.arguments[index] >= 0
               ? to_integer(call.nodes[static_cast<size_t>(call.arguments[index])])
               : 0;
  }
  uint64_t result(const Call& call) const {
    return call.result >= 0 ? to_integer(call.nodes[static_cast<size_t>(call.result)]) : 0;
  }
  bool special_fake(const Plan& plan, const Call& call);
  void follow(const Plan& plan, const Call& call);
  void array_pointer(const Plan& plan, const Call& call);
  void made_current(const Call& call, uint64_t draw, uint64_t read, uint64_t context);
  void created(const Call& call, uint64_t share, uint32_t api);
  void map_write(const Call& call);
  void unmapped(uint64_t buffer);
  void tap(const Call& call);
  void emit_memory(const Call& call);
  void flush_memory(const Call& call);
  void catch_up(Thread& thread);
  void note(const std::string& text) { notes_[text]++; }
  uint32_t lane(uint32_t thread);

  const std::string output_;
  ApitraceReader reader_;
  TraceWriter writer_;
  Record record_, extra_;
  std::unordered_map<std::string_view, const FunctionSignature*> by_name_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::map<uint32_t, uint32_t> lanes_;
  std::deque<std::string> pieces_;  // converted contents of the record in the making
  size_t pieces_used_ = 0;
  std::unordered_map<std::string, std::string> groups_;  // text of members -> name
  uint32_t next_id_ = 0;
  size_t unknown_ = 0;

  struct Context {
    uint32_t id = 0, share_group = 0, api = 0;
  };
  struct State {
    uint64_t vertex_array = 0;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> buffers;  // (target, vertex array or 0) -> buffer
  };
  struct Mapping {
    uint64_t bytes = 0, offset = 0;
    uint32_t buffer = 0, target = 0;
  };
  struct Array {
    uint64_t address = 0;
    std::vector<uint64_t> shape;  // the other arguments
  };
  // State that apitrace changes around array pointers and sets back: the fake call is written only where a pointer is.
  struct Deferred {
    uint64_t written = 0, wanted = 0;
    std::unique_ptr<Call> call;
  };
  struct Thread {
    uint32_t api = 2, context = 0;
    uint64_t draw = 0;
    std::vector<std::pair<uint64_t, std::string>> memory;  // for the next call
    Deferred array_buffer, client_texture{GL_TEXTURE0, GL_TEXTURE0, nullptr};
  };
  std::map<uint64_t, Context> contexts_;
  std::map<uint32_t, State> states_;
  std::map<uint64_t, Mapping> mappings_;
  std::map<std::pair<uint32_t, std::string>, Array> arrays_;
  // with the client's attributes
  std::vector<std::pair<bool, std::map<std::pair<uint32_t, std::string>, Array>>> pushed_;
  std::map<uint32_t, Thread> threads_;
  std::map<uint64_t, std::string> windows_;
  uint32_t context_count_ = 0;
  uint64_t next_address_ = 0x100000000000ull;
  State& state(const Call& call) { return states_[threads_[call.thread].context]; }

  uint64_t calls_ = 0, in_flight_ = 0, tap_records_ = 0, fake_ = 0;
  std::map<std::string, uint64_t> notes_;
};

}  // namespace dt::peers::from_apitrace
