/* What a program reads from the front buffer of its window, in each way that there is: each frame shows parts of the
 * one before, beside what is new in it. With an argument it reads nothing, and names the back buffer's left side. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <GL/glx.h>
#include <stdio.h>

static void quad(float left, float bottom, float right, float top) {
  glBegin(GL_QUADS);
  glTexCoord2f(0, 0), glVertex2f(left, bottom);
  glTexCoord2f(1, 0), glVertex2f(right, bottom);
  glTexCoord2f(1, 1), glVertex2f(right, top);
  glTexCoord2f(0, 1), glVertex2f(left, top);
  glEnd();
}

int main(int argc, char** argv) {
  Display* x = XOpenDisplay(NULL);
  int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_RED_SIZE, 8, GLX_DEPTH_SIZE, 24, None};
  XVisualInfo* visual = x ? glXChooseVisual(x, DefaultScreen(x), wanted) : NULL;
  if (!visual) return 77;
  XSetWindowAttributes attributes = {0};
  attributes.colormap = XCreateColormap(x, DefaultRootWindow(x), visual->visual, AllocNone);
  Window window = XCreateWindow(x, DefaultRootWindow(x), 0, 0, 64, 48, 0, visual->depth, InputOutput, visual->visual,
                                CWColormap | CWBorderPixel, &attributes);
  XMapWindow(x, window);
  GLXContext context = glXCreateContext(x, visual, NULL, True);
  if (!context || !glXMakeCurrent(x, window, context)) return 77;
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 99);
  glPixelStorei(GL_PACK_SKIP_ROWS, 1);
  unsigned char pixels[12][16][4];
  for (int frame = 0; frame < 8; frame++) {
    /* The back buffer is another picture than the one that is shown. */
    glClearColor(0.1f * (float)frame, 0.3f, 0.5f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glColor3f(1, 0.1f * (float)frame, 0);
    quad(-0.9f, -0.9f, 0.1f * (float)frame, 0.3f);
    glColor3f(1, 1, 1);
    if (argc > 1) {
      glDrawBuffer(GL_BACK_LEFT);
      glReadBuffer(GL_BACK_LEFT);
      quad(-0.5f, -0.5f, 0.5f, 0.5f);
      glXSwapBuffers(x, window);
      continue;
    }
    glReadBuffer(GL_FRONT);
    glReadPixels(2, 3, 16, 11, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    glRasterPos2f(0, 0);
    glCopyPixels(4, 5, 20, 10, GL_COLOR);
    glRasterPos2f(0.5f, 0.5f);
    glCopyPixels(4, 5, 8, 8, GL_DEPTH);
    glCopyTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 8, 8, 32, 16, 0);
    glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 4, 4, 0, 0, 8, 8);
    glBlitFramebuffer(30, 30, 46, 42, 2, 30, 18, 42, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glReadBuffer(GL_BACK);
    glEnable(GL_TEXTURE_2D);
    quad(0.2f, -1, 1, -0.2f);
    glDisable(GL_TEXTURE_2D);
    glXSwapBuffers(x, window);
  }
  GLint kept = 0, read = 1;
  glGetIntegerv(GL_PACK_SKIP_ROWS, &kept);
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &read);
  printf("error 0x%x, rows %d, framebuffer %d\n", glGetError(), kept, read);
  glXMakeCurrent(x, None, NULL);
  XCloseDisplay(x);
  return 0;
}
