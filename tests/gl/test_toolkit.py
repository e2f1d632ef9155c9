"""Every command of the toolkit that Kyostila's thesis lists in its Table 2: at the prompt, as a verb, as a function."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap import cli, verbs
from drawtap.commands import AT_THE_PROMPT

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

SCRIPT = "print('script', args, len(trace.calls))\n"
READINGS = "seq,average_path_size\n10,4\n11,40\n"

# Command of the table; what is typed at the prompt, {} being a folder; what of the answer shows that it was done.
TABLE = (
    ("load", "load {}/trap.dtap as game", "game: "),
    ("info", "info", "es2_triangle"),
    ("load-inst", "load-inst game {}/readings.csv", "2 readings"),
    ("save-inst", "save-inst game {}/saved.csv", "2 readings"),
    ("calc-frame-stats", "calc-frame-stats game #0:#2", "average_path_size"),
    ("calc-stats", "calc-stats game", "render calls"),
    ("call-histogram", "call-histogram game", "glDrawArrays"),
    ("checklist", "checklist game", "passed"),
    ("new", "new nothing", "nothing: empty"),
    ("export", "export game -o {}/calls.csv", "calls as csv"),
    ("extract", "cut game 3:+4 -o part", "part: 4 calls"),
    ("extract-state", "extract-state game #2 -o frame", "1 of 1 images are the same"),
    ("grep", "grep game glDrawArrays --calls #1", "GL_TRIANGLES"),
    ("help", "help merge", "Usage: merge"),
    ("join", "join part game -o joined", "joined: "),
    ("merge", "merge part game -o merged", "merged: "),
    ("renumber", "renumber part -o renumbered", "renumbered: 4 calls"),
    ("list", "list part 0:2", "egl"),
    ("play", "play game", "played"),
    ("profiling", "profiling on", "profiling is on"),
    ("profiling", "info part", "Ordered by: cumulative time"),
    ("profiling", "profiling off", "profiling is off"),
    ("python", "python {}/script.py one", "script ['one']"),
    ("report", "report game -o {}/game.html", "game.html"),
    ("save", "save part {}/part.dtap", "part.dtap"),
    ("select", "SELECT event.seq, event.name FROM game WHERE event.name = 'glClear' LIMIT 2;", "glClear"),
    ("set-egl-config", "set-egl-config game red=5,green=6,blue=5 -o small", "small: "),
    ("show plugins", "show plugins", "drawtap.commands.stats"),
    ("show plugins", "show-plugins", "drawtap.commands.stats"),
    ("show state", "show state game #2 context.GL_DEPTH_FUNC", "GL_LESS"),
    ("show state", "show-state game #2 context.GL_DEPTH_FUNC", "GL_LESS"),
    ("simplify", "simplify game -o simple", "the same, pixel for pixel"),
    ("close", "close joined", "joined is closed"),
    ("reload", "reload", "modules were read again"),
    ("list", "list part 0:2", "egl"),
    ("quit", "quit", ""),
)
NAMES = tuple(dict.fromkeys(name for name, _, _ in TABLE))


@dataclass(frozen=True)
class Session:
    """What the prompt answered to each line of TABLE, and what stood on standard error."""

    answers: tuple[str, ...]
    errors: str
    folder: Path


@pytest.fixture(scope="module")
def session(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("toolkit")
    recorded = programs.recorded(["es2_triangle", "4"], folder)
    assert recorded.result.returncode == 0, recorded.result.stderr
    (folder / "script.py").write_text(SCRIPT)
    (folder / "readings.csv").write_text(READINGS)
    # In a process of its own: classes that `reload` has read again are other classes.
    lines = [line for _, typed, _ in TABLE for line in ("!echo ---", typed.format(folder))]
    done = subprocess.run(
        [sys.executable, "-m", "drawtap", "shell"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        env={**programs.environment(), "NO_COLOR": "1", "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stderr
    return Session(tuple(done.stdout.split("---\n")[1:]), done.stderr, folder)


def test_at_the_prompt(session: Session) -> None:
    assert "error" not in session.errors
    assert len(session.answers) == len(TABLE)
    for (name, typed, expected), answer in zip(TABLE, session.answers, strict=True):
        assert expected in answer, f"{name}: {typed!r} answered {answer[:500]!r}"
    made = {file.name for file in session.folder.iterdir()}
    assert made >= {"saved.csv", "calls.csv", "game.html", "part.dtap", "trap_inst"}
    assert drawtap.open(session.folder / "part.dtap").info["calls"] == 4


def test_as_verbs(drawtap, session: Session) -> None:
    for name in NAMES:
        answer = drawtap(*name.split(), "--help")
        if name in AT_THE_PROMPT:
            assert answer.code == 2
            assert f"{name} is a command of the prompt" in answer.err
        elif name != "help":
            assert (answer.code, answer.err) == (0, ""), name
            assert answer.out.startswith("Usage: drawtap "), name
    assert drawtap("help", "calc-stats").out == drawtap("calc-stats", "--help").out
    trace, folder = session.folder / "trap.dtap", session.folder
    assert drawtap("new", folder / "new.dtap").code == 0
    assert drawtap("new", folder / "new.dtap").code == 2
    assert drawtap("save", trace, folder / "copy.dtap").code == 0
    assert (folder / "copy.dtap").read_bytes() == trace.read_bytes()


def test_scripts_and_sessions_are_verbs_too(session: Session) -> None:
    trace, folder = session.folder / "trap.dtap", session.folder
    calls = len(verbs.load(trace).calls)
    assert _said("python", trace, folder / "script.py", "--one", "two words") == (
        0,
        f"script ['--one', 'two words'] {calls}\n",
    )
    assert _said("load", trace, folder / "part.dtap", "-x", "traces")[1].count(".dtap") == 2


def _said(*words: str | Path) -> tuple[int, str]:
    with ExitStack() as stack:
        out = stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(redirect_stderr(io.StringIO()))
        return cli.run([str(word) for word in words]), out.getvalue()


@pytest.fixture
def trace(session: Session) -> Iterator[drawtap.Trace]:
    opened = verbs.load(session.folder / "trap.dtap")
    yield opened
    verbs.close(opened)


def test_as_functions(trace: drawtap.Trace, tmp_path: Path) -> None:
    there = dir(verbs)
    for name in NAMES:
        called = name.replace("-", "_").replace(" ", "_")
        if name in {*AT_THE_PROMPT, "python"} - {"close"}:
            with pytest.raises(AttributeError, match="is for the prompt: Python has "):
                getattr(verbs, called)
        else:
            assert called in there
            assert callable(getattr(verbs, called))
    assert dict(row[:2] for row in verbs.call_histogram(trace).rows)["glDrawArrays"] == 4
    found = {row[0]: row[2] for row in verbs.calc_stats(trace).rows}
    assert found["render calls"] == 4
    assert [row[0] for row in verbs.calc_frame_stats(trace, "#1").rows] == [1]
    assert verbs.cut(trace, "3:+4", output=tmp_path / "part.dtap").worst == "ok"
    assert [value for _, value in verbs.show_state(trace, "#2", "context.GL_DEPTH_FUNC").values] == ["GL_LESS"]
    verbs.new(tmp_path / "new.dtap")
    assert verbs.load(tmp_path / "new.dtap").info["calls"] == 0
    assert "hits" not in verbs.help("checklist")
    assert "rules" in verbs.help("checklist")
    assert "join: " in verbs.help() and "merge: " not in verbs.help()
    with pytest.raises(AttributeError, match="did you mean histogram"):
        verbs.histogrm  # noqa: B018


def test_what_ends_a_process_leaves_nothing_behind(session: Session) -> None:
    assert not list(session.folder.glob("*.part"))
