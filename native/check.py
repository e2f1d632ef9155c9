"""Check the native sources: includes lead to lower rooms only, functions keep to 80 lines.

python native/check.py            print every fault; the exit status is 1 if there is one
python native/check.py --list     print the functions over 80 lines, as LONG holds them
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
# A room may include from itself and from lower floors. ARCHITECTURE.md draws the same house.
FLOORS = (
    ("third_party", "openvg"),
    ("common",),
    ("preload", "runtime", "drain", "core"),
    ("state", "edit"),
    ("extract", "peers", "export", "player", "system"),
    ("abi",),
)
LIMIT = 80
# Functions that were longer when the limit came, with their lines: they may shrink, not grow.
LONG = {
    ("common/encoder.cc", "Encoder::encode"): 125,
    ("common/signatures.cc", "SignatureSet::add"): 109,
    ("core/calls.cc", "fill"): 157,
    ("core/calls.cc", "calls_schema"): 106,
    ("core/calls.cc", "each_call"): 82,
    ("core/calls.cc", "one_call"): 82,
    ("core/content.cc", "rule_of"): 100,
    ("core/prints.cc", "prints"): 97,
    ("core/signature.cc", "Signatures::parse"): 128,
    ("core/tables.cc", "frames_table"): 135,
    ("core/tables.cc", "tap_table"): 108,
    ("core/text.cc", "Printer::array"): 83,
    ("drain/main.cc", "Drainer::loop"): 84,
    ("drain/ring.cc", "Ring::look"): 85,
    ("edit/check.cc", "check"): 131,
    ("edit/maker.cc", "Maker::encode"): 94,
    ("edit/text_changes.cc", "text_changes"): 115,
    ("edit/write.cc", "attempt"): 111,
    ("export/exporter.cc", "Exporter::info"): 124,
    ("export/exporter.cc", "Exporter::perform"): 118,
    ("extract/graph.cc", "Graph::call"): 128,
    ("player/metrics/fragments.cc", "count_by_pictures"): 83,
    ("player/metrics/fragments.cc", "count_in_place"): 85,
    ("player/metrics/fragments.cc", "count_plain"): 124,
    ("player/metrics/geometry.cc", "parts_of"): 97,
    ("player/metrics/geometry.cc", "GeometrySource::capture"): 203,
    ("player/metrics/geometry.cc", "GeometrySource::transform"): 99,
    ("player/metrics/programs.cc", "make"): 111,
    ("runtime/base_objects.cc", "Base::take_level"): 94,
    ("runtime/base_state.cc", "Base::take_raster"): 131,
    ("state/index.cc", "Index::walk"): 104,
    ("state/index.cc", "one"): 84,
    ("state/natives.cc", "natives_call"): 123,
    ("system/ctf.cc", "walk"): 101,
    ("system/kernel.cc", "make_output"): 87,
    ("system/perfetto_gpu.cc", "PerfettoGpu::stage"): 91,
}

_INCLUDE = re.compile(r'^ *# *include "([^"]+)"', re.MULTILINE)
_STATEMENT = re.compile(r"(if|for|while|switch|do|else|namespace|struct|class|enum|union|extern|case|return)\b")
_NAME = re.compile(r"([\w:~]+|operator\S+)\(")


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


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield name and lines of every function, as clang-format lays them out: its end is indented as its beginning."""
    lines = text.split("\n")
    for end, line in enumerate(lines):
        if line.strip() not in ("}", "};"):
            continue
        indent = line[: len(line) - len(line.lstrip())]
        start = end - 1
        while start >= 0 and (not lines[start].strip() or re.match(rf"{indent}[ #]", lines[start])):
            start -= 1
        head = lines[start].strip() if start >= 0 else ""
        name = _NAME.search(head)
        if name and not _STATEMENT.match(head) and not head.startswith(("}", "//", "[")):
            yield name[1], end - start + 1


def main(arguments: list[str]) -> int:
    """Print every fault, or the long functions. Return the exit status."""
    faults: list[str] = []
    long: dict[tuple[str, str], int] = {}
    for path in sources():
        text = path.read_text(encoding="utf-8")
        faults += wrong_includes(path, text)
        for name, lines in functions(text):
            key = (str(path.relative_to(NATIVE)), name)
            if lines > LIMIT:
                long[key] = max(lines, long.get(key, 0))
    if arguments == ["--list"]:
        print("\n".join(f'    ("{file}", "{name}"): {lines},' for (file, name), lines in long.items()))
        return 0
    for (file, name), lines in long.items():
        allowed = LONG.get((file, name), LIMIT)
        if lines > allowed:
            faults.append(f"native/{file}: {name} has {lines} lines; {allowed} are the limit: split it")
    for file, name in LONG.keys() - long.keys():
        faults.append(f"native/{file}: {name} has at most {LIMIT} lines now: take it out of LONG in native/check.py")
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
