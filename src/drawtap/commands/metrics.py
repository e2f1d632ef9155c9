"""`drawtap metrics`: what can be measured."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Rows, Sheets

if TYPE_CHECKING:
    from drawtap.metrics.metric import Metric

_ROOM = 84  # characters of a description that a line of the list shows


@command(
    section="replay",
    examples=(
        "drawtap metrics",
        "drawtap metrics game.dtap --on zink",
        "drawtap metrics --available --json",
        "drawtap metrics --select 'gl:*,cpu:time/*'",
    ),
)
def metrics(
    recording: Annotated[Path | None, Opt("ask the contexts of this recording's first frame", metavar="TRACE")] = None,
    *,
    on: Annotated[str, Opt("The engine; drawtap engines lists them.", metavar="ENGINE")] = "system",
    select: Annotated[str | None, Opt("Only these ids and patterns, separated by commas.", metavar="IDS")] = None,
    available: Annotated[bool, Opt("Only those that can be had.")] = False,
) -> Sheets:
    """List what can be measured here, and why the rest cannot.

    Metrics have names that stay: back-end:group/metric. The driver is asked in contexts of its own, or in those that
    the recording makes. drawtap profile measures them. Descriptions are shown as far as their first words; --json has
    them whole.
    """
    from drawtap.errors import InputError
    from drawtap.metrics import listing
    from drawtap.replay import engine

    if recording is not None and not recording.exists():
        raise InputError(f"there is no file {recording}")
    found = listing.metrics(recording, environment=engine.environment_of(on))
    if select is not None:
        words = [word.strip() for word in select.split(",") if word.strip()]
        found = listing.named(found, words)
    shown = [m for m in found if not (available and m.missing)]
    columns = ("metric", "here", "unit", "kind", "description", "why not")
    here = [
        (m.id, m.unit, m.kind, textwrap.shorten(m.description, _ROOM, placeholder=" …")) for m in shown if not m.missing
    ]
    return Sheets(
        [
            Rows(("metric", "unit", "kind", "description"), here, title="measured here"),
            Rows(("metric", "why not"), [(m.id, m.missing) for m in shown if m.missing], title="not here"),
        ],
        [dict(zip(columns, _row(m), strict=True)) for m in shown],
        [f"{sum(not m.missing for m in found)} of {len(found)} can be measured here; --json has descriptions whole"],
    )


def _row(metric: Metric) -> tuple[object, ...]:
    return (
        metric.id,
        "no" if metric.missing else "yes",
        metric.unit,
        metric.kind,
        metric.description,
        metric.missing,
    )
