"""State and pipelines of Vulkan for the page: in the form of those of OpenGL, with stages of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from drawtap.analysis.spirv import modules
from drawtap.errors import UsageError
from drawtap.scratch import Scratch
from drawtap.trace.vulkan_draw import DrawState, drawn_at
from drawtap.trace.vulkan_state import vulkan_state

if TYPE_CHECKING:
    from drawtap.analysis.held import HeldContent
    from drawtap.replay.pool import Pool
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace
    from drawtap.web.answer import Answer

Lent: TypeAlias = "Callable[[], AbstractContextManager[Trace]]"  # a trace whose database nobody else asks

_SHADERS = r"sets|push_constants|pipeline\.info\.(pStages|stage\b|layout|pTessellationState)|dynamic\.(Shaders|Patch)"
_STAGES = (
    (
        "input", "Vertex input",
        r"vertex_buffers|index_buffer|pipeline\.info\.(pVertexInput|pInputAssembly)|dynamic\.(VertexInput|Primitive)",
    ),
    ("shaders", "Shaders and sets", _SHADERS),
    (
        "raster", "Rasteriser",
        r"pipeline\.info\.(pViewport|pRasterization|pMultisample)|dynamic\.(Viewport|Scissor|Line|Cull|Front|Polygon|"
        r"DepthBias|DepthClamp|DepthClip|Rasteriz|Sample|Alpha|Discard|Fragment)",
    ),
    ("tests", "Tests", r"pipeline\.info\.pDepthStencil|dynamic\.(Depth|Stencil)"),
    ("blend", "Blending", r"pipeline\.info\.pColorBlend|dynamic\.(Blend|Color|LogicOp)"),
    ("target", "Attachments", r"pass"),
)  # fmt: skip


def values_at(trace: Trace, seq: int) -> dict[str, str]:
    """Return all state after a call: path to value as JSON, what its command runs with first."""
    return {path: value for path, value, _ in _drawn(trace, seq)} | {
        path: json.dumps(value) for path, value in vulkan_state(trace, seq)
    }


def state(lent: Lent, seq: int, everything: bool) -> Answer:
    """Return the state after a call, as `Recording.state` does.

    Those that differ are what the command runs with, the objects that the call made, and its command buffer.
    """
    with lent() as trace:
        return _state(trace, seq, everything)


def _state(trace: Trace, seq: int, everything: bool) -> Answer:
    rows: list[list[object]] = []
    drawn = _drawn(trace, seq)
    rules = [(key, re.compile(rf"draw\.({pattern})")) for key, _, pattern in _STAGES]
    for path, value, since in drawn:
        rows.append([path, value, since, next((key for key, rule in rules if rule.match(path)), None), True])
    objects = vulkan_state(trace, seq, own=not everything)
    made = {path.rpartition(".")[0]: value for path, value in objects if path.endswith("].created_seq")}
    buffer = trace.calls[seq].args.get("commandBuffer")
    own = f"VkCommandBuffer[{buffer:#x}" if isinstance(buffer, int) else "none"
    for path, facts in objects:
        root = path[: path.index("]") + 1]
        differs = made.get(root) == seq or root.startswith(own)
        if everything or differs:
            rows.append([path, json.dumps(facts), made.get(root), None, differs])
    named = [[key, name] for key, name, _ in _STAGES]
    counted = len(drawn) + len(objects)
    return {"seq": seq, "rows": rows, "variables": counted, "stages": named, "always": [], "incomplete": []}


def _drawn(trace: Trace, seq: int) -> list[tuple[str, str, int | None]]:
    place = drawn_at(trace, seq)
    if place is None:
        return []
    return [(f"draw.{path}", json.dumps(value), since) for path, value, since in DrawState(trace, *place).values()]


def program(lent: Lent, seq: int) -> Answer:
    """Return the pipeline that a command runs with, as `Recording.program` does.

    `uniforms` are what its descriptor sets bind and its push constants, `attributes` its vertex attributes. A source
    is the text of SPIR-V. Raises UsageError where no pipeline is bound.
    """
    with lent() as trace:
        return _program(trace, seq)


def _program(trace: Trace, seq: int) -> Answer:
    place = drawn_at(trace, seq)
    drawn = None if place is None else DrawState(trace, *place)
    pipeline = None if drawn is None else drawn.pipeline()
    if drawn is None or pipeline is None:
        raise UsageError(f"no pipeline is bound at call {seq}", hint="choose a draw or a dispatch, or what submits it")
    handle, made = pipeline
    info: Mapping[str, object] = {} if made is None else made.info
    bound: dict[str, dict[str, object]] = {}
    since: dict[str, int | None] = {}
    for path, value, at in drawn.values():
        if match := re.match(r"(sets\[\d+\]\.content\[\d+\]\[\d+\])\.(.+)|(push_constants\[\d+\])", path):
            root = match[1] or match[3]
            bound.setdefault(root, {})[match[2] or ""] = value
            since[root] = at
    uniforms = [[root.replace(".content", ""), _in_words(values), since[root]] for root, values in bound.items()]
    return {
        "name": f"{handle:#x}",
        "label": "" if made is None else made.name or "",
        "linked": None if made is None else made.seq,
        "vulkan": True,
        "shaders": _stages(trace, info, len(trace.calls) if made is None else made.seq),
        "uniforms": uniforms,
        "attributes": _attributes(info, None if made is None else made.seq),
    }


def held(lent: Lent, pool: Pool, seq: int, name: int) -> HeldContent:
    """Return what an image holds after a call. Raises what `held_image` and the pool raise."""
    from drawtap.analysis.vulkan_held import held_image, place_of

    with lent() as trace:

        def question(player: Warm) -> HeldContent:
            with Scratch() as folder:
                return held_image(trace, Path(folder), player, at=seq, name=name)

        place = place_of(trace, seq)
        return pool.ask(place.call, question, whole=True, inside=place.draw is not None)[0]


def _in_words(values: Mapping[str, object]) -> str:
    """Return what a descriptor binds in a line."""
    kind = str(values.get("type", "")).removeprefix("VK_DESCRIPTOR_TYPE_").lower().replace("_", " ")
    rest = [f"{key} {value}" if key else str(value) for key, value in values.items()
            if key not in ("type", "seq") and value is not None]  # fmt: skip
    return f"{kind}: {', '.join(rest)}" if kind else ", ".join(rest)


def _stages(trace: Trace, info: Mapping[str, object], made: int) -> list[Answer]:
    listed = info.get("pStages") or ([info["stage"]] if info.get("stage") else [])
    stages: list[Answer] = []
    for stage in listed if isinstance(listed, list) else []:
        if not isinstance(stage, dict):
            continue
        name = str(stage.get("stage")).removeprefix("VK_SHADER_STAGE_").removesuffix("_BIT")
        handle = stage.get("module") or 0
        known = modules(trace, f"s.shader = {handle} AND s.seq < {made}")[-1:] if handle else []
        shown: Answer = {"name": f"{handle:#x} {stage.get('pName') or ''}".strip(), "stage": name}
        shown |= {"seq": known[0].seq, "source": known[0].text} if known else {"seq": None, "source": None}
        stages.append(shown)
    return stages


def _attributes(info: Mapping[str, object], seq: int | None) -> list[list[object]]:
    inputs = info.get("pVertexInputState")
    listed = inputs.get("pVertexAttributeDescriptions") if isinstance(inputs, dict) else None
    return [
        [f"location {one['location']}", f"{one['format']} of binding {one['binding']}, at byte {one['offset']}", seq]
        for one in listed or []
        if isinstance(one, dict)
    ]
