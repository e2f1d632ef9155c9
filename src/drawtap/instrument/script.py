"""Instrumentation scripts: Python that says which code goes around which function (GLACI, Tsuboi et al.).

A module project is one script, or a folder with a script `hooks.py` and C++ sources beside it. The script makes
`func.Hooks`; every one at its top level counts, in the order in which they were made.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drawtap.errors import InputError, UsageError
from drawtap.instrument import func
from drawtap.instrument.hook import Function, Hook, Hooks

RESTORE = '#line 1 "@"'  # the generator puts in the place where this line stands
_SCRIPT = "hooks.py"
_SOURCES = (".cc", ".cpp", ".cxx")
_HEADERS = (".h", ".hpp", ".inc")


@dataclass(frozen=True)
class Project:
    """A user's module before it is built: sets of hooks that know their lines in the script, and C++ sources."""

    name: str
    script: Path
    about: str
    hook_sets: tuple[Hooks, ...]
    sources: tuple[Path, ...]

    @property
    def include_folders(self) -> tuple[Path, ...]:
        """Folders in which the project's own headers lie."""
        return (self.script.parent,)

    @property
    def headers(self) -> tuple[Path, ...]:
        """C++ headers beside the script: what is built depends on them."""
        return tuple(sorted(p for p in self.script.parent.iterdir() if p.suffix in _HEADERS)) if self.sources else ()


def load(path: Path) -> Project:
    """Run the script of the project at `path` (a file, or a folder with hooks.py) and take its hooks.

    Raises InputError where there is no such script, UsageError where it fails or makes no hooks.
    """
    script = path / _SCRIPT if path.is_dir() else path
    try:
        text = script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = f"a module folder holds a script {_SCRIPT}" if path.is_dir() else None
        raise InputError(f"cannot read the instrumentation script {script}: {error}", hint=hint) from None
    script = script.resolve()
    scope = _run(script, text)
    hook_sets = [value for value in scope.values() if isinstance(value, Hooks)]
    if not hook_sets:
        raise UsageError(f"{script} makes no hooks", hint="func.Hooks(hook_funcs=[lambda f: func.Hook(...)])")
    lines = _Lines(script, text)
    sources = tuple(sorted(p for p in script.parent.iterdir() if p.suffix in _SOURCES)) if path.is_dir() else ()
    named = {id(value): name for name, value in reversed(list(scope.items())) if isinstance(value, Hooks)}
    stem = script.parent.name if path.is_dir() else script.stem
    sets = tuple(
        _traced(hooks, f"{stem}_{named[id(hooks)]}", lines) for hooks in {id(h): h for h in hook_sets}.values()
    )
    about = ast.get_docstring(ast.parse(text)) or ""
    return Project(re.sub(r"\W", "_", stem), script, about, sets, sources)


def _run(script: Path, text: str) -> dict[str, object]:
    scope: dict[str, object] = {"func": func, "__file__": str(script), "__name__": "drawtap_module"}
    try:
        exec(compile(text, str(script), "exec"), scope)
    except SyntaxError as error:
        raise UsageError(f"{script}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        raise _failed(script, error) from error
    return scope


def _failed(script: Path, error: Exception) -> UsageError:
    places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(script)]
    place = f"{script}:{places[-1]}" if places else str(script)
    return UsageError(f"{place}: {type(error).__name__}: {error}")


def _traced(hooks: Hooks, name: str, lines: _Lines) -> Hooks:
    """Return `hooks` with the script's line numbers in their C++, and isolated from all others."""

    def traced(make: Callable[[Function], Hook]) -> Callable[[Function], Hook]:
        near = getattr(getattr(make, "__code__", None), "co_firstlineno", 1)
        known: dict[str, Hook] = {}

        def made(function: Function) -> Hook:
            if function.name not in known:
                known[function.name] = anew(function)
            return known[function.name]

        def anew(function: Function) -> Hook:
            try:
                hook = make(function)
                if not isinstance(hook, Hook):
                    raise TypeError(f"a hook function returned {type(hook).__name__} and not func.Hook")
                wanted = hook.applies(function)
            except Exception as error:
                raise _failed(lines.script, error) from error
            if not wanted:
                return Hook(is_target=False)
            marked = [lines.mark(code, near) for code in (hook.before_run, hook.after_run, hook.outside)]
            return Hook(True, *marked)

        return made

    own = hooks.name if hooks.name != "hooks" else name
    made = tuple(traced(make) for make in hooks.hook_funcs)
    return replace(hooks, name=own, header=lines.mark(hooks.header, 1), hook_funcs=made, isolated=True)


class _Lines:
    """Where the lines of a C++ text stand in the script that made it.

    A text is what the script's string literals became: each of its lines is looked for among the literals' lines, in
    which a replaced expression ({f.name}) matches anything.
    """

    def __init__(self, script: Path, text: str) -> None:
        self.script = script
        self._rows = [row.strip() for row in text.splitlines()]
        self._plain: dict[str, int] = {}
        self._patterns: list[tuple[re.Pattern[str], int]] = []
        self._known: dict[tuple[str, int], int] = {}
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except SyntaxError:
            return
        inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        rows = text.splitlines()
        for node in nodes:
            if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside
            ):
                self._add(node, rows)

    def _add(self, node: ast.JoinedStr | ast.Constant, rows: Sequence[str]) -> None:
        template = (
            "".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values)
            if isinstance(node, ast.JoinedStr)
            else str(node.value)
        )
        last = node.end_lineno or node.lineno
        for offset, row_text in enumerate(template.split("\n")):
            line = row_text.strip()
            if not line.strip("\0"):
                continue
            at = min(node.lineno + offset, last)
            # Literals side by side are one node: the constant parts tell on which row a piece of it stands.
            parts = [part for part in line.split("\0") if part.strip()]
            for row in range(at, last + 1):
                if parts and max(parts, key=len).strip() in rows[row - 1]:
                    at = row
                    break
            if "\0" in line:
                pattern = ".*".join(re.escape(part) for part in line.split("\0"))
                self._patterns.append((re.compile(pattern), at))
            else:
                self._plain.setdefault(line, at)

    def mark(self, code: str, near: int) -> str:
        """Return `code` with #line directives; `near` is its line if nothing else is known."""
        if not code.strip():
            return ""
        out: list[str] = []
        expected = -1
        for line in code.splitlines():
            stripped = line.strip()
            follows = 0 < expected <= len(self._rows) and self._rows[expected - 1] == stripped
            at = expected if follows or not stripped else self._find(stripped, near)
            if at != expected and stripped:
                out.append(f'#line {at} "{self.script}"')
                expected = at
            out.append(line)
            expected += 1
        # A statement that lacks its end is finished here: the next one is generated, and nothing of the script's.
        return "\n".join([*out, ";", RESTORE])

    def _find(self, line: str, near: int) -> int:
        key = (line, near)
        if key not in self._known:
            at_ = self._plain.get(line, 0)
            if not at_:
                at_ = next((at for pattern, at in self._patterns if pattern.fullmatch(line)), near)
            self._known[key] = at_
        return self._known[key]
