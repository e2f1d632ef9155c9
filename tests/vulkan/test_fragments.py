"""Fragments of all draws of a recording in one replay: fates.c and draws.c say what becomes of each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from drawtap.metrics.overdraw import overdraw
from drawtap.replay import player
from drawtap.trace.trace import open_trace
from shared import once, run_drawtap
from vulkan.conftest import environment
from vulkan.test_counts import ALL, CORNER, COUNTS, REPEATED
from vulkan.test_metrics import asked, profile

#: The words of the overlays, and the metrics that have the same.
WORDS = {
    "drawn": "passed", "covered": "generated", "culled": "culled", "discarded": "discarded",
    "stencil": "failed_stencil", "depth": "failed_depth",
}  # fmt: skip
MASKED = {8, 11}  # draws of fates.c whose colour is masked
RUNS = 2  # draws.c submits its draws twice
OVERDRAW = {"mean": (11 * (ALL - CORNER) + 13 * CORNER) / ALL, "most": 13, "covered": ALL, "above_8": 100}


@pytest.fixture(scope="session")
def counted(fates: Path, draws: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings whose fragments were measured."""

    def write(folder: Path) -> Path:
        for mode in ("pass", "rendering", "many", "query", "early"):
            trace = Path(shutil.copy(fates / f"{mode}.dtap", folder))
            profile(trace, "--metrics", "fragments:*", "--per", "draw,pass,frame")
        for mode in ("pass", "samples", "dispatch"):
            trace = Path(shutil.copy(draws / f"{mode}.dtap", folder / f"draws-{mode}.dtap"))
            profile(trace, "--metrics", "fragments:*", "--per", "draw,frame")
        return folder

    return once(tmp_path_factory, "vulkan-fragments", write)


def _draws(trace: Path) -> dict[str, list[float | None]]:
    """Return the values of each metric of fragments, by draw in the order of execution."""
    rows = asked(
        trace,
        "SELECT metric, list(value ORDER BY number) AS v FROM executed_metrics WHERE per = 'draw' AND kind = 'draw' "
        "AND metric LIKE 'fragments:count/%' GROUP BY ALL",
    )
    return {str(name).rpartition("/")[2]: values for name, values in rows}  # type: ignore[misc]


@pytest.mark.parametrize("mode", ["pass", "rendering", "many"])
def test_each_draw_has_what_its_overlays_have(mode: str, counted: Path) -> None:
    found = _draws(counted / f"{mode}.dtap")
    times = 3 if mode == "many" else 1
    for number, one in enumerate(COUNTS):
        expected = {name: one.get(name, 0) * times for name in WORDS}
        if mode == "many" and "drawn" in one and number not in REPEATED:
            expected["drawn"] = one["drawn"]  # the first instance hides the others
            expected["depth"] = expected["covered"] - expected["drawn"]
        assert {word: found[WORDS[word]][number] for word in WORDS} == expected, number
        assert found["written"][number] == (0 if number in MASKED else expected["drawn"])
        assert found["samples_passed"][number] == expected["drawn"]


@pytest.mark.parametrize("mode", ["pass", "many"])
def test_wholes_are_sums(mode: str, counted: Path) -> None:
    rows = asked(
        counted / f"{mode}.dtap",
        "SELECT name, per, sum(value) AS v FROM metrics WHERE name LIKE 'fragments:count/%' GROUP BY ALL",
    )
    sums = {(str(name), str(per)): value for name, per, value in rows}
    for name in {name for name, _ in sums}:
        assert sums[name, "draw"] == sums[name, "pass"] == sums[name, "frame"], name
    times = 3 if mode == "many" else 1
    assert sums["fragments:count/generated", "frame"] == times * sum(one.get("covered", 0) for one in COUNTS)
    found = asked(
        counted / f"{mode}.dtap",
        "SELECT name, value FROM metrics WHERE per = 'frame' AND name LIKE 'fragments:overdraw/%' ORDER BY name",
    )
    values = {str(name).rpartition("/")[2]: value for name, value in found}
    assert values | {k: v if k in ("covered", "above_8") else v * times for k, v in OVERDRAW.items()} == values


def test_secondary_command_buffers_and_samples_are_counted(counted: Path) -> None:
    found = _draws(counted / "draws-pass.dtap")
    assert found["passed"] == found["written"] == [64, 56, 48, 40] * RUNS
    found = _draws(counted / "draws-samples.dtap")
    assert found["samples_passed"] == [256] * 4 * RUNS
    assert found["passed"] == [None] * 4 * RUNS
    note = "the target has several samples a pixel: samples_generated ... count these"
    notes = asked(
        counted / "draws-samples.dtap",
        "SELECT DISTINCT note FROM metrics WHERE per = 'draw' AND name = 'fragments:count/passed'",
    )
    assert notes == [(note,)]
    [(dispatched,)] = asked(
        counted / "draws-dispatch.dtap",
        "SELECT sum(value) AS v FROM executed_metrics WHERE kind = 'dispatch' AND metric = 'fragments:count/generated'",
    )
    assert dispatched == 0


def test_queries_of_vulkan_count_the_same(draws: Path, tmp_path: Path) -> None:
    """Where a pass of several subpasses cannot be interrupted, too; they are measured in a replay of their own."""
    trace = Path(shutil.copy(draws / "subpasses.dtap", tmp_path))
    found = profile(trace, "--metrics", "fragments:count/passed,vk:samples/samples_passed", "--per", "draw")
    assert len(found["passes"]) == 2  # type: ignore[arg-type]
    rows = asked(trace, "SELECT name, list(value ORDER BY number) AS v FROM metrics GROUP BY ALL")
    (_, passed), (_, samples) = rows
    assert passed == samples
    assert None not in passed  # type: ignore[operator]


def test_what_is_not_counted_says_why(counted: Path, fates: Path, tmp_path: Path) -> None:
    columns = "SELECT note, unknown_draws, draws, at_least FROM metrics WHERE per = 'frame' AND value IS NULL AND "
    query = counted / "query.dtap"
    running = "Query of the program runs: the draw is not performed once more"
    assert asked(query, columns + "name = 'fragments:count/generated'") == [  # with three clears
        (running, 2, 14 + 3, sum(one.get("covered", 0) for one in COUNTS) - 2 * ALL)
    ]
    [(note, unknown, *_)] = asked(query, columns + "name = 'fragments:overdraw/mean'")
    assert (note, unknown) == (running, 2)
    early = _draws(counted / "early.dtap")
    known, lost = {"generated", "culled", "samples_generated"}, {5, 10}
    for name, values in early.items():
        assert {i for i, value in enumerate(values) if value is None} == (set() if name in known else lost), name
    assert early["generated"] == [one.get("covered", 0) for one in COUNTS]
    with open_trace(fates / "pass.dtap") as trace:
        made = [int(seq) for (seq,) in trace.sql('SELECT seq FROM "vkCreateGraphicsPipelines" ORDER BY seq').fetchall()]
    own = tmp_path / "own.dtap"
    path = f"{made[7]} pCreateInfos[0].pDepthStencilState"
    words = (
        "--set",
        f"{path}.front.failOp = VK_STENCIL_OP_REPLACE",
        "--set",
        f"{path}.back.failOp = VK_STENCIL_OP_REPLACE",
    )
    done = run_drawtap("edit", fates / "pass.dtap", "-o", own, *words)
    assert done.returncode == 0, done.stderr
    profile(own, "--metrics", "fragments:*", "--per", "draw")
    found = _draws(own)
    assert [name for name, values in found.items() if values[7] is None] == ["failed_depth", "failed_stencil"]
    assert (found["generated"][7], found["passed"][7]) == (ALL, 0)


def test_pictures_of_overdraw(fates: Path, draws: Path, tmp_path: Path) -> None:
    done = run_drawtap("overdraw", fates / "pass.dtap", "-o", tmp_path / "o", "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)
    assert (row["mean"], row["most"], row["fragments"]) == (round(OVERDRAW["mean"], 3), 13, OVERDRAW["mean"] * ALL)
    assert (row["covered_percent"], row["note"]) == (100, "")
    assert row["target"].startswith("image 0x")
    assert Path(row["file"]).read_bytes().startswith(b"\x89PNG")
    with open_trace(fates / "query.dtap") as trace:
        [one] = overdraw(trace, environment=environment())
    corner = one.counts[:4, :4]  # the upper row first
    assert np.array_equal(corner, np.full((4, 4), 11))
    assert int(one.counts.sum()) == 11 * CORNER + 9 * (ALL - CORNER)
    assert one.lacks.startswith("lower bounds: fragments unknown for 2 of 14 draws: Query of the program runs")
    why = "no draw of these frames is counted: the target has several samples a pixel"
    done = run_drawtap("overdraw", draws / "samples.dtap", "-o", tmp_path / "s", environment=environment())
    assert (done.returncode, done.stdout) == (3, "")
    assert why in done.stderr
    assert not (tmp_path / "s").exists()


def test_a_report_has_pictures_of_overdraw(draws: Path, fates: Path, tmp_path: Path) -> None:
    done = run_drawtap("report", fates / "pass.dtap", "-o", tmp_path / "r.html", environment=environment())
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert f"{OVERDRAW['mean']:.2f} fragments a covered pixel, 13 at most" in page
    done = run_drawtap("report", draws / "samples.dtap", "-o", tmp_path / "s.html", environment=environment())
    assert done.returncode == 0, done.stderr
    why = "no draw of these frames is counted: the target has several samples a pixel"
    assert why in (tmp_path / "s.html").read_text()


@pytest.mark.parametrize("mode", ["pass", "rendering", "samples"])
def test_counting_changes_no_picture(mode: str, draws: Path, tmp_path: Path) -> None:
    request = tmp_path / "request"
    specs = [("generated", "sum"), ("failed_depth", "sum"), ("mean", "last")]
    metrics = [{"id": s, "backend": "fragments", "spec": s, "fold": fold, "at": "f"} for s, fold in specs]
    request.write_text(json.dumps({"metrics": metrics, "passes": [{"at": "f", "metrics": [0, 1, 2]}], "ranges": []}))
    words = ["--measure", str(request), "--measured", str(tmp_path / "rows"), "--verify"]
    heard = player.play(draws / f"{mode}.dtap", words, environment=environment())
    assert (heard.compared > 0, heard.different) == (True, 0)
