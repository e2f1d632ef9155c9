"""Print stored results as the table of docs/benchmarks.md: `python -m bench.markdown bench/results/DATE.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.row import number


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as one Markdown table with a line for each group."""
    lines = ["| | unit | native | drawtap | apitrace | ratio | goal |", "|---|---|--:|--:|--:|--:|--:|"]
    for group, members in groupby(rows, key=lambda row: str(row["group"])):
        lines.append(f"| **{group}** | | | | | | |")
        for row in members:
            ratio = f"{number(row['ratio'])}x" if row["ratio"] is not None else "–"
            figures = [number(row[name]) for name in ("native", "drawtap", "apitrace")]
            lines.append("| " + " | ".join([row["name"], row["unit"], *figures, ratio, row["goal"]]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text())["rows"]))
