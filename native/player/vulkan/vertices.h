// The vertices of one draw: what goes into its pipeline, and the positions behind the last stage before the rasteriser.
//
// The copy of the command buffer reads the buffers that the draw reads, and performs the draw once more with a variant
// of its pipeline whose positions transform feedback captures.
#pragma once
#include <list>
#include <string>
#include <vector>

#include "../metrics/mesh.h"
#include "question.h"

namespace dt::play::vk {

class Vertices : public Question {
 public:
  std::unique_ptr<Plan> plan(const Submitted& of) override;
  void take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) override;
  void write(FILE* to) const override;

 private:
  friend class VertexPlan;
  // Bytes of a buffer, by their place in the room; no bytes: there are none.
  struct Part {
    uint64_t at = 0, bytes = 0;
  };
  struct Attribute {
    std::string name, why;
    VkFormat format = VK_FORMAT_UNDEFINED;
    Part of;
    uint64_t offset = 0, stride = 0;
    bool by_instance = false;
    uint32_t divisor = 1;
  };
  // A draw's numbers, as its structures have them.
  struct Numbers {
    uint32_t count = 0, instances = 0, first = 0, base_instance = 0;
    int32_t added = 0;  // to indices
  };
  void take_inputs(const uint8_t* room);
  bool take_indices(const uint8_t* room);
  void take_attribute(const Attribute& of, const uint8_t* room);
  void take_positions(Device& device);
  void place();
  VkRenderPass pass(Device& device);  // without images; nullptr: the driver refuses it

  metrics::Mesh mesh_;
  std::string why_, why_in_;
  std::vector<Attribute> attributes_;
  Numbers numbers_;
  bool indexed_ = false, restarts_ = false;
  Part indirect_, indices_;  // the first: where the numbers are, else they are known
  uint32_t index_bytes_ = 0, topology_ = 0;
  bool own_primitives_ = false;  // later stages make them
  const void* captured_ = nullptr;
  uint64_t room_ = 0;  // of what is captured
  VkQueryPool queries_ = nullptr;
  metrics::Raster raster_;
  VkRenderPass pass_ = nullptr;
  std::list<VkShaderModule> modules_;  // which stay where they are
};

}  // namespace dt::play::vk
