// EGL and GLX: handles, and what is current on a thread.
#pragma once
#include "machine.h"

namespace dt::state {
// The deeds of a call beside its flags: effects of the overlays `egl.py` and `glx.py`, by the same names. They are
// flags of a `Command`, above the `CMD_` ones.
constexpr uint32_t NATIVE_WINDOW_SURFACE = 1u << 16;
constexpr uint32_t NATIVE_PIXMAP_SURFACE = 1u << 17;
constexpr uint32_t NATIVE_PBUFFER_SURFACE = 1u << 18;
constexpr uint32_t NATIVE_CLIENT_BUFFER = 1u << 19;  // the surface shows what was there
constexpr uint32_t NATIVE_SURFACE_ATTRIBUTE = 1u << 20;
constexpr uint32_t NATIVE_EVENTS_SELECTED = 1u << 21;
constexpr uint32_t NATIVE_TEXTURE_BOUND = 1u << 22;
constexpr uint32_t NATIVE_TEXTURE_RELEASED = 1u << 23;
constexpr uint32_t NATIVE_DRAWABLE_INTERVAL = 1u << 24;
constexpr uint32_t NATIVE_DISPLAY_INITIALIZED = 1u << 25;
constexpr uint32_t NATIVE_DISPLAY_TERMINATED = 1u << 26;
constexpr uint32_t NATIVE_IMAGE_CREATED = 1u << 27;
constexpr uint32_t NATIVE_API_BOUND = 1u << 28;
constexpr uint32_t NATIVE_HANDLES_RETURNED = 1u << 29;  // handles that the call did not create
constexpr uint32_t NATIVE_HANDLE_CHANGED = 1u << 30;    // what a parameter names is no longer as it was

// `does`: NATIVE_ flags, 0 for a function that no overlay of ours has.
void natives_call(Machine& m, const Function& function, uint32_t does, const FunctionColumns& columns, uint32_t row);
}  // namespace dt::state
