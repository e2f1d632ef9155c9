"""The recording with changes: calls left out, arguments set, draws of one pixel; pictures, times, and it as a file."""

from __future__ import annotations

import json
import math
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.analysis.spirv import translated
from drawtap.capture.overhead import interval
from drawtap.errors import QueryError, UnavailableError, UsageError
from drawtap.formats.editable import parse, value
from drawtap.metrics import listing, passes, profile
from drawtap.replay.compare import decode_attachment
from drawtap.replay.place import Place, place_of
from drawtap.replay.pool import SupersededError
from drawtap.replay.warm import Warm
from drawtap.scratch import Scratch
from drawtap.trace.apis import is_vulkan
from drawtap.trace.edit import Editor
from drawtap.trace.trace import open_trace
from drawtap.web import whatif_vulkan
from drawtap.web.answer import Answer, headed

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_HELP = "drop CALL, set CALL NAME = VALUE, pixel CALL, or pixel FIRST:END, one a line"
_METRIC = "cpu:time/process"
_SOFTWARE = ("llvmpipe", "softpipe", "lavapipe", "swiftshader")
_SOURCES = ("glShaderSource", "glShaderSourceARB")
_LINE = re.compile(r"(drop|set|pixel)\s+(\d{1,15})(?::(\d{1,15}))?\s*(.*)")
_DRAWS = re.compile(r"gl(Multi)?Draw(Range)?(Arrays|Elements)\w*")
# With one of these changed, a later draw has another scissor box than the recording says.
_BOXES = re.compile(
    r"gl(Scissor|Enable(?!Vertex|Client)|Disable(?!Vertex|Client)|PushAttrib|PopAttrib"
    r"|CallList)\w*|\w+Make\w*Current\w*"
)
_APART = "^gl(Scissor(Indexed|Array)|(Enable|Disable)(i|Indexed))"  # each viewport has a box of its own


class WhatIf:
    """Writes the changed recording once for each text of changes, and plays it. `close` it at the end."""

    def __init__(self, trace: Trace, *, environment: Mapping[str, str] | None = None) -> None:
        self._trace, self._environment = trace, environment
        self._vulkan = is_vulkan(trace)
        self._folder = Scratch()
        self._busy = threading.Lock()
        self._newest = 0
        self._text: str | None = None
        self._dropped: list[int] = []
        self._inserted: list[int] = []  # for each new call the call that follows, rising
        self._sources: list[int] = []  # calls whose shader's source is set
        self._logs: list[Answer] = []
        self._player: Warm | None = None
        self._plan: passes.Plan | None = None
        self._at: tuple[int, Place] | None = None  # a call of Vulkan, and the place of its picture
        self._timed: tuple[str, int] | None = None  # the changes and the frame whose rounds these are
        self._rounds: list[tuple[float, float]] = []  # ns as it was, and with the changes

    @property
    def _file(self) -> Path:
        return Path(self._folder.name) / "changed.dtap"

    def _write(self, text: str) -> None:
        if text == self._text:
            return
        if self._player is not None:
            self._player.close()
        self._text = None
        editor = Editor(self._trace)
        dropped: set[int] = set()
        changed: set[int] = set()
        limited: list[tuple[int, int]] = []
        for line in filter(None, map(str.strip, text.splitlines())):
            match = _LINE.fullmatch(line)
            if match is None or (match[1] == "set") != bool(match[4].strip()) or (match[3] and match[1] != "pixel"):
                raise UsageError(f"{line[:80]!r} is no change", hint=_HELP)
            seq = int(match[2])
            if seq >= len(self._trace.calls):
                raise UsageError(f"there is no call {seq}", hint=f"there are {len(self._trace.calls):,}")
            if match[1] == "drop":
                dropped.add(seq)
            elif match[1] == "pixel":
                limited.append((seq, int(match[3]) if match[3] else seq + 1))
            else:
                changed.add(seq)
                words = parse(f"f({match[4]})").values
                editor.set(seq, **{name: translated(value(word)) for name, word in words.items()})
        inserted: list[int] = []
        if limited:
            limit = whatif_vulkan.limit if self._vulkan else self._limit
            inserted = limit(editor, limited, dropped, changed)
        editor.drop(sorted(dropped))
        if self._vulkan:
            whatif_vulkan.check(editor)
        self._file.unlink(missing_ok=True)
        editor.save(self._file)
        self._dropped, self._inserted = sorted(dropped), inserted
        self._player = Warm(self._file, environment=self._environment, frame_end=self._trace.frame_end)
        self._at = None
        self._sources = sorted(seq for seq in changed if self._trace.calls[seq].name in _SOURCES)
        self._logs = self._said()
        self._text = text

    def _limit(self, editor: Editor, ranges: list[tuple[int, int]], dropped: set[int], changed: set[int]) -> list[int]:
        """Put calls around draws that limit each to one pixel; return the calls before which they stand, rising.

        The pixel is a corner of the draw's scissor box, or of its viewport. After the draw the box is as it was.
        """
        calls = self._trace.calls
        if (
            other := next((seq for seq in sorted(dropped | changed) if _BOXES.fullmatch(calls[seq].name)), None)
        ) is not None:
            raise UsageError(
                f"with call {other}, {calls[other].name}, changed, the scissor box after a draw is not known",
                hint="leave out that change, or the lines with pixel",
            )
        apart = self._first(f"SELECT min(seq) FROM calls WHERE regexp_matches(name, '{_APART}')")
        if apart is not None:
            raise UsageError(
                f"viewports have scissor boxes of their own here (call {apart}, {calls[apart].name})",
                hint="drop leaves out a draw instead",
            )
        inserted: list[int] = []
        for seq, context, on, x, y in self._limited(ranges, dropped):
            boxes = self._trace.state_index.at(seq, f"contexts[{context}].GL_SCISSOR_BOX")
            if not boxes:
                raise UsageError(f"the scissor box at call {seq} is not known", hint="drop leaves out a draw instead")
            box = dict(zip(("x", "y", "width", "height"), json.loads(boxes[0][1]), strict=True))
            if on and not (box["width"] and box["height"]):
                continue  # no pixel is drawn
            corner = (box["x"], box["y"]) if on else (x, y)
            editor.insert(seq, "glEnable", cap="GL_SCISSOR_TEST")
            editor.insert(seq, "glScissor", x=max(corner[0], 0), y=max(corner[1], 0), width=1, height=1)
            inserted += [seq, seq]
            thread = calls[seq].thread
            after = (call for call in range(seq + 1, len(calls)) if call not in dropped)
            then = next((call for call in after if calls[call].thread == thread), None)
            if then is None:
                continue  # nothing is drawn on the thread after that
            editor.insert(then, "glScissor", **box)
            inserted.append(then)
            if not on:
                editor.insert(then, "glDisable", cap="GL_SCISSOR_TEST")
                inserted.append(then)
        return sorted(inserted)

    def _limited(self, ranges: list[tuple[int, int]], dropped: set[int]) -> list[tuple[int, int, bool, int, int]]:
        """Return the draws in ranges of calls: number, context, scissor test, corner of the viewport."""
        asked = " OR ".join(f"seq >= {first} AND seq < {end}" for first, end in ranges)
        rows = self._trace.sql(
            "SELECT seq, context, scissor_test, viewport_x, viewport_y, function FROM draws "
            f"WHERE kind = 'draw' AND ({asked}) ORDER BY seq"
        ).fetchall()
        for first, end in ranges:
            if not any(first <= row[0] < end for row in rows):
                where = f"call {first} is" if end == first + 1 else f"among calls {first} to {end - 1} is"
                raise UsageError(f"{where} no draw that can be limited to a pixel", hint="choose a draw")
        lists = self._trace.sql(
            f"SELECT seq, name FROM calls WHERE name IN ('glNewList', 'glEndList') AND seq < {rows[-1][0]} ORDER BY seq"
        ).fetchall()
        starts = [seq for seq, _ in lists]
        for seq, *_, function in rows:
            at = bisect_left(starts, seq)
            if not _DRAWS.fullmatch(function) or (at and lists[at - 1][1] == "glNewList"):
                where = "in a display list" if _DRAWS.fullmatch(function) else "which draws no arrays"
                raise UsageError(
                    f"call {seq}, {function}, {where}, cannot be limited to a pixel", hint=f"drop {seq} leaves it out"
                )
        return [row[:5] for row in rows if row[0] not in dropped]

    def _said(self) -> list[Answer]:
        """Return what compilers and linkers say of the sources that are set: object, number, success, text.

        The player asks in order of the calls, and before it goes on to any picture.
        """
        asked: list[tuple[int, str, int]] = []
        for source in self._sources:
            shader = self._trace.calls[source].args["shader"]
            compiled = self._first(f"SELECT min(seq) FROM glCompileShader WHERE seq > {source} AND shader = {shader}")
            if compiled is None:
                continue
            asked.append((compiled, "shader", int(str(shader))))
            programs = f"SELECT program FROM glAttachShader WHERE shader = {shader} AND seq > {source}"
            linked = self._first(
                f"SELECT min(seq) FROM glLinkProgram WHERE seq > {compiled} AND program IN ({programs})"
            )
            if linked is not None:
                asked.append((linked, "program", int(str(self._trace.calls[linked].args["program"]))))
        logs: list[Answer] = []
        file = Path(self._folder.name) / "log"
        for seq, kind, name in sorted(set(asked)):
            assert self._player is not None
            wanted = {"class": kind, "name": name} | dict.fromkeys(("target", "face", "level", "width", "height"), 0)
            content = self._player.content(self._moved(seq), {**wanted, "depth": 1, "points": 0}, file)
            text = str(content["why"]) if content["why"] else file.read_bytes().decode(errors="replace").strip("\0\n ")
            logs.append({"kind": kind, "name": name, "call": seq, "good": content["format"] == 1, "text": text})
        return logs

    def _first(self, question: str) -> int | None:
        try:
            seq = self._trace.sql(question).fetchall()[0][0]
        except QueryError:  # it has no such call at all
            return None
        return None if seq is None else int(seq)

    def _moved(self, seq: int) -> int:
        """Return the number of a call in the changed recording."""
        return max(seq - bisect_right(self._dropped, seq) + bisect_right(self._inserted, seq), 0)

    def picture(self, seq: int, text: str) -> bytes:
        """Return the colour that is drawn to after a call of the changed recording: a JSON head, then RGBA.

        `seq` is the call's number in the recording as it was. Raises UsageError for a change that makes no sense,
        SupersededError where a newer request came.
        """
        self._newest = ticket = self._newest + 1
        with self._busy:
            if ticket != self._newest:
                raise SupersededError("a newer question came")
            self._write(text)
            assert self._player is not None
            at = self._place(seq)
            base = Path(self._folder.name) / "picture"
            files, why = self._player.attachments(at, base)
            image = next((file for file in files if file.name == "picture.png"), None)
            if image is None:
                bad = next((log["text"] for log in self._logs if not log["good"]), None)
                raise UsageError(str(bad or why or "there is no picture to read back here"), hint="choose a draw")
            pixels = decode_attachment(image.read_bytes(), f"the picture after call {seq}")
            for file in files:
                file.unlink()
        head = {"width": pixels.shape[1], "height": pixels.shape[0], "calls": at.call, "draw": at.draw}
        return headed({**head, "logs": self._logs}, pixels.tobytes())

    def _place(self, seq: int) -> Place:
        """Return the place of a call's picture in the changed recording."""
        if not self._vulkan:
            return Place(self._moved(seq))
        if self._at is None or self._at[0] != seq:
            with open_trace(self._file, frame_end=self._trace.frame_end) as changed:
                place = place_of(changed, min(self._moved(seq), len(changed.calls) - 1))
            if place.draw is None and place_of(self._trace, seq).draw is not None:
                said = f"without these calls nothing is drawn up to call {seq} in its command buffer"
                raise UsageError(said, hint="choose a later call")
            self._at = seq, place
        return self._at[1]

    def times(self, seq: int, text: str, done: int) -> Answer:
        """Play a frame as it was and with the changes once more, and return its processor times.

        The frame is that of call `seq`. `done` rounds were made already; 0 begins anew. The two take turns in who plays
        first, and the first round is left out: it loads and compiles. Times are ns of all threads of the player, means
        with intervals of 95 % (None before three rounds), and the ratio by rounds. Raises what playing raises.
        """
        with self._busy:
            self._write(text)
            before = self._trace, self._trace.calls[place_of(self._trace, seq).call].frame
            key = text, before[1]
            if not done or self._timed != key:
                self._timed, self._rounds = key, []
            with open_trace(self._file, frame_end=self._trace.frame_end) as changed:
                moved = place_of(changed, min(self._moved(seq), len(changed.calls) - 1)).call
                after = changed, changed.calls[moved].frame
                turned = len(self._rounds) % 2 == 1
                first, second = (self._time(*side) for side in ((after, before) if turned else (before, after)))
            self._rounds.append((second[0], first[0]) if turned else (first[0], second[0]))
            software = any(name in first[1].lower() for name in _SOFTWARE)
            return {"frame": before[1], "engine": first[1], "software": software, **_summary(self._rounds)}

    def _time(self, trace: Trace, frame: int) -> tuple[float, str]:
        """Play a recording; return the processor time of a frame, its draws one after the other, and the engine."""
        if self._plan is None:
            known = [m for m in listing.metrics(trace.path, environment=self._environment) if m.id == _METRIC]
            per = ["frame", "draw"]
            self._plan = passes.plan(trace.path, known, per, environment=self._environment, frame_end=trace.frame_end)
        wanted = profile.ProfileOptions(frames=range(frame, frame + 1), isolate=True, images=False)
        readings, engine = profile.readings(trace, self._plan, wanted, environment=self._environment)
        value = next((r.value for r in readings if r.per == "frame" and r.number == frame), None)
        if not value:
            raise UnavailableError(
                f"the player measured no time of frame {frame}", hint="choose a call of a whole frame"
            )
        return value, engine

    def file(self, text: str) -> bytes:
        """Return the changed recording as a file's content."""
        with self._busy:
            self._write(text)
            return self._file.read_bytes()

    def close(self) -> None:
        """End the player and forget the file."""
        self._newest += 1
        if self._player is not None:
            self._player.close()
        self._folder.cleanup()


def _summary(rounds: list[tuple[float, float]]) -> Answer:
    """Return means, intervals and ratio of rounds without the first."""
    kept = rounds[1:]
    if len(kept) < 2:
        return {"done": len(rounds), "rounds": len(kept), "before": None, "after": None, "ratio": None}
    sides = [interval([one[side] for one in kept]) for side in (0, 1)]
    logs = interval([math.log(after / before) for before, after in kept])
    before, after = ({"value": one.value, "least": max(one.least, 0.0), "most": one.most} for one in sides)
    ratio = {"value": math.exp(logs.value), "least": math.exp(logs.least), "most": math.exp(logs.most)}
    return {"done": len(rounds), "rounds": len(kept), "before": before, "after": after, "ratio": ratio}
