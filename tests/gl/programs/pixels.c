/* Pixel transfers over the pixel-store parameters: formats, types, row length, image height, skips, alignment, 3D,
 * arrays, compressed images with block parameters, pixel buffers, bitmaps, read-backs of textures. Images lie at the
 * very end of a readable page, so that reading one byte too many is a crash. Desktop GL, compatibility profile. */
#define _GNU_SOURCE
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <sys/mman.h>
#include <unistd.h>
#include "egl_start.h"

static uint64_t g_sum;
static uint32_t g_random = 5;
static unsigned char* g_end; /* one past the last readable byte */

static void* at_end(size_t bytes) {
  unsigned char* at = g_end - bytes;
  for (size_t i = 0; i < bytes; i++) at[i] = (unsigned char)next_random(&g_random);
  return at;
}

typedef struct Kind {
  GLenum format, type;
  int bytes; /* of a pixel */
} Kind;

static const Kind g_kinds[] = {
    {GL_RGBA, GL_UNSIGNED_BYTE, 4},
    {GL_RGB, GL_UNSIGNED_BYTE, 3},
    {GL_RGB, GL_UNSIGNED_SHORT, 6},
    {GL_LUMINANCE_ALPHA, GL_UNSIGNED_BYTE, 2},
    {GL_ALPHA, GL_UNSIGNED_BYTE, 1},
    {GL_RGBA, GL_FLOAT, 16},
    {GL_RG, GL_HALF_FLOAT, 4},
    {GL_RGB, GL_UNSIGNED_SHORT_5_6_5, 2},
    {GL_RGBA, GL_UNSIGNED_SHORT_4_4_4_4, 2},
    {GL_BGRA, GL_UNSIGNED_INT_8_8_8_8_REV, 4},
    {GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV, 4},
    {GL_RGB, GL_UNSIGNED_BYTE_3_3_2, 1},
};

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

static void store_defaults(void) {
  const GLenum names[] = {GL_UNPACK_ROW_LENGTH,
                          GL_UNPACK_IMAGE_HEIGHT,
                          GL_UNPACK_SKIP_ROWS,
                          GL_UNPACK_SKIP_PIXELS,
                          GL_UNPACK_SKIP_IMAGES,
                          GL_PACK_ROW_LENGTH,
                          GL_PACK_IMAGE_HEIGHT,
                          GL_PACK_SKIP_ROWS,
                          GL_PACK_SKIP_PIXELS,
                          GL_PACK_SKIP_IMAGES,
                          GL_UNPACK_COMPRESSED_BLOCK_WIDTH,
                          GL_UNPACK_COMPRESSED_BLOCK_HEIGHT,
                          GL_UNPACK_COMPRESSED_BLOCK_DEPTH,
                          GL_UNPACK_COMPRESSED_BLOCK_SIZE};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) glPixelStorei(names[i], 0);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
}

static void matrix(void) {
  static unsigned char back[1 << 16];
  for (size_t k = 0; k < sizeof g_kinds / sizeof *g_kinds; k++) {
    const Kind* kind = &g_kinds[k];
    for (int i = 0; i < 12; i++) {
      size_t width = 1 + next_random(&g_random) % 9, height = 1 + next_random(&g_random) % 5;
      size_t depth = i % 3 == 2 ? 1 + next_random(&g_random) % 3 : 1;
      size_t row = i & 1 ? width + next_random(&g_random) % 7 : 0,
             rows = i & 2 ? height + next_random(&g_random) % 3 : 0;
      size_t skip_pixels = i & 4 ? 2 : 0, skip_rows = i & 4 ? 1 : 0, skip_images = i & 8 ? 1 : 0;
      size_t alignment = (size_t)1 << (i % 4);
      if (row && row < width + skip_pixels) row = width + skip_pixels;
      int volume = i % 3 == 2;
      glPixelStorei(GL_UNPACK_ALIGNMENT, (GLint)alignment);
      glPixelStorei(GL_UNPACK_ROW_LENGTH, (GLint)row);
      glPixelStorei(GL_UNPACK_IMAGE_HEIGHT, (GLint)rows);
      glPixelStorei(GL_UNPACK_SKIP_PIXELS, (GLint)skip_pixels);
      glPixelStorei(GL_UNPACK_SKIP_ROWS, (GLint)skip_rows);
      glPixelStorei(GL_UNPACK_SKIP_IMAGES, (GLint)skip_images);
      size_t row_bytes = round_up((row ? row : width) * (size_t)kind->bytes, alignment);
      size_t image_bytes = (volume && rows ? rows : height) * row_bytes;
      size_t bytes = (depth - 1 + (volume ? skip_images : 0)) * image_bytes + (skip_rows + height - 1) * row_bytes +
                     (skip_pixels + width) * (size_t)kind->bytes;
      const void* pixels = at_end(bytes);
      GLenum target = volume ? GL_TEXTURE_3D : GL_TEXTURE_2D;
      GLuint texture;
      glGenTextures(1, &texture);
      glBindTexture(target, texture);
      if (volume)
        glTexImage3D(target, 0, GL_RGBA8, (GLsizei)width, (GLsizei)height, (GLsizei)depth, 0, kind->format, kind->type,
                     pixels);
      else
        glTexImage2D(target, 0, GL_RGBA8, (GLsizei)width, (GLsizei)height, 0, kind->format, kind->type, pixels);
      glPixelStorei(GL_PACK_ALIGNMENT, (GLint)alignment);
      glPixelStorei(GL_PACK_ROW_LENGTH, i & 4 ? (GLint)width + 3 : 0);
      glPixelStorei(GL_PACK_SKIP_ROWS, (GLint)skip_rows);
      memset(back, 0, sizeof back);
      glGetTexImage(target, 0, kind->format, kind->type, back);
      g_sum = checksum(g_sum, back, 4096);
      glDeleteTextures(1, &texture);
    }
  }
  store_defaults();
}

static void compressed(void) {
  static unsigned char back[4096];
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glCompressedTexImage2D(GL_TEXTURE_2D, 0, GL_COMPRESSED_RGB_S3TC_DXT1_EXT, 16, 16, 0, 128, at_end(128));
  glCompressedTexSubImage2D(GL_TEXTURE_2D, 0, 4, 4, 8, 8, GL_COMPRESSED_RGB_S3TC_DXT1_EXT, 32, at_end(32));
  /* A part of a larger image: 8 by 8 at (4, 4) of one 16 wide. */
  glPixelStorei(GL_UNPACK_COMPRESSED_BLOCK_WIDTH, 4);
  glPixelStorei(GL_UNPACK_COMPRESSED_BLOCK_HEIGHT, 4);
  glPixelStorei(GL_UNPACK_COMPRESSED_BLOCK_SIZE, 8);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 16);
  glPixelStorei(GL_UNPACK_SKIP_PIXELS, 4);
  glPixelStorei(GL_UNPACK_SKIP_ROWS, 4);
  glCompressedTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 8, 8, GL_COMPRESSED_RGB_S3TC_DXT1_EXT, 32, at_end(2 * 32 + 3 * 8));
  store_defaults();
  glGetCompressedTexImage(GL_TEXTURE_2D, 0, back);
  g_sum = checksum(g_sum, back, sizeof back);
  glDeleteTextures(1, &texture);
}

static void pixel_buffers(void) {
  GLuint buffers[2], texture;
  glGenBuffers(2, buffers);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[0]);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, 4096, at_end(4096), GL_STREAM_DRAW);
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, (void*)256);
  glPushClientAttrib(GL_CLIENT_PIXEL_STORE_BIT);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 1, 1, 3, 3, GL_RGB, GL_UNSIGNED_BYTE, at_end(27));
  glPopClientAttrib();
  glTexSubImage2D(GL_TEXTURE_2D, 0, 8, 8, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, (void*)0);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, buffers[1]);
  glBufferData(GL_PIXEL_PACK_BUFFER, 4096, NULL, GL_STREAM_READ);
  glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, (void*)16);
  unsigned char back[1024];
  glGetBufferSubData(GL_PIXEL_PACK_BUFFER, 16, sizeof back, back);
  g_sum = checksum(g_sum, back, sizeof back);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  glDeleteBuffers(2, buffers);
  glDeleteTextures(1, &texture);
}

static void drawn(void) {
  static unsigned char back[64 * 64 * 4];
  GLubyte stipple[128];
  glWindowPos2i(3, 3);
  glDrawPixels(5, 4, GL_RGB, GL_UNSIGNED_BYTE, at_end(3 * 16 + 15));
  glPixelStorei(GL_UNPACK_ALIGNMENT, 2);
  glPixelStorei(GL_UNPACK_LSB_FIRST, 1);
  glPixelStorei(GL_UNPACK_SKIP_PIXELS, 3);
  glBitmap(13, 6, 0, 0, 4, 4, at_end(5 * 2 + 2));
  glPixelStorei(GL_UNPACK_LSB_FIRST, 0);
  store_defaults();
  glPolygonStipple(at_end(128));
  glGetPolygonStipple(stipple);
  g_sum = checksum(g_sum, stipple, sizeof stipple);
  glReadPixels(0, 0, 64, 64, GL_RGBA, GL_UNSIGNED_BYTE, back);
  g_sum = checksum(g_sum, back, sizeof back);
  glReadPixels(0, 0, 7, 5, GL_RGB, GL_UNSIGNED_BYTE, back);
  g_sum = checksum(g_sum, back, 24 * 5);
  const GLfloat map[] = {0, 0.5f, 1, 0.25f};
  GLfloat got[4];
  glPixelMapfv(GL_PIXEL_MAP_R_TO_R, 4, map);
  glGetPixelMapfv(GL_PIXEL_MAP_R_TO_R, got);
  g_sum = checksum(g_sum, got, sizeof got);
}

int main(void) {
  long page = sysconf(_SC_PAGESIZE);
  size_t room = 64 * (size_t)page;
  unsigned char* memory = mmap(NULL, room + (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + room, (size_t)page, PROT_NONE);
  g_end = memory + room;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, 64, 64);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  glClear(GL_COLOR_BUFFER_BIT);
  matrix();
  compressed();
  pixel_buffers();
  drawn();
  eglSwapBuffers(display, surface);
  printf("error 0x%x, checksum %016llx\n", glGetError(), (unsigned long long)g_sum);
  eglTerminate(display);
  return 0;
}
