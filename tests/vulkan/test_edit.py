"""Recordings of Vulkan with changes: they draw what the specification says of the calls that are left."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from drawtap.analysis.spirv import module_of
from drawtap.errors import UnavailableError, UsageError
from drawtap.formats.editable import ShaderText
from drawtap.replay.compare import decode_attachment
from drawtap.trace.trace import open_trace
from drawtap.web.recording import Recording
from shared import run_drawtap
from vulkan.conftest import environment
from vulkan.test_snapshots import SIZE, known


def edited(source: Path, to: Path, *how: str) -> str:
    """Edit and play both; return what was said. Nothing may be broken, or go wrong where it is played."""
    done = run_drawtap("edit", source, "-o", to, "--force", "--check", *how, environment=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing goes wrong" in done.stdout
    return done.stdout


def picture(trace: Path, folder: Path, draw: int) -> list[list[list[int]]]:
    """Return the pixels that a draw leaves where it runs first, by row."""
    done = run_drawtap("image", trace, str(draw), "-o", folder / "p.png", "--force", environment=environment())
    assert done.returncode == 0, done.stderr
    rows: list[list[list[int]]] = decode_attachment((folder / "p.png").read_bytes(), "the draw").tolist()
    return rows


def drawn(trace: Path) -> list[int]:
    """Return the draws in the order in which they run first."""
    with open_trace(trace) as opened:
        query = "SELECT seq FROM executed WHERE kind = 'draw' GROUP BY seq ORDER BY min(number)"
        return [int(seq) for (seq,) in opened.sql(query).fetchall()]


@pytest.mark.parametrize("mode", ["rendering", "pass"])
def test_without_its_last_draw_the_others_are_there(mode: str, draws: Path, tmp_path: Path) -> None:
    source, less = draws / f"{mode}.dtap", tmp_path / "less.dtap"
    edited(source, less, "--drop", str(drawn(source)[3]))
    left = drawn(less)
    assert len(left) == 3
    assert picture(less, tmp_path, left[2]) == [known(mode, 2).tolist()] * SIZE


def test_a_query_goes_with_its_end(draws: Path, tmp_path: Path) -> None:
    source, less = draws / "query.dtap", tmp_path / "less.dtap"
    edited(source, less, "--drop", "vkCmdBeginQuery", "--drop", "vkCmdEndQuery")
    assert picture(less, tmp_path, drawn(less)[3]) == [known("query", 3).tolist()] * SIZE
    done = run_drawtap("edit", source, "-o", less, "--force", "--drop", "vkCmdEndQuery")
    assert done.returncode == 1
    assert re.search(r"call \d+ vkEndCommandBuffer: query 0 of VkQueryPool 0x[0-9a-f]+ is not ended", done.stdout)


def test_bytes_of_memory_that_no_call_makes_go_too(recorded: Path, tmp_path: Path) -> None:
    """Of one memory among others, and of all: where the calls end before the first memory, what is left plays."""
    both = "(SELECT memory FROM memory_writes UNION ALL SELECT memory FROM device_writes)"
    rows = f"SELECT memory, count(*) FROM {both} GROUP BY memory"
    with open_trace(recorded) as trace:
        stored = dict(trace.sql(rows).fetchall())
        memory, made = trace.sql(
            "SELECT handle, created_seq FROM objects WHERE type = 'VkDeviceMemory'"
            " AND handle IN (SELECT memory FROM memory_writes) ORDER BY created_seq LIMIT 1"
        ).fetchall()[0]
    assert stored[memory] > 0
    less = tmp_path / "less.dtap"
    done = run_drawtap("edit", recorded, "-o", less, "--drop", str(made))
    assert done.returncode == 1  # calls that need the memory are named
    assert f"{stored[memory]} row" in done.stdout, done.stdout
    with open_trace(less) as trace:
        assert dict(trace.sql(rows).fetchall()) == {of: count for of, count in stored.items() if of != memory}
    done = run_drawtap("edit", recorded, "-o", less, "--force", "--keep", f"0:{made}")
    assert (done.returncode, f"{sum(stored.values())} row" in done.stdout) == (0, True), done.stdout + done.stderr
    done = run_drawtap("replay", less, environment=environment())
    assert done.returncode == 0, done.stdout + done.stderr


GLSL = "#version 450\nlayout(location = 0) out vec4 o;\nvoid main() { o = vec4(1, 0, 0, 1); }\n"


def made(trace: Path, function: str) -> list[int]:
    with open_trace(trace) as opened:
        found = opened.sql(f"SELECT seq FROM calls WHERE name = '{function}' ORDER BY seq").fetchall()
        return [int(seq) for (seq,) in found]


def row(*pixels: tuple[int, int, int, int]) -> list[list[int]]:
    return [list(pixel) for pixel in pixels]


def test_members_of_structures_by_path(draws: Path, tmp_path: Path) -> None:
    """State of the pipeline, and of a command: what it lets through is what is drawn."""
    source, new = draws / "rendering.dtap", tmp_path / "new.dtap"
    [pipeline] = made(source, "vkCreateGraphicsPipelines")
    mask = "pCreateInfos[0].pColorBlendState.pAttachments[0].colorWriteMask = VK_COLOR_COMPONENT_R_BIT"
    edited(source, new, "--set", f"{pipeline} {mask}")
    assert picture(new, tmp_path, drawn(source)[3]) == [row(*((50 * i, 0, 0, 0) for i in (0, 1, 2, *[3] * 5)))] * SIZE
    cull = "pCreateInfos[0].pRasterizationState.cullMode = VK_CULL_MODE_FRONT_AND_BACK"
    edited(source, new, "--set", f"{pipeline} {cull}")
    assert picture(new, tmp_path, drawn(source)[3]) == [row(*[(0, 0, 0, 0)] * SIZE)] * SIZE
    scissor = [seq for seq in made(source, "vkCmdSetScissor") if seq < drawn(source)[3]][-1]
    edited(source, new, "--set", f"{scissor} pScissors[0].offset.x = 6, pScissors[0].extent.width = 2")
    expected = known("rendering", 2)
    expected[6:] = known("rendering", 3)[6:]
    assert picture(new, tmp_path, drawn(source)[3]) == [expected.tolist()] * SIZE


def test_paths_that_lead_nowhere(draws: Path, tmp_path: Path) -> None:
    source = draws / "rendering.dtap"
    [pipeline] = made(source, "vkCreateGraphicsPipelines")
    for path, said in (
        ("pCreateInfos[0].pRasterizationState.culMode = 0", "has no member culMode: its members are sType"),
        ("pCreateInfos[7].flags = 0", "has no element 7: there are 1"),
        ("pCreateInfos.flags = 0", "a number in brackets is missing"),
        ("pCreateInfos[0].pStages = 4", "is a structure"),
        ("pCreateInfos[0].pDynamicState.pDynamicStates = {0, 1, 2, 3, 4}", "keeps the number of elements"),
        ("pCreateInfos[0].layout.x = 4", "layout is no structure"),
        ("pCreateInfos[0].subpass = VK_NOTHING", "no enumerant VK_NOTHING"),
        ("pipelineCache[0] = 4", "no recorded structures in pipelineCache"),
    ):
        done = run_drawtap("edit", source, "-o", tmp_path / "no.dtap", "--set", f"{pipeline} {path}")
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "no.dtap").exists()


@pytest.mark.parametrize("how", ["glsl", "module"])
def test_a_shader_is_replaced(how: str, draws: Path, tmp_path: Path) -> None:
    """Of another length than the old one: a file of GLSL, and a module in a file."""
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed (Debian: glslang-tools)")
    source, new, file = draws / "rendering.dtap", tmp_path / "new.dtap", tmp_path / "red.frag"
    file.write_text(GLSL)
    value = f'glsl("{file}")'
    if how == "module":
        subprocess.run(["glslangValidator", "-V", file, "-o", tmp_path / "red.spv"], check=True, capture_output=True)
        value = f'file("{tmp_path / "red.spv"}")'
    fragment = made(source, "vkCreateShaderModule")[1]
    edited(source, new, "--set", f"{fragment} pCreateInfo.pCode = {value}")
    assert picture(new, tmp_path, drawn(source)[0]) == [row(*[(255, 0, 0, 255)] * SIZE)] * SIZE
    file.write_text(GLSL.replace("vec4(1", "vec5(1"))
    done = run_drawtap("edit", source, "-o", new, "--force", "--set", f'{fragment} pCreateInfo.pCode = glsl("{file}")')
    assert (done.returncode, "glslangValidator refuses the shader: ERROR: 3: 'vec5'" in done.stderr) == (2, True)


def test_without_a_compiler_a_shader_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for source, tool in (("glsl", "glslangValidator"), ("spirv", "spirv-as")):
        with pytest.raises(UnavailableError, match=f"{tool} is not installed") as caught:
            module_of(ShaderText(source, "frag", GLSL))
        assert 'file("shader.spv")' in str(caught.value.hint)


def shown(answer: bytes) -> tuple[dict[str, int], np.ndarray]:
    length = int.from_bytes(answer[:4], "little")
    head = json.loads(answer[4 : 4 + length])
    pixels = np.frombuffer(answer[4 + length :], np.uint8).reshape(head["height"], head["width"], 4)
    return head, pixels


def test_what_if_is_what_edit_and_image_make(draws: Path, tmp_path: Path) -> None:
    source, new = draws / "rendering.dtap", tmp_path / "new.dtap"
    first, *_, third, last = drawn(source)
    [pipeline] = made(source, "vkCreateGraphicsPipelines")
    cull = f"{pipeline} pCreateInfos[0].pRasterizationState.cullMode = VK_CULL_MODE_NONE"
    bind = max(seq for seq in made(source, "vkCmdBindPipeline") if seq < first)
    with contextlib.closing(Recording(source)) as recording:
        recording.environment = environment()
        whatif = recording.whatif
        for text, given in ((f"drop {third}", ("--drop", str(third))), (f"set {cull}", ("--set", cull))):
            head, pixels = shown(whatif.picture(last, text))
            edited(source, new, *given)
            assert picture(new, tmp_path, head["draw"]) == pixels.tolist()
            (tmp_path / "saved.dtap").write_bytes(whatif.file(text))
            assert picture(tmp_path / "saved.dtap", tmp_path, head["draw"]) == pixels.tolist()
        # Without the last draw the one before it is what is there, and with one pixel of it no more.
        _, without = shown(whatif.picture(last, f"drop {last}"))
        assert without.tolist() == [known("rendering", 2).tolist()] * SIZE
        _, one = shown(whatif.picture(last, f"pixel {last}"))
        differing = np.argwhere((one != without).any(axis=2)).tolist()
        assert differing == [[0, 3]]
        assert one[0, 3].tolist() == known("rendering", 3)[3].tolist()
        for text, said in (
            (f"drop {bind}", "no pipeline is bound"),
            (f"drop {first}\ndrop {bind}", "nothing is drawn up to call"),
            (f"pixel {bind}", "no draw that runs"),
            ("drop 9999", "there is no call 9999"),
        ):
            with pytest.raises(UsageError, match=said):
                whatif.picture(first, text)
        rounds = whatif.times(last, f"drop {last}", 0)
        assert (rounds["done"], rounds["software"]) == (1, True)
