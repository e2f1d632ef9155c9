// The structs that functions of NvPerf take. Each begins with its own size, so that library and caller may be of
// different ages: they have the fields of NVIDIA's headers nvperf_{common,host,target,opengl_*,egl_*}.h, in that order.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dt::play::metrics::nvperf {

// The size is that up to the last field: what a newer library adds behind it stays as if it was not known.
#define SIZED(S, last) size_t size = offsetof(S, last) + sizeof(S::last)
struct Nothing {
  SIZED(Nothing, priv);
  void* priv = nullptr;
};
struct Paths {
  SIZED(Paths, paths);
  void* priv = nullptr;
  size_t count = 0;
  const char** paths = nullptr;
};
struct CurrentContext {
  SIZED(CurrentContext, context);
  void* priv = nullptr;
  void* context = nullptr;
};
struct DeviceIndex {
  SIZED(DeviceIndex, device);
  void* priv = nullptr;
  size_t sli = 0, device = 0;
};
struct DeviceNames {
  SIZED(DeviceNames, chip);
  void* priv = nullptr;
  size_t device = 0;
  const char *name = nullptr, *chip = nullptr;
};
struct Supported {
  SIZED(Supported, wsl);
  void* priv = nullptr;
  size_t device = 0;
  uint8_t yes = 0;
  int architecture = 0, sli = 0, cmp = 0, wsl = 0;
};
struct ImageOptions {
  SIZED(ImageOptions, name_length);
  const uint8_t* prefix = nullptr;
  size_t prefix_size = 0;
  uint32_t ranges = 0, nodes = 0, name_length = 0;
};
struct ImageSize {
  SIZED(ImageSize, image_size);
  void* priv = nullptr;
  size_t options_size = 0;
  const ImageOptions* options = nullptr;
  size_t image_size = 0;
};
struct ImageBegin {
  SIZED(ImageBegin, image);
  void* priv = nullptr;
  size_t options_size = 0;
  const ImageOptions* options = nullptr;
  size_t image_size = 0;
  uint8_t* image = nullptr;
};
struct ScratchSize {
  SIZED(ScratchSize, scratch_size);
  void* priv = nullptr;
  size_t image_size = 0;
  uint8_t* image = nullptr;
  size_t scratch_size = 0;
};
struct ScratchBegin {
  SIZED(ScratchBegin, scratch);
  void* priv = nullptr;
  size_t image_size = 0;
  uint8_t* image = nullptr;
  size_t scratch_size = 0;
  uint8_t* scratch = nullptr;
};
struct TraceSize {
  SIZED(TraceSize, bytes);
  void* priv = nullptr;
  size_t ranges = 0, name_length = 0, bytes = 0;
};
struct BeginSession {
  SIZED(BeginSession, launches);
  void* priv = nullptr;
  size_t buffers = 0, buffer_size = 0, ranges = 0, launches = 0;
};
struct SetConfig {
  SIZED(SetConfig, target_level);
  void* priv = nullptr;
  const uint8_t* config = nullptr;
  size_t config_size = 0;
  uint16_t least_level = 1, levels = 1;
  size_t pass = 0;
  uint16_t target_level = 1;
};
struct PushRange {
  SIZED(PushRange, length);
  void* priv = nullptr;
  const char* name = nullptr;
  size_t length = 0;
};
struct Decode {
  SIZED(Decode, pass);
  void *priv = nullptr, *context = nullptr;
  size_t image_size = 0;
  uint8_t* image = nullptr;
  size_t scratch_size = 0;
  uint8_t* scratch = nullptr;
  size_t ranges_dropped = 0, bytes_dropped = 0;
  uint8_t one = 0, all = 0;
  const uint8_t* config = nullptr;
  size_t pass = 0;
};
struct EvaluatorSize {
  SIZED(EvaluatorSize, bytes);
  void* priv = nullptr;
  const char* chip = nullptr;
  size_t bytes = 0;
};
struct EvaluatorBegin {
  SIZED(EvaluatorBegin, evaluator);
  void* priv = nullptr;
  uint8_t* scratch = nullptr;
  size_t scratch_size = 0;
  const char* chip = nullptr;
  const uint8_t* image = nullptr;
  size_t image_size = 0;
  void* evaluator = nullptr;
};
struct MetricNames {
  SIZED(MetricNames, count);
  void *priv = nullptr, *evaluator = nullptr;
  uint8_t type = 0;
  const char* names = nullptr;
  const size_t* begins = nullptr;
  size_t count = 0;
};
struct MetricRequest {
  size_t index = 0;
  uint8_t type = 0, rollup = 0;
  uint16_t submetric = 0;
};
constexpr size_t REQUEST_SIZE = offsetof(MetricRequest, submetric) + sizeof(MetricRequest::submetric);
struct RequestOf {
  SIZED(RequestOf, request_size);
  void *priv = nullptr, *evaluator = nullptr;
  const char* name = nullptr;
  MetricRequest* request = nullptr;
  size_t request_size = REQUEST_SIZE;
};
struct Dependencies {
  SIZED(Dependencies, optional_count);
  void *priv = nullptr, *evaluator = nullptr;
  const MetricRequest* requests = nullptr;
  size_t count = 0, request_size = REQUEST_SIZE, stride = sizeof(MetricRequest);
  const char** raw = nullptr;
  size_t raw_count = 0;
  const char** optional = nullptr;
  size_t optional_count = 0;
};
struct CounterAbout {
  SIZED(CounterAbout, unit);
  void *priv = nullptr, *evaluator = nullptr;
  size_t index = 0;
  const char* text = nullptr;
  uint32_t unit = 0;
};
struct RatioAbout {
  SIZED(RatioAbout, unit);
  void *priv = nullptr, *evaluator = nullptr;
  size_t index = 0;
  const char* text = nullptr;
  uint64_t unit = 0;
};
struct ThroughputAbout {
  SIZED(ThroughputAbout, parts);
  void *priv = nullptr, *evaluator = nullptr;
  size_t index = 0;
  const char* text = nullptr;
  uint32_t unit = 0;
  size_t counter_count = 0;
  const size_t* counters = nullptr;
  size_t part_count = 0;
  const size_t* parts = nullptr;
};
struct UnitFactor {
  uint32_t unit = 0;
  int8_t exponent = 0;
};
struct Units {
  SIZED(Units, factor_size);
  void *priv = nullptr, *evaluator = nullptr;
  const MetricRequest* request = nullptr;
  size_t request_size = REQUEST_SIZE;
  UnitFactor* factors = nullptr;
  size_t count = 0, factor_size = offsetof(UnitFactor, exponent) + 1;
};
struct UnitName {
  SIZED(UnitName, plural);
  void *priv = nullptr, *evaluator = nullptr;
  uint32_t unit = 0;
  const char *singular = nullptr, *plural = nullptr;
};
struct DeviceAttributes {
  SIZED(DeviceAttributes, image_size);
  void *priv = nullptr, *evaluator = nullptr;
  const uint8_t* image = nullptr;
  size_t image_size = 0;
};
struct Evaluate {
  SIZED(Evaluate, values);
  void *priv = nullptr, *evaluator = nullptr;
  const MetricRequest* requests = nullptr;
  size_t count = 0, request_size = REQUEST_SIZE, stride = sizeof(MetricRequest);
  const uint8_t* image = nullptr;
  size_t image_size = 0, range = 0;
  uint8_t isolated = 1;
  double* values = nullptr;
};
// 1: profiler
struct ConfigCreate {
  SIZED(ConfigCreate, config);
  void* priv = nullptr;
  int activity = 1;
  const char* chip = nullptr;
  void* config = nullptr;
};
struct Config {
  SIZED(Config, config);
  void *priv = nullptr, *config = nullptr;
};
struct PassGroup {
  SIZED(PassGroup, passes);
  void *priv = nullptr, *config = nullptr;
  size_t passes = 1;
};
struct RawRequest {
  SIZED(RawRequest, keep_instances);
  void* priv = nullptr;
  const char* name = nullptr;
  uint8_t isolated = 1, keep_instances = 1;
};
struct AddMetrics {
  SIZED(AddMetrics, count);
  void *priv = nullptr, *to = nullptr;
  const RawRequest* requests = nullptr;
  size_t count = 0;
};
struct GenerateImage {
  SIZED(GenerateImage, merge);
  void *priv = nullptr, *config = nullptr;
  uint8_t merge = 0;
};
struct GetBytes {
  SIZED(GetBytes, copied);
  void *priv = nullptr, *from = nullptr;
  size_t room = 0;
  uint8_t* bytes = nullptr;
  size_t copied = 0;
};
struct BuilderCreate {
  SIZED(BuilderCreate, chip);
  void *priv = nullptr, *builder = nullptr;
  const char* chip = nullptr;
};
struct NumRanges {
  SIZED(NumRanges, count);
  void* priv = nullptr;
  const uint8_t* image = nullptr;
  size_t count = 0;
};
struct RangeName {
  SIZED(RangeName, names);
  void* priv = nullptr;
  const uint8_t* image = nullptr;
  size_t range = 0, count = 0;
  const char** names = nullptr;
};
#undef SIZED

}  // namespace dt::play::metrics::nvperf
