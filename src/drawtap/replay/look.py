"""The player's findings about pixels and vertices of a frame, with the names of the recording."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from drawtap.errors import UnavailableError, UsageError
from drawtap.replay.place import Place
from drawtap.trace.apis import is_vulkan
from drawtap.trace.vulkan_draw import DrawState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from drawtap.trace.trace import Trace

# First call, last call, request: what Warm.look answers. One of the types below says what the answer has.
Ask = Callable[[int, int, Mapping[str, object]], tuple[Any, bytes]]


#: Numbers of one part of a pixel, as text where they are not finite; None where the image has no such part.
Numbers = list[float | str] | None


class PixelValues(TypedDict):
    """The values of a pixel."""

    color: Numbers
    depth: Numbers
    stencil: Numbers


class PixelEvent(TypedDict):
    """A call that wrote a pixel, or that covers it. The last four values are of the recording.

    `submit` is the call that submits a command of Vulkan, None for other APIs.
    """

    call: int
    until: int | None
    submit: int | None
    kind: str
    changed: list[str]
    failed: str | None
    unknown: str | None
    masked: str | None
    before: PixelValues
    after: PixelValues
    name: str
    text: str
    outcome: str
    reason: str


class PixelHistory(TypedDict):
    """The history of a pixel in a frame; see `pixel_history`."""

    call: int
    first: int
    why: str | None
    format: str
    now: PixelValues
    events: list[PixelEvent]


class _Plane(TypedDict):
    name: str
    bytes: int
    why: str | None


class _MasksHead(TypedDict):
    found: bool
    width: int
    height: int
    viewport: list[int]
    scissor: list[int] | None
    planes: list[_Plane]


class OverdrawRemarks(TypedDict):
    """The number of draws that are counted, and of `unknown` ones, with the reason `why`."""

    width: int
    height: int
    draws: int
    unknown: int
    why: str | None


class _InputHead(TypedDict):
    name: str
    size: int
    values: int
    constant: bool
    divisor: int
    why: str | None


class _MeshHead(TypedDict):
    found: bool
    inputs: list[_InputHead]
    primitives: int
    corners: int
    instances: int
    base_instance: int
    given: int
    indices: int
    places: int
    vertices: int
    mode: int
    viewport: list[int]
    why: str | None
    why_in: str | None
    more: bool


TESTS = {
    "covers": "no primitive covers it",
    "culling": "face culling",
    "scissor": "scissor test",
    "discard": "the fragment shader discards",
    "coverage": "alpha test or sample coverage",
    "stencil": "stencil test",
    "depth": "depth test",
}
#: The fates of the pixel in a call, and the words that people use for them.
OUTCOMES = {
    "wrote": "wrote",
    "failed": "failed",
    "masked": "masked",
    "same": "same",
    "unknown": "not known",
}
#: The parts of a pixel.
PARTS: tuple[Literal["color", "depth", "stencil"], ...] = ("color", "depth", "stencil")
_TEXT = 300


def pixel_history(trace: Trace, at: Place | int, x: int, y: int, ask: Ask, *, buffer: int = 0) -> PixelHistory:
    """Return what wrote a pixel of the image that is drawn to at a place, from the beginning of its frame on.

    `x` and `y` count pixels from the lower left corner, `buffer` the colours that are drawn to. The answer has the
    `format`, the values `now` and the `events`. An event has its call, name, text, kind, outcome (OUTCOMES) and the
    first failed test (TESTS). It also has the values before and after, and how many fragments each prefix of the tests
    lets through. Calls that write, and calls that cover the pixel without writing, are events. Raises UsageError where
    there is no such pixel, and what `ask` does.
    """
    place = _place(at)
    call, first = place.call, frame_begin(trace, place.call)
    request = {"find": "history", "x": x, "y": y, "buffer": buffer} | _target(trace, place, buffer)
    history: PixelHistory
    history, _ = ask(first, call, request)
    if history["why"]:
        raise UnavailableError(
            f"no history of pixel {x},{y} at call {call}: {history['why']}", hint="choose another draw"
        )
    if history["now"]["color"] is None and history["now"]["depth"] is None and history["now"]["stencil"] is None:
        raise UsageError(f"there is no pixel {x},{y} at call {call}", hint="choose a draw, or the end of a frame")
    for event in history["events"]:
        made = trace.calls[event["call"]]
        text = str(made)
        event["name"] = made.name
        event["text"] = text[:_TEXT] + ("…" if len(text) > _TEXT else "")
        event["outcome"] = _outcome(event)
        event["reason"] = _reason(event)
    return {"call": call, "first": first, **history}


def _place(at: Place | int) -> Place:
    return Place(at) if isinstance(at, int) else at


def _target(trace: Trace, place: Place, buffer: int = 0) -> dict[str, object]:
    """Return what a request says of the image that a draw of Vulkan draws to; nothing of other APIs."""
    if not is_vulkan(trace):
        return {}
    if place.draw is None:
        raise UnavailableError(f"call {place.call} submits no draw, and is none", hint="choose a draw")
    colors, deep = DrawState(trace, place.draw, place.call).targets()
    target = deep if not any(colors) else colors[buffer] if buffer < len(colors) else None
    if target is None:
        raise UnavailableError(f"draw {place.draw} has no such image to draw to", hint="choose another draw")
    return {"draw": place.draw, "image": target.image, "level": target.level, "layer": target.layer}


def forget_unplayed(history: PixelHistory) -> None:
    """Take values out of a history that the player of a cut does not know: what a clear replaces and nothing reads."""
    known: set[str] = set()
    for event in history["events"]:
        before = event["before"]
        if event["kind"] == "clear":
            for part in PARTS:
                if part not in known:
                    before[part] = None
        known |= set(PARTS) if event["kind"] == "draw" else set(event["changed"])


def frame_begin(trace: Trace, call: int) -> int:
    """Return the first call of the frame that a call belongs to."""
    import bisect

    frames = trace.frames
    number = bisect.bisect_right(frames, call, key=lambda frame: frame.end_seq)
    if number < len(frames):
        return frames[number].first_seq
    return frames[-1].end_seq if len(frames) else 0  # behind the last frame


# The tests that keep fragments of a draw from the picture, as the difference of two planes of the player.
MASKS = {
    "drawn": ("passed", None),
    "covered": ("generated", None),
    "culled": ("any_face", "generated"),
    "discarded": ("generated", "kept"),
    "stencil": ("kept", "stencilled"),
    "depth": ("stencilled", "passed"),
}
#: The fates of a primitive, by the player's number.
FATES = ("degenerate", "frustum", "backface", "discarded", "rasterised", "clipped")


_DRAWS = "choose a draw; what stands in a display list is drawn by glCallList"


@dataclass(frozen=True)
class Masks:
    """The fragments of a draw by pixel, the lowest row first.

    `counts` has arrays of the shape (height, width) by MASKS; `why` says for the others why there is none. `viewport`
    and `scissor` (None: off) are boxes of x, y, width, height.
    """

    width: int
    height: int
    viewport: tuple[int, ...]
    scissor: tuple[int, ...] | None
    counts: Mapping[str, NDArray[np.int64]]
    why: Mapping[str, str]


def masks(trace: Trace, at: Place | int, ask: Ask) -> Masks:
    """Return which pixels a draw reaches, and which test keeps its fragments from others.

    Raises UnavailableError where the call draws no primitives, and what `ask` raises.
    """
    import numpy as np

    place = _place(at)
    call = place.call if place.draw is None else place.draw
    head: _MasksHead
    head, data = ask(frame_begin(trace, place.call), place.call, {"find": "masks"} | _target(trace, place))
    if not head["found"]:
        raise UnavailableError(f"call {call} draws no primitives", hint=_DRAWS)
    width, height = head["width"], head["height"]
    planes: dict[str, NDArray[np.int64]] = {}
    why: dict[str, str] = {}
    begin = 0
    for plane in head["planes"]:
        name, size = plane["name"], plane["bytes"]
        if size:
            planes[name] = np.frombuffer(data, np.uint8, size, begin).reshape(height, width).astype(np.int64)
        else:
            why[name] = plane["why"] or "not known"
        begin += size
    counts, missing = {}, {}
    for name, (more, fewer) in MASKS.items():
        lost = [why[plane] for plane in (more, fewer) if plane in why]
        if lost:
            missing[name] = lost[0]
        else:
            counts[name] = planes[more] - (planes[fewer] if fewer else 0)
    box = head["scissor"]
    return Masks(width, height, tuple(head["viewport"]), None if box is None else tuple(box), counts, missing)


def overdraw(trace: Trace, at: Place | int, ask: Ask) -> tuple[NDArray[np.uint32], OverdrawRemarks]:
    """Return how many fragments the frame's draws have made at each pixel, up to a place, and the player's remarks.

    The array has the shape (height, width), the lowest row first, and belongs to the image that is drawn to at the
    place. The remarks have `draws`, `unknown` (draws that are missing) and `why`. Raises UnavailableError where there
    is no such image.
    """
    import numpy as np

    place = _place(at)
    call = place.call if place.draw is None else place.draw
    head: OverdrawRemarks
    head, data = ask(frame_begin(trace, place.call), place.call, {"find": "overdraw"} | _target(trace, place))
    width, height = head["width"], head["height"]
    if not width:
        raise UnavailableError(
            f"no draw is counted up to call {call}: {head['why'] or 'there is none'}", hint="choose a draw"
        )
    return np.frombuffer(data, np.uint32).reshape(height, width), head


@dataclass(frozen=True)
class Input:
    """An attribute of vertices: `values` has the shape (vertices, size), or one row where all share it.

    Attributes with a divisor have a row for each `divisor` instances, from the base instance on.
    """

    name: str
    values: NDArray[np.float64]
    constant: bool
    divisor: int
    why: str

    def of(self, vertex: int, instance: int, count: int) -> list[float]:
        """Return the numbers of a vertex, by its place among `count`, in an instance; [] where they are not known."""
        if not len(self.values):
            return []
        row = instance // self.divisor if self.divisor else vertex if len(self.values) == count else 0
        return [float(v) for v in self.values[min(row, len(self.values) - 1)]]


@dataclass(frozen=True)
class Mesh:
    """The vertices of a draw.

    `positions` has clip coordinates of the shape (primitives, corners, 4), behind the last stage before the rasteriser;
    `fates` a number of FATES for each primitive, `areas` pixels of those that are rasterised. `indices` are the numbers
    of vertices in the order of the draw (0xFFFFFFFF ends a primitive), `vertices` all of them once. `places` has for
    each corner of the first instance its place in `indices`; it is empty where the stages make primitives of their own.
    `viewport` counts from the lower left corner; its height is negative where y of the positions points down (Vulkan).
    """

    mode: int
    viewport: tuple[int, ...]
    positions: NDArray[np.float32]
    fates: NDArray[np.uint8]
    areas: NDArray[np.float32]
    indices: NDArray[np.uint32]
    places: NDArray[np.uint32]
    vertices: NDArray[np.uint32]
    inputs: tuple[Input, ...]
    why: str  # positions are not known
    why_in: str  # nor are inputs
    more: bool  # it has more primitives than are here
    instances: int = 1  # their primitives follow each other
    base_instance: int = 0
    given: int = 0  # vertices that glVertex gave, which are in no array here

    def counts(self) -> dict[str, int]:
        """Return how many primitives have each fate; those that are clipped are rasterised too."""
        return {name: int((self.fates == i).sum()) for i, name in enumerate(FATES)}


def mesh(trace: Trace, at: Place | int, ask: Ask) -> Mesh:
    """Return the vertices that go into a draw, and the primitives that come out.

    Raises UnavailableError where the call draws no primitives, and what `ask` raises.
    """
    place = _place(at)
    shape = _mesh_of(place.call, frame_begin(trace, place.call), ask, _target(trace, place))
    if shape is None:
        call = place.call if place.draw is None else place.draw
        raise UnavailableError(f"call {call} draws no primitives", hint=_DRAWS)
    return shape


def _mesh_of(call: int, first: int, ask: Ask, of: Mapping[str, object] | None = None) -> Mesh | None:
    """Return the mesh of a draw whose vertices begin at call `first` or later; None where it draws no primitives.

    `of` is what the request says of a draw of Vulkan.
    """
    head: _MeshHead
    head, data = ask(first, call, {"find": "mesh", **(of or {})})
    return _read_mesh(head, data)[0]


def _read_mesh(head: _MeshHead, data: bytes, at: int = 0) -> tuple[Mesh | None, int]:
    """Return the mesh that a head is of, whose arrays begin at a byte, and where they end."""
    import numpy as np

    def take(kind: type[np.generic], count: int) -> NDArray[Any]:
        nonlocal at
        array = np.frombuffer(data, kind, count, at)
        at += array.nbytes
        return array

    inputs = []
    for one in head["inputs"]:
        values = take(np.float64, one["values"]).reshape(-1, one["size"])
        inputs.append(Input(one["name"], values, one["constant"], one["divisor"], one["why"] or ""))
    primitives, corners = head["primitives"], head["corners"]
    positions = take(np.float32, primitives * corners * 4).reshape(primitives, corners, 4)
    areas = take(np.float32, primitives)
    indices, places, vertices = (take(np.uint32, n) for n in (head["indices"], head["places"], head["vertices"]))
    mesh = Mesh(
        head["mode"], tuple(head["viewport"]), positions, take(np.uint8, primitives), areas, indices, places, vertices,
        tuple(inputs), head["why"] or "", head["why_in"] or "", head["more"], head["instances"], head["base_instance"],
        head["given"],
    )  # fmt: skip
    return (mesh if head["found"] else None), at


#: The most draws, and corners of primitives, of the mesh of a pass. The chosen draw is there whatever its size.
PASS_DRAWS, PASS_CORNERS = 500, 1 << 20


@dataclass(frozen=True)
class PassDraws:
    """The draws of a pass in one frame: calls and functions in order, and how many more the pass has.

    `framebuffer` is the one that is drawn to, 0 for the window's; `begin` the first call of the frame. A render pass of
    Vulkan has neither framebuffer nor context here: `submit` is the call that submits it, None for other APIs. `asked`
    and `target` are the parts of a request for the meshes of these draws.
    """

    number: int
    framebuffer: int
    context: int
    begin: int
    draws: tuple[tuple[int, str], ...]
    left_out: int
    submit: int | None = None
    asked: tuple[Mapping[str, int], ...] = ()
    target: Mapping[str, object] = field(default_factory=dict)


def pass_draws(trace: Trace, at: Place | int, most: int = PASS_DRAWS) -> PassDraws:
    """Return the draws of the pass that a call, or a draw of Vulkan, belongs to: `most` of them, about the call.

    Raises UnavailableError where the call is in no pass that draws.
    """
    place = _place(at)
    if is_vulkan(trace):
        return _render_pass(trace, place, most)
    call = place.call
    passes = trace.sql(
        "SELECT p.pass_number, p.framebuffer, p.context, p.first_seq, p.last_seq FROM passes p"
        f" WHERE p.kind = 'draw' AND {call} BETWEEN p.first_seq AND p.last_seq"
        f" ORDER BY p.context = coalesce((SELECT max(context) FROM calls WHERE seq = {call}), p.context) DESC, 1"
        " LIMIT 1"
    ).fetchall()
    if not passes:
        raise UnavailableError(f"call {call} is in no pass that draws", hint="choose a draw")
    number, framebuffer, context, first, last = passes[0]
    rows = trace.sql(
        f"SELECT seq, function FROM draws WHERE kind = 'draw' AND context = {context}"
        f" AND seq BETWEEN {first} AND {last} ORDER BY seq"
    ).fetchall()
    begin = frame_begin(trace, call)
    here = [(int(seq), str(function or "")) for seq, function in rows if frame_begin(trace, seq) == begin]
    at = max(0, min(sum(seq < call for seq, _ in here) - most // 2, len(here) - most))
    shown = tuple(here[at : at + most])
    return PassDraws(number, framebuffer or 0, context, begin, shown, len(rows) - len(shown))


def _render_pass(trace: Trace, place: Place, most: int) -> PassDraws:
    """Return the draws of the render pass that a draw runs in, where it runs first in its submission."""
    target = _target(trace, place)
    ran = f"submit_seq = {place.call}"
    rows = trace.sql(
        f"WITH e AS (SELECT *, row_number() OVER (PARTITION BY seq ORDER BY number) - 1 AS again FROM executed "
        f"WHERE {ran} AND kind = 'draw'), own AS (SELECT min_by(pass_number, number) AS p FROM e WHERE "
        f"seq = {place.draw}) SELECT p, seq, name, again FROM e, own WHERE pass_number = p ORDER BY number"
    ).fetchall()
    if not rows:
        raise UnavailableError(f"draw {place.draw} is in no render pass that the recording has whole", hint=_DRAWS)
    where = next(i for i, row in enumerate(rows) if row[1] == place.draw)
    at = max(0, min(where - most // 2, len(rows) - most))
    shown = rows[at : at + most]
    draws = tuple((int(seq), str(name)) for _, seq, name, _ in shown)
    asked = tuple({"draw": int(seq), "again": int(n)} for _, seq, _, n in shown)
    begin, left_out = frame_begin(trace, place.call), len(rows) - len(shown)
    return PassDraws(int(rows[0][0]), 0, 0, begin, draws, left_out, place.call, asked, target)


@dataclass(frozen=True)
class PassDraw:
    """A draw of a pass: its mesh, or the reason `why` there is none."""

    call: int
    function: str
    mesh: Mesh | None
    why: str


def pass_mesh(of: PassDraws, call: int, ask: Ask, most: int = PASS_CORNERS) -> list[PassDraw]:
    """Return the mesh of each draw of a pass, of `most` corners together.

    The draw `call` is there whatever its size. Draws that would exceed `most` have a reason instead. Calls `ask`
    at rising calls, and raises what it raises.
    """
    meshes: list[PassDraw] = []
    first, corners, full = of.begin, 0, False
    together = _meshes_of(of, ask) if of.submit is not None else []
    for number, (seq, function) in enumerate(of.draws):
        mesh: Mesh | None = None
        why = ""
        if not full or seq == call:
            mesh = together[number] if together else _mesh_of(seq, first, ask)
            first = seq + 1
            if mesh is None:
                why = "the player knows no primitives of it"
            elif mesh.why:
                why = mesh.why
                mesh = None
            elif seq != call:
                size = mesh.fates.size * mesh.positions.shape[1]
                full = corners + size > most
                corners += 0 if full else size
        if full and seq != call:
            mesh, why = None, f"left out: with it the pass has more than {most} corners"
        meshes.append(PassDraw(seq, function, mesh, why))
    return meshes


def _meshes_of(of: PassDraws, ask: Ask) -> list[Mesh | None]:
    """Return the meshes of all draws of a render pass of Vulkan, which the player has in one answer."""
    assert of.submit is not None
    request = {"find": "mesh", **of.target, "draws": of.asked}
    head, data = ask(of.begin, of.submit, request)
    meshes: list[Mesh | None] = []
    at = 0
    for _ in range(head["meshes"]):
        end = data.index(b"\n", at)
        mesh, at = _read_mesh(json.loads(data[at:end]), data, end + 1)
        meshes.append(mesh)
    return meshes


#: The most rows of vertices that `mesh_csv` gives.
CSV_ROWS = 1 << 20


def csv_instances(mesh: Mesh) -> int:
    """Return how many instances `mesh_csv` gives: those whose rows do not exceed CSV_ROWS, and the first one always."""
    return max(1, min(mesh.instances, CSV_ROWS // max(len(mesh.indices), 1)))


def mesh_csv(mesh: Mesh, instance: int | None = None) -> str:
    """Return the vertices that go in as CSV: a row for each place in the draw, with its number and attributes.

    The column `instance` says whose attributes with a divisor these are: of one instance, or of `csv_instances` ones.
    """
    heads = ["place", "vertex", "instance"]
    for one in mesh.inputs:
        heads += [f"{one.name}.{'xyzw'[i]}" for i in range(one.values.shape[1])]
    lines = [",".join(heads)]
    rows = {int(v): i for i, v in enumerate(mesh.vertices)}
    for number in range(csv_instances(mesh)) if instance is None else (instance,):
        for place, vertex in enumerate(mesh.indices.tolist()):
            if vertex not in rows:
                continue  # the end of a primitive
            row = [str(place), str(vertex), str(number)]
            for one in mesh.inputs:
                row += [repr(v) for v in one.of(rows[vertex], number, len(mesh.vertices))]
            lines.append(",".join(row))
    return "\n".join(lines) + "\n"


_OBJ_HEAD = "# clip coordinates divided by w"
_DOWN = "# y points down"


def mesh_obj(mesh: Mesh) -> str:
    """Return the primitives that come out as Wavefront OBJ, in normalised device coordinates; a group by instance."""
    down = [_DOWN] if mesh.viewport[3] < 0 else []
    return "\n".join([_OBJ_HEAD, *down, *_obj_lines(mesh, "")]) + "\n"


def pass_obj(of: PassDraws, draws: Sequence[PassDraw]) -> str:
    """Return the primitives of a pass as Wavefront OBJ: a group by draw, and a remark where there is none."""
    where = f"framebuffer {of.framebuffer}" if of.submit is None else f"submitted by call {of.submit}"
    lines = [_OBJ_HEAD, f"# pass {of.number}, {where}"]
    if any(one.mesh is not None and one.mesh.viewport[3] < 0 for one in draws):
        lines.append(_DOWN)
    if of.left_out:
        lines.append(f"# {of.left_out} more draws of the pass are left out")
    for one in draws:
        lines.append(f"# call {one.call} {one.function}" + (f": {one.why}" if one.why else ""))
        if one.mesh is not None:
            lines += [f"g call-{one.call}", *_obj_lines(one.mesh, f"call-{one.call} ")]
    return "\n".join(lines) + "\n"


def _obj_lines(mesh: Mesh, group: str) -> Iterator[str]:
    corners = mesh.positions.shape[1] or 3
    kind = {1: "p", 2: "l", 3: "f"}[corners]
    each = len(mesh.places) // corners if mesh.instances > 1 else 0
    if mesh.instances > 1 and not each:
        yield f"# {mesh.instances} instances; which primitives are whose is not known"
    if mesh.more:
        yield "# the draw has more primitives than these"
    for i, primitive in enumerate(mesh.positions.tolist()):
        if each and i % each == 0:
            yield f"g {group}instance-{i // each}"
        for x, y, z, w in primitive:
            by = w or 1.0
            yield f"v {x / by:.9g} {y / by:.9g} {z / by:.9g}"
        yield f"{kind} " + " ".join(str(k - len(primitive)) for k in range(len(primitive)))


def _outcome(event: PixelEvent) -> str:
    if event["changed"]:
        return "wrote"
    if event["failed"]:
        return "failed"
    if event["unknown"]:
        return "unknown"
    return "masked" if event["masked"] else "same"


def _reason(event: PixelEvent) -> str:
    changed = " and ".join(event["changed"])
    failed = TESTS[event["failed"]] if event["failed"] else ""
    if event["kind"] == "between":
        return f"{changed} changed between calls {event['call']} and {event['until']}"
    if changed:
        return f"wrote {changed}" + (f" although it fails: {failed}" if failed else "")
    if failed:
        return failed
    return event["unknown"] or event["masked"] or "the values were there already"
