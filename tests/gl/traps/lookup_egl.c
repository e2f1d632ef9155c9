/* eglGetProcAddress: core and extension functions; what is not there stays not there. */
#include "egl_context.h"
int main(void) {
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2);
  clears((clear_function)eglGetProcAddress("glClear"), 3);
  void (*generate)(int, unsigned*) = (void (*)(int, unsigned*))eglGetProcAddress("glGenVertexArraysOES");
  CHECK(generate);
  unsigned names[2] = {0, 0};
  generate(2, names);
  CHECK(names[0] && names[1] && names[0] != names[1]);
  EGLBoolean (*query)(EGLint, void*, void*) =
      (EGLBoolean (*)(EGLint, void*, void*))eglGetProcAddress("eglQueryDevicesEXT");
  CHECK(query);
  EGLint count = 0;
  CHECK(query(0, NULL, &count));
  printf("nonsense %s\n", eglGetProcAddress("nonsense") ? "found" : "not found");
  puts("calls glClear 3\ncalls glGenVertexArraysOES 1\ncalls eglQueryDevicesEXT 1");
  return succeed();
}
