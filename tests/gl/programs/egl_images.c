/* Four ways through an EGLImage, each in a quarter of the frame: a texture that is an image of another texture, of a
 * texture that a context draws which shares nothing with this one, a texture that is painted through a renderbuffer
 * which is its image, and a texture of an image whose first texture is gone. What they show changes from frame to
 * frame. Argument: frames. */
#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, IMAGE = 16 };

static PFNEGLCREATEIMAGEKHRPROC create_image;
static PFNEGLDESTROYIMAGEKHRPROC destroy_image;
static PFNGLEGLIMAGETARGETTEXTURE2DOESPROC image_texture;
static PFNGLEGLIMAGETARGETRENDERBUFFERSTORAGEOESPROC image_storage;

static GLuint new_texture(int from_pixels) {
  static GLubyte pixels[IMAGE * IMAGE * 4];
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  if (from_pixels) {
    for (int i = 0; i < IMAGE * IMAGE * 4; i++) pixels[i] = (GLubyte)(i % 4 == 3 ? 255 : i * from_pixels);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, IMAGE, IMAGE, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  }
  return texture;
}

static EGLImageKHR image_of(EGLDisplay display, EGLContext context, GLuint texture) {
  EGLImageKHR image = create_image(display, context, EGL_GL_TEXTURE_2D_KHR, (EGLClientBuffer)(uintptr_t)texture, NULL);
  if (image == EGL_NO_IMAGE_KHR) {
    fprintf(stderr, "no image of a texture: 0x%x\n", eglGetError());
    exit(77);
  }
  return image;
}

static GLuint framebuffer_of(GLuint texture, GLuint storage) {
  GLuint framebuffer;
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  if (texture)
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  else
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, storage);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) exit(77);
  return framebuffer;
}

static void paint(GLuint framebuffer, int frame, float green) {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glDisable(GL_SCISSOR_TEST);
  glClearColor(0, green, (float)(frame % 3) / 2, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glEnable(GL_SCISSOR_TEST);
  glScissor(frame % 8, 2, 5, 9);
  glClearColor(1, 1, green, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 6;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE), other_surface = start_pbuffer(display, config, 1, 1);
  EGLContext context = start_es(display, config, 2, 0, EGL_NO_CONTEXT),
             other = start_es(display, config, 2, 0, EGL_NO_CONTEXT);
  create_image = (PFNEGLCREATEIMAGEKHRPROC)eglGetProcAddress("eglCreateImageKHR");
  destroy_image = (PFNEGLDESTROYIMAGEKHRPROC)eglGetProcAddress("eglDestroyImageKHR");
  image_texture = (PFNGLEGLIMAGETARGETTEXTURE2DOESPROC)eglGetProcAddress("glEGLImageTargetTexture2DOES");
  image_storage =
      (PFNGLEGLIMAGETARGETRENDERBUFFERSTORAGEOESPROC)eglGetProcAddress("glEGLImageTargetRenderbufferStorageOES");
  const char* extensions = eglQueryString(display, EGL_EXTENSIONS);
  if (!extensions || !strstr(extensions, "EGL_KHR_gl_texture_2D_image") || !create_image || !image_texture ||
      !image_storage)
    return 77;

  /* The other context: names here have nothing to do with those there. */
  start_current(display, other_surface, other);
  (void)new_texture(3);
  GLuint theirs = new_texture(5), their_framebuffer = framebuffer_of(theirs, 0);
  glFlush();
  EGLImageKHR their_image = image_of(display, other, theirs);

  start_current(display, surface, context);
  GLuint picture = new_texture(7);
  GLuint canvas = new_texture(11), gone = new_texture(13), storage, shown[4];
  EGLImageKHR images[3] = {image_of(display, context, picture), image_of(display, context, canvas),
                           image_of(display, context, gone)};
  shown[0] = new_texture(0);
  image_texture(GL_TEXTURE_2D, images[0]);
  shown[1] = new_texture(0);
  image_texture(GL_TEXTURE_2D, their_image);
  shown[2] = canvas;
  shown[3] = new_texture(0);
  image_texture(GL_TEXTURE_2D, images[2]);
  glDeleteTextures(1, &gone);
  destroy_image(display, images[2]);
  glGenRenderbuffers(1, &storage);
  glBindRenderbuffer(GL_RENDERBUFFER, storage);
  image_storage(GL_RENDERBUFFER, images[1]);
  GLuint framebuffer = framebuffer_of(0, storage);

  const char* names[] = {"place"};
  GLuint program = link_program(
      "attribute vec2 place; uniform vec2 at; varying vec2 where;\n"
      "void main() { where = place; gl_Position = vec4(at + place, 0.0, 1.0); }\n",
      "precision mediump float; varying vec2 where; uniform sampler2D image;\n"
      "void main() { gl_FragColor = texture2D(image, where); }\n",
      names, 1);
  glUseProgram(program);
  GLint at = glGetUniformLocation(program, "at");
  const GLfloat square[] = {0, 0, 1, 0, 0, 1, 1, 1};
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, square);
  glEnableVertexAttribArray(0);
  static GLubyte part[4 * 4 * 4], pixels[SIDE * SIDE * 4];
  uint64_t sum = 0;
  for (int frame = 0; frame < frames; frame++) {
    start_current(display, other_surface, other);
    paint(their_framebuffer, frame, 0.25f);
    glFlush();
    start_current(display, surface, context);
    paint(framebuffer, frame, 0.75f);
    for (size_t i = 0; i < sizeof part; i++) part[i] = (GLubyte)(i % 4 == 3 ? 255 : frame * 40 + (int)i);
    glBindTexture(GL_TEXTURE_2D, picture);
    glTexSubImage2D(GL_TEXTURE_2D, 0, frame % 12, 3, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, part);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    for (int i = 0; i < 4; i++) {
      glBindTexture(GL_TEXTURE_2D, shown[i]);
      glUniform2f(at, i % 2 ? 0.0f : -1.0f, i / 2 ? 0.0f : -1.0f);
      glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    sum = checksum(sum, pixels, sizeof pixels);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x, checksum %016llx\n", glGetError(), (unsigned long long)sum);
  for (int i = 0; i < 2; i++) destroy_image(display, images[i]);
  destroy_image(display, their_image);
  eglTerminate(display);
  return 0;
}
