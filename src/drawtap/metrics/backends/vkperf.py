"""Counters of drivers with VK_KHR_performance_query."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("vkperf")
def vkperf(said: Capabilities) -> Iterable[Metric]:
    """Counters that a Vulkan driver names (VK_KHR_performance_query). The driver says which of them it counts in one
    submit; the others get a replay of their own. Some count render passes or command buffers only as a whole."""
    return offered("vkperf", said)
