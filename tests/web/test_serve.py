"""The server: who may ask, and answers equal to those of the command line."""

from __future__ import annotations

import ast
import contextlib
import http.client
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

import drawtap
from drawtap.replay.picture import packed
from drawtap.replay.pool import SupersededError
from web.conftest import Server, headed


def test_the_first_line_is_the_address_with_the_token(server):
    assert server.address.startswith("http://127.0.0.1:")
    assert len(server.token) >= 32


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 403),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Host": "localhost:9"}, 200),
        ({"Host": "[::1]:9"}, 200),
        ({}, 200),
    ],
)
def test_only_the_holder_of_the_token_may_ask_and_only_from_our_page(server, headers, status):
    answer = server.ask("/api/session", **headers)
    assert answer.status == status
    if status != 200:
        assert b"fbo" not in answer.body
        assert "drawtap view" in answer.json["hint"]


def test_threads_share_heaps(server):
    """A heap of a thread's own is 64 MiB of addresses, and eight a processor are usual."""
    threads = [threading.Thread(target=server.get, args=(f"calls?seqs={i}-{i + 300}",)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    maps = [line.split() for line in Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8").splitlines()]
    unnamed = [(*(int(place, 16) for place in line[0].split("-")), line[1]) for line in maps if len(line) == 5]
    # What is not used of such a heap follows it, without access. Large blocks may begin at a like address by chance.
    heaps = [
        begin
        for (begin, end, access), (reserved, _, none) in itertools.pairwise(unnamed)
        if begin % (64 << 20) == 0 and access == "rw-p" and (reserved, none) == (end, "---p")
    ]
    assert 0 < len(heaps) <= max(os.cpu_count() or 1, 2)


def test_frames_are_read_while_the_server_is_loaded_and_the_rest_while_the_browser_is(chain):
    code = """
import sys
from pathlib import Path
import drawtap.web.frames as frames
kept = frames.Opening.begin
def begin(opening):
    print(sorted({"duckdb", "numpy", "starlette", "uvicorn"} & set(sys.modules)))
    return kept(opening)
frames.Opening.begin = begin
from drawtap.web.serve import Serving
serving = Serving([Path(sys.argv[1])], host="127.0.0.1", port=0)
later = {"anyio._backends._asyncio", "drawtap.web.textures", "duckdb", "numpy", "uvicorn"}
print(sorted(later & set(sys.modules)))
state = serving._server.config.app.state
warm = state.warm
def warmed():
    warm()
    print(sorted(later & set(sys.modules)))
    print(sys.modules["drawtap.web.app"]._packed.cache_info().currsize)
    serving.stop()
state.warm = warmed
serving.run()
"""
    done = subprocess.run([sys.executable, "-c", code, str(chain)], capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == 4, done.stderr
    before, loaded, warm, packed = map(ast.literal_eval, done.stdout.splitlines())
    assert (before, loaded) == ([], ["numpy", "uvicorn"])
    assert warm == ["anyio._backends._asyncio", "duckdb", "numpy", "uvicorn"] and packed > 20


def test_frames_that_could_not_be_read_ahead_are_read_when_they_are_wanted(chain, monkeypatch):
    from drawtap.web import frames

    read = frames._batches

    def fails(trace):
        monkeypatch.setattr(frames, "_batches", read)
        raise MemoryError

    monkeypatch.setattr(frames, "_batches", fails)
    opening = frames.Opening(chain).begin()
    try:
        assert opening.frames().content() == frames.Frames(opening.trace).content() != b""
    finally:
        opening.close()


def test_the_server_ends_though_the_graph_is_being_made(chain, tmp_path):
    said = tmp_path / "said"
    first = f"""
import sys
import time
sys.stderr = open({str(said)!r}, "w")
import drawtap.trace.graph as graph
from drawtap.trace.library import Cancelled
class Endless:
    begun = False
    def __init__(self, trace, *, stop):
        if not Endless.begun:
            Endless.begun = True
            print("making", flush=True)
        while not stop.flag.value:
            time.sleep(0.01)
        raise Cancelled("cancelled")
graph.Graph = Endless
"""
    with drawtap.open(chain) as trace:
        draw = trace.sql("SELECT max(seq) FROM draws").fetchall()[0][0]
    running = Server(chain, first=first)
    try:
        running.get("timeline?findings")
        assert running.ask(f"/api/0/picture/{draw}").status == 200
        assert running.process.stdout is not None
        assert running.process.stdout.readline() == "making\n"
    finally:
        ended = running.close()
    assert (ended, said.read_text(encoding="utf-8")) == (0, "")


def test_answers_are_sent_at_once():
    from drawtap.web.serve import _listen

    with _listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_page_is_shut_in_and_loads_nothing_from_elsewhere(server):
    page = server.ask("/", Authorization="")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in page.headers
    for name in ("app.js", "app.css", "uplot.min.js"):
        asset = server.ask(f"/app/{name}", Authorization="")
        assert asset.status == 200
        assert b"https://" not in asset.body.replace(b"https://github.com/leeoniya/uPlot", b"")
    for path in ("/app/..%2fapp.py", "/app/app.py", "/app/index.html", "/app/nothing.js"):
        assert server.ask(path, Authorization="").status == 404, path


def test_calls_are_those_of_list(server, chain, drawtap):
    count = server.ask("/api/session").json["recordings"][0]["calls"]
    rows = server.get(f"calls?seqs=0-{min(count, 400) - 1}")
    listed = json.loads(drawtap("list", chain, "0:400", "--json").out)
    assert len(rows) == min(count, 400)
    for row, call in zip(rows, listed, strict=True):
        assert row[:3] == [call["seq"], call["frame"], call["thread"]]
        assert row[5:7] == [call["t_start"], call["duration"]]
        assert call["call"].startswith(row[7].rstrip("…"))


def test_a_call_has_its_arguments_and_ways_to_write_it(server, chain):
    with drawtap.open(chain) as trace:
        source = next(c for c in trace.calls if c.name == "glShaderSource")
        upload = next(c for c in trace.calls if c.name == "glBufferData" and c.args["data"] is not None)
        told = server.get(f"call/{source.seq}")
        assert told["signature"].startswith("void glShaderSource(GLuint shader, GLsizei count")
        assert next(a for a in told["args"] if a["name"] == "string")["array"] == source.args["string"]
        assert told["text"] == str(source)
        assert trace.sql(told["sql"]).fetchall()
        assert told["frame"] == source.frame
        content = server.ask(f"/api/0/content/{upload.seq}/data").body
        assert len(content) == upload.args["size"]
        assert server.get(f"call/{upload.seq}")["args"][2]["bytes"] == len(content)
    clear = server.get(f"call/{next(c.seq for c in drawtap.open(chain).calls if c.name == 'glClear')}")
    assert clear["c"].startswith("glClear(GL_")
    assert ["clear", "clears a framebuffer"] in clear["kinds"]


def test_a_call_in_c_is_that_of_the_export(server, chain, drawtap, tmp_path):
    from drawtap import open as open_trace

    assert drawtap("export", "-f", "c", chain, "-o", tmp_path / "c").code == 0
    lines = [line.strip() for path in (tmp_path / "c").glob("frames_*.c") for line in path.read_text().splitlines()]
    # The export has names for objects and places; the page has the program's numbers.
    named = r"\b(?:program|shader|buffer|texture|framebuffer|loc)_\w+"
    exported = {re.sub(named, "#", re.sub(r"^\w+ = ", "", line)) for line in lines}
    with open_trace(chain) as trace:
        first = {call.name: call.seq for call in reversed(trace.calls[: trace.frames[2].end_seq])}
    compared = set()
    for name, seq in first.items():
        told = server.get(f"call/{seq}")
        if not name.startswith("gl") or any("array" in a for a in told["args"]):
            continue
        values = [
            "#" if (a["class"] or a["name"] == "location") and a["value"] != "0" else (a["name"], a["value"])
            for a in told["args"]
        ]
        spelled = told["c"].removeprefix(f"{name}(").removesuffix(")").split(", ")
        shown = ["#" if value == "#" else text for value, text in zip(values, spelled, strict=bool(values))]
        if name != "glTexParameteri":  # the export knows which of its numbers are constants
            assert f"{name}({', '.join(shown)});" in exported or f"{name}(#, {', '.join(shown[1:])});" in exported, told
            compared.add(name)
    assert compared >= {"glClearColor", "glUniform3f", "glDrawArrays", "glBindTexture", "glVertexAttribPointer"}
    upload = server.get(f"call/{first['glBufferSubData']}")
    assert upload["c"].startswith("glBufferSubData(GL_ARRAY_BUFFER, 0, 64, (const GLubyte[]){0x")
    assert upload["c"].count("0x") == 64
    source = server.get(f"call/{first['glShaderSource']}")
    assert "(const GLchar *const[]){" in source["c"]


def test_frames_and_outlines_hold_every_draw(server, chain):
    with drawtap.open(chain) as trace:
        body = server.ask("/api/0/frames").body
        count = len(body) // 48
        columns = [struct.unpack_from(f"<{count}d", body, i * count * 8) for i in range(6)]
        calls = trace.info["calls"]
        assert count == len(trace.frames) + (trace.frames[-1].end_seq < calls)
        assert columns[1][-1] == calls
        for i, frame in enumerate(trace.frames):
            assert (columns[0][i], columns[1][i]) == (frame.first_seq, frame.end_seq)
            assert columns[4][i] == frame.draws
            outline = server.get(f"outline/{i}")
            draws = [seq for seq, kind in zip(outline["seqs"], outline["kinds"], strict=True) if kind == "draw"]
            asked = trace.sql(f"SELECT seq FROM draws WHERE frame = {i} AND kind = 'draw' ORDER BY seq").fetchall()
            assert draws == [seq for (seq,) in asked]
            assert not outline["cut"]


def test_debug_groups_stand_in_the_outline(server, recordings):
    with drawtap.open(recordings / "debug_markers.dtap") as trace:
        groups = [m for m in trace.table("markers") if m["kind"] == "group"]
        assert len(groups) == 4
        inserted = [m["seq"] for m in trace.table("markers") if m["kind"] == "insert"]
        outlines = [server.ask(f"/api/1/outline/{i}").json for i in range(len(trace.frames) + 1)]
    shown = [group for outline in outlines for group in outline["groups"]]
    messages = [s for o in outlines for s, kind in zip(o["seqs"], o["kinds"], strict=True) if kind == "message"]
    assert messages == inserted
    assert [(g["seq"], g["end"], g["text"]) for g in shown] == [(m["seq"], m["end_seq"], m["text"]) for m in groups]


def test_the_state_is_that_of_the_state_verb_and_says_since_when(server, chain, drawtap):
    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws").fetchall()[0][0]
        told = server.get(f"state/{seq}?all")
        plain = {row["path"]: row["value"] for row in json.loads(drawtap("state", chain, str(seq), "--json").out)}
        assert {path: json.loads(value) for path, value, *_ in told["rows"]} == plain
        context = trace.calls[seq].context
        program = next(row for row in told["rows"] if row[0] == "context.GL_CURRENT_PROGRAM")
        asked = (
            f"SELECT begin_seq FROM state WHERE path = 'contexts[{context}].GL_CURRENT_PROGRAM' AND begin_seq <= {seq}"
        )
        assert program[2] == max(s for (s,) in trace.sql(asked).fetchall())
        assert trace.calls[program[2]].name == "glUseProgram"
        assert program[3:] == ["shaders", True]
        assert next(row for row in told["rows"] if row[0] == "context.GL_DEPTH_FUNC")[3:] == ["tests", False]
        # A page gets what differs, and what a stage always shows; it asks for the rest by name.
        short = server.get(f"state/{seq}")
        assert short["variables"] == len(told["rows"]) > len(short["rows"])
        assert short["rows"] == [row for row in told["rows"] if row[4] or row[0] in told["always"]]


def test_the_program_in_use_has_its_sources_and_uniforms(server, chain):
    with drawtap.open(chain) as trace:
        query = "SELECT max(seq), arg_max(program, seq) FROM draws WHERE kind = 'draw'"
        seq, program = trace.sql(query).fetchone()
        told = server.get(f"program/{seq}")
        assert told["name"] == program
        assert trace.calls[told["linked"]].name == "glLinkProgram"
        sources = {"".join(call.args["string"]) for call in trace.calls if call.name == "glShaderSource"}
        assert {shader["stage"] for shader in told["shaders"]} == {"GL_VERTEX_SHADER", "GL_FRAGMENT_SHADER"}
        for shader in told["shaders"]:
            assert shader["source"] in sources
            assert trace.calls[shader["seq"]].args["shader"] == shader["name"]
        state = {path: (json.loads(value), since) for path, value, since, *_ in server.get(f"state/{seq}?all")["rows"]}
        for kind in ("uniforms", "attributes"):
            for name, value, since in told[kind]:
                assert state[f'share.programs[{program}].{kind}["{name}"]'] == (value, since)
        assert told["uniforms"]
    assert server.ask("/api/0/program/0").status == 400


def test_the_difference_is_what_changed_between(server, chain):
    with drawtap.open(chain) as trace:
        first, last = (trace.sql(f"SELECT {f}(seq) FROM draws").fetchall()[0][0] for f in ("min", "max"))
    a = {row[0]: row[1] for row in server.get(f"state/{first}?all")["rows"]}
    b = {row[0]: row[1] for row in server.get(f"state/{last}?all")["rows"]}
    rows = server.get(f"difference?a={first}&b={last}")["rows"]
    assert {path: (x, y) for path, x, y in rows} == {
        path: (a.get(path), b.get(path)) for path in {*a, *b} if a.get(path) != b.get(path)
    }
    assert server.get(f"difference?a={first}&b={first}")["rows"] == []


def test_filters_page_through_their_calls(server):
    kept = server.ask("/api/0/filter?query=a", method="POST", body="is:draw").json
    rows = server.get(f"set/{kept['id']}?at=0&count=500")["calls"]
    assert len(rows) == min(kept["count"], 500) > 3
    place = server.get(f"set/{kept['id']}/place?seq={rows[2][0]}")
    assert place == {"position": 2, "in": True, "next": rows[3][0], "previous": rows[1][0]}
    assert sum(server.get(f"set/{kept['id']}/density?buckets=50")) == kept["count"]
    marked = server.get(f"calls?seqs={rows[2][0]},{rows[2][0] - 1}&set={kept['id']}")
    assert [row[8] for row in marked] == [False, True]


def test_sql_reads_and_nothing_else(server, chain, tmp_path):
    answer = server.ask(
        "/api/0/sql?query=b", method="POST", body="SELECT seq, name FROM calls ORDER BY seq LIMIT 3"
    ).json
    assert answer["columns"] == ["seq", "name"]
    assert [row[0] for row in answer["rows"]] == [0, 1, 2]
    assert not answer["more"]
    many = server.ask("/api/0/sql?query=c", method="POST", body="SELECT * FROM range(6000)").json
    assert len(many["rows"]) == 5000
    assert many["more"]
    target = tmp_path / "out.csv"
    for query in (
        f"COPY calls TO '{target}'",
        "SET memory_limit = '1TB'",
        f"SELECT * FROM read_text('{chain}')",
        "SELEC",
    ):
        refused = server.ask("/api/0/sql?query=d", method="POST", body=query)
        assert refused.status == 400, query
        assert refused.json["error"]
    assert not target.exists()


def test_a_long_question_can_be_stopped(server):
    import threading

    found = []
    query = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"
    asking = threading.Thread(
        target=lambda: found.append(server.ask("/api/0/sql?query=long", method="POST", body=query))
    )
    asking.start()
    while not server.ask("/api/0/query/long", method="DELETE").json["stopped"]:
        assert asking.is_alive(), found
    asking.join()
    assert found[0].status == 499
    assert server.ask("/api/0/sql?query=e", method="POST", body="SELECT 1 AS one").json["rows"] == [[1]]


def test_the_server_ends_while_a_question_runs(chain):
    import threading

    running = Server(chain)
    query = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"

    def ask() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            running.ask("/api/0/sql?query=long", method="POST", body=query)

    asking = threading.Thread(target=ask)
    asking.start()
    running.ask("/api/session")
    assert running.close() == 0
    asking.join()


def test_notes_are_kept_beside_the_recording(server, chain):
    path = chain.with_name("chain.dtap.notes.json")
    assert server.get("notes") == {"version": 1, "bookmarks": [], "filters": [], "queries": []}
    notes = {"version": 1, "bookmarks": [{"seq": 3, "text": "<b>here</b>"}], "filters": ["is:draw"], "queries": []}
    written = server.ask("/api/0/notes", method="PUT", body=json.dumps(notes))
    assert written.status == 200
    assert json.loads(path.read_text()) == notes == server.get("notes")
    for bad in ("[", "[]", '{"bookmarks": 3}', "[" * 100_000, json.dumps({"filters": ["x" * (1 << 21)]})):
        assert server.ask("/api/0/notes", method="PUT", body=bad).status in (400, 422)
    assert json.loads(path.read_text()) == notes
    path.write_text("not json")
    assert server.ask("/api/0/notes").status == 422
    path.unlink()


def test_pictures_are_those_of_the_image_verb(server, chain, drawtap, tmp_path):
    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM draws ORDER BY seq").fetchall()]
    for seq in (draws[-1], draws[len(draws) // 2], draws[0]):
        served = server.ask(f"/api/0/picture/{seq}")
        assert served.status == 200, served.body
        for suffix in ("png", "rgba"):
            assert drawtap("image", chain, str(seq), "-o", tmp_path / f"{seq}.{suffix}").code == 0
        head, pixels = headed(served.body)
        assert len(pixels) == head["width"] * head["height"] * 4
        bottom_first = (tmp_path / f"{seq}.rgba").read_bytes()
        width = head["width"] * 4
        rows = [bottom_first[at : at + width] for at in range(0, len(bottom_first), width)]
        assert pixels == b"".join(reversed(rows))
        assert server.ask(f"/api/0/picture/{seq}/png").body == (tmp_path / f"{seq}.png").read_bytes()


def test_attachments_are_those_that_replay_saves(server, chain, drawtap, tmp_path):
    saved = tmp_path / "snapshots"
    saved.mkdir()
    options = ("--snapshot-at", "draws", "--attachments", "color,depth,stencil", "--frames", "2:3")
    assert drawtap("replay", chain, "--snapshots", f"{saved}/", *options).code in (0, 1)
    files = sorted(saved.glob("call*.png"))
    assert any("-depth" in file.name for file in files)
    for file in files:
        call, _, of = file.stem.removeprefix("call").partition("-")
        answer = server.ask(f"/api/0/picture/{int(call)}/png?of={of}")
        assert answer.body == packed(file.read_bytes()), file.name
        assert of in headed(server.ask(f"/api/0/picture/{int(call)}?of={of}").body)[0]["names"]


def _pixels(file):
    """Return the pixels of a PNG of the textures verb: each row is the difference to the one above."""
    import numpy as np

    content, at, packed = file.read_bytes(), 8, b""
    width, height, _, colors = struct.unpack_from(">IIBB", content, 16)
    while at < len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        packed += content[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    channels = {2: 3, 6: 4}[colors]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width * channels + 1)
    assert set(rows[:, 0]) <= {0, 2}
    if rows[0, 0] == 2:
        rows = np.cumsum(rows, axis=0, dtype=np.uint8)
    return rows[:, 1:].reshape(height, width, channels)


def test_textures_are_those_of_the_textures_verb(server, chain, drawtap, tmp_path):
    import numpy as np

    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws").fetchall()[0][0]
        group = trace.table("contexts")[0]["share_group"]
    out = tmp_path / "textures"
    assert drawtap("textures", chain, "--at", str(seq), "-o", out).code == 0
    objects = json.loads((out / "manifest.json").read_text())["objects"]
    compared = 0
    for found in objects:
        kind = {"texture": "texture", "renderbuffer": "renderbuffer"}[found["kind"]]
        answer = server.ask(f"/api/0/texture/{seq}/{kind}/{group}/{found['name']}")
        assert answer.status == 200, answer.body
        head, data = headed(answer.body)
        assert [part["width"] for part in head["parts"]] == [part["width"] for part in found["parts"]]
        for part, saved in zip(head["parts"], found["parts"], strict=True):
            if "at" not in part or not saved["files"]:
                continue
            size = int(np.prod(part["shape"]))
            values = np.frombuffer(data, part["type"], size, part["at"]).reshape(part["shape"])
            file = out / saved["files"][0]
            expected = np.load(file) if file.suffix == ".npy" else _pixels(file)[None]
            least = min(values.shape[3], expected.shape[3])  # a PNG has no alpha where it is the same everywhere
            assert np.array_equal(values[..., :least], expected[..., :least]), found["name"]
            compared += 1
    assert compared > 1


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("/api/0/call/99999999", 400, "there is no call"),
        ("/api/0/state/0", 400, "no context is current"),
        ("/api/0/outline/99999", 400, "there is no frame"),
        ("/api/7/schema", 400, "there is no recording 7"),
        ("/api/0/calls?seqs=", 400, "no list of numbers"),
        ("/api/0/calls?seqs=1-99999999999", 400, "too many"),
        ("/api/0/calls?seqs=0-600", 400, "more than a page"),
        ("/api/0/set/none?at=0&count=1", 400, "not kept any more"),
        ("/api/0/difference?a=x&b=1", 400, "a is not a number"),
        ("/api/0/content/0/nothing", 400, "no recorded content"),
        ("/api/0/texture/100/texture/1/99999", 400, "there is no texture 99999"),
        ("/api/0/texture/100/nonsense/1/1", 400, "there is no nonsense 1"),
        ("/api/0/picture/0", 400, ""),
        ("/api/0/thumbnail/99999", 400, "no small picture"),
        ("/api/0/nothing", 404, ""),
    ],
)
def test_mistakes_are_answers(server, path, status, word):
    answer = server.ask(path)
    assert answer.status == status, answer.body
    if word:
        assert word in answer.json["error"]


_REASONS = [Path(drawtap.__file__).parent / name for name in ("web", "replay/look.py")]


def test_every_reason_says_what_to_do():
    """An error that the page shows instead of an answer has a hint: a command, a condition, or what to choose."""
    seen, bare = 0, []
    for path in sorted(file for place in _REASONS for file in ([place] if place.suffix else place.glob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in (
                "UsageError", "UnavailableError", "InputError"
            ):  # fmt: skip
                continue
            seen += 1
            given = next((one.value for one in node.keywords if one.arg == "hint"), None)
            if given is None or (isinstance(given, ast.Constant) and not given.value):
                bare.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert seen > 50
    assert bare == []
    assert SupersededError("a newer question came").hint


def test_a_file_that_is_no_recording_is_refused_before_the_address_is_printed(drawtap, tmp_path):
    bad = tmp_path / "bad.dtap"
    bad.write_bytes(b"nothing")
    answer = drawtap("view", bad, "--no-browser")
    assert answer.code == 4
    assert answer.out == ""
    assert drawtap("view", "--no-browser").code == 2


def test_a_port_that_is_taken_is_said(server, chain, drawtap):
    answer = drawtap("view", chain, "--no-browser", "--port", server.host.rpartition(":")[2])
    assert answer.code == 3
    assert "--port 0 takes a free one" in answer.err


def test_the_address_leads_to_a_call_on_the_host_that_was_asked_for_alone(chain):
    running = Server(chain, "--at", "#1", "--host", "127.0.0.2")
    assert running.address.startswith("http://127.0.0.2:")
    assert running.address.rpartition("&")[2].startswith("call=")
    assert running.ask("/api/session").status == 200
    assert running.ask("/api/session", Host="evil.example").status == 403
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(running.host.rpartition(":")[2])))
    assert running.close() == 0
