"""Vertices of draws of fates.c, whose shaders and buffers say where each corner is."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from drawtap.errors import UnavailableError
from drawtap.replay import look
from drawtap.replay.place import Place
from drawtap.replay.warm import Warm
from drawtap.trace.trace import Trace, open_trace
from drawtap.web.recording import Recording
from shared import run_drawtap
from vulkan.conftest import Record, environment

BACKFACE, RASTERISED, CLIPPED = (look.FATES.index(name) for name in ("backface", "rasterised", "clipped"))
END = 0xFFFFFFFF
#: The vertices of the triangles of both strips, the second one as Vulkan turns it.
STRIPS = [(1, 2, 3), (2, 4, 3), (5, 6, 7)]


def _meshes(path: Path, *draws: int) -> list[look.Mesh]:
    with (
        open_trace(path) as trace,
        Warm(path, environment=environment(), looks=True) as asked,
    ):
        places = _draws(trace)
        return [look.mesh(trace, places[draw], asked.look) for draw in draws]


def _draws(trace: Trace) -> list[Place]:
    rows = trace.sql("SELECT submit_seq, seq FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()
    return [Place(*row) for row in rows]


@pytest.mark.parametrize(("mode", "instances"), [("pass", 1), ("rendering", 1), ("many", 3)])
def test_positions_are_those_of_the_last_stage(mode: str, instances: int, fates: Path) -> None:
    drawn, culled, small = _meshes(fates / f"{mode}.dtap", 0, 2, 4)
    for mesh, depth in ((drawn, 0.5), (culled, 0.25)):
        assert (mesh.why, mesh.why_in, mesh.more, mesh.instances) == ("", "", False, instances)
        triangle = [[-1, -1, depth, 1], [3, -1, depth, 1], [-1, 3, depth, 1]]
        assert mesh.positions.tolist() == [triangle] * instances
        assert (mesh.indices.tolist(), mesh.places.tolist(), mesh.vertices.tolist()) == ([0, 1, 2],) * 3
        assert mesh.inputs == ()
    assert drawn.fates.tolist() == [CLIPPED] * instances
    assert culled.fates.tolist() == [BACKFACE] * instances
    assert (drawn.viewport, small.viewport) == ((0, 16, 16, -16), (0, 16, 4, -4))
    assert drawn.areas.tolist() == [256] * instances


def test_vertices_that_go_in_come_from_the_bound_buffers(fates: Path) -> None:
    """Strips with a restart, an offset of vertices, and an attribute by instance from a base on."""
    drawn, culled = _meshes(fates / "indexed.dtap", 0, 2)
    assert (drawn.why, drawn.why_in, drawn.instances, drawn.base_instance) == ("", "", 2, 1)
    assert drawn.indices.tolist() == [1, 2, 3, 4, END, 5, 6, 7]
    assert drawn.vertices.tolist() == list(range(1, 8))
    place, tint = drawn.inputs
    assert (place.name, place.divisor, tint.name, tint.divisor) == ("place", 0, "tint", 1)
    expected = np.array([(i / 8 - 0.5, 0.5 if i & 1 else -0.25) for i in range(8)])
    assert np.array_equal(place.values, expected[1:])
    assert np.allclose(tint.values, np.array([(0, 0, 51, 255), (0, 255, 102, 255)]) / 255)
    corners = [tuple(drawn.indices[drawn.places[i : i + 3]].tolist()) for i in (0, 3, 6)]
    turned = [{t[i:] + t[:i] for i in range(3)} for t in STRIPS]  # a triangle may begin with any corner
    assert all(one in some for one, some in zip(corners, turned, strict=True))
    for instance in (0, 1):
        for number, corner in enumerate(corners):
            xy = expected[list(corner)] + [0, instance]
            assert np.array_equal(drawn.positions[instance * 3 + number, :, :2], xy)
    assert (drawn.positions[:, :, 2:] == [0.5, 1]).all()
    assert drawn.fates.tolist() == [RASTERISED] * 3 + [CLIPPED] * 3
    assert drawn.areas[:3].tolist() == [6, 6, 6]  # a quarter wide, three quarters high, of 8 pixels each
    assert culled.fates.tolist() == [BACKFACE] * 6


def test_what_is_not_known_says_why(fates: Path, draws: Path) -> None:
    """The inputs of a draw are read even where it is not performed again."""
    [stores] = _meshes(fates / "stores.dtap", 0)
    assert stores.why == "its shaders write memory: drawn again, they would do so again"
    assert (stores.why_in, stores.indices.tolist(), len(stores.fates)) == ("", [0, 1, 2], 0)
    [sub] = _meshes(draws / "subpasses.dtap", 0)
    assert sub.why == sub.why_in == "the render pass does not preserve what it draws to"


def test_page_and_verb_have_the_same(fates: Path, tmp_path: Path) -> None:
    path = fates / "indexed.dtap"
    with open_trace(path) as trace:
        draw = _draws(trace)[0].draw
    [mesh] = _meshes(path, 0)
    with contextlib.closing(Recording(path)) as seen:
        seen.environment = environment()
        assert seen.looks.mesh_file(draw, "csv").decode() == look.mesh_csv(mesh)
    done = run_drawtap("image", path, str(draw), "--mesh", tmp_path / "x.obj", environment=environment())
    assert done.returncode == 0, done.stderr
    assert f"6 primitives, 2 instances, of call {draw}" in done.stdout
    assert (tmp_path / "x.obj").read_text() == look.mesh_obj(mesh)
    assert "# y points down" in look.mesh_obj(mesh)
    rows = look.mesh_csv(mesh).splitlines()
    assert rows[0] == "place,vertex,instance,place.x,place.y,tint.x,tint.y,tint.z,tint.w"
    assert len(rows) == 1 + 7 * 2


@pytest.mark.parametrize(("mode", "of"), [("many", "fates"), ("pass", "draws")])
def test_a_whole_pass_has_the_meshes_of_its_draws(mode: str, of: str, fates: Path, draws: Path, tmp_path: Path) -> None:
    """In one answer of the player; draws of secondary command buffers too."""
    path = (fates if of == "fates" else draws) / f"{mode}.dtap"
    with open_trace(path) as trace, Warm(path, environment=environment(), looks=True) as asked:
        places = _draws(trace)
        rows = trace.sql("SELECT seq, pass_number FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()
        own = [int(seq) for seq, number in rows if number == rows[0][1]]
        whole = look.pass_draws(trace, places[0])
        found = look.pass_mesh(whole, places[0].draw or 0, asked.look)
        part = look.pass_draws(trace, places[1], most=1)
        single = {i: look.mesh(trace, places[i], asked.look) for i in range(0, len(own), 7)}
        few = look.pass_mesh(whole, own[1], asked.look, most=0)
    assert [one.call for one in found] == own
    assert whole.left_out == 0
    assert [one.why for one in found] == [""] * len(own)
    for i, mesh in single.items():
        one = found[i]
        assert one.mesh is not None
        assert np.array_equal(one.mesh.positions, mesh.positions)
        assert np.array_equal(one.mesh.fates, mesh.fates)
        assert np.array_equal(one.mesh.places, mesh.places)
        assert (one.mesh.instances, one.mesh.viewport) == (mesh.instances, mesh.viewport)
    assert ([seq for seq, _ in part.draws], part.left_out) == ([own[1]], len(own) - 1)
    assert [one.mesh is not None for one in few] == [call == own[1] for call in own]
    words = ("image", path, str(own[0]), "--mesh", tmp_path / "p.obj", "--whole-pass")
    done = run_drawtap(*words, environment=environment())
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "p.obj").read_text()
    assert text == look.pass_obj(whole, found)
    assert [line for line in text.splitlines() if line.startswith("g call-") and " " not in line[2:]] == [
        f"g call-{call}" for call in own
    ]
    assert text.count("\nv ") == 3 * len(own) * len(single[0].fates)


def test_the_page_has_the_pass_of_indexed_draws(fates: Path) -> None:
    path = fates / "indexed.dtap"
    with open_trace(path) as trace:
        place = _draws(trace)[1]
    [mesh] = _meshes(path, 1)
    with contextlib.closing(Recording(path)) as seen:
        seen.environment = environment()
        answer = seen.looks.whole_pass(place.draw or 0)
    (length,) = struct.unpack_from("<I", answer)
    head = json.loads(answer[4 : 4 + length])
    assert (head["submit"], len(head["draws"]), head["left_out"]) == (place.call, 13, 0)
    row = head["draws"][1]
    assert (row["call"], row["vertices"], row["instances"], row["each"], row["primitives"]) == (place.draw, 7, 2, 3, 6)
    assert row["counts"] == mesh.counts()
    positions = np.frombuffer(answer, np.float32, head["corners"] * 4, 4 + length + -(4 + length) % 8)
    begin = row["corner"] * 4
    assert np.array_equal(positions[begin : begin + mesh.positions.size], mesh.positions.ravel())


@pytest.fixture(scope="session")
def stages(record: Record) -> Path:
    """A recording of stages.c."""
    return record("stages") / "stages.dtap"


@pytest.mark.exhaustive  # its program takes seconds to build and record; other draws show that meshes are read
def test_stages_that_make_vertices(stages: Path) -> None:
    """Geometry, tessellation, numbers in a buffer, and vertex input of a command."""
    quads, halves, indirect, given = _meshes(stages, 0, 1, 2, 3)
    assert [one.why for one in (quads, halves, indirect, given)] == [""] * 4
    place = np.array([(i / 8 - 0.5, 0.25 if i & 1 else -0.25) for i in range(8)])
    # A strip of four corners at each point: two triangles, which meet in the second and the third corner.
    corners = [place[i] + [(k & 1) * 0.5, (k >> 1) * 0.5] for i in (0, 1) for k in range(4)]
    expected = [{tuple(corners[i + k]) for k in three} for i in (0, 4) for three in ((0, 1, 2), (1, 2, 3))]
    assert [{tuple(corner[:2]) for corner in one.tolist()} for one in quads.positions] == expected
    assert (quads.places.size, quads.inputs[0].values.tolist()) == (0, place[:2].tolist())
    # Edges in two parts make an inner level of two: six triangles about the centre, as large as the patch together.
    patch = place[:3]
    known = {tuple(np.round(at, 4)) for at in (*patch, *((patch + np.roll(patch, 1, 0)) / 2), patch.mean(0))}
    xy = halves.positions[..., :2].astype(float)
    assert len(xy) == 6
    assert {tuple(np.round(at, 4)) for at in xy.reshape(-1, 2)} == known
    assert np.isclose(sum(_area(one) for one in xy), _area(patch), rtol=1e-3)
    # Two instances of vertices 2 to 4.
    assert (indirect.instances, indirect.indices.tolist(), indirect.places.tolist()) == (2, [2, 3, 4], [0, 1, 2])
    assert np.array_equal(indirect.positions[..., :2], [place[2:5]] * 2)
    # A stride of two vertices.
    assert np.array_equal(given.positions[0, :, :2], place[:6:2])
    assert given.inputs[0].values.tolist() == place[:6:2].tolist()


def _area(corners: np.ndarray) -> float:
    (ax, ay), (bx, by), (cx, cy) = corners
    return abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / 2


def test_the_page_says_which_draws_read_a_range(fates: Path) -> None:
    """Instances 1 and 2 of an attribute with four bytes from byte 72 on; eight indices of two bytes behind byte 96."""
    path = fates / "indexed.dtap"
    with open_trace(path) as trace:
        place = _draws(trace)[1]
        [(shape,)] = trace.sql('SELECT DISTINCT buffer FROM "vkCmdBindIndexBuffer"').fetchall()
    with contextlib.closing(Recording(path)) as seen:
        answers = [seen.buffers.touched(place.call, 0, int(shape), first, first + 1) for first in (76, 99)]
    for answer, what in zip(answers, ("attribute 1, instances 1", "indices 1 to 8"), strict=True):
        rows = answer["readers"]["rows"]  # type: ignore[index]
        assert {row[0] for row in rows} == {place.call}
        certain = [row for row in rows if row[-1] == "yes"]
        assert len(certain) == 13
        assert f"{what}, call {place.draw}" in [row[2] for row in certain]


def test_a_draw_outside_of_a_pass_has_none(recorded: Path) -> None:
    with open_trace(recorded) as trace, pytest.raises(UnavailableError, match="no such image to draw to"):
        look.pass_draws(trace, Place(0, 0))
