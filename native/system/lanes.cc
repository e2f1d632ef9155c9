// Rows for intervals, so that those of one row do not overlap: each gets the lowest row that is free at its begin.
#include "lanes.h"

#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace dt::kernel {

void assign_lanes(const int64_t* track, const int64_t* begin, const int64_t* end, uint64_t count, int32_t* lane) {
  using Busy = std::pair<int64_t, int32_t>;  // until when, which row
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free;
  int32_t rows = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (i == 0 || track[i] != track[i - 1]) {
      busy = {};
      free = {};
      rows = 0;
    }
    while (!busy.empty() && busy.top().first <= begin[i]) {
      free.push(busy.top().second);
      busy.pop();
    }
    int32_t row;
    if (free.empty()) {
      row = rows++;
    } else {
      row = free.top();
      free.pop();
    }
    lane[i] = row;
    // A mark without a length takes its row for itself too: two marks at one time are two rows.
    busy.emplace(end[i] > begin[i] ? end[i] : begin[i] + 1, row);
  }
}

}  // namespace dt::kernel
