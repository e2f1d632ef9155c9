"""`make gpu`: it finds a GPU or says that there is none, and its proofs hold on the renderer of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("EGL_PLATFORM", "surfaceless")


def _answers(renderers):
    return lambda environment: {"renderer": renderers.get(environment["EGL_PLATFORM"], ""), "gl": "4.6"}


@pytest.mark.parametrize(
    "renderers",
    [{}, {"surfaceless": "llvmpipe (LLVM 15.0.6, 256 bits)"}, {"surfaceless": "softpipe", "device": "llvmpipe"}],
)
def test_a_machine_without_a_gpu_is_told_so(monkeypatch, capsys, renderers):
    from bench import gpu

    monkeypatch.setattr(gpu.player, "probe", _answers(renderers))
    assert gpu.main([]) == 3
    assert "no GPU" in capsys.readouterr().err


def test_the_platform_that_leads_to_the_gpu_is_taken(monkeypatch):
    from bench import gpu

    monkeypatch.setattr(gpu.player, "probe", _answers({"surfaceless": "llvmpipe", "device": "Made-up 9000"}))
    assert gpu.find() == gpu.Gpu("device", "Made-up 9000", "4.6")
    assert gpu.find(software=True).renderer == "llvmpipe"


@pytest.mark.gl
@pytest.mark.slow
def test_the_proofs_of_a_program_hold(tmp_path):
    from bench import gpu
    from bench.setup import Setup

    rows = list(gpu._proof(Setup(tmp_path, quick=True), "es2_triangle", ["10"]))
    assert [row.name.split(": ")[1] for row in rows] == ["replay", "state", "cut of a frame"]
    assert all(row.met for row in rows), rows


@pytest.mark.gl
@pytest.mark.slow
def test_clears_are_no_draws_of_the_counters(tmp_path):
    from bench import gpu
    from bench.setup import Setup

    setup, trace = Setup(tmp_path, quick=True), tmp_path / "counted.dtap"
    # A frame is a clear and a triangle of 256 x 128 pixels.
    gpu._ask("record", "-q", "-o", str(trace), "--", setup.program("gpu_scene"), "fill", "256x128", "64", "x3")
    rows = list(gpu._measured(trace, "OpenGL ES", "fragments", gpu._TRUTH))
    proved = {row.name: row.met for row in rows if row.group == "proofs"}
    assert proved == {"fragments:count/generated": True, "fragments:count/written": True}
    assert all("of 3 draws" in row.note for row in rows if ":count/" in row.name and row.group == "counters")


def test_lines_of_progress_are_no_answer(monkeypatch):
    from bench import gpu

    told = {}
    monkeypatch.setattr(gpu.subprocess, "run", lambda words, **options: told.update(options))
    monkeypatch.setenv("DRAWTAP_PROGRESS", "on")
    gpu._ask("info")
    assert told["env"]["DRAWTAP_PROGRESS"] == "off"


def test_the_page_tells_the_machine_with_units():
    from bench import gpu

    assert gpu._facts({"cores": 2, "mesa": None, "memory_bytes": 3 << 29, "load": 1.0625}) == (
        "cores 2, load 1.1, memory 1.5 GiB"
    )


def test_what_fails_is_wrong_in_the_page_and_in_the_exit_code():
    from bench import gpu

    row = gpu._passed("a < b", subprocess.CompletedProcess([], 4, "", "frame 3 differs"))
    assert gpu._is_wrong(row)
    page = gpu.page("title", "facts", [row])
    assert "class=bad" in page
    assert "a &lt; b" in page
    assert "frame 3 differs" in page
