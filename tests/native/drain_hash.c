/* XXH3 for container_check.py, from the vendored header: the checker must not depend on another library. */
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <stdint.h>

uint64_t drain_hash64(const void* data, uint64_t bytes) { return XXH3_64bits(data, bytes); }
void drain_hash128(const void* data, uint64_t bytes, uint64_t out[2]) {
  XXH128_hash_t hash = XXH3_128bits(data, bytes);
  out[0] = hash.low64;
  out[1] = hash.high64;
}
