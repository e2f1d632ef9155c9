/* Client vertex arrays of ES: all index types, interleaved and separate arrays, arrays mixed with buffers, several
 * ranges, data changed between draws, indices in a buffer, and with ES 3 instances, divisors, primitive restart.
 * client_arrays_es2 [2|3] */
#include <GLES3/gl32.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64 };

typedef struct Vertex {
  GLfloat x, y;
  GLubyte r, g, b, a;
  GLshort unused[2];
} Vertex;

static void fill(Vertex* v, int count, float shift) {
  for (int i = 0; i < count; i++) {
    float angle = (float)i * 0.7f + shift;
    v[i].x = (float)((i * 37 + (int)(shift * 10)) % 100) / 50.0f - 1;
    v[i].y = (float)((i * 53) % 100) / 50.0f - 1 + angle * 0.001f;
    v[i].r = (GLubyte)(i * 11);
    v[i].g = (GLubyte)(255 - i * 7);
    v[i].b = (GLubyte)(i * 3);
    v[i].a = 255;
  }
}

static void use_interleaved(const Vertex* v) {
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, sizeof *v, &v->x);
  glVertexAttribPointer(1, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof *v, &v->r);
}

int main(int argc, char** argv) {
  int major = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, major >= 3 ? EGL_OPENGL_ES3_BIT : EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, major, 0, EGL_NO_CONTEXT));
  const char* names[] = {"position", "color", "offset"};
  GLuint program = link_program(
      "attribute vec2 position; attribute vec4 color; attribute vec2 offset; varying vec4 c;\n"
      "void main() { c = color; gl_Position = vec4(position + offset, 0.0, 1.0); gl_PointSize = 3.0; }\n",
      "precision mediump float; varying vec4 c; void main() { gl_FragColor = c; }\n", names, 3);
  glUseProgram(program);
  glViewport(0, 0, SIDE, SIDE);
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);

  Vertex* v = malloc(300 * sizeof *v);
  fill(v, 300, 0);
  glEnableVertexAttribArray(0);
  glEnableVertexAttribArray(1);
  glVertexAttrib2f(2, 0, 0);
  use_interleaved(v);
  glDrawArrays(GL_TRIANGLES, 3, 9);
  glDrawArrays(GL_POINTS, 100, 5);
  glDrawArrays(GL_POINTS, 0, 0);
  v[4].r = 200; /* the same range with other content */
  v[4].x += 0.1f;
  glDrawArrays(GL_TRIANGLES, 3, 9);
  glDrawArrays(GL_TRIANGLES, 3, 9); /* and with the same */

  const GLubyte bytes[] = {12, 30, 17, 250, 251, 255};
  const GLushort shorts[] = {40, 290, 45, 41, 44, 42};
  const GLuint ints[] = {60, 61, 65, 299, 70, 75};
  glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_BYTE, bytes);
  glDrawElements(GL_TRIANGLE_STRIP, 6, GL_UNSIGNED_SHORT, shorts);
  if (major >= 3) glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_INT, ints);

  /* Separate arrays of other types; one of them in a buffer; an enabled array that no shader reads. */
  static GLshort positions[80][2];
  static GLfloat colors[80][4];
  for (int i = 0; i < 80; i++) {
    positions[i][0] = (GLshort)(i * 797 % 65536 - 32768);
    positions[i][1] = (GLshort)(i * 1231 % 65536 - 32768);
    for (int k = 0; k < 4; k++) colors[i][k] = (float)((i + k * 3) % 8) / 7;
  }
  GLuint buffers[2];
  glGenBuffers(2, buffers);
  glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
  glBufferData(GL_ARRAY_BUFFER, sizeof colors, colors, GL_STATIC_DRAW);
  glVertexAttribPointer(1, 4, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glBindBuffer(GL_ARRAY_BUFFER, 0);
  glVertexAttribPointer(0, 2, GL_SHORT, GL_TRUE, 0, positions);
  glVertexAttribPointer(5, 4, GL_FLOAT, GL_FALSE, 0, (void*)(uintptr_t)0x100);
  glEnableVertexAttribArray(5);
  glDrawArrays(GL_TRIANGLE_FAN, 20, 6);
  glDisableVertexAttribArray(5);

  /* Indices in a buffer, vertices in client memory. */
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof shorts, NULL, GL_STATIC_DRAW);
  const GLushort few[] = {1, 30, 77, 50, 51, 52};
  glBufferSubData(GL_ELEMENT_ARRAY_BUFFER, 0, sizeof few, few);
  glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, (void*)6);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, 0);

  /* Calls that GL refuses change nothing. */
  glVertexAttribPointer(0, 7, GL_SHORT, GL_TRUE, 0, colors);
  glVertexAttribPointer(999, 2, GL_SHORT, GL_TRUE, 0, colors);
  GLenum refused = glGetError();
  while (glGetError()) continue;
  glDrawArrays(GL_POINTS, 70, 10);

  if (major >= 3) {
    static GLfloat offsets[6][2] = {{0, 0}, {0.5f, 0}, {0, 0.5f}, {-0.5f, 0}, {0, -0.5f}, {0.3f, 0.3f}};
    use_interleaved(v);
    glVertexAttribPointer(2, 2, GL_FLOAT, GL_FALSE, 0, offsets);
    glEnableVertexAttribArray(2);
    glVertexAttribDivisor(2, 2);
    glDrawArraysInstanced(GL_TRIANGLES, 200, 3, 11);
    glDrawElementsInstanced(GL_TRIANGLES, 3, GL_UNSIGNED_INT, ints, 4);
    glVertexAttribDivisor(2, 0);
    glDisableVertexAttribArray(2);
    glEnable(GL_PRIMITIVE_RESTART_FIXED_INDEX);
    const GLushort strips[] = {5, 6, 7, 8, 0xffff, 9, 10, 11, 12};
    glDrawRangeElements(GL_TRIANGLE_STRIP, 5, 12, 9, GL_UNSIGNED_SHORT, strips);
    glDisable(GL_PRIMITIVE_RESTART_FIXED_INDEX);
    GLuint arrays;
    glGenVertexArrays(1, &arrays);
    glBindVertexArray(arrays);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
    glVertexAttribPointer(1, 4, GL_FLOAT, GL_FALSE, 0, (void*)0);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 16, (void*)4);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
    glDrawArrays(GL_TRIANGLES, 0, 30);
    glBindBuffer(GL_ARRAY_BUFFER, 0);
    glBindVertexArray(0);
    glDrawArrays(GL_TRIANGLES, 210, 3);
    glDeleteVertexArrays(1, &arrays);
  }
  free(v);
  static unsigned char pixels[SIDE * SIDE * 4];
  glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("refused 0x%x, error 0x%x, checksum %016llx\n", refused, glGetError(),
         (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglSwapBuffers(display, surface);
  eglTerminate(display);
  return 0;
}
