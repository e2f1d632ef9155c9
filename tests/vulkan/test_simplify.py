"""Recordings of Vulkan without the calls that did nothing draw the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from drawtap.analysis import redundancy
from drawtap.analysis.vulkan_cost import hidden_draws
from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_waste import VulkanWaste, vulkan_waste
from shared import run_drawtap
from vulkan.conftest import Cube, environment
from vulkan.test_counts import COUNTS
from vulkan.test_extract import hashes


def test_a_program_with_a_window(cube: Cube, tmp_path: Path) -> None:
    """vkcube records commands for images of the swapchain that it never shows."""
    lean = tmp_path / "lean.dtap"
    done = run_drawtap("simplify", cube.trace, "-o", lean, "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    certificate = json.loads(done.stdout)
    assert (certificate["put_back"], certificate["verified"], certificate["frames"]) == (0, "replay", 60)
    assert certificate["removed"]["unseen draw"] > 0
    assert certificate["calls_kept"] + sum(certificate["removed"].values()) == certificate["calls_source"]
    assert hashes(lean) == hashes(cube.trace)
    again = run_drawtap("verify", lean, "--source", cube.trace, environment=environment())
    assert again.returncode == 0, again.stdout
    with open_trace(lean) as trace:
        assert not vulkan_waste(trace).kinds.any()


def test_a_program_without_a_window(fates: Path, tmp_path: Path) -> None:
    """Its last draw is what can be compared. fates.c gives all draws the same sets, and some the same constants."""
    source, lean = fates / "pass.dtap", tmp_path / "lean.dtap"
    done = run_drawtap("simplify", source, "-o", lean, "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    certificate = json.loads(done.stdout)
    assert certificate["removed"]["same value"] > 10
    with open_trace(source) as trace, open_trace(lean) as less:
        question = "SELECT seq, submit_seq FROM executed WHERE kind = 'draw' ORDER BY number"
        last, of_file = trace.sql(question).fetchall()[-1], less.sql(question).fetchall()[-1]
    assert [*certificate["shown"].values()] == [*last]
    assert [*certificate["file"]["shown"].values()] == [*of_file]
    again = run_drawtap("verify", lean, "--source", source, environment=environment())
    assert again.returncode == 0, again.stdout
    assert (
        "image after the last draw"
        in run_drawtap("simplify", source, "-o", lean, "--force", environment=environment()).stdout
    )


def test_a_call_that_matters_is_put_back(fates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it come the calls that would lack it: a draw needs the pipeline that its command buffer binds."""
    with open_trace(fates / "pass.dtap") as trace:
        # The last draw writes the colour that is left.
        [(_, bind)] = trace.sql(
            "SELECT seq, (SELECT max(seq) FROM vkCmdBindPipeline b WHERE b.seq < e.seq) FROM executed e "
            "WHERE kind = 'draw' ORDER BY number DESC LIMIT 1"
        ).fetchall()

        def wrong(of: object) -> VulkanWaste:
            right = vulkan_waste(trace)
            kinds = right.kinds.copy()
            kinds[int(str(bind))] = 1
            return VulkanWaste(kinds, right.stored)

        monkeypatch.setattr(redundancy, "vulkan_waste", wrong)
        monkeypatch.setattr("drawtap.replay.engine.environment_of", lambda name: environment())
        done = redundancy.simplify(trace, tmp_path / "lean.dtap")
        assert (done.equal, done.put_back) == (True, 1)
        assert done.removed["same value"] == int(np.sum(vulkan_waste(trace).kinds == 1))
    with open_trace(tmp_path / "lean.dtap") as lean:
        assert len(lean.sql("SELECT seq FROM executed WHERE kind = 'draw'").fetchall()) == 14


def test_nothing_to_compare_is_said(draws: Path, tmp_path: Path) -> None:
    words = ("simplify", draws / "dispatch.dtap", "-o", tmp_path / "lean.dtap")
    done = run_drawtap(*words, environment=environment())
    assert (done.returncode, (tmp_path / "lean.dtap").exists()) == (3, False)
    assert "--no-verify" in done.stderr
    done = run_drawtap(*words, "--no-verify", environment=environment())
    assert done.returncode == 0, done.stderr
    assert "nothing was played" in done.stdout


UNDRAWN = [number for number, counts in enumerate(COUNTS) if "drawn" not in counts]


@pytest.mark.parametrize(("mode", "numbers"), [("pass", UNDRAWN), ("query", []), ("stores", [5])])
def test_draws_of_which_no_sample_passes(mode: str, numbers: list[int], fates: Path, tmp_path: Path) -> None:
    """COUNTS knows by construction which draws of fates.c draw nothing. Queries count draws that draw nothing as well,
    and shaders store where no sample passes; of these only draw 5 has a shader that does not."""
    file = shutil.copyfile(fates / f"{mode}.dtap", tmp_path / "t.dtap")
    with open_trace(file) as trace:
        assert hidden_draws(trace) == []  # nothing is measured
    done = run_drawtap("profile", file, "-m", "vk:samples/samples_passed", "--per", "draw", environment=environment())
    assert done.returncode == 0, done.stderr
    with open_trace(file) as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()]
        hidden = hidden_draws(trace)
    assert hidden == [draws[number] for number in numbers]


def test_hidden_draws_of_a_program_go_with_proof(cube: Cube, tmp_path: Path) -> None:
    """vkcube behind a scissor without an extent: its window shows the colour of the clear."""
    whole, blind = cube.trace, tmp_path / "blind.dtap"
    with open_trace(whole) as trace:
        scissors = [seq for (seq,) in trace.sql("SELECT seq FROM vkCmdSetScissor ORDER BY seq").fetchall()]
    changes = [word for seq in scissors for word in ("--set", f"{seq} pScissors[0].extent.width = 0")]
    done = run_drawtap("edit", whole, *changes, "-o", blind)
    assert done.returncode == 0, done.stderr
    done = run_drawtap("profile", blind, "-m", "vk:samples/samples_passed", "--per", "draw", environment=environment())
    assert done.returncode == 0, done.stderr
    lean = tmp_path / "lean.dtap"
    done = run_drawtap("simplify", blind, "-o", lean, "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["put_back"] == 0
    with open_trace(lean) as trace:
        [(draws, submits)] = trace.sql(
            "SELECT count(*) FILTER (name = 'vkCmdDraw'), count(*) FILTER (name = 'vkQueueSubmit') FROM calls"
        ).fetchall()
    assert (draws, submits > 0) == (0, True)
    assert hashes(lean) == hashes(blind) != hashes(whole)
