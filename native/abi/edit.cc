// The C ABI: new traces of old ones, and what differs. Nothing throws out of here.
#include "../common/json.h"
#include "../core/vulkan_tables.h"
#include "../edit/check.h"
#include "../edit/diff.h"
#include "../edit/edit.h"
#include "../edit/place.h"
#include "../edit/redact.h"
#include "../edit/skeleton.h"
#include "../edit/text_changes.h"
#include "../edit/vulkan_check.h"
#include "../edit/write.h"
#include "border.h"

using namespace dt::abi;
using dt::need;

struct dt_restored {
  dt::edit::Restored made;
};

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string_view view(const uint8_t* bytes, uint64_t length) { return {reinterpret_cast<const char*>(bytes), length}; }

void need_bits(const dt::Trace& trace, const char* table, unsigned id, const uint8_t* bits, uint64_t bytes) {
  uint64_t rows = 0;
  for (auto& chunk : trace.calls_chunks)
    if (auto* records = chunk.find(id | DT_RECORD_TAP)) rows += records->count;
  if (bits && bytes < (rows + 7) / 8)
    throw dt::Error(DT_E_ARGUMENT, "there are " + std::to_string(rows) + " rows of " + table + " and only " +
                                       std::to_string(bytes * 8) + " bits that say which are kept");
}

}  // namespace

extern "C" {

int dt_write(const dt_write_source* sources, uint32_t count, const dt_write_options* options, const char* path,
             const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need((sources || !count) && path && json && length && owner, "a source or the path");
    std::vector<dt::edit::Source> from;
    for (uint32_t i = 0; i < count; ++i) {
      auto& s = sources[i];
      need(s.trace, "a trace");
      dt::edit::Source source;
      source.trace = s.trace->trace.get();
      source.keep = s.keep;
      source.first_seq = s.first_seq;
      if (s.end_seq) source.end_seq = s.end_seq;
      source.keep_map_writes = s.keep_map_writes;
      source.keep_images = s.keep_images;
      need_bits(*source.trace, "memory_writes", DT_FN_MEMORY_WRITE, s.keep_memory_writes, s.memory_write_bytes);
      need_bits(*source.trace, "device_writes", DT_FN_DEVICE_WRITE, s.keep_device_writes, s.device_write_bytes);
      source.keep_memory_writes = s.keep_memory_writes;
      source.keep_device_writes = s.keep_device_writes;
      source.changes.assign(s.changes, s.changes + (s.changes ? s.change_count : 0));
      from.push_back(std::move(source));
    }
    dt::edit::Options wanted;
    if (options) {
      wanted.by_time = options->order == DT_ORDER_TIME;
      wanted.forget = options->forget;
      if (options->level) wanted.level = options->level;
      if (options->annotation) wanted.annotation = options->annotation;
      if (options->signatures) wanted.signatures = options->signatures;
    }
    hand_out(dt::edit::write(std::move(from), wanted, path), json, length, owner);
  });
}

int dt_plain_members(dt_trace* trace, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && json && length && owner, "a trace");
    hand_out(dt::vulkan::plain_members(*trace->trace), json, length, owner);
  });
}

int dt_check(dt_trace* trace, const uint8_t* keep, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && keep && json && length && owner, "a trace");
    hand_out(dt::edit::check(*trace->trace, keep), json, length, owner);
  });
}

int dt_check_all(dt_trace* trace, const uint8_t* keep, uint8_t* bits) {
  return guarded([&] {
    need(trace && keep && bits, "a trace");
    std::vector<uint8_t> left(keep, keep + (trace->trace->calls + 7) / 8);
    dt::edit::close_vulkan(*trace->trace, left);
    std::copy(left.begin(), left.end(), bits);
  });
}

int dt_place(dt_trace* trace, const char* function, const char* parameter, const uint8_t* content, uint64_t bytes,
             const char* path, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && function && parameter && content && path && json && length && owner, "a trace");
    const std::string_view held(reinterpret_cast<const char*>(content), bytes);
    hand_out(dt::edit::member_place(*trace->trace, function, parameter, held, path), json, length, owner);
  });
}

int dt_diff(dt_trace* a, dt_trace* b, uint64_t first_frame, uint64_t end_frame, uint64_t limit, uint32_t flags,
            const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(a && b && json && length && owner, "a trace");
    dt::edit::DiffOptions options;
    options.limit = limit;
    options.outputs = flags & 1;
    options.runs = flags & 2;
    options.first_frame = first_frame;
    if (end_frame) options.end_frame = end_frame;
    hand_out(dt::edit::diff(*a->trace, *b->trace, options), json, length, owner);
  });
}

int dt_text_changes(dt_trace* trace, uint64_t first_seq, uint64_t end_seq, const char* text, uint64_t text_bytes,
                    const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && text && json && length && owner, "a text");
    hand_out(dt::edit::text_changes(*trace->trace, first_seq, end_seq, {text, text_bytes}), json, length, owner);
  });
}

int dt_skeleton(dt_trace* trace, const char* path, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && path && json && length && owner, "the path");
    hand_out(dt::edit::write_skeleton(*trace->trace, path), json, length, owner);
  });
}

int dt_redact_origin(dt_trace* trace, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && json && length && owner, "the trace");
    const auto origin = dt::edit::origin_of(*trace->trace);
    dt::JsonObject object;
    object.put("ticks", origin.ticks).put("ns", origin.ns).values("pids", origin.pids);
    hand_out(object.str(), json, length, owner);
  });
}

int dt_redact(dt_trace* trace, const char* path, uint64_t ticks, uint64_t ns, const char* before, const char* after) {
  return guarded([&] {
    need(trace && path && before && after, "the path");
    dt::edit::Origin origin = dt::edit::origin_of(*trace->trace);
    origin.ticks = ticks, origin.ns = ns;
    dt::edit::redact(*trace->trace, path, std::move(origin), lines(before), lines(after));
  });
}

int dt_pack(const uint8_t* raw, uint64_t bytes, int32_t level, const char** frame, uint64_t* length, void** owner) {
  return guarded([&] {
    need((raw || !bytes) && frame && length && owner, "the content");
    hand_out(dt::edit::pack(view(raw, bytes), level), frame, length, owner);
  });
}

int dt_unpack(const uint8_t* frame, uint64_t bytes, uint64_t expected, const char** raw, uint64_t* length,
              void** owner) {
  return guarded([&] {
    need((frame || !bytes) && raw && length && owner, "the frame");
    hand_out(dt::edit::unpack(view(frame, bytes), expected), raw, length, owner);
  });
}

int dt_restore_open(dt_trace* skeleton, const char* path, dt_restored** out) {
  return guarded([&] {
    need(skeleton && path && out, "the path");
    *out = nullptr;
    *out = new dt_restored{dt::edit::Restored(skeleton->trace, path)};
  });
}

int dt_restore_add(dt_restored* restored, const char* hash, const uint8_t* raw, uint64_t bytes, const uint8_t* frame,
                   uint64_t frame_bytes) {
  return guarded([&] {
    need(restored && hash && (raw || !bytes) && (frame || !frame_bytes), "the content");
    restored->made.add(parse_hash(hash), view(raw, bytes), view(frame, frame_bytes));
  });
}

int dt_restore_finish(dt_restored* restored, const char* annotation) {
  return guarded([&] {
    need(restored && annotation, "the annotation");
    restored->made.finish(annotation);
  });
}

void dt_restore_close(dt_restored* restored) { delete restored; }

}  // extern "C"
