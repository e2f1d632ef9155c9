#include "naming.h"

#include <cstring>
#include <optional>

#include "../common/hash.h"

namespace dt {
namespace {

constexpr uint64_t LARGEST = 64ull << 20;  // more than any application leaves to us
constexpr uint32_t FIXED = sizeof(dt_record) + sizeof(dt_blob_part);

uint64_t load_acquired(const char* from) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(from), __ATOMIC_ACQUIRE);
}

// Goes over the records of a chunk. Nothing in it is believed unchecked.
struct Walker {
  explicit Walker(const TakenChunk& chunk, uint32_t begin = DT_CHUNK_HEADER_BYTES)
      : base(const_cast<char*>(chunk.base)), end(chunk.end), next_at(begin) {}
  bool next() {
    if (next_at < DT_CHUNK_HEADER_BYTES || next_at % 8 || next_at + sizeof(dt_record) > end) return false;
    at = next_at;
    head = load_acquired(base + at);
    bytes = DT_RECORD_WORDS(head) * 8;
    if (bytes < sizeof(dt_record) || bytes > end - at) return false;
    next_at = at + bytes;
    return true;
  }
  char* record() const { return base + at; }
  bool is_call() const { return !(head & DT_RECORD_TAP); }
  bool is_part() const { return (head & 0xffff) == (DT_FN_BLOB | DT_RECORD_TAP) && bytes >= FIXED; }
  uint64_t number() const { return load_acquired(record() + offsetof(dt_record, entry)); }
  dt_blob_part part() const {
    dt_blob_part read;
    memcpy(&read, record() + sizeof(dt_record), sizeof read);
    return read;
  }

  char* base;
  uint32_t end, next_at, at = 0, bytes = 0;
  uint64_t head = 0;
};

}  // namespace

Naming::Outcome Naming::name(const TakenChunk& first, uint32_t begin, uint64_t number, bool ending) {
  Hasher content;
  std::vector<char*> parts;
  uint64_t have = 0, total = 0;
  std::optional<TakenChunk> chunk = first;
  for (bool sealed = true, whole = false; !whole;) {
    for (Walker walker(*chunk, parts.empty() ? begin : DT_CHUNK_HEADER_BYTES); !whole && walker.next();) {
      if (walker.is_call()) return Outcome::LOST;  // the call was left before its content was whole
      if (!walker.is_part() || walker.number() != number) continue;
      const dt_blob_part part = walker.part();
      if (parts.empty()) total = part.total;
      if (part.total != total || total > LARGEST || part.offset != have || part.bytes > total - have ||
          part.bytes > walker.bytes - FIXED)
        return Outcome::LOST;
      content.update(walker.record() + FIXED, part.bytes);
      parts.push_back(walker.record());
      have += part.bytes;
      whole = have == total;
    }
    if (whole) break;
    if (!sealed || parts.empty()) return ending ? Outcome::LOST : Outcome::TO_COME;
    chunk = pool_.find(chunk->thread, chunk->serial + 1, &sealed);
    if (!chunk) return ending ? Outcome::LOST : Outcome::TO_COME;
  }
  const Digest digest = content.digest();
  const KnownBlobs::Hash hash{digest.low, digest.high};
  if (blobs_.has(hash)) pool_.header()->repeats[number % DT_REPEAT_SLOTS].fetch_add(1, std::memory_order_relaxed);
  for (char* part : parts) {
    memcpy(part + sizeof(dt_record), &hash, sizeof hash);
    __atomic_store_n(reinterpret_cast<uint64_t*>(part + offsetof(dt_record, entry)), number | DT_NAMED,
                     __ATOMIC_RELEASE);
  }
  return Outcome::NAMED;
}

// Puts the hash into a record that refers to content by its number.
void Naming::refer(char* record, uint32_t bytes, uint64_t head) {
  const Layouts::Shape* shape = layouts_.shape(head & DT_FUNCTION_MASK);
  if (!shape || bytes < shape->fixed_bytes) return;
  uint32_t place = shape->fixed_bytes;
  for (uint16_t slot : shape->arrays) {
    const uint64_t descriptor = load_acquired(record + sizeof(dt_record) + 8u * slot);
    const uint32_t capacity = DT_DATA_CAPACITY(descriptor) * 8;
    if (capacity > bytes - place) return;
    if (DT_DATA_KIND(descriptor) == DT_DATA_BLOB && capacity >= 16) {
      KnownBlobs::Hash reference;
      memcpy(&reference, record + place, sizeof reference);
      std::erase_if(open_, [&](const Content& content) {
        const bool by_number = reference.high == DT_UNNAMED && reference.low == content.number;
        if (by_number) memcpy(record + place, &content.hash, sizeof content.hash);
        return by_number || reference == content.hash;
      });
    }
    place += capacity;
  }
}

// The call may stand in a later chunk, behind other contents of its own.
bool Naming::find_calls(const TakenChunk& chunk, bool ending) {
  for (uint64_t serial = chunk.serial + 1; !open_.empty(); serial++) {
    bool sealed = false;
    const std::optional<TakenChunk> later = pool_.find(chunk.thread, serial, &sealed);
    if (!later) return ending;
    for (Walker walker(*later); !open_.empty() && walker.next();) {
      refer(walker.record(), walker.bytes, walker.head);
      if (walker.is_call()) open_.clear();
    }
    if (!open_.empty() && !sealed) return ending;
  }
  return true;
}

bool Naming::settle(const TakenChunk& chunk, bool ending) {
  if (!chunk.unnamed) return true;
  open_.clear();
  for (Walker walker(chunk, chunk.unnamed); walker.next();) {
    if (!walker.is_part()) {
      if (!open_.empty()) refer(walker.record(), walker.bytes, walker.head);
      if (walker.is_call()) open_.clear();  // what it does not refer to belongs to a call that was left
      continue;
    }
    const uint64_t number = walker.number();
    if (!number) continue;
    if (!(number & DT_NAMED)) {
      if (walker.part().offset) continue;
      const Outcome outcome = name(chunk, walker.at, number, ending);
      if (outcome == Outcome::TO_COME) return false;
      if (outcome == Outcome::LOST) continue;
    }
    const dt_blob_part part = walker.part();
    if (part.offset + part.bytes == part.total) open_.push_back({number & ~DT_NAMED, {part.hash_low, part.hash_high}});
  }
  return find_calls(chunk, ending);
}

}  // namespace dt
