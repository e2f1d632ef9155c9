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


def test_meshes_and_masks_come_with_their_sums(server, chain):
    import json
    import struct

    with drawtap.open(chain) as trace:
        seq, clear = (
            trace.sql(f"SELECT max(seq) FROM draws WHERE kind = '{kind}'").fetchall()[0][0]
            for kind in ("draw", "clear")
        )
    for path in ("masks", "mesh", "overdraw"):
        body = server.ask(f"/api/0/{path}/{seq}").body
        length = struct.unpack("<I", body[:4])[0]
        head = json.loads(body[4 : 4 + length])
        data = body[4 + length :]
        if path == "masks":
            size = head["width"] * head["height"]
            for i, name in enumerate(head["names"]):
                assert sum(data[i * size : (i + 1) * size]) == head["sums"][name]
        elif path == "mesh":
            fates = head["arrays"]["fates"]
            found = data[fates["at"] : fates["at"] + fates["length"]]
            assert sorted(found) == sorted(i for i, count in enumerate(head["counts"].values()) for _ in range(count))
    for path in (f"masks/{clear}", f"mesh/{clear}", "masks/99999999"):
        answer = server.ask(f"/api/0/{path}")
        assert answer.status in (400, 501), answer.body
        assert answer.json["error"]
    assert server.ask(f"/api/0/mesh/{seq}/obj").body.startswith(b"# clip")
    assert server.ask(f"/api/0/mesh/{seq}/csv").body.startswith(b"place,vertex")
