// Pipelines like a recorded one that leave out some of its tests, and draw nothing or count fragments.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../metrics/pixel_events.h"
#include "objects.h"

namespace dt::play::vk {

// The use of shaders, by their words.
struct ShaderUse {
  bool known = false, discards = false, stores = false, masks = false;
  bool depths = false;                                 // it gives depth or stencil itself
  bool reads_target = false;                           // as an input attachment
  bool early = false;                                  // it tests before the shader runs
  bool float_color = false;                            // it has an output at location 0 of floating-point numbers
  std::shared_ptr<const std::vector<uint32_t>> words;  // of one shader
  void add(const ShaderUse& other);
};
ShaderUse use_of(const uint32_t* code, size_t words);

// A stage of a pipeline.
struct KeptModule {
  VkShaderStageFlagBits stage{};
  std::string entry;
  std::shared_ptr<const std::vector<uint32_t>> words;  // nullptr: they are not known
};

struct KeptPipeline {
  std::shared_ptr<std::vector<std::unique_ptr<uint8_t[]>>> rooms;
  const VkGraphicsPipelineCreateInfo* info = nullptr;
  ShaderUse use;             // of all its stages
  bool fragment = false;     // it has a fragment shader
  bool float_color = false;  // which has such an output
  std::vector<KeptModule> modules;
  bool is_dynamic(VkDynamicState state) const;
  // Why it has no variants; nullptr: it has.
  const char* refused() const;
  // True: this test can keep fragments out.
  bool tests(metrics::PixelTest test) const;
  // True: up to this test, the fragment shader itself is needed.
  bool needs_fragment(metrics::PixelTest last) const;
  // The reason why a fragment that passes does not change a colour; `mask` is the dynamic one of this colour, if it is
  // known.
  const char* masked(uint32_t color, const VkColorComponentFlags* mask) const;
};

struct VariantWish {
  metrics::PixelTest last = metrics::COVERS;  // this test and all before it are made
  VkRect2D scissor{};
  uint32_t scissors = 1, colors = 0;  // colours of the subpass
  VkRenderPass pass = nullptr;        // that it is used in
  uint32_t subpass = 0;
  // Fragments are counted: each one multiplies the only colour by COUNT_FACTOR. Depth and stencil are written, and the
  // scissor is the program's. `fragment` stands for the fragment shader where this is not needed.
  bool counts = false;
  bool everywhere = false;  // the scissor is the program's, too, where nothing is drawn
  VkShaderModule fragment = nullptr;
  // Nothing is rasterised: transform feedback captures what this stage gives, and `fragment` stands for its shader.
  VkShaderStageFlagBits captures{};
};
constexpr float COUNT_FACTOR = 1.0078125f;
// nullptr: the driver refuses it.
VkPipeline make_variant(Device& device, const KeptPipeline& of, const VariantWish& wish);

}  // namespace dt::play::vk
