"""Frames cut out of recordings of real programs draw the same pixels; what was done for nothing can go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap
from drawtap.analysis import extract, reduce, redundancy
from drawtap.replay import player
from drawtap.trace import graph as graphs
from drawtap.trace.core import Part, write
from drawtap.trace.graph import Graph, packed
from shared import SOFTWARE, run_drawtap, scenes

if TYPE_CHECKING:
    from conftest import Bench
    from drawtap.trace.graph import Calls, Stop
    from drawtap.trace.trace import Trace

pytestmark = pytest.mark.gl

OF_OPENGL = set(redundancy.KINDS) - {"unused object"}
# Program, a late frame, and the most of the calls up to there that may be kept.
PROGRAMS = {
    "ff_lit": (26, 0.1),
    "ff_lists": (27, 0.15),
    "ff_state": (25, 0.1),
    "between": (4, 0.3),
    "fragment_only": (2, 1.0),
    "fbo_chain": (23, 0.2),
    "transfers": (20, 0.25),
    "modern": (20, 0.6),
    "draw_over": (27, 0.45),
    "wasteful": (17, 0.1),
    "two_contexts": (16, 0.25),
    "es2_triangle": (17, 0.4),
    "client_arrays_es2": (0, 1.0),
    "client_arrays_gl1": (0, 1.0),
    "es1_cube": (4, 1.0),
    "maps": (0, 1.0),
    "mapped_frames 24": (22, 0.15),
    "mapped_frames 24 threads": (22, 0.15),
    "pixels": (0, 1.0),
    "egl_images": (4, 0.5),
    "threads_draw": (7, 0.4),
    "threads_draw 10 alone": (7, 0.5),
}
ARGUMENTS = {"es2_triangle": ["20"], "client_points": ["10000"]}


@pytest.fixture(scope="module", autouse=True)
def _player() -> None:
    player.program()


@pytest.fixture(scope="module", autouse=True)
def _software() -> None:
    os.environ.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")


@pytest.fixture(scope="module")
def recordings(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Record each program once, when it is asked for."""
    folder = tmp_path_factory.mktemp("recordings")

    class Recordings(dict[str, Path]):
        def __missing__(self, name: str) -> Path:
            self[name] = _record(programs, [*name.split(), *ARGUMENTS.get(name, [])], folder / f"{name}.dtap")
            return self[name]

    return Recordings()


def _record(bench: Bench, argv: list[str], trace: Path, *, program: str | None = None, late: bool = False) -> Path:
    # `late`: perhaps the program was stopped before its first call
    line = [program, *argv] if program else argv
    return bench.record(line, trace, "--hash-frames", window=program is not None, late=late)


def _hashes(trace: Path, *arguments: str) -> list[str]:
    played = player.play(trace, ["--hashes", *arguments], environment=SOFTWARE)
    return [played.hashes[frame] for frame in sorted(played.hashes)]


def _cut(recording: Path, output: Path, wish: extract.ExtractOptions, **ranges: str) -> extract.Cut:
    with drawtap.open(recording) as trace:
        return extract.Cutter(trace).cut(extract.target(trace, **ranges), output, wish)


def _certificate(path: Path) -> dict[str, object]:
    with drawtap.open(path) as trace:
        found = [json.loads(str(row["json"])) for row in trace.table("annotations") if row["kind"] == "certificate"]
    assert len(found) == 1
    return dict(found[0])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_cut_frame_is_the_same(name: str, recordings: Mapping[str, Path], tmp_path: Path) -> None:
    frame, most = PROGRAMS[name]
    out = tmp_path / "cut.dtap"
    cut = _cut(recordings[name], out, extract.ExtractOptions("llvmpipe"), frames=str(frame))
    assert cut.equal
    # Not by its own word: the image of the whole recording, and that of the new file.
    whole = _hashes(recordings[name], "--frames", f"{frame}:{frame + 1}")
    assert _hashes(out)[-1:] == whole
    # All that it names is made in it: other names do as well.
    assert _hashes(out, "--shift-names")[-1:] == whole
    assert cut.share <= most
    if name == "between":  # a full turn is one
        with drawtap.open(out) as trace:
            turns = [float(str(angle)) for (angle,) in trace.sql("SELECT angle FROM glRotatef ORDER BY seq")]
        assert turns[-2:] == [30.0, -360.0]
    assert not cut.added, [str(call) for call in cut.certificate["added"]]  # type: ignore[union-attr]
    certificate = _certificate(out)
    assert certificate["images"] == whole
    assert certificate["file"]["equal"] is True  # type: ignore[index]
    assert certificate["file"]["recorded_images_different"] == 0  # type: ignore[index]


def test_only_what_a_cut_is_to_show_is_held_against_the_program(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    """A wait that has to stay had seen what was wiped out later: that image is nothing that the cut promises."""
    recording = recordings["two_contexts 20 waits"]
    ends = {}
    with drawtap.open(recording) as trace:
        ends = dict(enumerate(_ends(trace)))
    for ranges, frames in (({"frames": "16"}, [16]), ({"frames": "15:17"}, [15, 16]), ({"draws": "30"}, [])):
        out = tmp_path / "cut.dtap"
        cut = _cut(recording, out, extract.ExtractOptions("llvmpipe"), **ranges)
        assert cut.equal
        assert not cut.added
        kept = np.flatnonzero(cut.keep)
        if frames:
            assert kept[-1] == ends[frames[-1]]  # what flushes later, nobody waits for
        with drawtap.open(out) as trace:
            assert list(trace.sql("SELECT seq FROM glFinish")), "no wait was kept: this shows nothing"
        played = player.play(out, ["--verify"], environment=SOFTWARE)
        assert (played.compared, played.different) == (len(frames), 0)
    lean = tmp_path / "lean.dtap"
    with drawtap.open(recording) as trace:
        assert redundancy.simplify(trace, lean, on="llvmpipe").equal
    played, whole = (player.play(path, ["--verify"], environment=SOFTWARE) for path in (lean, recording))
    assert (whole.compared - played.compared, played.different) == (20, 0)  # all but what the waits had seen


def test_a_cut_is_held_against_what_the_program_showed(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    # A recording that plays otherwise than the program drew: another color in one call.
    changed, out = tmp_path / "changed.dtap", tmp_path / "cut.dtap"
    with drawtap.open(recordings["between"]) as trace:
        colors = trace.sql("SELECT seq FROM glColor3f WHERE red = 1.0 AND green = 1.0 AND blue = 1.0 ORDER BY seq")
        seqs = [int(str(seq)) for (seq,) in colors]
    edited = _drawtap("edit", str(recordings["between"]), "-o", str(changed), *_set(seqs, "green = 0.5"))
    assert edited.returncode == 0, edited.stderr
    done = _drawtap("extract", str(changed), "--frames", "4", "--on", "llvmpipe", "-o", str(out))
    assert done.returncode == 1, done.stdout
    assert "1 of 1 images are not what the program showed, on the same engine" in done.stdout
    assert _certificate(out)["file"]["recorded_images_different"] == 1  # type: ignore[index]
    done = _drawtap("extract", str(changed), "--frames", "4", "--on", "softpipe", "-o", str(out), "--force")
    assert done.returncode == 0, done.stdout
    assert "it drew on another engine" in done.stdout
    done = _drawtap("extract", str(recordings["between"]), "--frames", "4", "-o", str(out), "--force")
    assert done.returncode == 0, done.stdout
    assert "1 of 1 images are what the program showed" in done.stdout


def _set(seqs: list[int], value: str) -> list[str]:
    return [word for seq in seqs for word in ("--set", f"{seq} {value}")]


def test_what_a_draw_reads_of_client_memory_stays_with_it(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    # The recorder notes it before the draw, now and then at the very end of one of the file's chunks: it must not go
    # with the call before.
    recording = recordings["client_points"]
    cut = _cut(recording, tmp_path / "cut.dtap", extract.ExtractOptions("llvmpipe"), frames="0")
    assert cut.equal
    assert not cut.added
    with drawtap.open(recording) as trace:
        asked = [int(str(seq)) for (seq,) in trace.sql("SELECT seq FROM calls WHERE name = 'glGetError'")]
    assert len(asked) == 10000
    assert not cut.keep[asked].any()


def test_several_frames(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "cut.dtap"
    cut = _cut(recordings["fbo_chain"], out, extract.ExtractOptions("llvmpipe"), frames="12:15")
    assert cut.equal
    assert _hashes(out) == _hashes(recordings["fbo_chain"], "--frames", "12:15")
    with drawtap.open(out) as trace:
        assert len(trace.frames) == 3


def test_draws_calls_and_times(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    recording, out = recordings["fbo_chain"], tmp_path / "cut.dtap"
    cut = _cut(recording, out, extract.ExtractOptions("llvmpipe"), draws="30:32")
    assert cut.equal
    with drawtap.open(recording) as trace:
        draws = [int(str(s)) for (s,) in trace.sql("SELECT seq FROM glDrawArrays ORDER BY seq")]
    assert cut.keep[draws[30]]
    assert cut.keep[draws[31]]
    assert cut.kept < cut.before / 2
    cut = _cut(recording, out, extract.ExtractOptions("llvmpipe"), calls=f"{draws[31] - 4}:{draws[31] + 1}")
    assert cut.equal
    with drawtap.open(recording) as trace:
        rows = trace.table("frames")
        zero = int(str(rows[0]["t_start"]))
        ends = [(int(str(r["t_end"])) - zero) / 1e9 for r in rows]
    between = f"{(ends[9] + ends[10]) / 2:.9f}:{(ends[11] + ends[12]) / 2:.9f}"
    cut = _cut(recording, out, extract.ExtractOptions("llvmpipe"), time_range=between)
    assert _hashes(out) == _hashes(recording, "--frames", "11:12") or len(_hashes(out)) == 2
    assert cut.equal


# Gears draw for as long as a busy machine needs for ten frames, which may be thousands: make test has one that ends.
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        pytest.param("glxgears", [], marks=pytest.mark.exhaustive),
        pytest.param("es2gears_x11", [], marks=pytest.mark.exhaustive),
        pytest.param(
            "glmark2-es2",
            scenes("160x120", "desktop:effect=shadow:nframes=20", "terrain:nframes=8"),
            marks=pytest.mark.exhaustive,
        ),
        ("glmark2", scenes("160x120", "desktop:effect=blur:nframes=20", "buffer:nframes=20:columns=20")),
    ],
)
def test_frames_of_programs(program: str, arguments: list[str], programs: Bench, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    frames = 0
    for seconds in (1, 4, 16, 64):  # one that never ends is stopped when it has shown something
        command = [program, *arguments] if arguments else ["timeout", str(seconds), program]
        late = not arguments and seconds < 64
        recording = _record(programs, command[1:], tmp_path / f"t{seconds}.dtap", program=command[0], late=late)
        if not recording.exists():
            continue
        with drawtap.open(recording) as trace:
            frames = sum(row["end_function"] is not None for row in trace.table("frames"))
        if arguments or frames >= 10:
            break
    assert frames >= 8
    with drawtap.open(recording) as trace:
        frame = frames * 9 // 10
        cut = extract.Cutter(trace).cut(
            extract.target(trace, frames=str(frame)), tmp_path / "c.dtap", extract.ExtractOptions()
        )
    assert cut.equal
    assert not cut.added, [str(call) for call in cut.certificate["added"]]  # type: ignore[union-attr]
    assert cut.share < 0.5 or cut.before < 4000  # of a program that came to few frames, most is what it begins with
    assert _hashes(tmp_path / "c.dtap") == _hashes(recording, "--frames", f"{frame}:{frame + 1}")


def _ends(trace: Trace) -> list[int]:
    return [int(str(row["end_seq"])) - 1 for row in trace.table("frames") if row["end_function"]]


class _Ignorant:
    """A graph that knows of no needs at all: what is missing has to be found by comparing."""

    def __init__(self, trace: Trace, *, lean: bool = True, stop: Stop | None = None) -> None:
        self._known = Graph(trace, lean=lean, stop=stop)
        self.calls, self.flags = self._known.calls, self._known.flags
        self.frame_roots = self._known.frame_roots
        self.last_draw = self._known.last_draw
        self.map_writes, self.part = self._known.map_writes, self._known.part
        self.close = self._known.close

    def crossed(self, roots: object) -> list[int]:
        return []

    def closure(self, roots: object, without: Calls | None = None, fresh: object = ()) -> Calls:
        keep = np.zeros(self.calls, np.bool_)
        keep[np.asarray(roots, np.int64)] = True
        return keep if without is None else keep & ~without


def _plan_with(monkeypatch: pytest.MonkeyPatch, graph: type) -> None:
    """Make recordings, and cuts that need a graph with all edges, plan with `graph`."""
    monkeypatch.setattr("drawtap.trace.graph.Graph", graph)
    monkeypatch.setattr(extract, "Graph", graph)


@pytest.mark.exhaustive  # make test has the searches for one call, and with few trials
def test_what_the_graph_misses_is_found(
    recordings: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plan_with(monkeypatch, _Ignorant)
    out = tmp_path / "cut.dtap"
    cut = _cut(recordings["draw_over"], out, extract.ExtractOptions("llvmpipe"), frames="2")
    assert cut.equal
    assert len(cut.added) > 5
    assert cut.certificate["added_calls"] == len(cut.added)
    assert _hashes(out) == _hashes(recordings["draw_over"], "--frames", "2:3")
    with drawtap.open(recordings["draw_over"]) as trace:
        assert "glLinkProgram" in {trace.calls[seq].name for seq in cut.added}


def test_what_a_driver_remembers_of_a_first_call_is_found_first(
    recordings: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drawtap.open(recordings["draw_over"]) as trace:
        missing = min(int(str(seq)) for (seq,) in trace.sql("SELECT seq FROM glUniform4f"))
        assert trace.calls[missing].name == "glUniform4f"

    class Overlooks(Graph):
        def closure(self, *arguments: object, **more: object) -> Calls:
            keep = super().closure(*arguments, **more)  # type: ignore[arg-type]
            keep[missing] = False
            return keep

    _plan_with(monkeypatch, Overlooks)
    lines: list[str] = []
    with drawtap.open(recordings["draw_over"]) as trace:
        wanted = extract.target(trace, frames="0")
        cutter = extract.Cutter(trace, on_line=lines.append)
        cut = cutter.cut(wanted, tmp_path / "cut.dtap", extract.ExtractOptions("llvmpipe"))
    assert cut.equal
    assert missing in cut.added
    assert len(cut.added) <= 3  # with what it needs
    assert lines[1] == "the images are right with the first call of each function: which of them are needed?"


def test_a_search_that_may_try_little_ends_with_an_equal_cut(
    recordings: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plan_with(monkeypatch, _Ignorant)
    monkeypatch.setattr(extract, "_MOST_TRIALS", 6)
    out = tmp_path / "cut.dtap"
    cut = _cut(recordings["draw_over"], out, extract.ExtractOptions("llvmpipe"), frames="2")
    assert cut.equal
    assert cut.certificate["replays"] <= 12
    said = cut.certificate["search"]
    assert isinstance(said, list)
    assert any("ended after" in str(line) and "all draws" in str(line) for line in said), said
    assert _hashes(out)[-1:] == _hashes(recordings["draw_over"], "--frames", "2:3")


def test_a_minimal_cut_has_nothing_to_spare(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    # `python -m bench --only extract` does it for recordings of every kind.
    name, frame, out = "wasteful", 2, tmp_path / "cut.dtap"
    wish = extract.ExtractOptions("llvmpipe", minimize=True, seconds=3600)
    cut = _cut(recordings[name], out, wish, frames=str(frame))
    assert cut.equal
    assert cut.reduction is not None
    assert cut.reduction.minimal
    image = _hashes(recordings[name], "--frames", f"{frame}:{frame + 1}")
    assert _hashes(out) == image
    # Every array, image and source of the cut is needed: without the call that brings it the image is another one.
    with drawtap.open(out) as trace:
        calls = len(trace.calls)
        brought = [
            int(str(seq))
            for seq, name, count in trace.sql("SELECT seq, name, payload_bytes FROM calls WHERE payload_bytes > 0")
            if str(name).startswith("gl") and int(str(count)) >= 8 and "Gen" not in str(name)
        ]
    assert brought
    bits = tmp_path / "bits"
    for seq in brought:
        keep = np.ones(calls, np.bool_)
        keep[seq] = False
        packed(keep).tofile(bits)
        played = player.play(out, ["--hashes", "--errors", "--keep", str(bits)], environment=SOFTWARE)
        broke = any(f.what in ("gl-error", "skipped", "argument") for f in played.findings)
        assert broke or list(played.hashes.values()) != image, f"call {seq} of {out} is not needed"


@pytest.mark.exhaustive
def test_other_oracles(recordings: Mapping[str, Path], programs: Bench, tmp_path: Path) -> None:
    out = tmp_path / "cut.dtap"
    # A command: the wiped-out draw of frame 3 must still be there.
    script = tmp_path / "oracle.sh"
    question = "SELECT count(*) AS n FROM calls WHERE name = 'glDrawArrays'"
    script.write_text(f'{sys.executable} -m drawtap sql "$1" "{question}" --json | grep -q \'"n": [1-9]\'\n')
    wish = extract.ExtractOptions("llvmpipe", minimize=True, oracle=f"sh {script} {{}}", seconds=120)
    cut = _cut(recordings["wasteful"], out, wish, frames="0")
    with drawtap.open(out) as trace:
        names = [call.name for call in trace.calls]
    assert names.count("glDrawArrays") == 1
    assert not any(name.startswith(("glClear", "glTex", "glUniform")) for name in names)  # but a context it still needs
    assert cut.certificate["oracle"] == wish.oracle
    # Two engines that differ go on to differ.
    wish = extract.ExtractOptions("llvmpipe", minimize=True, oracle="engines=llvmpipe,softpipe", seconds=60)
    cut = _cut(recordings["client_arrays_gl1"], out, wish, frames="0")
    assert cut.kept < cut.before
    images = [
        player.play(out, ["--hashes"], environment={**SOFTWARE, "GALLIUM_DRIVER": driver}).hashes
        for driver in ("llvmpipe", "softpipe")
    ]
    assert images[0] != images[1]


def test_a_gl_error_is_an_oracle(programs: Bench, tmp_path: Path) -> None:
    recording = _record(programs, ["draw_over", "4"], tmp_path / "t.dtap")
    with drawtap.open(recording) as trace:
        calls = len(trace.calls)
        (use,) = (int(str(seq)) for (seq,) in trace.sql("SELECT seq FROM glUseProgram"))
        keep = np.ones(calls, np.bool_)
        keep[use] = False  # from here on uniforms have no program
        broken = tmp_path / "broken.dtap"
        write([Part(trace.core, keep=packed(keep).tobytes())], broken)
    out = tmp_path / "cut.dtap"
    cut = _cut(
        broken, out, extract.ExtractOptions("llvmpipe", minimize=True, oracle="gl-error", seconds=60), frames="1"
    )
    played = player.play(out, ["--errors"], environment=SOFTWARE)
    assert [f.function for f in played.findings if f.what == "gl-error"] == ["glUniform3f"]
    assert cut.kept < 10


def test_equal_images_of_nothing_are_said(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    with drawtap.open(recordings["es2_triangle"]) as trace:
        clear = trace.sql("SELECT min(seq) FROM calls WHERE name = 'glClear'").fetchall()[0][0]
    for calls, nothing in ((str(clear - 1), True), (str(clear), False)):
        done = _drawtap(
            "extract", str(recordings["es2_triangle"]), "--calls", calls, "-o", str(tmp_path / f"{calls}.dtap")
        )
        assert "1 of 1 images are the same" in done.stdout, done.stderr
        assert ("nothing: no call draws into" in done.stdout) is nothing


def test_compare_and_simplify_say_where_nothing_is_drawn(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    """A program that draws into framebuffers of its own alone has windows that are always equal."""
    whole, hidden = recordings["fbo_chain"], tmp_path / "hidden.dtap"
    with drawtap.open(whole) as trace:
        keep = np.ones(len(trace.calls), np.bool_)
        keep[[seq for (seq,) in trace.sql("SELECT seq FROM draws WHERE framebuffer = 0").fetchall()]] = False
        write([Part(trace.core, keep=packed(keep).tobytes())], hidden)
    for recording, nothing in ((whole, False), (hidden, True)):
        compared = _drawtap("compare", str(recording), str(recording), "--on", "llvmpipe", "--frames", "0:2")
        lean = str(tmp_path / f"{recording.stem}-lean.dtap")
        simplified = _drawtap("simplify", str(recording), "-o", lean, "--on", "llvmpipe")
        for done in (compared, simplified):
            assert done.returncode == 0, done.stderr
            assert ("nothing: no call draws into the framebuffer that is shown" in done.stdout) is nothing, done.stdout


def test_not_verified_is_said(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "cut.dtap"
    cut = _cut(recordings["wasteful"], out, extract.ExtractOptions("llvmpipe", verify=False), frames="5")
    assert cut.verified == "no"
    certificate = _certificate(out)
    assert certificate["verified"] == "no"
    assert "images" not in certificate


def test_whoever_gets_a_cut_can_check_it(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    whole, out, lean = recordings["wasteful"], tmp_path / "cut.dtap", tmp_path / "lean.dtap"
    _cut(whole, out, extract.ExtractOptions("llvmpipe"), frames="5:7")
    done = _drawtap("verify", str(out), "--source", str(whole), "--on", "llvmpipe", "--json")
    assert done.returncode == 0, done.stdout
    assert [c["holds"] for c in json.loads(done.stdout)["checks"]] == [True] * 4
    with drawtap.open(whole) as trace:
        redundancy.simplify(trace, lean, on="llvmpipe")
    done = _drawtap("verify", str(lean), "--on", "llvmpipe")
    assert done.returncode == 0, done.stdout
    assert "20 images are those that the certificate names" in done.stdout
    # Somebody changed it, or the certificate is about another file.
    changed = tmp_path / "changed.dtap"
    assert _drawtap("edit", str(out), "--set", "glClearColor red = 0.9", "-o", str(changed)).returncode == 0
    done = _drawtap("verify", str(changed), "--on", "llvmpipe", "--json")
    assert done.returncode == 1
    assert {c["what"]: c["holds"] for c in json.loads(done.stdout)["checks"]} == {
        "calls": True, "untouched": False, "images": False,
    }  # fmt: skip
    done = _drawtap("verify", str(out), "--source", str(lean), "--on", "llvmpipe")
    assert done.returncode == 1
    assert "SHA-256" in done.stdout
    # Without a certificate it is played, and compared with itself; a source has nothing to be held against.
    done = _drawtap("verify", str(whole), "--on", "llvmpipe")
    assert done.returncode == 0
    assert "compared" in done.stdout
    done = _drawtap("verify", str(whole), "--source", str(out))
    assert done.returncode == 2
    assert "no certificate" in done.stderr


# ---- what was done for nothing --------------------------------------------------------------------------------------


def test_waste_is_told(recordings: Mapping[str, Path]) -> None:
    with drawtap.open(recordings["wasteful"]) as trace:
        frames = len(trace.frames)
        by_kind = {str(row["kind"]): row for row in redundancy.account(trace, "kind")}
        by_function = {str(row["name"]): row for row in redundancy.account(trace, "function")}
        by_frame = redundancy.account(trace, "frame")
        of_kind: dict[str, dict[str, int]] = {kind: {} for kind in redundancy.KINDS}
        query = "SELECT kind, name, count(*) FROM redundancy JOIN calls USING (seq) GROUP BY ALL"
        for kind, name, count in trace.sql(query):
            of_kind[str(kind)][str(name)] = int(str(count))
    assert set(by_kind) == OF_OPENGL
    # Every frame after the first: the same buffer and the same part of an image.
    repeated = of_kind["repeated upload"]
    assert repeated["glBufferData"] == frames - 1
    assert repeated["glTexSubImage2D"] == frames - 1
    # Every frame: an image that nothing reads, and the one at the start.
    assert of_kind["unused upload"]["glTexImage2D"] == frames + 1
    # Every frame: a pass nobody looks at, and a draw that is wiped out.
    assert of_kind["unseen draw"] == {"glDrawArrays": 2 * frames, "glClear": frames}
    assert by_function["glDrawArrays"]["share"] == pytest.approx(2 / 3)
    assert int(str(by_kind["unused upload"]["bytes"])) >= frames * 4096
    assert len(by_frame) == frames
    assert of_kind["same value"]["glUseProgram"] == frames - 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["wasteful", "ff_lit", "ff_lists", "fbo_chain", "transfers", "modern", "two_contexts"])
def test_simpler_and_the_same(name: str, recordings: Mapping[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "lean.dtap"
    with drawtap.open(recordings[name]) as trace:
        done = redundancy.simplify(trace, out, on="llvmpipe")
    assert done.equal
    assert done.put_back == 0
    assert _hashes(out) == _hashes(recordings[name])
    played = player.play(out, ["--verify"], environment=SOFTWARE)
    assert played.different == 0
    assert _certificate(out)["what"] == "simplify"
    if name == "wasteful":
        assert done.kept < 0.5 * done.calls
        with drawtap.open(out) as trace:  # what only now does nothing
            assert {row["kind"] for row in redundancy.account(trace, "kind")} <= {"same value", "unread state"}


def test_a_call_that_matters_is_put_back(
    recordings: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drawtap.open(recordings["draw_over"]) as trace:
        draws = [int(str(s)) for (s,) in trace.sql("SELECT seq FROM glDrawArrays ORDER BY seq")]

        class Wrong(Graph):
            def waste(self, *, answers: bool = False) -> np.ndarray:
                found = super().waste(answers=answers)
                found[draws[3]] = 4
                return found

        monkeypatch.setattr("drawtap.trace.graph.Graph", Wrong)
        done = redundancy.simplify(trace, tmp_path / "lean.dtap", on="llvmpipe")
    assert done.put_back == 1
    assert done.equal


def test_many_calls_that_matter_are_found_by_halves(
    recordings: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drawtap.open(recordings["ff_lit"]) as trace:
        wrong = [int(str(s)) for (s,) in trace.sql("SELECT seq FROM glRotatef ORDER BY seq")]

        class Wrong(Graph):
            def waste(self, *, answers: bool = False) -> np.ndarray:
                found = super().waste(answers=answers)
                found[wrong] = 5
                return found

        asked = []
        holds = reduce.SamePixels.holds
        monkeypatch.setattr(reduce.SamePixels, "holds", lambda self, keep: asked.append(1) or holds(self, keep))
        monkeypatch.setattr("drawtap.trace.graph.Graph", Wrong)
        done = redundancy.simplify(trace, tmp_path / "lean.dtap", on="llvmpipe")
    assert len(wrong) > 100
    assert done.equal
    assert 0 < done.put_back <= len(wrong)
    assert done.kept < done.calls
    assert len(asked) < len(wrong) / 2


# ---- the graph -------------------------------------------------------------------------------------------------------


def test_what_frames_leave_to_each_other(recordings: Mapping[str, Path]) -> None:
    with drawtap.open(recordings["fbo_chain"]) as trace:
        graph = Graph(trace)
        ends = _ends(trace)
        draws = {frame: [] for frame in range(30)}
        for seq, frame in trace.sql("SELECT seq, frame FROM glDrawArrays"):
            draws[int(str(frame))].append(int(str(seq)))
        painted = [(graphs.EVERYWHERE, graphs.ALWAYS)]  # each frame paints its targets wholly
        needed = graph.closure(graph.frame_roots(range(23, 24)), fresh=painted)
    kept = {frame: int(sum(needed[seq] for seq in seqs)) for frame, seqs in draws.items()}
    # The trail begins anew in frame 16: of each frame since then it needs what goes into the trail, of this one all but
    # the pass that nobody reads.
    assert all(kept[frame] == 0 for frame in range(16))
    assert all(0 < kept[frame] <= 2 for frame in range(16, 23))
    assert kept[23] == len(draws[23]) - 1
    assert not needed[ends[22]]
    assert graph.flags[ends[22]] & graphs.SHOWS


# ---- the commands ----------------------------------------------------------------------------------------------------


def _drawtap(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return run_drawtap(*arguments, environment={**environment, **SOFTWARE})


def test_commands(recordings: Mapping[str, Path], tmp_path: Path) -> None:
    recording, out = str(recordings["wasteful"]), tmp_path / "cut.dtap"
    done = _drawtap("extract", recording, "--frames", "9", "-o", str(out), "--on", "llvmpipe")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 images are the same, pixel for pixel" in done.stdout
    done = _drawtap("extract", recording, "--frames", "9", "-o", str(out))
    assert done.returncode == 2
    assert "--force" in done.stderr
    for wrong in (
        ["--frames", "99"],
        ["--frames", "5:2"],
        [],
        ["--frames", "1", "--calls", "2"],
        ["--oracle", "gl-error", "--frames", "1"],
    ):
        done = _drawtap("extract", recording, *wrong, "-o", str(tmp_path / "no.dtap"))
        assert done.returncode == 2, wrong
        assert not (tmp_path / "no.dtap").exists()
    done = _drawtap("simplify", recording, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert {row["kind"] for row in json.loads(done.stdout)} == OF_OPENGL
    done = _drawtap("simplify", recording, "-o", str(tmp_path / "lean.dtap"), "--on", "llvmpipe")
    assert done.returncode == 0, done.stderr
    assert "all 20 frames are the same" in done.stdout
