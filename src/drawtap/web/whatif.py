"""The recording with changes: calls left out, arguments set; its pictures, and it as a file."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import QueryError, UsageError
from drawtap.formats.editable import parse, value
from drawtap.replay.compare import decode_attachment
from drawtap.replay.pool import SupersededError
from drawtap.replay.warm import Warm
from drawtap.trace.edit import Editor
from drawtap.web.answer import Answer, headed

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_HELP = "drop CALL, or set CALL NAME = VALUE, one a line"
_SOURCES = ("glShaderSource", "glShaderSourceARB")
_LINE = re.compile(r"(drop|set)\s+(\d{1,15})\s*(.*)")


class WhatIf:
    """Writes the changed recording once for each text of changes, and plays it. `close` it at the end."""

    def __init__(self, trace: Trace, *, environment: Mapping[str, str] | None = None) -> None:
        self._trace, self._environment = trace, environment
        self._folder = tempfile.TemporaryDirectory(prefix="drawtap-")
        self._busy = threading.Lock()
        self._newest = 0
        self._text: str | None = None
        self._dropped: list[int] = []
        self._sources: list[int] = []  # calls whose shader's source is set
        self._logs: list[Answer] = []
        self._player: Warm | None = None

    @property
    def _file(self) -> Path:
        return Path(self._folder.name) / "changed.dtap"

    def _write(self, text: str) -> None:
        if text == self._text:
            return
        if self._player is not None:
            self._player.close()
        self._text = None
        editor, dropped = Editor(self._trace), []
        sources: list[int] = []
        for line in filter(None, map(str.strip, text.splitlines())):
            match = _LINE.fullmatch(line)
            if match is None or (match[1] == "set") != bool(match[3].strip()):
                raise UsageError(f"{line[:80]!r} is no change", hint=_HELP)
            seq = int(match[2])
            if seq >= len(self._trace.calls):
                raise UsageError(f"there is no call {seq}", hint=f"there are {len(self._trace.calls):,}")
            if match[1] == "drop":
                dropped.append(seq)
            else:
                if self._trace.calls[seq].name in _SOURCES:
                    sources.append(seq)
                editor.set(seq, **{name: value(word) for name, word in parse(f"f({match[3]})").values.items()})
        editor.drop(sorted(set(dropped)))
        self._file.unlink(missing_ok=True)
        editor.save(self._file)
        self._dropped = sorted(set(dropped))
        self._player = Warm(self._file, environment=self._environment, frame_end=self._trace.frame_end)
        self._sources = sources
        self._logs = self._said()
        self._text = text

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
            found = self._player.content(self._moved(seq), {**wanted, "depth": 1, "points": 0}, file)
            text = str(found["why"]) if found["why"] else file.read_bytes().decode(errors="replace").strip("\0\n ")
            logs.append({"kind": kind, "name": name, "call": seq, "good": found["format"] == 1, "text": text})
        return logs

    def _first(self, question: str) -> int | None:
        try:
            found = self._trace.sql(question).fetchall()[0][0]
        except QueryError:  # it has no such call at all
            return None
        return None if found is None else int(found)

    def _moved(self, seq: int) -> int:
        """Return the number of a call in the changed recording."""
        return max(seq - sum(1 for call in self._dropped if call <= seq), 0)

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
            at = self._moved(seq)
            base = Path(self._folder.name) / "picture"
            files, why = self._player.attachments(at, base)
            image = next((file for file in files if file.name == "picture.png"), None)
            if image is None:
                bad = next((log["text"] for log in self._logs if not log["good"]), None)
                raise UsageError(str(bad or why or "there is no picture to read back here"), hint="choose a draw")
            pixels = decode_attachment(image.read_bytes(), f"the picture after call {seq}")
            for file in files:
                file.unlink()
        return headed(
            {"width": pixels.shape[1], "height": pixels.shape[0], "calls": at, "logs": self._logs}, pixels.tobytes()
        )

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
