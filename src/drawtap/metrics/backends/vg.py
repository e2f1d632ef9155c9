"""The counts of drawtap's OpenVG engine."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Metric, backend, offered


@backend("vg", needs_context=False)
def vg(said: Capabilities) -> Iterable[Metric]:
    """The sensors of drawtap's OpenVG engine (EGL_DRAWTAP_sensors): render calls, paths, segments, edges before and
    after clipping, pixels, means of a path; the OpenVG rows of Table 9 of Kyostila's thesis."""
    return offered("vg", said)
