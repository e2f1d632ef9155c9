"""Put recordings into a store, and take them out.

An adder writes contents first, then the skeleton and the rows, and the manifest last: until then nobody sees the
recording. It may be killed anywhere and begun anew; several may add the same at the same time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import drawtap
from drawtap import activity
from drawtap.corpus import rows
from drawtap.corpus.store import (
    SMALL_BYTES,
    Content,
    Manifest,
    Packed,
    Store,
    content_name,
    identity,
    index_of,
    manifest_of,
    object_fault,
    pack_of,
    with_seal,
)
from drawtap.corpus.sweeping import LONGEST_ADD_S, condemned
from drawtap.errors import DrawtapError, InputError, no_file
from drawtap.parts import cache_folder
from drawtap.scratch import Scratch
from drawtap.trace import foreign
from drawtap.trace.core import CoreTrace, Restored, is_recording, pack
from drawtap.trace.trace import open_trace

_LEVEL = 6  # of zstd, for contents
_AT_ONCE = 64  # contents that are in memory at the same time, at most
_PACK_BYTES = 4 << 20
_TAIL_BYTES = 64 << 10
_PIECE = 1 << 20

A = TypeVar("A")


@dataclass(frozen=True)
class Added:
    """A recording that is in the corpus now; `new`: it was not before.

    `file_bytes` is the size of its file; what was written for it are `new_content_bytes`, `skeleton_bytes` and
    `table_bytes` (rows and manifest).
    """

    id: str
    file: Path
    new: bool
    file_bytes: int
    contents: int = 0
    new_contents: int = 0
    new_content_bytes: int = 0
    skeleton_bytes: int = 0
    table_bytes: int = 0
    notes: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()

    @property
    def new_bytes(self) -> int:
        """All that was written."""
        return self.new_content_bytes + self.skeleton_bytes + self.table_bytes


class Adder:
    """Adds recordings to a store, one after the other; it remembers which small contents are there.

    With `mend` it reads the objects that a recording needs, and writes anew what is damaged or gone.
    """

    def __init__(self, store: Store, *, mend: bool = False) -> None:
        self.store, self._mend = store, mend
        self._mended: list[str] = []
        self._sound: dict[str, bool] = {}  # objects that were read
        self._began = time.monotonic()
        self._condemned = condemned(store)
        self._renewed: set[str] = set()  # condemned objects that were written anew
        self._small: dict[str, Packed] | None = None

    def add(self, file: Path, tags: Mapping[str, str | None] | None = None) -> Added:
        """Add a recording, or find that it is there, and set tags. Raises InputError for any other file."""
        if not file.exists():
            raise no_file(file)
        if not is_recording(file):
            error = InputError(f"{file} is no recording", hint="drawtap import makes one of a trace of apitrace")
            raise foreign.explained(file, error)
        with activity.step(f"adding {file.name}"):
            digest = _sha256(file)
            known = [] if self._mend else [id_ for id_ in self.store.of_file(digest) if self._holds(id_)]
            done = Added(known[0], file, False, file.stat().st_size) if known else self._added(file, digest)
            self.store.tag(done.id, tags or {})
        done, self._mended = replace(done, mended=tuple(self._mended)), []
        return done

    def _holds(self, id_: str) -> bool:
        return self.store.objects.about(f"traces/{id_}.json") is not None

    def _added(self, file: Path, digest: str) -> Added:
        with Scratch() as name, open_trace(file) as trace:
            folder = Path(name)
            skeleton = folder / "skeleton.dtap"
            made = trace.core.skeleton(skeleton)
            content = _Contents(self, trace.core)
            content.put([(str(key), int(size)) for key, size in made["contents"]])
            body = skeleton.read_bytes()
            skeleton_sha256 = hashlib.sha256(body).hexdigest()
            manifest = Manifest(
                id=identity(skeleton_sha256, (c.sha256 for c in content.found)),
                uuid=str(trace.info["uuid"]),
                file=file.name,
                file_sha256=digest,
                file_bytes=file.stat().st_size,
                skeleton_sha256=skeleton_sha256,
                skeleton_bytes=len(body),
                contents=tuple(content.found),
                incomplete=tuple(made["incomplete"]),
                damaged=tuple(content.damaged),
                problems=tuple(str(p["text"]) for p in _problems(trace.info)),
                drawtap=drawtap.__version__,
            )
            if self._holds(manifest.id) and not self._mend:
                self.put(f"aliases/{digest}/{manifest.id}", b"")
                return Added(manifest.id, file, False, manifest.file_bytes, len(manifest.contents))
            skeleton_new = len(body) if self.put(f"traces/{manifest.id}.dtap", body) else 0
            tables, table_bytes = {}, 0
            for table, path in rows.write(trace, manifest, folder).items():
                rows_ = path.read_bytes()
                tables[table] = hashlib.sha256(rows_).hexdigest()
                table_bytes += (
                    len(rows_) if self.put(f"tables/{table}/{manifest.id}.{tables[table]}.parquet", rows_) else 0
                )
        return self._committed(replace(manifest, tables=tables), file, content, skeleton_new, table_bytes)

    def _committed(
        self, manifest: Manifest, file: Path, content: _Contents, skeleton_bytes: int, table_bytes: int
    ) -> Added:
        late = time.monotonic() - self._began > LONGEST_ADD_S
        if late or not all(self.store.objects.about(name) for name in self._renewed):
            raise DrawtapError(f"a sweep may have taken what {file} needs, while it was added", hint="add it again")
        text = manifest.text()
        manifest_of(text, manifest.id, "the manifest")
        name = f"traces/{manifest.id}.json"
        new = self.store.objects.put_new(name, text)
        if not new and self._mend and self.store.objects.get(name) != text:
            self._replace(name, text)  # damaged, or it names damaged objects that others stand for now
        if new and not all(self.store.objects.about(one) for one in self._renewed):
            self.store.objects.delete(name)
            raise DrawtapError(f"a sweep took what {file} needs, while it was added", hint="add it again")
        self.put(f"aliases/{manifest.file_sha256}/{manifest.id}", b"")
        notes = [f"content {key} is damaged in the file: it is left out" for key in manifest.damaged]
        notes += [f"the file is not whole: {text}" for text in manifest.problems]
        return Added(
            manifest.id,
            file,
            new,
            manifest.file_bytes,
            len(manifest.contents),
            content.new,
            content.new_bytes,
            skeleton_bytes,
            table_bytes + len(text),
            tuple(notes),
        )

    def put(self, name: str, content: bytes, *, look: bool = True) -> bool:
        """Write an object unless it is there for good; return whether it was written."""
        if name in self._condemned:
            self.store.objects.replace(name, content)
            self._renewed.add(name)
            return True
        if self._mend and not self.is_sound(name, content) and self.store.objects.about(name) is not None:
            self._replace(name, content)
            return True
        return self.store.objects.put_new(name, content, look=look)

    def _replace(self, name: str, content: bytes) -> None:
        self.store.objects.replace(name, content)
        self._sound[name] = True
        self._mended.append(name)

    def is_sound(self, name: str, content: bytes | None = None) -> bool:
        """Read an object and tell whether it is what it was written as: by its name, or equal to `content`."""
        if name not in self._sound:
            try:
                there = self.store.objects.get(name)
                self._sound[name] = there == content if content is not None else object_fault(name, there) is None
            except InputError:
                self._sound[name] = False
        return self._sound[name]

    def stored(self, name: str) -> int | None:
        """Return the size of an object that stays, None where it has to be written."""
        there = None if name in self._condemned else self.store.objects.about(name)
        return None if there is None or (self._mend and not self.is_sound(name)) else there.bytes

    @property
    def small(self) -> dict[str, Packed]:
        """Small contents in packs that stay, by SHA-256."""
        if self._small is None:
            self._small = {}
            for name, size in self._packs():
                self._small |= pack_index(self.store, name, size)
        return self._small

    def _packs(self) -> Iterator[tuple[str, int]]:
        for entry in self.store.objects.listed("packs/"):
            sha256 = entry.name.removeprefix("packs/").removesuffix(".pack")
            if (
                len(sha256) == 64
                and entry.name not in self._condemned
                and (not self._mend or self.is_sound(entry.name))
            ):
                yield sha256, entry.bytes


class _Contents:
    """The contents of one recording on their way into the store."""

    def __init__(self, adder: Adder, trace: CoreTrace) -> None:
        self._adder, self._trace = adder, trace
        self.found: list[Content] = []
        self.damaged: list[str] = []
        self.new = self.new_bytes = 0
        self._waiting: dict[str, tuple[Content, bytes]] = {}  # small ones, by SHA-256
        self._sizes: dict[str, int] = {}

    def put(self, contents: Sequence[tuple[str, int]]) -> None:
        _ = self._adder.small
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for done, part in enumerate(_slices(contents, _AT_ONCE)):
                activity.at(done * _AT_ONCE, len(contents))
                for one in pool.map(self._one, part):
                    if isinstance(one, str):
                        self.damaged.append(one)
                    else:
                        self._take(*one)
        self._flush()
        self.found = [self._placed(c) for c in self.found]

    def _one(self, content: tuple[str, int]) -> tuple[Content, bytes | None] | str:
        """Return a content, and the frame of a small one that is in no pack; large ones are written."""
        key, size = content
        try:
            raw = self._trace.blob(key)
        except InputError:
            return key
        sha256 = hashlib.sha256(raw).hexdigest()
        if size < SMALL_BYTES:
            there = self._adder.small.get(sha256)
            if there:
                return Content(key, sha256, size, there.stored, there.pack, there.offset), None
            frame = pack(raw, _LEVEL)
            return Content(key, sha256, size, len(frame)), frame
        name = content_name(sha256)
        stored = self._adder.stored(name)
        if stored is not None:
            return Content(key, sha256, size, stored), None
        stored_bytes = with_seal(pack(raw, _LEVEL))
        if self._adder.put(name, stored_bytes, look=False):
            self.new, self.new_bytes = self.new + 1, self.new_bytes + len(stored_bytes)
        return Content(key, sha256, size, len(stored_bytes)), None

    def _take(self, content: Content, frame: bytes | None) -> None:
        self.found.append(content)
        if frame is not None and content.sha256 not in self._waiting:
            self._waiting[content.sha256] = content, frame
            if sum(len(f) for _, f in self._waiting.values()) >= _PACK_BYTES:
                self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        frames = [(c.sha256, c.bytes, frame) for c, frame in self._waiting.values()]
        body, places = pack_of(frames)
        name = hashlib.sha256(body).hexdigest()
        if self._adder.put(f"packs/{name}.pack", body):
            self.new, self.new_bytes = self.new + len(frames), self.new_bytes + len(body)
        for sha256, size, _ in frames:
            self._adder.small[sha256] = Packed(name, *places[sha256], size)
        self._waiting.clear()

    def _placed(self, content: Content) -> Content:
        if content.pack is not None or content.bytes >= SMALL_BYTES:
            return content
        there = self._adder.small[content.sha256]
        return replace(content, pack=there.pack, offset=there.offset, stored=there.stored)


def pack_index(store: Store, name: str, size: int) -> dict[str, Packed]:
    """Return the contents of a pack. Those of a bucket are remembered on this machine: packs never change."""
    kept = cache_folder("corpus") / "packs" / name if "://" in store.where else None
    tail = kept.read_bytes() if kept is not None and kept.is_file() else _tail(store, name, size)
    index = index_of(name, size, tail)
    if kept is not None and not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f".{name}.{os.getpid()}")
        part.write_bytes(tail)
        part.replace(kept)
    return index


def _tail(store: Store, name: str, size: int) -> bytes:
    where = f"packs/{name}.pack"
    tail = store.objects.get(where, max(0, size - _TAIL_BYTES), size)
    try:
        index_of(name, size, tail)
    except IndexError as error:
        tail = store.objects.get(where, size - int(error.args[0]), size)
    return tail


def restore(store: Store, id_: str, path: Path) -> Manifest:
    """Write a recording of the corpus to `path`: equal in content to what was added, which is proven.

    Raises InputError where an object is damaged or gone.
    """
    manifest = store.manifest(id_)
    with (
        activity.step(f"restoring {id_[:12]}"),
        tempfile.TemporaryDirectory(prefix=f".{path.name[:40]}.", dir=path.absolute().parent) as name,
    ):
        skeleton, whole = Path(name) / "skeleton.dtap", Path(name) / "whole.dtap"
        skeleton.write_bytes(store.skeleton(manifest))
        core = CoreTrace(skeleton)
        made = Restored(core, whole)
        try:
            with ThreadPoolExecutor(8) as pool:
                for done, part in enumerate(_slices(manifest.contents, _AT_ONCE)):
                    activity.at(done * _AT_ONCE, len(manifest.contents))
                    for content, (raw, frame) in zip(part, pool.map(store.content, part), strict=True):
                        made.add(content.key, raw, frame)
            made.finish(_annotation(manifest))
        finally:
            made.close()
            core.close()
        _prove(manifest, whole, Path(name) / "proof.dtap")
        whole.chmod(0o600)
        whole.replace(path)
    return manifest


def _annotation(manifest: Manifest) -> dict[str, object]:
    lost = [*manifest.incomplete, *manifest.damaged]
    return {
        "kind": "restored",
        "id": manifest.id,
        "file_sha256": manifest.file_sha256,
        "contents": len(manifest.contents),
        "contents_lost": len(lost),
        "text": "restored, content equal",
    } | ({"problems": list(manifest.problems)} if manifest.problems else {})


def _prove(manifest: Manifest, whole: Path, again: Path) -> None:
    """Take the restored recording apart once more: it must be the same skeleton, with the same contents."""
    core = CoreTrace(whole)
    try:
        keys = {str(key) for key, _ in core.skeleton(again)["contents"]}
    finally:
        core.close()
    if _sha256(again) != manifest.skeleton_sha256 or keys != {c.key for c in manifest.contents}:
        raise DrawtapError(f"what was restored of {manifest.id[:12]} is not equal to what was added")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _problems(info: Mapping[str, object]) -> list[Mapping[str, object]]:
    problems = info.get("problems")
    return [p for p in problems if isinstance(p, dict)] if isinstance(problems, list) else []


def _slices(items: Sequence[A], count: int) -> Iterator[Sequence[A]]:
    for at in range(0, len(items), count):
        yield items[at : at + count]
