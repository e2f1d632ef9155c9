"""Questions about a corpus: tags, tables, engines and machines, subsets, images that vary."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import Answer
from corpora import (
    BIG,
    SMALL,
    empty_store,  # noqa: F401 - a fixture
    recording,
    run_kept,
    simulated,
    without_the_checklist,  # noqa: F401 - a fixture
)
from drawtap.corpus import rows, search
from drawtap.corpus.adding import Adder
from drawtap.corpus.approvals import families
from drawtap.corpus.checking import check
from drawtap.corpus.pictures import outside
from drawtap.corpus.store import Store
from drawtap.corpus.sweeping import sweep
from drawtap.errors import DrawtapError
from drawtap.tables.corpus import FILED, OF_TASKS, TABLES
from writer import Writer


def test_tags(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    a, b = (Adder(store).add(recording(tmp_path / f"{n}.dtap", (BIG[n:],)), {"app": "nav"}) for n in (0, 1))
    drawtap("corpus", "tag", a.id[:12], "build=1", "app=", "--corpus", store.where)
    drawtap("corpus", "tag", a.id[:12], "build=ß ü/2", "--corpus", store.where)
    listed = json.loads(drawtap("corpus", "ls", "--corpus", store.where, "--json").out)
    assert {row["trace"]: row["tags"] for row in listed} == {a.id: {"build": "ß ü/2"}, b.id: {"app": "nav"}}
    chosen = json.loads(drawtap("corpus", "ls", "--tag", "app=nav", "--corpus", store.where, "--json").out)
    assert [row["trace"] for row in chosen] == [b.id]


def test_calls_of_chosen_recordings(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    for n, app in enumerate(("nav", "nav", "menu")):
        Adder(store).add(recording(tmp_path / f"{n}.dtap", (BIG,) * 1 + (SMALL[n:],) * n), {"app": app})
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
        Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))


def test_engines_and_machines_are_what_runs_and_pairs_tell(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    for key in ("a", "b"):
        run_kept(store, added.id, key, seconds=1.0)
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
    ids = simulated(store, 1000)
    new = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
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
    before = [Adder(store).add(recording(tmp_path / f"{n}.dtap", (BIG, SMALL[n:]))).id for n in range(3)]

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
    more = [Adder(store).add(recording(tmp_path / f"m{n}.dtap", (SMALL[n:],))).id for n in range(3)]
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
        adder.add(recording(tmp_path / "a.dtap", (BIG,)))
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
