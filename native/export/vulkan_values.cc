#include "vulkan_values.h"

#include <algorithm>
#include <cmath>

#include "names.h"
#include "numbers.h"

namespace dt::c {
namespace {

using Of = StructMember::Kind;
using Meaning = StructMember::Meaning;
constexpr unsigned MOST_DEPTH = 200;   // of literals in each other: a chain of structures is that deep
constexpr uint64_t MOST_WRITTEN = 32;  // elements of an array that is written out

// A recording may come from anybody: what becomes C must be a name.
const std::string& word(const std::string& name) {
  if (!is_name(name)) throw Error(DT_E_FORMAT, "a name in the recording is none that C has");
  return name;
}

// An initialiser of zeros that no compiler misses braces in.
std::string zero(const StructType& type, unsigned depth = 0) {
  if (type.members.empty() || depth > Structures::DEPTH) return "{0}";
  const StructMember& m = type.members[0];
  const bool inside = m.kind == Of::structure && m.type;
  std::string text = inside ? zero(*m.type, depth + 1) : "0";
  if (m.count) text = "{" + text + "}";
  return "{." + word(m.name) + " = " + text + "}";
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return !c; });
}

// True for bits of a number that somebody may have written as a real one.
bool looks_real(uint32_t bits) {
  float v;
  memcpy(&v, &bits, 4);
  return !bits || (std::isnormal(v) && std::fabs(v) > 1e-12f && std::fabs(v) < 1e12f);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out = "{";
  for (size_t i = 0; i < parts.size(); ++i) out += (i ? ", " : "") + parts[i];
  return out + "}";
}

}  // namespace

std::string pointed_type(std::string_view ctype) {
  const std::string out = base_type(ctype);
  return out.empty() ? out : word(out);
}

void VulkanValues::named(const std::string& name, int64_t value) { enumerants_.emplace(word(name), value); }

const std::string& VulkanValues::type_name(const StructType& type) { return *types_.insert(word(type.name)).first; }

// The elements that an address in the content leads to. Relocation made the address a place in memory.
Tree::Block VulkanValues::follow(size_t slot, size_t width) {
  Tree tree(content_);
  const uint64_t at = tree.load<uint64_t>(slot) - reinterpret_cast<uint64_t>(content_.data());
  if (at < 16 || at > content_.size() || at <= slot || !width) return {};
  return {static_cast<size_t>(at), std::min(tree.load<uint64_t>(at - 8), (content_.size() - at) / width)};
}

bool VulkanValues::is_plain(const StructType& type, unsigned depth) {
  if (auto known = plain_.find(&type); known != plain_.end()) return known->second;
  bool plain = depth < Structures::DEPTH;
  for (auto& m : type.members) {
    if (m.kind == Of::structure)
      plain = plain && m.type && is_plain(*m.type, depth + 1);
    else
      plain = plain && m.kind == Of::value && m.meaning != Meaning::handle && !m.ctype.ends_with('*');
  }
  return plain_[&type] = plain;
}

std::string VulkanValues::stored(std::string_view bytes, const std::string& type, const std::string& what) {
  return "(const " + type + " *)" + data_.add(bytes, word(what));
}

// Bytes that have no type.
std::string VulkanValues::words(std::string_view bytes, const std::string& what) {
  if (bytes.size() > MOST_WRITTEN * 4) return data_.add(bytes, word(what));
  const bool wide = bytes.size() % 4 == 0;
  bool real = wide;
  for (size_t i = 0; real && i < bytes.size(); i += 4) real = looks_real(bits<uint32_t>(bytes.data() + i));
  std::vector<std::string> parts;
  for (size_t i = 0; i < bytes.size(); i += wide ? 4 : 1) {
    const uint32_t v = wide ? bits<uint32_t>(bytes.data() + i) : static_cast<uint8_t>(bytes[i]);
    parts.push_back(real && v ? f32_text(v) : real ? "0" : unsigned_text(v));
  }
  const char* type = real ? "float" : wide ? "uint32_t" : "uint8_t";
  return std::string("(const ") + type + "[])" + joined(parts);
}

std::string VulkanValues::text(std::string_view characters) {
  return quoted(characters.substr(0, characters.find('\0')));
}

std::string VulkanValues::enumerant(const EnumGroup* group, int64_t value, const std::string& ctype) {
  const std::string* name = group ? group->find(value) : nullptr;
  if (name) return named(*name, value), *name;
  return ctype.empty() ? signed_text(value) : "(" + ctype + ")" + signed_text(value);
}

std::string VulkanValues::mask(const EnumGroup* group, uint64_t value) {
  if (!value) return "0";
  if (const std::string* whole = group ? group->find(static_cast<int64_t>(value)) : nullptr)
    return named(*whole, static_cast<int64_t>(value)), *whole;
  std::string out;
  for (uint64_t bit = 1; bit && group && bit <= value; bit <<= 1) {
    const std::string* name = value & bit ? group->find(static_cast<int64_t>(bit)) : nullptr;
    if (!name) continue;
    named(*name, static_cast<int64_t>(bit));
    out += (out.empty() ? "" : " | ") + *name;
    value &= ~bit;
  }
  if (!value) return out;
  const std::string rest =
      value == UINT32_MAX ? "~0u" : hex(value, value > UINT32_MAX) + (value > UINT32_MAX ? "" : "u");
  return out.empty() ? rest : out + " | " + rest;
}

std::string VulkanValues::scalar(const Field& field, uint64_t raw) {
  switch (field.kind) {
    case Kind::enumeration: return enumerant(field.group, static_cast<int32_t>(raw), field.ctype);
    case Kind::bitmask: return mask(field.group, raw);
    case Kind::boolean: return raw == 1 ? "VK_TRUE" : raw ? unsigned_text(raw) : "VK_FALSE";
    case Kind::f32: return f32_text(static_cast<uint32_t>(raw));
    case Kind::f64: return f64_text(raw);
    case Kind::i32: return signed_text(static_cast<int32_t>(raw));
    case Kind::i64: return signed_text(static_cast<int64_t>(raw));
    case Kind::ptr: return "NULL";
    default: break;
  }
  if (raw == UINT64_MAX && field.ctype == "VkDeviceSize") return "VK_WHOLE_SIZE";
  return raw == UINT32_MAX ? "~0u" : raw == UINT64_MAX ? "~0ull" : unsigned_text(raw);
}

std::string VulkanValues::handles(const std::string& type, const uint64_t* numbers, size_t count) {
  if (count == 1 && numbers[0]) return "&" + host_.variable(numbers[0]);
  std::vector<std::string> parts;
  for (size_t i = 0; i < count; ++i) parts.push_back(host_.variable(numbers[i]));
  return "(" + type + "[])" + joined(parts);
}

std::string VulkanValues::elements(const Field& field, std::string_view bytes) {
  const std::string type = pointed_type(field.ctype);
  StructMember m;
  m.element = field.element, m.ctype = type, m.name = field.name;
  m.width = static_cast<uint32_t>(element_bytes(field.element));
  m.group = field.data_group;
  if (m.group) m.meaning = m.group->bitmask ? Meaning::bitmask : Meaning::enumeration;
  if (type.empty() || !m.width || is_opaque(m.element)) return words(bytes, field.name);
  content_ = bytes;
  left_ = bytes.size();
  if (bytes.size() / m.width > MOST_WRITTEN) return stored(bytes, type, field.name);
  std::vector<std::string> parts;
  for (size_t i = 0; i < bytes.size() / m.width; ++i) parts.push_back(value(m, 0, i));
  return "(const " + type + "[])" + joined(parts);
}

std::string VulkanValues::structures(const Field& field, std::string_view content) {
  content_ = content;
  left_ = content.size() / 4 + 2;
  depth_ = 0;
  const StructType* type = structures_.by_name(tree_name(field));
  if (!type) return "NULL";
  const Tree::Block block{8, std::min<uint64_t>(Tree(content).load<uint64_t>(0), (content.size() - 8) / type->bytes)};
  if (!has_many(field) || block.count == 1) return literal_of(*type, 8);
  return many(*type, block);
}

std::string VulkanValues::literal_of(const StructType& type, size_t at) {
  return "&(" + type_name(type) + ")" + body(type, at);
}

std::string VulkanValues::many(const StructType& type, Tree::Block block) {
  if (block.count > MOST_WRITTEN && is_plain(type))
    return stored(slice(block.at, block.count * type.bytes), type_name(type), type.name);
  std::vector<std::string> parts;
  for (uint64_t i = 0; i < block.count; ++i) parts.push_back(body(type, block.at + i * type.bytes));
  return "(" + type_name(type) + "[])" + joined(parts);
}

std::string VulkanValues::body(const StructType& type, size_t at) {
  if (type.is_union) return union_body(type, at, nullptr);
  spend(1);
  if (depth_ >= MOST_DEPTH || at + type.bytes > content_.size()) spend(UINT64_MAX);
  ++depth_;
  std::vector<std::string> parts;
  for (auto& m : type.members) {
    std::string text;
    if (m.name == "sType" && !type.stype_name.empty())
      named(type.stype_name, type.stype), text = word(type.stype_name);
    else
      text = member(type, at, m, at + m.offset);
    if (!text.empty()) parts.push_back("." + word(m.name) + " = " + text);
  }
  --depth_;
  return parts.empty() ? zero(type) : joined(parts);
}

// "": zero, which needs no initialiser.
std::string VulkanValues::member(const StructType& outer, size_t outer_at, const StructMember& m, size_t slot) {
  switch (m.kind) {
    case Of::value: return fixed(m, slot);
    case Of::structure: return in_place(outer, outer_at, m, slot);
    case Of::chain: return chain(slot);
    case Of::address: return "";
    default: break;
  }
  if (!Tree(content_).load<uint64_t>(slot)) return "";
  return pointed(m, slot);
}

std::string VulkanValues::in_place(const StructType& outer, size_t outer_at, const StructMember& m, size_t slot) {
  if (!m.type) return "";
  const uint32_t n = m.count ? m.count : 1;
  if (slot + size_t{n} * m.width <= content_.size() && is_zero(slice(slot, size_t{n} * m.width))) return "";
  std::vector<std::string> parts;
  for (uint32_t i = 0; i < n; ++i) {
    const size_t at = slot + size_t{i} * m.width;
    auto is_one = [&](const StructMember& of) { return is_chosen(Tree(content_), outer, outer_at, m, of); };
    parts.push_back(m.type->is_union ? union_body(*m.type, at, is_one) : body(*m.type, at));
  }
  return m.count ? joined(parts) : parts[0];
}

// The chosen member. Without a selector the largest member has all bytes.
std::string VulkanValues::union_body(const StructType& type, size_t at, const Choice& is_one) {
  const Tree tree(content_);
  const StructMember* best = nullptr;
  size_t most = 0;
  for (auto& choice : type.members) {
    if (is_one && !is_one(choice)) continue;
    const size_t bytes = choice.kind == Of::value || choice.kind == Of::structure
                             ? size_t{choice.width} * std::max(choice.count, 1u)
                             : 8;
    bool good = true;
    if (choice.element == Element::f32)
      for (uint32_t i = 0; i < std::max(choice.count, 1u); ++i)
        good = good && looks_real(tree.load<uint32_t>(at + i * 4));
    else if (choice.element == Element::i32)
      good = false;  // there is an unsigned one beside it
    if (best && (bytes < most || (bytes == most && !(good && best->element != Element::f32)))) continue;
    if (!best || bytes > most || good) best = &choice, most = bytes;
  }
  const std::string text = best ? member(type, at, *best, at + best->offset) : "";
  return text.empty() ? zero(type) : "{." + word(best->name) + " = " + text + "}";
}

std::string VulkanValues::pointed(const StructMember& m, size_t slot) {
  const bool apart = m.kind == Of::each_tree || m.kind == Of::each_array || m.kind == Of::texts;
  const bool typed = m.kind == Of::tree || m.kind == Of::trees || m.kind == Of::each_tree;
  if (typed && !m.type) return "NULL";
  const size_t width = apart ? 8 : typed ? m.type->bytes : m.kind == Of::text ? 1 : m.width;
  const Tree::Block block = follow(slot, width);
  if (!block) return host_.scratch();
  if (m.kind == Of::text) return spend(block.count / 8), text(slice(block.at, block.count));
  if (apart) return each(m, block);
  if (!typed) return values(m, block);
  if (!block.count) return "NULL";
  return m.kind == Of::trees && block.count > 1 ? many(*m.type, block) : literal_of(*m.type, block.at);
}

std::string VulkanValues::each(const StructMember& m, Tree::Block block) {
  spend(block.count);
  std::vector<std::string> parts;
  for (uint64_t i = 0; i < block.count; ++i) {
    const size_t own = block.at + i * 8;
    const Tree::Block one = follow(own, m.kind == Of::each_tree ? m.type->bytes : m.kind == Of::texts ? 1 : m.width);
    if (!one.at)
      parts.push_back("NULL");
    else if (m.kind == Of::texts)
      spend(one.count / 8), parts.push_back(text(slice(one.at, one.count)));
    else
      parts.push_back(m.kind == Of::each_tree ? literal_of(*m.type, one.at) : values(m, one));
  }
  if (parts.empty()) return "NULL";
  const std::string type = m.kind == Of::texts ? "char" : pointed_type(m.ctype);
  return "(const " + type + " *const[])" + joined(parts);
}

std::string VulkanValues::values(const StructMember& m, Tree::Block block) {
  spend(block.count * m.width / 8);
  const std::string type = pointed_type(m.ctype);
  const std::string_view bytes = slice(block.at, block.count * m.width);
  if (!block.count) return "NULL";
  if (m.meaning == Meaning::handle) {
    std::vector<uint64_t> numbers(block.count);
    memcpy(numbers.data(), bytes.data(), bytes.size());
    return handles(type, numbers.data(), numbers.size());
  }
  if (m.element == Element::chars) return quoted(bytes.substr(0, bytes.find('\0')));
  if (type.empty()) return words(bytes, m.name);
  if (block.count > MOST_WRITTEN) return stored(bytes, type, m.name);
  std::vector<std::string> parts;
  for (uint64_t i = 0; i < block.count; ++i) parts.push_back(value(m, block.at, i));
  return "(const " + type + "[])" + joined(parts);
}

// A value in place, or an array of them.
std::string VulkanValues::fixed(const StructMember& m, size_t slot) {
  const size_t bytes = size_t{m.width} * std::max(m.count, 1u);
  const bool named_zero = !m.count && m.meaning == Meaning::enumeration && m.group;
  if (m.ctype.ends_with('*') || m.ctype.starts_with("PFN_")) return "";
  if (!m.count) {
    const std::string text = value(m, slot, 0);
    return !named_zero && (text == "0" || text == "0.0f" || text == "0.0" || text == "VK_FALSE") ? "" : text;
  }
  const std::string_view all = slice(slot, bytes);
  if (is_zero(all)) return "";
  if (m.element == Element::chars) return text(all);
  std::vector<std::string> parts;
  for (uint32_t i = 0; i < m.count; ++i) parts.push_back(value(m, slot, i));
  return joined(parts);
}

std::string VulkanValues::value(const StructMember& m, size_t at, size_t index) {
  const uint64_t v = Tree(content_).value(m, at, index);
  switch (m.meaning) {
    case Meaning::boolean: return v == 1 ? "VK_TRUE" : v ? unsigned_text(v) : "VK_FALSE";
    case Meaning::handle: return v ? host_.variable(v) : "0";
    case Meaning::enumeration: return enumerant(m.group, static_cast<int64_t>(v), pointed_type(m.ctype));
    case Meaning::bitmask: return mask(m.group, v);
    case Meaning::number: break;
  }
  switch (m.element) {
    case Element::f32: return f32_text(static_cast<uint32_t>(v));
    case Element::f64: return f64_text(v);
    case Element::i8:
    case Element::i16:
    case Element::i32:
    case Element::i64: return signed_text(static_cast<int64_t>(v));
    default: break;
  }
  if (v == UINT64_MAX && pointed_type(m.ctype) == "VkDeviceSize") return "VK_WHOLE_SIZE";
  return v == UINT32_MAX ? "~0u" : v == UINT64_MAX ? "~0ull" : unsigned_text(v);
}

std::string VulkanValues::chain(size_t slot) {
  const Tree tree(content_);
  if (!tree.load<uint64_t>(slot)) return "";
  const uint64_t at = tree.load<uint64_t>(slot) - reinterpret_cast<uint64_t>(content_.data());
  if (at <= slot || at > content_.size()) return "";
  const StructType* type = structures_.by_stype(tree.load<int32_t>(at));
  if (!type) throw Error(DT_E_FORMAT, "a structure in a chain has a type that the recording does not explain");
  return literal_of(*type, at);
}

}  // namespace dt::c
