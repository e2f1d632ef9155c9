"""Models for pictures: of a kernel trace alone, or with the API calls of the same time on the same tracks."""

from __future__ import annotations

from pathlib import Path

from drawtap.errors import InputError
from drawtap.system.correlate import correlate, draw
from drawtap.system.kept import model_of
from drawtap.system.model import KernelModel, build
from drawtap.system.reader import KernelTrace
from drawtap.trace.trace import open_trace


def opened(trace: KernelTrace, calls: Path | None, *, keep: bool = True) -> KernelModel:
    """Return the model of a trace, with frames and calls of the recording `calls` as spans where there is one.

    Raises as `correlate` does where the two do not fit. What has calls in it is not kept.
    """
    if calls is None:
        return model_of(trace, keep=keep)
    if not calls.exists():
        raise InputError(f"there is no file {calls}")
    model = build(trace)
    try:
        with open_trace(calls) as api:
            correlate(api, model)
        draw(model)
    except BaseException:
        model.close()
        raise
    return model
