/* Run a program and write the peak resident set of it and everything it waited for, in KiB, to a file.
 *
 * peak_memory FILE PROGRAM ARGUMENTS. The kernel counts what a process held before exec too, so a large parent
 * (Python) cannot ask for a small child's peak itself.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    _exit(127);
  }
  int status;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) < 0) return 2;
  FILE* file = fopen(argv[1], "w");
  if (!file) return 2;
  fprintf(file, "%ld\n", usage.ru_maxrss);
  fclose(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
