"""Damaged and hostile corpora: what is wrong is found and named, and leads nowhere."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Answer
from corpora import (
    BIG,
    FLAT,
    SMALL,
    empty_store,  # noqa: F401 - a fixture
    everything,
    names_in,
    recording,
    simulated,
    without_the_checklist,  # noqa: F401 - a fixture
)
from drawtap.corpus.adding import Adder, restore
from drawtap.corpus.approvals import Decision, decide
from drawtap.corpus.checking import check
from drawtap.corpus.store import Store, kind_of
from drawtap.corpus.sweeping import sweep
from drawtap.errors import InputError
from shared import steps


def test_every_flipped_byte_is_found(store: Store, tmp_path: Path) -> None:
    adder = Adder(store)
    adder.add(recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT)), {"app": "nav"})
    removed = adder.add(recording(tmp_path / "b.dtap", (SMALL[1:],)))
    store.remove(removed.id)
    sweep(store)
    simulated(store, 1)
    decide(store, Decision(removed.id, "llvmpipe", "approved", {0: "0" * 32}, "ada", "looked at"))
    rng = random.Random(4)
    kinds = set()
    for name in names_in(store):
        path = Path(store.where) / name
        kind = kind_of(name)
        assert kind
        kinds.add(kind[0])
        if kind[0] == "skeleton" and kind[1]["id"] == removed.id:
            continue  # nobody needs it
        whole = path.read_bytes()
        places = {0, len(whole) - 1, *(rng.randrange(max(1, len(whole))) for _ in range(steps(1, 200)))}
        for at in places if whole else {0}:
            changed = bytearray(whole) or bytearray(b"\0")
            changed[at % len(changed)] ^= 1 << rng.randrange(8)
            path.write_bytes(changed)
            assert name in {fault.name for fault in check(store).faults}, (name, at)
        path.write_bytes(whole)
    assert kinds == {
        *("corpus", "content", "pack", "skeleton", "manifest", "table", "generation"),
        "alias",
        "tag",
        "sweep",
        "approval",
    }
    assert not check(store).faults


def test_damage_is_mended_from_the_file(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    path = recording(tmp_path / "a.dtap", (BIG, SMALL, FLAT))
    other = recording(tmp_path / "b.dtap", (SMALL, FLAT))
    id_, _ = (Adder(store).add(file).id for file in (path, other))
    kinds = ("content", "pack", "skeleton", "manifest", "table")
    names = [name for name in names_in(store) if (kind_of(name) or ("",))[0] in kinds]
    for gone in (False, True):
        for name in names:
            object_ = Path(store.where) / name
            if gone and not name.endswith(".json"):
                object_.unlink()
            else:
                object_.write_bytes(object_.read_bytes()[:-1] + b"x")
        assert check(store).faults
        for file in (path, other):
            answer = drawtap("corpus", "add", "--mend", file, "--corpus", store.where, "--json")
            assert answer.code == 0, answer.err
        assert not check(store).faults
        restore(store, id_, tmp_path / "back.dtap")
        assert everything(tmp_path / "back.dtap") == everything(path)
    answer = drawtap("corpus", "add", "--mend", path, "--corpus", store.where, "--json")
    assert json.loads(answer.out)[0]["mended"] == []


def test_missing_and_foreign_objects(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    gone = next(entry.name for entry in store.objects.listed("contents/"))
    store.objects.delete(gone)
    (Path(store.where) / "notes.txt").write_text("hello")
    answer = drawtap("corpus", "check", "--corpus", store.where, "--json")
    assert answer.code == 1
    assert {(row["object"], row["what"]) for row in json.loads(answer.out)} == {
        (gone, "missing"),
        ("notes.txt", "foreign"),
    }
    with pytest.raises(InputError, match="there is no"):
        restore(store, added.id, tmp_path / "back.dtap")
    assert not (tmp_path / "back.dtap").exists()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def _manifest(store: Store, id_: str, **changes: object) -> None:
    path = Path(store.where) / f"traces/{id_}.json"
    path.write_bytes(replace(store.manifest(id_), **changes).text())  # type: ignore[arg-type]


def test_names_from_a_manifest_lead_nowhere(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("../../evil.dtap", "/etc/evil.dtap", "..", "", "a\nb.dtap"):
        _manifest(store, added.id, file=name)
        answer = drawtap("corpus", "get", added.id[:12], "-o", inner, "--corpus", store.where, "--force")
        assert answer.code == 0, answer.err
    assert {p.name for p in inner.iterdir()} == {"evil.dtap", f"{added.id[:12]}.dtap"}
    assert not (tmp_path / "evil.dtap").exists()


def test_a_manifest_that_no_adder_writes(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    path = Path(store.where) / f"traces/{added.id}.json"
    whole = store.manifest(added.id)
    one = whole.contents[0]
    for changed in (
        replace(whole, contents=(replace(one, sha256="../../../etc/passwd"),)),
        replace(whole, contents=(replace(one, pack="../../x"),)),
        replace(whole, contents=(replace(one, bytes=-1),)),
        replace(whole, contents=()),
        replace(whole, tables={"../x": "0" * 64}),
        replace(whole, skeleton_sha256="0" * 64),
        replace(whole, version=99),
    ):
        path.write_bytes(changed.text())
        with pytest.raises(InputError, match=r"is not the manifest|of version 99"):
            restore(store, added.id, tmp_path / "back.dtap")
        assert [fault.what for fault in check(store).faults] == ["damaged"]


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    name = next(entry.name for entry in store.objects.listed("contents/"))
    path = Path(store.where) / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no links"):
        restore(store, added.id, tmp_path / "back.dtap")
    assert [fault.name for fault in check(store).faults] == [name]
    folder = Path(store.where) / "aliases"
    folder.rename(tmp_path / "aliases")
    folder.symlink_to(tmp_path / "aliases")
    with pytest.raises(InputError, match="no links"):
        Adder(store).add(recording(tmp_path / "b.dtap", (FLAT,)))


def test_a_pack_whose_index_lies(store: Store, tmp_path: Path) -> None:
    Adder(store).add(recording(tmp_path / "a.dtap", (SMALL,)))
    path = next((Path(store.where) / "packs").iterdir())
    path.write_bytes(path.read_bytes()[:-20] + b"\xff" * 12 + b"DTPACK1\n")
    with pytest.raises(InputError, match="index makes no sense"):
        Adder(store).add(recording(tmp_path / "b.dtap", (SMALL,)))


def test_what_is_no_recording_is_refused(drawtap: Callable[..., Answer], store: Store, tmp_path: Path) -> None:
    (tmp_path / "x.dtap").write_text("hello")
    for path, said in ((tmp_path / "x.dtap", "is text, not a recording"), (tmp_path / "y.dtap", "there is no file")):
        answer = drawtap("corpus", "add", path, "--corpus", store.where)
        assert answer.code == 4
        assert said in answer.err
    assert names_in(store) == ["corpus.json"]


def test_mistakes(
    drawtap: Callable[..., Answer], store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = Adder(store).add(recording(tmp_path / "a.dtap", (BIG,)))
    monkeypatch.delenv("DRAWTAP_CORPUS", raising=False)
    assert drawtap("corpus", "ls").code == 2
    monkeypatch.setenv("DRAWTAP_CORPUS", store.where)
    for words, code, said in (
        (("ls", "--corpus", tmp_path / "none"), 4, "there is no corpus"),
        (("get", "zzzzzz"), 2, "is no id"),
        (("get", "000000"), 2, "there is no recording 000000"),
        (("tag", added.id[:12], "app"), 2, "is no tag"),
        (("add", tmp_path / "a.dtap", "--tag", "app="), 2, "is no tag"),
        (("init", store.where), 2, "there is a corpus"),
        (("init", tmp_path), 2, "is not empty"),
        (("gc", "--age", "soon"), 2, "is no time"),
        (("sql", "SELECT fil FROM traces"), 2, "did you mean file"),
        (("sql", "SELECT * FROM calls"), 2, "no table calls"),
        (("sql", "SELECT * FROM read_csv('/etc/passwd')"), 2, "only the corpus is read"),
    ):
        answer = drawtap("corpus", *words)
        assert (answer.code, said in answer.err) == (code, True), (words, answer.err)
