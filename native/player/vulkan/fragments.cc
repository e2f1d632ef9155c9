#include "fragments.h"

#include <algorithm>
#include <cstdio>

#include "../metrics/measure.h"
#include "fragment_plan.h"

namespace dt::play::vk {

const char* const Fragments::SPECS[] = {
    "generated",      "discarded",       "passed",  "written",        "samples_generated", "samples_discarded",
    "samples_passed", "samples_written", "culled",  "failed_stencil", "failed_depth",      "mean",
    "most",           "covered",         "above_1", "above_2",        "above_4",           "above_8"};

Fragments::What Fragments::find(const std::string& spec) {
  return static_cast<What>(std::find(std::begin(SPECS), std::end(SPECS), spec) - std::begin(SPECS) + GENERATED);
}

double Fragments::Drawn::value(What what, const char*& no) const {
  no = why;
  const bool samples = what >= SAMPLES_GENERATED && what <= SAMPLES_WRITTEN;
  if (!no && many && !samples) no = "the target has several samples a pixel: samples_generated ... count these";
  const int64_t generated = through[metrics::CULLING];
  auto or_before = [&](metrics::PixelTest test, int64_t before) { return through[test] < 0 ? before : through[test]; };
  const int64_t kept = or_before(metrics::COVERAGE, generated), stencilled = or_before(metrics::STENCIL, kept);
  const bool all = what == GENERATED || what == SAMPLES_GENERATED || what == CULLED;
  if (!no && early && !all) no = "its fragment shader tests before it discards: queries count at the tests";
  if (!no && own_stencil && (what == FAILED_STENCIL || what == FAILED_DEPTH))
    no = "its stencil test may see what the draw itself stores";
  switch (what) {
    case GENERATED:
    case SAMPLES_GENERATED: return static_cast<double>(generated);
    case DISCARDED:
    case SAMPLES_DISCARDED: return static_cast<double>(generated - kept);
    case PASSED:
    case SAMPLES_PASSED: return static_cast<double>(passed);
    case WRITTEN:
    case SAMPLES_WRITTEN: return writes ? static_cast<double>(passed) : 0;
    case CULLED: return static_cast<double>(or_before(metrics::COVERS, generated) - generated);
    case FAILED_STENCIL: return static_cast<double>(kept - stencilled);
    case FAILED_DEPTH: return static_cast<double>(stencilled - passed);
    default: return 0;
  }
}

// ---- what is planned and taken ----------------------------------------------------------------------------------

std::unique_ptr<Plan> Fragments::plan(const Submitted& of) {
  if (!device_) device_ = &of.device;
  snapshots_ = &of.snapshots;
  return std::make_unique<FragmentPlan>(of, *this);
}

void Fragments::forget() {
  Question::forget();
  device_ = nullptr;
}

size_t Fragments::add(uint64_t submit, uint64_t draw) {
  Drawn& made = drawn_[events_];
  made.submit = submit, made.draw = draw;
  order_[submit][draw].push_back(events_);
  return events_++;
}

void Fragments::take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) {
  for (auto& each : tested) {
    auto it = drawn_.find(each.event);
    if (it == drawn_.end()) continue;
    Drawn& d = it->second;
    uint32_t query = each.first;
    auto read = [&] {
      uint64_t count[2] = {};
      const VkResult result =
          DT_VK(device, vkGetQueryPoolResults)(device.device, each.pool, query++, 1, sizeof count, count, sizeof count,
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
      if (result != VK_SUCCESS || !count[1]) d.why = "the driver has no results of its queries";
      return static_cast<int64_t>(count[0]);
    };
    for (uint32_t t = 0; t < metrics::PIXEL_TESTS; ++t)
      if (each.tests >> t & 1) d.through[t] = read();
    d.passed = read();
    d.read = true;
  }
  for (auto& each : reads) {
    auto it = reads_.find(each.event);
    if (it == reads_.end()) continue;
    auto& [number, targets] = it->second;
    Frame& frame = frames_[number];
    for (size_t i = 0; i < each.shots.size() && i < targets.size(); ++i)
      if (const std::string why = add_counts(each, each.shots[i], picture(frame, targets[i]).counts); !why.empty())
        frame.why = metrics::lasting(why), ++frame.unknown;
    reads_.erase(it);
  }
}

Fragments::Drawn Fragments::next(uint64_t submit, uint64_t draw) {
  Drawn nothing;
  nothing.why = "the command buffer that draws it is not followed";
  auto of = order_.find(submit);
  if (of == order_.end()) return nothing;
  auto list = of->second.find(draw);
  if (list == of->second.end()) return nothing;
  const size_t event = list->second.front();
  list->second.pop_front();
  if (list->second.empty()) of->second.erase(list);
  if (of->second.empty()) order_.erase(of);
  auto it = drawn_.find(event);
  if (!it->second.read && !it->second.why) snapshots_->collect(submit);
  Drawn found = it->second;
  drawn_.erase(it);
  if (!found.read && !found.why) found.why = "the driver has no results of its queries";
  return found;
}

// ---- frames -----------------------------------------------------------------------------------------------------

Fragments::Picture& Fragments::picture(Frame& frame, const Target& of) {
  for (auto& each : frame.pictures)
    if (each.target == of) return each;
  return frame.pictures.emplace_back(Picture{of, {}});
}

Fragments::Overdraw Fragments::over(uint64_t number) {
  Overdraw sums;
  auto it = frames_.find(number);
  if (it == frames_.end()) return sums;
  const Frame& frame = it->second;
  sums.why = frame.why, sums.draws = frame.draws, sums.unknown = std::min(frame.unknown, frame.draws);
  for (auto& picture : frame.pictures)
    for (uint32_t count : picture.counts) {
      if (!count) continue;
      sums.fragments += count, ++sums.covered, sums.most = std::max<uint64_t>(sums.most, count);
      for (int i = 0; i < 4; ++i) sums.above[i] += count > Overdraw::LIMITS[i];
    }
  if (!metrics::pictures_folder().empty()) write(number, frame);
  frames_.erase(it);
  return sums;
}

// A file for each image, as fragment_source.cc of the other player writes them.
void Fragments::write(uint64_t number, const Frame& frame) const {
  size_t saved = 0;
  auto save = [&](const Target& of, const std::vector<uint32_t>& counts) {
    char name[64], target[64] = "0";
    snprintf(name, sizeof name, "/%06llu-%zu.counts", static_cast<unsigned long long>(number), saved++);
    if (of.image)
      snprintf(target, sizeof target, "%llu.%u.%u", static_cast<unsigned long long>(of.image), of.level, of.layer);
    FILE* to = fopen((metrics::pictures_folder() + name).c_str(), "wb");
    if (!to) return;
    fprintf(to, "%u %u %s %llu %llu %s\n", of.size.width, of.size.height, target,
            static_cast<unsigned long long>(frame.draws),
            static_cast<unsigned long long>(std::min(frame.unknown, frame.draws)), frame.why ? frame.why : "");
    fwrite(counts.data(), 4, counts.size(), to);
    fclose(to);
  };
  for (auto& each : frame.pictures)
    if (!each.counts.empty()) save(each.target, each.counts);
  if (!saved && frame.unknown) save({}, {});  // which says why there is none
}

}  // namespace dt::play::vk
