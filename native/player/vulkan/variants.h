// Pipelines like a recorded one that draw nothing and leave out some of its tests.
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
  void add(const ShaderUse& other);
};
ShaderUse use_of(const uint32_t* code, size_t words);

struct KeptPipeline {
  std::shared_ptr<std::vector<std::unique_ptr<uint8_t[]>>> rooms;
  const VkGraphicsPipelineCreateInfo* info = nullptr;
  ShaderUse use;          // of all its stages
  bool fragment = false;  // it has a fragment shader
  bool is_dynamic(VkDynamicState state) const;
  // Why it has no variants; nullptr: it has.
  const char* refused() const;
  // True: this test can keep fragments out.
  bool tests(metrics::PixelTest test) const;
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
};
// nullptr: the driver refuses it.
VkPipeline make_variant(Device& device, const KeptPipeline& of, const VariantWish& wish);

}  // namespace dt::play::vk
