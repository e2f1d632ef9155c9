#include "plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace dt::play::metrics {
namespace {

constexpr size_t MOST_SINGLE_TRIES = 64;

struct Queue {
  std::deque<int> left;
  size_t room = 0;
};

// Fills passes for the items of one back-end. The driver decides whether items fit; the limit of a group only says
// where to begin.
std::vector<std::vector<int>> pack(std::map<std::string, Queue>& groups,
                                   const std::function<bool(const std::vector<int>&)>& fits,
                                   const std::function<void(int)>& refuse) {
  std::vector<std::vector<int>> bins;
  auto take = [](std::vector<int>& bin, const Queue& q, size_t n) {
    bin.insert(bin.end(), q.left.begin(), q.left.begin() + static_cast<long>(n));
  };
  for (;;) {
    std::vector<int> bin;
    std::vector<Queue*> some;
    for (auto& [name, q] : groups)
      if (!q.left.empty()) some.push_back(&q);
    if (some.empty()) return bins;
    auto most = [](const Queue* q) { return q->room ? std::min(q->room, q->left.size()) : q->left.size(); };
    for (Queue* q : some) take(bin, *q, most(q));
    if (fits(bin)) {
      for (Queue* q : some) q->left.erase(q->left.begin(), q->left.begin() + static_cast<long>(most(q)));
      bins.push_back(std::move(bin));
      continue;
    }
    bin.clear();
    // The groups with most left first: they decide how many passes there are.
    std::stable_sort(some.begin(), some.end(), [](auto* a, auto* b) { return a->left.size() > b->left.size(); });
    for (Queue* q : some) {
      auto with = [&](size_t n) {
        std::vector<int> more = bin;
        take(more, *q, n);
        return fits(more);
      };
      size_t high = most(q), low = 0;
      if (with(high)) low = high;
      while (high - low > 1) {  // what is known to fit, and what is known not to
        size_t middle = low + (high - low) / 2;
        (with(middle) ? low : high) = middle;
      }
      if (!low && bin.empty()) {
        // The first one does not fit even alone.
        refuse(q->left.front());
        q->left.pop_front();
        continue;
      }
      take(bin, *q, low);
      q->left.erase(q->left.begin(), q->left.begin() + static_cast<long>(low));
      // Where no room is known the others may still fit beside the one that does not.
      if (q->room || low == 0) continue;
      size_t tries = 0;
      for (size_t i = 0; i < q->left.size() && tries < MOST_SINGLE_TRIES; ++tries) {
        bin.push_back(q->left[i]);
        if (fits(bin)) {
          q->left.erase(q->left.begin() + static_cast<long>(i));
        } else {
          bin.pop_back();
          ++i;
        }
      }
    }
    if (!bin.empty()) bins.push_back(std::move(bin));
  }
}

}  // namespace

Plan plan(const std::vector<Item>& items, const Fits& ask) {
  Plan made;
  std::string why;
  auto fits = [&](const std::vector<int>& metrics) {
    ++made.questions;
    why.clear();
    return ask(metrics, why);
  };
  struct Part {
    unsigned at;
    std::vector<std::vector<int>> bins;
  };
  std::map<std::pair<unsigned, std::string>, std::map<std::string, Queue>> parts;
  for (auto& item : items) {
    Queue& q = parts[{item.at, item.backend}][item.group];
    q.left.push_back(item.metric);
    q.room = item.room;
  }
  std::map<unsigned, std::vector<std::vector<std::vector<int>>>> by_boundary;
  std::set<int> refused;
  for (auto& [key, groups] : parts)
    by_boundary[key.first].push_back(pack(groups, fits, [&](int metric) {
      if (refused.insert(metric).second) made.refused.emplace_back(metric, why);
    }));
  for (auto& [at, lists] : by_boundary) {
    // The back-end with most passes sets their number; the others go along where the driver has them all at once.
    std::stable_sort(lists.begin(), lists.end(), [](auto& a, auto& b) { return a.size() > b.size(); });
    std::vector<Pass> passes;
    for (auto& bins : lists) {
      size_t from = 0;
      for (auto& bin : bins) {
        bool placed = false;
        for (size_t i = from; i < passes.size() && !placed; ++i) {
          std::vector<int> both = passes[i].metrics;
          both.insert(both.end(), bin.begin(), bin.end());
          if (!fits(both)) continue;
          passes[i].metrics = std::move(both);
          from = i + 1;  // one bin of a back-end a pass: they are full
          placed = true;
        }
        if (!placed) {
          passes.push_back({at, bin});
          from = passes.size();
        }
      }
    }
    made.passes.insert(made.passes.end(), passes.begin(), passes.end());
  }
  return made;
}

}  // namespace dt::play::metrics
