"""`drawtap corpus approve`: say which images are right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS, ENGINES_FILE, ID, TAGS
from drawtap.output.result import Rows, Sheets

if TYPE_CHECKING:
    from collections.abc import Sequence

ON = Opt("The engine that drew the images, in its last run.", metavar="ENGINE")
FRAME = Opt("Only this frame.  [default: all]", metavar="N")
FOR = Opt("For engines of this family.  [default: the engine's family]", metavar="FAMILY", word="for")
WHY = Opt("The reason; it stays beside the decision.", metavar="TEXT")

KEY = Opt("Sign with this private key of OpenSSH, where the corpus asks for signatures.", metavar="KEY", word="sign")


@command(
    name="corpus approve",
    section="corpus",
    examples=(
        'drawtap corpus approve 3f2a91c04d77 --on mesa-26.1 --why "compared with the design" --corpus recordings/',
        'drawtap corpus approve --tag app=navigation --on mesa-26.1 --for radeonsi --why "new font hinting"',
        'drawtap corpus approve 3f2a91c04d77 --on mesa-26.1 --frame 4 --flaky --why "particles from the clock"',
    ),
)
def corpus_approve(
    *ids: Annotated[str, ID],
    on: Annotated[str, ON],
    why: Annotated[str, WHY],
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    frame: Annotated[int | None, FRAME] = None,
    for_: Annotated[str | None, FOR] = None,
    sign: Annotated[Path | None, KEY] = None,
    flaky: Annotated[bool, Opt("These frames may look different from run to run.")] = False,
) -> Sheets:
    """Approve the images that an engine drew, for its family of engines.

    `corpus verdict` holds later runs against them. Other images of an approved frame differ until somebody approves
    them too. A family is a path: what is approved for radeonsi holds for radeonsi/gfx11. Decisions are never changed,
    the newest one counts; they are the table approvals of `corpus sql`.
    """
    label = "flaky" if flaky else "approved"
    return decided(corpus, ids, tag, NewDecision(on, engines, label, why, for_, frame, sign))


@dataclass(frozen=True)
class NewDecision:
    """A decision to make: a label with its reason, for a family (None: the engine's).

    `on`: the engine that drew the images; `engines`: the file that names it. `frame`: the only one that is meant (None:
    all). `key` signs it.
    """

    on: str
    engines: Path | None
    label: str
    why: str
    family: str | None
    frame: int | None
    key: Path | None


def decided(corpus: str | None, ids: Sequence[str], tags: Sequence[str], new: NewDecision) -> Sheets:
    """Write decisions about the images of the last runs on an engine, and return them as a table."""
    from drawtap.corpus import approvals, pictures
    from drawtap.corpus.engines import named
    from drawtap.corpus.search import Corpus, selected
    from drawtap.corpus.store import chosen

    store = chosen(corpus)
    one = named([new.on], new.engines)[0]
    traces = selected(store, ids, tags)
    with Corpus(store) as tables:
        made = pictures.decisions_of(tables, traces, one, new.label, new.why, family=new.family, frame=new.frame)
    done = [approvals.decide(store, decision, new.key) for decision in made]
    rows = [(d.trace[:12], d.label, d.family, len(d.images), d.who, d.signer or None) for d in done]
    data = [
        {
            "trace": d.trace,
            "label": d.label,
            "family": d.family,
            "images": {str(frame): digest for frame, digest in d.images.items()},
            "who": d.who,
            "why": d.why,
            "signer": d.signer or None,
        }
        for d in done
    ]
    columns = ("id", "label", "family", "frames", "who", "signer")
    shown = len(columns) if any(d.signer for d in done) else -1
    return Sheets([Rows(columns[:shown], [row[:shown] for row in rows], {"frames": "count"})], data)
