/* Draws whose fragments are known, in OpenGL, for what is hard to count: draws under a condition,
 * display lists of all kinds, several samples a pixel. "samples" prints what shaders and queries of its own count in
 * its first frame: fragments and samples that are generated, and that pass, of each draw. fragments_more
 * conditional|lists|origin|across|queries|samples1|samples2|samples4|samples8 [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48 };

static void box(float left, float bottom, float right, float top, float depth) {
  const GLfloat places[] = {left, bottom, depth, right, bottom, depth, left, top, depth, right, top, depth};
  glVertexPointer(3, GL_FLOAT, 0, places);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static GLuint query;

/* What is hidden behind the first draw leaves out what depends on it; so does, inverted, what is seen. */
static void conditional(GLuint hidden, GLuint seen) {
  glEnable(GL_DEPTH_TEST);
  box(-1, -1, 1, 1, 0); /* 0 all */
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
  glBeginQuery(GL_SAMPLES_PASSED, hidden);
  box(-1, -1, 0, 0, 0.5f); /* 1 in the program's own query */
  glEndQuery(GL_SAMPLES_PASSED);
  glBeginQuery(GL_SAMPLES_PASSED, seen);
  box(-1, -1, 0, 0, -0.5f); /* 2 too */
  glEndQuery(GL_SAMPLES_PASSED);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glDisable(GL_DEPTH_TEST);
  for (int i = 0; i < 8; i++) box(-1, -1, 1, 0, 0); /* 3 to 10 half */
  glBeginConditionalRender(hidden, GL_QUERY_WAIT);
  box(-1, -1, 1, 1, 0); /* 11 nothing */
  glClearColor(0, 1, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT); /* nothing */
  glBegin(GL_QUADS);
  glVertex2f(-1, -1), glVertex2f(1, -1), glVertex2f(1, 1), glVertex2f(-1, 1);
  glEnd(); /* 12 nothing */
  glEndConditionalRender();
  glEnable(GL_DEPTH_TEST);
  glBeginConditionalRender(seen, GL_QUERY_NO_WAIT);
  box(-1, -1, 1, 1, -0.25f); /* 13 all, behind a quarter */
  glEndConditionalRender();
  glDisable(GL_DEPTH_TEST);
  glBeginConditionalRender(seen, GL_QUERY_BY_REGION_WAIT_INVERTED);
  box(-1, -1, 1, 1, 0); /* 14 nothing */
  glEndConditionalRender();
  glBeginConditionalRender(hidden, GL_QUERY_WAIT_INVERTED);
  box(0, 0, 1, 1, 0); /* 15 a quarter */
  glEndConditionalRender();
  box(-1, -1, 0, 1, 0); /* 16 half */
}

/* As many points as a query counted, each on a pixel of its own: the driver writes the number for itself. */
static void points_by_query(GLuint counted) {
  static GLuint buffers[2];
  if (!buffers[0]) {
    static GLfloat places[WIDTH * HEIGHT * 2];
    const GLuint command[4] = {0, 1, 0, 0};
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
      places[2 * i] = (float)(i % WIDTH * 2 + 1) / WIDTH - 1;
      places[2 * i + 1] = (float)(i / WIDTH * 2 + 1) / HEIGHT - 1;
    }
    glGenBuffers(2, buffers);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
    glBufferData(GL_ARRAY_BUFFER, sizeof places, places, GL_STATIC_DRAW);
    glBindBuffer(GL_DRAW_INDIRECT_BUFFER, buffers[1]);
    glBufferData(GL_DRAW_INDIRECT_BUFFER, sizeof command, command, GL_DYNAMIC_DRAW);
  }
  glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
  glBindBuffer(GL_DRAW_INDIRECT_BUFFER, buffers[1]);
  glVertexPointer(2, GL_FLOAT, 0, NULL);
  glGetQueryBufferObjectuiv(counted, buffers[1], GL_QUERY_RESULT, 0);
  glDrawArraysIndirect(GL_POINTS, NULL);
  glBindBuffer(GL_DRAW_INDIRECT_BUFFER, 0);
  glBindBuffer(GL_ARRAY_BUFFER, 0);
}

/* Queries of several draws, of all kinds, whose results the program reads, has written to a buffer, and draws by. */
static void queries_of_draws(GLuint some, GLuint any, GLuint made) {
  static GLuint buffer;
  GLuint counted = 0, written[4] = {0};
  GLuint64 wide = 0;
  if (!buffer) {
    glGenBuffers(1, &buffer);
    glBindBuffer(GL_QUERY_BUFFER, buffer);
    glBufferData(GL_QUERY_BUFFER, sizeof written, written, GL_DYNAMIC_DRAW);
  }
  glEnable(GL_DEPTH_TEST);
  glBeginQuery(GL_SAMPLES_PASSED, some);
  glBeginQuery(GL_PRIMITIVES_GENERATED, made);
  box(-1, -1, 1, 0, 0);    /* 0 half */
  box(-1, -1, 0, 1, 0.5f); /* 1 half, of which half is behind */
  glDepthFunc(GL_NEVER);
  box(-1, -1, 1, 1, -0.5f); /* 2 nothing passes */
  glDepthFunc(GL_LESS);
  glBegin(GL_QUADS);
  glVertex3f(0, 0, 0), glVertex3f(1, 0, 0), glVertex3f(1, 1, 0), glVertex3f(0, 1, 0);
  glEnd(); /* 3 a quarter */
  glEndQuery(GL_PRIMITIVES_GENERATED);
  glEndQuery(GL_SAMPLES_PASSED);
  glBeginQuery(GL_ANY_SAMPLES_PASSED, any);
  box(-1, -1, 1, 0, 0.75f); /* 4 nothing passes */
  box(0, 0, 1, 1, -0.25f);  /* 5 a quarter */
  glEndQuery(GL_ANY_SAMPLES_PASSED);
  glDisable(GL_DEPTH_TEST);
  glBindBuffer(GL_QUERY_BUFFER, 0);
  glGetQueryObjectuiv(some, GL_QUERY_RESULT, &counted);
  glGetQueryObjectui64v(made, GL_QUERY_RESULT, &wide);
  printf("told %u %llu", counted, (unsigned long long)wide);
  glGetQueryObjectuiv(any, GL_QUERY_RESULT, &counted);
  glBindBuffer(GL_QUERY_BUFFER, buffer);
  glGetQueryObjectuiv(some, GL_QUERY_RESULT, (void*)4);
  glGetQueryObjectui64v(some, GL_QUERY_RESULT, (void*)8);
  glGetBufferSubData(GL_QUERY_BUFFER, 0, sizeof written, written);
  printf(" %u %u %u\n", counted, written[1], written[2]);
  glBeginConditionalRender(any, GL_QUERY_WAIT);
  glColor3f(1, 1, 0);
  box(0, 0, 1, 1, 0); /* 6 a quarter */
  glEndConditionalRender();
  glBeginConditionalRender(some, GL_QUERY_WAIT_INVERTED);
  box(-1, -1, 1, 1, 0); /* 7 nothing */
  glEndConditionalRender();
  points_by_query(some); /* 8 all */
}

/* A query that begins in one frame and ends in the next. */
static void across(int frame) {
  box(-1, -1, 1, 0, 0);
  if (frame) glEndQuery(GL_SAMPLES_PASSED);
  box(-1, -1, 0, 0, 0);
  glBeginQuery(GL_SAMPLES_PASSED, query);
  box(0, 0, 1, 1, 0);
}

static void quad(float left, float bottom, float right, float top) {
  glBegin(GL_QUADS);
  glVertex2f(left, bottom), glVertex2f(right, bottom), glVertex2f(right, top), glVertex2f(left, top);
  glEnd();
}

static GLuint lists;

static void make_lists(void) {
  static const GLfloat points[] = {-1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0};
  GLfloat corners[] = {-1, -1, 0, 0, -1, 0, -1, 1, 0, 0, 1, 0};
  const GLubyte names[] = {0, 5, 0};
  lists = glGenLists(20);
  glNewList(lists, GL_COMPILE); /* 0 nothing but a quarter */
  quad(-1, -1, 0, 0);
  glEndList();
  glNewList(lists + 1, GL_COMPILE); /* 1 turns what is in front, and culls: the first half is left out */
  glPushAttrib(GL_ENABLE_BIT | GL_POLYGON_BIT);
  glEnable(GL_CULL_FACE);
  glFrontFace(GL_CW);
  quad(-1, -1, 1, 0);
  glFrontFace(GL_CCW);
  quad(-1, -1, 1, 0);
  glDisable(GL_CULL_FACE);
  glPopAttrib();
  glEndList();
  glNewList(lists + 2, GL_COMPILE); /* 2 calls others and moves */
  glCallList(lists);
  glPushMatrix();
  glTranslatef(1, 1, 0);
  glCallList(lists);
  glPopMatrix();
  glEndList();
  glNewList(lists + 3, GL_COMPILE); /* 3 several by name */
  glListBase(lists);
  glCallLists(3, GL_UNSIGNED_BYTE, names);
  glListBase(0);
  glEndList();
  glNewList(lists + 4, GL_COMPILE); /* 4 arrays as they are now */
  glVertexPointer(3, GL_FLOAT, 0, corners);
  glDisable(GL_LIGHTING);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glEndList();
  corners[3] = corners[9] = 5;
  glNewList(lists + 5, GL_COMPILE); /* 5 switches tests on by itself: half is behind */
  glEnable(GL_DEPTH_TEST);
  glRectf(-1, -1, 1, 1);
  glDisable(GL_DEPTH_TEST);
  glEndList();
  glNewList(lists + 6, GL_COMPILE); /* 6 evaluators */
  glMap2f(GL_MAP2_VERTEX_3, 0, 1, 3, 2, 0, 1, 6, 2, points);
  glEnable(GL_MAP2_VERTEX_3);
  glMapGrid2f(4, 0, 1, 4, 0, 1);
  glEvalMesh2(GL_FILL, 0, 4, 0, 2);
  glEndList();
  glNewList(lists + 7, GL_COMPILE); /* 7 points and a quad */
  glPointSize(1);
  glBegin(GL_POINTS);
  glVertex2f(0.5f / WIDTH, 0.5f / HEIGHT);
  glEnd();
  quad(0, 0, 1, 1);
  glEndList();
  glNewList(lists + 8, GL_COMPILE); /* 8 vertices alone */
  glVertex2f(0, 0), glVertex2f(1, 0), glVertex2f(1, 1), glVertex2f(0, 1);
  glEndList();
}

static void call_lists(void) {
  const GLushort names[] = {(GLushort)lists, (GLushort)(lists + 2)};
  glEnable(GL_DEPTH_TEST);
  box(-1, -1, 1, 0, -0.5f); /* 0 half, near */
  glDisable(GL_DEPTH_TEST);
  for (GLuint i = 0; i < 8; i++) glCallList(lists + i); /* 1 to 8 */
  glCallLists(2, GL_UNSIGNED_SHORT, names);             /* 9 a quarter, and two */
  glBegin(GL_QUADS);
  glCallList(lists + 8);
  glEnd(); /* 10 a quarter */
  glNewList(lists + 9, GL_COMPILE_AND_EXECUTE);
  glColor3f(1, 0, 0);
  quad(-1, -1, 1, 1);
  glEnable(GL_CULL_FACE);
  quad(-1, -1, 1, 0);
  glDisable(GL_CULL_FACE);
  glEndList();
  glCallList(lists + 9);            /* 11 the same again */
  glEvalMesh2(GL_FILL, 0, 4, 0, 4); /* 12 all */
}

static GLuint framebuffer, programs[3], counter;

static void make_sampled(int samples) {
  GLuint storages[2];
  glGenFramebuffers(1, &framebuffer);
  glGenRenderbuffers(2, storages);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  for (int i = 0; i < 2; i++) {
    glBindRenderbuffer(GL_RENDERBUFFER, storages[i]);
    if (samples > 1)
      glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, i ? GL_DEPTH24_STENCIL8 : GL_RGBA8, WIDTH, HEIGHT);
    else
      glRenderbufferStorage(GL_RENDERBUFFER, i ? GL_DEPTH24_STENCIL8 : GL_RGBA8, WIDTH, HEIGHT);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, i ? GL_DEPTH_STENCIL_ATTACHMENT : GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                              storages[i]);
  }
  GLint got = 0;
  glGetIntegerv(GL_SAMPLES, &got);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE || got != (samples > 1 ? samples : 0))
    exit(77);
  static const char* const vertex = "#version 430 compatibility\nvoid main() { gl_Position = gl_Vertex; }\n";
  programs[0] =
      link_program(vertex,
                   "#version 430 compatibility\nlayout(early_fragment_tests) in;\n"
                   "layout(std430, binding = 0) buffer Sum { uint sum; };\nuniform float lowest;\n"
                   "void main() { if (gl_FragCoord.y >= lowest) atomicAdd(sum, 1u); gl_FragColor = vec4(1.0); }\n",
                   NULL, 0);
  programs[1] = link_program("#version 120\nvoid main() { gl_Position = gl_Vertex; }\n",
                             "#version 120\nvoid main() { gl_FragColor = vec4(0.5); }\n", NULL, 0);
  programs[2] = link_program(
      "#version 120\nvoid main() { gl_Position = gl_Vertex; }\n",
      "#version 120\nvoid main() { if (gl_FragCoord.y < 12.0) discard; gl_FragColor = vec4(0.5); }\n", NULL, 0);
  glGenQueries(1, &query);
  glGenBuffers(1, &counter);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, counter);
  glBufferData(GL_SHADER_STORAGE_BUFFER, 4, NULL, GL_DYNAMIC_COPY);
}

static void triangles(const GLfloat* places, int count) {
  glVertexPointer(3, GL_FLOAT, 0, places);
  glDrawArrays(GL_TRIANGLES, 0, count);
}

/* What its own shader and query count of it. */
static void tell(const GLfloat* places, int count, int tested, float lowest) {
  GLuint fragments = 0, samples = 0;
  glUseProgram(programs[0]);
  glUniform1f(glGetUniformLocation(programs[0], "lowest"), lowest);
  glBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, 4, &fragments);
  glBeginQuery(GL_SAMPLES_PASSED, query);
  triangles(places, count);
  glEndQuery(GL_SAMPLES_PASSED);
  glUseProgram(0);
  glGetQueryObjectuiv(query, GL_QUERY_RESULT, &samples);
  glMemoryBarrier(GL_ALL_BARRIER_BITS);
  glGetBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, 4, &fragments);
  printf("%s %u %u\n", tested ? "passed" : "generated", fragments, samples);
}

static void sampled(int first) {
  static const GLfloat all[] = {-1, -1, 0, 3, -1, 0, -1, 3, 0}, behind[] = {-1, -1, 0.9f, 3, -1, 0.9f, -1, 3, 0.9f};
  static const GLfloat slanted[] = {-0.9f, -0.83f, -0.5f, 0.71f, -0.57f, 0.6f, 0.13f, 0.93f, -0.2f};
  static const GLfloat more[] = {-0.5f, -0.9f, 0, 0.9f,  0.11f, 0, -0.7f, 0.77f, 0,
                                 0.9f,  0.11f, 0, -0.7f, 0.77f, 0, 0.83f, 0.9f,  -0.9f};
  const struct {
    const GLfloat* places;
    int count, depth, program;
  } draws[] = {{all, 3, 0, 0}, {slanted, 3, 0, 1}, {more, 6, 0, 1},  {slanted, 3, 1, 0},
               {all, 3, 1, 1}, {more, 6, 1, 1},    {behind, 3, 1, 0}};
  for (int i = 0; i < 7; i++) {
    if (first) {
      glDepthMask(GL_FALSE);
      tell(draws[i].places, draws[i].count, 0, 0);
      glDepthMask(GL_TRUE);
    }
    if (draws[i].depth) glEnable(GL_DEPTH_TEST);
    if (first) tell(draws[i].places, draws[i].count, 1, 0);
    glUseProgram(draws[i].program ? programs[1] : 0);
    if (!first) triangles(draws[i].places, draws[i].count);
    glDisable(GL_DEPTH_TEST);
  }
  if (first) tell(all, 3, 0, 0), tell(all, 3, 1, 12);
  glUseProgram(programs[2]);
  if (!first) triangles(all, 3); /* 7 the lowest twelve rows are discarded */
  glUseProgram(0);
  if (first) tell(slanted, 3, 0, 0);
  glEnable(GL_SAMPLE_COVERAGE);
  glSampleCoverage(0.5f, GL_FALSE);
  if (first)
    tell(slanted, 3, 1, 0);
  else
    triangles(slanted, 3); /* 8 half of the samples */
  glDisable(GL_SAMPLE_COVERAGE);
}

/* Triangles that face either way, with the origin at the top: the first frame prints whether they are seen. */
static void origin(int first) {
  static const GLfloat one[] = {-0.5f, -0.5f, 0, 0.75f, -0.5f, 0, 0, 0.75f, 0},
                       other[] = {-0.5f, -0.5f, 0, 0, 0.75f, 0, 0.75f, -0.5f, 0};
  glClipControl(GL_UPPER_LEFT, GL_NEGATIVE_ONE_TO_ONE);
  glEnable(GL_CULL_FACE);
  for (int i = 0; i < 4; i++) {
    GLuint seen = 0;
    glFrontFace(i & 2 ? GL_CW : GL_CCW);
    if (first) glBeginQuery(GL_SAMPLES_PASSED, query);
    triangles(i & 1 ? other : one, 3);
    if (!first) continue;
    glEndQuery(GL_SAMPLES_PASSED);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &seen);
    printf("seen %u\n", seen);
  }
  glDisable(GL_CULL_FACE);
  glFrontFace(GL_CCW);
  glClipControl(GL_LOWER_LEFT, GL_NEGATIVE_ONE_TO_ONE);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int frames = argc > 2 ? atoi(argv[2]) : 4, samples = !strncmp(argv[1], "samples", 7) ? atoi(argv[1] + 7) : 0;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  GLuint queries[3];
  glGenQueries(3, queries);
  query = queries[0];
  glEnableClientState(GL_VERTEX_ARRAY);
  if (samples)
    make_sampled(samples);
  else if (!strcmp(argv[1], "lists"))
    make_lists();
  for (int frame = 0; frame < frames; frame++) {
    glViewport(0, 0, WIDTH, HEIGHT);
    glClearColor(0.25f * (float)frame, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    glColor3f(0.1f * (float)frame, 0.5f, 1);
    if (samples)
      sampled(frame == 0);
    else if (lists)
      call_lists();
    else if (!strcmp(argv[1], "origin"))
      origin(frame == 0);
    else if (!strcmp(argv[1], "across"))
      across(frame);
    else if (!strcmp(argv[1], "queries"))
      queries_of_draws(queries[0], queries[1], queries[2]);
    else
      conditional(queries[0], queries[1]);
    if (samples)
      glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0),
          glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    eglSwapBuffers(display, window);
    if (samples) glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  }
  if (samples) glBindFramebuffer(GL_FRAMEBUFFER, 0);
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, %016llx\n", glGetError(), (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
