"""From a pixel to the triangles that cover it, and from a vertex to its pixel, held against arithmetic of our own."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import drawtap as package
from drawtap.errors import UnavailableError
from drawtap.replay import look
from drawtap.web.recording import Recording
from shared import BROWSER
from web.conftest import Server

SIDE, FRAME = 64, 2
# What tests/gl/programs/es1_cube.c draws.
CORNERS = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])
INDICES = np.array(
    [[0, 4, 5], [0, 5, 1], [1, 5, 6], [1, 6, 2], [2, 6, 7], [2, 7, 3],
     [3, 7, 4], [3, 4, 0], [4, 7, 6], [4, 6, 5], [3, 0, 1], [3, 1, 2]]
)  # fmt: skip


def _clip() -> np.ndarray:
    """Return the clip coordinates of the cube's corners in FRAME: frustum, translation, rotation."""
    near, far = 1.0, 20.0
    projection = np.array(
        [[near, 0, 0, 0], [0, near, 0, 0],
         [0, 0, -(far + near) / (far - near), -2 * far * near / (far - near)], [0, 0, -1, 0]]
    )  # fmt: skip
    axis, angle = np.array([0.3, 1, 0.2]), np.radians(25 * FRAME)
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    view = np.eye(4)
    view[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    view[2, 3] = -4
    return np.c_[CORNERS, np.ones(len(CORNERS))] @ (projection @ view).T


def _pixels() -> np.ndarray:
    clip = _clip()
    return (clip[:, :2] / clip[:, 3:] + 1) / 2 * SIDE


def _covering(x: int, y: int) -> list[int]:
    """Return the triangles whose projection has the centre of a pixel inside."""
    found = []
    for number, triangle in enumerate(_pixels()[INDICES]):
        edges = np.roll(triangle, -1, axis=0) - triangle
        to = np.array([x + 0.5, y + 0.5]) - triangle
        sides = edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0]
        if (sides >= 0).all() or (sides <= 0).all():
            found.append(number)
    return found


def _front(number: int) -> bool:
    a, b, c = _pixels()[INDICES[number]]
    (ux, uy), (vx, vy) = b - a, c - a
    return ux * vy - uy * vx > 0


@pytest.fixture(scope="module")
def cube(recordings):
    """Return the recording of the cube, and its draw of FRAME."""
    path = recordings / "es1_cube.dtap"
    with package.open(path) as trace:
        return path, trace.sql(f"SELECT seq FROM draws WHERE kind = 'draw' AND frame = {FRAME}").fetchall()[0][0]


def _taken(answer):
    (length,) = struct.unpack_from("<I", answer)
    return json.loads(answer[4 : 4 + length]), answer[4 + length :]


@pytest.fixture(scope="module")
def looked(cube):
    """Return the draw's positions, and its fragments by pixel."""
    path, seq = cube
    recording = Recording(path)
    try:
        head, data = _taken(recording.looks.mesh(seq))
        place = head["arrays"]["positions"]
        positions = np.frombuffer(data, place["type"], place["length"], place["at"]).reshape(-1, 3, 4)
        head, data = _taken(recording.looks.masks(seq))
        at = head["names"].index("covered") * SIDE * SIDE
        return positions, np.frombuffer(data, np.uint8, SIDE * SIDE, at).reshape(SIDE, SIDE)
    finally:
        recording.close()


def test_positions_are_those_that_arithmetic_gives(looked):
    assert np.allclose(looked[0], _clip()[INDICES], rtol=1e-5, atol=1e-5)


def _of_pass(recording, seq):
    """Return the answer's head, and for each draw the bytes of its positions and fates."""
    head, data = _taken(recording.looks.whole_pass(seq))
    fates = data[head["corners"] * 16 :]
    assert len(fates) == head["primitives"]
    return head, [
        (
            data[one["corner"] * 16 : (one["corner"] + one["primitives"] * one["corners"]) * 16],
            fates[one["primitive"] : one["primitive"] + one["primitives"]],
        )
        for one in head["draws"]
    ]


def test_a_pass_is_the_sum_of_its_draws(recordings):
    for name, where in (("fbo_chain", "frame = 1 AND draws = 2"), ("client_arrays_es2", "draws > 10")):
        recording = Recording(recordings / f"{name}.dtap")
        try:
            number, framebuffer, first, last = recording.trace.sql(
                f"SELECT pass_number, framebuffer, first_seq, last_seq FROM passes WHERE kind = 'draw' AND {where}"
            ).fetchone()
            draws = recording.trace.sql(
                f"SELECT seq FROM draws WHERE kind = 'draw' AND seq BETWEEN {first} AND {last} ORDER BY seq"
            ).fetchall()
            calls = [seq for (seq,) in draws]
            head, parts = _of_pass(recording, calls[1])
            assert (head["pass"], head["framebuffer"], head["left_out"]) == (number, framebuffer, 0)
            assert [one["call"] for one in head["draws"]] == calls
            for at in {0, 1, 2, len(calls) - 1} & set(range(len(calls))):
                one, (alone, data) = head["draws"][at], _taken(recording.looks.mesh(calls[at]))
                arrays = {
                    name: np.frombuffer(data, to["type"], to["length"], to["at"]).tobytes()
                    for name, to in alone["arrays"].items()
                }
                assert parts[at] == (arrays["positions"], arrays["fates"])
                assert (one["why"], one["instances"], one["corners"]) == ("", alone["instances"], alone["corners"])
                assert one["counts"] == alone["counts"]
                assert one["vertices"] * 4 == len(arrays["vertices"])
            obj = recording.looks.pass_file(calls[1]).decode()
            assert [line for line in obj.splitlines() if line.startswith("g call-") and " inst" not in line] == [
                f"g call-{seq}" for seq in calls
            ]
            assert sum(obj.count(f"\n{kind} ") for kind in "plf") == head["primitives"]
            few = look.pass_draws(recording.trace, calls[-1], 1)
            assert ([seq for seq, _ in few.draws], few.left_out) == ([calls[-1]], len(calls) - 1)
            with pytest.raises(UnavailableError, match="in no pass that draws"):
                recording.looks.whole_pass(len(recording.trace.calls) - 1)  # it ends EGL
        finally:
            recording.close()


def test_vertices_of_a_display_list_are_counted(recordings):
    """What glCallList draws in ff_lists.c: two triangles of a strip, whose four vertices glVertex3f gave."""
    recording = Recording(recordings / "ff_lists.dtap")
    try:
        [(seq,)] = recording.trace.sql(
            "SELECT min(seq) FROM draws WHERE kind = 'draw' AND function = 'glCallList'"
        ).fetchall()
        head, _ = _taken(recording.looks.mesh(seq))
        assert (head["given"], head["why_in"]) == (4, "its vertices are given one by one")
        assert sum(count for name, count in head["counts"].items() if name != "clipped") == 2
        assert head["arrays"]["vertices"]["length"] == 0
    finally:
        recording.close()


def test_a_pass_names_the_draws_that_it_cannot_show():
    of = look.PassDraws(3, 7, 1, 40, tuple((seq, "glDrawArrays") for seq in range(50, 57)), 0)
    size = {50: 4, 51: 0, 52: 5, 53: 1, 54: 9, 55: 1, 56: 30}
    asked = []

    def ask(first, last, request):
        asked.append((first, last, request["find"]))
        n = size[last]
        head = {
            "found": last != 51, "inputs": [], "primitives": n, "corners": 3, "instances": 1, "base_instance": 0,
            "given": 0, "indices": 0, "places": 0, "vertices": 0, "mode": 4, "viewport": [0, 0, 8, 8], "why_in": None,
            "why": "its vertices are not in the recording" if last == 53 else None, "more": False,
        }  # fmt: skip
        return head, bytes(n * (48 + 4 + 1))

    found = look.pass_mesh(of, 56, ask, 30)
    assert [one.mesh and len(one.mesh.fates) for one in found] == [4, None, 5, None, None, None, 30]
    large = "left out: with it the pass has more than 30 corners"
    assert [one.why for one in found] == [
        "", "the player knows no primitives of it", "", "its vertices are not in the recording", large, large, "",
    ]  # fmt: skip
    starts = {50: 40, 51: 51, 52: 52, 53: 53, 54: 54, 56: 55}  # 55 is not asked: there is no room for it
    assert asked == [(first, last, "mesh") for last, first in starts.items()]
    assert f"\n# call 54 glDrawArrays: {large}\n" in look.pass_obj(of, found)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_instances_are_shown_one_by_one(opened, recordings):
    path = recordings / "client_arrays_es2.dtap"
    offsets = np.float32([[0, 0], [0.5, 0], [0, 0.5], [-0.5, 0], [0, -0.5], [0.3, 0.3]])  # each of two instances
    recording = Recording(path)
    try:
        (seq,) = recording.trace.sql("SELECT min(seq) FROM glDrawArraysInstanced").fetchone()
        head, data = _taken(recording.looks.mesh(seq))
        arrays = {name: np.frombuffer(data, at["type"], at["length"], at["at"]) for name, at in head["arrays"].items()}
        found = look.mesh(recording.trace, seq, recording.looks._ask)
    finally:
        recording.close()
    inputs = {one["name"]: arrays[f"input{i}"].reshape(-1, one["size"]) for i, one in enumerate(head["inputs"])}
    assert (head["instances"], head["base_instance"]) == (11, 0)
    assert np.array_equal(inputs["offset"], offsets)
    out = arrays["positions"].reshape(11, 3, 4)[:, :, :2]
    given = np.array([inputs["position"] + offsets[k // 2] for k in range(11)])
    assert np.allclose(out, given, atol=1e-6)
    csv = [row.split(",") for row in look.mesh_csv(found).splitlines()]
    assert look.mesh_csv(found, 5).splitlines()[1:] == [",".join(row) for row in csv if row[2] == "5"]
    at = [csv[0].index(name) for name in ("instance", "offset.x", "offset.y")]
    assert [[np.float32(row[i]) for i in at] for row in csv[1:]] == [
        [k, *offsets[k // 2]] for k in range(11) for _ in range(3)
    ]
    obj = look.mesh_obj(found).splitlines()
    assert [line for line in obj if line.startswith("g ")] == [f"g instance-{k}" for k in range(11)]
    assert obj.index("g instance-5") == obj.index("g instance-4") + 5  # three corners and a face
    running = Server(path)
    rows = (
        "[...document.querySelectorAll('.rows-of-mesh tbody tr')].map((row) => [...row.cells].map((c) => c.innerText))"
    )
    try:
        page = opened(f"call={seq}&tab=mesh", running)
        page.reads("all 11 instances; offset as instance 0 has it")
        assert len(page.page.evaluate(rows)) == 33
        page.page.get_by_label("instance", exact=True).fill("5")
        page.press("Enter")
        page.reads("instance 5 of 11; offset as it has it")
        shown = page.page.evaluate(rows)
        assert [[float(v) for v in row[3:5]] for row in shown] == [
            [pytest.approx(float(v), rel=1e-6) for v in p] for p in out[5]
        ]
        page.page.get_by_role("button", name="in: as the program gave them").click()
        page.wait("place.mesh === 'in' && place.instance === 5")
        page.until("document.querySelector('.rows-of-mesh th:nth-child(3)')?.innerText.startsWith('position')")
        names = page.page.locator(".rows-of-mesh th").all_inner_texts()
        columns = [names.index(f"offset.{c}") for c in "xy"]
        assert [[row[i] for i in columns] for row in page.page.evaluate(rows)] == [["0", "0.5"]] * 3
        page.page.get_by_role("button", name="all", exact=True).click()
        page.reads("as instance 0 has it")
        _whole_pass(page, seq, rows)
    finally:
        assert running.close() == 0


def _whole_pass(page, seq, rows) -> None:
    """All draws of the pass stand in one view, the selected one with a sign and a colour of its own."""
    page.page.get_by_role("button", name="whole pass: out, all draws").click()
    page.wait("place.mesh === 'pass'")
    page.until("document.querySelector('#panel h2')?.innerText.startsWith('Pass ')")
    page.until(f"location.hash.includes('call={seq}&') && location.hash.includes('mesh=pass')")
    shown = page.page.evaluate(rows)
    [(_, call, _, primitives, _, instances, becomes)] = [row for row in shown if row[0]]
    assert (call, primitives, instances) == (str(seq), "11", "11")
    assert sum(int(part.split()[0]) for part in becomes.split(", ")) == 11
    assert page.page.locator("tr[aria-current] td").first.inner_text() == "▶ selected"
    red = (
        "(() => { const c = document.querySelector('canvas.space');"
        " const all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;"
        " for (let i = 0; i < all.length; i += 4) n += all[i] > 200 && all[i + 1] < 80 && all[i + 3] > 250;"
        " return n; })()"
    )
    assert page.page.evaluate(red) > 10
    other = next(row[1] for row in shown if row[0] == "" and row[3] not in ("", "0"))
    page.page.locator(".rows-of-mesh a", has_text=other).first.click()
    page.wait(f"place.mesh === 'pass' && place.call === {other}")
    page.until(f"document.querySelector('tr[aria-current]')?.cells[1].innerText === '{other}'")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_pixels_lead_to_triangles_and_vertices_to_pixels(opened, cube, looked):
    path, seq = cube
    _, covered = looked
    running = Server(path)
    try:
        page = opened(f"call={seq}&tab=mesh", running)
        page.reads("rasterised")
        _every_pixel(page, seq, covered)
        y, x = (int(v[0]) for v in np.nonzero(covered))
        triangles = _covering(x, y)
        assert sum(map(_front, triangles)) == 1  # what the driver drew there
        _from_the_picture(page, seq, x, y, triangles)
        _to_the_picture(page)
        _in_space(page)
    finally:
        assert running.close() == 0


def _every_pixel(page, seq, covered) -> None:
    """Triangles that cover a pixel and are drawn are as many as the driver's fragments there."""
    found = page.page.evaluate(
        """async ([seq, side]) => {
          const { covering, fetchMesh } = await import("/app/mesh.js");
          const mesh = await fetchMesh({ recording: drawtap.recording, signal: undefined }, seq);
          const drawn = (i) => mesh.fates[i] >= 4, found = [];
          for (let y = 0; y < side; y++)
            for (let x = 0; x < side; x++) found.push(covering(mesh, x, y).filter(drawn).length);
          return found;
        }""",
        [seq, SIDE],
    )
    assert np.array_equal(np.array(found).reshape(SIDE, SIDE), covered)


def _current(page) -> list[int]:
    return page.page.evaluate(
        "[...document.querySelectorAll('tr[aria-current]')].map((row) => row.cells[0].innerText)"
        ".filter(Boolean).map(Number)"
    )


def _from_the_picture(page, seq, x, y, triangles) -> None:
    page.press("3")
    page.reads(f"After call {seq}")
    page.page.locator(".picture canvas").first.click(position={"x": x + 0.5, "y": SIDE - 1 - y + 0.5})
    page.wait(f"place.px === '{x},{y}'")
    page.page.get_by_role("link", name="its primitives here").last.click()
    page.wait(f"place.tab === 'mesh' && place.call === {seq}")
    page.until(f"document.querySelector('#covering')?.innerText.includes('cover pixel {x}, {y}')")
    named = page.page.evaluate("[...document.querySelectorAll('#covering a')].map((a) => a.innerText)")
    assert named == [*map(str, triangles), "picture"]
    assert _current(page) == triangles
    assert page.page.locator("#panel h2").count() == 1


def _to_the_picture(page) -> None:
    page.page.locator("#covering a").first.click()
    chosen = _current(page)
    assert len(chosen) == 1
    corner = int(INDICES[chosen[0]][0])
    x, y = (int(v) for v in _pixels()[corner])
    page.page.locator("tr[aria-current] a", has_text=f"{x}, {y}").first.click()
    page.wait(f"place.tab === 'picture' && place.px === '{x},{y}'")
    page.page.wait_for_selector(".cursor:visible")
    marked = page.page.evaluate(
        "(() => { const of = document.querySelector('.stack canvas').getBoundingClientRect(),"
        " at = document.querySelector('.cursor').getBoundingClientRect();"
        " return [(at.left - of.left) / of.width, (of.bottom - at.bottom) / of.height]; })()"
    )
    assert [round(v * SIDE) for v in marked] == pytest.approx([x, y], abs=2)  # its frame is 3 pixels at least
    page.press("m")
    page.page.get_by_role("button", name="in: as the program gave them").click()
    page.wait("place.mesh === 'in'")
    page.until(f"[...document.querySelectorAll('#panel td a')].some((a) => a.innerText === '{x}, {y}')")


def _in_space(page) -> None:
    """A click on a corner of the lines chooses the vertex that lies there."""
    page.page.get_by_role("button", name="out: behind the last stage").click()
    page.wait("place.mesh === ''")
    page.page.evaluate("drawtap.store.set({ px: '' })")
    page.until("!document.getElementById('covering') && document.querySelector('#panel canvas.space')")
    clip = _clip()
    corner = int(np.argmax(np.abs(clip[:, 0] / clip[:, 3])))
    box = page.page.locator("canvas.space").bounding_box()
    scale = 0.45 * 360 * box["width"] / 560
    at = {
        "x": box["width"] / 2 + clip[corner, 0] / clip[corner, 3] * scale,
        "y": box["height"] / 2 - clip[corner, 1] / clip[corner, 3] * scale,
    }
    page.page.locator("canvas.space").click(position=at)
    page.until("document.querySelectorAll('tr[aria-current]').length === 3")
    assert corner in INDICES[_current(page)[0]]
