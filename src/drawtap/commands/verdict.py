"""`drawtap verdict`: where to look first."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import Text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=("drawtap verdict game.dtap", "drawtap verdict game.dtap --on llvmpipe --on softpipe --json"),
)
def verdict(
    trace: Trace,
    *,
    on: Annotated[
        tuple[str, ...],
        Opt("Play it on this engine; twice: compare them. drawtap replay --engines lists them.", metavar="ENGINE"),
    ] = (),
) -> Text:
    """Say where to look first: API usage, content, engine, elsewhere.

    It divides the time of the frames by its use, with the findings of the checklist as evidence. A second engine shows
    whether slow drawing comes from the content or from the engine: name the engine in question and another one.
    """
    from drawtap.analysis.checklist import checklist
    from drawtap.analysis.verdict import verdict as judged
    from drawtap.output.checklist import verdict_text

    if len(on) > 2:
        raise UsageError("two engines are compared, not more")
    answer = judged(trace, checklist(trace), on)
    return Text(verdict_text(answer, trace.path.name), asdict(answer), wrap=True)
