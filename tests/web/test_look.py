"""Pixels and the server: parked players that look find the same as a player of every call."""

from __future__ import annotations

from pathlib import Path

import drawtap
from drawtap.replay.look import pixel_history
from drawtap.replay.pool import Pool
from drawtap.replay.warm import Warm


def test_histories_by_parked_players_are_those_of_every_call(recordings, tmp_path):
    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        frame = trace.frames[len(trace.frames) - 2]
        found = trace.sql(
            f"SELECT seq FROM draws WHERE kind = 'draw' AND seq >= {frame.first_seq} ORDER BY seq LIMIT 4"
        )
        draws = [seq for (seq,) in found.fetchall()]
        pool = Pool(trace)
        try:
            pool.look(draws[0], draws[0], "history 1 1 0")
            assert pool._making is not None
            pool._making.join()
            cuts = []

            def ask(first, last, words):
                answer, served = pool.look(first, last, words)
                cuts.append(served.cut)
                return answer

            for seq in (*draws, draws[0]):  # forwards, and one step back
                by_cut = pixel_history(trace, seq, 5, 7, ask)
                with Warm(Path(trace.path), looks=True) as plain:
                    whole = pixel_history(trace, seq, 5, 7, plain.look)
                assert whole["events"]
                for event in (*by_cut["events"], *whole["events"]):
                    if event["kind"] == "clear":
                        del event["before"], event["changed"], event["reason"], event["outcome"]
                assert by_cut == whole
            assert all(cuts)
        finally:
            pool.close()


def test_the_history_of_no_pixel_is_an_error_with_a_reason(server, chain):
    with drawtap.open(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    assert server.get(f"picture/{seq}/pixel?x=1&y=1")["events"]
    for query, status in (("x=1", 400), ("x=-1&y=2", 400), ("x=99999&y=0", 501)):
        answer = server.ask(f"/api/0/picture/{seq}/pixel?{query}")
        assert (answer.status, bool(answer.json["error"])) == (status, True), answer.body
