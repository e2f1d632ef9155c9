/* Draws of which it is known what becomes of every primitive.
 * geometry es1|es2|es3|compat|core [FRAMES]
 * geometry random TRIANGLES: as many by chance, whose corners are printed as the bits of 12 floats a line.
 * geometry slivers: triangles thinner than what drivers round corners to, but every fourth. Prints which way each faces
 * (1, -1, 0), how many show a pixel, and how many of these face the other way for the driver; draws all, all with back
 * faces culled, and those. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64 };
static int g_frames = 3;

/* In front; turned away; two equal corners; on one line; left of the volume; over the right edge; beyond a corner of
 * the volume though beyond none of its planes; reaching behind the eye. */
static const GLfloat SOUP[] = {
    -0.5f,  -0.5f,  0, 1, 0.5f,  -0.5f, 0, 1, 0,    0.5f,  0, 1, -0.5f, -0.5f,  0, 1,      0,      0.5f,  0, 1,
    0.5f,   -0.5f,  0, 1, 0,     0,     0, 1, 0,    0,     0, 1, 0.5f,  0.5f,   0, 1,      -0.5f,  -0.5f, 0, 1,
    0,      0,      0, 1, 0.5f,  0.5f,  0, 1, -3,   -0.5f, 0, 1, -2,    -0.5f,  0, 1,      -2.5f,  0.5f,  0, 1,
    0.5f,   -0.5f,  0, 1, 1.5f,  -0.5f, 0, 1, 1,    0.5f,  0, 1, 0,     2.625f, 0, 1,      2.625f, 0,     0, 1,
    2.625f, 2.625f, 0, 1, -0.5f, 0,     0, 1, 0.5f, 0,     0, 1, 0,     0.5f,   0, -0.25f,
};
enum { SOUP_VERTICES = 24 };

/* Corners of a row of quads, all inside, as a triangle strip: pairs from left to right. */
static GLfloat g_row[18 * 4];
static void make_row(void) {
  for (int i = 0; i < 18; i++) {
    GLfloat* v = g_row + i * 4;
    v[0] = -0.75f + 0.125f * (float)(i / 2), v[1] = i % 2 ? 0.25f : -0.25f, v[2] = 0, v[3] = 1;
  }
}

static GLuint buffer_of(GLenum target, const void* data, size_t bytes) {
  GLuint name;
  glGenBuffers(1, &name);
  glBindBuffer(target, name);
  glBufferData(target, (GLsizeiptr)bytes, data, GL_STATIC_DRAW);
  return name;
}

static void start_frame(void) {
  glClearColor(0, 0, 0.25f, 1);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
}

/* Draws that every API with shaders has: 13 of them. */
static void common_draws(void) {
  glDisable(GL_CULL_FACE);
  glDrawArrays(GL_TRIANGLES, 0, SOUP_VERTICES);
  glEnable(GL_CULL_FACE);
  glDrawArrays(GL_TRIANGLES, 0, SOUP_VERTICES);
  glFrontFace(GL_CW);
  glDrawArrays(GL_TRIANGLES, 0, SOUP_VERTICES);
  glFrontFace(GL_CCW);
  glCullFace(GL_FRONT_AND_BACK);
  glDrawArrays(GL_TRIANGLES, 0, SOUP_VERTICES);
  glCullFace(GL_BACK);
  glDrawArrays(GL_TRIANGLE_STRIP, SOUP_VERTICES, 10); /* clockwise at first */
  glFrontFace(GL_CW);
  glDrawArrays(GL_TRIANGLE_STRIP, SOUP_VERTICES, 10);
  glFrontFace(GL_CCW);
  glDrawArrays(GL_TRIANGLE_FAN, 0, 4);
  glLineWidth(3);
  glDrawArrays(GL_LINES, 12, 6); /* outside; over the left edge; outside, with one end on the edge */
  glDrawArrays(GL_LINE_STRIP, 0, 8);
  glDrawArrays(GL_LINE_LOOP, SOUP_VERTICES, 5);
  glDrawArrays(GL_POINTS, 0, SOUP_VERTICES);
  glViewport(0, 0, 0, SIDE);
  glDisable(GL_CULL_FACE);
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glViewport(0, 0, SIDE, SIDE);
  glColorMask(0, 0, 0, 0);
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glColorMask(1, 1, 1, 1);
}

static const char VERTEX_100[] =
    "attribute vec4 position;\nuniform vec4 scale;\nuniform vec2 shift[2];\nuniform int axis;\n"
    "void main() { gl_Position = position * scale + vec4(shift[1].x, shift[0].y, 0.0, 0.0) * float(axis); gl_PointSize = 5.0; }\n";
static const char FRAGMENT_100[] =
    "precision mediump float;\nuniform vec4 colour;\nvoid main() { gl_FragColor = colour; }\n";
static const char VERTEX_300[] =
    "in vec4 position;\nuniform mat4 turn;\nlayout(std140) uniform Shift { vec4 shift; };\nout vec4 half_way;\n"
    "void main() { half_way = position * 0.5; gl_Position = turn * position + shift * float(gl_InstanceID); gl_PointSize = 3.0; }\n";
static const char FRAGMENT_300[] =
    "precision mediump float;\nin vec4 half_way;\nout vec4 o;\nvoid main() { o = vec4(1.0, 0.5, half_way.x, 1.0); }\n";

static GLuint g_program;

static void start_shaders(const char* vertex, const char* fragment) {
  static const char* const names[] = {"position"};
  g_program = link_program(vertex, fragment, names, 1);
  glUseProgram(g_program);
  GLfloat* all = malloc(sizeof SOUP + sizeof g_row);
  memcpy(all, SOUP, sizeof SOUP);
  memcpy((char*)all + sizeof SOUP, g_row, sizeof g_row);
  buffer_of(GL_ARRAY_BUFFER, all, sizeof SOUP + sizeof g_row);
  free(all);
  glEnableVertexAttribArray(0);
  glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, NULL);
}

static void es2(EGLDisplay display, EGLSurface surface) {
  start_shaders(VERTEX_100, FRAGMENT_100);
  const GLubyte list[] = {0, 1, 2, 2, 1, 3, 2, 3, 4, 4, 3, 5, 0, 1, 2}; /* four triangles, the first one again */
  GLint scale = glGetUniformLocation(g_program, "scale"), shift = glGetUniformLocation(g_program, "shift"),
        axis = glGetUniformLocation(g_program, "axis");
  const GLfloat shifts[] = {9, 0, 0, 9};
  glUniform4f(glGetUniformLocation(g_program, "colour"), 0, 1, 0, 1);
  for (int frame = 0; frame < g_frames; frame++) {
    start_frame();
    glUniform4f(scale, 1, 1, 1, 1);
    glUniform2fv(shift, 2, shifts);
    glUniform1i(axis, 0);
    common_draws();
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, (void*)sizeof SOUP);
    glDrawElements(GL_TRIANGLES, 15, GL_UNSIGNED_BYTE, list); /* indices in the program's memory */
    const GLfloat away[] = {0, 0, 4, 0};
    glUniform2fv(shift, 2, away);
    glUniform1i(axis, 1); /* everything goes to the right, out of sight */
    glDrawElements(GL_TRIANGLES, 15, GL_UNSIGNED_BYTE, list);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, NULL);
    eglSwapBuffers(display, surface);
  }
}

/* Restart, instances, a base vertex, discard, a captured program, a query of the program's own, several samples. */
static void modern(EGLDisplay display, EGLSurface surface, const char* version, int core) {
  char vertex[2000], fragment[2000];
  snprintf(vertex, sizeof vertex, "#version %s\n%s", version, VERTEX_300);
  snprintf(fragment, sizeof fragment, "#version %s\n%s", version, FRAGMENT_300);
  GLuint array;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  start_shaders(vertex, fragment);
  const GLfloat turn[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, shift[] = {0.75f, 0, 0, 0};
  const GLushort strips[] = {0, 1, 2, 3, 0xFFFF, 4, 5, 6, 7, 6, 0xFFFF, 0, 1};
  glUniformMatrix4fv(glGetUniformLocation(g_program, "turn"), 1, GL_FALSE, turn);
  glUniformBlockBinding(g_program, glGetUniformBlockIndex(g_program, "Shift"), 3);
  glBindBufferBase(GL_UNIFORM_BUFFER, 3, buffer_of(GL_UNIFORM_BUFFER, shift, sizeof shift));
  buffer_of(GL_ELEMENT_ARRAY_BUFFER, strips, sizeof strips);

  /* A program that captures something itself. */
  const char* const captured = "half_way";
  GLuint own = glCreateProgram(), target, query, many, frames[2];
  glAttachShader(own, compile_stage(GL_VERTEX_SHADER, vertex));
  glAttachShader(own, compile_stage(GL_FRAGMENT_SHADER, fragment));
  glBindAttribLocation(own, 0, "position");
  glTransformFeedbackVaryings(own, 1, &captured, GL_INTERLEAVED_ATTRIBS);
  glLinkProgram(own);
  glUseProgram(own);
  glUniformMatrix4fv(glGetUniformLocation(own, "turn"), 1, GL_FALSE, turn);
  glUniformBlockBinding(own, glGetUniformBlockIndex(own, "Shift"), 3);
  glUseProgram(g_program);
  target = buffer_of(GL_TRANSFORM_FEEDBACK_BUFFER, NULL, 6 * 16);
  glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, target);
  glGenQueries(1, &query);
  glGenRenderbuffers(1, &many);
  glBindRenderbuffer(GL_RENDERBUFFER, many);
  glRenderbufferStorageMultisample(GL_RENDERBUFFER, 4, GL_RGBA8, SIDE, SIDE);
  glGenFramebuffers(2, frames);
  glBindFramebuffer(GL_FRAMEBUFFER, frames[0]);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, many);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);

  for (int frame = 0; frame < g_frames; frame++) {
    start_frame();
    common_draws();
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, (void*)sizeof SOUP);
    glEnable(GL_PRIMITIVE_RESTART_FIXED_INDEX);
    glDrawElements(GL_TRIANGLE_STRIP, 13, GL_UNSIGNED_SHORT, NULL); /* 2 + 3 triangles, one of them without area */
    glDisable(GL_PRIMITIVE_RESTART_FIXED_INDEX);
    glDrawElementsBaseVertex(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, NULL, 2);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, NULL);
    glDrawArraysInstanced(GL_TRIANGLES, 0, 3, 4); /* inside, over the edge, and two outside */
    glEnable(GL_RASTERIZER_DISCARD);
    glDrawArrays(GL_TRIANGLES, 0, SOUP_VERTICES);
    glDisable(GL_RASTERIZER_DISCARD);

    glUseProgram(own);
    glBeginTransformFeedback(GL_TRIANGLES);
    glDrawArrays(GL_TRIANGLES, 0, 6);
    glEndTransformFeedback();
    glUseProgram(g_program);
    if (core) {
      GLfloat half[24] = {0};
      glGetBufferSubData(GL_TRANSFORM_FEEDBACK_BUFFER, 0, sizeof half, half);
      if (half[0] != -0.25f || half[4] != 0.25f) exit(9);
    }
    GLuint count = 0;
    glBeginQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, query);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glEndQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &count);
    glBindFramebuffer(GL_FRAMEBUFFER, frames[0]);
    glClear(GL_COLOR_BUFFER_BIT);
    glDrawArrays(GL_TRIANGLES, 0, SOUP_VERTICES);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    eglSwapBuffers(display, surface);
  }
}

/* A geometry shader that makes two triangles of every point, one of them out of sight. */
static void geometry_shader(EGLDisplay display, EGLSurface surface) {
  static const char vertex[] = "#version 330\nin vec4 position;\nvoid main() { gl_Position = position; }\n";
  static const char stage[] =
      "#version 330\nlayout(points) in;\nlayout(triangle_strip, max_vertices = 6) out;\n"
      "void one(float x) { for (int i = 0; i < 3; i++) { gl_Position = vec4(x + (i == 1 ? 0.25 : 0.0), i == 2 ? 0.25 : 0.0, 0.0, 1.0); EmitVertex(); } EndPrimitive(); }\n"
      "void main() { one(0.0); one(5.0); }\n";
  static const char fragment[] = "#version 330\nout vec4 o;\nvoid main() { o = vec4(1.0); }\n";
  GLuint program = glCreateProgram(), v = compile_stage(GL_VERTEX_SHADER, vertex),
         g = compile_stage(GL_GEOMETRY_SHADER, stage), f = compile_stage(GL_FRAGMENT_SHADER, fragment);
  glAttachShader(program, v), glAttachShader(program, g), glAttachShader(program, f);
  glBindAttribLocation(program, 0, "position");
  glLinkProgram(program);
  /* Gone as soon as they are linked, as many programs do. */
  glDetachShader(program, v), glDetachShader(program, g), glDetachShader(program, f);
  glDeleteShader(v), glDeleteShader(g), glDeleteShader(f);
  glUseProgram(program);
  for (int frame = 0; frame < g_frames; frame++) {
    start_frame();
    glDrawArrays(GL_POINTS, 0, 5);
    eglSwapBuffers(display, surface);
  }
}

/* A patch that tessellation makes six triangles of. */
static void tessellation(EGLDisplay display, EGLSurface surface) {
  static const char vertex[] = "#version 400\nin vec4 position;\nvoid main() { gl_Position = position; }\n";
  static const char evaluation[] =
      "#version 400\nlayout(triangles, equal_spacing, ccw) in;\n"
      "void main() { gl_Position = gl_TessCoord.x * gl_in[0].gl_Position + gl_TessCoord.y * gl_in[1].gl_Position + gl_TessCoord.z * gl_in[2].gl_Position; }\n";
  static const char fragment[] = "#version 400\nout vec4 o;\nvoid main() { o = vec4(1.0); }\n";
  const GLfloat levels[] = {2, 2, 2, 2};
  GLuint program = glCreateProgram();
  glAttachShader(program, compile_stage(GL_VERTEX_SHADER, vertex));
  glAttachShader(program, compile_stage(GL_TESS_EVALUATION_SHADER, evaluation));
  glAttachShader(program, compile_stage(GL_FRAGMENT_SHADER, fragment));
  glBindAttribLocation(program, 0, "position");
  glLinkProgram(program);
  glUseProgram(program);
  glPatchParameteri(GL_PATCH_VERTICES, 3);
  glPatchParameterfv(GL_PATCH_DEFAULT_OUTER_LEVEL, levels);
  glPatchParameterfv(GL_PATCH_DEFAULT_INNER_LEVEL, levels);
  glEnable(GL_CULL_FACE);
  start_frame();
  glDrawArrays(GL_PATCHES, 0, 6); /* in front, and turned away */
  glDisable(GL_CULL_FACE);
  eglSwapBuffers(display, surface);
}

static void random_triangles(EGLDisplay display, EGLSurface surface, int count) {
  static const char vertex[] = "#version 330\nin vec4 position;\nvoid main() { gl_Position = position; }\n";
  static const char fragment[] = "#version 330\nout vec4 o;\nvoid main() { o = vec4(1.0); }\n";
  static const char* const names[] = {"position"};
  uint32_t seed = 5;
  GLfloat* all = malloc((size_t)count * 12 * sizeof *all);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 12; k++) {
      uint32_t r = next_random(&seed) % 4001;
      GLfloat v = ((float)r - 2000.0f) / 700.0f;
      all[i * 12 + k] = k % 4 == 3 ? v + 2.0f : v;
    }
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < 12; k++) {
      uint32_t bits;
      memcpy(&bits, &all[i * 12 + k], 4);
      printf("%08x%c", bits, k == 11 ? '\n' : ' ');
    }
  }
  fflush(stdout);
  GLuint array;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glUseProgram(link_program(vertex, fragment, names, 1));
  buffer_of(GL_ARRAY_BUFFER, all, (size_t)count * 48);
  glEnableVertexAttribArray(0);
  glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnable(GL_CULL_FACE);
  for (int frame = 0; frame < g_frames; frame++) {
    start_frame();
    glDrawArrays(GL_TRIANGLES, 0, count * 3);
    eglSwapBuffers(display, surface);
  }
}

/* Slivers that lie in rows; corners are numbers of 2048ths of a pixel, so that all arithmetic here is exact. */
enum { ROWS = SIDE / 4, SLIVERS = ROWS * 90, FINE = 2048 };
static void slivers(EGLDisplay display, EGLSurface surface) {
  static const char vertex[] = "#version 330\nin vec4 position;\nvoid main() { gl_Position = position; }\n";
  static const char fragment[] =
      "#version 330\nout vec4 o;\nvoid main() { o = gl_FrontFacing ? vec4(1.0, 0.0, 0.0, 1.0) : vec4(0.0, 1.0, 0.0, 1.0); }\n";
  static const char* const names[] = {"position"};
  static GLfloat all[SLIVERS * 6], other[SLIVERS * 6];
  static int facing[SLIVERS];
  static GLubyte pixels[SIDE * SIDE * 4];
  uint32_t seed = 7;
  for (int i = 0; i < SLIVERS; i++) {
    long x[3], y[3], row = (i % ROWS * 4 + 2) * FINE;
    x[0] = FINE + next_random(&seed) % FINE, x[1] = (SIDE - 2) * FINE + next_random(&seed) % FINE;
    y[0] = row + next_random(&seed) % FINE, y[1] = row + next_random(&seed) % FINE;
    x[2] = x[0] + (long)(next_random(&seed) % (uint32_t)(x[1] - x[0]));
    /* every fourth is thicker */
    y[2] =
        y[0] + (y[1] - y[0]) * (x[2] - x[0]) / (x[1] - x[0]) + (i % 4 ? 1 : 16) * ((long)(next_random(&seed) % 9) - 4);
    long area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    facing[i] = (area > 0) - (area < 0);
    printf("%d\n", facing[i]);
    for (int k = 0; k < 3; k++) {
      all[i * 6 + 2 * k] = (GLfloat)(x[k] - SIDE / 2 * FINE) / (SIDE / 2 * FINE);
      all[i * 6 + 2 * k + 1] = (GLfloat)(y[k] - SIDE / 2 * FINE) / (SIDE / 2 * FINE);
    }
  }
  GLuint array;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glUseProgram(link_program(vertex, fragment, names, 1));
  buffer_of(GL_ARRAY_BUFFER, all, sizeof all);
  glEnableVertexAttribArray(0);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  int shown = 0, turned = 0;
  for (int i = 0; i < SLIVERS; i += ROWS) {
    start_frame();
    glDrawArrays(GL_TRIANGLES, 3 * i, 3 * ROWS);
    glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    for (int k = 0; k < ROWS; k++) {
      int front = 0, back = 0;
      for (int p = k * 4 * SIDE; p < (k + 1) * 4 * SIDE; p++) front |= pixels[p * 4], back |= pixels[p * 4 + 1];
      int seen = front ? 1 : back ? -1 : 0;
      shown += seen != 0;
      if (seen && seen != facing[i + k]) memcpy(other + 6 * turned++, all + 6 * (i + k), 6 * sizeof *all);
    }
  }
  printf("shown %d\nturned %d\n", shown, turned);
  glEnable(GL_CULL_FACE);
  glDrawArrays(GL_TRIANGLES, 0, 3 * SLIVERS);
  buffer_of(GL_ARRAY_BUFFER, other, sizeof other);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glDrawArrays(GL_TRIANGLES, 0, 3 * turned);
  eglSwapBuffers(display, surface);
}

/* Fixed function: the row of quads two units away from an eye that sees 90 degrees, so that half of it is in sight. */
static void fixed(EGLDisplay display, EGLSurface surface, int es) {
  const GLfloat perspective[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1.5f, -1, 0, 0, -2.5f, 0}; /* from 1 to 5 */
  GLushort grid[6 * 8];
  for (int i = 0; i < 8; i++) {
    const GLushort quad[] = {(GLushort)(2 * i),     (GLushort)(2 * i + 2), (GLushort)(2 * i + 1),
                             (GLushort)(2 * i + 1), (GLushort)(2 * i + 2), (GLushort)(2 * i + 3)};
    memcpy(grid + 6 * i, quad, sizeof quad);
  }
  GLuint row = buffer_of(GL_ARRAY_BUFFER, g_row, sizeof g_row);
  glBindBuffer(GL_ARRAY_BUFFER, 0);
  glEnableClientState(GL_VERTEX_ARRAY);
  glMatrixMode(GL_PROJECTION);
  glLoadMatrixf(perspective);
  glMatrixMode(GL_MODELVIEW);
  glColor4f(1, 1, 0, 1);
  GLuint list = 0;
  if (!es) {
    list = glGenLists(1);
    glNewList(list, GL_COMPILE);
    glColor4f(0, 1, 1, 1);
    glBegin(GL_TRIANGLE_STRIP);
    for (int i = 0; i < 10; i++) glVertex3fv(g_row + 4 * i);
    glEnd();
    glColor4f(1, 0, 1, 1);
    glEndList();
  }
  const GLubyte texels[8 * 4 * 4] = {0};
  for (int frame = 0; frame < g_frames; frame++) {
    start_frame();
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 8, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 2, 3, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glEnable(GL_CULL_FACE);
    glDisable(GL_LIGHTING);
    glLoadIdentity();
    glTranslatef(0, 0, -2);
    glVertexPointer(3, GL_FLOAT, 16, g_row);
    glDrawElements(GL_TRIANGLES, 48, GL_UNSIGNED_SHORT, grid); /* 16 in sight */
    glPushMatrix();
    glTranslatef(2.125f, 0, 0);
    glDrawElements(GL_TRIANGLES, 48, GL_UNSIGNED_SHORT, grid);
    glPopMatrix();
    glEnable(GL_LIGHTING);
    glBindBuffer(GL_ARRAY_BUFFER, row);
    glVertexPointer(3, GL_FLOAT, 16, NULL);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 18);
    glDisable(GL_LIGHTING);
    glTranslatef(0, 0, 10); /* behind the eye */
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 18);
    glTranslatef(0, 0, -10);
    glBindBuffer(GL_ARRAY_BUFFER, 0);
    if (!es) {
      const GLfloat square[] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
      glVertexPointer(3, GL_FLOAT, 0, square);
      glDrawArrays(GL_QUADS, 0, 4);
      glDrawArrays(GL_POLYGON, 0, 4);
      glRectf(-0.5f, -0.5f, 0.5f, 0.5f);
      glBegin(GL_TRIANGLES);
      for (int i = 0; i < 3; i++) glVertex3fv(square + 3 * i);
      glVertex3f(0, 0, 5), glVertex3f(1, 0, 5), glVertex3f(0, 1, 5);
      glEnd();
      glCallList(list);
    }
    eglSwapBuffers(display, surface);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "core";
  if (argc > 2 && strcmp(what, "random")) g_frames = atoi(argv[2]);
  make_row();
  EGLDisplay display = start_display();
  int es = !strncmp(what, "es", 2), major = es ? what[2] - '0' : 4;
  EGLConfig config = start_config(display, !es          ? EGL_OPENGL_BIT
                                           : major == 1 ? EGL_OPENGL_ES_BIT
                                           : major == 2 ? EGL_OPENGL_ES2_BIT
                                                        : EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  int compat = !strcmp(what, "compat");
  EGLContext context = es ? start_es(display, config, major, 0, EGL_NO_CONTEXT)
                          : start_gl(display, config, 4, compat ? 0 : 5, !compat, EGL_NO_CONTEXT);
  start_current(display, surface, context);
  glViewport(0, 0, SIDE, SIDE);
  if (!strcmp(what, "es2"))
    es2(display, surface);
  else if (!strcmp(what, "es3"))
    modern(display, surface, "300 es", 0);
  else if (!strcmp(what, "core"))
    modern(display, surface, "330", 1), geometry_shader(display, surface), tessellation(display, surface);
  else if (!strcmp(what, "slivers"))
    slivers(display, surface);
  else if (!strcmp(what, "random"))
    g_frames = 1, random_triangles(display, surface, argc > 2 ? atoi(argv[2]) : 100);
  else
    fixed(display, surface, es);
  GLenum error = glGetError();
  if (error) fprintf(stderr, "error 0x%x\n", error);
  return error ? 1 : 0;
}
