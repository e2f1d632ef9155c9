"""The flight recorder: what it saves replays, and shows the frames that a whole recording of the same run shows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

import drawtap
from drawtap.capture import flight
from drawtap.errors import QueryError, UsageError
from drawtap.parts import RING, part
from shared import run_drawtap

FRAMES = 60
PROGRAMS = {
    "churn": ("churn", str(FRAMES)),
    "targets that feed on the frame before": ("fbo_chain", str(FRAMES)),
    "display lists": ("ff_lists", str(FRAMES)),
    "stores through a mapping": ("mapped_frames", str(FRAMES)),
    "stores of another thread": ("mapped_frames", str(FRAMES), "threads"),
}


def _drawtap(bench, *arguments: str | Path, environment: Mapping[str, str] | None = None):
    variables = bench.environment() | dict(environment or {})
    if arguments[0] != "record":
        return run_drawtap(*arguments, environment=variables)
    command = [sys.executable, "-m", "drawtap", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=variables, check=False)


def _hashes(path: Path) -> dict[int, str]:
    # The image of every frame by the number, in the run, of the call that ended it.
    query = """SELECT c.origin AS origin, c.seq AS seq, n.text AS text
               FROM (SELECT seq, text FROM natives WHERE kind = 'frame') n
               ASOF JOIN (SELECT seq, origin FROM calls WHERE name = 'eglSwapBuffers') c ON n.seq <= c.seq"""
    with drawtap.open(path) as trace:
        rows = list(trace.sql(query))
    return {int(seq if origin is None else origin): str(text).rpartition("hash=")[2] for origin, seq, text in rows}


def _note(path: Path) -> dict[str, object]:
    with drawtap.open(path) as trace:
        notes = [json.loads(str(note)) for note in trace.info["annotations"]]
    return next(note for note in notes if note["kind"] == "flight_recorder")


@pytest.fixture(scope="module")
def whole(programs, tmp_path_factory) -> Callable[[str], Path]:
    """Record a program's whole run, with the images of its frames, once."""
    done: dict[str, Path] = {}

    def record(name: str) -> Path:
        if name not in done:
            path = tmp_path_factory.mktemp("whole") / "whole.dtap"
            line = programs.arguments(PROGRAMS[name])
            result = _drawtap(programs, "record", "--hash-frames", "-o", path, "--", *line)
            assert result.returncode == 0, result.stderr
            done[name] = path
        return done[name]

    return record


def _helper(folder: Path, verb: str, wanted: Mapping[str, object]) -> dict[str, object]:
    job = folder / "job"
    job.write_text(json.dumps(wanted, default=str))
    done = subprocess.run([part(RING), verb, job], capture_output=True, text=True, timeout=300, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 0, answer
    assert isinstance(answer, dict)
    return answer


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_generations_keep_draws_the_same(name, whole, programs, tmp_path):
    recording = whole(name)
    with drawtap.open(recording) as trace:
        ends = [int(str(row["t_end"])) for row in trace.table("frames") if row["end_function"]]
        calls = len(trace.calls)
    state: dict[str, object] = {"raw": recording}
    kept = []
    for generation, frame in enumerate((7, 8, 23, 31, 44)):
        out, frames = tmp_path / f"base{generation}.dtap", tmp_path / f"frames{generation}"
        wanted = {**state, "out": out, "frames_out": frames, "cut_ns": ends[frame] + 1}
        answer = _helper(tmp_path, "compact", wanted)
        assert answer["frames_past"] == frame + 1
        kept.append(answer["kept"])
        state = {"raw": recording, "base": out, "frames_in": frames, "consumed": answer["consumed"]}
        state |= {"calls_before": answer["calls_past"], "frames_before": answer["frames_past"]}
    saved = tmp_path / "saved.dtap"
    answer = _helper(tmp_path, "save", {**state, "out": saved, "cut_ns": ends[49] + 1, "about": {"reason": "test"}})
    assert answer["first_frame"] == 50
    assert answer["frames"] == len(ends) - 50
    assert answer["kept"] + answer["calls"] < calls

    expected = _hashes(recording)
    found = _hashes(saved)
    assert len(found) == len(ends) - 50
    assert found == {end: expected[end] for end in found}
    result = _drawtap(programs, "replay", saved, "--verify")
    assert result.returncode == 0, result.stdout + result.stderr
    if name == "churn":  # what is made and deleted again in each frame does not pile up
        assert max(kept) < min(kept) + 40


def test_pictures_that_are_never_wiped_are_kept_or_it_is_said(whole, tmp_path):
    recording = whole("display lists")
    end = (1 << 62) - 1
    exact = _helper(tmp_path, "compact", {"raw": recording, "out": tmp_path / "a", "cut_ns": end})
    limit = {"raw": recording, "out": tmp_path / "b", "cut_ns": end, "keep_limit": 1}
    fewer = _helper(tmp_path, "compact", limit)
    assert not exact["assumed"]
    assert fewer["exact"] == exact["kept"]
    assert fewer["kept"] <= exact["kept"]
    assert fewer["assumed"] == (fewer["kept"] < exact["kept"])
    assert exact["assumed_because"] == []
    assert fewer["assumed_because"] == (["a surface: nothing is to be read back"] if fewer["assumed"] else [])
    # Once it was assumed it stays so: what was left out does not come back.
    later = _helper(tmp_path, "compact", {"raw": recording, "out": tmp_path / "c", "cut_ns": end, "assumed": True})
    assert later["assumed"]


def _started(bench, folder: Path, line: Sequence[str], *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "drawtap", "record", *options, "-o", str(folder / "r.dtap"), "--"]
    return subprocess.Popen(
        [*command, *bench.arguments(line)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=bench.environment() | {"XDG_RUNTIME_DIR": str(folder)},
    )


def _wait(condition: Callable[[], object], seconds: float = 60) -> object:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


@pytest.fixture
def lingering(programs, tmp_path, monkeypatch) -> Iterator[Callable[..., tuple[subprocess.Popen[str], int, Path]]]:
    """Start a program that draws FRAMES frames and waits, under a flight recorder."""
    from drawtap.capture import control

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    running: list[subprocess.Popen[str]] = []

    def start(*options: str, line: Sequence[str] = ()) -> tuple[subprocess.Popen[str], int, Path]:
        process = _started(programs, tmp_path, ("churn", str(FRAMES), "pace=1000", *line, "linger"), *options)
        running.append(process)
        found = _wait(lambda: [p for p in control.programs() if p.frames >= FRAMES])
        assert isinstance(found, list)
        return process, found[0].pid, found[0].socket

    yield start
    for process in running:
        process.kill()
        process.communicate(timeout=300)


def test_what_a_signal_and_a_command_save_replays(lingering, programs, whole, tmp_path):
    process, pid, _ = lingering("--ring", "1K", "--hash-frames")
    mine = tmp_path / "mine here.dtap"
    environment = programs.environment() | {"XDG_RUNTIME_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "drawtap", "trigger", str(pid), "save", "-o", str(mine), "--json"]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)[0]["file"] == str(mine)
    process.send_signal(signal.SIGUSR2)
    signalled = _wait(lambda: list(tmp_path.glob("r-f*-signal.dtap")))
    _, said = process.communicate("", timeout=300)
    assert process.returncode == 0, said
    assert not (tmp_path / "r.dtap").exists()
    expected = _hashes(whole("churn"))
    assert isinstance(signalled, list)
    for path, reason in ((mine, "command"), (signalled[0], "signal")):
        note = _note(path)
        assert note["reason"] == reason
        assert note["calls_lost"] == 0
        found = _hashes(path)
        assert len(found) == note["frames"] > 0
        assert found == {end: expected[end] for end in found}
        result = _drawtap(programs, "replay", path, "--verify")
        assert result.returncode == 0, result.stdout + result.stderr
        assert reason in _drawtap(programs, "info", path).stdout


@pytest.mark.parametrize("options", [("--ring", "1h"), ("--ring", "1K", "--ring-take", "100")])
def test_what_a_killed_recorder_held_is_saved(options, lingering, programs, whole, tmp_path):
    """All that was called before, where nothing has left the window, and what still matters of it, where much has."""
    from drawtap.capture import control

    all_held = "1h" in options
    process, _, socket = lingering(*options, "--hash-frames")
    cuts: list[object] = []

    def is_cut() -> bool:  # the first cut may take what was called before the first frame alone
        cuts.append(_ring(control.ask(socket, "status")).get("compactions"))
        return all_held or (bool(cuts[-1]) and cuts[-10:] == [cuts[-1]] * 10)

    _wait(is_cut)
    os.kill(int(str(control.ask(socket, "status")["drainer"])), signal.SIGKILL)
    _wait(lambda: list(tmp_path.glob("r-f*-recorder.dtap")))
    _, said = process.communicate("", timeout=300)
    assert process.returncode == 0, said
    words = " ".join(said.split())
    assert "(SIGKILL): what the flight recorder held was saved" in words
    (saved,) = tmp_path.glob("r-f*-recorder.dtap")
    note, expected, found = _note(saved), _hashes(whole("churn")), _hashes(saved)
    assert (note["reason"], note["calls_lost"]) == ("recorder", 0)
    assert found == {end: expected[end] for end in found} and len(found) == note["frames"]
    assert set(found) == set(sorted(expected)[-len(found) :])
    assert (len(found) == len(expected)) == all_held
    # What is in no file is counted to the last call.
    later = re.findall(r"([\d,]+) calls were made after that", words)
    missing = int(later[0].replace(",", "")) if later else 0
    with drawtap.open(whole("churn")) as trace:
        assert int(str(note["earlier"])) + int(str(note["calls"])) + missing == trace.info["calls"]
    result = _drawtap(programs, "replay", saved, "--verify")
    assert result.returncode == 0, result.stdout + result.stderr
    facts = json.loads(_drawtap(programs, "info", saved, "--json").stdout)
    assert facts["problems"] == []


def test_errors_crashes_and_slow_frames_are_reasons(programs, tmp_path):
    triggers = ("--on-error", "--trigger", "frame-time=300ms", "--trigger", "mark=loading")
    line = ("churn", "60", "mark=12", "error=20", "stall=30", "crash=50")
    process = _started(programs, tmp_path, line, "--ring", "100s", "--save-gap", "0", *triggers)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGABRT, said
    found = {_note(path)["reason"]: path for path in tmp_path.glob("r-f*.dtap")}
    assert {"mark", "gl-error", "frame-time", "crash"} <= set(found)
    assert _note(found["mark"])["detail"] == "loading is done"
    assert _note(found["gl-error"])["detail"] == "glGetError returned 0x0500"
    assert _note(found["crash"])["frames"] == 50
    result = _drawtap(programs, "replay", found["crash"])
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_killed_program_is_saved(lingering, programs, tmp_path):
    process, pid, _ = lingering("--ring", "1h")
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGKILL, said
    (saved,) = tmp_path.glob("r-f*-crash.dtap")
    note = _note(saved)
    assert (note["detail"], note["frames"]) == ("signal 9", FRAMES)
    result = _drawtap(programs, "replay", saved)
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_comes_after_is_saved_too(programs, tmp_path):
    # Longer after than the program runs: what is written is all, up to its end.
    triggers = ("--trigger", "mark=loading", "--trigger", "fps=3", "--after", "1h", "--save-gap", "0")
    line = ("churn", str(FRAMES), "mark=12", "stall=30")
    process = _started(programs, tmp_path, line, "--ring", "1h", "--most-saves", "4", *triggers)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    notes = [_note(path) for path in tmp_path.glob("r-f*.dtap")]
    assert {str(note["reason"]) for note in notes} == {"mark", "fps"}
    for note in notes:
        assert note["frames"] == FRAMES >= int(str(note["frame"]))
        assert note["after_ns"] == 3600 * 10**9


def test_rather_a_shorter_window_than_lost_calls(lingering, programs, tmp_path):
    # 56 MB that do not shrink: within the limit, and more than the recorder holds of it for an hour.
    _, pid, _ = lingering("--ring", "1h", "--ring-limit", "64M", line=("noise=1000000",))

    def saved() -> dict[str, object] | None:
        path = tmp_path / "short.dtap"
        path.unlink(missing_ok=True)
        environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
        asked = _drawtap(programs, "trigger", str(pid), "save", "-o", path, environment=environment)
        assert asked.returncode == 0, asked.stderr
        note = _note(path)
        return note if note["first_frame"] else None

    note = _wait(saved)
    assert isinstance(note, dict)
    assert note["calls_lost"] == 0
    assert note["missing_ns"] > 0
    assert 0 < note["frames"] < FRAMES
    result = _drawtap(programs, "replay", tmp_path / "short.dtap")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "had left the recorder" in _drawtap(programs, "info", tmp_path / "short.dtap").stdout


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["es2", "es3", "gl"])
def test_pictures_that_are_never_wiped_are_read_back(kind, programs, tmp_path, monkeypatch):
    from drawtap.capture import control

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    options = ("--ring", "16K", "--ring-take", "1000", "--hash-frames")
    process = _started(programs, tmp_path, ("trails", kind, "0", "2000"), *options)
    try:
        found: list[control.Program] = []

        def taken_twice() -> object:
            # The second time, what was read back the first time stands in place of the draws before it.
            found[:] = control.programs()
            ring.clear()
            ring.update(_ring(control.ask(found[0].socket, "status")) if found else {})
            return int(str(ring.get("takes", 0))) > 1

        ring: dict[str, object] = {}
        _wait(taken_twice, 100)
        assert ring["refused"] == 0
        saved = tmp_path / "saved.dtap"
        environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
        asked = _drawtap(programs, "trigger", str(found[0].pid), "save", "-o", saved, environment=environment)
        assert asked.returncode == 0, asked.stderr
        _, said = process.communicate("", timeout=300)
    finally:
        process.kill()
        process.communicate(timeout=300)
    assert process.returncode == 0, said  # the program looks after its state and its errors itself
    assert "pictures were read back" in said
    note = _note(saved)
    first, frames = int(str(note["first_frame"])), int(str(note["frames"]))
    assert not note["assumed"]
    with drawtap.open(saved) as trace:
        (kept,) = trace.sql(f'SELECT count(*) AS n FROM "glDrawArrays" WHERE seq < {note["first_call"]}')
        (uploads,) = trace.sql(f'SELECT count(*) AS n FROM "glTexSubImage2D" WHERE seq < {note["first_call"]}')
    draws = {"es2": 8, "es3": 41, "gl": 49}[kind]  # in a frame
    assert 0 < int(kept[0]) < first * draws
    # Two textures and the face of a cube; those with depths; floats, ten bits, signed.
    assert int(uploads[0]) >= {"es2": 3, "es3": 7, "gl": 9}[kind]
    result = _drawtap(programs, "replay", saved, "--verify")
    assert result.returncode == 0, result.stdout + result.stderr
    # The same frames as of a run that nobody looked at.
    alone = tmp_path / "alone.dtap"
    line = programs.arguments(("trails", kind, str(first + frames)))
    result = _drawtap(programs, "record", "--hash-frames", "-o", alone, "--", *line)
    assert result.returncode == 0, result.stderr
    assert _images(saved) == _images(alone)[first:]


def _images(path: Path) -> list[str]:
    with drawtap.open(path) as trace:
        return [str(text) for (text,) in trace.sql("SELECT text FROM natives WHERE kind = 'frame' ORDER BY seq")]


def _ring(status: Mapping[str, object]) -> Mapping[str, object]:
    programs = status.get("programs")
    ring = programs[0].get("ring") if isinstance(programs, list) and programs else None
    return ring if isinstance(ring, dict) else {}


def test_nothing_is_written_without_a_reason(programs, tmp_path):
    process = _started(programs, tmp_path, ("churn", "5"), "--ring", "5s")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "nothing was written: nothing asked for it" in said
    assert not list(tmp_path.glob("*.dtap"))


@pytest.mark.parametrize("more", ["", ' AND NOT EXISTS (FROM "glFinish")'], ids=["called", "not called yet"])
def test_a_question_is_a_reason(programs, tmp_path, more):
    # The window does not explain a function before its first call: its table is empty then, not missing.
    question = f'SELECT count(*) FROM "glDrawArrays" HAVING count(*) > 20{more}'
    options = ("--ring", "60s", "--when", question, "--every", "0.05")
    process = _started(programs, tmp_path, ("churn", str(FRAMES), "linger"), *options)
    _wait(lambda: list(tmp_path.glob("r-f*-sql.dtap")))
    _, said = process.communicate("", timeout=300)
    assert process.returncode == 0, said
    assert "questions of --when" in said
    assert "no answer" not in said


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("SELCT 1", "syntax error"),
        ('SELECT * FROM "glBufferDatta"', "glBufferData"),
        ("SELECT no_such_column FROM calls", "no_such_column"),
    ],
)
def test_a_question_that_no_window_can_answer_starts_nothing(tmp_path, question, reason):
    with pytest.raises(QueryError, match=reason) as raised:
        flight.Ring("10s", when=question).options()
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    "ring",
    [
        flight.Ring("10"),
        flight.Ring("x"),
        flight.Ring("0s"),
        flight.Ring("10s", before="5M"),
        flight.Ring("10s", limit="5s"),
        flight.Ring("10s", limit="8M"),
        flight.Ring("500M", limit="600M"),
        flight.Ring("10s", triggers=("fps=30s",)),
        flight.Ring("10s", triggers=("frame-time",)),
        flight.Ring("10s", triggers=("mark=",)),
    ],
)
def test_options_that_make_no_sense_are_refused(ring):
    with pytest.raises(UsageError):
        ring.options()


def test_options_reach_the_drainer():
    triggers = ("frame-time=0.05s:3", "fps=30", "error")
    ring = flight.Ring("1.5min", after="2s", triggers=triggers, limit="1G", take_calls=0)
    options = " ".join(ring.options())
    assert "--ring 90000ms" in options
    assert "--after 2000ms" in options
    assert "--ring-take 0" in options
    assert "--frame-over 50:3" in options
    assert "--fps-below 30:1 --on-error" in options
    assert f"--ring-limit {1 << 30}" in options
