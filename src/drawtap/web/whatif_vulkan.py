"""Changes of a recording of Vulkan: what must stay valid, and draws of one pixel by their scissor boxes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.trace.vulkan_draw import DrawState

if TYPE_CHECKING:
    from drawtap.trace.edit import Editor

_SCISSORS = ("vkCmdSetScissor", "vkCmdSetScissorWithCount", "vkCmdSetScissorWithCountEXT")
_DROP = "drop leaves out a draw instead"


def check(editor: Editor) -> None:
    """Raise UsageError where a call lacks something without the others: a driver may not survive it."""
    problems = editor.problems()
    if problems:
        more = f", and {len(problems) - 1} more calls lack something" if len(problems) > 1 else ""
        raise UsageError(f"{problems[0]}{more}", hint=f"drop {problems[0].seq} leaves out this call too")


def limit(editor: Editor, ranges: list[tuple[int, int]], dropped: set[int], changed: set[int]) -> list[int]:
    """Put calls around draws that limit each to one pixel; return the calls before which they stand, rising.

    The pixel is the corner of the draw's scissor box, which must be dynamic state. After the draw the box is as it was.
    """
    trace = editor.trace
    other = next((seq for seq in sorted(dropped | changed) if trace.calls[seq].name in _SCISSORS), None)
    if other is not None:
        raise UsageError(
            f"with call {other}, {trace.calls[other].name}, changed, the scissor box after a draw is not known",
            hint="leave out that change, or the lines with pixel",
        )
    asked = " OR ".join(f"seq >= {first} AND seq < {end}" for first, end in ranges)
    rows = trace.sql(f"SELECT DISTINCT seq FROM executed WHERE kind = 'draw' AND ({asked}) ORDER BY seq").fetchall()
    draws = [int(seq) for (seq,) in rows]
    for first, end in ranges:
        if not any(first <= seq < end for seq in draws):
            where = f"call {first} is" if end == first + 1 else f"among calls {first} to {end - 1} is"
            raise UsageError(f"{where} no draw that runs", hint="choose a draw")
    inserted: list[int] = []
    for seq in draws:
        if seq not in dropped:
            inserted += _limited(editor, seq, dropped)
    return sorted(inserted)


def _limited(editor: Editor, seq: int, dropped: set[int]) -> list[int]:
    trace = editor.trace
    drawn = DrawState(trace, seq, None)
    given = [(at, name) for at, name in drawn.given() if name in _SCISSORS]
    if not given or not _is_dynamic(drawn):
        raise UsageError(f"the scissor box of call {seq} stands in its pipeline", hint=_DROP)
    at, name = given[-1]
    args = trace.calls[at].args
    boxes = args["pScissors"]
    if len(given) > 1 or not isinstance(boxes, list) or args.get("firstScissor"):
        raise UsageError(f"the scissor boxes of call {seq} are set one by one", hint=_DROP)
    fixed = {"commandBuffer": drawn.buffer, "scissorCount": len(boxes)}
    fixed |= {"firstScissor": 0} if "firstScissor" in args else {}
    corners = [(box["offset"]["x"], box["offset"]["y"]) for box in boxes]
    if not all(box["extent"]["width"] and box["extent"]["height"] for box in boxes):
        return []  # no pixel is drawn
    editor.insert(seq, name, **fixed, pScissors=_boxes([(*corner, 1, 1) for corner in corners]))
    following = (call for call in range(seq + 1, len(trace.calls)) if call not in dropped)
    thread = trace.calls[seq].thread
    then = next((call for call in following if trace.calls[call].thread == thread), None)
    if then is None:
        return [seq]
    whole = [(*corner, box["extent"]["width"], box["extent"]["height"])
             for corner, box in zip(corners, boxes, strict=True)]  # fmt: skip
    editor.insert(then, name, **fixed, pScissors=_boxes(whole))
    return [seq, then]


def _is_dynamic(drawn: DrawState) -> bool:
    pipeline = drawn.pipeline()
    if pipeline is None or pipeline[1] is None:
        return pipeline is None  # shaders alone have no other state
    state = pipeline[1].info.get("pDynamicState")
    listed = state.get("pDynamicStates") if isinstance(state, dict) else None
    return any(str(each).startswith("VK_DYNAMIC_STATE_SCISSOR") for each in listed or [])


def _boxes(boxes: list[tuple[int, int, int, int]]) -> bytes:
    return struct.pack("<Q", len(boxes)) + b"".join(struct.pack("<iiII", *box) for box in boxes)
