"""Vertices of draws of fates.c, whose shaders and buffers say where each corner is."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from drawtap.replay import look
from drawtap.replay.place import Place
from drawtap.replay.warm import Warm
from drawtap.trace.trace import Trace, open_trace
from drawtap.web.recording import Recording
from shared import run_drawtap
from vulkan.conftest import environment

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
