"""`drawtap state`: the state of OpenGL or Vulkan at a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import Rows, Tree
from drawtap.trace import apis
from drawtap.trace.ranges import CALL_HELP, call_of, calls_of

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_ABOUT_DRIVER = ("limits.", "driver.")
_ABSOLUTE = (
    "contexts", "shares", "surfaces", "threads", "configs", "displays", "made_contexts", "vg_contexts", "vg_shares"
)  # fmt: skip


@command(
    section="ask",
    examples=(
        "drawtap state game.dtap 1234",
        "drawtap state game.dtap '#10' share.programs",
        "drawtap state game.dtap '#10' --changes",
        "drawtap state game.dtap 1234 limits --on softpipe",
        "drawtap state game.dtap 1234 draw               # of Vulkan: what the command runs with",
        "drawtap state game.dtap 1234 VkDescriptorSet    # of Vulkan: what the sets hold then",
    ),
)
def state(
    trace: Trace,
    call: Annotated[str, Opt(CALL_HELP, metavar="CALL")],
    path: Annotated[str, Opt("what the wanted paths begin with", metavar="PATH")] = "",
    *,
    changes: Annotated[bool, Opt("List the changes of the call, or of all calls of a frame or a range.")] = False,
    from_driver: Annotated[bool, Opt("Play up to the call and ask the driver instead.")] = False,
    on: Annotated[str, Opt("Ask this engine's driver; drawtap replay --engines lists them.", metavar="ENGINE")] = "",
) -> Tree | Rows:
    """Show the state of OpenGL or Vulkan after a call, from the calls.

    Paths are those of docs/state-paths.md: `context` is the context that is current then, `share` what it shares with
    others; objects have the names that the program knew them by. `contexts[2]`, `shares[1]` and `surfaces` are there
    too. With --from-driver or --on the recording is played up to there instead and the driver asked with glGet* and
    the like: it also tells `limits` and `driver`.

    Vulkan has `draw`: what a command runs with, of a call that submits its last draw. And it has the objects that
    exist: `VkImage[0x55d0c8]` with create info and memory, descriptor sets with their content, command buffers with
    what they hold. A@S is command A as call S submits it.
    """
    seq = call_of(trace, call.partition("@")[0] if apis.is_vulkan(trace) else call)
    if apis.is_vulkan(trace) and not (changes or from_driver or on):
        return Tree(_shown(_of_vulkan(trace, call, seq, path), path, call))
    apis.refuse(trace, "state: changes" if changes and not (from_driver or on) else "state: driver")
    if changes:
        return _changes(trace, call, seq, path)
    asks = bool(from_driver or on or path.startswith(("limits", "driver")))
    values = _asked(trace, seq, path, on or "system") if asks else _computed(trace, seq, path)
    return Tree(_shown(values, path, call))


def _of_vulkan(trace: Trace, call: str, seq: int, path: str) -> list[tuple[str, object]]:
    from drawtap.trace.vulkan_draw import DrawState, drawn_at

    submit = call.partition("@")[2]
    values: list[tuple[str, object]] = []
    drawn = (
        drawn_at(trace, seq, int(submit) if submit.isdigit() else None)
        if path.startswith("draw"[: len(path)])
        else None
    )
    if submit and (drawn is None or drawn[1] != int(submit)):
        raise UsageError(f"call {submit} does not submit call {seq}", hint="executed has what each call submits")
    if drawn is not None:
        values = [(f"draw.{name}", value) for name, value, _ in DrawState(trace, *drawn).values()]
        values = [row for row in values if row[0].startswith(path)]
    if path.startswith("draw"):
        return values
    from drawtap.trace.vulkan_state import vulkan_state

    return values + vulkan_state(trace, seq, path)


def _shown(values: list[tuple[str, object]], path: str, call: str) -> list[tuple[str, object]]:
    if path and not values:
        raise UsageError(f"no path begins with {path!r} at call {call}", hint="without PATH all are shown")
    return values


def _computed(trace: Trace, seq: int, path: str) -> list[tuple[str, object]]:
    from drawtap.trace.moment import computed_state

    if path.startswith(_ABSOLUTE):
        values = trace.state_index.at(seq, path)
    else:
        values = list(computed_state(trace, seq, path).items())
        if not values and not path:
            raise UsageError(f"no context is current at call {seq}", hint="drawtap state TRACE CALL contexts")
    return [(name, json.loads(value)) for name, value in values]


def _asked(trace: Trace, seq: int, path: str, engine_name: str) -> list[tuple[str, object]]:
    from drawtap.replay import engine, warm

    asked = warm.shared(Path(trace.path), environment=engine.environment_of(engine_name), frame_end=trace.frame_end)
    return [row for row in asked.state(seq, path) if path or not row[0].startswith(_ABOUT_DRIVER)]


def _changes(trace: Trace, call: str, seq: int, path: str) -> Rows:
    first = calls_of(trace, call).start
    root = path
    if path.startswith(("context", "share")) and not path.startswith(_ABSOLUTE):
        from drawtap.trace.moment import current

        number, group = current(trace, seq) or (0, 0)
        kind, where = (
            ("context", f"contexts[{number}]") if path.startswith("context") else ("share", f"shares[{group}]")
        )
        root = where + path.removeprefix(kind)
    rows = [
        (change.seq, change.path, json.loads(change.value), json.loads(change.before))
        for change in trace.state_index.changes(first, seq + 1, root)
    ]
    return Rows(("seq", "path", "value", "before"), rows)
