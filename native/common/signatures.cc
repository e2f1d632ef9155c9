#include "signatures.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <unordered_set>

#include "ring.h"

namespace dt {
namespace {

// Where a character stands in the STRIDE bytes from `at`: one bit for each. A recorder reads tens of thousands of short
// lines before its first call: a step for each character, or a call of memchr for each field, costs more.
constexpr size_t STRIDE = 64;
template <char MARK> uint64_t places(const char* at) {
  uint64_t bits = 0;
#ifdef __SSE2__
#pragma GCC unroll 4
  for (unsigned i = 0; i < STRIDE; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i));
    const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(MARK)));
    bits |= static_cast<uint64_t>(static_cast<unsigned>(equal)) << i;
  }
#else
  for (unsigned i = 0; i < STRIDE; i++) bits |= static_cast<uint64_t>(at[i] == MARK) << i;
#endif
  return bits;
}

// The tab-separated fields of a line; asking beyond the last one gives an empty field.
class Fields {
 public:
  static constexpr size_t LIMIT = 10;
  // `readable`: the end of the text in which the line stands.
  Fields(std::string_view line, size_t most, const char* readable) {
    const char *begin = line.data(), *at = begin, *const end = begin + line.size();
    for (; at < end && count_ < most && readable - at >= static_cast<ptrdiff_t>(STRIDE);
         at += std::min<ptrdiff_t>(STRIDE, end - at)) {
      uint64_t tabs = places<'\t'>(at);
      if (end - at < static_cast<ptrdiff_t>(STRIDE)) tabs &= (uint64_t{1} << (end - at)) - 1;
      for (; tabs && count_ < most; tabs &= tabs - 1) {
        const char* const tab = at + std::countr_zero(tabs);
        fields_[count_++] = {begin, static_cast<size_t>(tab - begin)};
        begin = tab + 1;
      }
    }
    for (; count_ < most; at++) {
      if (at != end && *at != '\t') continue;
      fields_[count_++] = {begin, static_cast<size_t>(at - begin)};
      if (at == end) break;
      begin = at + 1;
    }
  }
  explicit Fields(std::string_view line) : Fields(line, LIMIT, line.data() + line.size()) {}
  size_t count() const { return count_; }
  std::string_view raw(size_t i) const { return i < count_ ? fields_[i] : std::string_view(); }
  std::string_view word(size_t i) const {
    std::string_view field = raw(i);
    return field == "-" ? std::string_view() : field;
  }

 private:
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

// Takes the lines of one text into a set.
class SignatureSet::Adding {
 public:
  Adding(SignatureSet& set, std::string_view text) : set_(set), text_(text) {}
  std::string run();

 private:
  std::string wrong(const char* what) const {
    const auto lines = std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(start_), '\n');
    return "signature line " + std::to_string(lines + 1) + ": " + what;
  }
  // The first newline at or behind `at`.
  size_t newline(size_t at) const {
    if (text_.size() - at < STRIDE) return text_.find('\n', at);
    const uint64_t newlines = places<'\n'>(text_.data() + at);
    return newlines ? at + static_cast<size_t>(std::countr_zero(newlines)) : text_.find('\n', at + STRIDE);
  }
  // The first fields of a line.
  Fields fields(std::string_view line, size_t most) const { return {line, most, text_.data() + text_.size()}; }
  // Goes behind the lines of this kind that follow: an enum group has thousands, a structure dozens.
  void skip(char kind) {
    for (size_t end; text_.size() - at_ > 1 && text_[at_] == kind && text_[at_ + 1] == '\t'; at_ = end + 1)
      if (end = newline(at_); end == std::string_view::npos) return;
  }
  // Makes `view` reach to the end of the present line.
  void extend(std::string_view& view) const {
    if (view.empty()) view = text_.substr(start_, 0);
    view = std::string_view(view.data(), static_cast<size_t>(text_.data() + at_ - view.data()));
  }
  std::string function(const Fields& fields);
  std::string value(char kind, const Fields& fields);
  std::string content(const Fields& fields);
  std::string group(const Fields& fields);
  std::string structure(const Fields& fields);

  SignatureSet& set_;
  const std::string_view text_;
  size_t at_ = 0, start_ = 0;
  FunctionSignature spare_function_;  // stands in for one that was defined before
  EnumGroup spare_group_;
  FunctionSignature* function_ = nullptr;
  bool has_value_ = false;  // a D line has something to belong to
  ValueSignature* value_ = nullptr;
  EnumGroup* group_ = nullptr;
};

std::string SignatureSet::Adding::run() {
  while (at_ < text_.size()) {
    start_ = at_;
    const size_t end = newline(at_);
    if (end == std::string_view::npos) return wrong("the text ends inside a line");
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (line.size() < 2 || line[1] != '\t') continue;
    std::string error;
    switch (line[0]) {
      case 'E':
        if (!group_) return wrong("E without a G before");
        skip('E');
        extend(group_->text);
        extend(group_->entries);
        break;
      case 'F': error = function(fields(line, 7)); break;
      case 'R':
      case 'P': error = value(line[0], fields(line, set_.keeps_values_ ? Fields::LIMIT : 5)); break;
      case 'D': error = content(fields(line, set_.keeps_values_ ? Fields::LIMIT : 4)); break;
      case 'G': error = group(fields(line, 3)); break;
      case 'T': error = structure(fields(line, 6)); break;
      case 'M':  // read where the structure is needed: most are not
        skip('M');
        if (group_) extend(group_->text);
        break;
      default: break;
    }
    if (!error.empty()) return error;
  }
  return {};
}

std::string SignatureSet::Adding::function(const Fields& fields) {
  group_ = nullptr;
  has_value_ = false;
  FunctionSignature parsed;
  if (fields.count() < 6 || !number(fields.raw(1), &parsed.id) || parsed.id > DT_FUNCTION_MASK)
    return wrong("F needs an id below 16384, an api, a name and the numbers of fields");
  parsed.api = fields.word(2);
  parsed.name = fields.word(3);
  if (parsed.name.empty() || !number(fields.raw(4), &parsed.w8) || !number(fields.raw(5), &parsed.w4) ||
      parsed.w8 > 4096 || parsed.w4 > 4096)
    return wrong("F needs a name and at most 4096 fields of each width");
  parsed.flags = fields.word(6);
  if (set_.by_id_.size() <= parsed.id) set_.by_id_.resize(parsed.id + 1);
  if (set_.by_id_[parsed.id]) {
    spare_function_ = std::move(parsed);
    function_ = &spare_function_;
  } else {
    set_.functions_.push_back(std::move(parsed));
    function_ = set_.by_id_[parsed.id] = &set_.functions_.back();
  }
  extend(function_->text);
  return {};
}

std::string SignatureSet::Adding::value(char kind, const Fields& fields) {
  const size_t first = kind == 'P' ? 2 : 1;
  if (!function_) return wrong("R or P without an F before");
  if (fields.count() < first + 3) return wrong("R and P need a C type, a kind and a slot");
  Slot place;
  if (!slot(fields.raw(first + 2), *function_, &place)) return wrong("the slot is not one of the function's fields");
  has_value_ = true;
  if (kind == 'R') function_->result_slot = place;
  if (set_.keeps_values_) {
    ValueSignature parsed;
    if (kind == 'P') parsed.name = fields.word(1);
    parsed.ctype = fields.word(first);
    parsed.kind = fields.word(first + 1);
    parsed.slot = place;
    parsed.group = fields.word(first + 3);
    parsed.object_class = fields.word(first + 4);
    if (kind == 'P')
      value_ = &function_->parameters.emplace_back(parsed);
    else
      value_ = (function_->result = std::make_unique<ValueSignature>(parsed)).get();
  }
  extend(function_->text);
  return {};
}

std::string SignatureSet::Adding::content(const Fields& fields) {
  if (!function_ || !has_value_) return wrong("D without an R or P before");
  Slot data;
  if (fields.count() < 4 || !slot(fields.raw(1), *function_, &data) || data.width != 8)
    return wrong("D needs a slot of 8 bytes, an element and a direction");
  auto& arrays = function_->arrays;
  auto place = std::lower_bound(arrays.begin(), arrays.end(), data.index);
  if (place != arrays.end() && *place == data.index) return wrong("two D lines with the same slot");
  arrays.insert(place, data.index);
  if (set_.keeps_values_)
    value_->content = ContentSignature{data, fields.word(2), fields.word(3), fields.word(4), fields.word(6)};
  extend(function_->text);
  return {};
}

std::string SignatureSet::Adding::group(const Fields& fields) {
  function_ = nullptr;
  has_value_ = false;
  EnumGroup parsed;
  parsed.name = fields.word(1);
  parsed.bitmask = fields.raw(2) == "bitmask";
  if (parsed.name.empty()) return wrong("G needs a name");
  if (const auto [place, fresh] = set_.by_name_.try_emplace(parsed.name); fresh) {
    group_ = place->second = &set_.groups_.emplace_back(parsed);
  } else {
    spare_group_ = parsed;
    group_ = &spare_group_;
  }
  extend(group_->text);
  return {};
}

std::string SignatureSet::Adding::structure(const Fields& fields) {
  if (std::string error = group(fields); !error.empty()) return error;
  int32_t stype = 0;
  if (group_ == &spare_group_ || fields.word(5).empty() ||
      !number(fields.raw(3).substr(0, fields.raw(3).find(':')), &stype))
    return {};
  group_->stype = stype;
  set_.in_chains_.push_back(group_);
  return {};
}

std::string SignatureSet::add(std::string text) {
  const auto owned = std::make_shared<const std::string>(std::move(text));
  return add(*owned, owned);
}

std::string SignatureSet::add(std::string_view text, std::shared_ptr<const void> owner) {
  texts_.push_back(std::move(owner));
  return Adding(*this, text).run();
}

const FunctionSignature* SignatureSet::function(uint32_t id) const { return id < by_id_.size() ? by_id_[id] : nullptr; }

const EnumGroup* SignatureSet::group(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

// Groups and structures with what they lead to, each once.
class SignatureSet::Closure {
 public:
  explicit Closure(const SignatureSet& set) : set_(set) {}
  void add(std::string_view name) {
    const EnumGroup* group = name.empty() ? nullptr : set_.group(name);
    if (group && held_.insert(group).second) result_.push_back(group);
  }
  std::vector<const EnumGroup*> result() {
    for (size_t i = 0; i < result_.size(); ++i)
      for (std::string_view rest = result_[i]->text; rest.starts_with("T\t") || rest.starts_with("M\t");) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line[0] != 'M') continue;
        const Fields fields(line);
        add(fields.word(5)), add(fields.word(7));  // the structure, and the enum group
      }
    return std::move(result_);
  }

 private:
  const SignatureSet& set_;
  std::vector<const EnumGroup*> result_;
  std::unordered_set<const EnumGroup*> held_;
};

std::vector<const EnumGroup*> SignatureSet::groups_of(const FunctionSignature& function) const {
  Closure closure(*this);
  for (std::string_view rest = function.text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const Fields fields(line);
    if (fields.raw(0) == "P" || fields.raw(0) == "R") closure.add(fields.word(fields.raw(0) == "P" ? 5 : 4));
    if (fields.raw(0) != "D") continue;
    closure.add(fields.word(4));
    if (fields.word(2).starts_with("tree")) closure.add(fields.word(2).substr(fields.word(2).find(':') + 1));
    for (std::string_view values = fields.word(6); !values.empty();) {
      const std::string_view pair = values.substr(0, values.find(','));
      values.remove_prefix(std::min(values.size(), pair.size() + 1));
      closure.add(pair.substr(std::min(pair.size(), pair.find('=') + 1)));
    }
  }
  return closure.result();
}

std::vector<const EnumGroup*> SignatureSet::groups_of(const EnumGroup& structure) const {
  Closure closure(*this);
  closure.add(structure.name);
  return closure.result();
}

}  // namespace dt
