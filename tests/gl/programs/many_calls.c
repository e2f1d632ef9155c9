/* Loops of calls for the benchmarks: what one call costs, on this thread's CPU clock.
 *
 * many_calls MODE N ROUNDS [THREADS]: ROUNDS times N calls on each thread (own context each). Prints one line:
 * the median and the least ns per call of the rounds, and the calls made. Where a preloaded library has bench_side,
 * every round is made on both sides, the one that is first in turns; a second line has by round what the tap's side
 * took more. Modes: enable vattrib uniform bindtex mat4   one call, over and over state     a pseudo draw of 12 state
 * calls, 100 to a frame, nothing drawn rand      irregular calls with random floats: hard to compress mix       the
 * state calls with a small draw, swaps client    2 calls a draw, 64 vertices of 16 bytes from client memory subdata
 * texsub   uploads of 1 MB, half random; N counts uploads
 */
#define _GNU_SOURCE
#include <GLES2/gl2.h>
#include <pthread.h>
#include <time.h>
#include "egl_start.h"
#include "shader.h"

enum { MEGABYTE = 1 << 20, SIDE = 512, TEXTURES = 16 };

typedef struct Bench {
  EGLDisplay display;
  EGLSurface surface;
  GLuint program, textures[TEXTURES], buffer, indices, big_buffer, big_texture;
  GLint matrix, color, value;
  unsigned char* upload;
  GLfloat vertices[64 * 4];
  GLfloat matrices[64][16];
  uint32_t random;
} Bench;

static EGLDisplay g_display;
static EGLConfig g_config;
static const char* g_mode;
static long g_calls;
static int g_rounds;
static pthread_barrier_t g_start;

static float random_float(Bench* b) { return (float)next_random(&b->random) / 16777216.0f; }

static void prepare(Bench* b) {
  const char* names[] = {"position", "other"};
  b->program = link_program(
      "attribute vec4 position; attribute vec4 other; uniform mat4 matrix; uniform vec4 value; varying vec4 c;\n"
      "void main() { c = other + value; gl_Position = matrix * position; }\n",
      "precision mediump float; varying vec4 c; uniform vec4 color; uniform sampler2D t;\n"
      "void main() { gl_FragColor = c * color + texture2D(t, c.xy); }\n",
      names, 2);
  b->matrix = glGetUniformLocation(b->program, "matrix");
  b->color = glGetUniformLocation(b->program, "color");
  b->value = glGetUniformLocation(b->program, "value");
  glUseProgram(b->program);
  glGenTextures(TEXTURES, b->textures);
  for (int i = 0; i < TEXTURES; i++) {
    unsigned char texel[16] = {(unsigned char)(i * 16), 1, 2, 3};
    glBindTexture(GL_TEXTURE_2D, b->textures[i]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, texel);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  }
  for (int i = 0; i < 64 * 4; i++) b->vertices[i] = random_float(b) * 2 - 1;
  for (int i = 0; i < 64 * 16; i++) (&b->matrices[0][0])[i] = random_float(b);
  glGenBuffers(1, &b->buffer);
  glBindBuffer(GL_ARRAY_BUFFER, b->buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof b->vertices, b->vertices, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 16, (void*)0);
  glEnableVertexAttribArray(0);
  const GLushort list[6] = {0, 1, 2, 2, 1, 3};
  glGenBuffers(1, &b->indices);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, b->indices);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof list, list, GL_STATIC_DRAW);
  b->upload = malloc(MEGABYTE);
  for (int i = 0; i < MEGABYTE; i++)
    b->upload[i] = (unsigned char)(i & 32 ? next_random(&b->random) : (uint32_t)i >> 10);
  glGenBuffers(1, &b->big_buffer);
  glBindBuffer(GL_ARRAY_BUFFER, b->big_buffer);
  glBufferData(GL_ARRAY_BUFFER, MEGABYTE, NULL, GL_DYNAMIC_DRAW);
  glBindBuffer(GL_ARRAY_BUFFER, b->buffer);
  glGenTextures(1, &b->big_texture);
  glBindTexture(GL_TEXTURE_2D, b->big_texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glViewport(0, 0, 16, 16);
}

/* 12 calls. */
static void state_calls(Bench* b, long i) {
  float f = (float)(i % 1000) * 0.001f;
  glUseProgram(b->program);
  glActiveTexture(GL_TEXTURE0 + (GLenum)(i & 1));
  glBindTexture(GL_TEXTURE_2D, b->textures[i % TEXTURES]);
  glBindBuffer(GL_ARRAY_BUFFER, b->buffer);
  glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 16, (void*)0);
  glEnableVertexAttribArray(0);
  glUniformMatrix4fv(b->matrix, 1, GL_FALSE, b->matrices[i & 63]);
  glUniform4f(b->color, f, 1 - f, 0.5f, 1);
  if (i & 1)
    glEnable(GL_BLEND);
  else
    glDisable(GL_BLEND);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  glDepthMask((GLboolean)(i & 1));
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, b->indices);
}

static void random_call(Bench* b) {
  uint32_t r = next_random(&b->random);
  switch (r >> 4 & 7) {
    case 0: glUniform4f(b->color, random_float(b), random_float(b), random_float(b), random_float(b)); break;
    case 1: glVertexAttrib4f(1, random_float(b), random_float(b), random_float(b), random_float(b)); break;
    case 2: glBindTexture(GL_TEXTURE_2D, b->textures[r % TEXTURES]); break;
    case 3: glUniform4f(b->value, random_float(b), random_float(b), random_float(b), random_float(b)); break;
    case 4: {
      GLfloat m[16];
      for (int i = 0; i < 16; i++) m[i] = random_float(b);
      glUniformMatrix4fv(b->matrix, 1, GL_FALSE, m);
      break;
    }
    case 5: glScissor((GLint)(r & 15), (GLint)(r >> 8 & 15), (GLsizei)(r >> 12 & 15), 8); break;
    case 6: glClearColor(random_float(b), random_float(b), random_float(b), 1); break;
    default: glPolygonOffset(random_float(b), random_float(b)); break;
  }
}

/* Makes `n` calls, or a few more to end whole; returns how many. */
static long run_round(Bench* b, long n) {
  const char* mode = g_mode;
  long i = 0, done = 0;
  if (!strcmp(mode, "enable")) {
    for (; i < n; i++) glEnable(GL_BLEND);
  } else if (!strcmp(mode, "vattrib")) {
    for (; i < n; i++) glVertexAttrib4f(1, (float)i, 1, 2, 3);
  } else if (!strcmp(mode, "uniform")) {
    for (; i < n; i++) glUniform4f(b->color, (float)i, 1, 2, 3);
  } else if (!strcmp(mode, "bindtex")) {
    for (; i < n; i++) glBindTexture(GL_TEXTURE_2D, b->textures[i % TEXTURES]);
  } else if (!strcmp(mode, "mat4")) {
    for (; i < n; i++) glUniformMatrix4fv(b->matrix, 1, GL_FALSE, b->matrices[i & 63]);
  } else if (!strcmp(mode, "state")) {
    for (; done < n; i++, done += 12) {
      state_calls(b, i);
      if (i % 100 == 99) eglSwapBuffers(b->display, b->surface), done++;
    }
    return done;
  } else if (!strcmp(mode, "rand")) {
    for (; i < n; i++) random_call(b);
  } else if (!strcmp(mode, "mix")) {
    for (; done < n; i++, done += 13) {
      state_calls(b, i);
      glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, (void*)0);
      if (i % 100 == 99) eglSwapBuffers(b->display, b->surface), done++;
    }
    return done;
  } else if (!strcmp(mode, "client")) {
    glBindBuffer(GL_ARRAY_BUFFER, 0);
    for (; done < n; i++, done += 2) {
      b->vertices[i & 63] += 0.25f;
      glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 16, b->vertices);
      glDrawArrays(GL_POINTS, 0, 64);
    }
    return done;
  } else if (!strcmp(mode, "subdata")) {
    glBindBuffer(GL_ARRAY_BUFFER, b->big_buffer);
    for (; i < n; i++) {
      memcpy(b->upload + 64 * (i % 1000), &i, sizeof i);
      glBufferSubData(GL_ARRAY_BUFFER, 0, MEGABYTE, b->upload);
    }
  } else if (!strcmp(mode, "texsub")) {
    glBindTexture(GL_TEXTURE_2D, b->big_texture);
    for (; i < n; i++) {
      memcpy(b->upload + 64 * (i % 1000), &i, sizeof i);
      glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, b->upload);
    }
  } else {
    fprintf(stderr, "no mode %s\n", mode);
    exit(2);
  }
  return n;
}

static double thread_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Of bench/programs/sides.c: lets calls go through the tap (1) or past it (0). */
extern void bench_side(int through) __attribute__((weak));

typedef struct Result {
  double *ns, *more;
  long calls;
} Result;

/* Returns the thread's ns per call of one round. */
static double timed_round(Bench* b, Result* result) {
  double before = thread_ns();
  long calls = run_round(b, g_calls);
  result->calls += calls;
  return (thread_ns() - before) / (double)calls;
}

static void* bench_thread(void* argument) {
  Result* result = argument;
  Bench* b = calloc(1, sizeof *b);
  b->random = 12345;
  b->display = g_display;
  b->surface = start_pbuffer(g_display, g_config, 16, 16);
  EGLContext context = start_es(g_display, g_config, 2, 0, EGL_NO_CONTEXT);
  start_current(g_display, b->surface, context);
  prepare(b);
  run_round(b, g_calls < 1000 ? g_calls : 1000);
  glFinish();
  pthread_barrier_wait(&g_start);
  for (int i = 0; i < g_rounds; i++) {
    if (bench_side) {
      double ns[2];
      for (int turn = 0; turn < 2; turn++) {
        const int side = (i ^ turn) & 1;
        bench_side(side);
        run_round(b, 12); /* the addresses are new to the processor */
        ns[side] = timed_round(b, result);
      }
      result->ns[i] = ns[0], result->more[i] = ns[1] - ns[0];
    } else {
      result->ns[i] = timed_round(b, result);
    }
    glFinish();
  }
  if (bench_side) bench_side(1);
  if (glGetError()) fprintf(stderr, "GL error in the loop\n");
  eglMakeCurrent(g_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(g_display, context);
  eglDestroySurface(g_display, b->surface);
  free(b->upload);
  free(b);
  return NULL;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: many_calls MODE N ROUNDS [THREADS]\n");
    return 2;
  }
  g_mode = argv[1];
  g_calls = atol(argv[2]);
  g_rounds = atoi(argv[3]);
  int threads = argc > 4 ? atoi(argv[4]) : 1;
  if (g_calls < 1 || g_rounds < 1 || threads < 1 || threads > 64) return 2;
  g_display = start_display();
  g_config = start_config(g_display, EGL_OPENGL_ES2_BIT);
  pthread_barrier_init(&g_start, NULL, (unsigned)threads);
  Result results[64] = {{0}};
  pthread_t ids[64];
  for (int i = 0; i < threads; i++) {
    results[i].ns = calloc((size_t)g_rounds, sizeof(double));
    results[i].more = calloc((size_t)g_rounds, sizeof(double));
  }
  for (int i = 1; i < threads; i++) pthread_create(&ids[i], NULL, bench_thread, &results[i]);
  bench_thread(&results[0]);
  for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
  double* all = calloc((size_t)(g_rounds * threads), sizeof(double));
  long calls = 0;
  for (int i = 0; i < threads; i++) {
    memcpy(all + i * g_rounds, results[i].ns, (size_t)g_rounds * sizeof(double));
    calls += results[i].calls;
  }
  qsort(all, (size_t)(g_rounds * threads), sizeof(double), by_value);
  printf("%s %.2f ns/call median, %.2f least, %ld calls, %d threads\n", g_mode, all[g_rounds * threads / 2], all[0],
         calls, threads);
  for (int i = 0; bench_side && i < g_rounds; i++) printf("%.3f%c", results[0].more[i], i + 1 < g_rounds ? ' ' : '\n');
  eglTerminate(g_display);
  return 0;
}
