/* Prints everything about itself that a tap must not change. */
#include "egl_context.h"
#include <GLES2/gl2.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static unsigned checksum(void) {
  static unsigned char pixels[32 * 32 * 4];
  glReadPixels(0, 0, 32, 32, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  unsigned sum = 2166136261u;
  for (size_t i = 0; i < sizeof pixels; i++) sum = (sum ^ pixels[i]) * 16777619u;
  return sum;
}

static int threads(void) {
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks);
  int count = 0;
  for (struct dirent* entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static void surroundings(const char* when) {
  printf("%s: %d threads, umask %o\n", when, threads(), umask(022));
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  for (int number = 1; number < 64; number++) {
    struct sigaction action;
    if (sigaction(number, NULL, &action)) continue;
    if (sigismember(&blocked, number) || action.sa_handler != SIG_DFL)
      printf("%s: signal %d blocked %d handled %d\n", when, number, sigismember(&blocked, number),
             action.sa_handler != SIG_DFL);
  }
  for (int fd = 0; fd < 500; fd++)
    if (fcntl(fd, F_GETFD) >= 0) printf("%s: descriptor %d\n", when, fd);
  for (int fd = 500; fd < 1024; fd++) {
    int flags = fcntl(fd, F_GETFD);
    CHECK(flags < 0 || (flags & FD_CLOEXEC));
  }
  int next = open("/dev/null", O_RDONLY);
  printf("%s: next descriptor %d\n", when, next);
  close(next);
}

static GLuint shader(GLenum kind, const char* source) {
  GLuint name = glCreateShader(kind);
  glShaderSource(name, 1, &source, NULL);
  glCompileShader(name);
  GLint good = 0;
  glGetShaderiv(name, GL_COMPILE_STATUS, &good);
  printf("shader %u compiled %d\n", name, good);
  return name;
}

static void* other_thread(void* unused) {
  (void)unused;
  CHECK(eglGetCurrentContext() == EGL_NO_CONTEXT);
  errno = 123;
  glFlush();
  printf("other thread: errno %d, current %p\n", errno, (void*)eglGetCurrentContext());
  return NULL;
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  surroundings("at start");
  for (char** variable = environ; *variable; variable++)
    if (strncmp(*variable, "LD_PRELOAD=", 11) && strncmp(*variable, "DRAWTAP_", 8))
      printf("environment %s\n", *variable);
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2);
  printf("%s | %s\n", glGetString(GL_RENDERER), glGetString(GL_VERSION));
  surroundings("with a context");

  errno = 77;
  glClearColor(0.25f, 0.5f, 0.75f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  printf("errno %d, checksum %08x, error 0x%x\n", errno, checksum(), glGetError());

  glEnable(0x1234);
  glBindTexture(0x1234, 1);
  printf("errors 0x%x 0x%x\n", glGetError(), glGetError());
  glGenTextures(-1, NULL);
  printf("error 0x%x\n", glGetError());
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, -5, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  printf("error 0x%x\n", glGetError());
  CHECK(!eglMakeCurrent(EGL_NO_DISPLAY, EGL_NO_SURFACE, EGL_NO_SURFACE, (EGLContext)1));
  printf("EGL error 0x%x, then 0x%x\n", eglGetError(), eglGetError());

  GLuint program = glCreateProgram();
  glAttachShader(program,
                 shader(GL_VERTEX_SHADER,
                        "attribute vec2 p; varying vec2 v; void main() { v = p; gl_Position = vec4(p, 0.0, 1.0); }"));
  glAttachShader(program, shader(GL_FRAGMENT_SHADER,
                                 "precision mediump float; varying vec2 v; uniform sampler2D t;"
                                 "void main() { gl_FragColor = texture2D(t, v * 0.5 + 0.5) + vec4(v, 0.0, 0.0); }"));
  shader(GL_VERTEX_SHADER, "this is no shader");
  glBindAttribLocation(program, 0, "p");
  glLinkProgram(program);
  glUseProgram(program);
  printf("uniform t at %d, none at %d\n", glGetUniformLocation(program, "t"), glGetUniformLocation(program, "none"));

  unsigned char texels[4 * 4 * 4];
  for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)(i * 37);
  GLuint texture = 0;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);

  static const float corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  static const unsigned short order[] = {0, 1, 2, 2, 1, 3};
  glEnableVertexAttribArray(0);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
  glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, order);
  printf("client arrays: checksum %08x, error 0x%x\n", checksum(), glGetError());

  GLuint buffer = 0;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  GLint bound[4] = {-1, -1, -1, -1};
  glGetIntegerv(GL_ARRAY_BUFFER_BINDING, &bound[0]);
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound[1]);
  glGetIntegerv(GL_CURRENT_PROGRAM, &bound[2]);
  glGetIntegerv(GL_UNPACK_ALIGNMENT, &bound[3]);
  printf("buffers: checksum %08x, error 0x%x, bound %d %d %d, alignment %d\n", checksum(), glGetError(), bound[0],
         bound[1], bound[2], bound[3]);

  errno = 5;
  CHECK(!glGetString(0x1234));
  printf("errno %d, error 0x%x\n", errno, glGetError());
  pthread_t thread;
  CHECK(!pthread_create(&thread, NULL, other_thread, NULL));
  pthread_join(thread, NULL);
  surroundings("at the end");
  eglMakeCurrent(trap_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  printf("terminate %d\n", eglTerminate(trap_display));
  return succeed();
}
