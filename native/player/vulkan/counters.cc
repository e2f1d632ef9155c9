#include "counters.h"

#include <algorithm>
#include <cstring>

#include "fragments.h"

namespace dt::play::vk {
namespace {

using metrics::Backend;
using metrics::Offer;
using metrics::RequestedMetric;
using metrics::Source;

const Abilities* g_here;

// By the number of their bit in VkQueryPipelineStatisticFlags.
const char* const STATISTICS_BY_BIT[] = {
    "vertices_submitted",          "primitives_submitted",        "vertex_shader_invocations",
    "geometry_shader_invocations", "geometry_shader_primitives",  "clipping_input_primitives",
    "clipping_output_primitives",  "fragment_shader_invocations", "tess_control_patches",
    "tess_evaluation_invocations", "compute_shader_invocations"};

const char* const NO_DEVICE = "the recording makes no device of Vulkan";

class Gpu : public Backend {
 public:
  Gpu() : Backend("vk") {}
  std::string reason() override { return g_here ? "" : NO_DEVICE; }
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    auto offer = [&](const char* group, const char* spec, const char* unit) {
      if (refusal(spec).empty()) out.push_back({spec, group, spec, "sum", unit, ""});
    };
    offer("time", "elapsed", "ns");
    offer("time", "start", "ns");
    offer("samples", "samples_passed", "count");
    offer("samples", "any_samples", "count");
    for (const char* name : STATISTICS_BY_BIT) offer("pipeline", name, "count");
    return out;
  }
  std::vector<std::pair<std::string, std::string>> refusals() override {
    std::vector<std::pair<std::string, std::string>> out;
    auto refuse = [&](const char* spec) {
      if (std::string why = refusal(spec); !why.empty()) out.emplace_back(spec, why);
    };
    for (const char* spec : {"elapsed", "start", "samples_passed", "any_samples"}) refuse(spec);
    for (const char* spec : STATISTICS_BY_BIT) refuse(spec);
    return out;
  }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>&, const std::vector<int>&, std::string&) override {
    return nullptr;  // queries stand in command buffers, not between two moments
  }

 private:
  static std::string refusal(std::string_view spec) {
    auto any_family = [](auto&& has) { return std::any_of(g_here->families.begin(), g_here->families.end(), has); };
    if (spec == "elapsed" || spec == "start")
      return any_family([](auto& f) { return f.timestampValidBits > 0; }) ? "" : "no queue writes time stamps";
    if (spec == "samples_passed")
      return g_here->precise ? "" : "the device lacks occlusionQueryPrecise: any_samples has whether any passed";
    if (spec == "any_samples") return "";
    return g_here->statistics ? "" : "the device lacks pipelineStatisticsQuery";
  }
} g_gpu;

// The same metrics as OpenGL's, and the tests that keep fragments out one by one.
class FragmentCounts : public Backend {
 public:
  FragmentCounts() : Backend("fragments") {}
  std::string reason() override { return g_here ? "" : NO_DEVICE; }
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    for (auto* spec : Fragments::SPECS)
      if (refusal(spec).empty())
        out.push_back({spec, is_of_frames(spec) ? "overdraw" : "count", spec, "sum", "count", ""});
    return out;
  }
  std::vector<std::pair<std::string, std::string>> refusals() override {
    std::vector<std::pair<std::string, std::string>> out;
    for (auto* spec : Fragments::SPECS)
      if (std::string why = refusal(spec); !why.empty()) out.emplace_back(spec, why);
    for (auto* spec : {"fetches", "vertex_fetches"})
      out.emplace_back(spec, "texture reads of Vulkan's shaders are not counted");
    return out;
  }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>&, const std::vector<int>&, std::string&) override {
    return nullptr;
  }

 private:
  static bool is_of_frames(const char* spec) { return Fragments::find(spec) >= metrics::MEAN; }
  static std::string refusal(const char* spec) {
    if (is_of_frames(spec)) return g_here->blends ? "" : "the driver does not blend numbers of 32 bits, which count";
    return g_here->precise ? "" : "the device lacks occlusionQueryPrecise";
  }
} g_fragments;

std::string spec_of(const VkPerformanceCounterKHR& counter) {
  std::string text;
  char two[4];
  for (uint8_t byte : counter.uuid) snprintf(two, sizeof two, "%02x", byte), text += two;
  return text;
}

const char* unit_of(VkPerformanceCounterUnitKHR unit) {
  switch (unit) {
    case VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR: return "percent";
    case VK_PERFORMANCE_COUNTER_UNIT_NANOSECONDS_KHR: return "ns";
    case VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR: return "bytes";
    case VK_PERFORMANCE_COUNTER_UNIT_BYTES_PER_SECOND_KHR: return "bytes/s";
    case VK_PERFORMANCE_COUNTER_UNIT_KELVIN_KHR: return "K";
    case VK_PERFORMANCE_COUNTER_UNIT_WATTS_KHR: return "W";
    case VK_PERFORMANCE_COUNTER_UNIT_VOLTS_KHR: return "V";
    case VK_PERFORMANCE_COUNTER_UNIT_AMPS_KHR: return "A";
    case VK_PERFORMANCE_COUNTER_UNIT_HERTZ_KHR: return "Hz";
    case VK_PERFORMANCE_COUNTER_UNIT_CYCLES_KHR: return "cycles";
    default: return "count";
  }
}

// Units that add up over draws: all else is averaged.
bool adds_up(VkPerformanceCounterUnitKHR unit) {
  return unit == VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR || unit == VK_PERFORMANCE_COUNTER_UNIT_NANOSECONDS_KHR ||
         unit == VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR || unit == VK_PERFORMANCE_COUNTER_UNIT_CYCLES_KHR;
}

class Performance : public Backend {
 public:
  Performance() : Backend("vkperf") {}
  std::string reason() override { return g_here ? g_here->no_counters : NO_DEVICE; }
  std::vector<Offer> offers() override {
    static const char* const SCOPES[] = {" (of whole command buffers)", " (of whole render passes)", ""};
    std::vector<Offer> out;
    for (size_t i = 0; i < g_here->counters.size(); ++i) {
      auto& counter = g_here->counters[i];
      auto& words = g_here->words[i];
      const bool percent = counter.unit == VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR;
      const char* kind = percent ? "percent" : adds_up(counter.unit) ? "counter" : "mean";
      const auto scope = std::min<uint32_t>(static_cast<uint32_t>(counter.scope), 2);
      out.push_back({spec_of(counter), words.category, words.name, kind, unit_of(counter.unit),
                     std::string(words.description) + SCOPES[scope]});
    }
    return out;
  }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>&, const std::vector<int>&, std::string&) override {
    return nullptr;
  }
} g_performance;

bool has(const std::vector<VkExtensionProperties>& all, const char* name) {
  return std::any_of(all.begin(), all.end(), [&](auto& one) { return !strcmp(one.extensionName, name); });
}

void find_counters(Table& instance, VkPhysicalDevice physical, Abilities& here) {
  auto features = DT_VK(instance, vkGetPhysicalDeviceFeatures2);
  auto list = DT_VK(instance, vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR);
  if (!features || !list) return void(here.no_counters = "the loader lacks functions of VK_KHR_performance_query");
  VkPhysicalDevicePerformanceQueryFeaturesKHR can{};
  VkPhysicalDeviceFeatures2 all{};
  all.pNext = &can;
  features(physical, &all);
  if (!can.performanceCounterQueryPools)
    return void(here.no_counters = "the device lacks performanceCounterQueryPools");
  uint32_t n = 0;
  list(physical, here.family, &n, nullptr, nullptr);
  here.counters.resize(n);
  here.words.resize(n);
  if (list(physical, here.family, &n, here.counters.data(), here.words.data()) < 0) n = 0;
  here.counters.resize(n);
  here.words.resize(n);
  if (!n) here.no_counters = "the device has VK_KHR_performance_query, but no counter";
}

}  // namespace

void answer_by(const Abilities* here) { g_here = here; }

Abilities abilities_of(Table& instance, VkPhysicalDevice physical, uint32_t family) {
  Abilities here;
  VkPhysicalDeviceProperties about{};
  DT_VK(instance, vkGetPhysicalDeviceProperties)(physical, &about);
  here.device = about.deviceName;
  here.period = about.limits.timestampPeriod;
  here.family = family;
  uint32_t n = 0;
  DT_VK(instance, vkGetPhysicalDeviceQueueFamilyProperties)(physical, &n, nullptr);
  here.families.resize(n);
  DT_VK(instance, vkGetPhysicalDeviceQueueFamilyProperties)(physical, &n, here.families.data());
  VkPhysicalDeviceFeatures can{};
  DT_VK(instance, vkGetPhysicalDeviceFeatures)(physical, &can);
  here.statistics = can.pipelineStatisticsQuery;
  here.precise = can.occlusionQueryPrecise;
  VkFormatProperties properties{};
  DT_VK(instance, vkGetPhysicalDeviceFormatProperties)(physical, VK_FORMAT_R32_SFLOAT, &properties);
  here.blends = properties.optimalTilingFeatures & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT;
  auto list = DT_VK(instance, vkEnumerateDeviceExtensionProperties);
  list(physical, nullptr, &n, nullptr);
  std::vector<VkExtensionProperties> there(n);
  list(physical, nullptr, &n, there.data());
  here.calibrated = has(there, "VK_EXT_calibrated_timestamps");
  if (has(there, "VK_KHR_performance_query"))
    find_counters(instance, physical, here);
  else
    here.no_counters = "the device lacks VK_KHR_performance_query";
  return here;
}

bool fits_one_pass(Table& instance, VkPhysicalDevice physical, uint32_t family, const std::vector<uint32_t>& counters,
                   std::string& why) {
  auto ask = DT_VK(instance, vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR);
  if (!ask) return why = "the loader lacks functions of VK_KHR_performance_query", false;
  VkQueryPoolPerformanceCreateInfoKHR info{};
  info.queueFamilyIndex = family;
  info.counterIndexCount = static_cast<uint32_t>(counters.size());
  info.pCounterIndices = counters.data();
  uint32_t passes = 0;
  ask(physical, &info, &passes);
  if (passes == 1) return true;
  return why = "the device counts it in " + std::to_string(passes) + " submits of one command buffer", false;
}

bool find_query_use(const Abilities& here, const std::string& backend, const std::string& spec, QueryUse& wish) {
  if (backend == "vkperf") {
    for (uint32_t i = 0; i < here.counters.size(); ++i)
      if (spec_of(here.counters[i]) == spec) return wish = {QueryUse::COUNTER, COUNTERS, i}, true;
    return false;
  }
  if (spec == "elapsed") return wish = {QueryUse::ELAPSED, TIME, 0}, true;
  if (spec == "start") return wish = {QueryUse::START, TIME, 0}, true;
  if (spec == "samples_passed") return wish = {QueryUse::PASSED, SAMPLES, 0}, true;
  if (spec == "any_samples") return wish = {QueryUse::ANY, SAMPLES, 0}, true;
  for (uint32_t bit = 0; bit < std::size(STATISTICS_BY_BIT); ++bit)
    if (spec == STATISTICS_BY_BIT[bit]) return wish = {QueryUse::STATISTIC, STATISTICS, bit}, true;
  return false;
}

}  // namespace dt::play::vk
