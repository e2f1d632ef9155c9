// Common parts of the core's C ABI: the open trace, the last error, and the way to hand out text.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../core/border.h"
#include "../core/core.h"
#include "../core/trace.h"

struct dt_trace {
  std::shared_ptr<dt::Trace> trace;
};

namespace dt::abi {

inline thread_local std::string g_error;

template <class F> int guarded(F&& body) { return at_border(g_error, body); }

// The owner that dt_blob_free frees.
struct Owner {
  virtual ~Owner() = default;
};
struct BytesOwner : Owner {
  Bytes first, second;
};
struct VectorOwner : Owner {
  std::vector<uint8_t> bytes;
};
struct StringOwner : Owner {
  std::string text;
};

inline void hand_out(std::unique_ptr<BytesOwner> owner, const char** json, uint64_t* length, void** out) {
  *json = owner->first.data();
  *length = owner->first.size();
  *out = static_cast<Owner*>(owner.release());
}
inline void hand_out(std::string text, const char** at, uint64_t* length, void** out) {
  auto owner = std::make_unique<StringOwner>();
  owner->text = std::move(text);
  *at = owner->text.data();
  *length = owner->text.size();
  *out = static_cast<Owner*>(owner.release());
}

inline Hash128 parse_hash(const std::string& text) {
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos)
    throw Error(DT_E_ARGUMENT, "not a content hash: " + text + " (expected 32 hex digits)");
  return {strtoull(text.substr(16).c_str(), nullptr, 16), strtoull(text.substr(0, 16).c_str(), nullptr, 16)};
}

}  // namespace dt::abi
