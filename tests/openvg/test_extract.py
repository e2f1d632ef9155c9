"""Frames cut out of recordings of OpenVG programs draw the same pixels, with the calls that they need and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import drawtap
from drawtap.replay import player
from drawtap.trace.core import Part, write
from drawtap.trace.graph import Graph, packed

# Program, frames, and the most of the calls up to there that may be kept.
CUTS = {
    "frames": ({0: 0.9, 4: 0.85}),  # every frame reads pixels back into an image that the next one draws
    "calls": ({100: 0.15, 193: 0.2}),
    "objects": ({0: 0.9, 3: 0.6, 4: 0.4, 11: 0.2}),
    # One call hands over all that the APIs share; what nobody looks at is not kept for it.
    "shared frames": ({0: 0.75, 9: 0.25}),
    "shared targets": ({0: 0.75, 9: 0.45}),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CUTS)
def test_a_frame_alone_is_the_same(
    drawtap: Callable[..., object], recorded: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    program, *arguments = name.split()
    trace = recorded(program, "--hash-frames", arguments=tuple(arguments))
    for frame, most in CUTS[name].items():
        cut = tmp_path / f"{name}{frame}.dtap"
        answer = drawtap("extract", trace, "--frames", str(frame), "-o", cut)
        assert answer.code == 0, answer.out + answer.err  # type: ignore[attr-defined]
        certificate = _certificate(cut)
        # Nothing had to be found by trying: what calls need was told.
        assert (certificate["added_calls"], certificate["verified"]) == (0, "replay"), certificate
        proof = certificate["file"]
        assert proof["equal"] is True
        assert (proof["recorded_images_compared"], proof["recorded_images_different"]) == (1, 0), proof
        kept, before = int(str(certificate["calls_kept"])), int(str(certificate["calls_to_target"]))
        assert kept <= most * before, (frame, kept, before)


def _certificate(cut: Path) -> dict:
    with drawtap.open(cut) as trace:
        [text] = [row["json"] for row in trace.table("annotations") if row["kind"] == "certificate"]
    found = json.loads(str(text))
    assert isinstance(found, dict)
    return found


def test_what_is_redundant_can_go(recorded: Callable[..., Path], tmp_path: Path) -> None:
    """All frames without what set nothing new are the same frames."""
    with drawtap.open(recorded("objects", "--hash-frames")) as trace:
        graph = Graph(trace)
        keep = graph.closure(graph.frame_roots(range(len(trace.frames))))
        assert 0.5 * len(keep) < np.count_nonzero(keep) < 0.95 * len(keep)
        small = tmp_path / "small.dtap"
        write([Part(trace.core, keep=packed(keep).tobytes())], small)
    played = player.play(small, ["--verify"])
    assert (played.compared, played.different) == (12, 0)  # and what it read back itself, nobody needs
