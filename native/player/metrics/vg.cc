// The counts of an OpenVG engine, through the EGL extension EGL_DRAWTAP_sensors (docs/howto/openvg.md).
#include <EGL/egl.h>

#include <cmath>
#include <cstdlib>

#include "source.h"

namespace dt::play::metrics {
namespace {

template <class F> F* function(const char* name) { return reinterpret_cast<F*>(eglGetProcAddress(name)); }

// Functions of the EGL in front of the system's; there are none where the recording has no OpenVG.
struct Sensors {
  EGLint (*count)() = function<EGLint()>("eglGetSensorCountDRAWTAP");
  const char* (*name)(EGLint) = function<const char*(EGLint)>("eglGetSensorNameDRAWTAP");
  const char* (*description)(EGLint) = function<const char*(EGLint)>("eglGetSensorDescriptionDRAWTAP");
  EGLBoolean (*is_mean)(EGLint) = function<EGLBoolean(EGLint)>("eglIsSensorMeanDRAWTAP");
  EGLBoolean (*value)(EGLint, double*) = function<EGLBoolean(EGLint, double*)>("eglGetSensorFloatDRAWTAP");
  EGLBoolean (*reset)() = function<EGLBoolean()>("eglResetSensorsDRAWTAP");
  bool there() const { return count && name && description && is_mean && value && reset; }
};
const Sensors& sensors() {
  static const Sensors functions;
  return functions;
}

// Counters begin anew with every segment, so that means are over the segment. The player cuts segments where another
// OpenVG context becomes current.
class VgSource : public ReadSource {
 public:
  VgSource(const std::vector<int>& numbers, std::vector<EGLint> indices)
      : ReadSource(numbers), indices_(std::move(indices)) {}
  int order() const override { return 6; }

 private:
  bool start(uint64_t, std::string&) override {
    if (!sensors().reset()) eglGetError();  // no context yet: nothing is counted
    return true;
  }
  std::vector<Figure> stop() override {
    std::vector<Figure> out;
    for (EGLint index : indices_)
      if (!sensors().value(index, &out.emplace_back().value)) eglGetError();
    return out;
  }
  std::vector<EGLint> indices_;
};

class Vg : public Backend {
 public:
  Vg() : Backend("vg") {}
  bool per_context() const override { return false; }
  std::string reason() override {
    return sensors().there() && sensors().count() > 0 ? ""
                                                      : "the recording has no OpenVG, or drawtap's engine is not here";
  }
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    if (!sensors().there()) return out;
    for (EGLint i = 0; i < sensors().count(); ++i)
      if (sensors().name(i))
        out.push_back({std::to_string(i), "engine", sensors().name(i), sensors().is_mean(i) ? "mean" : "counter",
                       "count", sensors().description(i) ? sensors().description(i) : ""});
    return out;
  }
  std::string group_of(const std::string&) override { return "all"; }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    if (!sensors().there()) return why = reason(), nullptr;
    std::vector<EGLint> indices;
    for (int n : numbers) indices.push_back(atoi(all[static_cast<size_t>(n)].spec.c_str()));
    return std::make_unique<VgSource>(numbers, std::move(indices));
  }
} g_vg;

}  // namespace
}  // namespace dt::play::metrics
