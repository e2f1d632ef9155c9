// Reads messages of protocol buffers.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel.h"

namespace dt::kernel {

using View = std::string_view;

// A message of protocol buffers, field by field.
class Proto {
 public:
  explicit Proto(View data) : at_(reinterpret_cast<const uint8_t*>(data.data())), end_(at_ + data.size()) {}
  uint32_t field = 0, wire = 0;
  uint64_t value = 0;  // varints and fixed numbers
  View bytes;
  bool cut = false;
  const uint8_t* start = nullptr;  // of the field, its tag

  bool next() {
    if (at_ >= end_) return false;
    start = at_;
    uint64_t tag;
    if (!varint(&tag)) return false;
    field = static_cast<uint32_t>(tag >> 3);
    wire = tag & 7;
    switch (wire) {
      case 0: return varint(&value);
      case 1: return fixed(8);
      case 5: return fixed(4);
      case 2: {
        uint64_t n;
        if (!varint(&n)) return false;
        if (n > static_cast<uint64_t>(end_ - at_)) return stop();
        bytes = {reinterpret_cast<const char*>(at_), n};
        at_ += n;
        return true;
      }
      default: return stop();
    }
  }
  bool varint(uint64_t* out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ >= end_) return stop();
      uint8_t byte = *at_++;
      if (shift < 64) v |= static_cast<uint64_t>(byte & 127) << shift;
      if (!(byte & 128)) {
        *out = v;
        return true;
      }
    }
    return stop();
  }
  bool more() const { return at_ < end_; }

 private:
  bool fixed(size_t n) {
    if (static_cast<size_t>(end_ - at_) < n) return stop();
    value = load_bytes(at_, n, false);
    at_ += n;
    return true;
  }
  bool stop() {
    cut = true;
    at_ = end_;
    return false;
  }
  const uint8_t *at_, *end_;
};

inline std::vector<uint64_t> packed(const Proto& p) {
  std::vector<uint64_t> all;
  if (p.wire == 0) return {p.value};
  Proto list(p.bytes);
  uint64_t v;
  while (list.more() && list.varint(&v)) all.push_back(v);
  return all;
}

}  // namespace dt::kernel
