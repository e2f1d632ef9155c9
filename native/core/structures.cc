#include "structures.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "fields.h"

namespace dt {
namespace {

using Of = StructMember::Kind;
using Meaning = StructMember::Meaning;

template <class F> void each_word(std::string_view text, F&& of) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    of(word);
  }
}

constexpr std::pair<std::string_view, Of> MEMBER_KINDS[] = {
    {"value", Of::value},     {"struct", Of::structure}, {"tree", Of::tree},         {"tree[]", Of::trees},
    {"trees", Of::each_tree}, {"array", Of::array},      {"arrays", Of::each_array}, {"string", Of::text},
    {"strings", Of::texts},   {"chain", Of::chain},      {"address", Of::address}};

bool scalar(std::string_view text, StructMember& m) {
  static const std::pair<std::string_view, Meaning> meanings[] = {
      {"bool:", Meaning::boolean}, {"enum:", Meaning::enumeration}, {"bitmask:", Meaning::bitmask}};
  if (text == "handle") return m.meaning = Meaning::handle, m.element = Element::u64, true;
  for (auto& [prefix, meaning] : meanings)
    if (text.starts_with(prefix)) m.meaning = meaning, text.remove_prefix(prefix.size());
  const Element element = element_of(text);
  m.element = element == Element::ptr ? Element::u64 : element;
  return element <= Element::chars || element == Element::ptr;
}

std::mutex g_lock;
std::unordered_map<const Signatures*, std::unique_ptr<Structures>> g_known;

}  // namespace

Structures::Structures(const Signatures& signatures) {
  for (auto& group : signatures.groups) {
    std::string_view text = group.text;
    if (!text.starts_with("T\t")) continue;
    for (bool good = true; good && !text.empty();) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      good = line.starts_with("T\t") ? type(split(line, '\t')) : (member(split(line, '\t')), true);
    }
  }
  link(signatures);
}

const Structures& Structures::of(const Signatures& signatures) {
  std::lock_guard<std::mutex> hold(g_lock);
  auto& known = g_known[&signatures];
  if (!known) known = std::make_unique<Structures>(signatures);
  return *known;
}

void Structures::forget(const Signatures& signatures) {
  std::lock_guard<std::mutex> hold(g_lock);
  g_known.erase(&signatures);
}

bool Structures::type(const Parts& part) {
  StructType t;
  if (part.size() < 6 || types_.size() >= MOST || part[1].empty() || !number(part[2], t.bytes) || !t.bytes ||
      t.bytes > MOST_BYTES)
    return false;
  t.name = part[1];
  t.is_union = part[4] == "union";
  if (part[3] != "-") {
    const size_t colon = part[3].find(':');
    if (colon == part[3].npos || !number(part[3].substr(0, colon), t.stype)) return false;
    t.stype_name = part[3].substr(colon + 1);
    by_stype_.emplace(t.stype, types_.size());
  }
  each_word(dashless(part[5]), [&](std::string_view base) { extending_[std::string(base)].push_back(t.name); });
  by_name_.emplace(t.name, types_.size());
  types_.push_back(std::move(t));
  return true;
}

bool Structures::member(const Parts& part) {
  StructMember m;
  StructType& t = types_.back();
  const Of* kind = part.size() < 10 ? nullptr : meaning_of(MEMBER_KINDS, part[4]);
  if (!kind || t.members.size() >= MOST_MEMBERS || part[1].empty() || !number(part[2], m.offset)) return false;
  m.kind = *kind;
  m.name = part[1], m.ctype = part[3], m.group_name = dashless(part[7]);
  m.object_class = dashless(part[8]);
  if (m.kind == Of::value || m.kind == Of::array || m.kind == Of::each_array) {
    if (!scalar(part[5], m)) return false;
    m.width = static_cast<uint32_t>(element_bytes(m.element));
  } else {
    m.type_name = dashless(part[5]);
  }
  const std::string_view count = part[6];
  if (size_t plus = count.find('+'); plus != count.npos) {
    if (!number(count.substr(0, plus), m.first_bit) || !number(count.substr(plus + 1), m.bits) || !m.bits ||
        m.first_bit + m.bits > 64)
      return false;
  } else if (count != "-") {
    uint64_t all = 1;
    for (std::string_view rest = count; !rest.empty();) {
      const std::string_view side = rest.substr(0, rest.find('x'));
      rest.remove_prefix(std::min(rest.size(), side.size() + 1));
      uint32_t n = 0;
      if (!number(side, n) || !n || (all *= n) > MOST_BYTES) return false;
    }
    m.count = static_cast<uint32_t>(all);
  }
  each_word(dashless(part[9]), [&](std::string_view word) {
    int64_t value = 0;
    if (number(word, value))
      m.choices.push_back(value);
    else
      m.selector = word;
  });
  t.members.push_back(std::move(m));
  return true;
}

void Structures::link(const Signatures& of) {
  for (auto& t : types_)
    for (auto& m : t.members) {
      m.group = m.group_name.empty() ? nullptr : of.group(m.group_name);
      m.type = m.type_name.empty() ? nullptr : by_name(m.type_name);
      if (m.kind == Of::structure && m.type) m.width = m.type->bytes;
    }
}

const StructType* Structures::by_name(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &types_[it->second];
}

const StructType* Structures::by_stype(int64_t stype) const {
  auto it = by_stype_.find(stype);
  return it == by_stype_.end() ? nullptr : &types_[it->second];
}

void Structures::each(const std::function<void(const StructType&)>& visit) const {
  for (auto& type : types_) visit(type);
}

std::vector<const StructType*> Structures::extending(const std::string& name) const {
  std::vector<const StructType*> out;
  if (auto it = extending_.find(name); it != extending_.end())
    for (auto& next : it->second)
      if (auto* type = by_name(next)) out.push_back(type);
  return out;
}

std::vector<const EnumGroup*> Structures::groups(const Signatures& of, const std::string& name) const {
  std::vector<const EnumGroup*> out;
  std::unordered_set<const EnumGroup*> held;
  std::vector<std::string> names = {name};
  auto add = [&](const EnumGroup* group) {
    const bool fresh = group && held.insert(group).second;
    if (fresh) out.push_back(group);
    return fresh;
  };
  while (!names.empty()) {
    const std::string next = std::move(names.back());
    names.pop_back();
    const StructType* type = by_name(next);
    if (!add(of.group(next)) || !type) continue;
    for (auto& m : type->members) {
      add(m.group);
      if (!m.type_name.empty()) names.push_back(m.type_name);
    }
    if (auto it = extending_.find(next); it != extending_.end())
      names.insert(names.end(), it->second.begin(), it->second.end());
  }
  return out;
}

// ---- contents -----------------------------------------------------------------------------------------------

Tree::Block Tree::block(uint64_t offset, size_t width) const {
  if (offset < 8 || offset > content_.size() || !width) return {};
  const uint64_t room = (content_.size() - offset) / width;
  return {static_cast<size_t>(offset), std::min(load<uint64_t>(offset - 8), room)};
}

Tree::Block Tree::root(size_t width) { return block(8, width); }

Tree::Block Tree::follow(size_t slot, size_t width) {
  const uint64_t offset = load<uint64_t>(slot);
  return offset > slot ? block(offset, width) : Block{};
}

uint64_t Tree::value(const StructMember& m, size_t at, size_t index) const {
  at += index * m.width;
  uint64_t v = 0;
  switch (m.element) {
    case Element::i8: v = static_cast<uint64_t>(int64_t{load<int8_t>(at)}); break;
    case Element::chars:
    case Element::u8: v = load<uint8_t>(at); break;
    case Element::i16: v = static_cast<uint64_t>(int64_t{load<int16_t>(at)}); break;
    case Element::u16: v = load<uint16_t>(at); break;
    case Element::i32: v = static_cast<uint64_t>(int64_t{load<int32_t>(at)}); break;
    case Element::u32:
    case Element::f32: v = load<uint32_t>(at); break;
    default: v = load<uint64_t>(at); break;
  }
  return m.bits ? v >> m.first_bit & (m.bits == 64 ? ~0ull : (1ull << m.bits) - 1) : v;
}

bool is_chosen(const Tree& tree, const StructType& outer, size_t outer_at, const StructMember& in,
               const StructMember& choice) {
  const StructMember* selector = in.selector.empty() ? nullptr : outer.member(in.selector);
  if (!selector) return true;
  const auto value = static_cast<int64_t>(tree.value(*selector, outer_at + selector->offset));
  return std::find(choice.choices.begin(), choice.choices.end(), value) != choice.choices.end();
}

std::vector<const EnumGroup*> tree_groups(const Signatures& of, const Function& function) {
  std::vector<const EnumGroup*> out;
  std::unique_ptr<Structures> structures;
  for (auto& p : function.params) {
    if (!is_tree(p)) continue;
    if (!structures) structures = std::make_unique<Structures>(of);
    for (auto* group : structures->groups(of, tree_name(p))) out.push_back(group);
  }
  return out;
}

}  // namespace dt
