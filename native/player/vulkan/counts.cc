#include "counts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../line.h"
#include "count_plan.h"

namespace dt::play::vk {
namespace {

constexpr const char* PLANE_NAMES[Counts::PLANES] = {"any_face", "generated", "kept", "stencilled", "passed"};
constexpr double MOST = 22'000;  // fragments of a pixel: the constant's power is finite, and exact when it is rounded

// void main() { color = 1.0; }, with its output at location 0.
/* clang-format off */
constexpr uint32_t WRITES_ONE[] = {
    0x07230203, 0x00010000, 0, 9, 0,       // version 1.0, nine names
    2 << 16 | 17, 1,                       // OpCapability Shader
    3 << 16 | 14, 0, 1,                    // OpMemoryModel Logical GLSL450
    6 << 16 | 15, 4, 4, 0x6e69616d, 0, 5,  // OpEntryPoint Fragment %4 "main" %5
    3 << 16 | 16, 4, 7,                    // OpExecutionMode %4 OriginUpperLeft
    4 << 16 | 71, 5, 30, 0,                // OpDecorate %5 Location 0
    2 << 16 | 19, 1,                       // %1 = OpTypeVoid
    3 << 16 | 33, 2, 1,                    // %2 = OpTypeFunction %1
    3 << 16 | 22, 3, 32,                   // %3 = OpTypeFloat 32
    4 << 16 | 32, 6, 3, 3,                 // %6 = OpTypePointer Output %3
    4 << 16 | 59, 6, 5, 3,                 // %5 = OpVariable %6 Output
    4 << 16 | 43, 3, 7, 0x3f800000,        // %7 = OpConstant %3 1.0
    5 << 16 | 54, 1, 4, 0, 2,              // %4 = OpFunction %1 None %2
    2 << 16 | 248, 8,                      // %8 = OpLabel
    3 << 16 | 62, 5, 7,                    // OpStore %5 %7
    1 << 16 | 253, 1 << 16 | 56};          // OpReturn, OpFunctionEnd
/* clang-format on */

}  // namespace

std::unique_ptr<Plan> Counts::plan(const Submitted& of) { return std::make_unique<CountPlan>(of, *this); }

VkShaderModule Counts::shader(Device& device) {
  VkShaderModuleCreateInfo info{};
  info.codeSize = sizeof WRITES_ONE, info.pCode = WRITES_ONE;
  make(device, info, shader_);
  return shader_;
}

VkRenderPass Counts::pass(Device& device, VkFormat deep, bool clears) {
  VkRenderPass& made = passes_[{deep, clears}];
  if (made) return made;
  VkAttachmentDescription attachments[2] = {};
  for (auto& each : attachments) {
    each.samples = VK_SAMPLE_COUNT_1_BIT;
    each.loadOp = each.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
    each.storeOp = each.stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE;
    each.initialLayout = each.finalLayout = VK_IMAGE_LAYOUT_GENERAL;
  }
  attachments[0].format = VK_FORMAT_R32_SFLOAT, attachments[1].format = deep;
  if (clears)
    attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR, attachments[0].initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  const VkAttachmentReference color{0, VK_IMAGE_LAYOUT_GENERAL}, below{1, VK_IMAGE_LAYOUT_GENERAL};
  VkSubpassDescription part{};
  part.colorAttachmentCount = 1, part.pColorAttachments = &color;
  if (deep) part.pDepthStencilAttachment = &below;
  VkRenderPassCreateInfo info{};
  info.attachmentCount = deep ? 2 : 1, info.pAttachments = attachments;
  info.subpassCount = 1, info.pSubpasses = &part;
  make(device, info, made);
  return made;
}

std::string Counts::add_counts(const Taken& read, const Shot& shot, std::vector<uint32_t>& to) {
  const auto* from = static_cast<const uint8_t*>(read.room.at) + shot.at;
  std::string why;
  const size_t width = shot.width, height = shot.height;
  to.resize(width * height);
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x) {
      float power;
      memcpy(&power, from + (y * width + x) * 4, 4);
      if (power == 0x1p-126f) continue;
      const double count =
          (std::log(static_cast<double>(power)) + 126 * std::log(2.0)) / std::log(static_cast<double>(COUNT_FACTOR));
      if (!(count < MOST))
        why = "a pixel has more fragments than are counted";
      else
        to[(height - 1 - y) * width + x] += static_cast<uint32_t>(std::lround(count));
    }
  return why;
}

void Counts::take(Device&, const std::vector<Tested>&, const std::vector<Taken>& reads) {
  for (auto& read : reads)
    for (size_t i = 0; i < read.shots.size(); ++i) {
      const Plane plane = masks_ ? order_.at(i) : GENERATED;
      if (const std::string why = add_counts(read, read.shots[i], counts_[plane]); !why.empty()) why_[plane] = why;
    }
}

void Counts::write(FILE* to) const { masks_ ? write_masks(to) : write_sum(to); }

void Counts::write_masks(FILE* to) const {
  JsonObject line;
  line.put("found", found_).put("width", size_.width).put("height", size_.height).values("scissor", scissor_);
  auto& out = line.values("viewport", viewport_).writer().list("planes");
  std::string bytes;
  for (size_t p = 0; p < PLANES; ++p) {
    const std::string& why = why_[p].empty() ? why_[as_[p]] : why_[p];
    const auto& counts = counts_[as_[p]];
    const size_t n = why.empty() ? counts.size() : 0;
    out.object().put("name", PLANE_NAMES[p]).put("bytes", n);
    out.put("why", why.empty() ? nullptr : why.c_str()).end();
    for (size_t i = 0; i < n; ++i) bytes += static_cast<char>(std::min(counts[i], 255u));
  }
  out.end();
  put_line(to, line);
  fwrite(bytes.data(), 1, bytes.size(), to);
}

void Counts::write_sum(FILE* to) const {
  const std::string& why = why_[GENERATED].empty() ? why_unknown_ : why_[GENERATED];
  const auto& counts = counts_[GENERATED];
  const bool known = !counts.empty() && why_[GENERATED].empty();
  JsonObject line;
  line.put("width", known ? size_.width : 0).put("height", known ? size_.height : 0).put("draws", draws_);
  put_line(to, line.put("unknown", unknown_).put("why", why.empty() ? nullptr : why.c_str()));
  if (known) fwrite(counts.data(), 4, counts.size(), to);
}

}  // namespace dt::play::vk
