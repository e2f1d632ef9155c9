// The content of the buffers that the next draw would read.
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

// Reads the buffers that arrays that are on, indices and blocks come from in the current context, each once a use.
// `why` names the ones that cannot be read. State that the program sees is left as it was.
std::vector<BufferContent> read_buffers(GlContext* c, std::vector<std::string>& why);

// Reads one buffer, by the driver's name; returns why it cannot be read, "" where it was.
std::string read_buffer(GlContext* c, uint32_t name, std::vector<uint8_t>& bytes);

// Returns the uses of a buffer in the context as a list of JSON. The uses are {"use": "vertex", name, size, type,
// stride, offset, normalized, divisor}, {"use": "index"} and {"use": "indirect"}. Others are {"use": "uniform" or
// "storage", name, binding, offset, bytes, "members": [{name, type, count, offset, stride, matrix_stride, rows,
// outer_count, outer_stride}]}. Types are OpenGL's numbers, distances bytes.
std::string buffer_uses(GlContext* c, uint32_t name);

}  // namespace dt::play
