"""Metrics with names that stay, and the back-ends that have them.

A back-end is one file in `backends/` with a function decorated with `@backend`, and a half in C++ (one file in
native/player/metrics/) that measures while the player plays. The function turns what the C++ half says is here into
metrics: it knows units and meanings, the C++ half knows the driver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from drawtap.plugins import Registry

#: The rule that makes one value of the parts of a range, by kind. Ranges are cut where others begin, so that they may
#: overlap. A mean is averaged by time, for want of better; a ratio is of two sums, both of which are known.
FOLDS: Mapping[str, str] = {
    "counter": "sum",
    "duration": "sum",
    "percent": "mean",
    "mean": "mean",
    "ratio": "ratio",
    "gauge": "last",
    "timestamp": "first",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that can be measured.

    `id` is `backend:group/metric` and stays the same between versions and machines. `unit`: ns, bytes, count, percent,
    or what the driver says. `kind` is one of FOLDS. `spec` is what the C++ half knows it by. `missing` says why it
    cannot be had here, "" where it can; `contexts` are the versions of the contexts that have it, none where it
    needs no context.
    """

    id: str
    name: str
    unit: str
    kind: str
    description: str
    spec: str
    missing: str = ""
    contexts: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        """Return the name of its back-end."""
        return self.id.partition(":")[0]

    @property
    def fold(self) -> str:
        """Return how parts make up a whole: sum, mean, last or first."""
        return FOLDS[self.kind]


@dataclass(frozen=True, slots=True)
class Offer:
    """The offers of a back-end's C++ half, in one context."""

    spec: str
    group: str
    name: str
    type: str
    unit: str
    text: str


@dataclass(frozen=True)
class Capabilities:
    """The player's answer about one back-end: its offers, and reasons why a spec, or all of it, is not available.

    `contexts` has the versions of the contexts by spec.
    """

    offers: Sequence[Offer] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reason: str = ""

    def why(self, spec: str) -> str:
        """Return why a metric cannot be had, "" where it can."""
        if any(offer.spec == spec for offer in self.offers):
            return ""
        return self.refusals.get(spec) or self.reason or "the player does not know it"

    def where(self, spec: str) -> tuple[str, ...]:
        """Return the contexts that have a metric."""
        return self.contexts.get(spec, ())


@dataclass(frozen=True)
class Backend:
    """A source of metrics. `about` is its docstring; `needs_context` tells that it counts what a context does."""

    name: str
    about: str
    metrics: Callable[[Capabilities], Iterable[Metric]]
    needs_context: bool = True


BACKENDS: Registry[Backend] = Registry("back-end", "drawtap.metrics.backends")
_Function = Callable[[Capabilities], Iterable[Metric]]


def backend(name: str, *, needs_context: bool = True) -> Callable[[_Function], _Function]:
    """Register the decorated function, which yields metrics from what the player says, as a back-end."""

    def add(function: _Function) -> _Function:
        BACKENDS.register(name)(Backend(name, (function.__doc__ or "").strip(), function, needs_context))
        return function

    return add


@dataclass(frozen=True, slots=True)
class Fixed:
    """A metric whose meaning does not depend on the driver: `spec` is its name too."""

    group: str
    spec: str
    unit: str
    kind: str
    description: str

    def metric(self, backend_name: str, said: Capabilities) -> Metric:
        """Return it as the player says it is here."""
        return Metric(
            f"{backend_name}:{self.group}/{self.spec}",
            self.spec.replace("_", " "),
            self.unit,
            self.kind,
            self.description,
            self.spec,
            said.why(self.spec),
            said.where(self.spec),
        )


def fixed(backend_name: str, known: Iterable[Fixed], said: Capabilities) -> Iterable[Metric]:
    """Return metrics that are always known, each with the reason where it cannot be had."""
    return [entry.metric(backend_name, said) for entry in known]


def numbered(name: str) -> list[tuple[int, str]]:
    """Return a key by which names sort with their numbers in order: area_4 before area_16."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def slug(text: str) -> str:
    """Return a driver's words as a part of an id: lower case letters, digits, `.`, `_` and `-`."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-") or "unnamed"


def offered(backend_name: str, said: Capabilities) -> Iterable[Metric]:
    """Return the metrics that a driver names itself. The type of an offer is a kind; any other is a counter's.

    Two that the driver calls the same get `.2`, `.3` ... in the driver's order.
    """
    if not said.offers:
        why = said.reason or "the driver offers none"
        return [Metric(f"{backend_name}:*", "", "", "counter", "what the driver would name itself", "", why)]
    offers: list[Metric] = []
    seen: dict[str, int] = {}
    for offer in said.offers:
        base = f"{backend_name}:{slug(offer.group)}/{slug(offer.name)}"
        seen[base] = seen.get(base, 0) + 1
        id_ = base if seen[base] == 1 else f"{base}.{seen[base]}"
        unit, kind = offer.unit or "count", offer.type if offer.type in FOLDS else "counter"
        offers.append(
            Metric(id_, offer.name, unit, kind, offer.text or offer.name, offer.spec, "", said.where(offer.spec))
        )
    return offers
