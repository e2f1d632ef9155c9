/* Programs that close descriptors which they know nothing of, or put files of their own in their place. */
#include "trap.h"
#include <GL/gl.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { CALLS = 60000 }; /* several chunks */

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  int own[2];
  clears(glClear, 10);
  fflush(stdout);
  if (!strcmp(way, "close")) {
    for (int fd = 3; fd < 1024; fd++) close(fd);
  } else if (!strcmp(way, "range")) {
    CHECK(!syscall(SYS_close_range, 3u, ~0u, 0u));
  } else if (!strcmp(way, "replace")) {
    /* A socket whose other end is closed reads like that of somebody who died. */
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, own));
    close(own[1]);
    for (int fd = 3; fd < 4096; fd++)
      if (fd != own[0] && (fcntl(fd, F_GETFD) >= 0 || fd < 1000)) dup2(own[0], fd);
  }
  clears(glClear, CALLS);
  int mine = 0; /* what stands in the place of the tap's must outlive a fork and the end of the parent's pool in it */
  for (int fd = 3; fd < 1000; fd++) mine += fcntl(fd, F_GETFD) >= 0;
  pid_t child = fork();
  if (!child) {
    clears(glClear, 5);
    int left = 0;
    for (int fd = 3; fd < 1000; fd++) left += fcntl(fd, F_GETFD) >= 0;
    _exit(strcmp(way, "replace") ? 0 : left < mine);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  printf("calls glClear %d\n", CALLS + 15);
  return succeed();
}
