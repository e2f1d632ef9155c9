"""Corpora of tests: recordings with chosen contents, stores with rows of made-up recordings."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

from drawtap.corpus import rows
from drawtap.corpus.engines import Engine, Run
from drawtap.corpus.store import SMALL_BYTES, Manifest, Store, create, identity, kind_of, sealed
from drawtap.tables.corpus import FILED
from drawtap.trace.result import connect
from drawtap.trace.trace import open_trace
from writer import Writer, blob

BIG = random.Random(1).randbytes(SMALL_BYTES) + b"large"
FLAT = b"\0" * (3 * SMALL_BYTES)
SMALL = random.Random(2).randbytes(3000)


def recording(path: Path, contents: tuple[bytes, ...], *, start: int = 1000, part: int = 1 << 30) -> Path:
    """Write a recording that uploads each of these contents, draws and ends a frame."""
    w = Writer()
    w.uuid = hashlib.md5(path.name.encode()).digest()
    w.annotate('{"kind": "recording", "program": "/usr/bin/scene"}')
    t = w.thread()
    for number, content in enumerate(contents):
        t.call("glUniform4fv", location=number, count=len(content) // 16, value=blob(content), start=start, duration=5)
        start += 100
        t.call("glDrawElements", mode=4, count=36, type=5123, start=start, duration=50)
        t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=start + 60, duration=9)
    t.flush()
    w.add_blobs(list(contents), part=part)
    return w.write(path)


NO_FINDINGS = "SELECT NULL AS rule, NULL AS severity, NULL AS n, NULL AS first_seq WHERE false"


@pytest.fixture(autouse=True)
def without_the_checklist(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out its rules, which take longer than everything else; one test has them."""
    if request.node.name != "test_the_tables_have_the_declared_columns":
        monkeypatch.setitem(rows.QUESTIONS, "findings", NO_FINDINGS)


@pytest.fixture(name="store")
def empty_store(tmp_path: Path) -> Store:
    """Return an empty corpus in a folder."""
    return create(str(tmp_path / "store"))


def names_in(store: Store) -> list[str]:
    """Return the names of the objects of a store."""
    return sorted(entry.name for entry in store.objects.listed("") if kind_of(entry.name))


def everything(path: Path) -> dict[str, object]:
    """Return what a recording says, without where it stands in its file."""
    with open_trace(path) as trace:
        calls = trace.sql("SELECT * FROM calls ORDER BY seq").fetchall()
        blobs = {row["hash"]: trace.core.blob(str(row["hash"])) for row in trace.table("blobs")}
        info = {k: v for k, v in trace.info.items() if k not in ("path", "file_bytes", "annotations")}
        notes = [json.loads(text) for text in trace.info["annotations"]]  # type: ignore[union-attr]
        return {
            "calls": calls,
            "blobs": blobs,
            "info": info,
            "notes": [n for n in notes if n.get("kind") != "restored"],
        }


def run_kept(store: Store, trace: str, on: str | Engine, *, seconds: float) -> None:
    """Keep a run of a recording on an engine."""
    engine = Engine(on, on, {}, on, "", "", "", "") if isinstance(on, str) else on
    task = hashlib.sha256(f"{trace}{engine.key}".encode()).hexdigest()
    rows.write_run(store, Run(task, trace, engine, "ok", 1, seconds))


def simulated(store: Store, count: int) -> list[str]:
    """Put the rows of made-up recordings of two frames into the store as one generation; return their ids."""
    root, ids = Path(store.where), []
    for number in range(count):
        skeleton = hashlib.sha256(b"%d" % number).hexdigest()
        id_ = identity(skeleton, ())
        manifest = Manifest(id_, "0" * 32, f"{number}.dtap", "0" * 64, 1000 + number, skeleton, 0, ())
        (root / "traces").mkdir(exist_ok=True)
        (root / f"traces/{id_}.json").write_bytes(manifest.text())
        if count == 1:
            (root / f"traces/{id_}.dtap").write_bytes(b"0")
        ids.append(id_)
    files = {}
    with connect() as connection:
        connection.execute("CREATE TABLE ids AS SELECT unnest(?::VARCHAR[]) AS trace", [ids])
        for name, table in FILED.items():
            cells = [
                "trace"
                if c.name == "trace"
                else f'{"hash(trace) % 1000" if c.type in _NUMBERS else "NULL"}::{c.type} AS "{c.name}"'
                for c in table.columns
                if c.name not in ("added", "tags")
            ]
            rows = ", range(2)" if name == "frames" else ""
            path = root / f"{name}.parquet"
            connection.execute(f"COPY (SELECT {', '.join(cells)} FROM ids{rows}) TO '{path}' (FORMAT parquet)")
            content = path.read_bytes()
            path.unlink()
            files[name] = hashlib.sha256(content).hexdigest()
            store.objects.put_new(f"tables/{name}/_all.{files[name]}.parquet", content)
    store.objects.put_new("tables/_gen/00000000.json", sealed({"recordings": ids, "files": files}))
    if count == 1:
        store.remove(ids[0])
        store.objects.delete(f"traces/{ids[0]}.dtap")
    return ids


_NUMBERS = ("UBIGINT", "UINTEGER", "BIGINT")
