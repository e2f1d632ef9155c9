/* Render to texture: a scene, two passes of blur, a shadow map; and a trail that feeds on the frame before, restarted
 * every eighth frame. Some targets are drawn and never read. fbo_chain [FRAMES] */
#include <GLES3/gl3.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64 };

static GLuint g_quad, g_fans;

static GLuint target(GLuint* framebuffer, GLenum attachment, GLenum internal, GLenum format, GLenum type) {
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, (GLint)internal, SIDE, SIDE, 0, format, type, NULL);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glGenFramebuffers(1, framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, *framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, attachment, GL_TEXTURE_2D, texture, 0);
  return texture;
}

static void quad(GLuint texture) {
  glBindTexture(GL_TEXTURE_2D, texture);
  glBindBuffer(GL_ARRAY_BUFFER, g_quad);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void fan(int first) {
  glBindBuffer(GL_ARRAY_BUFFER, g_fans);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glDrawArrays(GL_TRIANGLE_FAN, first, 8);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 30;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  const char* names[] = {"position"};
  const char* plain =
      "attribute vec2 position; uniform vec3 move; varying vec2 c;\n"
      "void main() { c = position * 0.5 + 0.5; gl_Position = vec4(position * move.z + move.xy, 0.3, 1.0); }\n";
  GLuint fill = link_program(
      plain, "precision mediump float; uniform vec4 color; void main() { gl_FragColor = color; }\n", names, 1);
  GLuint blur = link_program(
      plain,
      "precision mediump float; uniform sampler2D image; uniform vec2 step; varying vec2 c;\n"
      "void main() { gl_FragColor = 0.4 * texture2D(image, c) + 0.3 * texture2D(image, c + step) + 0.3 * texture2D(image, c - step); }\n",
      names, 1);
  GLuint mix = link_program(
      plain,
      "precision mediump float; uniform sampler2D image; uniform sampler2D trail; uniform sampler2D depth; varying vec2 c;\n"
      "void main() { gl_FragColor = texture2D(image, c) * 0.7 + texture2D(trail, c) * 0.5 + vec4(0.2 * texture2D(depth, c).r); }\n",
      names, 1);
  GLuint never = link_program(plain, "precision mediump float; void main() { gl_FragColor = vec4(1.0); }\n", names, 1);
  (void)never;
  GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1}, fans[3 * 16];
  for (int i = 0; i < 24; i++)
    fans[2 * i] = (float)((i * 29) % 17) / 17 - 0.5f, fans[2 * i + 1] = (float)((i * 11) % 13) / 13 - 0.5f;
  glGenBuffers(1, &g_quad);
  glBindBuffer(GL_ARRAY_BUFFER, g_quad);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glGenBuffers(1, &g_fans);
  glBindBuffer(GL_ARRAY_BUFFER, g_fans);
  glBufferData(GL_ARRAY_BUFFER, sizeof fans, NULL, GL_DYNAMIC_DRAW);
  glBufferSubData(GL_ARRAY_BUFFER, 0, 64, fans);
  glBufferSubData(GL_ARRAY_BUFFER, 64, sizeof fans - 64, fans + 16);
  glEnableVertexAttribArray(0);
  GLuint f[7];
  GLuint scene = target(&f[0], GL_COLOR_ATTACHMENT0, GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE);
  GLuint half = target(&f[1], GL_COLOR_ATTACHMENT0, GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE);
  GLuint full = target(&f[2], GL_COLOR_ATTACHMENT0, GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE);
  GLuint trail[2] = {target(&f[3], GL_COLOR_ATTACHMENT0, GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE),
                     target(&f[4], GL_COLOR_ATTACHMENT0, GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE)};
  GLuint depth = target(&f[5], GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT);
  target(&f[6], GL_COLOR_ATTACHMENT0, GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE); /* drawn every frame, read by nothing */
  GLint fill_move = glGetUniformLocation(fill, "move"), fill_color = glGetUniformLocation(fill, "color");
  GLint blur_move = glGetUniformLocation(blur, "move"), blur_step = glGetUniformLocation(blur, "step");
  GLint mix_move = glGetUniformLocation(mix, "move");
  glUseProgram(blur);
  glUniform3f(blur_move, 0, 0, 1);
  glUseProgram(mix);
  glUniform3f(mix_move, 0, 0, 1);
  glUniform1i(glGetUniformLocation(mix, "trail"), 1);
  glUniform1i(glGetUniformLocation(mix, "depth"), 2);
  glViewport(0, 0, SIDE, SIDE);

  for (int frame = 0; frame < frames; frame++) {
    float t = (float)frame / 30;
    int now = frame % 2;
    glUseProgram(fill);
    glBindFramebuffer(GL_FRAMEBUFFER, f[0]);
    glClearColor(0, 0, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glUniform3f(fill_move, t - 0.3f, 0.1f, 0.9f);
    glUniform4f(fill_color, 0.9f, t, 0.2f, 1);
    fan(0);
    glUniform4f(fill_color, 0.2f, 0.9f, t, 1);
    fan(8);
    glBindFramebuffer(GL_FRAMEBUFFER, f[6]);
    glClear(GL_COLOR_BUFFER_BIT);
    fan(16);
    glBindFramebuffer(GL_FRAMEBUFFER, f[5]);
    glEnable(GL_DEPTH_TEST);
    glClear(GL_DEPTH_BUFFER_BIT);
    fan(16);
    glDisable(GL_DEPTH_TEST);
    glUseProgram(blur);
    glBindFramebuffer(GL_FRAMEBUFFER, f[1]);
    glUniform2f(blur_step, 2.0f / SIDE, 0);
    quad(scene);
    glBindFramebuffer(GL_FRAMEBUFFER, f[2]);
    glUniform2f(blur_step, 0, 2.0f / SIDE);
    quad(half);
    glBindFramebuffer(GL_FRAMEBUFFER, f[3 + now]);
    if (frame % 8 == 0) {
      glClear(GL_COLOR_BUFFER_BIT);
    } else {
      glUniform2f(blur_step, 1.0f / SIDE, 1.0f / SIDE);
      quad(trail[1 - now]);
    }
    glUseProgram(fill);
    glUniform4f(fill_color, t, 0.5f, 1 - t, 1);
    fan(8);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glUseProgram(mix);
    glActiveTexture(GL_TEXTURE1);
    glBindTexture(GL_TEXTURE_2D, trail[now]);
    glActiveTexture(GL_TEXTURE2);
    glBindTexture(GL_TEXTURE_2D, depth);
    glActiveTexture(GL_TEXTURE0);
    glClear(GL_COLOR_BUFFER_BIT);
    quad(full);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
