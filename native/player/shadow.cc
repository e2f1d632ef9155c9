// The recorded program's memory, and what draws read of it.
#include "shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "play.h"

namespace dt::play {

Shadow::~Shadow() {
  for (auto& [number, at] : regions_) munmap(at, 2 * REGION);
}

uint8_t* Shadow::region(uint64_t number, bool make) {
  if (number == last_) return last_at_;
  auto it = regions_.find(number);
  if (it == regions_.end()) {
    if (!make || regions_.size() >= MOST_REGIONS) return nullptr;
    void* at = mmap(nullptr, 2 * REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    it = regions_.emplace(number, static_cast<uint8_t*>(at)).first;
  }
  last_ = number;
  return last_at_ = it->second;
}

uint8_t* Shadow::at(uint64_t address) {
  uint8_t* base = region(address / REGION, true);
  return base ? base + address % REGION : nullptr;
}

bool Shadow::write(uint64_t address, const void* data, uint64_t bytes) {
  uint64_t number = address / REGION, offset = address % REGION;
  if (bytes > REGION) return false;
  uint8_t* base = region(number, true);
  if (!base) return false;
  memcpy(base + offset, data, bytes);
  // An array that begins in the region before sees it behind its end; one that begins in the next one sees the rest
  // there.
  if (number)
    if (uint8_t* before = region(number - 1, false))
      memcpy(before + REGION + offset, data, std::min(bytes, REGION - offset));
  if (offset + bytes > REGION)
    if (uint8_t* next = region(number + 1, true))
      memcpy(next, static_cast<const uint8_t*>(data) + (REGION - offset), offset + bytes - REGION);
  return true;
}

bool Shadow::holds(uint64_t pointer, __int128 begin, __int128 end) {
  __int128 base = static_cast<__int128>(pointer / REGION * REGION);
  return begin >= base && end <= base + 2 * REGION && region(pointer / REGION, false);
}

uint64_t Shadow::recorded(const void* at) const {
  auto* p = static_cast<const uint8_t*>(at);
  for (auto& [number, base] : regions_)
    if (p >= base && p < base + 2 * REGION) return number * REGION + static_cast<uint64_t>(p - base);
  return reinterpret_cast<uint64_t>(at);
}

// False: the draw would read memory that the recording does not have.
bool Player::client_arrays(Thread*, const Row& w) {
  if (DT_LIKELY(!missing_memory)) return true;
  missing_memory = false;
  if (!needed_begin && !needed_end) {
    report("argument", w.seq, w.columns->function->name, "it is not known what the draw reads; left out");
    ++skipped;
    return false;
  }
  char text[128];
  snprintf(text, sizeof text, "vertices at 0x%llx-0x%llx are not in the recording; left out",
           static_cast<unsigned long long>(needed_begin), static_cast<unsigned long long>(needed_end));
  report("argument", w.seq, w.columns->function->name, text);
  ++skipped;
  return false;
}

void Player::memory(const FunctionColumns& c, uint32_t row) {
  const Field* f = c.function ? field_of(*c.function, "address") : nullptr;
  if (!f || !f->has_data()) return;
  uint64_t address = c.raw(*f, row), d = c.descriptor(*f, row);
  std::shared_ptr<const std::vector<uint8_t>> keep;
  std::string_view bytes;
  if (DT_DATA_KIND(d) == DT_DATA_INLINE)
    bytes = c.payload(*f, row);
  else if (DT_DATA_KIND(d) == DT_DATA_BLOB && (keep = blob(c.hash(*f, row))))
    bytes = {reinterpret_cast<const char*>(keep->data()), keep->size()};
  if (bytes.empty() || address + bytes.size() < address) return;
  if (!shadow.write(address, bytes.data(), bytes.size()))
    return report("memory", seq, "dtapMemory", "there is no room for memory of the program");
  spans.push_back({address, address + bytes.size(), shadow.at(address)});
}

void Player::map_write(const FunctionColumns& c, uint32_t row) {
  const Function* f = c.function;
  const Field *offset = f ? field_of(*f, "offset") : nullptr, *data = f ? field_of(*f, "data") : nullptr,
              *buffer = f ? field_of(*f, "buffer") : nullptr;
  if (!offset || !data || !buffer || !data->has_data() || !context) return;
  uint64_t d = c.descriptor(*data, row);
  std::shared_ptr<const std::vector<uint8_t>> keep;
  std::string_view bytes;
  if (DT_DATA_KIND(d) == DT_DATA_INLINE)
    bytes = c.payload(*data, row);
  else if (DT_DATA_KIND(d) == DT_DATA_BLOB && (keep = blob(c.hash(*data, row))))
    bytes = {reinterpret_cast<const char*>(keep->data()), keep->size()};
  uint32_t name = this->name(BUFFER, static_cast<uint32_t>(c.raw(*buffer, row)));
  auto it = context->group->maps.find(name);
  if (it == context->group->maps.end()) return report("map", seq, "dtapMapWrite", "the buffer is not mapped here");
  auto from = static_cast<int64_t>(c.raw(*offset, row));
  int64_t at = from < it->second.offset ? -1 : from - it->second.offset;
  if (at < 0 || at > it->second.bytes || static_cast<int64_t>(bytes.size()) > it->second.bytes - at)
    return report("map", seq, "dtapMapWrite", "bytes outside of the mapping");
  memcpy(it->second.at + at, bytes.data(), bytes.size());
}

}  // namespace dt::play
