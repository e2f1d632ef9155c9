"""Choose recordings that stand for all others, within a time.

Recordings are grouped by what their frames do (`analysis.clusters`). The subset is the typical recording of each group,
with as many groups as the time allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drawtap.analysis import clusters
from drawtap.corpus.search import Corpus
from drawtap.errors import DrawtapError, UsageError


@dataclass(frozen=True)
class Chosen:
    """A recording of the subset: how long it is, and how many recordings it stands for, with itself."""

    id: str
    file: str
    frames: int
    duration_ns: int
    stands_for: int


@dataclass(frozen=True)
class Subset:
    """The chosen recordings, the length of all, and how many have no frames: these were left out."""

    chosen: tuple[Chosen, ...]
    recordings: int
    duration_ns: int
    left_out: int


def select(corpus: Corpus, limit_ns: float) -> Subset:
    """Choose recordings of at most `limit_ns` in all, as recorded. Raises UsageError where not even one fits."""
    known = {str(row["trace"]): row for row in corpus.rows("SELECT * FROM traces WHERE frames > 0")}
    features: dict[str, dict[str, float]] = {}
    for row in corpus.rows("SELECT trace, name, value FROM features"):
        features.setdefault(str(row["trace"]), {})[str(row["name"])] = float(row["value"])
    ids = [id_ for id_ in known if id_ in features]
    total = int(corpus.scalar("SELECT count(*) FROM traces"))
    length = {id_: int(known[id_]["duration"] or 0) for id_ in ids}
    if not ids:
        raise UsageError("no recording of the corpus has frames", hint="drawtap corpus add FILE")
    best = _groups(ids, features, length, limit_ns)
    if not best:
        shortest = min(length.values()) / 1e9
        raise UsageError(f"not even one recording fits: the shortest takes {shortest:.1f} s", hint="--minutes N")
    chosen = [
        Chosen(id_, str(known[id_]["file"]), int(known[id_]["frames"]), length[id_], count)
        for id_, count in best.items()
    ]
    return Subset(tuple(chosen), total, sum(length.values()), total - len(ids))


def _groups(
    ids: list[str], features: dict[str, dict[str, float]], length: dict[str, int], limit_ns: float
) -> dict[str, int]:
    """Return typical recordings and the sizes of their groups: of the largest number of groups that fits."""
    if sum(length.values()) <= limit_ns:
        return dict.fromkeys(ids, 1)
    applications = [clusters.Application(Path(id_), 1, features[id_]) for id_ in ids]
    groups_of: dict[str, int] = {}
    low, high = 1, len(ids)
    while low <= high:  # more groups take longer, but for the lengths of single recordings
        count = (low + high) // 2
        tried = _typical(applications, count, length)
        if sum(length[id_] for id_ in tried) <= limit_ns:
            groups_of, low = tried, count + 1
        else:
            high = count - 1
    if not groups_of:
        shortest = min(ids, key=lambda id_: length[id_])
        groups_of = {shortest: len(ids)} if length[shortest] <= limit_ns else {}
    return groups_of


def _typical(applications: list[clusters.Application], count: int, length: dict[str, int]) -> dict[str, int]:
    if len(applications) < clusters.LEAST_RECORDINGS or count == len(applications):
        by_length = sorted((str(a.path) for a in applications), key=lambda id_: length[id_])
        return dict.fromkeys(by_length[:count], 1)
    try:
        grouped = clusters.group(applications, count)
    except DrawtapError as error:
        if "do not differ" not in error.message:
            raise
        return {min((str(a.path) for a in applications), key=lambda id_: length[id_]): len(applications)}
    return {one.typical: len(one.members) for one in grouped.clusters}
