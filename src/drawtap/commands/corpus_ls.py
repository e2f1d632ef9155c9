"""`drawtap corpus ls`: which recordings a corpus has."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from drawtap.commands import command
from drawtap.commands.options import CORPUS, TAGS
from drawtap.output.result import Rows, Sheets


@command(
    name="corpus ls",
    section="corpus",
    examples=("drawtap corpus ls --corpus recordings/", "drawtap corpus ls --tag app=navigation --json"),
)
def corpus_ls(
    *,
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
) -> Sheets:
    """List the recordings of a corpus, in the order in which they were added."""
    from drawtap.corpus.search import Corpus
    from drawtap.corpus.store import chosen, parse_tags

    wanted = parse_tags(tag)
    with Corpus(chosen(corpus)) as tables:
        recordings = [
            row
            for row in tables.rows("SELECT * FROM traces")
            if all(row["tags"].get(name) == value for name, value in wanted.items())
        ]
    rows = [
        (
            row["trace"][:12],
            datetime.fromtimestamp(row["added"] / 1e9).astimezone().strftime("%Y-%m-%d %H:%M"),
            row["file"],
            row["frames"],
            row["calls"],
            row["file_bytes"],
            row["duration"],
            " ".join(f"{name}={value}" for name, value in sorted(row["tags"].items())),
        )
        for row in recordings
    ]
    columns = ("id", "added", "file", "frames", "calls", "size", "duration", "tags")
    kinds = {"frames": "count", "calls": "count", "size": "bytes", "duration": "ns"}
    return Sheets([Rows(columns, rows, kinds)], recordings, [] if recordings else ["no recording"])
