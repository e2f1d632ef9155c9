"""`drawtap corpus select`: recordings that stand for all others."""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS
from drawtap.errors import UsageError
from drawtap.output.result import Rows, Sheets


@command(
    name="corpus select",
    section="corpus",
    examples=(
        "drawtap corpus select --minutes 10 --corpus recordings/",
        "drawtap corpus select --minutes 10 --set smoke=yes      # then: corpus replay --tag smoke=yes",
    ),
)
def corpus_select(
    *,
    minutes: Annotated[float, Opt("They take so long in all, as recorded.", "-m", "N")],
    corpus: Annotated[str | None, CORPUS] = None,
    set_: Annotated[str | None, Opt("Give this tag to the chosen ones.", metavar="NAME=VALUE", word="set")] = None,
) -> Sheets:
    """Choose recordings that stand for all others by what they draw.

    The recordings are grouped by their content, as drawtap cluster does. The typical one of each group is chosen, with
    as many groups as the time allows. Needs scikit-learn: pip install 'drawtap[clusters]'.
    """
    from drawtap.corpus.search import Corpus
    from drawtap.corpus.store import chosen, parse_tags
    from drawtap.corpus.subset import select

    if minutes <= 0:
        raise UsageError(f"--minutes {minutes:g} makes no sense", hint="--minutes 10")
    tags = parse_tags([set_]) if set_ is not None else {}
    store = chosen(corpus)
    with Corpus(store) as tables:
        subset = select(tables, minutes * 60e9)
    for one in subset.chosen:
        store.tag(one.id, tags)
    rows = [(c.id[:12], c.file, c.frames, c.duration_ns, c.stands_for) for c in subset.chosen]
    data = [
        {"trace": c.id, "file": c.file, "frames": c.frames, "duration": c.duration_ns, "stands_for": c.stands_for}
        for c in subset.chosen
    ]
    took = sum(c.duration_ns for c in subset.chosen)
    note = (
        f"{len(rows)} of {subset.recordings} recordings, {took / 6e10:.2f} of {subset.duration_ns / 6e10:.2f} minutes"
    )
    notes = [note, *([f"{subset.left_out} recordings without frames stand for nothing"] if subset.left_out else [])]
    columns = ("id", "file", "frames", "duration", "stands for")
    return Sheets([Rows(columns, rows, {"frames": "count", "duration": "ns"})], data, notes)
