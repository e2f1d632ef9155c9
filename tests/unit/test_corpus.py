"""A corpus: what is added comes back equal, is stored once, survives killed adders, and damage is found."""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import math
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from conftest import Answer
from drawtap.corpus import canaries, history, rows, search, verdicts
from drawtap.corpus.adding import Adder, restore
from drawtap.corpus.approvals import Decision, decide, families
from drawtap.corpus.checking import check
from drawtap.corpus.engines import Engine, Run
from drawtap.corpus.gallery import Shot
from drawtap.corpus.objects import opened
from drawtap.corpus.pictures import Judged, outside
from drawtap.corpus.speed import Change, Speed
from drawtap.corpus.store import SMALL_BYTES, Manifest, Store, create, identity, kind_of, sealed
from drawtap.corpus.sweeping import LEAST_AGE_S, condemned, sweep
from drawtap.errors import DrawtapError, InputError, UsageError
from drawtap.output.comparison import png
from drawtap.tables.corpus import FILED, OF_TASKS, TABLES
from drawtap.trace.result import connect
from drawtap.trace.trace import open_trace
from shared import steps
from writer import Writer, blob, hash_text, small_trace

BIG = random.Random(1).randbytes(SMALL_BYTES) + b"large"
FLAT = b"\0" * (3 * SMALL_BYTES)
SMALL = random.Random(2).randbytes(3000)


def _recording(path: Path, contents: tuple[bytes, ...], *, start: int = 1000, part: int = 1 << 30) -> Path:
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
def _without_the_checklist(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its rules take longer than everything else; one test has them.
    if request.node.name != "test_the_tables_have_the_declared_columns":
        monkeypatch.setitem(rows.QUESTIONS, "findings", NO_FINDINGS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create(str(tmp_path / "store"))


class _Meter:
    """Counts what a bucket is sent, and ends the process that sends when that is so much."""

    def __init__(self) -> None:
        self.taken, self.limit, self.keeps = 0, math.inf, True
        self.writer: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def take(self, count: int) -> bool:
        """Count so many bytes; return whether the writer has just been ended."""
        with self._lock:
            before, self.taken = self.taken, self.taken + count
        if self.writer is None or not before < self.limit <= self.taken:
            return False
        self.writer.kill()
        self.writer.wait()
        return True


def _handler(meter: _Meter, base: type) -> type:
    class Handler(base):  # type: ignore[misc]
        """Takes whole objects alone, as S3 does; one whose writer was ended while it was sent, or not (`keeps`)."""

        def _dispatch(self, action: object) -> None:
            if meter.take(REQUEST_BYTES) and not meter.keeps:
                self.close_connection = True
            else:
                super()._dispatch(action)

        def _read_body(self) -> bytes:
            length, body, ended = int(self.headers.get("Content-Length") or 0), b"", False
            while len(body) < length and (part := self.rfile.read(min(length - len(body), 4096))):
                body += part
                ended |= meter.take(len(part))
            if len(body) < length or (ended and not meter.keeps):
                raise ConnectionAbortedError
            return body

    return Handler


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about clients that are gone."""


REQUEST_BYTES = 200  # that a request counts for besides its body


@pytest.fixture
def meter() -> _Meter:
    return _Meter()


@pytest.fixture
def bucket(tmp_path: Path, meter: _Meter, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty bucket of a server that speaks S3 over HTTP."""
    pytest.importorskip("obstore", reason="obstore is an extra: pip install 'drawtap[fleet]'")
    localbucket = pytest.importorskip("localbucket", reason="pip install localbucket")
    folder = tmp_path / "buckets"
    (folder / "gfx").mkdir(parents=True)
    monkeypatch.setattr(localbucket.S3Handler, "data_root", folder, raising=False)
    logging.getLogger(localbucket.logger.name).setLevel(logging.CRITICAL)
    server = _Server(("127.0.0.1", 0), _handler(meter, localbucket.S3Handler))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    _credentials(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    yield "s3://gfx/corpus"
    server.shutdown()
    thread.join()
    server.server_close()


def _credentials(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    for name, value in (("ENDPOINT_URL", endpoint), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same from moto, which checks signatures and conditions."""
    pytest.importorskip("obstore", reason="obstore is an extra: pip install 'drawtap[fleet]'")
    if os.environ.get("MOTO") == "needed":  # a job of continuous integration that must not skip it
        server = importlib.import_module("moto.server")
    else:
        server = pytest.importorskip("moto.server", reason="pip install 'moto[server]'")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    _credentials(monkeypatch, f"http://{host}:{port}")
    import boto3

    boto3.client("s3").create_bucket(Bucket="gfx")
    yield "s3://gfx/corpus"
    running.stop()


def _names(store: Store) -> list[str]:
    return sorted(entry.name for entry in store.objects.listed("") if kind_of(entry.name))


def _everything(path: Path) -> dict[str, object]:
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


def _round_trip(where: str, tmp_path: Path) -> None:
    store = create(where)
    file = _recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT, SMALL[:2000]), part=40_000)
    added = Adder(store).add(file, {"app": "nav"})
    assert added.new
    assert (added.contents, added.new_contents) == (4, 4)
    assert added.new_bytes < file.stat().st_size + 30_000
    back = tmp_path / "back.dtap"
    restore(store, added.id, back)
    assert _everything(back) == _everything(file)
    # The file that came back, and the one that was added, are in the corpus already.
    for again in (back, file):
        known = Adder(Store(where)).add(again)
        assert (known.id, known.new, known.new_bytes) == (added.id, False, 0)
    assert not check(store).faults
    with search.Corpus(store) as corpus:
        row = corpus.rows("SELECT * FROM traces")
        assert [(r["trace"], r["file"], r["frames"], r["tags"]) for r in row] == [
            (added.id, "a.dtap", 4, {"app": "nav"})
        ]
        assert corpus.scalar("SELECT sum(draws) FROM frames") == 4
        assert corpus.query("SELECT e.runs, m.runs FROM engines e, machines m").fetchall() == []
    _judge(store, added.id)
    _has_judgements(store)
    if "://" not in where:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "MANY_FILES", 1)
            assert search.compact(store) is not None
        sweep(store, 0)
        assert {len(names) for names in search.files_of(store).tables.values()} == {1}
        _has_judgements(store)
    assert not check(store).faults
    store.remove(added.id)
    sweep(store, 0)
    assert not any(added.id in name or name.startswith("contents/") for name in _names(store))


JUDGED = {
    "SELECT frame, base, engine, a, b, max, pixels, round(rmse, 3), ssim < 1, mask, first_draw FROM diffs": [
        (2, "a" * 32, "b" * 32, "0" * 16, "1" * 16, 100, 1, round(math.sqrt(100**2 / (64 * 48 * 4)), 3), True, 9, 77)
    ],
    'SELECT frame, "pass", metric, value FROM samples ORDER BY ALL': [
        (0, "base", "m", 1.25), (0, "new", "m", 0.1), (None, "base", "m", 3.0), (None, "new", "m", 4.5),
    ],
    "SELECT family, metric, base, build, engine, before, after, p FROM changes": [
        ("new", "m", "a" * 32, "new", "b" * 32, 0.0, 0.5, 0.001)
    ],
    "SELECT length(day), checks, alarms, spread FROM canaries": [(10, 2, 1, 0.25)],
}  # fmt: skip


def _has_judgements(store: Store) -> None:
    with search.Corpus(store) as tables:
        assert {question: tables.query(question).fetchall() for question in JUDGED} == JUDGED


def _judge(store: Store, trace: str) -> None:
    """Write what verdicts, canaries and a history tell: what has a name by its content twice."""
    base, new = (Engine(name, name, {}, key * 32, "", "", "", "") for name, key in (("base", "a"), ("new", "b")))
    plain = np.zeros((48, 64, 4), np.uint8)
    images = [plain.copy() for _ in range(3)]
    images[1][40, 60, 0] = images[2][40, 60, 0] = 100  # the new build is wrong here
    images[2][10, 10, 0] = 200  # and jitters there
    keys = (base.key, "0"), (new.key, "1"), (new.key, "2")
    shots = [Shot(2, digit * 16, key, png(image)) for image, (key, digit) in zip(images, keys, strict=True)]
    one = Judged(trace, "ok", "differs", frame=2, first_seq=77)
    _ran(store, trace, new, seconds=1.0)
    pair = {"task": "5" * 64, "trace": trace, "metric": "m", "base_value": 3.0, "value": 4.5}
    row = {c.name: None for c in TABLES["pairs"].columns} | pair
    rows.write_task(store, "5" * 64, {"pairs": (tuple(row), [tuple(row.values())])})
    readings = [("5" * 64, trace, 0, side, "m", value) for side, value in (("base", 1.25), ("new", 0.1))]
    verdicts.write_speed(store, Speed(trace, "regression", 8), "m", new, base, readings=readings)
    canaries.write_check(store, trace, base, "images", None)
    canaries.write_check(store, trace, base, "speed", "too hot", spread=0.25)
    moved = Change(1, 0.0, 0.5, 0.001)
    builds = [
        history.Build(base.key, "base", 1, "ok", None, 8, 0.0, None),
        history.Build(new.key, "new", 2, "ok", None, 8, 0.5, 0.5, moved),
    ]
    for before in (True, False):
        # An earlier look at fewer pairs found another change: the newest one counts.
        earlier = [replace(b, pairs=4, moved=b.moved and Change(1, 0.0, 0.4, 0.01)) for b in builds]
        verdicts._write_diffs(store, one, shots, new, base)
        with search.Corpus(store) as tables:
            for of in (earlier, builds) if before else (builds,):
                history.keep(store, tables, trace, history.History("m", "base", tuple(of), base.key))


def test_round_trip(tmp_path: Path) -> None:
    _round_trip(str(tmp_path / "store"), tmp_path)


@pytest.mark.exhaustive  # continuous integration has a strict bucket
def test_round_trip_in_a_bucket(bucket: str, tmp_path: Path) -> None:
    _round_trip(bucket, tmp_path)


def test_round_trip_in_a_strict_bucket(moto: str, tmp_path: Path) -> None:
    _round_trip(moto, tmp_path)


def test_a_new_object_never_replaces_another(bucket: str, tmp_path: Path) -> None:
    for where in (bucket, str(tmp_path)):
        objects = opened(where)
        assert objects.put_new("packs/x", b"first")
        assert not objects.put_new("packs/x", b"second", look=False)
        assert objects.get("packs/x") == b"first"
        assert objects.get("packs/x", 1, 3) == b"ir"
        objects.replace("packs/x", b"third")
        assert objects.get("packs/x", 2) == b"ird"
        assert [entry.name for entry in objects.listed("packs/")] == ["packs/x"]
        objects.delete("packs/x")
        objects.delete("packs/x")
        assert objects.about("packs/x") is None
        with pytest.raises(InputError, match="there is no"):
            objects.get("packs/x")


def test_of_two_writers_at_once_the_first_one_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # Neither sees the other's object when it looks.
    monkeypatch.setattr(type(store.objects), "_is_there", lambda *_: False)
    assert store.objects.put_new("packs/x", b"first")
    assert not store.objects.put_new("packs/x", b"second")
    assert store.objects.get("packs/x") == b"first"
    assert [entry.name for entry in store.objects.listed("packs/")] == ["packs/x"]


def test_equal_contents_are_stored_once(store: Store, tmp_path: Path) -> None:
    adder = Adder(store)
    first = adder.add(_recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT)))
    # Another run: other times and another order in the file, and parts of contents at other places.
    second = adder.add(_recording(tmp_path / "b.dtap", (FLAT, BIG, SMALL), start=5000, part=10_000))
    assert first.id != second.id
    assert (second.new, second.new_contents, second.new_content_bytes) == (True, 0, 0)
    third = Adder(store).add(_recording(tmp_path / "c.dtap", (SMALL, BIG[:-1])))
    assert third.new_contents == 1
    with search.Corpus(store) as corpus:
        shared = (
            corpus.scalar("SELECT count(DISTINCT sha256) FROM contents"),
            corpus.scalar("SELECT count(*) FROM contents"),
        )
    assert shared == (4, 8)


def test_what_a_file_lacks_stays_lacking(store: Store, tmp_path: Path) -> None:
    w = small_trace()
    w.add_blobs([BIG])
    path = tmp_path / "torn.dtap"
    path.write_bytes(w.bytes(footer=False) + b"the beginning of a chunk")
    added = Adder(store).add(path)
    assert any("not whole" in note for note in added.notes)
    restore(store, added.id, tmp_path / "back.dtap")
    with open_trace(tmp_path / "back.dtap") as trace:
        assert not trace.info["closed"]
        assert trace.core.blob(hash_text(BIG)) == BIG


# ---- killed, and at the same time ------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
left, write = int(sys.argv[3]), os.write
def limited(file, content):
    global left
    part = bytes(content)[:left]
    done = write(file, part) if part else 0
    left -= len(part)
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
from pathlib import Path
from drawtap.corpus.adding import Adder
from drawtap.corpus.store import Store
from drawtap.corpus import rows
rows.QUESTIONS["findings"] = sys.argv[4]
store = Store(sys.argv[1])
os.write = limited
Adder(store).add(Path(sys.argv[2]), {"app": "nav"})
"""


def test_a_killed_adder_leaves_a_whole_store(tmp_path: Path) -> None:
    file = _recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT, BIG[:-5]))
    alone = create(str(tmp_path / "alone"))
    Adder(alone).add(file, {"app": "nav"})
    expected = _timeless(alone)
    total = sum(entry.bytes for entry in alone.objects.listed(""))
    rng = random.Random(3)
    for number in range(steps(2, 50)):
        store = create(str(tmp_path / f"killed{number}"))
        at = rng.randrange(1, total - 400)
        with _adder(store, file, at) as adder:
            said = adder.communicate()[1]
        assert adder.returncode == -9, (at, said)
        _stays_whole(store, file, expected, tmp_path)
        # What it had begun to write goes with a sweep.
        sweep(store, 0)
        assert not [entry for entry in store.objects.listed("") if not kind_of(entry.name)]


def test_an_adder_killed_before_a_bucket_leaves_a_whole_store(bucket: str, meter: _Meter, tmp_path: Path) -> None:
    file = _recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT, BIG[:-5]))
    alone = create(f"{bucket}/alone")
    begun = meter.taken
    Adder(alone).add(file, {"app": "nav"})
    expected, total = _timeless(alone), meter.taken - begun
    rng = random.Random(4)
    for number in range(steps(2, 50)):
        store = create(f"{bucket}/killed{number}")
        with _adder(store, file, 1 << 60) as adder:
            meter.writer, meter.keeps, meter.limit = adder, number % 2 == 0, meter.taken + rng.randrange(1, total)
            said = adder.communicate()[1]
        at = meter.limit
        meter.writer = None
        assert adder.returncode == -9, (at, said)
        _stays_whole(store, file, expected, tmp_path)


def _adder(store: Store, file: Path, limit: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", _KILLED, store.where, str(file), str(limit), NO_FINDINGS]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _stays_whole(store: Store, file: Path, expected: list[str], tmp_path: Path) -> None:
    """Check a store whose adder was killed: it is whole, and adding again ends in the same objects."""
    assert not check(store).faults
    added = Adder(store).add(file, {"app": "nav"})
    assert _timeless(store) == expected
    assert not check(store).faults
    restore(store, added.id, tmp_path / "back.dtap")


def _timeless(store: Store) -> list[str]:
    return sorted(re.sub(r"/\d{20}-", "/", name) for name in _names(store))  # tags have a time in their names


def test_several_adders_at_once(store: Store, tmp_path: Path) -> None:
    files = [_recording(tmp_path / f"{n}.dtap", (BIG, SMALL, FLAT[n:], SMALL[n:])) for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda f: Adder(store).add(f), files * 3))
    assert len({a.id for a in done}) == 4
    assert sum(a.new for a in done) == 4
    assert set(store.recordings()) == {a.id for a in done}
    assert not check(store).faults
    for one in done[:4]:
        restore(store, one.id, tmp_path / "back.dtap")


def test_tenants_share_nothing(tmp_path: Path) -> None:
    file = _recording(tmp_path / "a.dtap", (BIG,))
    a, b = (create(str(tmp_path / "store"), name) for name in ("a", "b"))
    assert Adder(a).add(file).new_contents == 1
    assert Adder(b).add(file).new_contents == 1
    assert a.where != b.where
    with pytest.raises(UsageError, match="a corpus itself"):
        create(a.where, "inner")
    with pytest.raises(UsageError, match="no name of a tenant"):
        create(str(tmp_path), "../b")


@pytest.mark.exhaustive
def test_a_budget_leaves_recordings_out_by_name(tmp_path: Path) -> None:
    store = create(str(tmp_path / "store"))
    for number in range(6):
        Adder(store).add(_recording(tmp_path / f"{number}.dtap", (SMALL,) * (number + 1), start=1000 + number))
    with search.Corpus(store) as tables:
        rows_ = tables.rows("SELECT trace, duration FROM traces")
        length = {str(row["trace"]): int(row["duration"]) / 1e9 for row in rows_}
        ids, total = list(length), sum(length.values())
        assert verdicts.within(tables, ids, ["a", "b"], 0, 2 * total) == ids
        half = verdicts.within(tables, ids, ["a", "b"], 0, total)
        assert 0 < len(half) < 6
        assert 2 * sum(length[id_] for id_ in half) <= total
        # Pairs cost as much again, for each of them; and runs that were made cost nothing.
        assert len(verdicts.within(tables, ids, ["a", "b"], 9, total)) < len(half)
        assert not verdicts.within(tables, ids, ["a", "b"], 0, 0)
        for id_ in ids[:2]:
            _ran(store, id_, "a", seconds=0.0)
    with search.Corpus(store) as tables:
        assert set(verdicts.within(tables, ids, ["a"], 0, 0)) == set(ids[:2])


def _ran(store: Store, trace: str, on: str | Engine, *, seconds: float) -> None:
    engine = Engine(on, on, {}, on, "", "", "", "") if isinstance(on, str) else on
    task = hashlib.sha256(f"{trace}{engine.key}".encode()).hexdigest()
    rows.write_run(store, Run(task, trace, engine, "ok", 1, seconds))


# ---- sweeping ----------------------------------------------------------------------------------------------------


def test_a_sweep_keeps_what_recordings_need(store: Store, tmp_path: Path) -> None:
    a = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG, SMALL)))
    b = Adder(store).add(_recording(tmp_path / "b.dtap", (BIG, FLAT)))
    store.remove(b.id)
    first = sweep(store)
    assert first.condemned > 0
    assert (first.deleted, first.waiting) == (0, first.condemned)
    assert sweep(store).condemned == 0
    last = sweep(store, 0)
    assert last.deleted == first.condemned
    assert not condemned(store)
    restore(store, a.id, tmp_path / "back.dtap")
    assert not check(store).faults


def test_what_is_added_again_outlives_its_sweep(store: Store, tmp_path: Path) -> None:
    file = _recording(tmp_path / "a.dtap", (BIG, SMALL))
    first = Adder(store).add(file)
    store.remove(first.id)
    sweep(store)
    for entry in store.objects.listed(""):  # all this was long ago
        os.utime(Path(store.where) / entry.name, (0, 0) if not entry.name.startswith("gc/") else (1000, 1000))
    second = Adder(store).add(file)
    assert second.new_content_bytes > 0  # condemned objects are not relied on
    store.remove(second.id)  # and even before its manifest is there
    assert sweep(store, LEAST_AGE_S).deleted == 0
    assert Adder(store).add(file).id == first.id
    sweep(store, LEAST_AGE_S)
    assert not check(store).faults
    restore(store, first.id, tmp_path / "back.dtap")


def test_a_damaged_manifest_stops_a_sweep(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    path = Path(store.where) / f"traces/{added.id}.json"
    path.write_bytes(path.read_bytes()[:-30])
    names = _names(store)
    with pytest.raises(InputError, match="damaged"):
        sweep(store, 0)
    assert _names(store) == names


# ---- damage, hostile stores ------------------------------------------------------------------------------------------


def test_every_flipped_byte_is_found(store: Store, tmp_path: Path) -> None:
    adder = Adder(store)
    adder.add(_recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT)), {"app": "nav"})
    removed = adder.add(_recording(tmp_path / "b.dtap", (SMALL[1:],)))
    store.remove(removed.id)
    sweep(store)
    _simulated(store, 1)
    decide(store, Decision(removed.id, "llvmpipe", "approved", {0: "0" * 32}, "ada", "looked at"))
    rng = random.Random(4)
    kinds = set()
    for name in _names(store):
        path = Path(store.where) / name
        kind = kind_of(name)
        assert kind
        kinds.add(kind[0])
        if kind[0] == "skeleton" and kind[1]["id"] == removed.id:
            continue  # nobody needs it
        whole = path.read_bytes()
        places = {0, len(whole) - 1, *(rng.randrange(max(1, len(whole))) for _ in range(steps(1, 200)))}
        for at in places if whole else {0}:
            changed = bytearray(whole) or bytearray(b"\0")
            changed[at % len(changed)] ^= 1 << rng.randrange(8)
            path.write_bytes(changed)
            assert name in {fault.name for fault in check(store).faults}, (name, at)
        path.write_bytes(whole)
    assert kinds == {
        *("corpus", "content", "pack", "skeleton", "manifest", "table", "generation"),
        "alias",
        "tag",
        "sweep",
        "approval",
    }
    assert not check(store).faults


def test_damage_is_mended_from_the_file(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    path = _recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT))
    other = _recording(tmp_path / "b.dtap", (SMALL, FLAT))
    id_, _ = (Adder(store).add(file).id for file in (path, other))
    kinds = ("content", "pack", "skeleton", "manifest", "table")
    names = [name for name in _names(store) if (kind_of(name) or ("",))[0] in kinds]
    for gone in (False, True):
        for name in names:
            object_ = Path(store.where) / name
            if gone and not name.endswith(".json"):
                object_.unlink()
            else:
                object_.write_bytes(object_.read_bytes()[:-1] + b"x")
        assert check(store).faults
        for file in (path, other):
            answer = drawtap("corpus", "add", "--mend", file, "--corpus", store.where, "--json")
            assert answer.code == 0, answer.err
        assert not check(store).faults
        restore(store, id_, tmp_path / "back.dtap")
        assert _everything(tmp_path / "back.dtap") == _everything(path)
    answer = drawtap("corpus", "add", "--mend", path, "--corpus", store.where, "--json")
    assert json.loads(answer.out)[0]["mended"] == []


def test_missing_and_foreign_objects(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    gone = next(entry.name for entry in store.objects.listed("contents/"))
    store.objects.delete(gone)
    (Path(store.where) / "notes.txt").write_text("hello")
    answer = drawtap("corpus", "check", "--corpus", store.where, "--json")
    assert answer.code == 1
    assert {(row["object"], row["what"]) for row in json.loads(answer.out)} == {
        (gone, "missing"),
        ("notes.txt", "foreign"),
    }
    with pytest.raises(InputError, match="there is no"):
        restore(store, added.id, tmp_path / "back.dtap")
    assert not (tmp_path / "back.dtap").exists()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def _manifest(store: Store, id_: str, **changes: object) -> None:
    path = Path(store.where) / f"traces/{id_}.json"
    path.write_bytes(replace(store.manifest(id_), **changes).text())  # type: ignore[arg-type]


def test_names_from_a_manifest_lead_nowhere(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("../../evil.dtap", "/etc/evil.dtap", "..", "", "a\nb.dtap"):
        _manifest(store, added.id, file=name)
        answer = drawtap("corpus", "get", added.id[:12], "-o", inner, "--corpus", store.where, "--force")
        assert answer.code == 0, answer.err
    assert {p.name for p in inner.iterdir()} == {"evil.dtap", f"{added.id[:12]}.dtap"}
    assert not (tmp_path / "evil.dtap").exists()


def test_a_manifest_that_no_adder_writes(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    path = Path(store.where) / f"traces/{added.id}.json"
    whole = store.manifest(added.id)
    one = whole.contents[0]
    for changed in (
        replace(whole, contents=(replace(one, sha256="../../../etc/passwd"),)),
        replace(whole, contents=(replace(one, pack="../../x"),)),
        replace(whole, contents=(replace(one, bytes=-1),)),
        replace(whole, contents=()),
        replace(whole, tables={"../x": "0" * 64}),
        replace(whole, skeleton_sha256="0" * 64),
        replace(whole, version=99),
    ):
        path.write_bytes(changed.text())
        with pytest.raises(InputError, match=r"is not the manifest|of version 99"):
            restore(store, added.id, tmp_path / "back.dtap")
        assert [fault.what for fault in check(store).faults] == ["damaged"]


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    name = next(entry.name for entry in store.objects.listed("contents/"))
    path = Path(store.where) / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no links"):
        restore(store, added.id, tmp_path / "back.dtap")
    assert [fault.name for fault in check(store).faults] == [name]
    folder = Path(store.where) / "aliases"
    folder.rename(tmp_path / "aliases")
    folder.symlink_to(tmp_path / "aliases")
    with pytest.raises(InputError, match="no links"):
        Adder(store).add(_recording(tmp_path / "b.dtap", (FLAT,)))


def test_a_pack_whose_index_lies(store: Store, tmp_path: Path) -> None:
    Adder(store).add(_recording(tmp_path / "a.dtap", (SMALL,)))
    path = next((Path(store.where) / "packs").iterdir())
    path.write_bytes(path.read_bytes()[:-20] + b"\xff" * 12 + b"DTPACK1\n")
    with pytest.raises(InputError, match="index makes no sense"):
        Adder(store).add(_recording(tmp_path / "b.dtap", (SMALL,)))


def test_what_is_no_recording_is_refused(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    (tmp_path / "x.dtap").write_text("hello")
    for path, said in ((tmp_path / "x.dtap", "is text, not a recording"), (tmp_path / "y.dtap", "there is no file")):
        answer = drawtap("corpus", "add", path, "--corpus", store.where)
        assert answer.code == 4
        assert said in answer.err
    assert _names(store) == ["corpus.json"]


def test_mistakes(
    drawtap: Callable[..., Answer], store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    monkeypatch.delenv("DRAWTAP_CORPUS", raising=False)
    assert drawtap("corpus", "ls").code == 2
    monkeypatch.setenv("DRAWTAP_CORPUS", store.where)
    for words, code, said in (
        (("ls", "--corpus", tmp_path / "none"), 4, "there is no corpus"),
        (("get", "zzzzzz"), 2, "is no id"),
        (("get", "000000"), 2, "there is no recording 000000"),
        (("tag", added.id[:12], "app"), 2, "is no tag"),
        (("add", tmp_path / "a.dtap", "--tag", "app="), 2, "is no tag"),
        (("init", store.where), 2, "there is a corpus"),
        (("init", tmp_path), 2, "is not empty"),
        (("gc", "--age", "soon"), 2, "is no time"),
        (("sql", "SELECT fil FROM traces"), 2, "did you mean file"),
        (("sql", "SELECT * FROM calls"), 2, "no table calls"),
        (("sql", "SELECT * FROM read_csv('/etc/passwd')"), 2, "only the corpus is read"),
    ):
        answer = drawtap("corpus", *words)
        assert (answer.code, said in answer.err) == (code, True), (words, answer.err)


# ---- asking -----------------------------------------------------------------------------------------------------


def test_tags(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    a, b = (Adder(store).add(_recording(tmp_path / f"{n}.dtap", (BIG[n:],)), {"app": "nav"}) for n in (0, 1))
    drawtap("corpus", "tag", a.id[:12], "build=1", "app=", "--corpus", store.where)
    drawtap("corpus", "tag", a.id[:12], "build=ß ü/2", "--corpus", store.where)
    listed = json.loads(drawtap("corpus", "ls", "--corpus", store.where, "--json").out)
    assert {row["trace"]: row["tags"] for row in listed} == {a.id: {"build": "ß ü/2"}, b.id: {"app": "nav"}}
    chosen = json.loads(drawtap("corpus", "ls", "--tag", "app=nav", "--corpus", store.where, "--json").out)
    assert [row["trace"] for row in chosen] == [b.id]


def test_calls_of_chosen_recordings(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    for n, app in enumerate(("nav", "nav", "menu")):
        Adder(store).add(_recording(tmp_path / f"{n}.dtap", (BIG,) * 1 + (SMALL[n:],) * n), {"app": app})
    query = "SELECT count(DISTINCT trace) AS t, count(*) AS n FROM calls WHERE name LIKE 'glDraw%'"
    answer = drawtap("corpus", "sql", "--calls", "app=nav", query, "--corpus", store.where, "--json")
    assert json.loads(answer.out) == [{"t": 2, "n": 3}], answer.err


def test_the_tables_have_the_declared_columns(store: Store, tmp_path: Path) -> None:
    for step in ("empty", "filled"):
        with search.Corpus(store) as corpus:
            for name, table in TABLES.items():
                answer = corpus.query(f"SELECT * FROM {name}")
                assert dict(zip(answer.columns, answer.types, strict=True)) == {c.name: c.type for c in table.columns}
                filled = step == "filled" and name in FILED and name not in OF_TASKS
                assert bool(answer.fetchall()) == filled or name == "findings"
        Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))


def _simulated(store: Store, count: int) -> list[str]:
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


def test_engines_and_machines_are_what_runs_and_pairs_tell(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    for key in ("a", "b"):
        _ran(store, added.id, key, seconds=1.0)
    for number, ratio in enumerate((0.01, 0.02, 0.04)):
        row = {c.name: None for c in TABLES["pairs"].columns} | {"task": f"{number:064x}", "trace": added.id}
        row |= {"machine": "m", "started": 7 + number, "ratio": ratio}
        rows.write_task(store, f"{number:064x}", {"pairs": (tuple(row), [tuple(row.values())])})
    with search.Corpus(store) as corpus:
        assert corpus.query("SELECT engine, family, runs FROM engines ORDER BY engine").fetchall() == [
            ("a", "a", 1),
            ("b", "b", 1),
        ]
        found = {row["machine"]: row for row in corpus.rows("SELECT * FROM machines")}
    assert (found["m"]["runs"], found["m"]["pairs"], found["m"]["first"], found["m"]["last"]) == (0, 3, 7, 9)
    assert found["m"]["spread"] == pytest.approx(math.expm1(0.01))
    assert sum(row["runs"] for row in found.values()) == 2


def test_a_thousand_recordings_are_a_few_files(store: Store, tmp_path: Path) -> None:
    ids = _simulated(store, 1000)
    new = Adder(store).add(_recording(tmp_path / "a.dtap", (BIG,)))
    store.remove(ids[0])
    files = search.files_of(store)
    assert {name: len(names) for name, names in files.tables.items()} == {n: 1 + (n not in OF_TASKS) for n in FILED}
    with search.Corpus(store) as corpus:
        assert corpus.scalar("SELECT count(*) FROM traces") == 1000
        assert corpus.scalar("SELECT count(*) FROM frames WHERE trace = ?", (ids[1],)) == 2
        assert corpus.scalar("SELECT count(*) FROM frames WHERE trace = ?", (ids[0],)) == 0
        assert corpus.scalar("SELECT count(*) FROM frames WHERE trace = ?", (new.id,)) == 1


def test_rows_of_many_recordings_are_put_together(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MANY_FILES", 2)
    before = [Adder(store).add(_recording(tmp_path / f"{n}.dtap", (BIG, SMALL[n:]))).id for n in range(3)]

    def asked() -> list[tuple[object, ...]]:
        with search.Corpus(store) as corpus:
            return corpus.query("SELECT * FROM frames ORDER BY trace, frame").fetchall()

    alone = asked()
    first = search.compact(store)
    assert first is not None
    assert first.recordings == set(before)
    assert search.compact(store) is None
    assert asked() == alone
    assert {len(names) for names in search.files_of(store).tables.values()} == {1}
    store.remove(before[0])
    more = [Adder(store).add(_recording(tmp_path / f"m{n}.dtap", (SMALL[n:],))).id for n in range(3)]
    second = search.compact(store)
    assert second is not None
    assert (second.number, second.recordings) == (1, {*before[1:], *more})
    sweep(store, 0)
    assert not check(store).faults
    assert {row[0] for row in asked()} == {*before[1:], *more}


def test_an_adder_that_takes_too_long_gives_up(store: Store, tmp_path: Path) -> None:
    adder = Adder(store)
    adder._began -= 2 * 24 * 3600
    with pytest.raises(DrawtapError, match="add it again"):
        adder.add(_recording(tmp_path / "a.dtap", (BIG,)))
    assert not store.recordings()


def test_a_subset_stands_for_all(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is an extra: pip install 'drawtap[clusters]'")

    def scene(name: str, draws: int, frames: int) -> str:
        w = Writer()
        w.uuid = hashlib.md5(name.encode()).digest()
        t, at = w.thread(), 1000
        for _ in range(frames):
            for _ in range(draws):
                t.call("glDrawElements", mode=4, count=300 // draws, type=5123, start=at, duration=10_000_000)
                at += 20_000_000
            t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=at, duration=9)
        return Adder(store).add(w.write(tmp_path / f"{name}.dtap")).id

    few = {scene(f"few{n}", 2 + n % 2, 4 + n) for n in range(3)}
    many = {scene(f"many{n}", 60 + n, 2 + n) for n in range(3)}
    with search.Corpus(store) as corpus:
        minutes = corpus.scalar("SELECT sum(duration) FROM traces") / 60e9
    answer = drawtap(
        "corpus", "select", "--minutes", minutes * 0.6, "--set", "smoke=yes", "--corpus", store.where, "--json"
    )
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    ids = {row["trace"] for row in found}
    assert ids & few
    assert ids & many
    assert sum(row["stands_for"] for row in found) == 6
    assert sum(row["duration"] for row in found) <= minutes * 0.6 * 60e9
    assert set(search.tagged(store, {"smoke": "yes"})) == ids
    whole = json.loads(drawtap("corpus", "select", "--minutes", minutes, "--corpus", store.where, "--json").out)
    assert {row["trace"] for row in whole} == few | many
    assert drawtap("corpus", "select", "--minutes", "0.0000001", "--corpus", store.where).code == 2


# ---- images ---------------------------------------------------------------------------------------------------------


def test_pixels_that_change_from_run_to_run_hide_nothing_else() -> None:
    plain = np.full((40, 60, 4), 7, np.uint8)

    def shown(*places: tuple[int, int]) -> np.ndarray:
        image = plain.copy()
        for y, x in places:
            image[y, x, 0] += 100
        return image

    jitter = [shown((0, 0)), shown((5, 5)), plain]
    assert outside(jitter, [plain, plain]) == ""
    assert outside([shown((0, 0)), plain], [shown((20, 30)), plain]) == ""
    wrong = [shown((0, 0), (39, 59)), shown((5, 5), (39, 59)), shown((39, 59))]
    assert outside(wrong, [plain, plain]) == "1 pixels differ elsewhere"
    assert "of its pixels change" in outside([plain, plain + 1], [plain, plain])
    assert "sizes" in outside([plain], [plain[:20]])
    assert "missing" in outside([plain], [None])


def test_narrow_families_inherit_from_wide_ones() -> None:
    assert families("radeonsi/gfx11/26.1") == ("radeonsi/gfx11/26.1", "radeonsi/gfx11", "radeonsi")
    assert families("") == ()
