/* A library linked to libGL: direct calls, a pointer in its data, and look-ups from inside. */
#include "trap.h"
void glClear(unsigned mask);
void glFlush(void);
void glFinish(void);
static clear_function volatile pointer_in_data = glClear;
void plugin_draw(void) {
  for (int i = 0; i < 3; i++) glClear(0x4000);
  pointer_in_data(0x4000);
  flush_function flush = (flush_function)dlsym(RTLD_DEFAULT, "glFlush");
  CHECK(flush);
  flush();
  glFlush();
}
void plugin_finish(void) { glFinish(); }
