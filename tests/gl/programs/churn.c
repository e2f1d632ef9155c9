/* Makes and deletes textures, buffers and programs in every frame, beside one picture that was drawn into a texture
 * once, at the start, and a buffer that is filled piece by piece, round and round. churn [FRAMES] [pace=US]
 * [error=FRAME] [stall=FRAME] [crash=FRAME] [mark=FRAME] [texels=SIDE] [programs=EVERY] [noise=BYTES] [report=FILE]
 * [linger] Noise fills a buffer with what no compression makes smaller, in each frame. The report is the processor time
 * in seconds that the frames took. */
#include <GLES2/gl2.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 48, PIECES = 7, PIECE = 8 * 8 };

static const char* VERTEX =
    "attribute vec2 position; uniform vec3 move; varying vec2 c;\n"
    "void main() { c = position * 0.5 + 0.5; gl_Position = vec4(position * move.z + move.xy, 0.0, 1.0); }\n";

static int word(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], name, strlen(name)) && argv[i][strlen(name)] == '=') return atoi(argv[i] + strlen(name) + 1);
  return otherwise;
}

static GLuint program_of(int number) {
  char fragment[300];
  const char* names[] = {"position"};
  snprintf(fragment, sizeof fragment,
           "precision mediump float; uniform sampler2D image; varying vec2 c;\n"
           "void main() { gl_FragColor = texture2D(image, c) * vec4(0.%d, 0.9, 0.8, 1.0); }\n",
           100 + number % 900);
  return link_program(VERTEX, fragment, names, 1);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 100, pace = word(argc, argv, "pace", 0),
      side = word(argc, argv, "texels", 16);
  int marked = word(argc, argv, "mark", -1);
  int (*mark)(const char*) = (int (*)(const char*))dlsym(dlopen(NULL, RTLD_NOW), "drawtap_mark"); /* as hooks do */
  int programs = word(argc, argv, "programs", 5);
  int error = word(argc, argv, "error", -1), stall = word(argc, argv, "stall", -1),
      crash = word(argc, argv, "crash", -1);
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  static const GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  GLuint quad, stream, once, frame_buffer, program = program_of(0), plain = program_of(1);
  glGenBuffers(1, &quad);
  glBindBuffer(GL_ARRAY_BUFFER, quad);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glGenBuffers(1, &stream);
  glBindBuffer(GL_ARRAY_BUFFER, stream);
  glBufferData(GL_ARRAY_BUFFER, PIECES * PIECE, NULL, GL_STREAM_DRAW);
  glEnableVertexAttribArray(0);

  /* The picture of the start: two draws into a texture, never touched again. */
  unsigned char* texels = malloc((size_t)side * (size_t)side * 4);
  for (int i = 0; i < side * side * 4; i++) texels[i] = (unsigned char)(i * 7);
  GLuint seed;
  glGenTextures(1, &seed);
  glBindTexture(GL_TEXTURE_2D, seed);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, side, side, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  glGenTextures(1, &once);
  glBindTexture(GL_TEXTURE_2D, once);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 32, 32, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenFramebuffers(1, &frame_buffer);
  glBindFramebuffer(GL_FRAMEBUFFER, frame_buffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, once, 0);
  glViewport(0, 0, 32, 32);
  glClearColor(0.2f, 0.3f, 0.4f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glUseProgram(plain);
  glBindTexture(GL_TEXTURE_2D, seed);
  glBindBuffer(GL_ARRAY_BUFFER, quad);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glUniform3f(glGetUniformLocation(plain, "move"), 0.2f, 0.1f, 0.5f);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glUniform3f(glGetUniformLocation(plain, "move"), -0.4f, -0.3f, 0.3f);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glDeleteFramebuffers(1, &frame_buffer);
  glDeleteTextures(1, &seed);
  glViewport(0, 0, SIDE, SIDE);

  int noise = word(argc, argv, "noise", 0);
  unsigned *random = noise ? malloc((size_t)noise) : NULL, seen = 2463534242u;
  GLuint noisy;
  glGenBuffers(1, &noisy);

  clock_t started = clock();
  for (int frame = 0; frame < frames; frame++) {
    glClearColor((float)(frame % 16) / 16, 0.1f, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    /* seen before, and again */
    for (int i = 0; i < side * side * 4; i++)
      texels[i] = (unsigned char)(i * 3 + frame % 40 * 11 + (i * (frame % 40)) % 97);
    GLuint texture, buffer;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, side, side, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glGenBuffers(1, &buffer);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    GLfloat moved[8];
    for (int i = 0; i < 8; i++) moved[i] = corners[i] * (0.3f + 0.05f * (float)(frame % 9));
    glBufferData(GL_ARRAY_BUFFER, sizeof moved, moved, GL_STATIC_DRAW);
    if (frame % programs == programs - 1) { /* a new program every now and then */
      glDeleteProgram(program);
      program = program_of(frame);
    }
    glUseProgram(program);
    glUniform3f(glGetUniformLocation(program, "move"), 0.1f * (float)(frame % 5), 0, 1);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    glUseProgram(plain);
    glBindTexture(GL_TEXTURE_2D, once);
    glBindBuffer(GL_ARRAY_BUFFER, stream);
    for (int i = 0; i < 8; i++) moved[i] = corners[i] * 0.25f + 0.1f * (float)(frame % 6) - 0.3f;
    glBufferSubData(GL_ARRAY_BUFFER, frame % PIECES * PIECE, sizeof moved, moved);
    glUniform3f(glGetUniformLocation(plain, "move"), 0, -0.2f, 1);
    /* What was put there some frames ago. */
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0,
                          (void*)(intptr_t)((frame < 3 ? frame : frame - 3) % PIECES * PIECE));
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    glDeleteTextures(1, &texture);
    glDeleteBuffers(1, &buffer);
    if (noise) {
      for (int i = 0; i < noise / 4; i++) seen ^= seen << 13, seen ^= seen >> 17, seen ^= seen << 5, random[i] = seen;
      glBindBuffer(GL_ARRAY_BUFFER, noisy);
      glBufferData(GL_ARRAY_BUFFER, noise, random, GL_STREAM_DRAW);
    }
    if (frame == error) glEnable(0xdead);
    if (frame == error) glGetError();
    if (frame == marked && mark) mark("loading is done");
    if (frame == stall) usleep(400000);
    if (frame == crash) abort();
    if (pace) usleep((useconds_t)pace);
    eglSwapBuffers(display, surface);
  }
  for (int i = 1; i < argc; i++) {
    FILE* report = strncmp(argv[i], "report=", 7) ? NULL : fopen(argv[i] + 7, "w");
    if (report) fprintf(report, "%.6f\n", (double)(clock() - started) / CLOCKS_PER_SEC), fclose(report);
  }
  /* Until standard input ends. */
  if (argc > 1 && !strcmp(argv[argc - 1], "linger"))
    while (getchar() != EOF) {}
  free(random);
  free(texels);
  return 0;
}
