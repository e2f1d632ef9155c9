#include "proof.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace dt {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of 8.
constexpr uint32_t ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr size_t BLOCK = 64;

void add_block(uint32_t* state, const unsigned char* at) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++)
    w[i] = uint32_t{at[4 * i]} << 24 | uint32_t{at[4 * i + 1]} << 16 | uint32_t{at[4 * i + 2]} << 8 | at[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t v[8];
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; i++) {
    const uint32_t s1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
    const uint32_t s0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
    const uint32_t one = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + ROUNDS[i] + w[i];
    const uint32_t two = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

std::string sha256(std::string text) {
  const uint64_t bits = uint64_t{text.size()} * 8;
  text += '\x80';
  text.append((BLOCK + 56 - text.size() % BLOCK) % BLOCK, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift);
  uint32_t state[8];
  memcpy(state, START, sizeof state);
  for (size_t at = 0; at < text.size(); at += BLOCK)
    add_block(state, reinterpret_cast<const unsigned char*>(text.data()) + at);
  std::string out;
  for (uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift);
  return out;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string block = key.size() > BLOCK ? sha256(std::string(key)) : std::string(key);
  block.resize(BLOCK);
  std::string inner = block, outer = block;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256(outer + sha256(inner + std::string(text)));
}

std::string random_nonce() {
  std::string nonce(PROOF_BYTES, '\0');
  for (size_t got = 0; got < nonce.size();) {
    const ssize_t n = getrandom(nonce.data() + got, nonce.size() - got, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    got += static_cast<size_t>(n);
  }
  return nonce;
}

bool same_bytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); i++)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return !different;
}

}  // namespace dt
