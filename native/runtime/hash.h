// XXH3-128 with the widest vectors that this processor has: content is hashed on the application's threads.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace dt {

struct Hash128 {
  uint64_t low, high;
};
Hash128 hash128(const void* data, size_t bytes);

}  // namespace dt
