"""`drawtap corpus add`: put recordings into a corpus."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS
from drawtap.errors import InputError, UsageError
from drawtap.output.result import Rows, Sheets


@command(
    name="corpus add",
    section="corpus",
    examples=(
        "drawtap corpus add game.dtap --corpus recordings/",
        "drawtap corpus add *.dtap --tag app=navigation --tag build=841",
    ),
)
def corpus_add(
    *files: Annotated[Path, Opt("recordings, or folders of them", metavar="FILE")],
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], Opt("Set this tag; may be given several times.", "-t", "NAME=VALUE")] = (),
    mend: Annotated[bool, Opt("Read what the corpus has of them, and write anew what is damaged or gone.")] = False,
) -> Sheets:
    """Put recordings into a corpus; equal contents are stored once.

    A recording is taken apart: its contents (pixels, vertices, shaders over 1 KiB) are stored by their SHA-256, the
    rest as a skeleton, and its rows for `corpus sql`. The command may be killed at any moment and repeated, and several
    may add at the same time. The table shows what the file has and what was new in the store. --mend repairs what
    drawtap corpus check found, for recordings whose files are still there.
    """
    from drawtap.corpus.adding import Adder
    from drawtap.corpus.search import compact
    from drawtap.corpus.store import chosen, parse_tags

    if not files:
        raise UsageError("which recordings?", hint="drawtap corpus add FILE...")
    tags = parse_tags(tag)
    adder = Adder(chosen(corpus), mend=mend)
    done = [adder.add(file, tags) for file in recordings_in(files)]
    compact(adder.store)
    rows = [
        (
            a.id[:12],
            a.file.name,
            "new" if a.new else "mended" if a.mended else "known",
            a.file_bytes,
            f"{a.new_contents} of {a.contents}",
            a.new_content_bytes,
            a.new_bytes,
        )
        for a in done
    ]
    data = [{**asdict(a), "file": str(a.file), "new_bytes": a.new_bytes} for a in done]
    columns = ("id", "file", "state", "size", "new contents", "in bytes", "new in all")
    kinds = dict.fromkeys(("size", "in bytes", "new in all"), "bytes")
    notes = [f"{a.file.name}: {note}" for a in done for note in a.notes]
    return Sheets([Rows(columns, rows, kinds)], data, notes)


def recordings_in(paths: tuple[Path, ...]) -> list[Path]:
    """Return files, and the recordings below folders, each once. Raises InputError for a folder without any."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.dtap")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"there is no recording in {path}")
        files += inside
    return list(dict.fromkeys(files))
