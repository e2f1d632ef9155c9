/* Waits for a window that is shown, says its size and how many colours it has, resizes nothing, and closes it as a
 * window manager does. close_window [look]: only looks. */
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int colours(Display* x, Window window, const XWindowAttributes* about) {
  XImage* image = XGetImage(x, window, 0, 0, (unsigned)about->width, (unsigned)about->height, AllPlanes, ZPixmap);
  if (!image) return 0;
  unsigned long seen[16];
  int n = 0;
  for (int y = 0; y < about->height; y++)
    for (int i = 0; i < about->width; i++) {
      unsigned long p = XGetPixel(image, i, y);
      int k = 0;
      while (k < n && seen[k] != p) k++;
      if (k == n && n < 16) seen[n++] = p;
    }
  XDestroyImage(image);
  return n;
}

int main(int argc, char** argv) {
  int look = argc > 1 && !strcmp(argv[1], "look");
  Display* x = XOpenDisplay(NULL);
  if (!x) return 77;
  for (int tries = 0; tries < 300; tries++, usleep(20000)) {
    Window root, parent, *children = NULL;
    unsigned count = 0;
    if (!XQueryTree(x, DefaultRootWindow(x), &root, &parent, &children, &count)) continue;
    for (unsigned i = 0; i < count; i++) {
      XWindowAttributes about;
      if (!XGetWindowAttributes(x, children[i], &about) || about.map_state != IsViewable || about.width < 16) continue;
      int n = colours(x, children[i], &about);
      if (n < 2) continue; /* nothing drawn yet */
      printf("%dx%d %d\n", about.width, about.height, n);
      if (!look) {
        XEvent event;
        memset(&event, 0, sizeof event);
        event.xclient.type = ClientMessage;
        event.xclient.window = children[i];
        event.xclient.message_type = XInternAtom(x, "WM_PROTOCOLS", False);
        event.xclient.format = 32;
        event.xclient.data.l[0] = (long)XInternAtom(x, "WM_DELETE_WINDOW", False);
        XSendEvent(x, children[i], False, NoEventMask, &event);
        XSync(x, False);
      }
      XFree(children);
      XCloseDisplay(x);
      return 0;
    }
    if (children) XFree(children);
  }
  fprintf(stderr, "no window\n");
  return 1;
}
