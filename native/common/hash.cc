#include "hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include "../third_party/xxhash.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dt {

#if defined(__x86_64__)
// hash_avx2.cc and hash_avx512.cc
Digest hash128_avx2(const void* data, size_t bytes);
uint64_t hash64_avx2(const void* data, size_t bytes);
void hash_update_avx2(void* state, const void* data, size_t bytes);
Digest hash128_avx512(const void* data, size_t bytes);
uint64_t hash64_avx512(const void* data, size_t bytes);
void hash_update_avx512(void* state, const void* data, size_t bytes);

// 2: AVX-512F, 1: AVX2, 0: neither, by processor and kernel. Not __builtin_cpu_supports: zig's runtime library lacks
// it.
static int find_vector_level() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0;  // OSXSAVE
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if ((b & (1u << 16)) && (low & 0xe6) == 0xe6) return 2;
  return b & (1u << 5) ? 1 : 0;
}

static int vector_level() {
  static int found = -1;  // whichever thread finds it, finds the same
  int level = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (level < 0) __atomic_store_n(&found, level = find_vector_level(), __ATOMIC_RELAXED);
  return level;
}
constexpr size_t WIDE_BYTES = 1024;  // shorter content does not fill wide vectors
#endif

Digest hash128(const void* data, size_t bytes) {
#if defined(__x86_64__)
  if (bytes >= WIDE_BYTES) {
    const int level = vector_level();
    if (level == 2) return hash128_avx512(data, bytes);
    if (level == 1) return hash128_avx2(data, bytes);
  }
#endif
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

uint64_t hash64(const void* data, size_t bytes) {
#if defined(__x86_64__)
  if (bytes >= WIDE_BYTES) {
    const int level = vector_level();
    if (level == 2) return hash64_avx512(data, bytes);
    if (level == 1) return hash64_avx2(data, bytes);
  }
#endif
  return XXH3_64bits(data, bytes);
}

static_assert(sizeof(XXH3_state_t) <= sizeof(Hasher) && alignof(XXH3_state_t) <= alignof(Hasher),
              "a Hasher has room for the state");

Hasher::Hasher() { XXH3_128bits_reset(reinterpret_cast<XXH3_state_t*>(state_)); }

void Hasher::update(const void* data, size_t bytes) {
#if defined(__x86_64__)
  if (bytes >= WIDE_BYTES) {
    const int level = vector_level();
    if (level == 2) return hash_update_avx512(state_, data, bytes);
    if (level == 1) return hash_update_avx2(state_, data, bytes);
  }
#endif
  XXH3_128bits_update(reinterpret_cast<XXH3_state_t*>(state_), data, bytes);
}

Digest Hasher::digest() const {
  XXH128_hash_t h = XXH3_128bits_digest(reinterpret_cast<const XXH3_state_t*>(state_));
  return {h.low64, h.high64};
}

}  // namespace dt
