#include "process.h"

#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include "../common/json.h"

namespace dt {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

namespace {

// Fields of /proc/PID/stat from the third on (the state); empty: no such process.
std::vector<std::string> stat_fields(uint32_t pid) {
  const std::string line = slurp("/proc/" + std::to_string(pid) + "/stat");
  const size_t paren = line.rfind(')');
  if (paren == std::string::npos) return {};
  std::istringstream rest(line.substr(paren + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}
uint64_t start_time(uint32_t pid) {
  auto fields = stat_fields(pid);
  return fields.size() > 19 ? strtoull(fields[19].c_str(), nullptr, 10) : 0;
}

}  // namespace

std::string command_line_json(uint32_t pid) {
  const std::string text = slurp("/proc/" + std::to_string(pid) + "/cmdline");
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size(); at += words.back().size() + 1)
    words.push_back(std::string_view(text).substr(at, text.find('\0', at) - at));
  std::string json;
  JsonWriter(json).values(words);
  return json;
}

Watched::Watched(uint32_t pid) : pid_(pid), start_(pid ? start_time(pid) : 0) {
  if (!pid) return;
  fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd_ < 0) gone_ = errno == ESRCH;
}

Watched::~Watched() {
  if (fd_ >= 0) close(fd_);
}

bool Watched::gone() {
  if (gone_ || !pid_) return gone_;
  if (fd_ >= 0) {
    pollfd p = {fd_, POLLIN, 0};
    return gone_ = poll(&p, 1, 0) > 0;
  }
  auto fields = stat_fields(pid_);
  return gone_ = fields.empty() || fields[0] == "Z" || fields[0] == "X" || start_time(pid_) != start_;
}

bool Watched::exit_status(bool* signalled, int* value) const {
  auto fields = stat_fields(pid_);
  if (fields.size() < 50 || fields[0] != "Z" || start_time(pid_) != start_) return false;
  const int status = atoi(fields[49].c_str());
  *signalled = status & 0x7f;
  *value = *signalled ? status & 0x7f : status >> 8 & 0xff;
  return true;
}

}  // namespace dt
