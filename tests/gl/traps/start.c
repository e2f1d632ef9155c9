/* start vfork|spawn|system|exec PROGRAM: the drawing program is started by this one. */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "trap.h"
extern char** environ;
int main(int argc, char** argv) {
  CHECK(argc == 3);
  int status = 1;
  pid_t child = 0;
  char* arguments[] = {argv[2], NULL};
  if (!strcmp(argv[1], "exec")) {
    execv(argv[2], arguments);
    CHECK(0);
  }
  if (!strcmp(argv[1], "system")) {
    CHECK(system(argv[2]) == 0);
    return 0;
  }
  if (!strcmp(argv[1], "vfork")) {
    child = vfork();
    if (!child) {
      execv(argv[2], arguments);
      _exit(127);
    }
  } else {
    CHECK(posix_spawn(&child, argv[2], NULL, NULL, arguments, environ) == 0);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}
