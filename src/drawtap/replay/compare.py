"""Hold what two replays draw against each other: frame by frame, then down to the first draw that differs.

Images are numpy arrays of uint8, height x width x 4 (RGBA), the top row first.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from drawtap.errors import InputError, UsageError
from drawtap.replay import engine, player, warm
from drawtap.replay.place import Place
from drawtap.scratch import Scratch
from drawtap.tables.recording import FrameRow, FunctionRow
from drawtap.trace import apis

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Image = npt.NDArray[np.uint8]

_BATCH_BYTES = 256 << 20  # of images on disk at once
_SSIM_SIGMA, _SSIM_RADIUS = 1.5, 5
_SSIM_C1, _SSIM_C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


# ---- two images ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """The distance of two images.

    `max_difference`: the largest difference of a channel (0 to 255). `rmse`: root of the mean squared difference over
    all channels, in the same unit. `ssim`: mean structural similarity of the brightness, 1 for equal images. `pixels`:
    share of pixels that differ at all (0 to 1). Images of different sizes have `sizes` and nothing in common.
    """

    max_difference: int = 0
    rmse: float = 0.0
    ssim: float = 1.0
    pixels: float = 0.0
    sizes: str | None = None

    @property
    def exact(self) -> bool:
        """Tell whether the images are the same."""
        return self.max_difference == 0 and self.sizes is None


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerances of a comparison; None: not asked. Without any, only equal images do."""

    max_difference: int | None = None
    rmse: float | None = None
    ssim: float | None = None

    def accepts(self, difference: Difference) -> bool:
        """Tell whether images at this distance count as equal: all given tolerances must hold."""
        if difference.exact:
            return True
        if difference.sizes is not None or (self.max_difference, self.rmse, self.ssim) == (None, None, None):
            return False
        return (
            (self.max_difference is None or difference.max_difference <= self.max_difference)
            and (self.rmse is None or difference.rmse <= self.rmse)
            and (self.ssim is None or difference.ssim >= self.ssim)
        )


def difference(a: Image, b: Image) -> Difference:
    """Return how far two images are apart; `ssim` of planes of depth or stencil (height x width) is NaN."""
    if a.shape != b.shape:
        return Difference(255, 255.0, 0.0, 1.0, f"{a.shape[1]} x {a.shape[0]} and {b.shape[1]} x {b.shape[0]}")
    if np.array_equal(a, b):
        return Difference()
    wide = np.int16 if a.dtype.itemsize == 1 else np.int32
    apart = np.abs(a.astype(wide) - b.astype(wide))
    squares = np.square(apart.astype(np.float64))
    return Difference(
        int(apart.max()),
        float(np.sqrt(squares.mean())),
        ssim(a, b) if a.ndim == 3 else math.nan,
        float(apart.reshape(*a.shape[:2], -1).any(axis=2).mean()),
    )


def ssim(a: Image, b: Image) -> float:
    """Return the mean structural similarity (Wang et al. 2004) of the brightness of two images of one size.

    Gaussian windows of sigma 1.5 and 11 x 11 pixels; at the edges the image is reflected.
    """
    x, y = _brightness(a), _brightness(b)
    mean_x, mean_y = _blurred(x), _blurred(y)
    var_x = _blurred(x * x) - mean_x * mean_x
    var_y = _blurred(y * y) - mean_y * mean_y
    both = _blurred(x * y) - mean_x * mean_y
    over = (2 * mean_x * mean_y + _SSIM_C1) * (2 * both + _SSIM_C2)
    under = (mean_x * mean_x + mean_y * mean_y + _SSIM_C1) * (var_x + var_y + _SSIM_C2)
    return float((over / under).mean())


def _brightness(image: Image) -> npt.NDArray[np.float64]:
    weighted = image[..., :3] * np.array([0.299, 0.587, 0.114])
    return np.asarray(weighted.sum(axis=2), np.float64)


def _blurred(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    at = np.arange(-_SSIM_RADIUS, _SSIM_RADIUS + 1)
    weights = np.exp(-(at**2) / (2 * _SSIM_SIGMA**2))
    weights /= weights.sum()
    for axis in (0, 1):
        wide = [(0, 0), (0, 0)]
        wide[axis] = (_SSIM_RADIUS, _SSIM_RADIUS)
        padded = np.pad(values, wide, mode="symmetric")
        length = values.shape[axis]
        shifted = (np.take(padded, range(i, i + length), axis=axis) for i in range(len(weights)))
        values = np.sum([w * part for w, part in zip(weights, shifted, strict=True)], axis=0)
    return values


def read_png(path: Path) -> Image:
    """Return the image in a file as `decode_png` does."""
    return decode_png(path.read_bytes(), str(path))


def decode_png(content: bytes, name: str) -> Image:
    """Return the image in a PNG as the player writes them: 8 bits, RGBA, no filter.

    Raises InputError, which calls the picture `name`, for others.
    """
    image = decode_attachment(content, name)
    if image.ndim != 3:
        raise InputError(f"{name} is not a PNG of the player's kind", hint="8 bits RGBA without filters")
    return image


_KINDS = {(8, 6): ("u1", 4), (16, 0): (">u2", 1), (8, 0): ("u1", 1)}  # bits and colours -> type, channels


def decode_attachment(content: bytes, name: str) -> npt.NDArray[Any]:
    """Return the image in a PNG of the player: height x width x RGBA, or height x width of depth (u16) or stencil (u8).

    Raises InputError, which calls the picture `name`, for others.
    """
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        raise InputError(f"{name} is no PNG")
    packed, head, at = [], b"", 8
    while at + 8 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        body = content[at + 8 : at + 8 + length]
        at += length + 12
        if kind == b"IHDR":
            head = body
        elif kind == b"IDAT":
            packed.append(body)
    try:
        width, height, depth, colors, _, _, interlaced = struct.unpack(">IIBBBBB", head)
        dtype, channels = _KINDS.get((depth, colors), ("u1", 0))
        size = np.dtype(dtype).itemsize * channels
        rows = np.frombuffer(zlib.decompress(b"".join(packed)), np.uint8).reshape(height, width * size + 1)
    except (struct.error, zlib.error, ValueError) as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    if not channels or interlaced or rows[:, 0].any():
        raise InputError(f"{name} is not a PNG of the player's kind", hint="without filters")
    pixels = np.ascontiguousarray(rows[:, 1:]).view(dtype).reshape(height, width, channels)
    return pixels.copy() if channels == 4 else pixels[..., 0].astype(pixels.dtype.newbyteorder("<"))


# ---- where images come from ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draw:
    """A call of a frame that may change what is seen: `target` tells apart what it draws to within the frame.

    Draws of one target follow each other; where the framebuffer is changed the target's number goes up. `submit`: the
    call that submits a draw of Vulkan; None: the draw runs when it is called.
    """

    call: int
    target: int
    text: str
    submit: int | None = None

    @property
    def at(self) -> Place:
        """Return the place of the picture behind it."""
        return Place(self.call) if self.submit is None else Place(self.submit, self.call)

    @property
    def before(self) -> Place | None:
        """Return the place of the picture before it; None for Vulkan, whose attachments have none there."""
        return Place(max(self.call - 1, 0)) if self.submit is None else None


class FrameSource(Protocol):
    """A side of a comparison: the frames of a recording, and the image after any of its calls."""

    @property
    def name(self) -> str:
        """Its name, for people."""
        ...

    def hashes(self, frames: range | None) -> Mapping[int, str]:
        """Return a hash of each wanted frame's image (None: all), by the frame's number."""
        ...

    def images(self, first: int, end: int) -> Iterator[tuple[int, Image]]:
        """Yield the frames from `first` to before `end`."""
        ...

    def draws(self, frame: int) -> Sequence[Draw]:
        """Return the draws of a frame, in the order in which they run."""
        ...

    def image_at(self, at: Place) -> Image | None:
        """Return what the framebuffer that is drawn to holds at a place; None where there is none."""
        ...


class Played:
    """A recording as one engine plays it."""

    def __init__(self, trace: Trace, engine_name: str) -> None:
        self.trace = trace
        self.engine = engine_name
        self._environment = engine.environment_of(engine_name)
        self._renderer: str | None = None
        self._at: dict[Place, Image | None] = {}

    @property
    def name(self) -> str:
        """The file and the engine."""
        return f"{self.trace.path.name} on {self.engine}" + (f" ({self._renderer})" if self._renderer else "")

    def hashes(self, frames: range | None) -> Mapping[int, str]:
        """Play up to the last of them once; see FrameSource."""
        wanted = [] if frames is None else ["--frames", f"{frames.start}:{frames.stop}"]
        played = self._play(["--hashes", *wanted])
        if self.engine == "system" and not played.engine.startswith("EGL"):
            self._renderer = played.engine.partition(" (")[0].partition(",")[0]
        return played.hashes

    def images(self, first: int, end: int) -> Iterator[tuple[int, Image]]:
        """Play up to the last of them and yield what they show; see FrameSource."""
        with Scratch() as folder:
            self._play(["--frames", f"{first}:{end}", "--snapshots", f"{folder}/"])
            for path in sorted(Path(folder).glob("*.png")):
                image = read_png(path)
                path.unlink()
                yield int(path.stem), image

    def draws(self, frame: int) -> Sequence[Draw]:
        """Return the draws of a frame; a change of the framebuffer begins a new target.

        Clears and dispatches are among them; of Vulkan only what leaves a picture: draws, and clears of attachments.
        """
        return self._executed(frame) if apis.is_vulkan(self.trace) else self._called(frame)

    def _called(self, frame: int) -> Sequence[Draw]:
        row = next((r for r in self.trace.table(FrameRow) if r["frame"] == frame), None)
        if row is None:
            return ()
        first, end = row["first_seq"], row["end_seq"]
        functions = {f["name"]: f["flags"].split(",") for f in self.trace.table(FunctionRow)}
        draws, target = [], 0
        for seq, name in self.trace.sql(
            f"SELECT seq, name FROM calls WHERE seq >= {first} AND seq < {end} ORDER BY seq"
        ):
            flags = functions.get(str(name), [])
            if _NEW_TARGET.intersection(flags) or str(name).startswith("glBindDrawFramebuffer"):
                target += 1
            elif _DRAWS.intersection(flags) or name == "glBlitFramebuffer":
                draws.append((int(seq), target))
        return [Draw(call, t, str(self.trace.calls[call])) for call, t in draws]

    def _executed(self, frame: int) -> Sequence[Draw]:
        # Command buffers may be recorded in any frame. The player pictures a command where a submission runs it first.
        targets: dict[tuple[int, int], int] = {}
        target, within = 0, None
        for seq, submit, name, in_pass in self.trace.sql(
            "SELECT seq, submit_seq, name, pass_number FROM executed"
            " WHERE (kind = 'draw' OR name = 'vkCmdClearAttachments' OR name ^@ 'vkCmdNextSubpass')"
            f" AND frame = {frame} ORDER BY number"
        ).fetchall():
            subpass = str(name).startswith("vkCmdNextSubpass")
            target += subpass or in_pass != within
            within = in_pass
            if not subpass:
                targets.setdefault((int(seq), int(submit)), target)
        return [Draw(call, t, str(self.trace.calls[call]), submit) for (call, submit), t in targets.items()]

    def image_at(self, at: Place) -> Image | None:
        """Play on to a place; see FrameSource. The last images stay in memory."""
        if at not in self._at:
            with Scratch() as folder:
                path = Path(folder) / "image.png"
                warm.shared(self.trace.path, environment=self._environment, frame_end=self.trace.frame_end).image(
                    at, path
                )
                self._at[at] = read_png(path) if path.exists() else None
            if len(self._at) > _KEPT_IMAGES:
                del self._at[next(iter(self._at))]
        return self._at[at]

    def _play(self, arguments: Sequence[str]) -> player.Replay:
        rule = [] if self.trace.frame_end == "auto" else ["--frame-end", self.trace.frame_end]
        return player.play(self.trace.path, [*arguments, *rule], environment=self._environment)


_DRAWS = frozenset({"draw", "clear", "dispatch", "list_call"})
_NEW_TARGET = frozenset({"make_current", "framebuffer_bind"})
_KEPT_IMAGES = 64
_WAYS = 8


# ---- frames ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrameResult:
    """A frame of both sides: how far apart, and whether that is accepted. `only`: the side that alone has it."""

    frame: int
    difference: Difference
    same: bool
    only: str | None = None


@dataclass(frozen=True)
class DrawResult:
    """The first draw of a frame after which the images differ.

    `a` and `b` are the call on either side, `before` what the images were like just before it (None: there are none).
    `at_start`: the images differ already before the frame's first draw (or the draw was not found). `images`: how many
    were looked at.
    """

    a: Draw
    b: Draw
    before: Difference | None
    after: Difference
    images: int
    at_start: bool = False


@dataclass(frozen=True)
class Comparison:
    """The result of comparing `a` with `b`. `no_draw`: why a frame differs and no draw is named; "" elsewhere."""

    a: str
    b: str
    tolerance: Tolerance
    frames: Sequence[FrameResult]
    draw: DrawResult | None = None
    pictures: Mapping[int, tuple[Image, Image]] = field(default_factory=dict)
    draw_pictures: tuple[Image, Image] | None = None
    no_draw: str = ""

    @property
    def same(self) -> bool:
        """Tell whether all frames count as the same."""
        return all(frame.same for frame in self.frames)

    @property
    def first(self) -> FrameResult | None:
        """Return the first frame that differs."""
        return next((frame for frame in self.frames if not frame.same), None)


def compare(
    a: FrameSource,
    b: FrameSource,
    *,
    tolerance: Tolerance = Tolerance(),
    frames: range | None = None,
    pictures: int = 6,
    bisect: bool = True,
) -> Comparison:
    """Compare the frames (None: all) of two sources, and find the first draw that differs in the first such frame.

    Hashes identify equal frames; images are fetched for those that differ only. `pictures`: keep the images of this
    number of frames that are not accepted, the first ones. Raises UsageError where there is nothing to compare.
    """
    hashes_a, hashes_b = dict(a.hashes(frames)), dict(b.hashes(frames))
    wanted = [n for n in sorted(hashes_a.keys() | hashes_b.keys()) if frames is None or n in frames]
    if not wanted:
        raise UsageError(
            "there are no frames to compare", hint="drawtap frames lists them; --frame-end says what ends one"
        )
    unequal = [n for n in wanted if n in hashes_a and n in hashes_b and hashes_a[n] != hashes_b[n]]
    differences: dict[int, Difference] = {}
    kept: dict[int, tuple[Image, Image]] = {}
    for n, one, other in _pairs(a, b, unequal):
        differences[n] = difference(one, other)
        if len(kept) < pictures and not tolerance.accepts(differences[n]):
            kept[n] = (one, other)
    results = [_result(n, hashes_a, hashes_b, differences, tolerance) for n in wanted]
    names = (a.name, b.name)
    first = next((r for r in results if not r.same), None)
    if first is None or first.only is not None or not bisect:
        return Comparison(*names, tolerance, results, pictures=kept)
    draw = first_draw(a, b, first.frame, tolerance)
    if isinstance(draw, str):
        return Comparison(*names, tolerance, results, pictures=kept, no_draw=draw)
    one_at, other_at = a.image_at(draw.a.at), b.image_at(draw.b.at)
    images = (one_at, other_at) if one_at is not None and other_at is not None else None
    return Comparison(*names, tolerance, results, draw, kept, images)


def _result(
    n: int, a: Mapping[int, str], b: Mapping[int, str], differences: Mapping[int, Difference], tolerance: Tolerance
) -> FrameResult:
    if n not in a or n not in b:
        return FrameResult(
            n, Difference(255, 255.0, 0.0, 1.0, "one side has no such frame"), False, "a" if n in a else "b"
        )
    lost = Difference(255, 255.0, 0.0, 1.0, "an image could not be had")
    apart = differences.get(n, Difference() if a[n] == b[n] else lost)
    return FrameResult(n, apart, tolerance.accepts(apart))


def _pairs(a: FrameSource, b: FrameSource, numbers: Sequence[int]) -> Iterator[tuple[int, Image, Image]]:
    # In batches: each side plays once a batch, and only a batch's images stand on the disk.
    size, at = 1, 0
    while at < len(numbers):
        batch = [n for n in numbers[at : at + size] if n < numbers[at] + size]
        wanted = set(batch)
        first, end = batch[0], batch[-1] + 1
        largest = 1
        others = b.images(first, end)
        waiting: dict[int, Image] = {}
        for n, one in a.images(first, end):
            if n not in wanted:
                continue
            for number, image in others:
                if number in wanted:
                    waiting[number] = image
                if number == n:
                    break
            if n not in waiting:
                break  # the other side ended early
            largest = max(largest, one.nbytes)
            yield n, one, waiting.pop(n)
        at += len(batch)
        size = max(16, _BATCH_BYTES // largest)


# ---- draws -----------------------------------------------------------------------------------------------------------


def first_draw(a: FrameSource, b: FrameSource, frame: int, tolerance: Tolerance) -> DrawResult | str:
    """Return the first draw of a frame after which the images differ, or in words why none is found.

    The search goes by halves through a run of draws to one framebuffer: the first run whose last draw differs. So a
    framebuffer object that differs is found before the screen that it is drawn to.
    """
    draws = (a.draws(frame), b.draws(frame))
    pairs = list(zip(*draws, strict=False))
    looked: dict[int, Difference | None] = {}

    def apart(i: int) -> Difference | None:
        if i not in looked:
            looked[i] = _apart(a.image_at(pairs[i][0].at), b.image_at(pairs[i][1].at))
        return looked[i]

    def differs(i: int) -> bool:
        difference = apart(i)
        return difference is not None and not tolerance.accepts(difference)

    runs = list(_runs([one for one, _ in pairs]))
    run = next((run for run in runs if differs(run[-1])), None)
    if run is None:
        return _none_named(len(draws[0]), len(draws[1]), sum(apart(run[-1]) is None for run in runs))
    low, high = run[0], run[-1]  # high differs
    while low < high:
        # Several places at a time, rising: a player goes on from one to the next, and back only for the next round.
        places = sorted({low + (high - low) * i // _WAYS for i in range(1, _WAYS)} - {high})
        place = next((i for i in places or [low] if differs(i)), None)
        if place is None:
            low = (places or [low])[-1] + 1
        else:
            low, high = max([low, *(i + 1 for i in places if i < place)]), place
    at_start = False
    if high > run[0]:
        before = apart(high - 1)
    else:
        # Nothing of this run came before: what was there already, before the draw itself?
        one, other = pairs[high][0].before, pairs[high][1].before
        before = _apart(a.image_at(one), b.image_at(other)) if one is not None and other is not None else None
        at_start = before is not None and not tolerance.accepts(before)
    after = apart(high)
    assert after is not None
    return DrawResult(pairs[high][0], pairs[high][1], before, after, len(looked) * 2, at_start)


def _apart(one: Image | None, other: Image | None) -> Difference | None:
    """Return the distance of two images; None where neither is there."""
    if one is None or other is None:
        return None if one is other else Difference(255, 255.0, 0.0, 1.0, "one image is missing")
    return difference(one, other)


def _none_named(a: int, b: int, unseen: int) -> str:
    """Return why none of `a` and `b` draws is named; `unseen`: framebuffers whose last draw has no picture."""
    if not a and not b:
        return "none: this frame has no draws; other calls made the difference"
    if not a or not b:
        return f"none: draws are compared in pairs, and this frame has {a} in A, {b} in B"
    parts = ["none: the pictures after the last draw to each framebuffer are equal; other calls made the difference"]
    if unseen:
        parts = [f"none: {unseen} framebuffers have no picture, others are equal after their last draw"]
    parts += [f"this frame has {a} draws in A, {b} in B"] if a != b else []
    return "; ".join(parts)


def _runs(draws: Sequence[Draw]) -> Iterator[list[int]]:
    run: list[int] = []
    for i, draw in enumerate(draws):
        if run and draws[run[-1]].target != draw.target:
            yield run
            run = []
        run.append(i)
    if run:
        yield run
