"""What the tests with a real GL need: built trap programs, an X server without a screen, a recording command line."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from shared import WHOLE, once, run_drawtap, run_recorder, x_server

TRAPS = Path(__file__).parent / "traps"
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT_S = 300


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("DRAWTAP_")}
    kept = {k: v for k, v in os.environ.items() if k.startswith("DRAWTAP_NATIVE")}
    mesa = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
    return {**inherited, **kept, **mesa, "DRAWTAP_MANAGER": "off", **extra}


# Mesa writes its shader cache from a thread of its own: descriptors would come and go at random.
_WITHOUT_CACHE = {"MESA_SHADER_CACHE_DISABLE": "true", "MESA_GLSL_CACHE_DISABLE": "true"}


@dataclass(frozen=True)
class Recorded:
    """What a program did under the tap, and the traces it left (one a process that drew)."""

    result: subprocess.CompletedProcess[str]
    traces: tuple[Path, ...]

    def count(self, function: str) -> int:
        """Return how many calls of `function` the traces have, all processes together."""
        query = f"SELECT count(*) AS n FROM calls WHERE name = '{function}'"
        return sum(int(str(row["n"])) for trace in self.traces for row in sql(trace, query))


def sql(trace: Path, query: str) -> list[dict[str, object]]:
    """Ask a trace through the command line and return its rows."""
    answer = run_drawtap("sql", trace, query, "--json")
    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    assert isinstance(rows, list)
    return rows


@dataclass(frozen=True)
class Bench:
    """Where the trap programs are, and how to run them."""

    programs: Path
    display: str | None
    caches: bool = True  # shaders that a program or a player compiled need not be compiled again

    def arguments(self, argv: Sequence[str]) -> list[str]:
        """Return the command line with `{}` replaced by the folder of the programs."""
        return [str(self.programs / argv[0]), *(word.format(self.programs) for word in argv[1:])]

    def environment(self) -> dict[str, str]:
        """Return the environment of a run: software rendering, no tap."""
        display = {"DISPLAY": self.display} if self.display else {}
        return _environment(display | ({} if self.caches else _WITHOUT_CACHE))

    def plain(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program as it is."""
        return subprocess.run(
            self.arguments(argv), capture_output=True, text=True, timeout=TIMEOUT_S, env=self.environment()
        )

    def recorded(self, argv: Sequence[str], folder: Path) -> Recorded:
        """Run a program through `drawtap record`."""
        trace = folder / "trap.dtap"
        command = ["record", "-o", trace, "--", *self.arguments(argv)]
        result = run_recorder(*command, environment=self.environment())
        return Recorded(result, tuple(sorted(folder.glob("trap*.dtap"))))

    def record(self, argv: Sequence[str], trace: Path, *options: str, window: bool = False, late: bool = False) -> Path:
        """Record a program of the folder, or with `window` any that opens one, and return the one trace.

        `late`: the program may be stopped before its first call, and then there is none.
        """
        command = ["record", "-q", *options, "-o", str(trace), "--"]
        environment = self.environment()
        if window:
            environment.pop("EGL_PLATFORM")
        command += argv if window else self.arguments(argv)
        done = run_recorder(*command, environment=environment)
        assert late or trace.exists(), done.stdout + done.stderr
        return trace

    def recorded_as(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Path:
        """Record any command in an environment of its own, and return its one trace."""
        trace = folder / f"{Path(command[0]).name}.dtap"
        done = run_recorder("record", "-o", trace, "--", *command, environment=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return trace


@pytest.fixture(scope="session")
def display() -> Iterator[str | None]:
    """Start an X server that draws into memory; None where Xvfb is not installed."""
    with x_server() as found:
        yield found


@pytest.fixture(scope="session")
def traps(tmp_path_factory: pytest.TempPathFactory, display: str | None) -> Bench:
    """Build the trap programs once."""
    return Bench(once(tmp_path_factory, "traps", partial(_built, TRAPS)), display, caches=False)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory, display: str | None) -> Bench:
    """Build our own small programs once."""
    return Bench(once(tmp_path_factory, "programs", partial(_built, PROGRAMS)), display)


def _built(sources: Path, folder: Path) -> Path:
    if platform.system() != "Linux":
        pytest.skip("the tap is for Linux")
    for tool in ("cmake", "ninja", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("the GL headers are not installed")
    # These programs do little but call OpenGL: an optimising compiler takes longer than they save.
    kind = () if WHOLE else ("-DCMAKE_BUILD_TYPE=None",)
    for command in (
        ["cmake", "-G", "Ninja", "-S", str(sources), "-B", str(folder), *kind],
        ["ninja", "-C", str(folder), "-j2"],
    ):
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stdout + built.stderr
    return folder
