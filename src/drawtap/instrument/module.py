"""Modules: the shared libraries that go into applications, shipped or built from hooks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap.instrument import generate, generate_headers
from drawtap.instrument.compile import CompileError, compile_module
from drawtap.instrument.generate_module import Target, generate_module, source_folders
from drawtap.instrument.hook import Hooks
from drawtap.instrument.script import Project


@dataclass(frozen=True)
class Module:
    """A tap library and the signature file that belongs to it."""

    library: Path
    signatures: Path


def build(name: str, apis: Sequence[str], hook_sets: Sequence[Hooks] | None = None) -> Module:
    """Generate and compile a module for `apis` with `hook_sets` (default: the recorder), or take it from the cache."""
    sources = generate.generate(tuple(apis), hook_sets)
    folder = compile_module(name, sources.files, _runtime(), include_folders(), generate_headers.headers())
    return Module(folder / f"libdrawtap-{name}.so", folder / f"{name}.sig")


def build_projects(
    projects: Sequence[Project], target: Target | None = None, announce: Callable[[int], None] | None = None
) -> Module:
    """Build one module with the hooks of `projects`, the first outermost, or take it from the cache.

    `announce` is called with the number of hooked functions before they are compiled, which may take a minute.

    It does not record by itself; preloaded in front of the tap, what reaches the driver is recorded. Raises UsageError
    where nothing is hooked, CompileError with the compiler's words (about a script's C++ they name the script and its
    line), UnavailableError without a compiler.
    """
    sources = generate_module(projects, target)
    name = "-".join(dict.fromkeys(project.name for project in projects))[:80]
    own = [path for project in projects for path in project.sources]
    user = generate.runtime_folder() / "user"
    files = {(f"{name}.sig" if file == "module.sig" else file): text for file, text in sources.files.items()}
    hooked = len(sources.hooked)
    announce_hooked = None if announce is None else lambda: announce(hooked)
    try:
        folder = compile_module(
            name,
            files,
            _runtime(),
            include_folders(),
            generate_headers.headers(),
            own=own,
            own_include=source_folders(projects),
            user_runtime=[user / "user.cc"],
            announce=announce_hooked,
        )
    except CompileError as error:
        written = [path for project in projects for path in (project.script, *project.sources, *project.headers)]
        error = CompileError(error.message.partition("\n")[0], _without_internals(error.output))
        if undefined := _UNDEFINED.search(error.output):
            error.hint = (
                f"nothing defines {undefined[1]}: the .cc file that does belongs into the folder of the module, and a C"
                ' function needs extern "C"'
            )
        elif _is_ours(error.output):
            error.hint = "this compiler does not take drawtap's own code: $CXX names another"
        elif not any(str(path) in error.output for path in written):
            # An open brace, string or comment makes the compiler stumble over what is generated after it.
            scripts = ", ".join(str(project.script) for project in projects)
            error.hint = f"it stumbled after code of yours: is a brace, a string or a comment left open in {scripts}?"
        raise error from None
    return Module(folder / f"libdrawtap-{name}.so", folder / f"{name}.sig")


_UNDEFINED = re.compile(r"(?:undefined reference to|undefined symbol:) [`'‘]?([^'’\n]+)")
# The text by which compilers suggest a name in place of an unknown one, where the name is nothing for people to use.
_INTERNAL = re.compile(r"; did you mean [‘'`]?(?:::)?(?:dt_|DT_|dt::|_t->|drawtap::detail|detail::|module_)[^?\n]*\?")


def _without_internals(output: str) -> str:
    return _INTERNAL.sub("", output)


def _is_ours(output: str) -> bool:
    # The runtime's sources are compiled by themselves: nothing in them depends on a script.
    wrong = [line for line in output.splitlines() if " error: " in line]
    return bool(wrong) and all(line.startswith(tuple(f"{path}:" for path in _runtime())) for line in wrong)


def _runtime() -> list[Path]:
    folders = (generate.runtime_folder(), generate.mirror_folder())
    sources = [path for folder in folders for path in folder.iterdir() if path.suffix in (".cc", ".S")]
    return sorted([*sources, *(generate.runtime_folder().parent / "common").glob("hash*.cc")])


def include_folders() -> list[Path]:
    """Return the folders whose headers the sources of every module see, beside those that are generated."""
    runtime = generate.runtime_folder()
    return [runtime, *(runtime.parent / room for room in ("mirror", "common", "third_party"))]
