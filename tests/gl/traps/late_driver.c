/* A context comes first, functions of OpenGL ES after it: `address`, by eglGetProcAddress alone, with no library of
 * them; `library`, from one that is opened then. Draws triangles from memory of its own, whose size the calls alone
 * tell. */
#include "egl_context.h"

static void* library;
static void* found(const char* name) { return library ? dlsym(library, name) : (void*)eglGetProcAddress(name); }
#define GL(RESULT, NAME, ...) ((RESULT (*)(__VA_ARGS__))found(#NAME))

int main(int argc, char** argv) {
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2);
  if (argc > 1 && !strcmp(argv[1], "library")) library = open_or_die("libGLESv2.so.2", RTLD_NOW);
  const char* sources[] = {"attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }",
                           "void main() { gl_FragColor = vec4(1.0, 0.5, 0.25, 1.0); }"};
  unsigned program = GL(unsigned, glCreateProgram)();
  for (int i = 0; i < 2; i++) {
    unsigned shader = GL(unsigned, glCreateShader, unsigned)(i ? 0x8B30 : 0x8B31);
    GL(void, glShaderSource, unsigned, int, const char**, const int*)(shader, 1, &sources[i], NULL);
    GL(void, glCompileShader, unsigned)(shader);
    GL(void, glAttachShader, unsigned, unsigned)(program, shader);
  }
  GL(void, glBindAttribLocation, unsigned, unsigned, const char*)(program, 0, "at");
  GL(void, glLinkProgram, unsigned)(program);
  GL(void, glUseProgram, unsigned)(program);
  GL(void, glEnableVertexAttribArray, unsigned)(0);
  for (int frame = 0; frame < 3; frame++) {
    const float size = 0.25f * (float)(frame + 1);
    const float corners[] = {-size, -size, size, -size, 0, size};
    clears((clear_function)found("glClear"), 1);
    GL(void, glVertexAttribPointer, unsigned, int, unsigned, unsigned char, int, const void*)(0, 2, 0x1406, 0, 0,
                                                                                              corners);
    GL(void, glDrawArrays, unsigned, int, int)(4, 0, 3);
    CHECK(eglSwapBuffers(trap_display, eglGetCurrentSurface(EGL_DRAW)));
  }
  puts("calls glClear 3\ncalls glDrawArrays 3\ncalls eglSwapBuffers 3");
  return succeed();
}
