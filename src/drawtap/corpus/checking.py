"""Read every object of a store and say what is wrong: flipped bytes, missing and foreign objects."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from drawtap import activity
from drawtap.corpus.objects import PART, Listed
from drawtap.corpus.search import generation
from drawtap.corpus.store import Manifest, Store, kind_of, manifest_of, object_fault, unsealed
from drawtap.errors import InputError
from drawtap.tables.corpus import FILED


@dataclass(frozen=True, slots=True)
class Fault:
    """An object that is wrong: `what` is damaged, missing or foreign; recordings that lose something by it."""

    name: str
    what: str
    text: str
    recordings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """All objects that were read, their bytes, and the faults."""

    objects: int
    bytes: int
    recordings: int
    faults: tuple[Fault, ...]


def check(store: Store) -> Checked:
    """Read every object. Faults are in the answer; only a store that does not answer at all raises."""
    objects = {entry.name: entry for entry in store.objects.listed("")}
    faults: dict[str, tuple[str, str]] = {}
    manifests: dict[str, Manifest] = {}
    for name in sorted(objects, key=lambda n: not n.endswith(".json")):
        if name.startswith("traces/") and name.endswith(".json"):
            _guard(faults, name, partial(_read_manifest, store, name, manifests))
    needed_by: dict[str, list[str]] = {}
    for id_, manifest in manifests.items():
        for name in manifest.objects():
            needed_by.setdefault(name, []).append(id_)
    done = 0
    for name, entry in objects.items():
        activity.at(done := done + 1, len(objects))
        _guard(faults, name, partial(_read, store, entry, manifests))
    newest = None
    with contextlib.suppress(InputError):  # it is among the faults then
        newest = generation(store)
    for name in {*needed_by, *(newest.objects() if newest else ())}:
        if name not in objects:
            faults[name] = "missing", "recordings need it, and it is not there"
    broken = tuple(
        Fault(name, what, text, tuple(sorted(needed_by.get(name, _own(name)))))
        for name, (what, text) in sorted(faults.items())
    )
    return Checked(len(objects), sum(e.bytes for e in objects.values()), len(manifests), broken)


def _own(name: str) -> list[str]:
    known = kind_of(name)
    return [known[1]["id"]] if known and known[0] == "manifest" else []


def _guard(faults: dict[str, tuple[str, str]], name: str, read: Callable[[], tuple[str, str] | None]) -> None:
    if name in faults:
        return
    try:
        fault = read()
    except InputError as error:
        fault = "damaged", error.message
    if fault:
        faults[name] = fault


def _read_manifest(store: Store, name: str, manifests: dict[str, Manifest]) -> tuple[str, str] | None:
    known = kind_of(name)
    if known is None:
        return "foreign", "nothing of a corpus has this name"
    manifest = manifest_of(store.objects.get(name), known[1]["id"], f"{store.where}/{name}")
    manifests[manifest.id] = manifest
    return None


def _read(store: Store, entry: Listed, manifests: Mapping[str, Manifest]) -> tuple[str, str] | None:
    known = kind_of(entry.name)
    if PART.fullmatch(entry.name.rpartition("/")[2]):
        return None  # somebody writes it, or was killed: a sweep takes it
    if known is None:
        return "foreign", "nothing of a corpus has this name"
    kind, parts = known
    if kind == "manifest":
        return None
    content = store.objects.get(entry.name)
    fault = object_fault(entry.name, content)
    if fault:
        return "damaged", fault
    if kind in ("content", "pack", "picture"):
        return None
    if kind == "table":
        return None if parts["table"] in FILED else ("foreign", "there is no such table")
    if kind == "skeleton":
        manifest = manifests.get(parts["id"])
        if manifest and hashlib.sha256(content).hexdigest() != manifest.skeleton_sha256:
            return "damaged", "its SHA-256 is another"
        return None
    if kind in ("alias", "tag"):
        return ("damaged", "it has content, and should have none") if content else None
    body: dict[str, Any] = unsealed(content, f"{store.where}/{entry.name}")
    return None if body else ("damaged", "it says nothing")
