// Fields of the lines that explain a recording: names, numbers, and `-` for nothing.
#pragma once
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

inline std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  for (;;) {
    size_t to = line.find(separator, from);
    parts.push_back(line.substr(from, to == line.npos ? line.npos : to - from));
    if (to == line.npos) return parts;
    from = to + 1;
  }
}

template <class T> bool number(std::string_view text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// Returns the meaning of a word; null: the table does not have the word.
template <class T, size_t N>
const T* meaning_of(const std::pair<std::string_view, T> (&table)[N], std::string_view word) {
  for (auto& [known, meaning] : table)
    if (known == word) return &meaning;
  return nullptr;
}

inline std::string dashless(std::string_view text) { return text == "-" ? std::string() : std::string(text); }

}  // namespace dt
