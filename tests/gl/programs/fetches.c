/* Draws of which it is known how many textures they read: loops, branches, early returns, discards, macros, functions.
 * fetches es2|es3|compat|core [FRAMES]
 * fetches covered [FRAMES]: three draws over a target without depth, each hidden by the next.
 * fetches stages [FRAMES]: by tessellation and geometry shaders, and on targets with four samples a pixel. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48, COVERED = 512, MANY = 600, MOST = 16 };

static const char OLD_VERTEX[] =
    "attribute vec4 place; varying vec2 at; void main() { gl_Position = place; at = place.xy * 0.5 + 0.5; }\n";
#define OLD                                          \
  "#ifdef GL_ES\nprecision mediump float;\n#endif\n" \
  "uniform sampler2D image; uniform int count; varying vec2 at;\n"
/* OpenGL lets it hide the built-in one, OpenGL ES stand beside it. */
#define OWN_GL \
  OLD "vec4 texture2D(sampler2D from, vec2 to) { return vec4(to, 0.0, 1.0); }\nvoid main() { gl_FragColor = texture2D(image, at); }"
#define OWN_ES                                                                                 \
  OLD "vec4 texture2D(sampler2D from, vec2 to, float a, float b) { return vec4(to, a, b); }\n" \
      "void main() { gl_FragColor = texture2D(image, at, 0.0, 1.0); }"
static const char* const OLD_FRAGMENTS[] = {
    OLD "void main() { gl_FragColor = texture2D(image, at); }",
    /* As often as a uniform says. */
    OLD
    "void main() { vec4 c = vec4(0.0); for (int i = 0; i < 8; i++) { if (i >= count) break; c += texture2D(image, at); } gl_FragColor = c; }",
    /* Twice in 16 columns, which return early; once in the others. */
    OLD
    "void main() { if (gl_FragCoord.x < 16.0) { gl_FragColor = texture2D(image, at) + texture2D(image, at * 2.0); return; }\n"
    "  gl_FragColor = texture2D(image, at); }",
    /* Once, and once more in all but 10 rows. */
    OLD
    "void main() { vec4 c = texture2D(image, at); if (gl_FragCoord.y < 10.0) discard; else c += texture2D(image, at * 0.5); gl_FragColor = c; }",
    /* Six times: by a function, through macros, one read at what another read. */
    "#define FETCH texture2D\n#define TWICE(x) ((x) + (x))\n#define PICK(s, c) texture2D(s, \\\n  c)\n"
    "#ifdef GL_ES\nprecision mediump float;\n#endif\n"
    "/* texture2D(texture, at) */ // texture2D(\n"
    "uniform sampler2D texture; varying vec2 at; struct Sample { vec4 color; };\n"
    "vec4 blur(sampler2D from, vec2 to) { return FETCH(from, to) + PICK(from, to + 0.1); }\n"
    "void main() { Sample sample; sample.color = blur(texture, at); gl_FragColor = sample.color + TWICE(texture2D(texture, texture2D (texture, at).xy)); }",
    /* In 8 columns behind &&, in 32 behind ?. */
    OLD
    "void main() { vec4 c = gl_FragCoord.x > 32.0 ? texture2D(image, at) : vec4(0.5);\n"
    "  if (gl_FragCoord.x < 8.0 && texture2D(image, at).x >= 0.0) c += 0.25; gl_FragColor = c; }",
    /* None: it is a function of the shader's own. */
    OWN_GL,
    OLD "void main() { gl_FragColor = texture2DProj(image, vec3(at, 1.0)) + texture2D(image, at, 1.0); }",
    /* In every other column: the others are discarded before, in a function. */
    OLD
    "#define KILL discard\nvoid cut() { if (mod(floor(gl_FragCoord.x), 2.0) < 0.5) KILL; }\nvoid main() { cut(); gl_FragColor = texture2D(image, at); }",
    OLD "void main() { gl_FragColor = vec4(at, 0.0, 1.0); }",
    /* Two that cannot be told. */
    OLD "#define CALL(f) f(image, at)\nvoid main() { gl_FragColor = CALL(texture2D); }",
    OLD "void main() { gl_FragColor = texture2D(image,\n#ifdef NEVER\n vec2(0.0)\n#else\n at\n#endif\n ); }",
};
/* Three reads a vertex, none by fragments. */
static const char OLD_READING[] =
    "attribute vec4 place; uniform sampler2D image; varying vec2 at;\n"
    "void main() { vec4 c = vec4(0.0); for (int i = 0; i < 3; i++) c += texture2DLod(image, place.xy, 0.0); gl_Position = place + c * 0.0; at = c.xy; }\n";

#define NEW_VERTEX "in vec4 place; out vec2 at; void main() { gl_Position = place; at = place.xy * 0.5 + 0.5; }\n"
#define NEW "precision mediump float; uniform sampler2D image; uniform int count; in vec2 at; out vec4 color;\n"
static const char* const NEW_FRAGMENTS[] = {
    /* One: its size is no read. */
    NEW "void main() { color = texture(image, at) + vec4(textureSize(image, 0), 0, 0); }",
    NEW
    "void main() { color = texelFetch(image, ivec2(0), 0) + textureLod(image, at, 0.0) + textureGrad(image, at, vec2(0.1), vec2(0.1))\n"
    "  + textureOffset(image, at, ivec2(1, 0)) + textureProj(image, vec3(at, 1.0)) + texelFetchOffset(image, ivec2(0), 0, ivec2(0, 0)); }",
    /* One to four in each row of four. */
    NEW
    "vec4 some(int n) { vec4 c = vec4(0); do { c += texture(image, at); } while (n-- > 0); return c; }\n"
    "void main() { switch (int(gl_FragCoord.y) & 3) { case 0: color = some(0); break; case 1: color = some(1); break; case 2: color = some(2); break; default: color = some(3); } }",
    /* As often as a uniform says, but in the last column, which is discarded within. */
    NEW
    "void main() { color = vec4(0); int i = 0; while (i < count) { color += texture(image, at); if (i == 1 && gl_FragCoord.x > 63.0) discard; i++; } }",
    "#define texture2D texture\n" NEW
    "float round_(float x) { return x; }\nvoid main() { color = texture2D(image, at * round_(1.0)); }",
    NEW "void main() { color = vec4(at, 0, 1); }",
};
static const char FIXED_VERTEX[] =
    "void main() { gl_Position = gl_Vertex; gl_TexCoord[0] = gl_Vertex; gl_FrontColor = vec4(1.0); }\n";

static const GLfloat CORNERS[] = {-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1};

static GLuint linked_stages(const GLenum* stages, const char* const* texts, int count) {
  GLuint program = glCreateProgram();
  for (int i = 0; i < count; i++) glAttachShader(program, compile_stage(stages[i], texts[i]));
  glBindAttribLocation(program, 0, "place");
  glLinkProgram(program);
  GLint good = 0;
  glGetProgramiv(program, GL_LINK_STATUS, &good);
  if (!good) exit(1);
  return program;
}

#define V400 "#version 400\nuniform sampler2D image;\n"
static const char STAGES_VERTEX[] = V400 "in vec4 place; void main() { gl_Position = place; }\n";
/* Once a vertex of each patch. */
static const char CONTROL[] = V400
    "layout(vertices = 3) out;\n"
    "void main() { gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position + 0.0 * texture(image, vec2(0.5));\n"
    "  gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = gl_TessLevelInner[0] = 1.0; }\n";
/* Twice a corner of what comes of a patch: a triangle. */
static const char EVALUATION[] = V400
    "layout(triangles) in;\n"
    "void main() { vec4 c = texture(image, gl_TessCoord.xy) + texture(image, gl_TessCoord.yz);\n"
    "  gl_Position = gl_TessCoord.x * gl_in[0].gl_Position + gl_TessCoord.y * gl_in[1].gl_Position + gl_TessCoord.z * gl_in[2].gl_Position + 0.0 * c; }\n";
/* Five times a primitive. */
static const char GEOMETRY[] = V400
    "layout(triangles) in; layout(triangle_strip, max_vertices = 3) out;\n"
    "void main() { vec4 c = vec4(0.0); for (int i = 0; i < 5; i++) c += texture(image, vec2(0.1) * float(i));\n"
    "  for (int i = 0; i < 3; i++) { gl_Position = gl_in[i].gl_Position + 0.0 * c; EmitVertex(); } EndPrimitive(); }\n";
static const char PIXELS[] = V400 "out vec4 color; void main() { color = texture(image, gl_FragCoord.xy); }\n";
static const char SAMPLES[] = V400 "out vec4 color; void main() { color = texture(image, vec2(gl_SampleID)); }\n";

/* 0 tessellation, 1 geometry, 2 four samples, 3 each shaded, 4 each told from the others by the shader. */
static void draw_stages(EGLDisplay display, EGLSurface window, int frames) {
  GLuint array, buffer, texture, many, target;
  static const GLfloat corners[] = {-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1};
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 1, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenRenderbuffers(1, &many);
  glBindRenderbuffer(GL_RENDERBUFFER, many);
  glRenderbufferStorageMultisample(GL_RENDERBUFFER, 4, GL_RGBA8, WIDTH, HEIGHT);
  glGenFramebuffers(1, &target);
  glBindFramebuffer(GL_FRAMEBUFFER, target);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, many);
  GLuint patches =
      linked_stages((GLenum[]){GL_VERTEX_SHADER, GL_TESS_CONTROL_SHADER, GL_TESS_EVALUATION_SHADER, GL_FRAGMENT_SHADER},
                    (const char*[]){STAGES_VERTEX, CONTROL, EVALUATION, PIXELS}, 4);
  GLuint triangles = linked_stages((GLenum[]){GL_VERTEX_SHADER, GL_GEOMETRY_SHADER, GL_FRAGMENT_SHADER},
                                   (const char*[]){STAGES_VERTEX, GEOMETRY, PIXELS}, 3);
  GLuint pixels =
      linked_stages((GLenum[]){GL_VERTEX_SHADER, GL_FRAGMENT_SHADER}, (const char*[]){STAGES_VERTEX, PIXELS}, 2);
  GLuint samples =
      linked_stages((GLenum[]){GL_VERTEX_SHADER, GL_FRAGMENT_SHADER}, (const char*[]){STAGES_VERTEX, SAMPLES}, 2);
  glViewport(0, 0, WIDTH, HEIGHT);
  glPatchParameteri(GL_PATCH_VERTICES, 3);
  for (int frame = 0; frame < frames; frame++) {
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glClear(GL_COLOR_BUFFER_BIT);
    glUseProgram(patches);
    glDrawArrays(GL_PATCHES, 0, 6);
    glUseProgram(triangles);
    glDrawArrays(GL_TRIANGLES, 0, 6);
    glBindFramebuffer(GL_FRAMEBUFFER, target);
    glUseProgram(pixels);
    glDrawArrays(GL_TRIANGLES, 0, 6);
    glEnable(GL_SAMPLE_SHADING);
    glMinSampleShading(1);
    glDrawArrays(GL_TRIANGLES, 0, 6);
    glDisable(GL_SAMPLE_SHADING);
    glUseProgram(samples);
    glDrawArrays(GL_TRIANGLES, 0, 6);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    eglSwapBuffers(display, window);
  }
}

static void draw(GLuint program) {
  glUseProgram(program);
  glUniform1i(glGetUniformLocation(program, "count"), 5);
  glUniform1i(glGetUniformLocation(program, "image"), 1);
  glUniform1i(glGetUniformLocation(program, "texture"), 1);
  glDrawArrays(GL_TRIANGLES, 0, 6);
}

int main(int argc, char** argv) {
  const char* api = argc > 1 ? argv[1] : "es2";
  int frames = argc > 2 ? atoi(argv[2]) : 2;
  int es = !strncmp(api, "es", 2), core = !strcmp(api, "core") || !strcmp(api, "stages"),
      compat = !strcmp(api, "compat"), covered = !strcmp(api, "covered"),
      modern = core || covered || !strcmp(api, "es3");
  es = es || covered;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, es ? EGL_OPENGL_ES2_BIT : EGL_OPENGL_BIT);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  EGLContext context = es ? start_es(display, config, modern ? 3 : 2, 0, EGL_NO_CONTEXT)
                          : start_gl(display, config, core ? strcmp(api, "core") ? 4 : 3 : 0,
                                     core && strcmp(api, "core") ? 0 : 3, core, EGL_NO_CONTEXT);
  start_current(display, window, context);
  if (!strcmp(api, "stages")) return draw_stages(display, window, frames), glGetError() != 0;
  const char* version = core ? "#version 330\n" : modern ? "#version 300 es\n" : "";
  const char* const* fragments = modern ? NEW_FRAGMENTS : OLD_FRAGMENTS;
  size_t count = modern ? sizeof NEW_FRAGMENTS / sizeof *NEW_FRAGMENTS : sizeof OLD_FRAGMENTS / sizeof *OLD_FRAGMENTS;
  const char* const names[] = {"place"};
  GLuint programs[MOST] = {0}, reading = 0, fixed = 0, texture, buffer, array, lists = 0;
  for (size_t i = 0; i < count; i++) {
    char vertex[512], fragment[2048];
    snprintf(vertex, sizeof vertex, "%s%s", version, modern ? NEW_VERTEX : OLD_VERTEX);
    snprintf(fragment, sizeof fragment, "%s%s", version, es && !modern && i == 6 ? OWN_ES : fragments[i]);
    programs[i] = link_program(vertex, fragment, names, 1);
  }
  if (!modern) reading = link_program(OLD_READING, OLD_FRAGMENTS[9], names, 1);
  static const GLubyte texels[16] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128};
  glGenTextures(1, &texture);
  for (int unit = 1; unit >= 0; unit--) {
    glActiveTexture(GL_TEXTURE0 + (GLenum)unit);
    glBindTexture(GL_TEXTURE_2D, texture);
  }
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  if (modern) {
    glGenVertexArrays(1, &array);
    glBindVertexArray(array);
  }
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof CORNERS, CORNERS, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
  if (compat) {
    fixed = glCreateProgram();
    glAttachShader(fixed, compile_stage(GL_VERTEX_SHADER, FIXED_VERTEX));
    glLinkProgram(fixed);
    lists = glGenLists(1);
  }
  glViewport(0, 0, covered ? COVERED : WIDTH, covered ? COVERED : HEIGHT);
  if (covered) {
    GLuint target, picture;
    glGenTextures(1, &picture);
    glActiveTexture(GL_TEXTURE2);
    glBindTexture(GL_TEXTURE_2D, picture);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, COVERED, COVERED);
    glGenFramebuffers(1, &target);
    glBindFramebuffer(GL_FRAMEBUFFER, target);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, picture, 0);
  }
  for (int frame = 0; covered && frame < frames; frame++) {
    draw(programs[0]);
    draw(programs[1]);
    draw(programs[5]);
    eglSwapBuffers(display, window);
  }
  for (int frame = 0; !covered && frame < frames; frame++) {
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    for (size_t i = 0; i < count; i++) draw(programs[i]);
    /* What the depth test hides is read all the same, and the scissor box leaves out what is not generated. */
    glEnable(GL_DEPTH_TEST);
    draw(programs[0]);
    glEnable(GL_SCISSOR_TEST);
    glScissor(5, 6, 10, 7);
    draw(programs[0]);
    glDisable(GL_DEPTH_TEST);
    glScissor(3, 3, 1, 1);
    glUseProgram(programs[0]);
    for (int i = 0; i < MANY; i++) glDrawArrays(GL_TRIANGLES, 0, 6);
    glDisable(GL_SCISSOR_TEST);
    if (reading) draw(reading);
    if (compat) {
      glUseProgram(0);
      glEnable(GL_TEXTURE_2D);
      glDrawArrays(GL_TRIANGLES, 0, 6);
      glActiveTexture(GL_TEXTURE1);
      glEnable(GL_TEXTURE_2D);
      glBegin(GL_QUADS);
      for (int i = 0; i < 6; i++)
        if (i != 3 && i != 4) glVertex2f(CORNERS[i * 2], CORNERS[i * 2 + 1]);
      glEnd();
      glNewList(lists, GL_COMPILE);
      glBegin(GL_TRIANGLES);
      for (int i = 0; i < 6; i++) glVertex2fv(CORNERS + i * 2);
      glEnd();
      glEndList();
      glCallList(lists);
      glUseProgram(fixed);
      glDrawArrays(GL_TRIANGLES, 0, 6);
      glDisable(GL_TEXTURE_2D);
      glActiveTexture(GL_TEXTURE0);
      glDisable(GL_TEXTURE_2D);
      glUseProgram(0);
      glDrawArrays(GL_TRIANGLES, 0, 6);
    }
    eglSwapBuffers(display, window);
  }
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  GLint values[2] = {0, 0};
  glGetIntegerv(GL_CURRENT_PROGRAM, values);
  glGetIntegerv(GL_ACTIVE_TEXTURE, values + 1);
  printf("error 0x%x, %d, %llx\n", glGetError(), values[1], (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
