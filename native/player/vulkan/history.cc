#include "history.h"

#include <algorithm>

#include "../line.h"
#include "pixel_plan.h"
#include "texels.h"

namespace dt::play::vk {

using metrics::PixelEvent;
using metrics::PixelValue;
using metrics::PixelValues;

bool History::ask(const Json& request) {
  return Question::ask(request) && request["x"].read(x) && request["y"].read(y) && x >= 0 && y >= 0;
}

std::unique_ptr<Plan> History::plan(const Submitted& of) { return std::make_unique<PixelPlan>(of, *this); }

size_t History::add(const char* kind, uint64_t call, uint64_t submit, bool only_changed) {
  PixelEvent e;
  e.kind = kind, e.call = call, e.submit = submit;
  events_.push_back(e);
  only_changed_.push_back(only_changed);
  return events_.size() - 1;
}

// ---- what was found ---------------------------------------------------------------------------------------------

void History::take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) {
  for (auto& each : tested) {
    PixelEvent& e = events_.at(each.event);
    uint32_t query = each.first;
    e.tested = e.only_any = true;
    for (uint32_t t = 0; t < metrics::PIXEL_TESTS; ++t) {
      if (!(each.tests >> t & 1)) continue;
      uint64_t count[2] = {};
      const VkResult result =
          DT_VK(device, vkGetQueryPoolResults)(device.device, each.pool, query++, 1, sizeof count, count, sizeof count,
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
      if (result != VK_SUCCESS || !count[1]) e.unknown = "the driver has no results of its queries", e.tested = false;
      e.through[t] = count[0] && !(each.outside && t > metrics::SCISSOR);
    }
    if (each.outside) e.through[metrics::SCISSOR] = 0;
  }
  for (auto& read : reads) take_read(read, static_cast<const uint8_t*>(read.room.at));
}

void History::take_read(const Taken& read, const uint8_t* room) {
  PixelValues now;
  for (auto& shot : read.shots) {
    PixelValue value = read_texel(shot, room + shot.at);
    if (shot.aspect == VK_IMAGE_ASPECT_COLOR_BIT)
      now.colors.push_back(value);
    else
      (shot.aspect == VK_IMAGE_ASPECT_DEPTH_BIT ? now.depth : now.stencil) = value;
  }
  if (read.event == Taken::NO_EVENT) {
    compare(read, now);
  } else {
    PixelEvent& e = events_.at(read.event);
    e.before = last_, e.after = now;
    auto known = [&](PixelValue& before, const PixelValue& behind) {
      if (before.image == behind.image) return;
      auto it = known_.find(behind.image + behind.kind);
      if (it != known_.end()) return before = it->second.first, void();
      before = PixelValue();
      before.image = behind.image;  // what it was, nobody knows: it is changed
    };
    if (!now.colors.empty()) e.before.colors.resize(1), known(e.before.colors[0], now.colors[0]);
    known(e.before.depth, now.depth), known(e.before.stencil, now.stencil);
  }
  auto remember = [&](const PixelValue& v) {
    if (v.count) known_[v.image + v.kind] = {v, read.call};
  };
  if (!now.colors.empty()) remember(now.colors[0]);
  remember(now.depth), remember(now.stencil);
  last_ = now;
}

// A pixel that is not as it was left has been written by something that is no event.
void History::compare(const Taken& read, const PixelValues& now) {
  PixelEvent e;
  e.kind = "between", e.before = e.after = now;
  bool any = false;
  uint64_t since = 0;
  auto one = [&](const PixelValue& v, PixelValue& was) {
    auto it = known_.find(v.image + v.kind);
    if (!v.count || it == known_.end() || it->second.first.same(v)) return;
    was = it->second.first, any = true, since = std::max(since, it->second.second);
  };
  if (!now.colors.empty()) one(now.colors[0], e.before.colors[0]);
  one(now.depth, e.before.depth), one(now.stencil, e.before.stencil);
  e.call = since, e.until = read.call, e.submit = read.submit;
  if (any) between_.emplace_back(read.events, e);
}

bool History::is_seen(size_t event) const {
  const PixelEvent& e = events_[event];
  return any_changed(e) || (!only_changed_[event] && (!e.tested || e.through[metrics::COVERS]));
}

void History::write(FILE* to) const {
  const PixelValue* of = !last_.colors.empty() ? &last_.colors[0] : last_.depth.count ? &last_.depth : &last_.stencil;
  std::string why = why_;
  if (why.empty() && !met) why = "the call does not submit this draw";
  if (why.empty() && !of->count) {
    auto last = std::find_if(events_.rbegin(), events_.rend(), [](const PixelEvent& e) { return e.unknown; });
    why = last == events_.rend() ? "nothing that it shows was read" : last->unknown;
  }
  JsonObject line;
  auto& out = line.put("x", x).put("y", y).put("why", why.empty() ? nullptr : why.c_str()).writer();
  out.put("format", why.empty() ? of->kind : nullptr);
  write_values(out, "now", last_, 0);
  out.list("events");
  size_t next = 0;
  for (size_t i = 0; i <= events_.size() && why.empty(); ++i) {
    for (; next < between_.size() && between_[next].first <= i; ++next) write_event(out, between_[next].second, 0);
    if (i < events_.size() && is_seen(i)) write_event(out, events_[i], 0);
  }
  out.end();
  put_line(to, line);
}

}  // namespace dt::play::vk
