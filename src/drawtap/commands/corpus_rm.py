"""`drawtap corpus rm`: take recordings out of a corpus for good."""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import command
from drawtap.commands.options import CORPUS, ID
from drawtap.errors import UsageError
from drawtap.output.result import Rows


@command(name="corpus rm", section="corpus", examples=("drawtap corpus rm 3f2a91c04d77 --corpus recordings/",))
def corpus_rm(*ids: Annotated[str, ID], corpus: Annotated[str | None, CORPUS] = None) -> Rows:
    """Remove recordings from a corpus; `corpus gc` frees their space.

    Until a sweep has taken the objects, adding the file again costs nothing.
    """
    from drawtap.corpus.store import chosen

    if not ids:
        raise UsageError("which recordings?", hint="drawtap corpus ls lists their ids")
    store = chosen(corpus)
    recordings = [store.find(word) for word in dict.fromkeys(ids)]
    for id_ in recordings:
        store.remove(id_)
    return Rows(("removed",), [(id_[:12],) for id_ in recordings])
