// The recorded program's memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace dt::play {

// The recorded program's memory, as far as draws read it. Every recorded address has one place here, so that the driver
// can have pointers before their content is known. Memory that was not recorded reads as zeros.
class Shadow {
 public:
  ~Shadow();
  uint8_t* at(uint64_t address);  // nullptr: too many parts of the address space are in use
  bool write(uint64_t address, const void* data, uint64_t bytes);
  // Returns whether a driver that was handed at(pointer) may read from `begin` to `end`.
  bool holds(uint64_t pointer, __int128 begin, __int128 end);
  uint64_t recorded(const void* at) const;  // the address that stands here; what is none of ours stays as it is

 private:
  static constexpr uint64_t REGION = 1ull << 28;
  static constexpr size_t MOST_REGIONS = 128;
  uint8_t* region(uint64_t number, bool make);
  std::unordered_map<uint64_t, uint8_t*> regions_;  // each with room for the one behind it
  uint64_t last_ = ~0ull;
  uint8_t* last_at_ = nullptr;
};

}  // namespace dt::play
