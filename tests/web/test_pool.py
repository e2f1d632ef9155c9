"""Parked players: what they show is what playing every call shows, and a step costs the frame."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import drawtap
from drawtap.analysis.pictures import shrunk
from drawtap.errors import UsageError
from drawtap.replay.compare import decode_attachment
from drawtap.replay.place import Place
from drawtap.replay.pool import Pool, SupersededError
from drawtap.replay.warm import Warm
from drawtap.trace.library import Cancelled
from drawtap.web.pictures import Pictures
from drawtap.web.recording import Recording
from drawtap.web.small import Small
from drawtap.web.strip import Strip
from web.conftest import headed


def _shot(folder: Path, seq: int):
    def question(player: Warm):
        file = folder / "picture.rgba"
        return player.image(seq, file) or file.read_bytes()

    return question


def _ready(pool: Pool, seq: int, folder: Path) -> None:
    # The first question begins the graph; until it is there every call is played.
    pool.ask(seq, _shot(folder, seq))
    assert pool._making is not None
    pool._making.join()


@pytest.mark.parametrize("name", ["fbo_chain", "pipeline"])
def test_every_draw_of_a_cut_is_as_if_every_call_were_played(recordings, tmp_path, name):
    with drawtap.open(recordings / f"{name}.dtap") as trace:
        draws = [(seq, frame) for seq, frame in trace.sql("SELECT seq, frame FROM draws ORDER BY seq").fetchall()]
        frames = sorted({frame for _, frame in draws})
        chosen = {frames[0], frames[len(frames) // 2], frames[-1]}
        pool, plain = Pool(trace), Warm(trace.path)
        try:
            _ready(pool, draws[0][0], tmp_path)
            cuts = 0
            for seq, frame in draws:
                if frame in chosen:
                    picture, served = pool.ask(seq, _shot(tmp_path, seq))
                    assert picture == _shot(tmp_path, seq)(plain), seq
                    cuts += served.cut
            assert cuts
        finally:
            pool.close()
            plain.close()


def test_steps_back_start_no_player_anew_and_play_no_more_than_the_frame(recordings, tmp_path, monkeypatch):
    started = []
    begin = Warm._start
    monkeypatch.setattr(Warm, "_start", lambda self: (started.append(self), begin(self))[1])
    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        frame = len(trace.frames) - 2
        draws = [s for (s,) in trace.sql(f"SELECT seq FROM draws WHERE frame = {frame} ORDER BY seq DESC").fetchall()]
        pool = Pool(trace)
        try:
            _ready(pool, draws[0], tmp_path)
            kept = 0
            for seq in draws[:6]:
                _, served = pool.ask(seq, _shot(tmp_path, seq))
                assert served.cut
                kept = served.calls
                cut = pool._cut
                assert cut is not None
                assert cut._parking is not None
                cut._parking.join()
            begun = [player for player in started if player._keep is not None and not player._nice]
            assert len(begun) <= len(draws[:6]) + 1  # the first one, and one parked for each step
            assert all(player.starts == 1 for player in begun)
            assert kept < len(trace.calls)
        finally:
            pool.close()


def test_players_and_findings_have_one_graph(recordings, tmp_path, monkeypatch):
    from drawtap.trace.graph import Graph

    made = []
    begin = Graph.__init__
    monkeypatch.setattr(Graph, "__init__", lambda self, of, **more: (made.append(of), begin(self, of, **more))[1])
    recording = Recording(recordings / "fbo_chain.dtap")
    try:
        recording.time.looked(findings=True)
        _ready(recording.pool, 0, tmp_path)
        recording.time._jobs["findings"].join()
        assert recording.time.tracks.notes == []
        with recording.lent() as trace, recording.lent() as other:
            assert trace.graph is other.graph is recording.pool._graph
        assert len(made) == 1
    finally:
        recording.close()


def test_a_cut_is_proved_against_the_whole_recording(recordings, tmp_path):
    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE frame = 5").fetchall()[0][0]
        pool = Pool(trace)
        try:
            _ready(pool, seq, tmp_path)
            _, served = pool.ask(seq, _shot(tmp_path, seq))
            end = time.monotonic() + 60
            while served.proof == "unknown" and time.monotonic() < end:
                time.sleep(0.05)
            assert served.proof == "equal"
        finally:
            pool.close()


def test_a_cut_that_draws_something_else_does_not_serve(recordings, tmp_path, monkeypatch):
    from drawtap.trace.graph import Graph

    whole = Graph.closure
    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE frame = 5").fetchall()[0][0]
        first = trace.frames[5].first_seq

        def broken(self, roots, *rest):
            keep = whole(self, roots, *rest)
            for (call,) in trace.sql(f"SELECT seq FROM draws WHERE seq >= {first}").fetchall():
                keep[call] = False
            return keep

        monkeypatch.setattr(Graph, "closure", broken)
        pool, plain = Pool(trace), Warm(trace.path)
        try:
            _ready(pool, seq, tmp_path)
            pictures = Pictures(pool, lambda seq: [seq], Place)
            *_, served = pictures.attachments(seq)
            end = time.monotonic() + 60
            while served.proof == "unknown" and time.monotonic() < end:
                time.sleep(0.05)
            assert served.proof == "differs"
            *_, served = pictures.attachments(seq)  # what was kept of the cut is forgotten
            assert not served.cut
            picture, served = pool.ask(seq, _shot(tmp_path, seq))
            assert not served.cut
            assert picture == _shot(tmp_path, seq)(plain)
        finally:
            pool.close()
            plain.close()


def test_the_newest_question_is_served(recordings, tmp_path):
    import threading

    from drawtap.replay.pool import SupersededError

    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM draws ORDER BY seq").fetchall()]
        pool = Pool(trace)
        holds, goes = threading.Event(), threading.Event()
        answers: list[object] = []

        def slow(player: Warm):
            holds.set()
            assert goes.wait(60)
            return "slow"

        def asked(seq, question):
            try:
                answers.append(pool.ask(seq, question)[0])
            except SupersededError:
                answers.append("superseded")

        try:
            first = threading.Thread(target=asked, args=(draws[0], slow))
            first.start()
            assert holds.wait(60)
            second = threading.Thread(target=asked, args=(draws[1], lambda player: "second"))
            second.start()
            while pool._newest < 2:
                time.sleep(0.01)
            third = threading.Thread(target=asked, args=(draws[2], lambda player: "third"))
            third.start()
            while pool._newest < 3:
                time.sleep(0.01)
            goes.set()
            for thread in (first, second, third):
                thread.join()
            assert sorted(map(str, answers)) == ["slow", "superseded", "third"]
        finally:
            pool.close()


def test_pictures_of_steps_back_are_there_before_they_are_wanted(recordings, tmp_path, monkeypatch):
    asked = []
    ask = Pool.ask
    monkeypatch.setattr(
        Pool, "ask", lambda self, seq, *rest, **more: (asked.append(seq), ask(self, seq, *rest, **more))[1]
    )
    recording = Recording(recordings / "fbo_chain.dtap")
    try:
        rows = recording.trace.sql("SELECT seq FROM draws WHERE frame = 7 ORDER BY seq DESC").fetchall()
        draws = [seq for (seq,) in rows]
        assert len(draws) > 5
        recording.pictures.attachments(draws[0])
        assert recording.pool._making is not None
        recording.pool._making.join()
        recording.pictures._kept.clear()
        recording.pictures.attachments(draws[0])
        assert recording.pool._cut is not None
        cut = recording.pool._cut
        asked.clear()
        pictures = {}
        for seq in draws[1:]:
            assert cut._parking is not None
            cut._parking.join()
            pictures[seq], _, served = recording.pictures.attachments(seq)
            assert served.cut
            if recording.pictures._foreseeing is not None:
                recording.pictures._foreseeing.join()
        assert asked == [draws[1]]
        with Warm(recording.path) as plain:
            for seq in reversed(draws[1:]):
                paths, _ = plain.attachments(seq, tmp_path / "of")
                assert sorted(pictures[seq].values()) == sorted(path.read_bytes() for path in paths)
    finally:
        recording.close()


def test_nobody_waits_for_a_small_picture_of_somebody_else():
    # Questions that a page gave up would else hold all threads of the server.
    begun, go_on = threading.Event(), threading.Event()

    class OfThem:
        def calls_for(self, seq):
            begun.set()
            assert go_on.wait(60)
            raise UsageError("no cut here")

    small = Small(None, OfThem(), Place)

    def ask() -> None:
        with pytest.raises(UsageError):
            small.drawn(1)

    first = threading.Thread(target=ask)
    first.start()
    assert begun.wait(60)
    with pytest.raises(SupersededError):
        small.drawn(2)
    go_on.set()
    first.join()
    with pytest.raises(UsageError):
        small.drawn(2)


@pytest.mark.parametrize("name", ["fbo_chain", "pipeline"])
def test_small_pictures_are_means_of_the_exact_ones_and_change_nothing(recordings, tmp_path, name):
    with (
        drawtap.open(recordings / f"{name}.dtap") as trace,
        Warm(trace.path) as plain,
        Warm(trace.path) as player,
    ):
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM draws ORDER BY seq").fetchall()]
        colours = 0
        for seq in draws[:: len(draws) // 12 + 1]:
            exact, _ = plain.attachments(seq, tmp_path / "exact")
            small, _ = player.attachments(seq, tmp_path / "small", width=7)
            assert [path.name.removeprefix("small") for path in small] == [exact[0].name.removeprefix("exact")]
            whole, image = (decode_attachment(path.read_bytes(), path.name) for path in (exact[0], small[0]))
            expected = shrunk(whole, 7) if whole.ndim == 3 else whole  # depth comes as it is
            assert np.array_equal(image, expected), seq
            assert _shot(tmp_path, seq)(player) == _shot(tmp_path, seq)(plain), seq
            if whole.ndim == 3:
                colours += 1
                assert image.shape[1] <= 7 < whole.shape[1]
                assert player.image(seq, tmp_path / "image.png", width=7) is None
                shown = decode_attachment((tmp_path / "image.png").read_bytes(), "image.png")
                assert np.array_equal(shown, expected), seq
        assert colours
        assert player.state(draws[-1]) == plain.state(draws[-1])


def test_the_player_shrinks_what_stands_in_rows_of_small_pictures(recordings, monkeypatch):
    from drawtap.web import small, strip

    for module in (small, strip):
        monkeypatch.setattr(module, "WIDTH", 7)
        monkeypatch.setattr(module, "shrunk", lambda image, width: image)
    recording = Recording(recordings / "pipeline.dtap")
    try:
        seq = recording.trace.sql("SELECT max(seq) FROM draws").fetchall()[0][0]
        recording.strip._making.join()
        frames = recording.strip.frames()["frames"]
        assert frames
        for answer in (recording.small.drawn(seq), *map(recording.strip.answer, frames)):
            assert headed(answer)[0]["width"] <= 7
    finally:
        recording.close()


def test_a_recording_that_closes_while_its_frames_are_read_ends_the_small_pictures(recordings):
    class Closing:
        path, frame_end = recordings / "triangle.dtap", ""

        @property
        def frames(self):
            raise Cancelled("cancelled")

    strip = Strip(Closing())
    strip._making.join()
    assert strip.frames() == {"frames": [], "more": False, "why": "the recording is closed"}
    strip.close()
