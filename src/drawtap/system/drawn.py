"""Models of several recordings: a kernel trace with traces of its guests, and with API calls of the same time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import no_file
from drawtap.system.correlate import correlate, draw
from drawtap.system.guests import add_guests
from drawtap.system.kept import model_of
from drawtap.system.model import KernelModel, build
from drawtap.system.reader import KernelTrace
from drawtap.trace.trace import open_trace


def opened(
    trace: KernelTrace, calls: Path | None = None, guests: Sequence[str] = (), *, keep: bool = True
) -> KernelModel:
    """Return the model of a trace, with what the traces of its guests tell, and frames and calls as spans.

    `guests`: [NAME=]TRACE each. Raises as `add_guests` and `correlate` do where they do not fit. Models with more than
    the trace are not kept.
    """
    if calls is None and not guests:
        return model_of(trace, keep=keep)
    if calls is not None and not calls.exists():
        raise no_file(calls)
    model = build(trace)
    try:
        add_guests(model, guests)
        if calls is not None:
            with open_trace(calls) as api:
                correlate(api, model)
            draw(model)
    except BaseException:
        model.close()
        raise
    return model
