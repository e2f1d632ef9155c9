/* Images of OpenVG with known pixels: formats of 8 bits and fewer, a child, one that is destroyed, one that is cleared.
 */
#include "vg_start.h"
#include <EGL/eglext.h>
#include <VG/openvg.h>
#include <stdio.h>

int main(void) {
  EGLDisplay display = start_vg_display();
  EGLConfig config = start_vg_config(display);
  EGLSurface surface = start_vg(display, config, 16, 16);

  /* Rows from the bottom: red and green, then blue and a half transparent white. */
  const unsigned words[] = {0xff0000ff, 0x00ff00ff, 0x0000ffff, 0xffffff80};
  const unsigned char grey[] = {10, 20, 30, 40};
  const unsigned short small[] = {0xf800, 0x07e0, 0x001f, 0xffff};
  VGImage whole = vgCreateImage(VG_sRGBA_8888, 2, 2, VG_IMAGE_QUALITY_FASTER);
  vgImageSubData(whole, words, 8, VG_sRGBA_8888, 0, 0, 2, 2);
  VGImage one = vgCreateImage(VG_sL_8, 2, 2, VG_IMAGE_QUALITY_FASTER);
  vgImageSubData(one, grey, 2, VG_sL_8, 0, 0, 2, 2);
  VGImage packed = vgCreateImage(VG_sRGB_565, 2, 2, VG_IMAGE_QUALITY_FASTER);
  vgImageSubData(packed, small, 4, VG_sRGB_565, 0, 0, 2, 2);
  VGImage child = vgChildImage(whole, 1, 0, 1, 2);
  const VGfloat colour[] = {1, 0, 1, 1};
  vgSetfv(VG_CLEAR_COLOR, 4, colour);
  vgClearImage(child, 0, 1, 1, 1); /* the parent's last pixel too */
  vgDestroyImage(one);
  eglSwapBuffers(display, surface);
  printf("error 0x%x, images %d\n", vgGetError(), packed != VG_INVALID_HANDLE);
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglTerminate(display);
  return 0;
}
