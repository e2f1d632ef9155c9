"""MangoHud's limiter from its description: sleep what work leaves of the interval, less the last oversleep."""

from drawtap.instrument import func

limiting = func.Hooks(
    header="""
        #include <time.h>
        static thread_local int64_t frame_began, oversleep;
    """,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            before_run="""
                int64_t interval_ns = (int64_t)(1e9 / drawtap::setting("DRAWTAP_FPS", 60.0));
                int64_t now = (int64_t)drawtap::now_ns();
                if (frame_began) {
                  int64_t rest = interval_ns - (now - frame_began);
                  if (rest > oversleep) {
                    int64_t asked = rest - oversleep;
                    timespec length = {(time_t)(asked / 1000000000), (long)(asked % 1000000000)};
                    nanosleep(&length, nullptr);
                    int64_t after = (int64_t)drawtap::now_ns();
                    oversleep = after - now - asked;
                    if (oversleep > interval_ns) oversleep = 0;
                  }
                }
                frame_began = (int64_t)drawtap::now_ns();
            """,
        ),
    ],
)
