/* Linked to libGL, direct calls only. */
void glClear(unsigned mask);
void plugin_draw_plain(void) {
  for (int i = 0; i < 2; i++) glClear(0x4000);
}
