/* What stands in LD_PRELOAD for the tap.
 *
 * The tap is made for glibc. Another C library would try to load it all the same, fail, and end the program. This
 * module needs no library and no symbol, so every dynamic linker can load it. It names the tap as its auxiliary library
 * (DT_AUXILIARY): glibc loads that too, and looks for symbols there first; musl does not know such entries. There all
 * that is left to do is to tell the recorder, once a process.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../common/foreign.h"
#include "../common/ring.h"

/* Of whatever C library is there. */
#pragma weak gnu_get_libc_version
#pragma weak __errno_location
#pragma weak getenv
#pragma weak getpid
#pragma weak readlink
#pragma weak socket
#pragma weak connect
#pragma weak send
#pragma weak close
const char* gnu_get_libc_version(void);
char* getenv(const char*);

/* No call of memset or memcpy may be made of these. */
static void clear(volatile char* at, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = 0;
}

static void tell(const char* path, int socket_fd) {
  struct sockaddr_un to;
  clear((volatile char*)&to, sizeof to);
  to.sun_family = AF_UNIX;
  for (size_t i = 0; path[i]; i++) {
    if (i + 1 == sizeof to.sun_path) return;
    ((volatile char*)to.sun_path)[i] = path[i];
  }
  if (connect(socket_fd, (struct sockaddr*)&to, sizeof to)) return;
  static struct dt_hello hello;
  hello.magic = DT_HELLO_MAGIC;
  hello.version = DT_RING_VERSION;
  hello.pid = (uint32_t)getpid();
  hello.flags = DT_HELLO_FOREIGN;
  if (readlink("/proc/self/exe", hello.program, sizeof hello.program - 1) > 0)
    send(socket_fd, &hello, sizeof hello, MSG_NOSIGNAL);
}

__attribute__((constructor)) static void start(void) {
  if (gnu_get_libc_version || !getenv || !socket || !connect || !send || !close || !readlink || !getpid) return;
  const char* path = getenv("DRAWTAP_SOCKET");
  if (!path || !*path) return;
  const int before = errno;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    tell(path, fd);
    close(fd);
  }
  errno = before;
}
