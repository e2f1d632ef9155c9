"""`drawtap cluster`: which recordings are alike in what they draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.corpus_add import recordings_in
from drawtap.errors import check_target, no_file, write_whole
from drawtap.output.result import Rows, Sheets

if TYPE_CHECKING:
    from drawtap.analysis.clusters import Clustering
    from drawtap.output.clusters import ClustersPage


@command(
    section="ask",
    examples=(
        "drawtap cluster recordings/",
        "drawtap cluster recordings/ -o groups.html          # with a picture",
        "drawtap cluster a.dtap b.dtap c.dtap d.dtap --groups 2 --json",
    ),
)
def cluster(
    *recordings: Annotated[Path, Opt("recordings, or folders of them", metavar="PATH")],
    groups: Annotated[int | None, Opt("Number of groups.  [default: as many as fit best]", metavar="N")] = None,
    output: Annotated[Path | None, Opt("Write a page with a picture.", "-o", "FILE.html")] = None,
    force: Annotated[bool, Opt("Replace the page if it exists.")] = False,
) -> Sheets:
    """Group recordings by what they draw.

    A recording is what its frames do on average, without those that load (up to the first that draws): draws,
    triangles, texels, uploads, state calls, and shares of them; times are left out. Recordings that are alike come into
    one group. Each group shows its distance from the mean of all, in standard deviations, and its typical recording: a
    test of one per group covers them all. Needs scikit-learn: pip install 'drawtap[clusters]'.
    """
    from drawtap.analysis import clusters

    if output is not None:
        check_target(output, force=force)
    for path in recordings:
        if not path.exists():
            raise no_file(path)
    clustering = clusters.cluster(recordings_in(recordings), groups)
    if output is not None:
        from drawtap.output.clusters import render

        write_whole(output, render(_page(clustering)))
    return _sheets(clustering, output)


def _words(parts: tuple[tuple[str, float], ...]) -> str:
    return ", ".join(f"{name} {weight:+.1f}" for name, weight in parts)


def _sheets(clustering: Clustering, output: Path | None) -> Sheets:
    groups = [(c.number, len(c.members), Path(c.typical).name, _words(c.distinctive)) for c in clustering.clusters]
    members = [(a.cluster, str(a.path), a.frames) for a in sorted(clustering.applications, key=lambda a: a.cluster)]
    notes = _notes(clustering)
    if clustering.silhouette is not None:
        notes.append(f"silhouette {clustering.silhouette:.2f} (1: far apart, 0: no groups)")
    if output is not None:
        notes.append(f"written: {output}")
    tables = [
        Rows(("group", "recordings", "typical", "apart from the mean by"), groups, title="Groups"),
        Rows(("group", "recording", "frames"), members, {"frames": "count"}, title="Recordings"),
    ]
    return Sheets(tables, _data(clustering), notes)


def _notes(clustering: Clustering) -> list[str]:
    notes = [f"left out: {name}: {why}" for name, why in clustering.left_out]
    loading = [a.path.name for a in clustering.applications if a.frames == 1]
    if loading:
        notes.append(f"one frame alone, with what loading does in it: {', '.join(loading)}")
    return notes


def _data(clustering: Clustering) -> dict[str, object]:
    return {
        "groups": [
            {
                "group": c.number,
                "members": list(c.members),
                "typical": c.typical,
                "distinctive": [{"feature": name, "deviations": weight} for name, weight in c.distinctive],
            }
            for c in clustering.clusters
        ],
        "recordings": [
            {
                "path": str(a.path),
                "group": a.cluster,
                "frames": a.frames,
                "position": list(a.position),
                "features": dict(a.features),
            }
            for a in clustering.applications
        ],
        "axes": [
            {"explained": share, "features": [{"feature": name, "weight": weight} for name, weight in axis]}
            for axis, share in zip(clustering.axes, clustering.explained, strict=True)
        ],
        "silhouette": clustering.silhouette,
        "left_out": [{"path": name, "reason": why} for name, why in clustering.left_out],
    }


def _page(clustering: Clustering) -> ClustersPage:
    from drawtap.output.clusters import ClustersPage, Dot

    stems = [a.path.stem for a in clustering.applications]
    names = [
        stem if stems.count(stem) == 1 else str(a.path) for stem, a in zip(stems, clustering.applications, strict=True)
    ]
    dots = [Dot(name, a.cluster, *a.position) for name, a in zip(names, clustering.applications, strict=True)]
    axes = [
        f"{_words(axis)} ({100 * share:.0f} % of what differs)"
        for axis, share in zip(clustering.axes, clustering.explained, strict=True)
    ]
    of_path = {str(a.path): name for name, a in zip(names, clustering.applications, strict=True)}
    rows = [
        (str(c.number), of_path[c.typical], _words(c.distinctive), ", ".join(of_path[m] for m in c.members))
        for c in clustering.clusters
    ]
    score = "" if clustering.silhouette is None else f" Silhouette {clustering.silhouette:.2f}."
    text = f"{len(dots)} recordings in {len(rows)} groups by what they draw a frame.{score}"
    return ClustersPage("Recordings that are alike", text, dots, axes, rows, _notes(clustering))
