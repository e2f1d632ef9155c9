// Whether text from a file is JSON that every reader of it can take.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace dt {

// Holds a text against RFC 8259: one object, at most `deepest` levels deep, no halves of characters, no number beyond a
// double. `text` is UTF-8.
class JsonCheck {
 public:
  static constexpr int deepest = 64;

  // Returns an empty string, or what is wrong.
  static std::string object(std::string_view text) {
    JsonCheck check(text);
    check.space();
    if (check.peek() != '{') return "it is no object";
    if (check.value(0)) {
      check.space();
      if (check.at_ == text.size()) return "";
      check.fail("something stands behind the object");
    }
    return check.wrong_;
  }

 private:
  explicit JsonCheck(std::string_view text) : text_(text) {}

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

  bool value(int depth) {
    space();
    switch (peek()) {
      case '{': return members(depth);
      case '[': return items(depth);
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }
  bool members(int depth) {
    if (depth >= deepest) return fail("it is too deep");
    ++at_;
    space();
    if (take('}')) return true;
    do {
      space();
      if (peek() != '"') return fail("a name is missing");
      if (!string()) return false;
      space();
      if (!take(':')) return fail("a colon is missing");
      if (!value(depth + 1)) return false;
      space();
    } while (take(','));
    return take('}') || fail("an object is not closed");
  }
  bool items(int depth) {
    if (depth >= deepest) return fail("it is too deep");
    ++at_;
    space();
    if (take(']')) return true;
    do {
      if (!value(depth + 1)) return false;
      space();
    } while (take(','));
    return take(']') || fail("a list is not closed");
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
};

}  // namespace dt
