// Makes memory that a driver can read of a recorded structure tree, in place (docs/format.md, "Trees").
//
// The content is not trusted. Each count that the driver will read by is compared with the content, and pointers lead
// forward inside of it. Layouts are the ones that this program was generated with.
#pragma once
#include <cstddef>
#include <cstdint>

#include "commands.h"

namespace dt::play::vk {

constexpr int64_t MOST_ROOM = 256 << 20;  // bytes of an answer

class Relocation {
 public:
  // The keeper of the objects.
  struct Host {
    // The object here. `any`: the API does not always read it, so that it may be anything.
    virtual uint64_t handle(unsigned kind, uint64_t recorded, bool any) = 0;
    // Returns whether a structure stays in its chain. Throws where the call cannot be made without it.
    virtual bool stays(int32_t stype) = 0;
    virtual void unknown(int32_t stype) = 0;  // was left out of a chain
    virtual void* room(size_t bytes) = 0;     // zeros, until the call is over
    // Handles in what an update with a template reads.
    virtual void described(uint64_t update, uint8_t* at, size_t bytes) = 0;

   protected:
    ~Host() = default;
  };

  Relocation(Host& host, uint8_t* content, size_t bytes) : host_(host), base_(content), bytes_(bytes) {}
  // The structures, at least `need` of them; throws dt::Error. `outer`: the command's arguments (tree::rule).
  void* root(uint16_t type, int64_t need, const uint64_t* outer);

 private:
  uint64_t load(size_t at) const;
  void put(size_t at, uint64_t value);
  void put(size_t at, const void* pointer) { put(at, reinterpret_cast<uint64_t>(pointer)); }
  // Where the elements are that the pointer in `slot` leads to, at least `need` of them.
  size_t block(size_t slot, int64_t need, size_t width) const;
  void structures(uint16_t type, size_t at, int64_t count, const void* outer);
  void members(const tree::Type& type, size_t at, const void* outer, bool in_chain);
  void member(const tree::Member& m, size_t slot, const void* self, const void* outer);
  void followed(const tree::Member& m, size_t slot, int64_t need, const void* self);
  void each(const tree::Member& m, size_t slot, int64_t need, const void* self);
  void handles(size_t at, int64_t count, unsigned kind, bool any);
  void chain(size_t slot);

  Host& host_;
  uint8_t* base_;
  size_t bytes_;
  size_t visits_ = 0;
  unsigned depth_ = 0;
};

}  // namespace dt::play::vk
