// Processes that are recorded, as the kernel shows them.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <string>

namespace dt {

std::string slurp(const std::string& path);   // a whole file; empty where it cannot be read
std::string command_line_json(uint32_t pid);  // a list of words

// A process that may end at any moment. Where the kernel has no pidfd, it is looked for by pid and start time.
class Watched {
 public:
  // Pid 0: a process of another pid namespace. Only the end of its socket tells.
  explicit Watched(uint32_t pid);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  int fd() const { return fd_; }
  uint32_t pid() const { return pid_; }
  uint64_t start() const { return start_; }
  bool gone();
  void say_gone() { gone_ = true; }
  // The end of the process, as far as the kernel still knows: only until its parent has asked.
  bool exit_status(bool* signalled, int* value) const;

 private:
  uint32_t pid_;
  uint64_t start_;
  int fd_ = -1;
  bool gone_ = false;
};

}  // namespace dt
