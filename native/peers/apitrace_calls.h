// A trace of ours on its way to apitrace: calls one by one, with what must stand before each.
#pragma once
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../core/calls.h"
#include "apitrace_special.h"
#include "apitrace_writer.h"
#include "gl_enums.h"

namespace dt::peers::to_apitrace {

enum : uint8_t { EVENT_ENTER, EVENT_LEAVE };
enum : uint8_t { DETAIL_END, DETAIL_ARGUMENT, DETAIL_RESULT, DETAIL_FLAGS = 5 };
enum : uint8_t { TYPE_ENUM = 9, TYPE_BITMASK = 10, TYPE_STRUCT = 12 };

template <class T> T load(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

// A call's values, wherever it stands.
struct At {
  const Function& function;
  const FunctionColumns& columns;
  uint32_t i;
  uint64_t value(size_t parameter) const {
    return parameter < function.params.size() ? columns.raw(function.params[parameter], i) : 0;
  }
};

class Export {
 public:
  Export(std::shared_ptr<const Trace> trace, FILE* file) : trace_(std::move(trace)), out_(file) {}
  void run(const std::vector<Selection>& selections);

 private:
  struct Memory {
    uint64_t address = 0;
    std::string bytes;
  };
  struct ArrayCall {
    uint32_t signature = 0;
    uint64_t address = 0, unit = 0;
    uint64_t stride = 0;                 // bytes from one vertex to the next
    size_t pointer = 0;                  // number of the parameter
    std::vector<std::string> arguments;  // as they are written
  };
  struct State {
    std::map<uint32_t, uint64_t> buffers;
    uint64_t vertex_array = 0, unit = GL_TEXTURE0;
    std::map<std::string, ArrayCall> arrays;
    std::vector<std::pair<bool, std::map<std::string, ArrayCall>>> pushed;  // whether the arrays were pushed, and they
  };
  struct Mapping {
    uint64_t address = 0, offset = 0;
  };
  struct Thread {
    std::vector<Memory> memory;  // for the next call
    uint64_t window = 0;         // the window whose size is due
  };

  void header();
  void visit(OpenChunk& chunk, uint32_t call);
  void taps(OpenChunk& chunk, uint32_t from, uint32_t to);
  void tap(OpenChunk& chunk, uint32_t record);
  void before(uint32_t thread, uint32_t context, const At& at);
  void follow(uint32_t thread, uint32_t context, const At& at);
  void interleaved(State& s, const At& at);
  void call(uint32_t thread, const At& at, bool fake, bool returned);
  void begin(uint32_t thread, uint32_t signature, bool fake);
  void argument(size_t number) {
    out_.byte(DETAIL_ARGUMENT);
    out_.number(number);
  }
  void leave();
  void fake(uint32_t thread, const char* name, std::initializer_list<const char*> names,
            std::initializer_list<uint64_t> values);
  uint32_t signature(const std::string& name, const std::vector<std::string>& arguments);
  uint32_t signature(const Function& function);
  void enter_signature(uint32_t id);
  void value(const At& at, const Field& field, uint32_t thread);
  void scalar(const Field& field, const std::string& function, uint64_t raw);
  void content(const Function& function, const Field& field, std::string_view bytes, uint32_t thread);
  void elements(const Field& field, std::string_view bytes, uint32_t thread);
  void attributes(const Field& field, std::string_view bytes);
  void enumerant(const EnumGroup* group, int64_t value);
  void mask(const EnumGroup* group, uint64_t value);
  void truth(const std::string& ctype, bool value);
  void visual(std::string_view bytes);
  std::string_view bytes_of(const FunctionColumns& columns, const Field& field, uint32_t i);
  const Memory* find(uint32_t thread, uint64_t address) const;
  bool behind(const std::vector<Memory>& memory, const ArrayCall& array, int64_t first, std::string* bytes) const;
  State& state(uint32_t context) { return states_[context]; }

  std::shared_ptr<const Trace> trace_;
  ApitraceWriter out_;
  struct Signature {
    uint32_t id;
    std::string name;
    std::vector<std::string> arguments;
    bool said = false;
  };
  std::map<std::string, uint32_t> by_name_;
  std::vector<Signature> signatures_;
  std::vector<uint32_t> of_function_;
  std::vector<Special> special_;
  std::map<const EnumGroup*, uint32_t> enums_, masks_;
  std::map<std::string, uint32_t> truths_;
  std::map<int64_t, uint32_t> single_;
  uint32_t enum_count_ = 0;
  bool visual_said_ = false;
  uint32_t next_call_ = 0;
  std::vector<uint8_t> blob_;
  Hash128 blob_hash_{};

  std::map<uint32_t, State> states_;
  std::map<uint32_t, Thread> threads_;
  std::map<uint64_t, Mapping> mappings_;  // by buffer
  std::map<uint64_t, std::pair<uint32_t, uint32_t>> sizes_;
  std::set<uint64_t> sized_;
};

}  // namespace dt::peers::to_apitrace
