"""`drawtap apps`: the programs that the manager looks after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from drawtap.commands import Opt, command
from drawtap.view.result import Rows

COLUMNS = ("pid", "program", "surface", "size", "class", "fps", "p50", "p99", "limit", "why", "alarms")
KINDS: Mapping[str, str] = {"p50": "ns", "p99": "ns"}


@command(
    section="live",
    examples=("drawtap apps", "drawtap apps 'glmark*'", "drawtap apps --json | jq '.[] | select(.fps < 30)'"),
)
def apps(program: Annotated[str, Opt("a process number, or a name with * and ?", metavar="PROGRAM")] = "*") -> Rows:
    """List the programs under the manager, one row a surface: rate, frame times, class, limit and why it has one.

    Rates and percentiles are those of the last second. A program without a surface has shown none for ten seconds, or
    never: one that computes, or draws for itself, has "no frames". What is "observed only" was not started under
    drawtap, and can be neither limited nor recorded.
    """
    from drawtap.live.client import Client

    with Client() as client:
        answer = client.ask("list")
    return Rows(COLUMNS, rows_of(answer["programs"], program), KINDS, note=_note(answer))


def rows_of(programs: list[dict[str, Any]], which: str) -> list[tuple[object, ...]]:
    """Return the rows of those programs that `which` means."""
    from fnmatch import fnmatchcase

    chosen = [p for p in programs if str(p["pid"]) == which or fnmatchcase(p["name"], which)]
    return [row for p in chosen for row in _rows(p)]


def _rows(program: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    alarms = ", ".join(a["rule"] for a in program["alarms"]) or None
    head = (program["pid"], program["name"])
    for surface in program["surfaces"]:
        times = surface["frame_ms"] or {}
        size = f"{surface['width']}x{surface['height']}" if surface["width"] else None
        ns = [round(times[q] * 1e6) if q in times else None for q in ("p50", "p99")]
        yield (
            *head,
            surface["number"],
            size,
            program["class"],
            round(surface["fps"], 1),
            *ns,
            *_held(program, surface),
            alarms,
        )
    if not program["surfaces"]:
        yield (*head, None, None, program["class"], 0.0, None, None, *_held(program, None), alarms)


def _held(program: dict[str, Any], surface: dict[str, Any] | None) -> tuple[float | None, str | None]:
    """Return the limit of a program or surface, and why it has it."""
    from drawtap.live.protocol import limit_of

    limit = limit_of(program, surface)
    return (limit["fps"], f"{limit['origin']}: {limit['reason']}") if limit else (None, _why(program))


def _why(program: dict[str, Any]) -> str | None:
    if program.get("free"):
        return f"user: free, {program['free']}"
    if program.get("observed"):
        return "observed only"
    if not program["surfaces"]:
        return "no frames for 10 s" if program.get("frames") else "no frames"
    return None


def _note(answer: Mapping[str, Any]) -> str:
    about = answer["manager"]
    policies = ", ".join(about["policies"]) or "none"
    wrong = f"; the configuration is refused: {about['config_error']}" if about["config_error"] else ""
    return f"manager {about['pid']}, policies: {policies}{wrong}"
