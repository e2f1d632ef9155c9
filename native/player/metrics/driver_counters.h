// Common parts of sources that have the driver count, context by context, and of back-ends of counter extensions.
#pragma once
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "source.h"

namespace dt::play::metrics {

// The answer of `ask` in the current context; asked once a context.
template <auto ask> const auto& once_a_context() {
  static std::unordered_map<const void*, decltype(ask())> by_context;
  auto it = by_context.find(current_context());
  if (it == by_context.end()) it = by_context.emplace(current_context(), ask()).first;
  return it->second;
}

// A number of that type in a driver's answer.
template <class T> double number_at(const void* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return static_cast<double>(v);
}

// A source with a state for each context. State::waits(): whether results of segments are still to come.
template <typename State> class ContextSource : public Source {
 public:
  using Source::Source;
  bool pending(const void* context) const override {
    auto it = states_.find(context);
    return it != states_.end() && it->second.waits();
  }
  void forget(const void* context) override {
    auto it = states_.find(context);
    if (it == states_.end()) return;
    if (context == current_context()) release(it->second);
    states_.erase(it);
  }
  void collect(Sink& to, bool wait) override {
    if (State* s = state_if_any()) take_results(*s, to, wait);
  }

 protected:
  // The work of collect() in the current context, in which something was measured.
  virtual void take_results(State& state, Sink& to, bool wait) = 0;
  // Its context is current for the last time: the driver gets back what it made.
  virtual void release(State& state) = 0;
  State& state() { return states_[current_context()]; }
  // nullptr: nothing was measured in the current context.
  State* state_if_any() {
    auto it = states_.find(current_context());
    return it == states_.end() ? nullptr : &it->second;
  }

  std::unordered_map<const void*, State> states_;
};

// A back-end of a GL extension that names a counter by two numbers, for the group and for the counter in it: its
// metrics are called "GROUP:COUNTER".
class ExtensionBackend : public Backend {
 public:
  using Place = std::pair<uint32_t, uint32_t>;
  // `nothing`: what a driver lacks that has the extension and no counters.
  ExtensionBackend(const char* n, std::string extension, std::string nothing)
      : Backend(n), extension_(std::move(extension)), nothing_(std::move(nothing)) {}
  std::string reason() override {
    if (!current_context()) return "there is no context";
    if (!has_extension(extension_.c_str())) return "no " + extension_;
    if (!whole()) return "the driver names " + extension_ + ", but lacks functions of it";
    return offers_any() ? "" : "the driver has " + extension_ + ", but no " + nothing_;
  }
  std::string group_of(const std::string& spec) override { return spec.substr(0, spec.find(':')); }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    std::vector<Place> places;
    for (int n : numbers) {
      const std::string& spec = all[static_cast<size_t>(n)].spec;
      unsigned group = 0, counter = 0;
      if (sscanf(spec.c_str(), "%u:%u", &group, &counter) != 2) return why = "there is no " + spec, nullptr;
      places.emplace_back(group, counter);
    }
    return counting(numbers, std::move(places));
  }

 protected:
  static std::string spec_of(uint32_t group, uint32_t counter) {
    return std::to_string(group) + ":" + std::to_string(counter);
  }
  virtual bool whole() = 0;  // the driver has all functions of the extension
  virtual bool offers_any() = 0;
  virtual std::unique_ptr<Source> counting(const std::vector<int>& numbers, std::vector<Place> places) = 0;

 private:
  const std::string extension_, nothing_;
};

}  // namespace dt::play::metrics
