// Pictures that a flight recorder asks for, so that it need not keep all that was ever drawn into them.
//
// At the end of a frame a picture is read back from the driver, and calls are recorded that put the same content there
// again: an upload into a texture; for a renderbuffer or a window an upload into a texture of our own, and a blit.
// These calls go into the trace alone. The driver sees only the reading, and finds its state as it was.
#pragma once
#include "gl_state.h"

namespace dt {
namespace hook {
// The targets of the pool that this process records into; nullptr: none.
extern dt_pool_targets* g_targets __attribute__((visibility("hidden")));
static inline bool targets_are_wanted() { return g_targets && g_targets->open.load(std::memory_order_acquire) != 0; }
// `in_egl`: at a call of EGL's, after which nobody asks for the error of the one before.
DT_COLD void take_targets(Thread* t, bool in_egl);
// Returns whether something changes pixels on their way in and out of OpenGL 1.
DT_COLD bool transfers_change(GlContext* c);
// Reads one picture of the current context's back, and tells the calls that write it. 0, or why not: DT_REFUSED_*.
DT_COLD uint32_t take_picture(Thread* t, const dt_target& picture, bool in_egl, uint64_t* bytes);
}  // namespace hook
}  // namespace dt
