/* How bytes reach what is drawn: buffers as sources and targets of pixels, mapped buffers (ranges, explicit flushes,
 * persistent), copies between buffers, copies of the framebuffer into textures and between framebuffers, images read
 * from a texture, mipmaps made by the driver, orphaned buffers. transfers [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, TEXELS = 16 };

static GLuint g_textures[6];

static void triangle_at(int texture, float x, float y) {
  const GLfloat corners[3][2] = {{x, y}, {x + 0.55f, y}, {x, y + 0.55f}};
  glBindTexture(GL_TEXTURE_2D, g_textures[texture]);
  glBufferSubData(GL_ARRAY_BUFFER, 0, sizeof corners, corners);
  glDrawArrays(GL_TRIANGLES, 0, 3);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 24;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 4, 5, 1, EGL_NO_CONTEXT));
  const char* names[] = {"position"};
  GLuint program = link_program(
      "#version 330\nin vec2 position; out vec2 c; void main() { c = position * 2.0; gl_Position = vec4(position, 0.0, 1.0); }\n",
      "#version 330\nuniform sampler2D image; in vec2 c; out vec4 color; void main() { color = texture(image, c); }\n",
      names, 1);
  GLuint array, buffers[6], framebuffer;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glGenBuffers(6, buffers);
  glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
  glBufferData(GL_ARRAY_BUFFER, 64, NULL, GL_STREAM_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  glUseProgram(program);
  glGenTextures(6, g_textures);
  static unsigned char texels[TEXELS * TEXELS * 4];
  for (int k = 0; k < 6; k++) {
    for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)((size_t)(k + 3) * i);
    glBindTexture(GL_TEXTURE_2D, g_textures[k]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, TEXELS, TEXELS, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, k == 2 ? GL_LINEAR_MIPMAP_NEAREST : GL_NEAREST);
  }
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[1]);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, sizeof texels, NULL, GL_STREAM_DRAW);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, buffers[2]);
  glBufferData(GL_PIXEL_PACK_BUFFER, sizeof texels, NULL, GL_STREAM_COPY);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  glBindBuffer(GL_COPY_READ_BUFFER, buffers[3]);
  glBufferStorage(GL_COPY_READ_BUFFER, sizeof texels, NULL,
                  GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT);
  unsigned char* lasting = glMapBufferRange(GL_COPY_READ_BUFFER, 0, sizeof texels,
                                            GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT);
  glBindBuffer(GL_COPY_WRITE_BUFFER, buffers[4]);
  glBufferData(GL_COPY_WRITE_BUFFER, sizeof texels, texels, GL_STATIC_DRAW);
  glBindBuffer(GL_COPY_READ_BUFFER, buffers[5]); /* nobody reads it */
  glBufferData(GL_COPY_READ_BUFFER, sizeof texels, texels, GL_STATIC_DRAW);
  glGenFramebuffers(1, &framebuffer);
  glViewport(0, 0, SIDE, SIDE);

  for (int frame = 0; frame < frames; frame++) {
    glClearColor(0.2f, 0.1f * (float)(frame % 8), 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    /* 0: through a mapped unpack buffer, a part of the image only */
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[1]);
    if (frame % 4 == 0) glBufferData(GL_PIXEL_UNPACK_BUFFER, sizeof texels, NULL, GL_STREAM_DRAW);
    unsigned char* at = glMapBufferRange(GL_PIXEL_UNPACK_BUFFER, 64, 512,
                                         GL_MAP_WRITE_BIT | (frame % 2 ? GL_MAP_FLUSH_EXPLICIT_BIT : 0));
    for (int i = 0; i < 512; i++) at[i] = (unsigned char)(i * (frame + 1));
    if (frame % 2) glFlushMappedBufferRange(GL_PIXEL_UNPACK_BUFFER, 0, 512);
    glUnmapBuffer(GL_PIXEL_UNPACK_BUFFER);
    glBindTexture(GL_TEXTURE_2D, g_textures[0]);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, frame % 8, TEXELS, 8, GL_RGBA, GL_UNSIGNED_BYTE, (void*)64);
    /* 1: from the persistent mapping, copied on the GPU */
    for (int i = 0; i < 256; i++) lasting[(i * 4 + frame) % 1024] = (unsigned char)(i + frame);
    glBindBuffer(GL_COPY_READ_BUFFER, buffers[3]);
    glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0, 1024);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[4]);
    glBindTexture(GL_TEXTURE_2D, g_textures[1]);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    triangle_at(0, -0.95f, -0.95f);
    triangle_at(1, -0.3f, -0.95f);
    /* 2: mipmaps of a new image, now and then */
    glBindTexture(GL_TEXTURE_2D, g_textures[2]);
    if (frame % 6 == 0) {
      for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)(i * (size_t)(frame + 5));
      glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, texels);
      glGenerateMipmap(GL_TEXTURE_2D);
    }
    triangle_at(2, 0.35f, -0.95f);
    /* 3: a copy of what was drawn */
    glBindTexture(GL_TEXTURE_2D, g_textures[3]);
    if (frame % 3 == 0)
      glCopyTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 2, 2, TEXELS, TEXELS, 0);
    else
      glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 4, 4, 8, 8, 8, 8);
    triangle_at(3, -0.95f, -0.3f);
    /* 4: read into a buffer, and from there into a texture */
    glBindBuffer(GL_PIXEL_PACK_BUFFER, buffers[2]);
    glReadPixels(0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[2]);
    glBindTexture(GL_TEXTURE_2D, g_textures[4]);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    triangle_at(4, -0.3f, -0.3f);
    /* 5: a blit into a texture, and out of it */
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
    glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, g_textures[5], 0);
    glBlitFramebuffer(0, 0, SIDE, SIDE, 0, 0, TEXELS, TEXELS, GL_COLOR_BUFFER_BIT, GL_LINEAR);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
    glBlitFramebuffer(0, 0, TEXELS, TEXELS, 40, 40, 60, 60, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
