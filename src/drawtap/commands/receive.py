"""`drawtap receive`: take recordings that programs elsewhere send."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.output.result import Rows

if TYPE_CHECKING:
    from drawtap.capture.receive import Receiver


@command(
    section="record",
    examples=(
        "drawtap receive --listen unix:/tmp/traces -o game.dtap   # ends when one recording has come",
        "drawtap receive --listen tcp://127.0.0.1:9286 -o traces/ --keep",
        "drawtap receive --listen tcp://0.0.0.0:9286 --allow-remote --token-file ~/.drawtap-token",
        "drawtap receive --connect tcp://127.0.0.1:9286              # of a recorder started with --listen",
    ),
)
def receive(
    *,
    listen: Annotated[
        str | None, Opt("Where recorders connect: tcp://HOST:PORT or unix:PATH.", "-l", "ADDRESS")
    ] = None,
    connect: Annotated[str | None, Opt("Connect to a recorder that listens there.", metavar="ADDRESS")] = None,
    output: Annotated[Path | None, Opt("File, or folder for several.  [default: this folder]", "-o", "PATH")] = None,
    keep: Annotated[bool, Opt("Go on after the first recording, until Ctrl-C.")] = False,
    once: Annotated[bool, Opt("End when a recording has come and no other is open (the default).")] = False,
    token_file: Annotated[
        Path | None, Opt("First line: the word that recorders must know. Else $DRAWTAP_TOKEN.", metavar="FILE")
    ] = None,
    allow_remote: Annotated[bool, Opt("Listen where other machines can connect; needs a token.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Rows:
    """Receive recordings that drawtap record --to sends.

    Each program becomes a file of its own, byte for byte what a recording to a file would have been; several may come
    at once. A recorder that vanishes leaves a file that is good up to its last whole chunk; drawtap reports this and
    exits with 1. Nothing that is sent decides where a file goes. The stream is not encrypted: between machines, a
    tunnel (ssh -L) to a loopback address is better than --allow-remote.
    """
    from drawtap.capture import stream
    from drawtap.capture.receive import Receiver

    if (listen is None) == (connect is None):
        raise UsageError("one of --listen and --connect is needed", hint="--listen unix:/tmp/traces, for instance")
    if keep and once:
        raise UsageError("--keep and --once exclude each other")
    address = stream.parse(str(listen or connect))
    token = stream.read_token(token_file)
    stream.check_reach(address, allow_remote=allow_remote, token=token)
    receiver = Receiver(address, output or Path(), token=token, connect=listen is None, force=force)
    _wait(receiver, keep=keep)
    if listen is None and not receiver.streams and receiver.refused:
        raise UnavailableError(f"{address.text}: {receiver.refused[-1]}")
    return Rows(
        ("file", "program", "pid", "state", "calls", "frames", "frames_dropped", "bytes", "error"),
        [
            (str(s.file), s.program, s.pid, s.state, s.calls, s.frames, s.frames_dropped, s.bytes, s.error or None)
            for s in receiver.streams
        ],
        {"bytes": "bytes", "calls": "count", "frames": "count"},
        note=None if receiver.streams else "nothing was received",
        findings=any(s.state != "whole" for s in receiver.streams),
    )


def _wait(receiver: Receiver, *, keep: bool) -> None:
    import contextlib
    import signal

    from drawtap.output.receiving import Receiving

    view = Receiving()
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    before = {}
    with contextlib.suppress(ValueError):  # not the main thread: nobody can signal it
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with receiver:
            view.say(f"receiving at {receiver.address}")
            said = 0
            while not stopped and not receiver.is_over and (keep or not receiver.is_idle):
                view.show(list(receiver.streams))
                while said < len(receiver.refused):
                    view.say(f"turned away: {receiver.refused[said]}")
                    said += 1
                time.sleep(0.05)
        if receiver.streams:
            for why in receiver.refused[said:]:
                view.say(f"turned away: {why}")
    finally:
        view.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
