// Facts about objects that later calls do not repeat, by handle (objects.cc).
#pragma once
#include <stdint.h>

namespace dt {

enum About : uint64_t { SECONDARY = 1, PIECES = 2, BYTES = 3, WRITABLE = 4, USAGE = 5, FENCE = 6, FRESH = 7 };
void learn(uint64_t handle, About about, uint64_t value);
uint64_t known(uint64_t handle, About about);  // 0: nothing is known

}  // namespace dt
