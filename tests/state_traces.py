"""Recordings for tests of the state machine: every function of OpenGL with its real signature, one context."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from drawtap.instrument.generate import functions_of
from drawtap.spec.model import Command
from drawtap.spec.registry import load_api
from drawtap.spec.signature import signature_text
from drawtap.trace.moment import computed_state
from drawtap.trace.trace import Trace, open_trace
from writer import NULL, PENDING, Data, Thread, Writer

DISPLAY, SURFACE, CONTEXT = 0x10, 0x20, 0x30


OPENVG = 3


@cache
def signatures(family: str = "gl") -> str:
    functions = functions_of((family, "egl"))
    apis = [load_api(name) for name in (family, "egl")]
    return signature_text([f.command for f in functions], apis, {f.name: f.id for f in functions})


@cache
def enums(family: str = "gl") -> dict[str, int]:
    return dict(load_api(family).enums)


@dataclass
class Recording:
    """Calls of one thread in one context of 320 x 240; `gl` writes one, enumerants may be given by name."""

    api: int = 1
    writer: Writer = field(init=False)
    thread: Thread = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.writer = Writer(signatures(self.family))
        self.thread = self.writer.thread(context=1)
        self.current(1, 1)

    @property
    def family(self) -> str:
        return "vg" if self.api == OPENVG else "gl"

    def current(self, context: int, share: int, *, thread: Thread | None = None) -> None:
        to = thread or self.thread
        handle = CONTEXT + context
        to.call("eglMakeCurrent", dpy=DISPLAY, draw=SURFACE, read=SURFACE, ctx=handle, result=1)
        to.tap(
            "dtapContext",
            handle=handle, draw=SURFACE, read=SURFACE, context=context, share_group=share, api=self.api,
        )  # fmt: skip
        size = b"width=320;height=240"
        to.tap("dtapNative", handle=SURFACE, kind=Data(b"surface"), text=Data(size))
        self.calls += 1

    def gl(self, function: str, /, **values: object) -> int:
        """Record a call and return its number."""
        known = enums(self.family)
        plain = {k: known[v] if isinstance(v, str) else v for k, v in values.items()}
        self.thread.call(function, duration=5, **plain)
        self.calls += 1
        return self.calls - 1

    def write(self, path: Path) -> Path:
        return self.writer.write(path)


def names(*values: int) -> Data:
    return Data(struct.pack(f"<{len(values)}I", *values))


# ---- hostile ones ------------------------------------------------------------------------------------------------

_EXTREMES = (0, 1, 2, 3, 4, 5, 7, 16, 64, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


class Hostile:
    """Random calls with arguments that are right, almost right, or absurd; the same for the same seed."""

    def __init__(self, seed: int, family: str = "gl") -> None:
        self._random = random.Random(seed)
        self._family = family
        self._api = load_api(family)
        everything = [c for c in self._api.commands.values() if c.effects]
        self._commands = self._random.sample(everything, len(everything))

    def trace(self, path: Path, count: int) -> Path:
        recording = Recording(api=self._random.choice((1, 2)) if self._family == "gl" else OPENVG)
        known = recording.writer.functions
        for i in range(count):
            command = self._commands[i % len(self._commands)] if i % 3 else self._random.choice(self._commands)
            if command.name not in known:
                continue
            arrays = {f.name for f in known[command.name].fields if f.data >= 0}
            recording.thread.call(command.name, duration=5, **self._arguments(command, arrays))
            if self._random.random() < 0.01:
                recording.current(self._random.randrange(0, 4), self._random.randrange(1, 3))
            if self._random.random() < 0.02:
                self._map_write(recording)
        return recording.write(path)

    def _map_write(self, recording: Recording) -> None:
        recording.thread.tap(
            "dtapMapWrite", offset=self._number(), data=self._array(), target=0x8892, buffer=self._number()
        )

    def _arguments(self, command: Command, arrays: set[str]) -> dict[str, object]:
        values: dict[str, object] = {}
        for p in command.params:
            if p.name in arrays:
                values[p.name] = self._array()
            elif p.type.indirection:
                values[p.name] = self._random.choice((0, 16, 1 << 47))
            elif p.type.scalar in ("f32", "f64"):
                choices = (0.0, 1.0, -1.0, 0.5, 1e30, float("nan"), float("inf"))
                values[p.name] = self._random.choice(choices)
            elif p.group and p.group in self._api.groups and self._random.random() < 0.9:
                values[p.name] = self._random.choice(list(self._api.groups[p.group].values.values())) & 0xFFFFFFFF
            else:
                values[p.name] = self._number()
        if command.returns.scalar != "void" or command.returns.indirection:
            values["result"] = self._number()
        return values

    def _number(self) -> int:
        if self._random.random() < 0.75:
            return self._random.randrange(0, 6)
        return self._random.choice(_EXTREMES)

    def _array(self) -> Data:
        kind = self._random.random()
        if kind < 0.1:
            return NULL
        if kind < 0.15:
            return PENDING
        if kind < 0.3:
            return Data(kind=3, pointer=self._random.choice((0, 16, 1 << 47)))
        words = self._random.choice((0, 1, 2, 3, 4, 5, 16, 17, 64))
        content = b"".join(struct.pack("<I", self._number()) for _ in range(words))
        if kind < 0.4:
            content = content[: self._random.randrange(0, len(content) + 1)]
        return Data(content, kind=2 if kind > 0.95 and content else 1)


def opened(recording: Recording, tmp_path: Path) -> Trace:
    """Write a recording and open it."""
    return open_trace(recording.write(tmp_path / "t.dtap"))


def value(trace: Trace, seq: int, path: str) -> object:
    """Return what the state has at a path after a call; None: nothing is there."""
    found = computed_state(trace, seq)
    return json.loads(found[path]) if path in found else None
