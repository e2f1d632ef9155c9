"""Join traces from inside of virtual machines with the host's: one clock, one timeline, one life of a request.

A request of a guest goes over to the host, and its end comes back. So a pair of a guest's request and the request of
the host that it became bounds the guest's clock from both sides; so do events that were made for it (`_SYNC`). From all
pairs `drawtap.system.clocks` makes the clock. Then the guest's threads and requests get times of the host, in the
tables `guest_threads` and `guest_requests` and on tracks `guest/NAME/...`.

Requests are paired by the numbers that the guest gave them (`requests.guest_context`, `guest_seqno`). If the host's
trace lacks these, and other events gave the clock, they are paired by order. A pair is unambiguous: the guest handed
over one request of an engine, and the host got one, with no other in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from drawtap.errors import InputError, UsageError
from drawtap.system import native, reader
from drawtap.system.clocks import ClockFit, Pairs, fit
from drawtap.system.driver import Source
from drawtap.system.model import KernelModel, build
from drawtap.trace.result import Stream
from drawtap.trace.sql_text import quote_text

# Events that exist to compare clocks (Linux' modules of Trace Compass): each is (guest's, host's, whose comes first).
# Equal numbers `cnt` of one `vm_uid` are a pair.
_SYNC: Final = (("vmsync_gh_guest", "vmsync_gh_host", "guest"), ("vmsync_hg_guest", "vmsync_hg_host", "host"))
_ASKED: Final = "coalesce(created_ns, queued_ns)"
# The last that a guest tells before the host can know, and the first that the host tells.
_HANDED: Final = "coalesce(CASE WHEN begin_from = 'event' THEN begin_ns END, submitted_ns, queued_ns, created_ns)"
_GOT: Final = "coalesce(created_ns, queued_ns, submitted_ns)"
_HOST_END: Final = "coalesce(end_ns, done_ns)"
_GUEST_END: Final = "coalesce(done_ns, end_ns, retired_ns)"
_LEAST_PAIRS: Final = 8


@dataclass(frozen=True)
class _Machine:
    """The names of a virtual machine in the host's trace; all None: it knows none."""

    vm: str | None = None
    vgpu: int | None = None

    @property
    def name(self) -> str | None:
        return self.vm or (f"vGPU {self.vgpu}" if self.vgpu is not None else None)

    @property
    def requests(self) -> str:
        """Return a condition for the requests of the host that may be this machine's."""
        if self.vgpu is not None:
            return f"vgpu = {self.vgpu}"
        own = f"vm = {quote_text(self.vm)} OR " if self.vm is not None else ""
        return f"({own}(vm IS NULL AND vgpu IS NULL AND guest_seqno IS NOT NULL))"


@dataclass(frozen=True)
class _Clocked:
    machine: _Machine
    clock: ClockFit
    guest_first: int
    host_first: int


def add_guests(model: KernelModel, traces: Sequence[str]) -> None:
    """Join traces of guests, each [NAME=]TRACE, with the model of their host.

    NAME is the host's name of the machine, or of its virtual GPU (`vGPU 1`); another name, or none, where the requests
    tell whose trace it is. Raises InputError where a trace has too little in common with the host's for a clock.
    """
    for text in traces:
        given, path = _parsed(text)
        with reader.open(path) as trace, build(trace) as guest:
            name = given or str(trace.environment.get("hostname") or path.stem).replace("/", "_")
            add_guest(model, guest, name, str(path))


def add_guest(model: KernelModel, guest: KernelModel, name: str, trace: str) -> None:
    """Join one guest, of which a model was made; `trace` is what to call its trace. See `add_guests`."""
    if model.query("SELECT 1 FROM guests WHERE guest = ?", [name]).fetchall():
        raise UsageError(f"two guests are called {name}", hint="--guest NAME=TRACE")
    _take(model, guest)
    clocked = _clocked(model, guest.source, name, guest.window)
    _pairs(model, guest.source, clocked.machine)
    clock = clocked.clock
    model.connection.execute(
        "INSERT INTO guests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [name, trace, clocked.machine.vm, clocked.machine.vgpu, *map(clock.host_time, guest.window), clock.zero_ns,
         clock.offset_ns, clock.drift, clock.error_ns, clock.spread_ns, clock.contradiction_ns, clocked.guest_first,
         clocked.host_first],
    )  # fmt: skip
    _requests(model, name, clocked)
    _said(model, name, clocked, guest)
    _threads(model, name, clock)
    for table in ("guest_in", "guest_spans", "guest_named", "guest_said", "guest_pairs"):
        model.connection.execute(f"DROP TABLE {table}")
    model.connection.execute("CREATE OR REPLACE TABLE spans AS SELECT * FROM spans ORDER BY begin_ns, end_ns")


def _parsed(text: str) -> tuple[str | None, Path]:
    name, mark, path = text.partition("=")
    if not mark or Path(text).exists():
        return None, Path(text)
    if not name or "/" in name:
        raise UsageError(f"{name!r} is no name of a virtual machine", hint="--guest NAME=TRACE")
    return name, Path(path)


def _take(model: KernelModel, guest: KernelModel) -> None:
    """Copy what is needed of a guest's tables, in its own time."""
    drawn = "(track LIKE 'thread/%' AND kind <> 'blocked')"
    for table, sql in (
        ("guest_in", f"SELECT *, {_ASKED} AS asked, {_HANDED} AS handed, {_GUEST_END} AS over FROM requests"),
        ("guest_spans", f"SELECT track, begin_ns, end_ns, name, kind, is_open FROM spans WHERE {drawn}"),
        ("guest_named", "SELECT tid, pid, comm FROM threads"),
        ("guest_said", "SELECT driver, event, reason, count FROM unmatched"),
    ):
        _load(model, table, Stream(guest.connection.cursor().sql(sql).__arrow_c_stream__))


def _load(model: KernelModel, table: str, stream: object) -> None:
    model.connection.register("_stream", stream)
    try:
        model.connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM _stream")
    finally:
        model.connection.unregister("_stream")


# ---- the clock ------------------------------------------------------------------------------------------------------


def _clocked(model: KernelModel, guest: Source, name: str, window: tuple[int, int]) -> _Clocked:
    """Return whose trace it is, and its clock: of the machine with that name, else of the one whose requests fit."""
    machines = _machines(model)
    named = [m for m in machines if name in (m.vm, m.name, f"vgpu{m.vgpu}")]
    known = ", ".join(m.name for m in machines if m.name) or "none"
    fits, failures = [], []
    for machine in named or machines or [_Machine()]:
        guest_first, host_first = _pairs(model, guest, machine)
        count = len(guest_first) + len(host_first)
        if count < (2 if named or len(machines) < 2 else _LEAST_PAIRS):
            failures.append(f"{machine.name or 'the host'}: {count} pairs of events")
            continue
        try:
            clock = fit(guest_first, host_first, window)
        except InputError as error:
            failures.append(f"{machine.name or 'the host'}: {error}")
            continue
        fits.append(_Clocked(machine, clock, len(guest_first), len(host_first)))
    best = sorted(fits, key=lambda f: (f.clock.contradiction_ns, -f.guest_first - f.host_first))
    if not best:
        raise InputError(
            f"the trace of the guest {name} cannot be joined with the host's: {'; '.join(failures)}",
            hint="pairs are requests with the guest's context and number in the host's trace (guest_ctx, guest_seqno "
            "of gvt_workload_queue; fences of virtio-gpu), and vmsync_* events in both",
        )
    if len(best) > 1 and best[1].clock.contradiction_ns == best[0].clock.contradiction_ns:
        raise InputError(
            f"{' and '.join(f.machine.name or '' for f in best[:2])} could both be the guest {name}",
            hint=f"name the machine as the host does, --guest NAME=TRACE: {known}",
        )
    return best[0]


def _machines(model: KernelModel) -> list[_Machine]:
    rows = model.query(
        "SELECT any_value(vm), vgpu FROM requests WHERE vgpu > 0 GROUP BY vgpu UNION ALL "
        "SELECT DISTINCT vm, NULL FROM threads WHERE vm IS NOT NULL "
        "AND vm NOT IN (SELECT vm FROM requests WHERE vgpu > 0 AND vm IS NOT NULL) ORDER BY 2, 1"
    ).fetchall()
    return [_Machine(vm, vgpu) for vm, vgpu in rows]


def _pairs(model: KernelModel, guest: Source, machine: _Machine) -> tuple[Pairs, Pairs]:
    """Return the pairs of events that the guest began, and those that the host began."""
    # Numbers that occur several times name nothing.
    model.connection.execute(
        f"""
        CREATE OR REPLACE TABLE guest_pairs AS
        SELECT g.id AS guest_id, h.id AS host_id, count(*) OVER (PARTITION BY g.id) AS hosts,
               count(*) OVER (PARTITION BY h.id) AS guests, g.handed, g.over, {_of("h", _GOT)} AS got,
               {_of("h", _HOST_END)} AS ended
        FROM guest_in g JOIN (SELECT * FROM requests WHERE {machine.requests} AND guest_seqno IS NOT NULL) h
        ON g.seqno = h.guest_seqno AND (h.guest_context IS NULL OR g.context = h.guest_context)
           AND (h.vgpu IS NULL OR g.engine IS NOT DISTINCT FROM h.engine)
        """
    )
    first = _columns(model, "SELECT handed, got FROM guest_pairs WHERE hosts = 1 AND guests = 1")
    last = _columns(model, "SELECT over, ended FROM guest_pairs WHERE hosts = 1 AND guests = 1")
    sides = {"guest": [first], "host": [last]}
    for inside, outside, begun in _SYNC:
        if guest.knows(inside) and model.source.knows(outside):
            sides[begun].append(_synchronised(model, guest, inside, outside, machine))
    return _together(sides["guest"]), _together(sides["host"])


def _of(table: str, sql: str) -> str:
    # The columns of one of two tables that have the same.
    for column in ("created_ns", "queued_ns", "submitted_ns", "end_ns", "done_ns"):
        sql = sql.replace(column, f"{table}.{column}")
    return sql


def _synchronised(model: KernelModel, guest: Source, inside: str, outside: str, machine: _Machine) -> Pairs:
    fields = ["cnt", "vm_uid"]
    _load(model, "sync_guest", guest.events(inside, fields))
    _load(model, "sync_host", model.source.events(outside, ["tid", *fields]))
    mine = "true"
    if machine.vm is not None:
        mine = f"h.tid IN (SELECT tid FROM threads WHERE vm = {quote_text(machine.vm)})"
    pairs = _columns(
        model,
        f"""
        SELECT g.t, h.t FROM sync_guest g JOIN sync_host h ON g.cnt = h.cnt AND g.vm_uid IS NOT DISTINCT FROM h.vm_uid
        WHERE {mine} QUALIFY count(*) OVER (PARTITION BY h.cnt, h.vm_uid) = 1
        """,
    )
    for table in ("sync_guest", "sync_host"):
        model.connection.execute(f"DROP TABLE {table}")
    return pairs


def _columns(model: KernelModel, sql: str) -> Pairs:
    columns = model.connection.execute(
        f"SELECT g, h FROM ({sql}) AS pairs(g, h) WHERE g IS NOT NULL AND h IS NOT NULL"
    ).fetchnumpy()
    return Pairs(*(np.asarray(columns[c], dtype=np.int64) for c in "gh"))


def _together(parts: Sequence[Pairs]) -> Pairs:
    return Pairs(np.concatenate([p.guest for p in parts]), np.concatenate([p.host for p in parts]))


# ---- requests -------------------------------------------------------------------------------------------------------


def _requests(model: KernelModel, name: str, clocked: _Clocked) -> None:
    """Fill `guest_requests`, and draw what only the guest knows: its own queue, and when it heard of the end."""
    at: Callable[[str], str] = clocked.clock.sql
    run = model.connection.execute
    run(
        "CREATE OR REPLACE TABLE guest_pairs AS SELECT guest_id, host_id, 'number' AS joined_by, hosts, guests "
        "FROM guest_pairs"
    )
    _by_order(model, clocked)
    begin, end = model.window
    run(
        f"""
        INSERT INTO guest_requests BY NAME
        WITH timed AS (
          SELECT * EXCLUDE (asked, handed, over, end_ns), {at("asked")} AS asked_ns, {at("handed")} AS handed_ns,
                 {at("over")} AS end_ns FROM guest_in
        ), several AS (SELECT DISTINCT guest_id FROM guest_pairs WHERE hosts > 1 OR guests > 1)
        SELECT {quote_text(name)} AS guest, g.id, g.driver, g.device, g.engine, g.context, g.seqno, g.client, g.tid,
               g.comm, g.label, g.asked_ns, g.handed_ns, g.end_ns, h.id AS host_request, p.joined_by,
               {_of("h", _GOT)} AS host_asked_ns, {_of("h", _HOST_END)} AS host_end_ns,
               host_asked_ns - g.asked_ns AS guest_wait_ns, host_end_ns - g.asked_ns AS latency_ns,
               g.end_ns - host_end_ns AS notice_ns,
               CASE WHEN h.id IS NOT NULL THEN NULL
                    WHEN g.end_ns < {begin} THEN 'over before the host''s trace begins'
                    WHEN coalesce(g.handed_ns, g.asked_ns) > {end} THEN 'asked for after the host''s trace ends'
                    WHEN g.id IN (FROM several) THEN 'its numbers are also those of another request'
                    WHEN g.seqno IS NULL THEN 'it has no number'
                    ELSE 'no request of the host goes with it' END AS unmatched
        FROM timed g LEFT JOIN (SELECT * FROM guest_pairs WHERE hosts = 1 AND guests = 1) p ON p.guest_id = g.id
        LEFT JOIN requests h ON h.id = p.host_id ORDER BY g.id
        """
    )
    _draw(model, name)


def _by_order(model: KernelModel, clocked: _Clocked) -> None:
    # Only requests of a virtual GPU whose events have no numbers of the guest. The host gets a request after it was
    # handed over, and the clock may be that wrong; so the nearest of each other are a pair.
    error = clocked.clock.error_ns if clocked.clock.error_ns is not None else clocked.clock.spread_ns
    model.connection.execute(
        f"""
        INSERT INTO guest_pairs
        WITH h AS (
          SELECT id, engine, {_GOT} + {error} AS t FROM requests
          WHERE {clocked.machine.requests} AND guest_seqno IS NULL AND {_GOT} IS NOT NULL
        ), g AS (
          SELECT id, engine, {clocked.clock.sql("handed")} AS t FROM guest_in
          WHERE handed IS NOT NULL AND engine IS NOT NULL AND id NOT IN (SELECT guest_id FROM guest_pairs)
        ), before AS (
          SELECT h.id AS host_id, g.id AS guest_id FROM h ASOF JOIN g ON h.engine = g.engine AND h.t >= g.t
        ),
        after AS (SELECT h.id AS host_id, g.id AS guest_id FROM g ASOF JOIN h ON h.engine = g.engine AND g.t <= h.t)
        SELECT guest_id, host_id, 'order', 1, 1 FROM before JOIN after USING (guest_id, host_id)
        """
    )


def _draw(model: KernelModel, name: str) -> None:
    begin, end = model.window
    run = model.connection.execute
    path = f"{quote_text('guest/' + name + '/')} || coalesce(device, 'gpu') || '/' || coalesce(engine, 'requests')"
    run(
        f"""
        CREATE OR REPLACE TABLE guest_drawn AS
        WITH mine AS (SELECT *, {path} AS path FROM guest_requests WHERE guest = {quote_text(name)}), parts AS (
          SELECT path || '/queue' AS track, least(asked_ns, host_asked_ns) AS b, host_asked_ns AS e,
                 'guest queue' AS kind, * FROM mine WHERE host_request IS NOT NULL
          UNION ALL
          SELECT path || '/notify', host_end_ns, greatest(end_ns, host_end_ns), 'guest notice', * FROM mine
          WHERE host_request IS NOT NULL
          UNION ALL
          SELECT path, coalesce(asked_ns, handed_ns, end_ns), coalesce(end_ns, {end}), 'guest request', * FROM mine
          WHERE host_request IS NULL
        )
        SELECT row_number() OVER (ORDER BY track, b, e, id) - 1 AS n, dense_rank() OVER (ORDER BY track) AS number,
               track, greatest(b, {begin}) AS b, least(e, {end}) AS e, kind, host_request, b < {begin} OR e > {end}
                 OR (kind = 'guest request' AND end_ns IS NULL) AS is_open,
               coalesce(client, 'request') || coalesce(' #' || seqno, '') AS name
        FROM parts WHERE e >= {begin} AND b <= {end} AND e >= b ORDER BY n
        """
    )
    columns = run("SELECT number, b, e FROM guest_drawn ORDER BY n").fetchnumpy()
    rows = native.lanes(columns["number"], columns["b"], columns["e"]) if len(columns["b"]) else np.zeros(0, np.int32)
    model.connection.register("_rows", {"n": np.arange(len(rows)), "row": rows})
    first = model.scalar("SELECT coalesce(max(id), -1) + 1 FROM spans")
    run(
        f"""
        INSERT INTO spans BY NAME
        SELECT {first} + n AS id, track, b AS begin_ns, e AS end_ns, name, kind, host_request AS request,
               row::INTEGER AS lane, is_open FROM guest_drawn JOIN _rows USING (n)
        """
    )
    model.connection.unregister("_rows")
    # The way of a request goes on from the guest's queue to the host's first one, and comes back.
    run(
        f"""
        INSERT INTO links BY NAME
        WITH own AS (
          SELECT request, arg_min(id, begin_ns) AS first_id, min(begin_ns) AS first_ns, arg_max(id, end_ns) AS last_id,
                 max(end_ns) AS last_ns FROM spans
          WHERE request IS NOT NULL AND track NOT LIKE 'guest/%' GROUP BY request
        )
        SELECT 'span' AS from_kind, CASE d.kind WHEN 'guest queue' THEN {first} + n ELSE last_id END AS from_id,
               CASE d.kind WHEN 'guest queue' THEN e ELSE last_ns END AS from_ns, 'span' AS to_kind,
               CASE d.kind WHEN 'guest queue' THEN first_id ELSE {first} + n END AS to_id,
               CASE d.kind WHEN 'guest queue' THEN first_ns ELSE b END AS to_ns, 'way' AS kind, 1 AS tier,
               1.0 AS confidence
        FROM guest_drawn d JOIN own ON own.request = d.host_request
        """
    )
    run("DROP TABLE guest_drawn")


# ---- threads, and what is not told ----------------------------------------------------------------------------------


def _threads(model: KernelModel, name: str, clock: ClockFit) -> None:
    begin, end = model.window
    run = model.connection.execute
    run("INSERT INTO guest_threads SELECT ?, tid, pid, comm FROM guest_named ORDER BY tid", [name])
    # Without thread and CPU: both are numbers of the guest, and the host has others of the same value.
    run(
        f"""
        INSERT INTO spans BY NAME
        SELECT (SELECT coalesce(max(id), -1) FROM spans) + row_number() OVER (ORDER BY b, e) AS id,
               {quote_text("guest/" + name + "/")} || track AS track, greatest(b, {begin}) AS begin_ns,
               least(e, {end}) AS end_ns, name, kind, is_open OR b < {begin} OR e > {end} AS is_open
        FROM (SELECT *, {clock.sql("begin_ns")} AS b, {clock.sql("end_ns")} AS e FROM guest_spans)
        WHERE e >= {begin} AND b <= {end}
        """
    )


def _said(model: KernelModel, name: str, clocked: _Clocked, guest: KernelModel) -> None:
    """Add what could not be joined, and what the guest's own trace does not tell, to `unmatched`."""
    label = f"guest {name}"
    run = model.connection.execute
    run(
        "INSERT INTO unmatched SELECT ?, 'request of the guest', unmatched, count(*) FROM guest_requests "
        "WHERE guest = ? AND unmatched IS NOT NULL GROUP BY unmatched",
        [label, name],
    )
    a, b = (clocked.clock.host_time(t) for t in guest.window)
    run(
        f"""
        INSERT INTO unmatched
        SELECT ?, 'request of the host', CASE WHEN {_HOST_END} < {a} THEN 'over before the guest''s trace begins'
               WHEN {_GOT} > {b} THEN 'came after the guest''s trace ends'
               ELSE 'no request of the guest goes with it' END AS reason, count(*)
        FROM requests WHERE {clocked.machine.requests}
          AND id NOT IN (SELECT host_request FROM guest_requests WHERE host_request IS NOT NULL) GROUP BY reason
        """,
        [label],
    )
    run("INSERT INTO unmatched SELECT ? || ': ' || driver, event, reason, count FROM guest_said", [label])
    for problem in guest.source.problems:
        run("INSERT INTO unmatched VALUES (?, 'trace', ?, ?)", [label, problem.text, problem.count])
    if clocked.clock.error_ns is None:
        run(
            "INSERT INTO unmatched VALUES (?, 'clock', 'all pairs of events have one direction: nothing bounds the "
            "error of its times', 0)",
            [label],
        )
