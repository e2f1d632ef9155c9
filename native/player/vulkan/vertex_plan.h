// The plan for a command buffer and the vertices of draws: what is read before each, and how it is captured.
#pragma once
#include "vertices.h"
#include "walk.h"

namespace dt::play::vk {

class VertexPlan : public Walk {
 public:
  VertexPlan(const Submitted& of, Vertices& vertices) : Walk(of, vertices), vertices_(vertices) {}
  void before(size_t at) override;
  void behind(size_t at) override;

 private:
  struct Bound {
    VkBuffer buffer = nullptr;
    uint64_t from = 0, bytes = VK_WHOLE_SIZE, stride = VK_WHOLE_SIZE;  // whole: what the pipeline says
  };
  void draw(size_t at);
  bool is_asked(const KeptCommand& command);
  const Vertices::Captures& shader(const KeptPipeline& kept, const KeptModule*& last);
  uint64_t most_primitives(size_t at) const;
  std::string capture(size_t at, const KeptPipeline& kept, Copier::Counting& to);
  std::string numbers(size_t at, Taken& taken);
  std::string multi(const KeptCommand& command);
  std::string indices(size_t at, Taken& taken);
  void attributes(size_t at, const KeptPipeline& kept, Taken& taken);
  void raster(const KeptPipeline& kept);
  std::map<uint32_t, Bound> bound(size_t at) const;  // vertex buffers by binding
  Vertices::Part part(const Bound& of, uint64_t most, Taken& taken) const;

  Vertices& vertices_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> asked_;  // numbers of draws, by call and earlier runs
  bool numbers_known_ = false;
  Vertices::Drawn* now_ = nullptr;  // the draw that comes
  size_t number_ = 0;
  VkFramebuffer framebuffer_ = nullptr;
  Room chunk_;
  uint64_t chunk_bytes_ = 0, chunk_used_ = 0;
  VkQueryPool queries_ = nullptr;
  uint32_t queries_used_ = 0;
};

}  // namespace dt::play::vk
