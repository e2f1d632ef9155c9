#include "geometry_classes.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace dt::play::metrics {
namespace {

enum : unsigned { LEFT = 1, RIGHT = 2, BOTTOM = 4, TOP = 8, NEAR = 16, FAR = 32 };
constexpr unsigned PLANES[] = {LEFT, RIGHT, BOTTOM, TOP, NEAR, FAR};

// A corner with its distances to planes of the program's own.
struct Corner {
  Position at{};
  std::array<double, Own::MOST> own{};
};

// The distance inside of a plane: below 0 it is outside.
double inside(const Position& p, unsigned plane, bool zero_to_one) {
  switch (plane) {
    case LEFT: return p[3] + p[0];
    case RIGHT: return p[3] - p[0];
    case BOTTOM: return p[3] + p[1];
    case TOP: return p[3] - p[1];
    case NEAR: return zero_to_one ? p[2] : p[3] + p[2];
    default: return p[3] - p[2];
  }
}
unsigned planes(const Raster& state) { return LEFT | RIGHT | BOTTOM | TOP | (state.depth_clamp ? 0u : NEAR | FAR); }
// Bits of the planes that it is beyond; the program's own planes are behind the six.
constexpr unsigned FIRST_OWN = 64;
unsigned outside(const Position& p, const Raster& state, const Own& own, size_t corner) {
  unsigned code = 0;
  for (unsigned plane : PLANES)
    if (planes(state) & plane && inside(p, plane, state.zero_to_one) < 0) code |= plane;
  for (int i = 0; i < own.planes; ++i)
    if (own.distances[corner][static_cast<size_t>(i)] < 0) code |= FIRST_OWN << i;
  return code;
}
bool finite(const Position& p) {
  return std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]) && std::isfinite(p[3]);
}

struct Polygon {  // a triangle cut by six planes, and by the program's own planes
  static constexpr int MOST = 3 + 6 + Own::MOST + 3;
  Corner at[MOST];
  int n = 0;
};

template <typename F> void cut(Polygon& polygon, F distance) {
  Polygon kept;
  for (int i = 0; i < polygon.n; ++i) {
    const Corner &a = polygon.at[i], &b = polygon.at[(i + 1) % polygon.n];
    double da = distance(a), db = distance(b);
    if (da >= 0) kept.at[kept.n++] = a;
    if ((da < 0) != (db < 0) && kept.n < Polygon::MOST) {
      double t = da / (da - db);
      Corner& p = kept.at[kept.n++];
      for (size_t k = 0; k < 4; ++k) p.at[k] = a.at[k] + t * (b.at[k] - a.at[k]);
      for (size_t k = 0; k < p.own.size(); ++k) p.own[k] = a.own[k] + t * (b.own[k] - a.own[k]);
    }
    if (kept.n >= Polygon::MOST) break;
  }
  polygon = kept;
}

double area(const Polygon& polygon, const Raster& state) {
  double twice = 0;
  const Position& o = polygon.at[0].at;
  if (!(o[3] > 0)) return 0;
  double ox = o[0] / o[3], oy = o[1] / o[3];
  for (int i = 1; i + 1 < polygon.n; ++i) {
    const Position &a = polygon.at[i].at, &b = polygon.at[i + 1].at;
    if (!(a[3] > 0) || !(b[3] > 0)) return 0;
    twice += (a[0] / a[3] - ox) * (b[1] / b[3] - oy) - (b[0] / b[3] - ox) * (a[1] / a[3] - oy);
  }
  return std::fabs(twice) / 2 * (state.width / 2) * (state.height / 2);
}

// Returns whether moving each corner by as much as drivers round it may turn the polygon round. Then its area changes
// by no more than half of the product of that and the sum of its sides, along both axes.
bool turns(const Polygon& polygon, double pixels, const Raster& state) {
  const double most = state.rounding, more = 4 * most * most;
  if (pixels > most * (state.width + state.height) + more) return false;  // no polygon in there has a longer outline
  double sides = 0;
  for (int i = 0; i < polygon.n; ++i) {
    const Position &a = polygon.at[i].at, &b = polygon.at[(i + 1) % polygon.n].at;
    sides += std::fabs(a[0] / a[3] - b[0] / b[3]) * state.width / 2 +
             std::fabs(a[1] / a[3] - b[1] / b[3]) * state.height / 2;
  }
  return pixels <= most * sides / 2 + more;
}

void arrived(const Raster& state, bool crosses, int corners, Classes& to) {
  if (state.discards) {
    ++to.discarded;
    return;
  }
  ++to.rasterised;
  if (crosses) ++to.clipped;
  to.corners += static_cast<uint64_t>(corners);
}

}  // namespace

void Classes::add(const Classes& o) {
  submitted += o.submitted, degenerate += o.degenerate, outside += o.outside, backface += o.backface;
  discarded += o.discarded, rasterised += o.rasterised, clipped += o.clipped, corners += o.corners,
      triangles += o.triangles, area += o.area, in_doubt += o.in_doubt;
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] += o.sizes[i];
}

int orientation(const Position& a, const Position& b, const Position& c) {
  // Sure in double precision nearly always.
  double p0 = b[1] * c[3] - b[3] * c[1], p1 = b[3] * c[0] - b[0] * c[3], p2 = b[0] * c[1] - b[1] * c[0];
  double det = a[0] * p0 + a[1] * p1 + a[3] * p2;
  double size = std::fabs(a[0]) * (std::fabs(b[1] * c[3]) + std::fabs(b[3] * c[1])) +
                std::fabs(a[1]) * (std::fabs(b[3] * c[0]) + std::fabs(b[0] * c[3])) +
                std::fabs(a[3]) * (std::fabs(b[0] * c[1]) + std::fabs(b[1] * c[0]));
  if (std::fabs(det) > size * 1e-14) return det > 0 ? 1 : -1;
  using Wide = __float128;
  auto w = [](double v) { return static_cast<Wide>(v); };
  Wide exact = w(a[0]) * (w(b[1]) * w(c[3]) - w(b[3]) * w(c[1])) + w(a[1]) * (w(b[3]) * w(c[0]) - w(b[0]) * w(c[3])) +
               w(a[3]) * (w(b[0]) * w(c[1]) - w(b[1]) * w(c[0]));
  return exact > 0 ? 1 : exact < 0 ? -1 : 0;
}

void classify_point(const Position& p, const Raster& state, Classes& to, const Own& own) {
  ++to.submitted;
  if (!finite(p) || p[3] == 0)
    ++to.degenerate;
  else if (own.culled || outside(p, state, own, 0))
    ++to.outside;
  else
    arrived(state, false, 1, to);
}

void classify_line(const Position& a, const Position& b, const Raster& state, Classes& to, const Own& own) {
  ++to.submitted;
  // Both ends at one place on the screen: products of two single-precision numbers are exact.
  bool same = a[0] * b[3] == b[0] * a[3] && a[1] * b[3] == b[1] * a[3];
  if (!finite(a) || !finite(b) || (same && (a[3] > 0) == (b[3] > 0))) {
    ++to.degenerate;
    return;
  }
  unsigned ca = outside(a, state, own, 0), cb = outside(b, state, own, 1);
  double from = 0, until = 1;
  auto shorten = [&](double da, double db) {
    if (da < 0 && db < 0)
      until = -1;
    else if (da < 0)
      from = std::max(from, da / (da - db));
    else
      until = std::min(until, da / (da - db));
  };
  for (unsigned plane : PLANES)
    if ((ca | cb) & plane) shorten(inside(a, plane, state.zero_to_one), inside(b, plane, state.zero_to_one));
  for (int i = 0; i < own.planes; ++i)
    if ((ca | cb) & FIRST_OWN << i)
      shorten(own.distances[0][static_cast<size_t>(i)], own.distances[1][static_cast<size_t>(i)]);
  if (own.culled || from >= until)
    ++to.outside;
  else
    arrived(state, ca | cb, 2, to);
}

void classify_triangle(const Position& a, const Position& b, const Position& c, const Raster& state, Classes& to,
                       const Own& own) {
  ++to.submitted;
  if (!finite(a) || !finite(b) || !finite(c) || a == b || b == c || a == c) {
    ++to.degenerate;
    return;
  }
  int facing = orientation(a, b, c);
  if (!facing) {
    ++to.degenerate;
    return;
  }
  unsigned ca = outside(a, state, own, 0), cb = outside(b, state, own, 1), cc = outside(c, state, own, 2);
  if (own.culled || ca & cb & cc) {
    ++to.outside;
    return;
  }
  Polygon polygon{{{a, own.distances[0]}, {b, own.distances[1]}, {c, own.distances[2]}}, 3};
  for (unsigned plane : PLANES)
    if ((ca | cb | cc) & plane) cut(polygon, [&](const Corner& p) { return inside(p.at, plane, state.zero_to_one); });
  for (int i = 0; i < own.planes; ++i)
    if ((ca | cb | cc) & FIRST_OWN << i) cut(polygon, [i](const Corner& p) { return p.own[static_cast<size_t>(i)]; });
  double pixels = polygon.n < 3 ? 0 : area(polygon, state);
  bool nothing = (ca | cb | cc) && (polygon.n < 3 || (pixels <= 0 && state.width > 0 && state.height > 0));
  if (nothing) {
    ++to.outside;
    return;
  }
  if (state.cull_front != state.cull_back && turns(polygon, pixels, state)) ++to.in_doubt;
  bool front = (facing > 0) != state.front_clockwise;
  if (front ? state.cull_front : state.cull_back) {
    ++to.backface;
    return;
  }
  arrived(state, ca | cb | cc, polygon.n, to);
  if (state.discards) return;
  ++to.triangles;
  to.area += pixels;
  size_t size = 0;
  for (double most = 1; size + 1 < to.sizes.size() && pixels >= most; most *= 4) ++size;
  ++to.sizes[size];
}

CacheUse cache_use(const std::vector<uint32_t>& indices) {
  CacheUse use;
  use.accesses = indices.size();
  if (indices.empty()) return use;
  // A first-in-first-out cache of N has what was fetched with one of its last N misses.
  struct Seen {
    uint64_t at_16 = 0, at_32 = 0;  // miss that fetched it, from 1
  };
  auto [low, high] = std::minmax_element(indices.begin(), indices.end());
  uint64_t misses_16 = 0, misses_32 = 0;
  auto visit = [&](Seen& seen) {
    if (!seen.at_16) ++use.distinct;
    if (seen.at_16 && misses_16 - seen.at_16 < 16)
      ++use.hits_16;
    else
      seen.at_16 = ++misses_16;
    if (seen.at_32 && misses_32 - seen.at_32 < 32)
      ++use.hits_32;
    else
      seen.at_32 = ++misses_32;
  };
  uint64_t span = static_cast<uint64_t>(*high) - *low + 1;
  if (span <= 4 * indices.size() + 4096) {
    std::vector<Seen> seen(span);
    for (uint32_t i : indices) visit(seen[i - *low]);
  } else {
    std::unordered_map<uint32_t, Seen> seen;
    for (uint32_t i : indices) visit(seen[i]);
  }
  return use;
}

}  // namespace dt::play::metrics
