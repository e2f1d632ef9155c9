"""Measure a recording: play it as often as the plan has passes, and put what came of it into its table `metrics`.

Each pass is a replay from the beginning in a process of its own, so that no pass sees what another left behind; or, for
a part of the frames, one process plays them again and again (`restart`). Both make the same calls, and that they show
the same images is looked at (`check`).
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from drawtap.errors import ChildError, UsageError
from drawtap.metrics import estimate
from drawtap.metrics.metric import numbered
from drawtap.metrics.passes import WORDS, Pass, Plan, Range, request_text
from drawtap.replay import player
from drawtap.scratch import Scratch
from drawtap.tables.recording import FrameRow, MarkerRow, ThreadRow
from drawtap.trace import measured
from drawtap.trace.apis import is_vulkan
from drawtap.trace.result import connect, named_rows
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_IMAGES = 16  # frames whose images are compared, at most


@dataclass(frozen=True)
class ProfileOptions:
    """Settings of a measurement.

    `frames` are those to measure (None: all), `repeat` how often each pass is played. `restart` plays the frames again
    in one process instead of the whole recording for each pass. `isolate` finishes before and after each draw.
    `images` compares what the passes show. `add` keeps what earlier runs measured.
    """

    frames: range | None = None
    repeat: int = 1
    restart: bool = False
    isolate: bool = False
    images: bool = True
    add: bool = False
    ranges: Sequence[Range] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of measuring in one replay: `cuts` times something was begun and ended, `ns` in all, `cut_ns` one of
    them
    with nothing between. `bias` is what an empty part measures by metric, and was subtracted from each part."""

    number: int
    repetition: int
    cuts: int
    ns: int
    cut_ns: int
    paused: int
    bias: Mapping[str, float]


@dataclass(frozen=True)
class Profile:
    """The result of a measurement. `differing` are frames that did not show the same in all replays, `calls_same` tells
    whether
    all made the same calls; `compared` images were held against each other."""

    path: Path
    rows: int
    plan: Plan
    costs: Sequence[Cost]
    engine: str
    compared: int = 0
    differing: Sequence[int] = ()
    calls_same: bool = True
    findings: Sequence[player.Finding] = ()


@dataclass
class _Runs:
    """Replays, and what they said."""

    trace: Trace
    folder: Path
    wanted: ProfileOptions
    environment: Mapping[str, str] | None
    files: list[tuple[int, int, Path]] = field(default_factory=list)  # pass, repetition, rows
    costs: list[Cost] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    images: dict[int, list[str]] = field(default_factory=dict)
    engine: str = ""
    findings: dict[tuple[str, str], player.Finding] = field(default_factory=dict)

    def play_all(self, plan: Plan) -> None:
        """Play the passes of a plan as often as is wanted."""
        for repetition in range(self.wanted.repeat):
            if self.wanted.restart:
                self.play(plan.passes, 0, repetition)
                continue
            for number, one in enumerate(plan.passes):
                self.play([one], number, repetition)

    def play(self, passes: Sequence[Pass], number: int, repetition: int) -> None:
        """Play once: one pass, or several over the same frames. `number` counts from the first pass."""
        metrics = {m.id: m for one in passes for m in one.metrics}
        per = tuple(dict.fromkeys(word for one in passes for word in one.per))
        ranges, isolate = self.wanted.ranges, self.wanted.isolate
        text = request_text(list(metrics.values()), per, passes=passes, ranges=ranges, isolate=isolate)
        rows = self.folder / f"rows-{number}-{repetition}.csv"
        request = self.folder / "request"
        request.write_text(text, encoding="utf-8")
        heard: list[Mapping[str, Any]] = []
        played = player.play(
            self.trace.path,
            ["--measure", str(request), "--measured", str(rows), *self._arguments()],
            environment=self.environment,
            on_line=heard.append,
        )
        said = [line for line in heard if line["kind"] == "pass"]
        if len(said) != len(passes):
            raise ChildError(f"the player measured {len(said)} of {len(passes)} passes")
        self.engine = played.engine
        for place, line in enumerate(said):
            cuts, ns, cut_ns, paused = (int(line[key]) for key in ("cuts", "cost_ns", "cut_ns", "paused"))
            bias = {str(key): float(value) for key, value in line["bias"].items()}
            self.costs.append(Cost(number + place, repetition, cuts, ns, cut_ns, paused, bias))
            self.calls.add(str(line["calls_hash"]))
            file = rows if len(passes) == 1 else rows.with_name(f"{rows.name}.{place}")
            self.files.append((number + place, repetition, file))
        for line in heard:
            if line["kind"] == "frame":
                self.images.setdefault(int(line["frame"]), []).append(str(line["hash"]))
        for finding in played.findings:
            self.findings.setdefault((finding.what, finding.text), finding)

    def _arguments(self) -> list[str]:
        frames = self.wanted.frames
        arguments = ["--frames", f"{frames.start}:{frames.stop}"] if frames is not None else []
        if self.trace.frame_end != "auto":
            arguments += ["--frame-end", self.trace.frame_end]
        if self.wanted.images:
            shown = len(frames) if frames is not None else len(self.trace.table(FrameRow))
            arguments += ["--hashes", "--snapshot-at", f"frames:{max(shown // _IMAGES, 1)}"]
        return arguments


def profile(
    trace: Trace, plan: Plan, wanted: ProfileOptions, *, environment: Mapping[str, str] | None = None
) -> Profile:
    """Play a recording by a plan and store what was measured. Raises what `player.play` raises."""
    _check(trace, wanted)
    with Scratch() as folder:
        runs = _Runs(trace, Path(folder), wanted, environment)
        runs.play_all(plan)
        path, rows = _store(trace, runs, plan, wanted)
    differing = sorted(frame for frame, hashes in runs.images.items() if len(set(hashes)) > 1)
    replays = wanted.repeat * len(plan.passes)
    compared = sum(len(hashes) for hashes in runs.images.values()) if replays > 1 else 0
    made = Profile(
        path, rows, plan, runs.costs, runs.engine, compared, differing, len(runs.calls) <= 1,
        list(runs.findings.values()),
    )  # fmt: skip
    path.with_suffix(".json").write_text(json.dumps(summary(made, wanted), indent=1) + "\n", encoding="utf-8")
    return made


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of one metric for one frame, draw or call: `number` is the frame's, `seq` the first call.

    `note` says why there is no value, or what it lacks. Without a value, it is unknown for `unknown_draws` of `draws`,
    and `at_least` is the sum of the others, which is a lower bound and no value.
    """

    per: str
    number: int
    seq: int
    metric: str
    value: float | None
    note: str = ""
    draws: int = 0
    unknown_draws: int = 0
    at_least: float | None = None


def readings(
    trace: Trace, plan: Plan, wanted: ProfileOptions, *, environment: Mapping[str, str] | None = None
) -> tuple[list[Reading], str]:
    """Play a recording by a plan and return what was measured, medians of the repetitions, and on what it played.

    Nothing is stored. Raises what `player.play` raises.
    """
    _check(trace, wanted)
    with Scratch() as folder:
        runs = _Runs(trace, Path(folder), wanted, environment)
        runs.play_all(plan)
        with connect() as connection:
            _load(connection, runs, plan, wanted)
            rows = connection.execute(
                f"SELECT per, number, min(seq), metric, median(value), coalesce(any_value(note), ''), {_KNOWN} "
                "FROM raw GROUP BY per, number, metric ORDER BY ALL"
            ).fetchall()
    values = [
        Reading(per, number, seq, metric, value, note, draws or 0, unknown or 0, least)
        for per, number, seq, metric, value, note, draws, unknown, least in rows
    ]
    return values, runs.engine


def summary(made: Profile, wanted: ProfileOptions) -> dict[str, Any]:
    """Return how something was measured, for JSON."""
    return {
        "engine": made.engine,
        "repeat": wanted.repeat,
        "restart": wanted.restart,
        "isolate": wanted.isolate,
        "passes": [{"per": list(p.per), "metrics": [m.id for m in p.metrics]} for p in made.plan.passes],
        "refused": {metric.id: why for metric, why in made.plan.refused},
        "questions": made.plan.questions,
        "planned_ns": made.plan.planned_ns,
        "costs": [
            {
                "pass": c.number, "repetition": c.repetition, "cuts": c.cuts, "ns": c.ns, "cut_ns": c.cut_ns,
                "paused": c.paused, "subtracted_per_cut": dict(c.bias),
            }
            for c in made.costs
        ],
        "disagreements": [asdict(one) for one in disagreements(made.path)],
        "images_compared": made.compared,
        "frames_that_differ": list(made.differing),
        "same_calls": made.calls_same,
    }  # fmt: skip


def _check(trace: Trace, wanted: ProfileOptions) -> None:
    if wanted.restart and wanted.frames is None:
        raise UsageError("frames are played again only where some are named", hint="--frames A:B")
    if wanted.restart and len(trace.table(ThreadRow)) > 1:
        raise UsageError(
            "the recording has several threads: its frames cannot be played again alone",
            hint="without --restart each pass plays the whole of it",
        )
    frames = [f for f in trace.table(FrameRow) if f["end_function"]]
    if wanted.frames is not None and wanted.frames.start >= max(len(frames), 1):
        raise UsageError(f"there is no frame {wanted.frames.start}", hint=f"the recording has {len(frames)} frames")


# ---- the table ------------------------------------------------------------------------------------------------------

# One row a range and metric of one replay. A note has the form NUMBER=TEXT, parts separated by semicolons.
_LONG = r"""
INSERT INTO raw
SELECT u.per, u.number, u.seq, u.end_seq, u.t_start, u.t_end, {number}, {repetition}, p.metric,
       CASE WHEN u.note <> ''
            THEN nullif(regexp_extract(u.note, '(?:^|;)' || substr(u.place, 2) || '=([^;]*)', 1), '') END,
       u.value, u.draws,
       nullif(regexp_extract(u.lost, '(?:^|;)' || substr(u.place, 2) || '=([0-9]+):', 1), '')::BIGINT,
       nullif(regexp_extract(u.lost, '(?:^|;)' || substr(u.place, 2) || '=[0-9]+:([^;]*)', 1), '')::DOUBLE, {frame}
FROM ((FROM read_csv({file}, header = true, quote = '"', escape = '"', auto_detect = false, delim = ',',
                      columns = {columns})) UNPIVOT INCLUDE NULLS (value FOR place IN ({names}))) u
JOIN places p ON p.name = u.place
"""


def _store(trace: Trace, runs: _Runs, plan: Plan, wanted: ProfileOptions) -> tuple[Path, int]:
    where = measured.folder(trace.path)
    where.mkdir(exist_ok=True)
    old = measured.files(trace.path)
    run = 1 + max((int(file.stem) for file in old if file.stem.isdigit()), default=0) if wanted.add else 1
    with connect() as connection:
        _load(connection, runs, plan, wanted)
        _estimate(trace, connection)
        frames = [(f["frame"], f["first_seq"]) for f in trace.table(FrameRow)]
        connection.execute("CREATE TABLE frames (frame UBIGINT, first_seq UBIGINT)")
        _insert(connection, "frames", frames)
        part, path = where / "run.part", where / f"{run:03}.parquet"
        table = _TABLE.format(engine=quote_text(runs.engine), run=run, known=_KNOWN)
        connection.execute(f"COPY ({table}) TO {quote_text(part)} (FORMAT parquet)")
        [(rows,)] = connection.execute(f"SELECT count(*) FROM read_parquet({quote_text(part)})").fetchall()
    for file in [] if wanted.add else old:
        file.unlink(missing_ok=True)
        file.with_suffix(".json").unlink(missing_ok=True)
    part.replace(path)
    return path, int(rows)


# The number of draws, and the known part of them where some are not known: repetitions lack the same.
_KNOWN = """
max(draws) AS draws, CASE WHEN count(value) = 0 THEN max(unknown) END AS unknown_draws,
CASE WHEN count(value) = 0 THEN min(at_least) END AS at_least
"""
_TABLE = """
SELECT r.seq, NULL::USMALLINT AS thread, NULL::BIGINT AS t, m.id AS name, r.value, r.per, r.number, r.end_seq,
       coalesce(r.frame, f.frame) AS frame, g.name AS range, m.unit, r.spread,
       r.samples::INTEGER AS samples, r.note, r.draws, r.unknown_draws,
       r.at_least, r.pass::INTEGER AS pass, r.replay_start, r.replay_ns, {engine} AS engine, {run}::INTEGER AS run
FROM (SELECT per, number, min(seq) AS seq, max(end_seq) AS end_seq, metric, median(value) AS value,
             max(value) - min(value) AS spread, count(value) AS samples, any_value(note) AS note, min(pass) AS pass,
             {known}, min(frame) AS frame,
             arg_min(t_start, repetition)::BIGINT AS replay_start,
             arg_min(t_end - t_start, repetition)::BIGINT AS replay_ns
      FROM raw GROUP BY per, number, metric) r
JOIN metrics m USING (metric)
LEFT JOIN ranges g ON r.per = 'range' AND g.number = r.number
ASOF LEFT JOIN frames f ON f.first_seq <= r.seq
ORDER BY r.seq, r.per, r.number, m.id
"""


def _load(connection: duckdb.DuckDBPyConnection, runs: _Runs, plan: Plan, wanted: ProfileOptions) -> None:
    connection.execute(
        "CREATE TABLE raw (per VARCHAR, number UBIGINT, seq UBIGINT, end_seq UBIGINT, t_start UBIGINT, t_end UBIGINT, "
        "pass INTEGER, repetition INTEGER, metric VARCHAR, note VARCHAR, value DOUBLE, draws BIGINT, unknown BIGINT, "
        "at_least DOUBLE, frame UBIGINT)"
    )
    connection.execute("CREATE TABLE metrics (metric VARCHAR, id VARCHAR, unit VARCHAR)")
    known = {m.id: m for one in plan.passes for m in one.metrics}
    _insert(connection, "metrics", [(m.id, m.id, m.unit) for m in known.values()])
    connection.execute("CREATE TABLE ranges (number UBIGINT, name VARCHAR)")
    _insert(connection, "ranges", [(i, r.name) for i, r in enumerate(wanted.ranges)])
    connection.execute("CREATE TABLE places (name VARCHAR, metric VARCHAR)")
    for number, repetition, file in runs.files:
        # In one process the passes share their list of metrics, else each has its own.
        listed = list(known) if wanted.restart else [m.id for m in plan.passes[number].metrics]
        mine = [m.id for m in plan.passes[number].metrics]
        connection.execute("DELETE FROM places")
        place = {id_: f"m{i}" for i, id_ in enumerate(listed)}
        _insert(connection, "places", [(place[i], i) for i in mine])
        connection.execute(_question(file, number, repetition, [place[i] for i in mine]))
    pairs = ", ".join(f"WHEN '{letter}' THEN '{word}'" for letter, word in WORDS.items())
    connection.execute(f"UPDATE raw SET per = CASE per {pairs.replace(', WHEN', ' WHEN')} ELSE per END")


def _estimate(trace: Trace, connection: duckdb.DuckDBPyConnection) -> None:
    """Add the operations of the shaders of draws, where their fragments were counted."""
    asked = [estimate.FRAGMENTS, estimate.VERTICES, *estimate.RUNS.values()]
    known: dict[str, dict[int, float | None]] = {metric: {} for metric in asked}
    for metric, seq, value in connection.execute(
        "SELECT metric, seq, median(value) FROM raw WHERE per = 'draw' AND list_contains($1, metric) "
        "GROUP BY metric, seq",
        [asked],
    ).fetchall():
        known[str(metric)][int(seq)] = None if value is None else float(value)
    if not known[estimate.FRAGMENTS] or is_vulkan(trace):
        return  # the estimate reads GLSL
    costs = estimate.draw_costs(trace, known[estimate.FRAGMENTS], known[estimate.VERTICES], known)
    _insert(connection, "metrics", [(id_, id_, "count") for id_ in estimate.IDS])
    connection.execute("CREATE TABLE estimated (seq UBIGINT, metric VARCHAR, value DOUBLE, note VARCHAR)")
    columns: list[list[object]] = [list(column) for column in zip(*estimate.rows(costs), strict=True)]
    if columns:
        # All at once: there may be very many draws.
        connection.execute(
            "INSERT INTO estimated SELECT unnest($1::UBIGINT[]), unnest($2::VARCHAR[]), unnest($3::DOUBLE[]), "
            "unnest($4::VARCHAR[])",
            columns,
        )
    connection.execute(
        "INSERT INTO raw SELECT r.per, r.number, r.seq, r.end_seq, r.t_start, r.t_end, r.pass, r.repetition, e.metric, "
        "e.note, e.value, r.draws, CASE WHEN e.value IS NULL THEN r.draws END, NULL, r.frame "
        "FROM raw r JOIN estimated e USING (seq) WHERE r.per = 'draw' AND r.metric = $1",
        [estimate.FRAGMENTS],
    )


def _question(file: Path, number: int, repetition: int, places: Sequence[str]) -> str:
    with file.open(encoding="utf-8") as text:
        header = text.readline().strip().split(",")
    fixed = {"per": "VARCHAR", "note": "VARCHAR", "lost": "VARCHAR"}
    kinds = {name: fixed.get(name, "DOUBLE" if re.fullmatch(r"m\d+", name) else "UBIGINT") for name in header}
    columns = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in kinds.items()) + "}"
    names = ", ".join(places)
    frame = "u.frame" if "frame" in header else "NULL"
    return _LONG.format(
        number=number, repetition=repetition, file=quote_text(file), columns=columns, names=names, frame=frame
    )


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Sequence[object]]) -> None:
    listed = list(rows)
    if listed:
        marks = ", ".join("?" for _ in listed[0])
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", listed)


# ---- what it says ---------------------------------------------------------------------------------------------------


def cost_per_cut(made: Profile) -> float:
    """Return how long it takes to end and begin all that a pass measures, in ns: the median over the replays."""
    return statistics.median(c.ns / c.cuts for c in made.costs if c.cuts) if any(c.cuts for c in made.costs) else 0.0


def ranges(trace: Trace, kinds: Iterable[str], named: Sequence[Range] = ()) -> list[Range]:
    """Return the ranges of calls of these kinds: `group` (debug groups), `pass` (draws to one render target), `range`
    (both, and `named`)."""
    wanted = set(kinds)
    ranges_: list[Range] = list(named) if "range" in wanted else []
    if wanted & {"group", "range"}:
        for row in trace.table(MarkerRow):
            if row["kind"] == "group" and row["end_seq"] is not None:
                ranges_.append(Range(f"group {row['text']}", row["seq"], row["end_seq"] + 1))
    if wanted & {"pass", "range"}:
        rows = trace.sql(_TARGETS)
        ranges_ += [Range(f"pass {name}", int(first), int(last) + 1) for name, first, last in rows]
    return sorted(ranges_, key=lambda r: (r.begin, -r.end))


# Draws that follow each other in a frame and go to the same render target, with the calls that lead to them.
_TARGETS = """
SELECT name, greatest(first_seq, coalesce(1 + lag(last) OVER (ORDER BY last), 0)), last
FROM (SELECT part, frame, max(seq) AS last,
             CASE WHEN framebuffer = 0 THEN 'window' ELSE 'framebuffer ' || framebuffer END AS name
      FROM (SELECT seq, frame, framebuffer, sum(changed) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS part
            FROM (SELECT *, CASE WHEN (frame, context, framebuffer) IS NOT DISTINCT FROM
                                 lag((frame, context, framebuffer)) OVER (ORDER BY seq) THEN 0 ELSE 1 END AS changed
                  FROM (SELECT seq, frame, context, coalesce(framebuffer, 0) AS framebuffer FROM draws)))
      GROUP BY part, frame, framebuffer) JOIN frames USING (frame)
ORDER BY last
"""


# ---- results --------------------------------------------------------------------------------------------------------

_OVERVIEW = """
SELECT m.per, m.name AS metric, any_value(m.unit) AS unit, count(*) AS rows, sum(m.value) AS total,
       median(m.value) AS median, min(m.value) AS least, max(m.value) AS most, median(m.spread) AS spread,
       count(*) FILTER (m.value IS NULL) AS missing, sum(coalesce(m.value, m.at_least)) AS at_least,
       sum(m.unknown_draws)::BIGINT AS unknown_draws, sum(m.draws)::BIGINT AS draws
FROM read_parquet({file}) m GROUP BY m.per, m.name ORDER BY m.per, m.name
"""
_WRITERS = {".csv": "(FORMAT csv, HEADER)", ".parquet": "(FORMAT parquet)", ".json": "(FORMAT json, ARRAY true)"}


def overview(made: Profile) -> list[dict[str, Any]]:
    """Return a row a metric and kind of range: how many, total (of what adds up), median, extremes, the median spread
    of the repetitions, and how many have no value.

    Where some have none there is no total: it is `at_least` the sum of what is known, and `unknown_draws` of `draws`
    are not in it.
    """
    adds = {m.id for one in made.plan.passes for m in one.metrics if m.fold == "sum"} | {*estimate.IDS}
    entries = _ask(_OVERVIEW.format(file=quote_text(made.path)))
    for entry in entries:
        if entry["metric"] not in adds:
            entry["total"] = entry["at_least"] = None
        if entry["missing"]:
            entry["total"] = None  # the sum of the others is none of all
        else:
            entry["at_least"] = entry["unknown_draws"] = entry["draws"] = None
    return sorted(entries, key=lambda row: (str(row["per"]), numbered(str(row["metric"]))))


def notes(made: Profile) -> list[tuple[object, ...]]:
    """Return the notes of rows with how many rows have them."""
    noted = _ask(
        f"SELECT note, count(*) AS rows FROM read_parquet({quote_text(made.path)}) WHERE note IS NOT NULL "
        "GROUP BY note ORDER BY count(*) DESC, note LIMIT 10"
    )
    return [tuple(row.values()) for row in noted]


#: A driver must count these as we do, but it has choices. Quads and polygons may come to clipping as one primitive.
#: Vertices that make no primitive, and work that rasterizer discard drops, may be left out.
_ALIKE = (
    ("gl:pipeline/vertices_submitted", "geometry:vertices/vertices_submitted"),
    ("gl:pipeline/clipping_input_primitives", "geometry:primitives/submitted"),
)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two metrics that should be alike, and differ in `differ` of `rows` frames, draws, calls or ranges (`per`). At
    the first, call `seq`, the driver says `driver`, and drawtap counted `ours`."""

    metric: str
    other: str
    per: str
    rows: int
    differ: int
    seq: int
    driver: float
    ours: float


def disagreements(path: Path) -> list[Disagreement]:
    """Return where the driver counted otherwise than geometry did, in a stored run that has both."""
    disagreements_: list[Disagreement] = []
    for metric, other in _ALIKE:
        rows = _ask(
            f"SELECT a.per, count(*) AS rows, count(*) FILTER (a.value <> b.value) AS differ, "
            "min_by(a.seq, a.seq) FILTER (a.value <> b.value) AS seq, "
            "min_by(a.value, a.seq) FILTER (a.value <> b.value) AS driver, "
            "min_by(b.value, a.seq) FILTER (a.value <> b.value) AS ours "
            f"FROM read_parquet({quote_text(path)}) a JOIN read_parquet({quote_text(path)}) b "
            "ON a.per = b.per AND a.number = b.number "
            f"AND a.name = {quote_text(metric)} AND b.name = {quote_text(other)} "
            "WHERE a.value IS NOT NULL AND b.value IS NOT NULL GROUP BY a.per HAVING differ > 0 ORDER BY a.per"
        )
        disagreements_ += [Disagreement(metric, other, **row) for row in rows]
    return disagreements_


def export(stored: Path, output: Path) -> None:
    """Write a run as CSV, Parquet or JSON. Raises UsageError for another suffix, and where nothing can be written."""
    try:
        _ask(f"COPY (FROM read_parquet({quote_text(stored)})) TO {quote_text(output)} {writer(output)}")
    except duckdb.IOException as error:
        raise UsageError(f"{output} cannot be written: {error}", hint=f"what was measured is in {stored}") from None


def writer(output: Path) -> str:
    """Return how DuckDB writes a file of that suffix. Raises UsageError for one that is not known."""
    how = _WRITERS.get(output.suffix)
    if how is None:
        raise UsageError(f"{output} has no known format", hint=", ".join(_WRITERS))
    return how


def _ask(question: str) -> list[dict[str, Any]]:
    with connect() as connection:
        return named_rows(connection.execute(question))
