"""Hold the frame rate at DRAWTAP_FPS frames a second (default 60).

Frames are due at absolute times, so that errors do not add up; a frame that is more than one interval late starts the
schedule anew, so that no burst follows a stall.
"""

from drawtap.instrument import func

limiting = func.Hooks(
    header="""
        struct Schedule {
          uint64_t due;
        };
        static uint64_t interval_ns() {
          static double fps = drawtap::setting("DRAWTAP_FPS", 60.0);
          return fps > 0 ? (uint64_t)(1e9 / fps) : 0;
        }
    """,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            before_run="""
                uint64_t interval = interval_ns();
                if (interval) {
                  Schedule& schedule = drawtap::per_context<Schedule>();
                  uint64_t now = drawtap::now_ns();
                  schedule.due += interval;
                  if (now > schedule.due + interval) schedule.due = now;
                  else if (now < schedule.due) drawtap::sleep_until(schedule.due);
                }
            """,
        ),
    ],
)
