"""Generate the C++ of a tap module from the specification and hook sets.

The only place that writes C++. A module has wrappers in several translation units, tables by function id, assembler
entries, and the signature text that makes traces self-describing. The entries go to the current target of a call, and
tell apart the same function of several libraries. Together with the hand-written native/runtime it compiles to one
LD_PRELOAD library.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from drawtap.errors import UsageError, did_you_mean
from drawtap.instrument import generate_driver, user_code
from drawtap.instrument.hook import Function, Hook, Hooks
from drawtap.instrument.hooks import capture_state, live, recorder
from drawtap.spec import expr
from drawtap.spec.model import Command
from drawtap.spec.registry import load_api, recorded_apis
from drawtap.spec.signature import layout, signature_text

DEFAULT_APIS = recorded_apis()
FUNCTIONS_PER_UNIT = 420
#: Stem of the units with commands that extensions alone have (`by_use`).
RARE = "wrappers_rare"


@dataclass(frozen=True)
class Sources:
    """Generated files by name: C++ units, the header they share, the assembler file and the signatures."""

    files: dict[str, str]
    functions: tuple[Function, ...]

    def write(self, folder: Path) -> None:
        """Write the files as `write_files` does, and remove the units of other versions: builds take all there are."""
        write_files(folder, self.files)
        remove_others(folder, self.files, "wrappers_*.cc", "*.S")


def remove_others(folder: Path, files: Mapping[str, str], *patterns: str) -> None:
    """Remove what matches a pattern and is not among `files`."""
    for stale in (path for pattern in patterns for path in folder.glob(pattern)):
        if stale.name not in files:
            stale.unlink()


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write generated files, leaving those alone whose content is the same (so that builds stay incremental)."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def command_line(about: str | None) -> argparse.ArgumentParser:
    """Return the reader of a generator's command line, which has `--output`: the folder for `write_files`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--output", type=Path, required=True)
    return parser


def runtime_folder() -> Path:
    """Return the folder of the hand-written runtime: in the source tree, or where the package was installed."""
    here = Path(__file__).resolve()
    for candidate in (here.parents[3] / "native" / "runtime", here.parents[1] / "_native" / "include" / "runtime"):
        if candidate.is_dir():
            return candidate
    raise UsageError("the sources of the native runtime are not here", hint="reinstall drawtap")


def mirror_folder() -> Path:
    """Return the folder of the mirror of GL state, which the runtime and the player share."""
    return runtime_folder().parent / "mirror"


def default_hooks() -> list[Hooks]:
    """Return the hook sets of the standard tap: what a manager sees, capture state, then the recorder."""
    return [live.hooks(), capture_state.hooks(mirror_folder()), recorder.hooks()]


@cache
def functions_of(apis: Sequence[str]) -> tuple[Function, ...]:
    """Return every command of the APIs as numbered functions; a name that two registries share is taken once."""
    functions: list[Function] = []
    seen: set[str] = set()
    for name in apis:
        api = load_api(name)
        for command in sorted(api.commands.values(), key=lambda c: c.name):
            if command.name not in seen:
                seen.add(command.name)
                functions.append(Function(len(functions), command, api, layout(command)))
    return tuple(functions)


def generate(apis: Sequence[str] = DEFAULT_APIS, hook_sets: Sequence[Hooks] | None = None) -> Sources:
    """Generate the sources of a module that taps `apis` with `hook_sets` (default: the recorder's)."""
    sets = list(hook_sets) if hook_sets is not None else default_hooks()
    functions = functions_of(tuple(apis))
    files = {
        "module.h": shared_header(apis, sets),
        "tables.cc": tables(functions),
        "driver.cc": generate_driver.table({f.name: f.id for f in functions}),
        "entries.S": entries(functions, sets),
    }
    for stem, part in zip(("wrappers", RARE), by_use(functions, apis), strict=True):
        for number, start in enumerate(range(0, len(part), FUNCTIONS_PER_UNIT)):
            body = "\n\n".join(wrapper(function, sets) for function in part[start : start + FUNCTIONS_PER_UNIT])
            files[f"{stem}_{number}.cc"] = f'#include "module.h"\n\n{body}\n'
    files["tap.sig"] = signature_text(
        [f.command for f in functions], [load_api(name) for name in apis], {f.name: f.id for f in functions}
    )
    return Sources(files, functions)


def by_use(functions: Sequence[Function], apis: Sequence[str]) -> tuple[list[Function], list[Function]]:
    """Return the functions that some version of an API has, under this name or another, and those of extensions alone.

    Programs hardly ever call the latter often. Optimizing them would take nearly half of the time of all: builds leave
    it out.
    """
    names = frozenset(
        name
        for api in map(load_api, apis)
        for feature in api.features
        for commands in feature.commands.values()
        for name in commands
    )
    parts: tuple[list[Function], list[Function]] = [], []
    for function in functions:
        parts[function.name not in names and function.command.alias not in names].append(function)
    return parts


def show(name: str, apis: Sequence[str] = DEFAULT_APIS) -> str:
    """Return the generated wrapper of one function. Raises UsageError for a name that no API has."""
    functions = {function.name: function for function in functions_of(tuple(apis))}
    if name not in functions:
        raise UsageError(f"no API has a command {name}", hint=did_you_mean(name, functions))
    return wrapper(functions[name], default_hooks())


# ---- one wrapper -----------------------------------------------------------------------------------------------


def wrapper(function: Function, hook_sets: Sequence[Hooks]) -> str:
    """Return the C++ of one wrapper.

    There are three functions. The entering one decides. The recording one runs the before code of all hooks, the
    driver, and the after code in reverse. The slow one takes the rare ways: not resolved yet, called inside another
    call, another library's function, exact order wanted. The program calls one jump in front of them (`entries`): while
    nothing is recorded it goes to the driver's function. Where something is to be done even then, the entering one is
    itself what the program calls.
    """
    command = function.command
    names = ", ".join(p.name for p in command.params)
    ret = "return " if function.returns_value else ""
    end = "" if function.returns_value else " return;"
    returns = command.returns.spelling
    before, after = _hook_code(function, [hooks for hooks in hook_sets if not hooks.isolated and not hooks.always])
    isolated = [hooks for hooks in hook_sets if hooks.isolated]
    always = _always(function, hook_sets)
    lookup = _lookup(function)
    boundary = _boundary(function)
    unseen = "\n".join(filter(None, (_unseen(function), lookup or boundary)))
    kept = _is_kept(function, hook_sets)
    core = [
        "  dt::mark_frame(_t);",
        textwrap.indent(before, "  "),
        f"  {returns} _result = _real({names});" if function.returns_value else f"  _real({names});",
        textwrap.indent(after, "  "),
    ]
    nested = ""
    if isolated:
        nested = f"  if (_user) {{ {ret}dt_core_{command.name}({names});{end} }}"
    lines = [
        *(_around_core(function, isolated, core) if isolated else ()),
        f"static {_prototype(command, 'dt_record_')} __attribute__((noinline));",
        f"static {_prototype(command, 'dt_record_')} {{",
        "  dt::Thread* const _t = &dt::tls;",
        f"  const auto _real = ({returns} (*)({command.types}))_t->real;",
        *(
            ["  dt::mark_frame(_t);", textwrap.indent(user_code.enclosed(function, isolated), "  ")]
            if isolated
            else core
        ),
        f"  {lookup}" if lookup else "",
        "  dt::end_call(_t);",
        f"  {boundary}" if boundary else "",
        "  return _result;" if function.returns_value else "",
        "}",
        f"{'static' if kept else 'DT_INNER'} DT_COLD {_prototype(command, 'dt_slow_')} {{",
        "  dt::Thread* const _t = &dt::tls;",
        f"  const dt::Slow _s = dt::enter_slow(_t, {function.id}, __builtin_frame_address(0));",
        f"  if (!_s.real) return{' (' + returns + ')0' if function.returns_value else ''};",
        f"  if (!_s.record) {{ {_unrecorded(function, names, unseen)} }}",
        "  const bool _user = _t->special & dt::SPECIAL_USER;" if isolated else "",
        "  dt::begin_call(_t, _s.real);",
        nested,
        f"  {ret}dt_record_{command.name}({names});",
        "}",
        f"{_entering(command, always=bool(always), kept=kept)} {{",
        "  dt::Thread* const _t = &dt::tls;",
        f"  const auto _real = ({returns} (*)({command.types}))dt::g_real[{function.id}][0];",
        f"  if (DT_UNLIKELY((dt::g_mode | _t->special) != 0 || {'!_real' if kept else 'dt::is_late(_real)'})) {{",
        f"    {ret}dt_slow_{command.name}({names});{end}",
        "  }",
        "  dt::begin_call(_t, (void*)_real);",
        f"  {ret}dt_record_{command.name}({names});",
        "}",
        *(_around_all(function, always) if always else ()),
    ]
    return "\n".join(line for line in lines if line.strip())


def _is_kept(function: Function, hook_sets: Sequence[Hooks]) -> bool:
    """Tell whether the tap has something to do at calls of the function even while nothing is recorded."""
    return bool(_lookup(function) or _boundary(function) or _unseen(function) or _always(function, hook_sets))


def is_recorded_only(function: Function, hook_sets: Sequence[Hooks]) -> bool:
    """Tell whether the tap does nothing at calls of the function but record them, without an exact order."""
    others = [hooks for hooks in hook_sets if hooks.name != "recorder"]
    ordered = function.has("sync", "make_current", "context")
    return not (ordered or _is_kept(function, hook_sets) or any(_hook_code(function, others)))


def _entering(command: Command, *, always: bool, kept: bool) -> str:
    if always:
        return f"static inline {_prototype(command, 'dt_tap_')}"
    return f"DT_EXPORT {_prototype(command)}" if kept else f"DT_INNER {_prototype(command, 'dt_enter_')}"


def _always(function: Function, hook_sets: Sequence[Hooks]) -> list[Hook]:
    return [hook for hooks in hook_sets if hooks.always for hook in hooks.for_function(function)]


def _around_all(function: Function, hooks: Sequence[Hook]) -> list[str]:
    """Return the exported function where hooks stand around everything else."""
    command = function.command
    call = f"dt_tap_{command.name}({', '.join(p.name for p in command.params)});"
    return [
        f"DT_EXPORT {_prototype(command)} {{",
        "  dt::live::tell_when_left();",
        *(textwrap.indent(hook.before_run, "  ") for hook in hooks),
        f"  {command.returns.spelling} _result = {call}" if function.returns_value else f"  {call}",
        *(textwrap.indent(hook.after_run, "  ") for hook in reversed(hooks)),
        "  return _result;" if function.returns_value else "",
        "}",
    ]


def _around_core(function: Function, isolated: Sequence[Hooks], core: Sequence[str]) -> list[str]:
    """Return what a user's hooks enclose, a function that their own calls go to as well, and those hooks."""
    command = function.command
    return [
        *user_code.functions(function, isolated),
        f"static {_prototype(command, 'dt_core_')} {{",
        "  dt::Thread* const _t = &dt::tls;",
        f"  const auto _real = ({command.returns.spelling} (*)({command.types}))_t->real;",
        "  char* const _outer = _t->frame;",
        *core,
        "  _t->frame = _outer;",
        "  dt::stay_in_order();",
        "  _t->special = dt::SPECIAL_USER;",
        "  return _result;" if function.returns_value else "",
        "}",
    ]


def _unrecorded(function: Function, names: str, then: str) -> str:
    real = f"(({function.command.returns.spelling} (*)({function.command.types}))_s.real)({names});"
    if then:
        return f"auto _result = {real} {then} return _result;" if function.returns_value else f"{real} {then} return;"
    return f"return {real}" if function.returns_value else f"{real} return;"


def _lookup(function: Function) -> str:
    """Code that swaps a looked-up entry point for the tap's own."""
    if not function.has("lookup"):
        return ""
    name = function.command.params[-1].name
    return f"_result = (decltype(_result))dt::wrap_lookup((const char*){name}, (void*)_result);"


def _boundary(function: Function) -> str:
    """Code that looks whether recording is to start or stop: after what may end a frame, also while it is off."""
    kinds = (("frame_end", "FRAME_SHOWN"), ("finish", "WAITED_FOR_GPU"), ("flush", "FLUSHED"), ("readback", "FLUSHED"))
    for flag, kind in kinds:
        if function.has(flag):
            return f"dt::at_boundary(_t, dt::{kind});"
    return ""


_UNRECORDED = re.compile(r"\bunrecorded_(\w+)\(")


@cache
def _watched() -> frozenset[str]:
    paths = (runtime_folder() / "keep.h", *(runtime_folder() / "vulkan").glob("*.cc"))
    return frozenset(name for path in paths for name in _UNRECORDED.findall(path.read_text()))


def _unseen(function: Function) -> str:
    """Code for what the runtime has to know of even while nothing is recorded (native/runtime/keep.h)."""
    for name in (function.name, function.command.alias):
        if name in _watched():
            arguments = ["_t", *(p.name for p in function.command.params)]
            if function.returns_value:
                arguments.append("_result")
            return f"dt::hook::unrecorded_{name}({', '.join(arguments)});"
    return ""


def _hook_code(function: Function, hook_sets: Sequence[Hooks]) -> tuple[str, str]:
    before: list[str] = []
    after: list[str] = []
    for hooks in hook_sets:
        for hook in hooks.for_function(function):
            before.append(_scoped(hook.before_run, hooks))
            after.append(_scoped(hook.after_run, hooks))
    return "\n".join(filter(None, before)), "\n".join(filter(None, reversed(after)))


def _scoped(code: str, hooks: Hooks) -> str:
    code = code.strip("\n")
    return code if not code or hooks.shares_scope else "{\n" + textwrap.indent(code, "  ") + "\n}"


def _prototype(command: Command, prefix: str = "") -> str:
    return f"{command.returns.spelling} {prefix}{command.name}({command.parameters})"


# ---- what the wrappers share -----------------------------------------------------------------------------------


def shared_header(apis: Sequence[str], hook_sets: Sequence[Hooks]) -> str:
    loaded = [load_api(name) for name in apis]
    own = sorted(path.name for path in mirror_folder().glob("sizes*.h"))
    parts = [
        "// Generated. Types, size rules and headers of the hooks.",
        "#pragma once",
        '#include "tap.h"',
        '#include "keep.h"',
        '#include "images.h"',
        *(f'#include "{name}"' for name in own),
        *(api.typedefs for api in loaded),
        *(expr.tables_to_cpp(api) for api in loaded if api.tables),
        *(hooks.header for hooks in hook_sets if hooks.header),
    ]
    return "\n".join(parts) + "\n"


def tables(functions: Sequence[Function], *, records: bool = True) -> str:
    names = ",\n".join(f'  "{f.name}"' for f in functions)
    draws = textwrap.fill(
        ", ".join(str(_draws(f)) for f in functions), 118, initial_indent="  ", subsequent_indent="  "
    )
    return f"""// Generated. Tables by function id.
#include "tap.h"
namespace dt {{
const unsigned g_function_count = {len(functions)};
const bool g_module_records = {"true" if records else "false"};
const char* const g_names[] = {{
{names}
}};
void* g_real[{len(functions)} + 1][VARIANTS];  // the last one: of functions that are none of the module's
// What may be left out while the recorder is behind: 1 draws, between 2 and 3 they go into a list; of 4 the content.
extern const uint8_t g_draws[] __attribute__((visibility("hidden")));
const uint8_t g_draws[] = {{
{draws}
}};
}}  // namespace dt
"""


def _draws(function: Function) -> int:
    if function.has("records"):  # what a command buffer has must be whole
        return 0
    if function.has("list_begin", "list_end"):
        return 2 if function.has("list_begin") else 3
    if function.has("draw", "dispatch") and not function.has("stateful_draw"):
        return 1
    return 4 if function.has("upload") else 0


def entries(functions: Sequence[Function], hook_sets: Sequence[Hooks] = ()) -> str:
    """Return the assembler file with what the program calls, in the order of the functions' numbers."""
    rows = "\n".join(f"DT_FUNCTION {f.id}, {f.name}" + (", 1" if _is_kept(f, hook_sets) else "") for f in functions)
    return f"""/* Generated. What the program calls: see native/runtime/entry.inc. */
#include "entry.inc"
{rows}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sources of a module: `python -m drawtap.instrument.generate --output DIR [--api gl,egl]`."""
    parser = command_line(main.__doc__)
    parser.add_argument("--api", default=",".join(DEFAULT_APIS), help="registries, separated by commas")
    parser.add_argument("--name", default="tap", help="stem of the signature file")
    options = parser.parse_args(arguments)
    sources = generate(tuple(options.api.split(",")))
    if options.name != "tap":
        sources.files[f"{options.name}.sig"] = sources.files.pop("tap.sig")
    sources.write(options.output)


if __name__ == "__main__":
    main()
