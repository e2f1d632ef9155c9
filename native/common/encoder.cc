#include "encoder.h"

#include <algorithm>
#include <cstring>

namespace dt {
namespace {

constexpr size_t ARGS_BLOCK_BYTES = 64 * 1024;
constexpr uint32_t RECORD_BYTES = sizeof(dt_record);
constexpr size_t PROBED_BYTES = 64 * 1024;  // shorter content costs little either way
constexpr size_t PIECE_BYTES = 8 * 1024, PIECES = 3;
constexpr uint64_t MAX_CONTENT = 1ull << 47;
constexpr uint32_t AT_ONCE = 16;  // durations, in one step of the processor

template <typename T> inline T load(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}
// One read, whatever the compiler would like: the application may still change these bytes.
inline uint64_t load_once(const char* from) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(from), __ATOMIC_RELAXED);
}

inline char* put_leb128_slow(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}
// Without branches up to 21 bits: the lengths of times are as random as the times. Writes 4 bytes always.
inline char* put_leb128(char* to, uint64_t value) {
  if (__builtin_expect(value >> 21, 0)) return put_leb128_slow(to, value);
  const uint32_t v = static_cast<uint32_t>(value);
  const uint32_t two = v >= 0x80, three = v >= 0x4000;
  const uint32_t bytes = (v & 0x7f) | two << 7 | (v >> 7 & 0x7f) << 8 | three << 15 | v >> 14 << 16;
  memcpy(to, &bytes, 4);
  return to + 1 + two + three;
}
inline uint64_t zigzag(uint64_t delta) { return delta << 1 ^ static_cast<uint64_t>(static_cast<int64_t>(delta) >> 63); }

// Most calls are so short that one byte holds the duration.
char* put_durations(char* to, const uint32_t* durations) {
  uint32_t all = 0;
  for (uint32_t i = 0; i < AT_ONCE; i++) all |= durations[i] + 3u;
  if (all >= 0x80) {
    for (uint32_t i = 0; i < AT_ONCE; i++) to = put_leb128(to, durations[i] + 3u);
    return to;
  }
  for (uint32_t i = 0; i < AT_ONCE; i++) to[i] = static_cast<char>(durations[i] + 3u);
  return to + AT_ONCE;
}

}  // namespace

Layouts::Layouts(const SignatureSet& signatures) : words_(DT_FUNCTION_MASK + 1) {
  uint32_t last = 0;
  for (const FunctionSignature& function : signatures.functions()) last = std::max(last, function.id);
  shapes_.resize(last + 1);
  for (const FunctionSignature& function : signatures.functions()) {
    shapes_[function.id] = {function.w8, function.w4, function.fixed_bytes(), function.arrays};
    words_[function.id] = function.arrays.empty() ? static_cast<uint16_t>(function.fixed_bytes() / 8) : ARRAYS;
  }
  words_[DT_FN_BLOB] = 0;
}

std::vector<KnownBlobs::Range> KnownBlobs::claim(Hash hash, uint64_t total, uint64_t begin, uint64_t end) {
  std::vector<Range> fresh;
  std::lock_guard guard(lock_);
  Known& known = known_[hash];
  known.epoch = epoch_;
  if (known.whole || begin >= end) return fresh;
  std::vector<Range> merged;
  uint64_t at = begin;
  Range joined{begin, end};
  for (const Range& range : known.ranges) {
    if (range.end < begin || range.begin > end) {
      merged.push_back(range);
      continue;
    }
    if (range.begin > at) fresh.push_back({at, std::min(range.begin, end)});
    at = std::max(at, range.end);
    joined = {std::min(joined.begin, range.begin), std::max(joined.end, range.end)};
  }
  if (at < end) fresh.push_back({at, end});
  merged.insert(std::upper_bound(merged.begin(), merged.end(), joined,
                                 [](const Range& a, const Range& b) { return a.begin < b.begin; }),
                joined);
  known.ranges = std::move(merged);
  if (known.ranges.size() == 1 && known.ranges[0].begin == 0 && known.ranges[0].end >= total) {
    known.whole = true;
    known.ranges = {};
  }
  return fresh;
}

bool KnownBlobs::has(Hash hash) {
  std::lock_guard guard(lock_);
  auto it = known_.find(hash);
  return it != known_.end() && it->second.whole;
}

void KnownBlobs::next_epoch() {
  std::lock_guard guard(lock_);
  epoch_++;
}

bool KnownBlobs::forget(Hash hash) {
  std::lock_guard guard(lock_);
  auto it = known_.find(hash);
  if (it == known_.end()) return true;
  if (it->second.epoch + 2 > epoch_) return false;
  known_.erase(it);
  return true;
}

uint64_t count_calls(const TakenChunk& chunk) {
  uint64_t calls = 0;
  for (uint32_t at = chunk.begin; at + RECORD_BYTES <= chunk.end;) {
    const uint64_t head = load_once(chunk.base + at);
    const uint32_t words = DT_RECORD_WORDS(head);
    if (words < 2) break;
    calls += !(head & DT_RECORD_TAP);
    at += words * 8;
  }
  return calls;
}

Encoder::Encoder(const Layouts& layouts, KnownBlobs& blobs, uint32_t chunk_bytes)
    : layouts_(layouts), blobs_(blobs), chunk_bytes_(chunk_bytes), local_of_(0x10000, 0xffff) {
  const size_t most = chunk_bytes / RECORD_BYTES;
  offsets_.resize(most);
  sorted_.resize(most);
  order_.resize(most);
  entries_.resize(most);
  durations_.resize(most);
  args_.resize(2 * size_t{chunk_bytes});  // fixed fields, and payloads: each at most as many bytes as the chunk has
}

bool Encoder::check_arrays(const char* record, uint32_t bytes, const Layouts::Shape& shape, uint64_t* content) const {
  if (bytes < shape.fixed_bytes) return false;
  uint64_t room = bytes - shape.fixed_bytes;
  for (uint16_t slot : shape.arrays) {
    const uint64_t descriptor = load_once(record + RECORD_BYTES + 8u * slot);
    const uint64_t capacity = DT_DATA_CAPACITY(descriptor) * 8ull;
    const unsigned kind = DT_DATA_KIND(descriptor);
    if (capacity > room || kind > DT_DATA_FAULT) return false;
    room -= capacity;
    if (kind == DT_DATA_INLINE) {
      if (DT_DATA_LENGTH(descriptor) > capacity) return false;
      *content += DT_DATA_LENGTH(descriptor);
    } else if (kind == DT_DATA_BLOB) {
      if (capacity < 16) return false;
      *content += DT_DATA_LENGTH(descriptor);
    }
  }
  return true;
}

void Encoder::take_blob(const char* record, uint32_t bytes, Encoded* out) {
  if (bytes < RECORD_BYTES + sizeof(dt_blob_part)) {
    out->invalid_records++;
    return;
  }
  // Without a name it is not whole, and no call that was made refers to it.
  const uint64_t number = load_once(record + 8);
  if (number && !(number & DT_NAMED)) return;
  const auto part = load<dt_blob_part>(record + RECORD_BYTES);
  const uint64_t room = bytes - RECORD_BYTES - sizeof(dt_blob_part);
  if (part.bytes > room || part.total > MAX_CONTENT || part.offset > part.total ||
      part.bytes > part.total - part.offset) {
    out->invalid_records++;
    return;
  }
  const KnownBlobs::Hash hash{part.hash_low, part.hash_high};
  const char* content = record + RECORD_BYTES + sizeof(dt_blob_part);
  for (const auto& range : blobs_.claim(hash, part.total, part.offset, part.offset + part.bytes))
    parts_.push_back({hash, part.total, range.begin, range.end, content + (range.begin - part.offset)});
}

// First pass: find and check every record, note where it is, sum up.
void Encoder::index(const TakenChunk& chunk, Encoded* out) {
  const char* const base = chunk.base;
  const uint32_t end = chunk.end;
  uint32_t at = chunk.begin;
  uint32_t n = 0;
  uint64_t t_end = 0;
  uint16_t last_call = 0xffff;  // local index of the last application call
  while (at < end) {
    const char* const record = base + at;
    if (end - at < RECORD_BYTES) {
      out->invalid_bytes += end - at;
      break;
    }
    const uint64_t head = load_once(record);
    const uint32_t bytes = DT_RECORD_WORDS(head) * 8;
    if (bytes < RECORD_BYTES || bytes > end - at) {
      out->invalid_bytes += end - at;
      break;
    }
    const uint32_t here = at;
    at += bytes;
    const uint32_t key = head & 0xffff, id = key & DT_FUNCTION_MASK;
    uint64_t content = 0;
    if (bytes != layouts_.words(id) * 8u) {
      if (id == DT_FN_BLOB) {
        take_blob(record, bytes, out);
        continue;
      }
      if (layouts_.words(id) != Layouts::ARRAYS || !check_arrays(record, bytes, *layouts_.shape(id), &content)) {
        out->invalid_records++;
        continue;
      }
    }
    if (key & 0x4000) {
      out->invalid_records++;
      continue;
    }
    uint16_t local = local_of_[key];
    if (__builtin_expect(local == 0xffff, 0)) {
      local = local_of_[key] = static_cast<uint16_t>(locals_.size());
      locals_.push_back({static_cast<uint16_t>(key), 0, 0, 0, 0});
    }
    const uint64_t entry = load_once(record + 8);
    const uint32_t duration = static_cast<uint32_t>(head >> 32);
    const uint64_t ticks = duration < DT_NO_DURATION ? duration : 0;
    Local& sums = locals_[local];
    sums.count++;
    sums.duration_sum += ticks;
    sums.duration_max = std::max(sums.duration_max, ticks);
    sums.payload_bytes += content;
    t_end = std::max(t_end, entry + ticks);
    offsets_[n] = here;
    order_[n] = local;
    entries_[n] = entry;
    durations_[n] = duration;
    n++;
    if (!(key & DT_RECORD_TAP)) {
      last_call = local;
      out->calls_count++;
      out->in_flight += duration == DT_IN_FLIGHT;
      continue;
    }
    if (bytes < RECORD_BYTES + 8) continue;
    const uint64_t first = load_once(record + RECORD_BYTES);
    if (id == DT_FN_ORDER) {
      if (!meta_.order_first || first < meta_.order_first) meta_.order_first = first;
      meta_.order_last = std::max(meta_.order_last, first);
    } else if (id == DT_FN_LONG_DURATION && last_call != 0xffff) {
      Local& call = locals_[last_call];
      call.duration_sum += first;
      call.duration_max = std::max(call.duration_max, first);
      t_end = std::max(t_end, entry + first);
    }
  }
  count_ = n;
  meta_.t_end = t_end;
}

// Second pass, one function: its columns, gathered field by field.
size_t Encoder::columns(const TakenChunk& chunk, const Local& local, const uint32_t* offsets, char* out) {
  const Layouts::Shape& shape = *layouts_.shape(local.key & DT_FUNCTION_MASK);
  const size_t n = local.count;
  const size_t array_count = shape.arrays.size();
  char* to = out;
  if (array_count) {
    // Descriptors are read once and checked again here, so that columns and payloads agree whatever happens meanwhile.
    arrays_.resize(n * array_count);
    for (size_t i = 0; i < n; i++) {
      const char* record = chunk.base + offsets[i];
      const uint32_t words = DT_RECORD_WORDS(load_once(record));
      uint64_t room = std::min<uint64_t>(words * 8ull, chunk.end - offsets[i]);
      room = room > shape.fixed_bytes ? room - shape.fixed_bytes : 0;
      uint32_t place = offsets[i] + shape.fixed_bytes;
      for (size_t a = 0; a < array_count; a++) {
        uint64_t descriptor = load_once(record + RECORD_BYTES + 8u * shape.arrays[a]);
        uint32_t capacity = DT_DATA_CAPACITY(descriptor) * 8;
        const unsigned kind = DT_DATA_KIND(descriptor);
        uint64_t bytes = kind == DT_DATA_INLINE ? DT_DATA_LENGTH(descriptor) : kind == DT_DATA_BLOB ? 16 : 0;
        if (capacity > room || bytes > capacity || bytes > payload_room_) {
          descriptor = DT_DATA(DT_DATA_FAULT, 0, 0);
          bytes = 0;
          capacity = static_cast<uint32_t>(std::min<uint64_t>(capacity, room));
        }
        payload_room_ -= bytes;
        if (kind == DT_DATA_BLOB && bytes == 16 && list_contents)
          contents_.push_back(load<KnownBlobs::Hash>(chunk.base + place));
        arrays_[a * n + i] = {descriptor & ~0xfff8ull, place, static_cast<uint32_t>(bytes)};
        place += capacity;
        room -= capacity;
      }
    }
  }
  size_t array = 0;
  for (size_t field = 0; field < shape.w8; field++) {
    uint64_t before = 0;
    if (array < array_count && shape.arrays[array] == field) {
      const Array* from = arrays_.data() + array++ * n;
      for (size_t i = 0; i < n; i++, to += 8) {
        const uint64_t delta = from[i].descriptor - before;
        before = from[i].descriptor;
        memcpy(to, &delta, 8);
      }
      continue;
    }
    const char* from = chunk.base + RECORD_BYTES + 8 * field;
    for (size_t i = 0; i < n; i++, to += 8) {
      const uint64_t value = load<uint64_t>(from + offsets[i]);
      const uint64_t delta = value - before;
      before = value;
      memcpy(to, &delta, 8);
    }
  }
  for (size_t field = 0; field < shape.w4; field++) {
    uint32_t before = 0;
    const char* from = chunk.base + RECORD_BYTES + 8u * shape.w8 + 4 * field;
    for (size_t i = 0; i < n; i++, to += 4) {
      const uint32_t value = load<uint32_t>(from + offsets[i]);
      const uint32_t delta = value - before;
      before = value;
      memcpy(to, &delta, 4);
    }
  }
  for (const Array* a = arrays_.data(); array_count && a < arrays_.data() + n * array_count; a++) {
    memcpy(to, chunk.base + a->offset, a->bytes);
    to += a->bytes;
  }
  return static_cast<size_t>(to - out);
}

void Encoder::put(Encoded* out, std::string_view raw, uint16_t kind, int level) {
  blocks_.push_back(put_block(out->calls, raw, kind, level));
}

// Images and noise: three pieces show whether there is anything to gain from the whole. The probe copies them first, as
// the application's memory may change under the compressor.
int Encoder::level_for(std::string_view raw, int level) {
  if (raw.size() <= PROBED_BYTES || level == STORE_LEVEL) return level;
  char sample[PIECES * PIECE_BYTES];
  for (size_t i = 0; i < PIECES; i++)
    memcpy(sample + i * PIECE_BYTES, raw.data() + (raw.size() - PIECE_BYTES) / (PIECES - 1) * i, PIECE_BYTES);
  probe_.clear();
  const dt_block tried = put_block(probe_, {sample, sizeof sample}, 0, level);
  return tried.stored_bytes > sizeof sample - sizeof sample / 20 ? STORE_LEVEL : level;
}

void Encoder::write_blobs(int level, Encoded* out) {
  // Parts of one content that follow each other become one: fewer entries, and more for the compressor to look at.
  out->blobs_meta_bytes = 0;
  if (parts_.empty()) return;
  std::vector<dt_blob_entry> entries;
  std::vector<std::pair<size_t, size_t>> groups;  // first and last + 1 part of each entry
  for (size_t i = 0; i < parts_.size(); i++) {
    const BlobPart& part = parts_[i];
    if (i && part.hash == parts_[i - 1].hash && part.begin == parts_[i - 1].end && part.total == parts_[i - 1].total) {
      entries.back().bytes += part.end - part.begin;
      groups.back().second = i + 1;
    } else {
      entries.push_back({part.hash.low, part.hash.high, part.total, part.begin, part.end - part.begin, 0, 0, 0});
      groups.emplace_back(i, i + 1);
    }
  }
  ChunkBuffer& to = out->blobs;
  to.clear();
  const dt_blobs_meta meta{static_cast<uint32_t>(entries.size()), 0};
  to.put(&meta, sizeof meta);
  to.put(entries.data(), entries.size() * sizeof(dt_blob_entry));
  for (size_t e = 0; e < entries.size(); e++) {
    const BlobPart& first = parts_[groups[e].first];
    std::string_view raw(first.content, first.end - first.begin);
    const int use = level_for(raw, level);
    dt_block block{0, DT_CODEC_STORE, 0, entries[e].bytes, entries[e].bytes};
    if (use == STORE_LEVEL) {
      for (size_t i = groups[e].first; i < groups[e].second; i++)
        to.put(parts_[i].content, parts_[i].end - parts_[i].begin);
    } else {
      scratch_.clear();
      for (size_t i = groups[e].first; i < groups[e].second; i++)
        scratch_.insert(scratch_.end(), parts_[i].content, parts_[i].content + (parts_[i].end - parts_[i].begin));
      raw = {scratch_.data(), scratch_.size()};
      block = put_block(to, raw, 0, use);
    }
    entries[e].stored_bytes = block.stored_bytes;
    entries[e].codec = block.codec;
    out->raw_bytes += entries[e].bytes;
  }
  memcpy(to.at(sizeof meta), entries.data(), entries.size() * sizeof(dt_blob_entry));
  out->blobs_meta_bytes = static_cast<uint32_t>(sizeof meta + entries.size() * sizeof(dt_blob_entry));
}

// The facts in the chunk's header and in its records' times.
void Encoder::describe(const TakenChunk& chunk, uint32_t pid, uint32_t clock, uint32_t timing, const Encoded& out) {
  const uint32_t n = count_;
  meta_.pid = pid;
  meta_.thread = chunk.thread;
  meta_.tid = chunk.tid;
  meta_.context = chunk.context;
  meta_.serial = chunk.serial;
  meta_.first_call = chunk.first_call;
  meta_.records = n;
  meta_.calls = out.calls_count;
  meta_.calibration_clock = chunk.calibration_clock;
  meta_.calibration_ns = chunk.calibration_ns;
  meta_.calibration_width = chunk.calibration_width;
  meta_.clock = clock;
  meta_.timing = timing;
  memcpy(meta_.thread_name, chunk.thread_name, sizeof meta_.thread_name);
  for (uint32_t i = 0; i < n && !meta_.t_first; i++) meta_.t_first = entries_[i];
  for (uint32_t i = n; i-- && !meta_.t_last;) meta_.t_last = entries_[i];
}

// Brings the records of one function together, in their order: those of function l begin at (*starts)[l].
std::vector<dt_calls_function> Encoder::sort_by_function(std::vector<uint32_t>* starts, Encoded* out) {
  std::vector<dt_calls_function> functions(locals_.size());
  starts->assign(locals_.size() + 1, 0);
  for (size_t l = 0; l < locals_.size(); l++) {
    const Local& local = locals_[l];
    (*starts)[l + 1] = (*starts)[l] + local.count;
    functions[l] = {local.key, 0xffff, local.count, 0, 0, local.duration_sum, local.duration_max, local.payload_bytes};
    meta_.max_duration = std::max(meta_.max_duration, local.duration_max);
    out->functions.push_back(local.key & DT_FUNCTION_MASK);
    local_of_[local.key] = 0xffff;
  }
  std::vector<uint32_t> next(*starts);
  for (uint32_t i = 0; i < count_; i++) sorted_[next[order_[i]]++] = offsets_[i];
  return functions;
}

// Functions are assigned to ARGS blocks before anything is compressed: the tables stand first.
std::vector<Encoder::Args> Encoder::lay_out_args(const TakenChunk& chunk, const std::vector<uint32_t>& starts,
                                                 std::vector<dt_calls_function>* functions) {
  size_t used = 0;
  std::vector<Args> args;
  bool shared_open = false;
  std::vector<size_t> big;
  auto append_columns = [&](size_t l) {
    const size_t bytes = columns(chunk, locals_[l], sorted_.data() + starts[l], args_.data() + used);
    (*functions)[l].bytes = bytes;
    used += bytes;
    return bytes;
  };
  for (size_t l = 0; l < locals_.size(); l++) {
    const Layouts::Shape& shape = *layouts_.shape(locals_[l].key & DT_FUNCTION_MASK);
    if (!shape.w8 && !shape.w4) continue;
    if (size_t{locals_[l].count} * (8u * shape.w8 + 4u * shape.w4) >= ARGS_BLOCK_BYTES) {
      big.push_back(l);
      continue;
    }
    if (!shared_open || used - args.back().begin >= ARGS_BLOCK_BYTES) {
      args.push_back({used, used});
      shared_open = true;
    }
    (*functions)[l].block = static_cast<uint16_t>(args.size() - 1);
    (*functions)[l].offset = used - args.back().begin;
    append_columns(l);
    args.back().end = used;
  }
  for (size_t l : big) {
    (*functions)[l].block = static_cast<uint16_t>(args.size());
    const size_t begin = used;
    append_columns(l);
    args.push_back({begin, used});
  }
  return args;
}

// The blocks with a value for each record: which function, when, how long.
void Encoder::put_records(size_t functions, int level, Encoded* out) {
  const uint32_t n = count_;
  scratch_.resize(std::max<size_t>(scratch_.size(), size_t{n} * 10 + 8));
  char* raw = scratch_.data();
  if (functions <= 256) {
    for (uint32_t i = 0; i < n; i++) raw[i] = static_cast<char>(order_[i]);
    put(out, {raw, n}, DT_BLOCK_ORDER, level);
  } else {
    put(out, {reinterpret_cast<const char*>(order_.data()), n * 2ul}, DT_BLOCK_ORDER, level);
  }
  char* end = raw;
  uint64_t before = meta_.t_first;
  for (uint32_t i = 0; i < n; i++) {
    end = put_leb128(end, zigzag(entries_[i] - before));
    before = entries_[i];
  }
  put(out, {raw, static_cast<size_t>(end - raw)}, DT_BLOCK_ENTRY, level < 0 ? FREQUENCY_LEVEL : level);
  end = raw;
  uint32_t i = 0;
  for (; i + AT_ONCE <= n; i += AT_ONCE) end = put_durations(end, durations_.data() + i);
  for (; i < n; i++) end = put_leb128(end, durations_[i] + 3u);
  put(out, {raw, static_cast<size_t>(end - raw)}, DT_BLOCK_DURATION, level <= 1 ? FREQUENCY_LEVEL : level);
}

void Encoder::encode(const TakenChunk& chunk, uint32_t pid, uint32_t clock, uint32_t timing, int level, Encoded* out) {
  out->records = out->calls_count = out->in_flight = 0;
  out->raw_bytes = chunk.end > chunk.begin ? chunk.end - chunk.begin : 0;
  out->invalid_records = out->invalid_bytes = 0;
  out->functions.clear();
  locals_.clear();
  parts_.clear();
  contents_.clear();
  blocks_.clear();
  meta_ = {};
  payload_room_ = chunk_bytes_;
  index(chunk, out);
  write_blobs(level, out);

  const uint32_t n = out->records = count_;
  describe(chunk, pid, clock, timing, *out);
  std::vector<uint32_t> starts;
  std::vector<dt_calls_function> functions = sort_by_function(&starts, out);
  const std::vector<Args> args = lay_out_args(chunk, starts, &functions);

  const uint16_t first_args = n ? 3 : 0;
  meta_.functions = static_cast<uint32_t>(functions.size());
  meta_.blocks = static_cast<uint32_t>(first_args + args.size());
  for (dt_calls_function& function : functions)
    if (function.block != 0xffff) function.block = static_cast<uint16_t>(function.block + first_args);
  ChunkBuffer& to = out->calls;
  to.clear();
  to.put(&meta_, sizeof meta_);
  to.put(functions.data(), functions.size() * sizeof(dt_calls_function));
  const size_t table = to.payload_bytes();
  const std::vector<dt_block> empty(meta_.blocks);
  to.put(empty.data(), empty.size() * sizeof(dt_block));
  out->calls_meta_bytes = static_cast<uint32_t>(to.payload_bytes());
  if (n) put_records(functions.size(), level, out);
  for (const Args& a : args) put(out, {args_.data() + a.begin, a.end - a.begin}, DT_BLOCK_ARGS, level);
  memcpy(to.at(table), blocks_.data(), blocks_.size() * sizeof(dt_block));
  std::sort(contents_.begin(), contents_.end(),
            [](auto& a, auto& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; });
  contents_.erase(std::unique(contents_.begin(), contents_.end()), contents_.end());
  out->contents = contents_;
}

}  // namespace dt
