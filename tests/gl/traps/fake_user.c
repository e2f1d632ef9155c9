/* Linked to our own GL library. */
#include "trap.h"
void glClear(unsigned mask);
int fake_clears(void);
void user_draw(void) {
  for (int i = 0; i < 3; i++) glClear(0x4000);
}
int user_seen(void) { return fake_clears(); }
