// Counters of NVIDIA's GPUs: NvPerf, NVIDIA's library of the Nsight Perf SDK (and of CUPTI), loaded where it is.
//
// A session measures ranges: a pass is begun, ranges are pushed and popped, the pass is ended, and what the GPU wrote
// is decoded some time later, without anybody waiting. A pass of ours is a frame, or as many segments as a session has
// room for.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "driver_counters.h"
#include "nvperf_abi.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

using namespace nvperf;

constexpr uint32_t MOST_RANGES = 512, NAME_LENGTH = 16;  // of a pass
constexpr size_t BUFFERS = 5;                            // passes whose results may be on their way
constexpr uint64_t DECODING_NS = 2000000000ull;

const char* said(int status) {
  static const char* const KNOWN[] = {
      "success",
      "error",
      "internal error",
      "not initialized",
      "not loaded",
      "function not found",
      "not supported",
      "not implemented",
      "invalid argument",
      "invalid metric",
      "driver not loaded",
      "out of memory",
      "invalid thread state",
      "no context allocated",
      "unsupported GPU",
      "the driver is too old",
      "object not registered",
      "not permitted: NVIDIA's driver keeps counters for administrators (option NVreg_RestrictProfilingToAdminUsers)",
      "invalid context state",
      "invalid object state",
      "another profiler uses the GPU",
      "driver loaded too late",
      "not enough space",
      "object mismatch",
      "virtual GPUs are not supported",
      "profiling is not allowed on this GPU"};
  return status >= 0 && static_cast<size_t>(status) < std::size(KNOWN) ? KNOWN[status] : "unknown error";
}

// The library, and which of its two faces the current driver answers to: contexts of EGL, or of GLX.
struct PerfLibrary {
  void* handle = nullptr;
  std::string why;
  std::string face;  // NVPW_EGL_, NVPW_OpenGL_

  // NVPW_...; of the face where the name begins with "_".
  template <typename P> int call(const char* name, P& params) {
    std::string full = *name == '_' ? face + (name + 1) : std::string("NVPW_") + name;
    auto [it, fresh] = functions_.try_emplace(full, nullptr);
    if (fresh) it->second = reinterpret_cast<int (*)(void*)>(dlsym(handle, full.c_str()));
    return it->second ? it->second(&params) : 5;
  }
  template <typename P> bool call(const char* name, P& params, std::string& reason) {
    int status = call(name, params);
    if (status)
      reason = std::string("NvPerf: ") + (*name == '_' ? face + (name + 1) : std::string("NVPW_") + name) + ": " +
               said(status);
    return !status;
  }

 private:
  std::map<std::string, int (*)(void*)> functions_;
};

PerfLibrary& perf_library() {
  static PerfLibrary made = [] {
    PerfLibrary l;
    const char* named = getenv("DRAWTAP_NVPERF");
    std::string folder = named ? named : "";
    for (const char* name : {"libnvperf_grfx_host.so", "libnvperf_host.so"}) {
      l.handle = dlopen(folder.empty() ? name : (folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (l.handle) break;
    }
    if (!l.handle) {
      l.why = folder.empty()
                  ? "there is no libnvperf_grfx_host.so (NVIDIA's Nsight Perf SDK) and no libnvperf_host.so (CUPTI); "
                    "DRAWTAP_NVPERF names a folder that has one"
                  : "no libnvperf_grfx_host.so and no libnvperf_host.so can be loaded from " + folder;
      return l;
    }
    const char* path = folder.c_str();
    Paths paths;
    paths.count = 1;
    paths.paths = &path;
    if (named) l.call("SetLibraryLoadPaths", paths);  // where the library looks for its other half; older ones lack it
    Nothing nothing;
    if (l.call("InitializeHost", nothing, l.why)) l.call("InitializeTarget", nothing, l.why);
    return l;
  }();
  return made;
}

// The counters of a kind of chip. Asked of the library's host half, which needs no GPU.
struct Chip {
  std::string name, why;
  std::vector<uint8_t> scratch;
  void* evaluator = nullptr;
};

Chip& chip(const std::string& name) {
  static std::map<std::string, Chip> known;
  auto [it, fresh] = known.try_emplace(perf_library().face + name);
  Chip& c = it->second;
  if (!fresh) return c;
  c.name = name;
  EvaluatorSize size;
  size.chip = c.name.c_str();
  if (!perf_library().call("_MetricsEvaluator_CalculateScratchBufferSize", size, c.why)) return c;
  c.scratch.resize(size.bytes);
  EvaluatorBegin begin;
  begin.scratch = c.scratch.data();
  begin.scratch_size = c.scratch.size();
  begin.chip = c.name.c_str();
  if (perf_library().call("_MetricsEvaluator_Initialize", begin, c.why)) c.evaluator = begin.evaluator;
  return c;
}

// The device that a context runs on.
struct PerfDevice {
  std::string why, name;
  Chip* chip = nullptr;
};

bool ask_device(PerfDevice& d) {
  PerfLibrary& l = perf_library();
  Nothing nothing;
  DeviceIndex index;
  if (!l.call("_LoadDriver", nothing, d.why) || !l.call("_GraphicsContext_GetDeviceIndex", index, d.why)) return false;
  Supported supported;
  supported.device = index.device;
  if (!l.call("_Profiler_IsGpuSupported", supported, d.why)) return false;
  DeviceNames names;
  names.device = index.device;
  if (!l.call("Device_GetNames", names, d.why)) return false;
  d.name = names.name ? names.name : "";
  if (!supported.yes) {
    d.why = "NvPerf does not support this GPU, " + d.name + ": " +
            (supported.architecture == 1 ? "its architecture"
             : supported.sli == 1        ? "it is one of several (SLI)"
             : supported.cmp == 1        ? "it is made for mining"
             : supported.wsl == 1        ? "the driver below WSL is too old"
                                         : "it does not say why");
    return false;
  }
  if (!names.chip) return d.why = "NvPerf: the GPU has no name", false;
  d.chip = &chip(names.chip);
  d.why = d.chip->why;
  if (!d.why.empty()) return false;
  // Only a session shows whether counting is allowed.
  TraceSize size;
  size.ranges = 1;
  size.name_length = NAME_LENGTH;
  BeginSession begin;
  begin.buffers = begin.ranges = begin.launches = 1;
  if (!l.call("_Profiler_CalcTraceBufferSize", size, d.why)) return false;
  begin.buffer_size = size.bytes;
  if (!l.call("_Profiler_GraphicsContext_BeginSession", begin, d.why)) return false;
  return l.call("_Profiler_GraphicsContext_EndSession", nothing, d.why);
}

const PerfDevice& device() {
  static std::unordered_map<const void*, PerfDevice> known;
  auto [it, fresh] = known.try_emplace(current_context());
  if (!fresh) return it->second;
  PerfDevice& d = it->second;
  if (!perf_library().why.empty()) return d.why = perf_library().why, d;
  const unsigned char* vendor = driver::glGetString ? driver::glGetString(GL_VENDOR) : nullptr;
  if (!vendor || !strstr(reinterpret_cast<const char*>(vendor), "NVIDIA"))
    return d.why = "the driver of this context is not NVIDIA's", d;
  if (!perf_library().face.empty()) return ask_device(d), d;
  std::string first;
  for (const char* face : {"NVPW_EGL_", "NVPW_OpenGL_"}) {
    perf_library().face = face;
    d = {};
    if (ask_device(d)) return d;
    if (first.empty()) first = d.why;
  }
  perf_library().face.clear();
  d.why = first;
  return d;
}

// Counters that are set up together.
struct Setup {
  std::vector<MetricRequest> requests;
  std::vector<uint8_t> config, prefix;  // bytes for the library; vectors of bytes lie at multiples of 16
};

bool bytes_from(const char* function, void* from, std::vector<uint8_t>& out, std::string& why) {
  GetBytes get;
  get.from = from;
  if (!perf_library().call(function, get, why)) return false;
  out.resize(get.copied);
  get.room = out.size();
  get.bytes = out.data();
  return perf_library().call(function, get, why);
}

bool request_of(Chip& c, const std::string& metric, MetricRequest& out, std::string& why) {
  RequestOf ask;
  ask.evaluator = c.evaluator;
  ask.name = metric.c_str();
  ask.request = &out;
  if (!perf_library().call("MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", ask)) return true;
  return why = "NvPerf knows no " + metric + " on " + c.name, false;
}

// One pass of the GPU counts all of them, or the library says that it does not.
bool set_up(Chip& c, const std::vector<std::string>& metrics, Setup& s, std::string& why) {
  PerfLibrary& l = perf_library();
  s = {};
  s.requests.resize(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i)
    if (!request_of(c, metrics[i], s.requests[i], why)) return false;
  Dependencies need;
  need.evaluator = c.evaluator;
  need.requests = s.requests.data();
  need.count = s.requests.size();
  if (!l.call("MetricsEvaluator_GetMetricRawDependencies", need, why)) return false;
  std::vector<const char*> raw(need.raw_count + 1), optional(need.optional_count + 1);
  need.raw = raw.data();
  need.optional = optional.data();
  if (!l.call("MetricsEvaluator_GetMetricRawDependencies", need, why)) return false;
  std::vector<RawRequest> wanted(need.raw_count);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i].name = raw[i];

  ConfigCreate create;
  create.chip = c.name.c_str();
  if (!l.call("_RawMetricsConfig_Create", create, why)) return false;
  Config config;
  config.config = create.config;
  PassGroup group;
  group.config = create.config;
  AddMetrics add;
  add.to = create.config;
  add.requests = wanted.data();
  add.count = wanted.size();
  GenerateImage image;
  image.config = create.config;
  bool good = l.call("RawMetricsConfig_BeginPassGroup", group, why);
  if (good && l.call("RawMetricsConfig_AddMetrics", add)) {
    why = metrics.size() > 1 ? "the GPU does not count these in one pass" : "the GPU counts it in several passes only";
    good = false;
  }
  good = good && l.call("RawMetricsConfig_EndPassGroup", config, why) &&
         l.call("RawMetricsConfig_GenerateConfigImage", image, why) &&
         bytes_from("RawMetricsConfig_GetConfigImage", create.config, s.config, why);
  l.call("RawMetricsConfig_Destroy", config);
  if (!good) return false;

  BuilderCreate builder;
  builder.chip = c.name.c_str();
  if (!l.call("CounterDataBuilder_Create", builder, why)) return false;
  add.to = builder.builder;
  good = l.call("CounterDataBuilder_AddMetrics", add, why) &&
         bytes_from("CounterDataBuilder_GetCounterDataPrefix", builder.builder, s.prefix, why);
  Config destroy;
  destroy.config = builder.builder;
  l.call("CounterDataBuilder_Destroy", destroy);
  return good;
}

struct NvPerfEnded {
  std::vector<uint64_t> segments;
  std::vector<uint8_t> image, scratch;
};
struct NvPerfState {
  std::string why;
  void* context = nullptr;  // the library's
  bool session = false, in_pass = false, ranged = false, frame_over = false;
  std::vector<uint64_t> segments;  // of the pass that goes on
  std::vector<uint8_t> image, scratch;
  std::deque<NvPerfEnded> passes;
  bool waits() const { return !segments.empty() || !passes.empty(); }
};

class NvPerfSource : public ContextSource<NvPerfState> {
  using State = NvPerfState;
  using Ended = NvPerfEnded;

 public:
  NvPerfSource(const std::vector<int>& numbers, std::vector<std::string> names)
      : ContextSource(numbers), names_(std::move(names)) {}
  ~NvPerfSource() override = default;
  int order() const override { return 4; }
  // The checks that are possible before anything is played.
  bool fits(std::string& why) { return set_up(*device().chip, names_, setup_, why) && (ready_ = true); }

  bool begin(uint64_t segment, std::string& why) override {
    if (!device().why.empty()) return why = device().why, false;
    State& s = state();
    if (!s.why.empty()) return why = s.why, false;
    if (!ready_ && !fits(why)) return s.why = why, false;
    if (segment == TRIAL) return true;  // that they fit is known by now
    if (!open(s, why)) return s.why = why, false;
    if (s.segments.size() >= MOST_RANGES) end_pass(s);
    if (s.passes.size() >= BUFFERS) decode(s, true);  // between two segments: nothing that is measured waits
    if (!s.in_pass && !begin_pass(s, why)) return s.why = why, false;
    char name[NAME_LENGTH];
    PushRange push;
    push.length = static_cast<size_t>(snprintf(name, sizeof name, "%zu", s.segments.size()));
    push.name = name;
    if (!perf_library().call("_Profiler_GraphicsContext_PushRange", push, why)) return s.why = why, false;
    s.segments.push_back(segment);
    s.ranged = true;
    return true;
  }

  void end() override {
    State& s = state();
    if (!s.ranged) return;
    s.ranged = false;
    Nothing nothing;
    std::string why;
    if (!perf_library().call("_Profiler_GraphicsContext_PopRange", nothing, why)) s.why = why;
  }

  void frame(uint64_t) override {
    for (auto& [context, s] : states_) s.frame_over = true;
  }

  void collect(Sink& to, bool wait) override {
    ContextSource::collect(to, wait);
    for (auto& d : done_) {
      for (size_t i = 0; i < names_.size(); ++i) {
        if (d.why)
          to.lost(d.segment, metrics[i], d.why);
        else
          to.value(d.segment, metrics[i], d.values[i]);
      }
    }
    done_.clear();
  }

  // A GPU has one session at a time: another context's begins when this one's has ended.
  void leave() override {
    if (State* s = state_if_any()) release(*s);
  }

 private:
  struct Done {
    uint64_t segment;
    const char* why;
    std::vector<double> values;
  };

  void take_results(State& s, Sink&, bool wait) override {
    if (s.in_pass && (wait || s.frame_over)) end_pass(s);
    s.frame_over = false;
    while (decode(s, wait)) {}
  }
  void release(State& s) override {
    if (!s.session) return;
    if (s.in_pass) end_pass(s);
    while (decode(s, true)) {}
    Nothing nothing;
    perf_library().call("_Profiler_GraphicsContext_EndSession", nothing);
    s.session = false;
  }

  bool open(State& s, std::string& why) {
    if (s.session) return true;
    PerfLibrary& l = perf_library();
    TraceSize size;
    size.ranges = MOST_RANGES;
    size.name_length = NAME_LENGTH;
    if (!l.call("_Profiler_CalcTraceBufferSize", size, why)) return false;
    BeginSession begin;
    begin.buffers = BUFFERS + 1;
    begin.buffer_size = size.bytes;
    begin.ranges = begin.launches = MOST_RANGES;
    if (!l.call("_Profiler_GraphicsContext_BeginSession", begin, why)) return false;
    s.session = true;
    CurrentContext current;
    if (!l.call("_GetCurrentGraphicsContext", current, why)) return false;
    s.context = current.context;
    return true;
  }

  bool begin_pass(State& s, std::string& why) {
    PerfLibrary& l = perf_library();
    ImageOptions options;
    options.prefix = setup_.prefix.data();
    options.prefix_size = setup_.prefix.size();
    options.ranges = MOST_RANGES;
    options.nodes = 2 * MOST_RANGES;
    options.name_length = NAME_LENGTH;
    ImageSize size;
    size.options = &options;
    size.options_size = options.size;
    if (!l.call("_Profiler_CounterDataImage_CalculateSize", size, why)) return false;
    s.image.assign(size.image_size, 0);
    ImageBegin image;
    image.options = &options;
    image.options_size = options.size;
    image.image_size = s.image.size();
    image.image = s.image.data();
    ScratchSize need;
    need.image_size = s.image.size();
    need.image = s.image.data();
    if (!l.call("_Profiler_CounterDataImage_Initialize", image, why) ||
        !l.call("_Profiler_CounterDataImage_CalculateScratchBufferSize", need, why))
      return false;
    s.scratch.assign(need.scratch_size, 0);
    ScratchBegin scratch;
    scratch.image_size = s.image.size();
    scratch.image = s.image.data();
    scratch.scratch_size = s.scratch.size();
    scratch.scratch = s.scratch.data();
    SetConfig set;
    set.config = setup_.config.data();
    set.config_size = setup_.config.size();
    Nothing nothing;
    if (!l.call("_Profiler_CounterDataImage_InitializeScratchBuffer", scratch, why) ||
        !l.call("_Profiler_GraphicsContext_SetConfig", set, why) ||
        !l.call("_Profiler_GraphicsContext_BeginPass", nothing, why))
      return false;
    return s.in_pass = true;
  }

  void end_pass(State& s) {
    Nothing nothing;
    std::string why;
    s.in_pass = false;
    if (!perf_library().call("_Profiler_GraphicsContext_EndPass", nothing, why)) {
      s.why = why;
      lose(s.segments, lasting(why));
      s.segments.clear();
      return;
    }
    s.passes.push_back({std::move(s.segments), std::move(s.image), std::move(s.scratch)});
    s.segments.clear();
  }

  void lose(const std::vector<uint64_t>& segments, const char* why) {
    for (uint64_t segment : segments) done_.push_back({segment, why, {}});
  }

  // Takes the oldest pass that has ended; false: there is none, or it is not there yet.
  bool decode(State& s, bool wait) {
    if (s.passes.empty()) return false;
    Ended& p = s.passes.front();
    std::string why;
    Decode d;
    for (uint64_t until = now_ns() + DECODING_NS;; usleep(50)) {
      d = {};
      d.context = s.context;
      d.image_size = p.image.size();
      d.image = p.image.data();
      d.scratch_size = p.scratch.size();
      d.scratch = p.scratch.data();
      if (!perf_library().call("_Profiler_GraphicsContext_DecodeCounters", d, why) || d.one) break;
      if (!wait) return false;
      if (now_ns() > until) {
        why = "the GPU did not finish the counters in time";
        break;
      }
    }
    if (!why.empty())
      s.why = why;
    else if (d.ranges_dropped || d.bytes_dropped)
      why = "overflow: the GPU had no room for the counters";
    if (why.empty()) evaluate(p, why);
    if (!why.empty()) lose(p.segments, lasting(why));
    s.passes.pop_front();
    return true;
  }

  void evaluate(const Ended& p, std::string& why) {
    PerfLibrary& l = perf_library();
    Chip& c = *device().chip;
    DeviceAttributes attributes;
    attributes.evaluator = c.evaluator;
    attributes.image = p.image.data();
    attributes.image_size = p.image.size();
    NumRanges ranges;
    ranges.image = p.image.data();
    if (!l.call("MetricsEvaluator_SetDeviceAttributes", attributes, why) ||
        !l.call("CounterData_GetNumRanges", ranges, why))
      return;
    std::vector<bool> had(p.segments.size());
    for (size_t i = 0; i < ranges.count; ++i) {
      const char* names[4] = {};
      RangeName name;
      name.image = p.image.data();
      name.range = i;
      if (!l.call("Profiler_CounterData_GetRangeDescriptions", name, why)) break;
      name.count = std::min(name.count, std::size(names));
      name.names = names;
      if (!l.call("Profiler_CounterData_GetRangeDescriptions", name, why)) break;
      size_t place =
          name.count && names[name.count - 1] ? strtoul(names[name.count - 1], nullptr, 10) : p.segments.size();
      if (place >= p.segments.size() || had[place]) {
        why = "NvPerf's result makes no sense";
        break;
      }
      Done done{p.segments[place], nullptr, std::vector<double>(names_.size())};
      Evaluate evaluate;
      evaluate.evaluator = c.evaluator;
      evaluate.requests = setup_.requests.data();
      evaluate.count = setup_.requests.size();
      evaluate.image = p.image.data();
      evaluate.image_size = p.image.size();
      evaluate.range = i;
      evaluate.values = done.values.data();
      if (!l.call("MetricsEvaluator_EvaluateToGpuValues", evaluate, why)) break;
      had[place] = true;
      done_.push_back(std::move(done));
    }
    if (why.empty()) why = "NvPerf has no result of this range";
    std::vector<uint64_t> missing;
    for (size_t i = 0; i < had.size(); ++i)
      if (!had[i]) missing.push_back(p.segments[i]);
    lose(missing, lasting(why));
    why.clear();
  }

  std::vector<std::string> names_;
  Setup setup_;
  bool ready_ = false;
  std::deque<Done> done_;
};

// NvPerf's names say what a value is: counter.sum, ratio.pct, throughput.avg.pct_of_peak_sustained_elapsed. The most
// useful of the many that the library derives are on offer.
struct Derived {
  uint8_t metric_type;
  const char *suffix, *type;
};
constexpr Derived DERIVED[] = {{0, ".sum", "counter"},
                               {0, ".avg", "counter"},
                               {1, ".pct", "percent"},
                               {1, ".ratio", "mean"},
                               {2, ".avg.pct_of_peak_sustained_elapsed", "percent"}};

class NvPerf : public Backend {
 public:
  NvPerf() : Backend("nvperf") {}
  std::string reason() override {
    if (!perf_library().why.empty()) return perf_library().why;
    return current_context() ? device().why : "there is no context";
  }
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    Chip& c = *device().chip;
    PerfLibrary& l = perf_library();
    for (auto& derived : DERIVED) {
      MetricNames names;
      names.evaluator = c.evaluator;
      names.type = derived.metric_type;
      if (l.call("MetricsEvaluator_GetMetricNames", names)) continue;
      for (size_t i = 0; i < names.count; ++i) {
        std::string base = names.names + names.begins[i], name = base + derived.suffix, why;
        MetricRequest request;
        // Names with dots are the same counters, bound to places of the chip that other tools ask for.
        if (base.find('.') != base.npos || !request_of(c, name, request, why)) continue;
        size_t bar = base.find("__");
        out.push_back({name, bar == base.npos ? "gpu" : base.substr(0, bar), name, derived.type, unit(c, request),
                       about(c, derived.metric_type, i), 0});
      }
    }
    return out;
  }
  // Units of the chip have counters of their own: "sm" of "sm__warps_launched.sum".
  std::string group_of(const std::string& spec) override { return spec.substr(0, spec.find("__")); }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    if (!perf_library().why.empty()) return why = perf_library().why, nullptr;
    std::vector<std::string> names;
    for (int n : numbers) names.push_back(all[static_cast<size_t>(n)].spec);
    auto made = std::make_unique<NvPerfSource>(numbers, std::move(names));
    // A source that is made before there is a context asks when it begins.
    if (current_context() && (!(why = device().why).empty() || !made->fits(why))) return nullptr;
    return made;
  }

 private:
  static std::string unit(Chip& c, const MetricRequest& request) {
    UnitFactor factors[8];
    Units units;
    units.evaluator = c.evaluator;
    units.request = &request;
    if (perf_library().call("MetricsEvaluator_GetMetricDimUnits", units) || units.count != 1) return "";
    units.factors = factors;
    if (perf_library().call("MetricsEvaluator_GetMetricDimUnits", units) || factors[0].exponent != 1) return "";
    UnitName name;
    name.evaluator = c.evaluator;
    name.unit = factors[0].unit;
    if (perf_library().call("MetricsEvaluator_DimUnitToString", name) || !name.plural) return "";
    return !strcmp(name.plural, "nanoseconds") ? "ns" : name.plural;
  }
  static std::string about(Chip& c, uint8_t type, size_t index) {
    auto ask = [&](auto params, const char* function) {
      params.evaluator = c.evaluator;
      params.index = index;
      return perf_library().call(function, params) || !params.text ? std::string() : std::string(params.text);
    };
    if (type == 0) return ask(CounterAbout{}, "MetricsEvaluator_GetCounterProperties");
    return type == 1 ? ask(RatioAbout{}, "MetricsEvaluator_GetRatioMetricProperties")
                     : ask(ThroughputAbout{}, "MetricsEvaluator_GetThroughputMetricProperties");
  }
} g_nvperf;

}  // namespace
}  // namespace dt::play::metrics
