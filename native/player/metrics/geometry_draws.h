// The draws that a call makes, their vertices, and the state that decides what becomes of primitives.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "draw_state.h"
#include "geometry_classes.h"
#include "source.h"

namespace dt::play::metrics::geometry {

inline bool contains(const char* name, const char* what) { return strstr(name, what) != nullptr; }

// One draw, or one of many that a call makes.
struct DrawPart {
  uint64_t first = 0, count = 0, instances = 1;
  uint64_t base_instance = 0;
  int64_t base = 0;
  bool indexed = false;
  uint32_t type = 0;
  uint64_t offset = 0;               // into the buffer of indices
  std::span<const uint8_t> indices;  // in the program's memory
};

// Reads a part of the buffer that is bound to a target.
bool read_buffer(uint32_t target, uint64_t offset, uint64_t bytes, std::vector<uint8_t>& to, const char*& why);
// The mode that captures primitives of a mode: points, lines or triangles; ~0: none that are known.
uint32_t captured_mode(uint32_t asked);
// The draws of a call; false: `why` says why it is not known.
bool parts_of(const Call& call, std::vector<DrawPart>& parts, const char*& why);
// The vertices of a part in order; RESTART where a primitive ends.
constexpr uint64_t RESTART = ~0ull;
bool vertices_of(const DrawPart& part, int64_t restart, std::vector<uint64_t>& to, const char*& why);
int64_t restart_index(uint32_t type);
// The state between the last vertex stage and the rasteriser.
// `own_planes`: the planes of the program's own that are on.
void raster_state(Raster& r, unsigned& own_planes);

uint32_t primitive_mode(const Call& draw);
// The number of primitives that the parts make up; -1: it is not known.
int64_t count_primitives(const std::vector<DrawPart>& parts, uint32_t mode);
// The state of each of the program's viewports: `first` is that of number 0.
std::vector<Raster> viewports(const Raster& first);
// Planes of the program's own in front of the eye, as they were transformed when they were given.
std::vector<Position> eye_planes(unsigned own_planes);

}  // namespace dt::play::metrics::geometry
