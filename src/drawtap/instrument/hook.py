"""Hooks: the only way code enters an application.

The protocol follows GLACI (Tsuboi et al.). For every function of the API, a hook says whether it wants it
(`is_target`), what runs before the driver (`before_run`), what runs after it (`after_run`); a set of hooks shares a
`header`. The recorder itself is such a set.

In the C++ of a hook the function's parameters stand under their own names, the return value as `_result` (functions
that return something). Names of a hook's own locals should not begin with `_`. Hooks of a user's module find more in
native/runtime/user/user.h and docs/howto/modules.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from drawtap.spec.model import Api, Command
from drawtap.spec.signature import Layout


@dataclass(frozen=True)
class Function:
    """One function as a hook sees it: its command, its number in the module and the layout of its record."""

    id: int
    command: Command
    api: Api
    layout: Layout

    @property
    def name(self) -> str:
        return self.command.name

    @property
    def returns_value(self) -> bool:
        return not (self.command.returns.scalar == "void" and not self.command.returns.indirection)

    def has(self, *flags: str) -> bool:
        """Tell whether the function carries any of the flags (see `spec.model.FLAGS`)."""
        return not self.command.flags.isdisjoint(flags)


@dataclass(frozen=True)
class Hook:
    """The hook code of one function: C++ statements before and after the driver's function runs.

    `is_target` is a value, or something to call for one: without arguments, or with the `Function`. `outside` stands
    before the function that the two pieces of code are in (users' modules only).
    """

    is_target: bool | Callable[[], bool] | Callable[[Function], bool] = True
    before_run: str = ""
    after_run: str = ""
    outside: str = ""

    def applies(self, function: Function) -> bool:
        """Tell whether `function` gets this hook."""
        if not callable(self.is_target):
            return bool(self.is_target)
        takes = len(inspect.signature(self.is_target).parameters)
        return bool(self.is_target(function) if takes else self.is_target())  # type: ignore[call-arg]


@dataclass(frozen=True)
class Hooks:
    """A set of hooks with the C++ they share.

    `header` goes once into every translation unit. Each of `hook_funcs` maps a `Function` to its `Hook`. Sets compose
    in order: `before_run` from first to last, `after_run` from last to first, each in a scope of its own unless
    `shares_scope` (the recorder's before and after share locals). The sets of a user's module (`isolated`) see neither
    each other's names nor the tap's; a hook's before and after code share one scope there. A set that runs `always`
    stands around all of that, also while nothing is recorded; its before and after share a scope.
    """

    header: str = ""
    hook_funcs: Sequence[Callable[[Function], Hook]] = field(default_factory=tuple)
    name: str = "hooks"
    shares_scope: bool = False
    isolated: bool = False
    always: bool = False

    def for_function(self, function: Function) -> list[Hook]:
        """Return the hooks of this set that want `function`."""
        made = [make(function) for make in self.hook_funcs]
        return [hook for hook in made if hook.applies(function)]


Func = Function  # as GLACI's scripts call it
