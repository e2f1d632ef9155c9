/* A GLX window with frames: needs an X server. */
#include <GL/glx.h>
#include <X11/Xlib.h>
#include "trap.h"
int main(void) {
  Display* display = XOpenDisplay(NULL);
  CHECK(display);
  int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_RED_SIZE, 8, None};
  XVisualInfo* visual = glXChooseVisual(display, DefaultScreen(display), wanted);
  CHECK(visual);
  Window root = DefaultRootWindow(display);
  XSetWindowAttributes attributes = {.colormap = XCreateColormap(display, root, visual->visual, AllocNone)};
  Window window = XCreateWindow(display, root, 0, 0, 64, 64, 0, visual->depth, InputOutput, visual->visual,
                                CWColormap | CWBorderPixel, &attributes);
  XMapWindow(display, window);
  GLXContext context = glXCreateContext(display, visual, NULL, True);
  CHECK(context && glXMakeCurrent(display, window, context));
  clear_function clear = (clear_function)glXGetProcAddressARB((const GLubyte*)"glClear");
  for (int i = 0; i < 4; i++) {
    clear(GL_COLOR_BUFFER_BIT);
    glXSwapBuffers(display, window);
  }
  CHECK(glGetError() == GL_NO_ERROR);
  glXMakeCurrent(display, None, NULL);
  glXDestroyContext(display, context);
  XCloseDisplay(display);
  puts("calls glClear 4\ncalls glXSwapBuffers 4\ncalls glXMakeCurrent 2");
  return succeed();
}
