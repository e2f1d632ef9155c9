"""Pictures after calls: those that were looked at are kept, those that the next steps back want are made beforehand."""

from __future__ import annotations

import bisect
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drawtap.errors import UsageError
from drawtap.replay.picture import packed
from drawtap.replay.place import Place
from drawtap.scratch import Scratch
from drawtap.web.answer import headed

if TYPE_CHECKING:
    import numpy.typing as npt

    from drawtap.replay.pool import Pool, Served
    from drawtap.replay.warm import Warm

_PICTURES = 32  # calls whose attachments are kept
_SENT = 16  # pictures of which a page may want what differs alone
_BEHIND = 8  # draws whose pictures wait for steps back
_ON_THE_WAY = 3  # of them, those that a step back takes itself


class Pictures:
    """Attachments after calls of one recording.

    `draws_in` returns the draws and clears of a call's frame, in order; `place` where the picture of a call is taken.
    """

    def __init__(self, pool: Pool, draws_in: Callable[[int], list[int]], place: Callable[[int], Place]) -> None:
        self._pool, self._draws_in, self._place = pool, draws_in, place
        self._lock = threading.Lock()
        self._looked = -1
        self._draws: list[int] = []
        self._foreseeing: threading.Thread | None = None
        self._kept: OrderedDict[int, tuple[dict[str, bytes], str, Served]] = OrderedDict()  # attachments as PNG
        self._sent: OrderedDict[int, bytes] = OrderedDict()  # PNGs by the number under which a page knows them
        self._numbers = itertools.count(1)

    def picture(self, seq: int, of: str, on: int = 0) -> bytes:
        """Return an attachment of the framebuffer that is drawn to after a call: a JSON head, then bare pixels.

        The head says which attachments there are, what could not be read, the size and kind of `of` ("": the colour
        drawn to first), and which player drew it. Pixels are RGBA of 8 bits, depth of 16 or stencil of 8, the top row
        first. Raises SupersededError where a newer request came, UsageError where there is no such picture.

        `number` in the head names the picture. A page names one that it has with `on`: the answer has the rows that
        differ, `rows` of them from `first` on. It has all rows where the server does not keep that picture any more.
        """
        from drawtap.replay.compare import decode_attachment

        pictures, why, served = self.attachments(seq)
        if of not in pictures:
            raise UsageError(why or f"there is no {of} to read back here", hint="choose a draw, or the end of a frame")
        pixels = decode_attachment(pictures[of], f"the picture after call {seq}")
        number, base = self._numbered(pictures[of], on)
        first, end = 0, len(pixels)
        if base is not None:
            first, end = _differing(pixels, decode_attachment(base, "a picture that was sent"))
        head = {
            "names": list(pictures),
            "why": why,
            "width": pixels.shape[1],
            "height": pixels.shape[0],
            "bytes": pixels.nbytes // (pixels.shape[0] * pixels.shape[1] or 1),
            "number": number,
            "first": first,
            "rows": end - first,
            "cut": served.cut,
            "calls": served.calls,
            "proof": served.proof,
        }
        return headed(head, pixels[first:end].tobytes())

    def _numbered(self, content: bytes, on: int) -> tuple[int, bytes | None]:
        """Return the number under which a PNG is sent, and the one that was sent as number `on`, if it is kept."""
        with self._lock:
            base = self._sent.get(on)
            known = (number for number, sent in self._sent.items() if sent is content)
            number = next(known, 0) or next(self._numbers)
            self._sent[number] = content
            self._sent.move_to_end(number)
            while len(self._sent) > _SENT:
                self._sent.popitem(last=False)
            return number, base

    def png(self, seq: int, of: str) -> bytes:
        """Return the same picture as PNG."""
        pictures, why, _ = self.attachments(seq)
        if of not in pictures:
            raise UsageError(why or f"there is no {of} to read back here", hint="choose a draw, or the end of a frame")
        return packed(pictures[of])

    def attachments(self, seq: int) -> tuple[dict[str, bytes], str, Served]:
        """Return the PNGs of what is drawn to after a call, by name, why others are missing, and who drew them."""
        back, self._looked = seq < self._looked, seq
        place = self._place(seq)
        near = self._draws_before(seq) if back else []
        before = [draw for draw in near if draw not in self._kept]
        kept = self._kept.get(seq)
        if kept is None or kept[2].proof == "differs":
            # Steps back pass the draws before: pictures of the nearest are taken on the way.
            def question(player: Warm) -> dict[int, tuple[dict[str, bytes], str]]:
                return {**_pictures(player, before[-_ON_THE_WAY:]), seq: _picture(player, place)}

            self._keep(*self._pool.ask(place.call, question))
            kept = self._kept[seq]
        elif (len(before) > _BEHIND // 2 or {*before} & {*near[-2:]}) and not self._foresees():
            self._foreseeing = threading.Thread(target=self._foresee, args=(before,), daemon=True)
            self._foreseeing.start()
        return kept

    def _keep(self, pictures: Mapping[int, tuple[dict[str, bytes], str]], served: Served) -> None:
        with self._lock:
            for seq, (shown, why) in pictures.items():
                self._kept[seq] = shown, why, served
            while len(self._kept) > _PICTURES:
                self._kept.popitem(last=False)

    def _foresees(self) -> bool:
        return self._foreseeing is not None and self._foreseeing.is_alive()

    def _foresee(self, draws: Sequence[int]) -> None:
        """Take pictures of draws that the next steps back come to, while nobody waits."""
        prepared = self._pool.prepare(draws[-1], lambda player: _pictures(player, draws))
        if prepared is not None:
            self._keep(*prepared)

    def _draws_before(self, seq: int) -> list[int]:
        """Return the last draws and clears before a call in its frame, in order."""
        if not self._draws or not self._draws[0] < seq <= self._draws[-1]:
            self._draws = self._draws_in(seq)
        end = bisect.bisect_left(self._draws, seq)
        return self._draws[max(end - _BEHIND, 0) : end]


def _differing(pixels: npt.NDArray[Any], base: npt.NDArray[Any]) -> tuple[int, int]:
    """Return the first row that differs from `base` and the one behind the last; all rows of another size or kind."""
    if pixels.shape != base.shape or pixels.dtype != base.dtype:
        return 0, len(pixels)
    rows = np.flatnonzero((pixels != base).reshape(len(pixels), -1).any(axis=1))
    return (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)


def _pictures(player: Warm, calls: Sequence[int]) -> dict[int, tuple[dict[str, bytes], str]]:
    """Return the attachments as PNG after those calls that a player comes by."""
    return {one: _picture(player, Place(one)) for one in calls if one > player.position}


def _picture(player: Warm, place: Place) -> tuple[dict[str, bytes], str]:
    """Return the attachments as PNG at a place, and why others are missing."""
    with Scratch() as folder:
        paths, why = player.attachments(place, Path(folder) / "of")
        names = {path: path.stem.removeprefix("of").removeprefix("-") for path in paths}
        return {name: path.read_bytes() for path, name in names.items()}, why
