// Text as a string of JSON; what it holds is UTF-8 already.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace dt::kernel {

inline void put_json(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      char code[8];
      snprintf(code, sizeof code, "\\u%04x", u);
      out += code;
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace dt::kernel
