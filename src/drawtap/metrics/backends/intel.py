"""Counters of drivers with GL_INTEL_performance_query."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("intel")
def intel(said: Capabilities) -> Iterable[Metric]:
    """Counters of the driver's queries (GL_INTEL_performance_query), of the context that runs. The counters of one
    query come together; the driver decides which queries run beside each other."""
    return offered("intel", said)
