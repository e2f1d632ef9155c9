/* Pictures that nothing ever wipes: in each frame a little is blended over what is there, in targets of several kinds
 * and in the window itself. What is shown depends on every frame since the start, and on nothing else. trails
 * es2|es3|gl [FRAMES [US]]   FRAMES 0: until standard input ends; US: pause after each, microseconds At the end of each
 * frame much of the state is unusual, and a GL error waits to be asked for. */
#include <GLES3/gl3.h>
#include <poll.h>
#include <unistd.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 47, WINDOW = 96, MOST = 20 };
static GLuint g_framebuffers[MOST], g_depths[MOST]; /* of one without colours: the texture */
static int g_tested[MOST];                          /* whether its depth and stencil are to be seen by tests alone */
static int g_count;

static void attached(const char* what) {
  GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
  if (status != GL_FRAMEBUFFER_COMPLETE) fprintf(stderr, "%s: 0x%x\n", what, status), exit(77);
  glClearColor(0.1f, 0.2f, 0.3f, 1);
  glClear(GL_COLOR_BUFFER_BIT); /* once, at the start */
}
static GLuint framebuffer(void) {
  glGenFramebuffers(1, &g_framebuffers[g_count]);
  glBindFramebuffer(GL_FRAMEBUFFER, g_framebuffers[g_count]);
  return g_framebuffers[g_count++];
}
static GLuint texture(GLenum target) {
  GLuint name;
  glGenTextures(1, &name);
  glBindTexture(target, name);
  glTexParameteri(target, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(target, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  return name;
}
static void flat_target(GLenum internal, GLenum format, GLenum type) {
  GLuint name = texture(GL_TEXTURE_2D);
  glTexImage2D(GL_TEXTURE_2D, 0, (GLint)internal, SIDE, SIDE, 0, format, type, NULL);
  framebuffer();
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, name, 0);
  attached("texture");
}
static void depth_target(GLenum internal, GLenum format, GLenum type, GLenum point) {
  GLuint name = texture(GL_TEXTURE_2D);
  glTexImage2D(GL_TEXTURE_2D, 0, (GLint)internal, SIDE, SIDE, 0, format, type, NULL);
  framebuffer();
  glFramebufferTexture2D(GL_FRAMEBUFFER, point, GL_TEXTURE_2D, name, 0);
  const GLenum none = GL_NONE;
  glDrawBuffers(1, &none);
  glReadBuffer(GL_NONE);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) exit(77);
  glClear(GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT); /* once, at the start */
  g_depths[g_count - 1] = name;
}
/* Colours that are wiped, over a renderbuffer that is not. */
static void storage_target(GLenum internal, GLenum point) {
  GLuint storage;
  flat_target(GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE);
  glGenRenderbuffers(1, &storage);
  glBindRenderbuffer(GL_RENDERBUFFER, storage);
  glRenderbufferStorage(GL_RENDERBUFFER, internal, SIDE, SIDE);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, point, GL_RENDERBUFFER, storage);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) exit(77);
  glClear(GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT); /* once, at the start */
  g_tested[g_count - 1] = 1;
}
/* This frame's depth and stencil where the square is; then colours wherever tests pass. */
static void draw_tested(int frame, int i, GLint move, GLint color, const float* square) {
  const float depth = (float)((frame * 13 + i) % 29) / 28;
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_STENCIL_TEST);
  glDepthFunc(GL_ALWAYS);
  glDepthRangef(depth, depth);
  glStencilFunc(GL_ALWAYS, (frame * 37 + i) % 256, 255);
  glStencilOp(GL_KEEP, GL_KEEP, GL_REPLACE);
  glColorMask(0, 0, 0, 0);
  glUniform4fv(move, 1, square);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glColorMask(1, 1, 1, 1);
  glDepthMask(GL_FALSE);
  glStencilMask(0);
  glUniform4f(move, 0, 0, 1, 1);
  for (int n = 0; n < 4; n++) { /* by depth and by stencil */
    const float from = (float)n / 4;
    glDepthFunc(n % 2 ? GL_LESS : GL_ALWAYS);
    glDepthRangef(from, from);
    glStencilFunc(n % 2 ? GL_ALWAYS : GL_LESS, n * 62, 255);
    glUniform4f(color, from, n % 2 ? 1.0f : 0.0f, 1 - from, 0.2f);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  }
  glDepthMask(GL_TRUE);
  glStencilMask(255);
  glDisable(GL_DEPTH_TEST);
  glDisable(GL_STENCIL_TEST);
}
static void layer_target(GLenum target, int layer) {
  GLuint name = texture(target);
  glTexImage3D(target, 0, GL_RGBA8, SIDE, SIDE, 3, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  framebuffer();
  glFramebufferTextureLayer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, name, 0, layer);
  attached("layer");
}

static int goes_on(int frame, int frames) {
  if (frames) return frame < frames;
  struct pollfd in = {0, POLLIN, 0};
  return poll(&in, 1, 0) == 0;
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "es2";
  const int frames = argc > 2 ? atoi(argv[2]) : 0, gl = !strcmp(kind, "gl"), three = gl || !strcmp(kind, "es3");
  EGLDisplay display = start_display();
  EGLConfig config = start_deep_config(display,
                                       gl      ? EGL_OPENGL_BIT
                                       : three ? EGL_OPENGL_ES3_BIT
                                               : EGL_OPENGL_ES2_BIT,
                                       24, 8);
  EGLContext context = gl ? start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT)
                          : start_es(display, config, three ? 3 : 2, 0, EGL_NO_CONTEXT);
  EGLSurface surface = start_pbuffer(display, config, WINDOW, WINDOW);
  start_current(display, surface, context);

  const char* names[] = {"position"};
  GLuint fill = link_program(
      "#version 100\nattribute vec2 position; uniform vec4 move;\n"
      "void main() { gl_Position = vec4(position * move.zw + move.xy, 0.0, 1.0); }\n",
      "#version 100\nprecision highp float; uniform vec4 color; void main() { gl_FragColor = color; }\n", names, 1);
  GLuint show = link_program(
      "#version 100\nattribute vec2 position; uniform vec4 move; varying vec2 c;\n"
      "void main() { c = position * 0.5 + 0.5; gl_Position = vec4(position * move.zw + move.xy, 0.0, 1.0); }\n",
      "#version 100\nprecision highp float; uniform sampler2D image; varying vec2 c;\n"
      "void main() { gl_FragColor = vec4(texture2D(image, c).rgb, 0.5); }\n",
      names, 1);
  static const GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT); /* the window, once */
  GLuint quad;
  glGenBuffers(1, &quad);
  glBindBuffer(GL_ARRAY_BUFFER, quad);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glEnableVertexAttribArray(0);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);

  flat_target(GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE);
  flat_target(GL_RGB, GL_RGB, GL_UNSIGNED_BYTE);
  GLuint cube = texture(GL_TEXTURE_CUBE_MAP);
  for (GLenum face = 0; face < 6; face++)
    glTexImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X + face, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  framebuffer();
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_CUBE_MAP_POSITIVE_Y, cube, 0);
  attached("cube");
  GLuint storage;
  glGenRenderbuffers(1, &storage);
  glBindRenderbuffer(GL_RENDERBUFFER, storage);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGB565, SIDE, SIDE);
  framebuffer();
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, storage);
  attached("renderbuffer");
  if (three) layer_target(GL_TEXTURE_2D_ARRAY, 1);
  if (gl) {
    layer_target(GL_TEXTURE_3D, 2);
    flat_target(GL_RGBA16F, GL_RGBA, GL_FLOAT);
    flat_target(GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_BYTE);
    flat_target(0x8F97 /* RGBA8_SNORM */, GL_RGBA, GL_BYTE);
  }
  if (three) {
    depth_target(GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8, GL_DEPTH_STENCIL_ATTACHMENT);
    depth_target(GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT, GL_DEPTH_ATTACHMENT);
    depth_target(GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, GL_DEPTH_ATTACHMENT);
    if (!gl) depth_target(GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, GL_DEPTH_ATTACHMENT);
    storage_target(GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL_ATTACHMENT);
    storage_target(GL_DEPTH_COMPONENT16, GL_DEPTH_ATTACHMENT);
    storage_target(GL_DEPTH_COMPONENT32F, GL_DEPTH_ATTACHMENT);
  }
  GLuint copy = texture(GL_TEXTURE_2D), other = 0, unpack = 0;
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, SIDE, SIDE, 0, GL_RGB, GL_UNSIGNED_BYTE, NULL);
  GLuint old[2] = {0}; /* that no framebuffer takes: a part is copied into them in each frame */
  for (int i = 0; gl && i < 2; i++) {
    old[i] = texture(GL_TEXTURE_2D);
    glTexImage2D(GL_TEXTURE_2D, 0, i ? 0x804B /* INTENSITY8 */ : 0x8045 /* LUMINANCE8_ALPHA8 */, SIDE, SIDE, 0, GL_RGBA,
                 GL_UNSIGNED_BYTE, NULL);
  }
  glActiveTexture(GL_TEXTURE3);
  other = texture(GL_TEXTURE_2D);
  (void)other;
  glActiveTexture(GL_TEXTURE0);
  if (three) glGenBuffers(1, &unpack);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  glEnable(GL_BLEND);
  const GLint fill_move = glGetUniformLocation(fill, "move"), fill_color = glGetUniformLocation(fill, "color");
  const GLint show_move = glGetUniformLocation(show, "move");
  while (glGetError()) {}

  for (int frame = 0; goes_on(frame, frames); frame++) {
    glDisable(GL_SCISSOR_TEST);
    for (int i = 0; i < g_count; i++) {
      const float x = (float)((frame * (7 + i)) % 41) / 20 - 1, y = (float)((frame * (5 + 2 * i)) % 37) / 18 - 1;
      glBindFramebuffer(GL_FRAMEBUFFER, g_framebuffers[i]);
      glViewport(0, 0, SIDE, SIDE);
      glUseProgram(fill);
      glUniform4f(fill_move, x, y, 0.2f, 0.3f);
      glUniform4f(fill_color, (float)(frame % 11) / 10, (float)(frame % 7) / 6, (float)((frame + i) % 5) / 4, 0.37f);
      if (g_depths[i]) { /* this frame's depth, wherever the square is */
        const float depth = (float)((frame * 13 + i) % 29) / 28;
        glDepthFunc(GL_ALWAYS);
        glDepthRangef(depth, depth);
        glEnable(GL_DEPTH_TEST);
      }
      if (g_tested[i]) glClear(GL_COLOR_BUFFER_BIT);
      if (g_tested[i])
        draw_tested(frame, i, fill_move, fill_color, (float[]){x, y, 0.2f, 0.3f});
      else
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
      glDisable(GL_DEPTH_TEST);
      glBindTexture(GL_TEXTURE_2D, g_depths[i] ? g_depths[i] : copy);
      if (!g_depths[i]) glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 0, 0, SIDE, SIDE);
      glBindFramebuffer(GL_FRAMEBUFFER, 0);
      glViewport(0, 0, WINDOW, WINDOW);
      glUseProgram(show);
      glUniform4f(show_move, (float)(i % 5) * 0.4f - 0.8f, (float)(i / 5) * 0.4f - 0.8f, 0.19f, 0.19f);
      glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    for (int i = 0; i < 2 && old[i]; i++) {
      glBindFramebuffer(GL_FRAMEBUFFER, g_framebuffers[i]);
      glBindTexture(GL_TEXTURE_2D, old[i]);
      glCopyTexSubImage2D(GL_TEXTURE_2D, 0, (frame * 5) % 33, (frame * 7) % 29, 8, 8, 12, 12);
      glBindFramebuffer(GL_FRAMEBUFFER, 0);
      glUniform4f(show_move, (float)i * 0.6f - 0.6f, 0.9f, 0.3f, 0.1f);
      glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    if (three) { /* the window's depth and stencil */
      glUseProgram(fill);
      draw_tested(frame, 3, fill_move, fill_color,
                  (float[]){(float)((frame * 7) % 41) / 20 - 1, (float)((frame * 5) % 37) / 18 - 1, 0.3f, 0.2f});
    }
    /* Now as unlike what it is at first as can be. */
    glEnable(GL_SCISSOR_TEST);
    glScissor(1, 2, 3, 4);
    glPixelStorei(GL_UNPACK_ALIGNMENT, frame % 2 ? 8 : 2);
    glPixelStorei(GL_PACK_ALIGNMENT, frame % 2 ? 2 : 8);
    if (three) {
      glPixelStorei(GL_UNPACK_ROW_LENGTH, 7);
      glPixelStorei(GL_UNPACK_SKIP_PIXELS, 3);
      glBindBuffer(GL_PIXEL_UNPACK_BUFFER, unpack);
      glBindFramebuffer(GL_READ_FRAMEBUFFER, g_framebuffers[2]);
    }
    if (frame % 3) glBindFramebuffer(three ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER, g_framebuffers[frame % 2]);
    glActiveTexture(GL_TEXTURE3);
    glEnable(0xDEAD); /* an error that nobody may take away */
    if (frame % 3) {
      /* A frame's image is the framebuffer that is drawn to: the window's, so that all is compared. */
      glBindFramebuffer(three ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER, 0);
    }
    eglSwapBuffers(display, surface);
    if (glGetError() != GL_INVALID_ENUM || glGetError()) {
      fprintf(stderr, "frame %d: not the error that was made\n", frame);
      return 1;
    }
    GLint value[4] = {0}, texture_now = 0;
    glGetIntegerv(GL_SCISSOR_BOX, value);
    glGetIntegerv(GL_TEXTURE_BINDING_2D, &texture_now);
    glGetIntegerv(GL_UNPACK_ALIGNMENT, &value[3]);
    if (value[0] != 1 || value[3] != (frame % 2 ? 8 : 2) || texture_now != (GLint)other ||
        !glIsEnabled(GL_SCISSOR_TEST)) {
      fprintf(stderr, "frame %d: the state is not what it was\n", frame);
      return 1;
    }
    glActiveTexture(GL_TEXTURE0);
    if (argc > 3) usleep((useconds_t)atoi(argv[3]));
  }
  return 0;
}
