/* A pixmap of the X server as a texture, as toolkits and compositors use them (GLX_EXT_texture_from_pixmap). */
#include <GL/gl.h>
#include <GL/glx.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  Display* x = XOpenDisplay(NULL);
  if (!x) return 77;
  const int wanted[] = {GLX_DRAWABLE_TYPE,
                        GLX_WINDOW_BIT | GLX_PIXMAP_BIT,
                        GLX_BIND_TO_TEXTURE_RGB_EXT,
                        True,
                        GLX_BIND_TO_TEXTURE_TARGETS_EXT,
                        GLX_TEXTURE_2D_BIT_EXT,
                        GLX_DOUBLEBUFFER,
                        True,
                        GLX_RED_SIZE,
                        8,
                        GLX_DEPTH_SIZE,
                        24,
                        None};
  int count = 0;
  GLXFBConfig* configs = glXChooseFBConfig(x, DefaultScreen(x), wanted, &count);
  if (!configs || !count) return 77;
  GLXFBConfig config = NULL;
  XVisualInfo* visual = NULL;
  for (int i = 0; i < count && !config; i++) {
    visual = glXGetVisualFromFBConfig(x, configs[i]);
    if (visual && visual->depth == DefaultDepth(x, DefaultScreen(x))) config = configs[i];
  }
  if (!config) return 77;
  XSetWindowAttributes attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.colormap = XCreateColormap(x, DefaultRootWindow(x), visual->visual, AllocNone);
  Window window = XCreateWindow(x, DefaultRootWindow(x), 0, 0, 64, 48, 0, visual->depth, InputOutput, visual->visual,
                                CWColormap | CWBorderPixel, &attributes);
  XMapWindow(x, window);
  GLXContext context = glXCreateNewContext(x, config, GLX_RGBA_TYPE, NULL, True);
  if (!context || !glXMakeCurrent(x, window, context)) return 77;
  if (!strstr(glXQueryExtensionsString(x, DefaultScreen(x)), "GLX_EXT_texture_from_pixmap")) return 77;
  PFNGLXBINDTEXIMAGEEXTPROC bind = (PFNGLXBINDTEXIMAGEEXTPROC)glXGetProcAddress((const GLubyte*)"glXBindTexImageEXT");
  PFNGLXRELEASETEXIMAGEEXTPROC release =
      (PFNGLXRELEASETEXIMAGEEXTPROC)glXGetProcAddress((const GLubyte*)"glXReleaseTexImageEXT");
  Pixmap pixmap = XCreatePixmap(x, window, 16, 16, (unsigned)visual->depth);
  GC gc = XCreateGC(x, pixmap, 0, NULL);
  XSetForeground(x, gc, 0xff8000);
  XFillRectangle(x, pixmap, gc, 0, 0, 16, 16);
  XSetForeground(x, gc, 0x0040ff);
  XFillRectangle(x, pixmap, gc, 2, 3, 7, 5);
  XSync(x, False);
  const int about[] = {GLX_TEXTURE_TARGET_EXT, GLX_TEXTURE_2D_EXT, GLX_TEXTURE_FORMAT_EXT, GLX_TEXTURE_FORMAT_RGB_EXT,
                       None};
  GLXPixmap drawable = glXCreatePixmap(x, config, pixmap, about);
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  bind(x, drawable, GLX_FRONT_LEFT_EXT, NULL);
  glClearColor(0.2f, 0.4f, 0.6f, 1);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_PACK_ROW_LENGTH, 99);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glEnable(GL_TEXTURE_2D);
  for (int frame = 0; frame < 3; frame++) {
    glClear(GL_COLOR_BUFFER_BIT);
    glBegin(GL_TRIANGLE_STRIP);
    for (int i = 0; i < 4; i++) {
      glTexCoord2i(i % 2, i / 2);
      glVertex2f(i % 2 ? 0.9f : -0.9f, i / 2 ? 0.8f : -0.8f);
    }
    glEnd();
    glXSwapBuffers(x, window);
    /* The program draws into it and binds it again. */
    release(x, drawable, GLX_FRONT_LEFT_EXT);
    XSetForeground(x, gc, 0x20c000u << frame);
    XFillRectangle(x, pixmap, gc, 8, 2 * frame, 6, 2);
    XSync(x, False);
    bind(x, drawable, GLX_FRONT_LEFT_EXT, NULL);
  }
  GLint kept = 0;
  glGetIntegerv(GL_PACK_ROW_LENGTH, &kept);
  printf("error 0x%x, row length %d\n", glGetError(), kept);
  release(x, drawable, GLX_FRONT_LEFT_EXT);
  glXDestroyPixmap(x, drawable);
  glXMakeCurrent(x, None, NULL);
  XCloseDisplay(x);
  return 0;
}
