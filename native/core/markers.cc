#include "markers.h"

#include <algorithm>

#include "chunk.h"
#include "vulkan.h"

namespace dt {
namespace {

// The deed of a function on groups.
enum class MarkerStep : uint8_t { opens, closes, closes_all, names, inserts };

struct Event {
  Marker marker;
  MarkerStep step;
};

bool is_about_groups(const Trace& trace, const Function& f) {
  return f.id < DT_FN_FIRST_TAP && (f.flags & FLAG_MARKER) && trace.calls_of(f.id);
}

MarkerStep step_of(const Function& f) {
  // A group that is open when a command buffer ends, or begins anew, is not open in its next content.
  if (f.flags & (FLAG_COMMANDS_BEGIN | FLAG_COMMANDS_END)) return MarkerStep::closes_all;
  return f.flags & FLAG_GROUP_BEGIN ? MarkerStep::opens
         : f.flags & FLAG_GROUP_END ? MarkerStep::closes
         : f.flags & FLAG_LABEL     ? MarkerStep::names
                                    : MarkerStep::inserts;
}

// A text that a call was given; empty where it is lost.
std::string text_given(const Trace& trace, const FunctionColumns& columns, const Function& f, uint32_t i) {
  const Field* text = nullptr;
  for (auto& p : f.params)
    if (p.has_data() && (p.element == Element::chars || is_tree(p)) && !text) text = &p;
  if (!text) return {};
  std::vector<uint8_t> keep;
  std::string given(
      content_of(trace, columns, *text, i, keep, 1u << 20).value_or(""));  // its text may be lost, the marker is not
  if (is_tree(*text)) {
    const vulkan::Node node(trace.signatures, *text, given);
    for (auto* member : {"pLabelName", "pMarkerName", "pObjectName"})
      if (node.has(member)) return node.text(member);
    return {};
  }
  if (!given.empty() && given.back() == '\0') given.pop_back();
  return given;
}

void take(const Trace& trace, const Function& f, std::vector<Event>& into) {
  const MarkerStep step = step_of(f);
  for (size_t index = 0; index < trace.calls_chunks.size(); ++index) {
    auto& info = trace.calls_chunks[index];
    auto* entry = info.find(f.id);
    if (!entry) continue;
    try {
      OpenChunk chunk(trace, index);
      const auto number = static_cast<size_t>(entry - info.functions.data());
      auto& records = chunk.records_of(number);
      auto& columns = chunk.columns(number);
      for (uint32_t i = 0; i < records.size(); ++i) {
        Marker m;
        m.seq = trace.seq_of(index, chunk.plain() ? records[i] : chunk.record_calls()[records[i]]);
        m.end = m.seq + 1, m.thread = info.thread, m.function = &f;
        if (step != MarkerStep::closes && step != MarkerStep::closes_all) m.text = text_given(trace, columns, f, i);
        if (f.api == "vk" && !f.params.empty()) m.handle = columns.raw(f.params[0], i);
        if (step == MarkerStep::opens) m.kind = Marker::Kind::group;
        if (step == MarkerStep::names) m.kind = Marker::Kind::label;
        into.push_back({std::move(m), step});
      }
    } catch (const Error& e) {
      say_damaged(trace, index, e);
    }
  }
}

}  // namespace

std::vector<Marker> markers(const Trace& trace) {
  std::vector<Event> events;
  bool in_command_buffers = false;
  for (auto& f : trace.signatures.functions) {
    if (!is_about_groups(trace, f)) continue;
    in_command_buffers |= f.api == "vk" && (f.flags & FLAG_RECORDS);
    take(trace, f, events);
  }
  if (in_command_buffers)
    for (auto& f : trace.signatures.functions)
      if (f.flags & (FLAG_COMMANDS_BEGIN | FLAG_COMMANDS_END)) take(trace, f, events);
  std::stable_sort(events.begin(), events.end(), [](auto& a, auto& b) { return a.marker.seq < b.marker.seq; });
  // OpenGL's groups nest in a thread, those of Vulkan in a queue or command buffer, whatever thread calls.
  std::map<std::pair<uint64_t, uint32_t>, std::vector<size_t>> open;
  std::map<uint32_t, uint32_t> depth;  // per thread
  std::vector<Marker> out;
  for (auto& [m, step] : events) {
    auto& stack = open[m.handle ? std::pair(m.handle, 0u) : std::pair(uint64_t{0}, m.thread)];
    if (step == MarkerStep::closes || step == MarkerStep::closes_all) {
      while (!stack.empty()) {
        Marker& group = out[stack.back()];
        // A call that ends all is not part of the groups that it ends.
        group.end = step == MarkerStep::closes ? m.seq + 1 : m.seq;
        group.ended = true;
        --depth[group.thread];
        stack.pop_back();
        if (step == MarkerStep::closes) break;
      }
      continue;
    }
    m.depth = depth[m.thread];
    if (step == MarkerStep::opens) {
      m.end = trace.calls, m.ended = false;
      ++depth[m.thread];
      stack.push_back(out.size());
    }
    out.push_back(std::move(m));
  }
  return out;
}

}  // namespace dt
