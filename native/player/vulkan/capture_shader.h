// Shaders of the last stage before the rasteriser, changed so that transform feedback captures their positions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dt::play::vk {

struct CaptureShader {
  std::vector<uint32_t> words;
  uint32_t corners = 0;  // of a primitive that the stage itself makes; 0: the topology says so
  std::string why;       // there is none
};
// `model`: of the entry point, a `spirv::Model`.
CaptureShader capture_shader(const std::vector<uint32_t>& words, const std::string& entry, uint32_t model);

// The names of a vertex shader's inputs, by location; those without a name are not there.
std::vector<std::pair<uint32_t, std::string>> input_names(const std::vector<uint32_t>& words);

}  // namespace dt::play::vk
