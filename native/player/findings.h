// What a replay finds that is not as in the recording.
#pragma once
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "line.h"

namespace dt::play {

struct Finding {
  std::string kind, function, text;
  uint64_t call = 0, count = 1;
};

class Findings {
 public:
  // Returns the finding; equal ones are one.
  Finding* add(std::string kind, uint64_t call, std::string function, std::string text) {
    auto key = std::make_tuple(kind, function, text);
    auto it = found_.find(key);
    if (it != found_.end()) {
      ++it->second.count;
      return &it->second;
    }
    if (found_.size() >= MOST) {
      if (found_.size() > MOST) return nullptr;
      kind = "more";
      text = "there are more than these";
      function.clear();
      key = std::make_tuple(kind, function, text);
    }
    Finding& made = found_[key];
    made = Finding{std::move(kind), std::move(function), std::move(text), call, 1};
    return &made;
  }
  const std::map<std::tuple<std::string, std::string, std::string>, Finding>& all() const { return found_; }
  // In the order of calls.
  void write(FILE* to) const {
    std::vector<const Finding*> list;
    for (auto& [key, finding] : found_) list.push_back(&finding);
    std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->call < b->call; });
    for (auto* f : list) {
      JsonObject line;
      line.put("kind", "finding").put("what", f->kind).put("call", f->call).put("function", f->function);
      put_line(to, line.put("text", f->text).put("count", f->count));
    }
  }

 private:
  static constexpr size_t MOST = 500;
  std::map<std::tuple<std::string, std::string, std::string>, Finding> found_;
};

}  // namespace dt::play
