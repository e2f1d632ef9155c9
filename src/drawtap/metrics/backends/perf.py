"""Counters of the kernel and of the processor, by perf_event_open."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Fixed, Metric, backend, fixed

_KNOWN = (
    Fixed("software", "task_clock", "ns", "duration", "processor time of all threads"),
    Fixed("software", "cpu_clock", "ns", "duration", "processor time of all threads, by the processors' clock"),
    Fixed("software", "context_switches", "count", "counter", "switches from one thread to another"),
    Fixed("software", "cpu_migrations", "count", "counter", "times a thread went to another processor"),
    Fixed("software", "page_faults", "count", "counter", "page faults"),
    Fixed("software", "alignment_faults", "count", "counter", "accesses that the kernel had to mend"),
    Fixed("hardware", "cycles", "count", "counter", "cycles"),
    Fixed("hardware", "instructions", "count", "counter", "instructions that were retired"),
    Fixed("hardware", "cache_references", "count", "counter", "accesses that came to the last cache"),
    Fixed("hardware", "cache_misses", "count", "counter", "accesses that no cache had"),
    Fixed("hardware", "branches", "count", "counter", "branches that were retired"),
    Fixed("hardware", "branch_misses", "count", "counter", "branches that were foretold wrongly"),
    Fixed("hardware", "stalled_frontend", "count", "counter", "cycles without instructions to issue"),
    Fixed("hardware", "stalled_backend", "count", "counter", "cycles without room to issue"),
    Fixed("cache", "l1d_loads", "count", "counter", "loads from the first data cache"),
    Fixed("cache", "l1d_misses", "count", "counter", "loads that it did not have"),
    Fixed("cache", "llc_loads", "count", "counter", "loads from the last cache"),
    Fixed("cache", "llc_misses", "count", "counter", "loads that it did not have"),
    Fixed("cache", "dtlb_misses", "count", "counter", "loads whose page the first table did not have"),
)


@backend("perf", needs_context=False)
def perf(said: Capabilities) -> Iterable[Metric]:
    """perf_event_open, over all threads of the player, a software driver's included. Where the processor has too few
    counters, more passes are played rather than counters taking turns."""
    return fixed("perf", _KNOWN, said)
