// The calls that end a frame.
#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>
#include <set>

#include "chunk.h"
#include "markers.h"
#include "structures.h"
#include "vulkan.h"

namespace dt {
namespace {

constexpr uint64_t FRAME_END = 1;  // VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT

constexpr uint64_t VK_SUCCESS = 0;

// The calls of some functions, in order. Waits of Vulkan that ended before what they waited for are none of them.
std::vector<uint64_t> calls_of(const Trace& trace, const std::vector<uint16_t>& functions) {
  std::vector<uint64_t> seqs;
  if (functions.empty()) return seqs;
  Work work(trace.generation);
  std::mutex mutex;
  each_calls_chunk(trace, work, [&](size_t chunk) {
    auto& c = trace.calls_chunks[chunk];
    std::optional<OpenChunk> open;
    std::vector<uint64_t> own;
    for (size_t f = 0; f < c.functions.size(); ++f) {
      if (!c.functions[f].count ||
          std::find(functions.begin(), functions.end(), c.functions[f].function) == functions.end())
        continue;
      if (!open) open.emplace(trace, chunk);
      auto* numbers = open->plain() ? nullptr : &open->record_calls();
      auto& records = open->records_of(f);
      auto* function = trace.signatures.by_id(c.functions[f].id());
      const bool may_fail = function->flags & FLAG_FINISH && function->api == "vk" && function->result;
      auto* columns = may_fail ? &open->columns(f) : nullptr;
      for (uint32_t i = 0; i < records.size(); ++i)
        if (!columns || columns->raw(*function->result, i) == VK_SUCCESS)
          own.push_back(trace.seq_of(chunk, numbers ? (*numbers)[records[i]] : records[i]));
    }
    if (own.empty()) return;
    std::lock_guard lock(mutex);
    seqs.insert(seqs.end(), own.begin(), own.end());
  });
  std::sort(seqs.begin(), seqs.end());
  return seqs;
}

// Submits of Vulkan that say that a frame is complete (VK_EXT_frame_boundary).
std::vector<uint64_t> boundaries(const Trace& trace) {
  std::vector<uint64_t> seqs;
  if (!Structures::of(trace.signatures).by_name("VkFrameBoundaryEXT")) return seqs;
  const vulkan::Work work(trace, false, false);
  for (auto& call : work.calls) {
    if (call.does != vulkan::Does::submits) continue;
    for (auto& p : call.function->params) {
      if (!is_tree(p)) continue;
      bool ends = false;
      for (auto& batch : work.trees(call, p.name))
        ends |= (batch.chained("VkFrameBoundaryEXT").value("flags") & FRAME_END) != 0;
      if (ends) seqs.push_back(call.seq);
      break;
    }
  }
  return seqs;
}

// "Frame", "frame 12", "Frame #12", and what other recorders of Vulkan take for the end of a frame.
bool is_of_a_frame(std::string_view text) {
  std::string lower;
  for (char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.find("frame_end") != lower.npos) return true;
  return lower.starts_with("frame") && lower.find_first_not_of(" _#:-0123456789", 5) == lower.npos;
}

// Calls behind labels that speak of frames: of a queue where the group ends, of a command buffer where it is submitted.
std::vector<uint64_t> labelled(const Trace& trace) {
  std::vector<uint64_t> seqs;
  std::set<uint64_t> inside;
  for (auto& m : markers(trace)) {
    if (m.function->api != "vk" || m.kind == Marker::Kind::label || !is_of_a_frame(m.text)) continue;
    if (m.function->flags & FLAG_RECORDS)
      inside.insert(m.seq);
    else if (m.ended)
      seqs.push_back(m.end - 1);
  }
  if (!seqs.empty() || inside.empty()) return seqs;
  const vulkan::Work work(trace, false, false);
  for (auto& s : work.submits)
    for (auto& recording : s.recordings)
      if (recording && !s.failed && std::any_of(recording->calls.begin(), recording->calls.end(), [&](uint32_t index) {
            return inside.count(work.calls[index].seq) != 0;
          }))
        seqs.push_back(work.calls[s.call].seq);
  seqs.erase(std::unique(seqs.begin(), seqs.end()), seqs.end());
  return seqs;
}

// The waits behind a submit: a program may wait for nothing, and ask again and again.
std::vector<uint64_t> behind_submits(std::vector<uint64_t> waits, const std::vector<uint64_t>& submits) {
  std::vector<uint64_t> seqs;
  auto submit = submits.begin();
  for (uint64_t wait : waits) {
    const auto next = std::lower_bound(submit, submits.end(), wait);
    if (next != submit) seqs.push_back(wait);
    submit = next;
  }
  return seqs;
}

}  // namespace

void Trace::set_frame_end(const std::string& rule) {
  std::lock_guard lock(frames_mutex_);
  frame_rule_ = rule;
  frames_.reset();
}

std::shared_ptr<const Trace::Frames> Trace::frames() const {
  std::lock_guard lock(frames_mutex_);
  if (frames_) return frames_;
  auto out = std::make_shared<Frames>();
  auto list = [&](auto&& wanted) {
    for (auto& f : signatures.functions)
      if (f.id < DT_FN_FIRST_TAP && wanted(f) && calls_of(f.id)) out->functions.push_back(f.id);
    return !out->functions.empty();
  };
  auto flagged = [&](uint64_t flag) { return list([&](auto& f) { return (f.flags & flag) != 0; }); };
  auto names = [&] {
    std::string text;
    for (auto id : out->functions) text += (text.empty() ? "" : ", ") + signatures.by_id(id)->name;
    return text;
  };
  if (frame_rule_ != "auto") {
    std::string wrapped = "," + frame_rule_ + ",";
    out->rule = frame_rule_;
    out->why = list([&](auto& f) { return wrapped.find("," + f.name + ",") != wrapped.npos; })
                   ? "asked for"
                   : "asked for, but never called";
  } else if (flagged(FLAG_FRAME_END)) {
    out->rule = "frame_end";
    out->why = "the program shows frames with " + names();
  } else if (out->ends = boundaries(*this); !out->ends.empty()) {
    out->rule = "boundary";
    out->why = "the program never presents; its submits say where frames end (VkFrameBoundaryEXT)";
  } else if (out->ends = labelled(*this); !out->ends.empty()) {
    out->rule = "label";
    out->why = "the program never presents; its debug labels name frames";
  } else if (flagged(FLAG_FINISH)) {
    out->rule = "finish";
    out->why = "the program never swaps; it waits for the GPU with " + names();
  } else if (flagged(FLAG_READBACK)) {
    out->rule = "readback";
    out->why = "the program neither swaps nor finishes; it reads pixels back with " + names();
  } else {
    out->rule = "none";
    out->why = "no call ends a frame";
  }
  if (!out->functions.empty()) out->ends = dt::calls_of(*this, out->functions);
  if (out->rule == "finish" && vulkan::Work::is_in(*this)) {
    std::vector<uint16_t> submits;
    for (auto& f : signatures.functions)
      if (f.id < DT_FN_FIRST_TAP && f.flags & FLAG_SUBMITS) submits.push_back(f.id);
    out->ends = behind_submits(std::move(out->ends), dt::calls_of(*this, submits));
  }
  frames_ = out;
  return out;
}

}  // namespace dt
