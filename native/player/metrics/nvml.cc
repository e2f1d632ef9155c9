// NVIDIA's management library, loaded where it is: use, power, energy, clocks, temperature and memory of each GPU.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "measure.h"

namespace dt::play::metrics {
namespace {

// As nvml.h has them.
using NvmlDevice = void*;
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
enum : int { SUCCESS = 0, CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0 };

struct NvmlLibrary {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*utilization)(NvmlDevice, Utilization*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*energy)(NvmlDevice, unsigned long long*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*memory)(NvmlDevice, Memory*) = nullptr;
  const char* (*error)(int) = nullptr;
  std::vector<NvmlDevice> devices;
  std::vector<std::string> names;
  std::string why;
};

NvmlLibrary& nvml_library() {
  static NvmlLibrary made = [] {
    NvmlLibrary l;
    void* so = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!so) {
      l.why = "there is no libnvidia-ml.so.1: no driver of NVIDIA's";
      return l;
    }
    auto load = [&](auto& f, const char* name) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(so, name));
    };
    load(l.init, "nvmlInit_v2");
    load(l.count, "nvmlDeviceGetCount_v2");
    load(l.handle, "nvmlDeviceGetHandleByIndex_v2");
    load(l.name, "nvmlDeviceGetName");
    load(l.utilization, "nvmlDeviceGetUtilizationRates");
    load(l.power, "nvmlDeviceGetPowerUsage");
    load(l.energy, "nvmlDeviceGetTotalEnergyConsumption");
    load(l.clock, "nvmlDeviceGetClockInfo");
    load(l.temperature, "nvmlDeviceGetTemperature");
    load(l.memory, "nvmlDeviceGetMemoryInfo");
    load(l.error, "nvmlErrorString");
    if (!l.init || !l.count || !l.handle) {
      l.why = "libnvidia-ml.so.1 lacks functions";
      return l;
    }
    int said = l.init();
    if (said != SUCCESS) {
      l.why = std::string("nvmlInit: ") + (l.error ? l.error(said) : std::to_string(said).c_str());
      return l;
    }
    unsigned count = 0;
    if (l.count(&count) != SUCCESS || !count) {
      l.why = "there is no GPU of NVIDIA's";
      return l;
    }
    for (unsigned i = 0; i < count && i < 64; ++i) {
      NvmlDevice device = nullptr;
      char name[96] = {};
      if (l.handle(i, &device) != SUCCESS) continue;
      if (l.name) l.name(device, name, sizeof name);
      l.devices.push_back(device);
      l.names.emplace_back(name, strnlen(name, sizeof name));
    }
    return l;
  }();
  return made;
}

// Reads a number that the library tells of a device, of `which` kind.
template <auto function, auto... which> bool number(NvmlLibrary& l, NvmlDevice d, double& v) {
  unsigned n = 0;
  return l.*function && (l.*function)(d, which..., &n) == SUCCESS && (v = n, true);
}
// The same of a number among several.
template <auto function, class Several, auto member> bool one_of(NvmlLibrary& l, NvmlDevice d, double& v) {
  Several all{};
  return l.*function && (l.*function)(d, &all) == SUCCESS && (v = static_cast<double>(all.*member), true);
}

struct NvmlMetric {
  const char *name, *type, *unit;
  bool (*read)(NvmlLibrary&, NvmlDevice, double&);
};
const NvmlMetric NVML_METRICS[] = {
    {"gpu_utilization", "percent", "percent", one_of<&NvmlLibrary::utilization, Utilization, &Utilization::gpu>},
    {"memory_utilization", "percent", "percent", one_of<&NvmlLibrary::utilization, Utilization, &Utilization::memory>},
    {"power", "gauge", "mW", number<&NvmlLibrary::power>},
    {"energy", "counter", "mJ",
     [](NvmlLibrary& l, NvmlDevice d, double& v) {
       unsigned long long e = 0;
       return l.energy && l.energy(d, &e) == SUCCESS && (v = static_cast<double>(e), true);
     }},
    {"graphics_clock", "gauge", "MHz", number<&NvmlLibrary::clock, CLOCK_GRAPHICS>},
    {"sm_clock", "gauge", "MHz", number<&NvmlLibrary::clock, CLOCK_SM>},
    {"memory_clock", "gauge", "MHz", number<&NvmlLibrary::clock, CLOCK_MEMORY>},
    {"temperature", "gauge", "C", number<&NvmlLibrary::temperature, TEMPERATURE_GPU>},
    {"memory_used", "gauge", "bytes", one_of<&NvmlLibrary::memory, Memory, &Memory::used>},
};

struct DeviceMetric {
  size_t device;
  const NvmlMetric* what;
};

class NvmlSource : public ReadSource {
 public:
  NvmlSource(const std::vector<int>& numbers, std::vector<DeviceMetric> places)
      : ReadSource(numbers), places_(std::move(places)), from_(places_.size()) {}
  int order() const override { return 8; }

 private:
  bool start(uint64_t, std::string&) override {
    for (size_t i = 0; i < places_.size(); ++i)
      if (counts(i)) read(i, from_[i]);
    return true;
  }
  std::vector<Figure> stop() override {
    std::vector<Figure> out(places_.size());
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!read(i, out[i].value)) out[i].lost = "the GPU did not answer";
      if (counts(i)) out[i].value -= from_[i];
    }
    return out;
  }
  bool counts(size_t i) const { return !strcmp(places_[i].what->type, "counter"); }
  bool read(size_t i, double& v) {
    return places_[i].what->read(nvml_library(), nvml_library().devices[places_[i].device], v);
  }
  std::vector<DeviceMetric> places_;
  std::vector<double> from_;
};

class Nvml : public Backend {
 public:
  Nvml() : Backend("nvml") {}
  bool per_context() const override { return false; }
  std::string reason() override { return nvml_library().why; }
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    NvmlLibrary& l = nvml_library();
    for (size_t d = 0; d < l.devices.size(); ++d)
      for (auto& k : NVML_METRICS) {
        double v = 0;
        if (!k.read(l, l.devices[d], v)) continue;
        out.push_back(
            {std::to_string(d) + ":" + k.name, "gpu" + std::to_string(d), k.name, k.type, k.unit, l.names[d]});
      }
    return out;
  }
  std::string group_of(const std::string&) override { return "all"; }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    std::vector<DeviceMetric> places;
    for (int n : numbers) {
      const std::string& spec = all[static_cast<size_t>(n)].spec;
      size_t colon = spec.find(':');
      size_t device = strtoul(spec.c_str(), nullptr, 10);
      const NvmlMetric* what = nullptr;
      for (auto& k : NVML_METRICS)
        if (colon != spec.npos && spec.substr(colon + 1) == k.name) what = &k;
      if (!what || device >= nvml_library().devices.size())
        return why = nvml_library().why.empty() ? "there is no " + spec : nvml_library().why, nullptr;
      places.push_back({device, what});
    }
    return std::make_unique<NvmlSource>(numbers, std::move(places));
  }
} g_nvml;

}  // namespace
}  // namespace dt::play::metrics
