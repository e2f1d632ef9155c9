"""A signed statement counts for the file that it is about, and for signers that somebody allows."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Answer
from drawtap.analysis import statement
from drawtap.errors import InputError, UsageError
from drawtap.trace.trace import open_trace
from writer import small_trace

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """Return a recording that ada has signed; beside it her key, and the signers that are allowed."""
    for name in ("ada", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    (tmp_path / "signers").write_text(f"ada@example {(tmp_path / 'ada.pub').read_text()}")
    recording = small_trace().write(tmp_path / "a.dtap")
    with open_trace(recording) as trace:
        statement.sign(trace, {"result": "PASSED"}, tmp_path / "ada")
    return recording


def _refused(recording: Path, said: str, signers: str = "signers") -> None:
    with open_trace(recording) as trace, pytest.raises(InputError, match=said):
        statement.check(trace, recording.parent / signers)


def test_a_signature_counts_offline(signed: Path, drawtap: Callable[..., Answer]) -> None:
    with open_trace(signed) as trace:
        found = statement.check(trace, signed.parent / "signers")
    assert (found.signer, found.predicate["result"]) == ("ada@example", "PASSED")
    answer = drawtap("verify", signed, "--signers", signed.parent / "signers", "--json")
    assert (answer.code, json.loads(answer.out)["signer"]) == (0, "ada@example")


def test_a_changed_byte_is_found(signed: Path, drawtap: Callable[..., Answer]) -> None:
    text = json.loads(statement.path_of(signed).read_text())
    whole = signed.read_bytes()
    signed.write_bytes(whole + b"\0")
    _refused(signed, "about another file")
    answer = drawtap("verify", signed, "--signers", signed.parent / "signers")
    assert (answer.code, "about another file" in answer.err) == (4, True)
    signed.write_bytes(whole)
    payload = text["payload"]
    for changed in (payload[:40] + ("A" if payload[40] != "A" else "B") + payload[41:], "!", payload[:-8]):
        statement.path_of(signed).write_text(json.dumps({**text, "payload": changed}))
        _refused(signed, "no signature|is no statement")
    statement.path_of(signed).unlink()
    _refused(signed, "no statement")


def test_others_do_not_count(signed: Path) -> None:
    folder = signed.parent
    with open_trace(signed) as trace:
        statement.sign(trace, {"result": "PASSED"}, folder / "eve")
        with pytest.raises(UsageError, match="does not sign"):
            statement.sign(trace, {}, folder / "signers")
    _refused(signed, "no signature")
    _refused(signed, "there is no file", "none")
    # A signature of hers for something else is none for us.
    text = json.loads(statement.path_of(signed).read_text())
    (folder / "mail").write_bytes(statement._encoded(statement._read(statement.path_of(signed))[0]))
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "mail", "-f", folder / "ada", folder / "mail"], check=True)
    import base64

    text["signatures"] = [{"sig": base64.b64encode((folder / "mail.sig").read_bytes()).decode()}]
    statement.path_of(signed).write_text(json.dumps(text))
    _refused(signed, "no signature")


def test_a_recording_that_does_not_hold_is_not_signed(signed: Path, drawtap: Callable[..., Answer]) -> None:
    statement.path_of(signed).unlink()
    answer = drawtap("verify", signed, "--sign", signed.parent / "ada")
    assert answer.code != 0  # there is nothing in it to compare
    assert not statement.path_of(signed).exists()
    assert drawtap("verify", signed, "--sign", signed.parent / "ada", "--signers", signed.parent / "signers").code == 2
