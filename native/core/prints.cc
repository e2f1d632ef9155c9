#include "prints.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "chunk.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt {
namespace {

constexpr uint64_t BASE = 0x9E3779B97F4A7C15ull;

uint64_t mixed(uint64_t x) {
  x ^= x >> 30, x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27, x *= 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

// A polynomial over the calls of one thread: that of two parts follows from theirs, wherever a chunk ends.
struct Rolling {
  uint64_t value = 0, factor = 1, calls = 0;
  void add(uint64_t x) { value = value * BASE + x, factor *= BASE; }
  void append(const Rolling& o) { value = value * o.factor + o.value, factor *= o.factor, calls += o.calls; }
};

struct PrintedPart {
  std::vector<std::pair<size_t, Rolling>> frames;
  std::vector<Unreadable> unreadable;
};

// The fields of a function that shape its request to the driver.
struct Plan {
  std::vector<const Field*> values, contents;
};

Plan plan_of(const Function& f) {
  Plan p;
  for (auto& field : f.params) {
    // Where a content lies does not matter; addresses and fences are new in every frame.
    bool address = field.kind == Kind::ptr || field.object_class == "sync";
    if (field.slot >= 0 && !address) p.values.push_back(&field);
    if (field.has_data()) p.contents.push_back(&field);
  }
  return p;
}

// A function of a chunk: its columns there, and what of them counts.
struct PrintedFunction {
  const FunctionColumns* columns = nullptr;
  Plan plan;
  uint16_t id = 0;
  bool tap = false, counts = false;
};

std::vector<PrintedFunction> functions_of(const Trace& trace, const CallsChunk& info, OpenChunk& chunk) {
  std::vector<PrintedFunction> of(info.functions.size());
  for (size_t f = 0; f < of.size(); ++f) {
    auto* function = trace.signatures.by_id(info.functions[f].id());
    of[f].id = info.functions[f].id();
    of[f].tap = info.functions[f].tap();
    // A program's stores to mapped buffers and its client arrays are part of a frame's picture.
    of[f].counts = !of[f].tap || of[f].id == DT_FN_MEMORY || of[f].id == DT_FN_MAP_WRITE;
    if (!function || !of[f].counts) continue;
    of[f].plan = plan_of(*function);
    of[f].columns = &chunk.columns(f);
  }
  return of;
}

// The request of call `i` of a function to the driver, as a number; contents that could not be read are noted.
uint64_t print_of(const PrintedFunction& o, uint32_t i, uint64_t seq, std::vector<Unreadable>& unreadable) {
  uint64_t hash = mixed(o.id);
  if (o.columns && o.columns->function) {
    for (auto* field : o.plan.values) hash = mixed(hash ^ o.columns->raw(*field, i)) + BASE;
    for (auto* field : o.plan.contents) {
      uint64_t d = o.columns->descriptor(*field, i);
      unsigned kind = DT_DATA_KIND(d);
      if (kind == DT_DATA_FAULT)
        unreadable.push_back({seq, o.tap ? nullptr : o.columns->function, o.tap ? nullptr : field});
      if (field->out) continue;
      if (kind == DT_DATA_INLINE || kind == DT_DATA_BLOB) {
        auto content = o.columns->payload(*field, i);
        hash = mixed(hash ^ XXH3_64bits(content.data(), content.size())) + kind;
      } else if (kind == DT_DATA_OFFSET && field->slot >= 0) {
        hash = mixed(hash ^ o.columns->raw(*field, i)) + kind;
      } else {
        hash = mixed(hash ^ kind);
      }
    }
  }
  return hash;
}

// The calls of a chunk, by frame.
PrintedPart part_of(const Trace& trace, const std::vector<uint64_t>& ends, size_t index) {
  auto& info = trace.calls_chunks[index];
  OpenChunk chunk(trace, index);
  auto& order = chunk.order();
  auto& ordinals = chunk.ordinals();
  auto& group = trace.groups[info.group];
  bool alone = group.chunks.size() == 1;
  if (!alone) trace.merge(info.group);
  PrintedPart part;
  std::vector<PrintedFunction> of = functions_of(trace, info, chunk);
  auto position = ends.begin();
  if (info.meta.calls) position = std::lower_bound(ends.begin(), ends.end(), trace.seq_of(index, 0));
  uint32_t call = 0;
  for (uint32_t r = 0; r < order.size(); ++r) {
    PrintedFunction& o = of[order[r]];
    if (!o.counts) continue;
    // Records behind the last call belong to the first call of the next chunk; they count here, where that call is not
    // known.
    if (call >= info.meta.calls && part.frames.empty()) continue;
    uint32_t at = call < info.meta.calls ? call : call - 1;
    uint64_t seq = alone ? group.base + at : trace.seq_of(index, at);
    bool moved = false;
    while (position != ends.end() && *position < seq) ++position, moved = true;
    if (part.frames.empty() || moved) part.frames.emplace_back(static_cast<size_t>(position - ends.begin()), Rolling{});
    Rolling& rolling = part.frames.back().second;
    rolling.add(print_of(o, ordinals[r], seq, part.unreadable));
    if (!o.tap) ++call, ++rolling.calls;
  }
  return part;
}

}  // namespace

Prints prints(const Trace& trace) {
  auto frames = trace.frames();
  auto& ends = frames->ends;
  bool rest = trace.calls && (ends.empty() || ends.back() + 1 < trace.calls);
  Prints out;
  out.frames.resize(ends.size() + rest);
  std::vector<PrintedPart> parts(trace.calls_chunks.size());
  Work work(trace.generation);

  each_calls_chunk(trace, work, [&](size_t index) { parts[index] = part_of(trace, ends, index); });

  for (size_t t = 0; t < trace.threads.size(); ++t) {
    std::pair<size_t, Rolling> open{SIZE_MAX, {}};
    auto close = [&] {
      if (open.first < out.frames.size()) {
        out.frames[open.first].print += mixed(open.second.value ^ mixed(t + 1));
        out.frames[open.first].calls += open.second.calls;
      }
    };
    for (size_t index : trace.threads[t].chunks)
      for (auto& [number, rolling] : parts[index].frames) {
        if (number != open.first) close(), open = {number, {}};
        open.second.append(rolling);
      }
    close();
  }
  for (auto& part : parts) out.unreadable.insert(out.unreadable.end(), part.unreadable.begin(), part.unreadable.end());
  std::sort(out.unreadable.begin(), out.unreadable.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  return out;
}

}  // namespace dt
