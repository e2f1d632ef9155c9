"""Recordings are grouped by what their frames do, whatever they take."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from writer import MANY, Writer

# Looked for, not imported: that takes a second, and every worker imports this file.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None,
    reason="scikit-learn is an extra: pip install 'drawtap[clusters]'",
)


def _swap(t: object, start: int) -> None:
    t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=start, duration=100)  # type: ignore[attr-defined]


def _recording(
    path: Path, *, draws: int, vertices: int, binds: int = 0, slow: int = 1, frames: int = 4, loads: int = 0
) -> Path:
    w = Writer(MANY)
    t = w.thread()
    at = 100
    for i in range(loads):
        t.call("glUseProgram", program=i + 1, start=at, duration=slow)
        at += 10 * slow
    for _ in range(frames):
        for _ in range(draws):
            t.call("glDrawArrays", mode=4, count=vertices, start=at, duration=slow)
            at += 10 * slow
        for i in range(binds):
            t.call("glUseProgram", program=i + 1, start=at, duration=slow)
            at += 10 * slow
        _swap(t, at)
        at += 1000 * slow
    return w.write(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(3):
        # The same content at very different speeds is one group.
        _recording(tmp_path / f"big{i}.dtap", draws=2 + i, vertices=30000, slow=10**i)
        _recording(tmp_path / f"small{i}.dtap", draws=200 + 20 * i, vertices=6, binds=90 + i, slow=10 ** (2 - i))
    return tmp_path


def test_groups(drawtap, folder: Path) -> None:
    answer = drawtap("cluster", folder, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    groups = {frozenset(Path(m).stem for m in g["members"]) for g in found["groups"]}
    assert groups == {frozenset({"big0", "big1", "big2"}), frozenset({"small0", "small1", "small2"})}
    assert found["silhouette"] > 0.7
    big = next(g for g in found["groups"] if "big" in g["typical"])
    told = {d["feature"]: d["deviations"] for d in big["distinctive"]}
    assert any(value < -0.5 for value in told.values()) or any(value > 0.5 for value in told.values())
    by_path = {Path(r["path"]).stem: r for r in found["recordings"]}
    assert by_path["big0"]["features"]["render calls"] == 2
    assert by_path["big0"]["features"]["triangles per draw"] == 10000


def test_how_long_was_recorded_changes_nothing(drawtap, folder: Path, tmp_path: Path) -> None:
    for frames in (1, 2, 40):
        _recording(folder / f"loads{frames}.dtap", draws=5, vertices=300, loads=500, frames=frames)
    answer = drawtap("cluster", folder, "--json")
    assert answer.code == 0, answer.err
    recordings = {Path(r["path"]).stem: r for r in json.loads(answer.out)["recordings"]}
    assert recordings["loads2"]["features"] == recordings["loads40"]["features"]
    assert recordings["loads2"]["features"] != recordings["loads1"]["features"]
    page = tmp_path / "groups.html"
    told = drawtap("cluster", folder, "-o", page)
    assert "one frame alone, with what loading does in it: loads1.dtap" in told.out + told.err
    table = page.read_text().partition("<table>")[2]
    assert all(name in table for name in recordings)
    assert "loads1.dtap" in table


def test_number_of_groups_and_page(drawtap, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "groups.html"
    answer = drawtap("cluster", folder, "--groups", "3", "-o", page)
    assert answer.code == 0, answer.err
    text = page.read_text()
    assert text.count("<circle") + text.count("<rect") >= 6
    assert "big0" in text and "://" not in text.replace("http://www.w3.org", "")
    assert drawtap("cluster", folder, "--groups", "3", "-o", page).code == 2  # the page is there
    assert drawtap("cluster", folder, "--groups", "7").code == 2


def test_what_cannot_be_grouped_is_said(drawtap, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "broken.dtap").write_bytes(b"no recording")
    Writer(MANY).write(folder / "empty.dtap")
    answer = drawtap("cluster", folder, "--json")
    assert answer.code == 0
    assert {Path(o["path"]).stem for o in json.loads(answer.out)["left_out"]} == {"broken", "empty"}
    few = drawtap("cluster", folder / "big0.dtap", folder / "big1.dtap", folder / "empty.dtap")
    assert few.code == 2 and "too few" in few.err and "no frames" in few.err
    assert drawtap("cluster", folder / "none.dtap").code == 4
    monkeypatch.setitem(sys.modules, "sklearn", None)
    missing = drawtap("cluster", folder)
    assert missing.code == 3 and "pip install" in missing.err
