// The fate of a primitive between the last vertex stage and the rasteriser, from its clip coordinates alone.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt::play::metrics {

// The state that decides it.
struct Raster {
  double width = 0, height = 0;  // of the viewport, pixels
  bool zero_to_one = false;      // clip control: the near plane is z = 0
  bool depth_clamp = false;      // neither near nor far plane
  bool cull_front = false, cull_back = false;
  bool front_clockwise = false;
  bool discards = false;      // nothing that arrives leaves a trace
  bool discards_all = false;  // the same, whatever the viewport
  double rounding = 0;        // the number of pixels by which a driver may move a corner, to and fro and up and down
};

// Every primitive is one of: degenerate, outside, facing away, discarded, rasterised. `clipped` are some of the last
// two kinds, those rasterised only.
struct Classes {
  static constexpr int SIZES = 7;
  uint64_t submitted = 0, degenerate = 0, outside = 0, backface = 0, discarded = 0, rasterised = 0, clipped = 0;
  uint64_t corners = 0;                 // of those rasterised, of the part inside of the view volume
  uint64_t triangles = 0;               // among those rasterised
  uint64_t in_doubt = 0;                // where one face is culled, those that rounding may turn round
  double area = 0;                      // of these, pixels inside of the viewport
  std::array<uint64_t, SIZES> sizes{};  // of these, by area: below 1, 4, 16, 64, 256, 1024 pixels, larger
  void add(const Classes& other);
};

using Position = std::array<double, 4>;

// The program's own clipping: distances of each corner to `planes` planes, outside below 0.
struct Own {
  static constexpr int MOST = 8;
  int planes = 0;
  std::array<std::array<double, MOST>, 3> distances{};
  bool culled = false;  // as a whole, by distances that are for that
};

void classify_point(const Position& p, const Raster& state, Classes& to, const Own& own = {});
void classify_line(const Position& a, const Position& b, const Raster& state, Classes& to, const Own& own = {});
void classify_triangle(const Position& a, const Position& b, const Position& c, const Raster& state, Classes& to,
                       const Own& own = {});

// The sign of the determinant of x, y, w of three positions: which way a triangle faces, even where it reaches behind
// the eye. Products of three single-precision numbers are added without loss as long as they differ by less than 2^40.
int orientation(const Position& a, const Position& b, const Position& c);

// Primitives of a mode of glBegin from vertices in order (quads and polygons as triangles): `each` gets 1, 2 or 3
// numbers.
template <typename F> bool assemble(uint32_t mode, std::size_t n, F&& each) {
  switch (mode) {
    case 0:  // GL_POINTS
      for (std::size_t i = 0; i < n; ++i) each(1, i, i, i);
      return true;
    case 1:  // GL_LINES
      for (std::size_t i = 0; i + 1 < n; i += 2) each(2, i, i + 1, i);
      return true;
    case 2:  // GL_LINE_LOOP
    case 3:  // GL_LINE_STRIP
      for (std::size_t i = 0; i + 1 < n; ++i) each(2, i, i + 1, i);
      if (mode == 2 && n > 1) each(2, n - 1, std::size_t{0}, std::size_t{0});
      return true;
    case 4:  // GL_TRIANGLES
      for (std::size_t i = 0; i + 2 < n; i += 3) each(3, i, i + 1, i + 2);
      return true;
    case 5:  // GL_TRIANGLE_STRIP
      for (std::size_t i = 0; i + 2 < n; ++i) each(3, i + (i & 1), i + 1 - (i & 1), i + 2);
      return true;
    case 6:  // GL_TRIANGLE_FAN
    case 9:  // GL_POLYGON
      for (std::size_t i = 1; i + 1 < n; ++i) each(3, std::size_t{0}, i, i + 1);
      return true;
    case 7:  // GL_QUADS
      for (std::size_t i = 0; i + 3 < n; i += 4) each(3, i, i + 1, i + 2), each(3, i, i + 2, i + 3);
      return true;
    case 8:  // GL_QUAD_STRIP
      for (std::size_t i = 0; i + 3 < n; i += 2) each(3, i, i + 1, i + 3), each(3, i, i + 3, i + 2);
      return true;
    default: return false;
  }
}

// The load of an index stream on a cache of transformed vertices that starts empty.
struct CacheUse {
  uint64_t accesses = 0, hits_16 = 0, hits_32 = 0, distinct = 0;
};
CacheUse cache_use(const std::vector<uint32_t>& indices);

}  // namespace dt::play::metrics
