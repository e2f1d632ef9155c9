"""`drawtap view`: look at recordings in a browser, or let an agent look."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.output.result import ExitStatus


@command(
    section="ask",
    examples=(
        "drawtap view game.dtap",
        "drawtap view game.dtap --at 1234",
        "drawtap view before.dtap after.dtap    # what differs, on one alignment",
        "drawtap view game.dtap --on llvmpipe --on softpipe",
        "drawtap view kernel.dat                           # what the kernel saw",
        "drawtap view game.dtap --port 8000 --no-browser    # over ssh -L 8000:127.0.0.1:8000",
        "drawtap view --live    # the programs that a manager looks after",
        "drawtap view game.dtap --mcp    # for an agent or an editor",
    ),
    json=False,
    serves=True,
)
def view(
    *files: Annotated[Path, Opt("recordings, or traces of the kernel", metavar="FILE")],
    at: Annotated[str, Opt("The call to show first, or #FRAME.", metavar="CALL")] = "",
    on: Annotated[
        tuple[str, ...],
        Opt(
            "The engine that plays; twice: one recording on two. drawtap replay --engines lists them.", metavar="ENGINE"
        ),
    ] = (),
    port: Annotated[int, Opt("The port of the server; 0: a free one.", metavar="PORT")] = 0,
    no_browser: Annotated[bool, Opt("Print the address and open no browser.")] = False,
    host: Annotated[str, Opt("The address to listen on: other machines can reach it.", metavar="HOST")] = "127.0.0.1",
    live: Annotated[bool, Opt("Show what runs, as the manager sees it; limit and record it.")] = False,
    mcp: Annotated[bool, Opt("Answer an agent on standard input and output (Model Context Protocol).")] = False,
) -> ExitStatus:
    """Open recordings or kernel traces in a browser, or to an agent.

    Two recordings are shown on one alignment, that of drawtap diff: calls, state, pictures, objects.

    The first line of output is the address of the page. The token in that address is the key: only its holder can ask.
    The page loads nothing from anywhere else. Bookmarks and notes go to FILE.notes.json. Ctrl-C ends the server.

    --live shows the programs that drawtap manager looks after, with their frame times as they come. The page sets
    limits and classes, and records a program into the current folder, as far as the manager lets you.

    With --mcp a client starts the command and asks through tools of the Model Context Protocol, which only read.
    """
    if not files and not live:
        raise UsageError("name a recording", hint="drawtap view game.dtap, or --live")
    if live and (files or mcp or at or on):
        raise UsageError("--live is about what runs, not about recordings", hint="drawtap view --live")
    if mcp:
        _answer_an_agent(files)
        return ExitStatus(0)
    from drawtap.web.serve import serve

    chosen, engines = _on_engines(files, on)
    place = _place(files[0], at) if files else ""
    if len(chosen) == 2 and not any(map(_is_kernel_trace, chosen)):
        place = f"with=1&{place}".rstrip("&")
    serve(chosen, host=host, port=port, browser=not no_browser, place=place, engines=engines, live=live)
    return ExitStatus(0)


def _answer_an_agent(files: Sequence[Path]) -> None:
    try:
        from drawtap.web.agent import serve
    except ImportError as error:
        raise UnavailableError(f"drawtap view --mcp needs {error.name}", hint="pip install 'drawtap[mcp]'") from None
    serve(files)


def _on_engines(files: Sequence[Path], on: Sequence[str]) -> tuple[Sequence[Path], Sequence[str]]:
    """Return the recordings to open, and the engine of each."""
    if len(on) > 2:
        raise UsageError("at most two engines are compared")
    if len(on) == 2:
        if not 1 <= len(files) <= 2:
            raise UsageError("two engines play one recording, or one each")
        return [files[0], files[-1]], on
    return files, [*(on or ("system",))] * len(files)


def _is_kernel_trace(file: Path) -> bool:
    from drawtap.system.reader import recognised
    from drawtap.trace.core import is_recording

    return file.exists() and not is_recording(file) and recognised(file) is not None


def _place(file: Path, at: str) -> str:
    if not at:
        return ""
    from drawtap.trace.ranges import call_of
    from drawtap.trace.trace import open_trace

    if _is_kernel_trace(file):
        raise UsageError("--at names a call, and a kernel trace has none")
    with open_trace(file) as trace:
        return f"call={call_of(trace, at)}"
