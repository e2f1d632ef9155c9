"""The toy API: its registry, overlay, header, library and golden calls say the same."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from drawtap.spec import report
from drawtap.spec.model import Array, AttributeList, Opaque, String, Strings, Struct
from drawtap.spec.registry import load_api

TESTS = Path(__file__).parent.parent
TOY = TESTS / "toy"
GOLDEN = TESTS / "golden" / "toy_app.txt"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with libtoy.so and toy_app, built by the commands of the README."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler on this machine")
    folder = tmp_path_factory.mktemp("toy")
    for name in ("toy.h", "toy.c", "toy_app.c"):
        shutil.copy(TOY / name, folder)
    for line in (TOY / "README.md").read_text().splitlines():
        if line.startswith("    cc "):
            done = subprocess.run(shlex.split(line), cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert done.stderr == ""
    return folder


def _run(built: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([built / "toy_app", *arguments], capture_output=True, text=True, check=False, timeout=300)


def test_it_has_twelve_commands_with_every_kind_of_argument() -> None:
    api = load_api("toy")
    assert len(api.commands) == 12
    assert api.lookups == ("toyGetProcAddress",)
    params = [p for c in api.commands.values() for p in c.params]
    kinds = {type(p.data) for p in params if p.data is not None}
    assert kinds == {Array, AttributeList, Opaque, String, Strings, Struct}
    scalars = {p.type.scalar for p in params if not p.is_pointer}
    assert scalars >= {"i8", "u8", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "ptr"}
    assert {f for c in api.commands.values() for f in c.flags} >= {"frame_end", "callback", "error_query", "lookup"}


def test_sizes() -> None:
    api = load_api("toy")
    points = api.commands["toyPoints"]
    assert points.param("points").data == Array("count * toy_stride(handle)")
    assert points.param("weights").data == Array("count")
    values = api.commands["toyGet"].param("values").data
    assert values == Array("capacity", out=True, actual="min(result, capacity)")
    assert api.commands["toyLabels"].param("title").data == String(length="titleLength")


def test_the_registry_declares_what_the_header_declares(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler on this machine")
    api = load_api("toy")
    lines = ['#include "toy.h"', 'extern "C" {', *(f"{report.prototype(c)};" for c in api.commands.values()), "}"]
    lines += [f'static_assert({name} == {value}, "{name}");' for name, value in api.enums.items()]
    source = tmp_path / "same.cc"
    source.write_text("\n".join(lines))
    done = subprocess.run(["g++", "-fsyntax-only", "-I", TOY, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_program_does_what_it_says(built: Path) -> None:
    done = _run(built)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "toyMix 8999965527.75", "toyGet 3: 10 20 30", "toyLabels 19", "toyLabels 5", "toyDraw 1", "toyDraw 0",
        "frame 1", "toyGetError 0x402", "frame 2", "unknown 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "code"),
    [("crash", -11), ("abort", -6), ("exit", 3), ("_exit", 3), ("quick_exit", 3), ("return", 3), ("nonsense", 2)],
)
def test_the_program_ends_as_asked(built: Path, mode: str, code: int) -> None:
    done = _run(built, mode)
    assert done.returncode == code
    assert done.stdout.endswith("unknown 1\n") or mode == "nonsense"


def test_the_program_with_threads_forks_and_many_calls(built: Path) -> None:
    assert _run(built, "threads", "50").stdout == "50 frames on each of 4 threads\n"
    assert _run(built, "fork", "5").stdout == "parent and child: 5 frames each, child ended with 0\n"
    assert _run(built, "calls", "100").stdout == "100 frames, 902 calls\n"


def test_the_program_runs_until_it_is_killed(built: Path) -> None:
    with subprocess.Popen([built / "toy_app", "forever"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        assert running.poll() is None
        running.kill()


_CALL = re.compile(r"(\w+)\((.*)\)(?: = (.+))?")
# Commas that separate parameters stand before "name = ".
_PARAMETER = re.compile(r"(?:^|, )(\w+) = ")


def _outside_braces(text: str) -> str:
    return re.sub(r'\{[^}]*\}|"[^"]*"', "x", text)


def test_the_golden_calls_fit_the_registry() -> None:
    api = load_api("toy")
    seen = set()
    for line in GOLDEN.read_text().splitlines():
        match = _CALL.fullmatch(line)
        assert match is not None, line
        command = api.commands[match[1]]
        seen.add(command.name)
        assert _PARAMETER.findall(_outside_braces(match[2])) == [p.name for p in command.params], line
        assert (match[3] is not None) == (command.returns.scalar != "void"), line
        for name in re.findall(r"TOY_\w+", line):
            assert name in api.enums, line
    assert seen == set(api.commands)
