"""Answers with bare data: a head as JSON, then bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

from drawtap.errors import UsageError

Answer = dict[str, object]  # what becomes a JSON object


class Encoded(str):
    """An answer that is JSON text already: made once, sent often."""

    __slots__ = ()


def headed(head: Answer | Encoded, data: bytes) -> bytes:
    """Return the length of the head, the head as JSON, blanks up to a multiple of eight, and the data."""
    text = (head if isinstance(head, Encoded) else json.dumps(head)).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + data


def object_of(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, None where the text is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def asked(text: str) -> dict[str, Any]:
    """Return the JSON object of a request. Raises UsageError for anything else."""
    wish = object_of(text)
    if wish is None:
        raise UsageError("the request is not a JSON object", hint="reload the page")
    return wish
