"""Counters of NVIDIA's GPUs, by NvPerf."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("nvperf")
def nvperf(said: Capabilities) -> Iterable[Metric]:
    """Counters that NVIDIA's GPU has (NvPerf), of the context that runs: sums and averages over its units, hit rates
    and shares of the possible throughput. The library comes with NVIDIA's Nsight Perf SDK (libnvperf_grfx_host.so) or
    CUPTI (libnvperf_host.so); $DRAWTAP_NVPERF names the folder of it."""
    return offered("nvperf", said)
