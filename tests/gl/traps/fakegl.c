/* A GL library of our own: counts what reaches it. Its own calls of its functions are nobody else's. */
#include "trap.h"
static int clear_calls, flush_calls;
void glClear(unsigned mask) {
  (void)mask;
  clear_calls++;
}
void glFlush(void) { flush_calls++; }
void glFinish(void) {
  glFlush();
  glClear(1);
}
int fake_clears(void) { return clear_calls; }
int fake_flushes(void) { return flush_calls; }
