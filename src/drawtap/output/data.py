"""Render results as JSON for programs: a list of objects one a line, or one object."""

from __future__ import annotations

import binascii
import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TextIO

from drawtap.output.result import ExitStatus, Facts, Lines, Rows, Sheets, Text, Tree, Verdicts, Written

_BATCH = 4096  # rows that become text at once
_SCALARS = frozenset({bool, float, int, str, type(None)})
_COLUMN = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",\n", ": "))
_HALVES = re.compile("[\ud800-\udfff]")  # Python's characters for bytes of a file's name that are no UTF-8


def write_json(result: object, stream: TextIO) -> None:
    """Write `result` as one JSON document.

    Rows become a list of objects, one a line, written as they come. Bytes become base64, dates ISO text, and
    numbers that JSON does not know (NaN, infinity) null.
    """
    if isinstance(result, Lines):
        result = result.rows()
    if isinstance(result, Tree):
        result = Rows(("path", "value"), result.values)
    if isinstance(result, Rows):
        _write_rows(result, stream)
    elif isinstance(result, Facts | Sheets):
        stream.write(dumps(result.data, indent=2) + "\n")
    elif isinstance(result, Verdicts):
        plain = [asdict(v) for v in result.verdicts] if result.data is None else result.data
        stream.write(dumps(plain, indent=2) + "\n")
    elif isinstance(result, Text):
        stream.write(dumps(result.data if result.data is not None else result.text) + "\n")
    elif isinstance(result, Written):
        stream.write(dumps({"path": result.path, "bytes": result.size_bytes, "what": result.what}) + "\n")
    elif not isinstance(result, ExitStatus) and result is not None:
        stream.write(dumps(result) + "\n")


def _write_rows(result: Rows, stream: TextIO) -> None:
    stream.write("[")
    separator = "\n"
    for lines in _lines(result):
        stream.write(separator + lines)
        separator = ",\n"
    stream.write("\n]\n" if separator != "\n" else "]\n")


def _lines(result: Rows) -> Iterator[str]:
    names = [result.columns[i] for i in result.shown]
    if not isinstance(result.rows, Sequence) or not names or len(set(names)) < len(names):
        yield from map(dumps, result.objects())
        return
    line = "{" + ", ".join(dumps(name).replace("%", "%%") + ": %s" for name in names) + "}"
    for first in range(0, len(result.rows), _BATCH):
        batch = result.rows[first : first + _BATCH]
        columns = (_cells([row[i] for row in batch]) for i in result.shown)
        yield ",\n".join(map(line.__mod__, zip(*columns, strict=True)))


def _cells(column: list[object]) -> list[str]:
    if _SCALARS.issuperset(map(type, column)):
        with contextlib.suppress(ValueError):  # for numbers that JSON does not know
            # All of them as one text, in lines: no value has a line's end inside.
            return _readable(_COLUMN.encode(column))[1:-1].split(_COLUMN.item_separator)
    return [dumps(value) for value in column]


def dumps(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON text."""
    return _readable(json.dumps(_plain(value), ensure_ascii=False, indent=indent, allow_nan=False))


def _readable(text: str) -> str:
    # JSON is UTF-8, whatever the names of files are.
    return text if text.isascii() else _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return binascii.b2a_base64(bytes(value), newline=False).decode()
    if hasattr(value, "item") and not isinstance(value, type):  # a numpy scalar
        return _plain(value.item())
    from decimal import Decimal  # by whoever made one

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
