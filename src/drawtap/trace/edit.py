"""Edit a recording: change, drop, replace and insert calls, and write the result as a recording of its own.

    with drawtap.edit("game.dtap") as recording:
        for event in recording.find("name LIKE '%Image2D'"):
            event.values["width"] = 16
        recording.drop(recording.seqs("#0:#10"))
        recording.save("smaller.dtap")

Nothing happens to the file that is edited. Changes stay in memory until `save`; everything else is copied by
the reader core, call by call but without Python. `join`, `merge` and `renumber` make new recordings of whole ones.
"""

from __future__ import annotations

import difflib
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, SupportsFloat, SupportsIndex, runtime_checkable

from drawtap.errors import QueryError, UsageError, did_you_mean
from drawtap.parts import SIGNATURES, part
from drawtap.tables.recording import EnumRow, FunctionRow, ParameterRow
from drawtap.trace.apis import is_vulkan
from drawtap.trace.core import Change, Part, Row, write
from drawtap.trace.members import Tree, split
from drawtap.trace.trace import Call, Enum, Trace, open_trace

_ARRAYS = {
    "u8": "B",
    "i8": "b",
    "u16": "H",
    "i16": "h",
    "u32": "I",
    "i32": "i",
    "u64": "Q",
    "i64": "q",
    "f32": "f",
    "f64": "d",
    "ptr": "Q",
    "attribs32": "i",
    "attribs64": "q",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """A call that no longer has what it needs, and the call that is gone and made it."""

    seq: int
    function: str
    cause: int
    cause_function: str
    text: str

    def __str__(self) -> str:
        cause = f"call {self.cause} {self.cause_function}, which is gone"
        return f"call {self.seq} {self.function}: {self.text} ({cause})"


@dataclass(frozen=True, slots=True)
class Saved:
    """A written recording: its number of calls, and the fate of the old one's calls.

    `renamed` counts the handles (contexts, surfaces, ...) that several processes had and that are now told apart.
    `stored` counts the rows of `memory_writes` and `device_writes` that went with the memory that they belong to.
    """

    path: Path
    calls: int
    kept: int
    changed: int
    inserted: int
    bytes: int
    lost: int
    problems: tuple[str, ...] = ()
    broken: tuple[Broken, ...] = ()
    renamed: int = 0
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as signatures describe it; `element` is what its array holds, None where it has none."""

    name: str
    kind: str
    group: str | None = None
    element: str | None = None
    element_group: str | None = None


@dataclass
class Signatures:
    """The signatures of functions: parameters by name in their order ("result" among them), enumerants by group."""

    functions: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    groups: dict[str, dict[str, int]] = field(default_factory=dict)
    anywhere: dict[str, int] = field(default_factory=dict)


class Values(MutableMapping[str, object]):
    """The arguments of a call by name, "result" what it returned; setting one changes it in the recording to be."""

    def __init__(self, editor: Editor, call: Call) -> None:
        self._editor, self._call = editor, call

    def __getitem__(self, name: str) -> object:
        changed = self._editor.changed(self._call.seq)
        if name in changed:
            return changed[name]
        if name == "result" and name not in self._call.args:
            return self._call.result
        return self._call.args[name]

    def __setitem__(self, name: str, value: object) -> None:
        self._editor.set(self._call.seq, **{name: value})

    def __delitem__(self, name: str) -> None:
        raise TypeError("an argument cannot be taken away; set it to None or 0")

    def __iter__(self) -> Iterator[str]:
        return iter(self._call.args)

    def __len__(self) -> int:
        return len(self._call.args)


class Event:
    """A call that is being edited. `time` and `duration` in ns, None where they were not taken."""

    def __init__(self, editor: Editor, call: Call) -> None:
        self._editor, self._call = editor, call
        self.seq = call.seq
        self.name = call.name
        self.time = call.t_start
        self.duration = call.duration
        self.frame = call.frame
        self.values = Values(editor, call)

    def drop(self) -> None:
        """Leave the call out."""
        self._editor.drop([self.seq])

    def replace(self, function: str, /, **values: object) -> None:
        """Make it a call of another function; see `Editor.replace`."""
        self._editor.replace(self.seq, function, **values)

    def insert_before(self, function: str, /, **values: object) -> None:
        """Put another call before it; see `Editor.insert`."""
        self._editor.insert(self.seq, function, **values)

    def __repr__(self) -> str:
        return f"<Event {self.seq} {self.name}>"


class Editor:
    """Changes to a recording. Use it in a `with` block, or `close` it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._calls = len(trace.calls)
        self._keep = bytearray(b"\xff" * ((self._calls + 7) // 8))
        if self._calls % 8:
            self._keep[-1] &= (1 << self._calls % 8) - 1
        self._changes: list[Change] = []
        self._changed: dict[int, dict[str, object]] = {}
        self._replaced: dict[int, str] = {}
        self._trees: dict[tuple[int, str], Tree] = {}  # contents whose members change
        self._inserted = 0
        self._known = _from_trace(trace)
        self._all: Signatures | None = None
        self._foreign = False

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the recording."""
        self.trace.close()

    # ---- which calls -------------------------------------------------------------------------------------

    @property
    def events(self) -> Iterator[Event]:
        """Every call, one after the other. `find` asks the database and is faster where few are wanted."""
        return (Event(self, call) for call in self.trace.calls)

    def find(self, where: str) -> Iterator[Event]:
        """Yield the calls that meet an SQL condition on the table `calls`: `name LIKE '%Image2D' AND frame < 10`."""
        for (seq,) in self.trace.sql(f"SELECT seq FROM calls WHERE {where} ORDER BY seq").fetchall():
            yield Event(self, self.trace.calls[seq])

    def __getitem__(self, seq: int) -> Event:
        return Event(self, self.trace.calls[seq])

    def changed(self, seq: int) -> Mapping[str, object]:
        """Return the values that were set of a call."""
        return self._changed.get(seq, {})

    # ---- changes -----------------------------------------------------------------------------------------

    def set(self, seq: int, /, **values: object) -> None:
        """Change arguments of a call: numbers, names of enumerants, text, sequences or buffers for arrays, None for
        NULL.

        An array takes an array (numpy, bytes, a sequence of numbers), a number makes it an offset or address; `result`
        is what was returned. A name with points and brackets is a member of a structure (`trace.members`):
        `pCreateInfos[0].pRasterizationState.cullMode`.

        Raises QueryError for a parameter or member that the function does not have, or a value that does not fit it.
        """
        name = self._replaced.get(seq) or self._at(seq).name
        self._changes += [self._change(seq, name, key, value) for key, value in values.items()]
        self._changed.setdefault(seq, {}).update(values)

    def drop(self, seqs: int | Iterable[int]) -> None:
        """Leave calls out."""
        for seq in [seqs] if isinstance(seqs, int) else seqs:
            if not 0 <= seq < self._calls:
                raise QueryError(f"no call {seq}: the recording has {self._calls}")
            self._keep[seq >> 3] &= ~(1 << (seq & 7))

    def keep(self, seqs: Iterable[int]) -> None:
        """Leave all other calls out."""
        before, self._keep = self._keep, bytearray(len(self._keep))
        for seq in seqs:
            if not 0 <= seq < self._calls:
                raise QueryError(f"no call {seq}: the recording has {self._calls}")
            self._keep[seq >> 3] |= before[seq >> 3] & (1 << (seq & 7))

    def replace(self, seq: int, function: str, /, **values: object) -> None:
        """Make a call one of another function. Parameters of the same name keep their values, the others are 0."""
        self._at(seq)
        self._parameters(function)
        self._changes.append(Change("function", seq, function))
        self._replaced[seq] = function
        self.set(seq, **values)

    def insert(self, before: int, function: str, /, **values: object) -> None:
        """Put a call before another, on its thread; at the end where `before` is the number of calls.

        Unnamed parameters are 0.
        """
        if not 0 <= before <= self._calls:
            raise QueryError(f"no call {before}: the recording has {self._calls}")
        self._parameters(function)
        self._inserted += 1
        self._changes.append(Change("insert", before, function))
        self._changes += [self._change(before, function, k, v, inserted=self._inserted) for k, v in values.items()]

    def store(self, table: str, row: int, content: bytes) -> None:
        """Change the bytes of a row of `memory_writes` or `device_writes`, rows counted from 0.

        Saving raises QueryError where there is no such row, or where it has another number of bytes.
        """
        self._changes.append(Change("stored", row, table, data=content))

    def problems(self) -> list[Broken]:
        """Return the calls that need an object, a context, a mapping or a beginning that only a dropped call made.

        Calls of Vulkan also need what a dropped command bound or set, and what a dropped call signalled, ended or
        reset. Values, layouts of images and the reads of shaders are not looked at: playing the result is the proof
        (drawtap replay).
        """
        broken = self.trace.core.check(self._staying())["broken"]
        return [Broken(**row) for row in broken]

    def _staying(self) -> bytearray:
        """Return one bit a call: it stays, and stays a call of its function."""
        keep = bytearray(self._keep)
        for seq in self._replaced:
            keep[seq >> 3] &= ~(1 << (seq & 7))
        return keep

    def _stored(self) -> tuple[tuple[bytes, bytes] | None, int]:
        """Return which rows of what was stored in memory stay (None: all, see `Part`), and how many do not.

        Bytes for memory that no staying call makes have no place to go to.
        """
        keep = self._staying()
        if not is_vulkan(self.trace):
            return None, 0
        made = self.trace.sql("SELECT seq FROM calls WHERE name = 'vkAllocateMemory'").fetchall()
        if all(keep[seq >> 3] >> (seq & 7) & 1 for (seq,) in made):
            return None, 0
        import numpy as np  # for edits of Vulkan alone

        from drawtap.trace.vulkan_past import StoredRows

        bits = np.unpackbits(np.frombuffer(keep, np.uint8), bitorder="little")[: self._calls].astype(np.bool_)
        rows = StoredRows(self.trace)
        staying_rows = rows.of_made(bits)
        return staying_rows, rows.count - sum(byte.bit_count() for which in staying_rows for byte in which)

    def save(self, path: str | os.PathLike[str], *, operation: str = "edit", images: bool = True) -> Saved:
        """Write the edited recording. It may be the file that is edited.

        Without `images`, the hashes of the images that the program showed are left out.
        """
        broken = tuple(self.problems())
        note: Row = {"kind": "edit", "operation": operation, "changes": len(self._changes)}
        signatures = part(SIGNATURES).read_bytes() if self._foreign else None
        shown = None if images else bytes(len(self._keep))
        stored, gone = self._stored()
        source = Part(self.trace.core, keep=self._keep, changes=tuple(self._changes), keep_images=shown, stored=stored)
        saved = _saved(Path(path), write([source], path, annotation=note, signatures=signatures), broken)
        return replace(saved, stored=gone)

    # ---- values to bits ----------------------------------------------------------------------------------

    def _at(self, seq: int) -> Call:
        if not 0 <= seq < self._calls:
            raise QueryError(f"no call {seq}: the recording has {self._calls}")
        if not self._keep[seq >> 3] >> (seq & 7) & 1:
            raise QueryError(f"call {seq} was dropped", hint="change it before, or do not drop it")
        return self.trace.calls[seq]

    def _parameters(self, function: str) -> dict[str, Parameter]:
        parameters = self._known.functions.get(function)
        if parameters is None:
            if self._all is None:
                self._all = signatures_of(part(SIGNATURES).read_text(encoding="utf-8"))
            parameters = self._all.functions.get(function)
            if parameters is None:
                raise QueryError(f"no function {function}", hint=did_you_mean(function, self._all.functions))
            self._foreign = True
            self._known.functions[function] = parameters
            for name, members in self._all.groups.items():
                self._known.groups.setdefault(name, members)
            for name, value in self._all.anywhere.items():
                self._known.anywhere.setdefault(name, value)
        return parameters

    def _change(self, seq: int, function: str, name: str, value: object, *, inserted: int = 0) -> Change:
        parameters = self._parameters(function)
        name, path = split(name)
        parameter = parameters.get(name)
        if parameter is None:
            names = ", ".join(n for n in parameters if n != "result") or "none"
            hint = did_you_mean(name, parameters) or f"its parameters: {names}"
            raise QueryError(f"{function} has no parameter {name}", hint=hint)
        if path and (inserted or seq in self._replaced):
            raise QueryError(
                f"{name}{path}: members of a new call cannot be set", hint="change members of a recorded call"
            )
        try:
            if path:
                tree = self._tree(seq, function, name)
                tree.set(path, value)
                return Change("content", seq, name, data=bytes(tree.content))
            self._trees.pop((seq, name), None)
            return self._encoded(seq, function, parameter, value, inserted)
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            what = f"{value!r}" if len(repr(value)) < 60 else f"a {type(value).__name__}"
            raise QueryError(f"{what} does not fit {name}{path} of {function}: {error}") from None

    def _tree(self, seq: int, function: str, name: str) -> Tree:
        tree = self._trees.get((seq, name))
        if tree is None:
            content = self.changed(seq).get(name)
            if not isinstance(content, bytes):
                details, inline = self.trace.core.call(seq)
                argument = next(a for a in details["args"] if a["name"] == name)
                if argument.get("data") not in ("inline", "blob"):
                    raise QueryError(f"call {seq} has no recorded structures in {name}")
                start = argument.get("at", 0)
                content = inline[start : start + argument.get("bytes", 0)]
                if argument["data"] == "blob":
                    content = self.trace.core.blob(argument["blob"])
            tree = self._trees[seq, name] = Tree(self.trace.core, function, name, content, self._enumerants)
        return tree

    def _encoded(self, seq: int, function: str, of: Parameter, value: object, inserted: int) -> Change:
        if isinstance(value, Blob):
            return Change("blob", seq, of.name, data=value.hash.encode(), inserted=inserted)
        if value is None and of.element is not None:
            return Change("null", seq, of.name, inserted=inserted)
        if of.element is not None and not isinstance(value, int):
            content = self._content(of, value)
            if of.element.startswith("attribs") and not isinstance(value, bytes | bytearray | memoryview):
                content = _ended(function, of.element, content)
            return Change("content", seq, of.name, data=content, inserted=inserted)
        return Change("value", seq, of.name, self._scalar(of, value), inserted=inserted)

    def _scalar(self, of: Parameter, value: object) -> int:
        if of.kind == "f32":
            return int(struct.unpack("<I", struct.pack("<f", _real(value)))[0])
        if of.kind == "f64":
            return int(struct.unpack("<Q", struct.pack("<d", _real(value)))[0])
        if value is None:
            return 0
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, str):
            return self._enumerants(of.group, value)
        if isinstance(value, float):
            if not value.is_integer():
                raise ValueError("it is no whole number")
            value = int(value)
        return _whole(value)

    def _enumerants(self, group: str | None, text: str) -> int:
        bits = 0
        members = self._known.groups.get(group or "", {})
        for word in (w.strip() for w in text.split("|")):
            if word in members:
                bits |= members[word]
            elif word in self._known.anywhere:
                bits |= self._known.anywhere[word]
            else:
                try:
                    bits |= int(word, 0)
                except ValueError:
                    close = difflib.get_close_matches(word, [*members, *self._known.anywhere], n=3)
                    near = f"; did you mean {' or '.join(close)}?" if close else ""
                    raise ValueError(f"no enumerant {word}{near}") from None
        return bits

    def _content(self, of: Parameter, value: object) -> bytes:
        element = of.element or "bytes"
        if isinstance(value, str):
            if element == "strings":
                value = [value]
            elif element in {"char", "bytes", "pixels"}:
                return value.encode()
            else:
                raise TypeError(f"an array of {element} is no text")
        if element == "strings" and isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            words = [w.encode() if isinstance(w, str) else bytes(w) for w in value]
            return b"".join(struct.pack("<I", len(w)) + w for w in words)
        code = _ARRAYS.get(element)
        if code is None or isinstance(value, bytes | bytearray | memoryview):
            return _stored(value)
        return b"".join(struct.pack(f"<{code}", self._element(code, of, item)) for item in _items(value))

    def _element(self, code: str, of: Parameter, item: object) -> int | float:
        if code in "fd":
            return _real(item)
        number = self._enumerants(of.element_group, item) if isinstance(item, str) else item
        return int(number) if isinstance(number, float) else _whole(number)


@dataclass(frozen=True, slots=True)
class Blob:
    """Content that the recording has already, by its hash (32 hex digits)."""

    hash: str


def edit(path: str | os.PathLike[str], *, frame_end: str | None = None) -> Editor:
    """Open a recording for editing; see `Editor`."""
    return Editor(open_trace(path, frame_end=frame_end))


def empty(output: str | os.PathLike[str]) -> None:
    """Write a recording without calls."""
    write([], Path(output), annotation={"kind": "edit", "operation": "new"})


def join(paths: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str]) -> Saved:
    """Write recordings one after the other as one. Times of a later one follow the earlier one's."""
    return _combine(paths, output, "join")


def merge(paths: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str]) -> Saved:
    """Write recordings as one in which calls stand in the order of their times: threads or processes of one run."""
    return _combine(paths, output, "merge")


def renumber(path: str | os.PathLike[str], output: str | os.PathLike[str]) -> Saved:
    """Write a recording whose calls are numbered from 0 and do not remember other numbers."""
    with open_trace(path) as trace:
        note: Row = {"kind": "edit", "operation": "renumber"}
        return _saved(Path(output), write([Part(trace.core)], output, annotation=note, forget=True), ())


def set_egl_config(trace: Trace, config: str, output: str | os.PathLike[str]) -> Saved:
    """Write a recording that asks for the framebuffer configuration `config` where it is played ("": the recorded)."""
    note: Row = {"kind": "player", "config": config}
    return _saved(Path(output), write([Part(trace.core)], output, annotation=note), ())


def cut(trace: Trace, seqs: Iterable[int] | range, output: str | os.PathLike[str], *, operation: str = "cut") -> Saved:
    """Write only these calls of a recording, as they are: without the state that they need."""
    note: Row = {"kind": "edit", "operation": operation}
    if isinstance(seqs, range) and seqs.step == 1:
        source = Part(trace.core, first_seq=seqs.start, end_seq=max(seqs.stop, seqs.start))
        if not seqs:
            source = Part(trace.core, keep=bytes((len(trace.calls) + 7) // 8))
    else:
        keep = bytearray((len(trace.calls) + 7) // 8)
        for seq in seqs:
            keep[seq >> 3] |= 1 << (seq & 7)
        source = Part(trace.core, keep=keep)
    return _saved(Path(output), write([source], output, annotation=note), ())


@runtime_checkable
class _Array(Protocol):
    def tobytes(self) -> bytes: ...


def _stored(value: object) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return value.tobytes() if isinstance(value, _Array) else bytes(map(_whole, _items(value)))


def _items(value: object) -> Iterable[object]:
    if isinstance(value, Iterable):
        return value
    raise TypeError("an array is wanted")


def _real(value: object) -> float:
    if isinstance(value, str | SupportsFloat | SupportsIndex):
        return float(value)
    raise TypeError("a number is wanted")


def _whole(value: object) -> int:
    if isinstance(value, SupportsIndex):
        return value.__index__()
    raise TypeError("a whole number is wanted")


def _ended(function: str, element: str, content: bytes) -> bytes:
    """Attribute lists end with a name of their own, which text leaves out: EGL_NONE, or 0."""
    code, width = _ARRAYS[element], 4 if element == "attribs32" else 8
    end = struct.pack(f"<{code}", 0x3038 if function.startswith("egl") else 0)
    return content if len(content) // width % 2 and content.endswith(end) else content + end


def _combine(paths: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str], how: str) -> Saved:
    if len(paths) < 2:
        raise UsageError(f"{how} takes two recordings or more")
    with ExitStack() as open_files:
        traces = [open_files.enter_context(open_trace(path)) for path in paths]
        note: Row = {"kind": "edit", "operation": how}
        said = write([Part(t.core) for t in traces], output, by_time=how == "merge", annotation=note)
        return _saved(Path(output), said, ())


def _saved(path: Path, said: Row, broken: tuple[Broken, ...]) -> Saved:
    numbers = {name: said[name] for name in ("calls", "kept", "changed", "inserted", "bytes", "lost")}
    problems = tuple(said["problems"])
    return Saved(path, **numbers, problems=problems, broken=broken, renamed=said["renamed"])


def _from_trace(trace: Trace) -> Signatures:
    signatures = Signatures()
    for row in trace.table(ParameterRow):
        name, group = row["name"], row["group"]
        parameter = Parameter(name, row["kind"], group, row["element"], group)
        signatures.functions.setdefault(row["function"], {})[name] = parameter
    for function in trace.table(FunctionRow):
        signatures.functions.setdefault(function["name"], {})
    for member in trace.table(EnumRow):
        name, value = member["name"], member["value"]
        signatures.groups.setdefault(member["group"], {})[name] = value
        signatures.anywhere.setdefault(name, value)
    return signatures


def signatures_of(text: str) -> Signatures:
    """Read signature text (docs/format.md, "Signature text")."""
    signatures = Signatures()
    parameters: dict[str, Parameter] = {}
    members: dict[str, int] = {}
    last = ""
    for line in text.splitlines():
        words = line.split("\t")
        if words[0] == "F":
            parameters = signatures.functions.setdefault(words[3], {})
        elif words[0] in {"P", "R"}:
            at = 1 if words[0] == "P" else 0
            last = words[1] if at else "result"
            group = None if words[4 + at] == "-" else words[4 + at]
            parameters[last] = Parameter(last, words[2 + at], group)
        elif words[0] == "D":
            was = parameters[last]
            element_group = None if words[4] == "-" else words[4]
            parameters[last] = Parameter(was.name, was.kind, was.group, words[2], element_group)
        elif words[0] == "G":
            members = signatures.groups.setdefault(words[1], {})
        elif words[0] == "E":
            members[words[1]] = int(words[2])
            signatures.anywhere.setdefault(words[1], int(words[2]))
    return signatures
