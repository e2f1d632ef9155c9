"""The processor's side of a replay."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Fixed, Metric, backend, fixed

_KNOWN = (
    Fixed("time", "wall", "ns", "duration", "time that passed; what measuring cost is not in it"),
    Fixed("time", "thread", "ns", "duration", "processor time of the thread that made the calls"),
    Fixed("time", "process", "ns", "duration", "processor time of all threads; threads of a software driver count too"),
    Fixed("time", "start", "ns", "timestamp", "CLOCK_MONOTONIC of the replay when it began"),
    Fixed("memory", "resident", "bytes", "gauge", "memory of the player that is in RAM, at the end"),
    Fixed("memory", "virtual", "bytes", "gauge", "address space of the player, at the end"),
    Fixed("memory", "minor_faults", "count", "counter", "page faults without a disk"),
    Fixed("memory", "major_faults", "count", "counter", "page faults that read a disk"),
    Fixed("scheduler", "voluntary_switches", "count", "counter", "times a thread gave up the processor to wait"),
    Fixed("scheduler", "involuntary_switches", "count", "counter", "times the kernel took the processor away"),
)


@backend("cpu", needs_context=False)
def cpu(said: Capabilities) -> Iterable[Metric]:
    """Clocks, memory, page faults and context switches of the player, which makes the calls."""
    return fixed("cpu", _KNOWN, said)
