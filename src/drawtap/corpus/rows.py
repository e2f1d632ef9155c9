"""The rows of a recording in the corpus's tables, as Parquet files: asked of the recording, written by DuckDB."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import drawtap
from drawtap.analysis import clusters
from drawtap.analysis.content import overview
from drawtap.corpus.engines import Run, machine
from drawtap.scratch import Scratch
from drawtap.tables.corpus import TABLES
from drawtap.trace.result import connect
from drawtap.trace.sql_text import quote, quote_text

if TYPE_CHECKING:
    from drawtap.corpus.store import Manifest, Store
    from drawtap.trace.trace import Trace

#: The store itself knows these facts of a recording, and reads them at the question: they are not in the files.
ADDED_LATER = ("added", "tags")
#: Tables that are one question to the recording.
QUESTIONS: dict[str, str] = {
    "functions": "SELECT name, count(*) AS calls, sum(duration) AS ns FROM calls GROUP BY name ORDER BY name",
    "frames": "SELECT f.frame, f.calls, f.draws, c.triangles, c.texels, f.upload_bytes, c.api_ns, f.duration,"
    " p.print AS signature FROM frames f LEFT JOIN content c USING (frame) LEFT JOIN frame_prints p USING (frame)"
    " ORDER BY f.frame",
    "findings": "SELECT rule, severity, count(*) AS n, min(seq) AS first_seq FROM findings GROUP BY ALL ORDER BY rule",
}


def write(trace: Trace, manifest: Manifest, folder: Path) -> dict[str, Path]:
    """Write the rows of a recording and return the files by table."""
    made = {
        "traces": _trace(trace, manifest),
        "contents": _contents(manifest),
        "features": _rows(("name", "value"), list(clusters.features(trace).items())),
        **QUESTIONS,
    }
    files = {}
    for name, question in made.items():
        files[name] = folder / f"{name}.parquet"
        columns = [c for c in TABLES[name].columns if c.name not in ADDED_LATER]
        cells = ", ".join(
            f"{quote_text(manifest.id)} AS trace"
            if c.name == "trace"
            else f"CAST({quote(c.name)} AS {c.type}) AS {quote(c.name)}"
            for c in columns
        )
        trace.sql(
            f"COPY (SELECT {cells} FROM ({question})) TO {quote_text(files[name])} (FORMAT parquet, COMPRESSION zstd)"
        )
    return files


def write_run(store: Store, run: Run) -> None:
    """Write the result of a task: its images first, then the run, with which it counts."""
    key = run.engine.key
    here = {"engine": key, "machine": machine(), "drawtap": drawtap.__version__, "started": run.started_ns}
    said = {**vars(run.engine), **vars(run), **here}
    row = {column.name: said[column.name] for column in TABLES["runs"].columns}
    images = [(run.task, run.trace, key, frame, digest) for frame, digest in sorted((run.hashes or {}).items())]
    columns = ("task", "trace", "engine", "frame", "digest")
    write_task(store, run.task, {"images": (columns, images), "runs": (tuple(row), [tuple(row.values())])})


def write_task(
    store: Store, task: str, tables: Mapping[str, tuple[tuple[str, ...], Sequence[tuple[object, ...]]]]
) -> None:
    """Write rows of a task, as columns and rows by table, in this order: with the last ones the others count."""
    with Scratch() as name, connect() as connection:
        for table, (columns, rows) in tables.items():
            path = Path(name) / f"{table}.parquet"
            cells = ", ".join(f"CAST({quote(c.name)} AS {c.type}) AS {quote(c.name)}" for c in TABLES[table].columns)
            connection.execute(
                f"COPY (SELECT {cells} FROM ({_rows(columns, rows)})) TO {quote_text(path)}"
                " (FORMAT parquet, COMPRESSION zstd)"
            )
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            store.objects.put_new(f"tables/{table}/{task}.{digest}.parquet", content)


def write_row(store: Store, table: str, row: Mapping[str, object]) -> None:
    """Write the one row of a task, which it names."""
    write_task(store, str(row["task"]), {table: (tuple(row), [tuple(row.values())])})


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):  # a plain number would be a decimal, and round others of its column
        return f"'{float(value)}'::DOUBLE"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_literal(v) for v in value)}]::VARCHAR[]"
    return quote_text(str(value).replace("\0", " "))


def _rows(columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    names = ", ".join(quote(c) for c in columns)
    if not rows:
        return f"SELECT {', '.join(f'NULL AS {quote(c)}' for c in columns)} WHERE false"
    values = ", ".join(f"({', '.join(_literal(v) for v in row)})" for row in rows)
    return f"SELECT * FROM (VALUES {values}) v({names})"


def _trace(trace: Trace, manifest: Manifest) -> str:
    info: Mapping[str, Any] = trace.info
    said = overview(trace)
    width, height = _largest(said.surfaces)
    driver = _driver(trace)
    notes = _annotations(trace)
    sources = notes.get("derived", {}).get("sources")
    cut_of = sources[0].get("uuid") if isinstance(sources, list) and sources and isinstance(sources[0], dict) else None
    program = notes.get("recording", {}).get("program")
    row = {name: vars(manifest)[name] for name in ("file", "file_sha256", "file_bytes", "uuid", "skeleton_bytes")}
    row |= {name: info[name] for name in ("calls", "frames", "threads")}
    row |= {
        "program": Path(program).name if isinstance(program, str) else None,
        "apis": sorted(info["apis"]),
        "renderer": driver.get("renderer"),
        "version": driver.get("version"),
        "width": width,
        "height": height,
        "duration": info.get("duration"),
        "contents": len(manifest.contents),
        "content_bytes": sum(c.bytes for c in manifest.contents),
        "cut_of": cut_of if isinstance(cut_of, str) else None,
        "complete": bool(info["complete"]),
    }
    return _rows(tuple(row), [tuple(row.values())])


def _contents(manifest: Manifest) -> str:
    rows: list[tuple[object, ...]] = [(c.key, c.sha256, c.bytes, c.stored) for c in manifest.contents]
    return _rows(("key", "sha256", "bytes", "stored"), rows)


def _largest(surfaces: tuple[str, ...]) -> tuple[int | None, int | None]:
    sizes = []
    for text in surfaces:
        words = text.split(" x ")
        if len(words) == 2 and all(w.strip().isdigit() for w in words):
            sizes.append((int(words[0]), int(words[1])))
    return max(sizes, key=lambda s: s[0] * s[1]) if sizes else (None, None)


def _driver(trace: Trace) -> dict[str, str]:
    for row in trace.table("natives"):
        if row["kind"] == "driver":
            return dict(part.partition("=")[::2] for part in str(row["text"]).split(";"))
    return {}


def _annotations(trace: Trace) -> dict[str, dict[str, Any]]:
    notes: dict[str, dict[str, Any]] = {}
    texts = trace.info["annotations"]
    for text in texts if isinstance(texts, list) else []:
        note = json.loads(str(text))
        notes.setdefault(str(note.get("kind")), note)
    return notes
