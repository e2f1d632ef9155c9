// The edges of nodes, small: lists as bytes, near nodes by their distance, and a list that was met lately only once.
// A program that does the same in every frame has the same lists in every frame.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../core/error.h"
#include "large.h"

namespace dt::extract {

// Kinds of edges, in the two upper bits of a node. A CHAIN edge is followed by the location that it is about.
constexpr uint32_t READ = 0, CHAIN = 1u << 30, BEFORE = 2u << 30, OBJECT = 3u << 30, KIND = 3u << 30;

class EdgeLists {
 public:
  // The origin of distances in a list: the call that the list belongs to, and a node among the gatherings.
  struct Origin {
    uint32_t call, gathering;
  };

  uint64_t edges() const { return edges_; }  // of all lists, however often they are kept

  // Keeps a list; returns where, 0 for an empty one. `calls`: the nodes from there on are gatherings.
  uint32_t add(std::span<const uint32_t> list, Origin origin, uint32_t calls) {
    if (list.empty()) return 0;
    edges_ += list.size();
    encode(list, origin, calls);
    uint32_t& met = lately_[XXH3_64bits(text_.data(), text_.size()) & (lately_.size() - 1)];
    if (met) {
      const uint64_t begin = begin_of(met);
      if (begin + text_.size() <= bytes_.size() && !memcmp(bytes_.data() + begin, text_.data(), text_.size()))
        return met;
    }
    if (bytes_.size() >= MOST_BYTES) throw Error(DT_E_MEMORY, "the graph of this trace is too large");
    met = static_cast<uint32_t>(bytes_.size() / UNIT) + 1;
    text_.resize((text_.size() + UNIT - 1) / UNIT * UNIT);
    bytes_.append(text_.data(), text_.size());
    return met;
  }

  // visit(kind, node, location) for the edges of the list that is kept at `where`.
  template <class Visit> void each(uint32_t where, Origin origin, Visit visit) const {
    if (!where) return;
    const uint8_t* at = bytes_.data() + begin_of(where);
    uint32_t before = 0;
    for (uint64_t left = number(at); left; --left) {
      const uint64_t word = number(at);
      const auto value = static_cast<uint32_t>(word >> 4);
      uint32_t node = 0;
      switch (word & FORM) {
        case BACK: node = origin.call - value; break;
        case WHOLE: node = value; break;
        case GATHERING: node = origin.gathering + (value >> 1 ^ -(value & 1)); break;
        default: node = before + value;
      }
      before = node;
      const auto kind = static_cast<uint32_t>(word & 3) << 30;
      visit(kind, node, kind == CHAIN ? static_cast<uint32_t>(number(at)) : 0);
    }
  }

 private:
  static constexpr uint64_t UNIT = 2, MOST_BYTES = UNIT * (UINT32_MAX - 1ull);
  enum : uint64_t { BACK = 0, WHOLE = 4, GATHERING = 8, AFTER = 12, FORM = 12 };

  static uint64_t begin_of(uint32_t where) { return UNIT * (where - 1ull); }
  static uint64_t number(const uint8_t*& at) {
    uint64_t value = *at & 0x7f;
    for (unsigned shift = 7; *at++ & 0x80; shift += 7) value |= static_cast<uint64_t>(*at & 0x7f) << shift;
    return value;
  }
  void put_number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<uint8_t>(value | 0x80));
    text_.push_back(static_cast<uint8_t>(value));
  }
  void encode(std::span<const uint32_t> list, Origin origin, uint32_t calls) {
    text_.clear();
    uint64_t count = 0;
    for (size_t i = 0; i < list.size(); i += (list[i] & KIND) == CHAIN ? 2 : 1) ++count;
    put_number(count);
    uint32_t before = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const uint32_t kind = list[i] & KIND, node = list[i] & ~KIND;
      uint64_t form = WHOLE;
      uint32_t value = node;
      auto shorter = [&](uint64_t other, uint32_t with) {
        if (with < value) form = other, value = with;
      };
      if (node >= calls) {
        const auto away = static_cast<int32_t>(node - origin.gathering);
        shorter(GATHERING, static_cast<uint32_t>(away) << 1 ^ static_cast<uint32_t>(away >> 31));
      } else if (node <= origin.call) {
        shorter(BACK, origin.call - node);
      }
      if (i && node >= before) shorter(AFTER, node - before);
      put_number(static_cast<uint64_t>(value) << 4 | form | kind >> 30);
      before = node;
      if (kind == CHAIN) put_number(list[++i]);
    }
  }

  Large<uint8_t> bytes_;
  std::vector<uint8_t> text_;                                      // of the list that is being added
  std::vector<uint32_t> lately_ = std::vector<uint32_t>(1 << 16);  // by the hash of their bytes: where lists are kept
  uint64_t edges_ = 0;
};

// Where the lists of calls are kept, and how many gatherings there were when about each call was taken in.
class CallEdges {
 public:
  struct Place {
    uint32_t where, gatherings;
  };
  void resize(size_t calls) {
    where_.resize(calls);
    gatherings_.resize(calls / TOGETHER + 1);
  }
  // The number of gatherings that count as made at a call whose `set` is not yet known; `now`: the number of all.
  uint32_t gatherings(uint64_t seq, size_t now) {
    uint32_t& base = gatherings_[seq / TOGETHER];
    if (!base) base = static_cast<uint32_t>(now) + 1;
    return base - 1;
  }
  void set(uint64_t seq, uint32_t where) { where_[seq] = where; }
  Place operator[](uint64_t seq) const {
    const uint32_t where = where_[seq];
    return {where, where ? gatherings_[seq / TOGETHER] - 1 : 0};
  }

 private:
  static constexpr uint64_t TOGETHER = 64;
  Large<uint32_t> where_;
  Large<uint32_t> gatherings_;  // + 1, by 64 calls; 0: none of them was taken in
};

}  // namespace dt::extract
