// The primitives that the vertices of a draw become, by its mode (OpenGL 4.6 compatibility profile, 10.1).
#pragma once
#include <stdint.h>

namespace dt {

struct Primitives {
  uint64_t count = 0, triangles = 0;  // a quad is two triangles; points and lines are none
  bool known = true;                  // what patches become is not in the calls
};

inline Primitives primitives_of(uint64_t mode, uint64_t n) {
  const auto less = [n](uint64_t k) { return n > k ? n - k : 0; };
  const auto all_triangles = [](uint64_t count) { return Primitives{count, count}; };
  switch (mode) {
    case 0: return {n};                   // points
    case 1: return {n / 2};               // lines
    case 2: return {n > 1 ? n : 0};       // line loop
    case 3: return {less(1)};             // line strip
    case 4: return all_triangles(n / 3);  // triangles
    case 5:
    case 6: return all_triangles(less(2));                    // strip, fan
    case 7: return {n / 4, n / 4 * 2};                        // quads
    case 8: return {less(2) / 2, less(2) / 2 * 2};            // quad strip
    case 9: return {n >= 3, less(2)};                         // polygon
    case 10: return {n / 4};                                  // lines with adjacency
    case 11: return {less(3)};                                // line strip with adjacency
    case 12: return all_triangles(n / 6);                     // triangles with adjacency
    case 13: return all_triangles(n >= 6 ? (n - 4) / 2 : 0);  // strip with adjacency
    default: return {0, 0, false};
  }
}

}  // namespace dt
