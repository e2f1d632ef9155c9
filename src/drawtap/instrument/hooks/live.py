"""Work at the frames of a program under a manager: they are counted, and held back on request.

Runs whether or not calls are recorded (native/runtime/live.h).
"""

from drawtap.instrument.hook import Function, Hook, Hooks

_KINDS = {"egl": "DT_LIVE_EGL", "glx": "DT_LIVE_GLX"}


def hooks() -> Hooks:
    """Return the hook set."""
    return Hooks(name="live", header='#include "live.h"', hook_funcs=(_frame, _interval), always=True)


def _frame(function: Function) -> Hook:
    names = [p.name for p in function.command.params]
    display = next((n for n in names if n == "dpy"), "0")
    # The thing that is shown: a surface or a drawable; in any other API the first name of the call.
    shown = next((n for n in names if n in ("surface", "drawable")), names[0] if names else "0")
    kind = _KINDS.get(function.api.name, "DT_LIVE_OTHER")
    which = f"{kind}, (uint64_t)(uintptr_t){display}, (uint64_t)(uintptr_t){shown}"
    before = f"dt::live::Swap _swap;\ndt::live::before_swap(&dt::tls, &_swap, {which});"
    return Hook(function.has("frame_end"), before, "dt::live::after_swap(&dt::tls, &_swap);")


def _interval(function: Function) -> Hook:
    return Hook(function.has("swap_interval"), "", "dt::live::interval_set((int32_t)interval);")
