// The first call of a program, and calls that nobody wants.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "objects.h"
#include "tap.h"

namespace dt {

// The starter of the program (drawtap run) may want to know whether it ever called anything: a letter in a file says
// so.
void say_called() {
  static uint32_t said;
  if (__atomic_exchange_n(&said, 1u, __ATOMIC_RELAXED)) return;
  const char* path = secure_getenv("DRAWTAP_CALLED");
  const int fd = path && *path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY) : -1;
  if (fd < 0) return;
  ssize_t ignored = write(fd, "c", 1);
  (void)ignored;
  close(fd);
}

bool is_left_out(unsigned id) {
  return DT_UNLIKELY(is_vulkan_alone()) && !(g_names[id][0] == 'v' && g_names[id][1] == 'k');
}

}  // namespace dt
