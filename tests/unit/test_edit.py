"""Editing from Python and from the command line, and text that is read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import drawtap
from drawtap.errors import InputError, QueryError, UsageError
from drawtap.formats.editable import parse, read_editable, value, write_editable
from drawtap.trace.edit import Blob, cut, join, merge, renumber
from drawtap.trace.trace import open_trace
from writer import hash_text, small_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "small.dtap")


def _lines(path: Path) -> list[str]:
    with open_trace(path) as trace:
        return list(trace.text(flags=1 | 16))


def test_values_of_every_kind(path: Path, tmp_path: Path) -> None:
    with drawtap.edit(path) as trace:
        trace.set(0, cap="GL_CULL_FACE")
        trace.set(1, value=[1, 2.5, -3, float("inf")], count=2)
        trace.set(2, mask="GL_COLOR_BUFFER_BIT | 0x1")
        trace.set(3, value=np.arange(3, dtype=np.float32))
        trace.set(4, data=[7, -1])
        trace.set(5, string=["a", 'b"\n'], length=(1, 2))
        trace.set(6, message="hällo")
        trace.set(7, indices=64)
        trace.set(9, result=False)
        trace.set(11, depth=1)
        assert trace[1].values["count"] == 2
        assert list(trace[0].values) == ["cap"]
        saved = trace.save(tmp_path / "new.dtap")
    assert saved.changed == 10
    assert saved.broken == ()
    assert _lines(tmp_path / "new.dtap")[:12] == [
        "glEnable(cap = GL_CULL_FACE)",
        "glUniform4fv(location = 2, count = 2, value = {1, 2.5, -3, inf})",
        "glClear(mask = GL_COLOR_BUFFER_BIT | 0x1)",
        "glUniform4fv(location = 3, count = 32, value = {0, 1, 2})",
        "glGetIntegerv(pname = GL_CULL_FACE, data = {7, -1})",
        'glShaderSource(shader = 5, count = 2, string = {"a", "b\\"\\n"}, length = {1, 2})',
        'glPushDebugGroup(source = 1, id = 1, length = 5, message = "hällo")',
        "glDrawElements(mode = GL_TRIANGLES, count = 36, type = GL_UNSIGNED_SHORT, indices = 0x40)",
        "glPopDebugGroup()",
        "eglSwapBuffers(dpy = 0x10, surface = 0x20) = EGL_FALSE",
        "glBindTexture(target = GL_CULL_FACE, texture = 9)",
        "glClearDepth(depth = 1)",
    ]


def test_events_are_as_in_the_thesis(path: Path, tmp_path: Path) -> None:
    with drawtap.edit(path) as trace:
        for event in trace.events:
            if event.name.endswith("4fv") and event.values["count"] == 1:
                event.values["value"] = event.values["value"] * 2  # type: ignore[operator]
        trace.save(tmp_path / "new.dtap")
    assert _lines(tmp_path / "new.dtap")[1] == "glUniform4fv(location = 2, count = 1, value = {2, 1, -6, 8})"


@pytest.mark.parametrize(
    ("seq", "values", "what"),
    [
        (0, {"cup": 1}, "glEnable has no parameter cup"),
        (0, {"cap": "GL_NOTHING"}, "no enumerant GL_NOTHING"),
        (0, {"cap": [1]}, "a whole number is wanted"),
        (0, {"cap": 1.5}, "no whole number"),
        (1, {"value": ["x"]}, "could not convert"),
        (1, {"value": "text"}, "no text"),
        (99, {"cap": 1}, "no call 99"),
    ],
)
def test_values_that_do_not_fit(path: Path, seq: int, values: dict[str, object], what: str) -> None:
    with drawtap.edit(path) as trace, pytest.raises(QueryError, match=what):
        trace.set(seq, **values)


def test_dropped_calls_are_not_changed(path: Path) -> None:
    with drawtap.edit(path) as trace:
        trace.drop(range(3))
        with pytest.raises(QueryError, match="call 1 was dropped"):
            trace.set(1, count=3)
        with pytest.raises(QueryError, match="no call 15"):
            trace.drop(15)


def test_what_a_dropped_call_made(path: Path, tmp_path: Path) -> None:
    with drawtap.edit(path) as trace:
        trace.insert(15, "glFinish")
        trace.keep([0, 14])
        saved = trace.save(tmp_path / "new.dtap")
    assert (saved.calls, saved.kept, saved.inserted) == (3, 2, 1)


def test_cut_join_merge_renumber(path: Path, tmp_path: Path) -> None:
    with open_trace(path) as trace:
        assert cut(trace, range(3, 6), tmp_path / "a.dtap").calls == 3
        assert cut(trace, [9, 14], tmp_path / "b.dtap").calls == 2
        assert cut(trace, range(0), tmp_path / "none.dtap").calls == 0
    assert _lines(tmp_path / "none.dtap") == []
    joined = join([tmp_path / "b.dtap", tmp_path / "a.dtap"], tmp_path / "joined.dtap")
    assert joined.calls == 5
    names = [line.split("(")[0] for line in _lines(tmp_path / "joined.dtap")]
    assert names == ["eglSwapBuffers", "glFinish", "glUniform4fv", "glGetIntegerv", "glShaderSource"]
    merge([tmp_path / "b.dtap", tmp_path / "a.dtap"], tmp_path / "merged.dtap")
    names = [line.split("(")[0] for line in _lines(tmp_path / "merged.dtap")]
    assert names == ["glUniform4fv", "glGetIntegerv", "glShaderSource", "eglSwapBuffers", "glFinish"]
    renumber(tmp_path / "merged.dtap", tmp_path / "fresh.dtap")
    with open_trace(tmp_path / "merged.dtap") as merged, open_trace(tmp_path / "fresh.dtap") as fresh:
        origins = "SELECT origin FROM calls ORDER BY seq"
        assert [r[0] for r in merged.sql(origins).fetchall()] == [3, 4, 5, 9, 14]
        assert [r[0] for r in fresh.sql(origins).fetchall()] == [None] * 5
    with pytest.raises(UsageError, match="two recordings or more"):
        join([path], tmp_path / "x.dtap")


def test_select_into(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_trace(path) as trace:
        query = "SELECT event.seq, event.name INTO slow FROM trace WHERE event.duration > 800"
        assert trace.sql(query).fetchall() == [("slow.dtap", 3)]
        assert trace.sql("COPY (SELECT seq FROM calls WHERE frame = 0) TO 'first.dtap'").fetchall() == [(10,)]
        assert trace.sql("SELECT * INTO 'all.dtap' FROM calls").fetchall() == [("all.dtap", 15)]
        with pytest.raises(QueryError, match="does not say which calls"):
            trace.sql("SELECT name INTO x FROM calls")
        text = "SELECT ' INTO x FROM ' AS t"
        assert trace.sql(text).fetchall() == [(" INTO x FROM ",)]
    assert [line.split("(")[0] for line in _lines(tmp_path / "slow.dtap")] == [
        "glDrawElements", "eglSwapBuffers", "glBindTexture",
    ]  # fmt: skip
    assert len(_lines(tmp_path / "first.dtap")) == 10
    assert len(_lines(tmp_path / "all.dtap")) == 15


# ---- text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("NULL", None),
        ("-5", -5),
        ("0x1F", 31),
        ("1e-05", 1e-5),
        ("GL_TRUE", 1),
        ("False", 0),
        ("GL_A | GL_B", "GL_A | GL_B"),
        ('"a\\"b\\n\\x01"', 'a"b\n\x01'),
        ("{1, 2, {3}}", [1, 2, [3]]),
        ('{"a, b", "c)"}', ["a, b", "c)"]),
        ("{EGL_WIDTH = 64, EGL_NONE}", ["EGL_WIDTH", 64, "EGL_NONE"]),
        ("hex(00ff)", b"\x00\xff"),
        ("blob(" + "A" * 32 + ")", Blob("a" * 32)),
        ("0x10 /* unreadable */", 16),
    ],
)
def test_what_words_mean(word: str, meaning: object) -> None:
    assert value(word) == meaning


@pytest.mark.parametrize("word", ["{1, 2, …}", "blob(512 bytes, 0123abcd…)", "?", "", '"open', 'file("nowhere")'])
def test_words_without_meaning(word: str) -> None:
    with pytest.raises(UsageError):
        value(word)


def test_a_call_is_parsed() -> None:
    call = parse('glFoo(a = {1, 2}, s = "x, y) = 3", b = 0x1) = 7  [5.00 us]')
    assert (call.name, call.result) == ("glFoo", "7")
    assert call.values == {"a": "{1, 2}", "s": '"x, y) = 3"', "b": "0x1"}
    for text in ("", "glFoo", "glFoo(a = 1", "glFoo(1)", "glFoo() 3", 'glFoo(a = "x)'):
        with pytest.raises(UsageError):
            parse(text)


def _edited(path: Path, tmp_path: Path, change: object, seqs: range | None = None) -> list[str]:
    text = tmp_path / "calls.txt"
    with open_trace(path) as trace:
        with text.open("w") as file:
            write_editable(trace, seqs or range(len(trace.calls)), file)
        text.write_text(change(text.read_text()))  # type: ignore[operator]
        read_editable(text, trace, tmp_path / "new.dtap")
    return _lines(tmp_path / "new.dtap")


def test_text_that_nobody_edited(path: Path, tmp_path: Path) -> None:
    assert _edited(path, tmp_path, lambda text: text) == _lines(path)
    with open_trace(tmp_path / "new.dtap") as new:
        assert [b["hash"] for b in new.table("blobs")] == [hash_text(bytes(range(256)) * 2)]


def test_text_that_was_edited(path: Path, tmp_path: Path) -> None:
    digest = hash_text(bytes(range(256)) * 2)

    def change(text: str) -> str:
        lines = text.splitlines()
        head, lines = lines[:2], lines[2:]
        assert f"blob({digest})" in lines[3]
        lines[0] = lines[0].replace("GL_DEPTH_TEST", "GL_CULL_FACE")
        lines[1] = lines[1].replace("{1, 0.5, -3, 4}", f"blob({digest})")
        lines[5] = lines[5].replace('"{}"', '"void other() {}"')
        lines[8] = "# glPopDebugGroup is not wanted"
        lines[9] = lines[9].replace("EGL_TRUE", "EGL_FALSE")
        lines[10] = lines[10].replace("glBindTexture(target = GL_CULL_FACE, texture = 9)", "glClear(mask = 0x100)")
        lines.insert(4, "  glUniform4fv(location = 9, count = 1, value = {9, 9, 9, 9})")
        lines.append(lines[0])  # a second time, at the end
        return "\n".join([*head, *lines]) + "\n"

    expected = _lines(path)
    expected[0] = "glEnable(cap = GL_CULL_FACE)"
    expected[1] = expected[1].replace("{1, 0.5, -3, 4}", f"blob(512 bytes, {digest[:8]}…)")
    expected[5] = expected[5].replace('"{}"', '"void other() {}"')
    expected[9] = expected[9].replace("EGL_TRUE", "EGL_FALSE")
    expected[10] = "glClear(mask = GL_DEPTH_BUFFER_BIT)"
    del expected[8]
    expected.insert(4, "glUniform4fv(location = 9, count = 1, value = {9, 9, 9, 9})")
    expected.append("glEnable(cap = GL_CULL_FACE)")
    assert _edited(path, tmp_path, change) == expected


def test_text_of_some_calls(path: Path, tmp_path: Path) -> None:
    def change(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if not line.startswith("4 "))

    expected = _lines(path)
    del expected[4]
    assert _edited(path, tmp_path, change, range(3, 6)) == expected


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("GL_DEPTH_TEST", "GL_DEPTH_TST", "line 3: 'GL_DEPTH_TST' does not fit cap"),
        ("0 glEnable(", "0 glEnabel(", "line 3: no function glEnabel"),
        ("cap = GL_DEPTH_TEST", "", "line 3: glEnable lacks cap"),
        ("0 glEnable", "77 glEnable", "line 3: call 77 is not among"),
        ("0 glEnable(", "0 glEnable", "line 3"),
    ],
)
def test_text_that_cannot_be_read(path: Path, tmp_path: Path, old: str, new: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        _edited(path, tmp_path, lambda text: text.replace(old, new))
    assert not (tmp_path / "new.dtap").exists()


def test_text_of_another_recording(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another recording"):
        _edited(path, tmp_path, lambda text: text.replace("# recording ", "# recording 0"))
    with pytest.raises(InputError, match="does not say"):
        _edited(path, tmp_path, lambda text: text.split("\n", 2)[2])


# ---- commands ---------------------------------------------------------------------------------------------


def test_the_edit_command(drawtap, path: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.dtap"
    answer = drawtap(
        "edit", path, "-o", new, "--set", "glUniform4fv count = 2", "--set", "0 cap = GL_CULL_FACE",
        "--drop", "gl*Debug*", "--drop", "-1", "--replace", "2 glFinish()",
        "--insert", "9 glFinish()", "--insert", "end glClear(mask = 1)",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "14 calls" in answer.out
    names = [line.split("(")[0] for line in _lines(new)]
    assert names == [
        "glEnable", "glUniform4fv", "glFinish", "glUniform4fv", "glGetIntegerv", "glShaderSource", "glDrawElements",
        "glFinish", "eglSwapBuffers", "glBindTexture", "glClearDepth", "toySeq", "glGetError", "glClear",
    ]  # fmt: skip
    assert "count = 2" in _lines(new)[1]
    assert drawtap("edit", path, "-o", new).code == 2
    assert "--force replaces it" in drawtap("edit", path, "-o", new).err
    for arguments in (["--set", "0"], ["--set", "99 cap = 1"], ["--drop", "glNothing"], ["--insert", "3 glFinish("]):
        answer = drawtap("edit", path, "-o", tmp_path / "x.dtap", *arguments)
        assert answer.code == 2, answer.out
        assert "Traceback" not in answer.err


def test_a_script(drawtap, path: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("for event in trace.find(\"name = 'glFinish'\"):\n    event.drop()\n")
    assert drawtap("edit", path, "-o", tmp_path / "new.dtap", "--script", script).code == 0
    assert "glFinish()" not in _lines(tmp_path / "new.dtap")
    script.write_text("1 / 0\n")
    answer = drawtap("edit", path, "-o", tmp_path / "x.dtap", "--script", script)
    assert (answer.code, "ZeroDivisionError" in answer.err) == (2, True)


def test_changes_configuration_and_numbers_at_once(drawtap, path: Path, tmp_path: Path) -> None:
    assert drawtap("edit", path, "--keep", "3:", "-o", tmp_path / "cut.dtap").code == 0
    options = ("--drop", "glFinish", "--config", "samples=4", "--renumber")
    answer = drawtap("edit", tmp_path / "cut.dtap", "-o", tmp_path / "new.dtap", *options, "--json")
    assert answer.code == 0, answer.err
    with open_trace(tmp_path / "cut.dtap") as old, open_trace(tmp_path / "new.dtap") as new:
        finished = sum(call.name == "glFinish" for call in old.calls)
        assert finished and len(new.calls) == len(old.calls) - finished == json.loads(answer.out)["calls"]
        assert [row["config"] for row in _notes(new) if row["kind"] == "player"] == ["samples=4"]
        origins = new.sql("SELECT count(*) FROM calls WHERE origin IS NOT NULL").fetchone()
        assert origins == (0,)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cut.dtap", "new.dtap", "small.dtap"]


def _notes(trace) -> list[dict[str, object]]:
    return [json.loads(str(row["json"])) for row in trace.table("annotations")]


def test_the_other_commands(drawtap, path: Path, tmp_path: Path) -> None:
    assert drawtap("join", path, path, "-o", tmp_path / "two.dtap").code == 0
    assert len(_lines(tmp_path / "two.dtap")) == 30
    assert drawtap("join", "--by-time", path, tmp_path / "two.dtap", "-o", tmp_path / "three.dtap").code == 0
    assert drawtap("edit", tmp_path / "two.dtap", "--renumber", "-o", tmp_path / "four.dtap").code == 0
    assert drawtap("join", path, "-o", tmp_path / "x.dtap").code == 2
    assert drawtap("join", path, tmp_path / "none.dtap", "-o", tmp_path / "x.dtap").code == 4
    text = tmp_path / "t.txt"
    assert drawtap("export", path, "#0", "--editable", "-o", text).code == 0
    assert text.read_text().splitlines()[-1].startswith("9 eglSwapBuffers")
    assert drawtap("import", text).code == 2
    assert drawtap("import", text, "--base", path, "-o", tmp_path / "five.dtap").code == 0
    assert _lines(tmp_path / "five.dtap") == _lines(path)
    assert drawtap("export", path, "--editable", "--name", "gl*", "-o", tmp_path / "u.txt").code == 2
