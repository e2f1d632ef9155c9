// Recordings with a few words changed by chance. What is compressed is stored first, so that the words are those of
// calls and of structures.
#pragma once
#include <iterator>
#include <random>
#include <utility>

#include "../../native/common/container.h"
#include "hostile.h"

namespace hostile {

// The file with all blocks of calls and parts of contents stored, and without its footer.
inline File stored(const File& file) {
  File out(file.begin(), file.begin() + sizeof(dt_file_header));
  for (size_t at = sizeof(dt_file_header); at + sizeof(dt_chunk_header) <= file.size();) {
    dt_chunk_header h;
    memcpy(&h, file.data() + at, sizeof h);
    at += sizeof h;
    if (h.magic != DT_CHUNK_MAGIC || h.payload_bytes > file.size() - at || h.type == DT_TYPE_FOOTER) break;
    File payload(file.begin() + static_cast<long>(at), file.begin() + static_cast<long>(at + h.payload_bytes));
    at += h.payload_bytes;
    std::string bodies;
    auto open = [&](const dt_block& block, size_t& from) {
      std::string raw;
      const auto* data = reinterpret_cast<const char*>(payload.data()) + from;
      if (!dt::open_block(block, {data, block.stored_bytes}, 1u << 30, &raw)) abort();
      from += block.stored_bytes;
      bodies += raw;
    };
    size_t from = h.meta_bytes;
    if (h.type == DT_TYPE_BLOBS) {
      for (size_t part = 8; part + sizeof(dt_blob_entry) <= h.meta_bytes; part += sizeof(dt_blob_entry)) {
        dt_blob_entry p;
        memcpy(&p, payload.data() + part, sizeof p);
        open({0, static_cast<uint16_t>(p.codec), 0, p.bytes, p.stored_bytes}, from);
        p.codec = 0, p.stored_bytes = p.bytes;
        memcpy(payload.data() + part, &p, sizeof p);
      }
    } else {
      size_t table = 0;  // signatures and annotations have one block
      if (h.type == DT_TYPE_CALLS) {
        dt_calls_meta meta;
        memcpy(&meta, payload.data(), sizeof meta);
        table = sizeof meta + meta.functions * sizeof(dt_calls_function);
      }
      for (; table + sizeof(dt_block) <= h.meta_bytes; table += sizeof(dt_block)) {
        dt_block block;
        memcpy(&block, payload.data() + table, sizeof block);
        open(block, from);
        block.codec = 0, block.stored_bytes = block.raw_bytes;
        memcpy(payload.data() + table, &block, sizeof block);
      }
    }
    payload.resize(h.meta_bytes);
    payload.insert(payload.end(), bodies.begin(), bodies.end());
    h.payload_bytes = payload.size();
    const auto* head = reinterpret_cast<const uint8_t*>(&h);
    out.insert(out.end(), head, head + sizeof h);
    out.insert(out.end(), payload.begin(), payload.end());
  }
  reseal(out);
  return out;
}

// Where the bodies of calls and contents lie in a file.
inline std::vector<std::pair<size_t, size_t>> bodies(const File& file) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = sizeof(dt_file_header); at + sizeof(dt_chunk_header) <= file.size();) {
    dt_chunk_header h;
    memcpy(&h, file.data() + at, sizeof h);
    at += sizeof h;
    if ((h.type == DT_TYPE_CALLS || h.type == DT_TYPE_BLOBS) && h.payload_bytes > h.meta_bytes + 8)
      found.emplace_back(at + h.meta_bytes, at + h.payload_bytes - 8);
    at += h.payload_bytes;
  }
  return found;
}

// Changes up to four words of calls and contents.
inline File changed_by_chance(File file, const std::vector<std::pair<size_t, size_t>>& places, std::mt19937_64& rng) {
  for (uint64_t n = 1 + rng() % 4; n-- > 0;) {
    const auto [from, to] = places[rng() % places.size()];
    const size_t at = from + rng() % (to - from), other = from + rng() % (to - from);
    uint64_t word, there;
    memcpy(&word, file.data() + at, 8);
    memcpy(&there, file.data() + other, 8);
    const uint64_t choices[] = {
        0,        1,        rng() % 64, 8 * (rng() % 512), uint64_t{1} << rng() % 64,       there,
        word + 8, word - 8, UINT32_MAX, UINT64_MAX,        word ^ uint64_t{1} << rng() % 64};
    const uint64_t value = choices[rng() % std::size(choices)];
    const size_t widths[] = {1, 2, 4, 4, 8, 8, 8};
    memcpy(file.data() + at, &value, widths[rng() % std::size(widths)]);
  }
  reseal(file);
  return file;
}

// Gives `run` so many changed files.
template <class Run> void by_chance(const File& file, size_t count, uint64_t seed, Run run) {
  const File good = stored(file);
  const auto places = bodies(good);
  std::mt19937_64 rng(seed);
  for (size_t n = 0; n < count && !places.empty(); ++n) run(changed_by_chance(good, places, rng));
}

}  // namespace hostile
