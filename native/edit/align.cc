#include "align.h"

#include <algorithm>
#include <unordered_map>

namespace dt::edit {
namespace {

constexpr size_t MOST_STEPS = 3000;  // of one alignment, before it makes do with less
constexpr size_t WINDOW = 64;

// Two stretches whose first and last elements differ, and where they begin.
struct Stretch {
  const uint64_t* a;
  size_t n;
  const uint64_t* b;
  size_t m;
  uint64_t a0, b0;
};

using Furthest = std::vector<std::vector<long>>;  // by step d: the furthest x on the diagonals from -d - 1 to d + 1

long diagonal_before(const auto& at, long d, long k) {
  return k == -d || (k != d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
}

// The number of steps that lead from one to the other, or -1: more than MOST_STEPS.
long steps_between(const Stretch& s, Furthest& trace) {
  const auto n = static_cast<long>(s.n), m = static_cast<long>(s.m);
  auto most = static_cast<long>(std::min(s.n + s.m, MOST_STEPS));
  std::vector<long> v(static_cast<size_t>(2 * most + 3), 0);
  auto at = [&](long q) -> long& { return v[static_cast<size_t>(q + most + 1)]; };
  for (long d = 0; d <= most; ++d) {
    trace.emplace_back(v.begin() + (most - d), v.begin() + (most + d + 3));
    for (long k = -d; k <= d; k += 2) {
      long before = diagonal_before(at, d, k);
      long x = before > k ? at(before) : at(before) + 1;
      long y = x - k;
      while (x >= 0 && y >= 0 && x < n && y < m && s.a[x] == s.b[y]) ++x, ++y;
      at(k) = x;
      if (x >= n && y >= m) return d;
    }
  }
  return -1;
}

// The pairs of the path that took `steps` steps.
void walk_back(const Stretch& s, const Furthest& trace, long steps, Pairs& out) {
  Pairs back;
  long x = static_cast<long>(s.n), y = static_cast<long>(s.m);
  for (long d = steps; d >= 0; --d) {
    auto& old = trace[static_cast<size_t>(d)];  // before step d
    auto at = [&](long q) { return old[static_cast<size_t>(q + d + 1)]; };
    long before = d > 0 ? diagonal_before(at, d, x - y) : 0;
    long px = d > 0 ? at(before) : 0, py = d > 0 ? px - before : 0;
    while (x > px && y > py) {
      --x, --y;
      back.emplace_back(s.a0 + static_cast<uint64_t>(x), s.b0 + static_cast<uint64_t>(y));
    }
    x = px, y = py;
  }
  out.insert(out.end(), back.rbegin(), back.rend());
}

// Elements that stand once on either side hold the two together (patience diff): the longest rising run of such pairs,
// and between them alignments of their own. False: there are none.
bool anchored(const Stretch& s, Pairs& out) {
  struct Seen {
    uint32_t in_a = 0, in_b = 0;
    size_t at = 0;
  };
  auto [a, n, b, m, a0, b0] = s;
  std::unordered_map<uint64_t, Seen> seen;
  for (size_t i = 0; i < n; ++i) ++seen[a[i]].in_a;
  for (size_t j = 0; j < m; ++j)
    if (auto it = seen.find(b[j]); it != seen.end()) ++it->second.in_b, it->second.at = j;
  std::vector<std::pair<size_t, size_t>> unique;
  for (size_t i = 0; i < n; ++i) {
    auto& entry = seen[a[i]];
    if (entry.in_a == 1 && entry.in_b == 1) unique.emplace_back(i, entry.at);
  }
  if (unique.empty()) return false;
  std::vector<size_t> ends, before(unique.size(), SIZE_MAX);  // the run that ends lowest, by its length
  for (size_t k = 0; k < unique.size(); ++k) {
    auto it = std::lower_bound(ends.begin(), ends.end(), unique[k].second,
                               [&](size_t e, size_t v) { return unique[e].second < v; });
    if (it != ends.begin()) before[k] = *(it - 1);
    if (it == ends.end())
      ends.push_back(k);
    else
      *it = k;
  }
  std::vector<std::pair<size_t, size_t>> run;
  for (size_t k = ends.back(); k != SIZE_MAX; k = before[k]) run.push_back(unique[k]);
  std::reverse(run.begin(), run.end());
  size_t i = 0, j = 0;
  for (auto& [x, y] : run) {
    align(a + i, x - i, b + j, y - j, a0 + i, b0 + j, out);
    out.emplace_back(a0 + x, b0 + y);
    i = x + 1, j = y + 1;
  }
  align(a + i, n - i, b + j, m - j, a0 + i, b0 + j, out);
  return true;
}

// Moves both to the nearest place where they agree again. False: there is none within the window.
bool meet(const Stretch& s, size_t& i, size_t& j) {
  for (size_t sum = 1; sum <= 2 * WINDOW; ++sum)
    for (size_t di = 0; di <= sum; ++di) {
      size_t dj = sum - di;
      if (i + di < s.n && j + dj < s.m && s.a[i + di] == s.b[j + dj]) {
        i += di, j += dj;
        return true;
      }
    }
  return false;
}

void align_roughly(const Stretch& s, Pairs& out) {
  size_t i = 0, j = 0;
  while (i < s.n && j < s.m) {
    if (s.a[i] == s.b[j])
      out.emplace_back(s.a0 + i++, s.b0 + j++);
    else if (!meet(s, i, j))
      ++i, ++j;
  }
}

}  // namespace

void align(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t a0, uint64_t b0, Pairs& out) {
  size_t head = 0;
  while (head < n && head < m && a[head] == b[head]) out.emplace_back(a0 + head, b0 + head), ++head;
  a += head, b += head, n -= head, m -= head, a0 += head, b0 += head;
  size_t tail = 0;
  while (tail < n && tail < m && a[n - 1 - tail] == b[m - 1 - tail]) ++tail;
  n -= tail, m -= tail;
  if (n && m) {
    const Stretch s{a, n, b, m, a0, b0};
    Furthest trace;
    if (long steps = steps_between(s, trace); steps >= 0)
      walk_back(s, trace, steps, out);
    else if (!anchored(s, out))
      align_roughly(s, out);
  }
  for (size_t k = tail; k-- > 0;) out.emplace_back(a0 + n + tail - 1 - k, b0 + m + tail - 1 - k);
}

}  // namespace dt::edit
