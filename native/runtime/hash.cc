#include "hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include "xxhash.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dt {

#if defined(__x86_64__)
Hash128 hash128_avx2(const void* data, size_t bytes);    // hash_avx2.cc
Hash128 hash128_avx512(const void* data, size_t bytes);  // hash_avx512.cc

// 2: AVX-512F, 1: AVX2, 0: neither, by processor and kernel. Not __builtin_cpu_supports: zig's runtime library lacks
// it.
static int vector_level() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0;  // OSXSAVE
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if ((b & (1u << 16)) && (low & 0xe6) == 0xe6) return 2;
  return b & (1u << 5) ? 1 : 0;
}
#endif

Hash128 hash128(const void* data, size_t bytes) {
#if defined(__x86_64__)
  // Short content does not fill wide vectors.
  if (bytes >= 1024) {
    static int level = -1;
    if (level < 0) level = vector_level();
    if (level == 2) return hash128_avx512(data, bytes);
    if (level == 1) return hash128_avx2(data, bytes);
  }
#endif
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

}  // namespace dt
