"""Pictures of frames that somebody may have to look at: PNGs in the store, beside the recording that they show.

A verdict keeps what it looked at. Several pictures of one frame by one engine show what changes from run to run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drawtap.corpus.store import KINDS
from drawtap.errors import InputError
from drawtap.replay import compare, player
from drawtap.scratch import Scratch

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.store import Store

Mask = npt.NDArray[np.bool_]  # height x width


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a frame: the hash of its pixels, the key of the engine that drew it, and the PNG."""

    frame: int
    digest: str
    engine: str
    png: bytes

    def image(self) -> compare.Image:
        """Return the pixels: height x width x RGBA."""
        return compare.decode_png(self.png, f"the picture of frame {self.frame}")


def shoot(path: Path, one: Engine, frame: int) -> Shot | None:
    """Play a recording up to a frame and return its picture, None where the frame shows nothing."""
    with Scratch() as name:
        wanted = ["--frames", f"{frame}:{frame + 1}", "--hashes", "--snapshots", f"{name}/"]
        played = player.play(path, wanted, environment=one.environment)
        file = next(iter(Path(name).glob("*.png")), None)
        digest = played.hashes.get(frame)
        return None if file is None or digest is None else Shot(frame, digest, one.key, file.read_bytes())


def keep(store: Store, trace: str, shots: Iterable[Shot | None]) -> None:
    """Write pictures into the store; what is there stays."""
    for shot in shots:
        if shot is not None:
            sha256 = hashlib.sha256(shot.png).hexdigest()
            name = f"pictures/{trace}/{shot.frame}-{shot.digest}-{shot.engine}-{sha256}.png"
            store.objects.put_new(name, shot.png)


@dataclass(frozen=True, slots=True)
class Kept:
    """A picture in the store, by its name there."""

    frame: int
    digest: str
    engine: str
    name: str


def kept(store: Store, trace: str) -> list[Kept]:
    """Return the pictures of a recording that are in the store."""
    matches = (KINDS["picture"].fullmatch(entry.name) for entry in store.objects.listed(f"pictures/{trace}/"))
    return [Kept(int(m["frame"]), m["digest"], m["engine"], m[0]) for m in matches if m]


def opened(store: Store, one: Kept) -> Shot:
    """Return a picture of the store. Raises InputError where it is damaged."""
    png = store.objects.get(one.name)
    match = KINDS["picture"].fullmatch(one.name)
    if match is None or hashlib.sha256(png).hexdigest() != match["sha256"]:
        raise InputError(f"{store.where}/{one.name} is damaged: its SHA-256 is another", hint="drawtap corpus check")
    return Shot(one.frame, one.digest, one.engine, png)


def wavering(images: Mapping[str, list[compare.Image]]) -> Mask | None:
    """Return which pixels change between pictures of one engine, of any of the engines.

    None: there are no pictures, or they have several sizes.
    """
    every = [image for of in images.values() for image in of]
    if not every or any(image.shape != every[0].shape for image in every):
        return None
    mask = np.zeros(every[0].shape[:2], bool)
    for of in images.values():
        for image in of[1:]:
            mask |= (image != of[0]).any(axis=2)
    return mask


@dataclass(frozen=True, slots=True)
class Apart:
    """The distance of the images of a frame by two engines, where neither changes from run to run.

    `a` and `b` are the hashes of the first image of each, `pixels` and `masked` numbers of pixels.
    """

    frame: int
    a: str
    b: str
    difference: compare.Difference
    pixels: int
    masked: int


def apart(shots: Iterable[Shot | None], base: str, new: str) -> list[Apart]:
    """Hold pictures of two engines, by their keys, against each other: each frame that both have."""
    by: dict[int, dict[str, list[Shot]]] = {}
    for shot in filter(None, shots):
        by.setdefault(shot.frame, {}).setdefault(shot.engine, []).append(shot)
    frames_apart = []
    for frame, of in sorted(by.items()):
        if base not in of or new not in of:
            continue
        images = {key: [shot.image() for shot in of[key]] for key in (base, new)}
        a, b = images[base][0], images[new][0]
        mask = wavering(images)
        if mask is not None:
            mask = grown(mask)
            b = np.where(mask[..., None], a, b)
        pixels = int((a != b).any(axis=2).sum()) if a.shape == b.shape else 0
        masked = 0 if mask is None else int(mask.sum())
        frames_apart.append(
            Apart(frame, of[base][0].digest, of[new][0].digest, compare.difference(a, b), pixels, masked)
        )
    return frames_apart


def grown(mask: Mask) -> Mask:
    """Return a mask with the pixels around."""
    out = mask.copy()
    for axis in (0, 1):
        for step in (1, -1):
            moved = np.roll(mask if axis == 0 else out, step, axis)
            edge = [slice(None), slice(None)]
            edge[axis] = slice(0, 1) if step == 1 else slice(-1, None)
            moved[tuple(edge)] = False
            out |= moved
    return out
