"""What lies upon pictures is what was measured: in the compatibility profile and in ES 1 too, draw by draw."""

from __future__ import annotations

import json
import shutil
import struct
from collections import defaultdict

import numpy as np
import pytest

import drawtap as package
from drawtap.web.recording import Recording
from shared import BROWSER, run_drawtap, steps
from web.conftest import Server

_PROFILES = ("fragments_gl", "fragments_es1")
_FRAME = 1
#: By overlay: its button, its words in the legend.
_WORDS = {
    "drawn": ("highlight", "highlight: {} fragments pass all tests"),
    "discarded": ("discard", "discard: {} fragments are discarded"),
    "depth": ("depth fail", "depth fail: {} fragments fail the depth test"),
    "overdraw": ("overdraw", "overdraw: {} fragments of {} draws up to here, at most {} on a pixel"),
}


@pytest.fixture(scope="module")
def measured(recordings, tmp_path_factory):
    """Return copies of the recordings that have fragments measured: by name, with the metrics of each draw."""
    folder, found = tmp_path_factory.mktemp("measured"), {}
    for name in _PROFILES:
        path = shutil.copy(recordings / f"{name}.dtap", folder)
        asked = ("--metrics", "fragments:count/*,fragments:overdraw/*", "--per", "draw")
        answer = run_drawtap("profile", path, *asked)
        assert answer.returncode == 0, answer.stderr
        metrics = defaultdict(dict)
        with package.open(path) as trace:
            rows = trace.sql(
                "SELECT m.seq, split_part(m.name, '/', 2), value FROM metrics m JOIN draws d ON d.seq = m.seq "
                f"WHERE m.per = 'draw' AND d.frame = {_FRAME} AND d.kind = 'draw' AND m.name LIKE 'fragments:%' "
                "ORDER BY m.seq"
            )
            for seq, metric, value in rows.fetchall():
                metrics[seq][metric] = value
        found[name] = (path, metrics)
    return found


def _taken(answer):
    (length,) = struct.unpack_from("<I", answer)
    return json.loads(answer[4 : 4 + length]), answer[4 + length :]


@pytest.mark.parametrize("name", _PROFILES)
def test_sums_of_masks_and_overdraw_are_the_metrics(measured, name):
    path, metrics = measured[name]
    recording = Recording(path)
    compared = defaultdict(int)
    try:
        for seq, known in metrics.items():
            head, data = _taken(recording.looks.masks(seq))
            planes = np.frombuffer(data, np.uint8).reshape(len(head["names"]), head["width"] * head["height"])
            sums = {mask: int(plane.sum()) for mask, plane in zip(head["names"], planes, strict=True)}
            assert sums == head["sums"]
            for mask, metric in (("covered", "generated"), ("discarded", "discarded"), ("drawn", "passed")):
                if mask in sums and known[metric] is not None:
                    assert sums[mask] == known[metric], (seq, mask)
                    compared[mask] += 1
            if "drawn" in sums and known["passed"] is not None:  # whatever is not drawn, a test keeps away
                away = known["generated"] - known["discarded"] - known["passed"]
                assert sums["stencil"] + sums["depth"] == away, seq
                compared["depth"] += away > 0
            if known["covered"] is not None:
                head, data = _taken(recording.looks.overdraw(seq))
                counts = np.frombuffer(data, np.uint32)
                of = (head["sum"], head["most"], int((counts > 0).sum()))
                assert of == (int(counts.sum()), known["most"], known["covered"])
                assert head["sum"] == pytest.approx(known["mean"] * known["covered"])
                compared["overdraw"] += 1
    finally:
        recording.close()
    assert min(compared[mask] for mask in ("covered", "discarded", "drawn", "overdraw")) >= 9, compared
    assert compared["depth"] >= 3


def test_a_draw_that_is_not_rasterised_is_not_missing(recordings):
    path = recordings / "fragments_gl.dtap"
    with package.open(path) as trace:
        begin, draw = trace.sql(
            "SELECT e.seq, min(d.seq) FROM glEnable e JOIN draws d ON d.seq > e.seq AND d.kind = 'draw' "
            f"WHERE e.cap = 'GL_RASTERIZER_DISCARD' AND d.frame = {_FRAME} GROUP BY e.seq ORDER BY e.seq"
        ).fetchall()[-1]
    recording = Recording(path)
    try:
        (before, counts), (after, same) = (_taken(recording.looks.overdraw(seq)) for seq in (begin, draw))
        masks, _ = _taken(recording.looks.masks(draw))
    finally:
        recording.close()
    assert after == {**before, "draws": before["draws"] + 1} and same == counts
    assert (masks["width"], masks["height"]) == (before["width"], before["height"])
    assert set(masks["why"].values()) == {"nothing is rasterised"}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_the_page_says_what_was_measured(opened, measured):
    running = Server(*(path for path, _ in measured.values()))
    try:
        for number, (_, metrics) in enumerate(measured.values()):
            known = {seq: one for seq, one in metrics.items() if one["mean"] is not None}
            draws = [
                next(seq for seq, one in known.items() if one["discarded"]),
                next(seq for seq, one in known.items() if one["generated"] - one["discarded"] > one["passed"]),
            ]
            page = opened(f"rec={number}&call={draws[0]}&tab=picture", running)
            for button, _ in _WORDS.values():
                page.page.get_by_role("button", name=button, exact=True).click()
            for seq in draws[: 2 if number == 0 else steps(1, 2)]:
                page.page.evaluate(f"drawtap.go({seq})")
                page.reads(f"After call {seq}")
                one, before = known[seq], sum(1 for other in metrics if other <= seq)
                depth = one["generated"] - one["discarded"] - one["passed"]
                values = {
                    "drawn": [one["passed"]],
                    "discarded": [one["discarded"]],
                    "depth": [depth],
                    "overdraw": [one["mean"] * one["covered"], before, one["most"]],
                }
                for overlay, (_, words) in _WORDS.items():
                    said = words.format(*(f"{round(value):,}".replace(",", "\u202f") for value in values[overlay]))
                    said = said.replace(" of 1 draws ", " of 1 draw ")
                    page.reads(said)
                painted = page.page.evaluate(
                    "[...document.querySelectorAll('.stack canvas')].slice(1).map((c) => [...c.getContext('2d')"
                    ".getImageData(0, 0, c.width, c.height).data].filter((v, i) => i % 4 === 3 && v).length)"
                )
                assert painted[0] == one["covered"]  # overdraw lies lowest
        # Where no test can be told apart, each overlay says why.
        sampled = list(measured["fragments_gl"][1])[15]
        page.page.evaluate(f"drawtap.store.set({{ rec: 0, call: {sampled}, over: 'drawn,culled,boxes' }})")
        for name in ("highlight", "cull"):
            page.reads(f"{name}: the target has several samples a pixel")
        page.reads("viewport 16 × 16 at 0, 0")
    finally:
        assert running.close() == 0
