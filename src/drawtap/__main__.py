"""The first step of `drawtap` and of `python -m drawtap`."""

from __future__ import annotations

import os
import sys

from drawtap.trace.engine import load_lazily, map_ahead, open_ahead

TYPE_CHECKING = False  # type checkers take it for that of typing, which takes long to load
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run `drawtap` with the words of the process, and exit.

    For a question about a file a database is opened beside the modules of the command line: either takes 20 ms. The
    core reads the table of frames beside them.
    """
    _open_closed_streams()
    words = sys.argv[1:]
    files = [*filter(os.path.isfile, words)]
    if files and words[0] == "sql":
        load_lazily()
        map_ahead()
        import dataclasses  # noqa: F401 -- what all modules need, meanwhile
        import pathlib  # noqa: F401
        import typing  # noqa: F401

        open_ahead()
        from drawtap.trace import core

        core.open_beside(files[0])
    elif len(files) == 1 and words[0] == "frames" and not any(word.startswith("--frame-end") for word in words):
        _frames_ahead(files[0])
    from drawtap import cli  # behind the start of that

    cli.main()


def _open_closed_streams() -> None:
    """Put something in the place of standard streams that are closed, before a file or a socket takes their numbers.

    A socket without a peer takes the place of standard output: writes to it, and to /dev/stdout, get an error.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), closefd=False, encoding="utf-8")
    if sys.stdout is None:
        import socket  # where something is odd alone

        sys.stdout = os.fdopen(socket.socket(socket.AF_UNIX).detach(), "w", closefd=False, encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False, encoding="utf-8")


def _frames_ahead(path: str) -> None:
    from drawtap.tables.recording import FrameRow
    from drawtap.trace import core

    core.open_ahead(path, FrameRow)


if __name__ == "__main__":
    main()
