// Rows for intervals, so that those of one row do not overlap: each gets the lowest row that is free at its begin.
#include "lanes.h"

#include <functional>
#include <queue>
#include <utility>

namespace dt::kernel {
namespace {

constexpr size_t k_lane_rows = 122880;  // as many as DuckDB puts together

class RowsOfTrack {
 public:
  int32_t place(int64_t track, int64_t begin, int64_t end) {
    if (track != track_ || !started_) {
      started_ = true;
      track_ = track;
      busy_ = {};
      free_ = {};
      rows_ = 0;
    }
    while (!busy_.empty() && busy_.top().first <= begin) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    int32_t row;
    if (free_.empty()) {
      row = rows_++;
    } else {
      row = free_.top();
      free_.pop();
    }
    // A mark without a length takes its row for itself too: two marks at one time are two rows.
    busy_.emplace(end > begin ? end : begin + 1, row);
    return row;
  }

 private:
  using Busy = std::pair<int64_t, int32_t>;  // until when, which row
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
  int64_t track_ = 0;
  int32_t rows_ = 0;
  bool started_ = false;
};

class LaneTable : public BatchSource {
 public:
  explicit LaneTable(ArrowArrayStream* intervals) : in_(intervals) {
    static const char* const names[] = {"track", "request", "b", "e"};
    for (int i = 0; i < 4; ++i) column_[i] = in_.need(names[i]);
  }
  static std::vector<NamedType> columns() {
    return {{"track", Type::i32}, {"request", Type::i64}, {"lane", Type::i32}};
  }
  bool next(Batch& batch) override {
    batch.start(columns());
    while (batch.rows < static_cast<int64_t>(k_lane_rows) && in_.next()) {
      const int64_t track = in_.integer(column_[0]);
      batch.columns[0].value(static_cast<int32_t>(track));
      batch.columns[1].value(in_.integer(column_[1]));
      batch.columns[2].value(rows_.place(track, in_.integer(column_[2]), in_.integer(column_[3])));
      ++batch.rows;
    }
    return batch.rows > 0;
  }

 private:
  TableReader in_;
  int column_[4] = {};
  RowsOfTrack rows_;
};

}  // namespace

void assign_lanes(const int64_t* track, const int64_t* begin, const int64_t* end, uint64_t count, int32_t* lane) {
  RowsOfTrack rows;
  for (uint64_t i = 0; i < count; i++) lane[i] = rows.place(track[i], begin[i], end[i]);
}

void export_lanes(ArrowArrayStream* intervals, ArrowArrayStream* out) {
  export_stream(LaneTable::columns(), std::make_unique<LaneTable>(intervals), out);
}

}  // namespace dt::kernel
