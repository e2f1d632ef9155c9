// perf_event_open: counters of the kernel and of the processor, for the player and every thread that begins later.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "table_backend.h"

namespace dt::play::metrics {
namespace {

struct PerfEvent {
  const char *spec, *group, *type, *unit;
  uint32_t kind;
  uint64_t config;
};
constexpr uint64_t cache(uint64_t which, uint64_t result) {
  return which | PERF_COUNT_HW_CACHE_OP_READ << 8 | result << 16;
}
const PerfEvent PERF_EVENTS[] = {
    {"task_clock", "software", "duration", "ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"cpu_clock", "software", "duration", "ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"context_switches", "software", "counter", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu_migrations", "software", "counter", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"page_faults", "software", "counter", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"alignment_faults", "software", "counter", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"cycles", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_references", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache_misses", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch_misses", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"stalled_frontend", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled_backend", "hardware", "counter", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"l1d_loads", "cache", "counter", "count", PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"l1d_misses", "cache", "counter", "count", PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"llc_loads", "cache", "counter", "count", PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"llc_misses", "cache", "counter", "count", PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"dtlb_misses", "cache", "counter", "count", PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_RESULT_MISS)},
};

int open_counter(const PerfEvent& k, bool user_only) {
  perf_event_attr a;
  memset(&a, 0, sizeof a);
  a.size = sizeof a;
  a.type = k.kind;
  a.config = k.config;
  a.inherit = 1;
  a.exclude_kernel = user_only;
  a.exclude_hv = 1;
  a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// A counter of this process, of user space alone where the kernel allows no more; below 0: none, errno says why.
int counter_of(const PerfEvent& k) {
  int fd = open_counter(k, false);
  if (fd < 0 && (errno == EACCES || errno == EPERM)) fd = open_counter(k, true);
  return fd;
}

std::string why_not(int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP: return "the machine has no such counter (virtual machines often have none)";
    case EACCES:
    case EPERM: return "not allowed: sysctl kernel.perf_event_paranoid=1, or root";
    case ENOSYS: return "the kernel has no perf_event_open";
    case EMFILE: return "too many files are open";
    default: return std::string("perf_event_open: ") + strerror(error);
  }
}

struct EventReading {
  uint64_t value = 0, enabled = 0, running = 0;
};

class PerfSource : public ReadSource {
 public:
  PerfSource(const std::vector<int>& numbers, std::vector<int> files)
      : ReadSource(numbers), files_(std::move(files)), from_(files_.size()) {}
  ~PerfSource() override {
    for (int fd : files_) close(fd);
  }
  int order() const override { return 1; }

 private:
  bool start(uint64_t segment, std::string& why) override {
    for (size_t i = files_.size(); i-- > 0;)
      if (::read(files_[i], &from_[i], sizeof from_[i]) != sizeof from_[i])
        return why = "the counter cannot be read", false;
    if (segment != TRIAL) return true;
    // Where the processor has too few counters the kernel lets them take turns: that is no measurement.
    uint64_t until = now_ns() + 3000000;
    while (now_ns() < until) {}
    for (size_t i = 0; i < files_.size(); ++i) {
      EventReading now;
      if (::read(files_[i], &now, sizeof now) != sizeof now ||
          now.running - from_[i].running < (now.enabled - from_[i].enabled) * 9 / 10) {
        why = "the processor has too few counters for all at once";
        return false;
      }
    }
    return true;
  }
  std::vector<Figure> stop() override {
    std::vector<Figure> out(files_.size());
    for (size_t i = 0; i < files_.size(); ++i) {
      EventReading now;
      if (::read(files_[i], &now, sizeof now) != sizeof now) continue;
      const EventReading& from = from_[i];
      const auto value = static_cast<double>(now.value - from.value),
                 enabled = static_cast<double>(now.enabled - from.enabled),
                 running = static_cast<double>(now.running - from.running);
      if (enabled > 0 && running <= 0)
        out[i].lost = "the counter did not run: others had its place";
      else  // parts of the time without the counter are made up for, as perf does
        out[i].value = running > 0 && running < enabled ? value * enabled / running : value;
    }
    return out;
  }
  std::vector<int> files_;
  std::vector<EventReading> from_;
};

class Perf : public TableBackend<PERF_EVENTS> {
 public:
  Perf() : TableBackend("perf") {}
  bool per_context() const override { return false; }
  std::string reason() override {
    std::string last;
    for (auto& k : PERF_EVENTS)
      if ((last = refusal(k)).empty()) break;
    return last;
  }
  std::string group_of(const std::string& spec) override {
    const PerfEvent* k = row_of(spec);
    return k && k->kind == PERF_TYPE_SOFTWARE ? "software" : "processor";
  }

 private:
  std::string refusal(const PerfEvent& k) override {
    const int fd = counter_of(k);
    if (fd < 0) return why_not(errno);
    close(fd);
    return "";
  }
  std::unique_ptr<Source> measuring(const std::vector<int>& numbers, const std::vector<const PerfEvent*>& events,
                                    std::string& why) override {
    std::vector<int> files;
    for (auto* k : events) {
      const int fd = counter_of(*k);
      if (fd < 0) {
        why = why_not(errno);
        for (int f : files) close(f);
        return nullptr;
      }
      files.push_back(fd);
    }
    return std::make_unique<PerfSource>(numbers, std::move(files));
  }
} g_perf;

}  // namespace
}  // namespace dt::play::metrics
