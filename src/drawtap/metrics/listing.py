"""The metrics that are available here, in contexts of this machine or of a recording."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from drawtap.errors import InputError, UsageError, did_you_mean
from drawtap.metrics.metric import BACKENDS, Capabilities, Metric, Offer
from drawtap.replay import player


def metrics(trace: Path | None = None, *, environment: Mapping[str, str] | None = None) -> list[Metric]:
    """Return every metric that is known, those that cannot be had with the reason.

    With `trace`, the contexts of its first frame answer, else the newest that the driver makes. Raises what
    `player.play` raises, and InputError for a recording without calls.
    """
    lines = player.offers(trace, environment=environment)
    if trace is not None and not any(line["kind"] == "backend" for line in lines):
        raise InputError(f"{trace} has no call that can be played", hint="drawtap info says what of it is whole")
    said = _answers(lines)
    return [
        metric
        for name, entry in BACKENDS.items()
        for metric in entry.metrics(said.get(name) or Capabilities(reason=_silence(name, trace, said)))
    ]


def _silence(name: str, trace: Path | None, said: Mapping[str, Capabilities]) -> str:
    """Say why a player does not know a back-end."""
    if name.startswith("vk"):
        return "the recording is not of Vulkan" if trace else "drawtap profile FILE --list asks for one of Vulkan"
    return "the recording is of Vulkan" if "vk" in said else "the player has no such half"


def _answers(lines: Iterable[Mapping[str, object]]) -> dict[str, Capabilities]:
    offers: dict[str, dict[str, Offer]] = {}
    contexts: dict[str, dict[str, list[str]]] = {}
    refusals: dict[str, dict[str, str]] = {}
    reasons: dict[str, str] = {}
    apart = {name for name, entry in BACKENDS.items() if not entry.needs_context}
    for line in lines:
        name, where = str(line.get("backend")), str(line.get("context") or "")
        if line["kind"] == "backend":
            offers.setdefault(name, {})
            if line["reason"]:
                reasons.setdefault(name, str(line["reason"]))
        elif line["kind"] == "offer":
            offer = Offer(*(str(line[key]) for key in ("spec", "group", "name", "type", "unit", "text")))
            offers.setdefault(name, {}).setdefault(offer.spec, offer)
            seen = contexts.setdefault(name, {}).setdefault(offer.spec, [])
            if where and where not in seen:
                seen.append(where)
        elif line["kind"] == "refusal":
            # The machine refuses counters that count outside of contexts, whatever the context.
            of_context = where and name not in apart
            refusals.setdefault(name, {})[str(line["spec"])] = (
                f"{line['reason']} ({where})" if of_context else str(line["reason"])
            )
    return {
        name: Capabilities(
            tuple(by_id.values()),
            refusals.get(name, {}),
            {spec: tuple(seen) for spec, seen in contexts.get(name, {}).items()},
            reasons.get(name, ""),
        )
        for name, by_id in offers.items()
    }


def chosen(known: Sequence[Metric], wanted: Sequence[str]) -> list[Metric]:
    """Return the metrics that ids and patterns (`gl:*`) name, in the order of `known`.

    A pattern takes those that can be had; an id takes the metric in any case. Raises UsageError for what names none.
    """
    by_id = {metric.id: metric for metric in known}
    by_word: dict[str, Metric] = {}
    for word in wanted:
        if word in by_id:
            by_word[word] = by_id[word]
            continue
        matching = [metric for metric in known if fnmatch.fnmatchcase(metric.id, word)]
        if not matching:
            hint = did_you_mean(word, by_id) or "drawtap profile --list has them"
            raise UsageError(f"there is no metric {word!r}", hint=hint)
        usable = [metric for metric in matching if not metric.missing]
        if not usable:
            raise UsageError(f"no metric of {word!r} can be measured here", hint=matching[0].missing)
        by_word.update({metric.id: metric for metric in usable})
    return [metric for metric in known if metric.id in by_word]


def named(known: Sequence[Metric], wanted: Sequence[str]) -> list[Metric]:
    """Return every metric that ids and patterns name, those that cannot be had too. Raises UsageError for what names
    none."""
    kept: dict[str, Metric] = {}
    for word in wanted:
        matching = [metric for metric in known if fnmatch.fnmatchcase(metric.id, word)]
        if not matching:
            hint = did_you_mean(word, [metric.id for metric in known]) or "drawtap profile --list has them"
            raise UsageError(f"there is no metric {word!r}", hint=hint)
        kept.update({metric.id: metric for metric in matching})
    return [metric for metric in known if metric.id in kept]
