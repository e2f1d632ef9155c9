"""`drawtap corpus reject`: say which images are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import command
from drawtap.commands.corpus_approve import FOR, FRAME, KEY, ON, WHY, NewDecision, decided
from drawtap.commands.options import CORPUS, ENGINES_FILE, ID, TAGS
from drawtap.output.result import Sheets


@command(
    name="corpus reject",
    section="corpus",
    examples=('drawtap corpus reject 3f2a91c04d77 --on mesa-26.1 --frame 4 --why "bug 4711" --corpus recordings/',),
)
def corpus_reject(
    *ids: Annotated[str, ID],
    on: Annotated[str, ON],
    why: Annotated[str, WHY],
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    frame: Annotated[int | None, FRAME] = None,
    for_: Annotated[str | None, FOR] = None,
    sign: Annotated[Path | None, KEY] = None,
) -> Sheets:
    """Reject the images that an engine drew.

    The same image is wrong on every engine, also of other families, unless somebody approved it there. `corpus verdict`
    then says rejected.
    """
    return decided(corpus, ids, tag, NewDecision(on, engines, "rejected", why, for_, frame, sign))
