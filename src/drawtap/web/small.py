"""Small pictures of draws and of what objects held: many of them stand beside each other."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drawtap.analysis.pictures import Image, shrunk
from drawtap.errors import UsageError
from drawtap.replay.pool import POLITE, SupersededError
from drawtap.replay.warm import Warm
from drawtap.scratch import Scratch
from drawtap.web.answer import headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from drawtap.analysis.held import Part
    from drawtap.replay.place import Place
    from drawtap.replay.pool import Pool
    from drawtap.trace.trace import Trace

WIDTH = 96  # pixels
_KEPT = 1024  # answers
_LEVEL = re.compile(r"(?:\.GL_TEXTURE_CUBE_MAP_(\w+))?\.levels\[(\d+)\]$")


def encoded(image: Image) -> bytes:
    """Return an image for the page: a JSON head, then RGBA, the top row first."""
    return headed({"width": image.shape[1], "height": image.shape[0], "bytes": 4}, image.tobytes())


class Small:
    """Small pictures of one recording, each made once, by polite players of its own.

    Nobody who looks at a call waits for them. `place` says where the picture of a call is taken. Raises what `Warm`
    raises, and SupersededError while another one is made: ask again. `close` it at the end.
    """

    def __init__(
        self,
        trace: Trace,
        pool: Pool,
        place: Callable[[int], Place],
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._trace, self._pool, self._place = trace, pool, place
        self._environment = environment
        self._lock = threading.Lock()
        self._closed = False
        self._keep: bytes | None = None
        self._players: dict[bool, Warm] = {}  # by whether it plays a cut
        self._made: OrderedDict[tuple[object, ...], bytes] = OrderedDict()

    def close(self) -> None:
        """End the players, also a busy one."""
        self._closed = True
        for player in [*self._players.values()]:
            player.close()
        with self._lock:
            for player in self._players.values():
                player.close()

    def _player(self, keep: bytes | None) -> Warm:
        """Return a player of the calls in `keep`, of all where there are none."""
        if self._closed:
            raise UsageError("the recording is closed", hint="start drawtap view again")
        cut = keep is not None
        if cut and keep is not self._keep and cut in self._players:
            self._players.pop(cut).close()
        if cut not in self._players:
            rule = self._trace.frame_end
            path = self._trace.path
            self._players[cut] = Warm(path, environment=self._environment, frame_end=rule, keep=keep, nice=POLITE)
        self._keep = keep if cut else self._keep
        return self._players[cut]

    def drawn(self, seq: int) -> bytes:
        """Return what is drawn to after a call. Raises UsageError where there is no picture."""
        place = self._place(seq)

        def image() -> Image:
            from drawtap.replay.compare import decode_attachment

            with Scratch() as folder:
                player = self._player(self._pool.calls_for(place.call))
                files, why = player.attachments(place, Path(folder) / "of", width=WIDTH)
                if not files:
                    raise UsageError(why or "there is no picture here", hint="choose a draw")
                # Colour where there is any, else depth.
                pixels = decode_attachment(files[0].read_bytes(), f"the picture after call {seq}")
            return pixels if pixels.ndim == 3 else _picture_of(pixels[..., None], "l")

        return self._once((seq,), image)

    def held(self, seq: int, kind: str, share_group: int, name: int, path: str) -> bytes:
        """Return the first layer of what an image of an object held after a call.

        `path` names the image, as the table `revisions` does. Raises UsageError where there is no such picture.
        """
        from drawtap.analysis.held import held_object
        from drawtap.trace import apis

        apis.refuse(self._trace, "view: objects")
        only = _suffix(path)

        def image() -> Image:
            with Scratch() as folder:
                held = held_object(
                    self._trace, Path(folder), self._player(None),
                    at=seq, kind=kind, share_group=share_group, name=name, only=only, texels=True,
                )  # fmt: skip
            if not held.parts:
                raise UsageError(held.why or f"{path} has no picture then", hint="choose a later call")
            return shown(held.parts[0], held.format, bottom_first=kind == "texture")

        return self._once((seq, kind, share_group, name, only), image)

    def _once(self, key: tuple[object, ...], make: Callable[[], Image]) -> bytes:
        known = self._made.get(key)
        if known is not None:
            return known
        # A question that waited here for a picture that nobody looks at any more would hold up other questions.
        if not self._lock.acquire(blocking=False):
            raise SupersededError("another small picture is being made")
        try:
            if key not in self._made:
                self._made[key] = encoded(shrunk(make(), WIDTH))
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            return self._made[key]
        finally:
            self._lock.release()


def _suffix(path: str) -> str:
    """Return the suffix of a part (`analysis.held.Part`) whose path belongs to an image in `state`."""
    match = _LEVEL.search(path)
    if match is None:
        return ""
    face = f"-{match[1].lower()}" if match[1] else ""
    return face + (f"-level{match[2]}" if match[2] != "0" else "")


def shown(part: Part, form: str, *, bottom_first: bool) -> Image:
    """Return the first layer of a part as RGBA of 8 bits, the top row first.

    Bytes stand as they are; other numbers are spread from the least to the greatest, alpha left out. Raises UsageError
    where the part has no content.
    """
    from drawtap.analysis.held import picture

    pixels = picture(part, form) if part.pixels is None else part.pixels
    if pixels is None:
        raise UsageError(part.why or f"{form} is not decoded here", hint="save the bytes")
    layer = pixels if pixels.ndim == 3 else pixels[0]
    channels = part.channels or "rgba"
    return _picture_of(layer[::-1] if bottom_first else layer, channels)


def _picture_of(layer: NDArray[Any], channels: str) -> Image:
    if layer.dtype != np.uint8 or channels == "s":
        finite = np.where(np.isfinite(layer), layer, 0).astype(np.float64)
        low, high = float(finite.min()), float(finite.max())
        layer = np.asarray(np.rint((finite - low) * (255 / (high - low or 1))), np.uint8)
        channels = channels.replace("a", "x")
    out = np.zeros((*layer.shape[:2], 4), np.uint8)
    out[..., 3] = 255
    for i, channel in enumerate(channels[: layer.shape[2]]):
        if channel in "rgba":
            out[..., "rgba".index(channel)] = layer[..., i]
        elif channel in "lds" and i == 0:
            out[..., :3] = layer[..., i, None]
    return out
