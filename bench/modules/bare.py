"""Hooks that do nothing around every call: what a module costs without what its hooks do."""

from drawtap.instrument import func

nothing = func.Hooks(hook_funcs=[lambda f: func.Hook(before_run=";")])
