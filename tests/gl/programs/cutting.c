/* Eight triangles side by side, of which programs cut away what lies left of -0.125 and right of 0.6: by planes of
 * fixed function, distances of clipping and of culling; and triangles in several viewports. cutting es1|es3|compat|core
 * [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, TRIANGLES = 8 };
static GLfloat g_places[TRIANGLES * 3 * 2];

static void draw(void) { glDrawArrays(GL_TRIANGLES, 0, TRIANGLES * 3); }
static void planes(int one, int two) {
  (one ? glEnable : glDisable)(GL_CLIP_DISTANCE0);
  (two ? glEnable : glDisable)(GL_CLIP_DISTANCE1);
}

static GLuint program_of(const char* vertex, const char* geometry, const char* fragment) {
  GLuint program = glCreateProgram(),
         shaders[3] = {compile_stage(GL_VERTEX_SHADER, vertex), compile_stage(GL_FRAGMENT_SHADER, fragment), 0};
  if (geometry) shaders[2] = compile_stage(GL_GEOMETRY_SHADER, geometry);
  for (int i = 0; i < 3; i++)
    if (shaders[i]) glAttachShader(program, shaders[i]);
  glBindAttribLocation(program, 0, "place");
  glLinkProgram(program);
  GLint done = 0;
  glGetProgramiv(program, GL_LINK_STATUS, &done);
  if (!done) {
    char log[1024] = "";
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    fprintf(stderr, "program: %s\n", log);
    exit(1);
  }
  return program;
}

int main(int argc, char** argv) {
  const char* api = argc > 1 ? argv[1] : "core";
  int frames = argc > 2 ? atoi(argv[2]) : 2;
  int core = !strcmp(api, "core"), compat = !strcmp(api, "compat"), es1 = !strcmp(api, "es1"),
      es3 = !strcmp(api, "es3");
  for (int i = 0; i < TRIANGLES; i++) {
    GLfloat x = -1 + 0.25f * (GLfloat)i, triangle[6] = {x, -0.5f, x + 0.25f, -0.5f, x, 0.5f};
    memcpy(g_places + i * 6, triangle, sizeof triangle);
  }
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, es1 ? EGL_OPENGL_ES_BIT : es3 ? EGL_OPENGL_ES3_BIT : EGL_OPENGL_BIT);
  EGLSurface window = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, window,
                es1 || es3 ? start_es(display, config, es1 ? 1 : 3, 0, EGL_NO_CONTEXT)
                           : start_gl(display, config, 4, core ? 5 : 0, core, EGL_NO_CONTEXT));
  GLuint clips = 0, culls = 0, plain = 0, many = 0, vertices = 0;
  if (core || es3) {
    GLuint array, buffer;
    glGenVertexArrays(1, &array);
    glBindVertexArray(array);
    glGenBuffers(1, &buffer);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, sizeof g_places, g_places, GL_STATIC_DRAW);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
    glEnableVertexAttribArray(0);
    char text[4][512];
    const char* head = core ? "#version 450\n" : "#version 300 es\n#extension GL_EXT_clip_cull_distance : require\n";
    snprintf(
        text[0], sizeof text[0],
        "%sin vec4 place;\nvoid main() { gl_Position = place; gl_ClipDistance[0] = place.x + 0.125; gl_ClipDistance[1] = 0.6 - place.x; }\n",
        head);
    snprintf(
        text[1], sizeof text[1],
        "%sin vec4 place;\nvoid main() { gl_Position = place; gl_CullDistance[0] = place.x + 0.125; gl_CullDistance[1] = 0.6 - place.x; }\n",
        head);
    snprintf(text[2], sizeof text[2], "%sin vec4 place;\nvoid main() { gl_Position = place; }\n", head);
    snprintf(text[3], sizeof text[3],
             "%sprecision mediump float; out vec4 color;\nvoid main() { color = vec4(1.0); }\n", head);
    clips = program_of(text[0], NULL, text[3]);
    culls = program_of(text[1], NULL, text[3]);
    plain = program_of(text[2], NULL, text[3]);
    if (core)
      many = program_of(
          text[2],
          "#version 450\nlayout(triangles) in;\nlayout(triangle_strip, max_vertices = 3) out;\nvoid main() {\n"
          "  for (int i = 0; i < 3; i++) { gl_Position = gl_in[i].gl_Position; gl_ViewportIndex = gl_PrimitiveIDIn % 3; gl_Layer = 0; EmitVertex(); }\n  EndPrimitive(); }\n",
          text[3]);
  } else {
    glEnableClientState(GL_VERTEX_ARRAY);
    glVertexPointer(2, GL_FLOAT, 0, g_places);
    if (compat)
      vertices = program_of("void main() { gl_Position = gl_Vertex; gl_ClipVertex = gl_Vertex; }\n", NULL,
                            "void main() { gl_FragColor = vec4(1.0); }\n");
  }
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0; frame < frames; frame++) {
    glClearColor(0, 0, 0.25f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    if (core || es3) {
      glUseProgram(clips);
      draw(); /* 0 nothing is on */
      planes(1, 0);
      draw(); /* 1 one */
      planes(1, 1);
      draw(); /* 2 both */
      planes(0, 0);
      glUseProgram(culls);
      draw(); /* 3 as a whole */
      glUseProgram(plain);
      planes(1, 0);
      draw(); /* 4 by what no shader says */
      planes(0, 0);
      if (core) {
        glViewportIndexedf(1, 0, 0, SIDE / 2, SIDE / 4);
        glEnablei(GL_SCISSOR_TEST, 2);
        glScissorIndexed(2, 0, 0, 0, 5);
        glUseProgram(many);
        draw(); /* 5 three, three, and two where nothing shows */
        glDisablei(GL_SCISSOR_TEST, 2);
        glViewport(0, 0, SIDE, SIDE);
      }
    } else {
      static const float single[2][4] = {{1, 0, 0, 0.125f}, {-1, 0, 0, 0.6f}};
      for (int i = 0; i < 2; i++) {
        double plane[4] = {single[i][0], single[i][1], single[i][2], single[i][3]};
        if (es1)
          ((void (*)(GLenum, const float*))eglGetProcAddress("glClipPlanef"))(GL_CLIP_PLANE0 + (GLenum)i, single[i]);
        else
          glClipPlane(GL_CLIP_PLANE0 + (GLenum)i, plane);
      }
      draw();
      planes(1, 0);
      draw();
      planes(1, 1);
      draw();
      glMatrixMode(GL_MODELVIEW);
      glPushMatrix();
      glScalef(0.5f, 1, 1);
      draw(); /* 3 the planes stay where they were: at -0.25 and 1.2 of what is half as wide */
      glPopMatrix();
      if (compat) {
        glUseProgram(vertices);
        draw(); /* 4 as 2 */
        glUseProgram(0);
      }
      planes(0, 0);
    }
    eglSwapBuffers(display, window);
  }
  GLenum error = glGetError();
  if (error) fprintf(stderr, "error 0x%x\n", error);
  eglTerminate(display);
  return error ? 1 : 0;
}
