"""How long each file of tests takes: the longest begin first, so that all workers end together.

`seconds.txt` has the seconds of `make test`, those of `make test-all`, and the file. DRAWTAP_SECONDS=tests/seconds.txt
lets a run bring its column up to date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from shared import WHOLE

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/seconds.txt"
#: What a file counts that the table does not know: it may be a long one.
NEW_FILE_S = 20.0


def file_of(nodeid: str) -> str:
    """Return the file of a test, as pytest names it."""
    return nodeid.split("::", 1)[0]


def known_seconds(table: Path = TABLE, *, whole: bool = WHOLE) -> dict[str, float]:
    """Return how long each file took, with the fixtures that it set up, in `make test` or as a `whole`."""
    return {name: found[whole] for name, found in _rows(table).items()}


def write_seconds(table: Path, measured: Mapping[str, float], *, whole: bool = WHOLE) -> None:
    """Bring a table up to date: what did not run stays, what there is no more goes."""
    rows = _rows(table) if table.exists() else {}
    for name, seconds in measured.items():
        sample, all_steps = rows.get(name, (seconds, seconds))
        rows[name] = (sample, seconds) if whole else (seconds, all_steps)
    kept = sorted((row for row in rows.items() if (ROOT / row[0]).exists()), key=lambda row: (-row[1][0], row[0]))
    table.write_text("".join(f"{one:.1f} {all_:.1f} {name}\n" for name, (one, all_) in kept), encoding="utf-8")


def _rows(table: Path) -> dict[str, tuple[float, float]]:
    rows = (line.split(maxsplit=2) for line in table.read_text(encoding="utf-8").splitlines())
    return {name: (float(sample), float(whole)) for sample, whole, name in rows}


def measured_seconds(reports: Iterable[pytest.TestReport]) -> dict[str, float]:
    """Return how long each file took, all its workers together."""
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        seconds[file_of(report.nodeid)] += report.duration
    return seconds


def idle_seconds(reports: Iterable[pytest.TestReport]) -> float:
    """Return how long before the end the first worker had no test left."""
    ends: dict[str, float] = {}
    for report in reports:
        worker = str(getattr(report, "worker_id", ""))
        ends[worker] = max(ends.get(worker, 0.0), report.stop)
    return max(ends.values()) - min(ends.values()) if ends else 0.0
