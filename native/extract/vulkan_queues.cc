// Work that is handed to queues, what it waits for, and who waits for it.
#include <algorithm>

#include "vulkan_past.h"
#include "vulkan_state.h"

namespace dt::extract {
namespace {

using vulkan::Node;

}  // namespace

void VulkanPast::submits(VulkanCall& call) {
  Object* queue = find(OF_QUEUE, call.value("queue"));
  for (auto& one : call.trees("pSubmits")) batch(call, one, queue);
  for (Object* buffer : addressed_) apply(call.node(), *buffer, Access::stores);
  if (call.value("fence")) signal_fence(call.node(), call.value("fence"), queue);
  if (queue) state<Queue>(*queue).unwaited.push_back(call.node());
}

void VulkanPast::batch(VulkanCall& call, const Node& one, Object* queue) {
  const Node timeline = one.chained("VkTimelineSemaphoreSubmitInfo");
  auto value = [](const std::vector<uint64_t>& values, size_t i) { return i < values.size() ? values[i] : 0; };
  const auto waits = one.values("pWaitSemaphores"), wait_values = timeline.values("pWaitSemaphoreValues");
  for (size_t i = 0; i < waits.size(); ++i) wait(call.node(), waits[i], value(wait_values, i));
  for (auto& info : one.each("pWaitSemaphoreInfos")) wait(call.node(), info.value("semaphore"), info.value("value"));
  for (uint64_t buffer : one.values("pCommandBuffers")) run(call, buffer);
  for (auto& info : one.each("pCommandBufferInfos")) run(call, info.value("commandBuffer"));
  const auto signals = one.values("pSignalSemaphores"), values = timeline.values("pSignalSemaphoreValues");
  for (size_t i = 0; i < signals.size(); ++i) signal(call.node(), signals[i], value(values, i), queue);
  for (auto& info : one.each("pSignalSemaphoreInfos"))
    signal(call.node(), info.value("semaphore"), info.value("value"), queue);
}

void VulkanPast::run(VulkanCall& call, uint64_t command_buffer) {
  Object* buffer = find(OF_COMMAND_BUFFER, command_buffer);
  if (!buffer) return;
  const std::shared_ptr<Recording> held = state<Buffer>(*buffer).recording;
  if (!held) return;
  edge(call.node(), held->node);
  for (const Access& access : held->accesses) apply(call.node(), *access.object, access.flags);
}

// ---- windows -----------------------------------------------------------------------------------------------

void VulkanPast::acquires(VulkanCall& call) {
  constexpr int32_t SUCCESS = 0, SUBOPTIMAL = 1000001003;
  if (call.result() != SUCCESS && call.result() != SUBOPTIMAL) return;
  const Node info = call.info();
  auto given = [&](std::string_view name) { return info ? info.value(name) : call.value(name); };
  if (Object* chain = find(OF_SWAPCHAIN, given("swapchain")))
    state<Chain>(*chain).acquired[call.image_index()] = call.node();
  if (const uint64_t semaphore = given("semaphore")) signal(call.node(), semaphore, 0, nullptr);
  if (const uint64_t fence = given("fence")) signal_fence(call.node(), fence, nullptr);
}

// An image is shown that was acquired, as it is.
void VulkanPast::presents(VulkanCall& call) {
  const Node info = call.info();
  for (uint64_t semaphore : info.values("pWaitSemaphores")) wait(call.node(), semaphore, 0);
  const auto chains = info.values("pSwapchains"), indices = info.values("pImageIndices");
  for (size_t i = 0; i < chains.size() && i < indices.size(); ++i) {
    Object* object = find(OF_SWAPCHAIN, chains[i]);
    if (!object) continue;
    auto& chain = state<Chain>(*object);
    const auto index = static_cast<uint32_t>(indices[i]);
    if (auto from = chain.acquired.find(index); from != chain.acquired.end()) {
      together(call.node(), from->second);
      chain.acquired.erase(from);
    }
    if (index < chain.images.size() && chain.images[index]) apply(call.node(), *chain.images[index], Access::reads);
  }
  for (const char* type : {"VkSwapchainPresentFenceInfoKHR", "VkSwapchainPresentFenceInfoEXT"})
    for (uint64_t fence : info.chained(type).values("pFences"))
      if (fence) signal_fence(call.node(), fence, nullptr);
}

// ---- fences ------------------------------------------------------------------------------------------------

// A signal of a fence needs the last reset of the fence; a wait for the fence needs the signal, and is kept with it.
void VulkanPast::signal_fence(uint32_t call, uint64_t handle, Object* queue) {
  Fence* fence = state_of<Fence>(OF_FENCE, handle);
  if (!fence) return;
  edge(call, fence->reset);
  fence->signaller = call;
  fence->queue = queue;
}

void VulkanPast::waited(uint32_t call, Object& object, bool alone) {
  auto& fence = state<Fence>(object);
  edge(call, fence.reset);
  if (fence.signaller == NOBODY) return;
  together(call, fence.signaller);
  if (alone) finished(call, fence.queue, fence.signaller);
}

// The program waited for what a queue was given up to `last`: work among that which is kept is waited for as well.
void VulkanPast::finished(uint32_t wait, Object* queue, uint32_t last) {
  if (!queue) return;
  std::erase_if(state<Queue>(*queue).unwaited, [&](uint32_t work) {
    if (work > last) return false;
    edge(work, wait);
    return true;
  });
}

void VulkanPast::waits_fences(VulkanCall& call) {
  if (call.result()) return;
  const auto fences = call.words("pFences");
  const bool alone = fences.size() == 1 || call.value("waitAll");
  for (uint64_t handle : fences)
    if (Object* fence = find(OF_FENCE, handle)) waited(call.node(), *fence, alone);
}

void VulkanPast::asks_fence(VulkanCall& call) {
  Object* fence = find(OF_FENCE, call.value("fence"));
  if (fence && !call.result()) waited(call.node(), *fence, true);
}

void VulkanPast::resets_fences(VulkanCall& call) {
  for (uint64_t handle : call.words("pFences")) {
    Fence* fence = state_of<Fence>(OF_FENCE, handle);
    if (!fence) continue;
    edge(fence->signaller, call.node());
    fence->signaller = NOBODY;
    fence->reset = call.node();
  }
}

// ---- semaphores --------------------------------------------------------------------------------------------

void VulkanPast::signal(uint32_t call, uint64_t handle, uint64_t value, Object* queue) {
  Semaphore* semaphore = state_of<Semaphore>(OF_SEMAPHORE, handle);
  if (!semaphore) return;
  if (!semaphore->timeline) return void(semaphore->pending = call);
  // A value that nobody will ask for any more has the value of a later signal: the last one is enough.
  semaphore->signals.push_back({value, call, queue});
  std::erase_if(semaphore->waiting, [&](auto& one) {
    if (one.first > value) return false;
    edge(one.second, call);
    return true;
  });
}

void VulkanPast::wait(uint32_t call, uint64_t handle, uint64_t value) {
  Semaphore* semaphore = state_of<Semaphore>(OF_SEMAPHORE, handle);
  if (!semaphore) return;
  if (!semaphore->timeline) {
    if (semaphore->pending != NOBODY) together(call, semaphore->pending);
    semaphore->pending = NOBODY;
    return;
  }
  if (value <= semaphore->initial) return;
  auto& signals = semaphore->signals;
  const auto first =
      std::lower_bound(signals.begin(), signals.end(), value, [](auto& s, uint64_t v) { return s.value < v; });
  if (first != signals.end())
    edge(call, first->by);
  else
    semaphore->waiting.emplace_back(value, call);
}

// The program saw a value: what signals it is kept with that, and what came before it.
void VulkanPast::reached(uint32_t call, uint64_t handle, uint64_t value, bool alone) {
  Semaphore* semaphore = state_of<Semaphore>(OF_SEMAPHORE, handle);
  if (!semaphore || !semaphore->timeline || value <= semaphore->initial) return;
  wait(call, handle, value);
  auto& signals = semaphore->signals;
  size_t done = 0;
  for (; done < signals.size() && signals[done].value <= value; ++done) {
    edge(signals[done].by, call);
    if (alone) finished(call, signals[done].queue, signals[done].by);
  }
  if (done < signals.size() && (!done || signals[done - 1].value < value)) edge(signals[done].by, call);
  if (alone && done > 1) signals.erase(signals.begin(), signals.begin() + static_cast<long>(done) - 1);
}

void VulkanPast::waits_semaphores(VulkanCall& call) {
  if (call.result()) return;
  const Node info = call.info();
  const auto semaphores = info.values("pSemaphores"), values = info.values("pValues");
  const bool alone = semaphores.size() == 1 || !(info.value("flags") & 1);
  for (size_t i = 0; i < semaphores.size() && i < values.size(); ++i)
    reached(call.node(), semaphores[i], values[i], alone);
}

void VulkanPast::asks_counter(VulkanCall& call) {
  const auto values = call.words("pValue");
  if (!values.empty()) reached(call.node(), call.value("semaphore"), values[0], true);
}

void VulkanPast::signals_semaphore(VulkanCall& call) {
  const Node info = call.info();
  signal(call.node(), info.value("semaphore"), info.value("value"), nullptr);
}

void VulkanPast::waits_idle(VulkanCall& call) {
  const Object* device = find(OF_DEVICE, call.value("device"));
  if (Object* queue = find(OF_QUEUE, call.value("queue"))) return finished(call.node(), queue, call.node());
  if (!device) return;
  for (Object* child : device->children)
    if (child->kind == OF_QUEUE && child->alive) finished(call.node(), child, call.node());
}

// ---- events and queries ------------------------------------------------------------------------------------

void VulkanPast::sets_event(VulkanCall& call) {
  if (Object* event = find(OF_EVENT, call.value("event"))) apply(call.node(), *event, Access::stores);
}

void VulkanPast::asks_event(VulkanCall& call) {
  constexpr int32_t SET = 3;
  Object* event = find(OF_EVENT, call.value("event"));
  if (!event || call.result() != SET) return;
  const uint32_t by = state<Resource>(*event).content;
  if (by != NOBODY) together(call.node(), by);
}

void VulkanPast::resets_queries(VulkanCall& call) {
  Object* pool = find(OF_QUERY_POOL, call.value("queryPool"));
  if (!pool) return;
  const bool all = !call.value("firstQuery") && call.value("queryCount") >= state<Resource>(*pool).queries;
  apply(call.node(), *pool, all ? Access::writes_content : Access::stores);
}

void VulkanPast::asks_queries(VulkanCall& call) {
  Object* pool = find(OF_QUERY_POOL, call.value("queryPool"));
  if (pool) edge(call.node(), state<Resource>(*pool).content);
}

}  // namespace dt::extract
