#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
// The undefined vectors that intrinsics begin with are no mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f")
#endif
#include <immintrin.h>

#include "hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#define XXH_VECTOR XXH_AVX512
#include "xxhash.h"

namespace dt {

Hash128 hash128_avx512(const void* data, size_t bytes) {
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

}  // namespace dt
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
