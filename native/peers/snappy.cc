#include "snappy.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dt::peers {
namespace {

bool take_length(const uint8_t*& at, const uint8_t* end, uint64_t* length) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 35 && at < end; shift += 7) {
    const uint8_t byte = *at++;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *length = value;
      return value <= UINT32_MAX;
    }
  }
  return false;
}

uint32_t load32(const char* at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return value;
}

void put_literal(std::string* out, const char* from, size_t bytes) {
  while (bytes) {
    const size_t n = std::min<size_t>(bytes, 65536), less = n - 1;
    if (less < 60) {
      out->push_back(static_cast<char>(less << 2));
    } else if (less < 256) {
      out->push_back(static_cast<char>(60 << 2));
      out->push_back(static_cast<char>(less));
    } else {
      out->push_back(static_cast<char>(61 << 2));
      out->push_back(static_cast<char>(less));
      out->push_back(static_cast<char>(less >> 8));
    }
    out->append(from, n);
    from += n;
    bytes -= n;
  }
}

void put_copy(std::string* out, size_t offset, size_t bytes) {
  while (bytes) {
    const size_t n = std::min<size_t>(bytes, 64);
    out->push_back(static_cast<char>((n - 1) << 2 | 2));
    out->push_back(static_cast<char>(offset));
    out->push_back(static_cast<char>(offset >> 8));
    bytes -= n;
  }
}

}  // namespace

bool snappy_uncompress(std::string_view block, uint64_t limit, std::string* out) {
  auto at = reinterpret_cast<const uint8_t*>(block.data());
  const uint8_t* const end = at + block.size();
  uint64_t length = 0;
  out->clear();
  if (!take_length(at, end, &length) || length > limit) return false;
  out->resize(length);
  char* const begin = out->data();
  size_t used = 0;
  const bool whole = [&] {
    while (at < end) {
      const uint8_t tag = *at++;
      size_t bytes, offset = 0;
      const size_t left = static_cast<size_t>(end - at);
      if ((tag & 3) == 0) {
        bytes = tag >> 2;
        if (bytes >= 60) {
          const size_t extra = bytes - 59;
          if (left < extra) return false;
          bytes = 0;
          for (size_t i = 0; i < extra; i++) bytes |= static_cast<size_t>(*at++) << (8 * i);
        }
        bytes++;
        const size_t there = static_cast<size_t>(end - at);
        const size_t n = std::min({bytes, there, length - used});
        memcpy(begin + used, at, n);
        used += n;
        at += n;
        if (n < bytes) return false;
        continue;
      }
      if ((tag & 3) == 1) {
        if (left < 1) return false;
        bytes = 4 + (tag >> 2 & 7);
        offset = static_cast<size_t>(tag >> 5) << 8 | *at++;
      } else {
        const size_t extra = (tag & 3) == 2 ? 2 : 4;
        if (left < extra) return false;
        bytes = 1 + (tag >> 2);
        for (size_t i = 0; i < extra; i++) offset |= static_cast<size_t>(*at++) << (8 * i);
      }
      if (!offset || offset > used || bytes > length - used) return false;
      if (offset >= bytes) {
        memcpy(begin + used, begin + used - offset, bytes);
      } else {
        for (size_t i = 0; i < bytes; i++) begin[used + i] = begin[used + i - offset];  // copies what it writes
      }
      used += bytes;
    }
    return true;
  }();
  out->resize(used);
  return whole && used == length;
}

void snappy_compress(std::string_view raw, std::string* out) {
  out->clear();
  for (uint64_t n = raw.size();; n >>= 7) {
    out->push_back(static_cast<char>(n < 0x80 ? n : n | 0x80));
    if (n < 0x80) break;
  }
  constexpr unsigned BITS = 14;
  std::vector<uint16_t> seen(1u << BITS);
  // Windows of 64 KiB: then every offset fits two bytes.
  for (size_t base = 0; base < raw.size(); base += 65536) {
    const char* const from = raw.data() + base;
    const size_t size = std::min<size_t>(65536, raw.size() - base);
    std::fill(seen.begin(), seen.end(), 0);
    size_t literal = 0, at = 1, misses = 32;
    while (at + 4 <= size) {
      const uint32_t word = load32(from + at);
      uint16_t& slot = seen[word * 0x1e35a7bdu >> (32 - BITS)];
      const size_t before = slot;
      slot = static_cast<uint16_t>(at);
      if (before >= at || load32(from + before) != word) {
        at += misses++ >> 5;  // looks less and less closely at what does not compress
        continue;
      }
      size_t bytes = 4;
      while (at + bytes < size && from[before + bytes] == from[at + bytes]) bytes++;
      put_literal(out, from + literal, at - literal);
      put_copy(out, at - before, bytes);
      at += bytes;
      literal = at;
      misses = 32;
    }
    put_literal(out, from + literal, size - literal);
  }
}

}  // namespace dt::peers
