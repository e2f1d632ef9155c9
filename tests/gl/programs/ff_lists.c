/* Display lists: nested, compiled and executed at once, with materials, matrices, textures and bitmaps in them, called
 * by names relative to a base, made anew under the same name. ff_lists [FRAMES] */
#include <GL/gl.h>
#include "egl_start.h"

enum { SIDE = 80 };

static void tooth(float size) {
  glBegin(GL_TRIANGLE_STRIP);
  glNormal3f(0, 0, 1);
  glVertex3f(0, 0, 0);
  glVertex3f(size, 0, 0);
  glVertex3f(size * 0.8f, size * 0.4f, 0);
  glVertex3f(size * 0.2f, size * 0.9f, 0.1f);
  glEnd();
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 30;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glViewport(0, 0, SIDE, SIDE);
  const GLfloat red[] = {0.8f, 0.1f, 0, 1}, green[] = {0, 0.8f, 0.2f, 1}, light[] = {1, 2, 3, 0};
  glLightfv(GL_LIGHT0, GL_POSITION, light);
  glEnable(GL_LIGHTING);
  glEnable(GL_LIGHT0);
  static unsigned char texels[8 * 8 * 3];
  for (int i = 0; i < 192; i++) texels[i] = (unsigned char)(i * 37);
  GLuint texture;
  glGenTextures(1, &texture);

  GLuint base = glGenLists(8);
  glNewList(base, GL_COMPILE); /* material and geometry */
  glMaterialfv(GL_FRONT_AND_BACK, GL_AMBIENT_AND_DIFFUSE, red);
  tooth(0.5f);
  glEndList();
  glNewList(base + 1, GL_COMPILE); /* calls another, moves the matrix for those after it */
  glCallList(base);
  glRotatef(30, 0, 0, 1);
  glEndList();
  glNewList(base + 2, GL_COMPILE); /* leaves a material behind */
  glMaterialfv(GL_FRONT_AND_BACK, GL_AMBIENT_AND_DIFFUSE, green);
  glEndList();
  glNewList(base + 3, GL_COMPILE); /* a texture image in a list */
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 8, 8, 0, GL_RGB, GL_UNSIGNED_BYTE, texels);
  glEndList();
  memset(texels, 0, sizeof texels);
  glNewList(base + 4, GL_COMPILE); /* never called */
  for (int i = 0; i < 20; i++) tooth(0.1f * (float)i);
  glEndList();
  static const GLubyte glyph[] = {0x18, 0x3c, 0x66, 0xc3, 0xff, 0xc3, 0xc3, 0x00};
  glNewList(base + 5, GL_COMPILE);
  glBitmap(8, 8, 0, 0, 10, 0, glyph);
  glEndList();
  glCallList(base + 3);

  for (int frame = 0; frame < frames; frame++) {
    glClearColor(0, 0, 0.1f * (float)(frame % 4), 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glLoadIdentity();
    glRotatef(4.0f * (float)frame, 0, 0, 1);
    for (int i = 0; i < 5; i++) glCallList(base + 1);
    glPushMatrix();
    glScalef(0.6f, 0.6f, 1);
    glCallList(base + 2);
    tooth(1.2f); /* in the list's color */
    glPopMatrix();
    if (frame % 7 == 0) {
      glNewList(base + 6, GL_COMPILE_AND_EXECUTE); /* the same name again and again */
      glPushMatrix();
      glTranslatef(-0.8f, 0.1f * (float)(frame / 7), 0);
      tooth(0.3f);
      glPopMatrix();
      glEndList();
    } else {
      glCallList(base + 6);
    }
    glDisable(GL_LIGHTING);
    glEnable(GL_TEXTURE_2D);
    glColor3f(1, 1, 1);
    glBegin(GL_QUADS);
    glTexCoord2f(0, 0), glVertex2f(0.2f, -0.9f);
    glTexCoord2f(1, 0), glVertex2f(0.9f, -0.9f);
    glTexCoord2f(1, 1), glVertex2f(0.9f, -0.3f);
    glTexCoord2f(0, 1), glVertex2f(0.2f, -0.3f);
    glEnd();
    glDisable(GL_TEXTURE_2D);
    glColor3f(1, 1, 0);
    glRasterPos2f(0, 0);
    glListBase(base + 5 - 'A');
    glCallLists(3, GL_UNSIGNED_BYTE, "AAA");
    glEnable(GL_LIGHTING);
    eglSwapBuffers(display, surface);
  }
  glDeleteLists(base, 8);
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
