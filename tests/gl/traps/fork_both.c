/* Parent and child both draw, before and after fork. */
#include <GL/gl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "trap.h"
int main(void) {
  for (int i = 0; i < 3; i++) glClear(GL_COLOR_BUFFER_BIT);
  pid_t child = fork();
  CHECK(child >= 0);
  if (!child) {
    for (int i = 0; i < 5; i++) glClear(GL_COLOR_BUFFER_BIT);
    exit(7);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  for (int i = 0; i < 2; i++) glClear(GL_COLOR_BUFFER_BIT);
  puts("calls glClear 10");
  return succeed();
}
