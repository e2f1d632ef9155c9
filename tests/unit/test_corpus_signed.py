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
