"""Write a recording call by call: for programs that nobody ran, such as synthetic benchmarks.

Calls are written in the form of apitrace (its format 5), which has only names and values. They are read as any other
trace of that form: contexts, contents and handles get the form of a recording.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import InputError, QueryError, did_you_mean
from drawtap.formats.apitrace import Imported, read_apitrace
from drawtap.parts import PEERS, SIGNATURES, part
from drawtap.trace.edit import Signatures, signatures_of

_VERSION = 5
_ENTER, _LEAVE = 0, 1
_END, _ARGUMENT, _RESULT = b"\x00", b"\x01", b"\x02"
_NULL, _NEGATIVE, _NUMBER, _FLOAT, _TEXT, _BLOB, _ARRAY, _OPAQUE = 0, 3, 4, 5, 7, 8, 11, 13

Value = None | int | float | str | bytes | Sequence["Value"]


class CallWriter:
    """Calls in the order in which they are made, on one thread.

    Values are numbers, names of enumerants ("GL_FLOAT", several joined by |), text, bytes for arrays, sequences of
    these, None for NULL.
    """

    def __init__(self) -> None:
        self._known: Signatures = signatures_of(part(SIGNATURES).read_text(encoding="utf-8"))
        self._out = bytearray(_unsigned(_VERSION))
        self._functions: dict[str, int] = {}
        self.calls = 0

    def call(self, name: str, /, *values: Value, result: Value = None, filled: Sequence[int] | None = None) -> None:
        """Add a call with all its arguments. `filled`: what the driver put into the last one, an array of names.

        Raises QueryError for a function that is not known, or another number of arguments than it has.
        """
        parameters = [p for p in self._known.functions.get(name, {}) if p != "result"]
        if name not in self._known.functions:
            raise QueryError(f"no function {name}", hint=did_you_mean(name, self._known.functions))
        if len(values) + (filled is not None) != len(parameters):
            raise QueryError(f"{name} takes {len(parameters)} arguments", hint=", ".join(parameters))
        out = self._out
        out += bytes([_ENTER]) + _unsigned(0)
        known = name in self._functions
        out += _unsigned(self._functions.setdefault(name, len(self._functions)))
        if not known:
            out += _counted(name.encode()) + _unsigned(len(parameters))
            for parameter in parameters:
                out += _counted(parameter.encode())
        for index, value in enumerate(values):
            out += _ARGUMENT + _unsigned(index) + self._value(value)
        out += _END + bytes([_LEAVE]) + _unsigned(self.calls)
        if filled is not None:
            out += _ARGUMENT + _unsigned(len(values)) + self._value(filled)
        if result is not None:
            out += _RESULT + self._value(result)
        out += _END
        self.calls += 1

    def save(self, path: Path) -> Imported:
        """Write the recording `path`; what stands there is replaced. Raises InputError where it cannot be written."""
        source = path.with_name(f".{path.name}.calls")
        try:
            source.write_bytes(gzip.compress(bytes(self._out), 1))
            made = read_apitrace(source, path, library=part(PEERS), signatures=part(SIGNATURES))
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        finally:
            source.unlink(missing_ok=True)
        if made.damage or made.calls != self.calls:
            raise InputError(f"{path}: {made.calls} of {self.calls} calls were written: {made.damage}")
        return made

    def _value(self, value: Value) -> bytes:
        if value is None:
            return bytes([_NULL])
        if isinstance(value, float):
            return bytes([_FLOAT]) + struct.pack("<f", value)
        if isinstance(value, str):
            bits = self._enumerants(value)
            return bytes([_TEXT]) + _counted(value.encode()) if bits is None else bytes([_NUMBER]) + _unsigned(bits)
        if isinstance(value, bytes):
            return bytes([_BLOB]) + _counted(value)
        if isinstance(value, int):
            kind = _NEGATIVE if value < 0 else _OPAQUE if value >> 40 else _NUMBER
            return bytes([kind]) + _unsigned(abs(value))
        return bytes([_ARRAY]) + _unsigned(len(value)) + b"".join(self._value(item) for item in value)

    def _enumerants(self, text: str) -> int | None:
        bits = 0
        for word in text.split(" | "):
            if word not in self._known.anywhere:
                return None
            bits |= self._known.anywhere[word]
        return bits


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _counted(raw: bytes) -> bytes:
    return _unsigned(len(raw)) + raw
