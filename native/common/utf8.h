// Text from programs and files may hold any bytes; tables and JSON take UTF-8 alone.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dt {

// Length of the UTF-8 sequence that `text`, which is not empty, begins with; 0: none.
inline size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : (first & 0xf0) == 0xe0        ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (!length || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

// The number of bytes at the start of `text` that are ASCII; the last few may go uncounted.
inline size_t ascii_words(std::string_view text) {
  size_t at = 0;
  for (uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    memcpy(&word, text.data() + at, sizeof word);
    if (word & 0x8080808080808080u) break;
  }
  return at;
}

// Give `put` the pieces of `text` as UTF-8: each byte that belongs to no character becomes U+FFFD.
template <class Put> void each_valid_utf8(std::string_view text, Put&& put) {
  size_t valid = ascii_words(text);
  while (valid < text.size()) {
    const size_t length = utf8_length(text.substr(valid));
    valid += length;
    if (length) continue;
    put(text.substr(0, valid));
    put(std::string_view("\xef\xbf\xbd"));
    text.remove_prefix(valid + 1);
    valid = ascii_words(text);
  }
  put(text);
}

}  // namespace dt
