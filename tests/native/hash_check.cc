// Compares the hash of native/common with xxhash itself: all lengths to 4,096, all places in a line of the cache,
// content in one part and in two. Prints which vectors were compared; the exit status is 1 where a hash differs.
#include "../../native/common/hash.h"

#include <stdio.h>

#include <vector>

#define XXH_INLINE_ALL
#include "../../native/third_party/xxhash.h"

namespace dt {
Digest hash128_avx2(const void* data, size_t bytes);
uint64_t hash64_avx2(const void* data, size_t bytes);
void hash_update_avx2(void* state, const void* data, size_t bytes);
Digest hash128_avx512(const void* data, size_t bytes);
uint64_t hash64_avx512(const void* data, size_t bytes);
void hash_update_avx512(void* state, const void* data, size_t bytes);
}  // namespace dt

namespace {

constexpr size_t LONGEST = 4096, LINE = 64;

struct Vectors {
  const char* name;
  dt::Digest (*hash128)(const void*, size_t);
  uint64_t (*hash64)(const void*, size_t);
  void (*update)(void*, const void*, size_t);
};

dt::Digest in_two_parts(const Vectors& by, const unsigned char* data, size_t bytes, size_t first) {
  if (!by.update) {
    dt::Hasher hasher;
    hasher.update(data, first);
    hasher.update(data + first, bytes - first);
    return hasher.digest();
  }
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  by.update(&state, data, first);
  by.update(&state, data + first, bytes - first);
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  return {digest.low64, digest.high64};
}

size_t wrong(const Vectors& by, const unsigned char* room) {
  size_t found = 0;
  for (size_t bytes = 0; bytes <= LONGEST; ++bytes)
    for (size_t place = 0; place < LINE; ++place) {
      const unsigned char* data = room + place;
      const XXH128_hash_t expected = XXH3_128bits(data, bytes);
      const dt::Digest name{expected.low64, expected.high64};
      found += !(by.hash128(data, bytes) == name);
      found += by.hash64(data, bytes) != XXH3_64bits(data, bytes);
      found += !(in_two_parts(by, data, bytes, bytes * place / LINE) == name);
    }
  return found;
}

}  // namespace

int main() {
  std::vector<unsigned char> room(LONGEST + 2 * LINE);
  uint32_t number = 1;
  for (unsigned char& byte : room) byte = static_cast<unsigned char>((number = number * 1664525 + 1013904223) >> 24);
  const auto at = reinterpret_cast<uintptr_t>(room.data());
  const unsigned char* line = room.data() + (LINE - at % LINE) % LINE;
  std::vector<Vectors> all{{"chosen", dt::hash128, dt::hash64, nullptr}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) all.push_back({"avx2", dt::hash128_avx2, dt::hash64_avx2, dt::hash_update_avx2});
  if (__builtin_cpu_supports("avx512f"))
    all.push_back({"avx512", dt::hash128_avx512, dt::hash64_avx512, dt::hash_update_avx512});
#endif
  size_t found = 0;
  for (const Vectors& by : all) {
    const size_t here = wrong(by, line);
    printf("%s %zu\n", by.name, here);
    found += here;
  }
  return found != 0;
}
