/* Frames without end from a buffer that is mapped for good, and that the program writes to while the GPU draws from it;
 * two fences from before the first frame are waited for in each. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <unistd.h>
#include "egl_start.h"

enum { SIDE = 64, POINTS = 3 };

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  const GLbitfield flags = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  const GLsizeiptr bytes = POINTS * 2 * sizeof(float);
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferStorage(GL_ARRAY_BUFFER, bytes, NULL, flags);
  float* const at = glMapBufferRange(GL_ARRAY_BUFFER, 0, bytes, flags);
  if (!at) return 77;
  glVertexPointer(2, GL_FLOAT, 0, NULL);
  glEnableClientState(GL_VERTEX_ARRAY);
  const GLsync first = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0),
               second = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0),
               gone = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  glDeleteSync(gone);
  for (unsigned frame = 0;; frame++) {
    const float x = (float)(frame % 61) / 61;
    const float corners[POINTS * 2] = {-1, -1, x, -0.7f, 0.2f, 1 - x};
    memcpy(at, corners, sizeof corners);
    glClear(GL_COLOR_BUFFER_BIT);
    glColor3f(x, 1 - x, 0.5f);
    if (glClientWaitSync(first, 0, 1000000) == GL_WAIT_FAILED || !glIsSync(second)) return 1;
    glWaitSync(second, 0, GL_TIMEOUT_IGNORED);
    glDrawArrays(GL_TRIANGLES, 0, POINTS);
    glFinish();
    eglSwapBuffers(display, surface);
    usleep(1000);
  }
}
