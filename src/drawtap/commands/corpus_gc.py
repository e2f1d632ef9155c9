"""`drawtap corpus gc`: free what no recording needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS
from drawtap.errors import UsageError
from drawtap.output.result import Facts
from drawtap.units import duration_ns


@command(
    name="corpus gc",
    section="corpus",
    examples=("drawtap corpus gc --corpus recordings/", "drawtap corpus gc --age 0s      # nobody is adding now"),
)
def corpus_gc(
    *,
    corpus: Annotated[str | None, CORPUS] = None,
    age: Annotated[
        str, Opt("Delete what an earlier sweep condemned so long ago. Below 24h nobody may be adding.", metavar="TIME")
    ] = "72h",
) -> Facts:
    """Condemn objects that no recording needs, and delete those condemned earlier.

    So space is free after the second of two sweeps. Recordings may be added meanwhile: an adder writes condemned
    objects anew, and these stay. Nothing is deleted while a manifest is damaged.
    """
    from drawtap.corpus.search import compact
    from drawtap.corpus.store import chosen
    from drawtap.corpus.sweeping import sweep

    ns = duration_ns(age, "h")
    if ns is None:
        raise UsageError(f"{age!r} is no time", hint="72h, 30min, 0s")
    store = chosen(corpus)
    compact(store)
    swept = sweep(store, ns / 1e9)
    data = asdict(swept)
    return Facts(data, {"sweep": data})
