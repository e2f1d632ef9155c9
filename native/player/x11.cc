#include "x11.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "../core/error.h"
#include "../core/core.h"

namespace dt::play {
namespace {

// The used part of Xlib, as its manual declares it: no header is needed to build.
using Display = void;
struct VisualInfo {
  void* visual;
  unsigned long visualid;
  int screen, depth, c_class;
  unsigned long red_mask, green_mask, blue_mask;
  int colormap_size, bits_per_rgb;
};
struct SetAttributes {
  unsigned long background_pixmap, background_pixel, border_pixmap, border_pixel;
  int bit_gravity, win_gravity, backing_store;
  unsigned long backing_planes, backing_pixel;
  int save_under;
  long event_mask, do_not_propagate_mask;
  int override_redirect;
  unsigned long colormap, cursor;
};
struct ClientMessage {
  int type;
  unsigned long serial;
  int send_event;
  Display* display;
  unsigned long window, message_type;
  int format;
  long data[5];
};
union Event {
  int type;
  ClientMessage client;
  long pad[24];
};
enum : long { STRUCTURE_NOTIFY = 1 << 17 };
enum : unsigned long {
  CW_BACK_PIXEL = 1 << 1,
  CW_BORDER_PIXEL = 1 << 3,
  CW_EVENT_MASK = 1 << 11,
  CW_COLORMAP = 1 << 13
};
constexpr int CLIENT_MESSAGE = 33, VISUAL_ID_MASK = 1;

}  // namespace

struct X11::Server {
  void* library = nullptr;
  Display* display = nullptr;
  unsigned long root = 0, protocols = 0, delete_window = 0;
  Display* (*open_display)(const char*);
  int (*close_display)(Display*);
  unsigned long (*default_root)(Display*);
  int (*default_screen)(Display*);
  void* (*default_visual)(Display*, int);
  int (*default_depth)(Display*, int);
  VisualInfo* (*visual_info)(Display*, long, VisualInfo*, int*);
  unsigned long (*create_colormap)(Display*, unsigned long, void*, int);
  unsigned long (*create_window)(Display*, unsigned long, int, int, unsigned, unsigned, unsigned, int, unsigned, void*,
                                 unsigned long, SetAttributes*);
  int (*map_window)(Display*, unsigned long);
  int (*resize_window)(Display*, unsigned long, unsigned, unsigned);
  int (*destroy_window)(Display*, unsigned long);
  int (*store_name)(Display*, unsigned long, const char*);
  unsigned long (*intern_atom)(Display*, const char*, int);
  int (*set_protocols)(Display*, unsigned long, unsigned long*, int);
  int (*pending)(Display*);
  int (*next_event)(Display*, Event*);
  int (*sync)(Display*, int);
  int (*free)(void*);
  int (*init_threads)();
};

X11::X11() : server_(std::make_unique<Server>()) {
  Server& s = *server_;
  const char* name = getenv("DISPLAY");
  if (!name || !*name) throw Error(DT_E_ARGUMENT, "windows need an X server, and DISPLAY is not set");
  s.library = dlopen("libX11.so.6", RTLD_NOW);
  if (!s.library) throw Error(DT_E_ARGUMENT, "windows need libX11.so.6, which is not installed");
  bool all = true;
  auto get = [&](auto& into, const char* symbol) {
    into = reinterpret_cast<std::decay_t<decltype(into)>>(dlsym(s.library, symbol));
    all = all && into;
  };
  get(s.open_display, "XOpenDisplay");
  get(s.close_display, "XCloseDisplay");
  get(s.default_root, "XDefaultRootWindow");
  get(s.default_screen, "XDefaultScreen");
  get(s.default_visual, "XDefaultVisual");
  get(s.default_depth, "XDefaultDepth");
  get(s.visual_info, "XGetVisualInfo");
  get(s.create_colormap, "XCreateColormap");
  get(s.create_window, "XCreateWindow");
  get(s.map_window, "XMapWindow");
  get(s.resize_window, "XResizeWindow");
  get(s.destroy_window, "XDestroyWindow");
  get(s.store_name, "XStoreName");
  get(s.intern_atom, "XInternAtom");
  get(s.set_protocols, "XSetWMProtocols");
  get(s.pending, "XPending");
  get(s.next_event, "XNextEvent");
  get(s.sync, "XSync");
  get(s.free, "XFree");
  get(s.init_threads, "XInitThreads");
  if (!all) throw Error(DT_E_ARGUMENT, "libX11.so.6 lacks functions that every version has");
  s.init_threads();  // contexts are on threads of their own
  s.display = s.open_display(nullptr);
  if (!s.display) throw Error(DT_E_ARGUMENT, std::string("there is no X server at ") + name);
  s.root = s.default_root(s.display);
  s.protocols = s.intern_atom(s.display, "WM_PROTOCOLS", 0);
  s.delete_window = s.intern_atom(s.display, "WM_DELETE_WINDOW", 0);
}

X11::~X11() {
  if (server_->display) server_->close_display(server_->display);
}

void* X11::display() const { return server_->display; }

unsigned long X11::open(int width, int height, unsigned long visual_id, const std::string& title) {
  Server& s = *server_;
  int screen = s.default_screen(s.display), depth = s.default_depth(s.display, screen), count = 0;
  void* visual = s.default_visual(s.display, screen);
  VisualInfo wanted{};
  wanted.visualid = visual_id;
  if (VisualInfo* info = visual_id ? s.visual_info(s.display, VISUAL_ID_MASK, &wanted, &count) : nullptr) {
    if (count > 0) {
      visual = info->visual;
      depth = info->depth;
    }
    s.free(info);
  }
  SetAttributes attributes{};
  attributes.event_mask = STRUCTURE_NOTIFY;
  attributes.colormap = s.create_colormap(s.display, s.root, visual, 0);
  unsigned long window =
      s.create_window(s.display, s.root, 0, 0, static_cast<unsigned>(width), static_cast<unsigned>(height), 0, depth, 1,
                      visual, CW_BACK_PIXEL | CW_BORDER_PIXEL | CW_EVENT_MASK | CW_COLORMAP, &attributes);
  if (!window) return 0;
  s.store_name(s.display, window, title.c_str());
  s.set_protocols(s.display, window, &s.delete_window, 1);
  s.map_window(s.display, window);
  s.sync(s.display, 0);
  return window;
}

void X11::resize(unsigned long window, int width, int height) {
  server_->resize_window(server_->display, window, static_cast<unsigned>(width), static_cast<unsigned>(height));
  server_->sync(server_->display, 0);
}

void X11::close(unsigned long window) {
  server_->destroy_window(server_->display, window);
  server_->sync(server_->display, 0);
}

bool X11::close_wanted() {
  Server& s = *server_;
  bool wanted = false;
  while (s.pending(s.display)) {
    Event event;
    s.next_event(s.display, &event);
    if (event.type == CLIENT_MESSAGE && event.client.message_type == s.protocols &&
        static_cast<unsigned long>(event.client.data[0]) == s.delete_window)
      wanted = true;
  }
  return wanted;
}

}  // namespace dt::play
