// The work of a program under the manager at its frames: it reports them, and waits where the manager says so.
//
// Nothing happens before the first frame (or wait for the GPU), and nothing at all with DRAWTAP_MANAGER=off. The pages
// and packets are in native/common/live.h. No call here waits for the manager: a manager that hangs is as good as none.
#pragma once
#include "tap.h"
#include "../common/live.h"

namespace dt {
namespace live {

// 0: off. Everything else is found out at the first frame.
extern uint32_t g_frames __attribute__((visibility("hidden")));

struct Swap {
  struct Slot* slot;  // nullptr: not counted
  uint64_t shown_ns;
  bool entered;
  bool holds_late;  // once it is shown
};
DT_COLD void before_frame(Thread* t, Swap* swap, uint32_t kind, uint64_t display, uint64_t handle);
DT_COLD void after_frame(Thread* t, Swap* swap);
// Around every call that shows a frame, recorded or not.
static inline void before_swap(Thread* t, Swap* swap, uint32_t kind, uint64_t display, uint64_t handle) {
  swap->entered = false;
  if (DT_LIKELY(g_frames)) before_frame(t, swap, kind, display, handle);
}
static inline void after_swap(Thread* t, Swap* swap) {
  if (swap->entered) after_frame(t, swap);
}
// The program goes on at `here` on the stack, nullptr: behind the frame that it was showing, if it was. It may be no
// more.
DT_COLD void forget_frame(const void* here);
DT_COLD bool is_in_frame();
// In a function with a Swap: unwinding past it is recorded, as in mark_frame.
static inline __attribute__((always_inline)) void tell_when_left() {
  __asm__ volatile(".cfi_personality 0x1b, dt_personality");
}
void interval_set(int32_t interval);
// After a call that waits for the GPU, flushes or reads back: a program may never show a frame, and is there all the
// same.
DT_COLD void at_pause(Thread* t);
// A number of the program's own, which the manager sees. Nothing before the first frame, and none beyond DT_LIVE_VALUES
// names.
void set_value(const char* name, double value);

}  // namespace live
}  // namespace dt
