#include "signature.h"

#include <algorithm>
#include <iterator>

#include "fields.h"
#include "known_kinds.h"

namespace dt {
namespace {

bool slot(std::string_view text, bool& wide, int& out) {
  if (text.size() < 3 || text[1] != ':' || (text[0] != '8' && text[0] != '4')) return false;
  wide = text[0] == '8';
  return number(text.substr(2), out) && out >= 0 && static_cast<unsigned>(out) < DT_FUNCTIONS;
}

constexpr std::pair<std::string_view, Kind> KINDS[] = {
    {"i32", Kind::i32},         {"u32", Kind::u32}, {"i64", Kind::i64},      {"u64", Kind::u64},
    {"f32", Kind::f32},         {"f64", Kind::f64}, {"bool", Kind::boolean}, {"enum", Kind::enumeration},
    {"bitmask", Kind::bitmask}, {"ptr", Kind::ptr}, {"handle", Kind::handle}};

// In the order of Element: its word, and how large each is.
struct ElementWord {
  std::string_view word;
  uint8_t bytes;
};
constexpr ElementWord ELEMENTS[] = {{"", 0},          {"u8", 1},        {"i8", 1},      {"u16", 2},   {"i16", 2},
                                    {"u32", 4},       {"i32", 4},       {"u64", 8},     {"i64", 8},   {"f32", 4},
                                    {"f64", 8},       {"char", 1},      {"strings", 0}, {"bytes", 0}, {"pixels", 0},
                                    {"attribs32", 4}, {"attribs64", 8}, {"ptr", 8},     {"", 0}};
static_assert(std::size(ELEMENTS) == static_cast<size_t>(Element::structure) + 1);

uint64_t flag_bits(std::string_view text) {
  uint64_t bits = 0;
  for (auto word : split(text, ','))
    for (auto& [name, bit] : FLAG_WORDS)
      if (name == word) bits |= bit;
  return bits;
}

std::string_view word_of(Flag flag) {
  for (auto& [name, bit] : FLAG_WORDS)
    if (bit == flag) return name;
  return {};
}

// The first of these flags that a function has is its category.
std::string category(uint64_t flags) {
  for (Flag flag : {FLAG_FRAME_END, FLAG_DRAW, FLAG_DISPATCH, FLAG_CLEAR, FLAG_UPLOAD, FLAG_READBACK, FLAG_MAP,
                    FLAG_UNMAP, FLAG_MAKE_CURRENT, FLAG_CONTEXT, FLAG_FINISH, FLAG_FLUSH, FLAG_SYNC, FLAG_MARKER,
                    FLAG_LOOKUP, FLAG_ERROR_QUERY})
    if (flags & flag) return std::string(word_of(flag));
  return "state";
}

// The kinds of a function of our own APIs.
uint64_t known_kinds(std::string_view name) {
  auto it = std::lower_bound(std::begin(KNOWN_KINDS), std::end(KNOWN_KINDS), name,
                             [](auto& known, std::string_view n) { return known.first < n; });
  return it != std::end(KNOWN_KINDS) && it->first == name ? it->second : 0;
}

}  // namespace

size_t element_bytes(Element element) { return ELEMENTS[static_cast<size_t>(element)].bytes; }

Element element_of(std::string_view word) {
  for (size_t i = 1; i < std::size(ELEMENTS); ++i)
    if (ELEMENTS[i].word == word && !word.empty()) return static_cast<Element>(i);
  const bool structure = word.starts_with("tree:") || word.starts_with("tree[]:") || word.starts_with("struct:");
  return structure ? Element::structure : Element::bytes;
}

// Takes the lines of one text; what makes no sense is counted and left out.
class Signatures::Parsing {
 public:
  explicit Parsing(Signatures& to) : to_(to), first_(to.functions.size()) {}
  size_t run(std::string_view text) {
    while (!text.empty()) {
      size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text = end == text.npos ? std::string_view() : text.substr(end + 1);
      if (line.size() < 2 || line[1] != '\t') continue;
      const Parts part = split(line, '\t');
      switch (line[0]) {
        case 'F': function(line, part); break;
        case 'R':
        case 'P': value(line, part); break;
        case 'D': content(line, part); break;
        case 'G': group(line, part); break;
        case 'E': member(line, part); break;
        case 'T': structure(line, part); break;
        case 'M':
          if (structure_) group_->text.append(line).push_back('\n');
          break;
        default: break;
      }
    }
    know_kinds();
    return wrong_;
  }

 private:
  // A text of before names the later kinds, or any kind, of no function.
  void know_kinds() {
    const auto begin = to_.functions.begin() + static_cast<std::ptrdiff_t>(first_), end = to_.functions.end();
    if (std::any_of(begin, end, [](auto& f) { return f.flags & FLAG_LATER_KINDS; })) return;
    for (auto f = begin; f != end; ++f) {
      const uint64_t more = known_kinds(f->name) & ~f->flags;
      f->flags |= more;
      for (auto& [word, flag] : FLAG_WORDS)
        if (more & FLAG_KINDS & flag) f->flag_text.append(f->flag_text.empty() ? "" : ",").append(word);
    }
  }
  using Parts = std::vector<std::string_view>;
  void function(std::string_view line, const Parts& part);
  void value(std::string_view line, const Parts& part);
  void content(std::string_view line, const Parts& part);
  void group(std::string_view line, const Parts& part);
  void member(std::string_view line, const Parts& part);
  void structure(std::string_view line, const Parts& part);

  void wrong() { ++wrong_; }

  Signatures& to_;
  const size_t first_;  // of the functions that this text brings
  size_t wrong_ = 0;
  Function* function_ = nullptr;
  Field* field_ = nullptr;
  EnumGroup* group_ = nullptr;
  bool structure_ = false;  // the group is one
};

void Signatures::Parsing::function(std::string_view line, const Parts& part) {
  function_ = nullptr, field_ = nullptr, group_ = nullptr;
  unsigned id = 0;
  Function f;
  if (part.size() < 8 || !number(part[1], id) || id >= to_.by_id_.size() || !number(part[4], f.w8) ||
      !number(part[5], f.w4) || f.w8 > 255 || f.w4 > 255 || part[3].empty())
    return wrong();
  if (to_.by_id_[id] >= 0) return;
  f.id = static_cast<uint16_t>(id);
  f.api = part[2], f.name = part[3], f.flag_text = dashless(part[6]), f.provided_by = dashless(part[7]);
  f.flags = flag_bits(part[6]);
  f.category = category(f.flags);
  f.index = static_cast<int>(to_.functions.size());
  to_.by_id_[id] = f.index;
  to_.by_name_.emplace(f.name, f.index);
  to_.functions.push_back(std::move(f));
  function_ = &to_.functions.back();
  function_->text.assign(line).push_back('\n');
}

void Signatures::Parsing::value(std::string_view line, const Parts& part) {
  if (!function_) return;
  function_->text.append(line).push_back('\n');
  field_ = nullptr;
  size_t o = line[0] == 'P' ? 1 : 0;
  Field f;
  bool bare = part.size() >= 4 + o && part[3 + o] == "-";  // only its content is there, if a D says so
  const Kind* kind = part.size() < 4 + o ? nullptr : meaning_of(KINDS, part[2 + o]);
  if (!kind || (!bare && (!slot(part[3 + o], f.wide, f.slot) ||
                          static_cast<uint32_t>(f.slot) >= (f.wide ? function_->w8 : function_->w4))))
    return wrong();
  f.kind = *kind;
  f.name = o ? std::string(part[1]) : "result";
  f.ctype = part[1 + o], f.kind_name = part[2 + o];
  if (part.size() > 4 + o) f.group_name = dashless(part[4 + o]);
  if (part.size() > 5 + o) f.object_class = dashless(part[5 + o]);
  if (o) {
    if (function_->params.size() >= 255) return wrong();
    function_->params.push_back(std::move(f));
    field_ = &function_->params.back();
  } else {
    function_->result = std::make_unique<Field>(std::move(f));
    field_ = function_->result.get();
  }
}

void Signatures::Parsing::content(std::string_view line, const Parts& part) {
  if (!field_) return;
  function_->text.append(line).push_back('\n');
  bool wide = false;
  int at = -1;
  if (part.size() < 4 || !slot(part[1], wide, at) || !wide || static_cast<uint32_t>(at) >= function_->w8)
    return wrong();
  field_->data_slot = at;
  if (field_->wide && field_->slot == at) field_->slot = -1;  // the descriptor stands in place of the address
  field_->element_name = part[2];
  field_->element = element_of(part[2]);
  field_->out = part[3] == "out";
  if (part.size() > 4) field_->data_group_name = dashless(part[4]);
  if (part.size() > 5)
    for (std::string_view alone : split(part[5], ',')) {
      int64_t name = 0;
      if (number(alone, name)) field_->valueless.push_back(name);
    }
  if (part.size() > 6)
    for (std::string_view pair : split(part[6], ',')) {
      int64_t name = 0;
      size_t equals = pair.find('=');
      if (equals != pair.npos && number(pair.substr(0, equals), name))
        field_->values.push_back({name, std::string(pair.substr(equals + 1)), nullptr});
    }
}

void Signatures::Parsing::structure(std::string_view line, const Parts& part) {
  group(line, part);
  structure_ = group_;  // its text alone: structures.h
}

void Signatures::Parsing::group(std::string_view line, const Parts& part) {
  function_ = nullptr, field_ = nullptr, group_ = nullptr, structure_ = false;
  if (part.size() < 3 || to_.groups.size() >= MOST_GROUPS) return wrong();
  if (!to_.group_by_name_.emplace(std::string(part[1]), static_cast<int>(to_.groups.size())).second) return;
  to_.groups.emplace_back();
  group_ = &to_.groups.back();
  group_->name = part[1];
  group_->bitmask = part[2] == "bitmask";
  group_->text.assign(line).push_back('\n');
}

void Signatures::Parsing::member(std::string_view line, const Parts& part) {
  if (!group_) return;
  int64_t value = 0;
  uint64_t large = 0;
  if (part.size() < 3 || (!number(part[2], value) && !number(part[2], large)) || to_.members_ >= MOST_MEMBERS)
    return wrong();
  ++to_.members_;
  if (large) value = static_cast<int64_t>(large);
  group_->by_value.emplace(value, static_cast<uint32_t>(group_->members.size()));
  group_->members.emplace_back(part[1], value);
  group_->text.append(line).push_back('\n');
}

size_t Signatures::parse(std::string_view text) { return Parsing(*this).run(text); }

void Signatures::link() {
  auto find = [&](const std::string& name) -> const EnumGroup* { return name.empty() ? nullptr : group(name); };
  for (auto& f : functions) {
    f.descriptors.clear();
    auto fix = [&](Field& field) {
      field.group = find(field.group_name);
      field.data_group = find(field.data_group_name);
      for (auto& v : field.values) v.group = find(v.group_name);
      if (field.has_data()) f.descriptors.push_back(field.data_slot);
    };
    for (auto& p : f.params) fix(p);
    if (f.result) fix(*f.result);
    std::sort(f.descriptors.begin(), f.descriptors.end());
    f.descriptors.erase(std::unique(f.descriptors.begin(), f.descriptors.end()), f.descriptors.end());
    auto number_payload = [&](Field& field) {
      if (field.has_data())
        field.payload = static_cast<int>(std::lower_bound(f.descriptors.begin(), f.descriptors.end(), field.data_slot) -
                                         f.descriptors.begin());
    };
    for (auto& p : f.params) number_payload(p);
    if (f.result) number_payload(*f.result);
  }
  any_.clear();
  for (auto& g : groups)
    if (!g.bitmask)
      for (auto& [name, value] : g.members)
        if (value >= 0x100) any_.emplace(value, &name);
}

const Function* Signatures::by_name(std::string_view name) const {
  auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &functions[static_cast<size_t>(it->second)];
}

const EnumGroup* Signatures::group(std::string_view name) const {
  auto it = group_by_name_.find(std::string(name));
  return it == group_by_name_.end() ? nullptr : &groups[static_cast<size_t>(it->second)];
}

const std::string* Signatures::enum_name(const EnumGroup* group, int64_t value) const {
  if (group)
    if (auto* name = group->find(value)) return name;
  if (value > INT32_MAX && value <= UINT32_MAX && group)  // a 32-bit field that holds a negative value
    if (auto* name = group->find(static_cast<int32_t>(value))) return name;
  auto it = any_.find(value);
  return it == any_.end() ? nullptr : it->second;
}

}  // namespace dt
