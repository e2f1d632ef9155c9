/* A stand-in for a machine on which another vendor has the GPUs and Mesa the processor: EGL lists Mesa's own device, a
 * GPU that does not start, and GPUs of which each draws as Mesa's surfaceless platform does. Preloaded.
 * $STAND_IN_OPENED names a file for the numbers of the devices that were opened. */
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
enum { SOFTWARE, BROKEN, FIRST, SECOND, DEVICES };
static char g_devices[DEVICES];
static PFNEGLGETPLATFORMDISPLAYEXTPROC g_get_display;

static EGLBoolean query_devices(EGLint most, EGLDeviceEXT* devices, EGLint* count) {
  *count = most < DEVICES ? most : DEVICES;
  for (int n = 0; devices && n < *count; n++) devices[n] = &g_devices[n];
  return EGL_TRUE;
}

static const char* query_device_string(EGLDeviceEXT device, EGLint name) {
  (void)name;
  return device == &g_devices[SOFTWARE] ? "EGL_MESA_device_software" : "EGL_EXT_device_persistent_id";
}

static EGLDisplay get_display(EGLenum platform, void* native, const EGLint* attributes) {
  if (platform != EGL_PLATFORM_DEVICE_EXT) return g_get_display(platform, native, attributes);
  const long number = (char*)native - g_devices;
  if (number == BROKEN) return EGL_NO_DISPLAY;
  FILE* opened = fopen(getenv("STAND_IN_OPENED"), "a");
  fprintf(opened, "%ld\n", number);
  fclose(opened);
  return g_get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
}

EGLDisplay eglGetPlatformDisplay(EGLenum platform, void* native, const EGLAttrib* attributes) {
  (void)attributes;
  eglGetProcAddress("eglGetPlatformDisplayEXT"); /* below, which keeps the driver's */
  return get_display(platform, native, NULL);
}

Function eglGetProcAddress(const char* name) {
  static Function (*real)(const char*);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "eglGetProcAddress");
  if (!strcmp(name, "eglQueryDevicesEXT")) return (Function)query_devices;
  if (!strcmp(name, "eglQueryDeviceStringEXT")) return (Function)query_device_string;
  Function found = real(name);
  if (!strcmp(name, "eglGetPlatformDisplayEXT")) {
    g_get_display = (PFNEGLGETPLATFORMDISPLAYEXTPROC)found;
    return (Function)get_display;
  }
  return found;
}
