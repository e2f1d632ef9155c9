"""A redacted recording tells nobody who made it, where and when; its calls and contents are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import Answer
from drawtap.corpus.names import Names
from drawtap.corpus.redaction import redact
from drawtap.corpus.renaming import left
from drawtap.corpus.texels import Mixer
from drawtap.errors import InputError
from drawtap.trace.edit import edit
from drawtap.trace.trace import open_trace
from writer import NULL, SIGNATURES, Data, Writer, blob, strings, text

LIBRARY = """\
F	16376	drawtap	dtapLibrary	2	0	tap	-
P	path	char*	ptr	8:0	-	-
D	8:0	char	in	-	-
P	base	uint64_t	u64	8:1	-	-
"""
SECRET = "/home/ada/projects/moonbase/libengine.so"
NOTES = (
    {"kind": "recording", "program": "/home/ada/moonbase", "command_line": ["moonbase", "--key=hunter2"], "pid": 4000,
     "machine": {"hostname": "ada-laptop", "cpu": "Ryzen"}, "start_clock": 4_000_000, "start_ns": 4_000_000,
     "timing": "both", "time_realtime_ns": 1_700_000_000_000_000_000, "version": "0.1.0", "from_the_future": "ada"},
    {"kind": "process", "pid": 4000, "program": "/home/ada/moonbase", "signatures": "/home/ada/tap.sig"},
    {"kind": "command", "arguments": ["moonbase"], "directory": "/home/ada", "environment": {"DISPLAY": "ada:0"}},
    {"kind": "flight_recorder", "reason": "mark", "detail": "ada says so", "assumed": True,
     "assumed_because": ["texture 3"], "whole_because": "vkCmdX is not followed yet"},
    {"kind": "remark", "text": "for ada"},
    {"kind": "end", "reason": "process gone", "exit_code": 0, "calls": 40, "write_error": "ada's disk"},
)  # fmt: skip


def _recording(path: Path, *, library: str = SECRET) -> Path:
    w = Writer(SIGNATURES + LIBRARY)
    for note in NOTES:
        w.annotate(json.dumps(note))
    a, b = w.thread(), w.thread(context=7)
    a.clock = b.clock = 4_500_000
    a.tap("dtapLibrary", path=text(library), base=0x7000)
    a.tap("dtapLibrary", path=text("/usr/lib/libEGL.so.1"), base=0x9000)
    for number in range(20):
        start = 5_000_000 + 1000 * number
        a.call("glUniform4fv", location=number, count=32, value=blob(bytes([number]) * 2048), start=start, duration=50)
        b.call("glClear", mask=16384, start=start + 500, duration=10 + number)
    return w.write(path)


def _said(path: Path) -> tuple[object, ...]:
    with open_trace(path) as trace:
        calls = trace.sql("SELECT seq, thread, name, duration, t_start - min(t_start) OVER () FROM calls ORDER BY seq")
        rows = calls.fetchall()
        uniforms = trace.sql('SELECT seq, location, count, value_blob FROM "glUniform4fv" ORDER BY seq').fetchall()
        blobs = {str(row["hash"]): trace.core.blob(str(row["hash"])) for row in trace.table("blobs")}
    return rows, uniforms, blobs


def test_calls_stay_and_nobody_is_named(tmp_path: Path) -> None:
    recording = _recording(tmp_path / "a.dtap")
    made = redact(open_trace(recording), tmp_path / "b.dtap", salt=b"1")
    assert _said(tmp_path / "b.dtap") == _said(recording)
    assert made.dropped == ("remark",)
    with open_trace(recording) as old, open_trace(tmp_path / "b.dtap") as new:
        told = " ".join(map(str, new.info["annotations"]))  # type: ignore[call-overload]
        assert new.info["uuid"] != old.info["uuid"]
        assert not new.info["problems"]
        threads = [(row["pid"], row["tid"], row["name"]) for row in new.table("threads")]
        assert threads == [(1, 1000, "thread 0"), (1, 1001, "thread 1")]
        assert [row["path"] for row in new.table("libraries")] == ["x" * len(SECRET), "/usr/lib/libEGL.so.1"]
        first = new.sql("SELECT min(t_start) FROM calls").fetchall()[0][0]
        assert 0 < first < old.sql("SELECT min(t_start) FROM calls").fetchall()[0][0]
    assert not re.search("ada|hunter2|moonbase|Ryzen|1700000000|4000000|disk", told)
    assert '"exit_code": 0' in told
    assert '"reason": "process gone"' in told
    assert '"whole_because": "vkCmdX is not followed yet"' in told
    assert '"assumed_because": ["texture 3"]' in told
    assert "x" * len(SECRET) in made.left


def test_pseudonyms_have_a_salt(tmp_path: Path) -> None:
    recording = _recording(tmp_path / "a.dtap")

    def named(path: str, salt: bytes | None) -> set[str]:
        redact(open_trace(recording), tmp_path / path, salt=salt)
        with open_trace(tmp_path / path) as trace:
            return set(re.findall("program-[0-9a-f]{8}", str(trace.info["annotations"])))

    assert named("b.dtap", b"1") == named("c.dtap", b"1")
    assert len(named("d.dtap", None) | named("e.dtap", None) | named("f.dtap", b"1")) == 3


def test_what_cannot_be_redacted_is_refused(tmp_path: Path) -> None:
    w = Writer(SIGNATURES + LIBRARY)
    w.thread().tap("dtapLibrary", path=blob(b"/home/ada/" + b"x" * 2000), base=1).call("glClear", mask=1)
    w.write(tmp_path / "long.dtap")
    with pytest.raises(InputError, match="not where it belongs"):
        redact(open_trace(tmp_path / "long.dtap"), tmp_path / "b.dtap")
    assert not (tmp_path / "b.dtap").exists()


def test_the_command(drawtap: Callable[..., Answer], tmp_path: Path) -> None:
    recording = _recording(tmp_path / "a.dtap")
    answer = drawtap("redact", recording, "-o", tmp_path / "b.dtap", "--unproven", "--json")
    assert answer.code == 0, answer.err
    said = json.loads(answer.out)
    assert (said["level"], said["frames"], said["dropped"]) == ("identity", None, ["remark"])
    for words in ((recording, "-o", recording, "--force"), (recording, "-o", tmp_path / "b.dtap")):
        assert drawtap("redact", *words, "--unproven").code == 2


# ---- names ---------------------------------------------------------------------------------------------------------

SHADER = """#version 100
// by Ada, for the moonbase
#ifdef GL_ES
precision mediump float;
#endif
#define LIGHTS 2 /* lamps of
 the moonbase */
#define SHINE(lamp) (lamp.colour.rgb * float(LIGHTS))
#pragma moonbase
#pragma optimize(on)
struct Lamp { vec4 colour; };
uniform Lamp moonLamps[LIGHTS];
varying vec2 uv;
vec3 shineOn(Lamp lamp) { return SHINE(lamp) * uv.x + 1.0e2; }
void main() { gl_FragColor = vec4(shineOn(moonLamps[0]), 1.0); }
"""


def test_identifiers_are_renamed_alike_everywhere() -> None:
    names = Names()
    renamed = names.source(SHADER)
    assert not re.search("ada|moon|lamp|colour|shine|lights|by|base", renamed, re.IGNORECASE)
    assert renamed.count("\n") == SHADER.count("\n")
    for kept in (
        "#version 100",
        "precision mediump float;",
        "#pragma optimize(on)",
        "gl_FragColor",
        ".rgb",
        ".x +",
        "1.0e2",
    ):
        assert kept in renamed
    of = names.identifiers
    assert f"uniform {of['Lamp']} {of['moonLamps']}[{of['LIGHTS']}];" in renamed
    assert names.name("moonLamps[1].colour") == f"{of['moonLamps']}[1].{of['colour']}"
    assert names.name("gl_FragColor") == "gl_FragColor"
    assert len(set(of.values())) == len(of)
    with pytest.raises(InputError, match="from pieces"):
        names.source("#define JOIN(a, b) a##b\n")
    assert "##" not in names.source("// ## is only said\n")


def test_denied_words_are_looked_for_everywhere(tmp_path: Path) -> None:
    recording = _recording(tmp_path / "a.dtap")
    with open_trace(recording) as trace:
        for word in ("LIBEGL", "thread 0", "\7\7\7"):
            with pytest.raises(InputError, match="would be left"):
                redact(trace, tmp_path / "b.dtap", deny=[word])
            assert not (tmp_path / "b.dtap").exists()
        assert redact(trace, tmp_path / "b.dtap", deny=["moonbase", "ada"]).left


def test_denied_words_are_found_in_small_arrays(tmp_path: Path) -> None:
    w = Writer(SIGNATURES)
    w.thread().call("glUniform4fv", location=0, count=2, value=Data(b"0123456moonbase" * 2 + b".."))
    with open_trace(w.write(tmp_path / "a.dtap")) as trace:
        assert not trace.table("blobs")
        with pytest.raises(InputError, match="glUniform4fv"):
            redact(trace, tmp_path / "b.dtap", deny=["MoonBase"])
        redact(trace, tmp_path / "b.dtap", deny=["moonbases"])


def test_what_was_replaced_is_not_in_the_file(tmp_path: Path) -> None:
    w = Writer(SIGNATURES)
    w.thread().call("glUniform4fv", location=0, count=128, value=blob(b"moonbase" * 256))
    w.add_blobs([b"moonbase" * 256])
    w.write(tmp_path / "a.dtap")
    with edit(tmp_path / "a.dtap") as editor:
        editor.set(0, value=bytes(2048))
        editor.save(tmp_path / "b.dtap")
    with open_trace(tmp_path / "b.dtap") as trace:
        assert [trace.core.blob(str(row["hash"])) for row in trace.table("blobs")] == [bytes(2048)]


# ---- content -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format_", "type_", "bytes_", "alpha"),
    [("RGBA", "UNSIGNED_BYTE", 4, 3), ("RGB", "UNSIGNED_BYTE", 3, None), ("BGRA_EXT", "UNSIGNED_BYTE", 4, 3),
     ("LUMINANCE_ALPHA", "UNSIGNED_BYTE", 2, 1)],
)  # fmt: skip
@pytest.mark.parametrize("padding", [0, 4])
def test_colours_change_places_and_alpha_stays(
    format_: str, type_: str, bytes_: int, alpha: int | None, padding: int
) -> None:
    width, height = 21, 13
    stride = -(-width * bytes_ // 4) * 4 if padding else width * bytes_
    content = np.random.default_rng(1).integers(0, 256, (height, stride), np.uint8)
    words = (width, height, 1), f"GL_{format_}", f"GL_{type_}"
    made = Mixer(b"1").mixed(content.tobytes(), *words)
    assert made == Mixer(b"1").mixed(content.tobytes(), *words)
    assert made != Mixer(b"2").mixed(content.tobytes(), *words)
    assert made is not None
    before, after = (
        np.frombuffer(one, np.uint8).reshape(height, stride)[:, : width * bytes_].reshape(height, width, bytes_)
        for one in (content.tobytes(), made)
    )
    assert (before != after).any(axis=2).mean() > 0.9
    if alpha is not None:
        assert (before[..., alpha] == after[..., alpha]).all()
    for y in range(0, height, 8):
        for x in range(0, width, 8):
            tile = np.s_[y : y + 8, x : x + 8]
            assert (before[tile].sum(axis=(0, 1), dtype=int) == after[tile].sum(axis=(0, 1), dtype=int)).all()


@pytest.mark.parametrize(
    ("format_", "bytes_", "side", "kept"),
    [("RGB_S3TC_DXT1_EXT", 8, 4, 0), ("RGBA_S3TC_DXT5_EXT", 16, 4, 8), ("RGBA8_ETC2_EAC", 16, 4, 8),
     ("RGBA_ASTC_6x6_KHR", 16, 6, 0), ("RED_RGTC1", 8, 4, 0), ("RGBA_BPTC_UNORM", 16, 4, 0)],
)  # fmt: skip
def test_blocks_keep_their_alpha_and_their_kind(format_: str, bytes_: int, side: int, kept: int) -> None:
    content = np.random.default_rng(1).integers(0, 256, (16, bytes_), np.uint8)
    if format_.startswith("RGB_"):
        content[:, :4] = np.array([[9, 200, 9, 100]])  # no holes
    made = Mixer(b"1").mixed(content.tobytes(), (4 * side, 4 * side, 1), f"GL_COMPRESSED_{format_}", None)
    assert made is not None
    after = np.frombuffer(made, np.uint8).reshape(16, bytes_)
    assert (after[:, :kept] == content[:, :kept]).all()
    assert (after != content).any(axis=1).sum() > 8
    if format_.startswith("RGBA_S3TC"):
        assert sorted(map(bytes, after[:, 8:12])) == sorted(map(bytes, content[:, 8:12]))


def test_holes_stay_where_they_are() -> None:
    content = bytes([0, 0, 255, 255, 0b11_00_01_10, 0b01_11_00_10, 0b10_10_01_11, 0b00_01_10_11])
    made = Mixer(b"1").mixed(content, (4, 4, 1), "GL_COMPRESSED_RGBA_S3TC_DXT1_EXT", None)
    assert made is not None
    words = [int.from_bytes(one[4:], "little") for one in (content, made)]
    holes = [[word >> 2 * i & 3 == 3 for i in range(16)] for word in words]
    assert holes[0] == holes[1]
    assert words[0] != words[1]


@pytest.mark.parametrize(
    ("format_", "type_"),
    [("GL_RGBA_INTEGER", "GL_INT"), ("GL_DEPTH_COMPONENT", "GL_FLOAT"), ("GL_ALPHA", "GL_UNSIGNED_BYTE"),
     ("GL_COMPRESSED_OF_TOMORROW", None)],
)  # fmt: skip
def test_what_steers_stays(format_: str, type_: str | None) -> None:
    assert Mixer(b"1").mixed(bytes(range(256)), (8, 8, 1), format_, type_) is None


def test_a_file_without_words_denies_nothing(drawtap: Callable[..., Answer], tmp_path: Path) -> None:
    recording = _recording(tmp_path / "a.dtap")
    (tmp_path / "words").write_text("\n\n")
    for words in (tmp_path / "words", tmp_path / "none"):
        answer = drawtap("redact", recording, "-o", tmp_path / "b.dtap", "--unproven", "--deny", words)
        assert answer.code == 4, answer.err


def test_the_text_that_is_left_is_found_without_each_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Writer(SIGNATURES)
    a = w.thread(context=7)
    for number in range(20):
        source = strings("void main() {}", f"// {number % 2}")
        a.call("glShaderSource", shader=5, count=2, string=source, length=NULL, start=1000 + number, duration=1)
    with open_trace(w.write(tmp_path / "x.dtap")) as trace:
        monkeypatch.setattr(type(trace.core), "call", lambda *_: pytest.fail("a call was read by itself"))
        assert left(trace) == {"glShaderSource.string": ("// 0", "// 1", "void main() {}")}
