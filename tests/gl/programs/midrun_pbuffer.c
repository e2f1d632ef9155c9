/* Frames without end in a GLX pbuffer, half of them drawn to another one that is made current in between. */
#include <GL/gl.h>
#include <GL/glx.h>
#include <unistd.h>

enum { SIDE = 48 };

static GLXPbuffer pbuffer(Display* display, GLXFBConfig config) {
  const int size[] = {GLX_PBUFFER_WIDTH, SIDE, GLX_PBUFFER_HEIGHT, SIDE, GLX_PRESERVED_CONTENTS, True, None};
  return glXCreatePbuffer(display, config, size);
}

int main(void) {
  Display* const display = XOpenDisplay(NULL);
  if (!display) return 77;
  const int wanted[] = {
      GLX_DRAWABLE_TYPE, GLX_PBUFFER_BIT, GLX_RENDER_TYPE, GLX_RGBA_BIT, GLX_RED_SIZE, 8, GLX_DOUBLEBUFFER, True, None};
  int count = 0;
  GLXFBConfig* const configs = glXChooseFBConfig(display, DefaultScreen(display), wanted, &count);
  if (!configs || !count) return 77;
  const GLXPbuffer buffers[] = {pbuffer(display, configs[0]), pbuffer(display, configs[0])};
  const GLXContext context = glXCreateNewContext(display, configs[0], GLX_RGBA_TYPE, NULL, True);
  if (!context || !buffers[0] || !buffers[1]) return 77;
  for (unsigned frame = 0;; frame++) {
    const float x = (float)(frame % 61) / 61;
    const GLXPbuffer here = buffers[frame % 2];
    if (!glXMakeCurrent(display, here, context)) return 1;
    glViewport(0, 0, SIDE, SIDE);
    glClearColor(x, 1 - x, 0.25f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glBegin(GL_TRIANGLES);
    glColor3f(1 - x, x, 0.5f);
    glVertex2f(-1, -1);
    glVertex2f(x, -0.7f);
    glVertex2f(0.2f, 1 - x);
    glEnd();
    glXSwapBuffers(display, here);
    usleep(1000);
  }
}
