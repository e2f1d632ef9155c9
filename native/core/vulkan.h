// The effects of Vulkan's calls: the content of command buffers at their submission, and the commands that ran.
#pragma once
#include <deque>
#include <map>
#include <string>

#include "chunk.h"
#include "structures.h"

namespace dt::vulkan {

// A structure in a content that is a tree. Members that its type lacks, and all of an absent structure, are 0 or empty.
class Node {
 public:
  Node() = default;
  Node(const Signatures& names, const Field& field, std::string_view content);  // the first structure of a parameter
  static std::vector<Node> all(const Signatures& names, const Field& field, std::string_view content);
  explicit operator bool() const { return type_; }
  const StructType* type() const { return type_; }

  uint64_t value(std::string_view member, size_t index = 0) const;
  bool has(std::string_view member) const { return type_ && type_->member(member); }
  std::string word(std::string_view member) const;                // an enumerant by name, bits with | between
  std::string text(std::string_view member) const;                // a string
  Node in(std::string_view member) const;                         // in place, or what a pointer leads to
  std::vector<Node> each(std::string_view member) const;          // structures, in place or behind a pointer
  std::vector<uint64_t> values(std::string_view member) const;    // scalars or handles, in place or behind a pointer
  std::vector<std::string> words(std::string_view member) const;  // enumerants by name
  std::string_view bytes(std::string_view member) const;          // of an array behind a pointer
  Node chained(std::string_view type) const;                      // the structure of that type in the chain
  void json(Bytes& out, size_t most_elements) const;

 private:
  Node(const Signatures* names, const StructType* type, std::string_view content, size_t at)
      : names_(names), type_(type), content_(content), at_(at) {}
  std::string name_of(const StructMember& m, uint64_t value) const;
  const Signatures* names_ = nullptr;
  const StructType* type_ = nullptr;
  std::string_view content_;
  size_t at_ = 0;
};

// The content behind a pointer of a call; empty where it is lost.
std::string content_of(const Trace& trace, const FunctionColumns& columns, const Field& field, uint32_t i);

// The deeds of a call on command buffers, objects and memory.
enum class Does : uint8_t {
  nothing,
  command,  // goes into a command buffer
  begins,
  resets,
  resets_pool,
  submits,
  makes,  // gives the program handles
  ends,   // destroys or frees
  names,
  binds_memory,
  asks_requirements,
  asks_memory,  // properties of the memory of a device
  maps
};

// Arguments of a call that is no plain command.
struct Details {
  int64_t start = 0, duration = 0;
  bool timed = false, done = false;
  uint64_t result = 0;                // of a call that is not done: 0
  std::vector<uint64_t> values;       // per parameter
  std::vector<std::string> contents;  // per parameter
};

struct Call {
  uint64_t seq = 0;
  const Function* function = nullptr;
  uint64_t handle = 0;    // the first parameter: command buffer, queue, device
  uint64_t a = 0, b = 0;  // of draws: vertices or indices, instances; of dispatches: groups; of binds: point, pipeline
  uint32_t thread = 0;
  uint32_t details = UINT32_MAX;
  Does does = Does::nothing;
  bool counted = false;  // a and b stand in the call: no buffer has them
};

struct Recording;
using Recorded = std::shared_ptr<const Recording>;
// The commands from one vkBeginCommandBuffer on.
struct Recording {
  uint64_t command_buffer = 0, begin_seq = 0;
  std::vector<uint32_t> calls;                       // among Work::calls
  std::map<uint32_t, std::vector<Recorded>> inside;  // by call: the secondary command buffers that it executes
  // Counts of all that runs, secondary command buffers included.
  uint64_t commands = 0, draws = 0, dispatches = 0, clears = 0, indirect = 0, vertices = 0;
};

// The work that a queue got at once.
struct Submit {
  uint32_t call = 0;   // among Work::calls
  uint32_t batch = 0;  // number among the batches of the call
  uint64_t fence = 0;
  std::vector<uint64_t> command_buffers, waits, signals;
  std::vector<Recorded> recordings;  // null: what it holds was not recorded
  bool failed = false;               // the queue did not take it: nothing of it runs
};

// A command that runs.
struct Executed {
  const Submit& submit;
  const Recording& recording;
  const Call& call;
  uint32_t index;     // of the call
  unsigned depth;     // 0 in a primary command buffer
  uint64_t primary;   // the command buffer that was submitted
  uint64_t pass;      // number of the render pass, from 1; 0 outside
  uint64_t pipeline;  // that a draw or dispatch uses; 0: none, or not known
  int64_t topology;   // that a command set; -1: none did
};

class Work {
 public:
  // `objects`: with the arguments of calls about objects and memory; `barriers`: with those of barriers.
  Work(const Trace& trace, bool objects, bool barriers);
  static bool is_in(const Trace& trace);  // whether the trace has calls of Vulkan

  const Trace& trace;
  std::vector<Call> calls;  // in order
  std::vector<Submit> submits;

  const Details* details(const Call& call) const {
    return call.details < details_.size() ? &details_[call.details] : nullptr;
  }
  // An argument by name; 0 where the call has none.
  uint64_t value(const Call& call, std::string_view param) const;
  std::string_view content(const Call& call, std::string_view param) const;
  Node tree(const Call& call, std::string_view param) const {
    return Node(trace.signatures, *field(call, param), content(call, param));
  }
  std::vector<Node> trees(const Call& call, std::string_view param) const {
    return Node::all(trace.signatures, *field(call, param), content(call, param));
  }
  std::vector<uint64_t> handles(const Call& call, const Field& field) const;
  const Field* field(const Call& call, std::string_view param) const;
  // All that ran, in the order of submission. More than `MOST` are a problem of the trace.
  void execute(const std::function<void(const Executed&)>& visit) const;
  static constexpr uint64_t MOST = 1ull << 26;
  static constexpr unsigned DEPTH = 8;  // of command buffers in each other

 private:
  struct Running;
  void collect(size_t chunk, bool objects, bool barriers);
  void follow();
  void submit(uint32_t index);
  void run(Running& running, const Recording& recording, unsigned depth) const;
  void command(uint32_t index, Recording& into) const;
  std::deque<Details> details_;
  std::map<uint64_t, std::shared_ptr<Recording>> open_;  // by command buffer: what it holds now
  std::map<uint64_t, uint64_t> pools_;                   // by command buffer
  std::mutex mutex_;
};

}  // namespace dt::vulkan
