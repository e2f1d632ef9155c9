#include "hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include "xxhash.h"

namespace dt {

#if defined(__x86_64__)
Hash128 hash128_avx2(const void* data, size_t bytes);    // hash_avx2.cc
Hash128 hash128_avx512(const void* data, size_t bytes);  // hash_avx512.cc
#endif

Hash128 hash128(const void* data, size_t bytes) {
#if defined(__x86_64__)
  // Short content does not fill wide vectors.
  if (bytes >= 1024) {
    static int level = -1;
    if (level < 0) {
      __builtin_cpu_init();
      level = __builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx2") ? 1 : 0;
    }
    if (level == 2) return hash128_avx512(data, bytes);
    if (level == 1) return hash128_avx2(data, bytes);
  }
#endif
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

}  // namespace dt
