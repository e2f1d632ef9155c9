// JSON: the one writer of it, and its reader. Python and native parts exchange such texts, or C structs whose layouts
// both sides check.
#pragma once
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "utf8.h"

namespace dt {

// ---- writing ------------------------------------------------------------------------------------

// Text goes to a std::string, or to anything with put(string_view).
inline void append(std::string& out, std::string_view text) { out += text; }
template <class Out> auto append(Out& out, std::string_view text) -> decltype(out.put(text), void()) { out.put(text); }

// The code point of a two or three byte sequence that a terminal acts upon (C1 controls, marks that turn the direction
// of writing); 0: it is a character like others.
inline unsigned acted_on(std::string_view sequence) {
  auto low = [&](size_t i) { return static_cast<unsigned char>(sequence[i]) & 0x3fu; };
  const unsigned first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 2) {
    const unsigned code = (first & 0x1f) << 6 | low(1);
    return code < 0xa0 || code == 0x61c ? code : 0;
  }
  if (sequence.size() != 3) return 0;
  const unsigned code = (first & 0xf) << 12 | low(1) << 6 | low(2);
  const bool turns =
      code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return turns ? code : 0;
}

// Escapes of JSON and C alike; `json` decides how control characters look. Bytes that are no UTF-8 become U+FFFD.
template <class Out> void put_escaped(Out& out, std::string_view s, bool json = true) {
  auto plain = [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  char code[8];
  auto coded = [&](const char* form, unsigned c) {
    return std::string_view(code, static_cast<size_t>(snprintf(code, sizeof code, form, c)));
  };
  while (!s.empty()) {
    size_t run = 0;
    while (run < s.size() && plain(static_cast<unsigned char>(s[run]))) ++run;
    if (run) append(out, s.substr(0, run)), s.remove_prefix(run);
    if (s.empty()) return;
    const unsigned char c = static_cast<unsigned char>(s[0]);
    const size_t length = utf8_length(s);
    if (c == '"' || c == '\\')
      append(out, "\\"), append(out, s.substr(0, 1));
    else if (c == '\n' || c == '\t' || c == '\r')
      append(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    else if (c < 0x20 || c == 0x7f)
      append(out, coded(json ? "\\u%04x" : "\\x%02x", c));
    else if (!length)
      append(out, "\xef\xbf\xbd");
    else if (const unsigned special = acted_on(s.substr(0, length)))
      append(out, coded("\\u%04x", special));
    else
      append(out, s.substr(0, length));
    s.remove_prefix(length ? length : 1);
  }
}

template <class Out> void put_json(Out& out, std::string_view text) {
  append(out, "\"");
  put_escaped(out, text);
  append(out, "\"");
}
inline std::string json_text(std::string_view text) {
  std::string out;
  put_json(out, text);
  return out;
}

// Writes values one behind the other, with the commas between them. The end of an object or a list is `end()`.
template <class Out> class JsonWriter {
 public:
  explicit JsonWriter(Out& out) : out_(out) {}

  JsonWriter& object() { return begin('{', false); }
  JsonWriter& list() { return begin('[', true); }
  JsonWriter& object(std::string_view name) { return key(name).object(); }
  JsonWriter& list(std::string_view name) { return key(name).list(); }
  JsonWriter& end() {
    append(out_, lists_ & 1 ? "]" : "}");
    lists_ >>= 1, comma_ = true;
    return *this;
  }
  JsonWriter& key(std::string_view name) {
    separate();
    put_json(out_, name);
    append(out_, ": ");
    comma_ = false;
    return *this;
  }
  // The next element stands on a line of its own.
  JsonWriter& line() {
    append(out_, comma_ ? ",\n" : "\n");
    return comma_ = false, *this;
  }
  JsonWriter& json(std::string_view value) { return separate(), append(out_, value), *this; }  // JSON already
  JsonWriter& json(std::string_view name, std::string_view value) { return key(name).json(value); }
  // A value that `write(out)` writes.
  template <class Write>
    requires std::invocable<Write, Out&>
  JsonWriter& by(Write&& write) {
    return separate(), write(out_), *this;
  }
  JsonWriter& value(std::string_view text) { return separate(), put_json(out_, text), *this; }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char* text) { return text ? value(std::string_view(text)) : json("null"); }
  JsonWriter& value(std::nullptr_t) { return json("null"); }
  JsonWriter& value(std::same_as<bool> auto is) { return json(is ? "true" : "false"); }
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  JsonWriter& value(T number) {
    if constexpr (std::floating_point<T>)
      if (!std::isfinite(number)) return json("null");
    char digits[40];
    return json({digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits)});
  }
  template <class T>
    requires requires(const T& atomic) { atomic.load(); }
  JsonWriter& value(const T& atomic) {
    return value(atomic.load());
  }
  template <class T> JsonWriter& put(std::string_view name, const T& what) { return key(name).value(what); }
  // A list of all that `all` has.
  template <class Values> JsonWriter& values(const Values& all) {
    list();
    for (auto& one : all) value(one);
    return end();
  }
  template <class Values> JsonWriter& values(std::string_view name, const Values& all) { return key(name).values(all); }

 private:
  JsonWriter& begin(char bracket, bool list) {
    separate();
    append(out_, {&bracket, 1});
    lists_ = lists_ << 1 | list, comma_ = false;
    return *this;
  }
  void separate() {
    if (comma_) append(out_, ", ");
    comma_ = true;
  }
  Out& out_;
  uint64_t lists_ = 0;  // a bit for each level that is open: is it a list?
  bool comma_ = false;
};

// A number; as text where JSON has none for it.
template <std::floating_point T> std::string json_real(T v) {
  if (std::isnan(v)) return "\"nan\"";
  if (std::isinf(v)) return v > 0 ? "\"inf\"" : "\"-inf\"";
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, v).ptr};
}
// A list of what is JSON already; one value stands alone.
inline std::string json_values(const std::vector<std::string>& values) {
  if (values.size() == 1) return values.front();
  std::string text;
  JsonWriter json(text);
  json.list();
  for (const std::string& value : values) json.json(value);
  json.end();
  return text;
}

// An object of JSON in a text of its own.
class JsonObject {
 public:
  JsonObject() : writer_(text_) { writer_.object(); }
  JsonObject(const JsonObject&) = delete;
  template <class T> JsonObject& put(std::string_view name, const T& what) { return writer_.put(name, what), *this; }
  JsonObject& json(std::string_view name, std::string_view value) { return writer_.json(name, value), *this; }
  template <class Values> JsonObject& values(std::string_view name, const Values& all) {
    return writer_.values(name, all), *this;
  }
  JsonWriter<std::string>& writer() { return writer_; }
  std::string str() const { return text_ + "}"; }

 private:
  std::string text_;
  JsonWriter<std::string> writer_;
};

// ---- reading ------------------------------------------------------------------------------------

// A value that was read. It leads into the text that it was read from, which has to stay.
class Json {
 public:
  enum Kind : uint8_t { MISSING, NOTHING, TRUTH, NUMBER, TEXT, LIST, OBJECT };

  Kind kind() const { return kind_; }
  explicit operator bool() const { return kind_ != MISSING; }
  std::string_view raw() const { return raw_; }  // as it stands in the text
  const std::vector<Json>& items() const { return items_; }
  const std::vector<std::string>& names() const { return names_; }  // of an object, in the order of its items
  const Json& operator[](std::string_view name) const {
    static const Json missing;
    for (size_t i = names_.size(); i-- > 0;)
      if (names_[i] == name) return items_[i];
    return missing;
  }

  // Each is `otherwise` for a value of another kind, or beyond the range.
  bool truth(bool otherwise = false) const { return kind_ == TRUTH ? raw_ == "true" : otherwise; }
  template <class T = uint64_t>
    requires std::is_arithmetic_v<T>
  T number(T otherwise = 0) const {
    T value{};
    return read(value) ? value : otherwise;
  }
  template <class T> bool read(T& value) const {
    const auto [end, error] = std::from_chars(raw_.data(), raw_.data() + raw_.size(), value);
    return kind_ == NUMBER && error == std::errc() && end == raw_.data() + raw_.size();
  }
  std::string text(std::string_view otherwise = "") const {
    return kind_ == TEXT ? decoded(raw_.substr(1, raw_.size() - 2)) : std::string(otherwise);
  }

 private:
  friend class JsonReader;
  static std::string decoded(std::string_view s) {
    std::string out;
    for (size_t at = 0; at < s.size(); ++at) {
      if (s[at] != '\\') {
        out += s[at];
        continue;
      }
      const size_t which = std::string_view("nrtbf").find(s[++at]);
      if (which != std::string_view::npos)
        out += "\n\r\t\b\f"[which];
      else if (s[at] != 'u')
        out += s[at];
      else
        put_character(out, s, at);
    }
    return out;
  }
  // The escape \uXXXX whose `u` stands at `at`, or two of them that are one character.
  static void put_character(std::string& out, std::string_view s, size_t& at) {
    auto code_at = [&](size_t from) {
      unsigned code = 0;
      std::from_chars(s.data() + from, s.data() + from + 4, code, 16);
      return code;
    };
    unsigned code = code_at(at + 1);
    at += 4;
    if (code >= 0xd800 && code < 0xdc00) code = 0x10000 + ((code & 0x3ff) << 10 | (code_at(at + 3) & 0x3ff)), at += 6;
    auto more = [&](unsigned shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6), more(0);
    } else if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12), more(6), more(0);
    } else {
      out += static_cast<char>(0xf0 | code >> 18), more(12), more(6), more(0);
    }
  }
  Kind kind_ = MISSING;
  std::string_view raw_;
  std::vector<Json> items_;
  std::vector<std::string> names_;
};

// Reads RFC 8259: at most `deepest` levels deep, no halves of characters, no number beyond a double. `text` is UTF-8.
class JsonReader {
 public:
  static constexpr int deepest = 64;

  // Checks that the text is one object. Returns an empty string, or what is wrong.
  static std::string check_object(std::string_view text) { return JsonReader(text).object(nullptr); }
  // The same, with the object itself.
  static std::string read_object(std::string_view text, Json& to) { return JsonReader(text).object(&to); }
  // The same, with the object's own members that have these names; of lists and objects, only the text. It takes no
  // memory, however long the text is.
  template <size_t N>
  static std::string read_members(std::string_view text, const std::array<std::string_view, N>& names,
                                  std::array<Json, N>& to) {
    JsonReader reader(text);
    reader.wanted_ = names, reader.members_ = to;
    const std::string wrong = reader.object(nullptr);
    if (!wrong.empty()) to = {};
    return wrong;
  }
  static Json member(std::string_view text, std::string_view name) {
    std::array<Json, 1> members;
    read_members<1>(text, {name}, members);
    return members[0];
  }

 private:
  explicit JsonReader(std::string_view text) : text_(text) {}

  std::string object(Json* to) {
    space();
    if (peek() != '{') return "it is no object";
    if (value(0, to)) {
      space();
      if (at_ == text_.size()) return "";
      fail("something stands behind the object");
    }
    if (to) *to = {};
    return wrong_;
  }

  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }
  bool take(char c) { return peek() == c && (++at_, true); }
  bool fail(const char* what) {
    if (wrong_.empty()) wrong_ = std::string(what) + ", at byte " + std::to_string(at_);
    return false;
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return fail("a value is none");
    at_ += word.size();
    return true;
  }

  // Reads a value; where `to` is null, it is only looked at.
  bool value(int depth, Json* to) {
    space();
    const size_t from = at_;
    Json::Kind kind = Json::NUMBER;
    bool good = false;
    switch (peek()) {
      case '{': kind = Json::OBJECT, good = inside(depth, '}', wanted_.empty() ? to : nullptr); break;
      case '[': kind = Json::LIST, good = inside(depth, ']', wanted_.empty() ? to : nullptr); break;
      case '"': kind = Json::TEXT, good = string(); break;
      case 't': kind = Json::TRUTH, good = word("true"); break;
      case 'f': kind = Json::TRUTH, good = word("false"); break;
      case 'n': kind = Json::NOTHING, good = word("null"); break;
      default: good = number();
    }
    if (to && good) to->kind_ = kind, to->raw_ = text_.substr(from, at_ - from);
    return good;
  }
  bool name(Json* to, Json** member) {
    space();
    const size_t from = at_ + 1;
    if (peek() != '"') return fail("a name is missing");
    if (!string()) return false;
    const std::string_view raw = text_.substr(from, at_ - 1 - from);
    if (to) to->names_.push_back(Json::decoded(raw));
    for (size_t i = 0; i < wanted_.size() && member; ++i)
      if (raw == wanted_[i] || (raw.find('\\') != raw.npos && Json::decoded(raw) == wanted_[i])) *member = &members_[i];
    space();
    return take(':') || fail("a colon is missing");
  }
  bool inside(int depth, char end, Json* to) {
    if (depth >= deepest) return fail("it is too deep");
    ++at_;
    space();
    if (take(end)) return true;
    do {
      Json* member = nullptr;
      if (end == '}' && !name(to, depth ? nullptr : &member)) return false;
      if (!value(depth + 1, to ? &to->items_.emplace_back() : member)) return false;
      space();
    } while (take(','));
    return take(end) || fail(end == '}' ? "an object is not closed" : "a list is not closed");
  }

  bool hex(unsigned& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int c = peek();
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0) return fail("an escape is cut short");
      code = code << 4 | static_cast<unsigned>(digit);
    }
    return true;
  }
  bool escape() {
    const int c = peek();
    ++at_;
    if (c != 'u')
      return c > 0 && std::string_view("\"\\/bfnrt").find(static_cast<char>(c)) != std::string_view::npos
                 ? true
                 : fail("an escape is none");
    unsigned code = 0, low = 0;
    if (!hex(code)) return false;
    if (code >= 0xdc00 && code < 0xe000) return fail("half of a character");
    if (code < 0xd800 || code >= 0xdc00) return true;
    if (!take('\\') || !take('u') || !hex(low) || low < 0xdc00 || low >= 0xe000) return fail("half of a character");
    return true;
  }
  bool string() {
    for (++at_;;) {
      const int c = peek();
      if (c < 0x20) return fail("a string is not closed, or has a control character");
      ++at_;
      if (c == '"') return true;
      if (c == '\\' && !escape()) return false;
    }
  }
  bool digits() {
    const size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > from || fail("a value is none");
  }
  bool number() {
    const size_t from = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    if (at_ - from > 400 || !std::isfinite(strtod(std::string(text_.substr(from, at_ - from)).c_str(), nullptr)))
      return fail("a number is too large");
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string wrong_;
  std::span<const std::string_view> wanted_;  // names of members
  std::span<Json> members_;
};

}  // namespace dt
