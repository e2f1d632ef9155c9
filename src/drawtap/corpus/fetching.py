"""Skeletons of recordings as files, for as long as somebody reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drawtap import activity
from drawtap.corpus.store import Store
from drawtap.scratch import Scratch


@contextlib.contextmanager
def skeletons(store: Store, ids: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield files with the skeletons of recordings, by id."""
    with Scratch() as name:

        def fetch(id_: str) -> Path:
            path = Path(name) / f"{id_}.dtap"
            path.write_bytes(store.skeleton(store.manifest(id_)))
            return path

        paths: dict[str, Path] = {}
        with activity.step("fetching skeletons"), ThreadPoolExecutor(8) as pool:
            for done, (id_, path) in enumerate(zip(ids, pool.map(fetch, ids), strict=True)):
                activity.at(done, len(ids))
                paths[id_] = path
        yield paths
