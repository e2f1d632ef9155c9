"""Group recordings by what they draw: which applications are alike, and what sets them apart.

Clustering applications by their content features is what Kyostila's thesis leaves as future work. An application is its
means per frame (analysis.content) and a few shares; times are left out, so that one program counts as alike on a fast
and on a slow machine. Means go in as logarithms: twice the triangles is the same step at every size. Features are
standardised, and groups are Ward's: each merge grows the variance within groups least. Without a given number of
groups, the best silhouette decides. scikit-learn does it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.analysis import content
from drawtap.errors import DrawtapError, InputError, UnavailableError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drawtap.trace.trace import Trace

MOST_CLUSTERS = 8
LEAST_RECORDINGS = 3
_TIMES = frozenset({"api_ns", "duration", "interval", "calls"})
_SHARES: Mapping[str, tuple[str, str]] = {
    "triangles per draw": ("triangles", "draws"),
    "state calls per draw": ("state_calls", "draws"),
    "uniform calls per draw": ("uniforms", "draws"),
    "redundant binds": ("same_binds", "binds"),
}


@dataclass(frozen=True)
class Application:
    """One recording: its features (means per frame, and shares), its group, and where it stands in the picture."""

    path: Path
    frames: int
    features: Mapping[str, float]
    cluster: int = 0
    position: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Cluster:
    """A group: its members, the one in its middle, and what is furthest from the mean of all, in deviations."""

    number: int
    members: tuple[str, ...]
    typical: str
    distinctive: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Clustering:
    """Groups of recordings.

    `axes`: what the two directions of the picture are made of, the heaviest features first, with their weights;
    `explained`: the share of all variance along each. `silhouette` goes from -1 to 1; None where there is one group
    only. `left_out`: recordings that have no frames or could not be read, with the reason.
    """

    applications: tuple[Application, ...]
    clusters: tuple[Cluster, ...]
    axes: tuple[tuple[tuple[str, float], ...], ...]
    explained: tuple[float, ...]
    silhouette: float | None
    left_out: tuple[tuple[str, str], ...]


def features(trace: Trace) -> dict[str, float]:
    """Return the content features of a recording: means per frame of everything but times, and shares.

    The frames up to the first that draws load the program. Their weight in a mean depends on the length of the
    recording, so they are left out if there are others. Empty for a recording without frames.
    """
    frames = content.frame_stats(trace)
    if not frames:
        return {}
    frames = frames[content.loading(frames) :]
    means = {}
    for name in content.SERIES:
        if name not in _TIMES:
            values = [v for row in frames if isinstance(v := row.get(name), int | float)]
            means[name] = sum(values) / len(frames)
    features_ = {content.SERIES[name][0]: value for name, value in means.items()}
    for title, (part, whole) in _SHARES.items():
        features_[title] = means[part] / means[whole] if means[whole] else 0.0
    return features_


def cluster(paths: Sequence[Path], count: int | None = None) -> Clustering:
    """Group recordings by their content; `count` groups, or as many as fit them best.

    Raises UsageError where there are too few recordings with frames or more groups than recordings, UnavailableError
    without scikit-learn.
    """
    _need_sklearn()
    applications, left_out = _read(paths)
    if len(applications) < LEAST_RECORDINGS:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
        raise UsageError(
            f"{len(applications)} recordings with frames are too few to group" + (f" ({reasons})" if reasons else ""),
            hint=f"{LEAST_RECORDINGS} at least",
        )
    if count is not None and not 1 <= count <= len(applications):
        raise UsageError(f"{count} groups of {len(applications)} recordings", hint=f"1 to {len(applications)}")
    return _grouped(applications, left_out, count)


def _read(paths: Sequence[Path]) -> tuple[list[Application], list[tuple[str, str]]]:
    from drawtap.trace.trace import open_trace

    applications: list[Application] = []
    left_out: list[tuple[str, str]] = []
    for path in paths:
        try:
            with open_trace(path) as trace:
                own, frames = features(trace), len(trace.frames)
        except InputError as error:
            left_out.append((str(path), str(error)))
            continue
        if own:
            applications.append(Application(path, frames, own))
        else:
            left_out.append((str(path), "no frames"))
    return applications, left_out


def _grouped(applications: list[Application], left_out: list[tuple[str, str]], count: int | None) -> Clustering:
    import numpy as np
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import scale

    names = list(applications[0].features)
    raw = np.array([[math.log1p(a.features[name]) for name in names] for a in applications])
    varies = raw.std(axis=0) > 1e-9
    names = [name for name, used in zip(names, varies, strict=True) if used]
    if not names:
        raise DrawtapError("the recordings do not differ in any feature: there are no groups")
    data = scale(raw[:, varies])
    labels, silhouette = _labels(data, count)
    parts = min(2, *data.shape)
    components = PCA(parts).fit(data)
    places = components.transform(data)
    placed = [
        Application(a.path, a.frames, a.features, int(label), (float(p[0]), float(p[1]) if parts > 1 else 0.0))
        for a, label, p in zip(applications, labels, places, strict=True)
    ]
    axes = tuple(_heaviest(names, component) for component in components.components_)
    clusters = tuple(_described(number, placed, data, labels, names) for number in range(int(labels.max()) + 1))
    explained = tuple(float(share) for share in components.explained_variance_ratio_)
    return Clustering(tuple(placed), clusters, axes, explained, silhouette, tuple(left_out))


def group(applications: Sequence[Application], count: int) -> Clustering:
    """Group recordings whose features are known. Raises what `cluster` raises."""
    _need_sklearn()
    return _grouped(list(applications), [], count)


def _need_sklearn() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UnavailableError("scikit-learn is not installed", hint="pip install 'drawtap[clusters]'") from error


def _labels(data: npt.NDArray[np.float64], count: int | None) -> tuple[npt.NDArray[np.int64], float | None]:
    import numpy as np
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import silhouette_score

    def grouped(number: int) -> tuple[npt.NDArray[np.int64], float | None]:
        labels = AgglomerativeClustering(number).fit_predict(data)
        score = float(silhouette_score(data, labels)) if 1 < number < len(data) else None
        return _in_order(labels), score

    if count == 1:
        return np.zeros(len(data), dtype=np.int64), None
    if count is not None:
        return grouped(count)
    tried = [grouped(number) for number in range(2, min(MOST_CLUSTERS, len(data) - 1) + 1)]
    return max(tried, key=lambda labelling: labelling[1] if labelling[1] is not None else -1.0)


def _in_order(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # Group 0 is the first recording's, and so on: the same input gives the same numbers.
    import numpy as np

    order: dict[int, int] = {}
    for label in labels:
        order.setdefault(int(label), len(order))
    return np.array([order[int(label)] for label in labels], dtype=np.int64)


def _heaviest(names: list[str], weights: npt.NDArray[np.float64], most: int = 4) -> tuple[tuple[str, float], ...]:
    pairs = sorted(zip(names, (float(w) for w in weights), strict=True), key=lambda pair: -abs(pair[1]))
    return tuple(pairs[:most])


def _described(
    number: int,
    applications: Sequence[Application],
    data: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    names: list[str],
) -> Cluster:
    import numpy as np

    inside = np.flatnonzero(labels == number)
    middle = data[inside].mean(axis=0)
    typical = inside[int(np.argmin(((data[inside] - middle) ** 2).sum(axis=1)))]
    members = tuple(str(applications[int(i)].path) for i in inside)
    return Cluster(number, members, str(applications[int(typical)].path), _heaviest(names, middle))
