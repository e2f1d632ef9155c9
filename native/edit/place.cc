#include "place.h"

#include "../common/json.h"
#include "../core/error.h"
#include "../core/structures.h"

namespace dt::edit {
namespace {

using Of = StructMember::Kind;

[[noreturn]] void wrong(std::string text) { throw Error(DT_E_ARGUMENT, std::move(text)); }

// A step of a path: a name, or a number in brackets.
struct Step {
  std::string_view name;
  uint64_t number = 0;
};

std::vector<Step> steps_of(std::string_view path) {
  std::vector<Step> out;
  while (!path.empty()) {
    if (path.front() == '[') {
      const size_t end = path.find(']');
      Step step;
      const std::string digits(path.substr(1, end == path.npos ? 0 : end - 1));
      if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos)
        wrong("a path has a number in brackets: [0]");
      step.number = std::stoull(digits);
      out.push_back(step);
      path.remove_prefix(end + 1);
    } else {
      if (path.front() == '.') path.remove_prefix(1);
      const size_t end = std::min(path.find_first_of(".["), path.size());
      if (!end) wrong("a path has names with points between");
      out.push_back({path.substr(0, end), 0});
      path.remove_prefix(end);
    }
  }
  return out;
}

// Goes along a path. It stands at structures or at values: `count` of them from `at` on, behind the pointer at `slot`.
class Walk {
 public:
  Walk(const Structures& known, std::string_view content) : known_(known), tree_(content) {}

  void root(const StructType& type, bool many) {
    const Tree::Block block = tree_.root(type.bytes);
    type_ = &type, at_ = block.at, count_ = block.count, many_ = many;
    if (!count_) wrong("the structures are not in the recording");
  }
  void step(const Step& step) {
    if (step.name.empty())
      pick(step.number);
    else
      go(step.name);
  }
  std::string json() const;

 private:
  void pick(uint64_t number);
  void go(std::string_view name);
  void enter(const StructMember& m, size_t slot);
  void chain(size_t slot);

  const Structures& known_;
  Tree tree_;
  const StructType* type_ = nullptr;      // of the structures; null: values
  const StructMember* member_ = nullptr;  // that led here
  size_t at_ = 0, slot_ = 0;
  uint64_t count_ = 0;
  bool many_ = false;  // a number may follow
};

void Walk::pick(uint64_t number) {
  const std::string name = member_ ? member_->name : "the parameter";
  if (member_ && member_->kind == Of::chain) {
    for (uint64_t i = 0; i < number; ++i) chain(at_ + 8);
    many_ = false;
    return;
  }
  if (!many_) wrong(name + " has no elements");
  if (number >= count_)
    wrong(name + " has no element " + std::to_string(number) + ": there are " + std::to_string(count_));
  at_ += number * (type_ ? type_->bytes : member_->width);
  count_ = 1, many_ = false, slot_ = 0;
}

void Walk::chain(size_t slot) {
  const Tree::Block block = tree_.follow(slot, 16);
  type_ = block.count ? known_.by_stype(tree_.load<int32_t>(block.at)) : nullptr;
  if (!type_ || !tree_.follow(slot, type_->bytes).count) wrong("the chain has no such structure in the recording");
  at_ = block.at, count_ = 1;
}

void Walk::go(std::string_view name) {
  if (!type_) wrong((member_ ? member_->name : "it") + " is no structure");
  if (many_) wrong((member_ ? member_->name : "the parameter") + " has elements: a number in brackets is missing");
  const StructType& outer = *type_;
  const StructMember* m = outer.member(name);
  if (!m) {
    std::string names;
    for (auto& each : outer.members) names += (names.empty() ? "" : ", ") + each.name;
    wrong(outer.name + " has no member " + std::string(name) + ": its members are " + names);
  }
  enter(*m, at_ + m->offset);
}

void Walk::enter(const StructMember& m, size_t slot) {
  member_ = &m, type_ = nullptr, slot_ = 0, at_ = slot, count_ = std::max(m.count, 1u), many_ = m.count > 1;
  if (m.kind == Of::value) return;
  if (m.kind == Of::structure) return void(type_ = m.type);
  slot_ = slot;
  many_ = m.kind == Of::trees || m.kind == Of::array || m.kind == Of::chain;
  if (m.kind == Of::chain) {
    if (tree_.load<uint64_t>(slot)) chain(slot);
    return;
  }
  const bool structures = (m.kind == Of::tree || m.kind == Of::trees) && m.type;
  if (!structures && m.kind != Of::array && m.kind != Of::text) wrong(m.name + " cannot be changed in its place");
  const Tree::Block block = tree_.follow(slot, structures ? m.type->bytes : std::max(m.width, 1u));
  type_ = structures ? m.type : nullptr;
  at_ = block.at, count_ = block.count;
}

std::string Walk::json() const {
  std::string text;
  JsonWriter<std::string> json(text);
  const bool pointer = slot_;
  json.object().put("slot", uint64_t{slot_}).put("at", uint64_t{at_}).put("count", count_);
  json.put("kind", std::string_view(type_                                  ? (pointer ? "structures" : "structure")
                                    : member_ && member_->kind == Of::text ? "text"
                                    : pointer                              ? "array"
                                                                           : "value"));
  json.put("many", uint64_t{many_});
  const StructMember none, &m = member_ ? *member_ : none;
  const Element e = m.element;
  const bool is_float = e == Element::f32 || e == Element::f64;
  const bool is_signed = e == Element::i8 || e == Element::i16 || e == Element::i32 || e == Element::i64;
  json.put("width", uint64_t{m.width}).put("form", std::string_view(is_float ? "f" : is_signed ? "i" : "u"));
  json.put("group", m.group_name).put("first_bit", uint64_t{m.first_bit}).put("bits", uint64_t{m.bits}).end();
  return text;
}

}  // namespace

std::string member_place(const Trace& trace, std::string_view function, std::string_view parameter,
                         std::string_view content, std::string_view path) {
  const Field* field = nullptr;
  for (auto& f : trace.signatures.functions)
    if (f.name == function)
      for (auto& p : f.params)
        if (p.name == parameter) field = &p;
  if (!field || !is_tree(*field)) wrong(std::string(parameter) + " leads to no structures");
  const Structures& known = Structures::of(trace.signatures);
  const StructType* type = known.by_name(tree_name(*field));
  if (!type) wrong("the recording does not explain " + tree_name(*field));
  Walk walk(known, content);
  walk.root(*type, has_many(*field));
  for (auto& step : steps_of(path)) walk.step(step);
  return walk.json();
}

}  // namespace dt::edit
