// The functions, parameters and enum groups that a trace explains itself with (docs/format.md, "Signature text").
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../common/ring.h"
#include "call_flags.h"

namespace dt {

enum class Kind : uint8_t { i32, u32, i64, u64, f32, f64, boolean, enumeration, bitmask, ptr, handle };
enum class Element : uint8_t {
  none,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f32,
  f64,
  chars,
  strings,
  bytes,
  pixels,
  attribs32,
  attribs64,
  ptr,
  structure
};
size_t element_bytes(Element element);  // 0: not made of equal elements
Element element_of(std::string_view word);
inline bool is_opaque(Element e) { return e == Element::bytes || e == Element::pixels || e == Element::structure; }

struct EnumGroup {
  std::string name;
  bool bitmask = false;
  std::vector<std::pair<std::string, int64_t>> members;
  std::unordered_map<int64_t, uint32_t> by_value;  // first name wins
  std::string text;                                // its lines
  const std::string* find(int64_t value) const {
    auto it = by_value.find(value);
    return it == by_value.end() ? nullptr : &members[it->second].first;
  }
};

// A parameter, or the result.
struct Field {
  std::string name, ctype, kind_name, group_name, object_class, element_name;
  Kind kind = Kind::i32;
  bool wide = false;  // stands in a w8 field
  int slot = -1;      // which one; -1: the value itself is not in the record
  const EnumGroup* group = nullptr;
  int data_slot = -1;  // w8 field of the array descriptor; -1: no content is captured
  int payload = -1;    // number among the function's descriptors
  Element element = Element::none;
  bool out = false;
  std::string data_group_name;
  const EnumGroup* data_group = nullptr;
  std::vector<int64_t> valueless;  // names in an attribute list that stand alone
  struct Valued {
    int64_t attribute;
    std::string group_name;
    const EnumGroup* group;
  };
  std::vector<Valued> values;  // attributes of a list whose values have names
  // The group of an attribute's value; nullptr: it is a number.
  const EnumGroup* value_group(int64_t attribute) const {
    for (auto& v : values)
      if (v.attribute == attribute) return v.group;
    return nullptr;
  }
  // Every group that is there, some perhaps more than once.
  template <class F> void each_group(F&& of) const {
    if (group) of(group);
    if (data_group) of(data_group);
    for (auto& v : values)
      if (v.group) of(v.group);
  }
  bool has_data() const { return data_slot >= 0; }
};

struct Function {
  uint16_t id = 0;
  std::string api, name, flag_text, provided_by;
  uint32_t w8 = 0, w4 = 0;
  uint64_t flags = 0;
  std::string category;
  std::vector<Field> params;
  std::unique_ptr<Field> result;
  std::vector<int> descriptors;  // their w8 slots, ascending: the order of the payloads
  int index = -1;                // among Signatures::functions
  std::string text;              // its lines
};

class Signatures {
 public:
  // More than any API has by far: a file of a megabyte can define millions.
  static constexpr size_t MOST_GROUPS = 1 << 16, MOST_MEMBERS = 1 << 20;

  // Add the lines of one SIGNATURES chunk. A function or group already known stays as it is; returns how many
  // lines made no sense (they are ignored).
  size_t parse(std::string_view text);
  void link();  // after the last parse: groups into fields
  const Function* by_id(unsigned id) const {
    return id < by_id_.size() && by_id_[id] >= 0 ? &functions[static_cast<size_t>(by_id_[id])] : nullptr;
  }
  const Function* by_name(std::string_view name) const;
  const EnumGroup* group(std::string_view name) const;
  // Name of an enumerant by value: in its group, else anywhere; nullptr: nowhere.
  const std::string* enum_name(const EnumGroup* group, int64_t value) const;

  std::deque<Function> functions;
  std::deque<EnumGroup> groups;

 private:
  class Parsing;
  std::vector<int> by_id_ = std::vector<int>(DT_FUNCTIONS, -1);
  std::unordered_map<std::string, int> by_name_;
  std::unordered_map<std::string, int> group_by_name_;
  size_t members_ = 0;                                   // of all groups
  std::unordered_map<int64_t, const std::string*> any_;  // values that are nobody's small number
};

}  // namespace dt
