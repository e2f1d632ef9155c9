"""`drawtap corpus get`: take recordings out of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS, ID, TAGS
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Rows


@command(
    name="corpus get",
    section="corpus",
    examples=(
        "drawtap corpus get 3f2a91c04d77 -o game.dtap --corpus recordings/",
        "drawtap corpus get 3f2a91c04d77 81b0c6 -o folder/ --skeleton",
    ),
)
def corpus_get(
    *ids: Annotated[str, ID],
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    output: Annotated[
        Path | None, Opt("Write it here; a folder: under the name that it had.  [default: .]", "-o", "PATH")
    ] = None,
    skeleton: Annotated[bool, Opt("Without contents: enough for sql, stats, list and cluster.")] = False,
    force: Annotated[bool, Opt("Replace files that exist.")] = False,
) -> Rows:
    """Write recordings of a corpus as files again.

    Such a file is equal in content to the one that was added: its calls, times, contents and annotations are the same,
    though its bytes stand in another order. The command proves that before the file gets its name, and drawtap info
    says so.
    """
    from drawtap.corpus.adding import restore
    from drawtap.corpus.search import selected
    from drawtap.corpus.store import chosen
    from drawtap.errors import whole_file

    store = chosen(corpus)
    target = output or Path()
    wanted = selected(store, ids, tag)
    if len(wanted) > 1 and not target.is_dir():
        raise UsageError(f"{len(wanted)} recordings do not fit into {target}", hint="-o FOLDER, one that exists")
    rows: list[tuple[str, str, int, str]] = []
    for id_ in wanted:
        manifest = store.manifest(id_)
        path = target / _name(manifest.file, id_, taken=[Path(row[1]) for row in rows]) if target.is_dir() else target
        check_target(path, force=force, replaced=True)
        if skeleton:
            with whole_file(path) as part:
                part.write_bytes(store.skeleton(manifest))
        else:
            restore(store, id_, path)
        what = "a skeleton, without its contents" if skeleton else "restored, content equal"
        rows.append((id_[:12], str(path), path.stat().st_size, what))
    return Rows(("id", "file", "size", "what"), rows, {"size": "bytes"})


def _name(file: str, id_: str, taken: list[Path]) -> str:
    # A manifest may come from anybody: a name is a name, without folders.
    name = Path(file).name
    plain = (
        name if name not in ("", ".", "..") and name.isprintable() and len(name.encode()) < 200 else f"{id_[:12]}.dtap"
    )
    return plain if all(path.name != plain for path in taken) else f"{Path(plain).stem}-{id_[:12]}.dtap"
