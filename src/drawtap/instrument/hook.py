"""Hooks: the only way code enters an application.

The protocol is that of GLACI (Tsuboi et al.): for every function of the API a hook says whether it wants it
(`is_target`), what runs before the driver (`before_run`), what runs after it (`after_run`); a set of hooks shares
a `header`. The recorder itself is such a set.

In the C++ of a hook the function's parameters stand under their own names, the return value as `_result`
(in `after_run`, functions that return something), the thread as `_t`. Names of a hook's own locals should not
begin with `_`.
"""

from __future__ import annotations

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
    """What one function gets: C++ statements before and after the driver's function runs."""

    is_target: bool | Callable[[], bool] = True
    before_run: str = ""
    after_run: str = ""

    def applies(self) -> bool:
        return self.is_target() if callable(self.is_target) else self.is_target


@dataclass(frozen=True)
class Hooks:
    """A set of hooks with the C++ they share.

    `header` goes once into every translation unit. Each of `hook_funcs` maps a `Function` to its `Hook`.
    Sets compose in order: `before_run` from first to last, `after_run` from last to first, each in a scope of its own
    unless `shares_scope` (the recorder's before and after share locals).
    """

    header: str = ""
    hook_funcs: Sequence[Callable[[Function], Hook]] = field(default_factory=tuple)
    name: str = "hooks"
    shares_scope: bool = False

    def for_function(self, function: Function) -> list[Hook]:
        """Return the hooks of this set that want `function`."""
        made = [make(function) for make in self.hook_funcs]
        return [hook for hook in made if hook.applies()]
