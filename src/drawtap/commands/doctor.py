"""`drawtap doctor`: what works here, and with this program."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import COMMANDS, Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.output.result import Rows, Verdict, Verdicts
from drawtap.output.text import size

if TYPE_CHECKING:
    from drawtap.capture.doctor import Check

_WITH_REGISTRIES = ("drawtap.formats", "drawtap.replay.engine", "drawtap.analysis.rule", "drawtap.system.driver",
                    "drawtap.system.reader", "drawtap.system.recorder", "drawtap.system.rule")  # fmt: skip


@command(
    section="record",
    examples=(
        "drawtap doctor",
        "drawtap doctor glmark2-es2",
        "drawtap doctor ./game --json",
        "drawtap doctor --clean",
        "drawtap doctor --clean --yes",
        "drawtap doctor --plugins",
    ),
)
def doctor(
    program: Annotated[str | None, Opt("the program to look at", metavar="PROGRAM")] = None,
    *,
    clean: Annotated[bool, Opt("List caches and what killed runs left, with sizes.")] = False,
    yes: Annotated[bool, Opt("With --clean: delete them.", "-y")] = False,
    plugins: Annotated[bool, Opt("List the parts that can be added, and their origin.")] = False,
) -> Verdicts | Rows:
    """Check this machine, or a program, for what recording needs.

    Without PROGRAM: the parts of drawtap, the C library, shared memory, the clock, the graphics drivers, the compiler.
    With PROGRAM: whether the tap can get into it, and which graphics libraries it uses. The program is not run.
    Exit code 1 where something keeps drawtap from recording.

    With --clean: compiled modules, indexes of recordings' state and other caches, all of which drawtap makes again;
    and folders of killed runs in the temporary folder. --yes deletes them, but for what a running drawtap may use.

    With --plugins: verbs, rules, formats, drivers, policies and other parts by name. Other distributions add theirs
    with the entry-point group drawtap.plugins.
    """
    if yes and not clean:
        raise UsageError("--yes: only with --clean")
    if clean or plugins:
        word = "--clean" if clean else "--plugins"
        if program is not None:
            raise UsageError(f"{word} looks at no program", hint="leave out PROGRAM")
        if clean and plugins:
            raise UsageError("--clean or --plugins, not both")
        return _cleaned(delete=yes) if clean else _plugins()
    from drawtap.capture import doctor as doctor_

    checks = doctor_.environment() if program is None else doctor_.program(program)
    return Verdicts(verdicts_of(checks))


def _cleaned(*, delete: bool) -> Verdicts:
    from drawtap.capture import leftovers

    items = leftovers.leftovers()
    free = [item for item in items if not item.in_use]
    if delete:
        try:
            leftovers.delete(free)
        except OSError as error:
            raise UnavailableError(f"{error.filename} cannot be deleted: {error.strerror}") from None
    did = "deleted " if delete else ""
    verdicts = [Verdict("ok", size(item.size_bytes), f"{did}{item.path} ({item.what})") for item in free]
    if kept := len(items) - len(free):
        finding = f"temporary: {kept} of running commands, perhaps"
        verdicts.append(Verdict("note", "kept", finding, "end drawtap and programs under it first"))
    total = size(sum(item.size_bytes for item in free))
    advice = None if delete or not free else "drawtap doctor --clean --yes deletes it"
    verdicts.append(Verdict("ok", total, "freed" if delete else "in caches and leftovers", advice))
    data = [{**asdict(item), "path": str(item.path), "deleted": delete and not item.in_use} for item in items]
    return Verdicts(verdicts, data=data)


def _plugins() -> Rows:
    from drawtap.plugins import all_registries

    COMMANDS.names()
    for module in _WITH_REGISTRIES:
        importlib.import_module(module)
    rows = []
    for registry in all_registries():
        for name, entry in registry.items():
            inner = getattr(entry, "function", entry)
            module = str(getattr(inner, "__module__", type(entry).__module__))
            rows.append((registry.kind, name, module, "drawtap" if module.startswith("drawtap.") else "added"))
    return Rows(("kind", "name", "module", "from"), sorted(rows))


def verdicts_of(checks: Iterable[Check]) -> list[Verdict]:
    """Return what the doctor found as lines to print."""
    return [Verdict(c.severity, c.subject, c.finding, c.advice) for c in checks]
