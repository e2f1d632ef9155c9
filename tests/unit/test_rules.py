"""Every rule of the checklist has a trace that triggers it and one, as like it as can be, that does not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import gl_rules
import vulkan_rules
from drawtap.analysis.checklist import checklist, judge
from drawtap.analysis.rule import RULES
from drawtap.output import checklist as view
from drawtap.trace.trace import open_trace
from gl_rules import (
    PIXELS,
    bind,
    declared,
    draw,
    draw_only,
    each,
    fixed,
    image,
    linked,
    path,
    target,
    vector,
    vertices,
)
from scene import Scene
from vulkan_scene import CB, VulkanScene
from writer import Data, i32

CASES = {**vulkan_rules.CASES, **gl_rules.CASES}


@pytest.mark.parametrize(("values", "verdict"), [((4, 4), "finding"), ((4, 6), "pass")])
def test_state_of_openvg_that_was_set_already_is_redundant(values: tuple[int, int], verdict: str, tmp_path: Path):
    def frame(s: Scene, i: int) -> Scene:
        return s.vgSetf("VG_STROKE_LINE_WIDTH", float(values[i % 2])).vgDrawPath(5, 1)

    with open_trace(vector(frame, lambda s: path(s, 5)).write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "redundant-calls")
    assert found.verdict == verdict, found.reason
    assert verdict == "pass" or found.evidence[0].what == "vgSetf"


def test_every_rule_has_its_traces():
    assert sorted(CASES) == RULES.names()
    assert len(CASES) >= 30


def test_a_wait_for_the_fence_of_an_earlier_frame_is_no_finding(tmp_path: Path):
    """The advice of vk-wait-for-own-frame is such a wait, so no other rule objects to it."""
    _, good = CASES["vk-wait-for-own-frame"]
    with open_trace(good().write(tmp_path / "good.dtap")) as trace:
        assert judge(trace, "synchronous-functions").verdict == "pass"
    idle, _ = CASES["vk-idle-in-frames"]
    with open_trace(idle().write(tmp_path / "idle.dtap")) as trace:
        assert judge(trace, "synchronous-functions").verdict == "finding"


@pytest.mark.parametrize("rule", RULES.names())
def test_a_rule_finds_what_it_is_for_and_nothing_else(rule, tmp_path: Path):
    bad, good = CASES[rule]
    with open_trace(bad().write(tmp_path / "bad.dtap")) as trace:
        found = judge(trace, rule)
        assert found.verdict == "finding", found.reason
        assert found.rows > 0
        frames = {int(str(row["frame"])): int(str(row["calls"])) for row in trace.table("frames")}
        for row in found.evidence:
            assert row.seq is not None or row.frame is not None
            assert row.seq is None or 0 <= row.seq < len(trace.calls)
            assert (row.calls > 0) == (row.seq is not None)
            assert row.frame is None or row.frame in row.frames
            # A row that stands for more calls than its frames have names too few frames.
            assert row.frame is None or len(row.frames) <= max(row.calls, 1) or row.seq is None
            assert row.frame is None or row.calls <= sum(frames[frame] for frame in row.frames)
        assert found.calls == sum(row.calls for row in found.evidence)
        assert found.frames == len({frame for row in found.evidence for frame in row.frames})
    with open_trace(good().write(tmp_path / "good.dtap")) as trace:
        clean = judge(trace, rule)
        assert clean.verdict == "pass", (clean.reason, clean.evidence)


@pytest.mark.parametrize("rule", RULES.names())
def test_a_rule_explains_itself(rule):
    entry = RULES.get(rule)
    assert entry.why.endswith((".", ")"))
    assert entry.fix.endswith(".")
    assert not entry.title.endswith(".")
    assert len(entry.title) < 80


def test_the_items_of_the_thesis_are_all_there():
    # Table 4 of Kyostila's thesis, and the division of CPU time that its program had too.
    items = {entry.original for _, entry in RULES.items()} - {None}
    assert items == {
        "CPU time division", "Depth buffer clearing", "Existing texture data modification",
        "Loading texture data during frame rendering", "Mipmap usage", "Multisample usage",
        "Renderer version string differentiation", "Synchronous functions", "Texture data compression",
        "Triangle strip geometry", "Vertex buffer object usage",
    }  # fmt: skip


def indexed(s: Scene, indices: list[int], count: int, *, offset: int = 0) -> Scene:
    content = struct.pack(f"<{len(indices)}H", *indices)
    s.glBindBuffer("GL_ELEMENT_ARRAY_BUFFER", 6)
    s.glBufferData("GL_ELEMENT_ARRAY_BUFFER", len(content), content, "GL_STATIC_DRAW")
    return s.glDrawElements("GL_TRIANGLES", count, "GL_UNSIGNED_SHORT", offset or Data(kind=3, pointer=0))


@pytest.mark.parametrize(
    ("indices", "count", "offset", "said"),
    [
        ([0, 1, 2], 3, 0, None),
        ([0, 1, 3], 3, 0, "attribute 0 needs 48 bytes of buffer 5, which has 36"),
        ([9, 9, 9, 0, 1, 2], 3, 6, None),
        ([0, 1, 0xFFFF], 3, 0, None),
        ([0, 1, 2], 6, 0, "the indices need 12 bytes of buffer 6, which has 6"),
    ],
)
def test_indices_out_of_range(indices, count, offset, said, tmp_path: Path):
    scene = each(lambda s, i: indexed(s, indices, count, offset=offset), start=lambda s: vertices(s, 0), count=2)
    with open_trace(scene.write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "vertices-past-end")
    assert found.verdict == ("finding" if said else "pass"), found.reason
    assert said is None or found.evidence[0].what == said


def _words(*indices: int) -> bytes:
    return struct.pack(f"<{len(indices)}H", *indices)


# How indices get into buffer 6, of which the largest is to be the last.
WAYS: dict[str, Callable[[Scene, int], object]] = {
    "storage": lambda s, last: s.glBufferStorage("GL_ELEMENT_ARRAY_BUFFER", 6, _words(0, 1, last), 0),
    "in part": lambda s, last: s.glBufferData("GL_ELEMENT_ARRAY_BUFFER", 6, _words(0, 1, 1), 0).glBufferSubData(
        "GL_ELEMENT_ARRAY_BUFFER", 4, 2, _words(last)
    ),
    "mapped": lambda s, last: s.glBufferData("GL_ELEMENT_ARRAY_BUFFER", 6, None, 0).mapped(6, 0, _words(0, last, 1)),
    "copied": lambda s, last: (
        s.glBindBuffer("GL_COPY_READ_BUFFER", 7).glBufferData("GL_COPY_READ_BUFFER", 8, _words(9, 0, 1, last), 0),
        s.glBufferData("GL_ELEMENT_ARRAY_BUFFER", 6, None, 0),
        s.glCopyBufferSubData("GL_COPY_READ_BUFFER", "GL_ELEMENT_ARRAY_BUFFER", 2, 0, 6),
    ),
    "by name": lambda s, last: s.glNamedBufferData(6, 6, None, 0).glNamedBufferSubData(6, 0, 6, _words(0, 1, last)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("last", "said"),
    [
        pytest.param(2, None, marks=pytest.mark.exhaustive),
        (3, "attribute 0 needs 48 bytes of buffer 5, which has 36"),
    ],
)
def test_indices_however_they_got_there(way: str, last: int, said: str | None, tmp_path: Path):
    def start(s: Scene) -> None:
        vertices(s, 0).glBindBuffer("GL_ELEMENT_ARRAY_BUFFER", 6)
        WAYS[way](s, last)

    def frame(s: Scene, i: int) -> Scene:
        return s.glDrawElements("GL_TRIANGLES", 3, "GL_UNSIGNED_SHORT", Data(kind=3, pointer=0))

    with open_trace(each(frame, start=start, count=2).write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "vertices-past-end")
    assert found.verdict == ("finding" if said else "pass"), found.reason
    assert said is None or found.evidence[0].what == said


def test_vertices_in_storage_that_is_too_small(tmp_path: Path):
    def start(s: Scene) -> None:
        s.glBindBuffer("GL_ARRAY_BUFFER", 5).glBufferStorage("GL_ARRAY_BUFFER", 36, bytes(36), 0)
        s.glVertexAttribPointer(0, 3, "GL_FLOAT", 0, 0, None).glEnableVertexAttribArray(0)

    def frame(s: Scene, i: int) -> Scene:
        return s.glDrawArraysInstanced("GL_TRIANGLES", 0, 4, 2)

    with open_trace(each(frame, start=start, count=2).write(tmp_path / "x.dtap")) as trace:
        [first, *_] = judge(trace, "vertices-past-end").evidence
    assert first.what == "attribute 0 needs 48 bytes of buffer 5, which has 36"


@pytest.mark.parametrize(
    ("divisor", "instances", "said"),
    [
        (("glVertexAttribDivisor", 0, 1), 3, None),
        (("glVertexAttribDivisorANGLE", 0, 2), 6, None),
        (("glVertexBindingDivisor", 0, 1), 3, None),
        (("glVertexAttribDivisor", 0, 1), 4, "attribute 0 needs 48 bytes of buffer 5, which has 36"),
        (("glVertexAttribDivisor", 0, 2), 7, "attribute 0 needs 48 bytes of buffer 5, which has 36"),
        (("glVertexAttribDivisor", 0, 0), 1, "attribute 0 needs 432 bytes of buffer 5, which has 36"),
        (("glVertexAttribDivisor", 0, 1), 0, None),
    ],
)
def test_instances_in_place_of_vertices(
    divisor: tuple[str, int, int], instances: int, said: str | None, tmp_path: Path
):
    """An attribute with a divisor has a value for each so many instances, however many vertices are drawn."""
    name, index, each_so_many = divisor

    def start(s: Scene) -> None:
        getattr(vertices(s, 0), name)(index, each_so_many)

    def frame(s: Scene, i: int) -> Scene:
        return s.glDrawArraysInstanced("GL_TRIANGLES", 0, 36, instances)

    with open_trace(each(frame, start=start, count=2).write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "vertices-past-end")
    assert found.verdict == ("finding" if said else "pass"), found.reason
    assert said is None or found.evidence[0].what == said


TURN = ("glRotatef", 5.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        ([TURN], "pass"),
        ([("glLoadIdentity",), TURN], "finding"),
        ([("glPushMatrix",), TURN, ("glPopMatrix",)], "finding"),
        ([("glPushMatrix",), ("glLoadIdentity",), ("glPopMatrix",), TURN], "pass"),
        ([("glMatrixMode", 0x1701), ("glLoadIdentity",), ("glMatrixMode", 0x1700), TURN], "pass"),
        ([("glAccum", 0x0100, 0.5)], "pass"),
        ([("glBeginTransformFeedback", 4), ("glEndTransformFeedback",)], "pass"),
        ([("glDispatchCompute", 1, 1, 1)], "pass"),
    ],
)
def test_frames_that_build_on_the_one_before_are_not_unchanged(
    calls: list[tuple[object, ...]], verdict: str, tmp_path: Path
):
    """The same calls turn an object on and on where nothing resets its matrix."""

    def frame(s: Scene, i: int) -> Scene:
        for name, *values in calls:
            getattr(s, str(name))(*values)
        return draw(s)

    with open_trace(each(frame).write(tmp_path / "x.dtap")) as trace:
        assert judge(trace, "unchanged-frames").verdict == verdict


@pytest.mark.parametrize("dispatches", [0, 1])
def test_frames_of_vulkan_that_compute_are_not_unchanged(dispatches: int, tmp_path: Path):
    def commands(s: VulkanScene) -> None:
        vulkan_rules.draws(s)
        for _ in range(dispatches):
            s.vkCmdDispatch(CB, 1, 1, 1)

    with open_trace(vulkan_rules.frames(commands).write(tmp_path / "x.dtap")) as trace:
        assert judge(trace, "unchanged-frames").verdict == ("pass" if dispatches else "finding")


GL_FLOAT, GL_FLOAT_MAT2 = 0x1406, 0x8B5A


@pytest.mark.parametrize(
    ("attributes", "links", "places", "finds"),
    [
        (1, 1, (("position", GL_FLOAT, 1),), False),
        (1, 1, (("position", GL_FLOAT, 0),), True),
        (1, 1, (("position", GL_FLOAT_MAT2, 1),), False),
        (1, 1, (("two", GL_FLOAT_MAT2, 0),), True),  # place 1 is its second column
        (2, 1, (("position", GL_FLOAT, 1),), True),  # where the other attribute is nobody knows
        (1, 2, (("position", GL_FLOAT, 1),), True),
        (1, 1, (), True),
    ],
)
def test_arrays_that_the_program_does_not_read(
    attributes: int, links: int, places: tuple[tuple[str, int, int], ...], finds: bool, tmp_path: Path
):
    """Buffer 5 is too small for array 0, and for array 1 in the case of a matrix at 0."""
    small = int(places == (("two", GL_FLOAT_MAT2, 0),))

    def start(s: Scene) -> None:
        linked(s, 3)
        for _ in range(links - 1):
            s.glLinkProgram(3)
        s.glGetProgramiv(3, "GL_ACTIVE_ATTRIBUTES", i32(attributes))
        for at, (name, kind, place) in enumerate(places):
            s.glGetActiveAttrib(3, at, 64, i32(len(name)), i32(1), i32(kind), f"{name}\0".encode())
            s.glGetAttribLocation(3, name, result=place)
        vertices(s.glUseProgram(3), small)
        s.glBindBuffer("GL_ARRAY_BUFFER", 7).glBufferData("GL_ARRAY_BUFFER", 360, bytes(360), "GL_STATIC_DRAW")
        s.glVertexAttribPointer(1 - small, 3, "GL_FLOAT", 0, 0, None).glEnableVertexAttribArray(1 - small)

    with open_trace(each(lambda s, i: draw(s, 4), start=start, count=2).write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "vertices-past-end")
    assert found.verdict == ("finding" if finds else "pass"), found.reason


@pytest.mark.parametrize(
    ("sources", "places", "finds"),
    [
        (("attribute highp vec3 one;\n", "void main() {}"), {"one": 1}, False),
        (("in vec3 one; in vec2 two; void main() {}",), {"one": 1, "two": 2}, False),
        (("layout(location = 1) in vec3 one; void main() {}",), {}, False),
        (("void main() {} // attribute vec3 zero;",), {}, False),
        (("vec3 f(in vec3 a) { return a; } in vec3 one; void main() {}",), {"one": 1}, False),
        (("#define attribute in\nattribute vec3 one; void main() {}",), {"one": 1}, False),
        (("in vec3 zero; void main() {}",), {"zero": 0}, True),
        (("layout(location = 0) in vec3 zero; void main() {}",), {}, True),
        (("in vec3 one; in vec3 open; void main() {}",), {"one": 1}, True),  # the driver chooses the other place
        (("in vec3 one, open; void main() {}",), {"one": 1}, True),
        (("in vec3 one[2]; void main() {}",), {"one": 1}, True),
        (("#define READ in\nREAD vec3 zero; void main() {}",), {}, True),
        (("void main() { gl_Position = gl_Vertex; }",), {}, True),  # place 0 is its own
        (("attribute mat2 zero; void main() {}",), {"zero": 0}, True),
    ],
)
def test_arrays_that_the_shader_does_not_declare(
    sources: tuple[str, ...], places: dict[str, int], finds: bool, tmp_path: Path
):
    """Buffer 5 is too small for array 0. Where shaders and glBindAttribLocation leave a place open, it may be 0."""

    def start(s: Scene) -> None:
        vertices(linked(s, 3, *sources, **places).glUseProgram(3), 0)

    with open_trace(each(lambda s, i: draw(s, 4), start=start, count=2).write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "vertices-past-end")
    assert found.verdict == ("finding" if finds else "pass"), found.reason


def test_indices_of_instances_in_place_of_vertices(tmp_path: Path):
    def start(s: Scene) -> None:
        vertices(s, 0).glVertexAttribDivisor(0, 1)

    def frame(s: Scene, i: int) -> Scene:
        return indexed(s, [0, 1, 9], 3)

    with open_trace(each(frame, start=start, count=2).write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, "vertices-past-end")
    assert found.verdict == "pass", found.evidence


def test_a_clear_with_closed_depth_mask_clears_no_depth(tmp_path: Path):
    def frame(s: Scene, i: int) -> Scene:
        s.glEnable("GL_DEPTH_TEST").glDepthMask(0).glClear("GL_COLOR_BUFFER_BIT|GL_DEPTH_BUFFER_BIT").glDepthMask(1)
        return draw(s)

    with open_trace(each(frame).write(tmp_path / "x.dtap")) as trace:
        assert judge(trace, "depth-clearing").verdict == "finding"


def orphaned(s: Scene, i: int) -> Scene:
    """Give a buffer new memory and write what it held before."""
    s.glBindBuffer("GL_ARRAY_BUFFER", 5).glBufferData("GL_ARRAY_BUFFER", 4096, None, "GL_STREAM_DRAW")
    return draw(s.glBufferSubData("GL_ARRAY_BUFFER", 0, 1024, PIXELS))


def through_another(s: Scene, i: int) -> Scene:
    """Make a context current that is not: another function has made another one current in between."""
    draw(s.glXMakeContextCurrent(0x10, 0x21, 0x21, 0x31, result=1))
    return draw(s.glXMakeCurrent(0x10, 0x20, 0x30, result=1))


def kept(s: Scene) -> Scene:
    """Keep a draw of client arrays in a display list."""
    s.api = 1
    return draw(s.glNewList(5, "GL_COMPILE").memory(b"x" * 36)).glEndList()


# What looked like a finding in programs of others and was none.
NO_FINDINGS: dict[str, list[Callable[[], Scene]]] = {
    "same-buffer-again": [lambda: each(orphaned)],
    "same-context-again": [lambda: each(through_another)],
    "client-arrays": [lambda: each(lambda s, i: s.glCallList(5), start=kept)],
    "texture-compression": [
        lambda: each(lambda s, i: draw(image(fixed(s), bytes([i]) * 65536, 128))),
        lambda: each(lambda s, i: draw(image(bind(s), bytes([i]) * 65536, 128))),
    ],
    "missing-attributes": [
        lambda: each(draw_only, start=lambda s: s.glGetAttribLocation(3, "color", result=-1)),
        lambda: each(
            draw_only, start=lambda s: declared(s, "uniform mat4 place; /* in vec3 normal; */ void main() {}")
        ),
        lambda: each(draw_only, start=lambda s: declared(s, "in vec3 normals; out vec3 normal; void main() {}")),
    ],
}


@pytest.mark.parametrize(
    ("rule", "at"), [(rule, i) for rule, scenes in NO_FINDINGS.items() for i in range(len(scenes))]
)
def test_what_is_no_finding(rule: str, at: int, tmp_path: Path):
    with open_trace(NO_FINDINGS[rule][at]().write(tmp_path / "x.dtap")) as trace:
        found = judge(trace, rule)
    assert found.verdict == "pass", (found.reason, found.evidence)


def test_framebuffers_of_two_contexts_are_two(tmp_path: Path):
    def body(s: Scene, i: int) -> None:
        s.context(3 if i == 11 else 1 + i % 2)
        target(s, 9).glFramebufferRenderbuffer("GL_FRAMEBUFFER", "GL_DEPTH_ATTACHMENT", "GL_RENDERBUFFER", 4)
        draw(s.glBindTexture("GL_TEXTURE_2D", 1))
        target(s, 0)

    with open_trace(each(body).write(tmp_path / "t.dtap")) as trace:
        assert sorted(str(e.what) for e in judge(trace, "depth-not-discarded").evidence) == [
            "framebuffer 9 of context 1 in 5 frames",
            "framebuffer 9 of context 2 in 5 frames",
            "framebuffer 9 of context 3 in 1 frames",
        ]
        # No framebuffer is used in most of the frames.
        assert judge(trace, "targets-not-cleared").verdict != "finding"


def test_rules_of_other_apis_are_counted_not_named(tmp_path: Path):
    with open_trace(each(draw_only).write(tmp_path / "x.dtap")) as trace:
        shown = view.text(checklist(trace), "x", most=3, everything=False)
    vulkan = sum(1 for _, entry in RULES.items() if entry.api == "vk")
    assert vulkan >= 30
    assert f"not checked: {vulkan} rules\n  because the recording has no calls of Vulkan" in shown
