"""Whole answers as files: CSV, Parquet, Arrow. The rows stream from the question into a file, and from there away."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap import scratch
from drawtap.errors import UsageError

if TYPE_CHECKING:
    from drawtap.trace.result import Result

MOST_SHOWN = 32 << 20  # bytes of a table that the page sends
KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "arrow": "application/vnd.apache.arrow.stream"}


def file_of(answer: Result, form: str) -> Path:
    """Return a temporary file with all rows of an answer, whoever gets it removes it. Raises UsageError for a form."""
    target = _target(form)
    try:
        answer.save(target, form)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def file_of_shown(text: str, form: str) -> Path:
    """Return the same of a table that the page has made itself: JSON {"columns": [...], "rows": [[...], ...]}."""
    try:
        table = json.loads(text)
        columns, rows = [str(name) for name in table["columns"]], table["rows"]
        shaped = all(isinstance(row, list) and len(row) == len(columns) for row in rows)
    except (ValueError, KeyError, TypeError):
        shaped = False
    if not shaped or not columns:
        raise UsageError("a table is a JSON object with columns and rows", hint="reload the page")
    return file_of_rows(columns, rows, form)


def file_of_rows(columns: Sequence[str], rows: Iterable[Sequence[object]], form: str) -> Path:
    """Return the same of rows of plain values. The rows are read once."""
    from drawtap.trace.result import save_rows  # with DuckDB: the first rows do without

    target = _target(form)
    try:
        save_rows(columns, rows, target, form)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def _target(form: str) -> Path:
    from drawtap.trace.result import FORMS

    if form not in FORMS:
        raise UsageError(f"there is no form {form[:40]!r}", hint=f"there are: {', '.join(FORMS)}")
    return Path(scratch.of_process().name) / f"{os.urandom(8).hex()}.{form}"
