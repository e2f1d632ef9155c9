// The processor's side: clocks, memory, faults and switches of the player. Read where segments begin and end.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "table_backend.h"

namespace dt::play::metrics {
namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
}

// Pages of the process: size, resident.
bool statm(unsigned long long& size, unsigned long long& resident) {
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file) return false;
  bool good = fscanf(file, "%llu %llu", &size, &resident) == 2;
  fclose(file);
  return good;
}

double resource_usage(long rusage::* what) {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.*what);
}

enum CpuFigure { WALL, THREAD, PROCESS, START, MINOR, MAJOR, VOLUNTARY, INVOLUNTARY, RESIDENT, VIRTUAL };
struct CpuMetric {
  const char *spec, *group, *type, *unit;
  CpuFigure what;
};
const CpuMetric CPU_METRICS[] = {
    {"wall", "time", "sum", "ns", WALL},
    {"thread", "time", "sum", "ns", THREAD},
    {"process", "time", "sum", "ns", PROCESS},
    {"start", "time", "first", "ns", START},
    {"minor_faults", "memory", "sum", "count", MINOR},
    {"major_faults", "memory", "sum", "count", MAJOR},
    {"voluntary_switches", "scheduler", "sum", "count", VOLUNTARY},
    {"involuntary_switches", "scheduler", "sum", "count", INVOLUNTARY},
    {"resident", "memory", "last", "bytes", RESIDENT},
    {"virtual", "memory", "last", "bytes", VIRTUAL},
};

double read(CpuFigure what) {
  switch (what) {
    case WALL:
    case START: return static_cast<double>(clock_ns(CLOCK_MONOTONIC));
    case THREAD: return static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    case PROCESS: return static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    case MINOR: return resource_usage(&rusage::ru_minflt);
    case MAJOR: return resource_usage(&rusage::ru_majflt);
    case VOLUNTARY: return resource_usage(&rusage::ru_nvcsw);
    case INVOLUNTARY: return resource_usage(&rusage::ru_nivcsw);
    case RESIDENT:
    case VIRTUAL: {
      unsigned long long size = 0, resident = 0;
      statm(size, resident);
      return static_cast<double>(what == VIRTUAL ? size : resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
    }
  }
  return 0;
}

class CpuSource : public ReadSource {
 public:
  CpuSource(const std::vector<int>& numbers, const std::vector<const CpuMetric*>& metrics)
      : ReadSource(numbers), from_(metrics.size()) {
    for (auto* metric : metrics) what_.push_back(metric->what);
    // Clocks are read closest to what is measured, files farthest.
    for (size_t i = 0; i < what_.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [this](size_t a, size_t b) { return what_[a] < what_[b]; });
  }
  int order() const override { return 0; }

 private:
  bool start(uint64_t, std::string&) override {
    for (size_t i = order_.size(); i-- > 0;)
      if (what_[order_[i]] < RESIDENT) from_[order_[i]] = read(what_[order_[i]]);
    return true;
  }
  std::vector<Figure> stop() override {
    std::vector<Figure> out(what_.size());
    for (size_t i : order_) {
      double now = what_[i] == START ? 0 : read(what_[i]);
      out[i].value = what_[i] == START ? from_[i] : what_[i] >= RESIDENT ? now : now - from_[i];
    }
    return out;
  }
  std::vector<CpuFigure> what_;
  std::vector<double> from_;
  std::vector<size_t> order_;
};

class Cpu : public TableBackend<CPU_METRICS> {
 public:
  Cpu() : TableBackend("cpu") {}
  bool per_context() const override { return false; }
  std::string reason() override { return ""; }

 private:
  std::unique_ptr<Source> measuring(const std::vector<int>& numbers, const std::vector<const CpuMetric*>& metrics,
                                    std::string&) override {
    return std::make_unique<CpuSource>(numbers, metrics);
  }
} g_cpu;

}  // namespace
}  // namespace dt::play::metrics
