// Numbers as C literals, and the names of constants.
#pragma once
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace dt::c {

template <class T> T bits(const char* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}

inline std::string hex(uint64_t v, bool wide = false) {
  char text[32];
  snprintf(text, sizeof text, wide ? "0x%llxull" : "0x%04llX", static_cast<unsigned long long>(v));
  return text;
}

inline std::string signed_text(int64_t v) {
  if (v == INT32_MIN) return "(-2147483647 - 1)";
  if (v == INT64_MIN) return "(-9223372036854775807ll - 1)";
  std::string text = std::to_string(v);
  return v > INT32_MAX || v < INT32_MIN ? text + "ll" : text;
}
inline std::string unsigned_text(uint64_t v) {
  std::string text = std::to_string(v);
  return v > UINT32_MAX ? text + "ull" : v > INT32_MAX ? text + "u" : text;
}

inline std::string real(double v, bool single) {
  char text[64];
  auto end = single ? std::to_chars(text, text + 60, static_cast<float>(v)).ptr : std::to_chars(text, text + 60, v).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == out.npos) out += ".0";
  return single ? out + "f" : out;
}
inline std::string f32_text(uint32_t bits) {
  const auto v = std::bit_cast<float>(bits);
  return std::isfinite(v) ? real(static_cast<double>(v), true) : "float_of(" + hex(bits) + "u)";
}
inline std::string f64_text(uint64_t bits) {
  const auto v = std::bit_cast<double>(bits);
  return std::isfinite(v) ? real(v, false) : "double_of(" + hex(bits, true) + ")";
}

using Constants = std::map<int64_t, std::string>;
inline Constants constants(std::initializer_list<int64_t> values, std::string_view names) {
  Constants out;
  for (int64_t value : values) {
    out[value] = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), out[value].size() + 2));
  }
  return out;
}
// The names of these constants by their values.
#define CONSTANTS(...) constants({__VA_ARGS__}, #__VA_ARGS__)

}  // namespace dt::c
