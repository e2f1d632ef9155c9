"""GPUs of NVIDIA's, by their management library."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("nvml", needs_context=False)
def nvml(said: Capabilities) -> Iterable[Metric]:
    """Use, power, energy, clocks, temperature and memory of each GPU (NVML). They are of the whole GPU, whoever uses
    it, and the library renews them some times a second: right over many frames, not for one."""
    return offered("nvml", said)
