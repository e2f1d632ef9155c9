"""Lives of requests against a second, slow way to compute them: one object an event, in the order of time."""

import random

import pytest

from drawtap.system.metrics import metrics
from drawtap.system.model import build
from kernel_events import MemoryTrace


def jobs(generator, count):
    """Make jobs on two rings that work in order, with fences that are used again; some events are lost."""
    rows, truth, free, last, t = [], [], {"a": 0, "b": 0}, {"a": 0, "b": 0}, 0
    fences = {}
    for number in range(count):
        ring = generator.choice("ab")
        t += generator.randrange(1, 40)
        fence = generator.randrange(8)
        while fences.get(fence, 0) >= t:  # an address is free when its job is done
            t += 10
        run = max(t + generator.randrange(1, 30), free[ring] - generator.randrange(0, 20), last[ring] + 1)
        last[ring] = run
        begin = max(run, free[ring])
        end = begin + generator.randrange(1, 60)
        free[ring], fences[fence] = end, end
        about = {"entity": 1, "fence": 2**63 + fence, "name": ring, "id": number}
        life = {"queued": t, "submitted": run, "end": end}
        for name, at in (("drm_sched_job", t), ("drm_run_job", run)):
            rows.append((at, name, 0, 5, "app", about))
        rows.append((end, "drm_sched_process_job", 0, 0, "irq", {"fence": 2**63 + fence}))
        truth.append((ring, life))
    return rows, truth


def expected(truth):
    """Return (ring, queued, begin, end) of every job."""
    free, found = {}, []
    for ring, life in sorted(truth, key=lambda entry: entry[1]["submitted"]):
        begin = max(life["submitted"], free.get(ring, 0))
        free[ring] = max(free.get(ring, 0), life["end"])
        found.append((ring, life["queued"], begin, life["end"]))
    return sorted(found)


@pytest.mark.parametrize("seed", range(6))
def test_lives(seed):
    rows, truth = jobs(random.Random(seed), 120)
    model = build(MemoryTrace(rows))
    found = model.query("SELECT engine, queued_ns, begin_ns, end_ns FROM requests ORDER BY ALL").fetchall()
    assert found == expected(truth)
    assert model.scalar("SELECT count(*) FROM requests WHERE unmatched IS NOT NULL") == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
def test_figures_of_any_window(seed):
    generator = random.Random(100 + seed)
    rows, truth = jobs(generator, 120)
    model = build(MemoryTrace(rows))
    last = max(r[0] for r in rows)
    for _ in range(5):
        a, b = sorted(generator.sample(range(last), 2))
        engines = {e["engine"]: e for e in metrics(model, begin=a, end=b)["engines"]}
        for ring in "ab":
            lives = [life for life in expected(truth) if life[0] == ring]
            busy = sum(max(0, min(end, b) - max(begin, a)) for _, _, begin, end in lives)
            waits = [begin - queued for _, queued, begin, _ in lives if a <= begin <= b]
            area = sum(max(0, min(begin, b) - max(queued, a)) for _, queued, begin, _ in lives)
            found = engines.get(ring, {"busy_ns": 0, "mean_wait_ns": None, "queue": {"mean": 0}})
            assert (found["busy_ns"] or 0) == busy
            assert found["mean_wait_ns"] == (pytest.approx(sum(waits) / len(waits)) if waits else None)
            assert found["queue"]["mean"] == pytest.approx(area / (b - a))


@pytest.mark.parametrize("seed", range(6))
def test_lost_events_leave_lives_open_and_never_join_two(seed):
    generator = random.Random(200 + seed)
    rows, truth = jobs(generator, 120)
    # Of two lives of a fence that follow each other, one is whole: else nothing tells where one ends.
    lives: dict[int, int] = {}
    kept = []
    spared = set()
    for row in sorted(rows, key=lambda r: r[0]):
        fence = row[5]["fence"]
        lives[fence] = lives.get(fence, 0) + (row[1] == "drm_sched_job")
        key = (fence, lives[fence])
        lost = (fence, lives[fence] - 1) not in spared and key not in spared and generator.random() < 0.15
        if lost:
            spared.add(key)
        else:
            kept.append(row)
    model = build(MemoryTrace(kept))
    times = {(ring, what, t) for ring, life in truth for what, t in life.items()}
    names = {"queued_ns": "queued", "submitted_ns": "submitted", "end_ns": "end"}
    whole = {(ring, life["queued"], life["submitted"], life["end"]) for ring, life in truth}
    for row in model.rows("SELECT * FROM requests WHERE engine IS NOT NULL"):
        known = {k: row[k] for k in names if row[k] is not None}
        assert all((row["engine"], names[k], t) in times for k, t in known.items())
        if len(known) == 3:
            assert (row["engine"], *known.values()) in whole
        else:
            assert row["unmatched"] or row["end_ns"] is not None
