"""Small pictures of frames over the whole run, made by a polite player in the background."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.analysis.pictures import Image, ends_of, sampled, shrunk
from drawtap.errors import DrawtapError, UsageError
from drawtap.replay.pool import POLITE
from drawtap.replay.warm import Warm
from drawtap.scratch import Scratch
from drawtap.trace.library import Cancelled
from drawtap.web.small import WIDTH, encoded

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_MOST = 40  # frames


class Strip:
    """Makes pictures of chosen frames, in their order, as soon as somebody asks for them."""

    def __init__(self, trace: Trace, *, environment: Mapping[str, str] | None = None) -> None:
        self._trace = trace
        self._images: dict[int, Image] = {}
        self._why = ""
        self._player = Warm(trace.path, environment=environment, frame_end=trace.frame_end, nice=POLITE)
        self._closed = False
        self._making = threading.Thread(target=self._make, daemon=True)
        self._making.start()

    def frames(self) -> dict[str, object]:
        """Return the frames that have a picture, whether more are to come, and why some are missing ("" if none is)."""
        return {"frames": sorted(self._images), "more": self._making.is_alive(), "why": self._why}

    def image(self, frame: int) -> Image:
        """Return the picture of a frame. Raises UsageError where there is none (yet)."""
        if frame not in self._images:
            raise UsageError(f"there is no small picture of frame {frame}", hint=self._why or "it may still be made")
        return self._images[frame]

    def answer(self, frame: int) -> bytes:
        """Return the picture of a frame for the page."""
        return encoded(self.image(frame))

    def _make(self) -> None:
        try:
            frames = self._trace.frames
            calls = ends_of(self._trace, sampled([frame.duration for frame in frames], _MOST))
            with Scratch() as folder:
                file = Path(folder) / "frame.png"
                for frame in sorted(calls):
                    self._why = self._player.image(calls[frame], file, width=WIDTH) or self._why
                    if self._closed:
                        return
                    if file.exists():
                        self._images[frame] = _small(file)
        except DrawtapError as error:
            self._why = error.message
        except Cancelled:
            self._why = "the recording is closed"
        finally:
            self._player.close()

    def close(self) -> None:
        """Stop."""
        self._closed = True
        self._player.close()
        self._making.join()


def _small(file: Path) -> Image:
    from drawtap.replay.compare import read_png

    return shrunk(read_png(file), WIDTH)
