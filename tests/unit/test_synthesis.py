"""Synthetic programs: what they draw covers what it should, and what their calls do is what was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import drawtap
from drawtap.analysis import content, synthesis, synthesis_request
from drawtap.analysis import synthesis_geometry as geometry
from drawtap.analysis.synthesis_counts import counted
from drawtap.analysis.synthesis_request import FEATURES, TOLERANCE, Request
from drawtap.errors import DrawtapError
from drawtap.formats.calls import CallWriter

SETS = {
    "one triangle": {"draws": 1, "triangles": 1, "fragments": 3000},
    "one that covers all": {"draws": 1, "triangles": 1, "fragments": 120 * 90},
    "much over little": {"draws": 3, "triangles": 10, "fragments": 120 * 90 * 3.5},
    "many small": {"draws": 20, "triangles": 2011, "fragments": 9000, "clears": 1},
    "strips": {"draws": 8, "triangles": 400, "vertices": 700, "fragments": 20000},
    "only strips": {"draws": 4, "triangles": 100, "vertices": 108, "fragments": 5000},
    "states": {"draws": 7, "triangles": 14, "state_calls": 61, "binds": 20, "same_binds": 5, "uniforms": 30},
    "uploads": {"draws": 2, "texture_uploads": 1.5, "texels": 3000, "texture_bytes": 6000, "texture_memory": 5e5},
    "mixed formats": {"draws": 1, "texture_uploads": 2, "texels": 5000, "texture_bytes": 12500},
    "buffers": {"draws": 1, "buffer_uploads": 0.5, "buffer_bytes": 2500, "clears": 2},
    "no draws": {"draws": 0, "clears": 3, "uniforms": 4, "state_calls": 6},
    "culled": {"draws": 3, "triangles": 90, "backface_culled": 30, "frustum_culled": 21, "fragments": 4000},
    "fetches": {"draws": 4, "triangles": 8, "fragments": 8000, "texture_fetches": 18000, "texture_memory": 65536},
}


def area(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twice the signed areas of triangles."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def covered(corners: np.ndarray, width: int, height: int) -> np.ndarray:
    """How often each centre of a pixel lies in a triangle (3 n corners), by the signs of three areas.

    Points on an edge count as in for a top-left rule that the scenes here do not need: no centre lies on one, or it
    lies on an edge of two triangles, which is told by the sum being whole halves.
    """
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    found = np.zeros((height, width))
    for a, b, c in corners.reshape(-1, 3, 2):
        sides = [(q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) for p, q in ((a, b), (b, c), (c, a))]
        inside = np.all([s > 1e-9 for s in sides], axis=0)
        edge = np.all([s > -1e-9 for s in sides], axis=0) & ~inside
        found += inside + 0.5 * edge
    return found


@pytest.mark.parametrize("triangles", [2, 3, 7, 8, 61, 500])
@pytest.mark.parametrize(("width", "height"), [(40, 30), (1, 17), (33, 1), (5, 5)])
def test_a_grid_covers_its_rectangle_once(width, height, triangles):
    corners = geometry.grid(3, 2, width, height, triangles)
    assert corners.shape == (3 * triangles, 2)
    found = covered(corners, 48, 36)
    # Where more than two triangles meet in the centre of a pixel the halves do not tell; there are few of those.
    inside = found[2 : 2 + height, 3 : 3 + width]
    assert np.mean(inside == 1) > 0.97
    assert found.sum() == pytest.approx(inside.sum())
    areas = area(corners[0::3], corners[1::3], corners[2::3])
    assert np.all(areas > 0), "all of them face the viewer"
    assert areas.sum() / 2 == pytest.approx(width * height)


@pytest.mark.parametrize("triangles", [2, 3, 9, 40])
def test_a_strip_covers_its_rectangle_once(triangles):
    corners = geometry.strip(1, 2, 30, 20, triangles)
    assert corners.shape == (triangles + 2, 2)
    flat = [corners[[i, i + 1, i + 2] if i % 2 == 0 else [i + 1, i, i + 2]] for i in range(triangles)]
    areas = [area(*t) for t in flat]
    assert min(areas) > 0
    assert sum(areas) / 2 == pytest.approx(600)


@pytest.mark.parametrize("area", [1, 40, 777, 5000, 6100, 10000])
def test_a_triangle_alone_covers_what_it_says(area):
    corners, pixels = geometry._alone(area, 120, 90)
    assert covered(corners, 120, 90).sum() == pixels
    assert pixels == pytest.approx(area, rel=0.1, abs=1)


@pytest.mark.parametrize("name", SETS)
def test_calls_do_what_was_asked_for(name, tmp_path):
    request = Request(SETS[name], width=120, height=90, frames=10)
    made = synthesis.make(request, tmp_path / "a.dtap")
    assert made.notes == ()
    with drawtap.open(made.path) as trace:
        found = counted(trace, range(1, 11))
        assert len([f for f in trace.table("frames") if f["end_function"]]) == 11
        assert content.surface(trace) == (120, 90)
    for feature, asked in request.asked.items():
        if FEATURES[feature].counts or FEATURES[feature].once:
            assert found[feature] == pytest.approx(asked, rel=TOLERANCE, abs=1e-9), feature


@pytest.mark.parametrize("name", [n for n, asked in SETS.items() if "fragments" in asked])
def test_draws_cover_what_was_asked_for(name):
    asked = {"backface_culled": 0, "frustum_culled": 0, **SETS[name]}
    made = geometry.Geometry(120, 90)
    counts = {key: round(asked[key]) for key in ("draws", "triangles", "backface_culled", "frustum_culled")}
    draws = geometry.draws_of(made, counts, asked["fragments"], asked.get("vertices"))
    corners = np.concatenate(made.corners)
    pixels = 0.0
    for draw in draws:
        mine = corners[draw.first : draw.first + draw.count]
        if draw.mode == "GL_TRIANGLE_STRIP":
            at = [[i, i + 1, i + 2] if i % 2 == 0 else [i + 1, i, i + 2] for i in range(len(mine) - 2)]
            mine = mine[np.array(at)].reshape(-1, 2)
        pixels += covered(mine, 120, 90).sum()
    assert sum(d.fragments for d in draws) == pytest.approx(pixels, rel=0.01)
    assert pixels == pytest.approx(asked["fragments"], rel=0.02)


def test_fractions_come_out_over_the_frames(tmp_path):
    request = Request({"draws": 2.5, "triangles": 10, "uniforms": 0.3}, frames=10)
    with drawtap.open(synthesis.make(request, tmp_path / "a.dtap").path) as trace:
        rows = content.frame_stats(trace)[1:]
    assert {row["draws"] for row in rows} == {2, 3}
    assert sum(int(str(row["uniforms"])) for row in rows) == 3


def test_more_binds_than_asked_for_are_told(tmp_path):
    asked = {"draws": 2, "triangles": 4, "fragments": 1000, "texture_fetches": 1500, "binds": 0}
    made = synthesis.make(Request(asked, frames=4), tmp_path / "a.dtap")
    assert any("binds more than asked for" in note for note in made.notes)


def test_the_same_request_makes_the_same_calls(tmp_path):
    request = Request(SETS["uploads"], frames=3)
    texts = []
    for name in ("a.dtap", "b.dtap"):
        with drawtap.open(synthesis.make(request, tmp_path / name).path) as trace:
            texts.append([str(call) for call in trace.calls])
    assert texts[0] == texts[1]


def test_a_request_is_a_file(tmp_path):
    file = tmp_path / "load.toml"
    file.write_text("width = 200\nheight = 100\n[features]\ndraws = 5\noverdraw = 2.5\n", encoding="utf-8")
    request = synthesis_request.read(file)
    assert request == Request({"draws": 5, "fragments": 50000}, 200, 100, title="load")
    file.write_text(synthesis_request.text(request), encoding="utf-8")
    assert synthesis_request.read(file) == request


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("draws = 3", "has no features"),
        ("[features]\ndraw = 3", "no feature 'draw'"),
        ("[features]\ndraws = 'many'", "is no number"),
        ("[features]\ndraws = -1", "makes no sense"),
        ("speed = 3\n[features]\ndraws = 1", "unknown words: speed"),
        ("width = 0\n[features]\ndraws = 1", "a surface of 0 x 480"),
        ("width = 1.5\n[features]\ndraws = 1", "no whole number"),
        ("[features]\ntriangles = 1e9", "too many"),
        ("[features]\ntriangles = 10\nbackface_culled = 11", "more triangles are to be culled"),
        ("[features", "is no TOML"),
    ],
)
def test_files_that_make_no_sense(tmp_path, text, said):
    file = tmp_path / "load.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DrawtapError, match=said):
        synthesis_request.read(file)


def test_nothing_is_no_request(tmp_path):
    with pytest.raises(DrawtapError, match="no feature is requested"):
        synthesis.make(Request({"draws": 0}), tmp_path / "a.dtap")


@pytest.mark.parametrize(
    ("internal", "form", "kind", "size"),
    [
        ("GL_RGBA", "GL_RGBA", "GL_UNSIGNED_BYTE", 4),
        ("GL_RGB", "GL_RGB", "GL_UNSIGNED_SHORT_5_6_5", 2),
        ("GL_LUMINANCE", "GL_LUMINANCE", "GL_UNSIGNED_BYTE", 1),
        ("GL_RGBA16F", "GL_RGBA", "GL_HALF_FLOAT", 8),
        ("GL_RGB32F", "", "", 12),
        ("GL_R8", "", "", 1),
        ("GL_SRGB8_ALPHA8", "", "", 4),
        ("GL_DEPTH24_STENCIL8", "GL_DEPTH_STENCIL", "GL_UNSIGNED_INT_24_8", 4),
        ("GL_DEPTH_COMPONENT", "GL_DEPTH_COMPONENT", "GL_UNSIGNED_SHORT", 2),
        ("GL_COMPRESSED_RGB8_ETC2", "", "", 0.5),
        ("GL_COMPRESSED_RGBA8_ETC2_EAC", "", "", 1),
        ("GL_COMPRESSED_RGBA_S3TC_DXT5_EXT", "", "", 1),
    ],
)
def test_bytes_of_a_texel(internal, form, kind, size):
    assert content.texel_bytes(internal, form, kind) == size


def test_memory_of_textures(tmp_path):
    out = CallWriter()
    out.call("eglBindAPI", "EGL_OPENGL_ES_API", result=1)
    out.call("eglCreateContext", 1 << 44, 2 << 44, None, ["EGL_CONTEXT_CLIENT_VERSION", 2, "EGL_NONE"], result=3 << 44)
    out.call("eglMakeCurrent", 1 << 44, 4 << 44, 4 << 44, 3 << 44, result=1)
    out.call("glBindTexture", "GL_TEXTURE_2D", 1)
    form = ("GL_RGBA", "GL_UNSIGNED_BYTE")
    out.call("glTexImage2D", "GL_TEXTURE_2D", 0, "GL_RGBA", 64, 64, 0, *form, None)
    out.call("glTexImage2D", "GL_TEXTURE_2D", 0, "GL_RGBA", 8, 4, 0, *form, bytes(128))  # another size: the last counts
    out.call("glGenerateMipmap", "GL_TEXTURE_2D")  # 4 x 2, 2 x 1, 1 x 1
    out.call("glTexSubImage2D", "GL_TEXTURE_2D", 0, 0, 0, 2, 2, *form, bytes(16))  # a part is in it already
    out.call("glActiveTexture", "GL_TEXTURE1")
    out.call("glBindTexture", "GL_TEXTURE_2D", 2)
    out.call("glTexStorage2D", "GL_TEXTURE_2D", 2, "GL_RGB565", 16, 16)
    out.save(tmp_path / "a.dtap")
    with drawtap.open(tmp_path / "a.dtap") as trace:
        assert content.texture_memory(trace) == (32 + 8 + 2 + 1) * 4 + (256 + 64) * 2


def test_calls_that_cannot_be(tmp_path):
    out = CallWriter()
    with pytest.raises(DrawtapError, match="no function glDrawArray"):
        out.call("glDrawArray", 1)
    with pytest.raises(DrawtapError, match="glClear takes 1 arguments"):
        out.call("glClear")
