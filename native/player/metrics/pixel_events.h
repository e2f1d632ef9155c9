// Events of one pixel: values and tests of each call, for OpenGL and Vulkan alike.
#pragma once
#include <cstdint>

#include "../../common/json.h"
#include "pixel_values.h"

namespace dt::play::metrics {

// The tests in their order; each lets through what all before it do, too.
enum PixelTest : uint8_t { COVERS, CULLING, SCISSOR, DISCARD, COVERAGE, STENCIL, DEPTH, PIXEL_TESTS };

struct PixelEvent {
  uint64_t call = 0, until = 0;  // `until`: of a change that happened between two calls, the second of them
  const char* kind = "draw";     // draw, clear, copy, upload, other, between
  PixelValues before, after;
  // Fragments (where `only_any`: 1 for any) that each prefix lets through; -1: nothing is left out by this test.
  int64_t through[PIXEL_TESTS] = {-1, -1, -1, -1, -1, -1, -1};
  uint64_t submit = 0;  // of Vulkan: the call that submits the command; 0: it is made when it is called
  bool only_any = false, tested = false;
  const char* unknown = nullptr;  // why tests are not known
  const char* masked = nullptr;   // what keeps a fragment that passes from being seen
};

bool changed(const PixelValue& before, const PixelValue& behind);
bool any_changed(const PixelEvent& event);
// The values at a draw buffer, as the member `name`.
void write_values(JsonWriter<std::string>& out, const char* name, const PixelValues& values, size_t buffer);
// An element of a list.
void write_event(JsonWriter<std::string>& out, const PixelEvent& event, size_t buffer);

}  // namespace dt::play::metrics
