"""`drawtap corpus history`: how a recording did on builds."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS
from drawtap.errors import DrawtapError
from drawtap.output.result import Rows, Sheets


@command(
    name="corpus history",
    section="corpus",
    examples=("drawtap corpus history 3f2a91c04d77 --corpus recordings/",),
)
def corpus_history(
    id_: Annotated[str, Opt("a recording, by the first digits of its id", metavar="ID")],
    *,
    corpus: Annotated[str | None, CORPUS] = None,
    metric: Annotated[str | None, Opt("Of this metric.  [default: the one that was measured most]")] = None,
) -> Sheets:
    """List the builds that played a recording, with their last outcome and verdict, and how fast they were.

    Times are pairs with the same base: the build that most others were compared with (`corpus verdict --speed`). The
    column change marks builds from which on the recording is slower or faster, found by a rank test over the whole
    series. It explains, and is no verdict. The series goes into the tables series and changes of the corpus. Needs
    SciPy: pip install 'drawtap[fleet]'.
    """
    from drawtap.corpus.history import history, keep
    from drawtap.corpus.search import Corpus
    from drawtap.corpus.store import chosen

    store = chosen(corpus)
    trace, unwritten = store.find(id_), ""
    with Corpus(store) as tables:
        series = history(tables, trace, metric)
        try:
            keep(store, tables, trace, series)
        except DrawtapError as error:  # a reader of the store may have no right to write
            unwritten = f"; the series is not in the tables: {error.message}"
    rows = [
        (
            b.name,
            b.engine[:8],
            datetime.fromtimestamp(b.first / 1e9).astimezone().strftime("%Y-%m-%d %H:%M"),
            b.outcome,
            b.images,
            b.pairs,
            None if b.effect is None else f"{100 * b.effect:+.2f} %",
            None if b.change is None else f"{100 * b.change:+.2f} %",
        )
        for b in series.builds
    ]
    data = {
        "metric": series.metric,
        "base": series.base,
        "builds": [{name: value for name, value in asdict(b).items() if name != "moved"} for b in series.builds],
    }
    note = (f"{series.metric}, slower than {series.base}" if series.metric else "no pairs were measured") + unwritten
    columns = ("build", "key", "first", "outcome", "images", "pairs", "slower by", "change")
    return Sheets([Rows(columns, rows, note=note)], data)
