// The needs of tap code that runs between two moments of the program: its errno, and the time.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <time.h>

namespace dt {

// The program finds `errno` as the driver left it.
struct KeepErrno {
  int saved = errno;
  ~KeepErrno() { errno = saved; }
};

inline uint64_t now_ns() {  // of CLOCK_MONOTONIC
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

}  // namespace dt
