"""`drawtap corpus check`: is a corpus whole?"""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import command
from drawtap.commands.options import CORPUS
from drawtap.output.result import Rows


@command(name="corpus check", section="corpus", examples=("drawtap corpus check --corpus recordings/",))
def corpus_check(*, corpus: Annotated[str | None, CORPUS] = None) -> Rows:
    """Read every object of a corpus and name what is damaged, missing or foreign.

    Every object is held against the SHA-256 that it was written with, every content against its own. The exit code is 1
    where there is a fault. drawtap corpus add --mend repairs recordings whose files are still there.
    """
    from drawtap.corpus.checking import check
    from drawtap.corpus.store import chosen

    checked = check(chosen(corpus))
    rows = [(f.name, f.what, f.text, [id_[:12] for id_ in f.recordings]) for f in checked.faults]
    note = f"{checked.recordings} recordings, {checked.objects} objects, {checked.bytes / 1e6:.1f} MB were read"
    note += "" if rows else ": all are whole"
    return Rows(("object", "what", "why", "recordings"), rows, note=note, findings=bool(rows))
