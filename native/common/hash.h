// XXH3 with the widest vectors that this processor has: for the tap, which hashes on the application's threads, and for
// all who write, read and edit recordings.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace dt {

struct Digest {
  uint64_t low, high;
  bool operator==(const Digest& o) const { return high == o.high && low == o.low; }
};
Digest hash128(const void* data, size_t bytes);
uint64_t hash64(const void* data, size_t bytes);

// The 128-bit hash of content that comes in parts.
class Hasher {
 public:
  Hasher();
  void update(const void* data, size_t bytes);
  Digest digest() const;

 private:
  alignas(64) unsigned char state_[576];  // an XXH3_state_t
};

}  // namespace dt
