/* Draws of which every stage of the pipeline is known: one triangle over all of the viewport, two indexed ones, points
 * that a geometry shader makes quads of, patches, a triangle outside of the view, and a dispatch. pipeline [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

enum { SIDE = 64 };

static GLuint compiled(GLenum kind, const char* source) {
  GLuint shader = glCreateShader(kind);
  GLint good = 0;
  char said[1000];
  glShaderSource(shader, 1, &source, NULL);
  glCompileShader(shader);
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (!good) {
    glGetShaderInfoLog(shader, sizeof said, NULL, said);
    fprintf(stderr, "%s\n", said);
    exit(1);
  }
  return shader;
}

static GLuint linked(int count, const GLuint* shaders) {
  GLuint program = glCreateProgram();
  GLint good = 0;
  for (int i = 0; i < count; i++) glAttachShader(program, shaders[i]);
  glLinkProgram(program);
  glGetProgramiv(program, GL_LINK_STATUS, &good);
  if (!good) {
    fprintf(stderr, "a program could not be linked\n");
    exit(1);
  }
  return program;
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 4, 3, 1, EGL_NO_CONTEXT));
  GLuint vertex = compiled(
      GL_VERTEX_SHADER, "#version 430\nlayout(location=0) in vec2 p; void main() { gl_Position = vec4(p, 0, 1); }\n");
  GLuint fragment = compiled(GL_FRAGMENT_SHADER, "#version 430\nout vec4 c; void main() { c = vec4(0.5); }\n");
  GLuint geometry = compiled(
      GL_GEOMETRY_SHADER,
      "#version 430\nlayout(points) in; layout(triangle_strip, max_vertices=4) out;\n"
      "void main() { for (int i = 0; i < 4; i++) { gl_Position = gl_in[0].gl_Position + 0.1 * vec4(i & 1, i >> 1, 0, 0);\n"
      "EmitVertex(); } EndPrimitive(); }\n");
  GLuint control =
      compiled(GL_TESS_CONTROL_SHADER,
               "#version 430\nlayout(vertices=3) out; void main() {\n"
               "gl_out[gl_InvocationID].gl_Position = 1.0 * gl_in[gl_InvocationID].gl_Position;\n"
               "gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = gl_TessLevelInner[0] = 1.0; }\n");
  GLuint evaluation =
      compiled(GL_TESS_EVALUATION_SHADER,
               "#version 430\nlayout(triangles) in; void main() {\n"
               "gl_Position = gl_TessCoord.x * gl_in[0].gl_Position + gl_TessCoord.y * gl_in[1].gl_Position\n"
               "+ gl_TessCoord.z * gl_in[2].gl_Position; }\n");
  GLuint compute =
      compiled(GL_COMPUTE_SHADER,
               "#version 430\nlayout(local_size_x=8) in; layout(std430, binding=0) buffer B { uint n[]; };\n"
               "void main() { n[gl_GlobalInvocationID.x] = 1u; }\n");
  GLuint plain = linked(2, (GLuint[]){vertex, fragment}), quads = linked(3, (GLuint[]){vertex, geometry, fragment});
  GLuint patches = linked(4, (GLuint[]){vertex, control, evaluation, fragment}), dispatch = linked(1, &compute);
  const GLfloat corners[] = {-1,    -1,    3,    -1,   -1, 3,       /* 0: over all of the viewport */
                             -1,    -1,    0,    -1,   -1, 0, 0, 0, /* 3: four corners of the lower left quarter */
                             -0.5f, -0.5f, 0.5f, 0.5f, 0,  0,       /* 7: three points */
                             2,     2,     3,    2,    2,  3,       /* 10: out of view */
                             -1,    -1,    1,    -1,   -1, 1, 1, -1, 1, 1, -1, 1}; /* 13: two patches of three */
  const GLushort indices[] = {0, 1, 2, 2, 1, 3};
  GLuint buffers[3], array;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glGenBuffers(3, buffers);
  glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof indices, indices, GL_STATIC_DRAW);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffers[2]);
  glBufferData(GL_SHADER_STORAGE_BUFFER, 32 * 4, NULL, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  glPatchParameteri(GL_PATCH_VERTICES, 3);
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0; frame < frames; frame++) {
    glUseProgram(plain);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glDrawElementsBaseVertex(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, (void*)0, 3);
    glDrawArrays(GL_TRIANGLES, 10, 3);
    glUseProgram(quads);
    glDrawArrays(GL_POINTS, 7, 3);
    glUseProgram(patches);
    glDrawArrays(GL_PATCHES, 13, 6);
    glUseProgram(dispatch);
    glDispatchCompute(4, 1, 1);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
