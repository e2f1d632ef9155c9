"""Check the sources: functions keep to 80 lines, files to 800, lines to 120 columns; native code to five levels.

Includes of native code lead down.

Sources of a folder are compiled as one unit (join_sources.py), so no two of them give the same name at file level.

python native/check.py            print every fault; the exit status is 1 if there is one
python native/check.py --list     print the functions over five levels, as DEEP holds them
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from join_sources import Declared, declared

NATIVE = Path(__file__).resolve().parent
# A room may include from itself and from lower floors. ARCHITECTURE.md draws the same house.
FLOORS = (
    ("third_party", "openvg"),
    ("common",),
    ("mirror",),
    ("preload", "runtime", "drain", "core"),
    ("state", "edit"),
    ("extract", "peers", "player", "system"),
    ("export",),
    ("abi",),
)
LIMIT = 80  # lines of a function
FILE = 800  # lines of a file
COLUMNS = 120  # of a line
NESTED = 5  # levels of statements
# Functions whose statements are nested deeper, with their levels: they may become flatter, not deeper.
DEEP = {
    ("core/calls_text.cc", "each_call_merged"): 6,
    ("core/chunk.cc", "OpenChunk::durations"): 6,
    ("core/chunk.cc", "OpenChunk::context"): 7,
    ("core/order.cc", "Trace::read_marks"): 6,
    ("player/query.cc", "indexed"): 7,
    ("state/gl_stacks.cc", "push_attrib"): 6,
    ("state/walk.cc", "Machine::tap_record"): 6,
}

_INCLUDE = re.compile(r'^ *# *include "([^"]+)"', re.MULTILINE)
_STATEMENT = re.compile(r"(if|for|while|switch|do|else|namespace|struct|class|enum|union|extern|case|return)\b")
_NAME = re.compile(r"([\w:~]+|operator\S+)\(")
_LAMBDA = re.compile(r"(?:(\w+) = |[(,] ?|return )\[[^\[\]]*\](?: ?\(.*\).*)? ?\{$")
_NESTING = re.compile(r"( *)(?:if|for|while|switch|do|else|\} else)\b")
_REASON = re.compile(r"(?://.*\n)*// In one file: ")
_OPENED = re.compile(r"^using namespace (?:\w+::)*(\w+);", re.MULTILINE)
_END = re.compile(r"\}[;,)]*")
Measures = dict[tuple[str, str], int]


def sources() -> Iterator[Path]:
    """Yield the project's own C and C++ files."""
    for path in sorted(NATIVE.rglob("*")):
        if path.suffix in (".h", ".cc", ".c", ".inc") and "third_party" not in path.parts:
            yield path


def room_of(path: Path) -> str:
    """Return the room that a file stands in."""
    return path.relative_to(NATIVE).parts[0]


def included(path: Path, name: str) -> Path | None:
    """Return the file that an include leads to: from the file's own folder, else from any room (as -I finds it)."""
    folders = [path.parent, NATIVE / room_of(path), *(NATIVE / room for rooms in FLOORS for room in rooms)]
    for folder in folders:
        target = (folder / name).resolve()
        if target.is_file() and target.is_relative_to(NATIVE):
            return target
    return None


def wrong_includes(path: Path, text: str) -> Iterator[str]:
    """Yield the includes of a file that lead to its own floor or to a higher one."""
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    room = room_of(path)
    if room not in floor:
        yield f"native/{path.relative_to(NATIVE)}: the room {room} has no floor in FLOORS of native/check.py"
        return
    for match in _INCLUDE.finditer(text):
        target = included(path, match[1])
        other = room if target is None else room_of(target)
        if other != room and floor.get(other, len(FLOORS)) >= floor[room]:
            line = text.count("\n", 0, match.start(1)) + 1
            yield f"native/{path.relative_to(NATIVE)}:{line}: {room} includes {match[1]}, but {other} is not below it"


@dataclass(frozen=True)
class Body:
    """A function or lambda: its lines, and how deep its deepest statement lies in others."""

    name: str
    lines: int
    levels: int


def functions(text: str) -> Iterator[Body]:
    """Yield every function and lambda, as clang-format lays them out: its end is indented as its beginning."""
    lines = text.split("\n")
    for end, line in enumerate(lines):
        if not _END.fullmatch(line.strip()):
            continue
        indent = line[: len(line) - len(line.lstrip())]
        start = end - 1
        while start >= 0 and (not lines[start].strip() or re.match(rf"{indent}[ #]", lines[start])):
            start -= 1
        head = lines[start].strip() if start >= 0 else ""
        name = _LAMBDA.search(head) or _NAME.search(head)
        if name and not _STATEMENT.match(head) and not head.startswith(("}", "//", "[[")):
            nested = (_NESTING.match(inner) for inner in lines[start + 1 : end])
            levels = max(((len(found[1]) - len(indent)) // 2 for found in nested if found), default=0)
            yield Body(name[1] or "a lambda", end - start + 1, levels)


def grown(known: Measures, here: Measures) -> Iterator[str]:
    """Yield the functions that are deeper than the limit or than is known of them, and those that no longer are."""
    for (file, name), value in here.items():
        allowed = known.get((file, name), NESTED)
        if value > allowed:
            yield f"native/{file}: {name} has {value} levels; {allowed} are the limit: split it"
    for file, name in known.keys() - here.keys():
        yield f"native/{file}: {name} has at most {NESTED} levels now: take it out of the list in native/check.py"


@functools.cache
def headers_of(path: Path) -> frozenset[Path]:
    """Return the headers of ours that a file includes, on whatever way."""
    found = {included(path, name) for name in _INCLUDE.findall(path.read_text(encoding="utf-8"))}
    own = {header for header in found if header and header != path and "third_party" not in header.parts}
    return frozenset(own).union(*map(headers_of, own))


def names_that_meet(sources_of_a_folder: list[Path]) -> Iterator[str]:
    """Yield names that two sources of a folder both give, or one of them and a header that another one includes."""
    seen: dict[str, list[tuple[Path, Declared]]] = {}
    opened = {name for path in sources_of_a_folder for name in _OPENED.findall(path.read_text(encoding="utf-8"))}
    for path in sources_of_a_folder:
        for one in declared(path, own=True):
            seen.setdefault(_place(one, opened), []).append((path, one))
    headers = {header for path in sources_of_a_folder for header in headers_of(path)}
    for header in sorted(headers):
        for one in declared(header, own=False):
            places = seen.get(_place(one, opened), [])
            places += [(header, one)] if places and header not in headers_of(places[0][0]) else []
    for places in seen.values():
        first, given = places[0]
        for path, one in places[1:]:
            if path != first and not (one.same and one.same == given.same):
                here, there = (f"native/{it.relative_to(NATIVE)}" for it in (path, first))
                yield f"{here}:{one.line}: {one.name} is a name at file level in {there}:{given.line} too: rename one"


def _place(one: Declared, opened: set[str]) -> str:
    """Return where a name can be met: names of a namespace that a source of the folder opens are met around it."""
    around, _, last = one.namespace.rpartition("::")
    return f"{around if last in opened else one.namespace}::{one.name}"


def python_faults() -> Iterator[str]:
    """Yield the functions and files of the Python half and of the tests that are too long."""
    for path in sorted(path for half in ("src", "tests") for path in (NATIVE.parent / half).rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(NATIVE.parent)
        if text.count("\n") > FILE:
            yield f"{name} has {text.count(chr(10))} lines; {FILE} are the limit: split it"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > LIMIT:
                    yield f"{name}:{node.lineno}: {node.name} has {lines} lines; {LIMIT} are the limit: split it"


def other_faults() -> Iterator[str]:
    """Yield the scripts of pages and the programs of tests that are too long; scripts of others come as one line."""
    for half, kinds in (("src", ("*.js",)), ("tests", ("*.c", "*.h", "*.cc"))):
        for path in sorted(path for kind in kinds for path in (NATIVE.parent / half).rglob(kind)):
            if not path.name.endswith(".min.js"):
                yield from too_long(str(path.relative_to(NATIVE.parent)), path.read_text(encoding="utf-8"))


def too_long(name: str, text: str) -> Iterator[str]:
    """Yield a fault where a file is too long and its head does not say why: `// In one file: REASON`."""
    lines = text.count("\n")
    if lines > FILE and not _REASON.match(text):
        yield f"{name} has {lines} lines; {FILE} are the limit: split it, or say why at its top"


def wide_lines() -> Iterator[str]:
    """Yield the lines of the sources that are too wide, but for those of others."""
    kinds = (".py", ".js", ".css", ".cc", ".c", ".h", ".inc")
    for path in sorted(path for half in ("src", "native") for path in (NATIVE.parent / half).rglob("*")):
        if path.suffix not in kinds or {"third_party", "_native"} & {*path.parts} or ".min." in path.name:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS:
                yield f"{path.relative_to(NATIVE.parent)}:{number} has {len(line)} columns; {COLUMNS} are the limit"


def main(arguments: list[str]) -> int:
    """Print every fault, or the deep functions. Return the exit status."""
    faults: list[str] = []
    deep: Measures = {}
    for path in sources():
        text = path.read_text(encoding="utf-8")
        faults += [*wrong_includes(path, text), *too_long(str(path.relative_to(NATIVE.parent)), text)]
        for body in functions(text):
            key = (str(path.relative_to(NATIVE)), body.name)
            if body.lines > LIMIT:
                faults.append(f"native/{key[0]}: {body.name} has {body.lines} lines; {LIMIT} are the limit: split it")
            if body.levels > NESTED:
                deep[key] = max(body.levels, deep.get(key, 0))
    if arguments == ["--list"]:
        print("\n".join(f'    ("{file}", "{name}"): {value},' for (file, name), value in deep.items()))
        return 0
    for folder in sorted({path.parent for path in sources()}):
        faults += names_that_meet([path for path in sources() if path.parent == folder and path.suffix == ".cc"])
    faults += [*grown(DEEP, deep), *python_faults(), *other_faults(), *wide_lines()]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
