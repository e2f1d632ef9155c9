/* Framebuffer objects whose every attachment holds a value that is known: two colours, depth, stencil; with several
 * samples a pixel (argument "samples") or one. Asks queries and state, and with the argument "wrong" makes a call that
 * is wrong, with "unanswered" one whose answer OpenGL ES does not know. What they hold: colour 0 (255, 0, 0, 255),
 * colour 1 (0, 255, 0, 255), depth 0.25, stencil 7; in the lower left quarter depth 0.75 and stencil 9. */
#include <GLES3/gl3.h>
#include "egl_start.h"

int main(int argc, char** argv) {
  int samples = 0, wrong = 0, unanswered = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "samples")) samples = 4;
    if (!strcmp(argv[i], "wrong")) wrong = 1;
    if (!strcmp(argv[i], "unanswered")) unanswered = 1;
  }
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLContext context = start_es(display, config, 3, 0, EGL_NO_CONTEXT);
  start_current(display, start_pbuffer(display, config, 32, 16), context);
  GLuint fbo, storage[3];
  glGenFramebuffers(1, &fbo);
  glGenRenderbuffers(3, storage);
  glBindFramebuffer(GL_FRAMEBUFFER, fbo);
  const GLenum formats[3] = {GL_RGBA8, GL_RGBA8, GL_DEPTH24_STENCIL8};
  const GLenum points[3] = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1, GL_DEPTH_STENCIL_ATTACHMENT};
  for (int i = 0; i < 3; i++) {
    glBindRenderbuffer(GL_RENDERBUFFER, storage[i]);
    if (samples)
      glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, formats[i], 20, 10);
    else
      glRenderbufferStorage(GL_RENDERBUFFER, formats[i], 20, 10);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, points[i], GL_RENDERBUFFER, storage[i]);
  }
  glDrawBuffers(2, points);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) return 77;
  const float red[4] = {1, 0, 0, 1}, green[4] = {0, 1, 0, 1};
  glViewport(0, 0, 20, 10);
  glClearBufferfv(GL_COLOR, 0, red);
  glClearBufferfv(GL_COLOR, 1, green);
  glClearBufferfi(GL_DEPTH_STENCIL, 0, 0.25f, 7);
  glEnable(GL_SCISSOR_TEST);
  glScissor(0, 0, 10, 5);
  glClearBufferfi(GL_DEPTH_STENCIL, 0, 0.75f, 9);
  GLuint query, passed = 0;
  glGenQueries(1, &query);
  glBeginQuery(GL_ANY_SAMPLES_PASSED, query);
  glEndQuery(GL_ANY_SAMPLES_PASSED);
  glGetQueryObjectuiv(query, GL_QUERY_RESULT, &passed);
  GLint bound = 0, size = 0, box[4];
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &bound);
  glGetIntegerv(GL_SCISSOR_BOX, box);
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &size);
  if (wrong) glEnable(0x1234);
  GLboolean swapped = GL_FALSE;
  if (unanswered) glGetBooleanv(0x0CF0 /* GL_UNPACK_SWAP_BYTES */, &swapped);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glDisable(GL_SCISSOR_TEST);
  glClear(GL_COLOR_BUFFER_BIT);
  eglSwapBuffers(display, eglGetCurrentSurface(EGL_DRAW));
  printf("%u %d %d\n", passed, bound == (GLint)fbo, box[2] + swapped);
  eglTerminate(display);
  return 0;
}
