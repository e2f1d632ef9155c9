// The counts of an OpenVG engine, through the EGL extension EGL_DRAWTAP_sensors (docs/howto/openvg.md).
#include <EGL/egl.h>

#include <cmath>
#include <cstdlib>
#include <deque>

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
class VgSource : public Source {
 public:
  VgSource(const std::vector<int>& numbers, std::vector<EGLint> indices)
      : Source(numbers), indices_(std::move(indices)) {}
  bool per_context() const override { return false; }
  int order() const override { return 6; }
  bool begin(uint64_t segment, std::string&) override {
    segment_ = segment;
    if (!sensors().reset()) eglGetError();  // no context yet: nothing is counted
    return true;
  }
  void end() override {
    Done done{segment_, {}};
    for (EGLint index : indices_) {
      double value = 0;
      if (!sensors().value(index, &value)) eglGetError();
      done.values.push_back(value);
    }
    done_.push_back(std::move(done));
  }
  void collect(Sink& to, bool) override {
    for (auto& d : done_)
      for (size_t i = 0; i < indices_.size(); ++i) to.value(d.segment, metrics[i], d.values[i]);
    done_.clear();
  }

 private:
  struct Done {
    uint64_t segment;
    std::vector<double> values;
  };
  std::vector<EGLint> indices_;
  std::deque<Done> done_;
  uint64_t segment_ = 0;
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
