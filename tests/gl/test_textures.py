"""Textures are decoded to the pixels that a driver makes of them, and objects are saved as files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import drawtap
from drawtap.analysis.textures import decompressed, textures
from shared import read_packed_png, run_drawtap

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


_BYTES = np.arange(1, 33, dtype=np.uint8).reshape(2, 4, 4).copy()
_BYTES[0, 0] = (1, 2, 3, 255)
_PLAIN = _BYTES.reshape(-1)


def _files(trace: Path, folder: Path, *options: str) -> dict[str, Any]:
    """Save what a recording's objects hold, and return the manifest's objects by the first file or by name."""
    done = run_drawtap("textures", trace, "-o", folder, "--json", *options)
    assert done.returncode == 0, done.stderr
    objects = json.loads((folder / "manifest.json").read_text())["objects"]
    listed = {name for o in objects for part in o["parts"] for name in part["files"]}
    assert listed | {"manifest.json"} == {path.name for path in folder.iterdir()}
    assert len(json.loads(done.stdout)) == len(objects)
    return {f"{o['kind']}-{o['name']}" + ("" if o["deleted_seq"] is None else "-deleted"): o for o in objects}


def _same(path: Path, wanted: object) -> None:
    assert np.array_equal(read_packed_png(path), np.asarray(wanted, np.uint8)), (path, read_packed_png(path))


def test_objects_are_saved_as_they_were_last(programs: Bench, tmp_path: Path) -> None:
    trace, out = programs.record(["held"], tmp_path / "held.dtap"), tmp_path / "out"
    objects = _files(trace, out)
    changed = _BYTES.copy()
    changed[1, 3] = (0xC8, 0xC9, 0xCA, 0xCB)
    _same(out / "texture-1-1.png", changed)
    grey = np.arange(1, 9, dtype=np.uint8).reshape(2, 4, 1).repeat(4, axis=2)
    grey[0, 3] = 255  # the fourth byte of the content
    grey[..., 3] = 255
    _same(out / "texture-1-2.png", grey)
    floats = np.load(out / "texture-1-3.npy")
    assert floats.dtype == np.float32
    assert floats.tolist() == (np.arange(8, dtype=np.float32) * 1.5 - 3).reshape(1, 2, 4, 1).tolist()
    words = np.load(out / "texture-1-4.npy")
    assert words.dtype == np.uint32
    assert words.tolist() == (np.arange(8) + 4_000_000_000).reshape(1, 2, 4, 1).tolist()
    faces = ("positive_x", "negative_x", "positive_y", "negative_y", "positive_z", "negative_z")
    for at, face in enumerate(faces):
        _same(out / f"texture-1-5-{face}.png", _BYTES.reshape(1, 8, 4)[:, at : at + 1])
    for layer in range(2):
        _same(out / f"texture-1-6-layer{layer}.png", _BYTES.reshape(2, 2, 2, 4)[layer])
        _same(out / f"texture-1-6-level1-layer{layer}.png", _BYTES.reshape(1, 8, 4)[:, layer : layer + 1])
    red, green = [(255, 0, 51, 255)] * 4, [(0, 255, 0, 255)] * 4
    _same(out / "texture-1-8.png", [green, red])  # t = 0 first
    _same(out / "renderbuffer-1-1.png", [red, green])  # the top first
    _same(out / "renderbuffer-1-3.png", [red, red])
    depth = np.load(out / "renderbuffer-1-2.npy")
    assert depth.tolist() == [[[[0xFFFFFF, 7]] * 4, [[0, 7]] * 4]]
    life = objects["texture-5"]["created_seq"]
    _same(out / f"texture-1-5-made{life}.png", _BYTES)
    _same(out / "texture-1-0-2d.png", _BYTES[:1])
    assert "4 samples" in objects["renderbuffer-3"]["parts"][0]["lost"]
    narrow = np.zeros((6, 5, 4), np.uint8)
    narrow[..., 3] = _PLAIN[:30].reshape(6, 5)
    _same(out / "texture-1-9.png", narrow)
    _same(out / "texture-1-10.png", np.dstack([_PLAIN[:30].reshape(2, 5, 3), np.full((2, 5), 255)]))
    assert objects["texture-7"]["why"] == "nothing was stored in it"
    assert "buffer" in next(o for o in objects.values() if o["target"] == "GL_TEXTURE_BUFFER")["why"]
    read = [part for o in objects.values() for part in o["parts"]]
    assert all(part["source"] == "read back" and not part["why"] for part in read)
    assert [o["kind"] for o in objects.values() if any(p["lost"] for p in o["parts"])] == ["renderbuffer"]
    refused = subprocess.run(
        [sys.executable, "-m", "drawtap", "textures", str(trace), "-o", str(out)], capture_output=True, text=True
    )
    assert refused.returncode == 2
    assert "--force" in refused.stderr


def test_objects_are_saved_as_a_call_left_them(programs: Bench, tmp_path: Path) -> None:
    trace, out = programs.record(["held"], tmp_path / "held.dtap"), tmp_path / "out"
    with drawtap.open(trace) as opened:
        (part,) = opened.sql('SELECT seq FROM "glTexSubImage2D"').fetchall()
    objects = _files(trace, out, "--at", str(part[0] - 1))
    _same(out / "texture-1-1.png", _BYTES)
    assert {name for name, o in objects.items() if any(p["files"] for p in o["parts"])} == {"texture-1"}
    assert set(objects) == {"texture-0", "texture-1"}
    assert "nothing is stored" in objects["texture-0"]["parts"][0]["why"]


def test_uploads_are_taken_where_nothing_is_handed_back(programs: Bench, tmp_path: Path) -> None:
    trace, out = programs.record(["held_es"], tmp_path / "held.dtap"), tmp_path / "out"
    objects = _files(trace, out)
    _same(out / "texture-1-1.png", [[(1, 2, 3, 4), (5, 6, 7, 8)], [(9, 10, 11, 12), (13, 14, 15, 255)]])
    (first,), (second,), (third,) = (objects[f"texture-{n}"]["parts"] for n in (1, 2, 3))
    assert (first["source"], second["source"], third["source"]) == ("read back", "upload", None)
    assert "1 later upload" in second["lost"]
    grey = read_packed_png(out / "texture-1-2.png")
    assert grey[..., 0].ravel().tolist() == [*range(1, 16), 255]
    assert not third["files"]
    assert "does not let" in third["why"]


def test_compressed_textures_keep_their_blocks(programs: Bench, tmp_path: Path) -> None:
    trace, out = programs.record(["compressed"], tmp_path / "compressed.dtap"), tmp_path / "out"
    objects = _files(trace, out)
    with drawtap.open(trace) as opened:
        for at, (seq,) in enumerate(opened.sql('SELECT seq FROM "glCompressedTexImage2D" ORDER BY seq').fetchall(), 1):
            args = opened.calls[seq].args
            content = (out / f"texture-1-{at}.ktx").read_bytes()
            assert content[:12] == b"\xabKTX 11\xbb\r\n\x1a\n"
            assert int.from_bytes(content[28:32], "little") == int(args["internalformat"])
            notes = int.from_bytes(content[60:64], "little")
            assert content[68 + notes :] == bytes(args["data"])
            _same(out / f"texture-1-{at}.png", decompressed(bytes(args["data"]), 32, 32, str(args["internalformat"])))
    assert len(objects) == 8
