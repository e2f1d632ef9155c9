// What the buffers hold that the next draw would read.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../mirror/gl_state.h"

namespace dt::play {

struct BufferContent {
  std::string use;    // vertex, index, uniform2 (the binding), storage0, indirect ...
  uint32_t name = 0;  // the driver's
  std::vector<uint8_t> bytes;
};

// Reads the buffers that arrays that are on, indices and blocks come from in the current context, each once a use. What
// is there and cannot be read is said in `why`. State that the program sees is left as it was.
std::vector<BufferContent> read_buffers(GlContext* c, std::vector<std::string>& why);

}  // namespace dt::play
