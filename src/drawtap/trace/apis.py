"""Work that has no form for Vulkan yet: the only list of it, with what does instead.

A recording that draws with Vulkan alone is refused by this work. Work that learns Vulkan loses its line here: its
help, the reference page and the tests follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from drawtap.errors import UnavailableError

if TYPE_CHECKING:
    from drawtap.trace.core import CoreTrace, Row


class Known(Protocol):
    """A recording that is open."""

    core: CoreTrace

    @property
    def info(self) -> Row:
        """The facts that `drawtap info` prints."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Work that does not exist for Vulkan: its name as the subject of a sentence, and a hint at what does instead.

    `never` is the reason where such work cannot exist.
    """

    wanted: str
    hint: str
    never: str = ""

    @property
    def refusal(self) -> str:
        """Return the sentence that refuses it."""
        return f"{self.wanted} for Vulkan does not exist{f': {self.never}' if self.never else ' yet'}"


_CALLS = "-f c writes a program with the calls, -f json, csv and parquet write tables of them"

# Verbs by name; formats of export and panels of the viewer as `verb: part`.
WITHOUT_VULKAN: Mapping[str, Gap] = {
    "export: apitrace": Gap("A trace of apitrace", _CALLS, "apitrace's format has no calls of Vulkan"),
    "state: changes": Gap("The list of changes of state", "drawtap state FILE CALL shows the state after a call"),
    "state: driver": Gap(
        "State of a driver",
        "drawtap state FILE CALL without --from-driver and --on computes it",
        "drivers of Vulkan answer no questions about state",
    ),
    "verify: state": Gap(
        "A comparison with the state of a driver",
        "drawtap verify FILE without --state compares images",
        "drivers of Vulkan answer no questions about state",
    ),
    "synthesize": Gap(
        "A program with the features of a recording",
        "drawtap synthesize --set draws=100 -o FOLDER writes one of OpenGL ES without a recording",
    ),
}


def of_other_side(trace: Known, tables: Iterable[str]) -> str | None:
    """Return a note on those tables that have no rows because of what draws in this recording; None: there are none."""
    from drawtap.tables.recording import declared  # every verb is declared with what stands here

    asked = sorted({*tables} & {*declared.sides})
    if not asked:  # what a recording says of itself takes a moment
        return None
    if "vk" not in trace.info["apis"]:
        mine, others = "OpenGL", "Vulkan"
    elif is_vulkan(trace):
        mine, others = "Vulkan", "OpenGL and OpenVG"
    else:
        return None
    notes = []
    for name in asked:
        side, instead = declared.sides[name]
        if side != mine:
            see = f"; for calls of {mine} see {instead}" if instead else ""
            notes.append(f"{name} has rows for {others} alone{see}")
    return ". ".join(notes) or None


# Flags of functions that draw, show or read; the player goes by the same ones.
_DRAWS = frozenset(("draw", "stateful_draw", "dispatch", "clear", "frame_end", "readback"))


def is_vulkan(trace: Known) -> bool:
    """Return whether all calls that draw are Vulkan's: the program may have looked what OpenGL is there."""
    if "vk" not in trace.info["apis"] or list(trace.info["apis"]) == ["vk"]:
        return "vk" in trace.info["apis"]
    from drawtap.tables.recording import FunctionRow  # every verb is declared with what stands here

    return not any(
        row["calls"] and row["api"] != "vk" and not _DRAWS.isdisjoint(row["flags"].split(","))
        for row in trace.core.table_rows(FunctionRow)
    )


def refuse(trace: Known, work: str) -> None:
    """Raise UnavailableError where Vulkan alone draws and `work` is in WITHOUT_VULKAN."""
    gap = WITHOUT_VULKAN.get(work)
    if gap is not None and is_vulkan(trace):
        raise UnavailableError(gap.refusal, hint=gap.hint)
