"""Compare what drawtap and apitrace recorded of the same program, call by call and argument by argument.

Each difference gets a class (`Difference.kind`); the test says which classes are explained, and that there is no other.
"""

from __future__ import annotations

import math
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import cast

import drawtap
from drawtap.spec.registry import load_api
from drawtap.trace.trace import Call, Trace, decode_content

Value = object  # None, int, float, str (a name), Text, Blob, list of Value
Argument = dict[str, object]

_ADDRESS = 1 << 20  # numbers above are addresses, which differ from run to run; below, offsets into buffers
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Text:
    """Characters, as opposed to a name."""

    text: str


@dataclass(frozen=True)
class Blob:
    """Content of which apitrace prints the size only."""

    size: int


@dataclass(frozen=True)
class Line:
    """A call as apitrace prints it; `made`: apitrace added it itself."""

    thread: int
    name: str
    arguments: tuple[tuple[str, Value], ...]
    result: Value
    has_result: bool
    made: bool


@dataclass(frozen=True)
class Difference:
    """What one recording has and the other has not. `kind` says which sort, the rest where and what."""

    kind: str
    function: str
    parameter: str = ""
    ours: object = None
    theirs: object = None


# --- apitrace's text ------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>-?(?:0x[0-9a-fA-F]+|nan|inf|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![A-Za-z_]))
    |(?P<name>[A-Za-z_][A-Za-z0-9_:]*)
    |(?P<sign>[{}()=,|&?]))""",
    re.VERBOSE | re.DOTALL,
)
_START = re.compile(r"^\d+ @(\d+) ([A-Za-z_]\w*)\(", re.MULTILINE)


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def peek(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        return ("end", "") if match is None else (cast(str, match.lastgroup), match[cast(str, match.lastgroup)])

    def take(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise ValueError(f"cannot read {self.text[self.at : self.at + 80]!r}")
        self.at = match.end()
        return cast(str, match.lastgroup), match[cast(str, match.lastgroup)]

    def value(self) -> Value:
        kind, word = self.take()
        if word == "&":
            return [self.value()]
        if word == "{":
            return self.elements()
        if word == "?":
            return None
        if kind == "string":
            return Text(_unescaped(word[1:-1]))
        if kind == "number":
            return _number(word)
        if word == "NULL":
            return None
        if word == "blob":
            self.take()
            size = self.take()[1]
            self.take()
            return Blob(int(size))
        return self.names(word)

    def elements(self) -> list[Value]:
        found: list[Value] = []
        while self.peek()[1] != "}":
            value = self.value()
            if self.peek()[1] == "=":  # an attribute and its value, or a member of a struct
                self.take()
                found += [value, self.value()]
            else:
                found.append(value)
            if self.peek()[1] == ",":
                self.take()
        self.take()
        return found

    def names(self, first: str) -> str:
        names = [first]
        while self.peek()[1] == "|":
            self.take()
            names.append(self.take()[1])
        return " | ".join(names)

    def call(self, thread: int, name: str) -> Line:
        arguments = []
        while self.peek()[1] != ")":
            parameter = self.take()[1]
            self.take()
            arguments.append((parameter, self.value()))
            if self.peek()[1] == ",":
                self.take()
        self.take()
        line_end = self.text.find("\n", self.at)
        has_result = self.text.startswith(" = ", self.at)
        result = None
        if has_result:
            self.at += 3
            result = self.value()
            line_end = self.text.find("\n", self.at)
        rest = self.text[self.at : line_end if line_end >= 0 else None]
        return Line(thread, name, tuple(arguments), result, has_result, "fake" in rest)


def _number(word: str) -> int | float:
    if "0x" in word:
        return int(word, 16)
    try:
        return int(word)
    except ValueError:
        return float(word)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", _escape, text, flags=re.DOTALL)


def _escape(match: re.Match[str]) -> str:
    word = match[1]
    if word[0] in "01234567":
        return chr(int(word, 8))
    plain = {"n": "\n", "t": "\t", "r": "\r"}
    return plain.get(word, word)


def apitrace_lines(trace: Path) -> list[Line]:
    """Return the calls of an apitrace file, in order."""
    command = ["apitrace", "dump", "--color=never", "--thread-ids=yes", str(trace)]
    dump = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=True).stdout
    text = dump.decode(errors="replace")
    lines, at = [], 0
    while match := _START.search(text, at):
        reader = _Reader(text, match.end())
        lines.append(reader.call(int(match[1]), match[2]))
        at = reader.at
    return lines


def apitrace_record(api: str, argv: Sequence[str], trace: Path, environment: dict[str, str]) -> None:
    """Record a program with apitrace; `api` as apitrace names it: gl or egl."""
    command = ["apitrace", "trace", "-a", api, "-o", str(trace), *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the comparison ---------------------------------------------------------------------------------------------------


class Comparison:
    """Differences between a trace of ours and apitrace's of the same program."""

    def __init__(self, ours: Path, theirs: Path) -> None:
        self.trace: Trace = drawtap.open(ours)
        self.lines = apitrace_lines(theirs)
        self.values = {name: value for api in ("gl", "egl", "glx") for name, value in load_api(api).enums.items()}
        self.arguments_compared = 0

    def differences(self) -> Iterator[Difference]:
        """Yield every difference, thread by thread, in order."""
        ours: dict[int, list[Call]] = {}
        theirs: dict[int, list[Line]] = {}
        for call in self.trace.calls:
            ours.setdefault(call.thread, []).append(call)
        for line in self.lines:
            if line.made:
                yield Difference("made by apitrace", line.name)
            else:
                theirs.setdefault(line.thread, []).append(line)
        for calls, lines in _paired(list(ours.values()), list(theirs.values())):
            yield from self._thread(calls, lines)

    def _thread(self, calls: list[Call], lines: list[Line]) -> Iterator[Difference]:
        matcher = _matcher(calls, lines)
        for tag, i, i_end, j, j_end in matcher.get_opcodes():
            if tag == "equal":
                for call, line in zip(calls[i:i_end], lines[j:j_end], strict=True):
                    yield from self._call(call.seq, line)
            else:
                yield from (Difference("only ours", call.name) for call in calls[i:i_end])
                yield from (Difference("only theirs", line.name) for line in lines[j:j_end])

    def _call(self, seq: int, line: Line) -> Iterator[Difference]:
        details, data = self.trace.core.call(seq)
        arguments = cast("list[Argument]", details["args"])
        names = [str(a["name"]) for a in arguments], [name for name, _ in line.arguments]
        if len(names[0]) != len(names[1]):
            yield Difference("parameters", line.name, "", names[0], names[1])
            return
        for argument, (name, value) in zip(arguments, line.arguments, strict=True):
            self.arguments_compared += 1
            yield from self._argument(line.name, name, argument, data, value)
        result = cast("Argument | None", details["result"])
        if (result is not None) != line.has_result:
            yield Difference("result", line.name, "", result, line.result)
        elif result is not None:
            yield from self._argument(line.name, "result", result, data, line.result)

    def _argument(self, function: str, name: str, ours: Argument, data: bytes, theirs: Value) -> Iterator[Difference]:
        kind = self._compared(ours, data, theirs)
        if kind:
            shown = ours.get("data", ours.get("text")), ours.get("bytes"), ours.get("value")
            yield Difference(kind, function, name, shown, theirs if not isinstance(theirs, list) else theirs[:8])

    def _compared(self, ours: Argument, data: bytes, theirs: Value) -> str:
        if "data" in ours:
            return self._content(ours, data, theirs)
        return self._scalar(ours, theirs)

    def _scalar(self, ours: Argument, theirs: Value) -> str:
        value, kind = cast(int, ours["value"]), str(ours["kind"])
        if isinstance(theirs, list):
            return "content that we lack"
        if kind in ("f32", "f64"):
            wide = ours.get("bits") == 64
            packed = struct.pack("<Q" if wide else "<I", value & (2**64 - 1))
            return "" if _close(struct.unpack("<d" if wide else "<f", packed)[0], theirs) else "number"
        if kind in ("ptr", "handle"):
            return _pointer(value, theirs)
        if isinstance(theirs, str):
            return self._name(kind, str(ours.get("text")), value, theirs)
        if theirs is None:
            return "" if not value else "null"
        if isinstance(theirs, Text | Blob):
            return "content that we lack"
        return "" if value == theirs or (value ^ cast(int, theirs)) & 0xFFFFFFFF == 0 else "number"

    def _name(self, kind: str, text: str, value: int, theirs: str) -> str:
        if kind == "bool":
            return "" if bool(value) == bool(_TRUTH.get(theirs, self.values.get(theirs, 2))) else "truth"
        same = self._bits(theirs) == value & 0xFFFFFFFF
        if kind in ("enum", "bitmask"):
            if set(text.split(" | ")) == set(theirs.split(" | ")):
                return ""
            return "another name for the same number" if same else "another enumerant"
        return "a number that has a name" if same else "number with a name"

    def _bits(self, names: str) -> int:
        known = (self.values.get(n, _TRUTH.get(n)) for n in names.split(" | "))
        total = 0
        for value in known:
            if value is None:
                return -1
            total |= value & 0xFFFFFFFF
        return total

    def _content(self, ours: Argument, data: bytes, theirs: Value) -> str:
        how, value = str(ours["data"]), cast(int, ours["value"])
        if how == "inline":
            start = cast(int, ours["at"])
            content = data[start : start + cast(int, ours["bytes"])]
        elif how == "blob":
            content = self.trace.blob(str(ours["blob"]))
        elif theirs == []:  # an attribute list that is NULL
            return "" if not value else "null"
        elif isinstance(theirs, list | Text | Blob):
            return f"content that we lack ({how})"
        else:
            return _pointer(value, theirs)
        if isinstance(theirs, Blob):
            return "" if theirs.size == len(content) else "size"
        found = decode_content(str(ours["element"]), content)
        if isinstance(theirs, Text):
            return "" if isinstance(found, str) and _same_text(found, theirs.text) else "text"
        if theirs is None or isinstance(theirs, int | str):
            return "content that apitrace lacks" if content else ""
        return self._array(found, cast("list[Value]", theirs), len(content))

    def _array(self, found: object, theirs: list[Value], size: int) -> str:
        if isinstance(found, bytes):
            return "" if not theirs or size % len(theirs) == 0 else "size"
        if isinstance(found, str):
            return "text"
        items = list(cast("Sequence[object]", found))
        if len(items) != len(theirs):
            return "number of elements"
        worst = ""
        for item, value in zip(items, theirs, strict=True):
            kind = self._element(item, value)
            if kind and kind != "a number that has a name":
                return f"element: {kind}"
            worst = kind or worst
        return f"element: {worst}" if worst else ""

    def _element(self, item: object, theirs: Value) -> str:
        if isinstance(theirs, Text):
            return "" if _same_text(str(item), theirs.text) else "text"
        if isinstance(item, str):
            return "text"
        if theirs is None:
            return "" if not item else "null"
        if isinstance(theirs, str):
            number = int(cast(int, item)) & 0xFFFFFFFF
            # A name is ambiguous in apitrace too: what counts is the number.
            return "" if self._bits(theirs) == number else "number with a name"
        number = float(cast(float, item))
        if isinstance(theirs, int) and abs(theirs) >= _ADDRESS and abs(number) >= _ADDRESS:
            return "" if number == theirs or theirs > 2**32 else "number"
        return "" if _close(number, theirs) else "number"


def _same_text(ours: str, theirs: str) -> bool:
    # apitrace escapes bytes beyond ASCII in a form that cannot be read back.
    return re.sub(r"[^ -~]+", "", ours) == re.sub(r"[^ -~]+", "", theirs)


def _matcher(calls: Sequence[Call], lines: Sequence[Line]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, [call.name for call in calls], [line.name for line in lines], autojunk=False)


def _paired(ours: list[list[Call]], theirs: list[list[Line]]) -> Iterator[tuple[list[Call], list[Line]]]:
    # Threads have no name that two runs share: each goes with the most similar one.
    for calls in ours:
        best = max(theirs, key=lambda lines: _matcher(calls, lines).ratio(), default=[])
        if best:
            theirs.remove(best)
        yield calls, best
    for lines in theirs:
        yield [], lines


_TRUTH = {"GL_TRUE": 1, "GL_FALSE": 0, "EGL_TRUE": 1, "EGL_FALSE": 0, "True": 1, "False": 0, "true": 1, "false": 0}


def _close(ours: float, theirs: Value) -> bool:
    if not isinstance(theirs, int | float):
        return False
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    # apitrace prints as many digits as a float needs, or six.
    return math.isclose(ours, theirs, rel_tol=2e-6, abs_tol=1e-30)


def _pointer(value: int, theirs: Value) -> str:
    if theirs is None:
        return "" if not value else "null"
    if isinstance(theirs, list | Text | Blob):
        return "content that we lack"
    if not isinstance(theirs, int):
        return "pointer with a name"
    if theirs < _ADDRESS or value < _ADDRESS:
        return "" if theirs == value else "offset"
    return ""
