"""Counters of drivers with GL_AMD_performance_monitor."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("amd")
def amd(said: Capabilities) -> Iterable[Metric]:
    """Counters that the driver names (GL_AMD_performance_monitor), of the context that runs. Each group has a
    number of counters that count at once; percentages and floats are averaged over parts by their duration."""
    return offered("amd", said)
