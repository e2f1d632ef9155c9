// Word to drawtap record of a process that cannot reach the recorder.
//
// A sandbox may forbid the process every file and socket before its first call. So the file is mapped at the start,
// before the program's own code runs.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/unreached.h"
#include "tap.h"

namespace dt {

namespace {
dt_unreached_file* g_file;
}

void say_unreached(int error) {
  if (!g_file) return;
  const uint32_t i = g_file->count.fetch_add(1);
  if (i >= DT_MOST_UNREACHED) return;
  dt_unreached& entry = g_file->entries[i];
  entry.pid = getpid();
  strncpy(entry.name, program_invocation_short_name, sizeof entry.name - 1);
  __atomic_store_n(&entry.error, error, __ATOMIC_RELEASE);
}

}  // namespace dt

__attribute__((constructor)) static void map_unreached() {
  const int error = errno;
  const char* path = secure_getenv("DRAWTAP_UNREACHED");
  const int fd = path && *path ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW) : -1;
  struct stat found;
  if (fd >= 0 && fstat(fd, &found) == 0 && found.st_size >= (off_t)sizeof(dt_unreached_file)) {
    void* at = mmap(nullptr, sizeof(dt_unreached_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) dt::g_file = (dt_unreached_file*)at;
  }
  if (fd >= 0) close(fd);
  errno = error;
}
