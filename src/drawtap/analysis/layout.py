"""Bytes of buffers as rows of fields: what a program declares of them, or a text that a user types.

One field a line, or several with `;` between them:

    at 256 every 20          where the first row begins, and bytes from row to row; `once` for a single one
    float3 position          float half double int uint short ushort byte ubyte fixed hex8 hex16 hex32, 1 to 4 of them
    ubyte4n color @12        n: whole numbers that stand for 0 to 1 (-1 to 1); @: bytes from the row's beginning
    mat4 bones[8] stride 64  mat2 to mat4x3, dmat; `matrix 16` from column to column, `rows`: row after row
    u2_10_10_10n normal      packed: also i2_10_10_10n, u10_11_11f

Names of GLSL are known too (vec3, ivec2, uvec4, bool). Without `@` a field begins where the one before
it ends. `[]` goes to the buffer's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from drawtap.errors import UsageError

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[Any]

MOST_FIELDS = 512
_MOST_TEXT = 20_000
_SCALARS = {
    "float": "<f4", "half": "<f2", "double": "<f8", "int": "<i4", "uint": "<u4", "short": "<i2", "ushort": "<u2",
    "byte": "i1", "ubyte": "u1", "fixed": "<i4", "bool": "<u4", "hex8": "u1", "hex16": "<u2", "hex32": "<u4",
}  # fmt: skip
_VECTORS = {"vec": "float", "ivec": "int", "uvec": "uint", "dvec": "double", "bvec": "bool"}
_PACKED = ("u2_10_10_10", "i2_10_10_10", "u10_11_11f")
_TYPE = re.compile(r"([a-z]+?)(?:(\d)(?:x(\d))?)?(n?)")
_LINE = re.compile(r"(\S+)\s+([^@]+?)\s*((?:(?:@\s*\d+|stride\s+\d+|matrix\s+\d+|rows)\s*)*)")
_HEAD = re.compile(r"(?:at\s+(\d+)\s*)?(?:(once)|every\s+(\d+))?")
# OpenGL's numbers of types: of vertex arrays, and of uniforms.
_ARRAY_TYPES = {
    0x1400: "byte", 0x1401: "ubyte", 0x1402: "short", 0x1403: "ushort", 0x1404: "int", 0x1405: "uint", 0x1406: "float",
    0x140A: "double", 0x140B: "half", 0x8D61: "half", 0x140C: "fixed",
}  # fmt: skip
_PACKED_TYPES = {0x8368: "u2_10_10_10", 0x8D9F: "i2_10_10_10", 0x8C3B: "u10_11_11f"}
_UNIFORM_TYPES = {
    0x1404: "int", 0x1405: "uint", 0x1406: "float", 0x140A: "double", 0x8B56: "bool",
    **{0x8B50 + i: f"vec{i + 2}" for i in range(3)}, **{0x8B53 + i: f"ivec{i + 2}" for i in range(3)},
    **{0x8B57 + i: f"bvec{i + 2}" for i in range(3)}, **{0x8B5A + i: f"mat{i + 2}" for i in range(3)},
    **{0x8DC6 + i: f"uvec{i + 2}" for i in range(3)}, **{0x8FFC + i: f"dvec{i + 2}" for i in range(3)},
    **{0x8F46 + i: f"dmat{i + 2}" for i in range(3)},
    **{0x8B65 + i: f"mat{n}" for i, n in enumerate(("2x3", "2x4", "3x2", "3x4", "4x2", "4x3"))},
    **{0x8F49 + i: f"dmat{n}" for i, n in enumerate(("2x3", "2x4", "3x2", "3x4", "4x2", "4x3"))},
}  # fmt: skip
_INDEX_TYPES = {"GL_UNSIGNED_BYTE": "ubyte", "GL_UNSIGNED_SHORT": "ushort", "GL_UNSIGNED_INT": "uint"}


@dataclass(frozen=True)
class Field:
    """One field of a row: `count` elements (0: up to the buffer's end) of `columns` columns of `size` scalars.

    Distances are bytes; `stride` lies between elements, `matrix` between columns (rows, where `by_rows`).
    """

    name: str
    type: str
    scalar: str
    size: int
    columns: int
    normalized: bool
    offset: int
    count: int = 1
    stride: int = 0
    matrix: int = 0
    by_rows: bool = False

    @property
    def packed(self) -> bool:
        """True where several components share a word."""
        return self.scalar in _PACKED

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a scalar in the buffer."""
        return np.dtype("<u4" if self.packed else _SCALARS[self.scalar])

    @property
    def one(self) -> int:
        """Bytes of one element."""
        if self.by_rows:
            return self.matrix * (self.size - 1) + self.dtype.itemsize * self.columns
        return self.matrix * (self.columns - 1) + self.dtype.itemsize * (1 if self.packed else self.size)

    @property
    def bytes(self) -> int:
        """Bytes from its beginning to its end."""
        return self.stride * (max(self.count, 1) - 1) + self.one


@dataclass(frozen=True)
class Layout:
    """Rows of fields: the first one at byte `at`, the next ones `every` bytes behind each other; 0: there is one."""

    fields: tuple[Field, ...]
    at: int
    every: int

    @property
    def bytes(self) -> int:
        """Bytes of a row that fields read."""
        return max((field.offset + field.bytes for field in self.fields), default=0)

    def rows(self, size: int) -> int:
        """Return the number of rows in a buffer of `size` bytes."""
        if not self.fields or size < self.at + self.bytes:
            return 0
        return 1 if not self.every else (size - self.at - self.bytes) // self.every + 1

    def values(self, content: Bytes, field: Field, first: int, count: int) -> Numbers:
        """Return a field of rows as numbers: rows x elements x components, matrices column after column."""
        places = self._places(field, first, count)
        raw = content[places[..., None] + np.arange(field.dtype.itemsize)]
        values = raw.view(field.dtype)[..., 0] if raw.size else np.zeros(places.shape, field.dtype)
        return _numbers(values, field)

    def changed(self, differs: npt.NDArray[np.bool_], field: Field, first: int, count: int) -> npt.NDArray[np.bool_]:
        """Return which rows have a byte of a field that differs; `differs` has one truth a byte of the buffer."""
        places = self._places(field, first, count)
        bytes_ = differs[places[..., None] + np.arange(field.dtype.itemsize)]
        return np.asarray(bytes_.reshape(count, -1).any(axis=1))

    def _places(self, field: Field, first: int, count: int) -> npt.NDArray[np.int64]:
        # Where each scalar begins: rows x elements x scalars.
        column, scalar = np.arange(field.columns), np.arange(1 if field.packed else field.size)
        width = field.dtype.itemsize
        if field.by_rows:  # the scalars of a column lie in rows
            inner = column[:, None] * width + scalar * field.matrix
        else:
            inner = column[:, None] * field.matrix + scalar * width
        rows = self.at + field.offset + (first + np.arange(count)) * self.every
        return np.asarray(rows[:, None, None] + (np.arange(field.count) * field.stride)[:, None] + inner.reshape(-1))

    def cut(self, size: int) -> Layout:
        """Return the layout for a buffer of `size` bytes: an array to its end gets its length."""

        def count(field: Field) -> int:
            return field.count or max((size - self.at - field.offset - field.one) // field.stride + 1, 0)

        fields = (replace(field, count=count(field)) for field in self.fields)
        return replace(self, fields=tuple(field for field in fields if field.count))


def _numbers(values: Numbers, field: Field) -> Numbers:
    if field.scalar == "u10_11_11f":
        parts = [_small_float(values & 2047, 6), _small_float(values >> 11 & 2047, 6), _small_float(values >> 22, 5)]
        return np.concatenate(parts, axis=-1)
    if field.packed:
        parts = [(values >> shift) & ((1 << bits) - 1) for shift, bits in ((0, 10), (10, 10), (20, 10), (30, 2))]
        if field.scalar[0] == "i":
            limits = (512, 512, 512, 2)
            parts = [np.where(p >= m, p.astype("i8") - 2 * m, p) for p, m in zip(parts, limits, strict=True)]
        whole = np.concatenate(parts, axis=-1).astype("f8" if field.normalized else "i8")
        if not field.normalized:
            return whole
        largest = np.array([511, 511, 511, 1] if field.scalar[0] == "i" else [1023, 1023, 1023, 3])
        return np.asarray(np.maximum(whole / largest, -1))
    if field.scalar == "fixed":
        return values / 65536
    if field.scalar == "bool":
        return np.asarray(values != 0)
    if field.normalized:
        return np.asarray(np.maximum(values.astype("f8") / np.iinfo(field.dtype).max, -1))
    return values


def _small_float(bits: Numbers, fraction: int) -> Numbers:
    # Floats without a sign: five bits of exponent, then the fraction.
    exponent, rest = bits >> fraction, bits & ((1 << fraction) - 1)
    part = rest / (1 << fraction)
    small = part * 2.0**-14
    usual = (1 + part) * 2.0 ** (exponent.astype("f8") - 15)
    return np.where(exponent == 31, np.where(rest, np.nan, np.inf), np.where(exponent, usual, small))


# ---- texts ------------------------------------------------------------------------------------------------------


def parse(text: str) -> Layout:
    """Return the layout that a text describes. Raises UsageError where it describes none."""
    if len(text) > _MOST_TEXT:
        raise UsageError("the format has too many characters", hint=f"at most {_MOST_TEXT:,}")
    fields: list[Field] = []
    at, end = 0, 0
    every: int | None = None
    for line in filter(None, (part.strip() for part in re.split(r"[;\n]", re.sub(r"(#|//).*", "", text)))):
        head = _HEAD.fullmatch(line)
        if head is not None and not fields:
            at = int(head[1] or at)
            every = 0 if head[2] else int(head[3]) if head[3] else every
            continue
        fields.append(_field(line, end))
        end = fields[-1].offset + fields[-1].bytes
        if len(fields) > MOST_FIELDS:
            raise UsageError("the format has too many fields", hint=f"at most {MOST_FIELDS}")
    if not fields:
        raise UsageError("a format needs a field", hint="for example: float3 position; ubyte4n color")
    if any(not field.count for field in fields):
        every = 0
    layout = Layout(tuple(fields), at, every or 0)
    return layout if every is not None else replace(layout, every=layout.bytes)


def _field(line: str, end: int) -> Field:
    match = _LINE.fullmatch(line)
    if match is None:
        raise UsageError(f"{line[:80]!r} is no field", hint="TYPE NAME, for example: float3 position @12")
    name, count = match[2].strip(), 1
    if array := re.fullmatch(r"(.*?)\s*\[(\d*)\]", name):
        name, count = array[1], int(array[2] or 0)
        if array[2] and not count:
            raise UsageError(f"{line[:80]!r} has no elements")
    asked = {word: int(number) for word, number in re.findall(r"(@|stride|matrix)\s*(\d+)", match[3])}
    field = _typed(match[1])
    matrix = asked.get("matrix", field.dtype.itemsize * field.size)
    offset = asked.get("@", end)
    made = replace(field, name=name, offset=offset, count=count, matrix=matrix, by_rows="rows" in match[3])
    if made.by_rows and "matrix" not in asked:
        made = replace(made, matrix=field.dtype.itemsize * field.columns)
    stride = asked.get("stride", made.one)
    if max(offset, stride, matrix) > 1 << 40 or count > 1 << 24:
        raise UsageError(f"{line[:80]!r} is too large")
    return replace(made, stride=max(stride, 1))


def _typed(word: str) -> Field:
    bare = word.removesuffix("n")
    if bare in _PACKED:
        size = 3 if bare.endswith("f") else 4
        return Field("", word, bare, size, 1, word != bare, 0)
    if bare in ("hex8", "hex16", "hex32"):
        return Field("", word, bare, 1, 1, False, 0)
    match = _TYPE.fullmatch(word)
    base, columns = (match[1], 1) if match else ("", 1)
    size = int(match[2] or 1) if match else 1
    if base in ("mat", "dmat") and match and match[2]:
        base, columns, size = ("float" if base == "mat" else "double"), size, int(match[3] or match[2])
    elif match and match[3]:
        base = ""
    base = _VECTORS.get(base, base) if size > 1 else base
    normalized = bool(match and match[4])
    wrong = normalized and (base in ("float", "half", "double", "bool", "fixed"))
    if base not in _SCALARS or not 1 <= size <= 4 or not 1 <= columns <= 4 or wrong:
        known = ", ".join([*_SCALARS, "vec3", "mat4", *_PACKED])
        raise UsageError(f"there is no type {word[:40]!r}", hint=f"there are {known}; 2 to 4 of them, n: normalized")
    return Field("", word, base, size, columns, normalized, 0)


# ---- what a program declares ------------------------------------------------------------------------------------


def declared(uses: Sequence[Mapping[str, Any]], index_type: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield names and formats of what a context reads from a buffer, as `buffer_uses` of the player tells it.

    `index_type` is the type of indices that the call names.
    """
    arrays = [use for use in uses if use["use"] == "vertex"]
    yield from _vertices(arrays)
    for use in uses:
        if use["use"] == "index":
            kind = _INDEX_TYPES.get(index_type or "", "ushort")
            yield f"indices ({kind})", f"every {np.dtype(_SCALARS[kind]).itemsize}\n{kind} index"
        elif use["use"] == "indirect":
            words = ("count", "instances", "first", "base")
            yield "indirect draws", "every 16\n" + "\n".join(f"uint {word}" for word in words)
            fields = ("uint count", "uint instances", "uint first_index", "int base_vertex", "uint base_instance")
            yield "indirect draws with indices", "\n".join(["every 20", *fields])
        elif use["use"] in ("uniform", "storage"):
            yield from _block(use)


def _vertices(arrays: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    groups: list[tuple[tuple[int, int], int, list[tuple[Mapping[str, Any], Field]]]] = []
    for use in sorted(arrays, key=lambda use: (use.get("divisor", 0), use["offset"])):
        four = use["size"] > 4  # GL_BGRA
        packed = _PACKED_TYPES.get(use["type"])
        kind = packed or _ARRAY_TYPES.get(use["type"])
        if kind is None:
            continue
        size = 4 if four else use["size"]
        word = kind if packed else f"{kind}{size if size > 1 else ''}"
        n = "n" if use["normalized"] and kind not in ("float", "half", "double", "fixed", "u10_11_11f") else ""
        field = _typed(word + n)
        field = replace(field, name=use["name"], stride=use["stride"])
        key = (use.get("divisor", 0), use["stride"])
        last = groups[-1] if groups else None
        if last and last[0] == key and use["stride"] and use["offset"] + field.one <= last[1] + use["stride"]:
            last[2].append((use, field))
        else:
            groups.append((key, use["offset"], [(use, field)]))
    for (divisor, stride), base, members in groups:
        every = stride or max(field.one for _, field in members)
        lines = [f"{field.type} {_plain(use['name'])} @{use['offset'] - base}" for use, field in members]
        names = ", ".join(use["name"] for use, _ in members)
        yield f"{'instances' if divisor else 'vertices'}: {names}", "\n".join([f"at {base} every {every}", *lines])


def _block(use: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    single, rows, every = [], [], 0
    for member in sorted(use["members"], key=lambda m: m["offset"]):
        kind = _UNIFORM_TYPES.get(member["type"])
        if kind is None:
            continue
        words = [kind, _plain(member["name"]).removesuffix("[0]")]
        open_one = member["name"].endswith("[0]") and member["count"] == 0
        if member["count"] > 1:
            words[1] += f"[{member['count']}]"
        # An array to the buffer's end: of numbers, or of structures, which are rows.
        outer = member.get("outer_count") == 0 and member.get("outer_stride", 0)
        words.append(f"@{member['offset']}")
        if member["stride"] and member["count"] > 1:
            words.append(f"stride {member['stride']}")
        if member["matrix_stride"]:
            words.append(f"matrix {member['matrix_stride']}")
        if member["rows"] and member["matrix_stride"]:
            words.append("rows")
        if open_one or outer:
            rows.append((member["offset"], words))
            every = member["outer_stride"] if outer else member["stride"]
        else:
            single.append(" ".join(words))
    name = f"{use['use']} {use['binding']}: {use['name']}"
    if single:
        yield name, "\n".join([f"at {use['offset']} once", *single])
    if rows:
        base = min(offset for offset, _ in rows)
        lines = [" ".join([*words[:2], f"@{offset - base}", *words[3:]]) for offset, words in rows]
        yield f"{name}, rows", "\n".join([f"at {use['offset'] + base} every {every}", *lines])


def _plain(name: str) -> str:
    return re.sub(r"[\s;#@]|//", "_", name)
