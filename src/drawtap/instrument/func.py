"""The vocabulary of hooks in an instrumentation script, under the names of GLACI's scripts (Tsuboi et al.).

    from drawtap.instrument import func

A script finds this module as `func` even without the import.
"""

from drawtap.instrument.hook import Func, Hook, Hooks

__all__ = ["Func", "Hook", "Hooks"]
