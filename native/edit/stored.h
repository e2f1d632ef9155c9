// Common parts of the writers of recordings: numbers in their stored form, and writes that must work.
#pragma once
#include <cstdint>
#include <string>

#include "../core/error.h"

namespace dt::edit {

inline void put_leb128(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

inline void must(const std::string& error) {
  if (!error.empty()) throw Error(DT_E_IO, error);
}

}  // namespace dt::edit
