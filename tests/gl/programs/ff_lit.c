/* Fixed function: lights, materials, texture environment and generation, fog, matrix stacks; each frame is drawn from
 * matrices that were set up once and pushed. Objects that no frame reads are made along the way. ff_lit [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

enum { WIDTH = 96, HEIGHT = 80 };

static GLuint make_texture(int size, int seed, GLenum filter) {
  static unsigned char texels[64 * 64 * 4];
  GLuint texture;
  for (int y = 0; y < size; y++)
    for (int x = 0; x < size; x++) {
      unsigned char* t = texels + (y * size + x) * 4;
      t[0] = (unsigned char)(x * seed);
      t[1] = (unsigned char)(y * (seed + 3));
      t[2] = (unsigned char)((x ^ y) * 8);
      t[3] = 255;
    }
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_GENERATE_MIPMAP, filter == GL_LINEAR_MIPMAP_LINEAR);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, (GLint)filter);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, size, size, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  return texture;
}

static void face(float z) {
  glBegin(GL_QUADS);
  glNormal3f(0, 0, 1);
  glTexCoord2f(0, 0);
  glVertex3f(-1, -1, z);
  glTexCoord2f(2, 0);
  glVertex3f(1, -1, z);
  glTexCoord2f(2, 2);
  glVertex3f(1, 1, z);
  glTexCoord2f(0, 2);
  glVertex3f(-1, 1, z);
  glEnd();
}

static void cube(void) {
  for (int i = 0; i < 4; i++) {
    glPushMatrix();
    glRotatef(90.0f * (float)i, 0, 1, 0);
    face(1);
    glPopMatrix();
  }
  glRotatef(90, 1, 0, 0);
  face(1);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 30;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glViewport(0, 0, WIDTH, HEIGHT);
  GLuint unused = make_texture(64, 9, GL_LINEAR), wall = make_texture(32, 7, GL_LINEAR_MIPMAP_LINEAR),
         gone = make_texture(16, 5, GL_NEAREST);
  glDeleteTextures(1, &gone);
  GLuint tile = make_texture(16, 11, GL_NEAREST); /* most likely under the name of the one that is gone */

  const GLfloat position[] = {2, 3, 4, 1}, spot[] = {0, 0, 3, 1}, direction[] = {0.1f, 0, -1},
                dim[] = {0.3f, 0.2f, 0.1f, 1};
  const GLfloat white[] = {1, 1, 0.9f, 1}, shiny[] = {0.7f, 0.7f, 0.7f, 1}, fog[] = {0.1f, 0.1f, 0.3f, 1};
  glMatrixMode(GL_MODELVIEW);
  glLoadIdentity();
  glTranslatef(0, 0.1f, 0); /* lights are placed by the matrix of this moment */
  glLightfv(GL_LIGHT0, GL_POSITION, position);
  glLightfv(GL_LIGHT0, GL_DIFFUSE, white);
  glLightfv(GL_LIGHT0, GL_SPECULAR, shiny);
  glLightfv(GL_LIGHT3, GL_POSITION, spot);
  glLightfv(GL_LIGHT3, GL_SPOT_DIRECTION, direction);
  glLightf(GL_LIGHT3, GL_SPOT_CUTOFF, 40);
  glLightf(GL_LIGHT3, GL_LINEAR_ATTENUATION, 0.05f);
  glLightfv(GL_LIGHT5, GL_DIFFUSE, dim); /* never enabled */
  glLightModelfv(GL_LIGHT_MODEL_AMBIENT, dim);
  glEnable(GL_LIGHTING);
  glEnable(GL_LIGHT0);
  glEnable(GL_LIGHT3);
  glMaterialfv(GL_FRONT_AND_BACK, GL_SPECULAR, shiny);
  glMaterialf(GL_FRONT, GL_SHININESS, 20);
  glColorMaterial(GL_FRONT, GL_AMBIENT_AND_DIFFUSE);
  glEnable(GL_COLOR_MATERIAL);
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_NORMALIZE);
  glEnable(GL_FOG);
  glFogi(GL_FOG_MODE, GL_LINEAR);
  glFogf(GL_FOG_START, 2);
  glFogf(GL_FOG_END, 9);
  glFogfv(GL_FOG_COLOR, fog);
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  glFrustum(-1, 1, -0.8, 0.8, 1.5, 20);
  glMatrixMode(GL_TEXTURE);
  glLoadIdentity();
  glScalef(0.5f, 1.5f, 1);
  glMatrixMode(GL_MODELVIEW);
  glLoadIdentity();
  glTranslatef(0, 0, -5);

  for (int frame = 0; frame < frames; frame++) {
    glClearColor(0.1f, 0.1f, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glPushMatrix();
    glRotatef(7.0f * (float)frame, 0.3f, 1, 0);
    glBindTexture(GL_TEXTURE_2D, wall);
    glEnable(GL_TEXTURE_2D);
    glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_MODULATE);
    glColor3f(0.9f, 0.5f + 0.01f * (float)frame, 0.4f);
    cube();
    glPopMatrix();
    glPushMatrix();
    glTranslatef(1.2f, 0.6f, 1);
    glScalef(0.4f, 0.4f, 0.4f);
    glRotatef(-11.0f * (float)frame, 1, 0.2f, 0);
    glBindTexture(GL_TEXTURE_2D, tile);
    glTexGeni(GL_S, GL_TEXTURE_GEN_MODE, GL_OBJECT_LINEAR);
    glEnable(GL_TEXTURE_GEN_S);
    glColor4f(0.2f, 0.8f, 0.9f, 1);
    cube();
    glDisable(GL_TEXTURE_GEN_S);
    glDisable(GL_TEXTURE_2D);
    glPopMatrix();
    if (frame % 5 == 4) glRotatef(3, 0, 0, 1); /* what frames leave to those after them */
    if (frame % 50 == 49) {
      /* Ten thousands of rotations would leave a matrix that a driver knows as a rotation, and that is none by now. */
      glLoadIdentity();
      glTranslatef(0, 0, -5);
    }
    eglSwapBuffers(display, surface);
  }
  glDeleteTextures(1, &unused);
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
