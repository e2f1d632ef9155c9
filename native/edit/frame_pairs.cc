#include "frame_pairs.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace dt::edit {
namespace {

constexpr size_t MOST_CELLS = 1u << 20;  // of one table of scores
constexpr size_t MOST_JOINED = 4;        // frames of one side that stand for one of the other
constexpr size_t RARE = 8;               // frames of a side that may have a call which tells frames apart
constexpr uint32_t RARE_COUNTS = 4;      // how many calls of the same function such a call is worth

using Count = std::pair<uint64_t, uint32_t>;

// The number of calls of each function in a frame, in order of their hashes.
std::vector<Count> functions_of(const Frames& s, size_t frame) {
  std::vector<uint64_t> all(s.name.begin() + static_cast<long>(s.first[frame]),
                            s.name.begin() + static_cast<long>(s.first[frame + 1]));
  std::sort(all.begin(), all.end());
  std::vector<Count> out;
  for (uint64_t f : all)
    if (!out.empty() && out.back().first == f)
      ++out.back().second;
    else
      out.emplace_back(f, 1);
  return out;
}

// Calls of the same function that two frames have, each counted once.
uint32_t common(const std::vector<Count>& a, const std::vector<Count>& b) {
  uint32_t sum = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (i->first == j->first) sum += std::min(i->second, j->second);
    bool left = i->first <= j->first, right = j->first <= i->first;
    i += left, j += right;
  }
  return sum;
}

std::vector<Count> joined(const std::vector<Count>& a, const std::vector<Count>& b) {
  std::vector<Count> out;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first))
      out.push_back(*i++);
    else if (i == a.end() || j->first < i->first)
      out.push_back(*j++);
    else
      out.emplace_back(i->first, i->second + j->second), ++i, ++j;
  }
  return out;
}

// Frames x..x+n of one side, y..y+m of the other, none of which has an equal: the pairing in which most calls go
// together. Frames whose ends one side lacks stand in one frame of it, which goes with the last of them.
class FrameStretch {
 public:
  FrameStretch(const Frames& a, size_t x, size_t n, const Frames& b, size_t y, size_t m)
      : a_(a), b_(b), x_(x), y_(y), n_(n), m_(m), band_(std::max<size_t>(MOST_CELLS / (n + 1), 8)) {
    for (size_t i = 0; i < n; ++i) in_a_.push_back(functions_of(a, x + i));
    for (size_t j = 0; j < m; ++j) in_b_.push_back(functions_of(b, y + j));
    width_ = std::min(m + 1, band_);
    count_rare();
  }

  void pair(Pairs& out) {
    fill();
    Pairs back;
    size_t i = n_, j = m_;
    while (i || j) {
      Step step = steps_[at(i, j)];
      if (!step.a && !step.b) step = i ? Step{1, 0} : Step{0, 1};  // beside the band
      if (step.a && step.b) back.emplace_back(x_ + i - 1, y_ + j - 1);
      for (size_t k = step.b ? 1 : 0; k < step.a; ++k) back.emplace_back(x_ + i - 1 - k, NONE);
      for (size_t k = step.a ? 1 : 0; k < step.b; ++k) back.emplace_back(NONE, y_ + j - 1 - k);
      i -= step.a, j -= step.b;
    }
    out.insert(out.end(), back.rbegin(), back.rend());
  }

 private:
  struct Step {
    uint8_t a = 0, b = 0;  // frames of either side that the last step took
  };

  // The table is a band around the diagonal where the whole has too many cells.
  size_t begin(size_t i) const {
    if (width_ == m_ + 1) return 0;
    size_t middle = i * m_ / n_;
    return std::min(middle > width_ / 2 ? middle - width_ / 2 : 0, m_ + 1 - width_);
  }
  bool has(size_t i, size_t j) const { return j >= begin(i) && j < begin(i) + width_; }
  size_t at(size_t i, size_t j) const { return i * width_ + j - begin(i); }

  // Calls that are equal in few frames tell which belong together; those that stand in most frames do not.
  void count_rare() {
    std::unordered_map<uint64_t, std::array<std::vector<uint32_t>, 2>> where;
    auto add = [&](const Frames& s, size_t first, size_t count, size_t side) {
      for (size_t f = 0; f < count; ++f)
        for (uint64_t c = s.first[first + f]; c < s.first[first + f + 1]; ++c) {
          if (side && !where.contains(s.full[c])) continue;
          auto& frames = where[s.full[c]][side];
          if (frames.size() <= RARE && (frames.empty() || frames.back() != f))
            frames.push_back(static_cast<uint32_t>(f));
        }
    };
    add(a_, x_, n_, 0);
    add(b_, y_, m_, 1);
    for (auto& [hash, frames] : where) {
      auto& [in_a, in_b] = frames;
      if (in_a.size() > RARE || in_b.size() > RARE || in_a.size() * 4 > n_ + 3 || in_b.size() * 4 > m_ + 3) continue;
      for (uint32_t i : in_a)
        for (uint32_t j : in_b) ++rare_[i * m_ + j];
    }
  }
  uint32_t rare(size_t i, size_t j) const {
    auto it = rare_.find(i * m_ + j);
    return it == rare_.end() ? 0 : it->second * RARE_COUNTS;
  }

  void take(size_t i, size_t j, size_t a, size_t b, uint64_t score) {
    if (!has(i - a, j - b)) return;
    score += scores_[at(i - a, j - b)];
    auto& best = scores_[at(i, j)];
    auto& step = steps_[at(i, j)];
    if ((step.a || step.b) && score <= best) return;
    best = score;
    step = {static_cast<uint8_t>(a), static_cast<uint8_t>(b)};
  }

  static uint64_t calls(const Frames& s, size_t frame) { return s.first[frame + 1] - s.first[frame]; }

  // Several frames of one side with the frame i or j of the other, which has more calls than the last of them.
  void take_joined(size_t i, size_t j, bool many_a) {
    auto& many = many_a ? in_a_ : in_b_;
    auto& one = many_a ? in_b_[j - 1] : in_a_[i - 1];
    const size_t last = many_a ? i : j, has_calls = many_a ? calls(b_, y_ + j - 1) : calls(a_, x_ + i - 1);
    std::vector<Count> all = many[last - 1];
    uint64_t sum = many_a ? calls(a_, x_ + i - 1) : calls(b_, y_ + j - 1), tells = rare(i - 1, j - 1);
    for (size_t k = 2; k <= std::min(MOST_JOINED, last) && sum < has_calls; ++k) {
      all = joined(all, many[last - k]);
      sum += many_a ? calls(a_, x_ + i - k) : calls(b_, y_ + j - k);
      tells += many_a ? rare(i - k, j - 1) : rare(i - 1, j - k);
      take(i, j, many_a ? k : 1, many_a ? 1 : k, common(all, one) + tells);
    }
  }

  void fill() {
    scores_.assign((n_ + 1) * width_, 0);
    steps_.assign((n_ + 1) * width_, {});
    for (size_t i = 0; i <= n_; ++i)
      for (size_t j = begin(i); j < begin(i) + width_; ++j) {
        if (i && j) {
          take(i, j, 1, 1, common(in_a_[i - 1], in_b_[j - 1]) + rare(i - 1, j - 1));
          take_joined(i, j, true);
          take_joined(i, j, false);
        }
        if (i) take(i, j, 1, 0, 0);
        if (j) take(i, j, 0, 1, 0);
      }
  }

  const Frames &a_, &b_;
  size_t x_, y_, n_, m_, band_, width_ = 0;
  std::vector<std::vector<Count>> in_a_, in_b_;
  std::unordered_map<size_t, uint32_t> rare_;  // by pair of frames: rare calls that both have
  std::vector<uint64_t> scores_;
  std::vector<Step> steps_;
};

}  // namespace

// Frames that are equal are anchors.
Pairs paired_frames(const Frames& a, const Frames& b) {
  Pairs anchors, frames;
  align(a.hashes.data(), a.count, b.hashes.data(), b.count, 0, 0, anchors);
  anchors.emplace_back(a.count, b.count);
  uint64_t x = 0, y = 0;
  for (auto& [i, j] : anchors) {
    if (x < i && y < j)
      FrameStretch(a, x, i - x, b, y, j - y).pair(frames);
    else {
      for (; x < i; ++x) frames.emplace_back(x, NONE);
      for (; y < j; ++y) frames.emplace_back(NONE, y);
    }
    if (i < a.count) frames.emplace_back(i, j);
    x = i + 1, y = j + 1;
  }
  return frames;
}

}  // namespace dt::edit
