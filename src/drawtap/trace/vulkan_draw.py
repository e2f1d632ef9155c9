"""The state that a command of Vulkan runs with: pipeline, sets, buffers, constants, dynamic state, attachments.

It is what the command buffer was given before the command; of what a call submits, before the last draw.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from drawtap.trace.sql_text import quote, quote_text
from drawtap.trace.vulkan_sets import Content, DescriptorSets, UpTo, flat, shown, written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Values: TypeAlias = Iterator[tuple[str, object, int | None]]

_POINT = "VK_PIPELINE_BIND_POINT_"
_COMPUTE = ("vkCmdDispatch",)
_RAYS = ("vkCmdTraceRays",)
_GIVES = re.compile(r"vkCmd(Bind|Set|Push)(?!Event)")
# Calls of one function give different things where these differ.
_PARTS = (
    "pipelineBindPoint", "firstSet", "firstBinding", "firstViewport", "firstScissor", "firstAttachment", "faceMask",
    "firstDiscardRectangle", "firstExclusiveScissor", "firstCounterBuffer",
)  # fmt: skip
_PIECEWISE = re.compile("vkCmdPush(Descriptor|Constants2)|vkCmdBindDescriptorSets2")  # each call may give another part
_SUFFIX = re.compile(r"2?(EXT|KHR|NV|AMD|ARM|QCOM|HUAWEI|INTEL|VALVE)?$")


@dataclass(frozen=True, slots=True)
class CreatedObject:
    """An object: the call that made it, its name and its create info."""

    seq: int
    name: str | None
    info: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A part of an image that is drawn to: the image's handle, a level, and a layer or a slice of depth."""

    image: int
    level: int
    layer: int


def drawn_at(trace: Trace, call: int, submit: int | None = None) -> tuple[int, int | None] | None:
    """Return the command that a call names or submits, and the call that submits it (None: none does).

    That is the call itself, first where it runs first, or the last draw or dispatch that the call submits. None for
    calls that are neither.
    """
    also = f"AND submit_seq = {submit}" if submit is not None else ""
    row = trace.sql(f"SELECT min_by(submit_seq, number) FROM executed WHERE seq = {call} {also}").fetchall()[0]
    if row[0] is not None:
        return call, int(row[0])
    if trace.calls[call].name.startswith("vkCmd"):
        return call, None
    rows = trace.sql(
        f"SELECT seq FROM executed WHERE submit_seq = {call} AND kind IN ('draw', 'dispatch') "
        "ORDER BY number DESC LIMIT 1"
    ).fetchall()
    return (int(rows[0][0]), call) if rows else None


class DrawState:
    """The state that a command of Vulkan runs with: `command`, as the call `submit` submits it (None: none does)."""

    def __init__(self, trace: Trace, command: int, submit: int | None) -> None:
        self.trace, self.command, self.submit = trace, command, submit
        at = command if submit is None else submit
        self.tables = UpTo(trace, at)
        call = trace.calls[command]
        self.buffer, self.function = int(str(call.args.get("commandBuffer", 0))), call.name
        self.point = _POINT + (
            "COMPUTE" if self.function.startswith(_COMPUTE) else "RAY_TRACING_KHR" if self.function.startswith(_RAYS)
            else "GRAPHICS"
        )  # fmt: skip
        self._objects: dict[tuple[str, int], tuple[int, str | None, str | None]] = {}
        rows = self.tables.rows("objects", "type, handle, created_seq, name, info", by="created_seq")
        for kind, handle, seq, name, info in rows:
            self._objects[kind, handle] = (seq, name, info)
        self.begin = self._begun()

    def made(self, kind: str, handle: object) -> CreatedObject | None:
        """Return the last object of a handle; None where the recording does not say how it was made."""
        row = self._objects.get((kind, int(str(handle or 0))))
        return None if row is None else CreatedObject(row[0], row[1], json.loads(row[2]) if row[2] else {})

    def _begun(self) -> int:
        """Return the call from which on the command buffer keeps state: it begins anew behind secondary ones."""
        rows = self.tables.rows(
            "vkBeginCommandBuffer", "seq", f"commandBuffer = {self.buffer} AND seq < {self.command}"
        )
        begin = int(rows[-1][0]) if rows else 0
        where = f"commandBuffer = {self.buffer} AND seq BETWEEN {begin} AND {self.command}"
        rows = self.tables.rows("vkCmdExecuteCommands", "seq", where)
        return int(rows[-1][0]) if rows else begin

    def given(self, kinds: re.Pattern[str] = _GIVES) -> list[tuple[int, str]]:
        """Return the calls that gave the buffer what it has before the command, the last of each kind, in order.

        `kinds` matches the functions of these calls.
        """
        commands: list[tuple[int, str]] = []
        for name in self.tables.named("vkCmd"):
            if not kinds.match(name):
                continue
            columns = {column.name for column in self.trace.database.columns(name)}
            group = [quote(part) for part in _PARTS if part in columns]
            if name == "vkCmdPushConstants":
                group = ['"offset"', "size"]
            elif _PIECEWISE.match(name):
                group = ["seq"]
            where = f"commandBuffer = {self.buffer} AND seq BETWEEN {self.begin} AND {self.command}"
            by = f" GROUP BY {', '.join(group)}" if group else ""
            query = f"SELECT max(seq) FROM {quote(name)} WHERE {where}{by}"
            commands += [(int(seq), name) for (seq,) in self.trace.sql(query).fetchall() if seq is not None]
        return sorted(commands)

    # ---- paths --------------------------------------------------------------------------------------------------

    def values(self) -> Values:
        """Yield path, value and the call that gave it. Types of structures and empty chains are left out."""
        for path, value, seq in self._values():
            if not path.endswith(".sType") and not (value is None and path.endswith(".pNext")):
                yield path, value, seq

    def _values(self) -> Values:
        yield "command", self.function, self.command
        yield "command_buffer", f"{self.buffer:#x}", self.begin or None
        if self.submit is not None:
            yield "submitted_seq", self.submit, self.submit
        bound = Bound()
        for seq, name in self.given():
            bound.take(seq, name, self.trace.calls[seq].args, self.point)
        yield from self._pipeline(bound)
        if self.point.endswith("GRAPHICS"):
            yield from self._buffers(bound)
        yield from self._sets(bound)
        yield from _constants(bound)
        yield from self._dynamic(bound)
        if self.point.endswith("GRAPHICS"):
            yield from self._pass()

    def pipeline(self) -> tuple[int, CreatedObject | None] | None:
        """Return the handle of the pipeline that the command runs with, and how it was made; None: none is bound."""
        bound = Bound()
        for seq, name in self.given():
            if name.startswith("vkCmdBindPipeline"):
                bound.take(seq, name, self.trace.calls[seq].args, self.point)
        return None if bound.pipeline is None else (bound.pipeline[0], self.made("VkPipeline", bound.pipeline[0]))

    def _pipeline(self, bound: Bound) -> Values:
        if bound.pipeline is None:
            return
        handle, seq = bound.pipeline
        yield "pipeline.handle", f"{handle:#x}", seq
        if (made := self.made("VkPipeline", handle)) is not None:
            yield "pipeline.created_seq", made.seq, made.seq
            if made.name:
                yield "pipeline.name", made.name, made.seq
            for path, value in flat("pipeline.info", dict(made.info)):
                yield path, self._plain(path, value), made.seq

    def _buffers(self, bound: Bound) -> Values:
        for number, (what, seq) in sorted(bound.vertex_buffers.items()):
            yield from ((f"vertex_buffers[{number}].{k}", self._plain(k, v), seq) for k, v in what.items())
        if bound.index_buffer is not None:
            what, seq = bound.index_buffer
            yield from ((f"index_buffer.{k}", self._plain(k, v), seq) for k, v in what.items())

    def _sets(self, bound: Bound) -> Values:
        sets = DescriptorSets(self.trace, self.tables)
        for number in sorted({*bound.sets, *bound.pushed}):
            root = f"sets[{number}]"
            if number in bound.sets:
                handle, offsets, seq = bound.sets[number]
                yield f"{root}.handle", f"{handle:#x}", seq
                if offsets:
                    yield f"{root}.dynamic_offsets", offsets, seq
                content = sets.content(handle, self.submit)
            else:
                content = {}
                for seq, data, template in bound.pushed[number]:
                    content |= sets.templated(data, template, seq) if template else data
            for path, value, at in shown(content):
                yield f"{root}.{path}", self._plain(path, value), at
            for (binding, element), what in sorted(content.items()):
                yield from self._image(f"{root}.content[{binding}][{element}]", what.get("imageView"))

    def _image(self, root: str, view: object) -> Values:
        """Yield what an image view shows."""
        if not view or (made := self.made("VkImageView", view)) is None:
            return
        image = made.info.get("image")
        yield f"{root}.image", self._plain("image", image), made.seq
        yield f"{root}.format", made.info.get("format"), made.seq
        if (of := self.made("VkImage", image)) is not None and "extent" in of.info:
            yield f"{root}.extent", list(of.info["extent"].values()), of.seq
            yield f"{root}.samples", of.info.get("samples"), of.seq

    def _dynamic(self, bound: Bound) -> Values:
        for name, (values, seq) in sorted(bound.dynamic.items()):
            for path, value in flat(f"dynamic.{name}", values):
                yield path, self._plain(path, value), seq

    # ---- what is drawn to ---------------------------------------------------------------------------------------

    def targets(self) -> tuple[list[Target | None], Target | None]:
        """Return the images that the command draws to: its colours in their order, and its depth or stencil.

        A place without an image is None. So is what the recording does not say.
        """
        begun, subpass = self._pass_begun()
        call = self.trace.calls[begun] if begun is not None else None
        if call is None or call.name == "vkBeginCommandBuffer":
            return [], None
        if call.name.startswith("vkCmdBeginRendering"):
            info: Any = call.args.get("pRenderingInfo") or {}
            colors = [self._target((one or {}).get("imageView")) for one in info.get("pColorAttachments") or []]
            deep = [(info.get(key) or {}).get("imageView") for key in ("pDepthAttachment", "pStencilAttachment")]
            return colors, next((self._target(one) for one in deep if one), None)
        begin: Any = call.args.get("pRenderPassBegin") or {}
        made = self.made("VkRenderPass", begin.get("renderPass"))
        subpasses = (made.info.get("pSubpasses") or []) if made is not None else []
        views = self._views(begin) or []
        if subpass >= len(subpasses):
            return [], None

        def of(reference: Any) -> Target | None:
            number = (reference or {}).get("attachment", len(views))
            return self._target(views[number]) if 0 <= number < len(views) else None

        uses = subpasses[subpass]
        return [of(one) for one in uses.get("pColorAttachments") or []], of(uses.get("pDepthStencilAttachment"))

    def _views(self, begin: Any) -> list[int] | None:
        """Return the image views of a render pass that begins; None where the recording does not say."""
        chain = [one for one in begin.get("pNext") or [] if isinstance(one, dict)]
        views = next((one["pAttachments"] for one in chain if "pAttachments" in one), None)
        frame = self.made("VkFramebuffer", begin.get("framebuffer"))
        return views if views is not None or frame is None else frame.info.get("pAttachments")

    def _target(self, view: object) -> Target | None:
        made = self.made("VkImageView", view) if view else None
        if made is None or not made.info.get("image"):
            return None
        part = made.info.get("subresourceRange") or {}
        return Target(int(made.info["image"]), int(part.get("baseMipLevel", 0)), int(part.get("baseArrayLayer", 0)))

    # ---- the render pass ----------------------------------------------------------------------------------------

    def _pass(self) -> Values:
        begun, subpass = self._pass_begun()
        if begun is None:
            return
        call = self.trace.calls[begun]
        if call.name.startswith("vkCmdBeginRendering"):
            yield from self._rendering(call.args, begun)
            return
        begin: Any = call.args.get("pRenderPassBegin") or {}
        if call.name == "vkBeginCommandBuffer":  # of a secondary one that ran nowhere
            info: Any = call.args.get("pBeginInfo") or {}
            begin = info.get("pInheritanceInfo") or {}
            subpass = begin.get("subpass", 0)
        made = self.made("VkRenderPass", begin.get("renderPass"))
        if made is None:
            return
        yield "pass.render_pass", self._plain("renderPass", begin["renderPass"]), begun
        yield "pass.framebuffer", self._plain("framebuffer", begin.get("framebuffer")), begun
        yield "pass.subpass", subpass, begun
        yield from ((path, value, begun) for path, value in flat("pass.render_area", begin.get("renderArea")))
        views = self._views(begin)
        clears = begin.get("pClearValues") or []
        for number, what in enumerate(made.info.get("pAttachments") or []):
            root = f"pass.attachments[{number}]"
            if views and number < len(views):
                yield f"{root}.view", self._plain("view", views[number]), begun
                yield from self._image(root, views[number])
            for key, value in (what or {}).items():
                if key not in ("flags", "format", "samples"):
                    yield f"{root}.{key}", value, made.seq
            if "CLEAR" in f"{(what or {}).get('loadOp')} {(what or {}).get('stencilLoadOp')}" and number < len(clears):
                yield from ((path, value, begun) for path, value in flat(f"{root}.clear", clears[number]))
        subpasses = made.info.get("pSubpasses") or []
        if subpass < len(subpasses) and isinstance(subpasses[subpass], dict):
            for path, value in flat("pass.uses", subpasses[subpass]):
                yield path, value, made.seq

    def _rendering(self, args: Mapping[str, Any], seq: int) -> Values:
        info = args.get("pRenderingInfo") or {}
        yield from ((path, value, seq) for path, value in flat("pass.render_area", info.get("renderArea")))
        attachments = [(f"color{i}", one) for i, one in enumerate(info.get("pColorAttachments") or [])]
        attachments += [("depth", info.get("pDepthAttachment")), ("stencil", info.get("pStencilAttachment"))]
        for name, what in attachments:
            if what and what.get("imageView"):
                root = f"pass.attachments[{name}]"
                for path, value in flat(root, what):
                    yield path, self._plain(path, value), seq
                yield from self._image(root, what["imageView"])

    def _pass_begun(self) -> tuple[int | None, int]:
        """Return the call that began the render pass around the command, and the number of the subpass."""
        if self.submit is None:
            where = f"commandBuffer = {self.buffer} AND seq BETWEEN {self.begin} AND {self.command}"
            calls = [(seq, name) for name in self.tables.named("vkCmd") if _PASS.match(name)
                     for (seq,) in self.tables.rows(name, "seq", where)]  # fmt: skip
            if not calls:
                return self.begin or None, 0
            ordered = [name for _, name in sorted(calls)]
            seqs = sorted(seq for seq, _ in calls)
        else:
            rows = self.trace.sql(
                f"WITH me AS (SELECT min(number) AS n FROM executed WHERE seq = {self.command} AND "
                f"submit_seq = {self.submit}) SELECT seq, name FROM executed, me WHERE submit_seq = {self.submit} AND "
                f"number < n AND regexp_matches(name, {quote_text(_PASS.pattern)}) ORDER BY number"
            ).fetchall()
            ordered, seqs = [str(name) for _, name in rows], [int(str(seq)) for seq, _ in rows]
        subpass = 0
        for name, seq in zip(reversed(ordered), reversed(seqs), strict=True):
            if "Next" in name:
                subpass += 1
            else:
                return (seq if "Begin" in name else None), subpass
        return None, 0

    def _plain(self, path: str, value: object) -> object:
        """Return a handle as people write it, with its type where one object alone has it."""
        if not isinstance(value, int) or isinstance(value, bool) or not _HANDLES.search(path):
            return value
        return f"{value:#x}" if value else None


_PASS = re.compile("^vkCmd(Begin|End|Next)(RenderPass|Rendering|Subpass)")
_HANDLES = re.compile(
    r"(^|\.)(buffer|image|view|imageView|bufferView|sampler|layout|module|renderPass|framebuffer|resolveImageView|"
    r"basePipelineHandle|copied_from)$"
)


class Bound:
    """The state of a command buffer, call by call; each part with the call."""

    def __init__(self) -> None:
        self.pipeline: tuple[int, int] | None = None
        self.sets: dict[int, tuple[int, list[int], int]] = {}
        self.pushed: dict[int, list[tuple[int, Any, int]]] = {}
        self.vertex_buffers: dict[int, tuple[dict[str, object], int]] = {}
        self.index_buffer: tuple[dict[str, object], int] | None = None
        self.constants: dict[int, tuple[int, int]] = {}  # byte -> value, call
        self.dynamic: dict[str, tuple[object, int]] = {}

    def take(self, seq: int, name: str, args: Mapping[str, Any], point: str) -> None:
        """Take a call; `point` is the bind point of the command."""
        given: dict[str, Any] = {**args}
        for value in args.values():
            if isinstance(value, dict) and name.endswith(("2", "2KHR", "2EXT")):
                given |= value  # a structure instead of parameters
        if name == "vkCmdBindPipeline":
            if given["pipelineBindPoint"] == point:
                self.pipeline = (given["pipeline"], seq)
        elif name.startswith("vkCmdBindDescriptorSets"):
            if given.get("pipelineBindPoint", point) == point:
                self._take_sets(seq, given)
        elif name.startswith("vkCmdPushDescriptorSet"):
            self._take_pushed(seq, given, point)
        elif name.startswith("vkCmdBindVertexBuffers"):
            self._take_vertex_buffers(seq, given)
        elif name.startswith("vkCmdBindIndexBuffer"):
            names = ("buffer", "offset", "size", "indexType")
            self.index_buffer = ({key: given[key] for key in names if key in given}, seq)
        elif name.startswith("vkCmdPushConstants"):
            data = given.get("pValues")
            if isinstance(data, bytes):
                self.constants |= {given["offset"] + i: (value, seq) for i, value in enumerate(data)}
        else:
            self._take_dynamic(seq, name, args)

    def _take_sets(self, seq: int, given: Mapping[str, Any]) -> None:
        handles = [int(one) for one in _listed(given.get("pDescriptorSets"))]
        offsets = [int(one) for one in _listed(given.get("pDynamicOffsets"))]
        for i, handle in enumerate(handles):
            # Offsets stand for the dynamic descriptors of all sets in order: one set alone has them for certain.
            self.sets[given["firstSet"] + i] = (handle, offsets if len(handles) == 1 or i == 0 else [], seq)
            self.pushed.pop(given["firstSet"] + i, None)

    def _take_pushed(self, seq: int, given: Mapping[str, Any], point: str) -> None:
        if given.get("pipelineBindPoint", point) != point:
            return
        template = int(given.get("descriptorUpdateTemplate") or 0)
        data: Any = given.get("pData")
        if not template:
            content: Content = {}
            for write in _listed(given.get("pDescriptorWrites")):
                content |= written(write, seq)
            data = content
        self.sets.pop(given.get("set", 0), None)
        self.pushed.setdefault(given.get("set", 0), []).append((seq, data, template))

    def _take_vertex_buffers(self, seq: int, given: Mapping[str, Any]) -> None:
        lists = {"buffer": "pBuffers", "offset": "pOffsets", "size": "pSizes", "stride": "pStrides"}
        for i in range(len(_listed(given.get("pBuffers")))):
            values = {key: int(_listed(given[of])[i]) for key, of in lists.items() if len(_listed(given.get(of))) > i}
            self.vertex_buffers[given["firstBinding"] + i] = (dict(values), seq)

    def _take_dynamic(self, seq: int, name: str, args: Mapping[str, Any]) -> None:
        key = _SUFFIX.sub("", re.sub(r"^vkCmd(Set|Bind|Push)?", "", name))
        values = {k: v for k, v in args.items() if k != "commandBuffer" and not k.endswith(("Count", "_"))}
        part = next((k for k in ("faceMask", *(p for p in _PARTS if p.startswith("first"))) if k in values), None)
        if part == "faceMask":
            key += f"[{values.pop(part)}]"
        first = values.pop(part, 0) if part is not None else 0
        lists = {k: v for k, v in values.items() if isinstance(v, list)}
        if part is not None and len(lists) == 1:
            for i, one in enumerate(next(iter(lists.values()))):
                self.dynamic[f"{key}[{first + i}]"] = (one, seq)
            return
        plain = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in values.items()}
        self.dynamic[key] = (next(iter(plain.values())) if len(plain) == 1 else plain, seq)


def _constants(bound: Bound) -> Values:
    """Yield push constants as words, each with what it is as a number with a point."""
    for at in sorted({byte & ~3 for byte in bound.constants}):
        one = [bound.constants.get(at + i) for i in range(4)]
        known = [byte for byte in one if byte is not None]
        seq = max(call for _, call in known)
        if len(known) < 4:
            yield f"push_constants[{at}]", " ".join("--" if b is None else f"{b[0]:02x}" for b in one), seq
            continue
        data = bytes(value for value, _ in known)
        yield f"push_constants[{at}]", f"{struct.unpack('<I', data)[0]:#010x} ({struct.unpack('<f', data)[0]:g})", seq


def _listed(value: Any) -> list[Any]:
    return [] if value is None else [*value]
