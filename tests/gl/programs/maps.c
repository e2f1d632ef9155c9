/* Every way to store through a mapped buffer, on desktop GL 4.5 core: map, map range with each flag, explicit flush,
 * persistent and coherent, by name, new storage and deletion while mapped, read() into a mapping. The GPU's copy is
 * read back after each and goes into the checksum. maps [BYTES of the persistent buffer] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <fcntl.h>
#include <unistd.h>
#include "egl_start.h"

static uint64_t g_sum;
static uint32_t g_random = 99;

/* Through the GPU's eyes: a copy made by GL, then read. */
static void take(GLuint buffer, GLsizeiptr bytes) {
  static unsigned char* seen;
  static GLsizeiptr room;
  GLuint other;
  if (bytes > room) seen = realloc(seen, (size_t)bytes), room = bytes;
  glCreateBuffers(1, &other);
  glNamedBufferStorage(other, bytes, NULL, 0);
  glCopyNamedBufferSubData(buffer, other, 0, 0, bytes);
  glFinish();
  glGetNamedBufferSubData(other, 0, bytes, seen);
  g_sum = checksum(g_sum, seen, (size_t)bytes);
  glDeleteBuffers(1, &other);
}

static void scribble(unsigned char* at, size_t bytes, int times, size_t longest) {
  for (int i = 0; i < times; i++) {
    size_t start = next_random(&g_random) % bytes, length = 1 + next_random(&g_random) % longest;
    if (length > bytes - start) length = bytes - start;
    for (size_t k = 0; k < length; k++) at[start + k] = (unsigned char)next_random(&g_random);
  }
}

static void ordinary(void) {
  enum { BYTES = 20000 };
  static unsigned char start[BYTES];
  GLuint b;
  glGenBuffers(1, &b);
  glBindBuffer(GL_COPY_WRITE_BUFFER, b);
  glBufferData(GL_COPY_WRITE_BUFFER, BYTES, start, GL_DYNAMIC_DRAW);
  const GLenum kinds[] = {GL_WRITE_ONLY, GL_READ_WRITE, GL_READ_ONLY};
  for (int i = 0; i < 3; i++) {
    unsigned char* at = glMapBuffer(GL_COPY_WRITE_BUFFER, kinds[i]);
    if (kinds[i] == GL_READ_ONLY)
      g_sum = checksum(g_sum, at, BYTES);
    else
      scribble(at, BYTES, 4, 300);
    glUnmapBuffer(GL_COPY_WRITE_BUFFER);
    take(b, BYTES);
  }
  const GLbitfield flags[] = {GL_MAP_WRITE_BIT, GL_MAP_WRITE_BIT | GL_MAP_READ_BIT,
                              GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_RANGE_BIT,
                              GL_MAP_WRITE_BIT | GL_MAP_UNSYNCHRONIZED_BIT};
  for (int i = 0; i < 4; i++) {
    unsigned char* at = glMapBufferRange(GL_COPY_WRITE_BUFFER, 1024, 5000, flags[i]);
    if (flags[i] & GL_MAP_INVALIDATE_RANGE_BIT)
      memset(at, 0x55, 5000);
    else
      scribble(at, 5000, 3, 100);
    glUnmapBuffer(GL_COPY_WRITE_BUFFER);
    take(b, BYTES);
  }
  unsigned char* at = glMapBufferRange(GL_COPY_WRITE_BUFFER, 0, BYTES, GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT);
  memset(at, 0x33, BYTES);
  glUnmapBuffer(GL_COPY_WRITE_BUFFER);
  take(b, BYTES);
  at = glMapBufferRange(GL_COPY_WRITE_BUFFER, 2048, 8192, GL_MAP_WRITE_BIT | GL_MAP_FLUSH_EXPLICIT_BIT);
  memset(at + 100, 1, 50);
  glFlushMappedBufferRange(GL_COPY_WRITE_BUFFER, 100, 50);
  memset(at + 4000, 2, 500);
  glFlushMappedBufferRange(GL_COPY_WRITE_BUFFER, 4000, 500);
  glUnmapBuffer(GL_COPY_WRITE_BUFFER);
  take(b, BYTES);
  at = glMapNamedBuffer(b, GL_WRITE_ONLY);
  scribble(at, BYTES, 3, 1000);
  glUnmapNamedBuffer(b);
  take(b, BYTES);
  at = glMapNamedBufferRange(b, 64, 640, GL_MAP_WRITE_BIT | GL_MAP_FLUSH_EXPLICIT_BIT);
  memset(at, 7, 64);
  glFlushMappedNamedBufferRange(b, 0, 64);
  glUnmapNamedBuffer(b);
  take(b, BYTES);
  /* New storage while mapped: what was stored is lost with the old. */
  at = glMapBuffer(GL_COPY_WRITE_BUFFER, GL_WRITE_ONLY);
  memset(at, 0xEE, BYTES);
  glBufferData(GL_COPY_WRITE_BUFFER, BYTES, start, GL_DYNAMIC_DRAW);
  take(b, BYTES);
  at = glMapBuffer(GL_COPY_WRITE_BUFFER, GL_WRITE_ONLY);
  at[0] = 1;
  glDeleteBuffers(1, &b); /* deleting unmaps */
}

static void persistent(GLsizeiptr bytes, int coherent) {
  GLuint b;
  GLbitfield flags = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | (coherent ? GL_MAP_COHERENT_BIT : 0);
  unsigned char* zero = calloc(1, (size_t)bytes);
  glCreateBuffers(1, &b);
  glNamedBufferStorage(b, bytes, zero, flags | GL_MAP_READ_BIT);
  free(zero);
  unsigned char* at = glMapNamedBufferRange(b, 0, bytes, flags);
  for (int i = 0; i < 8; i++) {
    scribble(at, (size_t)bytes, 5, 6000);
    if (i == 5) {
      /* A system call stores here too. */
      int zeros = open("/dev/zero", O_RDONLY);
      if (read(zeros, at + bytes / 2, 1500) != 1500) printf("read into the mapping failed\n");
      close(zeros);
    }
    if (!coherent) glMemoryBarrier(GL_CLIENT_MAPPED_BUFFER_BARRIER_BIT);
    take(b, bytes);
    if (i == 3) glFinish(); /* nothing stored since */
  }
  glUnmapNamedBuffer(b);
  take(b, bytes);
  /* Persistent with explicit flushes. */
  flags |= GL_MAP_FLUSH_EXPLICIT_BIT;
  if (!coherent) {
    at = glMapNamedBufferRange(b, 0, bytes, flags);
    memset(at + 10, 0x77, 100);
    glFlushMappedNamedBufferRange(b, 10, 100);
    take(b, bytes);
    glUnmapNamedBuffer(b);
  }
  glDeleteBuffers(1, &b);
}

int main(int argc, char** argv) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  start_current(display, surface, start_gl(display, config, 4, 5, 1, EGL_NO_CONTEXT));
  ordinary();
  persistent(5000, 0);
  persistent(5000, 1);
  persistent(argc > 1 ? atol(argv[1]) : 600000, 1);
  eglSwapBuffers(display, surface);
  printf("error 0x%x, checksum %016llx\n", glGetError(), (unsigned long long)g_sum);
  eglTerminate(display);
  return 0;
}
