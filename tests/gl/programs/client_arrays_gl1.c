/* Client arrays of the compatibility profile: fixed arrays, glInterleavedArrays, glArrayElement, multi-draws, display
 * lists made from arrays, texture units, client attribute stack, all with a checksum of what was drawn. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

enum { SIDE = 64 };

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glViewport(0, 0, SIDE, SIDE);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);

  static GLdouble vertices[64][3];
  static GLubyte colors[64][3];
  static GLshort normals[64][4];
  static GLint texcoords[64][2];
  static GLfloat fog[64], second[64][3];
  static GLboolean edges[64];
  for (int i = 0; i < 64; i++) {
    vertices[i][0] = (i * 29 % 64) / 32.0 - 1;
    vertices[i][1] = (i * 47 % 64) / 32.0 - 1;
    for (int k = 0; k < 3; k++) {
      colors[i][k] = (GLubyte)(i * (k + 3) * 5);
      normals[i][k] = (GLshort)(i * 100);
      second[i][k] = (float)(i % (k + 2)) / 4;
    }
    texcoords[i][0] = i;
    fog[i] = (float)i / 64;
    edges[i] = (GLboolean)(i & 1);
  }
  glVertexPointer(3, GL_DOUBLE, 0, vertices);
  glColorPointer(3, GL_UNSIGNED_BYTE, 0, colors);
  glNormalPointer(GL_SHORT, sizeof normals[0], normals);
  glEnableClientState(GL_VERTEX_ARRAY);
  glEnableClientState(GL_COLOR_ARRAY);
  glEnableClientState(GL_NORMAL_ARRAY);
  glDrawArrays(GL_TRIANGLES, 6, 9);

  glEdgeFlagPointer(0, edges);
  glEnableClientState(GL_EDGE_FLAG_ARRAY);
  glFogCoordPointer(GL_FLOAT, 0, fog);
  glEnableClientState(GL_FOG_COORD_ARRAY);
  glSecondaryColorPointer(3, GL_FLOAT, 0, second);
  glEnableClientState(GL_SECONDARY_COLOR_ARRAY);
  glClientActiveTexture(GL_TEXTURE2);
  glTexCoordPointer(2, GL_INT, 0, texcoords);
  glEnableClientState(GL_TEXTURE_COORD_ARRAY);
  const GLubyte bytes[] = {40, 44, 41, 50, 58, 51};
  glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_BYTE, bytes);
  glPushClientAttrib(GL_CLIENT_VERTEX_ARRAY_BIT);
  glDisableClientState(GL_COLOR_ARRAY);
  glColor3f(0.2f, 0.9f, 0.3f);
  glDrawArrays(GL_LINE_STRIP, 20, 5);
  glPopClientAttrib();
  glDisableClientState(GL_TEXTURE_COORD_ARRAY);
  glClientActiveTexture(GL_TEXTURE0);

  glBegin(GL_TRIANGLE_STRIP);
  for (int i = 30; i < 36; i++) glArrayElement(i);
  glEnd();

  const GLint first[] = {0, 12, 50};
  const GLsizei count[] = {3, 4, 3};
  glMultiDrawArrays(GL_TRIANGLE_STRIP, first, count, 3);
  const GLushort one[] = {3, 9, 27}, two[] = {63, 60, 55, 54};
  const void* lists[] = {one, two};
  const GLsizei counts[] = {3, 4};
  glMultiDrawElements(GL_TRIANGLE_STRIP, counts, GL_UNSIGNED_SHORT, lists, 2);
  const GLint bases[] = {2, -10};
  glMultiDrawElementsBaseVertex(GL_TRIANGLE_STRIP, counts, GL_UNSIGNED_SHORT, lists, 2, bases);
  glDrawRangeElements(GL_TRIANGLES, 3, 27, 3, GL_UNSIGNED_SHORT, one);

  GLuint list = glGenLists(1);
  glNewList(list, GL_COMPILE);
  glDrawArrays(GL_TRIANGLES, 36, 6);
  glEndList();
  memset(colors, 0, sizeof colors); /* the list keeps what it read */
  glCallList(list);
  GLubyte names[] = {(GLubyte)list, (GLubyte)list};
  glCallLists(2, GL_UNSIGNED_BYTE, names);

  static struct {
    GLfloat s, t;
    GLubyte color[4];
    GLfloat x, y, z;
  } inter[16];
  for (int i = 0; i < 16; i++) {
    inter[i].color[0] = (GLubyte)(i * 16);
    inter[i].color[3] = 255;
    inter[i].x = (float)(i * 5 % 16) / 8 - 1;
    inter[i].y = (float)(i * 11 % 16) / 8 - 1;
  }
  glPushClientAttrib(GL_CLIENT_ALL_ATTRIB_BITS);
  glInterleavedArrays(GL_T2F_C4UB_V3F, 0, inter);
  glDrawArrays(GL_TRIANGLES, 1, 12);
  glPopClientAttrib();

  glEnable(GL_PRIMITIVE_RESTART);
  glPrimitiveRestartIndex(1000);
  const GLuint restart[] = {1, 2, 3, 1000, 7, 8, 9};
  memset(colors, 120, sizeof colors);
  glDrawElements(GL_TRIANGLE_STRIP, 7, GL_UNSIGNED_INT, restart);
  glDisable(GL_PRIMITIVE_RESTART);

  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffer);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof two, two, GL_STATIC_DRAW);
  glDrawElements(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_SHORT, (void*)0);
  glDeleteBuffers(1, &buffer);
  glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, one);

  static unsigned char pixels[SIDE * SIDE * 4];
  glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, checksum %016llx\n", glGetError(), (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglSwapBuffers(display, surface);
  eglTerminate(display);
  return 0;
}
