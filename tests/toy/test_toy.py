"""The toy API from one XML and one overlay to a question: every kind of argument, recorded and read back.

No GL anywhere: a module for the toy registry is generated, compiled, loaded into the toy program, and what comes
out of the trace is held against the golden text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import drawtap
from drawtap.instrument import module
from drawtap.parts import CORE, DRAINER, part

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "toy_app.txt"
_WILDCARD = re.compile(r"<(\w+)>")


@dataclass(frozen=True)
class Toy:
    """A built toy program and the folder with the native parts that record it."""

    program: Path
    native: Path

    def record(self, output: Path, *arguments: str, timing: str = "both") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "drawtap", "record", "--timing", timing, "-o", str(output), "--"]
        return subprocess.run(
            [*command, str(self.program), *arguments],
            env=dict(os.environ, DRAWTAP_NATIVE=str(self.native)),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    compiler = shutil.which("cc")
    if compiler is None or not (shutil.which("c++") or shutil.which("g++")):
        pytest.skip("no C and C++ compiler on this machine")
    folder = tmp_path_factory.mktemp("toy")
    library, program = folder / "libtoy.so", folder / "toy_app"
    flags = [compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
    hidden = ["-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic", "-Wl,-soname,libtoy.so"]
    subprocess.run([*flags, *hidden, "-o", library, HERE / "toy.c"], check=True)
    link = ["-pthread", f"-L{folder}", "-ltoy", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*flags, "-o", program, HERE / "toy_app.c", *link], check=True)
    built = module.build("toy", ("toy",))
    native = folder / "native"
    native.mkdir()
    shutil.copyfile(built.library, native / "libdrawtap-tap.so")
    shutil.copyfile(built.signatures, native / "tap.sig")
    shutil.copy(part(DRAINER), native)
    shutil.copy(part(CORE), native)
    return Toy(program, native)


def _matches(golden: str, line: str, names: dict[str, str]) -> bool:
    """Compare a line with golden text whose <name>s stand for anything, the same name for the same text."""
    pattern = ""
    at = 0
    for wildcard in _WILDCARD.finditer(golden):
        pattern += re.escape(golden[at : wildcard.start()])
        known = names.get(wildcard[1])
        first = f"(?P<{wildcard[1]}>" not in pattern
        pattern += re.escape(known) if known else f"(?P<{wildcard[1]}>[^,()]+)" if first else f"(?P={wildcard[1]})"
        at = wildcard.end()
    match = re.fullmatch(pattern + re.escape(golden[at:]), line)
    if match:
        names.update(match.groupdict())
    return match is not None


def _lines(trace: drawtap.Trace) -> list[str]:
    return [re.sub(r"^\d+ ", "", line.rstrip("\n")) for line in trace.text(flags=1)]


def test_every_kind_of_argument_reads_back_as_written(toy: Toy, tmp_path: Path) -> None:
    done = toy.record(tmp_path / "toy.dtap")
    assert done.returncode == 0, done.stderr
    golden = GOLDEN.read_text().splitlines()
    with drawtap.open(tmp_path / "toy.dtap") as trace:
        lines = _lines(trace)
    names: dict[str, str] = {}
    for expected, line in zip(golden, lines, strict=True):
        assert _matches(expected, line, names), f"expected {expected}\n     got {line}"


def test_the_program_cannot_tell(toy: Toy, tmp_path: Path) -> None:
    plain = subprocess.run([str(toy.program)], capture_output=True, text=True, timeout=300, check=True)
    assert toy.record(tmp_path / "toy.dtap").stdout == plain.stdout


@pytest.mark.parametrize(
    ("mode", "code"), [("crash", 139), ("abort", 134), ("exit", 3), ("_exit", 3), ("quick_exit", 3)]
)
def test_nothing_is_lost_however_the_program_ends(toy: Toy, tmp_path: Path, mode: str, code: int) -> None:
    done = toy.record(tmp_path / "toy.dtap", mode)
    assert done.returncode == code
    with drawtap.open(tmp_path / "toy.dtap") as trace:
        lines = _lines(trace)
    golden = GOLDEN.read_text().splitlines()[:-2]  # the sequence does not close
    names: dict[str, str] = {}
    for expected, line in zip(golden, lines[: len(golden)], strict=True):
        assert _matches(expected, line, names), f"expected {expected}\n     got {line}"
    if mode == "crash":
        assert "TOY_CRASH" in lines[-1]  # the call that the library died in


def test_threads_keep_their_order_and_lose_nothing(toy: Toy, tmp_path: Path) -> None:
    toy.record(tmp_path / "toy.dtap", "threads", "500")
    with drawtap.open(tmp_path / "toy.dtap") as trace:
        swaps = trace.sql('SELECT thread, count(*) FROM "toySwap" GROUP BY thread ORDER BY thread').fetchall()
        unordered = trace.sql(
            "SELECT count(*) FROM (SELECT t_start < lag(t_start) OVER (PARTITION BY thread ORDER BY seq) AS back"
            " FROM calls) WHERE back"
        ).fetchall()
    assert [count for _, count in swaps] == [500] * 4
    assert unordered == [(0,)]


def test_a_forked_child_writes_a_trace_of_its_own(toy: Toy, tmp_path: Path) -> None:
    toy.record(tmp_path / "toy.dtap", "fork", "10")
    frames = []
    for file in sorted(tmp_path.glob("*.dtap")):
        with drawtap.open(file) as trace:
            frames.append(trace.sql('SELECT count(*) FROM "toySwap"').fetchall()[0][0])
    assert sorted(frames) == [10, 11]  # the parent made one before it forked


@pytest.mark.parametrize("timing", ["entry", "none"])
def test_less_timing_keeps_calls_and_order(toy: Toy, tmp_path: Path, timing: str) -> None:
    toy.record(tmp_path / "toy.dtap", timing=timing)
    with drawtap.open(tmp_path / "toy.dtap") as trace:
        names = [name for (name,) in trace.sql("SELECT name FROM calls ORDER BY seq").fetchall()]
    assert names == [line.split("(")[0] for line in GOLDEN.read_text().splitlines()]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ('SELECT sum(count) FROM "toyPoints"', [(6,)]),
        ("SELECT count(*) FROM \"toyDraw\" WHERE mode = 'TOY_SOLID'", [(1,)]),
        ('SELECT count(*) FROM "toyDraw" WHERE mode = 513', [(1,)]),
        ('SELECT title FROM "toyLabels" ORDER BY seq', [("a title",), ("whole",)]),
        ("SELECT event.name FROM trace WHERE event.seq = 0", [("toyOpen",)]),
        ("SELECT count(*) FROM frames", [(2,)]),
    ],
)
def test_questions(toy: Toy, tmp_path: Path, query: str, answer: list[tuple[object, ...]]) -> None:
    toy.record(tmp_path / "toy.dtap")
    with drawtap.open(tmp_path / "toy.dtap") as trace:
        assert [tuple(row) for row in trace.sql(query).fetchall()] == answer


def test_wildcards_must_agree() -> None:
    check: Callable[[str, str], bool] = lambda golden, line: _matches(golden, line, {})  # noqa: E731
    assert check("f(<a>, <a>)", "f(1, 1)")
    assert not check("f(<a>, <a>)", "f(1, 2)")
    assert not check("f(1)", "f(2)")
