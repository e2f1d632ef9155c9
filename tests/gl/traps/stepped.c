/* A signal handler that calls OpenGL strikes at every instruction of the tap's that stands in front of another call:
 * the processor stops after each (the trap flag). At each the handler calls once, or jumps out and does not return.
 *
 * stepped call | stepped jump
 */
#define _GNU_SOURCE
#include <GLES2/gl2.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>
#include "egl_context.h"

enum { TRAP_FLAG = 0x100, MOST = 4000 };
static uintptr_t first, last; /* where the tap's code is */
static volatile int wanted, seen, struck, jumps;
static sigjmp_buf place;

static void find_tap(void) {
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps);
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    char rights[5];
    if (strstr(line, "libdrawtap-tap") && sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[2] == 'x')
      first = from, last = to;
  }
  fclose(maps);
}

static void step(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uintptr_t at = (uintptr_t)registers[REG_RIP];
  if (at < first || at >= last || seen++ != wanted) return;
  registers[REG_EFL] &= ~TRAP_FLAG;
  struck = 1;
  if (jumps) siglongjmp(place, 1);
  glDepthFunc(GL_GREATER);
}

static inline void set_trap_flag(int on) {
  /* Below the stack pointer may be what the compiler keeps there. */
  if (on)
    __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
                         : "cc", "memory");
  else
    __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
                         : "cc", "memory");
}

/* One call with the handler at instruction number `wanted` of the tap's; 0: there is no such instruction. */
static int strike(void) {
  seen = struck = 0;
  if (!sigsetjmp(place, 1)) {
    set_trap_flag(1);
    glScissor(wanted, 2, 3, 4);
    set_trap_flag(0);
  }
  return struck;
}

int main(int argc, char** argv) {
  jumps = argc > 1 && !strcmp(argv[1], "jump");
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2);
  find_tap();
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, NULL);
  /* Each function is found at its first call. */
  glScissor(0, 0, 1, 1), glDepthFunc(GL_LESS), glLineWidth(1);
  GLint box[4];
  glGetIntegerv(GL_SCISSOR_BOX, box);
  int strikes = 0, right = 0;
  for (wanted = 0; wanted < MOST && strike(); wanted++) {
    strikes++;
    glGetIntegerv(GL_SCISSOR_BOX, box);
    right += box[0] == wanted && box[1] == 2 && box[2] == 3 && box[3] == 4;
    for (int i = 0; i < 10; i++) glLineWidth((float)(i + 1));
  }
  printf("strikes %d\n", strikes);
  if (!jumps) printf("right %d\n", right);
  printf("error 0x%x\n", glGetError());
  puts("EXIT-SUCCESS");
  return 0;
}
