"""One recording as the page asks it. Every method may be called from any thread; no answer has more than a screen."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from drawtap.analysis.incomplete import incomplete
from drawtap.errors import InputError, UsageError
from drawtap.scratch import Scratch
from drawtap.tables.recording import ContextRow, FunctionRow, MarkerRow, ParameterRow, ThreadRow
from drawtap.trace import apis
from drawtap.trace.core import Row
from drawtap.trace.moment import computed_state, roots
from drawtap.trace.trace import Trace, open_trace
from drawtap.web import filters, stages, vulkan
from drawtap.web.answer import Answer, headed
from drawtap.web.arguments import as_c, preview, signature, value_text, whole
from drawtap.web.callset import CallSet, Growing
from drawtap.web.drawn import draws_between, draws_of_frames, has_lists
from drawtap.web.frames import Frames, Opening
from drawtap.web.reference import kinds, pages
from drawtap.web.saving import file_of, file_of_rows

if TYPE_CHECKING:
    from drawtap.analysis.held import HeldContent
    from drawtap.replay.place import Place
    from drawtap.replay.pool import Pool
    from drawtap.replay.warm import Warm
    from drawtap.trace.result import Result
    from drawtap.web.buffers import Buffers
    from drawtap.web.look import Looks
    from drawtap.web.pictures import Pictures
    from drawtap.web.recorded_tracks import RecordedTracks
    from drawtap.web.small import Small
    from drawtap.web.strip import Strip
    from drawtap.web.whatif import WhatIf

MOST_CALLS = 512  # of one page of the list
MOST_ROWS = 5_000  # of one answer to a question in SQL
MOST_ANCHORS = 200_000  # rows below one frame
_TEXT = 600  # characters of a call in the list
_NEAR = 64  # calls between two that are wanted and read with them: more cost as much as opening their part anew
_SETS = 16
PIECE = 2_000_000  # calls that a filter goes through at once; the page shows the matches so far in between
STOP_S = 10  # how long a question may go on after it was stopped
_IDLE = 3  # traces kept open for questions
# The calls that stand for themselves in the list; the calls before it fold below it.
_ANCHORS = {"draw": "draw", "dispatch": "dispatch", "clear": "clear", "readback": "read", "frame_end": "show"}
_NAMED_VALUE = re.compile(r'(uniforms|attributes)\[("(?:[^"\\]|\\.)*")\]')


class Recording:
    """A recording with what was computed of it for the page. `close` it at the end.

    `engine` names what plays it, `opening` is the recording if it is being opened already. Raises what `Opening` and
    `engine.environment_of` raise.
    """

    def __init__(
        self, path: Path, frame_end: str | None = None, engine: str = "system", opening: Opening | None = None
    ) -> None:
        self.engine = engine
        self.environment: Mapping[str, str] | None = None
        if engine != "system":
            from drawtap.replay.engine import environment_of

            self.environment = environment_of(engine)
        self._opening = opening or Opening(path, frame_end)
        self.trace = self._opening.trace
        self.path = path
        self._sets: OrderedDict[str, tuple[str, str, CallSet]] = OrderedDict()  # id -> filter, SQL, calls
        self._growing: dict[str, Growing] = {}  # by the names of questions
        self._idle: list[Trace] = []
        self._running: dict[str, Trace] = {}
        self._lock = threading.Lock()
        self._asking = threading.local()
        self._reading = threading.Lock()
        self._known_frames: Frames | None = None
        self._making = threading.Lock()
        self._time: RecordedTracks | None = None
        self._vocabulary: filters.Vocabulary | None = None
        self._baselines: dict[int, dict[str, str]] = {}

    def close(self) -> None:
        """End players and close files; running questions are stopped."""
        for query in [*self._running]:
            self.stop(query)
        for started in ("strip", "small", "pool", "whatif"):
            if started in self.__dict__:
                getattr(self, started).close()
        if self._time is not None:
            self._time.close()
        with self._lock:
            traces, self._idle = self._idle, []
        for trace in traces:
            trace.close()
        self._opening.close()

    def interrupt(self) -> None:
        """Stop the questions that run now; whoever asked gets no answer."""
        for trace in (self.trace, *self._running.values()):
            trace.cancel()

    # ---- what there is ------------------------------------------------------------------------------------------

    def overview(self) -> Answer:
        """Return the first content of the page: program, driver, counts, losses, functions."""
        info = self.trace.info
        return {
            "name": self.path.name,
            "engine": self.engine,
            "uuid": info["uuid"],
            "calls": info["calls"],
            "frames": info["frames"],
            "problems": info["problems"],
            "threads": self.trace.core.table_rows(ThreadRow),
            "contexts": self.trace.core.table_rows(ContextRow),
            "first_time": info["t_first"],
            "vulkan": apis.is_vulkan(self.trace),
        }

    def schema(self) -> Answer:
        """Return the tables with their columns, and the words of the filter language, for completion."""
        database = self.trace.database
        with self._lock:
            tables = {name: [column.name for column in database.columns(name)] for name in database.table_names()}
        vocabulary = self.vocabulary
        return {
            "tables": tables,
            "flags": sorted(vocabulary.flags),
            "parameters": sorted(vocabulary.parameters),
            "functions": sorted(vocabulary.functions),
            "help": filters.__doc__,
        }

    @property
    def _frames(self) -> Frames:
        with self._reading:
            if self._known_frames is None:
                self._known_frames = self._opening.frames()
            return self._known_frames

    def range_of(self, frame: int) -> tuple[int, int]:
        """Return the first call of a frame, and the one behind its last."""
        return self._frames.range_of(frame)

    def frames(self) -> bytes:
        """Return the frames, as `Frames.content` has them."""
        return self._frames.content()

    def outline(self, frame: int) -> Answer:
        """Return the rows below a frame: draws and the like (`seqs`, one letter each in `kinds`) and debug groups."""
        if not 0 <= frame < len(self._frames):
            raise UsageError(f"there is no frame {frame}", hint=f"there are {len(self._frames)}")
        first, end = self.range_of(frame)
        kinds = {name: kind for name, flags in self.vocabulary.functions.items() if (kind := _kind(flags))}
        anchors: list[tuple[int, str]] = []
        if has_lists(self.vocabulary.functions.values()):
            kinds = {name: kind for name, kind in kinds.items() if kind != "draw"}
            with self.lent() as trace:
                anchors = draws_between(trace, first, end, MOST_ANCHORS + 1)
        if kinds:
            with self.lent() as trace:
                names = ", ".join(f"'{name}'" for name in kinds)
                query = f"SELECT seq, name FROM calls WHERE seq >= {first} AND seq < {end} AND name IN ({names})"
                rows = trace.sql(f"{query} ORDER BY seq LIMIT {MOST_ANCHORS + 1}").fetchall()
            anchors += [(seq, kinds[name]) for seq, name in rows]
        markers = [m for m in self.trace.core.table_rows(MarkerRow) if first <= m["seq"] < end]
        anchors = sorted(anchors + [(m["seq"], "message") for m in markers if m["kind"] == "insert"])
        groups = [{"seq": m["seq"], "end": m["end_seq"], "text": m["text"]} for m in markers if m["kind"] == "group"]
        return {
            "first": first,
            "end": end,
            "seqs": [seq for seq, _ in anchors[:MOST_ANCHORS]],
            "kinds": [kind for _, kind in anchors[:MOST_ANCHORS]],
            "groups": groups,
            "cut": len(anchors) > MOST_ANCHORS,
        }

    def draws_of_frames(self) -> list[list[int]] | None:
        """Return the draws of each frame that has any; None where the counts of `frames` hold."""
        if not has_lists(self.vocabulary.functions.values()):
            return None
        with self.lent() as trace:
            return draws_of_frames(trace)

    # ---- calls --------------------------------------------------------------------------------------------------

    def calls(self, seqs: Sequence[int], marked_by: str | None = None) -> list[list[object]]:
        """Return calls for the list: seq, frame, thread, context, name, t_start, duration, text, in set `marked_by`."""
        if len(seqs) > MOST_CALLS:
            raise UsageError(f"{len(seqs)} calls are more than a page", hint=f"at most {MOST_CALLS}")
        marks = self.kept(marked_by) if marked_by else None
        listed: list[list[object]] = []
        wanted = sorted(set(seqs))
        core = self.trace.core
        rows = {row["seq"]: row for run in _runs(wanted) for row in core.rows_with_text(run.start, run.stop)}
        for seq in wanted:
            row = rows.get(seq)
            if row is None:
                continue
            text = self._unreadable(seq) if row["text"] is None else row["text"]
            plain: list[object] = [
                row[key] for key in ("seq", "frame", "thread", "context", "name", "t_start", "duration")
            ]
            listed.append([*plain, text[:_TEXT] + ("…" if len(text) > _TEXT else ""), marks is None or seq in marks])
        return listed

    def _unreadable(self, seq: int) -> str:
        try:
            return str(self.trace.core.call(seq)[0]["text"])
        except InputError as error:
            return f"cannot be read: {error.message}"

    def call(self, seq: int) -> Answer:
        """Return one call: its row, signature, arguments with the beginning of arrays, and ways to write it."""
        self.checked(seq)
        row = self.trace.calls[seq]
        details, inline = self.trace.core.call(seq)
        name = row.name
        parameters = [p for p in self.trace.core.table_rows(ParameterRow) if p["function"] == name]
        known = {p["name"]: p for p in parameters}
        arguments = [self._argument(a, inline, known.get(a["name"], {})) for a in details["args"]]
        function = next((f for f in self.trace.core.table_rows("functions") if f["name"] == name), {})
        return {
            "seq": seq,
            "frame": row.frame,
            "thread": row.thread,
            "context": row.context,
            "name": name,
            "t_start": row.t_start,
            "duration": row.duration,
            "signature": signature(name, parameters),
            "api": function.get("api"),
            "provided_by": function.get("provided_by"),
            "pages": pages(name, str(function.get("api")), str(function.get("provided_by") or "")),
            "kinds": kinds(str(function.get("flags") or "")),
            "args": arguments,
            "result": None if details["result"] is None else value_text(details["result"]),
            "text": details["text"],
            "c": as_c(name, parameters, arguments),
            "sql": f'SELECT * FROM "{name}" WHERE seq = {seq}',
            "python": f"trace.calls[{seq}].args",
        }

    def _argument(self, argument: Row, inline: bytes, parameter: Mapping[str, object]) -> Answer:
        shown: Answer = {
            "name": argument["name"],
            "value": value_text(argument),
            "kind": argument["kind"],
            "class": parameter.get("class"),
            "group": parameter.get("group"),
            "type": parameter.get("type"),
        }
        kind = argument.get("data")
        if kind in ("inline", "blob"):
            content = self._content(argument, inline)
            shown["bytes"], shown["element"] = len(content), argument["element"]
            tree = argument.get("tree")
            shown["array"] = preview(argument["element"], content) if tree is None else json.dumps(tree, indent=2)
        elif kind is not None:
            shown["missing"] = "no content was recorded" if argument["value"] else None
        return shown

    def _content(self, argument: Row, inline: bytes) -> bytes:
        if argument["data"] == "blob":
            return self.trace.blob(argument["blob"])
        start = argument["at"]
        return inline[start : start + argument["bytes"]]

    def content(self, seq: int, name: str) -> bytes:
        """Return the bytes that a call handed over or got in an argument. Raises UsageError where there are none."""
        self.checked(seq)
        details, inline = self.trace.core.call(seq)
        for argument in details["args"]:
            if argument["name"] == name and argument.get("data") in ("inline", "blob"):
                return self._content(argument, inline)
        raise UsageError(f"call {seq} has no recorded content in {name!r}", hint="choose another argument")

    def arguments(self, seq: int, form: str) -> Path:
        """Return a temporary file with a call's result and arguments, all elements of arrays and members too.

        Raises UsageError for a form. The columns are those of `arguments.whole`.
        """
        self.checked(seq)
        details, inline = self.trace.core.call(seq)
        name = self.trace.calls[seq].name
        parameters = [p for p in self.trace.core.table_rows(ParameterRow) if p["function"] == name]
        rows = whole(details, parameters, lambda argument: self._content(argument, inline))
        return file_of_rows(("argument", "value", "type", "class", "bytes"), rows, form)

    def checked(self, seq: int) -> int:
        """Return the number of a call. Raises UsageError where there is none."""
        count = self.trace.info["calls"]
        if not 0 <= seq < count:
            raise UsageError(f"there is no call {seq}", hint=f"there are {count:,}" if count else "there are no calls")
        return seq

    # ---- filters ------------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> filters.Vocabulary:
        """The vocabulary of filters."""
        if self._vocabulary is None:
            functions = {
                row["name"]: frozenset(row["flags"].split(",")) - {""}
                for row in self.trace.core.table_rows(FunctionRow)
                if row["calls"]
            }
            named: dict[str, list[tuple[str, str]]] = {}
            for row in self.trace.core.table_rows(ParameterRow):
                if row["function"] in functions and row["position"]:
                    named.setdefault(row["name"], []).append((row["function"], _holds(row)))
            parameters = {name: tuple(where) for name, where in named.items()}
            self._vocabulary = filters.Vocabulary(functions, parameters)
        return self._vocabulary

    def filter(self, text: str, query: str) -> Answer:
        """Keep the calls that a filter names; return the id of the set, its size and the SQL.

        `query` is the name under which `stop` finds it, and `matches_so_far` what is there meanwhile.
        """
        where = filters.condition(text, self.vocabulary)
        for key, (known, sql, calls) in self._sets.items():
            if known == text:
                return {"id": key, "count": len(calls), "sql": sql}
        sql = f"SELECT seq FROM calls WHERE {where}"
        growing = self._growing[query] = Growing(self.trace.info["calls"])
        try:
            with self.lent(query) as trace:
                for part in [range(growing.size)] if not filters.in_pieces(text, where) else _pieces(growing.size):
                    asked = sql
                    if len(part) < growing.size:
                        inner = filters.condition(text, self.vocabulary, part)
                        asked = f"SELECT seq FROM calls WHERE ({inner}) AND seq >= {part.start} AND seq < {part.stop}"
                    growing.add(trace.sql(asked).numpy()["seq"], part.stop)
            calls = growing.whole()
        finally:
            self._growing.pop(query, None)
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._sets[key] = (text, sql, calls)
            while len(self._sets) > _SETS:
                self._sets.popitem(last=False)
        return {"id": key, "count": len(calls), "sql": sql}

    def matches_so_far(self, query: str, buckets: int) -> Answer:
        """Return what a filter that still runs has found: `count`, and `density`, of the first `until` calls.

        `count` is None where no filter of this name runs.
        """
        growing = self._growing.get(query)
        if growing is None:
            return {"count": None}
        density = growing.density(max(1, min(buckets, 4096)))
        return {"count": growing.count, "until": growing.until, "of": growing.size, "density": density}

    def kept(self, key: str) -> CallSet:
        """Return the calls of a filter. Raises UsageError where it is not kept any more."""
        try:
            return self._sets[key][2]
        except KeyError:
            raise UsageError("this filter is not kept any more", hint="apply it again") from None

    def matches(self, key: str, position: int, count: int) -> Answer:
        """Return a page of a filter's calls from a position on: `calls` as in the list."""
        return {"calls": self.calls(self.kept(key).select(position, min(count, MOST_CALLS)))}

    def place(self, key: str, seq: int) -> Answer:
        """Return where a call stands in a filter's calls, and its neighbours there."""
        calls = self.kept(key)
        return {
            "position": calls.rank(seq),
            "in": seq in calls,
            "next": calls.beside(seq, 1),
            "previous": calls.beside(seq, -1),
        }

    def density(self, key: str, buckets: int) -> list[int]:
        """Return how many of a filter's calls lie in each of equal parts of the recording."""
        return self.kept(key).density(max(1, min(buckets, 4096)))

    # ---- time ---------------------------------------------------------------------------------------------------

    @property
    def time(self) -> RecordedTracks:
        """The rows of the timeline; none is read before the first request."""
        from drawtap.web.recorded_tracks import RecordedTracks

        with self._making:
            if self._time is None:
                self._time = RecordedTracks(self.trace, self.lent, self._frames)
            return self._time

    def all_series(self) -> list[dict[str, str]]:
        """Return the series of numbers by frame, draw or call."""
        from drawtap.web.series import AllSeries  # with DuckDB, which the first rows do without

        return AllSeries(self.trace, self.lent).listing()

    def series(self, key: str) -> bytes:
        """Return the values of a series: a JSON head, then numbers of frames or calls, then values."""
        from drawtap.web.series import AllSeries

        head, data = AllSeries(self.trace, self.lent).values(key)
        return headed(head, data)

    @contextlib.contextmanager
    def named(self, query: str) -> Iterator[None]:
        """Let `stop` find all that this thread asks inside the block under one name."""
        self._asking.query = query
        try:
            yield
        finally:
            self._asking.query = ""

    # ---- SQL ----------------------------------------------------------------------------------------------------

    def sql(self, text: str, query: str) -> Answer:
        """Answer a question in SQL that only reads; at most MOST_ROWS rows, and `more` says whether others are left."""
        with self.lent(query) as trace:
            return answer(trace.sql(text))

    def save(self, text: str, form: str, query: str) -> Path:
        """Return a temporary file with the whole answer to a question: csv, parquet or arrow."""
        with self.lent(query) as trace:
            return file_of(trace.sql(text), form)

    def stop(self, query: str) -> bool:
        """Stop a running question and wait until it has ended; tell whether there was one."""
        with self._lock:
            trace = self._running.get(query)
        end = time.monotonic() + STOP_S
        while trace is not None and self._running.get(query) is trace and time.monotonic() < end:
            trace.cancel()  # lost where the question has not begun yet: again
            time.sleep(0.02)
        return trace is not None

    @contextlib.contextmanager
    def lent(self, query: str = "") -> Iterator[Trace]:
        """Yield a trace with a database of its own: a connection has one question at a time."""
        query = query or getattr(self._asking, "query", "")
        with self._lock:
            trace = self._idle.pop() if self._idle else None
        if trace is None:
            trace = open_trace(self.path, frame_end=self.trace.frame_end)
            trace.share_graph(self.trace)
            trace.database.make_safe()
        with self._lock:
            if query:
                self._running[query] = trace
        try:
            yield trace
        finally:
            with self._lock:
                self._running.pop(query, None)
                keep = len(self._idle) < _IDLE and trace.core.is_open
                if keep:
                    self._idle.append(trace)
            if not keep:
                trace.close()

    # ---- state --------------------------------------------------------------------------------------------------

    def state(self, seq: int, everything: bool) -> Answer:
        """Return the state after a call: rows of path, value (JSON text), since which call, stage, whether it differs.

        Without `everything` the rows are those that differ and those that a stage always shows; `variables` counts all.

        A variable of the context differs where it is not as in the context's first call; one of an object where a
        call changed it after the object was made.
        """
        self.checked(seq)
        if apis.is_vulkan(self.trace):
            return vulkan.state(self.lent, seq, everything)
        values = computed_state(self.trace, seq)
        if not values:
            raise UsageError(f"no context is current at call {seq}", hint="choose a call behind eglMakeCurrent")
        known = dict(roots(self.trace, seq))
        since = self._since(seq, known)
        baseline = self._baseline(seq)
        made: dict[str, int] = {}
        for path, at in since.items():
            made[_object(path)] = min(made.get(_object(path), at), at)
        stage = stages.stage_of(values)
        always = stages.always_shown()
        rows = []
        for path, value in values.items():
            begin = since.get(path)
            if path.startswith(("context.", "vg_context.")):
                differs = path not in baseline or baseline[path] != value
            else:
                differs = begin is not None and begin > made[_object(path)]
            if everything or differs or path in always:
                rows.append([path, value, begin, stage.get(path), differs])
        named = [[stage.key, stage.name] for stage in stages.STAGES]
        said: Answer = {"seq": seq, "rows": rows, "variables": len(values), "stages": named, "always": sorted(always)}
        return said | {"incomplete": self._incomplete(seq, values)}

    def _incomplete(self, seq: int, values: Mapping[str, str]) -> list[list[object]]:
        """Return textures that are bound and incomplete: share group, unit, target, name, why, mend, whether the draw
        reads it (None where the call is none).
        """
        at = self.trace.calls[seq].context
        context = next((row for row in self.trace.core.table_rows(ContextRow) if row["context"] == at), None)
        if context is None or not (textures := incomplete(values, es=context["api"] == "gles")):
            return []
        with self.lent() as trace:
            rows = trace.sql(f"SELECT textures FROM draws WHERE seq = {seq} AND kind = 'draw'").fetchall()
        group = context["share_group"]
        return [
            [group, one.unit, one.target, one.texture, one.why, one.mend, one.texture in rows[0][0] if rows else None]
            for one in textures
        ]

    def program(self, seq: int) -> Answer:
        """Return the program in use after a call: sources as they were linked, uniforms, attributes, with their calls.

        Raises UsageError where none is in use, or the recording does not know when it was linked.
        """
        self.checked(seq)
        if apis.is_vulkan(self.trace):
            return vulkan.program(self.lent, seq)
        values = computed_state(self.trace, seq)
        name = values.get("context.GL_CURRENT_PROGRAM", "0")
        linked = re.search(r"\d+", values.get(f"share.programs[{name}].linked", ""))
        if name == "0" or linked is None:
            raise UsageError(
                f"no program is in use after call {seq}", hint="fixed function: the state panel has it all"
            )
        since = self._since(seq, dict(roots(self.trace, seq)))
        head = f"share.programs[{name}]."
        listed: dict[str, list[list[object]]] = {"uniforms": [], "attributes": []}
        for path, value in values.items():
            if match := _NAMED_VALUE.fullmatch(path.removeprefix(head)) if path.startswith(head) else None:
                listed[match[1]].append([json.loads(match[2]), json.loads(value), since.get(path)])
        return {
            "name": int(name),
            "label": json.loads(values.get(f"{head}label", '""')),
            "linked": int(linked[0]),
            "shaders": self._sources(int(linked[0]), name),
            **listed,
        }

    def program_cost(self, seq: int) -> Answer:
        """Return what the draws with the program in use after a call cost, as `AllSeries.of_program` has it."""
        from drawtap.web.series import AllSeries

        program = self.program(seq)["name"]
        return AllSeries(self.trace, self.lent).of_program(int(str(program)), self.trace.calls[seq].context)

    def _sources(self, linked: int, program: str) -> list[Answer]:
        # A program goes on with the sources it was linked with, whatever becomes of its shaders.
        values = computed_state(self.trace, linked)
        since = self._since(linked, dict(roots(self.trace, linked)))
        sources: list[Answer] = []
        for shader in json.loads(values.get(f"share.programs[{program}].shaders", "[]")):
            path = f"share.shaders[{shader}]."
            seq = since.get(f"{path}source")
            text = self.trace.calls[seq].args.get("string") if seq is not None else None
            stage = json.loads(values.get(f"{path}GL_SHADER_TYPE", '""'))
            source = "".join(map(str, text)) if isinstance(text, list) else text
            sources.append({"name": shader, "stage": stage, "seq": seq, "source": source})
        return sources

    def _since(self, seq: int, known: Mapping[str, str]) -> dict[str, int]:
        with self.lent() as trace:
            query = f"SELECT path, begin_seq FROM state WHERE begin_seq <= {seq} AND end_seq > {seq}"
            rows = trace.sql(query).fetchall()
        set_by: dict[str, int] = {}
        for kind, root in known.items():
            cut = len(root)
            set_by |= {kind + p[cut:]: s for p, s in rows if p.startswith(root)}
        return set_by

    def _baseline(self, seq: int) -> dict[str, str]:
        # The state when the context was first used.
        context = self.trace.calls[seq].context
        if context not in self._baselines:
            rows = self.trace.core.table_rows(ContextRow)
            first = next((row["first_seq"] for row in rows if row["context"] == context), seq)
            self._baselines[context] = computed_state(self.trace, first)
        return self._baselines[context]

    def difference(self, first: int, second: int) -> Answer:
        """Return the state variables that differ between two calls: path, value after the first, after the second."""
        for seq in (first, second):
            self.checked(seq)
        of = vulkan.values_at if apis.is_vulkan(self.trace) else computed_state
        with self.lent() as trace:
            a, b = of(trace, first), of(trace, second)
        paths = [path for path in {**a, **b} if a.get(path) != b.get(path)]
        return {"rows": [[path, a.get(path), b.get(path)] for path in paths]}

    # ---- pictures -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def pictures(self) -> Pictures:
        """Pictures of targets after calls."""
        from drawtap.web.pictures import Pictures

        return Pictures(self.pool, self._draws_in, self._place)

    def _place(self, seq: int) -> Place:
        from drawtap.replay.place import Place, place_of

        if not apis.is_vulkan(self.trace):
            return Place(seq)
        with self.lent() as trace:
            return place_of(trace, seq)

    def _draws_in(self, seq: int) -> list[int]:
        """Return the draws and clears of the frame that a call is in, in order.

        Vulkan has none: a player keeps the pictures of all draws that were submitted at once.
        """
        if apis.is_vulkan(self.trace):
            return []
        outline = self.outline(self._frames.of(seq))
        rows = zip(cast("list[int]", outline["seqs"]), cast("list[str]", outline["kinds"]), strict=True)
        return [at for at, kind in rows if kind in ("draw", "clear")]

    @functools.cached_property
    def whatif(self) -> WhatIf:
        """The recording with changes that the page asks for."""
        from drawtap.web.whatif import WhatIf

        return WhatIf(self.trace, environment=self.environment)

    @functools.cached_property
    def looks(self) -> Looks:
        """Questions about pixels, fragments and vertices."""
        from drawtap.web.look import Looks

        return Looks(self.pool, self.lent, self._place)

    @functools.cached_property
    def buffers(self) -> Buffers:
        """Questions about the content of buffers."""
        from drawtap.web.buffers import Buffers
        from drawtap.web.vulkan_buffers import VulkanBuffers

        return (VulkanBuffers if apis.is_vulkan(self.trace) else Buffers)(self.trace, self.pool, self.lent)

    @functools.cached_property
    def pool(self) -> Pool:
        """The players of this recording; none is started before the first request for a picture."""
        from drawtap.replay.pool import Pool

        return Pool(self.trace, environment=self.environment)

    @functools.cached_property
    def strip(self) -> Strip:
        """Small pictures of frames over the whole run, made in the background once somebody looks."""
        from drawtap.web.strip import Strip

        return Strip(self.trace, environment=self.environment)

    @functools.cached_property
    def small(self) -> Small:
        """Small pictures of draws and of what objects held."""
        from drawtap.web.small import Small

        return Small(self.trace, self.pool, self._place, environment=self.environment)

    # ---- objects ------------------------------------------------------------------------------------------------

    def _held(self, seq: int, kind: str, share_group: int, name: int, *, texels: bool = False) -> HeldContent:
        from drawtap.analysis.held import held_object

        self.checked(seq)
        if apis.is_vulkan(self.trace):
            return vulkan.held(self.lent, self.pool, seq, name)

        def question(player: Warm) -> HeldContent:
            with Scratch() as folder:
                given = self.trace, Path(folder), player
                return held_object(*given, at=seq, kind=kind, share_group=share_group, name=name, texels=texels)

        return self.pool.ask(seq, question, whole=True)[0]

    def ktx(self, seq: int, kind: str, share_group: int, name: int) -> bytes:
        """Return what a texture or renderbuffer holds after a call as a KTX file. Raises what `ktx` raises."""
        from drawtap.output.ktx import ktx

        return ktx(self._held(seq, kind, share_group, name))

    def texture(self, seq: int, kind: str, share_group: int, name: int) -> bytes:
        """Return what a texture, renderbuffer or OpenVG image holds after a call: a JSON head, then its parts' pixels.

        The head has for each part (level, face) its size, layers, channels, type, place in what follows, where the
        content is from and what is lost; a part without pixels says why. `swizzle` has what shaders get as red, green,
        blue and alpha: letters of channels, 0, 1.
        """
        from drawtap.web.textures import shown

        return shown(self.trace, self._held(seq, kind, share_group, name, texels=True))


def _holds(parameter: ParameterRow) -> str:
    """Return what the column of a parameter holds: text, truth or number."""
    if parameter["kind"] in ("enum", "bitmask") or parameter["element"] == "char":
        return "text"
    return "truth" if parameter["kind"] == "bool" else "number"


def _kind(flags: frozenset[str]) -> str | None:
    return next((kind for flag, kind in _ANCHORS.items() if flag in flags), None)


def _runs(seqs: Sequence[int]) -> Iterator[range]:
    """Yield ranges that hold the ascending `seqs`; near ones are read together."""
    start = end = -1
    for seq in seqs:
        if start < 0:
            start = seq
        elif seq - end > _NEAR:
            yield range(start, end)
            start = seq
        end = seq + 1
    if start >= 0:
        yield range(start, end)


def _pieces(count: int) -> list[range]:
    return [range(first, min(first + PIECE, count)) for first in range(0, max(count, 1), PIECE)]


def _object(path: str) -> str:
    """Return the object that a path is about: `share.textures[7]`, or `context`."""
    return path[: path.index("]") + 1] if path.startswith(("share.", "vg_share.")) and "]" in path else "context"


def answer(result: Result) -> Answer:
    """Return an answer for the page: at most MOST_ROWS rows, and `more` says whether others are left."""
    rows = [tuple(row) for row in itertools.islice(result, MOST_ROWS + 1)]
    said: Answer = {"columns": list(result.columns), "types": list(result.types), "rows": rows[:MOST_ROWS]}
    return said | {"more": len(rows) > MOST_ROWS}
