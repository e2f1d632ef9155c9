"""What images and buffers of Vulkan hold after a call, read from a device that plays the recording."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from drawtap.analysis.vulkan_held import COLOR, DEPTH, PLANE, STENCIL, block_of, values
from drawtap.errors import UsageError
from drawtap.replay.warm import Warm
from drawtap.trace.trace import open_trace
from drawtap.web.recording import Recording
from shared import read_packed_png, run_drawtap
from vulkan.conftest import environment

SIZE = 8


def submits(trace: Path) -> list[int]:
    with open_trace(trace) as opened:
        return [row[0] for row in opened.sql("SELECT seq FROM submits ORDER BY seq").fetchall()]


def saved(trace: Path, folder: Path, *more: object) -> list[dict[str, object]]:
    done = run_drawtap("textures", trace, "-o", folder, *more, environment=environment())
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "manifest.json").read_text())["objects"]


def test_an_image_has_what_was_drawn(draws: Path, tmp_path: Path) -> None:
    """The last draw covers the columns from the third on; before the first submission nothing is stored."""
    trace = draws / "pass.dtap"
    first, _ = submits(trace)
    before = saved(trace, tmp_path / "before", "--at", first - 1)
    assert {one["why"] for one in before} == {"nothing was stored in it"}
    color, depth = saved(trace, tmp_path / "after", "--at", first)
    [part] = color["parts"]  # type: ignore[misc]
    image = read_packed_png(tmp_path / "after" / part["files"][0])
    assert image[:, 3, :3].tolist() == [[150, 105, 128]] * SIZE
    assert image[:, 1, :3].tolist() == [[0, 0, 0]] * SIZE
    assert [part["channels"] for part in depth["parts"]] == ["d", "s"]  # type: ignore[attr-defined]
    assert np.load(tmp_path / "after" / depth["parts"][0]["files"][0]).shape == (1, SIZE, SIZE, 1)  # type: ignore[index]


def ran(trace: Path, kind: str) -> list[int]:
    """Return the commands of a kind in the order they run in."""
    with open_trace(trace) as opened:
        rows = opened.sql(
            f"SELECT seq FROM executed WHERE kind = '{kind}' GROUP BY seq ORDER BY min(number)"
        ).fetchall()
    return [row[0] for row in rows]


def part(folder: Path, one: dict[str, object], number: int = 0) -> npt.NDArray[np.generic]:
    """Return a part of an image: red, green and blue of PNG, all values of the first layer of others."""
    file = folder / one["parts"][number]["files"][0]  # type: ignore[index]
    return np.load(file)[0, ..., 0] if file.suffix == ".npy" else read_packed_png(file)[..., :3]


@pytest.mark.parametrize("number", [0, 1])
def test_a_dispatch_shows_what_it_left(number: int, draws: Path, tmp_path: Path) -> None:
    """Both stand in one submission."""
    trace = draws / "dispatch.dtap"
    dispatch = ran(trace, "dispatch")[number]
    stored = saved(trace, tmp_path / "at", "--at", dispatch)[-1]
    assert (stored["call"], stored["why"]) == (dispatch, None)
    assert (part(tmp_path / "at", stored) == (number + 1, number + 1, 0)).all()


def test_an_image_has_what_the_program_stored_in_its_memory(draws: Path, tmp_path: Path) -> None:
    trace = draws / "dispatch.dtap"
    for name, at in (("submitted", submits(trace)[0]), ("dispatch", ran(trace, "dispatch")[0])):
        linear = next(one for one in saved(trace, tmp_path / name, "--at", at) if not one["why"])
        for y, row in enumerate(part(tmp_path / name, linear).tolist()):
            assert row == [[x, y, 7] for x in range(SIZE)], (name, y)


@pytest.mark.parametrize("mode", ["pass", "rendering", "samples"])
@pytest.mark.parametrize("draw", [1, 2])
def test_an_image_behind_a_draw_of_a_pass(mode: str, draw: int, draws: Path, tmp_path: Path) -> None:
    """The third draw is the first of another pass where they are not rendered dynamically."""
    trace = draws / f"{mode}.dtap"
    color, depth, *_ = saved(trace, tmp_path / "at", "--at", ran(trace, "draw")[draw])
    begin = 0 if mode == "rendering" or draw < 2 else 2
    column = np.full(SIZE, draw) if mode == "samples" else np.arange(SIZE)
    last = np.where(column >= begin, np.minimum(column, draw), -1)
    expected = [[50 * i, 255 - 50 * i, 128] if i >= 0 else [0, 0, 0] for i in last.tolist()]
    assert part(tmp_path / "at", color).tolist() == [expected] * SIZE
    assert (part(tmp_path / "at", depth) == np.maximum(last, 0) / 4).all()
    assert (part(tmp_path / "at", depth, 1) == np.where(last >= 0, last - begin + 1, 0)).all()
    lost = {each["lost"] for one in (color, depth) for each in one["parts"]}  # type: ignore[attr-defined]
    many = {f"of 4 samples a pixel the {which} alone" for which in ("average", "first")}
    assert lost == (many if mode == "samples" else {None})


def test_where_no_content_can_be_had_the_manifest_says_so(draws: Path, tmp_path: Path) -> None:
    for mode, draw, why in (
        ("query", 1, "the render pass cannot be interrupted: Query is not over"),
        ("subpasses", 0, "the render pass does not preserve it"),
    ):
        trace = draws / f"{mode}.dtap"
        found = saved(trace, tmp_path / mode, "--at", ran(trace, "draw")[draw])
        whole = f"{why}; --at {submits(trace)[0]} has it behind all commands"
        assert whole in {one["why"] for one in found}
        if mode == "query":
            assert {one["why"] for one in found} == {whole}


def test_all_images_just_before_their_end(draws: Path, tmp_path: Path) -> None:
    found = saved(draws / "samples.dtap", tmp_path / "all")
    assert [one["why"] for one in found] == [None] * 3
    for one in (found[0], found[2]):
        assert part(tmp_path / "all", one).tolist() == [[[150, 105, 128]] * SIZE] * SIZE


def test_the_page_shows_an_image(draws: Path) -> None:
    trace = draws / "dispatch.dtap"
    with contextlib.closing(Recording(trace)) as seen:
        seen.environment = environment()
        [*_, (image, made)] = seen.trace.sql(
            "SELECT handle, created_seq FROM objects WHERE type = 'VkImage' ORDER BY created_seq"
        ).fetchall()
        answer = seen.texture(submits(trace)[1], "image", 0, image)
        (length,) = struct.unpack_from("<I", answer)
        head = json.loads(answer[4 : 4 + length])
        [part] = head["parts"]
        assert (head["format"], part["shape"]) == ("VK_FORMAT_R8G8B8A8_UNORM", [1, SIZE, SIZE, 4])
        assert answer[-SIZE * SIZE * 4 :] == bytes((2, 2, 0, 255)) * SIZE * SIZE
        assert seen.ktx(submits(trace)[1], "image", 0, image).startswith(b"\xabKTX 11\xbb")
        with pytest.raises(UsageError, match="there is no image"):
            seen.texture(made - 1, "image", 0, image)


def test_the_page_shows_a_buffer(draws: Path) -> None:
    """The last dispatch stores 2 i in word i, behind 256 bytes. The recording has mapped memory as it was before."""
    trace = draws / "dispatch.dtap"
    with contextlib.closing(Recording(trace)) as seen:
        seen.environment = environment()
        [(buffer, made)] = seen.trace.sql("SELECT handle, created_seq FROM objects WHERE type = 'VkBuffer'").fetchall()
        [(dispatch,)] = seen.trace.sql("SELECT max(seq) FROM calls WHERE name = 'vkCmdDispatch'").fetchall()
        for at, k in ((ran(trace, "dispatch")[0], 1), (dispatch, 2)):
            content = np.frombuffer(seen.buffers.content(at, 0, buffer), "<u4")
            assert content[64 : 64 + SIZE].tolist() == [k * i for i in range(SIZE)]
        answer = seen.buffers.window(
            dispatch, 0, buffer, form="at 256 every 4; uint word", against=None, first=3, count=1
        )
        (length,) = struct.unpack_from("<I", answer)
        head = json.loads(answer[4 : 4 + length])
        assert (head["rows"], head["bytes"], head["writes"]) == ([[6]], 512, submits(trace)[:1])
        with pytest.raises(UsageError, match="there is no buffer"):
            seen.buffers.window(made - 1, 0, buffer, form="", against=None, first=0, count=1)


def test_a_range_of_a_buffer_has_its_transfers_and_stores(draws: Path, recorded: Path) -> None:
    with contextlib.closing(Recording(recorded)) as seen:
        query = (
            "SELECT f.seq, f.dstBuffer, f.size, e.submit_seq FROM vkCmdFillBuffer f JOIN executed e ON e.seq = f.seq "
            "ORDER BY e.submit_seq DESC LIMIT 1"
        )
        [(fill, buffer, size, submit)] = seen.trace.sql(query).fetchall()
        answer = seen.buffers.touched(submit, 0, buffer, size - 4, size)
        assert answer["writers"]["rows"][0] == [
            submit, "vkCmdFillBuffer", f"command of call {fill}", 0, size - 1, "yes"
        ]  # fmt: skip
        copies = "SELECT c.seq, c.dstBuffer FROM vkCmdCopyBuffer c JOIN executed e ON e.seq = c.seq WHERE "
        [(copy, target)] = seen.trace.sql(f"{copies} c.srcBuffer = {buffer} AND e.submit_seq = {submit}").fetchall()
        found = [submit, "vkCmdCopyBuffer", f"command of call {copy}", 0, size - 1, "yes"]
        assert answer["readers"]["rows"][-1] == found
        assert seen.buffers.touched(submit, 0, target, 0, 4)["writers"]["rows"][0] == found
        before = seen.buffers.touched(submit - 1, 0, buffer, 0, 4)["writers"]["rows"]
        assert [row for row in answer["writers"]["rows"] if row[0] < submit] == before
    with contextlib.closing(Recording(draws / "dispatch.dtap")) as seen:
        [(buffer,)] = seen.trace.sql("SELECT handle FROM objects WHERE type = 'VkBuffer'").fetchall()
        [(last,)] = seen.trace.sql("SELECT max(seq) FROM calls WHERE name = 'vkCmdDispatch'").fetchall()
        rows = seen.buffers.touched(last, 0, buffer, 0, 512)["writers"]["rows"]
        assert {(row[0], row[2], row[5]) for row in rows} == {
            (submits(draws / "dispatch.dtap")[0], "stored through a mapping", "yes")
        }


def test_clicks_on_commands_of_a_submission_start_no_player_anew(draws: Path, monkeypatch) -> None:
    """A player waits where the frame begins; each click takes it, and another one goes there."""
    started: list[Warm] = []
    begin = Warm._start
    monkeypatch.setattr(Warm, "_start", lambda self: (started.append(self), begin(self))[1])
    trace = draws / "dispatch.dtap"
    with contextlib.closing(Recording(trace)) as seen:
        seen.environment = environment()
        [*_, (image, _)] = seen.trace.sql(
            "SELECT handle, created_seq FROM objects WHERE type = 'VkImage' ORDER BY created_seq"
        ).fetchall()
        dispatches = ran(trace, "dispatch")[:2]
        for clicks, number in enumerate((0, 1, 0, 1), 1):
            answer = seen.texture(dispatches[number], "image", 0, image)
            assert answer[-4:] == bytes((number + 1, number + 1, 0, 255))
            waiting = seen.pool._waiting
            assert waiting is not None
            assert waiting._thread is not None
            waiting._thread.join()
            assert len(started) == clicks + 1  # the one that waits; the answer's own was the one before
            assert len(set(map(id, started))) == len(started)  # nobody began a second time


@pytest.mark.parametrize(
    ("form", "raw", "channels", "expected"),
    [
        ("VK_FORMAT_B8G8R8A8_UNORM", bytes((1, 2, 3, 4)), "rgba", [3, 2, 1, 4]),
        ("VK_FORMAT_A8B8G8R8_UNORM_PACK32", bytes((1, 2, 3, 4)), "rgba", [1, 2, 3, 4]),
        ("VK_FORMAT_R5G6B5_UNORM_PACK16", struct.pack("<H", 31 << 11 | 5 << 5 | 7), "rgb", [31, 5, 7]),
        ("VK_FORMAT_A2B10G10R10_UINT_PACK32", struct.pack("<I", 1 << 30 | 2 << 20 | 3 << 10 | 4), "rgba", [4, 3, 2, 1]),
        ("VK_FORMAT_A2R10G10B10_SINT_PACK32", struct.pack("<I", 0x3FF << 20 | 1), "rgba", [-1, 0, 1, 0]),
        ("VK_FORMAT_R16G16_SINT", struct.pack("<hh", -3, 4), "rg", [-3, 4]),
        ("VK_FORMAT_R32_SFLOAT", struct.pack("<f", 0.5), "r", [0.5]),
        ("VK_FORMAT_B10G11R11_UFLOAT_PACK32", struct.pack("<I", 0x1E0 << 22 | 0x400 << 11 | 0x3C0), "rgb", [1, 2, 1]),
        ("VK_FORMAT_E5B9G9R9_UFLOAT_PACK32", struct.pack("<I", 16 << 27 | 256 << 18 | 128 << 9), "rgb", [0, 0.5, 1]),
    ],
)  # fmt: skip
def test_texels_of_a_format(form: str, raw: bytes, channels: str, expected: list[float]) -> None:
    assert block_of(form, COLOR) == (1, 1, len(raw))
    found, letters = values(raw, (1, 1, 1), form, COLOR)
    assert (letters, found[0, 0, 0].tolist()) == (channels, expected)


def test_blocks_of_formats() -> None:
    assert block_of("VK_FORMAT_BC1_RGB_SRGB_BLOCK", COLOR) == (4, 4, 8)
    assert block_of("VK_FORMAT_BC7_UNORM_BLOCK", COLOR) == (4, 4, 16)
    assert block_of("VK_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK", COLOR) == (4, 4, 16)
    assert block_of("VK_FORMAT_ASTC_10x6_SRGB_BLOCK", COLOR) == (10, 6, 16)
    assert block_of("VK_FORMAT_D24_UNORM_S8_UINT", DEPTH) == (1, 1, 4)
    assert block_of("VK_FORMAT_D24_UNORM_S8_UINT", STENCIL) == (1, 1, 1)
    assert block_of("VK_FORMAT_PVRTC1_4BPP_UNORM_BLOCK_IMG", COLOR) is None


@pytest.mark.parametrize(
    ("form", "aspect", "block", "raw", "expected"),
    [
        ("VK_FORMAT_G8_B8R8_2PLANE_420_UNORM", PLANE, (1, 1, 1), bytes((1, 2)), ("l", [[1], [2]])),
        ("VK_FORMAT_G8_B8R8_2PLANE_420_UNORM", PLANE << 1, (1, 1, 2), bytes((1, 2, 3, 4)), ("rb", [[2, 1], [4, 3]])),
        ("VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM", PLANE << 2, (1, 1, 1), bytes((1, 2)), ("r", [[1], [2]])),
        (
            "VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16", PLANE << 1, (1, 1, 4),
            struct.pack("<4H", 5 << 6, 6 << 6, 7 << 6, 1023 << 6), ("rb", [[6, 5], [1023, 7]]),
        ),
        ("VK_FORMAT_G8B8G8R8_422_UNORM", COLOR, (2, 1, 4), bytes((1, 2, 3, 4)), ("rgb", [[4, 1, 2], [4, 3, 2]])),
        ("VK_FORMAT_B8G8R8G8_422_UNORM", COLOR, (2, 1, 4), bytes((1, 2, 3, 4)), ("rgb", [[3, 2, 1], [3, 4, 1]])),
        (
            "VK_FORMAT_R12X4G12X4_UNORM_2PACK16", COLOR, (1, 1, 4), struct.pack("<4H", 16, 32, 48, 64),
            ("rg", [[1, 2], [3, 4]]),
        ),
    ],
)  # fmt: skip
def test_texels_of_formats_for_video(
    form: str, aspect: int, block: tuple[int, ...], raw: bytes, expected: tuple[str, list[list[int]]]
) -> None:
    assert block_of(form, aspect) == block
    found, letters = values(raw, (1, 1, 2), form, aspect)
    assert (letters, found[0, 0].tolist()) == expected
