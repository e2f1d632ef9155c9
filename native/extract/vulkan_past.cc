#include "vulkan_past.h"

#include <algorithm>

#include "bits.h"
#include "vulkan_state.h"

namespace dt::extract {
namespace {

bool starts(std::string_view text, std::string_view with) { return text.starts_with(with); }
bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Work that this file does not follow: memory bound piece by piece, images that the host writes, images given back,
// structures for rays, and commands that the device makes.
constexpr std::string_view NOT_FOLLOWED[] = {
    "BindSparse",    "CopyMemoryToImage",     "CopyImageToImage", "TransitionImageLayout", "ReleaseSwapchainImages",
    "WithTemplate2", "AccelerationStructure", "Micromap",         "GeneratedCommands",     "DescriptorBuffer"};

}  // namespace

VulkanPast::~VulkanPast() = default;

VulkanPast::VulkanPast(const Trace& trace, uint64_t end, uint64_t cut, size_t most_edges)
    : VulkanPast(trace, end, Watch(), cut, most_edges) {}

VulkanPast::VulkanPast(const Trace& trace, uint64_t end, Watch watch, uint64_t cut, size_t most_edges)
    : trace_(trace), end_(std::min(end, trace.calls)), cut_(cut), most_edges_(most_edges), watch_(std::move(watch)) {
  if (trace.calls >= NOBODY / 4) throw Error(DT_E_MEMORY, "the recording has too many calls to be cut");
  nodes_ = static_cast<uint32_t>(trace.calls);
  threads_.resize(trace.calls);
  submits_.resize(trace.calls);
  if (watch_) roles_.resize(trace.calls);
  for (uint32_t kind = 0; kind < KNOWN_KINDS; ++kind) kinds_[VULKAN_KINDS[kind]] = kind;
  auto rows = [&](unsigned id, std::vector<uint64_t>& first) {
    first = trace.tap_rows(id);
    if (first.empty()) return uint64_t{0};
    auto* last = trace.calls_chunks.back().find(id | DT_RECORD_TAP);
    return first.back() + (last ? last->count : 0);
  };
  memory_row_count_ = rows(DT_FN_MEMORY_WRITE, memory_rows_);
  device_row_count_ = rows(DT_FN_DEVICE_WRITE, device_rows_);
  Work work(trace.generation);
  for (size_t g = 0; g < trace.groups.size() && trace.groups[g].base < end_; ++g) work.check(), group(g);
}

// The calls of chunks that overlap in time, in order.
void VulkanPast::group(size_t number) {
  auto& of = trace_.groups[number];
  if (of.chunks.size() > 1) trace_.merge(number);
  struct Place {
    uint64_t seq;
    OpenChunk* chunk;
    uint32_t record;
    bool call;
  };
  std::vector<std::unique_ptr<OpenChunk>> open;
  std::vector<Place> places;
  for (size_t index : of.chunks) {
    auto& chunk = *open.emplace_back(std::make_unique<OpenChunk>(trace_, index));
    auto& order = chunk.order();
    for (uint32_t r = 0; r < order.size(); ++r) {
      const bool call = !chunk.info.functions[order[r]].tap();
      const uint32_t n = chunk.plain() ? r : chunk.record_calls()[r];
      places.push_back(
          {n < chunk.info.meta.calls ? trace_.seq_of(index, n) : trace_.seq_after(index), &chunk, r, call});
    }
  }
  std::stable_sort(places.begin(), places.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  for (auto& place : places) {
    if (place.seq >= end_ && place.call) continue;
    auto& chunk = *place.chunk;
    if (!place.call) {
      tap_record(chunk, place.record, place.seq);
      continue;
    }
    const FunctionColumns& columns = chunk.columns(chunk.order()[place.record]);
    if (!columns.function) continue;
    VulkanCall call(trace_, columns, chunk.ordinals()[place.record], place.seq, chunk.info.thread);
    take(call);
    if (edges_.size() > most_edges_ && place.seq < cut_) forget();
  }
}

// Bytes that were stored in mapped memory.
void VulkanPast::tap_record(OpenChunk& chunk, uint32_t record, uint64_t before) {
  const uint16_t f = chunk.order()[record];
  const unsigned id = chunk.info.functions[f].id();
  const bool device = id == DT_FN_DEVICE_WRITE;
  if (!device && id != DT_FN_MEMORY_WRITE) return;
  const FunctionColumns& columns = chunk.columns(f);
  const uint32_t i = chunk.ordinals()[record];
  uint64_t handle = 0, offset = 0, bytes = 0;
  if (!columns.function) return;
  for (auto& p : columns.function->params) {
    if (p.name == "memory") handle = columns.raw(p, i);
    if (p.name == "offset") offset = columns.raw(p, i);
    if (p.has_data()) bytes = DT_DATA_LENGTH(columns.descriptor(p, i));
  }
  Object* memory = find(OF_MEMORY, handle);
  Row row{
      memory, (device ? device_rows_ : memory_rows_)[chunk.index] + i, before, chunk.info.thread, device, offset, bytes,
      {}};
  if (memory && device)
    for (Object* bound : state<Memory>(*memory).bound) {
      auto& r = state<Resource>(*bound);
      const bool behind = r.bytes != NO_SIZE && r.offset + r.bytes <= offset;
      if (bound->alive && r.content != NOBODY && !behind && r.offset < offset + bytes)
        row.stored.emplace_back(bound, r.content);
    }
  rows_.push_back(std::move(row));
}

void VulkanPast::take(VulkanCall& call) {
  const Function& f = call.function();
  threads_[call.seq()] = call.thread();
  submits_[call.seq()] = f.flags & FLAG_SUBMITS;
  if (f.api != "vk") return others_.push_back(call.node());
  if (watch_) watch_(call);
  if (!whole_because_.empty()) return;  // all of it is kept
  auto known = chosen_.find(&f);
  if (known == chosen_.end()) known = chosen_.emplace(&f, choose(f)).first;
  if (watch_) roles_[call.seq()] = role_of(call, known->second);
  if (watch_ && !call.failed()) answers(call, known->second);
  refer(call);
  if (!call.failed()) (this->*known->second)(call);
}

VulkanPast::Does VulkanPast::choose(const Function& f) const {
  const std::string_view name = vulkan::plain_name(f.name);
  if (f.flags & FLAG_LOOKUP) return &VulkanPast::asks;
  for (std::string_view part : NOT_FOLLOWED)
    if (has(name, part) && !starts(name, "vkGet")) return &VulkanPast::keeps_all;
  if (f.flags & FLAG_RECORDS) return &VulkanPast::command;
  if (Does does = choose_queue(name)) return does;
  return choose_object(name, f);
}

VulkanPast::Does VulkanPast::choose_queue(std::string_view name) const {
  static const std::map<std::string_view, Does> handlers = {
      {"vkBeginCommandBuffer", &VulkanPast::begins},
      {"vkEndCommandBuffer", &VulkanPast::command},
      {"vkResetCommandBuffer", &VulkanPast::resets_buffer},
      {"vkResetCommandPool", &VulkanPast::resets_buffers},
      {"vkQueueSubmit", &VulkanPast::submits},
      {"vkQueueSubmit2", &VulkanPast::submits},
      {"vkQueuePresent", &VulkanPast::presents},
      {"vkAcquireNextImage", &VulkanPast::acquires},
      {"vkAcquireNextImage2", &VulkanPast::acquires},
      {"vkWaitForFences", &VulkanPast::waits_fences},
      {"vkGetFenceStatus", &VulkanPast::asks_fence},
      {"vkResetFences", &VulkanPast::resets_fences},
      {"vkWaitSemaphores", &VulkanPast::waits_semaphores},
      {"vkGetSemaphoreCounterValue", &VulkanPast::asks_counter},
      {"vkSignalSemaphore", &VulkanPast::signals_semaphore},
      {"vkQueueWaitIdle", &VulkanPast::waits_idle},
      {"vkDeviceWaitIdle", &VulkanPast::waits_idle},
      {"vkSetEvent", &VulkanPast::sets_event},
      {"vkResetEvent", &VulkanPast::sets_event},
      {"vkGetEventStatus", &VulkanPast::asks_event},
      {"vkResetQueryPool", &VulkanPast::resets_queries},
      {"vkGetQueryPoolResults", &VulkanPast::asks_queries},
      {"vkUpdateDescriptorSets", &VulkanPast::updates},
      {"vkUpdateDescriptorSetWithTemplate", &VulkanPast::updates_by_template},
      {"vkQueueBeginDebugUtilsLabel", &VulkanPast::label_begins},
      {"vkQueueEndDebugUtilsLabel", &VulkanPast::label_ends},
      {"vkQueueInsertDebugUtilsLabel", &VulkanPast::asks},
  };
  auto it = handlers.find(name);
  return it == handlers.end() ? nullptr : it->second;
}

VulkanPast::Does VulkanPast::choose_object(std::string_view name, const Function& f) const {
  if (f.flags & FLAG_MAP) return &VulkanPast::maps;
  if (name == "vkUnmapMemory" || name == "vkUnmapMemory2") return &VulkanPast::unmaps;
  if (f.flags & FLAG_MEMORY_BIND) return &VulkanPast::binds;
  if (f.flags & FLAG_MEMORY_QUERY && !f.params.empty() && f.params[0].object_class == "VkDevice")
    return &VulkanPast::requirements;
  if (f.flags & FLAG_LABEL) return &VulkanPast::names;
  if (name == "vkResetDescriptorPool") return &VulkanPast::resets_sets;
  if (f.flags & FLAG_DELETE) return &VulkanPast::ends;
  for (auto& p : f.params)
    if (p.has_data() && p.out && starts(p.object_class, "Vk")) return &VulkanPast::makes;
  const std::string_view first = f.params.empty() ? std::string_view() : std::string_view(f.params[0].object_class);
  const bool question = starts(name, "vkGet") || starts(name, "vkEnumerate");
  if (question && has(name, "BufferDeviceAddress")) return &VulkanPast::attaches;
  if (question && has(name, "Surface")) return &VulkanPast::asks;
  if (question && (first == "VkInstance" || first == "VkPhysicalDevice" || first.empty()))
    return &VulkanPast::asks_of_instance;
  if (question) return &VulkanPast::asks;
  return &VulkanPast::attaches;
}

// ---- what is kept ------------------------------------------------------------------------------------------

std::vector<bool> VulkanPast::reach(const std::vector<uint32_t>& roots) {
  if (starts_.empty()) {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    starts_.assign(nodes_ + 1, 0);
    for (auto& [from, to] : edges_) ++starts_[from + 1];
    for (uint32_t n = 0; n < nodes_; ++n) starts_[n + 1] += starts_[n];
  }
  std::vector<bool> seen(nodes_);
  std::vector<uint32_t> open;
  auto visit = [&](uint32_t node) {
    if (!seen[node]) seen[node] = true, open.push_back(node);
  };
  for (uint32_t root : roots) visit(root);
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    for (size_t e = starts_[node]; e < starts_[node + 1]; ++e) visit(edges_[e].second);
  }
  return seen;
}

// The nodes that must be kept because of the bytes that are written again. `seen`: the nodes kept so far.
bool VulkanPast::more_roots(const std::vector<bool>& seen, uint64_t cut, std::vector<uint32_t>& roots) const {
  const size_t before = roots.size();
  const auto over = written_over(seen);
  std::vector<std::vector<uint64_t>> kept(trace_.threads.size());  // by thread
  std::vector<uint64_t> works;                                     // of all threads: what hands work to a queue
  for (uint64_t seq = 0; seq < end_; ++seq)
    if (seen[seq]) {
      kept[threads_[seq]].push_back(seq);
      if (submits_[seq]) works.push_back(seq);
    }
  for (size_t i = 0; i < rows_.size(); ++i) {
    auto& row = rows_[i];
    if (over[i] || !row.memory || !seen[row.memory->node]) continue;
    // The player takes these bytes where no work stored them: all that stored there is kept, or nothing.
    for (auto& [resource, by] : row.stored)
      if (seen[resource->node] && !seen[by]) roots.push_back(by);
    if (row.before >= end_ || row.before >= cut || seen[row.before]) continue;
    // Written before its thread's next call that is kept: there is one, and no work of another thread in between.
    auto& own = kept[row.thread];
    const auto next = std::lower_bound(own.begin(), own.end(), row.before);
    const auto work = std::lower_bound(works.begin(), works.end(), row.before);
    if (next == own.end() || (work != works.end() && *work < *next)) roots.push_back(static_cast<uint32_t>(row.before));
  }
  return roots.size() > before;
}

// Rows whose bytes the program wrote anew before any work that is kept could read them.
std::vector<bool> VulkanPast::written_over(const std::vector<bool>& seen) const {
  std::vector<uint64_t> works;
  for (uint64_t seq = 0; seq < end_; ++seq)
    if (seen[seq] && submits_[seq]) works.push_back(seq);
  std::vector<bool> over(rows_.size());
  std::unordered_map<const Object*, std::map<uint64_t, uint64_t>> later;  // ranges: their beginnings and ends
  size_t behind = works.size();
  for (size_t i = rows_.size(); i-- > 0;) {
    auto& row = rows_[i];
    for (; behind && works[behind - 1] >= row.before; --behind) later.clear();
    if (row.device || !row.memory || !row.bytes) continue;
    auto& ranges = later[row.memory];
    const uint64_t end = row.offset + row.bytes;
    auto from = ranges.upper_bound(row.offset);
    if (from != ranges.begin() && std::prev(from)->second >= row.offset) --from;
    if (from != ranges.end() && from->first <= row.offset && from->second >= end) {
      over[i] = true;
      continue;
    }
    uint64_t first = row.offset, last = end;
    while (from != ranges.end() && from->first <= end) {
      first = std::min(first, from->first), last = std::max(last, from->second);
      from = ranges.erase(from);
    }
    ranges[first] = last;
  }
  return over;
}

VulkanPast::Kept VulkanPast::everything() const {
  Kept all;
  all.calls.assign(trace_.calls / 8 + 1, 0);
  for (uint64_t seq = 0; seq < end_; ++seq) put(all.calls.data(), seq);
  all.memory_writes.assign(memory_row_count_ / 8 + 1, 0xff);
  all.device_writes.assign(device_row_count_ / 8 + 1, 0xff);
  return all;
}

VulkanPast::Kept VulkanPast::close(std::vector<uint32_t> roots, uint64_t cut, std::vector<bool>* reached) {
  if (!whole_because_.empty()) return everything();
  roots.insert(roots.end(), always_.begin(), always_.end());
  for (auto& span : labels_)
    if (span.begin < cut && span.end >= cut) roots.push_back(span.begin);
  std::vector<bool> seen;
  do {
    seen = reach(roots);
    for (auto& span : mapped_)
      if (seen[span.of->node] && span.begin < cut && span.end >= cut && !seen[span.begin]) roots.push_back(span.begin);
  } while (more_roots(seen, cut, roots) || !std::all_of(roots.begin(), roots.end(), [&](auto r) { return seen[r]; }));
  Kept kept;
  kept.calls.assign(trace_.calls / 8 + 1, 0);
  kept.memory_writes.assign(memory_row_count_ / 8 + 1, 0);
  kept.device_writes.assign(device_row_count_ / 8 + 1, 0);
  for (uint64_t seq = 0; seq < end_; ++seq)
    if (seen[seq]) put(kept.calls.data(), seq);
  const auto over = written_over(seen);  // as seen by more_roots
  for (size_t i = 0; i < rows_.size(); ++i)
    if (auto& row = rows_[i]; !over[i] && (!row.memory || seen[row.memory->node]))
      put((row.device ? kept.device_writes : kept.memory_writes).data(), row.row);
  if (reached) *reached = std::move(seen);
  return kept;
}

VulkanPast::Kept VulkanPast::from(uint64_t cut) {
  // Behind the last call these bytes would reach work that still runs.
  if (end_ < trace_.calls) std::erase_if(rows_, [&](auto& row) { return row.before >= end_; });
  std::vector<uint32_t> roots = others_;
  for (uint64_t seq = cut; seq < end_; ++seq) roots.push_back(static_cast<uint32_t>(seq));
  return close(std::move(roots), cut);
}

VulkanPast::Kept VulkanPast::alive() {
  auto roots = living();
  starts_.clear();
  return close(std::move(roots), end_);
}

// The nodes of all objects that exist, and of what is in them.
std::vector<uint32_t> VulkanPast::living() {
  std::vector<uint32_t> roots;
  auto root = [&](uint32_t node) {
    if (node != NOBODY) roots.push_back(node);
  };
  for (Object& o : objects_) {
    if (!o.alive) continue;
    root(o.node);
    switch (o.kind) {
      case OF_IMAGE:
      case OF_BUFFER:
      case OF_EVENT:
      case OF_QUERY_POOL: root(state<Resource>(o).content), root(state<Resource>(o).layout); break;
      case OF_SET: root(state<Set>(o).whole(*this)); break;
      case OF_COMMAND_BUFFER:
        if (auto& held = state<Buffer>(o).recording) root(held->node);
        break;
      case OF_FENCE: root(state<Fence>(o).signaller), root(state<Fence>(o).reset); break;
      case OF_SEMAPHORE: {
        auto& semaphore = state<Semaphore>(o);
        root(semaphore.pending);
        if (!semaphore.signals.empty()) root(semaphore.signals.back().by);
        for (auto& [value, by] : semaphore.waiting) root(by);
        break;
      }
      case OF_SWAPCHAIN:
        for (auto& [index, by] : state<Chain>(o).acquired) root(by);
        break;
      default: break;
    }
  }
  return roots;
}

// New edges lead to new nodes or to nodes that the state at this call has. So edges from nodes that the state does not
// lead to go, and rows of memory that is gone.
void VulkanPast::forget() {
  auto roots = living();
  auto root = [&](uint32_t node) {
    if (node != NOBODY) roots.push_back(node);
  };
  for (Object& o : objects_) {
    if (!o.alive) continue;
    // Resources that ended may have left something in the same memory.
    if (o.kind == OF_IMAGE || o.kind == OF_BUFFER)
      for (Object* other : state<Resource>(o).aliases) root(state<Resource>(*other).content);
    if (o.kind == OF_MEMORY)
      for (Object* other : state<Memory>(o).bound) root(state<Resource>(*other).content);
    if (o.kind == OF_SEMAPHORE)
      for (auto& signal : state<Semaphore>(o).signals) root(signal.by);
  }
  roots.insert(roots.end(), always_.begin(), always_.end());
  roots.insert(roots.end(), others_.begin(), others_.end());
  for (auto* spans : {&mapped_, &labels_})
    for (auto& span : *spans)
      if (span.end == NOBODY) root(span.begin);
  std::vector<bool> seen, gone;
  for (size_t known = roots.size() + 1; known != roots.size();) {
    known = roots.size();
    starts_.clear();
    seen = reach(roots), gone = written_over(seen);
    for (size_t i = 0; i < rows_.size(); ++i) {
      auto& row = rows_[i];
      gone[i] = gone[i] || (row.memory && !row.memory->alive && !seen[row.memory->node]);
      if (gone[i]) continue;
      if (row.before < end_ && !seen[row.before]) root(static_cast<uint32_t>(row.before));
      for (auto& [resource, by] : row.stored)
        if (!seen[by]) root(by);
    }
  }
  starts_.clear();
  std::erase_if(edges_, [&](auto& edge) { return !seen[edge.first]; });
  size_t at = 0;
  std::erase_if(rows_, [&](auto&) { return gone[at++]; });
  most_edges_ = std::max(most_edges_, 2 * edges_.size());
}

}  // namespace dt::extract
