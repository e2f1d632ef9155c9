"""Whole answers as files: CSV, Parquet, Arrow."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import threading
from pathlib import Path

import duckdb
import nanoarrow
import pytest
from nanoarrow.ipc import InputStream

import drawtap as package
from drawtap.trace.library import Cancelled
from drawtap.trace.moment import computed_state
from shared import BROWSER

EVERY = "SELECT seq, name, duration FROM calls a, range(9) ORDER BY seq, range"


def _rows(body: bytes, form: str) -> list[tuple[object, ...]]:
    if form == "csv":
        rows = list(csv.reader(io.StringIO(body.decode())))
        return [(int(seq), name, int(ns) if ns else None) for seq, name, ns in rows[1:]]
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        Path(file.name).write_bytes(body)
        if form == "parquet":
            return duckdb.sql(f"SELECT * FROM '{file.name}'").fetchall()
        with InputStream.from_path(file.name) as stream:
            return [tuple(row.values()) for row in nanoarrow.ArrayStream(stream).read_all().to_pylist()]


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_an_answer_is_saved_whole(server, chain, form):
    answer = server.ask(f"/api/0/save/{form}", method="POST", body=EVERY)
    assert answer.status == 200, answer.body
    with package.open(chain) as trace:
        expected = trace.sql(EVERY).fetchall()
    assert len(expected) > 5_000  # more than the page shows
    assert _rows(answer.body, form) == [tuple(row) for row in expected]


def test_saving_only_reads_and_leaves_no_file(server, tmp_path):
    before = set(server.scratch.glob("drawtap-*/*.csv"))  # of an answer that the server has just given
    for sql, words in (
        (f"COPY (SELECT 1) TO '{tmp_path / 'x'}'", "reads"),
        ("SELECT * FROM read_csv('/etc/passwd')", ""),
        ("SELECT nothing FROM calls", "nothing"),
        ("CREATE TABLE x (a INT)", "reads"),
    ):
        answer = server.ask("/api/0/save/csv", method="POST", body=sql)
        assert answer.status in (400, 422), answer.body
        assert words in answer.json["error"]
    assert server.ask("/api/0/save/xlsx", method="POST", body="SELECT 1").status == 400
    assert server.ask("/api/save/csv", method="POST", body='{"columns": ["a"], "rows": [[1, 2]]}').status == 400
    assert list(tmp_path.iterdir()) == []
    assert list(server.scratch.glob("drawtap-*"))
    assert set(server.scratch.glob("drawtap-*/*.csv")) <= before


def test_a_table_of_the_page_is_saved_with_its_types(server):
    table = {"columns": ["", "n", "n"], "rows": [["a", 1, 0.5], ['é, "x"\n', None, 2]]}
    for form in ("csv", "parquet", "arrow"):
        answer = server.ask(f"/api/save/{form}", method="POST", body=json.dumps(table))
        assert answer.status == 200, answer.body
        if form == "csv":
            assert next(csv.reader(io.StringIO(answer.body.decode(), newline=""))) == ["column", "n", "n_2"]
    empty = server.ask("/api/save/csv", method="POST", body='{"columns": ["a"], "rows": []}')
    assert empty.body.decode().split() == ["a"]


def test_arguments_of_a_call_are_saved_with_every_element(server, chain):
    with package.open(chain) as trace:
        matrices = [seq for (seq,) in trace.sql('SELECT seq FROM "glBufferData" WHERE data_bytes > 16 ORDER BY seq')]
        seq = matrices[0]
        call = trace.calls[seq]
        content = bytes(call.args["data"])
    answer = server.ask(f"/api/0/call/{seq}/save/csv")
    assert answer.status == 200, answer.body
    rows = _table(answer.body)
    assert [row["argument"] for row in rows if "[" not in row["argument"]] == [*call.args]
    assert next(row["value"] for row in rows if row["argument"] == "target") == str(call.args["target"])
    parts = [row for row in rows if row["argument"].startswith("data[")]
    assert bytes.fromhex("".join(row["value"] for row in parts)) == content
    assert parts[0]["argument"] == "data[0..15]"
    assert server.ask(f"/api/0/call/{seq}/save/parquet").body.startswith(b"PAR1")
    with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
        Path(file.name).write_bytes(server.ask(f"/api/0/call/{seq}/save/arrow").body)
        with InputStream.from_path(file.name) as stream:
            read = nanoarrow.ArrayStream(stream).read_all().to_pylist()
    assert [row["argument"] for row in read] == [row["argument"] for row in rows]
    assert server.ask(f"/api/0/call/{seq}/save/xlsx").status == 400
    assert server.ask("/api/0/call/99999999/save/csv").status == 400


def test_saving_stops(chain, tmp_path):
    over = threading.Event()
    with package.open(chain) as trace:
        answer = trace.sql("SELECT a.seq FROM calls a, calls b, range(10)")
        asking = threading.get_ident()

        def stop() -> None:
            while not over.wait(0.05):
                trace.database.interrupt(asking)

        stopping = threading.Thread(target=stop)
        stopping.start()
        try:
            with pytest.raises(Cancelled):
                answer.save(tmp_path / "much.csv", "csv")
        finally:
            over.set()
            stopping.join()


def _saved(page, name, form="CSV"):
    """Click the last button of this form, and return the file."""
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name=form, exact=True).last.click()
    assert waiting.value.suggested_filename == f"{name}.{form.lower()}"
    return Path(waiting.value.path()).read_bytes()


def _table(content):
    """Return the rows of a CSV as dictionaries."""
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_every_view_is_saved_as_a_table(opened, server, chain):
    with package.open(chain) as trace:
        count = len(trace.sql("SELECT class FROM resources").fetchall())
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
        state = computed_state(trace, seq)
        asked = f"SELECT textures, buffers, program FROM draws WHERE seq = {seq}"
        textures, buffers, used = trace.sql(asked).fetchone()
    page = opened(f"call={seq}&tab=call", viewport={"width": 900, "height": 800})
    page.reads("Arguments")
    name = page.text("#panel h2").split("\n")[0].split("call")[0].strip()
    assert _table(_saved(page, f"{name}-{seq}"))[0]["argument"] == "mode"
    page.page.evaluate("drawtap.store.set({ tab: 'objects' })")
    page.reads("Objects of the run")
    objects = _table(_saved(page, "objects"))
    assert len(objects) == count
    assert "label" in objects[0]  # although no object has one, and the page shows no such column
    assert "label" not in page.text("#panel thead")
    page.press("2")
    page.reads("State after call")
    rows = _table(_saved(page, f"state-{seq}"))
    assert len(rows) > 20
    for row in rows:
        known = state[row["path"]]
        assert row["value"] == (json.loads(known) if known.startswith('"') else known)
    page.page.get_by_role("button", name="used by the draw").click()
    page.until("document.querySelector('#panel [aria-pressed=true]')?.innerText === 'used by the draw'")
    kept = [row["path"] for row in _table(_saved(page, f"state-{seq}"))]
    assert set(kept) < {row["path"] for row in rows}
    for kind, names in (("share.textures", textures), ("share.programs", [used]), ("share.buffers", buffers)):
        assert {int(path.split("[")[1].split("]")[0]) for path in kept if path.startswith(kind)} == set(names), kind
    assert {path for path in kept if "GL_TEXTURE_BINDING_2D" in path} == {
        path for path, value in state.items() if "GL_TEXTURE_BINDING_2D" in path and int(value) in textures
        and path in {row["path"] for row in rows}
    }  # fmt: skip
    page.page.get_by_role("button", name="used by the draw").click()
    page.press("4")
    page.reads("Uniforms")
    program = server.get(f"program/{seq}")
    rows = _table(_saved(page, f"program-{program['name']}-call-{seq}"))
    assert [(row["name"], json.loads(row["value"])) for row in rows if row["kind"] == "uniform"] == [
        (name, value) for name, value, _ in program["uniforms"]
    ]
    page.press("m")
    page.reads("rasterised")
    rows = _table(_saved(page, f"mesh-{seq}-out"))
    assert [row["becomes"] for row in rows] == ["rasterised"] * 6
    assert {(float(row["x"]), float(row["y"]), float(row["w"])) for row in rows} == {
        (x, y, 1) for x in (-1, 1) for y in (-1, 1)
    }
    page.page.evaluate("drawtap.store.set({ mesh: 'in' })")
    page.until("document.querySelector('#panel th')?.innerText === 'place'")
    rows = _table(_saved(page, f"mesh-{seq}-in"))
    known = list(csv.reader(io.StringIO(server.ask(f"/api/0/mesh/{seq}/csv").body.decode())))
    assert [list(rows[0]), *(list(map(float, row.values())) for row in rows)] == [
        known[0],
        *(list(map(float, row)) for row in known[1:]),
    ]
    page.page.evaluate("drawtap.store.set({ tab: 'picture', px: '3,5' })")
    page.reads("History of pixel 3, 5")
    page.until("document.querySelectorAll('#history tbody tr').length > 0")
    rows = _table(_saved(page, f"pixel-3-5-call-{seq}"))
    events = server.get(f"picture/{seq}/pixel?of=&x=3&y=5")["events"]
    assert [(int(row["seq"]), row["outcome"]) for row in rows] == [(e["call"], e["outcome"]) for e in events]
    page.page.evaluate("drawtap.store.set({ call: 200, pin: 150, tab: 'state' })")
    page.reads("Changed against call 150")
    assert _saved(page, "state-difference", "Parquet").startswith(b"PAR1")
