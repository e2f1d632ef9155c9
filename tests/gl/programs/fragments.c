/* Draws whose fragments are known: layers, depth from either side, discard, scissor, viewport, a triangle, points,
 * lines, another target, masks, stencil. OpenGL ES 2 as most programs use it. fragments [FRAMES] */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48, SMALL = 16 };

static const char* const VERTEX =
    "attribute vec3 place; uniform mat4 matrix; uniform float sizes[3]; uniform vec2 scale; varying float depth;\n"
    "void main() { gl_Position = matrix * vec4(place.xy * scale, place.z, 1.0); gl_PointSize = sizes[1]; depth = place.z; }\n";
static const char* const PLAIN =
    "precision mediump float; varying float depth; uniform vec4 color;\n"
    "void main() { gl_FragColor = color + vec4(depth * 0.1); }\n";
/* Where `front` is 1 only what lies in front is left out, else all of every other pixel. */
static const char* const PATTERN =
    "precision mediump float; varying float depth; uniform vec4 color; uniform float front;\n"
    "void main() { if (mod(floor(gl_FragCoord.x) + floor(gl_FragCoord.y), 2.0) < 0.5 && (front < 0.5 || depth < 0.0)) discard;\n"
    "  gl_FragColor = color; }\n";

static GLuint plain, pattern;

static void use(GLuint program, float x, float y) {
  static const GLfloat identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  static const GLfloat sizes[3] = {1, 4, 9};
  glUseProgram(program);
  glUniformMatrix4fv(glGetUniformLocation(program, "matrix"), 1, GL_FALSE, identity);
  glUniform1fv(glGetUniformLocation(program, "sizes[0]"), 3, sizes);
  glUniform2f(glGetUniformLocation(program, "scale"), x, y);
  glUniform4f(glGetUniformLocation(program, "color"), x * 0.5f, y * 0.25f, 0.5f, 1);
}

/* `layers` quads of the whole target at these depths, in one draw. */
static void quads(int layers, const float* depths) {
  GLfloat data[4 * 6 * 3];
  static const float corners[6][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, -1}, {1, 1}, {-1, 1}};
  for (int i = 0; i < layers * 6; i++) {
    data[i * 3] = corners[i % 6][0];
    data[i * 3 + 1] = corners[i % 6][1];
    data[i * 3 + 2] = depths[i / 6];
  }
  glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, data);
  glDrawArrays(GL_TRIANGLES, 0, layers * 6);
}
static void quad(float depth) { quads(1, &depth); }

static void shape(GLenum mode, int count, const GLfloat* places) {
  static const GLubyte indices[4] = {0, 1, 2, 3};
  glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, places);
  glDrawElements(mode, count, GL_UNSIGNED_BYTE, indices);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_deep_config(display, EGL_OPENGL_ES2_BIT, 24, 8);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  const char* const names[] = {"place"};
  plain = link_program(VERTEX, PLAIN, names, 1);
  pattern = link_program(VERTEX, PATTERN, names, 1);
  GLuint texture, framebuffer, depth;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SMALL, SMALL, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenRenderbuffers(1, &depth);
  glBindRenderbuffer(GL_RENDERBUFFER, depth);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT16, SMALL, SMALL);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glEnableVertexAttribArray(0);
  glStencilFunc(GL_EQUAL, 5, 0x0F);
  glStencilOp(GL_KEEP, GL_INCR, GL_REPLACE);
  glStencilMask(0x7F);
  glPixelStorei(GL_PACK_ALIGNMENT, 8);
  static const float front_first[] = {-0.5f, 0.5f}, back_first[] = {0.5f, -0.5f};
  static const GLfloat triangle[] = {-1, -1, 0, 1, -1, 0, -1, 1, 0}, far_line[] = {-2, 0.26f, 0, 2, 0.26f, 0},
                       middle[] = {0, 0, 0};
  for (int frame = 0; frame < frames; frame++) {
    glViewport(0, 0, WIDTH, HEIGHT);
    glDisable(GL_DEPTH_TEST);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    use(plain, 1, 1);
    quad(0); /*  0 all */
    glEnable(GL_BLEND);
    quads(2, front_first); /*  1 all, twice */
    glDisable(GL_BLEND);
    use(pattern, 1, 1);
    quad(0); /*  2 half is discarded */
    glEnable(GL_DEPTH_TEST);
    use(plain, 0.5f, 1);
    quad(-0.25f); /*  3 the middle half, in front */
    use(plain, 1, 1);
    quad(0.25f); /*  4 all, behind: half passes */
    glClear(GL_DEPTH_BUFFER_BIT);
    quads(2, front_first); /*  5 one passes */
    glClear(GL_DEPTH_BUFFER_BIT);
    quads(2, back_first); /*  6 both pass */
    glClear(GL_DEPTH_BUFFER_BIT);
    use(pattern, 1, 1);
    glUniform1f(glGetUniformLocation(pattern, "front"), 1);
    quads(2, front_first); /*  7 half of the front is discarded, the back is seen there */
    glUniform1f(glGetUniformLocation(pattern, "front"), 0);
    glDepthMask(GL_FALSE);
    use(plain, 1, 1);
    quads(2, front_first); /*  8 where the back is seen, only the front passes; the rest is hidden by equals */
    glDepthMask(GL_TRUE);
    glDisable(GL_DEPTH_TEST);
    glEnable(GL_SCISSOR_TEST);
    glScissor(5, 6, 10, 7);
    quad(0); /*  9 70 */
    use(pattern, 1, 1);
    quad(0); /* 10 70, half discarded */
    glDisable(GL_SCISSOR_TEST);
    use(plain, 1, 1);
    glViewport(8, 8, 16, 16);
    quad(0); /* 11 256 */
    glViewport(0, 0, WIDTH, HEIGHT);
    shape(GL_TRIANGLES, 3, triangle); /* 12 by arithmetic */
    shape(GL_POINTS, 1, middle);      /* 13 4 x 4 */
    shape(GL_LINES, 2, far_line);     /* 14 a row */
    glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
    quad(0); /* 15 all pass, none is written */
    glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    glEnable(GL_STENCIL_TEST);
    quad(0); /* 16 the stencil test is the program's */
    glDisable(GL_STENCIL_TEST);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glViewport(0, 0, SMALL, SMALL);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    use(pattern, 1, 1);
    quad(0); /* 17 256 in a framebuffer, half discarded */
    glEnable(GL_DEPTH_TEST);
    use(plain, 1, 1);
    quad(0); /* 18 a depth buffer of 16 bits */
    glDisable(GL_DEPTH_TEST);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    eglSwapBuffers(display, window);
  }
  GLint values[6];
  glGetIntegerv(GL_STENCIL_REF, &values[0]);
  glGetIntegerv(GL_STENCIL_VALUE_MASK, &values[1]);
  glGetIntegerv(GL_STENCIL_WRITEMASK, &values[2]);
  glGetIntegerv(GL_STENCIL_PASS_DEPTH_PASS, &values[3]);
  glGetIntegerv(GL_PACK_ALIGNMENT, &values[4]);
  glGetIntegerv(GL_RENDERBUFFER_BINDING, &values[5]);
  unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, %llx\n", glGetError(),
         (unsigned long long)checksum(checksum(0, values, sizeof values), pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
