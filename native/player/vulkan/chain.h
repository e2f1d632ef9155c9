// Chains of structures: `pNext`.
#pragma once
#include <cstdint>

namespace dt::play::vk {

// The begin of every structure that may be in a chain.
struct Chained {
  int32_t stype;
  const Chained* next;
};

// The first structure of a type in a chain, null where there is none.
template <class T> const T* chained(const void* chain) {
  for (auto* at = static_cast<const Chained*>(chain); at; at = at->next)
    if (at->stype == T{}.sType) return reinterpret_cast<const T*>(at);
  return nullptr;
}

}  // namespace dt::play::vk
