/* The display of the first GPU among EGL's devices, else of the first device: EGL_PLATFORM=device names a platform that
 * has no default display. `get` is eglGetProcAddress; EGL_NO_DISPLAY: no device. */
#ifndef DRAWTAP_TEST_EGL_DEVICE_H
#define DRAWTAP_TEST_EGL_DEVICE_H
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <string.h>

static EGLDisplay device_display(__eglMustCastToProperFunctionPointerType (*get)(const char*)) {
  PFNEGLQUERYDEVICESEXTPROC query = (PFNEGLQUERYDEVICESEXTPROC)get("eglQueryDevicesEXT");
  PFNEGLQUERYDEVICESTRINGEXTPROC text = (PFNEGLQUERYDEVICESTRINGEXTPROC)get("eglQueryDeviceStringEXT");
  PFNEGLGETPLATFORMDISPLAYEXTPROC open = (PFNEGLGETPLATFORMDISPLAYEXTPROC)get("eglGetPlatformDisplayEXT");
  EGLDeviceEXT devices[64];
  EGLint count = 0;
  if (!query || !text || !open || !query(64, devices, &count) || !count) return EGL_NO_DISPLAY;
  for (EGLint n = 0; n < count; n++) {
    const char* has = text(devices[n], EGL_EXTENSIONS);
    if (!has || !strstr(has, "EGL_MESA_device_software")) return open(EGL_PLATFORM_DEVICE_EXT, devices[n], NULL);
  }
  return open(EGL_PLATFORM_DEVICE_EXT, devices[0], NULL);
}
#endif
