"""The layout of a store, and what its objects say.

    corpus.json                       what this store is
    contents/ab/SHA256                one zstd frame of a content
    packs/SHA256.pack                 frames of small contents, their index at the end
    traces/ID.dtap                    a skeleton: a recording without its contents
    traces/ID.json                    its manifest, written last: with it the recording is in the corpus
    tables/TABLE/ID.SHA256.parquet    its rows; `_all` for ID where many were put together
    tables/_gen/N.json                which files hold the rows of which recordings
    aliases/SHA256/ID                 the recording that a file holds
    tags/ID/TIME-TAG                  a tag that was set or removed at a time
    pictures/ID/FRAME-...-SHA256.png  what an engine drew, where somebody may have to look
    approvals/TIME-SHA256.json        a decision about images
    gc/N.json                         objects that nobody needed at that time

Objects never change. Every content is found by the SHA-256 of what it holds, not of its stored bytes.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from drawtap.corpus.objects import Absent, Listed, Objects, opened
from drawtap.errors import InputError, UsageError, did_you_mean
from drawtap.tables.corpus import FILED
from drawtap.trace.core import unpack

VERSION = 1
SMALL_BYTES = 64 << 10  # smaller contents are put into packs
_HEX = "[0-9a-f]"
#: The things that a store may hold, by the name of their kind.
KINDS: Mapping[str, re.Pattern[str]] = {
    "corpus": re.compile(r"corpus\.json"),
    "content": re.compile(rf"contents/(?P<two>{_HEX}{{2}})/(?P<sha256>(?P=two){_HEX}{{62}})"),
    "pack": re.compile(rf"packs/(?P<sha256>{_HEX}{{64}})\.pack"),
    "skeleton": re.compile(rf"traces/(?P<id>{_HEX}{{64}})\.dtap"),
    "manifest": re.compile(rf"traces/(?P<id>{_HEX}{{64}})\.json"),
    "table": re.compile(rf"tables/(?P<table>[a-z]+)/(?P<id>{_HEX}{{64}}|_all)\.(?P<sha256>{_HEX}{{64}})\.parquet"),
    "generation": re.compile(r"tables/_gen/(?P<number>[0-9]{8})\.json"),
    "alias": re.compile(rf"aliases/(?P<sha256>{_HEX}{{64}})/(?P<id>{_HEX}{{64}})"),
    "tag": re.compile(rf"tags/(?P<id>{_HEX}{{64}})/(?P<time>[0-9]{{20}})-(?P<tag>[A-Za-z0-9_-]+)"),
    "approval": re.compile(rf"approvals/(?P<time>[0-9]{{20}})-(?P<sha256>{_HEX}{{64}})\.json"),
    "picture": re.compile(
        rf"pictures/(?P<id>{_HEX}{{64}})/(?P<frame>[0-9]{{1,9}})-(?P<digest>{_HEX}{{8,64}})-(?P<engine>{_HEX}{{32}})"
        rf"-(?P<sha256>{_HEX}{{64}})\.png"
    ),
    "sweep": re.compile(r"gc/(?P<number>[0-9]{20})\.json"),
}
_PACK_END = b"DTPACK1\n"
_TAG = re.compile(r"[A-Za-z0-9_.:/@+-]{1,40}")
_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LEAST = 6  # characters of an id


def kind_of(name: str) -> tuple[str, re.Match[str]] | None:
    """Return the kind of object that a name means, and its parts; None: none of a store."""
    for kind, pattern in KINDS.items():
        if match := pattern.fullmatch(name):
            return kind, match
    return None


# A content of its own is followed by a frame that readers of zstd skip: the SHA-256 of what is stored.
_SEAL = struct.pack("<II", 0x184D2A50, 32)


def with_seal(frame: bytes) -> bytes:
    """Return a frame as it is stored alone: every flipped byte shows, also one that changes no content."""
    return frame + _SEAL + hashlib.sha256(frame).digest()


def opened_seal(stored: bytes, where: str) -> bytes:
    """Return the frame of a content that is stored alone. Raises InputError where a byte of it is another."""
    frame, seal = stored[:-40], stored[-40:]
    if len(stored) < 40 or seal != _SEAL + hashlib.sha256(frame).digest():
        raise InputError(f"{where} is damaged: its SHA-256 is another", hint="drawtap corpus check finds all damage")
    return frame


def content_name(sha256: str) -> str:
    """Return where a content of its own is."""
    return f"contents/{sha256[:2]}/{sha256}"


def sealed(body: Mapping[str, Any]) -> bytes:
    """Return an object as text that shows every change: its own SHA-256 is in it."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f'{{"body":{text},"sha256":"{hashlib.sha256(text.encode()).hexdigest()}"}}\n'.encode()


def unsealed(content: bytes, where: str) -> dict[str, Any]:
    """Return what `sealed` was given. Raises InputError where a byte of it is another."""
    try:
        envelope = json.loads(content)
        body = envelope["body"]
        if isinstance(body, dict) and sealed(body) == content:
            return body
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise InputError(f"{where} is damaged: it is not what was written", hint="drawtap corpus check finds all damage")


@dataclass(frozen=True, slots=True)
class Content:
    """A content of a recording: its hash there, its SHA-256, its size, and where it is stored.

    `pack` is the SHA-256 of the pack that holds it at `offset`, None for an object of its own.
    """

    key: str
    sha256: str
    bytes: int
    stored: int
    pack: str | None = None
    offset: int = 0


@dataclass(frozen=True)
class Manifest:
    """The parts of a recording of the corpus.

    `incomplete` are contents that its recorder did not finish, `damaged` those that its file had damaged: nobody has
    them. `tables`: SHA-256 of its Parquet files. `problems`: what the file lacked.
    """

    id: str
    uuid: str
    file: str
    file_sha256: str
    file_bytes: int
    skeleton_sha256: str
    skeleton_bytes: int
    contents: tuple[Content, ...]
    incomplete: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    drawtap: str = ""
    version: int = VERSION

    def objects(self) -> Iterator[str]:
        """Yield the names of the objects that it needs."""
        yield f"traces/{self.id}.dtap"
        for name, sha256 in self.tables.items():
            yield f"tables/{name}/{self.id}.{sha256}.parquet"
        yield from {f"packs/{c.pack}.pack" if c.pack else content_name(c.sha256) for c in self.contents}

    def text(self) -> bytes:
        """Return it as it is stored."""
        body = asdict(self)
        body["contents"] = [[c.key, c.sha256, c.bytes, c.stored, c.pack, c.offset] for c in self.contents]
        return sealed(body)


def identity(skeleton_sha256: str, contents: Iterable[str]) -> str:
    """Return the id of a recording: of its skeleton and of the SHA-256 of its contents."""
    return hashlib.sha256("\n".join((skeleton_sha256, *sorted(set(contents)))).encode()).hexdigest()


def manifest_of(content: bytes, id_: str, where: str) -> Manifest:
    """Return the manifest that an object holds. Raises InputError for anything that no adder would write."""
    body = unsealed(content, where)
    if isinstance(body.get("version"), int) and body["version"] > VERSION:
        raise InputError(f"{where} is of version {body['version']}", hint="a newer drawtap reads it")
    try:
        contents = tuple(Content(*row) for row in body.pop("contents"))
        lists: dict[str, Any] = {name: tuple(body.pop(name)) for name in ("incomplete", "damaged", "problems")}
        manifest = Manifest(contents=contents, **lists, **body)
        sound = all(_is_sound(c) for c in contents) and all(
            name in FILED and re.fullmatch(f"{_HEX}{{64}}", sha) for name, sha in manifest.tables.items()
        )
    except (TypeError, KeyError, ValueError, AttributeError):
        sound = False
    if not sound or manifest.id != id_ or identity(manifest.skeleton_sha256, (c.sha256 for c in contents)) != id_:
        raise InputError(f"{where} is not the manifest of recording {id_[:12]}", hint="drawtap corpus check")
    return manifest


def _is_sound(c: Content) -> bool:
    numbers = all(isinstance(n, int) and 0 <= n < 1 << 48 for n in (c.bytes, c.stored, c.offset))
    hashes = (c.sha256, 64), (c.key, 32), (c.pack or "0" * 64, 64)
    return numbers and all(re.fullmatch(f"{_HEX}{{{n}}}", text) for text, n in hashes)


@dataclass(frozen=True, slots=True)
class Packed:
    """Where a small content is: the pack's SHA-256, its place in there, and its size."""

    pack: str
    offset: int
    stored: int
    bytes: int


def pack_of(frames: Iterable[tuple[str, int, bytes]]) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """Return a pack of small contents (SHA-256, size, frame), and the place and length of each frame in it."""
    body, rows, places = bytearray(), [], {}
    for sha256, size, frame in frames:
        places[sha256] = len(body), len(frame)
        rows.append([sha256, len(body), len(frame), size])
        body += frame
    index = json.dumps(rows, separators=(",", ":")).encode()
    return bytes(body + index + struct.pack("<Q", len(index)) + _PACK_END), places


def index_of(pack: str, size: int, tail: bytes) -> dict[str, Packed]:
    """Return the contents of a pack from its last bytes. Raises InputError where they are none, IndexError where more
    of them are needed."""
    packed: dict[str, Packed] = {}
    if len(tail) >= 16 and tail.endswith(_PACK_END):
        (length,) = struct.unpack_from("<Q", tail, len(tail) - 16)
        if length + 16 <= size:
            if length + 16 > len(tail):
                raise IndexError(length + 16)
            try:
                for sha256, offset, stored, raw in json.loads(tail[-16 - length : -16]):
                    one = Content("0" * 32, sha256, raw, stored, pack, offset)
                    if not _is_sound(one) or offset + stored > size:
                        raise ValueError
                    packed[sha256] = Packed(pack, offset, stored, raw)
                return packed
            except (ValueError, TypeError, RecursionError):
                pass
    raise InputError(f"packs/{pack}.pack is damaged: its index makes no sense", hint="drawtap corpus check")


def object_fault(name: str, content: bytes) -> str | None:
    """Return what is wrong with an object whose name says what it holds; None: nothing, or its name says nothing."""
    kind, parts = kind_of(name) or ("", None)
    try:
        if kind == "content" and parts:
            whole = hashlib.sha256(unpack(opened_seal(content, name))).hexdigest() == parts["sha256"]
            return None if whole else "its SHA-256 is another"
        if kind in ("pack", "table", "picture") and parts:
            if hashlib.sha256(content).hexdigest() != parts["sha256"]:
                return "its SHA-256 is another"
            for sha256, place in index_of(parts["sha256"], len(content), content).items() if kind == "pack" else ():
                frame = content[place.offset : place.offset + place.stored]
                if hashlib.sha256(unpack(frame, place.bytes)).hexdigest() != sha256:
                    return f"content {sha256[:12]} in it has another SHA-256"
    except InputError as error:
        return error.message
    return None


class Store:
    """A corpus. Nothing is kept open; several processes may add at the same time."""

    def __init__(self, where: str) -> None:
        self.objects: Objects = opened(where)
        try:
            self.about = unsealed(self.objects.get("corpus.json"), f"{where}/corpus.json")
        except Absent:
            raise InputError(f"there is no corpus at {where}", hint=f"drawtap corpus init {where} makes one") from None
        if self.about.get("version") != VERSION:
            raise InputError(f"{where} is a corpus of version {self.about.get('version')}", hint="update drawtap")

    @property
    def where(self) -> str:
        """The folder or the address."""
        return self.objects.where

    # ---- recordings ----------------------------------------------------------------------------------------

    def recordings(self) -> dict[str, Listed]:
        """Return the recordings of the corpus by id, with the object of each manifest."""
        manifests = {}
        for entry in self.objects.listed("traces/"):
            match = KINDS["manifest"].fullmatch(entry.name)
            if match:
                manifests[match["id"]] = entry
        return manifests

    def manifest(self, id_: str) -> Manifest:
        """Return the manifest of a recording, by its whole id."""
        name = f"traces/{id_}.json"
        return manifest_of(self.objects.get(name), id_, f"{self.where}/{name}")

    def find(self, word: str) -> str:
        """Return the id that begins with `word`, or the id of the file with this SHA-256.

        Raises UsageError where none or several do.
        """
        word = word.lower()
        if not re.fullmatch(f"{_HEX}{{{_LEAST},64}}", word):
            raise UsageError(
                f"{word!r} is no id of a recording", hint=f"at least {_LEAST} digits of what corpus ls shows"
            )
        known = self.recordings()
        ids = [id_ for id_ in known if id_.startswith(word)]
        if not ids and len(word) == 64:
            ids = [id_ for id_ in self.of_file(word) if id_ in known]
        if len(ids) != 1:
            many = f"{len(ids)} recordings begin with {word}"
            hint = did_you_mean(word, (id_[: len(word)] for id_ in known)) or "drawtap corpus ls lists them"
            raise UsageError(many if ids else f"there is no recording {word} in {self.where}", hint=hint)
        return ids[0]

    def of_file(self, sha256: str) -> list[str]:
        """Return the ids of recordings that a file with this SHA-256 holds."""
        names = (KINDS["alias"].fullmatch(entry.name) for entry in self.objects.listed(f"aliases/{sha256}/"))
        return [match["id"] for match in names if match]

    def remove(self, id_: str) -> None:
        """Take a recording out, with its tags. Sweeps (`sweeping.sweep`) take the objects that only it needs."""
        self.objects.delete(f"traces/{id_}.json")
        for entry in list(self.objects.listed(f"tags/{id_}/")):
            self.objects.delete(entry.name)

    # ---- tags ----------------------------------------------------------------------------------------------

    def tags(self, id_: str | None = None) -> dict[str, dict[str, str]]:
        """Return the tags of every recording, or of one, by id."""
        tags_: dict[str, dict[str, str]] = {}
        prefix = f"tags/{id_}/" if id_ else "tags/"
        for match in filter(None, (KINDS["tag"].fullmatch(entry.name) for entry in self.objects.listed(prefix))):
            said = _tag_of(match["tag"])
            if said is None:
                continue
            name, value = said
            of = tags_.setdefault(match["id"], {})
            of.pop(name, None)
            if value is not None:
                of[name] = value
        return tags_

    def tag(self, id_: str, changes: Mapping[str, str | None]) -> None:
        """Set tags of a recording; None removes one. A tag that has the value already is not written again."""
        now = self.tags(id_).get(id_, {})
        at = time.time_ns()
        for name, value in changes.items():
            if now.get(name) != value:
                text = json.dumps({name: value}, separators=(",", ":"), ensure_ascii=False).encode()
                word = base64.urlsafe_b64encode(text).decode().rstrip("=")
                self.objects.put_new(f"tags/{id_}/{at:020d}-{word}", b"")

    # ---- contents ------------------------------------------------------------------------------------------

    def frame(self, content: Content) -> bytes:
        """Return the zstd frame of a content."""
        if content.pack:
            return self.objects.get(f"packs/{content.pack}.pack", content.offset, content.offset + content.stored)
        name = content_name(content.sha256)
        return opened_seal(self.objects.get(name), f"{self.where}/{name}")

    def content(self, content: Content) -> tuple[bytes, bytes]:
        """Return a content and its frame. Raises InputError where it is not what its SHA-256 says."""
        frame = self.frame(content)
        name = f"packs/{content.pack}.pack" if content.pack else content_name(content.sha256)
        try:
            raw = unpack(frame, content.bytes)
        except InputError as error:
            raise InputError(f"{self.where}/{name}: {error.message}", hint="drawtap corpus check") from None
        if hashlib.sha256(raw).hexdigest() != content.sha256:
            raise InputError(f"{self.where}/{name} is damaged: its SHA-256 is another", hint="drawtap corpus check")
        return raw, frame

    def skeleton(self, manifest: Manifest) -> bytes:
        """Return the skeleton of a recording. Raises InputError where it is not what its SHA-256 says."""
        name = f"traces/{manifest.id}.dtap"
        content = self.objects.get(name)
        if hashlib.sha256(content).hexdigest() != manifest.skeleton_sha256:
            raise InputError(f"{self.where}/{name} is damaged: its SHA-256 is another", hint="drawtap corpus check")
        return content


def chosen(where: str | None) -> Store:
    """Return the corpus that an option names, or else $DRAWTAP_CORPUS."""
    place = where or os.environ.get("DRAWTAP_CORPUS")
    if not place:
        raise UsageError("which corpus?", hint="--corpus STORE, or DRAWTAP_CORPUS=STORE in the environment")
    return Store(place)


def create(where: str, tenant: str | None = None, signers: str | None = None) -> Store:
    """Make a corpus in a folder or a bucket: with `tenant` below that name, apart from all others.

    `signers` is the text of a file of allowed signers, as ssh-keygen has them: decisions count with their signature.

    Raises UsageError where one is there, or where one would lie inside another.
    """
    if tenant is not None:
        if not _TENANT.fullmatch(tenant):
            raise UsageError(f"{tenant!r} is no name of a tenant", hint="a-z, 0-9, - and _, 63 at most")
        if _is_corpus(where):
            raise UsageError(
                f"{where} is a corpus itself: a tenant in it would not be apart", hint="name another place"
            )
        where = f"{where.rstrip('/')}/{tenant}"
    if "://" not in where:
        folder = Path(where)
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{where} is a file", hint="name a folder")
        if folder.is_dir() and any(folder.iterdir()) and not _is_corpus(where):
            raise UsageError(f"{where} is not empty, and no corpus", hint="name a new folder")
        folder.mkdir(parents=True, exist_ok=True)
    body = {"version": VERSION, "tenant": tenant, "hash": "sha256", "small_bytes": SMALL_BYTES, "signers": signers}
    if not opened(where).put_new("corpus.json", sealed(body)):
        raise UsageError(f"there is a corpus at {where}", hint=f"drawtap corpus add FILE --corpus {where}")
    return Store(where)


def _is_corpus(where: str) -> bool:
    return opened(where).about("corpus.json") is not None


def parse_tags(words: Iterable[str], *, removable: bool = False) -> dict[str, str | None]:
    """Return tags written as NAME=VALUE; `removable`: NAME= removes one."""
    tags: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not _TAG.fullmatch(name) or (not value and not removable):
            raise UsageError(f"{word!r} is no tag", hint="NAME=VALUE, such as app=nav")
        if len(value.encode()) > 80 or not value.isprintable():
            raise UsageError(f"the value of {name} is too long or has control characters", hint="80 bytes at most")
        tags[name] = value or None
    return tags


@functools.lru_cache(maxsize=1 << 16)  # many recordings have the same tags
def _tag_of(word: str) -> tuple[str, str | None] | None:
    try:
        said = json.loads(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))
        ((name, value),) = said.items()
    except (ValueError, AttributeError, RecursionError):
        return None
    sound = isinstance(name, str) and _TAG.fullmatch(name) and (value is None or isinstance(value, str))
    return (name, value) if sound else None
