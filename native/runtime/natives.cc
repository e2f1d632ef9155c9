// Portable attributes of native objects: what a replay on another machine needs in place of handles.
//
// Each object is described once, by queries that cannot fail for an object that the driver has just accepted. The
// application would see an EGL error or an X error.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "frame_image.h"
#include "gl_state.h"
#include "tap.h"
#include "losses.h"
#include "egl_enums.h"
#include "gl_enums.h"
#include "glx_enums.h"
#include "moment.h"

namespace dt {
namespace gl {

namespace {

constexpr uint32_t SEEN = 1024;
uint32_t g_seen_lock;
uint64_t g_seen[SEEN];

// True the first time for this object. A full table says true again: told twice is better than never.
bool first_time(const char* kind, const void* display, uint64_t handle) {
  uint64_t key = handle * 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)display * 0xc2b2ae3d27d4eb4full ^
                 (uint64_t)kind[0] << 56 ^ (uint64_t)kind[1] << 40;
  if (!key) key = 1;
  bool first = true;
  lock(&g_seen_lock);
  for (uint32_t i = 0; i < 16; i++) {
    uint64_t& at = g_seen[(key + i) % SEEN];
    if (at == key) {
      first = false;
      break;
    }
    if (!at) {
      at = key;
      break;
    }
  }
  unlock(&g_seen_lock);
  return first;
}

}  // namespace

// Another recorder has heard of none of them.
void forget_natives() {
  lock(&g_seen_lock);
  memset(g_seen, 0, sizeof g_seen);
  unlock(&g_seen_lock);
}

namespace {

struct Text {
  char buffer[2048];
  size_t length;
};

void put(Text* text, const char* key, const char* value) {
  size_t room = sizeof text->buffer - text->length;
  int n = snprintf(text->buffer + text->length, room, "%s%s=", text->length ? ";" : "", key);
  if (n < 0 || (size_t)n >= room) {
    text->buffer[text->length] = 0;
    return;
  }
  text->length += (size_t)n;
  for (; value && *value && text->length + 1 < sizeof text->buffer; value++) {
    char ch = *value;
    text->buffer[text->length++] = ch == ';' ? ',' : ch;
  }
  text->buffer[text->length] = 0;
}

void put(Text* text, const char* key, int64_t value) {
  char digits[32];
  snprintf(digits, sizeof digits, "%lld", (long long)value);
  put(text, key, digits);
}

struct Attribute {
  const char* key;
  int32_t name;
};

bool egl_size(void* display, void* surface, int32_t* width, int32_t* height) {
  return driver::eglQuerySurface && driver::eglQuerySurface(display, surface, EGL_WIDTH, width) &&
         driver::eglQuerySurface(display, surface, EGL_HEIGHT, height);
}

// X drawables that GLX made: GLX returns their size, and X returns the size of windows.
uint32_t g_drawables_lock;
unsigned long g_drawables[256];
uint32_t g_drawable_count;

void remember_drawable(unsigned long drawable) {
  if (!drawable) return;
  lock(&g_drawables_lock);
  g_drawables[g_drawable_count++ % 256] = drawable;
  unlock(&g_drawables_lock);
}

enum class Maker { X, GLX, UNSURE };
Maker maker_of(unsigned long drawable) {
  Maker maker = Maker::X;
  lock(&g_drawables_lock);
  if (g_drawable_count > 256) maker = Maker::UNSURE;  // it may be among the forgotten ones
  for (uint32_t i = 0; i < g_drawable_count && i < 256; i++)
    if (g_drawables[i] == drawable) maker = Maker::GLX;
  unlock(&g_drawables_lock);
  return maker;
}

void describe_fb_config(Thread* t, void* display, void* config) {
  if (!config || !first_time("fbconfig", display, (uint64_t)(uintptr_t)config)) return;
  static const Attribute attributes[] = {
      {"id", GLX_FBCONFIG_ID},
      {"red", 8},
      {"green", 9},
      {"blue", 10},
      {"alpha", 11},
      {"depth", 12},
      {"stencil", 13},
      {"buffer", 2},
      {"level", 3},
      {"double", 5},
      {"stereo", 6},
      {"samples", 100001},
      {"sample_buffers", 100000},
      {"render_type", GLX_RENDER_TYPE},
      {"surface_type", GLX_DRAWABLE_TYPE},
      {"visual", GLX_VISUAL_ID},
      {"caveat", 0x20},
  };
  if (!driver::glXGetFBConfigAttrib) return;
  Text text{};
  for (const Attribute& a : attributes) {
    int value = 0;
    if (driver::glXGetFBConfigAttrib(display, config, a.name, &value) == 0) put(&text, a.key, value);
  }
  emit_native(t, "config", (uint64_t)(uintptr_t)config, text.buffer);
}

void describe_visual(Thread* t, void* display, void* visual) {
  // XVisualInfo begins { Visual* visual; VisualID visualid; int screen; int depth; ...
  if (!visual) return;
  unsigned long id;
  memcpy(&id, (const char*)visual + sizeof(void*), sizeof id);
  if (!first_time("visual", display, id)) return;
  static const Attribute attributes[] = {
      {"red", 8},
      {"green", 9},
      {"blue", 10},
      {"alpha", 11},
      {"depth", 12},
      {"stencil", 13},
      {"buffer", 2},
      {"level", 3},
      {"rgba", 4},
      {"double", 5},
      {"stereo", 6},
      {"samples", 100001},
      {"sample_buffers", 100000},
  };
  if (!driver::glXGetConfig) return;
  Text text{};
  put(&text, "id", (int64_t)id);
  for (const Attribute& a : attributes) {
    int value = 0;
    if (driver::glXGetConfig(display, visual, a.name, &value) == 0) put(&text, a.key, value);
  }
  emit_native(t, "visual", (uint64_t)(uintptr_t)visual, text.buffer);
}

const char* platform_name(uint32_t platform) {
  switch (platform) {
    case EGL_PLATFORM_X11_KHR: return "x11";
    case EGL_PLATFORM_XCB_EXT: return "xcb";
    case EGL_PLATFORM_WAYLAND_KHR: return "wayland";
    case EGL_PLATFORM_GBM_KHR: return "gbm";
    case EGL_PLATFORM_SURFACELESS_MESA: return "surfaceless";
    case EGL_PLATFORM_DEVICE_EXT: return "device";
    case EGL_PLATFORM_ANDROID_KHR: return "android";
    case 0x3202: return "angle";
    default: return nullptr;
  }
}

}  // namespace

void describe_driver(Thread* t, GlContext* c) {
  if (!driver::glGetString || !can_ask(c)) return;
  Text text{};
  put(&text, "context", c->id);
  put(&text, "vendor", (const char*)driver::glGetString(GL_VENDOR));
  put(&text, "renderer", (const char*)driver::glGetString(GL_RENDERER));
  put(&text, "version", (const char*)driver::glGetString(GL_VERSION));
  if (c->version >= 20) put(&text, "glsl", (const char*)driver::glGetString(GL_SHADING_LANGUAGE_VERSION));
  if (c->api == 1 && c->version >= 32) put(&text, "profile", c->core ? "core" : "compatibility");
  emit_native(t, "driver", (uint64_t)(uintptr_t)c->handle, text.buffer);
}

void describe_egl_config(Thread* t, void* display, void* config) {
  if (!config || !first_time("config", display, (uint64_t)(uintptr_t)config)) return;
  static const Attribute attributes[] = {
      {"id", EGL_CONFIG_ID},
      {"red", EGL_RED_SIZE},
      {"green", EGL_GREEN_SIZE},
      {"blue", EGL_BLUE_SIZE},
      {"alpha", EGL_ALPHA_SIZE},
      {"depth", EGL_DEPTH_SIZE},
      {"stencil", EGL_STENCIL_SIZE},
      {"samples", EGL_SAMPLES},
      {"sample_buffers", EGL_SAMPLE_BUFFERS},
      {"buffer", EGL_BUFFER_SIZE},
      {"surface_type", EGL_SURFACE_TYPE},
      {"renderable_type", EGL_RENDERABLE_TYPE},
      {"conformant", EGL_CONFORMANT},
      {"caveat", EGL_CONFIG_CAVEAT},
      {"native_visual", EGL_NATIVE_VISUAL_ID},
      {"color_buffer_type", EGL_COLOR_BUFFER_TYPE},
  };
  if (!driver::eglGetConfigAttrib) return;
  Text text{};
  for (const Attribute& a : attributes) {
    int32_t value = 0;
    if (!driver::eglGetConfigAttrib(display, config, a.name, &value))
      return;  // no config at all: the call to come will say so itself
    put(&text, a.key, value);
  }
  emit_native(t, "config", (uint64_t)(uintptr_t)config, text.buffer);
}

void describe_surface(Thread* t, void* display, void* surface, const char* kind) {
  int32_t width = 0, height = 0, value = 0;
  if (!driver::eglQuerySurface || !egl_size(display, surface, &width, &height)) return;
  Text text{};
  put(&text, "width", width);
  put(&text, "height", height);
  if (driver::eglQuerySurface(display, surface, EGL_CONFIG_ID, &value)) put(&text, "config_id", value);
  if (driver::eglQuerySurface(display, surface, EGL_RENDER_BUFFER, &value)) put(&text, "render_buffer", value);
  emit_native(t, kind, (uint64_t)(uintptr_t)surface, text.buffer);
  GlContext* c = t->context;
  if (c && c->draw == (uint64_t)(uintptr_t)surface) {
    c->draw_width = width;
    c->draw_height = height;
  }
}

void describe_drawable(Thread* t, void* display, unsigned long drawable) {
  unsigned int width = 0, height = 0;
  const char* kind = "surface";
  Maker maker = maker_of(drawable);
  if (maker == Maker::UNSURE) return;  // the wrong question would be an X error
  if (maker == Maker::GLX) {
    if (!driver::glXQueryDrawable) return;
    driver::glXQueryDrawable(display, drawable, GLX_WIDTH, &width);
    driver::glXQueryDrawable(display, drawable, GLX_HEIGHT, &height);
  } else {
    using Geometry =
        int (*)(void*, unsigned long, unsigned long*, int*, int*, unsigned*, unsigned*, unsigned*, unsigned*);
    auto geometry = (Geometry)real_dlsym(RTLD_DEFAULT, "XGetGeometry");
    if (!geometry) {
      void* x11 = real_dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);
      geometry = x11 ? (Geometry)real_dlsym(x11, "XGetGeometry") : nullptr;
    }
    unsigned long root;
    int x, y;
    unsigned border, depth;
    if (!geometry || !geometry(display, drawable, &root, &x, &y, &width, &height, &border, &depth)) return;
    kind = "window";
  }
  GlContext* c = t->context;
  bool draws = c && c->draw == drawable;
  if (draws && c->draw_width == (int32_t)width && c->draw_height == (int32_t)height) return;
  Text text{};
  put(&text, "width", width);
  put(&text, "height", height);
  emit_native(t, kind, drawable, text.buffer);
  if (draws) {
    c->draw_width = (int32_t)width;
    c->draw_height = (int32_t)height;
  }
}

// The texture that `drawable` was just bound to, as RGBA of 8 bits: a description and its content. False: it cannot be
// read.
bool record_pixmap(Thread* t, void* display, unsigned long drawable) {
  GlContext* c = t->context;
  if (!can_ask(c) || c->api != 1 || maker_of(drawable) != Maker::GLX) return false;
  unsigned int kind = 0;
  if (driver::glXQueryDrawable) driver::glXQueryDrawable(display, drawable, GLX_TEXTURE_TARGET_EXT, &kind);
  const uint32_t target = kind == GLX_TEXTURE_2D_EXT          ? GL_TEXTURE_2D
                          : kind == GLX_TEXTURE_RECTANGLE_EXT ? GL_TEXTURE_RECTANGLE
                                                              : 0;
  int32_t width = 0, height = 0;
  if (!target || !driver::glGetTexLevelParameteriv || !driver::glGetTexImage || !driver::glPixelStorei) return false;
  driver::glGetTexLevelParameteriv(target, 0, GL_TEXTURE_WIDTH, &width);
  driver::glGetTexLevelParameteriv(target, 0, GL_TEXTURE_HEIGHT, &height);
  if (width <= 0 || height <= 0 || width > 16384 || height > 16384) return false;
  const size_t bytes = (size_t)width * (size_t)height * 4;
  char* pixels = (char*)malloc(bytes);
  if (!pixels) return false;
  {
    PlainPack plain(c);
    driver::glGetTexImage(target, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  }
  const Data content = prepare_blob(t, pixels, bytes);
  free(pixels);
  uint64_t hash[2];
  memcpy(hash, content.hash, 16);
  emit_content(t, drawable, content);
  Text text{};
  put(&text, "width", width);
  put(&text, "height", height);
  put(&text, "target", (int64_t)target);
  put(&text, "hash_low", (int64_t)hash[0]);
  put(&text, "hash_high", (int64_t)hash[1]);
  emit_native(t, "pixmap", drawable, text.buffer);
  return true;
}

}  // namespace gl

namespace hook {
using namespace gl;

void surface_created(Thread* t, void* dpy, void* config, void* surface, const char* kind) {
  if (!surface) return;
  if (!t->telling) surface_is_recorded((uint64_t)(uintptr_t)surface);
  describe_egl_config(t, dpy, config);
  describe_surface(t, dpy, surface, kind);
}

void display_found(Thread* t, void* display, uint32_t platform) {
  if (!display) return;
  const char* name = platform_name(platform);
  const char* chosen = getenv("EGL_PLATFORM");
  char number[16];
  if (!name && platform) {
    snprintf(number, sizeof number, "0x%x", platform);
    name = number;
  }
  Text text{};
  put(&text, "platform", name ? name : chosen ? chosen : "default");
  if (first_time("platform", display, platform)) emit_native(t, "display", (uint64_t)(uintptr_t)display, text.buffer);
}
void after_eglGetPlatformDisplay(Thread* t, uint32_t platform, void*, const intptr_t*, void* _result) {
  display_found(t, _result, platform);
}
void after_eglGetPlatformDisplayEXT(Thread* t, uint32_t platform, void*, const int32_t*, void* _result) {
  display_found(t, _result, platform);
}

void after_eglInitialize(Thread* t, void* dpy, int32_t*, int32_t*, uint32_t _result) {
  if (!_result || !driver::eglQueryString || !first_time("display", dpy, (uint64_t)(uintptr_t)dpy)) return;
  Text text{};
  put(&text, "vendor", driver::eglQueryString(dpy, EGL_VENDOR));
  put(&text, "version", driver::eglQueryString(dpy, EGL_VERSION));
  put(&text, "client_apis", driver::eglQueryString(dpy, EGL_CLIENT_APIS));
  emit_native(t, "display", (uint64_t)(uintptr_t)dpy, text.buffer);
}

// The size of a window may come from a window system: a round trip to another process. It may take a thousandth of the
// program's time, whatever its frames take, and happens four times a second at least.
constexpr uint64_t QUICK_NS = 5000, SHARE = 1000, LONGEST_NS = 250000000;

static void size_was_asked(GlContext* c, uint64_t from) {
  const uint64_t now = now_ns(), took = now - from;
  c->size_due_ns = took < QUICK_NS ? 0 : now + (took * SHARE < LONGEST_NS ? took * SHARE : LONGEST_NS);
}

// The size of the window that a frame went to, told again when it changed.
static void check_size(Thread* t, void* dpy, void* surface) {
  GlContext* c = t->context;
  if (!c || c->draw != (uint64_t)(uintptr_t)surface) return;
  const uint64_t from = now_ns();
  if (from < c->size_due_ns) return;
  int saved = errno;
  int32_t width = c->draw_width, height = c->draw_height;
  bool known = egl_size(dpy, surface, &width, &height);
  size_was_asked(c, from);
  if (known && (width != c->draw_width || height != c->draw_height)) describe_surface(t, dpy, surface, "surface");
  errno = saved;
}

// A viewport of a size that was not seen since the window got its size may mean that it has another one. Programs set
// one when they learn of it, so the frame that ends is the first one of the new size.
void viewport_changed(Thread* t, int32_t width, int32_t height) {
  GlContext* c = t->context;
  c->viewport_width = width;
  c->viewport_height = height;
  if (width == c->draw_width && height == c->draw_height) return;
  uint32_t kept = c->seen_count < SEEN_VIEWPORTS ? c->seen_count : SEEN_VIEWPORTS;
  for (uint32_t i = 0; i < kept; ++i)
    if (c->seen_viewports[i][0] == width && c->seen_viewports[i][1] == height) return;
  int32_t* place = c->seen_viewports[c->seen_count++ % SEEN_VIEWPORTS];
  place[0] = width;
  place[1] = height;
  c->size_hint = 1;
}

void check_size_before_swap(Thread* t, void* dpy, uint64_t drawable, uint32_t system) {
  GlContext* c = t->context;
  c->size_hint = 0;
  if (c->draw != drawable || !can_ask(c)) return;
  int saved = errno;
  int32_t width = c->draw_width, height = c->draw_height;
  if (system == 1) {
    if (egl_size(dpy, (void*)(uintptr_t)drawable, &width, &height) &&
        (width != c->draw_width || height != c->draw_height))
      describe_surface(t, dpy, (void*)(uintptr_t)drawable, "surface");
  } else {
    describe_drawable(t, dpy, (unsigned long)drawable);  // says nothing where nothing changed
  }
  if (width != c->draw_width || height != c->draw_height) c->seen_count = 0;
  errno = saved;
}
// The content of the pixmap is read from the texture that it has become, as it would be sampled.
void after_glXBindTexImageEXT(Thread* t, void* dpy, unsigned long drawable, int, const int*) {
  int saved = errno;
  if (!record_pixmap(t, dpy, drawable))
    emit_loss(t, "pixmap-texture",
              "a pixmap of the X server became a texture (glXBindTexImageEXT): what it holds could not be recorded");
  errno = saved;
}
void after_glXSwapBuffers(Thread* t, void* dpy, unsigned long drawable) {
  GlContext* c = t->context;
  if (!c || c->draw != drawable) return;
  const uint64_t from = now_ns();
  if (from < c->size_due_ns) return;
  int saved = errno;
  describe_drawable(t, dpy, drawable);
  size_was_asked(c, from);
  errno = saved;
}
void after_eglSwapBuffers(Thread* t, void* dpy, void* surface, uint32_t _result) {
  if (_result) check_size(t, dpy, surface);
}
void after_eglSwapBuffersWithDamageEXT(Thread* t, void* dpy, void* surface, const int32_t*, int32_t, uint32_t _result) {
  if (_result) check_size(t, dpy, surface);
}
void after_eglSwapBuffersWithDamageKHR(Thread* t, void* dpy, void* surface, const int32_t*, int32_t, uint32_t _result) {
  if (_result) check_size(t, dpy, surface);
}

void before_glXCreateContext(Thread* t, void* dpy, void* vis, void*, int) { describe_visual(t, dpy, vis); }
void before_glXCreateNewContext(Thread* t, void* dpy, void* config, int, void*, int) {
  describe_fb_config(t, dpy, config);
}
void before_glXCreateContextAttribsARB(Thread* t, void* dpy, void* config, void*, int, const int*) {
  describe_fb_config(t, dpy, config);
}
void after_glXCreateWindow(Thread* t, void* dpy, void* config, unsigned long, const int*, unsigned long _result) {
  describe_fb_config(t, dpy, config);
  remember_drawable(_result);
}
void after_glXCreatePbuffer(Thread* t, void* dpy, void* config, const int*, unsigned long _result) {
  describe_fb_config(t, dpy, config);
  remember_drawable(_result);
}
void after_glXCreatePixmap(Thread* t, void* dpy, void* config, unsigned long, const int*, unsigned long _result) {
  describe_fb_config(t, dpy, config);
  remember_drawable(_result);
}
void after_glXCreateGLXPixmap(Thread* t, void* dpy, void* visual, unsigned long, unsigned long _result) {
  describe_visual(t, dpy, visual);
  remember_drawable(_result);
}

}  // namespace hook
}  // namespace dt
