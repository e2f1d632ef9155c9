"""Answers with bare data: a head as JSON, then bytes."""

from __future__ import annotations

import json
import struct

Answer = dict[str, object]  # what becomes a JSON object


class Encoded(str):
    """An answer that is JSON text already: made once, sent often."""

    __slots__ = ()


def headed(head: Answer | Encoded, data: bytes) -> bytes:
    """Return the length of the head, the head as JSON, blanks up to a multiple of eight, and the data."""
    text = (head if isinstance(head, Encoded) else json.dumps(head)).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + data
