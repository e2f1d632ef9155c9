"""Counters of drivers with GL_AMD_performance_monitor."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered

_KINDS = {"percent": "percent", "mean": "mean", "counter": "counter"}


@backend("amd")
def amd(said: Capabilities) -> Iterable[Metric]:
    """Counters that the driver names (GL_AMD_performance_monitor), of the context that runs. Of each group so many are
    counted at once; percentages and floats are averaged over parts by their duration."""
    return offered("amd", said, _KINDS)
