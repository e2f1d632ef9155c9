"""Sweep a store: objects that no recording needs are condemned, and go later.

A sweep marks what manifests need. The names of other objects go into a list `gc/TIME.json`. A later sweep deletes an
object of a list that is older than `age`, if it is still not marked and was not written anew since. An adder reads the
lists when it begins and writes condemned objects anew. It gives up when it takes longer than the shortest age: so no
adder loses what it relies on, and nobody holds a lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.corpus.objects import PART, Absent, Listed
from drawtap.corpus.store import KINDS, kind_of, sealed, unsealed
from drawtap.tables.corpus import OF_TASKS

if TYPE_CHECKING:
    from drawtap.corpus.store import Store

LONGEST_ADD_S = 24 * 3600
LEAST_AGE_S = 3 * 24 * 3600.0
_OF_RECORDINGS = ("alias", "tag", "picture")
_SWEPT = ("content", "pack", "skeleton", "table", *_OF_RECORDINGS)


@dataclass(frozen=True)
class Swept:
    """The outcome of a sweep: objects that recordings need, that were condemned and deleted, and their bytes.

    `waiting` are condemned objects that are not old enough.
    """

    needed: int
    condemned: int
    condemned_bytes: int
    deleted: int
    deleted_bytes: int
    waiting: int


def condemned(store: Store) -> set[str]:
    """Return the names of all objects that a sweep may delete."""
    names_: set[str] = set()
    for _, names in _lists(store):
        names_.update(names)
    return names_


def _lists(store: Store) -> Iterator[tuple[Listed, list[str]]]:
    for entry in store.objects.listed("gc/"):
        if not KINDS["sweep"].fullmatch(entry.name):
            continue
        try:
            said = unsealed(store.objects.get(entry.name), f"{store.where}/{entry.name}").get("objects")
        except Absent:
            continue  # a sweep has just ended
        yield entry, [name for name in said if isinstance(name, str)] if isinstance(said, list) else []


def _needed(store: Store) -> tuple[set[str], set[str], frozenset[str]]:
    """Return the objects that manifests need, the ids of the recordings, and what the newest generation has."""
    from drawtap.corpus.search import generation

    recordings = store.recordings()
    objects = {name for id_ in recordings for name in store.manifest(id_).objects()}
    newest = generation(store)
    if newest is not None:
        objects.update(newest.objects())
    return objects, set(recordings), newest.recordings if newest else frozenset()


def sweep(store: Store, age_s: float = LEAST_AGE_S) -> Swept:
    """Condemn what nobody needs, and delete what was condemned `age_s` ago or earlier.

    With an age below a day nobody may be adding. Raises InputError where a manifest is damaged: then nothing is
    deleted.
    """
    earlier = list(_lists(store))
    marked = _needed(store)
    objects = {entry.name: entry for entry in store.objects.listed("")}
    idle = {name: entry for name, entry in objects.items() if _is_idle(name, *marked)}
    known = {name for _, names in earlier for name in names}
    fresh = sorted(name for name in idle if name not in known)
    lists = [(entry.written, entry.name, names) for entry, names in earlier]
    name = f"gc/{time.time_ns():020d}.json"
    store.objects.put_new(name, sealed({"objects": fresh}))
    now = next(entry.written for entry in store.objects.listed("gc/") if entry.name == name)
    lists.append((now, name, fresh))
    if age_s < LONGEST_ADD_S:
        # Nobody adds: what was condemned just now may go with it.
        marked = _needed(store)
    deleted, deleted_bytes, waiting = 0, 0, 0
    for written, list_name, names in lists:
        if now - written < age_s:
            waiting += len(names)
            continue
        for gone in names:
            entry = store.objects.about(gone) if gone in objects and _is_idle(gone, *marked) else None
            if entry is not None and entry.written <= written:
                store.objects.delete(gone)
                deleted, deleted_bytes = deleted + 1, deleted_bytes + entry.bytes
        store.objects.delete(list_name)
    for part, entry in objects.items():
        if PART.fullmatch(part.rpartition("/")[2]) and now - entry.written >= age_s:
            store.objects.delete(part)
            deleted, deleted_bytes = deleted + 1, deleted_bytes + entry.bytes
    if not fresh:
        store.objects.delete(name)
    return Swept(len(marked[0]), len(fresh), sum(objects[n].bytes for n in fresh), deleted, deleted_bytes, waiting)


def _is_idle(name: str, needed: set[str], recordings: set[str], covered: frozenset[str]) -> bool:
    kind = kind_of(name)
    if kind is None or kind[0] not in (*_SWEPT, "generation") or name in needed:
        return False
    if kind[0] == "table" and kind[1]["table"] in OF_TASKS and kind[1]["id"] != "_all":
        return kind[1]["id"] in covered  # results stay until they are put together with others
    return kind[0] not in _OF_RECORDINGS or kind[1]["id"] not in recordings
