#include "vertex_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "capture_shader.h"
#include "chain.h"
#include "spirv.h"

namespace dt::play::vk {
namespace {

constexpr uint64_t MOST_READ = 64 << 20;       // bytes of a buffer
constexpr uint64_t MOST_OF_MANY = 4 << 20;     // of indices, where a pass is read
constexpr uint64_t MOST_CAPTURED = 512 << 20;  // by all draws of a pass
constexpr uint64_t MOST_UNTOLD = 1 << 16;      // primitives of a draw of a pass whose numbers are in a buffer
constexpr uint64_t CHUNK_OF_ROOMS = 16 << 20;  // where draws of a pass capture
constexpr uint32_t QUERIES_OF_POOL = 256;

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
    const bool newer = c.number == vkCmdBindVertexBuffers2;
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
  now_->indexed = is_indexed(c.number);
  if (c.number == number::vkCmdDraw)
    now_->numbers = {word(1), word(2), word(3), word(4), 0};
  else if (c.number == number::vkCmdDrawIndexed)
    now_->numbers = {word(1), word(2), word(3), word(5), static_cast<int32_t>(word(4))};
  else if (is_multi(c.number))
    return multi(c);
  else if (!is_indirect(c.number))
    return std::string(c.command->name) + ": which vertices it draws is not followed";
  else if (c.arguments[3] != 1)
    return "it makes several draws at once";
  else
    now_->indirect = part({reinterpret_cast<VkBuffer>(c.arguments[1]), c.arguments[2]}, 20, taken);
  if (is_indirect(c.number) && now_->indirect.bytes < 16) return "the buffer of its numbers is not known";
  return "";
}

// Drivers of OpenGL above Vulkan make single draws with these, too.
std::string VertexPlan::multi(const KeptCommand& c) {
  if (c.arguments[1] != 1) return "it makes several draws at once";
  Vertices::Numbers& to = now_->numbers;
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
    const bool newer = c.number == vkCmdBindIndexBuffer2;
    if (c.number != vkCmdBindIndexBuffer && !newer) continue;
    of = {reinterpret_cast<VkBuffer>(c.arguments[1]), c.arguments[2]};
    if (newer) of.bytes = c.arguments[3];
    type = c.arguments[newer ? 4 : 3];
  }
  if (!of.buffer) return "no buffer of indices is bound in this command buffer";
  const uint64_t width = now_->index_bytes = type == VK_INDEX_TYPE_UINT16 ? 2 : type == VK_INDEX_TYPE_UINT32 ? 4 : 1;
  if (now_->indirect.bytes) return now_->indices = part(of, vertices_.many_ ? MOST_OF_MANY : MOST_READ, taken), "";
  // The indices of this draw alone: all draws of a pass may share a large buffer.
  const uint64_t begin = now_->indices_begin = now_->numbers.first;
  of.from += begin * width, of.bytes -= of.bytes == VK_WHOLE_SIZE ? 0 : std::min(of.bytes, begin * width);
  now_->indices = part(of, std::max<uint64_t>(now_->numbers.count * width, 1), taken);
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
    const KeptCommand* given = last_set(vkCmdSetVertexInputEXT);
    if (!given) return now_->why_in = "its vertex input is given in no command of this command buffer", void();
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
    const auto* rates = chained<VkPipelineVertexInputDivisorStateCreateInfo>(state->pNext);
    for (uint32_t i = 0; rates && i < rates->vertexBindingDivisorCount; ++i)
      bindings[rates->pVertexBindingDivisors[i].binding].divisor = rates->pVertexBindingDivisors[i].divisor;
  }
  const auto buffers = bound(at);
  const bool strides = kept.is_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE);
  std::map<uint32_t, Vertices::Part> parts;
  for (auto& each : list) {
    Vertices::Attribute& to = now_->attributes.emplace_back();
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
  metrics::Raster& to = now_->raster;
  const auto* fixed = kept.info->pRasterizationState;
  uint64_t cull = fixed ? fixed->cullMode : 0, front = fixed ? static_cast<uint64_t>(fixed->frontFace) : 0;
  uint64_t clamps = fixed ? fixed->depthClampEnable : 0, discards = fixed ? fixed->rasterizerDiscardEnable : 0;
  auto given = [&](VkDynamicState state, uint16_t by, uint64_t& value) {
    const KeptCommand* set = kept.is_dynamic(state) ? last_set(by) : nullptr;
    if (set) value = set->arguments[1];
  };
  given(VK_DYNAMIC_STATE_CULL_MODE, vkCmdSetCullMode, cull);
  given(VK_DYNAMIC_STATE_FRONT_FACE, vkCmdSetFrontFace, front);
  given(VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT, vkCmdSetDepthClampEnableEXT, clamps);
  given(VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, vkCmdSetRasterizerDiscardEnable, discards);
  const VkViewport seen = viewport(kept);
  const bool down = seen.height >= 0;  // y of clip coordinates points down
  to.width = static_cast<double>(seen.width), to.height = std::abs(static_cast<double>(seen.height));
  const auto* ranges = kept.info->pViewportState
                           ? chained<VkPipelineViewportDepthClipControlCreateInfoEXT>(kept.info->pViewportState->pNext)
                           : nullptr;
  uint64_t both = ranges && ranges->negativeOneToOne;
  given(VK_DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT, vkCmdSetDepthClipNegativeOneToOneEXT, both);
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
  for (int i = 0; i < 4; ++i) now_->mesh.viewport[i] = static_cast<int>(std::lround(std::clamp(box[i], -1e9, 1e9)));
}

// The last stage before the rasteriser as one that captures; its `why`: there is none.
const Vertices::Captures& VertexPlan::shader(const KeptPipeline& kept, const KeptModule*& last) {
  auto none = [](const char* why) {
    Vertices::Captures made;
    made.why = why;
    return made;
  };
  static const Vertices::Captures MESHES = none("a mesh shader makes its primitives");
  static const Vertices::Captures UNKNOWN = none("the words of its shaders are not known");
  for (auto& each : kept.modules) {
    if (each.stage == VK_SHADER_STAGE_MESH_BIT_EXT || each.stage == VK_SHADER_STAGE_TASK_BIT_EXT) return MESHES;
    if (each.stage == VK_SHADER_STAGE_FRAGMENT_BIT || each.stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) continue;
    if (!last || each.stage > last->stage) last = &each;
  }
  if (!last || !last->words) return UNKNOWN;
  const uint32_t model = model_of(last->stage);
  for (auto& each : vertices_.shaders_)
    if (each.words == last->words && each.entry == last->entry && each.model == model) return each;
  Vertices::Captures& made = vertices_.shaders_.emplace_back();
  made.words = last->words, made.entry = last->entry, made.model = model;
  const CaptureShader shader = capture_shader(*last->words, last->entry, model);
  made.why = shader.why, made.corners = shader.corners;
  if (!made.why.empty()) return made;
  VkShaderModuleCreateInfo info{};
  info.codeSize = shader.words.size() * 4, info.pCode = shader.words.data();
  vertices_.make(device_, info, made.module);
  if (!made.module) made.why = "the driver refuses the shader that captures";
  return made;
}

// The most primitives that the draw makes. No topology makes more of them than there are vertices.
uint64_t VertexPlan::most_primitives(size_t at) const {
  const uint64_t most = vertices_.many_ ? MOST_UNTOLD : metrics::Mesh::MOST;
  const bool told = is_direct(stream_[at]->number) || (is_multi(stream_[at]->number) && now_->why_in.empty());
  if (!told || now_->own_primitives) return most;
  const uint64_t each = now_->topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST ? 3 : 1;
  return std::min<uint64_t>(metrics::Mesh::MOST, now_->numbers.count / each * now_->numbers.instances + 1);
}

// Adds the step that captures positions; returns why there is none.
std::string VertexPlan::capture(size_t at, const KeptPipeline& kept, Copier::Counting& to) {
  if (!device_.captures) return "the driver here does not have VK_EXT_transform_feedback";
  const KeptModule* last = nullptr;
  const Vertices::Captures& made = shader(kept, last);
  if (!made.why.empty()) return made.why;
  now_->own_primitives = last->stage != VK_SHADER_STAGE_VERTEX_BIT;
  if (now_->own_primitives && made.corners) now_->mesh.corners = made.corners;
  VariantWish wish;
  wish.last = metrics::COVERS, wish.captures = last->stage, wish.fragment = made.module;
  Copier::Counting::Step step;
  wish.pass = step.pass = vertices_.pass(device_);
  if (!wish.pass) return "the driver refuses a render pass without images";
  step.variant = vertices_.variant(device_, reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]), kept, wish);
  if (!step.variant) return "the driver refuses a variant of its pipeline";
  const uint64_t bytes = most_primitives(at) * now_->mesh.corners * 16;
  if (vertices_.many_ && vertices_.captured_ + bytes > MOST_CAPTURED)
    return "left out: with it the pass has more vertices than are captured at once";
  vertices_.captured_ += bytes;
  to.bound = bound_, to.sets = sets_, to.size = {1, 1};
  if (!framebuffer_) framebuffer_ = copier_.own_framebuffer(step.pass, {}, to.size);
  step.framebuffer = framebuffer_;
  if (!chunk_.buffer || chunk_bytes_ - chunk_used_ < bytes) {
    chunk_bytes_ = vertices_.many_ ? std::max(bytes, CHUNK_OF_ROOMS) : bytes, chunk_used_ = 0;
    chunk_ = copier_.own_buffer(chunk_bytes_, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT);
  }
  step.captured = chunk_.buffer, step.from = chunk_used_, step.bytes = now_->room = bytes;
  now_->captured = static_cast<const uint8_t*>(chunk_.at) + chunk_used_;
  chunk_used_ += bytes;
  if (!queries_ || queries_used_ == QUERIES_OF_POOL)
    queries_ = copier_.own_queries(VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, vertices_.many_ ? QUERIES_OF_POOL : 1),
    queries_used_ = 0;
  step.queries = now_->queries = queries_, step.query = now_->query = queries_used_++;
  to.steps.push_back(step);
  return "";
}

void VertexPlan::draw(size_t at) {
  using namespace number;
  const KeptPipeline* kept = nullptr;
  const std::string why = untestable(kept);
  Taken taken;
  taken.event = static_cast<size_t>(number_);
  if (!kept) return now_->why = now_->why_in = why, void();
  const auto* shape = kept->info->pInputAssemblyState;
  uint64_t topology = shape ? static_cast<uint64_t>(shape->topology) : 0;
  uint64_t restarts = shape ? shape->primitiveRestartEnable : 0;
  if (kept->is_dynamic(VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY))
    if (const KeptCommand* set = last_set(vkCmdSetPrimitiveTopology)) topology = set->arguments[1];
  if (kept->is_dynamic(VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE))
    if (const KeptCommand* set = last_set(vkCmdSetPrimitiveRestartEnable)) restarts = set->arguments[1];
  now_->topology = static_cast<uint32_t>(topology), now_->restarts = restarts;
  now_->mesh.mode = mode_of(now_->topology), now_->mesh.corners = corners_of_topology(now_->topology);
  raster(*kept);
  now_->why_in = numbers(at, taken);
  if (now_->why_in.empty() && now_->indexed) now_->why_in = indices(at, taken);
  if (now_->why_in.empty() && !vertices_.many_) attributes(at, *kept, taken);
  Copier::Counting counting;
  now_->why = why.empty() ? capture(at, *kept, counting) : why;
  if (counting.steps.empty()) counting.bound = bound_, counting.sets = sets_;
  const std::string obstacle = copier_.want_count(at, std::move(counting));
  if (!obstacle.empty()) return now_->why = now_->why_in = obstacle, void();
  copier_.read_behind_count(std::move(taken));
  any_ = true;
}

// ---- the walk -----------------------------------------------------------------------------------------------------

// The next draw of those asked for that this command is, where it is one.
bool VertexPlan::is_asked(const KeptCommand& command) {
  if (submit_ != vertices_.last || !(command.command->flags & FLAG_DRAW)) return false;
  if (!numbers_known_) {
    numbers_known_ = true;
    for (size_t i = 0; i < vertices_.draws_.size(); ++i)
      asked_[{vertices_.draws_[i].draw, vertices_.draws_[i].again}] = i;
  }
  auto it = asked_.find({command.seq, vertices_.seen_[command.seq]++});
  if (it == asked_.end()) return false;
  number_ = it->second, now_ = &vertices_.draws_[number_];
  return true;
}

void VertexPlan::before(size_t at) {
  if (vertices_.met) return;
  follow(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) pass_ = flat(at);
  if (!is_asked(command)) return;
  now_->mesh.drawn = true;
  if (begin_ != NONE && subpass_ < pass_.subpasses.size()) return draw(at);
  now_->why = now_->why_in = "the render pass that it draws in does not begin in this command buffer";
}

void VertexPlan::behind(size_t at) {
  if (vertices_.met) return;
  passed(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_END) begin_ = NONE;
  if (std::exchange(now_, nullptr)) vertices_.met = !--vertices_.left_;
}

}  // namespace dt::play::vk
