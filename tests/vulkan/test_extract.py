"""Frames cut out of recordings of Vulkan: they show the same, with less."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from drawtap.analysis.extract import ExtractOptions, target
from drawtap.analysis.reduce import ShownImages, Stage
from drawtap.analysis.vulkan_extract import cut_vulkan
from drawtap.errors import InputError
from drawtap.parts import RING, part
from drawtap.replay.compare import decode_attachment
from drawtap.trace.core import write
from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_past import vulkan_past
from shared import run_drawtap
from vulkan.conftest import Cube, environment, swiftshader
from vulkan.test_snapshots import SIZE, known
from vulkan_scene import CB, DEVICE, POOL, QUEUE, VulkanScene


def cut(trace: Path, frames: str, to: Path) -> dict[str, object]:
    done = run_drawtap("extract", trace, "--frames", frames, "-o", to, "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    assert "search" not in found, "the calls that were found needed did not show the same"
    return found


def hashes(trace: Path, *frames: str) -> list[str]:
    asked = ("--frames", *frames) if frames else ()
    done = run_drawtap("replay", trace, "--hashes", "--verify", "--json", *asked, environment=environment())
    found = json.loads(done.stdout)
    assert (found["different"], found["findings"]) == (0, [])
    return [one["hash"] for one in found["hashes"]]


def count(trace: Path, where: str) -> int:
    with open_trace(trace) as opened:
        [(found,)] = opened.sql(f"SELECT count(*) FROM calls WHERE {where}").fetchall()
    return int(str(found))


def test_frames_of_a_program(cube: Cube, tmp_path: Path) -> None:
    """Of the frames before them those are kept whose work they wait for."""
    file = tmp_path / "cut.dtap"
    found = cut(cube.trace, "40:43", file)
    assert int(str(found["calls_kept"])) < int(str(found["calls_to_target"])) / 2
    with open_trace(file) as trace:
        kept = trace.info["frames"]
    assert 3 <= kept <= 7
    assert hashes(file)[-3:] == hashes(cube.trace, "40:43")
    again = run_drawtap("verify", file, "--source", cube.trace, environment=environment())
    assert again.returncode == 0, again.stdout


def test_a_draw_of_a_program(cube: Cube, tmp_path: Path) -> None:
    """What the program stores for later frames is not in the file: the last submission would read those bytes."""
    file = tmp_path / "cut.dtap"
    done = run_drawtap("extract", cube.trace, "--draws", "6", "-o", file, "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert ("search" in found, len(found["images"])) == (False, 1)
    with open_trace(file) as trace:
        assert trace.info["calls"] == found["file"]["shown"]["submit"] + 1
        [(stored, late)] = trace.sql(
            f"SELECT count(*), count(*) FILTER (seq >= {trace.info['calls']}) FROM memory_writes"
        ).fetchall()
    assert stored and not late


@pytest.mark.parametrize(
    ("mode", "frames", "most"), [("all", "12:14", 1), ("fresh", "12:14", 0.6), ("fresh", "4:6", 1)]
)
def test_what_the_past_left_behind(mode: str, frames: str, most: float, past: Path, tmp_path: Path) -> None:
    """Images by copies, clears, passes and shaders; objects that end and come again; sets, pools and command buffers
    that are used anew; memory that stays mapped (past.c)."""
    file = tmp_path / "cut.dtap"
    found = cut(past / f"{mode}.dtap", frames, file)
    assert int(str(found["calls_kept"])) <= int(str(found["calls_to_target"])) * most
    assert hashes(file)[-2:] == hashes(past / f"{mode}.dtap", frames)
    assert count(file, "name = 'vkCmdDispatch'") == 2


def test_what_ended_is_gone(past: Path, tmp_path: Path) -> None:
    """Frames 12 and 13 show the third image of tile 1: two before it, and what was copied to them, left nothing."""
    file = tmp_path / "cut.dtap"
    cut(past / "fresh.dtap", "12:14", file)
    made = "name = 'vkCreateImage'"
    assert count(file, made) < count(past / "fresh.dtap", made)
    assert count(file, "name = 'vkDestroyImage'") < count(past / "fresh.dtap", "name = 'vkDestroyImage'")
    assert count(file, "name = 'vkQueuePresentKHR'") < 14
    stored = "SELECT count(*) FROM memory_writes"
    with open_trace(file) as less, open_trace(past / "fresh.dtap") as whole:
        assert 0 < int(str(less.sql(stored).fetchall()[0][0])) <= int(str(whole.sql(stored).fetchall()[0][0]))


def test_draws_come_with_what_submits_them(draws: Path, tmp_path: Path) -> None:
    """draws.c records four draws once, and submits them twice."""
    source, file = draws / "pass.dtap", tmp_path / "cut.dtap"
    with open_trace(source) as trace:
        ran = trace.sql("SELECT seq, submit_seq FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()
        count = trace.info["calls"]
    for asked, draw, of in ((("--draws", "4:6"), 1, 5), (("--calls", f"{ran[1][0]}"), 1, 1), (("--draws", "2"), 2, 2)):
        options = ("-o", file, "--force", "--json")
        done = run_drawtap("extract", source, *asked, *options, environment=environment())
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["shown"] == {"call": ran[of][0], "submit": ran[of][1]}
        assert "search" not in found, "the calls that were found needed did not show the same"
        assert found["calls_to_target"] == ran[of][1] + 1 < count
        shown = found["file"]["shown"]
        at = f"{shown['call']}@{shown['submit']}"
        done = run_drawtap("image", file, at, "-o", tmp_path / f"{of}.png", environment=environment())
        assert done.returncode == 0, done.stderr
        picture = decode_attachment((tmp_path / f"{of}.png").read_bytes(), "the draw")
        assert picture.tolist() == [known("pass", draw).tolist()] * SIZE
        with open_trace(file) as cut_out:
            assert int(cut_out.info["calls"]) == found["calls_kept"] == shown["submit"] + 1
        done = run_drawtap("verify", file, "--source", source, environment=environment())
        assert done.returncode == 0, done.stdout + done.stderr
    done = run_drawtap("extract", source, "--calls", "0:3", "-o", tmp_path / "none.dtap", environment=environment())
    assert (done.returncode, (tmp_path / "none.dtap").exists()) == (3, False)
    assert "there is no image after them" in done.stderr
    words = ("extract", source, "--frames", "0", "--minimize", "-o", tmp_path / "none.dtap")
    done = run_drawtap(*words, environment=environment())
    assert (done.returncode, (tmp_path / "none.dtap").exists()) == (3, False)
    assert "--calls" in done.stderr and "--no-verify" not in done.stderr


def test_a_minimal_recording_of_a_draw(draws: Path, tmp_path: Path) -> None:
    """Draw 2 of draws.c stands alone in a secondary command buffer, and its pass clears what was drawn before."""
    source, file = draws / "pass.dtap", tmp_path / "least.dtap"
    words = ("extract", source, "--draws", "2", "--minimize", "-o", file, "--json")
    done = run_drawtap(*words, environment=environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["minimal"], found["oracle"], found["file"]["equal"]) == (True, "pixels", True)
    with open_trace(file) as trace:
        rows = trace.sql("SELECT name, count(*) FROM calls GROUP BY name").fetchall()
    left = {str(name): int(str(calls)) for name, calls in rows}
    for name in ("CmdDraw", "CmdBeginRenderPass", "CmdEndRenderPass", "CmdExecuteCommands", "CmdBindPipeline"):
        assert left[f"vk{name}"] == 1, name
    assert (left["vkBeginCommandBuffer"], left["vkEndCommandBuffer"], left["vkQueueSubmit"]) == (2, 2, 1)
    for name in ("CmdCopyImageToBuffer", "CreateBuffer", "MapMemory", "GetImageMemoryRequirements", "QueueWaitIdle"):
        assert f"vk{name}" not in left, name
    verified = run_drawtap("verify", file, "--source", source, environment=environment())
    assert verified.returncode == 0, verified.stdout


@pytest.mark.exhaustive  # its search is that of the test before it
def test_a_minimal_recording_by_another_property(draws: Path, tmp_path: Path) -> None:
    """One draw is wanted. Nothing has to run; but what a draw needs to be recorded stays with it."""
    with open_trace(draws / "pass.dtap") as trace:
        wanted = target(trace, calls=f"0:{trace.info['calls']}")
        wish = ExtractOptions(minimize=True, oracle="a draw", ask=lambda path: count(path, "name = 'vkCmdDraw'") > 0)
        found = cut_vulkan(trace, wanted, tmp_path / "least.dtap", wish, on_line=lambda _: None)
    assert found.reduction is not None and found.reduction.minimal
    with open_trace(tmp_path / "least.dtap") as trace:
        names = [str(name) for (name,) in trace.sql("SELECT name FROM calls ORDER BY seq").fetchall()]
    commands = [name for name in names if name.startswith("vkCmd")]
    # In the secondary command buffer the pass is not begun; of the two that draw there, the last needs least.
    assert commands == ["vkCmdBindPipeline", "vkCmdSetScissor", "vkCmdPushConstants", "vkCmdDraw"]
    assert names.count("vkBeginCommandBuffer") == 1
    assert not {"vkQueueSubmit", "vkEndCommandBuffer", "vkCmdExecuteCommands", "vkMapMemory"} & set(names)


def test_images_of_trials(cube: Cube, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that lacks the wanted frame, or what a call of its needs, has no image."""
    monkeypatch.setattr("drawtap.analysis.reduce.engine.environment_of", lambda name: environment())
    with open_trace(cube.trace) as trace:
        stage = Stage(trace, ShownImages(range(5, 6), 0), "system")
        everything = np.ones(trace.core.count(), np.bool_)
        presents = trace.sql("SELECT seq FROM vkQueuePresentKHR").fetchall()
        unshown = everything.copy()
        unshown[[int(str(seq)) for (seq,) in presents]] = False
        whole = stage.image(None)
        assert whole is not None
        assert np.array_equal(whole, stage.image(everything))
        assert stage.image(unshown) is None

        def lacking(*_: object, **_named: object) -> None:
            raise InputError("call 46 vkQueuePresentKHR: an image is shown that is none")

        monkeypatch.setattr("drawtap.analysis.reduce.player.play", lacking)
        assert stage.image(everything) is None
        with pytest.raises(InputError):
            stage.image(None)


@pytest.mark.exhaustive
def test_two_engines_still_differ(cube: Cube, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drivers = {"lavapipe": environment(), "swiftshader": swiftshader()}
    monkeypatch.setattr("drawtap.analysis.reduce.engine.environment_of", lambda name: drivers[name])
    with open_trace(cube.trace) as trace:
        wish = ExtractOptions("lavapipe", True, True, "engines=lavapipe,swiftshader", 300)
        found = cut_vulkan(trace, target(trace, frames="5:6"), tmp_path / "bug.dtap", wish, on_line=lambda _: None)
        assert found.reduction is not None
        assert found.reduction.minimal
        assert found.kept < found.before / 2
    assert count(tmp_path / "bug.dtap", "name = 'vkCmdDraw'") == 1


def test_an_oracle_of_opengl_is_refused(draws: Path, tmp_path: Path) -> None:
    words = ("--draws", "2", "--minimize", "--oracle", "gl-error", "-o", tmp_path / "no.dtap")
    done = run_drawtap("extract", draws / "pass.dtap", *words)
    assert (done.returncode, (tmp_path / "no.dtap").exists()) == (2, False)
    assert "calls of Vulkan raise no GL errors" in done.stderr


def test_a_cut_can_be_cut_again(past: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.dtap", tmp_path / "second.dtap"
    cut(past / "fresh.dtap", "10:14", first)
    with open_trace(first) as trace:
        frames = trace.info["frames"]
    cut(first, f"{frames - 2}:{frames}", second)
    assert hashes(second)[-2:] == hashes(past / "fresh.dtap", "12:14")


def test_without_a_proof(past: Path, tmp_path: Path) -> None:
    done = run_drawtap(
        "extract", past / "fresh.dtap", "#3", "-o", tmp_path / "cut.dtap", "--no-verify", environment=environment()
    )
    assert done.returncode == 0, done.stderr
    assert "nothing was played" in done.stdout


def helper(folder: Path, verb: str, wanted: Mapping[str, object]) -> dict[str, object]:
    """Run what the drainer of a flight recorder runs."""
    (folder / "job").write_text(json.dumps(wanted, default=str))
    done = subprocess.run([part(RING), verb, folder / "job"], capture_output=True, text=True, check=False)
    answer: dict[str, object] = json.loads(done.stdout)
    assert done.returncode == 0, answer
    return answer


@pytest.mark.parametrize("mode", ["all", "fresh"])
def test_what_generations_of_a_flight_recorder_keep_draws_the_same(mode: str, past: Path, tmp_path: Path) -> None:
    """What a flight recorder keeps of what it had kept: the window shows the same, and no more piles up."""
    recording = past / f"{mode}.dtap"
    with open_trace(recording) as trace:
        ends = [int(str(row["t_end"])) for row in trace.table("frames") if row["end_function"]]
    state: dict[str, object] = {"raw": recording}
    kept = []
    for generation, frame in enumerate((2, 3, 6, 8, 10)):
        out, frames = tmp_path / f"base{generation}.dtap", tmp_path / f"frames{generation}"
        answer = helper(tmp_path, "compact", {**state, "out": out, "frames_out": frames, "cut_ns": ends[frame] + 1})
        assert answer["frames_past"] == frame + 1
        kept.append(int(str(answer["kept"])))
        state = {"raw": recording, "base": out, "frames_in": frames, "consumed": answer["consumed"]}
        state |= {"calls_before": answer["calls_past"], "frames_before": answer["frames_past"]}
    saved = tmp_path / "saved.dtap"
    answer = helper(tmp_path, "save", {**state, "out": saved, "cut_ns": ends[12] + 1, "about": {"reason": "test"}})
    assert (answer["first_frame"], answer["frames"]) == (13, len(ends) - 13)
    assert hashes(saved)[-3:] == hashes(recording)[13:]
    if mode == "fresh":
        assert kept[-1] < kept[2] + 30
        rows = "SELECT count(*) FROM memory_writes WHERE data_bytes < 256"
        with open_trace(saved) as less, open_trace(recording) as whole:
            assert int(str(less.sql(rows).fetchall()[0][0])) < int(str(whole.sql(rows).fetchall()[0][0]))


@pytest.mark.parametrize(
    ("between", "after", "kept"),
    [
        (False, True, False),  # the next call of the thread writes the bytes early enough
        (True, True, True),  # behind the question they would come too late for the other thread's work
        (False, False, True),  # the thread has no later call
    ],
)
def test_a_question_is_kept_where_it_holds_bytes_in_their_place(
    between: bool, after: bool, kept: bool, tmp_path: Path
) -> None:
    """A thread stores before a call that only asks. Another thread may submit work behind it."""
    memory, buffer = 0x600, 0x700
    s = VulkanScene().vkCreateDevice(0x50, {}, pDevice=[DEVICE]).vkGetDeviceQueue(DEVICE, 0, 0, pQueue=[QUEUE])
    s.vkAllocateMemory(DEVICE, {"allocationSize": 256}, pMemory=[memory])
    s.vkCreateBuffer(DEVICE, {"size": 256}, pBuffer=[buffer]).vkBindBufferMemory(DEVICE, buffer, memory, 0)
    s.vkMapMemory(DEVICE, memory, 0, 256, 0, ppData=[0x1000])
    s.vkAllocateCommandBuffers(DEVICE, {"commandPool": POOL, "commandBufferCount": 1}, pCommandBuffers=[CB])
    s.recorded(lambda s: s.vkCmdCopyBuffer(CB, buffer, buffer, pRegions=[{"dstOffset": 128, "size": 4}]))
    s.thread = 1
    s.stored(memory, 0, b"abcd").vkGetDeviceMemoryCommitment(DEVICE, memory, pCommittedMemoryInBytes=[0])
    s.thread = 0
    if between:
        s.submit()
    s.thread = int(after)
    s.submit()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        calls = [str(name) for (name,) in trace.sql("SELECT name FROM calls ORDER BY seq").fetchall()]
        question = calls.index("vkGetDeviceMemoryCommitment")
        found = vulkan_past(trace, len(calls) - 1, len(calls))
        assert not found.whole
        assert [calls[i] for i in range(len(calls)) if not found.keep[i]] == ([] if kept else [calls[question]])
        write([found.part(trace, images=found.keep)], tmp_path / "cut.dtap")
    with open_trace(tmp_path / "cut.dtap") as cut:
        # The bytes are there before all work.
        [(stored,)] = cut.sql("SELECT seq FROM memory_writes").fetchall()
        [(first,)] = cut.sql("SELECT min(seq) FROM calls WHERE name = 'vkQueueSubmit'").fetchall()
    assert int(str(stored)) <= int(str(first))
