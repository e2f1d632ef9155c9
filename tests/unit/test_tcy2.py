"""TCY2 traces become recordings."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from tcy2 import INTEGER, Array, Tcy2, triangle


def test_a_trace(drawtap, tmp_path: Path) -> None:
    old, new = tmp_path / "old.bin", tmp_path / "new.dtap"
    old.write_bytes(triangle().data)
    answer = drawtap("import", old, "-o", new)
    assert answer.code == 0, answer.err
    trace = open_trace(new)
    assert trace.info["problems"] == []
    lines = list(trace.text(flags=1 | 16))
    assert lines[6:12] == [
        "glClearColor(red = 0, green = 0, blue = 1, alpha = 1)",
        "glClear(mask = GL_COLOR_BUFFER_BIT)",
        "glColor4f(red = 1, green = 0, blue = 0, alpha = 1)",
        "glEnableClientState(array = GL_VERTEX_ARRAY)",
        "glVertexPointer(size = 2, type = GL_FLOAT, stride = 0, pointer = 0x140000000)",
        "glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)",
    ]
    assert "attrib_list = {EGL_WIDTH = 32, EGL_HEIGHT = 32}" in lines[3]
    assert lines[12].endswith("= EGL_TRUE")
    [memory] = trace.table("memory")
    assert (memory["seq"], memory["address"], memory["address_bytes"]) == (11, 0x140000000, 32)
    times = trace.sql("SELECT t_start, duration FROM calls WHERE seq IN (0, 11) ORDER BY seq").fetchall()
    assert times == [(100_001, 0), (1_200_001, 44_000)]
    # The same object has the same number wherever it stands.
    assert lines[3].split(" = ")[-1] in lines[5]


def test_what_is_damaged_or_unknown(drawtap, tmp_path: Path) -> None:
    old, new = tmp_path / "old.bin", tmp_path / "new.dtap"
    whole = triangle().data
    for end in range(4, len(whole), 97):
        old.write_bytes(whole[:end])
        answer = drawtap("import", old, "-o", new, "--force")
        assert answer.code == 0, answer.err
    t = Tcy2()
    t.call("tracyOnly", value=3)
    t.call("glUniform1i", location=1, v0=-2)
    old.write_bytes(t.data + b"\x99\0\0\0\0" + struct.pack("<BI", 1, 2) + b"xx")
    answer = drawtap("import", old, "-o", new, "--force")
    assert "tracyOnly" in answer.out
    assert "a definition is cut off" in answer.out
    assert list(open_trace(new).text(flags=1)) == ["0 glUniform1i(location = 1, v0 = -2)"]
    for bad in (
        b"TCY2" + struct.pack("<BI", 1, 0xFFFFFFFF),
        b"TCY2" + struct.pack("<BI", 1, 9) + struct.pack("<IIB", 1, 2**31, 1),
    ):
        old.write_bytes(bad)
        assert "damaged" in drawtap("import", old, "-o", new, "--force").out


@pytest.mark.parametrize("time", [[0xFFFFFFF0, 5]])
def test_the_clock_goes_round(drawtap, tmp_path: Path, time: list[int]) -> None:
    t = Tcy2()
    for when in time:
        t.call("glGenTextures", n=1, textures=Array(0x10, INTEGER, (4,)), time=when)
    (tmp_path / "old.bin").write_bytes(t.data)
    assert drawtap("import", tmp_path / "old.bin", "-o", tmp_path / "new.dtap").code == 0
    first, second = open_trace(tmp_path / "new.dtap").sql("SELECT t_start FROM calls ORDER BY seq").fetchall()
    assert second[0] - first[0] == 21_000
