/* A program with one habit of those that the checklist looks for, done badly or well.
 * habits NAME bad|good [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GLES3/gl3.h>
#include <GLES2/gl2ext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, LARGE = 256 };

static const char* VERTEX = "attribute vec2 position; void main() { gl_Position = vec4(position, 0.0, 1.0); }\n";
static const char* FRAGMENT = "precision mediump float; uniform vec4 color; void main() { gl_FragColor = color; }\n";
static const char* SAMPLED =
    "precision mediump float; uniform sampler2D image; void main() { gl_FragColor = texture2D(image, gl_FragCoord.xy / 64.0); }\n";

static GLuint g_program, g_sampled, g_buffer, g_texture, g_target, g_depth, g_fbo;
static GLint g_color;
static unsigned char g_pixels[LARGE * LARGE * 4];
static EGLDisplay g_display;
static EGLSurface g_surface;
static EGLContext g_context, g_other;

static GLuint g_bound;
static void use(GLuint program) {
  if (program != g_bound) glUseProgram(g_bound = program);
}
static void plain(int frame) {
  use(g_program);
  glUniform4f(g_color, 0.01f * (float)frame, 0.5f, 0.5f, 1);
}
static void triangle(void) { glDrawArrays(GL_TRIANGLES, 0, 3); }
static void fill(int frame) {
  for (size_t i = 0; i < sizeof g_pixels; i++) g_pixels[i] = (unsigned char)(i * 7 + (size_t)frame * 13);
}
static void image(int side) {
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, side, side, 0, GL_RGBA, GL_UNSIGNED_BYTE, g_pixels);
}

static void draw_synchronous(int bad, int frame) {
  (void)frame;
  triangle();
  if (bad) glReadPixels(0, 0, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, g_pixels);
}
static void draw_queries(int bad, int frame) {
  GLint viewport[4];
  (void)frame;
  if (bad) glGetIntegerv(GL_VIEWPORT, viewport);
  triangle();
}
static void draw_lookups(int bad, int frame) {
  (void)frame;
  if (bad) g_color = glGetUniformLocation(g_program, "color");
  triangle();
}
static void draw_client_arrays(int bad, int frame) {
  static const GLfloat corners[] = {-1, -1, 1, -1, 0, 1};
  (void)frame;
  glBindBuffer(GL_ARRAY_BUFFER, bad ? 0 : g_buffer);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, bad ? (const void*)corners : NULL);
  triangle();
}
static void draw_compiles(int bad, int frame) {
  const char* names[] = {"position"};
  GLuint own = 0;
  if (bad && frame % 4 == 2) {
    own = link_program(VERTEX, FRAGMENT, names, 1);
    use(own);
  }
  triangle();
  if (own) glDeleteProgram(own);
}
static void draw_texture_loading(int bad, int frame) {
  use(g_sampled);
  if (bad) {
    fill(frame);
    image(32);
  }
  triangle();
}
static void draw_same_texture(int bad, int frame) {
  use(g_sampled);
  if (!bad) fill(frame);
  image(32);
  triangle();
}
static void draw_modified(int bad, int frame) {
  use(g_sampled);
  if (bad) triangle();
  fill(frame);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 32, 32, GL_RGBA, GL_UNSIGNED_BYTE, g_pixels);
  triangle();
}
static void draw_depth(int bad, int frame) {
  (void)frame;
  glEnable(GL_DEPTH_TEST);
  glClear(bad ? GL_COLOR_BUFFER_BIT : GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  triangle();
}
static void draw_targets(int bad, int frame) {
  (void)frame;
  glBindFramebuffer(GL_FRAMEBUFFER, g_fbo);
  if (!bad) glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  triangle();
  const GLenum depth = GL_DEPTH_ATTACHMENT;
  if (!bad) glInvalidateFramebuffer(GL_FRAMEBUFFER, 1, &depth);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  triangle();
}
static void draw_recreated(int bad, int frame) {
  GLuint own;
  (void)frame;
  if (bad) glGenTextures(1, &own);
  triangle();
  if (bad) glDeleteTextures(1, &own);
}
static void draw_buffer_stalls(int bad, int frame) {
  GLfloat corners[] = {-1, -1, 1, -1, 0.01f * (float)frame, 1};
  for (int i = 0; i < 3; i++) {
    corners[1] = -1 + 0.1f * (float)i;
    if (bad || !i) glBufferSubData(GL_ARRAY_BUFFER, 0, sizeof corners, corners);
    triangle();
  }
}
static void draw_contexts(int bad, int frame) {
  (void)frame;
  triangle();
  if (!bad) return;
  eglMakeCurrent(g_display, g_surface, g_surface, g_other);
  glClear(GL_STENCIL_BUFFER_BIT);
  eglMakeCurrent(g_display, g_surface, g_surface, g_context);
}
static void draw_small(int bad, int frame) {
  (void)frame;
  for (int i = 0; i < (bad ? 80 : 10); i++) triangle();
}
static void draw_thrash(int bad, int frame) {
  (void)frame;
  for (int i = 0; i < 40; i++) {
    use((bad ? i % 2 : i >= 20) ? g_sampled : g_program);
    triangle();
  }
}
static void draw_errors(int bad, int frame) {
  (void)frame;
  if (bad) glEnable(GL_TRIANGLES);
  triangle();
  glGetError();
}
static void draw_empty(int bad, int frame) {
  (void)frame;
  if (!bad) triangle();
}
static void draw_unchanged(int bad, int frame) {
  plain(bad ? 0 : frame);
  triangle();
}
static void draw_flush(int bad, int frame) {
  (void)frame;
  triangle();
  if (bad) glFlush();
  triangle();
}
static void draw_blended_first(int bad, int frame) {
  (void)frame;
  glEnable(GL_DEPTH_TEST);
  glClear(GL_DEPTH_BUFFER_BIT);
  for (int i = 0; i < 4; i++) {
    if ((bad ? i == 0 : i == 3))
      glEnable(GL_BLEND);
    else
      glDisable(GL_BLEND);
    triangle();
  }
}
static void draw_uniforms(int bad, int frame) {
  for (int i = 0; i < (bad ? 150 : 3); i++) glUniform4f(g_color, 0.01f * (float)frame, 0.5f, (float)i, 1);
  triangle();
}
static void draw_fences(int bad, int frame) {
  static GLsync before;
  (void)frame;
  triangle();
  GLsync fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  if (bad)
    glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000);
  else if (before)
    glClientWaitSync(before, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000);
  if (before) glDeleteSync(before);
  before = fence;
}
static void draw_mipmaps(int bad, int frame) {
  (void)frame;
  use(g_sampled);
  fill(0);
  if (!frame) {
    image(LARGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, bad ? GL_LINEAR : GL_LINEAR_MIPMAP_NEAREST);
    if (!bad) glGenerateMipmap(GL_TEXTURE_2D);
  }
  triangle();
}
static void draw_redundant(int bad, int frame) {
  for (int i = 0; i < 3; i++) glDepthFunc(bad || !((frame + i) % 2) ? GL_LESS : GL_GREATER);
  triangle();
}
static void draw_past_end(int bad, int frame) {
  (void)frame;
  glDrawArrays(GL_TRIANGLES, bad ? 300 : 0, 3);
}

static const struct {
  const char* name;
  void (*draw)(int bad, int frame);
} HABITS[] = {{"synchronous-functions", draw_synchronous},
              {"state-queries", draw_queries},
              {"name-lookups", draw_lookups},
              {"client-arrays", draw_client_arrays},
              {"shader-compiles", draw_compiles},
              {"texture-loading", draw_texture_loading},
              {"same-texture-again", draw_same_texture},
              {"texture-modified", draw_modified},
              {"depth-clearing", draw_depth},
              {"targets-not-cleared", draw_targets},
              {"depth-not-discarded", draw_targets},
              {"recreated-objects", draw_recreated},
              {"buffer-stalls", draw_buffer_stalls},
              {"context-switches", draw_contexts},
              {"small-draws", draw_small},
              {"state-thrash", draw_thrash},
              {"gl-errors", draw_errors},
              {"swap-without-draw", draw_empty},
              {"unchanged-frames", draw_unchanged},
              {"flush-in-frame", draw_flush},
              {"late-opaque-draws", draw_blended_first},
              {"uniform-churn", draw_uniforms},
              {"fence-stalls", draw_fences},
              {"mipmap-usage", draw_mipmaps},
              {"redundant-calls", draw_redundant},
              {"vertices-past-end", draw_past_end}};

int main(int argc, char** argv) {
  void (*draw)(int, int) = NULL;
  for (size_t i = 0; argc > 2 && i < sizeof HABITS / sizeof *HABITS; i++)
    if (!strcmp(argv[1], HABITS[i].name)) draw = HABITS[i].draw;
  if (!draw) {
    for (size_t i = 0; i < sizeof HABITS / sizeof *HABITS; i++) puts(HABITS[i].name);
    return argc > 1;
  }
  int bad = !strcmp(argv[2], "bad"), frames = argc > 3 ? atoi(argv[3]) : 12;
  g_display = start_display();
  EGLConfig config = start_config(g_display, EGL_OPENGL_ES3_BIT);
  g_surface = start_pbuffer(g_display, config, SIDE, SIDE);
  g_context = start_es(g_display, config, 3, 0, EGL_NO_CONTEXT);
  g_other = start_es(g_display, config, 3, 0, g_context);
  start_current(g_display, g_surface, g_context);
  const char* names[] = {"position"};
  g_program = link_program(VERTEX, FRAGMENT, names, 1);
  g_sampled = link_program(VERTEX, SAMPLED, names, 1);
  g_color = glGetUniformLocation(g_program, "color");
  static const GLfloat corners[] = {-1, -1, 1, -1, 0, 1};
  glGenBuffers(1, &g_buffer);
  glBindBuffer(GL_ARRAY_BUFFER, g_buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_DYNAMIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
  glGenTextures(1, &g_target);
  glBindTexture(GL_TEXTURE_2D, g_target);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenRenderbuffers(1, &g_depth);
  glBindRenderbuffer(GL_RENDERBUFFER, g_depth);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT16, SIDE, SIDE);
  glGenFramebuffers(1, &g_fbo);
  glBindFramebuffer(GL_FRAMEBUFFER, g_fbo);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, g_target, 0);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, g_depth);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glGenTextures(1, &g_texture);
  glBindTexture(GL_TEXTURE_2D, g_texture);
  fill(0);
  image(32);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0; frame < frames; frame++) {
    if (draw != draw_unchanged) plain(frame);
    draw(bad, frame);
    eglSwapBuffers(g_display, g_surface);
  }
  eglTerminate(g_display);
  return 0;
}
