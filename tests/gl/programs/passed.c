/* Calls with many arguments, read back from the driver after each call: what the program passed must be what the driver
 * got, whatever a recorder does in between. Prints how many came out otherwise. passed [ROUNDS] */
#include <GLES2/gl2.h>
#include "egl_start.h"

static unsigned differing_vector(int i) {
  const GLfloat x = (GLfloat)i;
  GLfloat got[4] = {0};
  glVertexAttrib4f(1, x, x + 0.25f, x + 0.5f, x + 0.75f);
  glGetVertexAttribfv(1, GL_CURRENT_VERTEX_ATTRIB, got);
  return got[0] != x || got[1] != x + 0.25f || got[2] != x + 0.5f || got[3] != x + 0.75f;
}

static unsigned differing_box(int i) {
  GLint got[4] = {0};
  glScissor(i, i + 1, i + 2, i + 3);
  glGetIntegerv(GL_SCISSOR_BOX, got);
  return got[0] != i || got[1] != i + 1 || got[2] != i + 2 || got[3] != i + 3;
}

static unsigned differing_array(int i) {
  const GLint size = 1 + i % 4, stride = i % 1024;
  GLint got_size = 0, got_stride = 0, normalized = 0;
  void* pointer = NULL;
  glVertexAttribPointer(2, size, GL_SHORT, i & 1, stride, (void*)(intptr_t)i);
  glGetVertexAttribiv(2, GL_VERTEX_ATTRIB_ARRAY_SIZE, &got_size);
  glGetVertexAttribiv(2, GL_VERTEX_ATTRIB_ARRAY_STRIDE, &got_stride);
  glGetVertexAttribiv(2, GL_VERTEX_ATTRIB_ARRAY_NORMALIZED, &normalized);
  glGetVertexAttribPointerv(2, GL_VERTEX_ATTRIB_ARRAY_POINTER, &pointer);
  return got_size != size || got_stride != stride || normalized != (i & 1) || (intptr_t)pointer != i;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 60000;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  unsigned differing = 0;
  for (int i = 0; i < rounds; i++) {
    differing += differing_vector(i) + differing_box(i) + differing_array(i);
    /* Without a pattern, so that chunks of the recording do not all end at the same call. */
    if ((uint32_t)i * 2654435761u >> 31) glEnable(GL_BLEND);
  }
  glFinish();
  printf("%u differing\n", differing);
  return differing != 0;
}
