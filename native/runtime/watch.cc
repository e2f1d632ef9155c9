#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::watch {
namespace {

constexpr int HIGH_FD = 700;  // out of the way of the application's numbers

// Structures of linux/userfaultfd.h and linux/fs.h, here because older headers lack half of them.
struct UffdApi {
  uint64_t api, features, ioctls;
};
struct UffdRange {
  uint64_t start, length;
};
struct UffdRegister {
  UffdRange range;
  uint64_t mode, ioctls;
};
struct UffdProtect {
  UffdRange range;
  uint64_t mode;
};
struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
      category_anyof_mask, return_mask;
};
constexpr unsigned long UFFDIO_API_ = _IOWR(0xAA, 0x3F, UffdApi);
constexpr unsigned long UFFDIO_REGISTER_ = _IOWR(0xAA, 0x00, UffdRegister);
constexpr unsigned long UFFDIO_UNREGISTER_ = _IOR(0xAA, 0x01, UffdRange);
constexpr unsigned long UFFDIO_WRITEPROTECT_ = _IOWR(0xAA, 0x06, UffdProtect);
constexpr unsigned long PAGEMAP_SCAN_ = _IOWR('f', 16, ScanArguments);
constexpr uint64_t FEATURE_WP = 1ull << 0, FEATURE_WP_SHMEM = 1ull << 12, FEATURE_WP_UNPOPULATED = 1ull << 13,
                   FEATURE_WP_ASYNC = 1ull << 15;
constexpr uint64_t REGISTER_WP = 1ull << 1, PROTECT_WP = 1ull << 0;
constexpr uint64_t SCAN_PROTECT_AGAIN = 1, SCAN_CHECK = 2, PAGE_WRITTEN = 1ull << 1;

int g_watch_fd = -1, g_pagemap_fd = -1;
// A page that the child of a fork finds empty: descriptors from before belong to the parent's memory. Looks are too
// many to ask the kernel each time whose process this is.
enum Held : uint8_t { UNKNOWN, FAILED, ON };
Held* g_held;

Held held() { return g_held ? __atomic_load_n(g_held, __ATOMIC_RELAXED) : UNKNOWN; }

bool make_held() {
  if (g_held) return true;
  void* const page = mmap(nullptr, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, PAGE, MADV_WIPEONFORK) != 0) return munmap(page, PAGE), false;
  g_held = (Held*)page;
  return true;
}

int move_high(int fd) {
  if (fd < 0) return fd;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
  if (high < 0) return fd;
  close(fd);
  return high;
}

void close_watch() {
  if (g_watch_fd >= 0) close(g_watch_fd);
  if (g_pagemap_fd >= 0) close(g_pagemap_fd);
  g_watch_fd = g_pagemap_fd = -1;
}

bool open_watch() {
  if (held() != UNKNOWN) return held() == ON;
  if (!make_held()) return false;
  close_watch();
  __atomic_store_n(g_held, FAILED, __ATOMIC_RELAXED);
#ifdef SYS_userfaultfd
  constexpr int USER_MODE_ONLY = 1;  // enough, and allowed without privilege: asynchronous faults never reach us
  g_watch_fd = move_high((int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY));
  g_pagemap_fd = move_high(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  UffdApi api{0xAA, FEATURE_WP | FEATURE_WP_SHMEM | FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC, 0};
  if (g_watch_fd < 0 || g_pagemap_fd < 0 || ioctl(g_watch_fd, UFFDIO_API_, &api) != 0)
    close_watch();
  else
    __atomic_store_n(g_held, ON, __ATOMIC_RELAXED);
#endif
  return held() == ON;
}

UffdRange range(Range pages) { return {pages.start, pages.end - pages.start}; }

int pagemap(uint64_t flags, uint64_t from, uint64_t end, Written* parts, unsigned most, uint64_t* until) {
  ScanArguments scan{};
  scan.size = sizeof scan;
  scan.flags = SCAN_CHECK | flags;
  scan.start = from;
  scan.end = end;
  scan.vec = (uint64_t)(uintptr_t)parts;
  scan.vec_len = most;
  scan.category_mask = scan.return_mask = PAGE_WRITTEN;
  const int pages = ioctl(g_pagemap_fd, PAGEMAP_SCAN_, &scan);
  *until = scan.walk_end;
  return pages;
}

}  // namespace

bool is_on() { return held() == ON; }

bool begin(Range pages) {
  if (!open_watch()) return false;
  UffdRegister reg{range(pages), REGISTER_WP, 0};
  if (ioctl(g_watch_fd, UFFDIO_REGISTER_, &reg) != 0) return false;
  if (protect(pages)) return true;
  end(pages);
  return false;
}

void end(Range pages) {
  UffdRange all = range(pages);
  ioctl(g_watch_fd, UFFDIO_UNREGISTER_, &all);
}

bool protect(Range pages) {
  UffdProtect protect{range(pages), PROTECT_WP};
  return ioctl(g_watch_fd, UFFDIO_WRITEPROTECT_, &protect) == 0;
}

bool open(Range pages) {
  UffdProtect protect{range(pages), 0};
  return ioctl(g_watch_fd, UFFDIO_WRITEPROTECT_, &protect) == 0;
}

int scan(uint64_t from, uint64_t end, Written* parts, unsigned most, uint64_t* until) {
  return pagemap(0, from, end, parts, most, until);
}

bool protect_written(Range pages) {
  Written one;
  for (uint64_t from = pages.start, until; from < pages.end; from = until)
    if (pagemap(SCAN_PROTECT_AGAIN, from, pages.end, &one, 1, &until) < 0 || until <= from) return false;
  return true;
}

}  // namespace dt::watch
