"""Textures are decoded to the pixels that a driver makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap
from drawtap.analysis.textures import decompressed, textures

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl


def test_compressed_formats(programs: Bench, tmp_path: Path) -> None:
    command = [str(programs.programs / "compressed")]
    with drawtap.open(programs.recorded_as(command, tmp_path, programs.environment())) as trace:
        uploads = trace.sql('SELECT seq, internalformat FROM "glCompressedTexImage2D" ORDER BY seq').fetchall()
        reads = [seq for (seq,) in trace.sql('SELECT seq FROM "glGetTexImage" ORDER BY seq')]
        assert len(uploads) == len(reads) == 8
        for (seq, name), read in zip(uploads, reads, strict=True):
            content, pixels = trace.calls[seq].args["data"], trace.calls[read].args["pixels"]
            ours = decompressed(bytes(content), 32, 32, name)
            theirs = np.frombuffer(bytes(pixels), np.uint8).reshape(32, 32, 4)
            # Drivers may round a third of a colour either way.
            apart = np.abs(ours.astype(int) - theirs.astype(int))
            assert apart.max() <= 2, (name, apart.max(), np.argwhere(apart > 2)[:4])
        found, count = textures(trace, most=100, width=64)
        assert count == 8
        assert all(t.image is not None and t.image.shape == (32, 32, 4) for t in found)
