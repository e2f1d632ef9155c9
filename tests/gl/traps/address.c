/* Not position independent: the address of a function is a stand-in inside the program. */
#include <GL/gl.h>
#include "trap.h"
static clear_function volatile table[] = {(clear_function)glClear};
int main(void) {
  CHECK((void*)table[0] == dlsym(RTLD_DEFAULT, "glClear"));
  clears(table[0], 3);
  clears((clear_function)dlsym(RTLD_DEFAULT, "glClear"), 4);
  glClear(GL_COLOR_BUFFER_BIT);
  puts("calls glClear 8");
  return succeed();
}
