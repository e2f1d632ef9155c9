/* A program of a fragment shader alone: fixed function makes its vertices, of arrays in the program's own memory.
 * Another program names a matrix of fixed function itself. The pixels are read back after every frame.
 * fragment_only [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 32 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 3;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glViewport(0, 0, SIDE, SIDE);
  GLuint program = glCreateProgram();
  glAttachShader(program, compile_stage(GL_FRAGMENT_SHADER, "void main() { gl_FragColor = gl_Color.bgra; }\n"));
  glLinkProgram(program);
  GLuint other =
      link_program("void main() { gl_Position = gl_TextureMatrix[0] * gl_Vertex; gl_FrontColor = gl_Color; }\n",
                   "void main() { gl_FragColor = gl_Color; }\n", NULL, 0);
  glMatrixMode(GL_MODELVIEW);
  glTranslatef(0.1f, 0.3f, 0);
  glMatrixMode(GL_TEXTURE);
  glScalef(0.5f, -0.5f, 1);
  glEnableClientState(GL_VERTEX_ARRAY);
  glEnableClientState(GL_COLOR_ARRAY);
  for (int i = 0; i < frames; i++) {
    float left = -0.9f + 0.2f * (float)i;
    float corners[] = {left, -0.8f, left + 0.9f, -0.8f, left, 0.8f};
    const GLubyte colors[] = {255, 0, 0, 255, 0, 255, 0, 255, 255, 255, 0, 255};
    unsigned char pixels[SIDE * SIDE * 4];
    glClear(GL_COLOR_BUFFER_BIT);
    glVertexPointer(2, GL_FLOAT, 0, corners);
    glColorPointer(4, GL_UNSIGNED_BYTE, 0, colors);
    glUseProgram(program);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glUseProgram(other);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    eglSwapBuffers(display, surface);
  }
  return 0;
}
