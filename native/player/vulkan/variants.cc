#include "variants.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "chain.h"
#include "snapshots.h"
#include "spirv.h"

namespace dt::play::vk {
namespace {

bool is_memory(uint32_t storage) {
  return storage == spirv::UNIFORM || storage == spirv::STORAGE || storage == spirv::PHYSICAL;
}

constexpr uint32_t MOST_COUNTED = 1024;  // devices have 16 viewports and 8 colours

constexpr uint32_t NOT_FOR_VARIANTS = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT | VK_PIPELINE_CREATE_DERIVATIVE_BIT |
                                      VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |
                                      VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;

}  // namespace

void ShaderUse::add(const ShaderUse& other) {
  known = known && other.known;
  discards |= other.discards, stores |= other.stores, masks |= other.masks;
  early |= other.early, depths |= other.depths, reads_target |= other.reads_target, float_color |= other.float_color;
}

ShaderUse use_of(const uint32_t* code, size_t words) {
  using namespace spirv;
  ShaderUse use;
  use.known = true;
  use.words = std::make_shared<std::vector<uint32_t>>(code, code + words);
  std::unordered_map<uint32_t, uint32_t> pointers, classes;  // types, and values, by what they point to
  std::unordered_set<uint32_t> floats, at_first, seconds;    // types; by location 0, by index 1
  each_instruction(code, words, [&](const Instruction& i) {
    const uint32_t op = i.op;
    if (op == OP_TYPE_FLOAT) floats.insert(i[1]);
    if ((op == OP_TYPE_VECTOR || op == OP_TYPE_ARRAY) && floats.contains(i[2])) floats.insert(i[1]);
    if (op == OP_TYPE_POINTER && floats.contains(i[3])) floats.insert(i[1]);
    if (op == OP_DECORATE && i[2] == LOCATION && !i[3]) at_first.insert(i[1]);
    if (op == OP_DECORATE && i[2] == INDEX && i[3]) seconds.insert(i[1]);
    if (op == OP_VARIABLE && i[3] == OUTPUT)
      use.float_color |= floats.contains(i[1]) && at_first.contains(i[2]) && !seconds.contains(i[2]);
    use.depths |= op == OP_DECORATE && i[2] == BUILTIN && (i[3] == FRAG_DEPTH || i[3] == FRAG_STENCIL);
    use.reads_target |= op == OP_TYPE_IMAGE && i[3] == SUBPASS_DATA;
    use.early |= op == OP_EXECUTION_MODE && i[2] == EARLY_TESTS;
    if (op == OP_TYPE_POINTER) pointers[i[1]] = i[2];
    if (op >= OP_FIRST_WITH_VALUE && op != OP_DECORATE)
      if (auto type = pointers.find(i[1]); type != pointers.end()) classes[i[2]] = type->second;
    const bool stores = op == OP_STORE || op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED;
    if (stores)
      if (auto to = classes.find(i[1]); to != classes.end()) use.stores |= is_memory(to->second);
    use.stores |= op == OP_IMAGE_WRITE || (op >= OP_ATOMIC_STORE && op <= OP_ATOMIC_XOR) || op == OP_ATOMIC_FMIN ||
                  op == OP_ATOMIC_FMAX || op == OP_ATOMIC_FADD;
    use.discards |= op == OP_KILL || op == OP_TERMINATE || op == OP_DEMOTE;
    use.masks |= op == OP_DECORATE && i[2] == BUILTIN && i[3] == SAMPLE_MASK;
  });
  return use;
}

void Snapshots::keep_pipelines(const Call& c, std::vector<std::unique_ptr<uint8_t[]>>& rooms) {
  if (!looks_) return;
  if (c.number == number::vkCreateShaderModule) {
    const auto* info = c.at<VkShaderModuleCreateInfo>(1);
    modules_[*c.at<VkShaderModule>(3)] = use_of(info->pCode, info->codeSize / 4);
    return;
  }
  auto shared = std::make_shared<std::vector<std::unique_ptr<uint8_t[]>>>(std::move(rooms));
  rooms.clear();
  for (uint64_t i = 0; i < c.arguments[2]; ++i) {
    const auto& info = c.at<VkGraphicsPipelineCreateInfo>(3)[i];
    KeptPipeline kept;
    kept.rooms = shared, kept.info = &info;
    kept.use.known = true;
    for (uint32_t k = 0; info.pStages && k < info.stageCount; ++k) {
      const auto& stage = info.pStages[k];
      kept.fragment |= stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT;
      const auto* own = chained<VkShaderModuleCreateInfo>(stage.pNext);
      const auto it = modules_.find(stage.module);
      const ShaderUse use = it != modules_.end() ? it->second
                            : own                ? use_of(own->pCode, own->codeSize / 4)
                                                 : ShaderUse();
      kept.use.add(use);
      kept.modules.push_back({stage.stage, stage.pName ? stage.pName : "", use.words});
      if (stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT) kept.float_color = use.float_color;
    }
    if (VkPipeline made = c.at<VkPipeline>(5)[i]) pipelines_[made] = std::move(kept);
  }
}

// ---- what a pipeline does -------------------------------------------------------------------------------------

bool KeptPipeline::is_dynamic(VkDynamicState state) const {
  const auto* dynamic = info->pDynamicState;
  return dynamic && std::find(dynamic->pDynamicStates, dynamic->pDynamicStates + dynamic->dynamicStateCount, state) !=
                        dynamic->pDynamicStates + dynamic->dynamicStateCount;
}

const char* KeptPipeline::refused() const {
  const auto* made_of = chained<VkPipelineLibraryCreateInfoKHR>(info->pNext);
  if (made_of && made_of->libraryCount) return "its pipeline is linked of libraries";
  if (!use.known) return "the words of its shaders are not known";
  if (use.stores) return "its shaders write memory: drawn again, they would do so again";
  // Dynamic state has counts without elements. A recording may lie about these, and variants have room for each.
  const auto* view = info->pViewportState;
  const auto* blend = info->pColorBlendState;
  if (view && std::max(view->viewportCount, view->scissorCount) > MOST_COUNTED)
    return "its pipeline has more viewports than any device";
  if (blend && blend->attachmentCount > MOST_COUNTED) return "its pipeline blends more colours than any device";
  return nullptr;
}

bool KeptPipeline::tests(metrics::PixelTest test) const {
  const auto* raster = info->pRasterizationState;
  const auto* many = info->pMultisampleState;
  const auto* deep = info->pDepthStencilState;
  switch (test) {
    case metrics::COVERS: return true;
    case metrics::CULLING: return is_dynamic(VK_DYNAMIC_STATE_CULL_MODE) || (raster && raster->cullMode);
    case metrics::DISCARD: return fragment && use.discards;
    case metrics::COVERAGE:
      return is_dynamic(VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT) ||
             is_dynamic(VK_DYNAMIC_STATE_SAMPLE_MASK_EXT) || (fragment && use.masks) ||
             (many && (many->alphaToCoverageEnable || many->pSampleMask));
    case metrics::STENCIL: return is_dynamic(VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE) || (deep && deep->stencilTestEnable);
    case metrics::DEPTH:
      return is_dynamic(VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE) || is_dynamic(VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE) ||
             (deep && (deep->depthTestEnable || deep->depthBoundsTestEnable));
    default: return false;
  }
}

bool KeptPipeline::needs_fragment(metrics::PixelTest last) const {
  if (!fragment || last < metrics::DISCARD) return false;
  return use.discards || tests(metrics::COVERAGE) || (last >= metrics::STENCIL && use.depths);
}

const char* KeptPipeline::masked(uint32_t color, const VkColorComponentFlags* mask) const {
  const auto* blend = info->pColorBlendState;
  const auto* deep = info->pDepthStencilState;
  if (!is_dynamic(VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT)) {
    if (!blend || !blend->pAttachments || color >= blend->attachmentCount) return nullptr;
    mask = &blend->pAttachments[color].colorWriteMask;
  }
  if (!mask || *mask) return nullptr;
  return deep && deep->depthTestEnable && deep->depthWriteEnable ? "colour is masked" : "colour and depth are masked";
}

// ---- variants -------------------------------------------------------------------------------------------------

namespace {

// The states of a variant, and which of them are not dynamic any more.
struct Parts {
  Parts(const KeptPipeline& of, const VariantWish& wish);
  bool stays(VkDynamicState state) const { return std::find(fixed.begin(), fixed.end(), state) == fixed.end(); }
  void test(const KeptPipeline& of, const VariantWish& wish);
  void count();
  void capture(const KeptPipeline& of, const VariantWish& wish);

  std::vector<VkPipelineShaderStageCreateInfo> stages;
  std::vector<VkRect2D> scissors;
  std::vector<VkPipelineColorBlendAttachmentState> blends;
  std::vector<VkDynamicState> dynamic, fixed;
  VkPipelineViewportStateCreateInfo view{};
  VkPipelineRasterizationStateCreateInfo raster{};
  VkPipelineMultisampleStateCreateInfo many{};
  VkPipelineDepthStencilStateCreateInfo deep{};
  VkPipelineColorBlendStateCreateInfo blend{};
  VkPipelineDynamicStateCreateInfo changes{};
};

void Parts::test(const KeptPipeline& of, const VariantWish& wish) {
  auto fix = [&](std::initializer_list<int64_t> states) {
    for (int64_t each : states) fixed.push_back(static_cast<VkDynamicState>(each));
  };
  if (wish.last < metrics::CULLING) raster.cullMode = 0, fix({VK_DYNAMIC_STATE_CULL_MODE});
  if (wish.last < metrics::COVERAGE) {
    many.alphaToCoverageEnable = 0, many.pSampleMask = nullptr;
    fix({VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT});
  }
  if (wish.last < metrics::STENCIL) deep.stencilTestEnable = 0, fix({VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE});
  if (wish.last < metrics::DEPTH) {
    deep.depthTestEnable = deep.depthBoundsTestEnable = 0;
    fix({VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE, VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE});
  }
  fix({VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT,
       VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT,
       VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT, VK_DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, VK_DYNAMIC_STATE_LOGIC_OP_EXT});
  if (wish.counts) {
    fix({VK_DYNAMIC_STATE_BLEND_CONSTANTS});
  } else {
    deep.depthWriteEnable = 0, deep.front.writeMask = deep.back.writeMask = 0;
    fix({VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE, VK_DYNAMIC_STATE_STENCIL_WRITE_MASK});
    if (!wish.everywhere) fix({VK_DYNAMIC_STATE_SCISSOR, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT});
  }
  const bool own = wish.counts && !of.needs_fragment(wish.last);
  for (uint32_t i = 0; i < of.info->stageCount; ++i)
    if ((wish.last >= metrics::DISCARD && !own) || of.info->pStages[i].stage != VK_SHADER_STAGE_FRAGMENT_BIT)
      stages.push_back(of.info->pStages[i]);
  if (!own) return;
  VkPipelineShaderStageCreateInfo& writes = stages.emplace_back();
  writes.stage = VK_SHADER_STAGE_FRAGMENT_BIT, writes.module = wish.fragment, writes.pName = "main";
}

// Without the rasteriser, and with the shader that captures.
void Parts::capture(const KeptPipeline& of, const VariantWish& wish) {
  raster.rasterizerDiscardEnable = 1;
  fixed.push_back(VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
  blend.attachmentCount = 0;
  for (uint32_t i = 0; i < of.info->stageCount; ++i) {
    VkPipelineShaderStageCreateInfo stage = of.info->pStages[i];
    if (stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT) continue;
    if (stage.stage == wish.captures) {
      stage.module = wish.fragment;
      if (chained<VkShaderModuleCreateInfo>(stage.pNext)) stage.pNext = nullptr;
    }
    stages.push_back(stage);
  }
}

// Each fragment multiplies its pixel by a constant, whatever the fragment shader gives.
void Parts::count() {
  blends.assign(1, {});
  VkPipelineColorBlendAttachmentState& by = blends.front();
  by.blendEnable = 1;
  by.srcColorBlendFactor = by.srcAlphaBlendFactor = VK_BLEND_FACTOR_ZERO;
  by.dstColorBlendFactor = VK_BLEND_FACTOR_CONSTANT_COLOR, by.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  by.colorWriteMask = VK_COLOR_COMPONENT_R_BIT;
  std::fill(std::begin(blend.blendConstants), std::end(blend.blendConstants), COUNT_FACTOR);
}

Parts::Parts(const KeptPipeline& of, const VariantWish& wish) {
  const VkGraphicsPipelineCreateInfo& info = *of.info;
  many.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  if (info.pViewportState) view = *info.pViewportState;
  if (info.pRasterizationState) raster = *info.pRasterizationState;
  if (info.pMultisampleState) many = *info.pMultisampleState;
  if (info.pDepthStencilState) deep = *info.pDepthStencilState;
  scissors.assign(wish.scissors, wish.scissor);
  if (!wish.counts && !wish.everywhere) view.scissorCount = wish.scissors, view.pScissors = scissors.data();
  const uint32_t colors = info.pColorBlendState ? info.pColorBlendState->attachmentCount : 0;
  wish.counts ? count() : blends.resize(std::max(colors, wish.colors));
  blend.attachmentCount = static_cast<uint32_t>(blends.size()), blend.pAttachments = blends.data();
  wish.captures ? capture(of, wish) : test(of, wish);
  if (const auto* all = info.pDynamicState)
    std::copy_if(all->pDynamicStates, all->pDynamicStates + all->dynamicStateCount, std::back_inserter(dynamic),
                 [&](VkDynamicState each) { return stays(each); });
  changes.dynamicStateCount = static_cast<uint32_t>(dynamic.size()), changes.pDynamicStates = dynamic.data();
}

}  // namespace

VkPipeline make_variant(Device& device, const KeptPipeline& of, const VariantWish& wish) {
  Parts parts(of, wish);
  VkGraphicsPipelineCreateInfo info = *of.info;
  info.flags &= ~NOT_FOR_VARIANTS;
  info.stageCount = static_cast<uint32_t>(parts.stages.size()), info.pStages = parts.stages.data();
  info.pViewportState = &parts.view, info.pRasterizationState = &parts.raster, info.pMultisampleState = &parts.many;
  info.pDepthStencilState = &parts.deep, info.pColorBlendState = &parts.blend, info.pDynamicState = &parts.changes;
  if (info.renderPass || wish.counts || wish.captures) info.renderPass = wish.pass, info.subpass = wish.subpass;
  info.basePipelineHandle = nullptr, info.basePipelineIndex = -1;
  VkPipeline made = nullptr;
  const VkResult result = DT_VK(device, vkCreateGraphicsPipelines)(device.device, nullptr, 1, &info, nullptr, &made);
  return result == VK_SUCCESS ? made : nullptr;
}

}  // namespace dt::play::vk
