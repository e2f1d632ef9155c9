"""Generate a user's module: wrappers for the functions that hooks want, and for what those hooks need.

The hooked functions are chosen from a target system's functions: API, version, profile and extensions, as the registry
has them. Without one, everything that drawtap knows is there to be hooked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drawtap.errors import UsageError, did_you_mean
from drawtap.instrument import generate, generate_driver, user_code
from drawtap.instrument.hook import Function, Hook, Hooks
from drawtap.instrument.script import RESTORE, Project
from drawtap.spec.model import Api
from drawtap.spec.registry import load_api
from drawtap.spec.signature import signature_text

# The registry of a target API, and the window-system APIs that go with it.
TARGETS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "gl": ("gl", ("egl", "glx")),
    "gles1": ("gl", ("egl",)),
    "gles2": ("gl", ("egl",)),
    "glsc2": ("gl", ("egl",)),
    "vg": ("vg", ("egl",)),
    "egl": ("egl", ()),
    "glx": ("glx", ()),
    "toy": ("toy", ()),
}
BETWEEN = "\n\n// ----\n\n"  # between the wrappers of two functions
_UNIT = 120  # functions a C++ file: a change of one hook recompiles all, so files are for the processors


@dataclass(frozen=True)
class Target:
    """A system to make a module for: `api` with `version` and `profile`, and `extensions` by name.

    No `version` means the newest. An empty `api` means every function of every API.
    """

    api: str = ""
    version: str = ""
    profile: str = ""
    extensions: tuple[str, ...] = ()

    def registries(self) -> tuple[str, ...]:
        """Return the registries that the target's functions come from. Raises UsageError for an unknown API."""
        if not self.api:
            return generate.DEFAULT_APIS
        if self.api not in TARGETS:
            raise UsageError(f"no target API is called {self.api!r}", hint=f"APIs: {', '.join(TARGETS)}")
        own, beside = TARGETS[self.api]
        return (own, *beside)

    def commands(self) -> set[str] | None:
        """Return the names of the target's functions, None for all. Raises UsageError for what no registry has."""
        registries = self.registries()
        if not self.api:
            if self.version or self.extensions:
                raise UsageError("a version or an extension needs an API", hint="--api gles2 --version 3.1")
            return None
        own = load_api(registries[0])
        numbers = [feature.number for feature in own.features if feature.api == self.api]
        version = self.version or (numbers[-1] if numbers else "")
        try:
            names_ = set(own.command_set(self.api, version, self.profile)) if numbers else set(own.commands)
        except KeyError as error:
            raise UsageError(str(error.args[0])) from None
        for name in registries[1:]:
            names_ |= set(load_api(name).commands)
        for extension in self.extensions:
            names_ |= self._extension(extension, [load_api(name) for name in registries])
        return names_

    def _extension(self, name: str, apis: Sequence[Api]) -> set[str]:
        for api in apis:
            for extension in api.extensions:
                if extension.name == name:
                    if extension.supported and api.name == "gl" and self.api not in extension.supported:
                        offered = ", ".join(extension.supported)
                        raise UsageError(f"{name} is no extension of {self.api}", hint=f"it is one of {offered}")
                    return {command for names in extension.commands.values() for command in names}
        known = [extension.name for api in apis for extension in api.extensions]
        raise UsageError(f"no registry has an extension {name}", hint=did_you_mean(name, known))


@dataclass(frozen=True)
class ModuleSources:
    """Generated files by name, the functions of the module, and the names of those that hooks want."""

    files: Mapping[str, str]
    functions: tuple[Function, ...]
    hooked: tuple[str, ...]


def generate_module(projects: Sequence[Project], target: Target | None = None) -> ModuleSources:
    """Generate the sources of one module with the hooks of `projects`, the first outermost.

    Raises UsageError where no function is hooked.
    """
    target = target or Target()
    sets = [hooks for project in projects for hooks in project.hook_sets]
    sets = _distinct(sets)
    registries = target.registries()
    apis = {name: load_api(name) for name in registries}
    everything = generate.functions_of(registries)
    allowed = target.commands()
    wanted = [f for f in everything if allowed is None or f.name in allowed]
    hooked = [f for f in wanted if any(hooks.for_function(f) for hooks in sets)]
    if not hooked:
        raise UsageError(
            f"no function of the target is hooked by {', '.join(str(p.script) for p in projects)}",
            hint="is_target of the hooks says no to every one of them",
        )
    sources = _sources_text(projects)
    texts = {f.name: _code(f, sets) for f in hooked}
    # Helpers in headers and sources count as the hooks that call them do.
    code = "\n".join([sources, *(h.header for h in sets), *texts.values()])
    mentioned = user_code.mentioned_commands(apis, code)
    asked = _Asked.of(code)
    inside = {f.name for f in hooked} | mentioned
    needed = [f for f in everything if f.name in inside or f.has("lookup") or asked.keeps_track(f)]
    functions = tuple(replace(f, id=index) for index, f in enumerate(needed))
    files = _files(functions, [asked.tracking(), *sets], apis, sources, texts)
    return ModuleSources(files, functions, tuple(f.name for f in hooked))


def _distinct(sets: Sequence[Hooks]) -> list[Hooks]:
    """Give sets of one name different ones: their namespaces must differ."""
    taken: dict[str, int] = {}
    distinct = []
    for hooks in sets:
        number = taken[hooks.name] = taken.get(hooks.name, 0) + 1
        distinct.append(hooks if number == 1 else replace(hooks, name=f"{hooks.name}_{number}"))
    return distinct


def _code(function: Function, sets: Sequence[Hooks]) -> str:
    return "\n".join(f"{h.before_run}\n{h.after_run}" for hooks in sets for h in hooks.for_function(function))


def _sources_text(projects: Sequence[Project]) -> str:
    files = [path for project in projects for path in (*project.sources, *project.headers)]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


# ---- frames and contexts, for hooks that ask for them ------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """Facts that the hooks of a module want to know, and that somebody has to keep track of."""

    contexts: bool
    calls: bool

    @classmethod
    def of(cls, code: str) -> _Asked:
        return cls(
            re.search(r"\b(_context|per_context|detail::context)\b", code) is not None,
            re.search(r"\b(_call|detail::call)\b", code) is not None,
        )

    def keeps_track(self, function: Function) -> bool:
        # Every module counts frames: metrics and marks say in which one they were made.
        return function.has("frame_end") or (self.contexts and function.has("make_current", "context"))

    def tracking(self) -> Hooks:
        """Return the hooks that keep track, outermost in the module."""
        return Hooks(name="tracking", hook_funcs=(self._track,), isolated=True)

    def _track(self, function: Function) -> Hook:
        names = {p.name for p in function.command.params}
        before = "drawtap::detail::count_call();" if self.calls else ""
        after = []
        if function.has("frame_end"):
            after.append("drawtap::detail::entered_frame_end();")
        if self.contexts and function.has("make_current") and "ctx" in names:
            done = "if (_result) " if function.returns_value else ""
            after.append(f"{done}drawtap::detail::made_current((const void*)ctx);")
        if self.contexts and function.name == "eglReleaseThread":
            after.append("drawtap::detail::made_current(nullptr);")
        if self.contexts and function.has("context") and "Create" in function.name and function.returns_value:
            after.append("drawtap::detail::context_made((const void*)_result);")
        return Hook(is_target=bool(before or after), before_run=before, after_run="\n".join(after))


# ---- files -------------------------------------------------------------------------------------------------


def _files(
    functions: Sequence[Function],
    sets: Sequence[Hooks],
    apis: Mapping[str, Api],
    sources: str,
    texts: Mapping[str, str],
) -> dict[str, str]:
    code = "\n".join(texts.values())
    with_arguments = [f for f in functions if "_arguments" in texts.get(f.name, "")]
    shared = generate.shared_header(tuple(apis), [])
    own = user_code.header(sets[1:], apis, with_arguments, f"{sources}\n{code}")
    files = {
        "module.h": f"{shared}{own}\n",
        # One source: a compiler spends its time on what they include.
        "tables.cc": generate.tables(functions, records=False)
        + generate_driver.table({f.name: f.id for f in functions}),
        "entries.S": generate.entries(functions, sets),
        "module.sig": signature_text(
            [f.command for f in functions], list(apis.values()), {f.name: f.id for f in functions}
        ),
    }
    for number, start in enumerate(range(0, len(functions), _UNIT)):
        body = BETWEEN.join(generate.wrapper(f, sets) for f in functions[start : start + _UNIT])
        files[f"wrappers_{number}.cc"] = f'#include "module.h"\n\n{body}\n'
    return {name: _with_lines(name, text) for name, text in files.items()}


def _with_lines(name: str, text: str) -> str:
    """Put into every RESTORE the line it stands on, so that the compiler talks of the generated file again."""
    if RESTORE not in text:
        return text
    lines = text.split("\n")
    restored = [f'#line {n + 2} "{name}"' if line.strip() == RESTORE else line for n, line in enumerate(lines)]
    return "\n".join(restored)


def source_folders(projects: Sequence[Project]) -> list[Path]:
    """Return the folders that the projects' own headers are looked for in."""
    return list(dict.fromkeys(folder for project in projects for folder in project.include_folders))
