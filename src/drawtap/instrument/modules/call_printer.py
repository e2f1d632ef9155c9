"""Print the name of every draw call before and after it runs.

The example of the GLACI paper (Tsuboi et al., Figure 8).
"""

from drawtap.instrument import func


def _print_enter(f: func.Func) -> str:
    return f'std::cerr << "{f.name} Enter" << std::endl;'


def _print_leave(f: func.Func) -> str:
    return f'std::cerr << "{f.name} Leave" << std::endl;'


debug_hooks = func.Hooks(
    header="#include <iostream>",
    hook_funcs=[
        lambda f: func.Hook(
            is_target=lambda f: "glDraw" in f.name,
            before_run=_print_enter(f),
            after_run=_print_leave(f),
        ),
    ],
)
