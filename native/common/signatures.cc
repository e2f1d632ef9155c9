#include "signatures.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "ring.h"

namespace dt {
namespace {

// The tab-separated fields of a line; asking beyond the last one gives an empty field.
class Fields {
 public:
  explicit Fields(std::string_view line) {
    while (count_ < LIMIT) {
      size_t tab = line.find('\t');
      fields_[count_++] = line.substr(0, tab);
      if (tab == std::string_view::npos) break;
      line.remove_prefix(tab + 1);
    }
  }
  size_t count() const { return count_; }
  std::string_view raw(size_t i) const { return i < count_ ? fields_[i] : std::string_view(); }
  std::string_view word(size_t i) const {
    std::string_view field = raw(i);
    return field == "-" ? std::string_view() : field;
  }

 private:
  static constexpr size_t LIMIT = 10;
  std::string_view fields_[LIMIT];
  size_t count_ = 0;
};

template <typename T> bool number(std::string_view text, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// `slot` must lie inside the function's fields; "-" is no slot.
bool slot(std::string_view text, const FunctionSignature& function, Slot* out) {
  if (text == "-" || text.empty()) return true;
  if (text.size() < 3 || text[1] != ':' || (text[0] != '8' && text[0] != '4')) return false;
  out->width = static_cast<uint8_t>(text[0] - '0');
  return number(text.substr(2), &out->index) && out->index < (out->width == 8 ? function.w8 : function.w4);
}

}  // namespace

std::vector<std::pair<std::string_view, int64_t>> EnumGroup::members() const {
  std::vector<std::pair<std::string_view, int64_t>> result;
  std::string_view rest = entries;
  while (!rest.empty()) {
    size_t newline = rest.find('\n');
    Fields fields(rest.substr(0, newline));
    int64_t value = 0;
    uint64_t unsigned_value = 0;
    if (fields.raw(0) == "E" && fields.count() >= 3) {
      if (number(fields.raw(2), &value)) {
        result.emplace_back(fields.raw(1), value);
      } else if (number(fields.raw(2), &unsigned_value)) {
        result.emplace_back(fields.raw(1), static_cast<int64_t>(unsigned_value));
      }
    }
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
  return result;
}

std::string SignatureSet::add(std::string owned) {
  texts_.push_back(std::move(owned));
  const std::string_view text = texts_.back();
  size_t line_number = 0;
  auto wrong = [&](const char* what) { return "signature line " + std::to_string(line_number) + ": " + what; };

  FunctionSignature spare_function;  // stands in for one that was defined before
  EnumGroup spare_group;
  FunctionSignature* function = nullptr;
  ValueSignature* value = nullptr;
  EnumGroup* group = nullptr;
  for (size_t at = 0; at < text.size();) {
    line_number++;
    size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos) return wrong("the text ends inside a line");
    const std::string_view line = text.substr(at, newline - at);
    const size_t start = at;
    at = newline + 1;
    auto extend = [&](std::string_view& view) {
      if (view.empty()) view = text.substr(start, 0);
      view = std::string_view(view.data(), static_cast<size_t>(text.data() + at - view.data()));
    };
    if (line.size() < 2 || line[1] != '\t') continue;
    const char kind = line[0];
    if (kind == 'E') {
      if (!group) return wrong("E without a G before");
      extend(group->text);
      extend(group->entries);
      continue;
    }
    if (kind != 'F' && kind != 'R' && kind != 'P' && kind != 'D' && kind != 'G') continue;
    Fields fields(line);
    if (kind == 'F') {
      group = nullptr;
      value = nullptr;
      FunctionSignature parsed;
      if (fields.count() < 6 || !number(fields.raw(1), &parsed.id) || parsed.id > DT_FUNCTION_MASK)
        return wrong("F needs an id below 16384, an api, a name and the numbers of fields");
      parsed.api = fields.word(2);
      parsed.name = fields.word(3);
      if (parsed.name.empty() || !number(fields.raw(4), &parsed.w8) || !number(fields.raw(5), &parsed.w4) ||
          parsed.w8 > 4096 || parsed.w4 > 4096)
        return wrong("F needs a name and at most 4096 fields of each width");
      parsed.flags = fields.word(6);
      parsed.provided_by = fields.word(7);
      if (by_id_.size() <= parsed.id) by_id_.resize(parsed.id + 1);
      if (by_id_[parsed.id]) {
        spare_function = parsed;
        function = &spare_function;
      } else {
        functions_.push_back(parsed);
        function = by_id_[parsed.id] = &functions_.back();
      }
      extend(function->text);
    } else if (kind == 'R' || kind == 'P') {
      const size_t first = kind == 'P' ? 2 : 1;
      if (!function) return wrong("R or P without an F before");
      if (fields.count() < first + 3) return wrong("R and P need a C type, a kind and a slot");
      ValueSignature parsed;
      if (kind == 'P') parsed.name = fields.word(1);
      parsed.ctype = fields.word(first);
      parsed.kind = fields.word(first + 1);
      if (!slot(fields.raw(first + 2), *function, &parsed.slot))
        return wrong("the slot is not one of the function's fields");
      parsed.group = fields.word(first + 3);
      parsed.object_class = fields.word(first + 4);
      if (kind == 'P') {
        function->parameters.push_back(parsed);
        value = &function->parameters.back();
      } else {
        function->result = parsed;
        value = &*function->result;
      }
      extend(function->text);
    } else if (kind == 'D') {
      if (!function || !value) return wrong("D without an R or P before");
      ContentSignature parsed;
      if (fields.count() < 4 || !slot(fields.raw(1), *function, &parsed.slot) || parsed.slot.width != 8)
        return wrong("D needs a slot of 8 bytes, an element and a direction");
      parsed.element = fields.word(2);
      parsed.direction = fields.word(3);
      parsed.group = fields.word(4);
      parsed.values = fields.word(6);
      auto& arrays = function->arrays;
      auto place = std::lower_bound(arrays.begin(), arrays.end(), parsed.slot.index);
      if (place != arrays.end() && *place == parsed.slot.index) return wrong("two D lines with the same slot");
      arrays.insert(place, parsed.slot.index);
      value->content = parsed;
      extend(function->text);
    } else {
      function = nullptr;
      value = nullptr;
      EnumGroup parsed;
      parsed.name = fields.word(1);
      parsed.bitmask = fields.raw(2) == "bitmask";
      if (parsed.name.empty()) return wrong("G needs a name");
      if (by_name_.count(parsed.name)) {
        spare_group = parsed;
        group = &spare_group;
      } else {
        groups_.push_back(parsed);
        group = &groups_.back();
        by_name_.emplace(group->name, group);
      }
      extend(group->text);
    }
  }
  return {};
}

const FunctionSignature* SignatureSet::function(uint32_t id) const { return id < by_id_.size() ? by_id_[id] : nullptr; }

const EnumGroup* SignatureSet::group(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<const EnumGroup*> SignatureSet::groups_of(const FunctionSignature& function) const {
  std::vector<const EnumGroup*> result;
  auto add_group = [&](std::string_view name) {
    const EnumGroup* found = name.empty() ? nullptr : group(name);
    if (found && std::find(result.begin(), result.end(), found) == result.end()) result.push_back(found);
  };
  auto add_value = [&](const ValueSignature& value) {
    add_group(value.group);
    if (!value.content) return;
    add_group(value.content->group);
    for (std::string_view rest = value.content->values; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      add_group(pair.substr(std::min(pair.size(), pair.find('=') + 1)));
    }
  };
  if (function.result) add_value(*function.result);
  for (const ValueSignature& value : function.parameters) add_value(value);
  return result;
}

}  // namespace dt
