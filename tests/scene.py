"""Write small traces of real API calls by calling them: `Scene().glEnable("GL_BLEND").frame()`.

Arguments are as in C, by position or by name. Enumerants are names (or numbers), arrays are bytes (long ones become
blobs), strings are `str`, pointers without content are None or an offset. `result` and `duration` are keywords.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from drawtap.spec.model import Api, Command
from drawtap.spec.registry import load_api
from drawtap.spec.signature import is_captured, signature_text
from writer import NULL, Data, Thread, Writer, strings, text

_INLINE = 256


@cache
def _apis() -> tuple[Api, ...]:
    return tuple(load_api(name) for name in ("gl", "egl", "glx", "vg"))


@cache
def _command(name: str) -> Command:
    for api in _apis():
        if name in api.commands:
            return api.commands[name]
    raise KeyError(name)


@cache
def _number(name: str) -> int:
    total = 0
    for word in name.split("|"):
        total |= next(api.enums[word.strip()] for api in _apis() if word.strip() in api.enums)
    return total


@dataclass
class _Step:
    name: str
    thread: int
    values: dict[str, object]
    start: int
    duration: int
    tap: bool = False


@dataclass
class Scene:
    """A program's calls. Every call takes a microsecond; `wait` lets time pass between calls."""

    api: int = 2  # DTAP_API_GLES; 1 is GL, 3 OpenVG
    clock: int = 1_000_000
    thread: int = 0
    steps: list[_Step] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., Scene]:
        if not name.startswith(("gl", "egl", "vg")):
            raise AttributeError(name)

        def call(*positional: object, result: object = 0, duration: int = 1000, **named: object) -> Scene:
            command = _command(name)
            given = dict(zip((p.name for p in command.params), positional, strict=False)) | named
            values = {p.name: _value(given.get(p.name, 0), pointer=is_captured(p.type, p.data)) for p in command.params}
            if command.returns.base != "void" or command.returns.indirection:
                values["result"] = _value(result, pointer=is_captured(command.returns, command.returns_data))
            self._add(name, values, duration)
            return self

        return call

    def _add(self, name: str, values: dict[str, object], duration: int = 0, *, tap: bool = False) -> None:
        self.steps.append(_Step(name, self.thread, values, self.clock, duration, tap))
        self.clock += duration

    def wait(self, ns: int) -> Scene:
        """Let time pass outside the API."""
        self.clock += ns
        return self

    def frame(self, surface: int = 0x20) -> Scene:
        """End a frame."""
        return self.eglSwapBuffers(0x10, surface, result=1)

    def frames(self, count: int, body: Callable[[Scene, int], object], *, ns: int = 16_000_000) -> Scene:
        """Draw frames that take `ns` each: `body(scene, number)`, then a swap that takes the rest of the time."""
        for number in range(count):
            start = self.clock
            body(self, number)
            self.eglSwapBuffers(0x10, 0x20, result=1, duration=max(1000, ns - (self.clock - start)))
        return self

    def memory(self, content: bytes) -> Scene:
        """Say that the next call reads this memory of the program."""
        self._add("dtapMemory", {"address": Data(content, kind=1 if len(content) <= _INLINE else 2)}, tap=True)
        return self

    def mapped(self, buffer: int, offset: int, content: bytes) -> Scene:
        """Say that the program wrote this through a mapping before the next call."""
        self._add(
            "dtapMapWrite", {"offset": offset, "data": Data(content), "target": 0x8893, "buffer": buffer}, tap=True
        )
        return self

    def context(self, number: int) -> Scene:
        """Make another context current; all are of one share group."""
        values = {"handle": 0x2F + number, "context": number, "share_group": 1, "api": self.api}
        self._add("dtapContext", values, tap=True)
        return self

    def native(self, handle: int, kind: str, what: str) -> Scene:
        """Say something of a native object."""
        self._add("dtapNative", {"handle": handle, "kind": text(kind), "text": text(what)}, tap=True)
        return self

    def write(self, path: Path) -> Path:
        """Write the trace."""
        names = list(dict.fromkeys(s.name for s in self.steps if not s.tap))
        commands = [_command(name) for name in names]
        w = Writer(signature_text(commands, _apis(), {name: i + 1 for i, name in enumerate(names)}))
        w.uuid = hashlib.md5(repr((self.api, self.steps)).encode()).digest()  # caches know traces by it
        threads: dict[int, Thread] = {}
        for step in self.steps:
            thread = threads.get(step.thread)
            if thread is None:
                thread = threads[step.thread] = w.thread(context=1)
                thread.tap("dtapContext", handle=0x30, context=1, share_group=1, api=self.api)
            if step.tap:
                thread.tap(step.name, **step.values)
            else:
                thread.call(step.name, start=step.start, duration=step.duration, **step.values)
        return w.write(path)


def _value(value: object, *, pointer: bool) -> object:
    if pointer:
        return _pointer(value)
    if value is None:
        return 0
    return _number(value) if isinstance(value, str) else value


def _pointer(value: object) -> Data:
    if isinstance(value, Data):
        return value
    if value is None or value == 0:
        return NULL
    if isinstance(value, int):
        return Data(kind=3, pointer=value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list | tuple):
        return strings(*value)
    assert isinstance(value, bytes)
    return Data(value, kind=1 if len(value) <= _INLINE else 2)
