"""Leave out everything that makes the GPU work: what remains is the time of the program itself.

Draws, dispatches, clears, blits and uploads of content are not passed on; contexts, objects, shaders and queries are,
so that the program finds what it expects. Frames per second with it are the most that any driver could give this
program. Each frame's time goes out as the metric frame_ms.
"""

from drawtap.instrument import func

_LEFT_OUT = ("draw", "dispatch", "clear")
_COPIES = ("glBlitFramebuffer", "glCopyTexSubImage2D", "glTexSubImage2D", "glBufferSubData", "glFlush", "glFinish")
_KEPT = ("glBegin", "glEnd")

nothing = func.Hooks(
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.api.name == "gl"
            and (f.has(*_LEFT_OUT) or f.name in _COPIES)
            and f.name not in _KEPT
            and not f.returns_value,
            before_run="_skip = true;",
        ),
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            before_run="""
                static thread_local uint64_t before;
                uint64_t now = drawtap::now_ns();
                if (before) drawtap::metric("frame_ms", (double)(now - before) / 1e6);
                before = now;
            """,
        ),
    ],
)
