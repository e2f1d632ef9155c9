/* Immediate mode: what a vertex is made of changes between glBegin and glEnd, for each quad of a row. Each row changes
 * something else: material, material by colour, colour and normal, texture coordinates, edge flags, a generic
 * attribute, an array element's colour, evaluated colours, material in a display list. Every frame repeats its calls.
 * between [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 128, HEIGHT = 96, QUADS = 6, ROWS = 9 };

static float shade(int frame, int quad, int step) { return (float)((quad * step + frame * 3) % 11) / 11.0f; }

static void corners(int row, int quad) {
  float x = -1 + 2.0f * (float)quad / QUADS, y = -1 + 2.0f * (float)row / ROWS, w = 1.6f / QUADS, h = 1.6f / ROWS;
  glVertex2f(x, y);
  glVertex2f(x + w, y);
  glVertex2f(x + w, y + h);
  glVertex2f(x, y + h);
}

static void material(int frame, int quad) {
  GLfloat color[] = {shade(frame, quad, 1), shade(frame, quad, 3), shade(frame, quad, 5), 1};
  glMaterialfv(GL_FRONT_AND_BACK, GL_AMBIENT_AND_DIFFUSE, color);
}

static void lit_rows(int frame, GLuint list) {
  glEnable(GL_LIGHTING);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    material(frame, i);
    corners(0, i);
  }
  glEnd();
  glEnable(GL_COLOR_MATERIAL);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    glColor3f(shade(frame, i, 2), shade(frame, i, 4), 0.7f);
    corners(1, i);
  }
  glEnd();
  glDisable(GL_COLOR_MATERIAL);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    material(frame, i);
    glCallList(list); /* another emission, over which the next quad's material does not reach */
    corners(2, i);
    if (i % 2) glMaterialf(GL_FRONT, GL_SHININESS, (float)(i * 9));
  }
  glEnd();
  glDisable(GL_LIGHTING);
}

static void coloured_rows(int frame, GLuint texture, GLuint program, const GLubyte* colors) {
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    glColor3f(shade(frame, i, 3), shade(frame, i, 7), 0.2f);
    glNormal3f(0, 0, 1);
    corners(3, i);
  }
  glEnd();
  glColor3f(1, 1, 1);
  glBindTexture(GL_TEXTURE_2D, texture);
  glEnable(GL_TEXTURE_2D);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    glTexCoord2f(shade(frame, i, 1), shade(frame, i, 2));
    corners(4, i);
  }
  glEnd();
  glDisable(GL_TEXTURE_2D);
  glPolygonMode(GL_FRONT_AND_BACK, GL_LINE);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    glEdgeFlag(i % 2 == frame % 2);
    corners(5, i);
  }
  glEnd();
  glEdgeFlag(GL_TRUE);
  glPolygonMode(GL_FRONT_AND_BACK, GL_FILL);
  glUseProgram(program);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    glVertexAttrib3f(3, shade(frame, i, 5), 0.3f, shade(frame, i, 2));
    corners(6, i);
  }
  glEnd();
  glUseProgram(0);
  glColorPointer(3, GL_UNSIGNED_BYTE, 0, colors);
  glEnableClientState(GL_COLOR_ARRAY);
  glBegin(GL_QUADS);
  for (int i = 0; i < QUADS; i++) {
    glArrayElement((i + frame) % QUADS);
    corners(7, i);
  }
  glEnd();
  glDisableClientState(GL_COLOR_ARRAY);
  glColor3f(1, 1, 1);
}

static void evaluated_row(int frame) {
  static const GLfloat points[] = {-1, 0.8f, 0, 1, 0.9f, 0};
  GLfloat colors[] = {1, 0, 0, 1, 0, shade(frame, 1, 1), 1, 1};
  glMap1f(GL_MAP1_VERTEX_3, 0, 1, 3, 2, points);
  glMap1f(GL_MAP1_COLOR_4, 0, 1, 4, 2, colors);
  glEnable(GL_MAP1_VERTEX_3);
  glEnable(GL_MAP1_COLOR_4);
  glBegin(GL_LINE_STRIP);
  for (int i = 0; i <= QUADS; i++) glEvalCoord1f((float)i / QUADS);
  glEnd();
  glDisable(GL_MAP1_VERTEX_3);
  glDisable(GL_MAP1_COLOR_4);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 6;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glViewport(0, 0, WIDTH, HEIGHT);
  static const GLubyte texels[] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 0, 255};
  GLubyte colors[QUADS * 3];
  for (int i = 0; i < QUADS * 3; i++) colors[i] = (GLubyte)(i * 37 + 60);
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  GLuint program = glCreateProgram();
  glAttachShader(
      program,
      compile_stage(
          GL_VERTEX_SHADER,
          "attribute vec3 tint; varying vec3 color;\nvoid main() { gl_Position = gl_Vertex; color = tint; }\n"));
  glAttachShader(program, compile_stage(GL_FRAGMENT_SHADER,
                                        "varying vec3 color;\nvoid main() { gl_FragColor = vec4(color, 1.0); }\n"));
  glBindAttribLocation(program, 3, "tint");
  glLinkProgram(program);
  GLuint list = glGenLists(1);
  static const GLfloat glow[] = {0.2f, 0, 0.1f, 1};
  glNewList(list, GL_COMPILE);
  glMaterialfv(GL_FRONT, GL_EMISSION, glow);
  glEndList();
  glEnable(GL_LIGHT0);
  for (int frame = 0; frame < frames; frame++) {
    glClear(GL_COLOR_BUFFER_BIT);
    glLoadIdentity();
    glRotatef(30, 0, 0, 1);
    glRotatef(-360, 0, 0, 1); /* leaves what was there, but not to the bit in every driver */
    lit_rows(frame, list);
    coloured_rows(frame, texture, program, colors);
    evaluated_row(frame);
    /* Where a vertex would be: asked for in every frame, with a buffer that is named in every frame. */
    GLfloat place[8];
    glFeedbackBuffer(8, GL_2D, place);
    glRenderMode(GL_FEEDBACK);
    glBegin(GL_POINTS);
    glVertex2f(0.1f * (float)frame, 0);
    glEnd();
    glRenderMode(GL_RENDER);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
