"""Certificates of cuts and simplified recordings: what they say, and whether it is so.

The recipient of such a file can check its images against the certificate. With the source at hand, they can also check
that it is the source, and that it shows the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drawtap.analysis.reduce import ShownImages, Stage
from drawtap.errors import InputError, QueryError, UnavailableError
from drawtap.tables.recording import AnnotationRow

if TYPE_CHECKING:
    from drawtap.trace.core import Row
    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `holds` is None where this machine cannot decide it, and `text` says why."""

    what: str
    holds: bool | None
    text: str


def source_of(trace: Trace) -> Row:
    """Return what a recording is known by: its file's name, size and SHA-256."""
    digest = hashlib.sha256()
    with trace.path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"file": trace.path.name, "bytes": trace.path.stat().st_size, "sha256": digest.hexdigest()}


def digest_of(images: Sequence[str]) -> str:
    """Return one hash of the hashes of many images."""
    return hashlib.sha256(" ".join(images).encode()).hexdigest()


def has_certificate(trace: Trace) -> bool:
    """Tell whether a recording carries a certificate."""
    return any(row["kind"] == "certificate" for row in trace.table(AnnotationRow))


def certificate_of(trace: Trace) -> Row:
    """Return the certificate that a recording carries. Raises QueryError where there is none or it makes no sense."""
    certificates = [row for row in trace.table(AnnotationRow) if row["kind"] == "certificate"]
    if not certificates:
        raise QueryError(
            f"{trace.path.name} carries no certificate", hint="drawtap extract and drawtap simplify write them"
        )
    try:
        certificate = json.loads(str(certificates[-1]["json"]))
    except ValueError as error:
        raise InputError(f"the certificate of {trace.path.name} cannot be read: {error}") from None
    if not isinstance(certificate, dict) or not isinstance(certificate.get("source"), dict):
        raise InputError(f"the certificate of {trace.path.name} is not complete")
    return certificate


def file_of(certificate: Row) -> str:
    """Return the name of the file that it was made from."""
    return str(certificate["source"].get("file", ""))


def check(trace: Trace, *, on: str = "system", source: Trace | None = None) -> Iterator[Check]:
    """Check what the certificate of a recording says, with its source or without.

    Raises QueryError where there is no certificate, UnavailableError where nothing here can play the file.
    """
    said = certificate_of(trace)
    kept = said.get("calls_kept")
    text = f"{len(trace.calls):,} calls" + ("" if kept == len(trace.calls) else f", the certificate is about {kept}")
    yield Check("calls", kept == len(trace.calls), text)
    changed = _changed_since(trace)
    if changed:
        yield Check("untouched", False, f"written anew since by drawtap {changed}")
    if said.get("verified") != "replay":
        yield Check("proof", None, "nothing was compared when it was made (--no-verify)")
    here, renderer = _images(trace, said, _part(said, in_file=True), on)
    yield from _as_certified(said, here, renderer)
    if source is not None:
        yield from _as_source(said, here, source, on)


def _changed_since(trace: Trace) -> str:
    # An edit of a recording, of whatever kind, writes its note behind the earlier notes.
    operation = ""
    for row in trace.table(AnnotationRow):
        if row["kind"] == "certificate":
            operation = ""
        elif row["kind"] == "edit":
            operation = str(json.loads(row["json"]).get("operation", "edit"))
    return operation


def _as_certified(said: Mapping[str, Any], here: tuple[str, ...], renderer: str) -> Iterator[Check]:
    engine = str(said.get("engine", ""))
    if "images_digest" in said:
        same: bool | None = digest_of(here) == said["images_digest"]
        count = f"{len(here):,} images"
    elif isinstance(said.get("images"), list):
        images = said["images"]
        same = list(here) == images
        count = f"{len(here)} of {len(images)} images"
    else:
        yield Check("images", None, "the certificate names none: its oracle was not the image")
        return
    if same:
        yield Check("images", True, f"{count} are those that the certificate names, pixel for pixel, on {renderer}")
    elif renderer != engine:
        yield Check(
            "images", None, f"others than on {engine or 'the engine they were made on'}; this is {renderer}:"
            " --source compares with what the source shows here",
        )  # fmt: skip
    else:
        yield Check("images", False, f"not those that the certificate names, on the same engine: {renderer}")


def _as_source(said: Mapping[str, Any], here: tuple[str, ...], source: Trace, on: str) -> Iterator[Check]:
    wanted = said["source"].get("sha256")
    is_it = source_of(source)["sha256"] == wanted
    text = (
        "is the recording it was made from" if is_it else f"is not what it was made from: its SHA-256 is not {wanted}"
    )
    yield Check("source", is_it, f"{source.path.name} {text}")
    if is_it:
        theirs, renderer = _images(source, said, _part(said, in_file=False), on)
        same = theirs == here
        yield Check("same pixels", same, f"the source shows {'the same' if same else 'other'} images on {renderer}")


def _part(said: Mapping[str, object], *, in_file: bool) -> Row | None:
    if said.get("what") == "simplify" and "shown" not in said:
        return None  # all frames
    about = said.get("file") if in_file else said
    shown = about.get("shown") if isinstance(about, dict) else None
    return shown if isinstance(shown, dict) else {}


def _images(trace: Trace, said: Mapping[str, object], part: Row | None, on: str) -> tuple[tuple[str, ...], str]:
    if part == {}:
        return (), "nothing"
    frames: Sequence[int] = range(len(trace.frames))
    if part is not None and "call" in part:
        shown = ShownImages(None, int(part["call"]), part.get("submit"))
    else:
        if part is not None:
            frames = part["frames"]
        if not frames:
            return (), "nothing"
        shown = ShownImages(range(frames[0], frames[-1] + 1), 0)
    stage = Stage(trace, shown, on)
    outcome = stage.play(None)
    if outcome is None:
        raise UnavailableError(f"{trace.path.name} cannot be played to its end here", hint="drawtap replay says where")
    images = outcome.images
    if part is not None and "frames" in part and len(images) == frames[-1] + 1 - frames[0]:
        images = tuple(images[frame - frames[0]] for frame in frames)  # those in between are not meant
    return images, stage.renderer
