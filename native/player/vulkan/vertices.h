// The vertices of one draw, or of all draws of a render pass: what goes into the pipeline, and the positions behind the
// last stage before the rasteriser.
//
// The copy of the command buffer reads the buffers that a draw reads, and performs the draw once more with a variant
// of its pipeline whose positions transform feedback captures.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "../metrics/mesh.h"
#include "question.h"

namespace dt::play::vk {

class Vertices : public Question {
 public:
  // The request may have `draws` of one submission: objects with draw, and `again`: how often it runs there before.
  bool ask(const Json& request) override;
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
  struct Drawn {
    uint64_t draw = 0, again = 0;
    metrics::Mesh mesh;
    std::string why, why_in;
    std::vector<Attribute> attributes;
    Numbers numbers;
    bool indexed = false, restarts = false;
    Part indirect, indices;      // the first: where the numbers are, else they are known
    uint64_t indices_begin = 0;  // the index that the part begins with
    uint32_t index_bytes = 0, topology = 0;
    bool own_primitives = false;  // later stages make them
    const void* captured = nullptr;
    uint64_t room = 0;  // of what is captured
    VkQueryPool queries = nullptr;
    uint32_t query = 0;
    metrics::Raster raster;
    void take(Device& device, const uint8_t* from);

   private:
    bool take_indices(const uint8_t* from);
    void take_attribute(const Attribute& of, const uint8_t* from);
    void take_positions(Device& device);
    void place();
  };
  // A shader that captures, and what it is made of.
  struct Captures {
    std::shared_ptr<const std::vector<uint32_t>> words;
    std::string entry, why;
    uint32_t model = 0, corners = 0;
    VkShaderModule module = nullptr;
  };
  VkRenderPass pass(Device& device);  // without images; nullptr: the driver refuses it

  bool many_ = false;  // draws of a pass, without attributes
  std::deque<Drawn> draws_;
  std::map<uint64_t, uint64_t> seen_;  // how often each draw ran in the submission
  size_t left_ = 0;                    // draws that did not run yet
  uint64_t captured_ = 0;              // bytes, in all
  VkRenderPass pass_ = nullptr;
  std::deque<Captures> shaders_;
};

}  // namespace dt::play::vk
