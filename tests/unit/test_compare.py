"""Comparing images, frames and draws, without any driver: sources made of arrays."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from drawtap.errors import InputError, UsageError
from drawtap.output.comparison import ComparedFrame, ComparisonPage, Pictures, amplified, opaque, render
from drawtap.replay.compare import (
    Difference,
    Draw,
    DrawResult,
    Played,
    Tolerance,
    compare,
    difference,
    first_draw,
    read_png,
    ssim,
)
from drawtap.replay.place import Place
from drawtap.trace.trace import open_trace
from shared import player_png
from vulkan_scene import CB, SECONDARY, VulkanScene


def image(value=0, *, width=24, height=16):
    pixels = np.zeros((height, width, 4), np.uint8)
    pixels[..., :3] = value
    pixels[..., 3] = 255
    return pixels


def noise(seed=1, *, width=40, height=30):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    return pixels


@dataclass
class Arrays:
    """Frames as lists of images: one after each draw, the last is what the frame shows."""

    frames: list[list[np.ndarray]]
    targets: list[list[int]] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    name: str = "arrays"

    def hashes(self, frames):
        return {n: str(hash(f[-1].tobytes())) + str(f[-1].shape) for n, f in enumerate(self.frames)}

    def images(self, first, end):
        for n in range(first, min(end, len(self.frames))):
            yield n, self.frames[n][-1]

    def draws(self, frame):
        targets = self.targets[frame] if self.targets else [0] * len(self.frames[frame])
        return [Draw(frame * 1000 + i * 2 + 1, t, f"glDrawArrays({i})") for i, t in enumerate(targets)]

    def image_at(self, at):
        self.asked.append(at.call)
        frame, i = divmod(at.call, 1000)
        i = (i - 1) // 2 if i % 2 else i // 2 - 1  # between draws there is what the one before left
        if i >= 0:
            return self.frames[frame][i]
        return self.frames[frame - 1][-1] if frame else image()


def test_equal_images_have_no_difference():
    a = noise()
    assert difference(a, a.copy()) == Difference()
    assert ssim(a, a) == pytest.approx(1)


def test_difference_is_measured():
    a, b = image(100), image(100)
    b[0, 0, 0] = 90
    b[3, 5, 2] = 104
    found = difference(a, b)
    assert found.max_difference == 10
    assert found.rmse == pytest.approx(((10**2 + 4**2) / a.size) ** 0.5)
    assert found.pixels == pytest.approx(2 / (24 * 16))
    assert not found.exact


def test_alpha_counts():
    a, b = image(5), image(5)
    b[..., 3] = 254
    assert difference(a, b).max_difference == 1
    assert difference(a, b).ssim == pytest.approx(1)


def test_other_sizes_are_never_the_same():
    found = difference(image(), image(width=25))
    assert "24 x 16 and 25 x 16" in str(found.sizes)
    assert not Tolerance(255, 255.0, 0.0).accepts(found)


def test_ssim_as_defined():
    # Flat images have no variance: only the comparison of brightness is left of the formula.
    c1 = (0.01 * 255) ** 2
    expected = (2 * 100 * 120 + c1) / (100**2 + 120**2 + c1)
    assert ssim(image(100), image(120)) == pytest.approx(expected)


def test_ssim_falls_with_noise_and_is_symmetric():
    a = noise(1)
    near = np.clip(a.astype(int) + np.random.default_rng(5).integers(-9, 10, a.shape), 0, 255).astype(np.uint8)
    assert 1 > ssim(a, near) > ssim(a, noise(2))
    assert ssim(a, near) == pytest.approx(ssim(near, a))
    assert abs(ssim(a, noise(2))) < 0.2


def test_ssim_of_one_window_by_hand():
    # Around the middle of a large image the mean over windows is what the formula says of one window.
    a, b = noise(3, width=11, height=11), noise(4, width=11, height=11)
    at = np.arange(-5, 6)
    weights = np.exp(-(at**2) / 4.5)
    window = np.outer(weights, weights)
    window /= window.sum()
    x, y = (i[..., :3] @ np.array([0.299, 0.587, 0.114]) for i in (a, b))
    mx, my = (window * x).sum(), (window * y).sum()
    vx, vy, both = (window * x * x).sum() - mx**2, (window * y * y).sum() - my**2, (window * x * y).sum() - mx * my
    c1, c2 = 2.55**2, 7.65**2
    expected = (2 * mx * my + c1) * (2 * both + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))

    from drawtap.replay import compare as module

    bx, by = module._blurred(x), module._blurred(y)
    assert bx[5, 5] == pytest.approx(mx)
    assert by[5, 5] == pytest.approx(my)
    sx = module._blurred(x * x)[5, 5] - mx**2
    sy = module._blurred(y * y)[5, 5] - my**2
    sb = module._blurred(x * y)[5, 5] - mx * my
    assert (2 * mx * my + c1) * (2 * sb + c2) / ((mx**2 + my**2 + c1) * (sx + sy + c2)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tolerance", "accepted"),
    [
        (Tolerance(), False),
        (Tolerance(max_difference=4), False),
        (Tolerance(max_difference=5), True),
        (Tolerance(max_difference=5, ssim=0.999), False),
        (Tolerance(rmse=2.0, ssim=0.9), True),
        (Tolerance(rmse=0.5), False),
    ],
)
def test_tolerances_must_all_hold(tolerance, accepted):
    assert tolerance.accepts(Difference(5, 1.0, 0.95, 0.5)) is accepted
    assert tolerance.accepts(Difference())


def test_frames_that_are_the_same_are_not_fetched():
    a, b = Arrays([[image(1)], [image(2)]]), Arrays([[image(1)], [image(2)]])
    a.images = b.images = None  # type: ignore[method-assign,assignment]
    found = compare(a, b)
    assert found.same
    assert [f.frame for f in found.frames] == [0, 1]
    assert a.asked == []


def test_the_first_frame_and_the_first_draw_that_differ():
    draws = [image(i) for i in range(64)]
    others = [image(i + (100 if i >= 41 else 0)) for i in range(64)]
    a, b = Arrays([[image(9)], draws, draws]), Arrays([[image(9)], others, others])
    found = compare(a, b)
    assert not found.same
    assert found.first is not None and found.first.frame == 1
    assert found.draw is not None
    assert found.draw.a.text == "glDrawArrays(41)"
    assert found.draw.before.exact
    assert found.draw.after.max_difference == 100
    # In rounds of seven places, each round rising: what plays goes back once a round.
    assert len(set(a.asked)) <= 1 + 2 * 7
    assert sum(later < earlier for earlier, later in itertools.pairwise(a.asked)) <= 3
    assert set(found.pictures) == {1, 2}
    assert found.draw_pictures is not None


@pytest.mark.parametrize("bad", range(7))
def test_every_draw_can_be_the_first(bad):
    a = Arrays([[image(i) for i in range(7)]])
    b = Arrays([[image(i + (50 if i >= bad else 0)) for i in range(7)]])
    draw = first_draw(a, b, 0, Tolerance())
    assert isinstance(draw, DrawResult)
    assert draw.a.call == bad * 2 + 1
    assert not draw.at_start


def test_a_framebuffer_object_that_differs_is_found_before_the_screen():
    # Draws 0 and 1 go to a framebuffer object, 2 clears the screen, 3 draws the first onto it.
    targets = [[0, 0, 1, 1]]
    a = Arrays([[image(1), image(2), image(0), image(20)]], targets)
    b = Arrays([[image(1), image(3), image(0), image(30)]], targets)
    draw = first_draw(a, b, 0, Tolerance())
    assert isinstance(draw, DrawResult)
    assert draw.a.text == "glDrawArrays(1)"


def test_what_differs_before_the_first_draw_is_said():
    a, b = Arrays([[image(1)], [image(5), image(6)]]), Arrays([[image(2)], [image(7), image(8)]])
    draw = first_draw(a, b, 1, Tolerance())
    assert isinstance(draw, DrawResult)
    assert draw.at_start
    assert draw.before is not None and draw.before.max_difference == 1


def test_why_no_draw_is_named_is_said():
    same, other = [image(1), image(2)], [image(3)]
    a, b = Arrays([same]), Arrays([same])
    assert "other calls made the difference" in first_draw(a, b, 0, Tolerance())
    b.images = lambda first, end: iter([(0, other[0])])  # type: ignore[method-assign]
    b.hashes = lambda frames: {0: "another"}  # type: ignore[method-assign]
    found = compare(a, b)
    assert (found.same, found.draw, found.no_draw) == (False, None, first_draw(a, b, 0, Tolerance()))
    assert "1 in A, 0 in B" in first_draw(Arrays([other]), Arrays([[]]), 0, Tolerance())
    assert "2 draws in A, 1 in B" in first_draw(a, Arrays([same[:1]]), 0, Tolerance())
    assert "has no draws" in first_draw(Arrays([[]]), Arrays([[]]), 0, Tolerance())
    a.image_at = b.image_at = lambda at: None  # type: ignore[method-assign]
    assert "1 framebuffers have no picture" in first_draw(a, b, 0, Tolerance())


def test_draws_of_vulkan_are_those_that_run_in_a_frame(tmp_path):
    """Command buffers are recorded before the frames; a pass or subpass is a target; a buffer that runs twice in a
    submission is pictured where it runs first."""
    s = VulkanScene()
    begin = {"renderPass": 0x70, "framebuffer": 0x71}

    def passes(s):
        s.vkCmdBeginRenderPass(CB, begin, 0).vkCmdDraw(CB, 3, 1, 0, 0).vkCmdClearAttachments(CB)
        s.vkCmdNextSubpass(CB, 0).vkCmdDraw(CB, 4, 1, 0, 0).vkCmdEndRenderPass(CB)
        s.vkCmdBeginRenderPass(CB, begin, 1).vkCmdExecuteCommands(CB, pCommandBuffers=[SECONDARY])
        s.vkCmdEndRenderPass(CB).vkCmdDispatch(CB, 1, 1, 1)

    s.recorded(lambda s: s.vkCmdDraw(SECONDARY, 5, 1, 0, 0), SECONDARY)
    s.recorded(passes).frames(3, lambda s, i: i and s.submit(*[CB] * i))
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        played = Played(trace, "system")
        calls = {int(seq): str(name) for seq, name in trace.sql("SELECT seq, name FROM calls").fetchall()}
        submits = [seq for seq, name in calls.items() if name == "vkQueueSubmit"]
        for frame in (1, 2):
            draws = played.draws(frame)
            assert [calls[draw.call] for draw in draws] == ["vkCmdDraw", "vkCmdClearAttachments", *["vkCmdDraw"] * 2]
            assert ["vertexCount = 3" in draws[0].text, "vertexCount = 5" in draws[3].text] == [True, True]
            assert {draw.at for draw in draws} == {Place(submits[frame - 1], draw.call) for draw in draws}
            first, *targets = (draw.target for draw in draws)
            assert [target - first for target in targets] == [0, 1, 2]
        assert played.draws(0) == []


def test_tolerances_hold_for_draws_too():
    a = Arrays([[image(10), image(10), image(10)]])
    b = Arrays([[image(11), image(12), image(90)]])
    draw = first_draw(a, b, 0, Tolerance(max_difference=2))
    assert isinstance(draw, DrawResult)
    assert draw.a.text == "glDrawArrays(2)"


def test_a_frame_of_one_side_only_differs():
    found = compare(Arrays([[image(1)], [image(2)]]), Arrays([[image(1)]]))
    assert found.first is not None
    assert found.first.only == "a"
    assert found.draw is None


def test_many_frames_come_in_batches():
    a, b = Arrays([[noise(i)] for i in range(50)]), Arrays([[noise(i + (i % 3 == 0))] for i in range(50)])
    found = compare(a, b, bisect=False, pictures=2)
    assert [f.frame for f in found.frames if not f.same] == list(range(0, 50, 3))
    assert set(found.pictures) == {0, 3}


def test_an_image_that_cannot_be_had_is_no_equal_one():
    a, b = Arrays([[image(1)], [image(2)]]), Arrays([[image(3)], [image(4)]])
    b.images = lambda first, end: iter(())  # type: ignore[method-assign]
    found = compare(a, b, bisect=False)
    assert [f.same for f in found.frames] == [False, False]


def test_only_the_frames_asked_for():
    a, b = Arrays([[image(1)], [image(2)], [image(3)]]), Arrays([[image(9)], [image(2)], [image(3)]])
    assert compare(a, b, frames=range(1, 3)).same
    with pytest.raises(UsageError):
        compare(a, b, frames=range(7, 9))


def test_png_goes_there_and_back(tmp_path):
    pixels = noise(7)
    path = tmp_path / "a.png"
    path.write_bytes(player_png(pixels))
    assert np.array_equal(read_png(path), pixels)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"P6\n1 1\n255\n\0\0\0"])
def test_what_is_no_png_is_refused(tmp_path, content):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_png(path)


def test_png_cut_short_is_refused(tmp_path):
    path = tmp_path / "a.png"
    for cut in (30, 60, 200):
        path.write_bytes(player_png(noise())[:cut])
        with pytest.raises(InputError):
            read_png(path)


def test_differences_are_amplified():
    a, b = image(10), image(10)
    b[2, 3, 1] = 12
    b[4, 4, 3] = 254
    shown = amplified(a, b)
    assert tuple(shown[2, 3]) == (0, 255, 0, 255)
    assert tuple(shown[4, 4]) == (80, 80, 80, 255)
    assert shown[0, 0].tolist() == [0, 0, 0, 255]
    b[9, 9, 0] = 255  # hides nothing of the others
    shown = amplified(a, b)
    assert (tuple(shown[9, 9]), tuple(shown[4, 4])) == ((255, 0, 0, 255), (80, 80, 80, 255))
    assert 80 < shown[2, 3, 1] < 120
    assert amplified(a, image(width=26)).shape == (16, 26, 4)
    assert (opaque(b)[..., 3] == 255).all()


def test_a_page_is_whole_and_alone():
    pictures = [Pictures("Frame 3", "note", image(1), image(2))]
    rows = [
        ComparedFrame(3, False, "differs", "1", "1.0", "0.9", "100 %"),
        ComparedFrame(4, True, "equal", "0", "0", "1", "0"),
    ]
    page = ComparisonPage(
        "<a>", "b", "Frame 3 is the first", False, [("2", "frames")], [("call", "7 glClear()")], pictures, rows
    )
    html = render(page)
    assert html.count('src="data:image/png;base64,') == 3
    assert "&lt;a&gt;" in html and "<a>" not in html
    assert "7 glClear()" in html
    assert re.findall(r"https?://", html) == []
