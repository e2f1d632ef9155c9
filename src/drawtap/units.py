"""Durations, sizes and times as people write them: `50ms`, `2min`, `64M`, `@123456`. Numbers as tables have them."""

from __future__ import annotations

import re

from drawtap.errors import UsageError

NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|min|h)?")
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([KMG]?)(?:i?B)?", re.IGNORECASE)
_MOMENT = re.compile(r"(@)?(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?")


def duration_ns(text: str, bare: str = "") -> float | None:
    """Return a duration in ns; `bare` is the unit of a number without one ("": there must be one). None: it is none."""
    match = _DURATION.fullmatch(text.strip())
    unit = NS.get(match[2] or bare) if match else None
    return None if match is None or unit is None else float(match[1]) * unit


def size_bytes(text: str, bare: int = 1) -> float | None:
    """Return a size in bytes (64M, 1G, 500 KiB), where K is 1024; `bare` bytes are one without a unit. None: none."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else float(match[1]) * (_BYTES[match[2].upper()] if match[2] else bare)


def moment(text: str | None, begin: int) -> int | None:
    """Return the time that a text means, in ns: since `begin`, or with @ as it is. None for None."""
    if text is None:
        return None
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is no time", hint="1.5 (seconds from the begin of the trace), 200ms, @123456 (ns of the trace)"
        )
    number = float(match[2]) * NS[match[3] or ("ns" if match[1] else "s")]
    exact = int(match[2]) if match[1] and "." not in match[2] and match[3] in (None, "ns") else round(number)
    return exact if match[1] else begin + exact


def as_int(value: object) -> int:
    """Return a cell of a table as a whole number; 0 where it holds none."""
    return int(value) if isinstance(value, int | float) else 0


def as_float(value: object) -> float:
    """Return a cell of a table as a number; 0 where it holds none."""
    return float(value) if isinstance(value, int | float) else 0.0
