/* A texture of 64 x 64 pixels over all of a surface of that size, pixel for pixel, in two frames; before the second a
 * quarter of it is replaced, with rows of 3 bytes a pixel. What is drawn follows from the uploads alone. */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64 };

static void draw(EGLDisplay display, EGLSurface surface) {
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  eglSwapBuffers(display, surface);
}

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  EGLContext context = start_es(display, config, 2, 0, EGL_NO_CONTEXT);
  start_current(display, surface, context);
  const char* names[] = {"corner"};
  GLuint program = link_program(
      "attribute vec2 corner; varying vec2 at; void main() { at = corner; gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0); }\n",
      "precision mediump float; uniform sampler2D image; varying vec2 at; void main() { gl_FragColor = texture2D(image, at); }\n",
      names, 1);
  static const GLfloat corners[] = {0, 0, 1, 0, 0, 1, 1, 1};
  GLuint buffer, texture;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  glUseProgram(program);

  static unsigned char image[SIDE][SIDE][3];
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++)
      image[y][x][0] = (unsigned char)(x * 4), image[y][x][1] = (unsigned char)(y * 4),
      image[y][x][2] = (x ^ y) & 8 ? 200 : 20;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, SIDE, SIDE, 0, GL_RGB, GL_UNSIGNED_BYTE, image);
  glViewport(0, 0, SIDE, SIDE);
  draw(display, surface);

  static unsigned char part[SIDE / 2][SIDE / 2][3];
  for (int y = 0; y < SIDE / 2; y++)
    for (int x = 0; x < SIDE / 2; x++)
      part[y][x][0] = (unsigned char)(255 - x * 8), part[y][x][1] = 0, part[y][x][2] = (unsigned char)(y * 8);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexSubImage2D(GL_TEXTURE_2D, 0, SIDE / 2, 0, SIDE / 2, SIDE / 2, GL_RGB, GL_UNSIGNED_BYTE, part);
  draw(display, surface);

  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display, context);
  eglDestroySurface(display, surface);
  eglTerminate(display);
  return 0;
}
