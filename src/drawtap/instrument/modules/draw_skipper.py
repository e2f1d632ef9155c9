"""Leave out draw calls of every frame, to find by halves which one makes it slow.

DRAWTAP_SKIP=FIRST:END leaves out the draws FIRST to END - 1 of each frame, DRAWTAP_SKIP=N: all from N on. Without it
nothing is left out. Frame times go out as the metric frame_ms, the number of draws as draws.
"""

from drawtap.instrument import func

_DRAWS = ("draw", "dispatch")

skipping = func.Hooks(
    header="""
        #include <stdlib.h>
        struct Range {
          unsigned long first = ~0ul, end = ~0ul;
          Range() {
            const char* text = drawtap::setting("DRAWTAP_SKIP", "");
            if (!*text) return;
            char* colon;
            first = strtoul(text, &colon, 10);
            end = *colon != ':' ? first + 1 : colon[1] ? strtoul(colon + 1, nullptr, 10) : ~0ul;
          }
        };
        static bool skipped(unsigned long draw) {
          static Range range;
          return draw >= range.first && draw < range.end;
        }
        struct Frame {
          unsigned long draws;
          uint64_t started;
        };
    """,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.has(*_DRAWS) and f.name not in ("glBegin", "glEnd"),
            before_run="if (skipped(drawtap::per_context<Frame>().draws++)) _skip = true;",
        ),
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            after_run="""
                Frame& frame = drawtap::per_context<Frame>();
                uint64_t now = drawtap::now_ns();
                if (frame.started) drawtap::metric("frame_ms", (double)(now - frame.started) / 1e6);
                drawtap::metric("draws", (double)frame.draws);
                frame = {0, now};
            """,
        ),
    ],
)
