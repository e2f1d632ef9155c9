"""A slower driver: every call of GL also counts to DRAWTAP_BURN, in instructions that depend on nothing else."""

from drawtap.instrument import func

burning = func.Hooks(
    header="""
        static inline void burn() {
            static const long turns = long(drawtap::setting("DRAWTAP_BURN", 0.0));
            for (long i = 0; i < turns; i++) asm volatile("" : "+r"(i));
        }
    """,
    hook_funcs=[lambda f: func.Hook(is_target=f.name.startswith("gl"), before_run="burn();")],
)
