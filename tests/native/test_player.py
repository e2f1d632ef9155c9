"""The player and traces that nobody's program made: what they ask for must be there before a driver sees it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import writer
from drawtap.errors import InputError
from drawtap.replay import player
from shared import SOFTWARE
from writer import MANY, Data, Writer, f32, i32

pytestmark = pytest.mark.gl


@pytest.fixture(autouse=True)
def _player() -> None:
    player.program()


def _begin() -> tuple[Writer, writer.Thread]:
    made = Writer(MANY)
    thread = made.thread()
    attributes = i32(0x3098, 2, 0x3038)
    thread.call("eglCreateContext", result=0x1000, dpy=1, config=0, share_context=0, attrib_list=attributes, start=1)
    thread.call("eglMakeCurrent", result=1, dpy=1, draw=0, read=0, ctx=0x1000, start=2)
    return made, thread


def _play(made: Writer, path: Path, *arguments: str) -> player.Replay:
    made.write(path)
    return player.play(path, arguments, environment=SOFTWARE)


def test_what_fits_is_played(tmp_path: Path) -> None:
    made, thread = _begin()
    thread.call("glGenTextures", n=2, textures=i32(7, 9))
    thread.call("glTexImage2D", target=0x0DE1, level=0, internalformat=0x1908, width=2, height=2, border=0,
                format=0x1908, type=0x1401, pixels=Data(bytes(16)))  # fmt: skip
    thread.call("glBufferData", target=0x8892, size=64, data=writer.NULL, usage=0x88E4)
    thread.call("glDeleteTextures", n=2, textures=i32(7, 9))
    played = _play(made, tmp_path / "t.dtap")
    assert played.calls == 6
    assert played.skipped == 0


CASES = {
    "count larger than the array": (
        "glUniform4fv",
        {"location": 0, "count": 1000, "value": f32(1, 2, 3, 4)},
        "4 are|16000 are",
    ),
    "array that is not there": ("glUniform4fv", {"location": 0, "count": 1, "value": writer.NULL}, "NULL"),
    "content never written": ("glUniform4fv", {"location": 0, "count": 1, "value": Data(kind=4)}, "not filled"),
    "unreadable content": ("glUniform4fv", {"location": 0, "count": 1, "value": Data(kind=6)}, "not in the recording"),
    "unknown content": ("glUniform4fv", {"location": 0, "count": 1, "value": Data(kind=5)}, "not recorded"),
    "an address for an offset": (
        "glDrawElements",
        {"mode": 4, "count": 3, "type": 0x1403, "indices": Data(kind=3, pointer=0xDEAD0000)},
        "no buffer is bound",
    ),
    "too few indices": (
        "glDrawElements",
        {"mode": 4, "count": 300, "type": 0x1403, "indices": Data(bytes(6))},
        "6 bytes, 600",
    ),
    "too few pixels": (
        "glTexImage2D",
        {"target": 0x0DE1, "level": 0, "internalformat": 0x1908, "width": 4096, "height": 4096, "border": 0}
        | {"format": 0x1908, "type": 0x1401, "pixels": Data(bytes(16))},
        "16 bytes, 67108864",
    ),
    "names beyond measure": ("glGenTextures", {"n": 0x7FFFFFFF, "textures": i32(1)}, "2147483647 names.* 1 are in"),
    "more names than made": ("glGenTextures", {"n": 1 << 28, "textures": i32(1, 2)}, "268435456 names.* 2 are in"),
    "names that nobody saw": ("glGenTextures", {"n": 1 << 28, "textures": Data(kind=4)}, "none is in the recording"),
    "more names than given": ("glDeleteTextures", {"n": 1 << 20, "textures": i32(1)}, "4 bytes, 4194304"),
    "strings that are not there": (
        "glShaderSource",
        {"shader": 1, "count": 5, "string": writer.strings("a", "b"), "length": writer.NULL},
        "2 strings, 5",
    ),
    "strings that lie about their length": (
        "glShaderSource",
        {"shader": 1, "count": 1, "string": Data(b"\xff\xff\xff\x7fvoid"), "length": writer.NULL},
        "0 strings, 1",
    ),
    "a picture as large as memory": (
        "glReadPixels",
        {"x": 0, "y": 0, "width": 60000, "height": 60000, "format": 0x1908, "type": 0x1401, "pixels": Data(kind=4)},
        "would take",
    ),
    "a buffer shorter than it says": (
        "glBufferData",
        {"target": 0x8892, "size": 1 << 30, "data": Data(bytes(8)), "usage": 0x88E4},
        "8 bytes, 1073741824",
    ),
    "a function of another time": ("glNobodyKnowsThis", {"x": 1}, "not played"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_is_left_out_and_said(case: str, tmp_path: Path) -> None:
    function, values, said = CASES[case]
    made, thread = _begin()
    thread.call(function, **values)
    thread.call("glClear", mask=0x4000)
    played = _play(made, tmp_path / "t.dtap")
    assert played.calls == 4
    assert played.skipped == 1
    (finding,) = [f for f in played.findings if f.what in ("argument", "skipped")]
    assert finding.function == function
    assert re.search(said, finding.text), finding.text
    if finding.what == "argument":
        assert finding.call == 2


def test_vertices_that_were_not_recorded_are_not_looked_for(tmp_path: Path) -> None:
    made, thread = _begin()
    thread.call("glVertexAttribPointer", index=0, size=4, type=0x1406, normalized=0, stride=0, pointer=0x7FFF12345000)
    thread.call("glEnableVertexAttribArray", index=0)
    thread.call("glDrawArrays", mode=4, first=0, count=300)
    played = _play(made, tmp_path / "t.dtap")
    assert played.calls == 5  # without a program nothing is read; what matters is that nothing is read outside


def test_a_name_that_the_program_chose_does_not_meet_another_here(tmp_path: Path) -> None:
    made = Writer(MANY)
    thread = made.thread()
    thread.call("eglBindAPI", result=1, api=0x30A2)
    thread.call("eglCreateContext", result=0x1000, dpy=1, config=0, share_context=0, attrib_list=writer.NULL)
    thread.call("eglMakeCurrent", result=1, dpy=1, draw=0, read=0, ctx=0x1000)
    first, second = bytes(range(16)), bytes(range(100, 116))
    thread.call("glGenTextures", n=1, textures=i32(7))  # 1 here
    for name, content in ((7, first), (1, second)):
        thread.call("glBindTexture", target=0x0DE1, texture=name)
        thread.call("glTexImage2D", target=0x0DE1, level=0, internalformat=0x8058, width=2, height=2, border=0,
                    format=0x1908, type=0x1401, pixels=Data(content))  # fmt: skip
    for name, content in ((7, first), (1, second), (7, first)):
        thread.call("glBindTexture", target=0x0DE1, texture=name)
        thread.call("glGetTexImage", target=0x0DE1, level=0, format=0x1908, type=0x1401, pixels=Data(content))
    played = _play(made, tmp_path / "t.dtap", "--verify")
    assert (played.compared, played.different) == (3, 0)
    assert played.findings == ()


def test_calls_without_a_context_are_counted(tmp_path: Path) -> None:
    made = Writer(MANY)
    made.thread().call("glClear", mask=0x4000).call("glClear", mask=0x4000)
    played = _play(made, tmp_path / "t.dtap")
    assert played.skipped == 2
    (finding,) = played.findings
    assert (finding.function, finding.count) == ("calls without a context", 2)


def test_a_trace_of_another_version_lays_its_records_out_otherwise(tmp_path: Path) -> None:
    # Other numbers, other slots, a parameter more: the player goes by names.
    changed = MANY.replace("F\t3\tgl\tglUniform4fv\t2\t2", "F\t300\tgl\tglUniform4fv\t4\t3")
    head, uniform = changed.split("glUniform4fv")
    uniform = uniform.replace("4:0", "4:2", 1).replace("8:0", "8:2", 1).replace("8:1", "8:3", 1)
    changed = f"{head}glUniform4fv{uniform}"
    assert changed != MANY
    made = Writer(changed)
    thread = made.thread()
    attributes = i32(0x3098, 2, 0x3038)
    thread.call("eglCreateContext", result=0x1000, dpy=1, config=0, share_context=0, attrib_list=attributes, start=1)
    thread.call("eglMakeCurrent", result=1, dpy=1, draw=0, read=0, ctx=0x1000, start=2)
    thread.call("glUniform4fv", location=-1, count=2, value=f32(*range(8)))
    thread.call("glUniform4fv", location=-1, count=3, value=f32(*range(8)))
    played = _play(made, tmp_path / "t.dtap")
    assert played.skipped == 1
    assert [f.text for f in played.findings if f.what == "argument"] == ["value has 32 bytes, 48 are needed; left out"]


def test_no_trace_at_all(tmp_path: Path) -> None:
    (tmp_path / "t.dtap").write_bytes(b"not a trace")
    with pytest.raises(InputError):
        player.play(tmp_path / "t.dtap", environment=SOFTWARE)


@pytest.mark.parametrize("seed", range(12))
def test_random_arguments_do_not_crash_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    made, thread = _begin()
    numbers = [
        0,
        1,
        2,
        3,
        4,
        -1,
        255,
        4096,
        0x7FFFFFFF,
        -0x80000000,
        0x0DE1,
        0x1401,
        0x1403,
        0x1406,
        0x1908,
        0x8892,
        0x8893,
    ]
    for _ in range(400):
        function = made.functions[rng.choice([n for n in made.functions if n.startswith("gl")])]
        values: dict[str, object] = {}
        for field in function.fields:
            if field.data >= 0:
                content = rng.randbytes(rng.choice([0, 1, 4, 16, 64, 1000]))
                values[field.name] = Data(
                    content, kind=rng.choice([0, 1, 1, 1, 2, 3, 4, 5, 6]), pointer=rng.getrandbits(47)
                )
            elif field.name != "result":
                values[field.name] = rng.choice(numbers)
        # A real driver is behind it: what it takes long for, or gives up at, is not asked of it.
        if function.name in ("glDrawArrays", "glVertexAttribPointer", "glBufferData"):
            values |= {"count": rng.choice([0, 3, 60])} if function.name == "glDrawArrays" else {}
            values |= {"size": rng.choice([0, 8, 64])} if function.name == "glBufferData" else {}
        thread.call(function.name, **values)
    made.add_blobs([bytes(16)])
    played = _play(made, tmp_path / "t.dtap", "--verify")
    assert played.calls == 402
