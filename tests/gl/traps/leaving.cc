/* Ways out of a call that do not return from it: each from a call-back that the driver calls for a wrong call.
 *
 * Afterwards the calls come from deeper on the stack than the one that was left, and shallower, and on other threads.
 */
#include <GLES3/gl32.h>
#include <csetjmp>
#include <csignal>
#include <pthread.h>
#include <ucontext.h>
extern "C" {
#include "egl_context.h"
}

static enum { STAY, THROW, JUMP, SIGNAL_JUMP, HANDLER_CALLS, CONTEXT } way;
static jmp_buf place;
static sigjmp_buf signal_place;
static ucontext_t context_place;
static int left, heard, handled;

static void GL_APIENTRY hear(GLenum, GLenum, GLuint, GLenum, GLsizei, const GLchar*, const void*) {
  heard++;
  if (way == THROW) throw 7;
  if (way == JUMP) longjmp(place, 1);
  if (way == SIGNAL_JUMP || way == HANDLER_CALLS) raise(SIGUSR1);
  if (way == CONTEXT) setcontext(&context_place);
}

static void handle(int) {
  handled++;
  if (way == HANDLER_CALLS)
    glIsEnabled(GL_BLEND); /* inside of the wrong call */
  else
    siglongjmp(signal_place, 1);
}

static void wrong_call() { glEnable(GL_TRIANGLES); }

/* So deep that whatever was left lies above. */
__attribute__((noinline)) static void deep(int levels, int calls) {
  volatile char room[512];
  room[0] = (char)levels;
  if (levels)
    deep(levels - 1, calls);
  else
    for (int i = 0; i < calls; i++) glClear(GL_COLOR_BUFFER_BIT);
  room[1] = room[0];
}

static int leave(int how) {
  way = (decltype(way))how;
  if (way == THROW) {
    try {
      wrong_call();
    } catch (int) {
      left++;
    }
  } else if (way == JUMP) {
    if (!setjmp(place))
      wrong_call();
    else
      left++;
  } else if (way == SIGNAL_JUMP) {
    if (!sigsetjmp(signal_place, 1))
      wrong_call();
    else
      left++;
  } else if (way == CONTEXT) {
    volatile int again = 0;
    getcontext(&context_place);
    if (!again++)
      wrong_call();
    else
      left++;
  } else {
    wrong_call();
  }
  const int was = way;
  way = STAY;
  while (glGetError() != GL_NO_ERROR) {}
  deep(was == CONTEXT ? 0 : 20, 100);
  deep(0, 100);
  return 0;
}

static void* in_thread(void*) {
  EGLContext before = eglGetCurrentContext();
  CHECK(before == EGL_NO_CONTEXT);
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES3_BIT, 3);
  glEnable(GL_DEBUG_OUTPUT);
  glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
  glDebugMessageCallback(hear, nullptr);
  static const int ways[] = {STAY, THROW, JUMP, SIGNAL_JUMP, HANDLER_CALLS, CONTEXT, JUMP, THROW};
  for (int how : ways) leave(how);
  eglMakeCurrent(trap_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  return nullptr;
}

int main(int argc, char** argv) {
  struct sigaction action = {};
  action.sa_handler = handle;
  if (argc > 1 && !strcmp(argv[1], "altstack")) {
    stack_t other = {};
    other.ss_size = 1 << 16;
    other.ss_sp = malloc(other.ss_size);
    action.sa_flags = SA_ONSTACK;
    CHECK(!sigaltstack(&other, nullptr));
  }
  CHECK(!sigaction(SIGUSR1, &action, nullptr));
  if (argc > 1 && !strcmp(argv[1], "thread")) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, nullptr, in_thread, nullptr));
    CHECK(!pthread_join(thread, nullptr));
  } else {
    in_thread(nullptr);
  }
  CHECK(heard == 8 && left == 6 && handled == 2);
  printf("calls glEnable %d\n", 2 + 8);
  printf("calls glClear %d\n", 8 * 200);
  return succeed();
}
