"""Render results as JSON for programs: a list of objects one a line, or one object."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import TextIO

from drawtap.view.result import ExitStatus, Facts, Lines, Rows, Sheets, Text, Tree, Verdicts, Written


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
        stream.write("[")
        separator = "\n"
        for row in result.objects():
            stream.write(separator + dumps(row))
            separator = ",\n"
        stream.write("\n]\n" if separator != "\n" else "]\n")
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


def dumps(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON text."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent, allow_nan=False)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if hasattr(value, "item") and not isinstance(value, type):  # a numpy scalar
        return _plain(value.item())
    return str(value)
