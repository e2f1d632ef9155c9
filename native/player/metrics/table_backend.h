// A back-end whose metrics drawtap itself names: one table has them, a row each.
#pragma once
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "measure.h"

namespace dt::play::metrics {

// A row has `spec`, `group`, `type` and `unit` as an Offer has them, and what the back-end's source needs.
template <const auto& table> class TableBackend : public Backend {
 public:
  using Row = std::remove_cvref_t<decltype(table[0])>;
  using Backend::Backend;
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    for (auto& row : table)
      if (refusal(row).empty()) out.push_back({row.spec, row.group, row.spec, row.type, row.unit, ""});
    return out;
  }
  std::vector<std::pair<std::string, std::string>> refusals() override {
    std::vector<std::pair<std::string, std::string>> out;
    for (auto& row : table)
      if (std::string why = refusal(row); !why.empty()) out.emplace_back(row.spec, why);
    return out;
  }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    std::vector<const Row*> rows;
    for (int n : numbers) {
      const std::string& spec = all[static_cast<size_t>(n)].spec;
      const Row* row = row_of(spec);
      if (!row) return why = "there is no " + spec, nullptr;
      rows.push_back(row);
    }
    return measuring(numbers, rows, why);
  }

 protected:
  static const Row* row_of(const std::string& spec) {
    for (auto& row : table)
      if (spec == row.spec) return &row;
    return nullptr;
  }
  // Why this metric cannot be had here; "": it can.
  virtual std::string refusal(const Row&) { return ""; }
  // The source of these metrics, a row for each number; nullptr: `why` says why not.
  virtual std::unique_ptr<Source> measuring(const std::vector<int>& numbers, const std::vector<const Row*>& rows,
                                            std::string& why) = 0;
};

}  // namespace dt::play::metrics
