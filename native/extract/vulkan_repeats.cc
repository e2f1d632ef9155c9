#include "vulkan_repeats.h"

#include <algorithm>

namespace dt::extract {

using vulkan::Node;
using vulkan::VulkanCall;

namespace {

constexpr uint64_t GRAPHICS = 0, POINTS = 4;
constexpr std::string_view STRIDES = "VERTEXINPUTBINDINGSTRIDE";

// Commands named vkCmdSet* that set no state of draws: events, marks of a tool, and state that other commands end too.
constexpr std::string_view NO_STATE[] = {"Event", "Checkpoint", "Performance", "Rendering", "Descriptor", "DeviceMask"};

// A dynamic state as pipelines call it: capital letters without underscores.
std::string state_name(std::string_view text) {
  std::string name;
  for (char c : text)
    if (c != '_') name += static_cast<char>(toupper(c));
  if (name.ends_with('2')) name.pop_back();
  return name;
}

bool named(const Field& p, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), p.name) != names.end();
}

}  // namespace

uint32_t VulkanRepeats::name_of(std::string_view text) {
  return names_.emplace(text, static_cast<uint32_t>(names_.size() + 1)).first->second;
}

// The parameters that say which part of a state a command sets.
void VulkanRepeats::parts_of(const Function& f, Rule& rule) {
  for (auto& p : f.params) {
    if (p.name == "pipelineBindPoint") rule.point = &p;
    if (named(p, {"firstViewport", "firstScissor", "firstBinding", "firstSet", "firstAttachment", "offset",
                  "firstExclusiveScissor", "firstDiscardRectangle"}))
      rule.first = &p;
    if (named(p, {"viewportCount", "scissorCount", "bindingCount", "descriptorSetCount", "attachmentCount", "size",
                  "exclusiveScissorCount", "discardRectangleCount"}))
      rule.count = &p;
    if (p.name == "faceMask") rule.faces = true, rule.first = &p;
  }
  if (!rule.first || (!rule.count && !rule.faces)) rule.first = rule.count = nullptr;
}

const VulkanRepeats::Rule& VulkanRepeats::rule_of(const Function& f) {
  auto it = rules_.find(&f);
  if (it != rules_.end()) return it->second;
  Rule& rule = rules_[&f];
  using Is = Rule::Kind;
  if (f.flags & FLAG_COMMANDS_BEGIN) rule.kind = Is::begins;
  if (f.flags & FLAG_COMMANDS_END) rule.kind = Is::ends;
  for (auto& p : f.params)
    if (p.has_data() && p.out && p.object_class == "VkPipeline") rule.kind = Is::makes_pipelines;
  if (f.flags & FLAG_RECORDS) choose(f, rule);
  return rule;
}

void VulkanRepeats::choose(const Function& f, Rule& rule) {
  const std::string_view name = vulkan::plain_name(f.name);
  const std::string_view command = name.substr(std::min<size_t>(name.size(), strlen("vkCmd")));
  using Is = Rule::Kind;
  auto sets = [&](std::string_view group) {
    rule.kind = Is::sets, rule.group = name_of(group);
    parts_of(f, rule);
  };
  rule.kind = f.flags & (FLAG_MARKER | FLAG_BARRIER | FLAG_PASS_BEGIN | FLAG_PASS_END) ? Is::neutral : Is::reads;
  if (command.starts_with("Bind") || command.find("Generated") != command.npos || f.flags & FLAG_COMMANDS_CALL)
    rule.kind = Is::forgets;
  if (command.starts_with("Push") || command.starts_with("BindDescriptor")) rule.kind = Is::disturbs;
  if (command == "BindPipeline") sets("pipeline"), rule.pipeline = true;
  if (command == "BindDescriptorSets") sets("sets"), rule.layout = true;
  if (command == "PushConstants") sets("constants"), rule.layout = true;
  if (command == "BindIndexBuffer" || command == "BindIndexBuffer2") sets("indices");
  if (command == "BindVertexBuffers" || command == "BindVertexBuffers2")
    sets("vertices"), rule.strides = command.ends_with('2');
  const bool none = std::any_of(std::begin(NO_STATE), std::end(NO_STATE),
                                [&](auto part) { return command.substr(3).starts_with(part); });
  if (!command.starts_with("Set") || none) return;
  const std::string own = state_name(command.substr(3));
  sets(own), rule.name = name_of(own), rule.input = own == "VERTEXINPUT";
  // The count is a state too, and a command without it leaves the count.
  for (std::string_view part : {"VIEWPORT", "SCISSOR"})
    if (own == std::string(part) + "WITHCOUNT") rule.group = name_of(part), rule.first = rule.count = nullptr;
}

void VulkanRepeats::describe(VulkanCall& call) {
  for (auto& p : call.function().params) {
    if (!p.has_data() || !p.out || p.object_class != "VkPipeline") continue;
    const auto handles = call.words(p.name);
    const auto infos = call.infos();
    for (size_t i = 0; i < handles.size(); ++i) {
      Pipeline& made = pipelines_[handles[i]] = {};
      if (i >= infos.size() || infos[i].chained("VkPipelineLibraryCreateInfoKHR")) continue;  // its parts say more
      made.known = true;
      for (const std::string& word : infos[i].in("pDynamicState").words("pDynamicStates")) {
        const std::string_view plain = vulkan::plain_name(word);
        const std::string name = state_name(plain.substr(std::min(plain.size(), strlen("VK_DYNAMIC_STATE_"))));
        if (name == STRIDES) made.strides = true;
        made.dynamic.push_back(name_of(name));
      }
    }
  }
}

// A pipeline sets its own states anew: those that a command set since then count again.
bool VulkanRepeats::same_pipeline(const Pieces& pieces, const Piece& bound, uint64_t pipeline) const {
  auto it = pipelines_.find(pipeline);
  if (it == pipelines_.end() || !it->second.known) return false;
  auto& dynamic = it->second.dynamic;
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& p) {
    if (p.seq < bound.seq) return true;
    if (p.strides && !it->second.strides) return false;
    return !p.name || std::find(dynamic.begin(), dynamic.end(), p.name) != dynamic.end();
  });
}

// Commands have to set again what a pipeline sets itself.
void VulkanRepeats::binds_pipeline(Pieces& pieces, uint64_t pipeline) const {
  auto it = pipelines_.find(pipeline);
  const Pipeline none, &of = it == pipelines_.end() ? none : it->second;
  std::erase_if(pieces, [&](const Piece& p) {
    if (p.strides) return !of.strides;
    return p.name && std::find(of.dynamic.begin(), of.dynamic.end(), p.name) == of.dynamic.end();
  });
}

VulkanRepeats::Piece VulkanRepeats::piece_of(VulkanCall& call, const Rule& rule) {
  const uint64_t point = rule.point ? call.value(*rule.point) : 0;
  Piece now{static_cast<uint32_t>(rule.group * POINTS + std::min(point, POINTS - 1)), call.node()};
  now.name = rule.name, now.strides = rule.strides;
  if (rule.faces) {
    const uint64_t mask = call.value(*rule.first) & 3;
    now.first = mask == 2, now.end = mask & 2 ? 2 : 1;
  } else if (rule.first) {
    now.first = call.value(*rule.first), now.end = now.first + call.value(*rule.count);
  }
  if (rule.layout) now.layout = call.value("layout"), now.stages = call.value("stageFlags");
  now.value = call.name();
  for (auto& p : call.function().params) {
    if (p.name == "commandBuffer") continue;
    const uint64_t raw = p.has_data() ? call.content(p).size() : call.value(p);
    now.whole &= call.is_whole(p);
    now.value.append(reinterpret_cast<const char*>(&raw), sizeof raw);
    if (p.has_data()) now.value.append(call.content(p));
  }
  return now;
}

void VulkanRepeats::set(VulkanCall& call, const Rule& rule, Pieces& pieces) {
  Piece now = piece_of(call, rule);
  const bool graphics = rule.pipeline && now.group % POINTS == GRAPHICS;
  const uint64_t pipeline = rule.pipeline ? call.value("pipeline") : 0;
  // Both give strides of vertices.
  if (rule.strides) std::erase_if(pieces, [&](auto& p) { return p.name && p.name == name_of("VERTEXINPUT"); });
  if (rule.input) std::erase_if(pieces, [](auto& p) { return p.strides; });
  for (size_t i = 0; i < pieces.size();) {
    Piece& old = pieces[i];
    const bool apart = old.first >= now.end || now.first >= old.end, alike = old.layout == now.layout;
    if (old.group != now.group || (apart && alike)) {
      ++i;
      continue;
    }
    const bool equal = old.first == now.first && old.end == now.end && old.value == now.value && now.whole;
    if (equal && (!graphics || same_pipeline(pieces, old, pipeline))) {
      kinds_[call.seq()] = SAME_VALUE;
      return;
    }
    const bool over = !apart && now.first <= old.first && old.end <= now.end && alike && old.stages == now.stages;
    if (over && !old.read && (now.strides || !old.strides)) kinds_[old.seq] = UNREAD_STATE;
    pieces.erase(pieces.begin() + static_cast<long>(i));
  }
  if (graphics) binds_pipeline(pieces, pipeline);
  if (now.whole) pieces.push_back(std::move(now));
}

bool VulkanRepeats::draws_nothing(VulkanCall& call) {
  for (auto& p : call.function().params)
    if (named(p, {"vertexCount", "indexCount", "instanceCount", "groupCountX", "groupCountY", "groupCountZ",
                  "drawCount"}) &&
        !call.value(p))
      return true;
  return false;
}

void VulkanRepeats::take(VulkanCall& call) {
  const Rule& rule = rule_of(call.function());
  using Is = Rule::Kind;
  if (rule.kind == Is::other || call.failed()) return;
  if (rule.kind == Is::makes_pipelines) return describe(call);
  Pieces& pieces = buffers_[call.value("commandBuffer")];
  switch (rule.kind) {
    case Is::begins:
    case Is::forgets: pieces.clear(); break;
    case Is::disturbs: std::erase_if(pieces, [](auto& p) { return p.layout; }); break;
    case Is::ends:
      for (Piece& p : pieces)
        if (!p.read) kinds_[p.seq] = UNREAD_STATE;
      pieces.clear();
      break;
    case Is::reads:
      if (call.function().flags & (FLAG_DRAW | FLAG_DISPATCH) && draws_nothing(call)) {
        kinds_[call.seq()] = UNSEEN_DRAW;
        break;
      }
      for (Piece& p : pieces) p.read = true;
      break;
    case Is::sets: set(call, rule, pieces); break;
    default: break;
  }
}

}  // namespace dt::extract
