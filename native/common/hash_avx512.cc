#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
// The undefined vectors that intrinsics begin with are no mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f")
#endif
#define XXH_VECTOR XXH_AVX512
#define HASH_NAME(what) what##_avx512
#include "hash_vector.inc"
#undef XXH_VECTOR
#undef HASH_NAME
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
