// Reads what Python hands over; see system.h.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "../core/error.h"

namespace dt::kernel {

class Plan {
 public:
  Plan(const uint8_t* at, uint64_t size) : at_(at), end_(at + size) {}
  int64_t number() {
    if (end_ - at_ < 8) throw Error(DT_E_ARGUMENT, "the plan ends early");
    int64_t v;
    memcpy(&v, at_, 8);
    at_ += 8;
    return v;
  }
  // A number that counts things which are in the plan, or names one of `limit` things.
  size_t count() { return below(static_cast<uint64_t>(end_ - at_) / 8 + 1); }
  size_t below(uint64_t limit) {
    auto v = static_cast<uint64_t>(number());
    if (v >= limit) throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
    return static_cast<size_t>(v);
  }
  // Likewise, or -1.
  int index(uint64_t limit) {
    int64_t v = number();
    if (v < -1 || (v >= 0 && static_cast<uint64_t>(v) >= limit))
      throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
    return static_cast<int>(v);
  }
  std::string text() {
    auto n = static_cast<uint64_t>(number());
    if (n > static_cast<uint64_t>(end_ - at_)) throw Error(DT_E_ARGUMENT, "the plan ends early");
    std::string s(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    return s;
  }

 private:
  const uint8_t *at_, *end_;
};

}  // namespace dt::kernel
