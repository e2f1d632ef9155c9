// The plan for a command buffer and the vertices of one draw: what is read before it, and how it is captured.
#pragma once
#include "vertices.h"
#include "walk.h"

namespace dt::play::vk {

class VertexPlan : public Walk {
 public:
  VertexPlan(const Submitted& of, Vertices& vertices) : Walk(of, vertices), vertices_(vertices) {}
  void before(size_t at) override;

 private:
  struct Bound {
    VkBuffer buffer = nullptr;
    uint64_t from = 0, bytes = VK_WHOLE_SIZE, stride = VK_WHOLE_SIZE;  // whole: what the pipeline says
  };
  void draw(size_t at);
  std::string capture(size_t at, const KeptPipeline& kept, Copier::Counting& to);
  std::string numbers(size_t at, Taken& taken);
  std::string multi(const KeptCommand& command);
  std::string indices(size_t at, Taken& taken);
  void attributes(size_t at, const KeptPipeline& kept, Taken& taken);
  void raster(const KeptPipeline& kept);
  std::map<uint32_t, Bound> bound(size_t at) const;  // vertex buffers by binding
  Vertices::Part part(const Bound& of, uint64_t most, Taken& taken) const;

  Vertices& vertices_;
};

}  // namespace dt::play::vk
