"""A player that stays where it is: the next question about a later call does not play from the beginning again.

It is a process (`drawtap-play --serve`) that answers through a pipe. A question about an earlier call starts it anew.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import shutil
import subprocess
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from drawtap.errors import ChildError, InputError
from drawtap.replay import player
from drawtap.replay.place import Place
from drawtap.scratch import Scratch

_KEPT = 2
_ALL = "color,depth,stencil"


class Warm:
    """Answer questions about the calls of one recording, best at rising positions.

    `environment` chooses the engine. `keep` has a bit for each call that is played, the lowest of a byte first; None
    plays all. `nice` leaves the processor to others, `looks` makes it ready for `look`. `starts` counts how often the
    player had to begin at the first call, `position` is the call it stands behind (-1: none yet). Use it in a `with`
    statement, or close it.

    Raises UnavailableError where nothing here can play it, InputError for a broken trace, ChildError where the player
    ends before it has answered.
    """

    def __init__(
        self,
        trace: Path,
        *,
        environment: Mapping[str, str] | None = None,
        frame_end: str | None = None,
        keep: bytes | None = None,
        nice: int = 0,
        looks: bool = False,
    ) -> None:
        self.trace = trace
        self.starts = 0
        self.position = -1
        self._nice = nice
        self._looks = looks
        self._environment = dict(environment or {})
        self._frame_end = frame_end
        self._child: subprocess.Popen[str] | None = None
        self._folder = Scratch()
        self._keep = None if keep is None else Path(self._folder.name) / "keep"
        if self._keep is not None and keep is not None:
            self._keep.write_bytes(keep)

    def image(self, at: Place | int, output: Path, *, width: int = 0) -> str | None:
        """Save what the framebuffer that is drawn to holds after a call; return why there is no image, else None.

        With `width` (pixels) the player may shrink it, as `analysis.pictures.shrunk` does; 0 saves every pixel.
        """
        output.unlink(missing_ok=True)
        call, more = _asked(at, width)
        file = output if _is_text(output.absolute()) else Path(self._folder.name) / f"image{output.suffix}"
        why = _said(self._ask("image", call, file=file, **more))
        if file != output and file.exists():
            shutil.move(file, output)
        return None if output.exists() else why or "there is no image to read back here"

    def attachments(self, at: Place | int, base: Path, *, width: int = 0) -> tuple[list[Path], str]:
        """Save colour, depth and stencil of what is drawn to after a call as BASE.png, BASE-color1.png, BASE-depth.png
        ...; return the files, and what could not be read.

        With `width` (pixels) the player may save the first of them alone, and shrink its colour as `image` does.
        """
        call, more = _asked(at, width)
        lines = self._ask("snapshot", call, file=base, **more)
        return [Path(str(line["path"])) for line in lines if line["kind"] == "image"], _said(lines)

    def content(self, call: int, wanted: Mapping[str, object], output: Path) -> Mapping[str, object]:
        """Save what an object holds after a call; return what the player says of the bytes (`why` not, where none).

        native/player/objects.h has the fields of `wanted`.
        """
        lines = self._ask("object", call, what=wanted, file=output)
        line_ = next((line for line in lines if line["kind"] == "object"), None)
        if line_ is None:
            raise ChildError(f"no content at call {call}: {_said(lines)}")
        return line_

    def contents(
        self, at: Place | int, wanted: Sequence[Mapping[str, object]], folder: Path
    ) -> list[tuple[Path, Mapping[str, object]]]:
        """Save what objects of Vulkan hold after a call, or behind the command that it submits, in files of a folder.

        Return for each of `wanted` (native/player/vulkan/held.cc has its fields) the file, and what the player says of
        the bytes (`why` not, where none).
        """
        call, more = _asked(at, 0)
        files = [(folder / f"held-{i}").absolute() for i in range(len(wanted))]
        what = [{**one, "file": str(file)} for one, file in zip(wanted, files, strict=True)]
        lines = self._ask("object", call, what=what, file="/dev/null", **more)
        objects = [line for line in lines if line["kind"] == "object"]
        if len(objects) != len(wanted):
            raise ChildError(f"no content at call {call}: {_said(lines)}")
        return list(zip(files, objects, strict=True))

    def look(self, first: int, last: int, request: Mapping[str, object]) -> tuple[Any, bytes]:
        """Return the player's findings about the calls from `first` to `last`, and bare data that belong to them.

        native/player/metrics/look.h has the fields of `request`.

        Needs `looks`. Raises ChildError where it found nothing.
        """
        answer = Path(self._folder.name) / "look"
        answer.unlink(missing_ok=True)
        why = _said(self._ask("look", last, first=first, **request, file=answer))
        if not answer.exists() or not answer.stat().st_size:
            raise ChildError(f"nothing was found at call {last}: {why}")
        head, _, data = answer.read_bytes().partition(b"\n")
        head_ = json.loads(head)
        assert isinstance(head_, dict)
        return head_, data

    def go_to(self, call: int) -> None:
        """Play up to a call and stay there."""
        self._ask("state", call, path="none", file="/dev/null")

    def state(self, call: int, path: str = "") -> list[tuple[str, object]]:
        """Return what the driver says about its state after a call: paths that begin with `path`, and values."""
        answer = Path(self._folder.name) / "state"
        answer.unlink(missing_ok=True)
        why = _said(self._ask("state", call, path=path, file=answer))
        if not answer.exists():
            raise ChildError(f"no state at call {call}: {why}")
        with answer.open(encoding="utf-8") as lines:
            return [(name, json.loads(value)) for _, name, value in map(json.loads, lines)]

    def close(self) -> None:
        """End the player."""
        child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(OSError):  # it has gone already
            child.stdin.close()
        child.kill()
        child.wait()
        child.stdout.close()

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        self._folder.cleanup()

    def _start(self) -> subprocess.Popen[str]:
        rule = [] if self._frame_end in (None, "auto") else ["--frame-end", str(self._frame_end)]
        kept = [] if self._keep is None else ["--keep", str(self._keep)]
        serving = ["--serve", *(["--look"] if self._looks else []), "--attachments", _ALL]
        polite = ["nice", "-n", str(self._nice)] if self._nice else []
        self.starts += 1
        self.position = -1
        with (Path(self._folder.name) / "complaints").open("w") as complaints:
            return subprocess.Popen(
                [*polite, str(player.program(serving)), *serving, *kept, *rule, str(self.trace)],
                env=player.environment_with(self._environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                errors="replace",
            )

    def _ask(self, what: str, call: int, /, *, file: Path | str, **more: object) -> list[dict[str, object]]:
        request = json.dumps({"ask": what, "call": call, "file": str(Path(file).absolute()), **more})
        for _ in range(2):
            if self._child is None or self._child.poll() is not None:
                self.close()
                self._child = self._start()
            answer = self._answer(self._child, request)
            if answer is not None:
                self.position = call
                return answer
            self.close()  # it is behind: from the beginning
        raise ChildError(f"the player does not get to call {call}")

    def _answer(self, child: subprocess.Popen[str], request: str) -> list[dict[str, object]] | None:
        """Return what the player says, None where it has already gone by."""
        assert child.stdin is not None
        assert child.stdout is not None
        lines: list[dict[str, object]] = []
        try:
            child.stdin.write(request + "\n")
            child.stdin.flush()
        except BrokenPipeError:
            pass  # why, it says below
        for text in child.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # something that the driver printed
            if line["kind"] == "done":
                return lines
            if line["kind"] == "behind":
                return None
            lines.append(line)
        self._raise(child.wait())
        return None

    def _raise(self, code: int) -> None:
        said = (Path(self._folder.name) / "complaints").read_text(errors="replace").strip().splitlines()
        complaint = said[-1].removeprefix("drawtap-play: ") if said else f"exit code {code}"
        self._child = None
        if code == 3:
            raise player.unavailable(complaint)
        if code == 4:
            raise InputError(complaint)
        raise ChildError(f"the player ended: {complaint}")


def _asked(at: Place | int, width: int) -> tuple[int, dict[str, int]]:
    """Return the call and what else a request for a picture has."""
    more = {"width": width} if width else {}
    if isinstance(at, int):
        return at, more
    return at.call, more if at.draw is None else {**more, "draw": at.draw}


def _is_text(path: Path) -> bool:
    """Tell whether a request can name the file: requests are JSON, and names of files need not be text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _said(lines: Sequence[Mapping[str, object]]) -> str:
    """Return what the player found odd; "" for nothing."""
    return next((str(line["text"]) for line in reversed(lines) if line["kind"] == "finding"), "")


_open: OrderedDict[tuple[object, ...], Warm] = OrderedDict()


def shared(trace: Path, *, environment: Mapping[str, str] | None = None, frame_end: str | None = None) -> Warm:
    """Return this process's warm player of a recording: the same one the next time, while the file is the same."""
    try:
        status = trace.stat()
    except OSError as error:
        raise InputError(f"cannot read {trace}: {error.strerror}") from None
    key = (
        trace.absolute(), status.st_mtime_ns, status.st_size, frame_end, tuple(sorted((environment or {}).items()))
    )  # fmt: skip
    if key not in _open:
        _open[key] = Warm(trace, environment=environment, frame_end=frame_end)
    _open.move_to_end(key)
    while len(_open) > _KEPT:
        _open.popitem(last=False)[1].close()
    return _open[key]


@atexit.register
def close_all() -> None:
    """End the warm players of this process."""
    while _open:
        _open.popitem()[1].close()
