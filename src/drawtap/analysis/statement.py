"""Signed statements about recordings: what was checked, by whom. They are read without a network.

A statement is an in-toto Statement v1 in a DSSE envelope, beside the recording as FILE.sig.json. Its subject is the
file by SHA-256, its predicate the verdicts of drawtap verify. Keys and signatures are OpenSSH's (`ssh-keygen -Y`), so a
key of an agent or a token works, and a file of allowed signers says whose signatures count.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drawtap
from drawtap.analysis.certificate import source_of
from drawtap.errors import InputError, UnavailableError, UsageError, whole_file
from drawtap.scratch import Scratch
from drawtap.trace.trace import Trace

NAMESPACE = "drawtap"  # a signature made for something else does not count
_PAYLOAD = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Statement:
    """A statement about a recording with a sound signature: who signed, and the predicate."""

    signer: str
    predicate: Mapping[str, Any]


def path_of(recording: Path) -> Path:
    """Return where the statement about a recording is."""
    return recording.with_name(f"{recording.name}.sig.json")


def sign(trace: Trace, predicate: Mapping[str, object], key: Path) -> Path:
    """Write a signed statement about a recording, and return its path. `key` is a private key, or a public one whose
    private half an agent has.

    Raises UsageError where the key cannot sign.
    """
    source = source_of(trace)
    statement = {
        "_type": _STATEMENT,
        "subject": [{"name": source["file"], "digest": {"sha256": source["sha256"]}}],
        "predicateType": _PREDICATE,
        "predicate": {**predicate, "drawtap": drawtap.__version__},
    }
    payload = json.dumps(statement, sort_keys=True).encode()
    envelope = {
        "payloadType": _PAYLOAD,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"sig": base64.b64encode(signature_of(payload, key)).decode()}],
    }
    path = path_of(trace.path)
    with whole_file(path) as part:
        part.write_text(json.dumps(envelope, indent=1) + "\n", encoding="utf-8")
    return path


def signature_of(payload: bytes, key: Path, kind: str = _PAYLOAD) -> bytes:
    """Return a signature of a payload of a kind (its media type). Raises UsageError where the key cannot sign."""
    signature = _run(["sign", "-n", NAMESPACE, "-f", str(key)], _encoded(payload, kind))
    if signature.returncode:
        raise UsageError(f"{key} does not sign: {_said(signature)}", hint="ssh-keygen -t ed25519 -f KEY makes one")
    return signature.stdout


def check(trace: Trace, signers: Path) -> Statement:
    """Return the statement about a recording that one of the allowed signers has signed.

    Raises InputError where there is none, it is about another file, or its signature does not count.
    """
    if not signers.is_file():
        raise InputError(f"there is no file {signers}", hint="lines of NAME KEYTYPE KEY, as ssh-keygen has them")
    path = path_of(trace.path)
    payload, signatures = _read(path)
    for signature in signatures:
        signer = signer_of(payload, signature, signers)
        if signer:
            break
    else:
        raise InputError(f"no signature in {path} counts", hint=f"{signers} names whose signatures do")
    statement = _object(payload, path)
    subjects = statement.get("subject")
    digests = [s.get("digest", {}).get("sha256") for s in subjects] if isinstance(subjects, list) else []
    if statement.get("_type") != _STATEMENT or source_of(trace)["sha256"] not in digests:
        raise InputError(f"{path} is about another file", hint=f"{trace.path.name} was changed since, or renamed")
    predicate = statement.get("predicate")
    return Statement(signer, predicate if isinstance(predicate, dict) else {})


def _read(path: Path) -> tuple[bytes, list[bytes]]:
    if not path.is_file():
        raise InputError(f"there is no statement {path}", hint="drawtap verify --sign KEY writes one")
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} is no statement: it is too long")
    try:
        envelope = _object(path.read_bytes(), path)
        if envelope["payloadType"] != _PAYLOAD:
            raise ValueError
        payload = base64.b64decode(envelope["payload"], validate=True)
        return payload, [base64.b64decode(s["sig"], validate=True) for s in envelope["signatures"]]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} is no statement", hint="drawtap verify --sign KEY writes one") from None


def _object(text: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"{path} is no statement", hint="drawtap verify --sign KEY writes one")
    return value


def _encoded(payload: bytes, kind: str = _PAYLOAD) -> bytes:
    """Return the bytes that are signed: the payload with its type and their lengths (DSSE)."""
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)


def signer_of(payload: bytes, signature: bytes, signers: Path, kind: str = _PAYLOAD) -> str:
    """Return the name of the allowed signer whose signature this is, "" where it is nobody's."""
    with Scratch() as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)
        of = ["-f", str(signers), "-s", str(file)]
        done = _run(["find-principals", *of], b"")
        for name in done.stdout.decode(errors="replace").splitlines() if not done.returncode else []:
            if not _run(["verify", "-n", NAMESPACE, "-I", name, *of], _encoded(payload, kind)).returncode:
                return name
    return ""


def _run(arguments: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise UnavailableError("signatures need ssh-keygen, which is not installed", hint="apt install openssh-client")
    return subprocess.run([tool, "-Y", *arguments], input=content, capture_output=True, check=False)


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ssh-keygen ended with {done.returncode}"
