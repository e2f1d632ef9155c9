// Images that OpenVG and OpenGL ES share as EGLImages, made by either. shared: what each side must see of the other,
// and what must be refused; prints what differs. shared frames, shared targets: frames that each side has a part in,
// with a sum of each; the images are made by OpenVG, or by OpenGL.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include <VG/openvg.h>
#include <VG/vgext.h>
#include <VG/vgu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, WIDTH = 48, FRAMES = 10 };

static int failures;
#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("line %d: %s (egl %x, vg %x, gl %x)\n", __LINE__, #condition, eglGetError(), vgGetError(), glGetError()); \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)

static EGLDisplay display;
static EGLConfig config;
static EGLSurface canvas, window;
static EGLContext vector, raster;
static GLuint program, framebuffer;
static PFNEGLCREATEIMAGEKHRPROC create_image;
static PFNEGLDESTROYIMAGEKHRPROC destroy_image;
static PFNGLEGLIMAGETARGETTEXTURE2DOESPROC image_texture;
static PFNVGCREATEEGLIMAGETARGETKHRPROC image_target;

static EGLImageKHR share_with(EGLContext context, VGImage image, const EGLint* attributes) {
  return create_image(display, context, EGL_VG_PARENT_IMAGE_KHR, (EGLClientBuffer)(uintptr_t)image, attributes);
}
static EGLImageKHR share(VGImage image) { return share_with(vector, image, NULL); }
static VGImage new_image(VGImageFormat format) { return vgCreateImage(format, SIDE, SIDE, VG_IMAGE_QUALITY_FASTER); }
static void fill(VGImage image, int x, int y, int width, int height, float r, float g, float b, float a) {
  float color[] = {r, g, b, a};
  vgSetfv(VG_CLEAR_COLOR, 4, color);
  vgClearImage(image, x, y, width, height);
}

static GLuint shader(GLenum type, const char* source) {
  GLuint made = glCreateShader(type);
  glShaderSource(made, 1, &source, NULL);
  glCompileShader(made);
  return made;
}
static void make(void) {
  display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  EGLint wanted[] = {EGL_RENDERABLE_TYPE,
                     EGL_OPENVG_BIT | EGL_OPENGL_ES2_BIT,
                     EGL_SURFACE_TYPE,
                     EGL_PBUFFER_BIT,
                     EGL_RED_SIZE,
                     8,
                     EGL_ALPHA_SIZE,
                     8,
                     EGL_NONE};
  EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, WIDTH, EGL_NONE}, two[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE},
         count;
  if (!eglInitialize(display, NULL, NULL) || !eglChooseConfig(display, wanted, &config, 1, &count) || !count) exit(77);
  canvas = eglCreatePbufferSurface(display, config, size), window = eglCreatePbufferSurface(display, config, size);
  create_image = (PFNEGLCREATEIMAGEKHRPROC)eglGetProcAddress("eglCreateImageKHR");
  destroy_image = (PFNEGLDESTROYIMAGEKHRPROC)eglGetProcAddress("eglDestroyImageKHR");
  image_texture = (PFNGLEGLIMAGETARGETTEXTURE2DOESPROC)eglGetProcAddress("glEGLImageTargetTexture2DOES");
  image_target = (PFNVGCREATEEGLIMAGETARGETKHRPROC)eglGetProcAddress("vgCreateEGLImageTargetKHR");
  eglBindAPI(EGL_OPENGL_ES_API);
  raster = eglCreateContext(display, config, EGL_NO_CONTEXT, two);
  if (!eglMakeCurrent(display, window, window, raster)) exit(3);
  program = glCreateProgram();
  glAttachShader(
      program,
      shader(GL_VERTEX_SHADER,
             "attribute vec2 p; varying vec2 t; void main() { t = p * 0.5 + 0.5; gl_Position = vec4(p, 0.0, 1.0); }"));
  glAttachShader(
      program,
      shader(
          GL_FRAGMENT_SHADER,
          "precision mediump float; varying vec2 t; uniform sampler2D s; void main() { gl_FragColor = texture2D(s, t); }"));
  glBindAttribLocation(program, 0, "p");
  glLinkProgram(program);
  glUseProgram(program);
  glEnableVertexAttribArray(0);
  glGenFramebuffers(1, &framebuffer);
  glViewport(0, 0, WIDTH, WIDTH);
  glClear(GL_COLOR_BUFFER_BIT);
  eglBindAPI(EGL_OPENVG_API);
  vector = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  if (!eglMakeCurrent(display, canvas, canvas, vector)) exit(3);
}

static GLuint new_texture(void) {
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  return texture;
}
static GLuint texture_of(EGLImageKHR image) {
  GLuint texture = new_texture();
  image_texture(GL_TEXTURE_2D, image);
  return texture;
}
static void draw(GLuint texture) {
  static const float corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  glBindTexture(GL_TEXTURE_2D, texture);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}
/* What OpenGL has at a texel of a shared image, as 0xRRGGBBAA. */
static uint32_t texel(GLuint texture, int x, int y) {
  GLubyte c[4];
  glClearColor(0, 0, 0, 0);
  glClear(GL_COLOR_BUFFER_BIT);
  draw(texture);
  glReadPixels(x * WIDTH / SIDE + 1, y * WIDTH / SIDE + 1, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, c);
  return (uint32_t)c[0] << 24 | (uint32_t)c[1] << 16 | (uint32_t)c[2] << 8 | c[3];
}
static VGuint pixel(VGImage image, int x, int y) {
  VGuint value = 0;
  vgGetImageSubData(image, &value, 4, VG_sRGBA_8888, x, y, 1, 1);
  return value;
}

static void refusals(void) {
  CHECK(strstr(eglQueryString(display, EGL_EXTENSIONS), "EGL_KHR_vg_parent_image"));
  VGImage parent = new_image(VG_sRGBA_8888), child = vgChildImage(parent, 2, 2, 4, 4), bits = new_image(VG_BW_1);
  static const EGLint level[] = {EGL_GL_TEXTURE_LEVEL_KHR, 0, EGL_NONE},
                      keep[] = {EGL_IMAGE_PRESERVED_KHR, EGL_TRUE, EGL_NONE};
  CHECK(!share(child) && eglGetError() == EGL_BAD_ACCESS);
  CHECK(!share(parent + 1000) && eglGetError() == EGL_BAD_PARAMETER);
  CHECK(!share(bits) && eglGetError() == EGL_BAD_MATCH);
  CHECK(!share_with(raster, parent, NULL) && eglGetError() == EGL_BAD_MATCH);
  CHECK(!share_with(EGL_NO_CONTEXT, parent, NULL) && eglGetError() == EGL_BAD_CONTEXT);
  CHECK(!share_with(vector, parent, level) && eglGetError() == EGL_BAD_PARAMETER);
  CHECK(!create_image(display, vector, EGL_GL_TEXTURE_2D_KHR, (EGLClientBuffer)1, NULL) &&
        eglGetError() == EGL_BAD_MATCH);
  EGLImageKHR image = share_with(vector, parent, keep);
  CHECK(image && eglGetError() == EGL_SUCCESS);
  CHECK(!share(parent) && eglGetError() == EGL_BAD_ACCESS); /* it is a sibling already */
  CHECK(!eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(uintptr_t)parent, config, NULL));
  CHECK(eglGetError() == EGL_BAD_ACCESS);
  vgDestroyImage(child); /* its name alone */
  CHECK(destroy_image(display, image) && !destroy_image(display, image));
  image = share(parent);
  CHECK(image && destroy_image(display, image));
  EGLSurface onto =
      eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(uintptr_t)parent, config, NULL);
  CHECK(onto && !share(parent) && eglGetError() == EGL_BAD_ACCESS);
  eglDestroySurface(display, onto);
  vgDestroyImage(parent);
  vgDestroyImage(bits);
}

/* Channels go over as they are stored: no colour is converted. */
static void formats(void) {
  static const struct {
    VGImageFormat format;
    uint32_t stored, seen;
  } known[] = {
      {VG_sRGBA_8888, 0x10203040, 0x10203040},
      {VG_sRGBA_8888_PRE, 0x10203040, 0x10203040},
      {VG_lRGBA_8888, 0x10203040, 0x10203040},
      {VG_sRGBX_8888, 0x10203040, 0x102030ff},
      {VG_sABGR_8888, 0x10203040, 0x40302010},
      {VG_sBGRA_8888, 0x10203040, 0x30201040},
      {VG_sRGB_565, 0xf81f, 0xff00ffff},
      {VG_sRGBA_5551, 0x07c1, 0x00ff00ff},
      {VG_sRGBA_4444, 0x1234, 0x11223344},
      {VG_sL_8, 0x20, 0x202020ff},
      {VG_A_8, 0x20, 0x00000020},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    VGImage image = new_image(known[i].format);
    uint32_t stored = known[i].stored;
    vgImageSubData(image, &stored, 4, known[i].format, 3, 5, 1, 1);
    EGLImageKHR shared = share(image);
    GLuint texture = texture_of(shared);
    uint32_t seen = texel(texture, 3, 5);
    if (seen != known[i].seen) printf("format %x: %08x\n", known[i].format, seen), failures++;
    CHECK(texel(texture, 4, 5) == texel(texture, 9, 9));
    glDeleteTextures(1, &texture);
    destroy_image(display, shared);
    vgDestroyImage(image);
  }
}

/* A child whose parent's name is gone is an image of its own, whatever was shared of the parent before. */
static void former_child(void) {
  VGImage parent = new_image(VG_sRGBA_8888), child = vgChildImage(parent, 8, 8, 4, 4);
  fill(parent, 0, 0, SIDE, SIDE, 1, 0, 0, 1);
  fill(child, 0, 0, 4, 4, 0, 0, 1, 1);
  EGLImageKHR image = share(parent);
  CHECK(image && destroy_image(display, image));
  vgDestroyImage(parent);
  image = share(child);
  CHECK(image);
  GLuint texture = texture_of(image);
  CHECK(texel(texture, 0, 0) == 0x0000ffff && texel(texture, 15, 15) == 0x0000ffff);
  glDeleteTextures(1, &texture);
  destroy_image(display, image);
  vgDestroyImage(child);
}

static void both_ways(void) {
  VGImage image = new_image(VG_sRGBA_8888), child = vgChildImage(image, 8, 8, 8, 8);
  fill(image, 0, 0, SIDE, SIDE, 1, 0, 0, 1);
  EGLImageKHR shared = share(image);
  GLuint texture = texture_of(shared);
  CHECK(texel(texture, 2, 2) == 0xff0000ff);
  fill(image, 0, 0, 4, 4, 0, 1, 0, 1);
  fill(child, 0, 0, 2, 2, 0, 0, 1, 1);
  vgFinish();
  CHECK(texel(texture, 2, 2) == 0x00ff00ff && texel(texture, 9, 9) == 0x0000ffff && texel(texture, 6, 6) == 0xff0000ff);
  fill(image, 0, 0, 1, 1, 1, 1, 1, 1);
  CHECK(eglWaitClient() && texel(texture, 0, 0) == 0xffffffff);
  /* The other way, by an upload and by drawing to it. */
  static const GLubyte yellow[] = {255, 255, 0, 255};
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 6, 6, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, yellow);
  CHECK(eglWaitClient() && pixel(image, 6, 6) == 0xffff00ff && pixel(image, 2, 2) == 0x00ff00ff);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  CHECK(glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE);
  glEnable(GL_SCISSOR_TEST);
  glScissor(8, 8, 4, 4);
  glClearColor(0, 1, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  fill(image, 0, 15, 1, 1, 0, 0, 0, 1); /* both write, each its own */
  eglWaitClient();
  CHECK(pixel(child, 3, 3) == 0x00ffffff && pixel(child, 4, 4) == 0xff0000ff && pixel(image, 0, 15) == 0x000000ff);
  CHECK(texel(texture, 0, 15) == 0x000000ff && texel(texture, 9, 9) == 0x00ffffff);
  /* Who was made of it has the pixels when everything else is gone. */
  CHECK(destroy_image(display, shared));
  fill(image, 0, 0, 1, 1, 0, 1, 1, 1);
  vgFlush();
  CHECK(texel(texture, 0, 0) == 0x00ffffff);
  fill(image, 0, 0, 1, 1, 1, 1, 0, 1);
  vgDestroyImage(image);
  vgDestroyImage(child);
  vgFinish();
  vgFinish();
  CHECK(texel(texture, 0, 0) == 0xffff00ff && texel(texture, 2, 2) == 0x00ff00ff);
  glDeleteTextures(1, &texture);
}

/* A texture of OpenGL's, and the EGLImage of it. */
static EGLImageKHR image_of(GLuint texture) {
  return create_image(display, raster, EGL_GL_TEXTURE_2D_KHR, (EGLClientBuffer)(uintptr_t)texture, NULL);
}
static GLuint filled(GLenum format, GLenum type, int bytes, uint32_t value) {
  GLubyte pixels[SIDE * SIDE * 4];
  for (int i = 0; i < SIDE * SIDE; i++) memcpy(pixels + i * bytes, &value, (size_t)bytes);
  GLuint texture = new_texture();
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage2D(GL_TEXTURE_2D, 0, (GLint)format, SIDE, SIDE, 0, format, type, pixels);
  return texture;
}
static void set_texel(GLuint texture, int x, int y, GLenum format, GLenum type, const void* value) {
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, x, y, 1, 1, format, type, value);
}

static void target_refusals(void) {
  CHECK(strstr((const char*)vgGetString(VG_EXTENSIONS), "VG_KHR_EGL_image"));
  CHECK(!image_target(NULL) && vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  CHECK(!image_target((VGeglImageKHR)0x12345678) && vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  GLuint texture = filled(GL_RGBA, GL_UNSIGNED_BYTE, 4, 0xff0000ff),
         grey = filled(GL_LUMINANCE, GL_UNSIGNED_BYTE, 1, 5);
  EGLImageKHR image = image_of(texture), of_grey = image_of(grey), gone = image_of(texture);
  CHECK(image && of_grey && gone && destroy_image(display, gone));
  CHECK(!image_target(gone) && vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  CHECK(!image_target(of_grey) && vgGetError() == VG_UNSUPPORTED_IMAGE_FORMAT_ERROR);
  VGImage made = image_target(image), child = vgChildImage(made, 1, 1, 2, 2);
  CHECK(made && child && vgGetError() == VG_NO_ERROR);
  CHECK(!share(made) && eglGetError() == EGL_BAD_ACCESS);
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  CHECK(!image_target(image));
  eglMakeCurrent(display, canvas, canvas, vector);
  vgDestroyImage(made);
  CHECK(!share(child) && eglGetError() == EGL_BAD_ACCESS); /* children are made of it, too */
  vgDestroyImage(child);
  destroy_image(display, image);
  destroy_image(display, of_grey);
  glDeleteTextures(1, &texture);
  glDeleteTextures(1, &grey);
  vgFinish();
}

/* What OpenVG has is what OpenGL has, with as many bits. */
static void target_formats(void) {
  static const struct {
    GLenum format, type;
    int bytes;
    uint32_t first, second;
    VGImageFormat becomes;
    VGuint as_first, as_second, written, seen;
  } known[] = {
      {GL_RGBA, GL_UNSIGNED_BYTE, 4, 0x40302010, 0x80706050, VG_sABGR_8888, 0x10203040, 0x50607080, 0x01020304,
       0x01020304},
      {GL_RGB, GL_UNSIGNED_BYTE, 3, 0x302010, 0x706050, VG_sXBGR_8888, 0x102030ff, 0x506070ff, 0x01020304, 0x010203ff},
      {GL_RGB, GL_UNSIGNED_SHORT_5_6_5, 2, 0x1863, 0xf81f, VG_sRGB_565, 0x190c19ff, 0xff00ffff, 0x00ff00ff, 0x00ff00ff},
      {GL_RGBA, GL_UNSIGNED_SHORT_4_4_4_4, 2, 0x1234, 0xfedc, VG_sRGBA_4444, 0x11223344, 0xffeeddcc, 0x55667788,
       0x55667788},
      {GL_RGBA, GL_UNSIGNED_SHORT_5_5_5_1, 2, 0x07c1, 0xf83e, VG_sRGBA_5551, 0x00ff00ff, 0xff00ff00, 0xff0000ff,
       0xff0000ff},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    GLuint texture = filled(known[i].format, known[i].type, known[i].bytes, known[i].first);
    EGLImageKHR shared = image_of(texture);
    VGImage image = image_target(shared);
    VGint format = vgGetParameteri(image, VG_IMAGE_FORMAT);
    VGuint first = pixel(image, 3, 5);
    set_texel(texture, 4, 5, known[i].format, known[i].type, &known[i].second);
    eglWaitClient();
    VGuint second = pixel(image, 4, 5), written = known[i].written;
    vgImageSubData(image, &written, 4, VG_sRGBA_8888, 5, 5, 1, 1);
    vgFinish();
    uint32_t seen = texel(texture, 5, 5), kept = texel(texture, 15, 15);
    eglWaitClient();
    if (format != (VGint)known[i].becomes || first != known[i].as_first || second != known[i].as_second ||
        seen != known[i].seen || pixel(image, 15, 15) != first || vgGetParameteri(image, VG_IMAGE_WIDTH) != SIDE ||
        texel(texture, 15, 15) != kept)
      printf("target %zu: format %x, %08x, %08x, %08x\n", i, format, first, second, seen), failures++;
    vgDestroyImage(image);
    destroy_image(display, shared);
    glDeleteTextures(1, &texture);
  }
  /* Of a renderbuffer. */
  GLuint buffer;
  glGenRenderbuffers(1, &buffer);
  glBindRenderbuffer(GL_RENDERBUFFER, buffer);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA4, 6, 3);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, buffer);
  glClearColor(1, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  EGLImageKHR shared = create_image(display, raster, EGL_GL_RENDERBUFFER_KHR, (EGLClientBuffer)(uintptr_t)buffer, NULL);
  VGImage image = image_target(shared);
  CHECK(image && pixel(image, 5, 2) == 0xff0000ff && vgGetParameteri(image, VG_IMAGE_WIDTH) == 6 &&
        vgGetParameteri(image, VG_IMAGE_HEIGHT) == 3);
  glClearColor(0, 0, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  fill(image, 0, 0, 1, 1, 0, 1, 0, 1);
  eglWaitClient();
  GLubyte seen[8];
  glReadPixels(0, 0, 2, 1, GL_RGBA, GL_UNSIGNED_BYTE, seen);
  CHECK(pixel(image, 1, 0) == 0x0000ffff && seen[0] == 0 && seen[1] == 255 && seen[6] == 255);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  vgDestroyImage(image);
  destroy_image(display, shared);
  glDeleteRenderbuffers(1, &buffer);
}

static void target_both_ways(void) {
  GLuint texture = filled(GL_RGBA, GL_UNSIGNED_BYTE, 4, 0xff0000ff); /* red */
  EGLImageKHR shared = image_of(texture);
  VGImage image = image_target(shared), child = vgChildImage(image, 8, 8, 8, 8);
  CHECK(image && pixel(image, 0, 0) == 0xff0000ff && pixel(child, 7, 7) == 0xff0000ff);
  fill(image, 0, 0, 4, 4, 0, 1, 0, 1);
  fill(child, 0, 0, 2, 2, 0, 0, 1, 1);
  CHECK(texel(texture, 2, 2) == 0xff0000ff); /* not yet */
  vgFinish();
  CHECK(texel(texture, 2, 2) == 0x00ff00ff && texel(texture, 9, 9) == 0x0000ffff && texel(texture, 6, 6) == 0xff0000ff);
  static const GLubyte yellow[] = {255, 255, 0, 255};
  set_texel(texture, 6, 6, GL_RGBA, GL_UNSIGNED_BYTE, yellow);
  fill(image, 6, 7, 1, 1, 1, 1, 1, 1); /* both write, each its own */
  CHECK(pixel(image, 6, 6) == 0xff0000ff);
  CHECK(eglWaitClient() && pixel(image, 6, 6) == 0xffff00ff && pixel(image, 2, 2) == 0x00ff00ff &&
        texel(texture, 6, 7) == 0xffffffff);
  /* Drawn, and drawn to. */
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  vgLoadIdentity();
  vgDrawImage(image);
  VGuint drawn = 0;
  vgReadPixels(&drawn, 4, VG_sRGBA_8888, 9, 9, 1, 1);
  CHECK(drawn == 0x0000ffff);
  vgDestroyImage(child); /* an image with children has no surface */
  EGLSurface onto =
      eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(uintptr_t)image, config, NULL);
  CHECK(onto && eglMakeCurrent(display, onto, onto, vector));
  float cyan[] = {0, 1, 1, 1};
  vgSetfv(VG_CLEAR_COLOR, 4, cyan);
  vgClear(10, 10, 2, 2);
  CHECK(eglMakeCurrent(display, canvas, canvas, vector) && eglDestroySurface(display, onto));
  CHECK(texel(texture, 11, 11) == 0x00ffffff && texel(texture, 12, 12) == 0xff0000ff);
  /* Another of the same EGLImage has the same pixels. */
  VGImage twin = image_target(shared);
  CHECK(twin != image && pixel(twin, 11, 11) == 0x00ffffff);
  fill(twin, 11, 11, 1, 1, 1, 0, 1, 1);
  CHECK(pixel(image, 11, 11) == 0xff00ffff && vgGetParent(twin) == twin);
  /* A context that shares nothing with ours sees it at the next of those calls, whoever wrote. */
  EGLContext stranger = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  CHECK(eglMakeCurrent(display, canvas, canvas, stranger));
  VGImage theirs = image_target(shared);
  CHECK(theirs && pixel(theirs, 11, 11) == 0xff00ffff);
  fill(theirs, 0, 0, 2, 1, 0, 0, 0, 1);
  CHECK(eglMakeCurrent(display, canvas, canvas, vector));
  CHECK(pixel(image, 1, 0) == 0x000000ff && pixel(image, 2, 0) == 0x00ff00ff && texel(texture, 0, 0) == 0x000000ff);
  fill(image, 0, 0, 1, 1, 1, 1, 1, 1);
  CHECK(eglMakeCurrent(display, canvas, canvas, stranger) && pixel(theirs, 0, 0) == 0xffffffff &&
        pixel(theirs, 1, 0) == 0x000000ff);
  vgDestroyImage(theirs);
  CHECK(eglMakeCurrent(display, canvas, canvas, vector) && eglDestroyContext(display, stranger));
  /* The pixels stay when what they were made of is gone; what was drawn last arrives before the image is gone. */
  GLuint other = texture_of(shared);
  CHECK(destroy_image(display, shared));
  glDeleteTextures(1, &texture);
  fill(image, 3, 3, 1, 1, 0, 0, 0, 0);
  vgFlush();
  CHECK(texel(other, 3, 3) == 0 && texel(other, 2, 2) == 0x00ff00ff);
  fill(twin, 4, 3, 1, 1, 1, 1, 0, 1);
  vgDestroyImage(image);
  vgDestroyImage(twin);
  vgFinish();
  CHECK(texel(other, 4, 3) == 0xffff00ff);
  glDeleteTextures(1, &other);
  /* From OpenVG to OpenVG: the same pixels at once, and OpenGL sees them, too. */
  VGImage source = new_image(VG_sRGBA_8888_PRE);
  shared = share(source);
  image = image_target(shared);
  texture = texture_of(shared);
  fill(image, 0, 0, 2, 2, 1, 0, 0, 1);
  CHECK(image != source && pixel(source, 1, 1) == 0xff0000ff &&
        vgGetParameteri(image, VG_IMAGE_FORMAT) == VG_sRGBA_8888_PRE);
  CHECK(eglWaitClient() && texel(texture, 1, 1) == 0xff0000ff);
  vgDestroyImage(source);
  destroy_image(display, shared);
  fill(image, 0, 0, 1, 1, 0, 0, 1, 1);
  vgFinish();
  CHECK(texel(texture, 0, 0) == 0x0000ffff && texel(texture, 1, 1) == 0xff0000ff);
  glDeleteTextures(1, &texture);
  vgDestroyImage(image);
  CHECK(vgGetError() == VG_NO_ERROR && glGetError() == GL_NO_ERROR);
}

static void print_sum(void) {
  unsigned char bytes[WIDTH * WIDTH * 4];
  unsigned sum = 0;
  glReadPixels(0, 0, WIDTH, WIDTH, GL_RGBA, GL_UNSIGNED_BYTE, bytes);
  for (size_t i = 0; i < sizeof bytes; i++) sum = sum * 31 + bytes[i];
  printf("%08x\n", sum);
}

static void target_frames(void) {
  eglBindAPI(EGL_OPENGL_ES_API);
  GLuint seen = filled(GL_RGBA, GL_UNSIGNED_BYTE, 4, 0xff402010),
         drawn = filled(GL_RGB, GL_UNSIGNED_SHORT_5_6_5, 2, 0x1234), unseen = filled(GL_RGBA, GL_UNSIGNED_BYTE, 4, 0);
  EGLImageKHR images[] = {image_of(seen), image_of(drawn), image_of(unseen)};
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, drawn, 0);
  eglBindAPI(EGL_OPENVG_API);
  VGImage to_seen = image_target(images[0]), of_drawn = image_target(images[1]), to_unseen = image_target(images[2]);
  VGImage part = vgChildImage(to_seen, 4, 4, 8, 8), twin = image_target(images[0]);
  VGPath path = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
  vguEllipse(path, 8, 8, 12, 9);
  VGPaint paint = vgCreatePaint();
  vgSetPaint(paint, VG_FILL_PATH);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  for (int frame = 0; frame < FRAMES; frame++) {
    fill(to_unseen, frame, 0, 4, 4, 1, 0, 0, 1);
    eglBindAPI(EGL_OPENGL_ES_API);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glEnable(GL_SCISSOR_TEST);
    glScissor(frame, 2, 6, 6);
    glClearColor((float)frame / FRAMES, 0.5f, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glDisable(GL_SCISSOR_TEST);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    eglWaitClient();
    eglBindAPI(EGL_OPENVG_API);
    float clear[] = {0, (float)frame / FRAMES, 0.5f, 1};
    vgSetfv(VG_CLEAR_COLOR, 4, clear);
    vgClear(0, 0, WIDTH, WIDTH);
    vgLoadIdentity();
    vgTranslate(10, 10);
    vgDrawImage(of_drawn); /* what OpenGL drew, and from there to OpenGL again */
    vgSetColor(paint, 0xff8000ffu + (VGuint)(frame * 9 << 8));
    vgDrawPath(path, VG_FILL_PATH);
    vgGetPixels(part, 0, 0, 6, 6, 8, 8);
    fill(twin, 15 - frame, 15, 1, 1, 1, 1, 1, 1);
    vgFinish();
    eglBindAPI(EGL_OPENGL_ES_API);
    draw(seen);
    print_sum();
    eglSwapBuffers(display, window);
    eglBindAPI(EGL_OPENVG_API);
  }
  CHECK(vgGetError() == VG_NO_ERROR && glGetError() == GL_NO_ERROR);
}

static void frames(void) {
  VGImage seen = new_image(VG_sRGBA_8888), drawn = new_image(VG_sRGBA_8888), unseen = new_image(VG_sRGBA_8888);
  EGLImageKHR images[] = {share(seen), share(drawn), share(unseen)};
  eglBindAPI(EGL_OPENGL_ES_API);
  GLuint seen_texture = texture_of(images[0]), drawn_texture = texture_of(images[1]),
         unseen_texture = texture_of(images[2]);
  (void)unseen_texture;
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, drawn_texture, 0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  eglBindAPI(EGL_OPENVG_API);
  VGPath path = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
  vguEllipse(path, 8, 8, 12, 9);
  VGPaint paint = vgCreatePaint();
  vgSetPaint(paint, VG_FILL_PATH);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  for (int frame = 0; frame < FRAMES; frame++) {
    float clear[] = {0, (float)frame / FRAMES, 0.5f, 1};
    fill(unseen, frame, 0, 4, 4, 1, 0, 0, 1);
    vgSetfv(VG_CLEAR_COLOR, 4, clear);
    vgClear(0, 0, WIDTH, WIDTH);
    vgSetColor(paint, 0xff8000ffu + (VGuint)(frame * 9 << 8));
    vgDrawPath(path, VG_FILL_PATH);
    vgGetPixels(seen, 0, 0, 0, 0, SIDE, SIDE);
    vgFinish();
    eglBindAPI(EGL_OPENGL_ES_API);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glClearColor((float)frame / FRAMES, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glFinish();
    eglWaitClient();
    eglBindAPI(EGL_OPENVG_API);
    vgLoadIdentity();
    vgTranslate(20, 20);
    vgDrawImage(drawn); /* what OpenGL drew, and from there to OpenGL again */
    vgGetPixels(seen, 10, 10, 22, 22, 6, 6);
    eglBindAPI(EGL_OPENGL_ES_API);
    draw(seen_texture);
    print_sum();
    eglSwapBuffers(display, window);
    eglBindAPI(EGL_OPENVG_API);
  }
  CHECK(vgGetError() == VG_NO_ERROR && glGetError() == GL_NO_ERROR);
}

int main(int argc, char** argv) {
  make();
  if (argc > 1 && !strcmp(argv[1], "frames"))
    frames();
  else if (argc > 1)
    target_frames();
  else
    refusals(), formats(), former_child(), both_ways(), target_refusals(), target_formats(), target_both_ways();
  eglTerminate(display);
  if (argc < 2) printf("%d differ\n", failures);
  return failures != 0;
}
