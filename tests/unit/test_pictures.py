"""Pictures of frames, the frames that stand for all, textures as pixels, verdicts."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from drawtap.analysis import pictures, textures
from drawtap.analysis.checklist import checklist
from drawtap.analysis.shaders import shaders
from drawtap.analysis.verdict import verdict
from drawtap.output.picture import png, url
from drawtap.trace.trace import open_trace
from scene import Scene
from shared import read_packed_png


def plain(red: int, side: int = 8) -> pictures.Image:
    image = np.full((side, side, 4), 255, np.uint8)
    image[..., :3] = (red, 10, 10)
    return image


# ---- which frames ---------------------------------------------------------------------------------------------------


def test_sampled_frames_are_the_first_the_last_the_longest_and_some_between():
    durations = [10] * 1000
    durations[777] = 99
    found = pictures.sampled(durations, 20)
    assert len(found) == 20
    assert found == sorted(set(found))
    assert {0, 777, 999} <= set(found)
    assert max(b - a for a, b in pairwise(found)) < 150
    assert pictures.sampled([1, 2, 3], 20) == [0, 1, 2]
    assert pictures.sampled([], 20) == []


def test_a_frame_that_looks_different_stands_for_itself_though_it_takes_as_long():
    # The original looked at durations first, and so dropped a new picture of equal duration.
    durations = dict.fromkeys(range(10), 100)
    images = {i: plain(200 if 4 <= i < 6 else 20) for i in range(10)}
    chosen = {c.frame: c for c in pictures.representatives(durations, images, 12)}
    assert set(chosen) == {0, 4, 9}
    assert chosen[4].why == "looks different"
    assert chosen[4].stands_for == 2


def test_a_frame_that_takes_longer_stands_for_itself_though_it_looks_the_same():
    durations = dict.fromkeys(range(10), 100) | {3: 180, 7: 300}
    chosen = {c.frame: c.why for c in pictures.representatives(durations, dict.fromkeys(range(10), plain(20)), 12)}
    assert chosen == {0: "first", 3: "takes longer or shorter", 7: "longest", 9: "last"}


def test_frames_that_are_alike_are_one_and_there_are_never_too_many():
    durations = {i: 100 + i % 3 for i in range(50)}
    assert len(pictures.representatives(durations, {}, 12)) == 3  # first, last, longest
    colourful = {i: plain(5 * i) for i in range(50)}
    assert len(pictures.representatives(durations, colourful, 6)) == 6
    assert pictures.representatives({}, {}, 6) == []
    assert [c.frame for c in pictures.representatives({4: None}, {}, 6)] == [4]


def test_alpha_says_nothing_about_a_picture():
    one, other = plain(20), plain(20)
    other[..., 3] = 0
    assert pictures.colour_distance(pictures.colours(one), pictures.colours(other)) < 1e-9
    assert pictures.colour_distance(pictures.colours(one), pictures.colours(plain(250))) > 0.3


def test_shrinking_takes_the_mean():
    image = np.zeros((4, 8, 4), np.uint8)
    image[:, ::2] = 100
    small = pictures.shrunk(image, 4)
    assert small.shape == (2, 4, 4)
    assert (small == 50).all()
    assert pictures.shrunk(image, 8) is image
    assert pictures.shrunk(np.zeros((1, 4000, 4), np.uint8), 100).shape[1] <= 100
    assert pictures.shrunk(np.zeros((4000, 3, 4), np.uint8), 100).shape[0] <= 400


def test_where_nothing_can_be_played_there_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("DRAWTAP_NATIVE", str(tmp_path))
    scene = Scene().frames(3, lambda s, i: s.glClear("GL_COLOR_BUFFER_BIT"))
    monkeypatch.undo()
    with open_trace(scene.write(tmp_path / "a.dtap")) as trace:
        found = pictures.pictures(trace, [0, 1], width=32, engine="no-such-engine")
    assert found.images == {}
    assert "no-such-engine" in (found.missing or "")


def test_png_is_what_a_reader_of_png_reads(tmp_path):
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (5, 7, 4), np.uint8)
    path = tmp_path / "a.png"
    path.write_bytes(png(image))
    assert (read_packed_png(path) == image).all()
    assert png(image)[25] == 6  # colour type: with alpha
    image[..., 3] = 255
    path.write_bytes(png(image))
    assert png(image)[25] == 2
    assert (read_packed_png(path) == image).all()
    assert url(image).startswith("data:image/png;base64,iVBOR")


# ---- textures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "format_", "type_", "first"),
    [
        (bytes([1, 2, 3, 4]), "GL_RGBA", "GL_UNSIGNED_BYTE", (1, 2, 3, 4)),
        (bytes([1, 2, 3, 4]), "GL_BGRA_EXT", "GL_UNSIGNED_BYTE", (3, 2, 1, 4)),
        (bytes([1, 2, 3]), "GL_RGB", "GL_UNSIGNED_BYTE", (1, 2, 3, 255)),
        (bytes([9]), "GL_LUMINANCE", "GL_UNSIGNED_BYTE", (9, 9, 9, 255)),
        (bytes([9, 5]), "GL_LUMINANCE_ALPHA", "GL_UNSIGNED_BYTE", (9, 9, 9, 5)),
        (bytes([7]), "GL_ALPHA", "GL_UNSIGNED_BYTE", (0, 0, 0, 7)),
        (struct.pack("<H", 0xF800), "GL_RGB", "GL_UNSIGNED_SHORT_5_6_5", (255, 0, 0, 255)),
        (struct.pack("<H", 0x0F0F), "GL_RGBA", "GL_UNSIGNED_SHORT_4_4_4_4", (0, 255, 0, 255)),
        (struct.pack("<H", 0x003E), "GL_RGBA", "GL_UNSIGNED_SHORT_5_5_5_1", (0, 0, 255, 0)),
        (struct.pack("<I", 0xFF000080), "GL_RGBA", "GL_UNSIGNED_INT_8_8_8_8_REV", (128, 0, 0, 255)),
        (struct.pack("<3f", 1.5, 0.5, -1), "GL_RGB", "GL_FLOAT", (255, 127, 0, 255)),
        (struct.pack("<e", 1.0), "GL_RED", "GL_HALF_FLOAT_OES", (255, 0, 0, 255)),
        (struct.pack("<H", 65535), "GL_DEPTH_COMPONENT", "GL_UNSIGNED_SHORT", (255, 255, 255, 255)),
    ],
)
def test_pixels(content, format_, type_, first):
    assert tuple(textures.pixels(content, 1, 1, format_, type_)[0, 0]) == first


def test_rows_may_be_padded():
    rows = b"".join(bytes([i] * 9) + b"xxx" for i in range(3))
    for content in (rows, rows[:-3]):
        image = textures.pixels(content, 3, 3, "GL_RGB", "GL_UNSIGNED_BYTE")
        assert [int(v) for v in image[:, 2, 0]] == [0, 1, 2]
    tight = textures.pixels(bytes(range(27)), 3, 3, "GL_RGB", "GL_UNSIGNED_BYTE")
    assert tuple(tight[1, 0]) == (9, 10, 11, 255)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: textures.pixels(b"123", 2, 2, "GL_RGBA", "GL_UNSIGNED_BYTE"), "3 bytes are no 2 x 2 image"),
        (lambda: textures.pixels(b"1234", 1, 1, "GL_COLOR_INDEX", "GL_UNSIGNED_BYTE"), "GL_COLOR_INDEX is not decoded"),
        (lambda: textures.pixels(b"1234", 1, 1, "GL_RGBA", "GL_BITMAP"), "GL_BITMAP is not decoded"),
        (lambda: textures.decompressed(b"", 4, 4, "GL_COMPRESSED_RGBA_ASTC_4x4_KHR"), "ASTC_4x4_KHR is not decoded"),
        (lambda: textures.decompressed(b"1", 4, 4, "GL_ETC1_RGB8_OES"), "too few"),
        (lambda: textures.vg_image(b"1234", 1, 1, "VG_BW_1"), "VG_BW_1 is not decoded"),
    ],
)
def test_what_is_not_decoded_says_so(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_openvg_images():
    assert tuple(textures.vg_image(bytes([4, 3, 2, 1]), 1, 1, "VG_sRGBA_8888")[0, 0]) == (1, 2, 3, 4)
    assert tuple(textures.vg_image(bytes([4, 3, 2, 1]), 1, 1, "VG_sXRGB_8888")[0, 0]) == (2, 3, 4, 255)
    assert tuple(textures.vg_image(struct.pack("<H", 0xF800), 1, 1, "VG_sRGB_565")[0, 0]) == (255, 0, 0, 255)


def uploaded(tmp_path: Path) -> Path:
    scene = Scene().eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1)
    scene.glBindTexture("GL_TEXTURE_2D", 5)
    args = ("GL_TEXTURE_2D", 0, "GL_RGBA", 16, 16, 0, "GL_RGBA", "GL_UNSIGNED_BYTE")
    scene.glTexImage2D(*args, bytes([200, 0, 0, 255]) * 256)
    scene.glBindTexture("GL_TEXTURE_2D", 6).glTexImage2D(*args, None)  # a render target
    scene.glBindTexture("GL_TEXTURE_2D", 7)
    scene.glCompressedTexImage2D("GL_TEXTURE_2D", 0, "GL_COMPRESSED_RGBA_ASTC_4x4_KHR", 4, 4, 0, 16, bytes(16))
    scene.glCreateShader("GL_VERTEX_SHADER", result=3).glShaderSource(3, 2, ["void main()\n", "{}"], None)
    scene.glCompileShader(3, duration=5000).glAttachShader(9, 3)
    return scene.frames(4, lambda s, i: s.glDrawArrays("GL_TRIANGLES", 0, 3)).write(tmp_path / "t.dtap")


def test_textures_of_a_recording(tmp_path):
    with open_trace(uploaded(tmp_path)) as trace:
        found, count = textures.textures(trace, most=10, width=8)
    assert count == 2
    assert [(t.name, t.width, t.why is None) for t in found] == [(5, 16, True), (7, 4, False)]
    assert found[0].image is not None
    assert found[0].image.shape == (8, 8, 4)
    assert tuple(found[0].image[0, 0]) == (200, 0, 0, 255)
    assert "ASTC" in (found[1].why or "")


def test_shaders_of_a_recording(tmp_path):
    with open_trace(uploaded(tmp_path)) as trace:
        [found] = shaders(trace, most=10)
    assert (found.name, found.stage, found.source, found.lines) == (3, "vertex", "void main()\n{}", 2)
    assert found.compile_ns == 5000
    assert list(found.programs) == [9]


# ---- verdict --------------------------------------------------------------------------------------------------------


def judged(scene: Scene, tmp_path: Path):
    with open_trace(scene.write(tmp_path / "v.dtap")) as trace:
        return verdict(trace, checklist(trace))


def test_verdicts(tmp_path):
    usage = Scene().frames(
        5, lambda s, i: s.glFinish(duration=40_000_000).glDrawArrays("GL_TRIANGLES", 0, 3), ns=50_000_000
    )
    found = judged(usage, tmp_path)
    assert found.dominant == "usage"
    assert not found.fluent
    assert found.spent["waiting"] == 4 * 40_000_000
    assert any("synchronous-functions" in line for line in found.classes[0].evidence)
    content = Scene().frames(5, lambda s, i: s.glDrawArrays("GL_TRIANGLES", 0, 3, duration=40_000_000), ns=50_000_000)
    assert judged(content, tmp_path).dominant == "content"
    other = Scene().frames(5, lambda s, i: s.wait(40_000_000).glDrawArrays("GL_TRIANGLES", 0, 3), ns=41_000_000)
    found = judged(other, tmp_path)
    assert found.dominant == "other"
    assert abs(sum(c.share for c in found.classes) - 1) < 0.01


def test_without_frames_there_is_no_verdict(tmp_path):
    found = judged(Scene().glFinish(), tmp_path)
    assert found.dominant is None
    assert "fewer than three frames" in found.why
    found = judged(Scene().frames(2, lambda s, i: s.glFinish(duration=40_000_000), ns=50_000_000), tmp_path)
    assert "fewer than three frames" in found.why


def test_the_verdict_as_a_command(drawtap, tmp_path):
    scene = Scene().frames(5, lambda s, i: s.glFinish(duration=40_000_000), ns=50_000_000)
    path = scene.write(tmp_path / "v.dtap")
    answer = drawtap("verdict", path)
    assert answer.code == 0, answer.err
    assert "API usage dominates" in answer.out
    assert "Graphics engine           ?" in answer.out
    assert drawtap("verdict", path, "--on", "a", "--on", "b", "--on", "c").code == 2
