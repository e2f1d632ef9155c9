// Content that the application handed over without its hash (dt_blob_part in ring.h): gets its name here.
#pragma once
#include <cstdint>
#include <vector>

#include "../common/encoder.h"
#include "pool.h"

namespace dt {

class Naming {
 public:
  Naming(const Layouts& layouts, Pool& pool, KnownBlobs& blobs) : layouts_(layouts), pool_(pool), blobs_(blobs) {}
  // Store the hash of every content in the chunk in its parts, also in those of later chunks, and in the call that
  // refers to it. False: something of that is still to come, and the chunk must not be taken. With `ending` nothing
  // comes any more: content that is not whole is left out, since its call was never made.
  bool settle(const TakenChunk& chunk, bool ending);

 private:
  struct Content {
    uint64_t number;
    KnownBlobs::Hash hash;
  };
  enum class Outcome { NAMED, LOST, TO_COME };
  Outcome name(const TakenChunk& chunk, uint32_t at, uint64_t number, bool ending);
  bool find_calls(const TakenChunk& chunk, bool ending);
  void refer(char* record, uint32_t bytes, uint64_t head);

  const Layouts& layouts_;
  Pool& pool_;
  KnownBlobs& blobs_;
  std::vector<Content> open_;  // whole, and the call that refers to them was not met yet
};

}  // namespace dt
