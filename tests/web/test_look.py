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
            pool.look(draws[0], draws[0], {"find": "history", "x": 1, "y": 1, "buffer": 0})
            assert pool._making is not None
            pool._making.join()
            cuts = []

            def ask(first, last, request):
                answer, served = pool.look(first, last, request)
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


def test_what_if_is_what_edit_and_image_make(server, chain, drawtap, tmp_path):
    import json
    import struct

    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        draws = [s for (s,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()]
        clear = trace.sql(f"SELECT max(seq) FROM calls WHERE name = 'glClearColor' AND seq < {draws[-1]}").fetchall()
    red, last = clear[0][0], draws[-1]
    for text, given in (
        (f"drop {draws[-2]}", ("--drop", str(draws[-2]))),
        (f"set {red} red = 1, green = 0.5\n", ("--set", f"{red} red = 1, green = 0.5")),
    ):
        answer = server.ask(f"/api/0/whatif/{last}", method="POST", body=text)
        assert answer.status == 200, answer.body
        length = struct.unpack("<I", answer.body[:4])[0]
        head, data = json.loads(answer.body[4 : 4 + length]), answer.body[4 + length :]
        changed, raw = tmp_path / "changed.dtap", tmp_path / "picture.rgba"
        assert drawtap("edit", chain, "-o", changed, "--force", *given).code in (0, 1)
        assert drawtap("image", changed, str(head["calls"]), "-o", raw).code == 0
        row = head["width"] * 4
        lowest_first = b"".join(data[at : at + row] for at in range(len(data) - row, -1, -row))
        assert lowest_first == raw.read_bytes()
        saved = server.ask("/api/0/whatif", method="POST", body=text)
        (tmp_path / "saved.dtap").write_bytes(saved.body)
        again = tmp_path / "again.rgba"
        assert drawtap("image", tmp_path / "saved.dtap", str(head["calls"]), "-o", again).code == 0
        assert again.read_bytes() == raw.read_bytes()
    for text in ("fly 3", "drop 999999999", "set 3", f"set {last} nothing = 3"):
        answer = server.ask(f"/api/0/whatif/{last}", method="POST", body=text)
        assert (answer.status in (400, 422), bool(answer.json["error"])) == (True, True), (text, answer.body)
