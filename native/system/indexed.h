// Traces whose events are found once, when they are opened, and read again where they stand.
#pragma once
#include "kernel.h"

namespace dt::kernel {

class IndexedTrace : public Trace {
 public:
  std::vector<std::vector<Place>> places;  // each in order of time
  virtual void emit_at(Output& out, const Place& place) = 0;

  std::vector<std::unique_ptr<Lane>> lanes() override {
    std::vector<std::unique_ptr<Lane>> all;
    for (auto& list : places) all.push_back(std::make_unique<Indexed>(*this, list));
    return all;
  }

 protected:
  // Sources write nearly in order; what is not is put in order here.
  void sort_places() {
    for (auto& list : places)
      if (!std::is_sorted(list.begin(), list.end(), earlier)) std::stable_sort(list.begin(), list.end(), earlier);
  }
  static bool earlier(const Place& a, const Place& b) { return a.t < b.t; }

 private:
  class Indexed : public Lane {
   public:
    Indexed(IndexedTrace& trace, const std::vector<Place>& list) : trace_(trace), list_(list) {}
    bool next() override {
      for (; at_ < list_.size(); ++at_) {
        const Place& place = list_[at_];
        if (place.t >= end) return false;
        if (place.t < begin || (wanted && !wanted[place.cls])) continue;
        t = place.t;
        cls = place.cls;
        now_ = at_++;
        return true;
      }
      return false;
    }
    void emit(Output& out) override { trace_.emit_at(out, list_[now_]); }

   private:
    IndexedTrace& trace_;
    const std::vector<Place>& list_;
    size_t at_ = 0, now_ = 0;
  };
};

}  // namespace dt::kernel
