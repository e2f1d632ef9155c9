/* A host that needs EGL and nothing else: windows are pbuffers, or with PLAY_X11 windows of X11.
 *
 *   play                    plays everything
 *   play --loop 5           plays the frames 5 times, the first one (with what stands before it) once
 *   play --frames-per-second
 *
 * With PLAY_CHECK the host says which GL errors there were after each frame and which read-backs differ from the
 * recording. With PLAY_SNAPSHOT it writes what frames showed to the folder that the environment names in
 * PLAY_SNAPSHOTS: frame_12.rgba (bytes, the lowest row first) and frame_12.ppm; PLAY_SNAPSHOT_FRAMES=3,7 for some
 * frames only.
 */
#define _GNU_SOURCE
#include "play.h"

#include <dlfcn.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef PLAY_X11
#include <X11/Xlib.h>
#endif

static void fail(const char* what) {
  fprintf(stderr, "%s: EGL error 0x%x\n", what, eglGetError());
  exit(1);
}

/* ---- the three functions to replace in a system of your own -------------------------------------------------- */

#ifdef PLAY_X11
static Display* g_x11;
#endif

static EGLDisplay create_display(void) {
#ifdef PLAY_X11
  g_x11 = XOpenDisplay(NULL);
  if (!g_x11) fail("no X11 display");
  return eglGetDisplay((EGLNativeDisplayType)g_x11);
#else
  /* The program may have no window system: Mesa's surfaceless platform where it exists, unless EGL_PLATFORM decides. */
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  if (!getenv("EGL_PLATFORM") && extensions && strstr(extensions, "EGL_MESA_platform_surfaceless")) {
    PFNEGLGETPLATFORMDISPLAYEXTPROC get =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay found =
        get ? get(0x31DD /* EGL_PLATFORM_SURFACELESS_MESA */, EGL_DEFAULT_DISPLAY, NULL) : EGL_NO_DISPLAY;
    if (found != EGL_NO_DISPLAY) return found;
  }
  return eglGetDisplay(EGL_DEFAULT_DISPLAY);
#endif
}

static EGLSurface create_window(EGLDisplay display, EGLConfig config, int width, int height) {
#ifdef PLAY_X11
  Window window =
      XCreateSimpleWindow(g_x11, DefaultRootWindow(g_x11), 0, 0, (unsigned)width, (unsigned)height, 0, 0, 0);
  XStoreName(g_x11, window, "play");
  XMapWindow(g_x11, window);
  XSync(g_x11, False);
  return eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
#else
  const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  return eglCreatePbufferSurface(display, config, size);
#endif
}

static EGLSurface create_pixmap(EGLDisplay display, EGLConfig config, int width, int height) {
  const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  return eglCreatePbufferSurface(display, config, size);
}

/* ---- what the calls use -------------------------------------------------------------------------------------- */

EGLDisplay host_display(void) {
  EGLDisplay display = create_display();
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) fail("no EGL display");
  return display;
}

static EGLint wanted_value(const EGLint* wanted, EGLint name, EGLint otherwise) {
  for (; *wanted != EGL_NONE; wanted += 2)
    if (wanted[0] == name) return wanted[1];
  return otherwise;
}

EGLConfig host_config(EGLDisplay display, const EGLint* wanted) {
  static const struct {
    EGLint name, weight;
  } sizes[] = {{EGL_RED_SIZE, 100},  {EGL_GREEN_SIZE, 100},  {EGL_BLUE_SIZE, 100}, {EGL_ALPHA_SIZE, 60},
               {EGL_DEPTH_SIZE, 20}, {EGL_STENCIL_SIZE, 20}, {EGL_SAMPLES, 40}};
  EGLConfig all[512], best = NULL;
  EGLint count = 0, surface = EGL_PBUFFER_BIT, least = -1;
#ifdef PLAY_X11
  surface = EGL_WINDOW_BIT;
#endif
  eglGetConfigs(display, all, 512, &count);
  for (EGLint i = 0; i < count; i++) {
    EGLint has = 0, renders = 0, caveat = 0, kind = 0, penalty,
           renderable = wanted_value(wanted, EGL_RENDERABLE_TYPE, 0);
    eglGetConfigAttrib(display, all[i], EGL_SURFACE_TYPE, &has);
    eglGetConfigAttrib(display, all[i], EGL_RENDERABLE_TYPE, &renders);
    eglGetConfigAttrib(display, all[i], EGL_CONFIG_CAVEAT, &caveat);
    eglGetConfigAttrib(display, all[i], EGL_COLOR_BUFFER_TYPE, &kind);
    if (!(has & surface) || (renders & renderable) != renderable || kind != EGL_RGB_BUFFER) continue;
    penalty = caveat == EGL_NONE ? 0 : 5;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      EGLint want = wanted_value(wanted, sizes[k].name, 0), value = 0;
      eglGetConfigAttrib(display, all[i], sizes[k].name, &value);
      /* Too few bits weigh more than too many. */
      penalty += (value < want ? 10 * (want - value) : value - want) * sizes[k].weight;
    }
    if (least < 0 || penalty < least) {
      least = penalty;
      best = all[i];
    }
  }
  if (!best) fail("no EGL configuration fits");
  return best;
}

/* What makes a context that fits surfaces of every configuration, where there is that. */
EGLConfig host_no_config(EGLDisplay display, EGLConfig otherwise) {
  const char* extensions = eglQueryString(display, EGL_EXTENSIONS);
  return extensions && strstr(extensions, "EGL_KHR_no_config_context") ? (EGLConfig)0 : otherwise;
}

EGLSurface host_window(EGLDisplay display, EGLConfig config, int width, int height) {
  EGLSurface surface = create_window(display, config, width, height);
  if (surface == EGL_NO_SURFACE) fail("no window");
  return surface;
}

/* A new window takes the place of the old one; a host with windows that people see would rather resize that. */
void host_resize(EGLDisplay display, EGLConfig config, EGLSurface* surface, int width, int height) {
  EGLContext context = eglGetCurrentContext();
  EGLSurface draw = eglGetCurrentSurface(EGL_DRAW), read = eglGetCurrentSurface(EGL_READ), old = *surface;
  int current = context != EGL_NO_CONTEXT && (draw == old || read == old);
  if (current) eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroySurface(display, old);
  *surface = host_window(display, config, width, height);
  if (current) eglMakeCurrent(display, draw == old ? *surface : draw, read == old ? *surface : read, context);
}

EGLSurface host_pixmap(EGLDisplay display, EGLConfig config, int width, int height) {
  EGLSurface surface = create_pixmap(display, config, width, height);
  if (surface == EGL_NO_SURFACE) fail("no pixmap");
  return surface;
}

{% if vg -%}
EGLSurface host_vector_window(EGLDisplay display, EGLConfig config, int width, int height, EGLint space, EGLint alpha) {
#ifdef PLAY_X11
  Window window =
      XCreateSimpleWindow(g_x11, DefaultRootWindow(g_x11), 0, 0, (unsigned)width, (unsigned)height, 0, 0, 0);
  const EGLint wanted[] = {EGL_VG_COLORSPACE, space, EGL_VG_ALPHA_FORMAT, alpha, EGL_NONE};
  XMapWindow(g_x11, window);
  XSync(g_x11, False);
  EGLSurface surface = eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, wanted);
#else
  const EGLint wanted[] = {EGL_WIDTH,           width, EGL_HEIGHT, height, EGL_VG_COLORSPACE, space,
                           EGL_VG_ALPHA_FORMAT, alpha, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(display, config, wanted);
#endif
  if (surface == EGL_NO_SURFACE) fail("no window");
  return surface;
}

/* Whether OpenVG is what draws now. */
static int vector_draws(void) { return eglQueryAPI() == EGL_OPENVG_API; }

{% endif -%}
GLenum host_color_buffer(GLenum buffer) {
  EGLint which = EGL_BACK_BUFFER;
  EGLSurface surface = eglGetCurrentSurface(EGL_DRAW);
  if (surface != EGL_NO_SURFACE) eglQuerySurface(eglGetCurrentDisplay(), surface, EGL_RENDER_BUFFER, &which);
{%- if gl %}
  if (surface != EGL_NO_SURFACE && which == EGL_SINGLE_BUFFER)
    return buffer == GL_BACK_LEFT ? GL_FRONT_LEFT : buffer == GL_BACK_RIGHT ? GL_FRONT_RIGHT : GL_FRONT;
{%- endif %}
  return buffer;
}

host_function_pointer host_function(const char* name) {
  static const char* const libraries[] = {
      "libEGL.so.1",
      {% if vg -%}
      "libOpenVG.so.1",
      "libOpenVGU.so.1",
      {% endif -%}
      {% if gl -%}
      "libGL.so.1",
      "libOpenGL.so.0",
      {% endif -%}
      "libGLESv2.so.2",
      "libGLESv1_CM.so.1",
  };
  host_function_pointer found = (host_function_pointer)eglGetProcAddress(name);
  {% if vg -%}
  if (!strncmp(name, "vg", 2)) found = NULL;
  {% endif -%}
  for (size_t i = 0; !found && i < sizeof libraries / sizeof *libraries; i++) {
    void* library = dlopen(libraries[i], RTLD_LAZY | RTLD_GLOBAL);
    void* symbol = library ? dlsym(library, name) : NULL;
    memcpy(&found, &symbol, sizeof found);
  }
  if (!found) {
    fprintf(stderr, "%s does not exist here\n", name);
    exit(1);
  }
  return found;
}

/* ---- watching ------------------------------------------------------------------------------------------------ */

#if defined(PLAY_CHECK) || defined(PLAY_SNAPSHOT)
static unsigned g_errors, g_read_backs, g_different;

static host_function_pointer known(host_function_pointer* slot, const char* name) {
  if (!*slot) *slot = host_function(name);
  return *slot;
}
#endif

#ifdef PLAY_SNAPSHOT
/* What the current surface shows. */
static unsigned char* read_pixels(EGLint width, EGLint height) {
  static host_function_pointer read, get, store, error, bind_buffer, bind_framebuffer;
  EGLint pack[4], buffer = 0, framebuffer = 0;
  unsigned char* pixels = malloc((size_t)width * (size_t)height * 4);
  if (!pixels) return NULL;
{%- if vg %}
  if (vector_draws()) {
    static host_function_pointer read_vector;
    ((void(PLAY_CALL*)(void*, VGint, VGImageFormat, VGint, VGint, VGint, VGint))known(&read_vector, "vgReadPixels"))(
        pixels, width * 4, VG_sABGR_8888, 0, 0, width, height);
    return pixels;
  }
{%- endif %}
  typedef void(PLAY_CALL * get_t)(GLenum, GLint*);
  typedef void(PLAY_CALL * store_t)(GLenum, GLint);
  typedef void(PLAY_CALL * bind_t)(GLenum, GLuint);
  typedef GLenum(PLAY_CALL * error_t)(void);
  typedef void(PLAY_CALL * read_t)(GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void*);
  get_t get_integer = (get_t)known(&get, "glGetIntegerv");
  store_t pixel_store = (store_t)known(&store, "glPixelStorei");
  error_t get_error = (error_t)known(&error, "glGetError");
  /* The program's state is put back as it was; its own errors were fetched before. */
  static const GLenum names[] = {0x0D05 /* PACK_ALIGNMENT */, 0x0D02 /* ROW_LENGTH */, 0x0D03 /* SKIP_ROWS */,
                                 0x0D04 /* SKIP_PIXELS */};
  for (int i = 0; i < 4; i++) {
    pack[i] = 0;
    get_integer(names[i], &pack[i]);
    if (get_error() == 0) pixel_store(names[i], i ? 0 : 1);
  }
  get_integer(0x88ED /* PIXEL_PACK_BUFFER_BINDING */, &buffer);
  if (get_error()) buffer = 0;
  get_integer(0x8CAA /* READ_FRAMEBUFFER_BINDING */, &framebuffer);
  GLenum target = 0x8CA8; /* READ_FRAMEBUFFER */
  if (get_error()) {
    framebuffer = 0;
    get_integer(0x8CA6 /* FRAMEBUFFER_BINDING */, &framebuffer);
    target = 0x8D40; /* FRAMEBUFFER */
    if (get_error()) framebuffer = 0;
  }
  if (buffer) ((bind_t)known(&bind_buffer, "glBindBuffer"))(0x88EB, 0);
  if (framebuffer) ((bind_t)known(&bind_framebuffer, "glBindFramebuffer"))(target, 0);
  ((read_t)known(&read, "glReadPixels"))(0, 0, width, height, 0x1908 /* RGBA */, 0x1401 /* UNSIGNED_BYTE */, pixels);
  if (framebuffer) ((bind_t)bind_framebuffer)(target, (GLuint)framebuffer);
  if (buffer) ((bind_t)bind_buffer)(0x88EB, (GLuint)buffer);
  for (int i = 0; i < 4; i++) {
    pixel_store(names[i], i || pack[i] ? pack[i] : 4);
    get_error();
  }
  return pixels;
}

static void snapshot(int frame) {
  const char *folder = getenv("PLAY_SNAPSHOTS"), *only = getenv("PLAY_SNAPSHOT_FRAMES");
  if (!folder) return;
  if (only) {
    const char* at = only;
    while (at && atoi(at) != frame) at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    if (!at) return;
  }
  EGLSurface surface = eglGetCurrentSurface(EGL_DRAW);
  EGLint width = 0, height = 0;
  if (surface == EGL_NO_SURFACE) return;
  eglQuerySurface(eglGetCurrentDisplay(), surface, EGL_WIDTH, &width);
  eglQuerySurface(eglGetCurrentDisplay(), surface, EGL_HEIGHT, &height);
  unsigned char* pixels = read_pixels(width, height);
  if (!pixels) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/frame_%d.rgba", folder, frame);
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(pixels, 4, (size_t)width * (size_t)height, file) != (size_t)width * (size_t)height)
    fprintf(stderr, "%s cannot be written\n", path);
  if (file) fclose(file);
  snprintf(path, sizeof path, "%s/frame_%d.ppm", folder, frame);
  file = fopen(path, "wb");
  if (file) {
    fprintf(file, "P6\n%d %d\n255\n", width, height);
    for (int y = height - 1; y >= 0; y--)
      for (int x = 0; x < width; x++) fwrite(pixels + ((size_t)y * (size_t)width + (size_t)x) * 4, 1, 3, file);
    fclose(file);
  }
  free(pixels);
}
#endif

void host_frame(int frame) {
#ifndef PLAY_X11
  /* A pbuffer has nothing to swap: the driver is told all the same that a frame is complete, or it may never draw it.
   */
  static void(PLAY_CALL * flush)(void);
  int draws_gl = 1;
  {% if vg -%}
  draws_gl = !vector_draws();
  {% endif -%}
  if (!flush && draws_gl) flush = (void(PLAY_CALL*)(void))host_function("glFlush");
  if (draws_gl && eglGetCurrentContext() != EGL_NO_CONTEXT) flush();
#endif
#if defined(PLAY_CHECK) || defined(PLAY_SNAPSHOT)
{%- if vg %}
  /* Errors of OpenVG are the program's own to fetch: taking them here would change what it gets. */
  if (vector_draws()) {
#ifdef PLAY_SNAPSHOT
    snapshot(frame);
#endif
    return;
  }
{%- endif %}
  static host_function_pointer error;
  GLenum found;
  for (int i = 0; i < 100 && eglGetCurrentContext() != EGL_NO_CONTEXT &&
                  (found = ((GLenum(PLAY_CALL*)(void))known(&error, "glGetError"))()) != 0;
       i++) {
    fprintf(stderr, "frame %d: GL error 0x%x\n", frame, found);
    g_errors++;
  }
#endif
#ifdef PLAY_SNAPSHOT
  snapshot(frame);
#endif
  (void)frame;
}

void host_read_back(const void* data, size_t bytes, uint64_t checksum) {
#if defined(PLAY_CHECK) || defined(PLAY_SNAPSHOT)
  uint64_t sum = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ ((const unsigned char*)data)[i]) * 0x100000001b3ull;
  g_read_backs++;
  if (checksum && sum != checksum) {
    fprintf(stderr, "frame %d: read-back %u (%zu bytes) differs from the recording\n", play_current, g_read_backs,
            bytes);
    g_different++;
  }
#else
  (void)data, (void)bytes, (void)checksum;
#endif
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Drivers take and free memory in every draw. A program that once freed a large array has taught glibc to keep what is
 * freed. This program frees no arrays, so glibc would give the driver's memory back to the kernel after every draw. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int argc, char** argv) {
  int loops = 1, timed = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--loop") && i + 1 < argc && atoi(argv[i + 1]) > 0)
      loops = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--frames-per-second"))
      timed = 1;
    else {
      fprintf(stderr, "usage: %s [--loop N] [--frames-per-second]: play N times, at least once\n", argv[0]);
      return 2;
    }
  }
  keep_freed_memory();
  play_start();
  int frames = play_frame_count(), shown = 0;
  if (frames) play_frame(0);
  double began = seconds();
  for (int loop = 0; loop < loops; loop++)
    for (int frame = 1; frame < frames; frame++, shown++) play_frame(frame);
  int finishes = timed && eglGetCurrentContext() != EGL_NO_CONTEXT;
  {% if vg -%}
  finishes = finishes && !vector_draws();
  {% endif -%}
  if (finishes) ((void(PLAY_CALL*)(void))host_function("glFinish"))();
  double took = seconds() - began;
  play_end();
  if (timed && shown) printf("%d frames in %.3f s: %.1f frames a second\n", shown, took, shown / took);
#ifdef PLAY_CHECK
  printf("%d frames, %u GL errors, %u read-backs, %u differ\n", frames, g_errors, g_read_backs, g_different);
  return g_different ? 1 : 0;
#else
  return 0;
#endif
}
