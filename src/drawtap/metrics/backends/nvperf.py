"""Counters of NVIDIA's GPUs, by NvPerf: known, and not to be had."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Metric, Said, backend

_WHY = (
    "NvPerf's interface for OpenGL is told by the headers of NVIDIA's Nsight Perf SDK alone, which are not public: "
    "nothing can be built against it here. nvml:* has what the driver tells without it, gl:* its queries"
)


@backend("nvperf")
def nvperf(said: Said) -> Iterable[Metric]:
    """Counters of NVIDIA's GPUs for ranges of OpenGL calls. Listed with the reason why none can be had."""
    return [Metric("nvperf:*", "", "", "counter", "counters of NVIDIA's GPUs (NvPerf)", "", _WHY)]
