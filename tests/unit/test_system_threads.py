"""What threads did, against a second, slow way to compute it: one object a turn, CPU by CPU and thread by thread."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest

from drawtap.errors import InputError
from drawtap.system.model import build
from drawtap.system.native import OrderedSpans, ThreadSpans
from drawtap.trace.result import Stream
from kernel_events import MemoryTrace

END = 10_000
_SWITCH = ("t", "cpu", "tid", "pid", "comm", "prev_tid", "next_tid", "prev_state", "prev_comm", "next_comm")
_WAKE = ("t", "wakee", "tid")


def table(columns, rows):
    connection = duckdb.connect()
    numbers = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    picked = ", ".join(f"unnest(${n}::{'VARCHAR' if 'comm' in n else 'BIGINT'}[]) AS {n}" for n in columns)
    return Stream(lambda: connection.cursor().sql(f"SELECT {picked}", params=numbers).__arrow_c_stream__())


def switches(generator, count, threads=6, cpus=3):
    """Make switches at different times, and wakes between them. Now and then one is lost, or a thread ends."""
    rows, wakes, on, t = [], [], [0] * cpus, 0
    for _ in range(count):
        t += generator.randrange(1, 9)
        cpu = generator.randrange(cpus)
        free = [0, *({*range(1, threads + 1)} - {*on})]
        before, on[cpu] = on[cpu], generator.choice(free)
        if generator.random() < 0.1:
            before = threads + 1  # who came in between was lost
        state = generator.choice([0, 256, 1, 1, 2, 2, 16 if generator.random() < 0.2 else 1])
        name = f"t{before}"
        rows.append((t, cpu, before, None, name, before, on[cpu], state, name, f"t{on[cpu]}"))
        for _ in range(generator.randrange(3)):
            t += generator.randrange(1, 4)
            wakes.append((t, generator.randrange(1, threads + 1), generator.choice([0, 7])))
    return rows, wakes


def turns(rows, begin, whole):
    """Return the turns of threads: (tid, cpu, begin, end, state behind it or None, is open, was lost)."""
    found = []
    for cpu in {row[1] for row in rows}:
        own = [row for row in rows if row[1] == cpu]
        if own[0][5] > 0 and own[0][0] > begin:
            found.append((own[0][5], cpu, begin, own[0][0], own[0][7], True, False))
        for at, row in enumerate(own):
            after = own[at + 1] if at + 1 < len(own) else None
            if row[6] > 0 and after is None:
                found.append((row[6], cpu, row[0], END, None, True, False))
            elif row[6] > 0:
                found.append((row[6], cpu, row[0], after[0], after[7], False, after[5] != row[6]))
    return [turn for turn in found if whole or not turn[5]]


def expected(rows, wakes, begin, whole):
    """Return a Counter of (tid, cpu, begin, end, kind, is open, waker)."""
    spans = Counter()
    by_thread = {}
    for turn in turns(rows, begin, whole):
        by_thread.setdefault(turn[0], []).append(turn)
    for tid, own in by_thread.items():
        own.sort(key=lambda turn: (turn[2], turn[3], turn[1]))
        for at, (_, cpu, start, end, state, is_open, lost) in enumerate(own):
            if lost:
                continue
            spans[(tid, cpu, start, end, "running", is_open, None)] += 1
            stays = at + 1 == len(own)
            until = END if stays else own[at + 1][2]
            if state is None or state & 48 or until <= end or (stays and not whole):
                continue
            if state & 255 == 0:
                spans[(tid, cpu, end, until, "preempted", stays, None)] += 1
                continue
            woken = [(t, waker) for t, wakee, waker in wakes if wakee == tid and end <= t <= until]
            if not woken:
                spans[(tid, cpu, end, until, "blocked", stays, None)] += 1
                continue
            t, waker = woken[-1]
            if t > end:
                spans[(tid, cpu, end, t, "blocked", stays, (waker or None) if t == until else None)] += 1
            if t < until:
                spans[(tid, cpu, t, until, "waking", stays, waker or None)] += 1
    return spans


def made(spans):
    return duckdb.connect().execute("FROM spans").fetchall()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("waiting", [1, 7, 1 << 18])
@pytest.mark.parametrize("seed", range(3))
def test_spans_of_threads(seed, waiting, whole):
    rows, wakes = switches(random.Random(seed), 300)
    begin = rows[0][0] - 5
    spans = ThreadSpans(table(_SWITCH, rows), table(_WAKE, wakes), (begin, END), whole=whole, waiting=waiting)
    found = made(spans)
    assert Counter(row[:7] for row in found) == expected(rows, wakes, begin, whole)
    in_order = [(row[2], row[3]) for row in found if row[7]]
    assert in_order == sorted(in_order)
    assert [row[7] for row in found] == [True] * len(in_order) + [False] * (len(found) - len(in_order))
    assert len(in_order) > (0.9 if waiting > 300 else 0.2) * len(found)
    every = turns(rows, begin, whole=True)
    facts = spans.facts
    assert facts.switches == len(rows)
    assert facts.lost == sum(turn[6] for turn in every) > 0
    assert facts.edges == sum(turn[5] for turn in every)
    named = {tid for row in rows for tid in row[5:7]} - {0}
    assert {tid: name for tid, _, name, _ in facts.named} == {tid: f"t{tid}" for tid in named}


def test_a_thread_that_seems_to_run_on_two_cpus_has_one_pause():
    # Thread 5 was on both CPUs when the trace began: the last one that it leaves counts.
    rows = [
        (10, 0, 5, None, "t5", 5, 0, 1, "t5", "idle"),
        (20, 1, 5, None, "t5", 5, 0, 0, "t5", "idle"),
        (30, 0, 0, None, "idle", 0, 5, 0, "idle", "t5"),
    ]
    found = made(ThreadSpans(table(_SWITCH, rows), None, (0, 40), whole=True))
    assert sorted(row[:6] for row in found) == [
        (5, 0, 0, 10, "running", True),
        (5, 0, 30, 40, "running", True),
        (5, 1, 0, 20, "running", True),
        (5, 1, 20, 30, "preempted", False),
    ]


def test_events_that_are_not_in_order_of_time_are_sorted():
    def switch(t, before, after):
        names = {"prev_comm": f"t{before}", "next_comm": f"t{after}"}
        fields = {"prev_pid": before, "next_pid": after, "prev_state": 1, **names}
        return (t, "sched_switch", 0, before, f"t{before}", fields)

    class Disordered(MemoryTrace):
        def events(self, *arguments, **named):
            stream = super().events(*arguments, **named)
            stream._sql = stream._sql.replace("ORDER BY t", "ORDER BY t DESC")
            return stream

    rows = [switch(0, 0, 5), switch(10, 5, 6), switch(30, 6, 5), switch(40, 5, 0)]
    asked = "SELECT tid, kind, begin_ns, end_ns, is_open FROM spans ORDER BY ALL"
    right = build(MemoryTrace(rows)).query(asked).fetchall()
    assert build(Disordered(rows)).query(asked).fetchall() == right
    spans = ThreadSpans(Disordered(rows).events(["sched_switch"], _SWITCH[1:]), None, (0, 40), whole=True)
    with pytest.raises((duckdb.Error, InputError), match="order of time"):
        made(spans)
    assert not spans.in_order


def test_spans_come_in_order_of_time():
    connection = duckdb.connect()

    def rows(columns, *values):
        sql = f"SELECT * FROM (VALUES {', '.join(values)}) t({columns})"
        return Stream(lambda: connection.cursor().sql(sql).__arrow_c_stream__())

    def ordered(*of_requests):
        return OrderedSpans(
            {"running": "CPU ", "blocked": "waits"},
            ["ring", "execution"],
            ["a/b", "a/c"],
            threads=rows(
                "tid, cpu, begin_ns, end_ns, kind, is_open",
                *("(5, 1, 10, 20, 0, false)", "(6, NULL, 10, 30, 0, false)", "(5, 1, 20, 90, 1, true)"),
            ),
            requests=rows("track, begin_ns, end_ns, kind, request, lane, is_open", *of_requests),
            others=rows(
                "track, begin_ns, end_ns, name, kind, request, tid, cpu, vgpu, lane, is_open",
                "('x', 10, 20, NULL::VARCHAR, 'mark', NULL::INT, NULL::INT, 4, NULL::INT, 1, true)",
            ),
            owners=rows(
                "name, seqno, tid, vgpu",
                "('app', 18446744073709551615::UBIGINT, 7, NULL)",
                "('context 3', NULL, NULL, 2)",
            ),
        )

    first, second = "(0, 0, 5, 0, 0, 0, false)", "(1, 10, 20, 1, 1, 2, true)"
    assert made(ordered(first, second)) == [
        (0, "a/b", 0, 5, "app #18446744073709551615", "ring", 0, 7, None, None, 0, False),
        (1, "thread/5", 10, 20, "CPU 1", "running", None, 5, 1, None, None, False),
        (2, "a/c", 10, 20, "context 3", "execution", 1, None, None, 2, 2, True),
        (3, "x", 10, 20, None, "mark", None, None, 4, None, 1, True),
        (4, "thread/6", 10, 30, None, "running", None, 6, None, None, None, False),
        (5, "thread/5", 20, 90, "waits", "blocked", None, 5, 1, None, None, True),
    ]
    with pytest.raises(duckdb.Error, match="order of time"):
        made(ordered(second, first))
    with pytest.raises(duckdb.Error, match="out of range"):
        made(ordered("(0, 0, 5, 0, 2, 0, false)"))
