// The drainer's orders.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "session.h"
#include "stream.h"

namespace dt {

constexpr uint32_t DROP_HOLD_MS = 500;  // with --when-full drop-frames a program is held no longer

struct Options {
  std::string socket, output, status, signatures;
  std::string control = "auto";  // path of the control socket; "none"
  bool paused = false;
  StreamSettings stream;
  std::string token_file;  // of the stream; empty: the environment has the token
  std::string process;     // pattern of the names of programs to record; empty: all
  int ready_fd = -1, adopt_fd = -1;
  int window_fd = -1;  // what the flight recorder of the pool of adopt_fd held: what stands in the pool goes there
  PoolSettings pool;
  SessionSettings session;
  std::vector<std::string> annotations;
  double exit_when_idle = -1;
  uint32_t watch_pid = 0;
  bool keep_existing = false;  // a file that stands where the trace is to go
  bool count = false;          // only say how many calls stand in the pool of adopt_fd
  bool end_it = false;         // the pool of adopt_fd is taken and recording of its program ended, whoever lives
};

// Reads the command line; ends the process with status 2, and says why, where an argument is wrong.
Options parse_options(int argc, char** argv);

// Says what is wrong and how the drainer is called; ends the process with status 2.
[[noreturn]] void usage(const std::string& wrong);

}  // namespace dt
