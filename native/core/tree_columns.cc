// Trees of structures as nested columns: a structure is a STRUCT, what a pointer leads to a STRUCT or a list.
#include "structures.h"
#include "text.h"

namespace dt {
namespace {

using Of = StructMember::Kind;
using Meaning = StructMember::Meaning;

bool is_typed(const StructMember& m) {
  return m.kind == Of::structure || m.kind == Of::tree || m.kind == Of::trees || m.kind == Of::each_tree;
}

Type scalar_type(const StructMember& m) {
  switch (m.meaning) {
    case Meaning::boolean: return Type::boolean;
    case Meaning::enumeration:
    case Meaning::bitmask: return Type::text;
    case Meaning::handle: return Type::u64;
    case Meaning::number: break;
  }
  switch (m.element) {
    case Element::u8: return Type::u8;
    case Element::chars:
    case Element::i8: return Type::i8;
    case Element::u16: return Type::u16;
    case Element::i16: return Type::i16;
    case Element::u32: return Type::u32;
    case Element::i32: return Type::i32;
    case Element::i64: return Type::i64;
    case Element::f32: return Type::f32;
    case Element::f64: return Type::f64;
    default: return Type::u64;
  }
}

bool is_own_type(const StructType& type, const StructMember& m) {
  return m.name == "sType" && !type.stype_name.empty();
}

// Types that lead to themselves end after some levels, those that lead to very much after some members: in JSON.
class Types {
 public:
  ColumnType structure(const StructType& type, unsigned depth) {
    auto fields = std::make_shared<std::vector<NamedType>>();
    for (auto& m : type.members)
      fields->push_back({m.name, is_own_type(type, m) ? ColumnType{Type::text} : member(m, depth)});
    return {Type::structure, Type::u64, std::move(fields)};
  }

 private:
  static constexpr unsigned DEPTH = 8, MOST = 4096;
  static ColumnType list_of(ColumnType item) { return {Type::list, item.type, std::move(item.fields)}; }

  ColumnType member(const StructMember& m, unsigned depth) {
    if (is_typed(m) && (!m.type || m.type->members.empty() || depth >= DEPTH || members_ >= MOST)) return Type::json;
    ++members_;
    switch (m.kind) {
      case Of::value:
        if (m.count && m.element == Element::chars) return Type::text;
        return m.count ? ColumnType{Type::list, scalar_type(m)} : ColumnType{scalar_type(m)};
      case Of::structure: {
        ColumnType item = structure(*m.type, depth + 1);
        return m.count ? list_of(std::move(item)) : item;
      }
      case Of::tree: return structure(*m.type, depth + 1);
      case Of::trees:
      case Of::each_tree: return list_of(structure(*m.type, depth + 1));
      case Of::array:
      case Of::each_array:
        return m.element == Element::chars ? ColumnType{Type::text} : ColumnType{Type::list, scalar_type(m)};
      case Of::texts: return {Type::list, Type::text};
      case Of::address: return Type::u64;
      case Of::chain: return Type::json;
      default: return Type::text;
    }
  }

  unsigned members_ = 0;
};

class TreeFill {
 public:
  TreeFill(const Signatures& names, Tree& tree) : names_(names), content_(tree.content()), tree_(tree) {}

  // In a union, the members in use where that is known.
  void members(std::span<Column> columns, const StructPlace& place) {
    auto& type = place.type;
    for (size_t i = 0; i < type.members.size(); ++i) {
      auto& m = type.members[i];
      if (is_own_type(type, m))
        columns[i].text(type.stype_name);
      else if (type.is_union && place.in && !is_chosen(tree_, *place.outer, place.outer_at, *place.in, m))
        columns[i].null();
      else
        member(columns[i], type, place.at, m, place.at + m.offset);
    }
  }

  void root(Column& column, const StructType& type, bool many) {
    const Tree::Block block = tree_.root(type.bytes);
    if (many)
      structures(column, type, block);
    else if (block.count)
      structure(column, {type, block.at});
    else
      column.null();
  }

 private:
  void structures(Column& column, const StructType& type, Tree::Block block) {
    for (uint64_t i = 0; i < block.count; ++i) structure(*column.child, {type, block.at + i * type.bytes});
    column.end_list();
  }

  void structure(Column& column, const StructPlace& place) {
    if (!tree_.visit()) return column.null();
    members(column.members, place);
    column.end_structure();
  }

  // Members that are nested too deep for columns.
  void json(Column& column, const StructMember& m, Tree::Block block, bool list) {
    if (!m.type || m.type->members.empty() || !block.count || !tree_.visit()) return column.null();
    if (list) column.data.put('[');
    for (uint64_t i = 0; i < (list ? block.count : 1); ++i) {
      if (i) column.data.put(", ");
      structure_json(column.data, names_, *m.type, content_, block.at + i * m.type->bytes, SIZE_MAX);
    }
    if (list) column.data.put(']');
    column.end_text();
  }

  void in_place(Column& column, const StructType& outer, size_t outer_at, const StructMember& m, size_t slot) {
    if (column.type.type == Type::json) return json(column, m, {slot, m.count ? m.count : 1}, m.count != 0);
    for (uint32_t i = 0; i < (m.count ? m.count : 1); ++i) {
      Column& to = m.count ? *column.child : column;
      structure(to, {*m.type, slot + size_t{i} * m.width, &outer, outer_at, &m});
    }
    if (m.count) column.end_list();
  }

  void member(Column& column, const StructType& outer, size_t outer_at, const StructMember& m, size_t slot) {
    switch (m.kind) {
      case Of::value: return values(column, m, slot, m.count, m.count != 0);
      case Of::structure: return in_place(column, outer, outer_at, m, slot);
      case Of::address: return column.value<uint64_t>(tree_.load<uint64_t>(slot));
      case Of::text: return text(column, slot);
      case Of::chain: return chain(column, slot);
      default: return pointed(column, m, slot);
    }
  }

  void pointed(Column& column, const StructMember& m, size_t slot) {
    const bool each = m.kind == Of::each_tree || m.kind == Of::each_array || m.kind == Of::texts;
    const bool typed = is_typed(m);
    if (typed && !m.type) return column.null();
    const Tree::Block block = tree_.follow(slot, each ? 8 : typed ? m.type->bytes : m.width);
    if (!block) return column.null();
    if (column.type.type == Type::json)  // addresses of structures that are nested too deep: they are left out
      return each ? column.null() : json(column, m, block, m.kind == Of::trees);
    if (m.kind == Of::tree) return block.count ? structure(column, {*m.type, block.at}) : column.null();
    if (m.kind == Of::trees) return structures(column, *m.type, block);
    if (!each) return values(column, m, block.at, block.count, true);
    if (!tree_.spend(block.count * 8)) return column.null();
    for (uint64_t i = 0; i < block.count; ++i) {
      const size_t own = block.at + i * 8;
      if (m.kind == Of::texts) {
        text(*column.child, own);
        continue;
      }
      const Tree::Block one = tree_.follow(own, typed ? m.type->bytes : m.width);
      if (!one.count)
        column.child->null();
      else if (typed)
        structure(*column.child, {*m.type, one.at});
      else
        value(*column.child, m, one.at, 0);
    }
    column.end_list();
  }

  void chain(Column& column, size_t slot) {
    if (!tree_.load<uint64_t>(slot)) return column.null();
    chain_json(column.data, names_, slot, tree_);
    column.end_text();
  }

  void text(Column& column, size_t slot) {
    const Tree::Block block = tree_.follow(slot, 1);
    if (!block || !tree_.spend(block.count)) return column.null();
    characters(column, tree_.bytes(block.at, block.count));
  }
  void characters(Column& column, std::string_view s) { column.text(s.substr(0, s.find('\0'))); }

  void values(Column& column, const StructMember& m, size_t at, uint64_t n, bool list) {
    if (!list) return value(column, m, at, 0);
    if (!tree_.spend(n * m.width)) return column.null();
    if (m.element == Element::chars) return characters(column, tree_.bytes(at, n));
    if (m.element == Element::u8 && m.meaning == Meaning::number && n > 1) {
      const std::string_view bytes = tree_.bytes(at, n);
      column.child->values(bytes.data(), bytes.size(), 1);
    } else {
      for (uint64_t i = 0; i < n; ++i) value(*column.child, m, at, i);
    }
    column.end_list();
  }

  void value(Column& column, const StructMember& m, size_t at, size_t index) {
    const uint64_t v = tree_.value(m, at, index);
    switch (column.type.type) {
      case Type::boolean: return column.boolean(v != 0);
      case Type::text:
        if (m.meaning == Meaning::bitmask) {
          put_mask(column.data, m.group, v);
        } else {
          const std::string* known = m.group ? m.group->find(static_cast<int64_t>(v)) : nullptr;
          if (known)
            column.data.put(*known);
          else
            put_i64(column.data, static_cast<int64_t>(v));
        }
        return column.end_text();
      case Type::u8:
      case Type::i8: return column.value(static_cast<uint8_t>(v));
      case Type::u16:
      case Type::i16: return column.value(static_cast<uint16_t>(v));
      case Type::u32:
      case Type::i32:
      case Type::f32: return column.value(static_cast<uint32_t>(v));
      default: return column.value(v);
    }
  }

  const Signatures& names_;
  std::string_view content_;
  Tree& tree_;
};

}  // namespace

std::vector<NamedType> structure_columns(const StructType& type) { return *Types().structure(type, 0).fields; }

void fill_structure(std::span<Column> columns, const Signatures& names, const StructPlace& place, Tree& tree) {
  TreeFill(names, tree).members(columns, place);
}

ColumnType tree_type(const Signatures& names, const Field& field) {
  const StructType* type = Structures::of(names).by_name(tree_name(field));
  if (!type || type->members.empty()) return Type::json;
  ColumnType item = Types().structure(*type, 0);
  return has_many(field) ? ColumnType{Type::list, item.type, item.fields} : item;
}

void fill_tree(Column& column, const Signatures& names, const Field& field, std::string_view content) {
  const StructType* type = Structures::of(names).by_name(tree_name(field));
  if (column.type.type == Type::json || !type) return column.null();
  Tree tree(content);
  TreeFill(names, tree).root(column, *type, has_many(field));
}

}  // namespace dt
