"""`drawtap corpus sql`: ask all recordings of a corpus."""

from __future__ import annotations

import sys
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS
from drawtap.output.result import Rows


@command(
    name="corpus sql",
    section="corpus",
    examples=(
        "drawtap corpus sql \"SELECT file, frames, tags['app'] FROM traces WHERE renderer LIKE '%llvmpipe%'\"",
        'drawtap corpus sql "SELECT name, sum(calls) FROM functions GROUP BY name ORDER BY 2 DESC LIMIT 5" --json',
        'drawtap corpus sql --calls app=nav "SELECT trace, count(*) FROM calls WHERE frame = 3 GROUP BY trace"',
    ),
)
def corpus_sql(
    query: Annotated[str | None, Opt("the question; without it standard input", metavar="QUERY")] = None,
    *,
    corpus: Annotated[str | None, CORPUS] = None,
    calls: Annotated[
        tuple[str, ...],
        Opt("Also the table calls, of the recordings with this tag (several: with all of them).", metavar="NAME=VALUE"),
    ] = (),
) -> Rows:
    """Ask all recordings of a corpus in SQL (the dialect is DuckDB's).

    \b
    Tables:
      traces      one row a recording: program, renderer, frames, calls, tags['NAME'] ...
      frames, functions, contents, findings, features    by `trace`, its id
      calls       one row a call of the recordings that --calls chooses

    The tables were written when recordings were added: asking opens no recording. --calls fetches skeletons, which have
    all calls. Times are ns.
    """
    from drawtap.corpus.fetching import skeletons
    from drawtap.corpus.search import Corpus, tagged
    from drawtap.corpus.store import chosen, parse_tags

    store = chosen(corpus)
    ids = tagged(store, parse_tags(calls)) if calls else []
    with skeletons(store, ids) as opened, Corpus(store, opened) as tables:
        answer = tables.query(sys.stdin.read() if query is None else query)
        return Rows(answer.columns, answer.fetchall())
