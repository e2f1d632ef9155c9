"""A strict reader of trace files, written from docs/format.md alone, and the values that drain_app writes.

It shares no code with the product: what the drainer writes is checked byte by byte against the format
description, and value by value against what the test program computed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

FILE_MAGIC, CHUNK_MAGIC, END_MAGIC = b"DTAP\r\n\x1a\n", 0x4B435444, b"DTAPEND\n"
SIGNATURES, CALLS, BLOBS, ANNOTATION, FOOTER = 1, 2, 3, 4, 5
CHUNK = struct.Struct("<IHHQQII")
BLOCK = struct.Struct("<HHIQQ")
CALLS_META = struct.Struct("<4I2Q2I2QQQ3Q4I2Q16s")
CALLS_FIELDS = re.findall(
    r"\w+",
    """pid thread tid context serial first_call records calls t_first t_last t_end max_duration calibration_clock
    calibration_ns calibration_width clock timing functions blocks order_first order_last thread_name""",
)
FUNCTION = struct.Struct("<HHI5Q")
BLOB = struct.Struct("<2Q3QQII")
TAP = 0x8000
INLINE, BLOB_KIND = 1, 2

_zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
_zstd.ZSTD_decompress.restype = ctypes.c_size_t
_zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Hashes:
    """XXH3 from the small library that the tests build."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.drain_hash64.restype = ctypes.c_uint64
        self._library.drain_hash64.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        self._library.drain_hash128.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64 * 2]

    def hash64(self, data: bytes) -> int:
        return int(self._library.drain_hash64(data, len(data)))

    def hash128(self, data: bytes) -> tuple[int, int]:
        out = (ctypes.c_uint64 * 2)()
        self._library.drain_hash128(data, len(data), out)
        return out[0], out[1]


@dataclass
class Column:
    """One function's records in a chunk: fields, and per array field the content of every record."""

    key: int
    w8: list[U64]
    w4: list[U32]
    payloads: dict[int, tuple[bytes, npt.NDArray[np.int64]]]  # by w8 index: bytes, and where each record's begin


@dataclass
class CallsChunk:
    meta: dict[str, Any]
    functions: list[dict[str, int]]
    order: npt.NDArray[np.int64]
    entry: U64
    duration: U32
    columns: list[Column | None]
    meta_bytes: bytes = b""


@dataclass
class Container:
    path: Path
    size: int
    whole: bool = False
    signatures: str = ""
    layouts: dict[int, tuple[int, int, list[int]]] = field(default_factory=dict)
    calls: list[CallsChunk] = field(default_factory=list)
    blobs: dict[tuple[int, int], bytearray] = field(default_factory=dict)
    blob_parts: list[tuple[tuple[int, int], int, int, int]] = field(default_factory=list)  # hash, offset, bytes, stored
    annotations: list[dict[str, Any]] = field(default_factory=list)
    torn_bytes: int = 0

    def annotation(self, kind: str) -> dict[str, Any]:
        found = [a for a in self.annotations if a["kind"] == kind]
        assert len(found) == 1, (kind, self.annotations)
        return found[0]


def decompress(stored: bytes, codec: int, raw: int) -> bytes:
    if codec == 0:
        assert len(stored) == raw
        return stored
    assert codec == 1, codec
    out = ctypes.create_string_buffer(max(raw, 1))
    assert _zstd.ZSTD_decompress(out, raw, stored, len(stored)) == raw
    return out.raw[:raw]


def leb128(data: bytes, count: int) -> U64:
    """Decode exactly `count` numbers that fill `data`."""
    raw = np.frombuffer(data, np.uint8)
    if count == 0:
        assert not len(raw)
        return np.zeros(0, np.uint64)
    ends = np.flatnonzero(raw < 0x80)
    assert len(ends) == count
    assert ends[-1] == len(raw) - 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(len(raw)) - np.repeat(starts, ends - starts + 1)
    assert place.max() < 10
    shifted = (raw & 0x7F).astype(np.uint64) << (place * 7).astype(np.uint64)
    return np.add.reduceat(shifted, starts).astype(np.uint64)


def parse_signatures(container: Container, text: str) -> None:
    container.signatures += text
    current: list[int] = []
    for line in text.splitlines():
        words = line.split("\t")
        if words[0] == "F":
            current = []
            assert int(words[1]) not in container.layouts, "a function was described twice"
            container.layouts[int(words[1])] = (int(words[4]), int(words[5]), current)
        elif words[0] == "D":
            current.append(int(words[1].removeprefix("8:")))


def parse_calls(container: Container, meta: bytes, body: bytes) -> CallsChunk:
    m = dict(zip(CALLS_FIELDS, CALLS_META.unpack_from(meta), strict=True))
    at = CALLS_META.size
    functions = []
    for _ in range(m["functions"]):
        values = FUNCTION.unpack_from(meta, at)
        keys = ("function", "block", "count", "offset", "bytes", "duration_sum", "duration_max", "payload_bytes")
        functions.append(dict(zip(keys, values, strict=True)))
        at += FUNCTION.size
    raws: list[bytes] = []
    kinds = []
    place = 0
    for _ in range(m["blocks"]):
        kind, codec, reserved, raw, stored = BLOCK.unpack_from(meta, at)
        at += BLOCK.size
        assert reserved == 0
        raws.append(decompress(body[place : place + stored], codec, raw))
        kinds.append(kind)
        place += stored
    assert at == len(meta)
    assert place == len(body)
    n = m["records"]
    if n == 0:
        empty = np.zeros(0, np.uint64)
        assert not kinds
        assert not functions
        return CallsChunk(m, [], np.zeros(0, np.int64), empty, empty.astype(np.uint32), [], meta)
    assert kinds[:3] == [1, 2, 3]
    assert set(kinds[3:]) <= {4}
    order = np.frombuffer(raws[0], np.uint8 if len(functions) <= 256 else np.uint16).astype(np.int64)
    assert len(order) == n
    zigzag = leb128(raws[1], n)
    delta = (zigzag >> np.uint64(1)) ^ (np.uint64(0) - (zigzag & np.uint64(1)))
    with np.errstate(over="ignore"):
        entry = np.cumsum(delta, dtype=np.uint64) + np.uint64(m["t_first"])
        coded = leb128(raws[2], n)
        assert coded.max() < 1 << 32
        duration = coded.astype(np.uint32) - np.uint32(3)
    columns: list[Column | None] = []
    for number, function in enumerate(functions):
        assert function["count"] == np.count_nonzero(order == number)
        w8_count, w4_count, arrays = container.layouts[function["function"] & 0x3FFF]
        if not w8_count and not w4_count:
            assert function["block"] == 0xFFFF
            assert function["bytes"] == 0
            columns.append(None)
            continue
        assert kinds[function["block"]] == 4
        raw = raws[function["block"]][function["offset"] : function["offset"] + function["bytes"]]
        assert len(raw) == function["bytes"]
        columns.append(parse_columns(function, raw, w8_count, w4_count, arrays))
    return CallsChunk(m, functions, order, entry, duration, columns, meta)


def parse_columns(function: dict[str, int], raw: bytes, w8_count: int, w4_count: int, arrays: list[int]) -> Column:
    n = function["count"]
    at = 0
    w8 = []
    w4 = []
    for _ in range(w8_count):
        w8.append(np.cumsum(np.frombuffer(raw, np.uint64, n, at), dtype=np.uint64))
        at += 8 * n
    for _ in range(w4_count):
        w4.append(np.cumsum(np.frombuffer(raw, np.uint32, n, at), dtype=np.uint32))
        at += 4 * n
    payloads = {}
    content = 0
    for slot in sorted(arrays):
        kind = (w8[slot] & np.uint64(7)).astype(np.int64)
        assert not np.any(w8[slot] & np.uint64(0xFFF8)), "the capacity must not be in the file"
        length = (w8[slot] >> np.uint64(16)).astype(np.int64)
        content += int(length[(kind == INLINE) | (kind == BLOB_KIND)].sum())
        stored = np.where(kind == INLINE, length, np.where(kind == BLOB_KIND, 16, 0))
        begins = np.concatenate([[0], np.cumsum(stored)])
        payloads[slot] = (raw[at : at + int(begins[-1])], begins)
        at += int(begins[-1])
    assert at == len(raw), "bytes are left over in a function's columns"
    assert content == function["payload_bytes"]
    return Column(function["function"], w8, w4, payloads)


def read_container(path: Path, hashes: Hashes, *, whole: bool = True) -> Container:
    """Read and check everything. `whole`: the file must have a footer and nothing torn."""
    data = path.read_bytes()
    container = Container(path, len(data))
    magic, version, reserved = struct.unpack_from("<8sII", data)
    assert magic == FILE_MAGIC
    assert version == 1
    assert reserved == 0
    at = 32
    entries: list[bytes] = []
    while at + CHUNK.size <= len(data) and not container.whole:
        head = data[at : at + CHUNK.size]
        chunk_magic, kind, kind_version, payload_bytes, payload_hash, meta_bytes, header_hash = CHUNK.unpack(head)
        payload = data[at + CHUNK.size : at + CHUNK.size + payload_bytes]
        if chunk_magic != CHUNK_MAGIC or len(payload) != payload_bytes:
            break
        assert header_hash == hashes.hash64(head[:28]) & 0xFFFFFFFF
        if payload_hash != hashes.hash64(payload):
            break
        assert meta_bytes <= payload_bytes
        assert kind_version == 1
        meta, body = payload[:meta_bytes], payload[meta_bytes:]
        if kind == FOOTER:
            check_footer(container, entries, at, payload, data)
            container.whole = True
        else:
            entries.append(struct.pack("<Q", at) + head)
            read_chunk(container, kind, meta, body, hashes)
        at += CHUNK.size + payload_bytes
    if container.whole:
        at += 16
    container.torn_bytes = len(data) - at
    assert not whole or (container.whole and not container.torn_bytes), (path, at, len(data))
    return container


def read_chunk(container: Container, kind: int, meta: bytes, body: bytes, hashes: Hashes) -> None:
    if kind in (SIGNATURES, ANNOTATION):
        block_kind, codec, _, raw, stored = BLOCK.unpack(meta)
        assert block_kind == 0
        assert stored == len(body)
        text = decompress(body, codec, raw).decode()
        if kind == SIGNATURES:
            parse_signatures(container, text)
        else:
            container.annotations.append(json.loads(text))
    elif kind == CALLS:
        container.calls.append(parse_calls(container, meta, body))
    elif kind == BLOBS:
        read_blobs(container, meta, body)
    else:
        raise AssertionError(f"chunk of unknown type {kind}")


def read_blobs(container: Container, meta: bytes, body: bytes) -> None:
    (parts, reserved) = struct.unpack_from("<II", meta)
    assert reserved == 0
    assert len(meta) == 8 + parts * BLOB.size
    place = 0
    for i in range(parts):
        low, high, total, offset, size, stored, codec, _ = BLOB.unpack_from(meta, 8 + i * BLOB.size)
        content = decompress(body[place : place + stored], codec, size)
        place += stored
        blob = container.blobs.setdefault((low, high), bytearray(total))
        assert len(blob) == total
        assert offset + size <= total
        blob[offset : offset + size] = content
        container.blob_parts.append(((low, high), offset, size, stored))
    assert place == len(body)


def check_footer(container: Container, entries: list[bytes], at: int, payload: bytes, data: bytes) -> None:
    chunks, reserved, calls = struct.unpack_from("<IIQ", payload)
    metas = b"".join(c.meta_bytes for c in container.calls)
    assert chunks == len(entries)
    assert reserved == 0
    assert payload[16:] == b"".join(entries) + metas
    assert calls == sum(c.meta["calls"] for c in container.calls)
    end = at + CHUNK.size + len(payload)
    assert data[end:] == struct.pack("<Q", at) + END_MAGIC


def check_blobs(container: Container, hashes: Hashes) -> None:
    """Every content is there once, whole, and hashes to its name."""
    stored: dict[tuple[int, int], int] = {}
    for name, _, size, _ in container.blob_parts:
        stored[name] = stored.get(name, 0) + size
    for name, content in container.blobs.items():
        assert hashes.hash128(bytes(content)) == name
        assert stored[name] == len(content), "content was stored more than once"


# ---- what drain_app writes ----------------------------------------------------------------------------------


def mix(x: U64) -> U64:
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


BLOB_KINDS = 24


def blob_content(kind: int) -> bytes:
    size = 700001 if kind == 0 else 1500 + 977 * kind
    i = np.arange(size, dtype=np.uint64)
    if kind & 1:
        return bytes(((i // np.uint64(64) + np.uint64(kind)) & np.uint64(255)).astype(np.uint8))
    return bytes((mix(np.uint64(kind * 1000003) + i) & np.uint64(255)).astype(np.uint8))


def check_calls(container: Container, hashes: Hashes, *, blobs: int = 0, in_flight: int = 0) -> dict[int, int]:
    """Compare every value of every call with what drain_app wrote; returns the number of records by thread."""
    assert in_flight == 0
    next_serial: dict[int, int] = {}
    next_record: dict[int, int] = {}
    next_call: dict[int, int] = {}
    names = [hashes.hash128(blob_content(k)) for k in range(BLOB_KINDS)] if blobs else []
    for chunk in container.calls:
        m = chunk.meta
        thread = m["thread"]
        assert m["serial"] == next_serial.get(thread, 0), "a chunk of the thread is missing"
        next_serial[thread] = m["serial"] + 1
        assert m["first_call"] == next_call.get(thread, 0)
        assert m["thread_name"].rstrip(b"\0") == b"drain_app"
        assert m["context"] == thread + 1
        first = next_record.get(thread, 0)
        next_record[thread] = first + m["records"]
        next_call[thread] = m["first_call"] + m["calls"]
        if m["records"]:
            check_chunk(chunk, np.arange(first, first + m["records"], dtype=np.uint64), blobs, names)
    if blobs:
        used = {name for c in container.calls for name in referred_blobs(c)}
        assert used == set(container.blobs), "content is missing or unused"
        check_blobs(container, hashes)
    return next_record


def referred_blobs(chunk: CallsChunk) -> set[tuple[int, int]]:
    found = set()
    for column in chunk.columns:
        for slot, (raw, begins) in column.payloads.items() if column else ():
            for i in np.flatnonzero((column.w8[slot] & np.uint64(7)) == BLOB_KIND) if column else ():
                found.add(struct.unpack_from("<QQ", raw, int(begins[i])))
    return found


def check_chunk(chunk: CallsChunk, i: U64, blobs: int, names: list[tuple[int, int]]) -> None:
    m = mix(np.uint64(chunk.meta["thread"]) << np.uint64(40) ^ i)
    long = np.where(m % np.uint64(1000) == 0, np.uint64(1 << 33) * (i % np.uint64(3)), np.uint64(0))
    entry = np.uint64(1000000) + i * np.uint64(100) + m % np.uint64(90) + long
    none = m % np.uint64(501) == 0
    ticks = np.where(none, 0, (m >> np.uint64(32)) % np.uint64(50000)).astype(np.uint64)
    np.testing.assert_array_equal(chunk.entry, entry)
    np.testing.assert_array_equal(chunk.duration, np.where(none, 0xFFFFFFFD, ticks).astype(np.uint32))
    kind = (i % np.uint64(16)).astype(np.int64)
    blob = i % np.uint64(blobs) == 5 if blobs else np.zeros(len(i), bool)
    key = np.select([blob, kind < 6, kind < 9, kind == 9, kind < 12, kind < 14], [3, 2, 1, 1 | TAP, 3, 0], 4)
    keys = np.array([f["function"] for f in chunk.functions])
    assert len(set(keys)) == len(keys)
    np.testing.assert_array_equal(keys[chunk.order], key)
    meta = chunk.meta
    assert meta["calls"] == np.count_nonzero(key < TAP)
    assert meta["t_first"] == entry[0]
    assert meta["t_last"] == entry[-1]
    assert meta["t_end"] == (entry + ticks).max()
    assert meta["max_duration"] == ticks.max()
    for function, column in zip(chunk.functions, chunk.columns, strict=True):
        of = key == function["function"]
        assert function["duration_sum"] == ticks[of].sum()
        assert function["duration_max"] == ticks[of].max()
        if column:
            _check_column(column, Expected(i[of], m[of], kind[of], blob[of]), names)


@dataclass
class Expected:
    """Numbers of the records of one function, and what follows from them."""

    i: U64
    m: U64
    kind: npt.NDArray[np.int64]
    blob: npt.NDArray[np.bool_]


def _check_column(column: Column, expect: Expected, names: list[tuple[int, int]]) -> None:
    i, m, kind, blob = expect.i, expect.m, expect.kind, expect.blob
    low = np.uint64(0xFFFFFFFF)
    id_ = column.key & 0x3FFF

    def same4(slot: int, expected: U64 | int) -> None:
        np.testing.assert_array_equal(column.w4[slot], np.broadcast_to(np.asarray(expected, np.uint64) & low, i.shape))

    def same8(slot: int, expected: U64) -> None:
        np.testing.assert_array_equal(column.w8[slot], expected)

    if id_ == 1:
        same4(0, m % np.uint64(5))
    elif id_ == 2:
        for slot, value in enumerate([i % np.uint64(7), m, m >> np.uint64(8), 0x3F800000, i]):
            same4(slot, value)
    elif id_ == 3:
        which = ((m >> np.uint64(8)) % np.uint64(BLOB_KINDS)).astype(np.int64)
        blob_size = np.where(which == 0, 700001, 1500 + 977 * which).astype(np.uint64)
        size = np.where(blob, blob_size, m % np.uint64(100))
        same8(0, m)
        same8(1, size)
        same8(2, np.where(blob, np.uint64(BLOB_KIND), np.uint64(INLINE)) | size << np.uint64(16))
        same4(0, i)
        raw, begins = column.payloads[2]
        content = np.frombuffer(raw, np.uint8)
        stored = np.where(blob, 16, size).astype(np.int64)
        offset = np.arange(len(content)) - np.repeat(begins[:-1], stored)
        expected = (np.repeat(m, stored) + offset.astype(np.uint64)) & np.uint64(255)
        inline = np.repeat(~blob, stored)
        np.testing.assert_array_equal(content[inline], expected[inline].astype(np.uint8))
        for place in np.flatnonzero(blob):
            assert struct.unpack_from("<QQ", raw, int(begins[place])) == names[which[place]]
    elif id_ == 4:
        pending = kind == 14
        same8(0, np.full(i.shape, INLINE | 8 << 16, np.uint64))
        same8(1, i)
        same8(2, np.where(pending, np.uint64(4), np.uint64(INLINE | 11 << 16)))
        np.testing.assert_array_equal(np.frombuffer(column.payloads[0][0], np.uint64), m)
        filled = np.repeat((i[~pending] & np.uint64(255)).astype(np.uint8), 11)
        np.testing.assert_array_equal(np.frombuffer(column.payloads[2][0], np.uint8), filled)
        same4(0, 0)
    else:
        raise AssertionError(f"function {id_}")
