"""What the tests of OpenVG share: programs that are built against the engine and recorded on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from drawtap import parts
from shared import once, run_recorder, write_headers

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "openvg_headers", write_headers)


@pytest.fixture(scope="session")
def program(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that compiles a program of this folder against the engine."""
    folder, libraries = tmp_path_factory.mktemp("openvg"), parts.part(parts.OPENVG).parent

    def build(name: str) -> Path:
        target = folder / name
        if not target.exists():
            paths = [f"-I{headers}", f"-L{libraries}"]
            sources = [str(HERE / f"{name}.c"), "-o", str(target)]
            needed = ["-l:libOpenVG.so.1", "-l:libEGL.so.1", "-lm", "-Wl,--as-needed", "-lGLESv2"]
            subprocess.run(["cc", "-Wall", "-Wextra", *paths, *sources, *needed], check=True)
        return target

    return build


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("EGL_PLATFORM", "surfaceless")
    monkeypatch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
    return os.environ | parts.openvg_environment()


@pytest.fixture
def recorded(program: Callable[[str], Path], environment: dict[str, str], tmp_path: Path) -> Callable[..., Path]:
    """Return a function that records a program of this folder on the engine."""

    def record(name: str, *options: str, arguments: tuple[str, ...] = ()) -> Path:
        trace = tmp_path / f"{'-'.join((name, *arguments))}.dtap"
        command = ["record", "--openvg", *options, "-o", trace, "--", program(name), *arguments]
        done = run_recorder(*command, environment=os.environ)
        assert done.returncode == 0, done.stderr
        return trace

    return record
