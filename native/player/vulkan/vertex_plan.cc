#include "vertex_plan.h"

#include <algorithm>
#include <cmath>

#include "capture_shader.h"
#include "chain.h"
#include "spirv.h"

namespace dt::play::vk {
namespace {

constexpr uint64_t MOST_READ = 64 << 20;  // bytes of a buffer

bool is_multi(uint16_t n) { return n == number::vkCmdDrawMultiEXT || n == number::vkCmdDrawMultiIndexedEXT; }
bool is_direct(uint16_t n) { return n == number::vkCmdDraw || n == number::vkCmdDrawIndexed; }
bool is_indirect(uint16_t n) { return n == number::vkCmdDrawIndirect || n == number::vkCmdDrawIndexedIndirect; }
bool is_indexed(uint16_t n) {
  return n == number::vkCmdDrawIndexed || n == number::vkCmdDrawIndexedIndirect ||
         n == number::vkCmdDrawMultiIndexedEXT;
}

uint32_t model_of(VkShaderStageFlagBits stage) {
  if (stage == VK_SHADER_STAGE_GEOMETRY_BIT) return spirv::GEOMETRY;
  return stage == VK_SHADER_STAGE_VERTEX_BIT ? spirv::VERTEX : spirv::EVALUATION;
}

// As OpenGL numbers it, for the answer has OpenGL's form.
uint32_t mode_of(uint32_t topology) {
  static constexpr uint32_t MODES[] = {0, 1, 3, 4, 5, 6, 10, 11, 12, 13, 14};
  return MODES[std::min<uint32_t>(topology, 10)];
}

uint32_t corners_of_topology(uint32_t topology) {
  static constexpr uint32_t CORNERS[] = {1, 2, 2, 3, 3, 3, 2, 2, 3, 3, 3};
  return CORNERS[std::min<uint32_t>(topology, 10)];
}

}  // namespace

// ---- what goes in -----------------------------------------------------------------------------------------------

Vertices::Part VertexPlan::part(const Bound& of, uint64_t most, Taken& taken) const {
  auto it = s_.sizes_.find(of.buffer);
  if (it == s_.sizes_.end() || of.from >= it->second) return {};
  const uint64_t bytes = std::min({it->second - of.from, of.bytes, most, MOST_READ});
  const Vertices::Part out{taken.bytes, bytes};
  taken.stored.push_back({"", of.buffer, of.from, bytes, taken.bytes});
  taken.bytes += (bytes + 15) / 16 * 16;
  return out;
}

std::map<uint32_t, VertexPlan::Bound> VertexPlan::bound(size_t at) const {
  using namespace number;
  std::map<uint32_t, Bound> out;
  for (size_t i = 0; i < at; ++i) {
    const KeptCommand& c = *stream_[i];
    const bool newer = c.number == vkCmdBindVertexBuffers2 || c.number == vkCmdBindVertexBuffers2EXT;
    if (c.number != vkCmdBindVertexBuffers && !newer) continue;
    for (uint64_t k = 0; k < c.arguments[2]; ++k) {
      Bound& to = out[static_cast<uint32_t>(c.arguments[1] + k)];
      to = {c.at<VkBuffer>(3)[k], c.at<VkDeviceSize>(4)[k]};
      if (newer && c.arguments[5]) to.bytes = c.at<VkDeviceSize>(5)[k];
      if (newer && c.arguments[6]) to.stride = c.at<VkDeviceSize>(6)[k];
    }
  }
  return out;
}

// Returns why the numbers of the draw are not known.
std::string VertexPlan::numbers(size_t at, Taken& taken) {
  const KeptCommand& c = *stream_[at];
  auto word = [&](int i) { return static_cast<uint32_t>(c.arguments[i]); };
  vertices_.indexed_ = is_indexed(c.number);
  if (c.number == number::vkCmdDraw)
    vertices_.numbers_ = {word(1), word(2), word(3), word(4), 0};
  else if (c.number == number::vkCmdDrawIndexed)
    vertices_.numbers_ = {word(1), word(2), word(3), word(5), static_cast<int32_t>(word(4))};
  else if (is_multi(c.number))
    return multi(c);
  else if (!is_indirect(c.number))
    return std::string(c.command->name) + ": which vertices it draws is not followed";
  else if (c.arguments[3] != 1)
    return "it makes several draws at once";
  else
    vertices_.indirect_ = part({reinterpret_cast<VkBuffer>(c.arguments[1]), c.arguments[2]}, 20, taken);
  if (is_indirect(c.number) && vertices_.indirect_.bytes < 16) return "the buffer of its numbers is not known";
  return "";
}

// Drivers of OpenGL above Vulkan make single draws with these, too.
std::string VertexPlan::multi(const KeptCommand& c) {
  if (c.arguments[1] != 1) return "it makes several draws at once";
  Vertices::Numbers& to = vertices_.numbers_;
  to.instances = static_cast<uint32_t>(c.arguments[3]), to.base_instance = static_cast<uint32_t>(c.arguments[4]);
  if (c.number == number::vkCmdDrawMultiEXT) {
    const auto& of = *c.at<VkMultiDrawInfoEXT>(2);
    to.first = of.firstVertex, to.count = of.vertexCount;
  } else {
    const auto& of = *c.at<VkMultiDrawIndexedInfoEXT>(2);
    to.first = of.firstIndex, to.count = of.indexCount;
    to.added = c.arguments[6] ? *c.at<int32_t>(6) : of.vertexOffset;
  }
  return "";
}

std::string VertexPlan::indices(size_t at, Taken& taken) {
  using namespace number;
  Bound of;
  uint64_t type = 0;
  for (size_t i = at; i-- > 0 && !of.buffer;) {
    const KeptCommand& c = *stream_[i];
    const bool newer = c.number == vkCmdBindIndexBuffer2 || c.number == vkCmdBindIndexBuffer2KHR;
    if (c.number != vkCmdBindIndexBuffer && !newer) continue;
    of = {reinterpret_cast<VkBuffer>(c.arguments[1]), c.arguments[2]};
    if (newer) of.bytes = c.arguments[3];
    type = c.arguments[newer ? 4 : 3];
  }
  if (!of.buffer) return "no buffer of indices is bound in this command buffer";
  vertices_.index_bytes_ = type == VK_INDEX_TYPE_UINT16 ? 2 : type == VK_INDEX_TYPE_UINT32 ? 4 : 1;
  vertices_.indices_ = part(of, MOST_READ, taken);
  return "";
}

void VertexPlan::attributes(size_t at, const KeptPipeline& kept, Taken& taken) {
  using namespace number;
  struct Binding {
    uint64_t stride = 0;
    bool by_instance = false;
    uint32_t divisor = 1;
  };
  std::map<uint32_t, Binding> bindings;
  std::vector<VkVertexInputAttributeDescription> list;
  const auto* state = kept.info->pVertexInputState;
  if (kept.is_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_EXT)) {
    const KeptCommand* given = last_set({vkCmdSetVertexInputEXT});
    if (!given) return vertices_.why_in_ = "its vertex input is given in no command of this command buffer", void();
    for (uint64_t i = 0; i < given->arguments[1]; ++i) {
      const auto& each = given->at<VkVertexInputBindingDescription2EXT>(2)[i];
      bindings[each.binding] = {each.stride, each.inputRate == VK_VERTEX_INPUT_RATE_INSTANCE, each.divisor};
    }
    for (uint64_t i = 0; i < given->arguments[3]; ++i) {
      const auto& each = given->at<VkVertexInputAttributeDescription2EXT>(4)[i];
      list.push_back({each.location, each.binding, each.format, each.offset});
    }
  } else if (state) {
    for (uint32_t i = 0; i < state->vertexBindingDescriptionCount; ++i) {
      const auto& each = state->pVertexBindingDescriptions[i];
      bindings[each.binding] = {each.stride, each.inputRate == VK_VERTEX_INPUT_RATE_INSTANCE, 1};
    }
    list.assign(state->pVertexAttributeDescriptions,
                state->pVertexAttributeDescriptions + state->vertexAttributeDescriptionCount);
    const auto* rates = chained<VkPipelineVertexInputDivisorStateCreateInfo>(
        state->pNext, VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO);
    for (uint32_t i = 0; rates && i < rates->vertexBindingDivisorCount; ++i)
      bindings[rates->pVertexBindingDivisors[i].binding].divisor = rates->pVertexBindingDivisors[i].divisor;
  }
  const auto buffers = bound(at);
  const bool strides = kept.is_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE);
  std::map<uint32_t, Vertices::Part> parts;
  for (auto& each : list) {
    Vertices::Attribute& to = vertices_.attributes_.emplace_back();
    to.name = "location " + std::to_string(each.location);
    for (auto& stage : kept.modules)
      if (stage.stage == VK_SHADER_STAGE_VERTEX_BIT && stage.words)
        for (auto& [location, name] : input_names(*stage.words))
          if (location == each.location) to.name = name;
    to.format = each.format, to.offset = each.offset;
    const Binding& binding = bindings[each.binding];
    to.stride = binding.stride, to.by_instance = binding.by_instance, to.divisor = binding.divisor;
    auto it = buffers.find(each.binding);
    if (it == buffers.end() || !it->second.buffer) {
      to.why = "no buffer is bound for it in this command buffer";
      continue;
    }
    if (strides && it->second.stride != VK_WHOLE_SIZE) to.stride = it->second.stride;
    if (!parts.contains(each.binding)) parts[each.binding] = part(it->second, MOST_READ, taken);
    to.of = parts[each.binding];
  }
}

// ---- what comes out ---------------------------------------------------------------------------------------------

void VertexPlan::raster(const KeptPipeline& kept) {
  using namespace number;
  metrics::Raster& to = vertices_.raster_;
  const auto* fixed = kept.info->pRasterizationState;
  uint64_t cull = fixed ? fixed->cullMode : 0, front = fixed ? static_cast<uint64_t>(fixed->frontFace) : 0;
  uint64_t clamps = fixed ? fixed->depthClampEnable : 0, discards = fixed ? fixed->rasterizerDiscardEnable : 0;
  auto given = [&](VkDynamicState state, std::initializer_list<uint16_t> by, uint64_t& value) {
    const KeptCommand* set = kept.is_dynamic(state) ? last_set(by) : nullptr;
    if (set) value = set->arguments[1];
  };
  given(VK_DYNAMIC_STATE_CULL_MODE, {vkCmdSetCullMode, vkCmdSetCullModeEXT}, cull);
  given(VK_DYNAMIC_STATE_FRONT_FACE, {vkCmdSetFrontFace, vkCmdSetFrontFaceEXT}, front);
  given(VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT, {vkCmdSetDepthClampEnableEXT}, clamps);
  given(VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE,
        {vkCmdSetRasterizerDiscardEnable, vkCmdSetRasterizerDiscardEnableEXT}, discards);
  const VkViewport seen = viewport(kept);
  const bool down = seen.height >= 0;  // y of clip coordinates points down
  to.width = static_cast<double>(seen.width), to.height = std::abs(static_cast<double>(seen.height));
  const auto* ranges = kept.info->pViewportState
                           ? chained<VkPipelineViewportDepthClipControlCreateInfoEXT>(
                                 kept.info->pViewportState->pNext,
                                 VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT)
                           : nullptr;
  uint64_t both = ranges && ranges->negativeOneToOne;
  given(VK_DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT, {vkCmdSetDepthClipNegativeOneToOneEXT}, both);
  to.zero_to_one = !both, to.depth_clamp = clamps;
  to.cull_front = cull & VK_CULL_MODE_FRONT_BIT, to.cull_back = cull & VK_CULL_MODE_BACK_BIT;
  to.front_clockwise = (front == VK_FRONT_FACE_COUNTER_CLOCKWISE) == down;
  to.discards = to.discards_all = discards;
  Table instance;
  instance.instance = device_.instance;
  VkPhysicalDeviceProperties about{};
  DT_VK(instance, vkGetPhysicalDeviceProperties)(device_.physical, &about);
  to.rounding = std::ldexp(0.5, -static_cast<int>(about.limits.subPixelPrecisionBits)) +
                std::ldexp(std::max(to.width, to.height), -22);
  const double height = target() ? std::max(target()->extent.height >> vertices_.level, 1u) : 0;
  const double top = std::min(static_cast<double>(seen.y), static_cast<double>(seen.y + seen.height));
  const double box[4] = {static_cast<double>(seen.x), down ? height - top : height - top - to.height, to.width,
                         down ? -to.height : to.height};
  for (int i = 0; i < 4; ++i)
    vertices_.mesh_.viewport[i] = static_cast<int>(std::lround(std::clamp(box[i], -1e9, 1e9)));
}

// Adds the step that captures positions; returns why there is none.
std::string VertexPlan::capture(size_t at, const KeptPipeline& kept, Copier::Counting& to) {
  if (!device_.captures) return "the driver here does not have VK_EXT_transform_feedback";
  const KeptModule* last = nullptr;
  for (auto& each : kept.modules) {
    if (each.stage == VK_SHADER_STAGE_MESH_BIT_EXT || each.stage == VK_SHADER_STAGE_TASK_BIT_EXT)
      return "a mesh shader makes its primitives";
    if (each.stage == VK_SHADER_STAGE_FRAGMENT_BIT || each.stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) continue;
    if (!last || each.stage > last->stage) last = &each;
  }
  if (!last || !last->words) return "the words of its shaders are not known";
  const CaptureShader shader = capture_shader(*last->words, last->entry, model_of(last->stage));
  if (!shader.why.empty()) return shader.why;
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = shader.words.size() * 4, info.pCode = shader.words.data();
  VkShaderModule& module = vertices_.modules_.emplace_back();
  vertices_.make(device_, info, module);
  if (!module) return "the driver refuses the shader that captures";
  vertices_.own_primitives_ = last->stage != VK_SHADER_STAGE_VERTEX_BIT;
  if (vertices_.own_primitives_ && shader.corners) vertices_.mesh_.corners = shader.corners;
  VariantWish wish;
  wish.last = metrics::COVERS, wish.captures = last->stage, wish.fragment = module;
  Copier::Counting::Step step;
  wish.pass = step.pass = vertices_.pass(device_);
  if (!wish.pass) return "the driver refuses a render pass without images";
  step.variant = vertices_.variant(device_, reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]), kept, wish);
  if (!step.variant) return "the driver refuses a variant of its pipeline";
  to.bound = bound_, to.sets = sets_, to.size = {1, 1};
  step.framebuffer = copier_.own_framebuffer(step.pass, {}, to.size);
  // No topology makes more primitives than there are vertices.
  const uint64_t each = vertices_.mesh_.corners * 16;
  uint64_t most = metrics::Mesh::MOST;
  const bool told = is_direct(stream_[at]->number) || (is_multi(stream_[at]->number) && vertices_.why_in_.empty());
  if (told && !vertices_.own_primitives_)
    most = std::min<uint64_t>(most, uint64_t{vertices_.numbers_.count} * vertices_.numbers_.instances + 1);
  const Room room = copier_.own_buffer(most * each, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT);
  step.captured = room.buffer, step.bytes = vertices_.room_ = most * each;
  vertices_.captured_ = room.at;
  step.queries = vertices_.queries_ = copier_.own_queries(VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, 1);
  to.steps.push_back(step);
  return "";
}

void VertexPlan::draw(size_t at) {
  using namespace number;
  const KeptPipeline* kept = nullptr;
  const std::string why = untestable(kept);
  Taken taken;
  taken.event = 0;
  if (!kept) return vertices_.why_ = vertices_.why_in_ = why, void();
  const auto* shape = kept->info->pInputAssemblyState;
  uint64_t topology = shape ? static_cast<uint64_t>(shape->topology) : 0;
  uint64_t restarts = shape ? shape->primitiveRestartEnable : 0;
  if (kept->is_dynamic(VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY))
    if (const KeptCommand* set = last_set({vkCmdSetPrimitiveTopology, vkCmdSetPrimitiveTopologyEXT}))
      topology = set->arguments[1];
  if (kept->is_dynamic(VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE))
    if (const KeptCommand* set = last_set({vkCmdSetPrimitiveRestartEnable, vkCmdSetPrimitiveRestartEnableEXT}))
      restarts = set->arguments[1];
  vertices_.topology_ = static_cast<uint32_t>(topology), vertices_.restarts_ = restarts;
  vertices_.mesh_.mode = mode_of(vertices_.topology_),
  vertices_.mesh_.corners = corners_of_topology(vertices_.topology_);
  raster(*kept);
  vertices_.why_in_ = numbers(at, taken);
  if (vertices_.why_in_.empty() && vertices_.indexed_) vertices_.why_in_ = indices(at, taken);
  if (vertices_.why_in_.empty()) attributes(at, *kept, taken);
  Copier::Counting counting;
  vertices_.why_ = why.empty() ? capture(at, *kept, counting) : why;
  if (counting.steps.empty()) counting.bound = bound_, counting.sets = sets_;
  const std::string obstacle = copier_.want_count(at, std::move(counting));
  if (!obstacle.empty()) return vertices_.why_ = vertices_.why_in_ = obstacle, void();
  copier_.read_behind_count(std::move(taken));
  any_ = true;
}

// ---- the walk -----------------------------------------------------------------------------------------------------

void VertexPlan::before(size_t at) {
  if (vertices_.met) return;
  follow(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) pass_ = flat(at);
  if (!is_last(command) || !(command.command->flags & FLAG_DRAW)) return;
  vertices_.mesh_.drawn = true;
  if (begin_ != NONE && subpass_ < pass_.subpasses.size()) return draw(at);
  vertices_.why_ = vertices_.why_in_ = "the render pass that it draws in does not begin in this command buffer";
}

}  // namespace dt::play::vk
