// Structure types that a trace explains (docs/format.md, "Signature text"), and contents that are trees of them.
#pragma once
#include <functional>
#include <span>

#include "arrow.h"
#include "signature.h"

namespace dt {

struct StructType;

struct StructMember {
  enum class Kind : uint8_t {
    value,      // or a fixed array of values
    structure,  // in place, or a fixed array of them
    tree,       // address of a structure
    trees,      // address of structures
    each_tree,  // address of addresses of structures
    array,      // address of values
    each_array,
    text,
    texts,
    chain,
    address  // of something that was not looked behind
  };
  enum class Meaning : uint8_t { number, boolean, enumeration, bitmask, handle };
  std::string name, ctype, group_name, type_name, object_class, selector;
  Kind kind = Kind::value;
  Meaning meaning = Meaning::number;
  Element element = Element::none;  // of values
  uint32_t offset = 0, width = 0;   // width: bytes of one value or structure in place
  uint32_t count = 0;               // of a fixed array; 0: none
  uint8_t first_bit = 0, bits = 0;  // of a bit-field
  std::vector<int64_t> choices;     // a union's member is in use where the selector has one of these values
  const EnumGroup* group = nullptr;
  const StructType* type = nullptr;
};

struct StructType {
  std::string name, stype_name;
  uint32_t bytes = 0;
  int64_t stype = -1;
  bool is_union = false;
  std::vector<std::string> extends;
  std::vector<StructMember> members;
  const StructMember* member(std::string_view of) const {
    for (auto& m : members)
      if (m.name == of) return &m;
    return nullptr;
  }
};

class Structures {
 public:
  // Those of a trace, worked out at the first question. The owner of the signatures forgets them before these go.
  explicit Structures(const Signatures& signatures);
  static const Structures& of(const Signatures& signatures);
  static void forget(const Signatures& signatures);

  static constexpr size_t MOST = 1 << 14, MOST_MEMBERS = 1 << 10, MOST_BYTES = 1 << 16;
  static constexpr unsigned DEPTH = 24;  // of structures in each other that are read

  const StructType* by_name(const std::string& name) const;
  const StructType* by_stype(int64_t stype) const;
  void each(const std::function<void(const StructType&)>& visit) const;
  std::vector<const StructType*> extending(const std::string& name) const;  // what its chain may hold
  // Texts of a structure and of all that it leads to, and their enum groups.
  std::vector<const EnumGroup*> groups(const Signatures& of, const std::string& name) const;

 private:
  using Parts = std::vector<std::string_view>;
  bool type(const Parts& part);    // a T line; false: it makes no sense
  bool member(const Parts& part);  // an M line of the last T
  void link(const Signatures& of);
  std::deque<StructType> types_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<int64_t, size_t> by_stype_;
  std::unordered_map<std::string, std::vector<std::string>> extending_;
};

// A content that is a tree. Reading ends, whatever stands in the tree: addresses lead forward, and there are no more
// structures than the content has room for.
class Tree {
 public:
  explicit Tree(std::string_view content) : content_(content), left_(content.size() / 4 + 2) {}
  struct Block {
    size_t at = 0;       // of the first element
    uint64_t count = 0;  // whole elements that are there
    explicit operator bool() const { return at; }
  };
  // The block that the address at `slot` leads to; none where the address is NULL, was not captured, or makes no sense.
  Block follow(size_t slot, size_t width);
  Block root(size_t width);
  bool visit() { return left_ && left_--; }  // before each structure
  bool spend(uint64_t bytes) {               // before each array: many addresses may lead to the same
    const bool enough = bytes / 8 <= left_;
    left_ -= enough ? bytes / 8 : 0;
    return enough;
  }
  template <class T> T load(size_t at) const {
    T v{};
    if (at + sizeof v <= content_.size()) memcpy(&v, content_.data() + at, sizeof v);
    return v;
  }
  uint64_t value(const StructMember& m, size_t at, size_t index = 0) const;  // as an integer, or the bits of a float
  std::string_view content() const { return content_; }
  std::string_view bytes(size_t at, size_t n) const { return content_.substr(std::min(at, content_.size()), n); }

 private:
  Block block(uint64_t offset, size_t width) const;
  std::string_view content_;
  size_t left_;
};

// Returns whether a union's member is in use; `outer` has the union at `in`. Without a selector all are.
bool is_chosen(const Tree& tree, const StructType& outer, size_t outer_at, const StructMember& in,
               const StructMember& choice);

// A parameter whose content is a tree.
inline bool is_tree(const Field& field) {
  return field.element_name.starts_with("tree:") || field.element_name.starts_with("tree[]:");
}
inline bool has_many(const Field& field) { return field.element_name.starts_with("tree["); }
inline std::string tree_name(const Field& field) { return field.element_name.substr(field.element_name.find(':') + 1); }
// As text or JSON.
void put_tree(Bytes& out, const Signatures& names, const Field& field, std::string_view content, bool json,
              size_t most_elements);
// As columns: STRUCT, lists of it.
ColumnType tree_type(const Signatures& names, const Field& field);
void fill_tree(Column& column, const Signatures& names, const Field& field, std::string_view content);
// A structure in a content, and the member of a union of `outer` that it is, if any.
struct StructPlace {
  const StructType& type;
  size_t at = 0;
  const StructType* outer = nullptr;
  size_t outer_at = 0;
  const StructMember* in = nullptr;
};
// Its members, each as a column of its own.
std::vector<NamedType> structure_columns(const StructType& type);
void fill_structure(std::span<Column> columns, const Signatures& names, const StructPlace& place, Tree& tree);
// The structure that begins at `at`, as JSON; `alone`: without its chain.
void structure_json(Bytes& out, const Signatures& names, const StructType& type, std::string_view content, size_t at,
                    size_t most_elements, bool alone = false);
// The chain that begins at `slot`, as JSON.
void chain_json(Bytes& out, const Signatures& names, size_t slot, Tree& tree);

// Texts of the structures that the parameters of a function lead to.
std::vector<const EnumGroup*> tree_groups(const Signatures& of, const Function& function);

}  // namespace dt
