#include "maker.h"

#include "../common/hash.h"
#include "../core/structures.h"
#include "stored.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dt::edit {
namespace {

constexpr size_t BLOCK_BYTES = 512 * 1024;   // of columns, before a chunk is closed
constexpr size_t BLOCK_RECORDS = 48 * 1024;  // readers refuse chunks that claim very many records of no size
constexpr size_t ARGS_BLOCK_BYTES = 64 * 1024;
constexpr size_t BLOBS_CHUNK_BYTES = 1024 * 1024;
constexpr size_t PROBE_BYTES = 64 * 1024;
constexpr size_t MOST_WAITING = 6;

// Signatures that every trace of this writer may need and a source may lack.
constexpr char OWN[] =
    "F\t16369\tdrawtap\tdtapOrder\t1\t0\ttap\t-\nP\torder\tuint64_t\tu64\t8:0\t-\t-\n"
    "F\t16370\tdrawtap\tdtapLongDuration\t1\t0\ttap\t-\nP\tticks\tuint64_t\tu64\t8:0\t-\t-\n";

uint64_t zigzag(uint64_t delta) { return delta << 1 ^ static_cast<uint64_t>(static_cast<int64_t>(delta) >> 63); }

// The lines of a function with another number.
std::string renumbered(const std::string& text, unsigned id) {
  size_t first = text.find('\t'), second = text.find('\t', first + 1);
  return text.substr(0, first + 1) + std::to_string(id) + text.substr(second);
}

}  // namespace

Maker::Maker(int level, uint32_t timing) : level_(level), timing_(timing), worker_(MOST_WAITING) {
  signatures_.parse(OWN);
  signatures_.link();
}

void Maker::append(std::span<const char> chunk) {
  std::lock_guard lock(file_mutex_);
  must(file_.append(chunk));
}

void Maker::create(const std::string& path, const std::vector<std::string>& annotations) {
  must(file_.create(path));
  ChunkBuffer chunk;
  for (auto& json : annotations) append(text_chunk(chunk, DT_TYPE_ANNOTATION, json));
  worker_.start([this](std::unique_ptr<Block>& block) -> std::string {
    try {
      encode(*block);
      return {};
    } catch (const std::exception& e) {
      return e.what();
    }
  });
}

void Maker::add_signatures(const Signatures& from, const std::vector<const Function*>& functions) {
  std::string text;
  for (const Function* f : functions) {
    if (signatures_.by_name(f->name)) continue;
    auto group = [&](const EnumGroup* g) {
      if (known_groups_.insert(g->name).second) text += g->text;
    };
    for (auto& p : f->params) p.each_group(group);
    for (auto* g : tree_groups(from, *f)) group(g);
    if (f->result) f->result->each_group(group);
    unsigned id = f->id;
    // Numbers are the file's own: where another function has this one, the next free one is as good.
    if (signatures_.by_id(id)) {
      if (id >= DT_FN_FIRST_TAP) continue;
      for (id = 1; id < DT_FN_FIRST_TAP && (signatures_.by_id(id) || from.by_id(id)); ++id) {}
      if (id == DT_FN_FIRST_TAP) throw Error(DT_E_ARGUMENT, "there are more functions than a trace can hold");
    }
    text += renumbered(f->text, id);
    signatures_.parse(text);
    text.clear();
  }
  signatures_.link();
  written_.resize(signatures_.functions.size());
}

void Maker::need_blob(const Trace& from, const Hash128& hash) {
  if (!known_.insert(hash).second) return;
  auto& index = from.blobs();
  auto it = index.find(hash);
  if (it == index.end()) return;
  for (auto& part : it->second) {
    blob_entries_.push_back(part.entry);
    blob_bytes_.append(reinterpret_cast<const char*>(part.stored), part.entry.stored_bytes);
  }
  if (blob_bytes_.size() >= BLOBS_CHUNK_BYTES) flush_blobs();
}

Hash128 Maker::put_content(std::string_view content) {
  const Digest name = hash128(content.data(), content.size());
  const Hash128 hash{name.low, name.high};
  if (!known_.insert(hash).second) return hash;
  ChunkBuffer buffer;
  int level = level_;
  if (content.size() > PROBE_BYTES &&
      put_block(buffer, content.substr(0, PROBE_BYTES), 0, level).stored_bytes > PROBE_BYTES - PROBE_BYTES / 20)
    level = STORE_LEVEL;
  buffer.clear();
  dt_block block = put_block(buffer, content, 0, level);
  blob_entries_.push_back({hash.low, hash.high, content.size(), 0, content.size(), block.stored_bytes, block.codec, 0});
  blob_bytes_.append(buffer.at(0), block.stored_bytes);
  if (blob_bytes_.size() >= BLOBS_CHUNK_BYTES) flush_blobs();
  return hash;
}

void Maker::flush_blobs() {
  if (blob_entries_.empty()) return;
  ChunkBuffer chunk;
  append(blobs_chunk(chunk, blob_entries_, blob_bytes_));
  blob_entries_.clear();
  blob_bytes_.clear();
}

size_t Maker::lane(const Thread& thread) {
  auto [it, fresh] = lane_of_.try_emplace({thread.pid, thread.number}, lanes_.size());
  if (fresh) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->thread = thread;
    lanes_.back()->local_of.assign(0x10000, 0xffff);
  }
  return it->second;
}

Maker::Block& Maker::open(Lane& lane) {
  if (lane.block && (lane.block->bytes >= BLOCK_BYTES || lane.block->order.size() >= BLOCK_RECORDS)) seal(lane);
  if (!lane.block) {
    lane.block = std::make_unique<Block>();
    auto& m = lane.block->meta;
    m.pid = lane.thread.pid, m.thread = lane.thread.number, m.tid = lane.thread.tid;
    m.context = lane.context;
    m.serial = lane.serial++;
    m.first_call = lane.calls;
    m.clock = DT_CLOCK_MONOTONIC_NS;
    m.timing = timing_;
    memcpy(m.thread_name, lane.thread.name, sizeof m.thread_name);
  }
  return *lane.block;
}

Maker::Local& Maker::local(Lane& lane, Block& block, const Function& function, bool tap) {
  uint16_t key = static_cast<uint16_t>(function.id | (tap ? DT_RECORD_TAP : 0));
  uint16_t& number = lane.local_of[key];
  if (number == 0xffff) {
    number = static_cast<uint16_t>(block.locals.size());
    block.locals.emplace_back();
    Local& l = block.locals.back();
    l.key = key;
    l.function = &function;
    l.w8.resize(function.w8);
    l.w4.resize(function.w4);
    l.payloads.resize(function.descriptors.size());
    auto index = static_cast<size_t>(function.index);
    if (!written_[index]) {
      written_[index] = true;
      auto group = [&](const EnumGroup* g) {
        if (written_groups_.insert(g->name).second) block.signatures += g->text;
      };
      for (auto& p : function.params) p.each_group(group);
      for (auto* g : tree_groups(signatures_, function)) group(g);
      if (function.result) function.result->each_group(group);
      block.signatures += function.text;
    }
  }
  return block.locals[number];
}

void Maker::set_context(size_t index, uint32_t context) {
  Lane& lane = *lanes_[index];
  if (lane.context == context) return;
  // No record says that it changed: a new chunk can.
  if (lane.block && !lane.block->order.empty()) seal(lane);
  lane.context = context;
  if (lane.block) lane.block->meta.context = context;
}

void Maker::mark(size_t index, uint64_t number) {
  const Function* f = signatures_.by_name("dtapOrder");
  Row row{{number}, {}, {}};
  add(index, *f, true, row, 0, DT_NO_DURATION, 0, NO_ORIGIN);
}

void Maker::add(size_t index, const Function& function, bool tap, const Row& row, uint64_t entry, uint32_t duration,
                uint64_t long_ns, uint64_t origin) {
  Lane& lane = *lanes_[index];
  Block& block = open(lane);
  Local& l = local(lane, block, function, tap);
  auto number = static_cast<uint16_t>(&l - block.locals.data());
  size_t bytes = 8;
  for (size_t i = 0; i < l.w8.size(); ++i) l.w8[i].push_back(row.w8[i]);
  for (size_t i = 0; i < l.w4.size(); ++i) l.w4[i].push_back(row.w4[i]);
  for (size_t i = 0; i < l.payloads.size(); ++i) {
    const Payload& p = row.payloads[i];
    l.w8[static_cast<size_t>(function.descriptors[i])].back() = DT_DATA(p.kind, 0, p.length);
    if (p.kind == DT_DATA_INLINE || p.kind == DT_DATA_BLOB) {
      l.payloads[i].append(p.bytes);
      l.payload_bytes += p.length;
      bytes += p.bytes.size();
    }
  }
  bytes += 8 * l.w8.size() + 4 * l.w4.size();
  ++l.count;
  block.bytes += bytes;
  block.order.push_back(number);
  block.entries.push_back(entry);
  block.durations.push_back(duration);
  auto& m = block.meta;
  if (entry) {
    if (!m.t_first) m.t_first = entry;
    m.t_last = entry;
    uint64_t ticks = duration < DT_NO_DURATION ? duration : duration == DT_LONG_DURATION ? long_ns : 0;
    m.t_end = std::max(m.t_end, entry + ticks);
  }
  if (function.id == DT_FN_ORDER && tap) {
    uint64_t order = row.w8[0];
    if (!m.order_first || order < m.order_first) m.order_first = order;
    m.order_last = std::max(m.order_last, order);
  }
  if (tap) return;
  ++m.calls, ++lane.calls, ++calls_;
  block.origins.push_back(origin);
  block.has_origin |= origin != NO_ORIGIN;
  uint64_t ticks = duration < DT_NO_DURATION ? duration : duration == DT_LONG_DURATION ? long_ns : 0;
  l.duration_sum += ticks;
  l.duration_max = std::max(l.duration_max, ticks);
  m.max_duration = std::max(m.max_duration, ticks);
  if (duration == DT_LONG_DURATION) {
    Row time{{long_ns}, {}, {}};
    // From the same chunk, whatever its size: readers look into the next one only for the last call.
    const Function* f = signatures_.by_name("dtapLongDuration");
    Local& of = local(lane, block, *f, true);
    of.w8[0].push_back(long_ns);
    ++of.count;
    block.order.push_back(static_cast<uint16_t>(&of - block.locals.data()));
    block.entries.push_back(entry);
    block.durations.push_back(DT_NO_DURATION);
  }
}

void Maker::seal(Lane& lane) {
  if (!lane.block) return;
  for (auto& l : lane.block->locals) lane.local_of[l.key] = 0xffff;
  must(worker_.give(std::move(lane.block)));
}

// Appends the columns of a function's records, as an ARGS block has them; their size in bytes.
size_t Maker::columns(const Local& l, std::string& to) {
  size_t start = to.size(), fixed = l.count * (8ul * l.w8.size() + 4ul * l.w4.size());
  to.resize(start + fixed);
  char* at = to.data() + start;
  auto put = [&at]<class T>(const std::vector<T>& column) {
    T before = 0;
    for (T v : column) {
      const T difference = v - std::exchange(before, v);
      memcpy(at, &difference, sizeof difference), at += sizeof difference;
    }
  };
  for (auto& column : l.w8) put(column);
  for (auto& column : l.w4) put(column);
  for (auto& payload : l.payloads) to += payload;
  return to.size() - start;
}

void Maker::encode(Block& b) {
  ChunkBuffer chunk;
  if (!b.signatures.empty()) append(text_chunk(chunk, DT_TYPE_SIGNATURES, "V\t1\n" + b.signatures));
  size_t n = b.order.size();
  std::vector<dt_calls_function> functions;
  std::vector<std::string> args;
  std::vector<size_t> big;
  for (auto& l : b.locals)
    functions.push_back({l.key, 0xffff, l.count, 0, 0, l.duration_sum, l.duration_max, l.payload_bytes});
  bool shared = false;
  uint16_t first_args = 3;
  for (size_t i = 0; i < b.locals.size(); ++i) {
    Local& l = b.locals[i];
    if (l.w8.empty() && l.w4.empty()) continue;
    if (l.count * (8ul * l.w8.size() + 4ul * l.w4.size()) >= ARGS_BLOCK_BYTES) {
      big.push_back(i);
      continue;
    }
    if (!shared || args.back().size() >= ARGS_BLOCK_BYTES) args.emplace_back(), shared = true;
    functions[i].block = static_cast<uint16_t>(first_args + args.size() - 1);
    functions[i].offset = args.back().size();
    functions[i].bytes = columns(l, args.back());
  }
  for (size_t i : big) {
    args.emplace_back();
    functions[i].block = static_cast<uint16_t>(first_args + args.size() - 1);
    functions[i].bytes = columns(b.locals[i], args.back());
  }
  auto& m = b.meta;
  m.records = static_cast<uint32_t>(n);
  m.functions = static_cast<uint32_t>(functions.size());
  m.blocks = static_cast<uint32_t>(3 + args.size() + b.has_origin);
  chunk.clear();
  chunk.put(&m, sizeof m);
  chunk.put(functions.data(), functions.size() * sizeof(dt_calls_function));
  size_t table = chunk.payload_bytes();
  std::vector<dt_block> blocks(m.blocks);
  chunk.put(blocks.data(), blocks.size() * sizeof(dt_block));
  auto meta_bytes = static_cast<uint32_t>(chunk.payload_bytes());
  blocks.clear();
  std::string raw;
  if (functions.size() <= 256) {
    raw.resize(n);
    for (size_t i = 0; i < n; ++i) raw[i] = static_cast<char>(b.order[i]);
  } else {
    raw.assign(reinterpret_cast<const char*>(b.order.data()), n * 2);
  }
  blocks.push_back(put_block(chunk, raw, DT_BLOCK_ORDER, level_));
  raw.clear();
  uint64_t before = m.t_first;
  for (uint64_t entry : b.entries) put_leb128(raw, zigzag(entry - before)), before = entry;
  blocks.push_back(put_block(chunk, raw, DT_BLOCK_ENTRY, level_));
  raw.clear();
  for (uint32_t d : b.durations) put_leb128(raw, d + 3u);
  blocks.push_back(put_block(chunk, raw, DT_BLOCK_DURATION, level_));
  for (auto& a : args) blocks.push_back(put_block(chunk, a, DT_BLOCK_ARGS, level_));
  if (b.has_origin) {
    raw.clear();
    before = 0;
    for (uint64_t origin : b.origins) {  // 0: none; else the number + 1
      uint64_t v = origin == NO_ORIGIN ? 0 : origin + 1;
      put_leb128(raw, zigzag(v - before)), before = v;
    }
    blocks.push_back(put_block(chunk, raw, DT_BLOCK_ORIGIN, level_));
  }
  memcpy(chunk.at(table), blocks.data(), blocks.size() * sizeof(dt_block));
  append(chunk.seal(DT_TYPE_CALLS, meta_bytes));
}

void Maker::finish(const std::vector<std::string>& annotations) {
  for (auto& lane : lanes_) seal(*lane);
  must(worker_.settle());
  flush_blobs();
  ChunkBuffer chunk;
  for (auto& json : annotations) append(text_chunk(chunk, DT_TYPE_ANNOTATION, json));
  must(file_.finish());
}

}  // namespace dt::edit
