// Trees of structures as text and as JSON.

#include "structures.h"
#include "text.h"

namespace dt {
namespace {

using Of = StructMember::Kind;
using Meaning = StructMember::Meaning;

class TreeText {
 public:
  TreeText(Bytes& out, const Structures& names, Tree& tree, bool json, size_t most)
      : out_(out), names_(names), tree_(tree), json_(json), most_(most) {}

  void root(const StructType& type, bool many) {
    const Tree::Block block = tree_.root(type.bytes);
    if (many)
      structures(type, block);
    else if (block.count)
      structure(type, block.at, false);
    else
      out_.put(json_ ? "null" : "NULL");
  }

  void structure(const StructType& type, size_t at, bool in_chain) {
    if (!tree_.visit() || depth_ >= Structures::DEPTH) return left_out();
    ++depth_;
    open(false);
    bool first = true;
    for (auto& m : type.members) {
      if (in_chain && m.kind == Of::chain) continue;
      if (!first) out_.put(", ");
      first = false;
      name(m.name);
      if (m.name == "sType" && !type.stype_name.empty())
        word(type.stype_name);
      else
        member(type, at, m, at + m.offset);
    }
    close(false);
    --depth_;
  }

  void chain(size_t slot) {
    if (!tree_.load<uint64_t>(slot)) return absent(slot);
    open(true);
    for (bool first = true;; first = false) {
      const Tree::Block block = tree_.follow(slot, 16);
      if (!block.count || !tree_.visit()) break;
      if (!first) out_.put(", ");
      const int64_t stype = tree_.load<int32_t>(block.at);
      const StructType* type = names_.by_stype(stype);
      if (type && tree_.follow(slot, type->bytes).count) {
        if (!json_) out_.put(type->name);
        structure(*type, block.at, true);
      } else if (json_) {
        JsonWriter(out_).object().put("sType", stype).end();
      } else {
        out_.put("sType "), put_i64(out_, stype);
      }
      slot = block.at + 8;
    }
    close(true);
  }

 private:
  void open(bool list) { out_.put(json_ && list ? '[' : '{'); }
  void close(bool list) { out_.put(json_ && list ? ']' : '}'); }
  void name(std::string_view text) {
    word(text);
    out_.put(json_ ? ": " : " = ");
  }
  void absent(size_t slot) { out_.put(json_ ? "null" : tree_.load<uint64_t>(slot) == 1 ? "/* not read */" : "NULL"); }

  void structures(const StructType& type, Tree::Block block) {
    open(true);
    for (uint64_t i = 0; i < block.count; ++i) {
      if (!begin_item(i)) return close(true);
      structure(type, block.at + i * type.bytes, false);
    }
    close(true);
  }
  void left_out() { out_.put(json_ ? "null" : "…"); }
  bool begin_item(uint64_t i) {
    if (i) out_.put(", ");
    if (i == most_) left_out();
    return i != most_;
  }
  void rest() {
    left_out();
    close(true);
  }

  void union_of(const StructType& outer, size_t outer_at, const StructMember& in, size_t at) {
    open(false);
    bool first = true;
    for (auto& choice : in.type->members) {
      if (!is_chosen(tree_, outer, outer_at, in, choice)) continue;
      if (!first) out_.put(", ");
      first = false;
      name(choice.name);
      member(*in.type, at, choice, at + choice.offset);
    }
    close(false);
  }

  void member(const StructType& outer, size_t outer_at, const StructMember& m, size_t slot) {
    switch (m.kind) {
      case Of::value: values(m, slot, m.count, m.count != 0); break;
      case Of::structure: in_place(outer, outer_at, m, slot); break;
      case Of::chain: chain(slot); break;
      case Of::address: put_address(out_, tree_.load<uint64_t>(slot), json_); break;
      case Of::text: text(slot); break;
      default: pointed(m, slot); break;
    }
  }

  void in_place(const StructType& outer, size_t outer_at, const StructMember& m, size_t slot) {
    if (!m.type) return out_.put(json_ ? "null" : "?");
    const uint32_t n = m.count ? m.count : 1;
    if (m.count) open(true);
    for (uint32_t i = 0; i < n; ++i) {
      if (!begin_item(i)) return close(true);
      if (m.type->is_union)
        union_of(outer, outer_at, m, slot + size_t{i} * m.width);
      else
        structure(*m.type, slot + size_t{i} * m.width, false);
    }
    if (m.count) close(true);
  }

  void pointed(const StructMember& m, size_t slot) {
    const bool each = m.kind == Of::each_tree || m.kind == Of::each_array || m.kind == Of::texts;
    const bool typed = m.kind == Of::tree || m.kind == Of::trees || m.kind == Of::each_tree;
    if (typed && !m.type) return out_.put(json_ ? "null" : "?");
    const Tree::Block block = tree_.follow(slot, each ? 8 : typed ? m.type->bytes : m.width);
    if (!block) return absent(slot);
    if (!each) {
      if (!typed) return values(m, block.at, block.count, true);
      if (m.kind == Of::trees) return structures(*m.type, block);
      return block.count ? structure(*m.type, block.at, false) : absent(slot);
    }
    open(true);
    if (!tree_.spend(block.count * 8)) return rest();
    for (uint64_t i = 0; i < block.count; ++i) {
      if (!begin_item(i)) return close(true);
      const size_t own = block.at + i * 8;
      if (m.kind == Of::texts) {
        text(own);
        continue;
      }
      const Tree::Block one = tree_.follow(own, typed ? m.type->bytes : m.width);
      if (!one.count)
        absent(own);
      else if (typed)
        structure(*m.type, one.at, false);
      else
        value(m, one.at, 0);
    }
    close(true);
  }

  void text(size_t slot) {
    const Tree::Block block = tree_.follow(slot, 1);
    if (!block) return absent(slot);
    if (!tree_.spend(block.count)) return word("");
    quoted(tree_.bytes(block.at, block.count));
  }
  void quoted(std::string_view s) { put_json(out_, s.substr(0, s.find('\0'))); }

  void values(const StructMember& m, size_t at, uint64_t n, bool list) {
    if (list && m.element == Element::chars) return quoted(tree_.bytes(at, n));
    if (!list) return value(m, at, 0);
    open(true);
    if (!tree_.spend(n * m.width)) return rest();
    for (uint64_t i = 0; i < n; ++i) {
      if (!begin_item(i)) return close(true);
      value(m, at, i);
    }
    close(true);
  }

  void word(std::string_view text) { put_word(out_, text, json_); }
  void value(const StructMember& m, size_t at, size_t index) {
    const uint64_t v = tree_.value(m, at, index);
    switch (m.meaning) {
      case Meaning::boolean: return out_.put(json_ ? v ? "true" : "false" : v ? "VK_TRUE" : "VK_FALSE");
      case Meaning::handle: return put_address(out_, v, json_);
      case Meaning::enumeration: {
        const std::string* known = m.group ? m.group->find(static_cast<int64_t>(v)) : nullptr;
        return known ? word(*known) : put_i64(out_, static_cast<int64_t>(v));
      }
      case Meaning::bitmask: return put_mask(out_, m.group, v, json_);
      case Meaning::number: break;
    }
    if (m.element == Element::f32 || m.element == Element::f64)
      return put_real(out_, v, m.element == Element::f64, json_);
    const bool is_signed = m.element == Element::i8 || m.element == Element::i16 || m.element == Element::i32 ||
                           m.element == Element::i64 || m.element == Element::chars;
    return is_signed ? put_i64(out_, static_cast<int64_t>(v)) : put_u64(out_, v);
  }

  Bytes& out_;
  const Structures& names_;
  Tree& tree_;
  const bool json_;
  const size_t most_;
  unsigned depth_ = 0;
};

}  // namespace

void chain_json(Bytes& out, const Signatures& names, size_t slot, Tree& tree) {
  TreeText(out, Structures::of(names), tree, true, SIZE_MAX).chain(slot);
}

void structure_json(Bytes& out, const Signatures& names, const StructType& type, std::string_view content, size_t at,
                    size_t most, bool alone) {
  Tree tree(content);
  TreeText(out, Structures::of(names), tree, true, most).structure(type, at, alone);
}

void put_tree(Bytes& out, const Signatures& names, const Field& field, std::string_view content, bool json,
              size_t most) {
  const Structures& structures = Structures::of(names);
  Tree tree(content);
  if (const StructType* type = structures.by_name(tree_name(field)))
    TreeText(out, structures, tree, json, most).root(*type, has_many(field));
  else
    out.put(json ? "null" : "?");
}

}  // namespace dt
