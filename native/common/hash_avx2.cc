#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define XXH_VECTOR XXH_AVX2
#define HASH_NAME(what) what##_avx2
#include "hash_vector.inc"
#undef XXH_VECTOR
#undef HASH_NAME
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
