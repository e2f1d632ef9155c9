"""The viewer's questions as tools of the Model Context Protocol: for a program that looks, instead of a page.

Every tool reads. A cut is only proposed: the answer is the command that makes it.
"""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

import drawtap
from drawtap.errors import DrawtapError, UsageError
from drawtap.tables.recording import declared
from drawtap.web import filters
from drawtap.web.answer import Answer
from drawtap.web.recording import MOST_CALLS, Recording

P = ParamSpec("P")
T = TypeVar("T")

_INSTRUCTIONS = """Recordings of graphics calls (OpenGL, OpenGL ES, EGL, GLX, OpenVG), open for reading.
Begin with `recordings`, then `findings`. `sql` answers most questions: `tables` names tables and columns. Calls have
numbers from 0; `picture` shows what is drawn after a call; `state` what the state is there and which call set it."""
_MOST_ROWS = 500
Number = Annotated[int, Field(ge=0, description="number of a call, from 0")]
Which = Annotated[int, Field(ge=0, description="number of the recording, from 0")]


def serve(files: Sequence[Path]) -> None:
    """Answer a client on standard input and output until it ends. Raises what opening a recording raises."""
    recordings = []
    try:
        for file in files:
            recordings.append(Recording(file))
        server(recordings).run("stdio")
    finally:
        for recording in recordings:
            recording.close()


def server(recordings: Sequence[Recording]) -> MCPServer:
    """Return the server with a tool for each kind of question, and the filter language as a resource."""
    made = MCPServer("drawtap", version=drawtap.__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
    questions = _Questions(recordings)
    for name in _Questions.__dict__:
        if not name.startswith("_"):
            ask = getattr(questions, name)
            made.add_tool(_in_thread(ask), name=name, annotations=ToolAnnotations(read_only_hint=True))

    @made.resource("drawtap://filters", mime_type="text/plain", description="The language of find_calls' filters.")
    def language() -> str:
        return filters.__doc__ or ""

    return made


def _in_thread(ask: Callable[P, T]) -> Callable[P, Any]:
    """Let a question run beside the protocol, with errors in drawtap's words."""

    @functools.wraps(ask)
    async def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await to_thread.run_sync(functools.partial(ask, *args, **kwargs))
        except DrawtapError as error:
            raise ToolError(error.message + (f" ({error.hint})" if error.hint else "")) from None

    return asked


class _Questions:
    """Each public method is a tool: its annotations are the schema, its docstring is what a client reads."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = recordings

    def _of(self, number: int) -> Recording:
        if number >= len(self._recordings):
            raise UsageError(f"there is no recording {number}", hint=f"there are {len(self._recordings)}")
        return self._recordings[number]

    def recordings(self) -> list[Answer]:
        """List the open recordings: file, calls, frames, contexts, threads, and what was not recorded."""
        return [{"recording": n, "file": str(r.path), **r.overview()} for n, r in enumerate(self._recordings)]

    def tables(self, table: str = "", recording: Which = 0) -> Answer:
        """List the tables for `sql`; with a table's name, its columns with types and meanings."""
        database = self._of(recording).trace.database
        if not table:
            return {"tables": database.table_names()}
        ours = declared.by_name.get(table)
        known = {c.name: c for c in ours.columns} if ours else {}
        columns: list[Answer] = [{"name": c.name, "type": c.type} for c in database.columns(table)]
        for column in columns:
            if meant := known.get(str(column["name"])):
                column |= {"meaning": meant.doc, "unit": meant.unit}
        return {"table": table, "rows": ours.doc if ours else "one call each", "columns": columns}

    def sql(self, query: str, recording: Which = 0) -> Answer:
        """Answer a question in DuckDB's SQL, which can only read.

        The answer has at most 500 rows; `more` says whether others are left.

        Each function is a table of its calls: SELECT target, count(*) FROM "glBindTexture" GROUP BY target.
        """
        answer = self._of(recording).sql(query, "")
        rows = answer["rows"]
        assert isinstance(rows, list)
        kept: Answer = {**answer, "rows": rows[:_MOST_ROWS], "more": answer["more"] or len(rows) > _MOST_ROWS}
        from drawtap.output.data import dumps

        plain: Answer = json.loads(dumps(kept))
        return plain

    def find_calls(
        self,
        words: str,
        first: Annotated[int, Field(ge=0)] = 0,
        count: int = 50,
        recording: Which = 0,
    ) -> Answer:
        """Find calls by the words of a filter, such as `glBind*` or `is:draw frame=10` (resource drawtap://filters).

        The answer has the number of matches, the SQL of the filter, and `count` matches from the one at `first` on.
        """
        asked = self._of(recording)
        kept = asked.filter(words, "")
        calls = asked.matches(str(kept["id"]), first, min(count, MOST_CALLS))["calls"]
        return {"matches": kept["count"], "sql": kept["sql"], "calls": _lines(calls)}

    def list_calls(self, first: Number, count: int = 50, recording: Which = 0) -> list[Answer]:
        """List calls in their order, from a number on; at most 512."""
        asked = self._of(recording)
        total = asked.trace.info["calls"]
        return _lines(asked.calls(range(first, min(first + min(count, MOST_CALLS), total))))

    def call(self, number: Number, recording: Which = 0) -> Answer:
        """Return one call with its arguments, the beginning of arrays, its time and its C source."""
        return self._of(recording).call(number)

    def state(self, number: Number, path: str = "*", only_changed: bool = True, recording: Which = 0) -> list[Answer]:
        """Return the state after a call: path, value, and since which call it has that value.

        `path` is a pattern such as *BLEND*. `only_changed` leaves out what is as it was at first.
        """
        rows = self._of(recording).state(number, not only_changed)["rows"]
        assert isinstance(rows, list)
        return [
            {"path": row[0], "value": row[1], "since": row[2]}
            for row in rows
            if fnmatchcase(row[0], path) and (row[4] or not only_changed)
        ]

    def state_difference(self, first: Number, second: Number, recording: Which = 0) -> Answer:
        """Return the state variables that differ between two calls: path, value after the first, after the second."""
        return self._of(recording).difference(first, second)

    def program(self, number: Number, recording: Which = 0) -> Answer:
        """Return the shader program in use after a call: sources, uniforms with values, attributes."""
        return self._of(recording).program(number)

    def picture(self, number: Number, attachment: str = "", recording: Which = 0) -> Image:
        """Show what is drawn after a call. `attachment` is color0, depth, stencil...; empty: the first colour."""
        return Image(data=self._of(recording).pictures.png(number, attachment), format="png")

    def pixel_history(self, number: Number, x: int, y: int, attachment: str = "color0", recording: Which = 0) -> Answer:
        """Say who wrote a pixel in the frame of a call, and which test kept others from it; y counts from below."""
        return self._of(recording).looks.pixel(number, attachment, x, y)

    def findings(self, recording: Which = 0) -> Answer:
        """Run the checklist: what the program does that costs time or is wrong, with the first call of each."""
        return self.sql("SELECT * FROM findings", recording)

    def propose_cut(self, frame: Annotated[int, Field(ge=0)], recording: Which = 0) -> Answer:
        """Say how many calls a frame needs, and which command writes a recording of just these."""
        asked = self._of(recording)
        frames = asked.trace.info["frames"]
        if frame >= frames:
            raise UsageError(f"there is no frame {frame}", hint=f"there are {frames}")
        graph = asked.trace.graph
        kept = int(graph.closure(graph.frame_roots(range(frame, frame + 1))).sum())
        target = asked.path.with_name(f"{asked.path.stem}-{frame}.dtap")
        command = shlex.join(["drawtap", "extract", str(asked.path), "--frames", str(frame), "-o", str(target)])
        return {"calls": kept, "of": asked.trace.info["calls"], "command": command}


def _lines(calls: object) -> list[Answer]:
    assert isinstance(calls, list)
    names = ("call", "frame", "thread", "context", "function", "t_start", "duration", "text")
    return [dict(zip(names, row, strict=False)) for row in calls]
