// The needs of commands in the command buffers that they go into.
#include <algorithm>

#include "vulkan_check.h"

namespace dt::edit {

using vulkan::Node;
using vulkan::VulkanCall;

namespace {

constexpr uint64_t MOST_QUERIES = 1 << 16;  // of one call that are followed
constexpr uint64_t ONE_TIME = 1, WAITS = 2, RAY_POINT = 1000165000;

uint64_t point_of(uint64_t value) { return value == RAY_POINT ? 2 : value; }

}  // namespace

VulkanChecker::Does VulkanChecker::choose_command(std::string_view name, const Function& f) {
  static const std::map<std::string_view, Does> known = {
      {"vkCmdNextSubpass", &VulkanChecker::next_subpass},
      {"vkCmdNextSubpass2", &VulkanChecker::next_subpass},
      {"vkCmdBeginQuery", &VulkanChecker::begins_query},
      {"vkCmdBeginQueryIndexed", &VulkanChecker::begins_query},
      {"vkCmdEndQuery", &VulkanChecker::ends_query},
      {"vkCmdEndQueryIndexed", &VulkanChecker::ends_query},
      {"vkCmdWriteTimestamp", &VulkanChecker::writes_query},
      {"vkCmdWriteTimestamp2", &VulkanChecker::writes_query},
      {"vkCmdResetQueryPool", &VulkanChecker::resets_queries},
      {"vkCmdCopyQueryPoolResults", &VulkanChecker::copies_queries},
      {"vkCmdBeginDebugUtilsLabel", &VulkanChecker::begins_label},
      {"vkCmdEndDebugUtilsLabel", &VulkanChecker::ends_label},
      {"vkCmdDebugMarkerBegin", &VulkanChecker::begins_label},
      {"vkCmdDebugMarkerEnd", &VulkanChecker::ends_label},
      {"vkCmdBeginConditionalRendering", &VulkanChecker::opens<CONDITIONAL>},
      {"vkCmdEndConditionalRendering", &VulkanChecker::closes<CONDITIONAL>},
      {"vkCmdBeginTransformFeedback", &VulkanChecker::opens<FEEDBACK>},
      {"vkCmdEndTransformFeedback", &VulkanChecker::closes<FEEDBACK>},
      {"vkCmdBindPipeline", &VulkanChecker::binds_pipeline},
      {"vkCmdBindShaders", &VulkanChecker::binds_shaders},
      {"vkCmdBindIndexBuffer", &VulkanChecker::opens<INDEX>},
      {"vkCmdBindIndexBuffer2", &VulkanChecker::opens<INDEX>},
      {"vkCmdBindVertexBuffers", &VulkanChecker::binds_vertices},
      {"vkCmdBindVertexBuffers2", &VulkanChecker::binds_vertices},
      {"vkCmdBindDescriptorSets", &VulkanChecker::binds_sets},
      {"vkCmdBindDescriptorSets2", &VulkanChecker::binds_sets_2},
      {"vkCmdPushDescriptorSet", &VulkanChecker::pushes_sets},
      {"vkCmdPushDescriptorSet2", &VulkanChecker::pushes_sets},
      {"vkCmdPushDescriptorSetWithTemplate", &VulkanChecker::pushes_sets},
      {"vkCmdPushDescriptorSetWithTemplate2", &VulkanChecker::pushes_sets},
      {"vkCmdPushConstants", &VulkanChecker::opens<PUSHED>},
      {"vkCmdPushConstants2", &VulkanChecker::opens<PUSHED>},
      {"vkCmdClearAttachments", &VulkanChecker::clears_attachments},
      {"vkCmdExecuteCommands", &VulkanChecker::executes},
      {"vkCmdSetEvent", &VulkanChecker::sets_event},
      {"vkCmdSetEvent2", &VulkanChecker::sets_event},
      {"vkCmdResetEvent", &VulkanChecker::resets_event},
      {"vkCmdResetEvent2", &VulkanChecker::resets_event},
      {"vkCmdWaitEvents", &VulkanChecker::waits_events},
      {"vkCmdWaitEvents2", &VulkanChecker::waits_events},
  };
  auto it = known.find(name);
  if (it != known.end()) return it->second;
  if (f.flags & FLAG_PASS_BEGIN) return &VulkanChecker::begins_pass;
  if (f.flags & FLAG_PASS_END) return &VulkanChecker::ends_pass;
  if (f.flags & FLAG_DRAW) return &VulkanChecker::draws;
  if (name.starts_with("vkCmdTraceRays")) return &VulkanChecker::traces_rays;
  if (f.flags & FLAG_DISPATCH) return &VulkanChecker::dispatches;
  return nullptr;
}

uint32_t VulkanChecker::name_of(std::string_view text) {
  auto it = names_.find(text);
  if (it == names_.end()) it = names_.emplace(text, static_cast<uint32_t>(names_.size() + 1)).first;
  return it->second;
}

VulkanChecker::Buffer& VulkanChecker::buffer(VulkanCall& call) {
  const uint64_t handle = call.value("commandBuffer");
  return buffers_[handle ? handle : call.value("queue")];
}

// ---- beginnings and ends -------------------------------------------------------------------------------------

void VulkanChecker::begins(VulkanCall& call) {
  const uint64_t handle = call.value("commandBuffer");
  Fact& open = fact(RECORDING, handle);
  need_end(open, [&] { return "VkCommandBuffer " + hex(handle) + " is not ended before"; });
  Buffer& of = buffer(call);
  const bool once = call.info().value("flags") & ONE_TIME, once_kept = kept_ ? once : of.once_kept;
  Buffer fresh;
  fresh.pool = of.pool, fresh.once = once, fresh.once_kept = once_kept;
  of = std::move(fresh);
  set(open);
  clear(fact(EXECUTABLE, handle));
}

void VulkanChecker::finishes(VulkanCall& call) {
  const uint64_t handle = call.value("commandBuffer");
  Fact& open = fact(RECORDING, handle);
  need(open, [&] { return "VkCommandBuffer " + hex(handle) + " is not begun"; });
  for (auto& [key, f] : buffer(call).facts) {
    if (key.kind == PASS) need_end(f, [] { return "a render pass is not ended"; });
    if (key.kind == QUERY)
      need_end(f, [&] { return "query " + std::to_string(key.b) + " of VkQueryPool " + hex(key.a) + " is not ended"; });
    if (key.kind == CONDITIONAL) need_end(f, [] { return "conditional rendering is not ended"; });
    if (key.kind == FEEDBACK) need_end(f, [] { return "transform feedback is not ended"; });
  }
  clear(open);
  set(fact(EXECUTABLE, handle));
}

void VulkanChecker::begins_pass(VulkanCall& call) {
  Buffer& in = buffer(call);
  Fact& pass = in.facts[{PASS, 0, 0}];
  need_end(pass, [] { return "the render pass before it is not ended"; });
  set(pass);
  in.subpass = 0;
}

void VulkanChecker::inside(Buffer& in) {
  need(in.facts[{PASS, 0, 0}], [] { return "no render pass is begun"; });
  for (uint64_t n = 1; n <= in.subpass; ++n)
    need(in.facts[{SUBPASS, n, 0}], [&] { return "subpass " + std::to_string(n) + " is not begun"; });
}

void VulkanChecker::next_subpass(VulkanCall& call) {
  Buffer& in = buffer(call);
  inside(in);
  set(in.facts[{SUBPASS, ++in.subpass, 0}]);
}

void VulkanChecker::ends_pass(VulkanCall& call) {
  Buffer& in = buffer(call);
  inside(in);
  clear(in.facts[{PASS, 0, 0}]);
  for (uint64_t n = 1; n <= in.subpass; ++n) in.facts[{SUBPASS, n, 0}] = {};
  in.subpass = 0;
}

void VulkanChecker::begins_query(VulkanCall& call) {
  const uint64_t pool = call.value("queryPool"), query = call.value("query");
  Fact& running = buffer(call).facts[{QUERY, pool, query | call.value("index") << 32}];
  need_end(running, [] { return "the query is running already"; });
  writes_query(call);
  clear(fact(DONE, pool, query));
  set(running);
}

void VulkanChecker::ends_query(VulkanCall& call) {
  const uint64_t pool = call.value("queryPool"), query = call.value("query");
  Fact& running = buffer(call).facts[{QUERY, pool, query | call.value("index") << 32}];
  need(running, [] { return "the query that it ends is not begun"; });
  clear(running);
  set(fact(DONE, pool, query));
}

void VulkanChecker::writes_query(VulkanCall& call) {
  const uint64_t pool = call.value("queryPool"), query = call.value("query");
  Fact& reset = fact(RESET, pool, query);
  need(reset, [&] { return "query " + std::to_string(query) + " of VkQueryPool " + hex(pool) + " is not reset"; });
  clear(reset);
  set(fact(DONE, pool, query));
}

void VulkanChecker::resets_queries(VulkanCall& call) {
  const uint64_t pool = call.value("queryPool"), first = call.value("firstQuery");
  for (uint64_t i = 0; i < std::min(call.value("queryCount"), MOST_QUERIES); ++i) {
    clear(fact(DONE, pool, first + i));
    set(fact(RESET, pool, first + i));
  }
}

void VulkanChecker::query_results(VulkanCall& call) {
  const uint64_t pool = call.value("queryPool"), first = call.value("firstQuery");
  for (uint64_t i = 0; i < std::min(call.value("queryCount"), MOST_QUERIES); ++i)
    need(fact(DONE, pool, first + i),
         [&] { return "query " + std::to_string(first + i) + " of VkQueryPool " + hex(pool) + " has no result"; });
}

void VulkanChecker::copies_queries(VulkanCall& call) {
  if (call.value("flags") & WAITS) query_results(call);
}

void VulkanChecker::begins_label(VulkanCall& call) {
  Buffer& in = buffer(call);
  set(in.facts[{LABEL, in.label++, 0}]);
}

void VulkanChecker::ends_label(VulkanCall& call) {
  Buffer& in = buffer(call);
  if (!in.label) return;  // it began in another command buffer
  Fact& label = in.facts[{LABEL, --in.label, 0}];
  need(label, [] { return "the label that it ends is not begun"; });
  clear(label);
}

template <VulkanChecker::Kind of> void VulkanChecker::opens(VulkanCall& call) { set(buffer(call).facts[{of, 0, 0}]); }

template <VulkanChecker::Kind of> void VulkanChecker::closes(VulkanCall& call) {
  Fact& f = buffer(call).facts[{of, 0, 0}];
  need(f, [] { return of == CONDITIONAL ? "conditional rendering is not begun" : "transform feedback is not begun"; });
  clear(f);
}

void VulkanChecker::sets_event(VulkanCall& call) { set(fact(EVENT, call.value("event"))); }
void VulkanChecker::resets_event(VulkanCall& call) { clear(fact(EVENT, call.value("event"))); }

void VulkanChecker::waits_events(VulkanCall& call) {
  for (uint64_t event : call.words("pEvents"))
    need(fact(EVENT, event), [&] { return "VkEvent " + hex(event) + " is not set"; });
}

// ---- what draws and dispatches use -----------------------------------------------------------------------------

void VulkanChecker::describe_pipeline(const Node& info, uint64_t handle) {
  Pipeline& of = pipelines_[handle] = {};
  if (info.chained("VkPipelineLibraryCreateInfoKHR")) return;  // its parts say more
  of.layout = info.value("layout");
  for (auto& binding : info.in("pVertexInputState").each("pVertexBindingDescriptions"))
    of.bindings.push_back(binding.value("binding"));
  for (std::string word : info.in("pDynamicState").words("pDynamicStates")) {
    const std::string_view plain = vulkan::plain_name(word);
    std::string state;
    for (char c : plain.substr(std::min<size_t>(plain.size(), strlen("VK_DYNAMIC_STATE_"))))
      if (c != '_') state += c;
    of.dynamic.push_back(name_of(state));
  }
}

void VulkanChecker::binds_pipeline(VulkanCall& call) {
  const uint64_t point = point_of(call.value("pipelineBindPoint"));
  if (point >= POINTS) return;
  Buffer& into = buffer(call);
  set(into.facts[{PIPELINE, point, 0}]);
  if (kept_) into.pipeline[point] = call.value("pipeline");
}

void VulkanChecker::binds_shaders(VulkanCall& call) {
  Buffer& into = buffer(call);
  for (uint64_t point : {GRAPHICS, COMPUTE}) {
    set(into.facts[{PIPELINE, point, 0}]);
    if (kept_) into.pipeline[point] = 0;  // what it needs, only the shaders say
  }
}

void VulkanChecker::binds_vertices(VulkanCall& call) {
  Buffer& into = buffer(call);
  const uint64_t first = call.value("firstBinding"), count = call.words("pBuffers").size();
  for (uint64_t i = 0; i < count; ++i) set(into.facts[{VERTEX, first + i, 0}]);
}

void VulkanChecker::bind_sets(Buffer& into, uint64_t point, uint64_t first, const std::vector<uint64_t>& sets) {
  for (size_t i = 0; i < sets.size(); ++i) {
    set(into.facts[{SET, point, first + i}]);
    if (auto it = bindings_.find(sets[i]); it != bindings_.end())
      for (uint64_t binding : it->second)
        need(fact(WRITTEN, sets[i], binding), [&] {
          const std::string which = binding == UINT32_MAX ? "" : "binding " + std::to_string(binding) + " of ";
          return which + "VkDescriptorSet " + hex(sets[i]) + " is not written";
        });
  }
}

void VulkanChecker::binds_sets(VulkanCall& call) {
  const uint64_t point = point_of(call.value("pipelineBindPoint"));
  bind_sets(buffer(call), point, call.value("firstSet"), call.words("pDescriptorSets"));
}

void VulkanChecker::binds_sets_2(VulkanCall& call) {
  const Node info = call.info();
  for (uint64_t point = 0; point < POINTS; ++point)
    bind_sets(buffer(call), point, info.value("firstSet"), info.values("pDescriptorSets"));
}

void VulkanChecker::pushes_sets(VulkanCall& call) {
  const Node info = call.name().find("2") != std::string_view::npos ? call.info() : Node();
  const uint64_t number = info ? info.value("set") : call.value("set");
  const Field* point = call.param("pipelineBindPoint");
  for (uint64_t each = 0; each < POINTS; ++each)
    if (!point || point_of(call.value(*point)) == each) set(buffer(call).facts[{SET, each, number}]);
}

void VulkanChecker::uses(Buffer& in, Point point) {
  need(in.facts[{PIPELINE, point, 0}], [] { return "no pipeline is bound"; });
  auto found = pipelines_.find(in.pipeline[point]);
  if (found == pipelines_.end()) return;
  const Pipeline& pipeline = found->second;
  if (auto it = layouts_.find(pipeline.layout); it != layouts_.end()) {
    for (uint64_t n = 0; n < std::min<uint64_t>(it->second.sets, 256); ++n)
      need(in.facts[{SET, point, n}], [&] { return "no descriptor set " + std::to_string(n) + " is bound"; });
    if (it->second.pushes) need(in.facts[{PUSHED, 0, 0}], [] { return "no push constants are given"; });
  }
  if (point != GRAPHICS) return;
  for (uint64_t binding : pipeline.bindings)
    need(in.facts[{VERTEX, binding, 0}], [&] { return "no vertex buffer is bound at " + std::to_string(binding); });
  for (uint32_t state : pipeline.dynamic)
    need(in.facts[{DYNAMIC, state, 0}], [] { return "a dynamic state of its pipeline is not set"; });
}

void VulkanChecker::draws(VulkanCall& call) {
  Buffer& in = buffer(call);
  inside(in);
  uses(in, GRAPHICS);
  if (call.name().find("Indexed") != std::string_view::npos)
    need(in.facts[{INDEX, 0, 0}], [] { return "no index buffer is bound"; });
}

void VulkanChecker::dispatches(VulkanCall& call) { uses(buffer(call), COMPUTE); }
void VulkanChecker::traces_rays(VulkanCall& call) { uses(buffer(call), RAYS); }
void VulkanChecker::clears_attachments(VulkanCall& call) { inside(buffer(call)); }

void VulkanChecker::executes(VulkanCall& call) {
  Buffer& in = buffer(call);
  inside(in);
  for (uint64_t handle : call.words("pCommandBuffers"))
    need(fact(EXECUTABLE, handle), [&] { return "VkCommandBuffer " + hex(handle) + " is not recorded"; });
  for (auto& [key, f] : in.facts)
    if (key.kind >= PIPELINE) clear(f);
  if (kept_) in.pipeline = {};
}

}  // namespace dt::edit
