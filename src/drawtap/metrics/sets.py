"""Sets of metrics that have a name: four that come along, and those of TOML files.

[overview]
metrics = ["gl:time/elapsed", "cpu:time/*"]
per = ["frame"]
repeat = 3
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from drawtap.errors import InputError, UsageError, did_you_mean, read_toml


@dataclass(frozen=True, slots=True)
class Set:
    """Ids and patterns of metrics, with the defaults of `per` and `repeat`.

    `vulkan` are those for recordings of Vulkan, where others are wanted of these.
    """

    name: str
    metrics: tuple[str, ...]
    per: tuple[str, ...] = ("frame",)
    repeat: int = 1
    vulkan: tuple[str, ...] = ()

    def of(self, *, vulkan: bool) -> Set:
        """Return the set for recordings of Vulkan, or for others."""
        return replace(self, metrics=self.vulkan) if vulkan and self.vulkan else self


BUILT_IN = (
    Set("overview", ("gl:time/elapsed", "gl:primitives/primitives_generated", "gl:samples/*", "cpu:time/wall",
                     "cpu:time/thread", "cpu:time/process"),
        vulkan=("vk:time/elapsed", "vk:samples/*", "cpu:time/wall", "cpu:time/thread", "cpu:time/process")),
    Set("pipeline", ("gl:primitives/*", "gl:samples/*", "gl:pipeline/*"), ("frame", "draw"),
        vulkan=("vk:samples/*", "vk:pipeline/*")),
    Set("content", ("geometry:*", "fragments:*"), ("frame", "draw"), vulkan=("fragments:*",)),
    Set("cpu", ("cpu:*",)),
)  # fmt: skip


def read(name: str | None, file: Path | None) -> Set:
    """Return a set by its name, of `file` first; None: the first of the file, else `overview`."""
    known = {entry.name: entry for entry in BUILT_IN}
    if file is not None:
        listed = _file(file)
        known |= listed
        if name is None:
            return next(iter(listed.values()))
    chosen = known.get(name or "overview")
    if chosen is None:
        hint = did_you_mean(str(name), known) or f"there are: {', '.join(known)}"
        raise UsageError(f"there is no set of metrics {name!r}", hint=hint)
    return chosen


def _file(file: Path) -> dict[str, Set]:
    data = read_toml(file)
    sets = {name: _set(file, name, entry) for name, entry in data.items()}
    if not sets:
        raise InputError(f"{file} has no set", hint='[name]\nmetrics = ["gl:time/*"]')
    return sets


def _set(file: Path, name: str, entry: object) -> Set:
    hint = 'metrics = ["gl:time/*"], per = ["frame", "draw"], repeat = 3'
    if not isinstance(entry, Mapping):
        raise InputError(f"{file}: {name} is no table", hint=hint)
    unknown = set(entry) - {"metrics", "per", "repeat"}
    if unknown:
        raise InputError(f"{file}: [{name}] has unknown words: {', '.join(sorted(unknown))}", hint=hint)
    metrics, per, repeat = entry.get("metrics"), entry.get("per", ["frame"]), entry.get("repeat", 1)
    for words in (metrics, per):
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise InputError(f"{file}: [{name}] needs lists of words", hint=hint)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1:
        raise InputError(f"{file}: [{name}] has repeat = {repeat!r}", hint=hint)
    assert isinstance(metrics, list)
    return Set(name, tuple(metrics), tuple(per), repeat)
