"""`drawtap build`: show what is generated for a function."""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.view.result import Text


@command(
    section="know",
    examples=("drawtap build --show glDrawElements", "drawtap build --show eglSwapBuffers | less"),
    json=False,
)
def build(
    *,
    show: Annotated[
        str | None, Opt("Print the C++ that stands between a program and this function.", metavar="NAME")
    ] = None,
) -> Text:
    """Print the generated code of the tap.

    The tap is generated from the specification and compiled when drawtap is built; nothing generated is kept in the
    sources. This shows any part of it.
    """
    if show is None:
        raise UsageError("what should be shown?", hint="drawtap build --show glDrawElements")
    from drawtap.instrument import generate

    return Text(generate.show(show))
