/* Only the child draws, in a library that only it opens. */
#include <sys/wait.h>
#include <unistd.h>
#include "trap.h"
int main(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (!child) {
    clears((clear_function)dlsym(open_or_die("libGL.so.1", RTLD_LAZY), "glClear"), 6);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  puts("calls glClear 6");
  return succeed();
}
