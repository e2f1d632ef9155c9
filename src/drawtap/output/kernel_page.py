"""The content of the page about a kernel trace: this module collects it, and `output.system_report` draws it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drawtap.output.kernel_figures import tables
from drawtap.output.system_report import Block, FindingCard, Panel, SystemReport, figures
from drawtap.output.text import counted, duration, number
from drawtap.system import cpus, levels
from drawtap.system.levels import Buckets, CounterLevel, Floats, Ints, Level
from drawtap.system.metrics import MEANINGS, metrics
from drawtap.system.model import KernelModel
from drawtap.system.reader import KernelTrace
from drawtap.system.rule import Finding, findings
from drawtap.units import moment

_BUCKETS, _THREAD_BUCKETS, _HISTOGRAM_BUCKETS = 8192, 2048, 512
_CURVES, _SERIES = 8, 48
_ARROWS = 20_000
_POINTS = 400_000
_OWNERS = 8


@dataclass(frozen=True)
class SystemReportOptions:
    """The contents of a report: bounds on single spans and events."""

    begin: str | None = None
    end: str | None = None
    spans: int = 600_000
    events: int = 20_000
    threads: int = 64


def collected(trace: KernelTrace, model: KernelModel, wanted: SystemReportOptions) -> SystemReport:
    """Ask a trace everything that its page shows."""
    zero = model.window[0]
    a, b = levels.check_window(model, moment(wanted.begin, zero), moment(wanted.end, zero))
    buckets = levels.Buckets.of(a, b, _BUCKETS)
    data = metrics(model, begin=a, end=b)
    contentions = findings(model, begin=a, end=b)
    block = Block()
    on_cpus, owners = _on_cpus(model, block, (a, b))
    rows, hidden = _rows(model, block, buckets, wanted.threads, on_cpus)
    moments = _moments(model, contentions, (a, b))
    chosen = levels.windows(model, buckets, moments, wanted.spans)
    kept = [str(row["track"]) for row in rows]
    clients = _clients(data)
    spans = levels.spans(model, chosen, a, kept)
    arrows = levels.arrows(model, chosen, a, kept, _ARROWS)
    usage = {
        group: _usage(model, block, group, buckets, clients) for group in ("engines", "clients", "vgpus", "guests")
    }
    _stack(rows, usage["clients"])
    panels, curves = _counters(model, block, buckets, chosen)
    coarse = levels.Buckets.of(a, b, _HISTOGRAM_BUCKETS)
    events, all_events = levels.events(model, chosen, a, moments, wanted.events)
    header: dict[str, object] = {
        "length": b - a,
        "width": buckets.width,
        "detail": [[max(x, a) - a, min(y, b) - a] for x, y in chosen],
        "clients": clients,
        "owners": owners,
        "rows": rows,
        "spans": {
            "kinds": spans["kinds"],
            "bases": spans["bases"],
            "owners": cpus.owner_of_names(model, spans["bases"]),
            "columns": {n: block.ints(c, sorted_=n in ("begin", "track")) for n, c in spans["columns"].items()},
        },
        "arrows": {n: block.ints(c, sorted_=n.endswith("_ns")) for n, c in arrows.items()},
        "usage": usage,
        "counters": curves,
        "histogram_width": coarse.width,
        "histograms": _histograms(model, block, coarse),
        "events": _events(block, events),
    }
    single = len(spans["columns"]["begin"])
    return SystemReport(
        title=trace.path.name,
        subtitle=_subtitle(trace, (a, b), zero),
        tiles=_tiles(model, data, (a, b)),
        notes=_notes(trace, data),
        findings=[_finding(f, a, b) for f in contentions],
        findings_note=_findings_note(model, contentions),
        has_requests=bool(data["engines"]),
        has_cpus=bool(owners),
        panels=panels,
        histogram_step=duration(coarse.width),
        events_note=_events_note(trace, len(events["t"]), all_events),
        figures_of=f"{duration(b - a)} from {(a - zero) / 1e9:.3f} s on"
        if (a, b) != model.window
        else "all of the trace",
        tables=[figures(replace(t, rows=list(t.rows)), MEANINGS) for t in tables(data, {}) if list(t.rows)],
        definitions=[(k.replace("_", " ").removesuffix(" ns"), v) for k, v in MEANINGS.items()],
        shown=[_who_ran(owners), *_shown(buckets, chosen, single, hidden, wanted)],
        block=block.packed(header),
    )


# ---- rows -----------------------------------------------------------------------------------------------------------


def _rows(
    model: KernelModel, block: Block, buckets: Buckets, most_threads: int, on_cpus: Sequence[dict[str, object]]
) -> tuple[list[dict[str, object]], int]:
    parts_of: dict[str, list[dict[str, object]]] = {}
    thread_buckets = levels.Buckets.of(buckets.begin, buckets.end, _THREAD_BUCKETS)
    names, hidden = named_threads(model, (buckets.begin, buckets.end), most_threads)
    other = levels.tracks(model, buckets, threads=False) + levels.marks(model, buckets)
    for level, width in [(x, buckets.width) for x in other] + [
        (x, thread_buckets.width)
        for x in levels.tracks(model, thread_buckets, threads=True)
        if thread_of(x.name) in names
    ]:
        parts_of.setdefault(level.name, []).append(
            {"kind": level.kind, "width": width, "column": block.ints(level.busy)}
        )
    rows = [*on_cpus, *(placed(track, parts, names) for track, parts in parts_of.items())]
    return sorted(rows, key=lambda r: order_of(str(r["track"]), list(names))), hidden


def _on_cpus(model: KernelModel, block: Block, window: tuple[int, int]) -> tuple[list[dict[str, object]], list[str]]:
    """Return a row for each CPU, and who has time of their own in them: the others are put together."""
    ran = [owner.name for owner in cpus.owners(model, window)]
    shown, rest = ran[:_OWNERS], ran[_OWNERS:]
    others = f"others ({len(rest)})"
    buckets = levels.Buckets.of(*window, _THREAD_BUCKETS)
    parts_of: dict[str, list[dict[str, object]]] = {}
    for level in levels.on_cpus(model, buckets, shown, others):
        part = {"kind": "running", "client": level.kind, "width": buckets.width, "column": block.ints(level.busy)}
        parts_of.setdefault(level.name, []).append(part)
    return [placed(track, parts, {}) for track, parts in parts_of.items()], [*shown, *([others] if rest else [])]


def named_threads(model: KernelModel, window: tuple[int, int], most: int) -> tuple[dict[str, str], int]:
    """Return the threads that get a row, by id as text, with their names, and how many others there are."""
    a, b = window
    rows = model.rows(
        f"""
        WITH ran AS (
          SELECT tid, sum(least(end_ns, {b}) - greatest(begin_ns, {a})) AS ns FROM spans
          WHERE (track LIKE 'thread/%' OR track LIKE 'vcpu/%') AND kind <> 'blocked' AND end_ns > {a} AND begin_ns < {b}
          GROUP BY tid
        ), asked AS (SELECT tid, count(*) AS n FROM requests WHERE tid IS NOT NULL GROUP BY tid),
        calls AS (SELECT tid, count(*) AS n FROM spans WHERE kind = 'call' GROUP BY tid),
        wakes AS (
          SELECT to_id AS tid, count(*) AS n FROM links WHERE from_kind = 'call' AND kind = 'wakes' GROUP BY to_id
        ),
        woken AS (SELECT * FROM wakes WHERE n >= (SELECT max(n) FROM wakes) / 50)
        SELECT r.tid, coalesce(t.comm, 'thread') AS comm, t.vm, t.vcpu, coalesce(t.is_vcpu, false) AS is_vcpu
        FROM ran r LEFT JOIN threads t USING (tid) LEFT JOIN asked USING (tid) LEFT JOIN calls USING (tid)
        LEFT JOIN woken USING (tid) WHERE r.tid > 0
        ORDER BY coalesce(t.is_vcpu, false) DESC, calls.n DESC NULLS LAST, woken.n DESC NULLS LAST, asked.n IS NULL,
                 r.ns DESC, r.tid
        """
    )
    names, guests_hidden = _guest_threads(model, most)
    for row in rows[:most]:
        name = f"{row['comm']} ({row['tid']})"
        if row["is_vcpu"] and row["vm"] != row["comm"]:
            name = f"{row['vm']} vCPU {row['vcpu']} ({row['tid']})"
        names[str(row["tid"])] = name
    return names, max(len(rows) - most, 0) + guests_hidden


def _guest_threads(model: KernelModel, most: int) -> tuple[dict[str, str], int]:
    """Return as `named_threads` does who gets a row of each guest's threads, by track: those who ask first."""
    rows = model.query(
        """
        WITH ran AS (
          SELECT regexp_extract(track, '^guest/[^/]+/thread/[0-9]+') AS track, sum(end_ns - begin_ns) AS ns FROM spans
          WHERE track LIKE 'guest/%/thread/%' GROUP BY 1
        ), asked AS (SELECT guest, tid, count(*) AS n FROM guest_requests GROUP BY ALL)
        SELECT r.track, coalesce(comm, 'thread') || ' (' || tid || ')',
               row_number() OVER (PARTITION BY guest ORDER BY n IS NULL, ns DESC, tid)
        FROM ran r JOIN (SELECT *, 'guest/' || guest || '/thread/' || tid AS track FROM guest_threads) t USING (track)
        LEFT JOIN asked USING (guest, tid) ORDER BY 3, 1
        """
    ).fetchall()
    return {str(t): str(name) for t, name, place in rows if place <= most}, sum(place > most for _, _, place in rows)


def thread_of(track: str) -> str:
    # The name that `_threads` gives the thread of a track.
    parts = track.split("/")
    return "/".join(parts[:4]) if parts[0] == "guest" else parts[1]


def placed(track: str, levels: list[dict[str, object]], names: Mapping[str, str]) -> dict[str, object]:
    parts = track.split("/")
    shape, group, label = "line", "Others", track
    if parts[0] in ("thread", "vcpu") and len(parts) > 1:
        what = "in its guest" if parts[0] == "vcpu" else "/".join(parts[2:])
        label = names[parts[1]] + (f" {what}" if what else "")
        group = "Threads and virtual CPUs"
    elif parts[0] == "guest":
        group = f"Guest {parts[1]}"
        if parts[2] == "thread":
            label = " ".join([names["/".join(parts[:4])], *parts[4:]])
        else:
            at = {"queue": ", not yet handed over", "notify": ": end to notice in the guest"}.get(
                parts[-1], ", not joined"
            )
            label = (parts[3] if len(parts) > 3 else parts[2]) + at
            shape = "queue" if parts[-1] == "queue" else "line"
    elif parts[0] == "api":
        group = "API calls of a recording"
        label = "frames" if parts[1] == "frames" else f"calls of {names.get(parts[1], f'thread {parts[1]}')}"
    elif parts[0] == "vgpu" and len(parts) == 3:
        group = "Virtual GPUs"
        label = f"vGPU {parts[1]} {'has the GPU' if parts[2] == 'slice' else parts[2]}"
        shape = "queue" if parts[2] == "queue" else "line"
    elif parts[0] == "cpu":
        group, label, shape = "CPUs", f"CPU {parts[1]}", "cpu"
    elif parts[0] == "crtc":
        group, label = "Displays", "display " + " ".join(parts[1:])
    elif any(part["kind"] == "execution" for part in levels) or parts[-1] in ("queue", "notify"):
        of = parts[-2] if parts[-1] in ("queue", "notify") else parts[-1]
        device = "/".join(parts[: -2 if parts[-1] in ("queue", "notify") else -1])
        group = "GPU" if device == "gpu" else f"GPU {device}"
        label = of + {"queue": " queue", "notify": ": end to notice"}.get(parts[-1], "")
        shape = {"queue": "queue", "notify": "line"}.get(parts[-1], "engine")
    elif len(parts) > 1:
        group, label = parts[0], "/".join(parts[1:])
    return {"track": track, "label": label, "group": group, "shape": shape, "levels": levels}


def order_of(track: str, tids: Sequence[str]) -> tuple[object, ...]:
    # The way of a request goes down: queue of the virtual GPU, queue of the engine, engine. CPUs stand beside the
    # engines, threads come last.
    parts = track.split("/")
    if parts[0] in ("thread", "vcpu"):
        return (4, "", tids.index(parts[1]), parts[0] != "thread", track)
    if parts[0] == "api":
        return (-1, parts[1] != "frames", 0, False, track)
    if parts[0] == "guest":
        # Above the virtual GPU that its requests go to.
        place = 3 if parts[2] == "thread" else {"queue": 0, "notify": 2}.get(parts[-1], 1)
        return (-0.5, parts[1], place, False, tids.index(thread_of(track)) if place == 3 else 0, track)
    if parts[0] == "vgpu":
        return (0, "", int(parts[1]) if parts[1].isdigit() else 0, parts[-1] != "queue", track)
    if parts[0] == "cpu":
        return (2, "", int(parts[1]), False, track)
    if parts[0] in ("crtc", "qemu"):
        return (3, parts[0], 0, False, track)
    last = {"queue": 0, "notify": 2}.get(parts[-1], 1)
    of = parts[:-1] if last != 1 else parts
    return (1, "/".join(of), 0, False, str(last))


def _stack(rows: Sequence[dict[str, object]], clients: Sequence[Mapping[str, object]]) -> None:
    # An engine's row is drawn in the colours of those who work on it.
    for row in rows:
        mine = [c for c in clients if c["track"] == row["track"]]
        if row["shape"] == "engine" and mine:
            row["levels"] = [
                {"kind": "execution", "client": c["client"], "width": c["width"], "column": c["column"]} for c in mine
            ]


def _clients(data: Mapping[str, Any]) -> list[str]:
    # Those with the most work first: they get colours.
    busy: dict[str, int] = {}
    for row in data["clients"]:
        busy[row["client"]] = busy.get(row["client"], 0) + (row["busy_ns"] or 0)
    return sorted(busy, key=lambda c: (-busy[c], c))


# ---- curves ---------------------------------------------------------------------------------------------------------


def _usage(
    model: KernelModel, block: Block, group: str, buckets: Buckets, clients: Sequence[str]
) -> list[dict[str, object]]:
    shown_levels = _few(sorted(levels.busy(model, group, buckets), key=lambda x: -int(x.busy.sum())), _SERIES)
    if group == "vgpus":
        shown_levels.sort(key=lambda x: (not x.name[0].isdigit(), int(re.sub(r"\D.*", "", x.name) or 0), x.name))
    return [
        {
            "label": _label(group, level, shown_levels),
            "owner": _owner(group, level),
            "client": level.name.split("\t")[0] if group == "clients" else None,
            "track": "/".join(level.name.split("\t")[-2:]),
            "width": buckets.width,
            "column": block.ints(level.busy),
        }
        for level in shown_levels
    ]


def _label(group: str, level: Level, among: Sequence[Level]) -> str:
    parts = level.name.split("\t")
    engines = {x.name.split("\t")[-1] for x in among}
    devices = {x.name.split("\t")[-2] for x in among}
    engine = parts[-1] if len(devices) == 1 else "/".join(parts[-2:])
    if group == "engines":
        return engine
    owner = _owner(group, level)
    return owner if len(engines) == 1 and len(devices) == 1 else f"{owner} · {engine}"


def _few(levels_: list[Level], most: int) -> list[Level]:
    # Those with less work together, for each engine: their sum, so nothing is lost.

    rest: dict[str, list[Level]] = {}
    for level in levels_[most:]:
        rest.setdefault(level.name.partition("\t")[2], []).append(level)
    return levels_[:most] + [
        Level(f"others ({len(some)})\t{engine}", "execution", sum((x.busy for x in some[1:]), some[0].busy))
        for engine, some in rest.items()
    ]


def _owner(group: str, level: Level) -> str:
    first = level.name.split("\t")[0]
    return (
        f"vGPU {first}"
        if group == "vgpus" and first.isdigit()
        else level.name.split("\t")[-1]
        if group == "engines"
        else first
    )


_TITLES = {"bytes": "Memory", "Hz": "Frequency", "percent": "Load", "ns": "Time left"}


def _counters(
    model: KernelModel, block: Block, buckets: Buckets, chosen: Sequence[tuple[int, int]]
) -> tuple[list[Panel], list[dict[str, object]]]:
    by_title: dict[tuple[str, str], list[dict[str, object]]] = {}
    left = _POINTS
    for level in levels.counters(model, buckets):
        if _BY_PROCESS.fullmatch(level.track):  # these have curves by process, below
            continue
        what = level.track.rpartition("/")[2]
        title = what.capitalize() if level.unit == "count" else _TITLES.get(level.unit, what.capitalize())
        owner = level.track.rpartition("/")[0]
        label = re.sub(r"^vgpu/", "vGPU ", owner)
        points = levels.points(model, chosen, buckets.begin, level.track, most=left)
        left -= len(points[0]) if points is not None else 0
        label = label if level.unit == "count" or what in ("memory", "time left") else f"{label} {what}"
        by_title.setdefault((title, level.unit), []).append(_curve(block, level, label, points))
    ordered = [(title, unit, series) for (title, unit), series in sorted(by_title.items(), key=_counter_order)]
    ordered += [(title, "bytes", series) for title, series in _memory(model, block, buckets, chosen, left)]
    curves: list[dict[str, object]] = [
        {"id": f"counter-{i}", "unit": unit, "series": series[:_CURVES]} for i, (_, unit, series) in enumerate(ordered)
    ]
    panels = [
        Panel(f"counter-{i}", title, max(len(series) - _CURVES, 0)) for i, (title, _, series) in enumerate(ordered)
    ]
    return panels, curves


def _curve(block: Block, level: CounterLevel, label: str, points: tuple[Ints, Floats] | None) -> dict[str, object]:
    series: dict[str, object] = {
        "track": level.track,
        "label": label,
        "mean": block.floats(level.mean),
        "top": block.floats(level.top),
    }
    if points is not None:
        series |= {"t": block.ints(points[0], sorted_=True), "v": block.floats(points[1])}
    return series


# As `drawtap.system.drivers.gpu_memory` calls them; the table memory_use has the same with names.
_BY_PROCESS = re.compile(r"process/\d+/gpu \d+ memory")
_MEMORY_OF = {
    "total": "Memory by {}",
    "made": "Memory by {}, made since the trace began",
    "allocated": "Memory by {}, allocated: freeing is not told",
}


def _memory(
    model: KernelModel, block: Block, buckets: Buckets, chosen: Sequence[tuple[int, int]], most: int
) -> list[tuple[str, list[dict[str, object]]]]:
    """Return curves of GPU memory by virtual machine and by process, those with the most first."""

    devices = model.scalar("SELECT count(DISTINCT device) FROM memory_use")
    plots: list[tuple[str, list[dict[str, object]]]] = []
    for basis, title in _MEMORY_OF.items():
        for machines, owner in ((True, "virtual machine"), (False, "process")):
            source = levels.memory(machines, basis)
            series = levels.counters(model, buckets, source)
            series = [x for x in series if not np.all(np.isnan(x.top))]
            series.sort(key=lambda x: -float(np.nanmax(x.top)))
            drawn = []
            for i, level in enumerate(series):
                name, _, device = level.track.partition("\t")
                points = None
                if i < _CURVES:
                    points = levels.points(model, chosen, buckets.begin, level.track, most=most, source=source)
                most -= len(points[0]) if points is not None else 0
                drawn.append(_curve(block, level, name if devices == 1 else f"{name} · {device}", points))
            if drawn:
                plots.append((title.format(owner), drawn))
    return plots


def _counter_order(item: tuple[tuple[str, str], object]) -> tuple[bool, str, str]:
    (title, unit), _ = item
    return (title != "Queue length", title, unit)


def _histograms(model: KernelModel, block: Block, buckets: Buckets) -> list[dict[str, object]]:
    return [
        {
            "measure": measure,
            "engine": engine,
            "client": client,
            "bucket": block.ints(bucket, sorted_=True),
            "step": block.ints(step),
            "n": block.ints(n),
        }
        for measure, engine, client, bucket, step, n in levels.histograms(model, buckets)
    ]


def _events(block: Block, events: Mapping[str, list[Any]]) -> dict[str, object]:
    def coded(name: str) -> tuple[list[str], int]:
        texts = [str(v) if v is not None else "" for v in events[name]]
        known = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        return list(known), block.ints(np.array([known[t] for t in texts], dtype=np.int64))

    def plain(name: str) -> int:
        return block.ints(np.array([-1 if v is None else v for v in events[name]], dtype=np.int64))

    names, event = coded("event")
    comms, comm = coded("comm")
    return {
        "t": plain("t"),
        "event": event,
        "names": names,
        "cpu": plain("cpu"),
        "tid": plain("tid"),
        "comm": comm,
        "comms": comms,
        "text": events["text"],
    }


# ---- what is worth a look -------------------------------------------------------------------------------------------


def _moments(model: KernelModel, contentions: Sequence[Finding], window: tuple[int, int]) -> list[int]:
    """Return the times around which single spans are wanted: the worst of each finding, and the longest waits."""
    a, b = window
    moments = [f.worst_at_ns for f in contentions if f.worst_at_ns is not None][:8]
    rows = model.rows(
        f"""
        SELECT coalesce(created_ns, queued_ns) AS t FROM requests
        WHERE latency_ns IS NOT NULL AND coalesce(created_ns, queued_ns) BETWEEN {a} AND {b}
        ORDER BY latency_ns DESC, id LIMIT 3
        """
    )
    moments += [int(row["t"]) for row in rows]
    lost = model.rows(
        "SELECT begin_ns AS t FROM spans WHERE kind = 'preempted' AND tid IN (SELECT tid FROM threads WHERE is_vcpu) "
        f"AND begin_ns BETWEEN {a} AND {b} ORDER BY end_ns - begin_ns DESC, id LIMIT 2"
    )
    moments += [int(row["t"]) for row in lost]
    return [m for m in dict.fromkeys(moments) if a <= m < b]


def _finding(finding: Finding, begin: int, end: int) -> FindingCard:
    at = finding.worst_at_ns
    return FindingCard(
        finding.rule,
        finding.title,
        finding.culprit,
        finding.victim,
        f"{duration(finding.cost_ns)}, {100 * finding.share:.0f} % of the time, {counted(finding.count, 'time')}",
        finding.what,
        finding.why,
        finding.fix,
        at - begin if at is not None and begin <= at < end else None,
        finding.worst_ns or 0,
        duration(finding.worst_ns) if finding.worst_ns is not None else "–",
    )


def _findings_note(model: KernelModel, contentions: Sequence[Finding]) -> str:
    if not model.drivers:
        return "no event of this trace is known to a driver: nothing could be looked for"
    return "" if contentions else "nothing that costs 2 % of the time"


# ---- words ----------------------------------------------------------------------------------------------------------


def _subtitle(trace: KernelTrace, window: tuple[int, int], zero: int) -> str:
    about = [trace.format, trace.environment.get("hostname"), trace.environment.get("kernel_release")]
    if window[0] != zero:
        about.append(f"from {(window[0] - zero) / 1e9:.6f} s on")
    about.append("clock " + trace.clock.name)
    return " · ".join(str(x) for x in about if x)


def _tiles(model: KernelModel, data: Mapping[str, Any], window: tuple[int, int]) -> list[tuple[str, str]]:
    tiles = [(duration(window[1] - window[0]), "looked at")]
    if data["engines"]:
        tiles.append((number(sum(e["jobs"] for e in data["engines"])), "GPU requests"))
        busiest = max(data["engines"], key=lambda e: e["utilisation_percent"] or 0)
        if busiest["utilisation_percent"] is not None:
            tiles.append((f"{busiest['utilisation_percent']:.1f} %", f"busy: {busiest['engine']}"))
        if busiest["mean_wait_ns"] is not None:
            tiles.append((duration(busiest["mean_wait_ns"]), f"mean wait for {busiest['engine']}"))
        latency = busiest["percentiles"]["latency_ns"]["p99"]
        if latency is not None:
            tiles.append((duration(latency), f"p99 latency on {busiest['engine']}"))
        tiles.append((number(len({c["client"] for c in data["clients"]})), "clients"))
    frames, calls = model.query(
        "SELECT count(*) FILTER (kind = 'frame'), count(*) FILTER (kind = 'call') FROM spans "
        f"WHERE track LIKE 'api/%' AND end_ns > {window[0]} AND begin_ns < {window[1]}"
    ).fetchall()[0]
    if calls:
        tiles += [(number(frames), "frames"), (number(calls), "API calls")]
    if data["vms"]:
        stolen = max(data["vms"], key=lambda m: m["stolen_ns"])
        tiles.append((number(len(data["vms"])), "virtual machines"))
        tiles.append((duration(stolen["stolen_ns"]), f"stolen from {stolen['vm']}"))
    threads = model.scalar("SELECT count(*) FROM threads")
    if isinstance(threads, int) and threads > 1:
        tiles.append((number(threads), "threads"))
    return tiles


def _notes(trace: KernelTrace, data: Mapping[str, Any]) -> list[tuple[str, str]]:
    notes = [("warning", f"{p.kind}: {p.where}: {p.text}") for p in trace.problems]
    if not data["drivers"]:
        notes.append(("warning", "no event of this trace is known to a driver: drawtap info lists the events"))
    if trace.clock.note:
        notes.append(("note", trace.clock.note))
    return notes


def _events_note(trace: KernelTrace, shown: int, complete: bool) -> str:
    if complete:
        return "all of this time; a click goes to their time"
    total = sum(t.count for t in trace.event_names().values())
    return f"{number(shown)} of the {number(total)} in the trace, from the times in detail; a click goes to their time"


def _who_ran(owners: Sequence[str]) -> str:
    if not owners:
        return "No switches of threads (sched_switch) are in this time: who ran on the CPUs is not known."
    return (
        f"Rows of CPUs have the colours of virtual machines and processes: of the {_OWNERS} that ran longest, machines "
        "first; the others are grey. Where a row is empty, nobody is known to have run."
    )


def _shown(
    buckets: Buckets, chosen: Sequence[tuple[int, int]], single: int, hidden: int, wanted: SystemReportOptions
) -> list[str]:
    window = (buckets.begin, buckets.end)
    everything = list(chosen) == [window]
    covered = sum(min(b, window[1]) - max(a, window[0]) for a, b in chosen)
    shown = [
        f"Curves of usage and rows that are drawn from sums: busy time per {duration(buckets.width)}, exact; added up "
        f"for coarser zooms ({duration(-(-(window[1] - window[0]) // _THREAD_BUCKETS))} for threads). Inside a bucket "
        "nothing is known from them."
    ]
    if everything:
        shown.append(f"Every span is in the page: {number(single)}.")
    else:
        shown.append(
            f"{number(single)} spans are in the page singly: all of {duration(covered)} in {len(chosen)} "
            f"time{'s' if len(chosen) != 1 else ''} around the worst of each finding and the longest waits (the green "
            f"bar). --spans N takes more than {number(wanted.spans)}; --from and --to make a page of a part."
        )
    shown.append(
        "A row shows single spans where the view has no more than it can draw, else sums. Arrows are drawn for up to "
        "60 at a time, and always for the request that was clicked."
    )
    if hidden:
        threads = counted(hidden, "thread that ran less has", "threads that ran less have")
        shown.append(f"{threads} no row; --threads N takes more.")
    shown.append("Figures are computed from the whole time, never from what is drawn.")
    return shown
