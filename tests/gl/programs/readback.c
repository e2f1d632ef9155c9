/* Never swaps: draws into a framebuffer object and reads back, with glReadPixels into memory and into a pixel buffer,
 * and ends its frames by glFinish. ES 3. */
#include <GLES3/gl3.h>
#include "egl_start.h"
#include "texture_target.h"

enum { WIDTH = 40, HEIGHT = 30 };

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  start_current(display, start_pbuffer(display, config, 1, 1), start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  texture_target(WIDTH, HEIGHT);
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
  glBufferData(GL_PIXEL_PACK_BUFFER, WIDTH * HEIGHT * 4, NULL, GL_STREAM_READ);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  static unsigned char pixels[WIDTH * 2 * HEIGHT * 4];
  uint64_t sum = 0;
  glEnable(GL_SCISSOR_TEST);
  for (int i = 0; i < 5; i++) {
    glScissor(0, 0, WIDTH, HEIGHT);
    glClearColor(0.1f * (float)i, 0.5f, 1 - 0.1f * (float)i, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glScissor(i, i * 2, 10, 8);
    glClearColor(1, 0.2f * (float)i, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glPixelStorei(GL_PACK_ROW_LENGTH, i == 2 ? WIDTH + 7 : 0);
    glPixelStorei(GL_PACK_SKIP_PIXELS, i == 2 ? 3 : 0);
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    sum = checksum(sum, pixels, sizeof pixels);
    glPixelStorei(GL_PACK_ROW_LENGTH, 0);
    glPixelStorei(GL_PACK_SKIP_PIXELS, 0);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, (void*)0);
    const void* mapped = glMapBufferRange(GL_PIXEL_PACK_BUFFER, 0, WIDTH * HEIGHT * 4, GL_MAP_READ_BIT);
    if (mapped) sum = checksum(sum, mapped, WIDTH * HEIGHT * 4);
    glUnmapBuffer(GL_PIXEL_PACK_BUFFER);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    glFinish();
  }
  printf("5 frames, error 0x%x, checksum %016llx\n", glGetError(), (unsigned long long)sum);
  eglTerminate(display);
  return 0;
}
