// A descriptor of the tap's in a program that may close what it does not know, and get the number again for its own.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

// The same file under a number that programs do not use, and that loops over descriptors do not reach. The number is
// behind their limit, and open descriptors may lie behind it.
inline int high_fd(int fd) {
  if (fd < 0) return fd;
  int moved = -1;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1u << 20) {
    const int floor = limit.rlim_cur < 1024 ? 1024 : (int)limit.rlim_cur;
    struct rlimit wider = limit;
    wider.rlim_cur = (rlim_t)floor + 64;
    if (wider.rlim_cur <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &wider) == 0) {
      moved = fcntl(fd, F_DUPFD_CLOEXEC, floor);
      setrlimit(RLIMIT_NOFILE, &limit);
    }
  }
  static const int FLOORS[] = {700, 200, 20};
  for (int floor : FLOORS)
    if (moved < 0) moved = fcntl(fd, F_DUPFD_CLOEXEC, floor);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

struct OwnFd {
  int number;  // meaningful after `keep`
  dev_t device;
  ino_t inode;
  bool kept;

  // Takes the descriptor, and moves it out of the way.
  void keep(int fd) {
    struct stat about;
    number = high_fd(fd);
    kept = number >= 0 && fstat(number, &about) == 0;
    if (!kept) return;
    device = about.st_dev;
    inode = about.st_ino;
  }
  // Nobody has closed it, or put something else in its place.
  bool is_ours() const {
    struct stat now;
    const int saved = errno;
    const bool ours = kept && fstat(number, &now) == 0 && now.st_dev == device && now.st_ino == inode;
    errno = saved;
    return ours;
  }
  void drop() {
    if (is_ours()) close(number);
    kept = false;
    number = -1;
  }
};

}  // namespace dt
