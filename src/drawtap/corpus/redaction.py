"""Hand a recording on without saying who made it, where and when.

Annotations are taken by an allow-list: a kind or a field that is not on it goes, also one that a later version writes.
Contents stay, so the recording plays as before; `prove` compares the image of each frame. Calls stay at the level
`identity`; `names` gives new names to everything in them that people named (`renaming`). `content` also mixes the
colours of textures (`hiding`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drawtap.corpus import hiding, renaming
from drawtap.errors import DrawtapError, InputError, UnavailableError, whole_file
from drawtap.replay import player
from drawtap.trace.apis import is_vulkan
from drawtap.trace.edit import edit
from drawtap.trace.sql_text import quote
from drawtap.trace.trace import Trace, open_trace

_COUNTS = (
    "calls", "threads", "calls_in_flight", "calls_dropped", "calls_nested", "calls_left", "calls_lost", "chunks_lost",
    "calls_unrecorded", "invalid_records", "invalid_bytes", "wait_ns", "frames_recorded", "frames_unrecorded",
    "frames_dropped", "draws_dropped", "uploads_dropped", "upload_bytes_dropped", "drainer_cpu_ns", "bytes_raw",
    "bytes_file", "pool_peak_bytes",
)  # fmt: skip
#: The parts of an annotation that stay, by kind: fields with numbers and truth values, and texts of these words alone.
_KEPT: Mapping[str, tuple[str, ...]] = {
    "recording": ("clock", "timing", "inline_limit", "chunk_bytes", "pool_bytes", "level", "ticks_per_second"),
    "process": (),
    "end": (*_COUNTS, "exit_code", "signal", "sealed_by_exit", "adopted"),
    "command": (),
    "flight_recorder": (
        "frame", "before_ns", "after_ns", "first_call", "kept", "earlier", "first_frame", "frames", "calls", "assumed",
        "calls_lost",
    ),
    "player": (),
}  # fmt: skip
_WORDS: Mapping[str, tuple[str, ...]] = {
    "recording": ("version", "clock", "timing"),
    "end": ("reason",),
    "command": ("frame_end",),
    "flight_recorder": ("reason",),
    "player": ("config",),
}
#: Texts that the recorder writes of its own words, of names of functions and of numbers of objects alone.
_OWN_WORDS: Mapping[str, tuple[str, ...]] = {"flight_recorder": ("whole_because", "assumed_because")}
_REASONS = frozenset(
    (
        *("process gone", "exec", "stopped", "detached"),
        *("signal", "command", "gl-error", "frame-time", "fps", "mark", "crash", "exit"),
    )
)
_MARGIN = 1000  # times begin there


@dataclass(frozen=True)
class Redacted:
    """The outcome: annotations that went, texts that are left beside calls, and how many frames are proven equal.

    `texts` has every text in calls, by FUNCTION.PARAMETER. `hidden` is of the level `content`.
    """

    path: Path
    dropped: tuple[str, ...]
    left: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    hidden: hiding.Hidden | None = None


def redact(
    trace: Trace,
    path: Path,
    *,
    level: str = "identity",
    deny: Sequence[str] = (),
    salt: bytes | None = None,
    holds: hiding.Holds | None = None,
    seconds: float = 120,
) -> Redacted:
    """Write `trace` to `path` at a level: `identity`, `names` or `content`.

    `salt` makes pseudonyms of programs, and mixes; a fresh one by default. Where `holds` is given, `content` mixes what
    it allows, and looks for that at most `seconds`.

    Raises UnavailableError for the level `content` of recordings that draw with OpenGL and call Vulkan. Raises
    InputError for a damaged recording, for programs that cannot be renamed, and where a word of `deny` is left.
    """
    check_level(trace, level)
    if level == "identity":
        return _redacted(trace, path, level, deny, salt)
    salt = secrets.token_bytes(16) if salt is None else salt
    hidden = None
    with tempfile.TemporaryDirectory(prefix=".redact-", dir=path.absolute().parent) as folder:
        last = named = Path(folder) / "named.dtap"
        with edit(trace.path) as editor:
            renaming.rename(editor)
            editor.save(named)
        if level == "content":
            last = Path(folder) / "hidden.dtap"
            hidden = hiding.hide(named, last, salt, holds, seconds)
        with open_trace(last) as renamed:
            made = _redacted(renamed, path, level, deny, salt)
    return replace(made, dropped=_dropped(_notes(trace)), hidden=hidden)


def check_level(trace: Trace, level: str) -> None:
    """Raise UnavailableError where texels of two APIs would have to be mixed."""
    if level == "content" and "vk" in trace.info["apis"] and not is_vulkan(trace):
        raise UnavailableError(
            "The mixing of texels of OpenGL and Vulkan in one recording does not exist yet", hint="--level names"
        )


def _redacted(trace: Trace, path: Path, level: str, deny: Sequence[str], salt: bytes | None) -> Redacted:
    notes = _notes(trace)
    origin = _origin(trace, notes)
    salt = secrets.token_bytes(16) if salt is None else salt
    kept = [note for note in (_kept(note, origin, salt) for note in notes) if note]
    before = [note for note in kept if note["kind"] != "end"]
    after = [{"kind": "redacted", "level": level}, *(note for note in kept if note["kind"] == "end")]
    with whole_file(path) as part:
        trace.core.redact(part, origin["ticks"], origin["ns"], before, after)
        with open_trace(part) as made:
            left, texts = _left(made), renaming.left(made)
            _deny(made, deny, {"beside calls": left, "annotations": _annotations(made), **texts})
            if made.info["calls"] != trace.info["calls"]:
                raise DrawtapError(f"{path} is not written: it would not have the calls of the recording")
    return Redacted(path, _dropped(notes), left, texts)


def _notes(trace: Trace) -> list[dict[str, Any]]:
    annotations = trace.info["annotations"]
    return [json.loads(str(text)) for text in annotations] if isinstance(annotations, list) else []


def _dropped(notes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted({str(note.get("kind")) for note in notes} - _KEPT.keys()))


def _annotations(trace: Trace) -> tuple[str, ...]:
    annotations = trace.info["annotations"]
    threads = tuple(str(row["name"]) for row in trace.table("threads"))
    return (*(map(str, annotations) if isinstance(annotations, list) else ()), *threads)


def _deny(trace: Trace, words: Sequence[str], texts: Mapping[str, tuple[str, ...]]) -> None:
    """Raise InputError where a word is left in a text, in any case, or as it is in a content."""
    for word in words:
        lower = word.lower()
        place = next((place for place, own in texts.items() if any(lower in text.lower() for text in own)), None)
        if place is None:
            forms = {form for text in (word, lower, word.upper()) for form in (text.encode(), text.encode("utf-16-le"))}
            for row in trace.table("blobs"):
                content = trace.core.blob(str(row["hash"]))
                if any(form in content for form in forms):
                    place = f"content {row['hash']}"
                    break
            place = place or _inline(trace, forms)
        if place is not None:
            raise InputError(
                f"nothing is written: {word!r} would be left in {place}", hint="--level names, or drawtap edit"
            )


def _inline(trace: Trace, forms: Iterable[bytes]) -> str | None:
    """Return the first array that stands beside its call, and not among the contents, with one of these bytes in it."""
    rows = trace.sql(
        "SELECT DISTINCT p.function, p.name FROM params p JOIN (SELECT DISTINCT name FROM calls) c ON c.name ="
        " p.function WHERE p.element IS NOT NULL ORDER BY ALL"
    ).fetchall()
    pattern = "^(..)*(" + "|".join(form.hex().upper() for form in sorted(forms)) + ")"
    for table, name in (("memory", "address"), ("map_writes", "data"), *rows):
        column = f"{name}_data"
        described = trace.sql(f"DESCRIBE {quote(str(table))}").fetchall()
        if (column, "BLOB") not in {(str(row[0]), str(row[1])) for row in described}:
            continue
        holders = trace.sql(
            f"SELECT seq FROM {quote(str(table))} WHERE regexp_matches(hex({quote(column)}), $pattern) LIMIT 1",
            {"pattern": pattern},
        ).fetchall()
        if holders:
            return f"{table}.{name} of call {holders[0][0]}"
    return None


def _origin(trace: Trace, notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is subtracted from times, so that none gets below a margin; 0 would mean that there is none."""
    origin = dict(trace.core.redact_origin())
    for name, words in (("ticks", ("start_clock", "end_clock")), ("ns", ("start_ns", "end_ns"))):
        noted = [
            note[word] for note in notes if note.get("kind") in ("recording", "end") for word in words if word in note
        ]
        times = [at for at in (origin[name], *noted) if isinstance(at, int) and at > 0]
        origin[name] = max(0, min(times, default=0) - _MARGIN)
    return origin


def _kept(note: Mapping[str, Any], origin: Mapping[str, Any], salt: bytes) -> dict[str, Any] | None:
    kind = str(note.get("kind"))
    if kind not in _KEPT:
        return None
    kept: dict[str, Any] = {"kind": kind}
    for name in _KEPT[kind]:
        if isinstance(note.get(name), bool | int | float):
            kept[name] = note[name]
    for name in _WORDS.get(kind, ()):
        if isinstance(note.get(name), str) and (name != "reason" or note[name] in _REASONS):
            kept[name] = note[name]
    for name in _OWN_WORDS.get(kind, ()):
        texts = note.get(name)
        if isinstance(texts, str) or (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            kept[name] = texts
    for clock, by in (("start_clock", "ticks"), ("end_clock", "ticks"), ("start_ns", "ns"), ("end_ns", "ns")):
        at = note.get(clock)
        if kind in ("recording", "end") and isinstance(at, int) and at:
            kept[clock] = max(1, at - int(origin[by]))
    pids = list(origin["pids"])
    if note.get("pid") in pids:
        kept["pid"] = pids.index(note["pid"]) + 1
    program = note.get("program")
    if isinstance(program, str) and program:
        kept["program"] = f"program-{hashlib.blake2b(program.encode(), key=salt, digest_size=4).hexdigest()}"
    return kept if len(kept) > 1 else None


def _left(trace: Trace) -> tuple[str, ...]:
    """Return the texts that stand in the file beside calls and contents, without numbers of windows and images."""
    texts = {str(row["path"]) for row in trace.table("libraries")} | {str(row["text"]) for row in trace.table("notes")}
    texts |= {str(row["text"]) for row in trace.table("natives") if row["kind"] in ("driver", "display")}
    return tuple(sorted(texts))


@dataclass(frozen=True)
class Proven:
    """The number of equal frames in both recordings, or of equal read-backs where none is shown, and the engine."""

    frames: int
    engine: str
    read_backs: int = 0


def prove(recording: Path, redacted: Path, environment: Mapping[str, str]) -> Proven:
    """Play both and compare the images of all frames. Where no frame is shown, what was read back is compared.

    Raises DrawtapError where one differs or there is nothing to compare, and what `player.play` raises.
    """
    first, second = (player.play(path, ["--hashes"], environment=environment) for path in (recording, redacted))
    if first.hashes != second.hashes or first.calls != second.calls:
        frames = sorted(f for f in {*first.hashes, *second.hashes} if first.hashes.get(f) != second.hashes.get(f))
        raise DrawtapError(f"the redacted recording draws something else, first in frame {frames[0] if frames else 0}")
    if first.hashes:
        return Proven(len(first.hashes), first.engine)
    first, second = (player.play(path, ["--verify"], environment=environment) for path in (recording, redacted))
    if (first.compared, first.different) != (second.compared, second.different):
        raise DrawtapError("what the redacted recording reads back is something else")
    if first.compared == first.different:
        raise DrawtapError("the recording shows no frame, and nothing that it reads back is equal here",
                           hint="--unproven writes it without a proof")  # fmt: skip
    return Proven(0, first.engine, first.compared - first.different)
