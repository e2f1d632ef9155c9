// The words of the kernel's GPU drivers about this process in /proc/self/fdinfo: time on engines, cycles, memory
// (Documentation/gpu/drm-client_usage-stats.rst).
#include <dirent.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "measure.h"

namespace dt::play::metrics {
namespace {

std::string folder() {
  const char* other = getenv("DRAWTAP_FDINFO");  // of another process, or of a test
  return other ? other : "/proc/self/fdinfo";
}

// The sum over the clients of this process, by key. A client that several files stand for counts once.
std::map<std::string, double> client_usage() {
  std::map<std::string, double> sums;
  std::set<std::string> clients;
  DIR* dir = opendir(folder().c_str());
  if (!dir) return sums;
  while (dirent* entry = readdir(dir)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    std::ifstream file(folder() + "/" + entry->d_name);
    std::map<std::string, double> values;
    std::string device, client;
    for (std::string line; std::getline(file, line);) {
      size_t colon = line.find(':');
      if (colon == line.npos || !line.starts_with("drm-")) continue;
      std::string key = line.substr(4, colon - 4), rest = line.substr(colon + 1);
      if (key == "pdev" || key == "driver") device += rest;
      if (key == "client-id") client = rest;
      if (!key.starts_with("engine-") && !key.starts_with("cycles-") && !key.starts_with("memory-") &&
          !key.starts_with("total-") && !key.starts_with("resident-"))
        continue;
      if (key.starts_with("engine-capacity-")) continue;
      std::stringstream words(rest);
      double number = 0;
      std::string unit;
      if (!(words >> number)) continue;
      words >> unit;
      values[key] = number * (unit == "KiB" ? 1024.0 : unit == "MiB" ? 1048576.0 : unit == "GiB" ? 1073741824.0 : 1.0);
    }
    if (values.empty() || (!client.empty() && !clients.insert(device + client).second)) continue;
    for (auto& [key, value] : values) sums[key] += value;
  }
  closedir(dir);
  return sums;
}

bool is_gauge(const std::string& key) { return !key.starts_with("engine-") && !key.starts_with("cycles-"); }

class DrmSource : public ReadSource {
 public:
  DrmSource(const std::vector<int>& numbers, std::vector<std::string> keys)
      : ReadSource(numbers), keys_(std::move(keys)) {}
  int order() const override { return 7; }

 private:
  bool start(uint64_t, std::string&) override { return from_ = client_usage(), true; }
  std::vector<Figure> stop() override {
    std::vector<Figure> out;
    const std::map<std::string, double> all = client_usage();
    for (auto& key : keys_) {
      const auto now = all.find(key);
      const auto before = from_.find(key);
      if (now == all.end())
        out.push_back({0, "no file of this process says so any more"});
      else
        out.push_back({now->second - (is_gauge(key) || before == from_.end() ? 0 : before->second)});
    }
    return out;
  }
  std::vector<std::string> keys_;
  std::map<std::string, double> from_;
};

class Drm : public Backend {
 public:
  Drm() : Backend("drm") {}
  bool per_context() const override { return false; }
  std::string reason() override {
    return client_usage().empty()
               ? "the driver here says nothing of itself in /proc/self/fdinfo (none of the kernel's, or before Linux "
                 "5.19)"
               : "";
  }
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    for (auto& [key, value] : client_usage()) {
      size_t dash = key.find('-');
      std::string kind = key.substr(0, dash);
      out.push_back({key, kind, key.substr(dash + 1),
                     is_gauge(key)      ? "gauge"
                     : kind == "engine" ? "duration"
                                        : "counter",
                     is_gauge(key)      ? "bytes"
                     : kind == "engine" ? "ns"
                                        : "count",
                     ""});
    }
    return out;
  }
  std::string group_of(const std::string&) override { return "all"; }
  std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                 std::string&) override {
    std::vector<std::string> keys;
    for (int n : numbers) keys.push_back(all[static_cast<size_t>(n)].spec);
    return std::make_unique<DrmSource>(numbers, std::move(keys));
  }
} g_drm;

}  // namespace
}  // namespace dt::play::metrics
