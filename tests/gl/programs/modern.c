/* The core profile: uniform and storage buffers, samplers, texture arrays, instances, indirect draws, transform
 * feedback that moves particles from frame to frame, compute shaders with images, occlusion queries that decide whether
 * things are drawn. modern [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, PARTICLES = 16 };

static GLuint link_more(const char* const* stages, const GLenum* kinds, int count, const char* varying) {
  GLuint program = glCreateProgram();
  GLint done = 0;
  for (int i = 0; i < count; i++) glAttachShader(program, compile_stage(kinds[i], stages[i]));
  if (varying) glTransformFeedbackVaryings(program, 1, &varying, GL_INTERLEAVED_ATTRIBS);
  glLinkProgram(program);
  glGetProgramiv(program, GL_LINK_STATUS, &done);
  if (!done) exit(1);
  return program;
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 24;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 4, 5, 1, EGL_NO_CONTEXT));
  const char* move =
      "#version 450\nlayout(location = 0) in vec2 at; out vec2 next;\n"
      "void main() { next = at + vec2(0.03, 0.01) * (0.5 + float(gl_VertexID % 5)); next.x -= floor(next.x * 0.5 + 0.5) * 2.0; }\n";
  const GLenum vertex_only[] = {GL_VERTEX_SHADER}, both[] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER},
               compute_only[] = {GL_COMPUTE_SHADER};
  GLuint mover = link_more(&move, vertex_only, 1, "next");
  const char* points[] = {
      "#version 450\nlayout(location = 0) in vec2 at; void main() { gl_Position = vec4(at, 0, 1); gl_PointSize = 5.0; }\n",
      "#version 450\nlayout(std140, binding = 1) uniform Tint { vec4 tint; }; out vec4 color; void main() { color = tint; }\n"};
  GLuint dots = link_more(points, both, 2, NULL);
  const char* boxes_source[] = {
      "#version 450\nlayout(location = 0) in vec2 corner; layout(location = 1) in vec3 place; out vec3 c;\n"
      "void main() { c = vec3(corner * 4.0, float(gl_InstanceID % 3)); gl_Position = vec4(corner * place.z + place.xy, 0.5, 1); }\n",
      "#version 450\nlayout(binding = 2) uniform sampler2DArray layers; in vec3 c; out vec4 color; void main() { color = texture(layers, c); }\n"};
  GLuint boxes = link_more(boxes_source, both, 2, NULL);
  const char* paint_source =
      "#version 450\nlayout(local_size_x = 4, local_size_y = 4) in; layout(rgba8, binding = 0) uniform writeonly image2D to;\n"
      "layout(std430, binding = 3) buffer Sums { uint sums[]; }; uniform int frame;\n"
      "void main() { ivec2 p = ivec2(gl_GlobalInvocationID.xy); if (p.x == 0) atomicAdd(sums[p.y], uint(p.y + frame));\n"
      " imageStore(to, p, vec4(float((p.x * 5 + frame) % 16) / 16.0, float(p.y) / 16.0, 0.3, 1)); }\n";
  GLuint paint = link_more(&paint_source, compute_only, 1, NULL);
  const char* show_source[] = {
      "#version 450\nout vec2 c; void main() { c = vec2(gl_VertexID & 1, gl_VertexID >> 1); gl_Position = vec4(c * 0.6 - 0.9, 0.2, 1); }\n",
      "#version 450\nlayout(binding = 4) uniform sampler2D image; layout(std430, binding = 3) readonly buffer Sums { uint sums[]; }; in vec2 c; out vec4 color;\n"
      "void main() { color = texture(image, c) + vec4(0, 0, float(sums[int(c.y * 15.9)] % 64u) / 64.0, 0); }\n"};
  GLuint show = link_more(show_source, both, 2, NULL);

  GLfloat starts[PARTICLES][2], corners[] = {-1, -1, 1, -1, -1, 1, 1, 1}, places[6][3];
  for (int i = 0; i < PARTICLES; i++) starts[i][0] = (float)i / 8 - 1, starts[i][1] = (float)(i * 7 % 16) / 8 - 1;
  for (int i = 0; i < 6; i++)
    places[i][0] = (float)(i % 3) / 2 - 0.5f, places[i][1] = (float)(i / 3) - 0.4f, places[i][2] = 0.2f;
  GLuint particles[2], arrays[4], buffers[6], feedback[2], textures[2], sampler, query[2];
  glCreateBuffers(2, particles);
  glNamedBufferStorage(particles[0], sizeof starts, starts, 0);
  glNamedBufferStorage(particles[1], sizeof starts, NULL, 0);
  glCreateBuffers(6, buffers);
  glNamedBufferData(buffers[0], sizeof corners, corners, GL_STATIC_DRAW);
  glNamedBufferData(buffers[1], sizeof places, places, GL_STATIC_DRAW);
  const GLuint command[] = {4, 6, 0, 0, 0};
  const GLubyte indices[] = {0, 1, 2, 3};
  glNamedBufferData(buffers[2], sizeof command, command, GL_STATIC_DRAW);
  glNamedBufferData(buffers[3], sizeof indices, indices, GL_STATIC_DRAW);
  glNamedBufferData(buffers[4], 1024, NULL, GL_DYNAMIC_DRAW);
  const GLuint zeros[16] = {0};
  glNamedBufferData(buffers[5], sizeof zeros, zeros, GL_DYNAMIC_COPY);
  glCreateVertexArrays(4, arrays);
  for (int i = 0; i < 2; i++) {
    glVertexArrayVertexBuffer(arrays[i], 0, particles[i], 0, 8);
    glVertexArrayAttribFormat(arrays[i], 0, 2, GL_FLOAT, GL_FALSE, 0);
    glEnableVertexArrayAttrib(arrays[i], 0);
  }
  glVertexArrayVertexBuffer(arrays[2], 0, buffers[0], 0, 8);
  glVertexArrayVertexBuffer(arrays[2], 1, buffers[1], 0, 12);
  glVertexArrayAttribFormat(arrays[2], 0, 2, GL_FLOAT, GL_FALSE, 0);
  glVertexArrayAttribFormat(arrays[2], 1, 3, GL_FLOAT, GL_FALSE, 0);
  glVertexArrayAttribBinding(arrays[2], 1, 1);
  glVertexArrayBindingDivisor(arrays[2], 1, 1);
  glEnableVertexArrayAttrib(arrays[2], 0);
  glEnableVertexArrayAttrib(arrays[2], 1);
  glVertexArrayElementBuffer(arrays[2], buffers[3]);
  glGenTransformFeedbacks(2, feedback);
  for (int i = 0; i < 2; i++) {
    glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, feedback[i]);
    glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, particles[1 - i]);
  }
  glCreateTextures(GL_TEXTURE_2D_ARRAY, 1, textures);
  glTextureStorage3D(textures[0], 1, GL_RGBA8, 4, 4, 3);
  static unsigned char texels[3 * 64];
  for (int i = 0; i < 192; i++) texels[i] = (unsigned char)(i * 31);
  for (int layer = 0; layer < 3; layer++)
    glTextureSubImage3D(textures[0], 0, 0, 0, layer, 4, 4, 1, GL_RGBA, GL_UNSIGNED_BYTE, texels + 64 * layer);
  glCreateTextures(GL_TEXTURE_2D, 1, textures + 1);
  glTextureStorage2D(textures[1], 1, GL_RGBA8, 16, 16);
  glTextureParameteri(textures[1], GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glCreateSamplers(1, &sampler);
  glSamplerParameteri(sampler, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glSamplerParameteri(sampler, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glBindTextureUnit(2, textures[0]);
  glBindSampler(2, sampler);
  glBindTextureUnit(4, textures[1]);
  glBindImageTexture(0, textures[1], 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_RGBA8);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 3, buffers[5]);
  glBindBuffer(GL_DRAW_INDIRECT_BUFFER, buffers[2]);
  glGenQueries(2, query);
  glEnable(GL_PROGRAM_POINT_SIZE);
  glViewport(0, 0, SIDE, SIDE);
  GLint frame_at = glGetUniformLocation(paint, "frame");

  for (int frame = 0; frame < frames; frame++) {
    int from = frame % 2;
    glUseProgram(mover);
    glEnable(GL_RASTERIZER_DISCARD);
    glBindVertexArray(arrays[from]);
    glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, feedback[from]);
    glBeginTransformFeedback(GL_POINTS);
    glDrawArrays(GL_POINTS, 0, PARTICLES);
    glEndTransformFeedback();
    glDisable(GL_RASTERIZER_DISCARD);
    glUseProgram(paint);
    glUniform1i(frame_at, frame);
    glDispatchCompute(4, 4, 1);
    glMemoryBarrier(GL_TEXTURE_FETCH_BARRIER_BIT | GL_SHADER_STORAGE_BARRIER_BIT);

    glClearColor(0.05f, 0.1f, 0.15f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glUseProgram(boxes);
    glBindVertexArray(arrays[2]);
    glDrawElementsIndirect(GL_TRIANGLE_STRIP, GL_UNSIGNED_BYTE, NULL);
    glUseProgram(show);
    glBindVertexArray(arrays[3]);
    glBeginQuery(GL_ANY_SAMPLES_PASSED, query[0]);
    if (frame % 4 != 1) glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    glEndQuery(GL_ANY_SAMPLES_PASSED);
    glBeginConditionalRender(query[0], GL_QUERY_WAIT);
    const GLfloat tint[] = {0.9f, 0.9f, 0.03f * (float)frame, 1};
    glNamedBufferSubData(buffers[4], 256 * (frame % 4), sizeof tint, tint);
    glBindBufferRange(GL_UNIFORM_BUFFER, 1, buffers[4], 256 * (frame % 4), sizeof tint);
    glUseProgram(dots);
    glBindVertexArray(arrays[1 - from]);
    glDrawTransformFeedback(GL_POINTS, feedback[from]);
    glEndConditionalRender();
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
