"""The content of the page of a corpus as data for JSON: recordings x builds, and each cell; and the page as one file.

The file has the modules of the page as one script and what the server would answer as JSON, so it needs no server.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.corpus import gallery
from drawtap.corpus.matrix import WORST, Cell, Matrix, cell, machines
from drawtap.corpus.verdicts import BROKEN, RED
from drawtap.errors import InputError
from drawtap.output.comparison import amplified
from drawtap.output.document import script
from drawtap.output.picture import address, png
from drawtap.replay import engine

if TYPE_CHECKING:
    from drawtap.corpus.search import Corpus
    from drawtap.corpus.store import Store

Data = dict[str, Any]  # what becomes a JSON object
WORTH_A_LOOK = (*RED, "regression", "flaky")
_MOST_CELLS = 300  # of one file
_MOST_PICTURES = 32 << 20  # bytes of PNG in one file
_STRIPE = 6  # pixels between the lines that show a mask
_ASSETS = Path(__file__).parent / "assets"
_BEGIN = """const page = new FleetPage(JSON.parse(document.getElementById("data").textContent));
Object.assign(globalThis, { drawtap: page });
void page.begin().then(() => { document.body.dataset.ready = "true"; });
"""
_BUILD = ("name", "key", "family", "renderer", "version", "first")


def matrix_data(made: Matrix, store: str, *, decide: bool, play: bool) -> Data:
    """Return the matrix: labels stand as their places in `labels`, -1 for none; effects are percent.

    `decide` and `play` say what the page may do.
    """
    return {
        "store": store,
        "labels": WORST,
        "red": [*RED, "regression"],
        "rows": [[r.trace, r.file, r.frames, dict(r.tags)] for r in made.rows],
        "builds": [{name: getattr(b, name) for name in _BUILD} for b in made.builds],
        "columns": [
            {
                "images": c.images.tolist(),
                "speed": c.speed.tolist(),
                "effect": _percents(c.effect),
                "detectable": _percents(c.detectable),
            }
            for c in made.columns
        ],
        "older": made.older,
        "stale": made.stale,
        "may": {"decide": decide, "play": play},
    }


def _percents(shares: npt.NDArray[np.float64]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in np.round(100 * shares, 3).tolist()]


def machine_data(tables: Corpus) -> list[Data]:
    """Return the machines that measured pairs."""
    return [asdict(m) for m in machines(tables)]


@dataclass(frozen=True)
class CellPictures:
    """The pictures of a cell by their digests: what is right (None: nobody knows), and what the build drew."""

    frame: int | None
    right: str | None
    right_is: str
    got: str | None


def shown(one: Cell) -> CellPictures:
    """Return which pictures stand beside each other: the approved one (or the other engine's), and this build's."""
    said = one.judged
    images = one.images or {}
    frame = said.frame if said else images.get("frame")
    got = said.digest if said else images.get("digest")
    base = (said.base_digest if said else None) or images.get("base_digest")
    if one.approved:
        right = got if got in one.approved else base if base in one.approved else one.approved[0]
        return CellPictures(frame, right, "approved", got)
    return CellPictures(frame, base, f"on {one.base.name}" if one.base and base else "approved", got)


def cell_data(one: Cell, store: str) -> Data:
    """Return a cell for the page."""
    said, images, speed, run = one.judged, one.images, one.speed, one.run
    looks = shown(one)
    names = list(one.machines)
    return {
        "trace": one.trace,
        "build": {name: getattr(one.build, name) for name in _BUILD},
        "base": one.base.name if one.base else None,
        "outcome": run["outcome"] if run else None,
        "run": {n: run[n] for n in ("detail", "seconds", "started", "function", "last_seq", "signal")} if run else None,
        "label": said.label if said else images["label"] if images else None,
        "detail": said.detail if said and said.detail else images["detail"] if images else "",
        "frame": looks.frame,
        "right": looks.right,
        "right_is": looks.right_is,
        "got": looks.got,
        "call": _call(one),
        "draw": images is not None and images["first_seq"] is not None and images["label"] not in BROKEN,
        "function": (images and images["function"]) or (run["function"] if run else None),
        "cut": images["cut"] if images else None,
        "shown_by": list(one.shown_by),
        "decisions": [dict(d) for d in one.decisions],
        "speed": None
        if speed is None
        else {n: speed[n] for n in ("label", "metric", "effect", "low", "high", "q", "pairs", "detectable", "detail")},
        "threshold": one.threshold,
        "pairs": [[ratio, first, names.index(machine)] for ratio, first, machine in one.pairs],
        "machines": [{"name": n, "pairs": p, "spread": s} for n, (p, s) in one.machines.items()],
        "history": None if one.history is None else asdict(one.history),
        "commands": commands(one, store),
    }


def _call(one: Cell) -> int | None:
    """Return the draw that differs, else the call at which the run ended."""
    for row, column in ((one.images, "first_seq"), (one.run, "last_seq")):
        if row is not None and row[column] is not None:
            return int(row[column])
    return None


def commands(one: Cell, store: str) -> list[str]:
    """Return the two commands that repeat a cell here."""
    trace, corpus = one.trace[:12], f"--corpus {shlex.quote(store)}"
    sides = [one.base.name, one.build.name] if one.base else [one.build.name]
    again = f"drawtap corpus verdict {trace} --new {shlex.quote(one.build.name)}"
    again += f" --base {shlex.quote(one.base.name)}" if one.base else ""
    if one.speed and not (one.images and one.images["label"] in WORTH_A_LOOK):
        return [f"{again} --speed {corpus}", f"drawtap corpus history {trace} {corpus}"]
    lines = [f"drawtap corpus get {trace} -o {trace}.dtap {corpus}"]
    if len(sides) == 2 and all(side in engine.ENGINES.names() for side in sides):
        return [*lines, f"drawtap compare {trace}.dtap --on {sides[0]} --on {sides[1]}"]
    return [*lines, f"{again} {corpus}"]


# ---- pictures --------------------------------------------------------------------------------------------------------


def chosen(shots: Sequence[gallery.Shot], digest: str | None, key: str = "") -> gallery.Shot | None:
    """Return the picture with these pixels, else any picture of the build `key`: what it draws changes from run to run.

    A picture that the build itself drew is preferred.
    """
    own = [shot for shot in shots if shot.engine == key]
    same = [shot for shot in (*own, *shots) if shot.digest == digest]
    return next(iter((*same, *own)), None)


def difference(right: gallery.Shot, got: gallery.Shot, others: Sequence[gallery.Shot] = ()) -> tuple[bytes, float]:
    """Return where two pictures of a frame differ, as PNG, and which share of the pixels is striped.

    Stripes are where pixels change from run to run: between those of `others` that the same engines drew.
    """
    out = amplified(right.image(), got.image())
    by: dict[str, list[Any]] = {}
    for shot in others:
        if shot.engine in (right.engine, got.engine):
            by.setdefault(shot.engine, []).append(shot.image())
    mask = gallery.wavering(by)
    if mask is None or not mask.any() or mask.shape != out.shape[:2]:
        return png(out), 0.0
    mask = gallery.grown(mask)
    rows, columns = np.indices(mask.shape)
    out[mask] = (40, 60, 110, 255)
    out[mask & ((rows + columns) % _STRIPE < _STRIPE // 2)] = (90, 150, 255, 255)
    return png(out), float(mask.mean())


# ---- one file --------------------------------------------------------------------------------------------------------


def document(tables: Corpus, store: Store, made: Matrix) -> str:
    """Return the page as one HTML document that loads nothing.

    It has the cells that are worth a look, with their pictures. The page says how many did not fit.
    """
    about = matrix_data(made, store.where, decide=False, play=False)
    about["machines"] = machine_data(tables)
    unknown = WORST.index("unknown")
    worth_a_look: list[tuple[int, int, int]] = []
    for b, column in enumerate(made.columns):
        for r, (images, speed) in enumerate(zip(column.images.tolist(), column.speed.tolist(), strict=True)):
            ranks = [place for place in (images, speed) if place >= 0]
            if ranks and (speed >= 0 or min(ranks) < unknown):
                worth_a_look.append((min(ranks), r, b))
    cells: dict[str, Data] = {}
    left = _MOST_PICTURES
    for _, r, b in sorted(worth_a_look)[:_MOST_CELLS]:
        trace, key = made.rows[r].trace, made.builds[b].key
        one = cell(tables, trace, key)
        data = cell_data(one, store.where)
        if left > 0:
            data["pictures"] = _pictures(store, one)
            left -= sum(len(text) for text in data["pictures"].values() if isinstance(text, str))
        cells[f"{trace}/{key}"] = data
    about["cells"] = cells
    about["left_out"] = max(0, len(worth_a_look) - _MOST_CELLS)
    return _page(as_json(about))


def _pictures(store: Store, one: Cell) -> Mapping[str, object]:
    looks = shown(one)
    if looks.frame is None:
        return {}
    kept = [k for k in gallery.kept(store, one.trace) if k.frame == looks.frame]
    try:
        shots = [gallery.opened(store, k) for k in kept]
    except InputError as error:
        return {"error": error.message}
    right, got = chosen(shots, looks.right), chosen(shots, looks.got, one.build.key) if looks.got else None
    urls: dict[str, object] = {n: address(s.png) for n, s in (("right", right), ("got", got)) if s is not None}
    if right is not None and got is not None:
        picture, masked = difference(right, got, shots)
        urls |= {"difference": address(picture), "masked": masked}
    return urls


def as_json(data: object) -> str:
    """Return data as JSON that may stand in HTML."""
    return json.dumps(data, separators=(",", ":"), default=str).replace("<", "\\u003c")


def _page(data: str) -> str:
    """Return the shell of the page with everything inside."""
    code = script("fleet.js", _ASSETS, _BEGIN)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    )
    style = "\n".join((_ASSETS / f"{name}.css").read_text(encoding="utf-8") for name in ("app", "fleet"))
    shell = (_ASSETS / "index.html").read_text(encoding="utf-8")
    shell = re.sub(r"<(link|script)[^>]*>(</script>)?\n", "", shell)
    inside = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n</head>'
    ending = (
        f'<script type="application/json" id="data">{data}</script>\n<script type="module">{code}</script>\n</body>'
    )
    return shell.replace("</head>", inside).replace("</body>", ending)
