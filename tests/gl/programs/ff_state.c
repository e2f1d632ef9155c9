/* What stacks and old corners of fixed function do: attribute stacks, client arrays and their stack, evaluators, clip
 * planes, stipple, pixel transfer, drawn and copied pixels, logic operations, stencil, accumulation where there is an
 * accumulation buffer. ff_state [FRAMES] */
#include <GL/gl.h>
#include "egl_start.h"

enum { SIDE = 72 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 30;
  EGLDisplay display = start_display();
  EGLConfig config = start_deep_config(display, EGL_OPENGL_BIT, 16, 8);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glViewport(0, 0, SIDE, SIDE);
  static GLubyte stipple[128], pixels[16 * 16 * 4];
  for (int i = 0; i < 128; i++) stipple[i] = (GLubyte)(i % 8 < 4 ? 0xaa : 0x33);
  for (int i = 0; i < 1024; i++) pixels[i] = (GLubyte)(i * 13);
  glPolygonStipple(stipple);
  glLineStipple(2, 0x5f5f);
  static const GLfloat points[4][3] = {{-0.9f, -0.8f, 0}, {-0.3f, 0.9f, 0}, {0.4f, -0.9f, 0}, {0.9f, 0.7f, 0}};
  glMap1f(GL_MAP1_VERTEX_3, 0, 1, 3, 4, &points[0][0]);
  glEnable(GL_MAP1_VERTEX_3);
  const GLdouble plane[] = {0.3, -1, 0, 0.5};
  glClipPlane(GL_CLIP_PLANE1, plane);
  const GLfloat map[] = {0.9f, 0.6f, 0.3f, 0.1f};
  glPixelMapfv(GL_PIXEL_MAP_R_TO_R, 4, map);
  glLogicOp(GL_XOR);
  static GLfloat corners[6][2] = {{-0.7f, -0.7f}, {0.8f, -0.6f}, {0, 0.8f},
                                  {-0.2f, -0.9f}, {0.9f, 0.1f},  {-0.9f, 0.5f}};
  static GLfloat tints[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}};

  for (int frame = 0; frame < frames; frame++) {
    float t = (float)frame / 30;
    glClearColor(0.1f, 0.05f, 0.1f, 1);
    glClearStencil(frame % 3);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    glPushAttrib(GL_ENABLE_BIT | GL_CURRENT_BIT | GL_LINE_BIT | GL_POLYGON_BIT);
    glEnable(GL_POLYGON_STIPPLE);
    glEnable(GL_CLIP_PLANE1);
    glEnable(GL_STENCIL_TEST);
    glStencilFunc(GL_ALWAYS, 5, 0xff);
    glStencilOp(GL_KEEP, GL_KEEP, GL_REPLACE);
    glColor3f(0.8f, t, 0.2f);
    glRectf(-0.8f, -0.8f, 0.8f, 0.8f);
    glPopAttrib();

    glPushClientAttrib(GL_CLIENT_VERTEX_ARRAY_BIT);
    glVertexPointer(2, GL_FLOAT, 0, corners);
    glEnableClientState(GL_VERTEX_ARRAY);
    glColorPointer(3, GL_FLOAT, 0, tints);
    glEnableClientState(GL_COLOR_ARRAY);
    glEnable(GL_STENCIL_TEST);
    glStencilFunc(GL_EQUAL, 5, 0xff);
    glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
    corners[frame % 6][0] += 0.05f; /* memory of the program changes */
    glDrawArrays(GL_TRIANGLES, 0, 6);
    glDisable(GL_STENCIL_TEST);
    glPopClientAttrib();

    glPushAttrib(GL_ALL_ATTRIB_BITS);
    glEnable(GL_LINE_STIPPLE);
    glLineWidth(2);
    glColor3f(1, 1, 1 - t);
    glMapGrid1f(12, 0, 1);
    glEvalMesh1(GL_LINE, 0, 12);
    glBegin(GL_POINTS);
    for (int i = 0; i <= 6; i++) glEvalCoord1f((float)i / 6);
    glEnd();
    glPopAttrib();

    glPixelTransferf(GL_GREEN_SCALE, 0.5f);
    glPixelTransferi(GL_MAP_COLOR, frame % 2);
    glRasterPos2f(-0.9f + t, 0.4f);
    glPixelZoom(1.5f, 1);
    glDrawPixels(16, 16, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    glPixelTransferf(GL_GREEN_SCALE, 1);
    glPixelTransferi(GL_MAP_COLOR, 0);
    glPixelZoom(1, -1);
    glRasterPos2f(0.1f, -0.1f);
    glCopyPixels(4, 4, 24, 20, GL_COLOR);
    glPixelZoom(1, 1);
    glEnable(GL_COLOR_LOGIC_OP);
    glColor3f(1, 1, 1);
    glRectf(-0.1f, -1, 0.1f + t, 0.3f);
    glDisable(GL_COLOR_LOGIC_OP);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
