// Contents of a recording that stand apart, the last ones kept.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "../core/trace.h"

namespace dt::play {

class Blobs {
 public:
  using Bytes = std::shared_ptr<const std::vector<uint8_t>>;
  // Throws where it is absent or damaged.
  Bytes get(const Trace& trace, const Hash128& hash) {
    auto it = kept_.find(hash);
    if (it != kept_.end()) {
      order_.splice(order_.begin(), order_, it->second.place);
      return it->second.bytes;
    }
    Bytes bytes = std::make_shared<const std::vector<uint8_t>>(trace.blob(hash));
    size_ += bytes->size();
    order_.push_front(hash);
    kept_[hash] = {bytes, order_.begin()};
    while (size_ > MOST && kept_.size() > 8) {
      auto oldest = kept_.find(order_.back());
      size_ -= oldest->second.bytes->size();
      kept_.erase(oldest);
      order_.pop_back();
    }
    return bytes;
  }

 private:
  static constexpr uint64_t MOST = 256ull << 20;
  struct Kept {
    Bytes bytes;
    std::list<Hash128>::iterator place;
  };
  std::map<Hash128, Kept> kept_;
  std::list<Hash128> order_;
  uint64_t size_ = 0;
};

}  // namespace dt::play
