"""A redacted recording tells nobody who made it, where and when; its calls and contents are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Answer
from drawtap.corpus.redaction import redact
from drawtap.corpus.renaming import Names
from drawtap.errors import InputError
from drawtap.trace.trace import open_trace
from writer import SIGNATURES, Writer, blob, text

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


def test_a_file_without_words_denies_nothing(drawtap: Callable[..., Answer], tmp_path: Path) -> None:
    recording = _recording(tmp_path / "a.dtap")
    (tmp_path / "words").write_text("\n\n")
    for words in (tmp_path / "words", tmp_path / "none"):
        answer = drawtap("redact", recording, "-o", tmp_path / "b.dtap", "--unproven", "--deny", words)
        assert answer.code == 4, answer.err
