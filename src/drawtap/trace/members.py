"""Change members of structures in the contents of calls: `pCreateInfos[0].pRasterizationState.cullMode`.

A content is a tree (docs/format.md, "Trees"). A value, an element or an array of the same length changes in its place.
A text or the code of a shader of another length goes to the end, and the old bytes become 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from drawtap.errors import QueryError

if TYPE_CHECKING:
    from drawtap.trace.core import CoreTrace, Row

_CODES = {
    ("u", 1): "B", ("u", 2): "H", ("u", 4): "I", ("u", 8): "Q", ("i", 1): "b", ("i", 2): "h", ("i", 4): "i",
    ("i", 8): "q", ("f", 4): "f", ("f", 8): "d",
}  # fmt: skip
_CODE, _CODE_BYTES = "pCode", "codeSize"


def split(name: str) -> tuple[str, str]:
    """Return the parameter of a path and what follows; "" where nothing does."""
    at = min((i for i in (name.find("."), name.find("[")) if i >= 0), default=len(name))
    return name[:at], name[at:]


class Tree:
    """The content of a parameter of a call of `function`, under change. `number` gives the value of an enumerant's name
    in a group."""

    def __init__(
        self, core: CoreTrace, function: str, parameter: str, content: bytes, number: Callable[[str, str], int]
    ) -> None:
        self._core, self._function, self._parameter = core, function, parameter
        self._number = number
        self.content = bytearray(content)

    def set(self, path: str, value: object) -> None:
        """Change the member at `path`; None makes a pointer NULL.

        Raises QueryError for a path that leads nowhere, ValueError or TypeError for a value that does not fit.
        """
        place = self._place(path)
        if value is None and place["slot"]:
            self._put(place["slot"], bytes(8))
        elif place["kind"] in ("value", "array"):
            self._values(path, place, value)
        elif place["kind"] == "text":
            self._text(place, value)
        else:
            raise QueryError(f"{self._parameter}{path} is a structure", hint="name one of its members behind a point")

    def _place(self, path: str) -> Row:
        return self._core.place(self._function, self._parameter, bytes(self.content), path)

    def _put(self, at: int, data: bytes) -> None:
        self.content[at : at + len(data)] = data

    def _values(self, path: str, place: Row, value: object) -> None:
        single = not isinstance(value, Sequence) or isinstance(value, str)
        if single and place["many"]:
            raise ValueError(f"it is a list of {place['count']}: {{...}}, or a number in brackets")
        if isinstance(value, bytes | bytearray):
            data = bytes(value)
        else:
            values = [value] if single else list(value)  # type: ignore[call-overload]
            data = b"".join(self._encoded(place, one) for one in values)
        room = place["count"] * place["width"]
        if len(data) == room:
            self._put(place["at"], data)
        elif path.endswith(f".{_CODE}"):
            self._moved(place, data, len(data) // place["width"], room)
            self.set(f"{path.removesuffix(_CODE)}{_CODE_BYTES}", len(data))
        else:
            raise ValueError(f"an edit keeps the number of elements, {place['count']}")

    def _text(self, place: Row, value: object) -> None:
        if not isinstance(value, str):
            raise TypeError("a text is wanted")
        data = value.encode()
        if len(data) == place["count"]:
            self._put(place["at"], data)
        else:
            self._moved(place, data, len(data), place["count"], end=b"\0")

    def _moved(self, place: Row, data: bytes, count: int, old: int, *, end: bytes = b"") -> None:
        if place["at"]:
            self._put(place["at"], bytes(old))
        self.content += bytes(-len(self.content) % 8) + struct.pack("<Q", count)
        self._put(place["slot"], struct.pack("<Q", len(self.content)))
        self.content += data + end
        self.content += bytes(-len(self.content) % 8)

    def _encoded(self, place: Row, value: object) -> bytes:
        code = _CODES[place["form"], place["width"]]
        if place["form"] == "f":
            return struct.pack(f"<{code}", float(value))  # type: ignore[arg-type]
        number = self._number(place["group"], value) if isinstance(value, str) else 0 if value is None else value
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if not isinstance(number, int):
            raise TypeError("a whole number is wanted")
        if place["bits"]:
            if not 0 <= number < 1 << place["bits"]:
                raise ValueError(f"it has {place['bits']} bits")
            size = place["width"]
            old: int = int.from_bytes(self.content[place["at"] : place["at"] + size], "little")
            mask = ((1 << place["bits"]) - 1) << place["first_bit"]
            whole: int = old & ~mask | number << place["first_bit"]
            return whole.to_bytes(size, "little")
        if number >= 1 << (8 * place["width"] - 1) and place["form"] == "i":
            number -= 1 << (8 * place["width"])
        elif number < 0 and place["form"] == "u":
            number += 1 << (8 * place["width"])
        return struct.pack(f"<{code}", number)
