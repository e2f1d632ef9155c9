// That both ends of a stream know a word, without saying it: HMAC-SHA-256 (RFC 2104, FIPS 180-4).
#pragma once
#include <string>
#include <string_view>

namespace dt {

constexpr size_t PROOF_BYTES = 32;

// 32 bytes: the keyed hash of `text`.
std::string hmac_sha256(std::string_view key, std::string_view text);
// 32 bytes that nobody can guess; empty: the system has none.
std::string random_nonce();
// Takes as long for any that differ.
bool same_bytes(std::string_view a, std::string_view b);

}  // namespace dt
