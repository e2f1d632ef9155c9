"""Figures of the kernel's GPU driver about the player."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("drm", needs_context=False)
def drm(said: Capabilities) -> Iterable[Metric]:
    """Time on the engines of the GPU, cycles and memory of this process, from /proc/self/fdinfo (drm-usage-stats).
    Drivers bring these up to date when work ends: right over many frames, coarse for one."""
    return offered("drm", said)
