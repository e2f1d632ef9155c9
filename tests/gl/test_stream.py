"""Recordings that go over sockets, and recordings of a part of a run: on real programs, and whoever goes away."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.capture import control
from streams import LIMIT_S, Desk, wait_for

if TYPE_CHECKING:
    from conftest import Answer, Bench

pytestmark = pytest.mark.gl
FRAMES = 12


@pytest.fixture
def desk(programs: Bench, tmp_path: Path) -> Iterator[Desk]:
    """Return what starts recorders and receivers in a folder of the test's own."""
    runtime = Path("/tmp") / f"dt-{os.getpid()}-{os.urandom(4).hex()}"  # short: names of sockets are
    runtime.mkdir(mode=0o700)
    made = Desk(tmp_path, programs.environment() | {"XDG_RUNTIME_DIR": str(runtime)})
    yield made
    made.stop()
    shutil.rmtree(runtime)


@pytest.fixture
def triangle(programs: Bench) -> str:
    return str(programs.programs / "es2_triangle")


@pytest.fixture
def noise(programs: Bench) -> str:
    return str(programs.programs / "stream_frames")


@pytest.fixture(autouse=True)
def _from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def _dump(drawtap: Callable[..., Answer], trace: Path) -> str:
    """Return the calls as text, without what differs from run to run: addresses and handles."""
    answer = drawtap("list", trace)
    assert answer.code == 0, answer.err
    return re.sub(r"  \[[^]]* .?s\]$", "", re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", answer.out), flags=re.MULTILINE)


def _count(drawtap: Callable[..., Answer], trace: Path, function: str) -> int:
    answer = drawtap("sql", trace, f"SELECT count(*) AS n FROM calls WHERE name = '{function}'", "--json")
    assert answer.code == 0, answer.err
    return int(json.loads(answer.out)[0]["n"])


@pytest.fixture(scope="module")
def in_a_file(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the triangle to a file."""
    recorded = programs.recorded(["es2_triangle", str(FRAMES)], tmp_path_factory.mktemp("file"))
    return recorded.traces[0]


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_a_stream_is_the_recording_that_a_file_would_have_been(
    kind: str, desk: Desk, triangle: str, in_a_file: Path, drawtap: Callable[..., Answer]
) -> None:
    tmp_path = desk.folder
    secret = tmp_path / "token"
    secret.write_text("open sesame\n")
    where = f"unix:{tmp_path}/s" if kind == "unix" else "tcp://127.0.0.1:0"
    receiver, address = desk.receiver(where, "-o", "a.dtap", "--token-file", secret, "--json")
    if kind == "unix":
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
    code, _, said = desk.run("record", "--to", address, "--hash-frames", "--", triangle, str(FRAMES))
    assert code == 3, said
    assert "refuses: the token is not the receiver's" in said and "no receiver" not in said
    assert "hint: --token-file" in said
    sent = desk.run("record", "--to", address, "--token-file", secret, "--hash-frames", "--", triangle, str(FRAMES))
    assert sent[0] == 0, sent[2]
    assert f"frames {FRAMES}" not in sent[2]
    assert f"{FRAMES} frames" in sent[2]
    code, out, err = receiver.end()
    assert code == 0, err
    (row,) = json.loads(out)
    assert row["state"] == "whole"
    assert row["bytes"] == (tmp_path / "a.dtap").stat().st_size
    hashless = [line for line in _dump(drawtap, tmp_path / "a.dtap").splitlines() if "frame" not in line]
    assert hashless == [line for line in _dump(drawtap, in_a_file).splitlines() if "frame" not in line]
    info = json.loads(drawtap("info", tmp_path / "a.dtap", "--json").out)
    assert info["problems"] == []
    assert info["calls"] == row["calls"]
    played = drawtap("replay", tmp_path / "a.dtap", "--verify")
    assert played.code == 0, played.out


def test_a_refusal_is_known_by_its_code_and_told_in_the_receivers_words(
    desk: Desk, triangle: str, tmp_path: Path
) -> None:
    words = b"full: it refuses: every token"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(LIMIT_S)
        recorder = desk.start("record", "--to", f"unix:{tmp_path}/s", "--", triangle, "1")
        there, _ = listener.accept()
        with there:
            there.recv(4096)
            there.sendall(struct.pack("<8sHHI", b"DTSTREAM", 2, 4, len(words)) + words)  # busy
            code, _, said = recorder.end()
    assert code == 3
    assert f"the receiver at unix:{tmp_path}/s refuses: {words.decode()}" in said and "hint:" not in said


def test_what_a_receiver_heard_and_never_confirmed_goes_into_the_file(
    desk: Desk, triangle: str, in_a_file: Path, drawtap: Callable[..., Answer], tmp_path: Path
) -> None:
    """It hangs up at the end of the trace, having confirmed nothing: the file has all of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(LIMIT_S)
        recorder = desk.start(
            "record", "--to", f"unix:{tmp_path}/s", "--spill", "rest.dtap", "--", triangle, str(FRAMES)
        )
        there, _ = listener.accept()
        with there, there.makefile("rb") as heard:
            there.settimeout(LIMIT_S)
            *_, nonce, options, _ = struct.unpack("<8sHBBIII", heard.read(24))
            heard.read(nonce + options)
            there.sendall(struct.pack("<8sHHI", b"DTSTREAM", 2, 0, 0))
            kind = 0
            while kind != 4:  # the end
                kind, length = struct.unpack("<B3xI", heard.read(8))
                heard.read(length)
    code, _, said = recorder.end()
    assert code == 0, said
    whole, rest = (_dump(drawtap, path) for path in (in_a_file, tmp_path / "rest.dtap"))
    assert rest == whole


def test_the_first_call_waits_for_a_receiver_and_not_for_ever(desk: Desk, triangle: str, tmp_path: Path) -> None:
    recorder = desk.start("record", "--to", f"unix:{tmp_path}/s", "--wait=50", "--", triangle, "3")
    wait_for(lambda: _children(recorder.process.pid, "es2_triangle"))
    receiver, _ = desk.receiver(f"unix:{tmp_path}/s", "-o", "w.dtap")
    code, out, err = recorder.end()
    assert code == 0, err
    assert "3 frames" in out
    assert receiver.end()[0] == 0
    # Nobody comes: it runs, and what was not recorded is said and changes the exit code.
    code, out, err = desk.run("record", "--to", f"unix:{tmp_path}/none", "--wait=0.1", "--", triangle, "3")
    assert code == 1
    assert "3 frames" in out
    assert "and the program goes on" in err
    assert "no calls" in err
    # Nor without --wait: then nothing is started at all.
    code, out, err = desk.run("record", "--to", f"unix:{tmp_path}/none", "--", triangle, "3")
    assert (code, out) == (3, "")
    assert "there is no receiver" in err
    code, _, err = desk.run(
        "record", "--to", f"unix:{tmp_path}/none", "--wait=0.1", "--spill", "spilled.dtap", "--", triangle, "3"
    )
    assert code == 0
    assert "spilled.dtap: " in err


def test_a_receiver_connects_to_a_recorder_that_listens(desk: Desk, triangle: str, tmp_path: Path) -> None:
    listen = ("--listen", f"unix:{tmp_path}/s", "--wait=100")
    recorder = desk.start("record", *listen, "--", triangle, "3", DRAWTAP_TOKEN="a word")
    connect = ("receive", "--connect", f"unix:{tmp_path}/s", "-o", "c.dtap", "--json")
    for wrong, why in (("another", "the token is not the recorder's"), ("", "the recorder")):
        code, out, err = desk.run(*connect, DRAWTAP_TOKEN=wrong)
        assert code == 3 and why in err
    code, out, err = desk.run(*connect, DRAWTAP_TOKEN="a word")
    assert code == 0, err
    assert json.loads(out)[0]["state"] == "whole"
    assert recorder.end()[0] == 0


def test_several_programs_at_once_and_only_those_wanted(desk: Desk, triangle: str, noise: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    receiver, address = desk.receiver(f"unix:{tmp_path}/s", "-o", "in", "--keep", "--json")
    line = f"{triangle} 3 & {triangle} 4 & {noise} 5 & wait"
    recorder = desk.start("record", "--to", address, "--process", "es2_tri*", "--", "sh", "-c", line)
    code, out, err = recorder.end()
    assert code == 0, err
    assert "drawn" in out
    wait_for(lambda: len(list((tmp_path / "in").iterdir())) == 2)
    receiver.process.send_signal(signal.SIGINT)
    code, out, err = receiver.end()
    assert code == 0, err
    rows = json.loads(out)
    assert sorted(Path(r["file"]).name for r in rows) == ["es2_triangle-2.dtap", "es2_triangle.dtap"]
    assert {r["state"] for r in rows} == {"whole"}


def test_names_that_are_not_there_and_names_of_scripts(desk: Desk, triangle: str, tmp_path: Path) -> None:
    for more in ((), ("--ring", "5s")):
        line = ("record", *more, "--process", "es2-tri*", "-o", "none.dtap", "--", "sh", "-c", f"{triangle} 3 & wait")
        code, _, err = desk.run(*line)
        assert code == 0 and not list(tmp_path.glob("none*"))
        assert "--process left out every program that made graphics calls: es2_triangle" in err
        assert "called nothing" not in err and "was gone" not in err
    script = tmp_path / "a game with a long name"
    script.write_text(f"#!{sys.executable}\nimport ctypes\nctypes.CDLL('libEGL.so.1').eglGetDisplay(None)\n")
    script.chmod(0o755)
    code, _, err = desk.run("record", "--process", "a game with a long n?me", "-o", "s.dtap", "--", str(script))
    assert code == 0 and "1 call" in err


def test_a_killed_receiver_leaves_good_traces_on_both_sides(
    desk: Desk, noise: str, drawtap: Callable[..., Answer], tmp_path: Path
) -> None:
    frames = 400
    receiver, address = desk.receiver("tcp://127.0.0.1:0", "-o", "got.dtap")
    to = ("--to", address, "--spill", "rest.dtap", "--hash-frames")
    recorder = desk.start("record", *to, "--", noise, str(frames), "5000")
    wait_for(lambda: (tmp_path / "got.dtap").exists() and (tmp_path / "got.dtap").stat().st_size > 200_000)
    receiver.process.kill()
    code, out, err = recorder.end()
    assert (code, out) == (0, "drawn\n"), err
    assert "the receiver is gone" in err
    # All of it is somewhere; a chunk whose receipt was on its way may be in both.
    parts = [_count(drawtap, tmp_path / name, "glDrawArrays") for name in ("got.dtap", "rest.dtap")]
    assert min(parts) > 0
    assert sum(parts) >= 20 * frames
    assert "this is the rest of a recording" in drawtap("info", tmp_path / "rest.dtap").out
    assert drawtap("replay", tmp_path / "got.dtap").code == 0
    # Together, in any order, they are the recording that a file would have been: every call once, all of them played.
    for order in (("got.dtap", "rest.dtap"), ("rest.dtap", "got.dtap")):
        joined = drawtap(
            "join", *(tmp_path / name for name in order), "-o", tmp_path / "whole.dtap", "--force", "--json"
        )
        assert joined.code == 0, joined.err
        said = json.loads(joined.out)
        assert (said["renamed"], said["lost"], said["problems"]) == (0, 0, [])
        assert _count(drawtap, tmp_path / "whole.dtap", "glDrawArrays") == 20 * frames
        info = json.loads(drawtap("info", tmp_path / "whole.dtap", "--json").out)
        assert (info["frames"], info["threads"], info["problems"]) == (frames, 1, [])
        kinds = [note["kind"] for note in info["annotations"]]
        assert kinds.count("recording") == 1 and "continues" not in kinds
    played = drawtap("replay", tmp_path / "whole.dtap", "--verify", "--json")
    assert played.code == 0, played.out
    assert "skipped" not in drawtap("replay", tmp_path / "whole.dtap").out
    assert not list(tmp_path.glob("whole.dtap?*"))
    # What made and set everything is missing without the first part, and that is said.
    alone = drawtap("join", tmp_path / "rest.dtap", tmp_path / "rest.dtap", "-o", tmp_path / "alone.dtap")
    assert "whose beginning is not here" in alone.out


def test_a_killed_program_and_a_killed_drainer(
    desk: Desk, noise: str, drawtap: Callable[..., Answer], tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    receiver, address = desk.receiver(f"unix:{tmp_path}/s", "-o", "in", "--keep", "--json")
    recorder = desk.start("record", "--to", address, "--", noise, "0", "5000")
    first = tmp_path / "in/stream_frames.dtap"
    wait_for(lambda: first.exists() and first.stat().st_size > 100_000)
    (program,) = _children(recorder.process.pid, "stream_frames")
    (drainer,) = _children(recorder.process.pid, "drawtap-drain")
    os.kill(drainer, signal.SIGKILL)
    second = tmp_path / "in/stream_frames-2.dtap"
    wait_for(lambda: second.exists() and second.stat().st_size > 100_000)
    os.kill(program, signal.SIGKILL)
    assert recorder.end()[0] == 128 + signal.SIGKILL
    wait_for(lambda: b"DTAPEND\n" in second.read_bytes()[-8:])
    receiver.process.send_signal(signal.SIGTERM)
    code, out, err = receiver.end()
    assert code == 1, err  # one of them is torn
    rows = {Path(r["file"]).name: r for r in json.loads(out)}
    assert rows[first.name]["state"] == "torn"
    assert rows[second.name]["state"] == "whole"
    for trace in (first, second):
        assert _count(drawtap, trace, "glDrawArrays") > 0
        info = json.loads(drawtap("info", trace, "--json").out)
        assert (rows[trace.name]["calls"], rows[trace.name]["frames"]) == (info["calls"], info["frames"])
    joined = drawtap("join", first, second, "-o", tmp_path / "both.dtap")
    assert joined.code == 0, joined.out
    assert "not here" not in joined.out and "names of their own" not in joined.out
    played = drawtap("replay", tmp_path / "both.dtap")
    assert "calls without a context" not in played.out
    end = [a for a in json.loads(drawtap("info", second, "--json").out)["annotations"] if a["kind"] == "end"]
    assert end[0]["adopted"]
    assert end[0]["chunks_lost"] == 0


def _welcomed(listener: socket.socket) -> socket.socket:
    """Accept a recorder, and take nothing from it yet."""
    line, _ = listener.accept()
    size = struct.unpack_from("<II", line.recv(24), 12)
    line.recv(sum(size))
    line.sendall(struct.pack("<8sHHI", b"DTSTREAM", 2, 0, 2) + b"{}")
    return line


def _taken(line: socket.socket) -> bytes:
    """Take all that a recorder sends, to its end."""
    data = bytearray()
    with line, line.makefile("rb") as stream:
        while head := stream.read(8):
            kind, count = struct.unpack("<B3xI", head)
            content = stream.read(count)
            if kind == 2:
                data += content
                line.sendall(struct.pack("<B3xIQ", 6, 8, len(data)))
            elif kind == 4:
                break
    return bytes(data)


def test_a_program_waits_for_a_receiver_that_takes_nothing(
    desk: Desk, noise: str, drawtap: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = 800
    monkeypatch.setenv("XDG_RUNTIME_DIR", desk.environment["XDG_RUNTIME_DIR"])

    def done() -> int:
        """Return how many frames the program has drawn."""
        return sum(p.frames for p in control.programs())

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(LIMIT_S)
        recorder = desk.start("record", "--to", f"unix:{tmp_path}/s", "--buffer", "1M", "--", noise, str(frames))
        line = _welcomed(listener)
        seen = [-1]

        def stands_still() -> bool:
            time.sleep(0.5)
            seen.append(done())
            return len(set(seen[-3:])) == 1 and seen[-1] > 0

        wait_for(stands_still)
        assert seen[-1] < frames
        data = _taken(line)
    assert recorder.end()[0] == 0
    trace = tmp_path / "waited.dtap"
    trace.write_bytes(data)
    end = next(a for a in json.loads(drawtap("info", trace, "--json").out)["annotations"] if a["kind"] == "end")
    assert end.get("frames_dropped", 0) == 0
    assert _count(drawtap, trace, "eglSwapBuffers") == frames
    assert _count(drawtap, trace, "glDrawArrays") == 20 * frames


def test_frames_are_left_out_whole_and_that_is_said(
    desk: Desk, noise: str, drawtap: Callable[..., Answer], tmp_path: Path
) -> None:
    """A receiver that takes nothing until the program has drawn its last frame."""
    frames = 990  # so many chunks that one of them may begin with the note of such a frame
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(LIMIT_S)
        recorder = desk.start(
            *("record", "--to", f"unix:{tmp_path}/s", "--when-full", "drop-frames", "--buffer", "1M", "--hash-frames"),
            *("--", noise, str(frames)),
        )
        line = _welcomed(listener)
        assert recorder.process.stdout is not None
        assert recorder.process.stdout.readline() == "drawn\n"
        data = _taken(line)
    assert recorder.end()[0] == 0
    trace = tmp_path / "holes.dtap"
    trace.write_bytes(data)
    info = json.loads(drawtap("info", trace, "--json").out)
    end = next(a for a in info["annotations"] if a["kind"] == "end")
    dropped = end["frames_dropped"]
    assert 0 < dropped < frames
    assert end["draws_dropped"] == 20 * dropped
    assert _count(drawtap, trace, "glDrawArrays") == 20 * (frames - dropped)
    assert _count(drawtap, trace, "eglSwapBuffers") == _count(drawtap, trace, "glUniform4f") == frames
    # Frames are whole or without draws, and the recording has a note for each of these.
    table = json.loads(drawtap("frames", trace, "--json").out)
    draws = [f["draws"] for f in table][:frames]
    assert set(draws) == {0, 20}
    notes = drawtap("sql", trace, "SELECT text FROM notes WHERE code = 'frame-dropped'", "--json")
    numbers = [int(row["text"].split()[0]) - 1 for row in json.loads(notes.out)]
    assert numbers == [i for i, count in enumerate(draws) if count == 0]
    # All images can be compared but those of frames that have no draws here.
    played = drawtap("replay", trace, "--verify")
    assert played.code == 0, played.out
    compared, of = map(int, re.findall(r"(\d+) of (\d+) images", played.out)[0])
    assert compared == of >= frames - dropped
    assert f"not compared  {dropped} images and read-backs of frames whose draws" in played.out
    assert "were not recorded" in played.out


def test_uploads_are_left_out_where_they_are_what_is_heavy_and_whole_frames_come_back(
    desk: Desk, programs: Bench, drawtap: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that takes nothing at first, and then all; the program brings more than either can take."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", desk.environment["XDG_RUNTIME_DIR"])

    def seen() -> tuple[int, int]:
        """Return how many frames there were, and how many of them have no draws."""
        (program,) = control.programs() or [None]
        return (program.frames, program.frames_dropped) if program else (0, 0)

    def whole() -> int:
        frames, dropped = seen()
        return frames - dropped

    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as aside:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(LIMIT_S)
        program = str(programs.programs / "upload_frames")
        recorder = desk.start(
            "record", "--to", f"unix:{tmp_path}/s", "--when-full", "drop-frames", "--buffer", "2M", "--", program
        )
        line = _welcomed(listener)
        wait_for(lambda: seen()[1] > 50)
        before = whole()
        taken = aside.submit(_taken, line)
        wait_for(lambda: whole() > before + 10)
        (pid,) = _children(recorder.process.pid, "upload_frames")
        os.kill(pid, signal.SIGKILL)
        (tmp_path / "back.dtap").write_bytes(taken.result(LIMIT_S))
    assert recorder.end()[0] == 137
    info = json.loads(drawtap("info", tmp_path / "back.dtap", "--json").out)
    end = next(a for a in info["annotations"] if a["kind"] == "end")
    assert end["uploads_dropped"] > 0 and end["upload_bytes_dropped"] >= end["uploads_dropped"] * 16384
    assert end["calls_unrecorded"] == 0
    assert "uploads_dropped" in {problem["kind"] for problem in info["problems"]}
    played = drawtap("replay", tmp_path / "back.dtap")
    assert "was not recorded: the content is undefined" in played.out


def test_a_part_of_a_run(desk: Desk, noise: str, drawtap: Callable[..., Answer], tmp_path: Path) -> None:
    recorder = desk.start("record", "--paused", "-o", "part.dtap", "--", noise, "0", "20000")

    def programs(*action: str) -> list[dict[str, object]]:
        code, out, err = desk.run("trigger", *action, "--json")
        assert code == 0, err
        found = json.loads(out)
        assert isinstance(found, list)
        return found

    wait_for(lambda: programs())
    (program,) = programs()
    pid = str(program["pid"])
    assert (program["state"], program["calls"], program["trace"]) == ("paused", 0, None)
    programs("stream_fra*", "frames", "3")
    wait_for(lambda: programs(pid)[0]["calls"])
    (program,) = programs(pid)
    assert (program["state"], program["frames"], program["frames_left"]) == ("paused", 3, 0)
    programs(pid, "start")
    wait_for(lambda: int(str(programs(pid)[0]["frames"])) > 10)
    programs(pid, "stop")
    wait_for(lambda: programs(pid)[0]["state"] == "paused")
    frames = programs(pid)[0]["frames"]
    code, _, err = desk.run("trigger", "1", "start")
    assert code == 3
    assert pid in err
    code, _, err = desk.run("trigger", "nobody", "start")
    assert code == 3
    assert pid in err
    os.kill(int(pid), signal.SIGKILL)
    recorder.end()
    assert programs() == []
    trace = tmp_path / "part.dtap"
    table = json.loads(drawtap("frames", trace, "--json").out)
    assert len(table) == frames
    assert {f["draws"] for f in table} == {20}
    # The vertices in client memory are there: the arrays were asked of the driver when recording began.
    memory = drawtap("sql", trace, "SELECT min(n) AS n FROM (SELECT count(*) AS n FROM memory GROUP BY seq)", "--json")
    assert json.loads(memory.out)[0]["n"] >= 1
    notes = drawtap("sql", trace, "SELECT count(*) AS n FROM notes WHERE code = 'began-late'", "--json")
    # The second beginning is said, and the first unless it was asked for before the program's first call.
    assert json.loads(notes.out)[0]["n"] in (1, 2)
    played = drawtap("replay", trace)
    assert "recording began in the middle of the program" in played.out


def test_glmark2_over_a_stream_replays_exactly(desk: Desk, drawtap: Callable[..., Answer], tmp_path: Path) -> None:
    if shutil.which("glmark2-es2") is None:
        pytest.skip("glmark2-es2 is not installed")
    if "DISPLAY" not in desk.environment:
        pytest.skip("there is no X server")
    receiver, address = desk.receiver("tcp://127.0.0.1:0", "-o", "g.dtap")
    program = ("glmark2-es2", "--size", "64x64", "-b", "texture:nframes=3")
    code, _, err = desk.run("record", "--to", address, "--hash-frames", "--", *program, EGL_PLATFORM="x11")
    assert code == 0, err
    assert receiver.end()[0] == 0
    played = drawtap("replay", tmp_path / "g.dtap", "--verify")
    assert played.code == 0, played.out


def test_nothing_of_who_records_where_is_said_and_the_token_is_not_the_programs(
    desk: Desk, triangle: str, drawtap: Callable[..., Answer], tmp_path: Path
) -> None:
    show = tmp_path / "hidden folder" / "show"
    show.parent.mkdir()
    show.write_text(f'#!/bin/sh\nenv > "$1"\nexec {triangle} 3\n')
    show.chmod(0o755)
    # A link that stands where the file is to be: what it points to is left alone, and the file is its user's alone.
    (tmp_path / "other").write_text("mine")
    (tmp_path / "n.dtap").symlink_to(tmp_path / "other")
    line = ("--force", "-o", "n.dtap", "--identity", "none", "--", str(show), tmp_path / "said")
    code, _, err = desk.run("record", *line, DRAWTAP_TOKEN="a secret word")
    assert code == 0, err
    assert "secret" not in (tmp_path / "said").read_text()
    trace = tmp_path / "n.dtap"
    assert trace.stat().st_mode & 0o777 == 0o600 and not trace.is_symlink()
    assert (tmp_path / "other").read_text() == "mine"
    info = drawtap("info", trace, "--json").out
    notes = json.loads(info)["annotations"]
    words = json.dumps(notes)
    hidden = (socket.gethostname(), str(tmp_path), str(Path(triangle).parent), "EGL_PLATFORM", "command_line", "argum")
    for word in hidden:
        assert word not in words, word
    assert {n["program"] for n in notes if "program" in n} == {"show", "es2_triangle"}
    assert "hidden" not in drawtap("info", trace).out.replace(str(trace), "")
    # The word in the environment is good for a drainer that comes after the first, too.
    receiver, address = desk.receiver(f"unix:{tmp_path}/s", "-o", "t.dtap", DRAWTAP_TOKEN="a secret word")
    line = ("--to", address, "--", str(show), tmp_path / "said")
    code, _, err = desk.run("record", *line, DRAWTAP_TOKEN="a secret word")
    assert code == 0, err
    assert receiver.end()[0] == 0
    said = (tmp_path / "said").read_text()
    assert "secret" not in said and "DRAWTAP_TOKEN_FILE=" in said


@pytest.mark.parametrize("where", ["unix:s", "tcp://127.0.0.1:0"])
def test_a_recorder_with_a_token_sends_only_to_who_asks_for_it(where: str, desk: Desk, triangle: str) -> None:
    receiver, address = desk.receiver(where, "-o", "a.dtap")
    code, out, err = desk.run("record", "--to", address, "--", triangle, "1", DRAWTAP_TOKEN="word")
    assert (code, out) == (3, "") and "does not show that it knows the token" in err
    assert desk.run("record", "--to", address, "--", triangle, "1")[0] == 0
    assert receiver.end()[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_users_receiver_on_loopback_gets_nothing(desk: Desk, triangle: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    told, tell = os.pipe()
    child = os.fork()
    if not child:  # somebody who listens where a receiver was expected, and says yes to everybody
        try:
            os.setuid(65534)
            line, _ = listener.accept()
            size = struct.unpack_from("<II", line.recv(24, socket.MSG_WAITALL), 12)
            line.recv(sum(size), socket.MSG_WAITALL)
            line.sendall(struct.pack("<8sHHI", b"DTSTREAM", 2, 0, 2) + b"{}")
            line.settimeout(LIMIT_S)
            os.write(tell, b"%d" % len(line.recv(1000)))
        finally:
            os._exit(0)
    os.close(tell)
    port = listener.getsockname()[1]
    listener.close()
    code, out, err = desk.run("record", "--to", f"tcp://127.0.0.1:{port}", "--", triangle, "1")
    assert (code, out) == (3, "") and "it belongs to another user" in err
    os.waitpid(child, 0)
    assert os.read(told, 10) == b"0"
    os.close(told)


def test_addresses_beyond_this_machine_need_leave_and_a_token(desk: Desk, triangle: str) -> None:
    for command in (
        ("receive", "--listen", "tcp://0.0.0.0:0"),
        ("record", "--to", "tcp://192.0.2.1:9", "--", triangle),
    ):
        code, _, err = desk.run(*command)
        assert code == 2
        assert "--allow-remote" in err
        code, _, err = desk.run(command[0], "--allow-remote", *command[1:])
        assert code == 2
        assert "needs a token" in err
    for text in ("http://x:1", "tcp://:1", "tcp://h:99999", "unix:", "unix:" + "x" * 200):
        code, _, err = desk.run("record", "--to", text, "--", triangle)
        assert code == 2, text


def _children(pid: int, name: str) -> list[int]:
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            program = Path(f"/proc/{child}/exe").readlink().name
        except OSError:
            continue
        if program == name:
            found.append(int(child))
    return found
