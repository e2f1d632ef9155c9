// Facts; objects, memory, what is handed to queues and what waits for it.
#include "vulkan_check.h"

#include <algorithm>

#include "../core/calls.h"

namespace dt::edit {

using vulkan::Node;
using vulkan::VulkanCall;

namespace {

constexpr uint64_t ALL_BINDINGS = UINT32_MAX;  // of a template
constexpr uint64_t SUBOPTIMAL = 1000001003;

bool is_question(std::string_view name) { return name.starts_with("vkGet") || name.starts_with("vkEnumerate"); }

uint64_t at(const std::vector<uint64_t>& values, size_t i) { return i < values.size() ? values[i] : 0; }

}  // namespace

// ---- facts -------------------------------------------------------------------------------------------------

std::string VulkanChecker::hex(uint64_t handle) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(handle));
  return text;
}

void VulkanChecker::set(Fact& f) {
  f.recorded = true;
  if (kept_)
    f.kept = true, f.setter = seq_, f.said = false;
  else if (!f.kept)
    f.cause = seq_, f.by = function_, f.said = false;
}

void VulkanChecker::clear(Fact& f) {
  f.recorded = false;
  if (kept_)
    f.kept = false, f.by = nullptr;
  else if (f.kept)
    f.cause = seq_, f.by = function_, f.said = false;
}

void VulkanChecker::lack(Fact& f, uint64_t goes, std::string text) {
  if (f.said && !every_) return;
  f.said = true;
  say_({seq_, *function_, f.cause, *f.by, goes, std::move(text)});
  if (!every_) return;
  if (goes == seq_)
    kept_ = false;
  else
    f.kept = false;
}

VulkanChecker::Does VulkanChecker::choose(std::string_view name, const Function& f) {
  static const std::map<std::string_view, Does> known = {
      {"vkBeginCommandBuffer", &VulkanChecker::begins},
      {"vkEndCommandBuffer", &VulkanChecker::finishes},
      {"vkResetCommandBuffer", &VulkanChecker::resets_buffer},
      {"vkResetCommandPool", &VulkanChecker::resets_pool},
      {"vkQueueSubmit", &VulkanChecker::submits},
      {"vkQueueSubmit2", &VulkanChecker::submits},
      {"vkQueueBindSparse", &VulkanChecker::submits},
      {"vkQueuePresent", &VulkanChecker::presents},
      {"vkAcquireNextImage", &VulkanChecker::acquires},
      {"vkAcquireNextImage2", &VulkanChecker::acquires},
      {"vkWaitForFences", &VulkanChecker::waits_fences},
      {"vkGetFenceStatus", &VulkanChecker::asks_fence},
      {"vkResetFences", &VulkanChecker::resets_fences},
      {"vkWaitSemaphores", &VulkanChecker::waits_semaphores},
      {"vkSignalSemaphore", &VulkanChecker::signals_semaphore},
      {"vkSetEvent", &VulkanChecker::sets_event},
      {"vkResetEvent", &VulkanChecker::resets_event},
      {"vkResetQueryPool", &VulkanChecker::resets_queries},
      {"vkGetQueryPoolResults", &VulkanChecker::asks_queries},
      {"vkUpdateDescriptorSets", &VulkanChecker::updates},
      {"vkUpdateDescriptorSetWithTemplate", &VulkanChecker::updates_by_template},
      {"vkUnmapMemory", &VulkanChecker::unmaps},
      {"vkUnmapMemory2", &VulkanChecker::unmaps},
      {"vkFlushMappedMemoryRanges", &VulkanChecker::flushes},
      {"vkInvalidateMappedMemoryRanges", &VulkanChecker::flushes},
      {"vkQueueBeginDebugUtilsLabel", &VulkanChecker::begins_label},
      {"vkQueueEndDebugUtilsLabel", &VulkanChecker::ends_label},
  };
  auto it = known.find(name);
  if (it != known.end()) return it->second;
  if (f.flags & FLAG_MAP) return &VulkanChecker::maps;
  if (f.flags & FLAG_MEMORY_BIND) return &VulkanChecker::binds;
  return f.flags & FLAG_RECORDS ? choose_command(name, f) : nullptr;
}

const VulkanChecker::Rule& VulkanChecker::rule_of(const Function& f) {
  auto it = rules_.find(&f);
  if (it != rules_.end()) return it->second;
  const std::string_view name = vulkan::plain_name(f.name);
  Rule& rule = rules_[&f];
  rule.does = choose(name, f);
  rule.records = f.flags & FLAG_RECORDS;
  rule.ends = f.flags & FLAG_DELETE && name != "vkResetDescriptorPool" && !(f.flags & FLAG_RESET);
  rule.uses_memory = !rule.ends && !is_question(name) && !(f.flags & FLAG_MEMORY_BIND);
  for (auto& p : f.params) rule.makes |= p.has_data() && p.out && p.object_class.starts_with("Vk");
  for (std::string_view part : {"Copy", "Blit", "Resolve", "FillBuffer", "UpdateBuffer", "ClearColorImage", "Dispatch",
                                "ClearDepthStencilImage", "ResetQueryPool", "TraceRays", "SetEvent", "ResetEvent"})
    rule.outside |= rule.records && name.substr(5).starts_with(part);
  if (rule.records && name.starts_with("vkCmdSet") && !name.starts_with("vkCmdSetEvent")) {
    std::string state(name.substr(8));
    if (state.ends_with('2')) state.pop_back();
    for (char& c : state) c = static_cast<char>(toupper(c));
    rule.dynamic = name_of(state);
  }
  return rule;
}

void VulkanChecker::call(VulkanCall& call, bool kept) {
  const Function& f = call.function();
  seq_ = call.seq(), function_ = &f, kept_ = kept;
  const Rule& rule = rule_of(f);
  objects(call, rule);
  if (call.failed()) return;
  if (rule.records) {
    const uint64_t handle = call.value("commandBuffer");
    need(fact(RECORDING, handle), [&] { return "VkCommandBuffer " + hex(handle) + " is not begun"; });
    Buffer& into = buffer(call);
    if (rule.outside) need_end(into.facts[{PASS, 0, 0}], [] { return "it stands in a render pass that is not ended"; });
    if (rule.dynamic) set(into.facts[{DYNAMIC, rule.dynamic, 0}]);
  }
  if (rule.does) (this->*rule.does)(call);
  if (rule.makes) makes(call);
  if (rule.ends) ends(call);
}

// ---- objects -----------------------------------------------------------------------------------------------

void VulkanChecker::objects(VulkanCall& call, const Rule& rule) {
  call.each_handle([&](std::string_view kind, uint64_t handle, std::string_view) {
    auto say = [&](const char* what) { return std::string(kind) + " " + hex(handle) + what; };
    need(fact(OBJECT, handle, name_of(kind)), [&] { return say(" is not made"); });
    if (rule.uses_memory && (kind == "VkBuffer" || kind == "VkImage"))
      need(fact(MEMORY, handle), [&] { return say(" has no memory"); });
  });
}

void VulkanChecker::makes(VulkanCall& call) {
  for (auto& p : call.function().params) {
    if (!p.has_data() || !p.out || !p.object_class.starts_with("Vk")) continue;
    for (uint64_t handle : call.words(p.name))
      if (handle) set(fact(OBJECT, handle, name_of(p.object_class)));
    describe(call, p);
  }
}

// The facts of a new object.
void VulkanChecker::describe(VulkanCall& call, const Field& made) {
  const std::string_view kind = made.object_class;
  const auto handles = call.words(made.name);
  if (kind == "VkBuffer" || kind == "VkImage") {
    const bool shown = call.name().starts_with("vkGetSwapchainImages");  // these have memory
    for (uint64_t handle : handles) shown ? set(fact(MEMORY, handle)) : clear(fact(MEMORY, handle));
  } else if (kind == "VkFence" || kind == "VkEvent") {
    const bool signalled = kind == "VkFence" && call.info().value("flags") & 1;
    for (uint64_t handle : handles) {
      Fact& f = fact(kind == "VkFence" ? FENCE : EVENT, handle);
      signalled ? set(f) : clear(f);
    }
  } else if (kind == "VkSemaphore") {
    const Node type = call.info().chained("VkSemaphoreTypeCreateInfo");
    for (uint64_t handle : handles) {
      clear(fact(SEMAPHORE, handle));
      timelines_.erase(handle);
      const uint64_t first = type.value("initialValue");
      if (type.value("semaphoreType") == 1) timelines_[handle] = {first, first, {}};
    }
  } else if (kind == "VkCommandBuffer") {
    for (uint64_t handle : handles) {
      buffers_[handle] = {};
      buffers_[handle].pool = call.info().value("commandPool");
      clear(fact(RECORDING, handle)), clear(fact(EXECUTABLE, handle));
    }
  } else if (kind == "VkDescriptorSet") {
    for (uint64_t handle : handles)
      for (uint64_t binding : bindings_[handle]) clear(fact(WRITTEN, handle, binding));
  } else if (kind == "VkPipelineLayout") {
    const Node info = call.info();
    for (uint64_t handle : handles)
      layouts_[handle] = {info.value("setLayoutCount"), info.value("pushConstantRangeCount") != 0};
  } else if (kind == "VkPipeline") {
    const auto infos = call.infos();
    for (size_t i = 0; i < std::min(handles.size(), infos.size()); ++i) describe_pipeline(infos[i], handles[i]);
  }
}

void VulkanChecker::ends(VulkanCall& call) {
  const Field* last = nullptr;
  for (auto& p : call.function().params)
    if (p.object_class.starts_with("Vk")) last = &p;
  if (!last) return;
  auto gone = [&](uint64_t handle) {
    clear(fact(OBJECT, handle, name_of(last->object_class)));
    if (last->object_class == "VkDeviceMemory") clear(fact(MAPPED, handle));
  };
  if (!last->has_data()) return gone(call.value(*last));
  for (uint64_t handle : call.words(last->name)) gone(handle);
}

void VulkanChecker::binds(VulkanCall& call) {
  auto bound = [&](uint64_t handle) {
    if (handle) set(fact(MEMORY, handle));
  };
  bound(call.value("buffer")), bound(call.value("image"));
  for (auto& info : call.infos()) bound(info.value("buffer")), bound(info.value("image"));
}

void VulkanChecker::maps(VulkanCall& call) {
  const uint64_t memory = call.value("memory");
  set(fact(MAPPED, memory ? memory : call.info().value("memory")));
}

void VulkanChecker::unmaps(VulkanCall& call) {
  const uint64_t direct = call.value("memory"), memory = direct ? direct : call.info().value("memory");
  Fact& f = fact(MAPPED, memory);
  need(f, [&] { return "VkDeviceMemory " + hex(memory) + " is not mapped"; });
  clear(f);
}

void VulkanChecker::flushes(VulkanCall& call) {
  for (auto& range : call.infos()) {
    const uint64_t memory = range.value("memory");
    need(fact(MAPPED, memory), [&] { return "VkDeviceMemory " + hex(memory) + " is not mapped"; });
  }
}

void VulkanChecker::written(uint64_t of, uint64_t binding) {
  auto& known = bindings_[of];
  if (std::find(known.begin(), known.end(), binding) == known.end()) known.push_back(binding);
  set(fact(WRITTEN, of, binding));
}

void VulkanChecker::updates(VulkanCall& call) {
  for (std::string_view list : {"pDescriptorWrites", "pDescriptorCopies"})
    for (auto& one : call.trees(list)) written(one.value("dstSet"), one.value("dstBinding"));
}

void VulkanChecker::updates_by_template(VulkanCall& call) { written(call.value("descriptorSet"), ALL_BINDINGS); }

// ---- queues ------------------------------------------------------------------------------------------------

void VulkanChecker::submits(VulkanCall& call) {
  for (std::string_view list : {"pSubmits", "pBindInfo"})
    for (auto& one : call.trees(list)) batch(one);
  signal_fence(call.value("fence"));
}

void VulkanChecker::batch(const Node& one) {
  const Node timeline = one.chained("VkTimelineSemaphoreSubmitInfo");
  const auto waits = one.values("pWaitSemaphores"), wait_values = timeline.values("pWaitSemaphoreValues");
  for (size_t i = 0; i < waits.size(); ++i) wait(waits[i], at(wait_values, i));
  for (auto& info : one.each("pWaitSemaphoreInfos")) wait(info.value("semaphore"), info.value("value"));
  for (uint64_t handle : one.values("pCommandBuffers")) runs(handle);
  for (auto& info : one.each("pCommandBufferInfos")) runs(info.value("commandBuffer"));
  const auto signals = one.values("pSignalSemaphores"), values = timeline.values("pSignalSemaphoreValues");
  for (size_t i = 0; i < signals.size(); ++i) signal(signals[i], at(values, i));
  for (auto& info : one.each("pSignalSemaphoreInfos")) signal(info.value("semaphore"), info.value("value"));
}

void VulkanChecker::runs(uint64_t handle) {
  Fact& f = fact(EXECUTABLE, handle);
  need(f, [&] { return "VkCommandBuffer " + hex(handle) + " is not recorded"; });
  const Buffer& of = buffers_[handle];
  if (of.once) f.recorded = false;
  if (of.once_kept && kept_) f.kept = false;
}

void VulkanChecker::signal(uint64_t semaphore, uint64_t value) {
  if (auto it = timelines_.find(semaphore); it != timelines_.end()) {
    Timeline& t = it->second;
    t.recorded = std::max(t.recorded, value);
    if (kept_) t.kept = std::max(t.kept, value);
    t.reached.kept &= kept_ || t.kept >= value;
    return set(t.reached);
  }
  Fact& f = fact(SEMAPHORE, semaphore);
  need_end(f, [&] { return "VkSemaphore " + hex(semaphore) + " is signalled already"; });
  set(f);
}

void VulkanChecker::wait(uint64_t semaphore, uint64_t value) {
  if (auto it = timelines_.find(semaphore); it != timelines_.end()) {
    Timeline& t = it->second;
    t.reached.recorded = t.recorded >= value, t.reached.kept = t.kept >= value;
    return need(t.reached,
                [&] { return "VkSemaphore " + hex(semaphore) + " does not reach " + std::to_string(value); });
  }
  Fact& f = fact(SEMAPHORE, semaphore);
  need(f, [&] { return "VkSemaphore " + hex(semaphore) + " is not signalled"; });
  clear(f);
}

void VulkanChecker::signal_fence(uint64_t fence) {
  if (!fence) return;
  Fact& f = fact(FENCE, fence);
  need_end(f, [&] { return "VkFence " + hex(fence) + " is signalled already"; });
  set(f);
}

void VulkanChecker::presents(VulkanCall& call) {
  const Node info = call.info();
  for (uint64_t semaphore : info.values("pWaitSemaphores")) wait(semaphore, 0);
  const auto chains = info.values("pSwapchains"), images = info.values("pImageIndices");
  for (size_t i = 0; i < std::min(chains.size(), images.size()); ++i) {
    Fact& f = fact(ACQUIRED, chains[i], images[i]);
    need(f, [&] { return "image " + std::to_string(images[i]) + " of the swapchain is not acquired"; });
    clear(f);
  }
}

void VulkanChecker::acquires(VulkanCall& call) {
  if (call.result() != 0 && call.result() != SUBOPTIMAL) return;
  const Node info = call.info();
  auto given = [&](std::string_view name) { return info ? info.value(name) : call.value(name); };
  set(fact(ACQUIRED, given("swapchain"), call.image_index()));
  if (const uint64_t semaphore = given("semaphore")) signal(semaphore, 0);
  signal_fence(given("fence"));
}

void VulkanChecker::waits_fences(VulkanCall& call) {
  const auto fences = call.words("pFences");
  if (call.result() != 0 || (fences.size() > 1 && !call.value("waitAll"))) return;
  for (uint64_t fence : fences) need(fact(FENCE, fence), [&] { return "VkFence " + hex(fence) + " is not signalled"; });
}

void VulkanChecker::asks_fence(VulkanCall& call) {
  const uint64_t fence = call.value("fence");
  if (call.result() == 0) need(fact(FENCE, fence), [&] { return "VkFence " + hex(fence) + " is not signalled"; });
}

void VulkanChecker::resets_fences(VulkanCall& call) {
  for (uint64_t fence : call.words("pFences")) clear(fact(FENCE, fence));
}

void VulkanChecker::waits_semaphores(VulkanCall& call) {
  const Node info = call.info();
  const auto semaphores = info.values("pSemaphores"), values = info.values("pValues");
  if (call.result() != 0 || (semaphores.size() > 1 && info.value("flags") & 1)) return;
  for (size_t i = 0; i < semaphores.size(); ++i)
    if (timelines_.contains(semaphores[i])) wait(semaphores[i], at(values, i));
}

void VulkanChecker::signals_semaphore(VulkanCall& call) {
  const Node info = call.info();
  signal(info.value("semaphore"), info.value("value"));
}

void VulkanChecker::asks_queries(VulkanCall& call) {
  if (call.result() == 0) query_results(call);  // all of them are there
}

void VulkanChecker::resets_buffer(VulkanCall& call) {
  const uint64_t handle = call.value("commandBuffer");
  clear(fact(RECORDING, handle)), clear(fact(EXECUTABLE, handle));
}

void VulkanChecker::resets_pool(VulkanCall& call) {
  const uint64_t pool = call.value("commandPool");
  for (auto& [handle, of] : buffers_)
    if (of.pool == pool && pool) clear(fact(RECORDING, handle)), clear(fact(EXECUTABLE, handle));
}

// ---- what stays ----------------------------------------------------------------------------------------------

void close_vulkan(const Trace& trace, std::vector<uint8_t>& keep) {
  for (bool again = true; again;) {
    again = false;
    VulkanChecker checker(trace, true, [&](VulkanChecker::Lack lack) {
      keep[lack.goes >> 3] &= static_cast<uint8_t>(~(1u << (lack.goes & 7)));
      again = true;
    });
    Selection all;
    all.end_seq = trace.calls;
    each_call(trace, all, [&](OpenChunk& chunk, uint32_t number, uint64_t seq) {
      const uint32_t r = chunk.record_of(number);
      const FunctionColumns& columns = chunk.columns(chunk.order()[r]);
      if (!columns.function || columns.function->api != "vk") return;
      VulkanCall call(trace, columns, chunk.ordinals()[r], seq, chunk.info.thread);
      checker.call(call, keep[seq >> 3] >> (seq & 7) & 1);
    });
  }
}

}  // namespace dt::edit
