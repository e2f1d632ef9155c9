"""Decisions of people about images: which ones are right, for a family of engines.

A decision is an object of its own and never changes; the newest one about an image counts. Families are paths: what is
approved for `radeonsi` holds for `radeonsi/gfx11` too, unless something else was decided there.
"""

from __future__ import annotations

import getpass
import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.corpus.store import KINDS, sealed, unsealed
from drawtap.errors import InputError, UsageError

if TYPE_CHECKING:
    from drawtap.corpus.store import Store

LABELS = ("approved", "rejected", "flaky")
_DIGEST = re.compile(r"[0-9a-f]{8,64}")
_LONGEST_WHY = 2000


@dataclass(frozen=True)
class Decision:
    """A decision about images of a recording: digests by frame, for engines of a family. `at`: ns since 1970."""

    trace: str
    family: str
    label: str
    images: Mapping[int, str]
    who: str
    why: str
    at: int = 0


def decide(store: Store, decision: Decision) -> Decision:
    """Write a decision; its time is now. Raises UsageError where it says nothing."""
    if not decision.images:
        raise UsageError("the decision is about no image", hint="drawtap corpus replay makes images")
    if not decision.why.strip() or len(decision.why) > _LONGEST_WHY:
        raise UsageError("a decision needs a reason", hint='--why "the new font hinting", 2000 characters at most')
    body = {
        "trace": decision.trace,
        "family": decision.family,
        "label": decision.label,
        "images": {str(frame): digest for frame, digest in decision.images.items()},
        "who": decision.who or _name(),
        "why": decision.why,
        "at": time.time_ns(),
    }
    content = sealed(body)
    name = f"approvals/{body['at']:020d}-{hashlib.sha256(content).hexdigest()}.json"
    store.objects.put_new(name, content)
    return _decision(body, name)


def decisions(store: Store) -> list[Decision]:
    """Return all decisions, the oldest first. Raises InputError where one is damaged."""
    names = sorted(e.name for e in store.objects.listed("approvals/") if KINDS["approval"].fullmatch(e.name))

    def read(name: str) -> Decision:
        return _decision(unsealed(store.objects.get(name), f"{store.where}/{name}"), f"{store.where}/{name}")

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(read, names))


def _decision(body: Mapping[str, object], where: str) -> Decision:
    images, at = body.get("images"), body.get("at")
    texts = {name: body.get(name) for name in ("trace", "family", "label", "who", "why")}
    sound = (
        isinstance(images, dict)
        and isinstance(at, int)
        and all(isinstance(text, str) for text in texts.values())
        and texts["label"] in LABELS
        and all(str(f).isdigit() and isinstance(d, str) and _DIGEST.fullmatch(d) for f, d in images.items())
    )
    if not sound:
        raise InputError(f"{where} is no decision about images", hint="drawtap corpus check")
    assert isinstance(images, dict)
    assert isinstance(at, int)
    found = {int(frame): str(digest) for frame, digest in images.items()}
    return Decision(images=found, at=at, **{name: str(text) for name, text in texts.items()})


def families(family: str) -> Sequence[str]:
    """Return the families whose decisions hold for engines of `family`, the narrowest first."""
    return tuple(_parents(family))


def _parents(family: str) -> Iterator[str]:
    while family:
        yield family
        family = family.rpartition("/")[0]


def _name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
