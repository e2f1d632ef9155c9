"""A corpus that asks for signatures takes decisions of its signers alone."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from drawtap.analysis import statement
from drawtap.corpus import approvals
from drawtap.corpus.approvals import Decision
from drawtap.corpus.store import Store, create, sealed, unsealed
from drawtap.errors import UsageError
from shared import run_drawtap

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

DECISION = Decision("a" * 64, "llvmpipe", "approved", {0: "0" * 32}, "", "looked at")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return a folder with two keys; `signers` allows one of them."""
    for name in ("ann", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", tmp_path / name], check=True)
    (tmp_path / "signers").write_text(f"ann@team {(tmp_path / 'ann.pub').read_text()}")
    return tmp_path


@pytest.fixture
def store(keys: Path) -> Store:
    answer = run_drawtap("corpus", "init", keys / "store", "--signers", keys / "signers")
    assert answer.returncode == 0, answer.stderr
    return Store(str(keys / "store"))


def test_signed_decisions_count(store: Store, keys: Path) -> None:
    made = approvals.decide(store, DECISION, keys / "ann")
    assert made.signer == "ann@team"
    assert approvals.decisions(store) == [made]
    answer = run_drawtap("corpus", "sql", "SELECT label, signer FROM approvals", "--json", "--corpus", store.where)
    assert json.loads(answer.stdout) == [{"label": "approved", "signer": "ann@team"}]


def test_a_signature_is_checked_once(store: Store, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = approvals.decide(store, DECISION, keys / "ann")
    with monkeypatch.context() as patch:
        patch.setattr(statement, "_run", lambda *_: pytest.fail("ssh-keygen was started"))
        assert approvals.decisions(store) == [made]
        patch.setattr(approvals, "_SIGNERS", {})  # as in another process
        assert approvals.decisions(store) == [made]
    # Other signers are another question, and so is another content.
    (name,) = [entry.name for entry in store.objects.listed("approvals/")]
    body = unsealed(store.objects.get(name), name)
    signature = base64.b64decode(str(body["signature"]))
    (keys / "others").write_text(f"eve {(keys / 'eve.pub').read_text()}")
    assert approvals._known_signer(approvals._payload(body), signature, keys / "signers") == "ann@team"
    assert approvals._known_signer(approvals._payload(body), signature, keys / "others") == ""
    assert approvals._known_signer(approvals._payload(body) + b" ", signature, keys / "signers") == ""


def test_signers_for_a_time_are_asked_again(store: Store, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (keys / "signers").write_text(f'ann@team valid-before="20991231" {(keys / "ann.pub").read_text()}')
    asked = []
    monkeypatch.setattr(statement, "signer_of", lambda *words: asked.append(words) or "ann@team")
    for _ in range(2):
        assert approvals._known_signer(b"payload", b"signature", keys / "signers") == "ann@team"
    assert len(asked) == 2


def test_others_are_refused_and_do_not_count(store: Store, keys: Path) -> None:
    with pytest.raises(UsageError, match="takes signed decisions"):
        approvals.decide(store, DECISION)
    with pytest.raises(UsageError, match="none of this corpus's signers"):
        approvals.decide(store, DECISION, keys / "eve")
    made = approvals.decide(store, DECISION, keys / "ann")
    (name,) = [entry.name for entry in store.objects.listed("approvals/")]
    body = unsealed(store.objects.get(name), name)
    payload = approvals._payload(body)
    forged = [
        {key: value for key, value in body.items() if key != "signature"},
        body | {"label": "rejected"},
        body | {"signature": "!"},
        # The key of an allowed signer, and a signature of something else.
        body | {"signature": _base64(statement.signature_of(payload, keys / "ann"))},
        body | {"signature": _base64(statement.signature_of(payload, keys / "eve", approvals._KIND))},
    ]
    for number, one in enumerate(forged):
        store.objects.put_new(f"approvals/{number:020d}-{'0' * 64}.json", sealed(one))
    assert approvals.decisions(store) == [made]


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_corpus_without_signers_takes_all(tmp_path: Path, keys: Path) -> None:
    store = create(str(tmp_path / "open"))
    assert approvals.decide(store, DECISION).signer == ""
    assert approvals.decide(store, DECISION, keys / "eve").signer == ""
    assert len(approvals.decisions(store)) == 2
    (keys / "nobody").write_text("\n")
    assert run_drawtap("corpus", "init", keys / "other", "--signers", keys / "nobody").returncode == 2
    assert run_drawtap("corpus", "init", keys / "other", "--signers", keys / "gone").returncode == 4
