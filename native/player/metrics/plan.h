// The metrics of each pass.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace dt::play::metrics {

struct Item {
  int metric;
  unsigned at;  // boundaries that it is measured at in this pass
  std::string backend;
  std::string group;  // items of one group compete
  size_t room;        // the number of the group that may fit at once; 0: not known
};
struct Pass {
  unsigned at = 0;
  std::vector<int> metrics;
};
struct Plan {
  std::vector<Pass> passes;
  std::vector<std::pair<int, std::string>> refused;  // metrics that do not even fit alone, and why
  size_t questions = 0;
};
// Asks the driver whether it measures all of these at once; `why` where it does not.
using Fits = std::function<bool(const std::vector<int>& metrics, std::string& why)>;

Plan plan(const std::vector<Item>& items, const Fits& fits);

}  // namespace dt::play::metrics
