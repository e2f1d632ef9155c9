"""Arguments of one call: as text, as C, and as a table with every element."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np

from drawtap.tables.recording import ParameterRow
from drawtap.trace.core import Row
from drawtap.trace.trace import decode_content, scalar
from drawtap.trace.vulkan_sets import flat
from drawtap.web.answer import Answer

_PREVIEW = 4096  # elements of an array
_LINE = 16  # bytes of a row
_SIZES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8}


def whole(
    details: Row, parameters: Sequence[ParameterRow], content: Callable[[Row], bytes]
) -> Iterator[tuple[object, ...]]:
    """Yield rows of a call: path (`data[3]`, `pInfo.flags`), value as text, type, class of object, bytes of content.

    Arguments come first in their order, each before its elements or members, then `result`. Content without a type is
    in hexadecimal, a row `data[0..15]` for 16 bytes. `content` reads what an argument points to.
    """
    known = {p["name"]: p for p in parameters if p["position"]}
    for argument in details["args"]:
        name, parameter = argument["name"], known.get(argument["name"])
        held = content(argument) if argument.get("data") in ("inline", "blob") else None
        size = None if held is None else len(held)
        of = (None, None) if parameter is None else (parameter["type"], parameter["class"])
        yield name, value_text(argument), *of, size
        if held is None:
            continue
        if (tree := argument.get("tree")) is not None:
            yield from ((path, _plain(value), None, None, None) for path, value in flat(name, tree))
            continue
        decoded = decode_content(argument["element"], held)
        kind = argument["element"]
        if isinstance(decoded, str):
            yield f"{name}[]", decoded, kind, None, size
        elif isinstance(decoded, bytes):
            for at in range(0, len(decoded), _LINE):
                part = decoded[at : at + _LINE]
                yield f"{name}[{at}..{at + len(part) - 1}]", part.hex(" "), kind, None, len(part)
        else:
            # As text a number has no more digits than lead back to it.
            values = decoded.astype(str).tolist() if isinstance(decoded, np.ndarray) else cast("list[str]", decoded)
            for i, value in enumerate(values):
                yield f"{name}[{i}]", value, kind, None, None
    if details["result"] is not None:
        returns = next((p["type"] for p in parameters if not p["position"]), None)
        yield "result", value_text(details["result"]), returns, None, None


def _plain(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value, default=str)


def signature(name: str, parameters: Sequence[ParameterRow]) -> str:
    """Return a function's declaration in C."""
    returns = next((p["type"] for p in parameters if not p["position"]), "void")
    taken = sorted((p for p in parameters if p["position"]), key=lambda p: p["position"])
    listed = ", ".join(f"{p['type']} {p['name']}" for p in taken)
    return f"{returns} {name}({listed})"


def as_c(name: str, parameters: Sequence[ParameterRow], arguments: Sequence[Answer]) -> str:
    """Return a call as a C expression; arrays are compound literals, which say what they leave out."""
    types: dict[object, str] = {p["name"]: p["type"] for p in parameters}
    given = []
    for argument in arguments:
        array, kept, kind = argument.get("array"), str(argument.get("element")), types.get(argument["name"], "")
        element, size = kind.replace("*", "").strip(), int(str(argument.get("bytes", 0)))
        if isinstance(array, str) and kept == "char":
            given.append(json.dumps(array))
        elif isinstance(array, str) and kept == "bytes":
            content = [f"0x{byte:02x}" for byte in bytes.fromhex(array)]
            given.append(_literal("const GLubyte", content, size - len(content)))
        elif isinstance(array, list) and kept == "strings":
            given.append(_literal("const GLchar *const", [json.dumps(text) for text in array], 0))
        elif isinstance(array, list) and "void" not in element:
            left_out = size // _SIZES.get(kept, size + 1) - len(array)
            given.append(_literal(element, [_c_number(value, kept) for value in array], left_out))
        elif argument["kind"] in ("ptr", "handle"):
            given.append(f"(void *){argument['value']}" if argument["value"] != "NULL" else "NULL")
        else:
            given.append(_c_number(argument["value"], str(argument["kind"])))
    return f"{name}({', '.join(given)})"


def _literal(element: str, values: Sequence[str], more: int) -> str:
    left_out = f" /* and {more} more */" if more > 0 else ""
    return f"({element}[]){{{', '.join(values)}{left_out}}}"


def _c_number(value: object, kind: str) -> str:
    """Return a number as C spells it: a float has an f, and no more digits than lead back to it."""
    if kind != "f32":
        return str(value)
    number = np.float32(str(value))
    if np.isnan(number):
        return "NAN"
    return f"{number!s}f" if np.isfinite(number) else "INFINITY" if number > 0 else "-INFINITY"


def value_text(argument: Row) -> str:
    """Return the value of an argument or result as text."""
    value = scalar(argument)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "GL_TRUE" if value else "GL_FALSE"
    if argument["kind"] in ("ptr", "handle"):
        return f"0x{value:x}"
    return str(value)


def preview(element: str, content: bytes) -> object:
    """Return the beginning of an array for people: text, numbers, or bytes in hexadecimal."""
    decoded = decode_content(element, content)
    if isinstance(decoded, str):
        return decoded[: 16 * _PREVIEW]
    if isinstance(decoded, bytes):
        return decoded[:_PREVIEW].hex()
    if isinstance(decoded, np.ndarray):
        return [v if np.isfinite(v) else str(v) for v in decoded[:_PREVIEW].tolist()]
    return decoded
