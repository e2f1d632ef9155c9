"""A corpus: what is added comes back equal, is stored once and survives killed adders."""

from __future__ import annotations

import importlib
import logging
import math
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from corpora import (
    BIG,
    FLAT,
    NO_FINDINGS,
    SMALL,
    empty_store,  # noqa: F401 - a fixture
    everything,
    names_in,
    recording,
    run_kept,
    without_the_checklist,  # noqa: F401 - a fixture
)
from drawtap.corpus import canaries, history, rows, search, verdicts
from drawtap.corpus.adding import Adder, restore
from drawtap.corpus.checking import check
from drawtap.corpus.engines import Engine
from drawtap.corpus.gallery import Shot
from drawtap.corpus.objects import opened
from drawtap.corpus.pictures import Judged
from drawtap.corpus.speed import Change, Speed
from drawtap.corpus.store import Store, create, kind_of
from drawtap.corpus.sweeping import LEAST_AGE_S, condemned, sweep
from drawtap.errors import InputError, UsageError
from drawtap.tables.corpus import TABLES
from drawtap.trace.trace import open_trace
from shared import player_png, steps
from writer import hash_text, small_trace


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


def _round_trip(where: str, tmp_path: Path) -> None:
    store = create(where)
    file = recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT, SMALL[:2000]), part=40_000)
    added = Adder(store).add(file, {"app": "nav"})
    assert added.new
    assert (added.contents, added.new_contents) == (4, 4)
    assert added.new_bytes < file.stat().st_size + 30_000
    back = tmp_path / "back.dtap"
    restore(store, added.id, back)
    assert everything(back) == everything(file)
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
    assert not any(added.id in name or name.startswith("contents/") for name in names_in(store))


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
    shots = [Shot(2, digit * 16, key, player_png(image)) for image, (key, digit) in zip(images, keys, strict=True)]
    one = Judged(trace, "ok", "differs", frame=2, first_seq=77)
    run_kept(store, trace, new, seconds=1.0)
    pair = {"task": "5" * 64, "trace": trace, "metric": "m", "base_value": 3.0, "value": 4.5}
    row = {c.name: None for c in TABLES["pairs"].columns} | pair
    rows.write_task(store, "5" * 64, {"pairs": (tuple(row), [tuple(row.values())])})
    readings = [("5" * 64, trace, 0, side, "m", value) for side, value in (("base", 1.25), ("new", 0.1))]
    verdicts.write_speed(store, Speed(trace, "regression", 8), "m", new, base, readings=readings)
    canaries.write_check(store, trace, base, "images", None)
    canaries.write_check(store, trace, base, "speed", "too hot", spread=0.25)
    moved = Change(1, 0.0, 0.5, 0.001)
    builds = [
        history.Build("base", base.key, 1, "ok", None, 8, 0.0, None),
        history.Build("new", new.key, 2, "ok", None, 8, 0.5, 0.5, moved),
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
    first = adder.add(recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT)))
    # Another run: other times and another order in the file, and parts of contents at other places.
    second = adder.add(recording(tmp_path / "b.dtap", (FLAT, BIG, SMALL), start=5000, part=10_000))
    assert first.id != second.id
    assert (second.new, second.new_contents, second.new_content_bytes) == (True, 0, 0)
    third = Adder(store).add(recording(tmp_path / "c.dtap", (SMALL, BIG[:-1])))
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
    file = recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT, BIG[:-5]))
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
    file = recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT, BIG[:-5]))
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
    own = {**os.environ, "TMPDIR": str(file.parent)}  # it leaves its temporary folder behind
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)


def _stays_whole(store: Store, file: Path, expected: list[str], tmp_path: Path) -> None:
    """Check a store whose adder was killed: it is whole, and adding again ends in the same objects."""
    assert not check(store).faults
    added = Adder(store).add(file, {"app": "nav"})
    assert _timeless(store) == expected
    assert not check(store).faults
    restore(store, added.id, tmp_path / "back.dtap")


def _timeless(store: Store) -> list[str]:
    return sorted(re.sub(r"/\d{20}-", "/", name) for name in names_in(store))  # tags have a time in their names


def test_several_adders_at_once(store: Store, tmp_path: Path) -> None:
    files = [recording(tmp_path / f"{n}.dtap", (BIG, SMALL, FLAT[n:], SMALL[n:])) for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda f: Adder(store).add(f), files * 3))
    assert len({a.id for a in done}) == 4
    assert sum(a.new for a in done) == 4
    assert set(store.recordings()) == {a.id for a in done}
    assert not check(store).faults
    for one in done[:4]:
        restore(store, one.id, tmp_path / "back.dtap")


def test_tenants_share_nothing(tmp_path: Path) -> None:
    file = recording(tmp_path / "a.dtap", (BIG,))
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
        Adder(store).add(recording(tmp_path / f"{number}.dtap", (SMALL,) * (number + 1), start=1000 + number))
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
            run_kept(store, id_, "a", seconds=0.0)
    with search.Corpus(store) as tables:
        assert set(verdicts.within(tables, ids, ["a"], 0, 0)) == set(ids[:2])


# ---- sweeping ----------------------------------------------------------------------------------------------------


def test_a_sweep_keeps_what_recordings_need(store: Store, tmp_path: Path) -> None:
    a = Adder(store).add(recording(tmp_path / "a.dtap", (BIG, SMALL)))
    b = Adder(store).add(recording(tmp_path / "b.dtap", (BIG, FLAT)))
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
    file = recording(tmp_path / "a.dtap", (BIG, SMALL))
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
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    path = Path(store.where) / f"traces/{added.id}.json"
    path.write_bytes(path.read_bytes()[:-30])
    names = names_in(store)
    with pytest.raises(InputError, match="damaged"):
        sweep(store, 0)
    assert names_in(store) == names
