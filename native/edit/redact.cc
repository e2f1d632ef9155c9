#include "redact.h"

#include <algorithm>
#include <cstring>

#include "../common/container.h"
#include "stored.h"

namespace dt::edit {
namespace {

constexpr uint64_t LIMIT = 1ull << 32;  // raw bytes of a block
constexpr int LEVEL = 3;

uint64_t shifted(uint64_t at, uint64_t by) { return at == 0 ? 0 : at > by ? at - by : 1; }

uint64_t take_leb128(std::string_view raw, size_t& at) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at >= raw.size()) throw Error(DT_E_FORMAT, "the times of a chunk are cut off");
    const auto byte = static_cast<uint8_t>(raw[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw Error(DT_E_FORMAT, "a time of a chunk makes no sense");
}

// Entry times, each minus the one before; 0 stays 0.
std::string shift_entries(std::string_view raw, uint64_t first, uint64_t by) {
  std::string out;
  uint64_t was = first, now = shifted(first, by);
  for (size_t at = 0; at < raw.size();) {
    const uint64_t coded = take_leb128(raw, at);
    was += coded >> 1 ^ (0 - (coded & 1));
    const uint64_t next = shifted(was, by), delta = next - now;
    put_leb128(out, delta << 1 ^ static_cast<uint64_t>(static_cast<int64_t>(delta) >> 63));
    now = next;
  }
  return out;
}

bool is_system(std::string_view path) { return path.starts_with("/usr/lib") || path.starts_with("/lib"); }

// Paths of libraries in the columns of dtapLibrary: one w8 field and the descriptor, then the texts.
void blank_paths(std::string& raw, const dt_calls_function& columns, const Function& function) {
  const size_t wide = static_cast<size_t>(function.w8), narrow = static_cast<size_t>(function.w4);
  if (columns.offset > raw.size() || columns.bytes > raw.size() - columns.offset ||
      columns.bytes < columns.count * (8 * wide + 4 * narrow) || function.descriptors.size() != 1)
    throw Error(DT_E_FORMAT, "the libraries of a chunk make no sense");
  char* const begin = raw.data() + columns.offset;
  const auto slot = static_cast<size_t>(function.descriptors[0]);
  size_t at = columns.count * (8 * wide + 4 * narrow);
  uint64_t descriptor = 0;
  for (uint32_t i = 0; i < columns.count; ++i) {
    uint64_t delta;
    memcpy(&delta, begin + (slot * columns.count + i) * 8, 8);
    descriptor += delta;
    if ((descriptor & 7) == DT_DATA_NONE) continue;
    const uint64_t length = descriptor >> 16;
    if ((descriptor & 7) != DT_DATA_INLINE || length > columns.bytes - at)
      throw Error(DT_E_FORMAT, "the path of a library is not where it belongs");
    if (!is_system({begin + at, length})) memset(begin + at, 'x', length);
    at += length;
  }
}

class Redactor {
 public:
  Redactor(const Trace& trace, const std::string& path, Origin origin) : trace_(trace), origin_(std::move(origin)) {
    must(file_.create(path));
  }
  void annotate(const std::vector<std::string>& texts) {
    for (auto& text : texts) must(file_.append(text_chunk(out_, DT_TYPE_ANNOTATION, text)));
  }
  void chunk(const ChunkInfo& info) {
    if (info.header.type == DT_TYPE_CALLS) return calls(info);
    if (info.header.type != DT_TYPE_BLOBS && info.header.type != DT_TYPE_SIGNATURES) return;
    out_.clear();
    out_.put(trace_.at(info.offset + sizeof info.header), info.header.payload_bytes);
    must(file_.append(out_.seal(info.header.type, info.header.meta_bytes, info.header.version)));
  }
  void finish() { must(file_.finish()); }

 private:
  dt_calls_meta person(dt_calls_meta meta) const {
    const auto pid = std::find(origin_.pids.begin(), origin_.pids.end(), meta.pid);
    meta.pid = static_cast<uint32_t>(pid - origin_.pids.begin()) + 1;
    meta.tid = meta.pid * 1000 + meta.thread;
    memset(meta.thread_name, 0, sizeof meta.thread_name);
    snprintf(meta.thread_name, sizeof meta.thread_name, "thread %u", meta.thread);
    for (uint64_t* at : {&meta.t_first, &meta.t_last, &meta.t_end, &meta.calibration_clock})
      *at = shifted(*at, origin_.ticks);
    meta.calibration_ns = shifted(meta.calibration_ns, origin_.ns);
    return meta;
  }

  void calls(const ChunkInfo& info) {
    dt_calls_meta meta;
    const uint8_t* payload = trace_.at(info.offset + sizeof info.header);
    if (info.header.meta_bytes < sizeof meta) throw Error(DT_E_FORMAT, "a calls chunk is cut off");
    memcpy(&meta, payload, sizeof meta);
    const uint64_t tables =
        meta.functions * uint64_t{sizeof(dt_calls_function)} + meta.blocks * uint64_t{sizeof(dt_block)};
    if (info.header.meta_bytes - sizeof meta < tables) throw Error(DT_E_FORMAT, "a calls chunk is cut off");
    std::vector<dt_calls_function> functions(meta.functions);
    std::vector<dt_block> blocks(meta.blocks);
    memcpy(functions.data(), payload + sizeof meta, functions.size() * sizeof functions[0]);
    memcpy(blocks.data(), payload + sizeof meta + functions.size() * sizeof functions[0],
           blocks.size() * sizeof blocks[0]);
    const dt_calls_meta now = person(meta);
    out_.clear();
    out_.put(&now, sizeof now);
    out_.put(functions.data(), functions.size() * sizeof functions[0]);
    const size_t table = out_.payload_bytes();
    out_.put(blocks.data(), blocks.size() * sizeof blocks[0]);
    const auto meta_bytes = static_cast<uint32_t>(out_.payload_bytes());
    uint64_t at = info.header.meta_bytes;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].stored_bytes > info.header.payload_bytes - at) throw Error(DT_E_FORMAT, "a block is cut off");
      std::string raw;
      if (!open_block(blocks[i], {reinterpret_cast<const char*>(payload) + at, blocks[i].stored_bytes}, LIMIT, &raw))
        throw Error(DT_E_FORMAT, "a block of calls is damaged");
      at += blocks[i].stored_bytes;
      if (blocks[i].kind == DT_BLOCK_ENTRY) raw = shift_entries(raw, meta.t_first, origin_.ticks);
      for (auto& f : functions)
        if (f.block == i && f.function == (DT_FN_LIBRARY | DT_RECORD_TAP)) blank_paths(raw, f, library());
      blocks[i] = put_block(out_, raw, blocks[i].kind, LEVEL);
    }
    memcpy(out_.at(table), blocks.data(), blocks.size() * sizeof blocks[0]);
    must(file_.append(out_.seal(DT_TYPE_CALLS, meta_bytes, info.header.version)));
  }

  const Function& library() const {
    const Function* function = trace_.function_named("dtapLibrary");
    if (!function) throw Error(DT_E_FORMAT, "the recording has libraries that it does not explain");
    return *function;
  }

  const Trace& trace_;
  const Origin origin_;
  ContainerWriter file_;
  ChunkBuffer out_;
};

}  // namespace

Origin origin_of(const Trace& trace) {
  Origin origin{UINT64_MAX, UINT64_MAX, {}};
  const auto least = [](uint64_t& of, uint64_t at) {
    if (at) of = std::min(of, at);
  };
  for (auto& chunk : trace.calls_chunks) {
    least(origin.ticks, chunk.meta.t_first);
    least(origin.ticks, chunk.meta.calibration_clock);
    least(origin.ns, chunk.meta.calibration_ns);
    if (std::find(origin.pids.begin(), origin.pids.end(), chunk.meta.pid) == origin.pids.end())
      origin.pids.push_back(chunk.meta.pid);
  }
  for (uint64_t* at : {&origin.ticks, &origin.ns})
    if (*at == UINT64_MAX) *at = 0;
  return origin;
}

void redact(const Trace& trace, const std::string& path, Origin origin, const std::vector<std::string>& before,
            const std::vector<std::string>& after) {
  Redactor made(trace, path, std::move(origin));
  made.annotate(before);
  for (auto& chunk : trace.chunks) made.chunk(chunk);
  made.annotate(after);
  made.finish();
}

}  // namespace dt::edit
