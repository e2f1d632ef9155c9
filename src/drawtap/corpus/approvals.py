"""Decisions of people about images: which ones are right, for a family of engines.

A decision is an object of its own and never changes; the newest one about an image counts. Families are paths: what is
approved for `radeonsi` holds for `radeonsi/gfx11` too, unless something else was decided there.

A corpus may ask for signatures: then `corpus.json` lists whose count, and other decisions do not count.
"""

from __future__ import annotations

import base64
import contextlib
import getpass
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.analysis import statement
from drawtap.corpus.store import KINDS, sealed, unsealed
from drawtap.errors import InputError, UsageError, whole_file
from drawtap.parts import cache_folder
from drawtap.scratch import Scratch

if TYPE_CHECKING:
    from drawtap.corpus.store import Store

LABELS = ("approved", "rejected", "flaky")
_DIGEST = re.compile(r"[0-9a-f]{8,64}")
_LONGEST_WHY = 2000
_SIGNERS: dict[str, str] = {}  # who signed, by the hash of decision, signature and allowed signers
_KIND = "application/vnd.drawtap.decision+json"  # a signature of anything else is none of a decision


@dataclass(frozen=True)
class Decision:
    """A decision about images of a recording: digests by frame, for engines of a family.

    `at`: ns since 1970. `signer` is the allowed signer who signed it, "" where the corpus asks for no signature.
    """

    trace: str
    family: str
    label: str
    images: Mapping[int, str]
    who: str
    why: str
    at: int = 0
    signer: str = ""


def signed(store: Store) -> bool:
    """Tell whether decisions count only with a signature."""
    return bool(store.about.get("signers"))


def decide(store: Store, decision: Decision, key: Path | None = None) -> Decision:
    """Write a decision, signed with a private `key`; its time is now.

    Raises UsageError where it says nothing, or its signature would not count.
    """
    if signed(store) and key is None:
        raise UsageError("this corpus takes signed decisions", hint="--sign KEY, of one of its signers")
    if not decision.images:
        raise UsageError("the decision is about no image", hint="drawtap corpus replay makes images")
    if not decision.why.strip() or len(decision.why) > _LONGEST_WHY:
        raise UsageError("a decision needs a reason", hint='--why "the new font hinting", 2000 characters at most')
    body: dict[str, object] = {
        "trace": decision.trace,
        "family": decision.family,
        "label": decision.label,
        "images": {str(frame): digest for frame, digest in decision.images.items()},
        "who": decision.who or _name(),
        "why": decision.why,
        "at": time.time_ns(),
    }
    if key is not None:
        body["signature"] = base64.b64encode(statement.signature_of(_payload(body), key, _KIND)).decode()
    with _signers(store) as signers:
        signer = _signer(body, signers)
        if signer is None:
            raise UsageError(f"{key} belongs to none of this corpus's signers", hint="corpus.json lists them")
    content = sealed(body)
    name = f"approvals/{body['at']:020d}-{hashlib.sha256(content).hexdigest()}.json"
    store.objects.put_new(name, content)
    return _decision(body, name, signer)


def decisions(store: Store) -> list[Decision]:
    """Return the decisions that count, the oldest first. Raises InputError where one is damaged."""
    names = sorted(e.name for e in store.objects.listed("approvals/") if KINDS["approval"].fullmatch(e.name))

    def read(name: str, signers: Path | None) -> Decision | None:
        body = unsealed(store.objects.get(name), f"{store.where}/{name}")
        signer = _signer(body, signers)
        return None if signer is None else _decision(body, f"{store.where}/{name}", signer)

    with _signers(store) as file, ThreadPoolExecutor(8) as pool:
        return [one for one in pool.map(lambda name: read(name, file), names) if one is not None]


@contextlib.contextmanager
def _signers(store: Store) -> Iterator[Path | None]:
    """Yield a file with the signers whose decisions count, None where the corpus asks for no signature."""
    text = store.about.get("signers")
    if not text:
        yield None
        return
    with Scratch() as folder:
        file = Path(folder) / "allowed_signers"
        file.write_text(str(text), encoding="utf-8")
        yield file


def _signer(body: Mapping[str, object], signers: Path | None) -> str | None:
    """Return who signed a decision, "" where nobody has to, None where it does not count."""
    if signers is None:
        return ""
    try:
        signature = base64.b64decode(str(body.get("signature", "")), validate=True)
    except ValueError:
        return None
    return (signature and _known_signer(_payload(body), signature, signers)) or None


def _known_signer(payload: bytes, signature: bytes, signers: Path) -> str:
    """Return who signed, asked of ssh-keygen once: the same payload, signature and signers have the same answer.

    Answers about sound signatures are kept on this machine, unless signers are allowed for a time alone.
    """
    allowed = signers.read_bytes()
    parts = b"".join(hashlib.sha256(part).digest() for part in (allowed, payload, signature))
    key = hashlib.sha256(parts).hexdigest()
    if key in _SIGNERS:
        return _SIGNERS[key]
    kept = cache_folder("corpus") / "signed" / key
    lasting = b"valid-" not in allowed
    with contextlib.suppress(OSError):
        if lasting and kept.is_file():
            return _SIGNERS.setdefault(key, kept.read_text(encoding="utf-8"))
    signer = statement.signer_of(payload, signature, signers, _KIND)
    if lasting:
        _SIGNERS[key] = signer
        with contextlib.suppress(OSError):
            if signer:
                kept.parent.mkdir(parents=True, exist_ok=True)
                with whole_file(kept) as part:
                    part.write_text(signer, encoding="utf-8")
    return signer


def _payload(body: Mapping[str, object]) -> bytes:
    """Return what is signed of a decision: all but the signature."""
    return json.dumps({name: value for name, value in body.items() if name != "signature"}, sort_keys=True).encode()


def _decision(body: Mapping[str, object], where: str, signer: str) -> Decision:
    images, at = body.get("images"), body.get("at")
    texts = {name: body.get(name) for name in ("trace", "family", "label", "who", "why")}
    sound = (
        isinstance(images, dict)
        and isinstance(at, int)
        and all(isinstance(text, str) for text in texts.values())
        and texts["label"] in LABELS
        and all(str(f).isdigit() and isinstance(d, str) and _DIGEST.fullmatch(d) for f, d in images.items())
    )
    if not sound:
        raise InputError(f"{where} is no decision about images", hint="drawtap corpus check")
    assert isinstance(images, dict)
    assert isinstance(at, int)
    digests = {int(frame): str(digest) for frame, digest in images.items()}
    return Decision(images=digests, at=at, signer=signer, **{name: str(text) for name, text in texts.items()})


def families(family: str) -> Sequence[str]:
    """Return the families whose decisions hold for engines of `family`, the narrowest first."""
    return tuple(_parents(family))


def _parents(family: str) -> Iterator[str]:
    while family:
        yield family
        family = family.rpartition("/")[0]


def _name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
