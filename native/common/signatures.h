// The signature text of a trace (docs/format.md): what every function is called and where its arguments stand.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt {

// Where a value stands in a record: the index-th field of `width` bytes. Width 0: nowhere.
struct Slot {
  uint8_t width = 0;
  uint16_t index = 0;
};

// Content of an array: a `D` line.
struct ContentSignature {
  Slot slot;  // of the descriptor
  std::string_view element, direction, group;
  std::string_view values;  // of an attribute list: attribute=group, separated by commas
};

// A parameter or a return value: a `P` or `R` line. Absent words are empty, not "-".
struct ValueSignature {
  std::string_view name;  // empty for a return value
  std::string_view ctype, kind;
  Slot slot;
  std::string_view group, object_class;
  std::optional<ContentSignature> content;
};

struct FunctionSignature {
  uint32_t id = 0;
  uint16_t w8 = 0, w4 = 0;
  std::string_view api, name, flags;
  Slot result_slot;                        // of the return value, where it has one
  std::unique_ptr<ValueSignature> result;  // both only in a set that keeps values
  std::vector<ValueSignature> parameters;
  std::vector<uint16_t> arrays;  // w8 indices of descriptors, ascending: the order of the payloads in a record
  std::string_view text;         // its lines, as they stand in the file

  // Bytes of a record before its payloads.
  uint32_t fixed_bytes() const { return 16u + 8u * w8 + ((4u * w4 + 7u) & ~7u); }
};

// An enum group, or a structure.
struct EnumGroup {
  std::string_view name;
  bool bitmask = false;
  std::string_view text;     // its lines
  std::string_view entries;  // the E lines of them
  std::optional<int32_t>
      stype;  // of a structure (T and M lines) that may stand in chains: the value that says its type

  // Name and value of every member, in the order of the text.
  std::vector<std::pair<std::string_view, int64_t>> members() const;
};

// Functions and enum groups by id and name. Texts can be added one after the other, as a trace does; the first
// definition of a function or group stays. All views point into text that the set owns.
class SignatureSet {
 public:
  // A recorder keeps no values: a program waits while it reads thousands of them, and it needs none of most functions.
  explicit SignatureSet(bool keeps_values = true) : keeps_values_(keeps_values) {}
  SignatureSet(const SignatureSet&) = delete;
  SignatureSet& operator=(const SignatureSet&) = delete;

  // Returns an empty string, or what is wrong and in which line. Lines before the wrong line are kept.
  std::string add(std::string text);
  // The same of text that `owner` holds.
  std::string add(std::string_view text, std::shared_ptr<const void> owner);

  const FunctionSignature* function(uint32_t id) const;
  const EnumGroup* group(std::string_view name) const;
  const std::deque<FunctionSignature>& functions() const { return functions_; }
  const std::deque<EnumGroup>& groups() const { return groups_; }

  // The enum groups and structures that a function's values and contents refer to and that this set has, each once.
  // Without what may stand in chains: it says its type itself.
  std::vector<const EnumGroup*> groups_of(const FunctionSignature& function) const;
  // The same for a structure, itself included.
  std::vector<const EnumGroup*> groups_of(const EnumGroup& structure) const;
  // The structures that may stand in chains.
  const std::vector<const EnumGroup*>& in_chains() const { return in_chains_; }

 private:
  class Adding;
  class Closure;
  const bool keeps_values_;
  std::deque<std::shared_ptr<const void>> texts_;
  std::deque<FunctionSignature> functions_;
  std::deque<EnumGroup> groups_;
  std::vector<FunctionSignature*> by_id_;
  std::unordered_map<std::string_view, EnumGroup*> by_name_;
  std::vector<const EnumGroup*> in_chains_;
};

}  // namespace dt
