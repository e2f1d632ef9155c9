// The events of an apitrace trace (format versions 0 to 6), one call at a time.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source.h"

namespace dt::peers {

enum class Type : uint8_t {
  null,
  no,
  yes,
  sint,
  uint,
  f32,
  f64,
  string,
  blob,
  enumerant,
  bitmask,
  array,
  structure,
  opaque,
  repr,
  wstring
};

// A value; an array or structure is followed by its members, which end at node `end`.
struct Node {
  Type type = Type::null;
  uint32_t sig = 0;  // enum, bitmask or structure; for strings and blobs: their bytes
  uint32_t end = 0;
  uint64_t value = 0;  // bits; for strings and blobs: where they stand in Call::bytes
};

struct EnumSig {
  std::vector<std::pair<std::string, int64_t>> members;
};
struct ListSig {  // of a function and its arguments, or a structure
  std::string name;
  std::vector<std::string> members;
};

struct Call {
  uint32_t number = 0, thread = 0, function = 0;
  bool fake = false, left = false;
  std::vector<int32_t> arguments;  // per argument: its node, or -1
  int32_t result = -1;
  std::vector<Node> nodes;
  std::vector<char> bytes;

  std::string_view content(const Node& node) const { return {bytes.data() + node.value, node.sig}; }
};

class ApitraceReader {
 public:
  explicit ApitraceReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}

  // Read the header. False: this is no apitrace trace, `damage` says why.
  bool open();
  // The next call, in order of the calls of its thread; it is gone with the next `next`. Null: the end, or the damage.
  // A call whose end is not in the file comes with `left` false.
  const Call* next();

  const ListSig& function(uint32_t id) const { return *functions_[id]; }
  const EnumSig& enums(uint32_t id) const { return *enums_[id]; }
  const EnumSig& bitmask(uint32_t id) const { return *bitmasks_[id]; }
  const ListSig& structure(uint32_t id) const { return *structs_[id]; }
  size_t functions() const { return functions_.size(); }

  uint64_t version = 0, semantic_version = 0;
  std::vector<std::pair<std::string, std::string>> properties;
  std::string damage;
  uint64_t backtraces = 0;
  const char* container() const { return source_->container(); }
  uint64_t position() const { return source_->position(); }  // bytes of the file that were read

 private:
  struct Damage {
    std::string what;
  };
  [[noreturn]] void bad(std::string what) const;
  bool fill();
  int byte() { return at_ < end_ || fill() ? static_cast<uint8_t>(*at_++) : -1; }
  uint8_t need();
  uint64_t number();
  int64_t typed_number();
  void read(char* to, size_t bytes);
  std::string text(size_t most);
  uint32_t id(size_t most);
  template <class Sig> using Signatures = std::vector<std::unique_ptr<Sig>>;
  template <class Sig, class Read> uint32_t signature(Signatures<Sig>& all, Read&& read);
  uint32_t list_sig(Signatures<ListSig>& all, const char* owner, const char* members);
  uint32_t enum_sig(Signatures<EnumSig>& all);
  void content(Call& call, Node& node);
  void value(Call& call, unsigned depth);
  void details(Call& call);
  void backtrace();
  void enter();
  void leave();
  const Call* give();
  std::unique_ptr<Call> fresh();
  uint64_t offset() const { return consumed_ - static_cast<uint64_t>(end_ - at_); }

  std::unique_ptr<Source> source_;
  std::string piece_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint64_t consumed_ = 0;
  uint32_t next_number_ = 0;
  uint64_t signature_bytes_ = 0;
  bool ended_ = false;

  struct Thread {
    uint32_t id = 0;
    std::deque<std::unique_ptr<Call>> calls;  // entered and not given yet, in order
  };
  Thread& thread(uint32_t id);
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* ready_ = nullptr;  // its first call is finished
  std::unique_ptr<Call> given_;
  std::vector<std::unique_ptr<Call>> spare_;
  Signatures<ListSig> functions_, structs_;
  Signatures<EnumSig> enums_, bitmasks_;
  std::vector<bool> frames_;
};

}  // namespace dt::peers
