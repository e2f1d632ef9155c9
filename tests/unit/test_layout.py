"""Formats of buffers: what a text and what a program's declaration say of bytes."""

from __future__ import annotations

import numpy as np
import pytest

from drawtap.analysis.layout import declared, parse
from drawtap.errors import UsageError


def values(text, content, row=0):
    layout = parse(text).cut(len(content))
    array = np.frombuffer(content, np.uint8)
    return [layout.values(array, field, row, 1)[0].tolist() for field in layout.fields]


def test_rows_of_fields_lie_where_the_format_says():
    row = np.array([1.5, -2, 3], "<f4").tobytes() + bytes([255, 0, 51, 102]) + np.array([0.5, 2], "<f2").tobytes()
    content = b"....." + row + b"!!" + row
    text = "at 5 every 22\nfloat3 place; ubyte4n color  # eight bits\nhalf2 uv"
    assert parse(text).rows(len(content)) == 2
    for i in (0, 1):
        assert values(text, content, i) == [[[1.5, -2, 3]], [[1, 0, 0.2, 0.4]], [[0.5, 2]]]
    assert parse("float3 a; ubyte b").every == 13


def test_matrices_arrays_and_rows():
    numbers = np.arange(12, dtype="<f4")
    content = numbers.tobytes()
    assert values("once; mat2x3 m matrix 16", content) == [[[0, 1, 2, 4, 5, 6]]]
    assert values("mat3 m rows matrix 16", content) == [[[0, 4, 8, 1, 5, 9, 2, 6, 10]]]
    assert values("float odd[] @4 stride 8", content) == [[[1], [3], [5], [7], [9], [11]]]
    assert values("vec2 pairs[2] stride 16", content) == [[[0, 1], [4, 5]]]
    assert parse("float x; float rest[]").every == 0


@pytest.mark.parametrize(
    ("kind", "word", "expected"),
    [
        ("u2_10_10_10n", 1023 | 512 << 20 | 1 << 30, [1, 0, 512 / 1023, 1 / 3]),
        ("i2_10_10_10", 1 | 1023 << 10 | 512 << 20 | 3 << 30, [1, -1, -512, -1]),
        ("u10_11_11f", 15 << 6 | (16 << 6 | 32) << 11 | 14 << 27, [1, 3, 0.5]),
        ("fixed", 98304, [1.5]),
        ("hex32", 0xFF, [255]),
        ("bool", 7, [True]),
    ],
)
def test_packed_words(kind, word, expected):
    assert values(f"{kind} v", np.array([word], "<u4").tobytes()) == [[expected]]


@pytest.mark.parametrize(
    "text", ["", "flot x", "float5 x", "float", "vec3n x", "float x[0]", "mat5 m", "float x @999999999999999", "once"]
)
def test_what_is_no_format_is_an_error_with_a_hint(text):
    with pytest.raises(UsageError):
        parse(text)


def test_arrays_in_one_buffer_become_rows():
    def use(name, size, kind, stride, offset, **more):
        return {"use": "vertex", "name": name, "size": size, "type": kind, "stride": stride, "offset": offset,
                "normalized": False, "divisor": 0, **more}  # fmt: skip

    uses = [
        use("uv", 2, 0x140B, 20, 16),
        use("place", 3, 0x1406, 20, 0),
        use("color", 4, 0x1401, 20, 12, normalized=True),
        use("apart", 2, 0x1406, 0, 4000),
        use("mine", 4, 0x8D9F, 4, 100, divisor=1, normalized=True),
    ]
    assert list(declared(uses)) == [
        ("vertices: place, color, uv", "at 0 every 20\nfloat3 place @0\nubyte4n color @12\nhalf2 uv @16"),
        ("vertices: apart", "at 4000 every 8\nfloat2 apart @0"),
        ("instances: mine", "at 100 every 4\ni2_10_10_10n mine @0"),
    ]
    indices = dict(declared([{"use": "index", "name": "indices"}], "GL_UNSIGNED_INT"))
    assert indices == {"indices (uint)": "every 4\nuint index"}


def test_blocks_of_programs_become_fields_and_rows():
    def member(name, kind, offset, count=1, stride=0, **more):
        return {"name": name, "type": kind, "count": count, "offset": offset, "stride": stride, "matrix_stride": 0,
                "rows": False, **more}  # fmt: skip

    members = [
        member("lights[0].at", 0x8B51, 32, outer_count=0, outer_stride=48),
        member("lights[0].turn", 0x8B5A, 48, outer_count=0, outer_stride=48, matrix_stride=16, rows=True),
        member("count", 0x1405, 0, outer_count=1, outer_stride=0),
        member("weights[0]", 0x1406, 16, 4, 4, outer_count=1, outer_stride=0),
    ]
    block = {"use": "storage", "name": "Lights", "binding": 2, "offset": 256, "bytes": 80, "members": members}
    formats = dict(declared([block]))
    assert formats == {
        "storage 2: Lights": "at 256 once\nuint count @0\nfloat weights[4] @16 stride 4",
        "storage 2: Lights, rows": "at 288 every 48\nvec3 lights[0].at @0\nmat2 lights[0].turn @16 matrix 16 rows",
    }
    for text in formats.values():
        assert parse(text).fields
