/* fault_calls PROGRESS CALLS: so many calls, each counted in the file PROGRESS once it returned or was left by a signal
 * handler's jump; the number of those that were left comes behind. */
#include <GL/gl.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf place;
static void jump(int number) {
  (void)number;
  siglongjmp(place, 1);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, 4096)) return 2;
  volatile uint64_t* counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  signal(SIGUSR1, jump);
  const uint64_t calls = strtoull(argv[2], NULL, 0);
  if (sigsetjmp(place, 1)) counts[0]++, counts[1]++;
  while (counts[0] < calls) {
    glClear(GL_COLOR_BUFFER_BIT);
    counts[0]++;
  }
  return 0;
}
