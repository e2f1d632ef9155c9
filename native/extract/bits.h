// Sets as bits, the lowest of a byte first.
#pragma once
#include <cstdint>

namespace dt::extract {

inline bool get(const uint8_t* bits, uint64_t i) { return bits[i / 8] >> (i % 8) & 1; }
inline void put(uint8_t* bits, uint64_t i) { bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1u << (i % 8)); }

}  // namespace dt::extract
