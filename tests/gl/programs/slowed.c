/* A program whose frames are slowed in one known way, to see whether what is said of the cause is true.
 * slowed WAY [FRAMES [PIECES]]: so many pieces of work a frame, however long they take; WAY: nothing, draws, shader,
 * uploads, mipmaps, binds, state, processor, vertices, readbacks, draws-then-finish */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 256, TEXELS = 256, BIG = 1024 };

static GLuint program_of(int rounds) {
  char fragment[600];
  snprintf(fragment, sizeof fragment,
           "#version 120\nuniform sampler2D image; varying vec2 c;\n"
           "void main() { vec4 sum = texture2D(image, c);\n"
           "  for (int i = 0; i < %d; i++) sum = sum * 0.9 + 0.1 * sin(sum.yzwx + float(i));\n"
           "  gl_FragColor = sum; }\n",
           rounds);
  const char* names[] = {"position"};
  return link_program(
      "#version 120\nattribute vec2 position; varying vec2 c;\n"
      "void main() { c = position * 0.5 + 0.5; gl_Position = vec4(position, 0.0, 1.0); }\n",
      fragment, names, 1);
}

static void draw(int times) {
  for (int i = 0; i < times; i++) glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "nothing";
  int frames = argc > 2 ? atoi(argv[2]) : 8;
  int pieces = argc > 3 ? atoi(argv[3]) : 1;
#define IS(name) (!strcmp(way, name))
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  GLuint program = program_of(IS("shader") ? 200 : 1), second = program_of(2);
  static unsigned char texels[BIG * BIG * 4];
  for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)(i * 7 + i / 1021);
  static unsigned char pixels[SIDE * SIDE * 4];
  static const GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  GLuint textures[3], buffer;
  glGenTextures(3, textures);
  for (int i = 0; i < 3; i++) {
    glBindTexture(GL_TEXTURE_2D, textures[i]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, i < 2 ? TEXELS : BIG, i < 2 ? TEXELS : BIG, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 texels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  }
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0; frame < frames; frame++) {
    int left = pieces;
    glUseProgram(program);
    glBindTexture(GL_TEXTURE_2D, textures[0]);
    glClear(GL_COLOR_BUFFER_BIT);
    if (IS("uploads")) {
      for (int i = 0; i < pieces; i++) {
        glBindTexture(GL_TEXTURE_2D, textures[2]);
        glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, BIG, BIG, GL_BGRA, GL_UNSIGNED_BYTE, texels + 4 * (i & 7));
      }
      glBindTexture(GL_TEXTURE_2D, textures[0]);
    }
    if (IS("mipmaps")) { /* binds grow as well, and cost nothing */
      for (int i = 0; i < 300; i++) glBindTexture(GL_TEXTURE_2D, textures[i & 1]);
      glBindTexture(GL_TEXTURE_2D, textures[2]);
      for (int i = 0; i < 16; i++) glGenerateMipmap(GL_TEXTURE_2D);
      glBindTexture(GL_TEXTURE_2D, textures[0]);
    }
    while (IS("state") && left-- > 0)
      for (int i = 0; i < 100; i++) { /* calls that take longer than recording them */
        glPushAttrib(GL_TEXTURE_BIT);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, i & 1 ? GL_NEAREST : GL_LINEAR);
        glPopAttrib();
      }
    while (IS("binds") && left-- > 0)
      for (int i = 0; i < 100; i++) glUseProgram(i & 1 ? program : second);
    while (IS("processor") && left-- > 0)
      for (volatile int i = 0; i < 100000; i++) {}
    if (IS("vertices")) {
      glUseProgram(0); /* nothing of it is seen: only handing it over takes time */
      glEnable(GL_CULL_FACE);
      glCullFace(GL_FRONT_AND_BACK);
      while (left-- > 0) {
        glBegin(GL_TRIANGLES);
        for (int i = 0; i < 3000; i++) {
          glColor3f((float)(i & 255) / 255, 0.5f, 0);
          glVertex2f((float)(i % 97) / 97, (float)(i % 89) / 89);
        }
        glEnd();
      }
      glDisable(GL_CULL_FACE);
      glUseProgram(program);
    }
    draw(IS("draws") || IS("draws-then-finish") ? 300 : 1);
    while (IS("readbacks") && left-- > 0)
      for (int i = 0; i < 10; i++) glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    if (!IS("readbacks")) glReadPixels(0, 0, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    if (IS("draws-then-finish")) glFinish();
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
