"""`drawtap mcp`: let a program ask recordings, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.view.result import ExitStatus


@command(
    section="ask",
    examples=("drawtap mcp game.dtap", "drawtap mcp before.dtap after.dtap"),
    json=False,
)
def mcp(
    *files: Annotated[Path, Opt("recordings to ask", metavar="FILE")],
) -> ExitStatus:
    """Answer an agent or an editor: calls, state, pictures, SQL as tools of the Model Context Protocol.

    The client starts this command and talks to it over standard input and output. Every tool only reads. A tool that
    proposes a cut answers with the command for it.
    """
    if not files:
        raise UsageError("name a recording", hint="drawtap mcp game.dtap")
    try:
        from drawtap.web.agent import serve
    except ImportError as error:
        raise UnavailableError(f"drawtap mcp needs {error.name}", hint="pip install 'drawtap[mcp]'") from None
    serve(files)
    return ExitStatus(0)
