"""The prompt: SQL and verbs on several open recordings, with pipes, scripts and what is made there."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from drawtap import cli
from drawtap.trace.trace import open_trace
from drawtap.trace.workspace import Workspace
from writer import small_trace

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "small.dtap")


def _run(lines: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What `drawtap shell ARGUMENTS` prints, in this process: output goes to files, since pipes need descriptors."""
    with ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(2))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(sys, "stdin", io.StringIO(lines))
        patch.setenv("NO_COLOR", "1")
        code = cli.run(["shell", *map(str, arguments)])
        texts = []
        for file in (out, err):
            file.flush()
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess([], code, *texts)


def _process(lines: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "drawtap", "shell", *map(str, arguments)]
    return subprocess.run(command, input=lines, capture_output=True, text=True, env=env, timeout=100)


def _answer(lines: str, *arguments: str | Path) -> str:
    done = _run(lines, *arguments)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_a_process(path: Path) -> None:
    done = _process("SELECT count(*) AS n FROM calls\nlist | head -1\nexit\nlist\n", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == " n\n15\n0 glEnable(cap = GL_DEPTH_TEST)  [50 ns]\n"


def test_verbs_and_sql(path: Path) -> None:
    assert _answer("SELECT count(*) AS n FROM calls\n", path) == " n\n15\n"
    assert _answer("select count(*) as n from calls where duration > 10 and seq < 3;", path) == "n\n2\n"
    assert _answer("list 8", path).startswith("8 glPopDebugGroup()")
    assert _answer("list -1\nlist t0 0:+1 --no-times", path).splitlines() == [
        "14 glFinish()  [in flight]",
        "0 glEnable(cap = GL_DEPTH_TEST)",
    ]


def test_several_recordings(path: Path, tmp_path: Path) -> None:
    other = small_trace().write(tmp_path / "other.dtap")
    query = "SELECT count(*) AS n FROM t0.calls AS x JOIN b.calls AS y USING (seq)"
    lines = f"load {other} as b\ntraces\n{query}\nuse t0\nclose b\ntraces\n"
    out = _answer(lines, path).splitlines()
    assert out[0] == "b: 15 calls, 1 frame"
    assert out[2].split()[:3] == ["t0", "15", "1"]
    assert out[3].split()[:4] == ["*", "b", "15", "1"]
    assert out[5:8] == ["15", "t0 is the current one", "b is closed"]
    assert len(out) == 10


def test_what_is_made_is_a_recording_of_the_session(path: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.dtap"
    lines = f"""\
cut 3:+4 -o part
SELECT seq INTO slow FROM t0.calls WHERE duration > 800
join part slow
join part slow --by-time -o both --json
edit both --drop glFinish -o none
edit t1 --renumber
new nothing
traces
save t1 {saved}
info part | head -1
"""
    out = _answer(lines.replace("edit both --drop glFinish -o none", "edit both --drop glDraw* -o none"), path)
    assert "part: 4 calls, until save part FILE" in out
    assert "t1: 7 calls, until save t1 FILE" in out
    assert "nothing: empty" in out
    names = [line.split()[-6 if line.startswith("*") else 0] for line in out.splitlines() if line.endswith("not saved")]
    assert set(names) >= {"part", "slow", "t1", "both", "none"}
    assert len(open_trace(saved).calls) == 7
    assert not (tmp_path / "slow.dtap").exists()


def test_pipes_files_and_scripts(path: Path, tmp_path: Path) -> None:
    out, script = tmp_path / "out.txt", tmp_path / "script.txt"
    assert _answer("list | grep -c glUniform\n", path) == "2\n"
    assert _answer("SELECT seq FROM calls WHERE seq > 12;| tail -1\n", path).split() == ["14"]
    _answer(f"list --no-times 0 > {out}\nSELECT 1 AS one;>> {out}\n", path)
    assert out.read_text() == "0 glEnable(cap = GL_DEPTH_TEST)\none\n  1\n"
    script.write_text("# remarks are left out\nlist 0\n\nlist 1\n")
    assert len(_answer("", path, "--script", script).splitlines()) == 2
    assert len(_answer(f"@{script}\n", path).splitlines()) == 2
    assert _answer("", path, "-x", "list 0", "-x", "list 1").count("\n") == 2


def test_python(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print(len(trace.calls), sorted(traces), args)\n")
    assert _answer(f"python {script} one 'two words'\n", path) == "15 ['t0'] ['one', 'two words']\n"
    script.write_text("1 / 0\n")
    assert "ZeroDivisionError" in _run(f"python {script}\n", path).stderr


def test_profiling(path: Path) -> None:
    out = _answer("profiling on\nframes\nprofiling off\nframes\n", path)
    assert out.count("Ordered by: cumulative time") == 1


def test_other_names_of_verbs(path: Path, drawtap) -> None:
    assert _answer("call-histogram --limit 1\n", path) == _answer("histogram --limit 1\n", path)
    assert _answer("doctor --plugins | grep -c .\nsql 'SELECT 5 AS five'\n", path).endswith("5\n")
    assert drawtap("call-histogram", path, "--limit", "1").out == drawtap("histogram", path, "--limit", "1").out
    listed = drawtap("doctor", "--plugins").out
    assert "drawtap.commands.stats" in listed
    assert "parquet" in listed


def test_what_goes_wrong(path: Path) -> None:
    wrong = {
        "histogrm": "did you mean histogram",
        "SELECT nam FROM calls": "did you mean name?",
        "list nothing": "no range of calls",
        "load nowhere.dtap": "there is no file nowhere.dtap",
        "use b": "no recording is called b",
        "edit t0 --keep #9:#3 -o x": "ends before it begins",
        "new 3x": "cannot be the name",
        "frames --slwest 1": "--slowest",
        "list 'open": "No closing quotation",
        "help nothing": "no verb called",
        "new e\nsave e": "e has no file yet",
        "close t0\nclose e\nlist 0": "no recording is open",
    }
    done = _run("\n".join(wrong) + "\nnew last\ntraces\n", path)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    for line, what in wrong.items():
        assert what in done.stderr, line
    assert done.stdout.splitlines()[-1].split()[:3] == ["*", "last", "0"]
    assert _run("", path, "-x", "list 99999:5").returncode == 2
    assert _run("", path.with_name("none.dtap")).returncode == 4


def test_help_and_reload(path: Path) -> None:
    # In a process of its own: classes that were read again are other classes.
    done = _process("help\nhelp load\nhelp edit\nreload\nrules | grep -c .\nlist 0\n", path)
    assert done.stderr == ""
    out = done.stdout
    for name in ("stats", "profiling", "call-histogram"):
        assert name in out
    assert max(map(len, out.partition("load FILE")[0].splitlines())) <= 80
    assert "load FILE [as NAME]" in out
    assert "Usage: edit" in out
    assert "modules were read again" in out
    assert int(out.splitlines()[-2]) > 10
    assert "glEnable" in out.splitlines()[-1]


def test_completion(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from drawtap.prompt import Analyzer

    with Workspace() as workspace:
        workspace.load(path)
        workspace.load(path, "b")
        analyzer = Analyzer(workspace, interactive=False)

        def found(line: str) -> list[str]:
            begin = line.rfind(" ") + 1
            items = analyzer.completedefault(line[begin:], line, begin, len(line))
            return [item.text for item in items.items]

        assert "--slowest" in found("frames --slo")
        assert found("info b") == ["b"]
        assert "glDrawElements" in found("SELECT * FROM glDr")
        assert "duration" in found("SELECT max(dur")[0]
        assert "b.calls" in found("SELECT * FROM b.ca")
        assert "stats" in analyzer.get_all_commands()

        def first(text: str) -> list[str]:
            return [item.text for item in analyzer.complete(text, text, 0, len(text)).items]

        assert first("fram") == ["frames"]
        assert first("loa") == ["load"]
        assert set(first("s")) >= {"sql", "state", "stats", "save", "system-metrics"}
        assert (first("SEL"), first("sel")) == (["SELECT"], ["select"])
        assert first("calc") == first("show-") == []  # old names are not offered
        assert "metrics" in found("system me")
        assert "--json" in found("system metrics --js")


def test_saving_in_a_workspace(path: Path, tmp_path: Path) -> None:
    with Workspace() as workspace:
        assert workspace.load(path).name == "t0"
        assert workspace.save(None, None)[0] == path
        empty = workspace.new()
        assert (empty.name, len(empty.trace.calls), len(empty.trace.frames)) == ("t1", 0, 0)
        workspace.use("t0")
        workspace.save("t1", tmp_path / "empty.dtap")
        assert workspace.get().name == "t0"
        assert workspace.get("t1").saved
    assert len(open_trace(tmp_path / "empty.dtap").calls) == 0
