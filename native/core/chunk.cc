#include "chunk.h"

#include <algorithm>
#include <cstring>

#include <zstd.h>

#include "../common/hash.h"

namespace dt {
namespace {

constexpr uint64_t MAX_BLOCK = 256ull << 20;

[[noreturn]] void broken(const char* what) { throw Error(DT_E_FORMAT, what); }

struct ZstdContext {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~ZstdContext() { ZSTD_freeDCtx(context); }
};

// LZ4 block format.
bool lz4(const uint8_t* in, size_t in_bytes, uint8_t* out, size_t out_bytes) {
  const uint8_t* end = in + in_bytes;
  uint8_t* at = out;
  uint8_t* out_end = out + out_bytes;
  auto length = [&](size_t n, size_t& total) {
    total = n;
    if (n != 15) return true;
    for (;;) {
      if (in == end) return false;
      total += *in;
      if (*in++ != 255) return true;
    }
  };
  while (in < end) {
    unsigned token = *in++;
    size_t literals = 0, match = 0;
    if (!length(token >> 4, literals) || literals > static_cast<size_t>(end - in) ||
        literals > static_cast<size_t>(out_end - at))
      return false;
    if (literals) memcpy(at, in, literals);
    at += literals, in += literals;
    if (in == end) break;  // the last sequence has no match
    if (end - in < 2) return false;
    size_t back = in[0] | static_cast<size_t>(in[1]) << 8;
    in += 2;
    if (!length(token & 15, match)) return false;
    match += 4;
    if (!back || back > static_cast<size_t>(at - out) || match > static_cast<size_t>(out_end - at)) return false;
    for (const uint8_t* from = at - back; match; --match) *at++ = *from++;
  }
  return at == out_end;
}

inline uint64_t leb(const uint8_t*& at, const uint8_t* end) {
  if (at < end && *at < 0x80) return *at++;
  uint64_t value = 0;
  for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
    uint8_t byte = *at++;
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  broken("a number in a block is cut off");
}

}  // namespace

std::vector<int64_t> FunctionColumns::numbers(const Field& field, uint32_t i) const {
  std::vector<int64_t> out;
  if (!field.has_data() || DT_DATA_KIND(descriptor(field, i)) != DT_DATA_INLINE) return out;
  const std::string_view content = payload(field, i);
  const bool wide = element_bytes(field.element) == 8;
  for (size_t at = 0, width = wide ? 8 : 4; at + width <= content.size(); at += width) {
    int64_t of_8 = 0;
    int32_t of_4 = 0;
    memcpy(wide ? static_cast<void*>(&of_8) : &of_4, content.data() + at, width);
    out.push_back(wide ? of_8 : of_4);
  }
  return out;
}

bool sane_sizes(uint16_t codec, uint64_t stored_bytes, uint64_t raw_bytes, uint64_t limit) {
  if (raw_bytes > limit) return false;
  if (codec == DT_CODEC_STORE) return raw_bytes == stored_bytes;
  if (codec == DT_CODEC_LZ4) return raw_bytes <= stored_bytes * 256 + 64;
  return codec == DT_CODEC_ZSTD && raw_bytes <= stored_bytes * 65536 + 4096;
}

void decompress(uint16_t codec, const uint8_t* stored, uint64_t stored_bytes, uint8_t* raw, uint64_t raw_bytes) {
  if (codec == DT_CODEC_STORE) {
    if (raw_bytes != stored_bytes) broken("a stored block has two sizes");
    if (raw_bytes) memcpy(raw, stored, raw_bytes);
  } else if (codec == DT_CODEC_ZSTD) {
    thread_local ZstdContext zstd;
    if (!zstd.context) throw std::bad_alloc();
    if (ZSTD_decompressDCtx(zstd.context, raw, raw_bytes, stored, stored_bytes) != raw_bytes)
      broken("a block does not decompress");
  } else if (codec == DT_CODEC_LZ4) {
    if (!lz4(stored, stored_bytes, raw, raw_bytes)) broken("a block does not decompress");
  } else {
    broken("a block has an unknown compression; a newer drawtap may read it");
  }
}

bool CallsChunk::has(unsigned function) const { return find(function) != nullptr; }
const CallsFunction* CallsChunk::find(unsigned function) const {
  for (auto& f : functions)
    if (f.function == function) return &f;
  return nullptr;
}

OpenChunk::OpenChunk(const Trace& t, size_t i) : trace(t), index(i), info(t.calls_chunks[i]) {
  const ChunkInfo& chunk = trace.chunks[info.chunk];
  payload_ = trace.at(chunk.offset) + sizeof(dt_chunk_header);
  if (hash64(payload_, chunk.header.payload_bytes) != chunk.header.payload_hash) broken("the checksum does not fit");
  blocks_.resize(info.meta.blocks);
  if (!blocks_.empty())
    memcpy(blocks_.data(), payload_ + sizeof(dt_calls_meta) + info.functions.size() * sizeof(dt_calls_function),
           blocks_.size() * sizeof(dt_block));
  raw_.resize(blocks_.size());
  uint64_t at = chunk.header.meta_bytes;
  for (auto& block : blocks_) {
    if (block.stored_bytes > chunk.header.payload_bytes - at ||
        !sane_sizes(block.codec, block.stored_bytes, block.raw_bytes, MAX_BLOCK))
      broken("a block's sizes make no sense");
    block_offsets_.push_back(at);
    at += block.stored_bytes;
  }
}

const std::vector<uint8_t>& OpenChunk::block(size_t i) {
  auto& raw = raw_[i];
  if (raw.empty() && blocks_[i].raw_bytes) {
    raw.resize(blocks_[i].raw_bytes + 8);  // and room for wide reads
    decompress(blocks_[i].codec, payload_ + block_offsets_[i], blocks_[i].stored_bytes, raw.data(),
               blocks_[i].raw_bytes);
  }
  return raw;
}

size_t OpenChunk::block_of(uint16_t kind) const {
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].kind == kind) return i;
  broken("a block is missing");
}

const std::vector<uint8_t>& OpenChunk::order_block() {
  const size_t b = block_of(DT_BLOCK_ORDER);
  if (blocks_[b].raw_bytes != info.meta.records * (info.functions.size() > 256 ? 2ull : 1ull))
    broken("the order block has the wrong size");
  return block(b);
}

const std::vector<uint16_t>& OpenChunk::order() {
  if (order_done_ || !info.meta.records) return order_;  // a recorder may give back an empty chunk, without blocks
  const size_t n = info.meta.records, functions = info.functions.size();
  const bool wide = functions > 256;
  auto& raw = order_block();
  order_.resize(n);
  if (wide) {
    memcpy(order_.data(), raw.data(), n * 2);
  } else {
    for (size_t i = 0; i < n; ++i) order_[i] = raw[i];
  }
  // Four counts of each, for neighbours are often the same function and the processor would wait for its own count.
  constexpr size_t LANES = 4;
  const size_t kinds = wide ? 65536 : 256;
  std::vector<uint32_t> counts(kinds * LANES);
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t lane = 0; lane < LANES; ++lane) ++counts[lane * kinds + order_[i + lane]];
  for (; i < n; ++i) ++counts[order_[i]];
  for (size_t f = 0; f < kinds; ++f) {
    uint32_t count = 0;
    for (size_t lane = 0; lane < LANES; ++lane) count += counts[lane * kinds + f];
    if (count == (f < functions ? info.functions[f].count : 0)) continue;
    order_.clear();
    broken(f < functions ? "the order block and the function table disagree"
                         : "the order block names a function that is not there");
  }
  raw_[block_of(DT_BLOCK_ORDER)] = {};
  order_done_ = true;
  return order_;
}

const std::vector<uint32_t>& OpenChunk::call_records() {
  if (call_records_.empty() && info.meta.calls) {
    auto& o = order();
    std::vector<uint8_t> tap;
    for (auto& f : info.functions) tap.push_back(f.tap());
    call_records_.reserve(info.meta.calls);
    for (uint32_t i = 0; i < o.size(); ++i)
      if (!tap[o[i]]) call_records_.push_back(i);
  }
  return call_records_;
}

const std::vector<uint32_t>& OpenChunk::record_calls() {
  if (record_calls_.empty() && info.meta.records) {
    auto& o = order();
    record_calls_.resize(o.size());
    uint32_t call = 0;
    for (size_t i = 0; i < o.size(); ++i) {
      record_calls_[i] = call;
      call += !info.functions[o[i]].tap();
    }
  }
  return record_calls_;
}

uint32_t OpenChunk::record_of(uint32_t call) { return plain() ? call : call_records()[call]; }

const std::vector<uint64_t>& OpenChunk::entries() {
  if (entries_done_ || !info.meta.records) return entries_;
  size_t b = block_of(DT_BLOCK_ENTRY), n = info.meta.records;
  if (blocks_[b].raw_bytes < n) broken("the entry block has the wrong size");
  auto& raw = block(b);
  const uint8_t* at = raw.data();
  const uint8_t* end = at + blocks_[b].raw_bytes;
  std::vector<uint64_t> entries(n);
  uint64_t last = info.meta.t_first;
  for (size_t i = 0; i < n; ++i) {
    uint64_t z = leb(at, end);
    last += (z >> 1) ^ (0 - (z & 1));
    entries[i] = last;
  }
  raw_[b] = {};
  entries_ = std::move(entries);
  entries_done_ = true;
  return entries_;
}

const std::vector<uint32_t>& OpenChunk::durations() {
  if (durations_done_ || !info.meta.records) return durations_;
  size_t b = block_of(DT_BLOCK_DURATION), n = info.meta.records;
  if (blocks_[b].raw_bytes < n) broken("the duration block has the wrong size");
  auto& raw = block(b);
  const uint8_t* at = raw.data();
  const uint8_t* end = at + blocks_[b].raw_bytes;
  std::vector<uint32_t> durations(n);
  bool any_long = false;
  static_assert(DT_NO_DURATION == 0xfffffffdu && DT_LONG_DURATION == 0xfffffffeu && DT_IN_FLIGHT == 0xffffffffu);
  for (size_t i = 0; i < n; ++i) {
    uint64_t coded = leb(at, end);
    uint32_t d = static_cast<uint32_t>(coded) - 3;  // 0, 1, 2 wrap around to none, long, in flight
    any_long |= d == DT_LONG_DURATION;
    durations[i] = d;
  }
  raw_[b] = {};
  durations_ = std::move(durations);
  durations_done_ = true;
  if (!any_long) return durations_;
  // A dtapLongDuration belongs to the call before; the last one's may stand at the start of the thread's next chunk.
  constexpr unsigned LONG = DT_FN_LONG_DURATION | DT_RECORD_TAP;
  uint32_t last = UINT32_MAX;
  auto& o = order();
  auto& ord = ordinals();
  for (uint32_t i = 0; i < n; ++i) {
    auto& f = info.functions[o[i]];
    if (!f.tap())
      last = i;
    else if (f.function == LONG && last != UINT32_MAX) {
      auto& c = columns(o[i]);
      if (!c.w8.empty()) long_[last] = c.w8[0][ord[i]];
    }
  }
  auto& siblings = trace.threads[info.thread].chunks;
  if (last != UINT32_MAX && durations_[last] == DT_LONG_DURATION && !long_.count(last) &&
      info.in_thread + 1 < siblings.size()) {
    size_t next = siblings[info.in_thread + 1];
    if (trace.calls_chunks[next].has(LONG)) {
      try {
        OpenChunk following(trace, next);
        auto& fo = following.order();
        for (uint32_t i = 0; i < fo.size() && following.info.functions[fo[i]].tap(); ++i)
          if (following.info.functions[fo[i]].function == LONG) {
            auto& c = following.columns(fo[i]);
            if (!c.w8.empty()) long_[last] = c.w8[0][0];
            break;
          }
      } catch (const Error&) {  // said where that chunk itself is read
      }
    }
  }
  return durations_;
}

uint64_t OpenChunk::origin(uint32_t call) {
  if (!origins_done_) {
    origins_done_ = true;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b].kind != DT_BLOCK_ORIGIN || blocks_[b].raw_bytes < info.meta.calls) continue;
      auto& raw = block(b);
      const uint8_t* at = raw.data();
      const uint8_t* end = at + blocks_[b].raw_bytes;
      std::vector<uint64_t> origins(info.meta.calls);
      uint64_t last = 0;
      for (auto& origin : origins) {
        uint64_t z = leb(at, end);
        last += (z >> 1) ^ (0 - (z & 1));
        origin = last - 1;  // 0, none, becomes NO_ORIGIN
      }
      raw_[b] = {};
      origins_ = std::move(origins);
      break;
    }
  }
  return call < origins_.size() ? origins_[call] : NO_ORIGIN;
}

bool OpenChunk::duration(uint32_t record, uint64_t& ticks) {
  uint32_t d = durations()[record];
  if (d < DT_NO_DURATION) return ticks = d, true;
  if (d != DT_LONG_DURATION) return false;
  auto it = long_.find(record);
  if (it == long_.end()) return false;
  ticks = it->second;
  return true;
}

uint32_t OpenChunk::context(uint32_t record) {
  if (!contexts_done_) {
    constexpr unsigned CONTEXT = DT_FN_CONTEXT | DT_RECORD_TAP;
    if (info.has(CONTEXT)) {
      auto& o = order();
      auto& ord = ordinals();
      for (uint32_t i = 0; i < o.size(); ++i)
        if (info.functions[o[i]].function == CONTEXT) {
          auto& c = columns(o[i]);
          const Field* which = nullptr;
          if (c.function)
            for (auto& p : c.function->params)
              if (p.name == "context" || p.name == "id") which = &p;
          if (!which) break;
          contexts_.emplace_back(i, static_cast<uint32_t>(c.raw(*which, ord[i])));
        }
    }
    contexts_done_ = true;
  }
  auto next = std::ranges::upper_bound(contexts_, record, {}, [](auto& context) { return context.first; });
  return next == contexts_.begin() ? info.meta.context : std::prev(next)->second;
}

const std::vector<uint32_t>& OpenChunk::ordinals() {
  if (ordinals_.empty() && info.meta.records) {
    auto& o = order();
    std::vector<uint32_t> next(info.functions.size());
    ordinals_.resize(o.size());
    for (size_t i = 0; i < o.size(); ++i) ordinals_[i] = next[o[i]]++;
  }
  return ordinals_;
}

namespace {

// The places of a value, `count` of them at most and one more where it stands there more often.
template <typename T> std::vector<uint32_t> places_of(const T* in, size_t n, T value, size_t count) {
  std::vector<uint32_t> places(std::min(count, n) + 1);
  uint32_t* at = places.data();
  uint32_t* const last = at + places.size() - 1;
  constexpr size_t RARE = 64;
  if (sizeof(T) == 1 && count < n / RARE) {
    for (const T* from = in; at <= last; ++from) {
      from = static_cast<const T*>(memchr(from, value, static_cast<size_t>(in + n - from)));
      if (!from) break;
      *at++ = static_cast<uint32_t>(from - in);
    }
  } else {
    // Written at every record and kept where it is one of the function: no branch that nobody can foresee.
    for (size_t i = 0; i < n && at <= last; ++i) {
      *at = static_cast<uint32_t>(i);
      at += in[i] == value;
    }
  }
  places.resize(static_cast<size_t>(at - places.data()));
  return places;
}

}  // namespace

const std::vector<uint32_t>& OpenChunk::records_of(size_t function) {
  const auto known = records_of_.find(function);
  if (known != records_of_.end()) return known->second;
  const size_t n = info.meta.records, count = info.functions[function].count;
  std::vector<uint32_t> records;
  if (n && !order_done_ && info.functions.size() <= 256) {  // a byte a record: the order of all need not be known
    auto& raw = order_block();
    records = places_of(raw.data(), n, static_cast<uint8_t>(function), count);
    if (records.size() != count) broken("the order block and the function table disagree");
  } else {
    auto& o = order();
    records = places_of(o.data(), o.size(), static_cast<uint16_t>(function), count);
  }
  return records_of_.emplace(function, std::move(records)).first->second;
}

const FunctionColumns& OpenChunk::columns(size_t function) {
  auto it = columns_.find(function);
  if (it != columns_.end()) return it->second;
  FunctionColumns c;
  c.entry = &info.functions[function];
  c.function = trace.signatures.by_id(c.entry->id());
  c.count = c.entry->count;
  size_t n = c.count;
  if (c.function && (c.function->w8 || c.function->w4)) {
    if (c.entry->block >= blocks_.size() || blocks_[c.entry->block].kind != DT_BLOCK_ARGS)
      broken("a function has no arguments block");
    uint64_t size = blocks_[c.entry->block].raw_bytes;
    if (c.entry->offset > size || c.entry->bytes > size - c.entry->offset)
      broken("a function's arguments lie outside of their block");
    uint64_t fixed = n * (8ull * c.function->w8 + 4ull * c.function->w4);
    if (fixed > c.entry->bytes) broken("a function's arguments are cut off");
    const uint8_t* start = block(c.entry->block).data() + c.entry->offset;
    const uint8_t* at = start;
    c.w8.resize(c.function->w8);
    for (auto& column : c.w8) {
      column.resize(n);
      uint64_t last = 0;
      for (size_t i = 0; i < n; ++i, at += 8) {
        uint64_t d;
        memcpy(&d, at, 8);
        column[i] = last += d;
      }
    }
    c.w4.resize(c.function->w4);
    for (auto& column : c.w4) {
      column.resize(n);
      uint32_t last = 0;
      for (size_t i = 0; i < n; ++i, at += 4) {
        uint32_t d;
        memcpy(&d, at, 4);
        column[i] = last += d;
      }
    }
    c.payload_base = start;
    uint64_t position = fixed;
    for (int slot : c.function->descriptors) {
      auto& descriptors = c.w8[static_cast<size_t>(slot)];
      std::vector<uint64_t> starts(n + 1);
      for (size_t i = 0; i < n; ++i) {
        starts[i] = position;
        unsigned kind = DT_DATA_KIND(descriptors[i]);
        uint64_t bytes = kind == DT_DATA_INLINE ? DT_DATA_LENGTH(descriptors[i]) : kind == DT_DATA_BLOB ? 16 : 0;
        if (bytes > c.entry->bytes - position) broken("a function's arrays are cut off");
        position += bytes;
      }
      starts[n] = position;
      c.payloads.push_back(std::move(starts));
    }
  }
  return columns_.emplace(function, std::move(c)).first->second;
}

std::optional<std::string_view> content_of(const Trace& trace, const FunctionColumns& columns, const Field& field,
                                           uint32_t i, std::vector<uint8_t>& keep, uint64_t limit) {
  switch (DT_DATA_KIND(columns.descriptor(field, i))) {
    case DT_DATA_INLINE: return columns.payload(field, i);
    case DT_DATA_BLOB: break;
    default: return {};
  }
  try {
    keep = trace.blob(columns.hash(field, i), limit);
    return std::string_view(reinterpret_cast<const char*>(keep.data()), keep.size());
  } catch (const Error&) {  // too long, or lost
    return {};
  }
}

std::vector<uint64_t> names_in(const Trace& trace, const FunctionColumns& columns, const Field& field, uint32_t i) {
  const size_t width = field.has_data() ? element_bytes(field.element) : 0;
  std::vector<uint64_t> names;
  if (!width && field.slot >= 0) names.push_back(columns.raw(field, i));
  if (!width) return names;
  std::vector<uint8_t> keep;
  const std::string_view content = content_of(trace, columns, field, i, keep, 1u << 24).value_or("");
  for (size_t at = 0; at + width <= content.size(); at += width) {
    uint64_t v = 0;
    memcpy(&v, content.data() + at, width);
    names.push_back(v);
  }
  return names;
}

}  // namespace dt
