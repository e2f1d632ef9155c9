"""GLACI's limiter as its authors' module has it, for comparison: after the swap, sleep an interval from the last start.

The start of the next frame is what the clock shows after that sleep, so that what each sleep took too long adds up.
"""

from drawtap.instrument import func

limiting = func.Hooks(
    header="static thread_local uint64_t started;",
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            after_run="""
                uint64_t interval = (uint64_t)(1e9 / drawtap::setting("DRAWTAP_FPS", 60.0));
                if (started) drawtap::sleep_until(started + interval);
                started = drawtap::now_ns();
            """,
        ),
    ],
)
