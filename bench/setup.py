"""What a benchmark run has at hand: programs, a display, folders, how long it may take."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.measure import Apitrace, BenchError, Drawtap, Native, Off, Variant, apitrace_wrapper

ROOT = Path(__file__).resolve().parents[1]
_PROGRAMS = {
    "many_calls": ROOT / "tests/gl/programs/many_calls.c",
    "two_draws": ROOT / "tests/gl/programs/two_draws.c",
    "uploads": ROOT / "bench/programs/uploads.c",
    "peak_memory": ROOT / "bench/programs/peak_memory.c",
    "counted_calls": ROOT / "bench/programs/counted_calls.c",
    "vulkan_calls": ROOT / "bench/programs/vulkan_calls.c",
    "paced": ROOT / "bench/programs/paced.c",
    "frames": ROOT / "tests/live/programs/frames.c",
    "churn": ROOT / "tests/gl/programs/churn.c",
    "gpu_scene": ROOT / "bench/programs/gpu_scene.c",
    "kernel_ctf": ROOT / "bench/programs/kernel_ctf.c",
}


_WITHOUT_DRIVER = ("paced",)


@dataclass(frozen=True)
class Setup:
    """Where to work and how thoroughly. `scratch` is emptied by whoever made it."""

    scratch: Path
    quick: bool

    @cached_property
    def apitrace(self) -> bool:
        """Whether apitrace is there to compare with."""
        return apitrace_wrapper() is not None

    def variants(self, *, off: bool = False, environment: dict[str, str] | None = None) -> list[Variant]:
        """Return native, drawtap and, where it is installed, apitrace."""
        extra = tuple((environment or {}).items())
        chosen: list[Variant] = [Native(extra), Drawtap(extra)]
        return chosen + ([Off(extra)] if off else []) + ([Apitrace(extra)] if self.apitrace else [])

    def program(self, name: str) -> str:
        """Return the path of a compiled test program, compiling it if need be."""
        source, binary = _PROGRAMS.get(name, ROOT / f"tests/gl/programs/{name}.c"), self.scratch / name
        built = Path(os.environ.get("BENCH_PROGRAMS", "/nonexistent")) / name  # for machines without a compiler
        if built.exists():
            return str(built)
        if not binary.exists():
            compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "cc"
            include = ROOT / "tests/gl/programs"
            libraries = [*_libraries(name), "-lpthread", "-ldl", "-lm"]
            command = [compiler, "-O2", "-w", f"-I{include}", str(source), "-o", str(binary)]
            if name in _WITHOUT_DRIVER:
                return self._without_driver(compiler, source, binary)
            done = subprocess.run(command + libraries, capture_output=True, text=True, check=False)
            if done.returncode:
                raise BenchError(f"{source.name} does not compile: {done.stderr[-800:]}")
        return str(binary)

    def library(self, name: str) -> Path:
        """Return the path of a library of `programs/`, compiling it if need be."""
        library = Path(os.environ.get("BENCH_PROGRAMS", "/nonexistent")) / f"{name}.so"
        library = library if library.exists() else self.scratch / f"{name}.so"
        if not library.exists():
            compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "cc"
            source = ROOT / f"bench/programs/{name}.c"
            command = [compiler, "-O2", "-w", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise BenchError(f"{source.name} does not compile: {done.stderr[-800:]}")
        return library

    def _without_driver(self, compiler: str, source: Path, binary: Path) -> str:
        # Against an EGL that draws nothing, which lies beside the program.
        fake = binary.parent / "fake" / "libEGL.so.1"
        fake.parent.mkdir(exist_ok=True)
        library = ["-shared", "-fPIC", "-Wl,-soname,libEGL.so.1", str(ROOT / "bench/programs/fake_egl.c"), "-ldl"]
        for words in (
            [*library, "-o", str(fake)],
            [str(source), str(fake), f"-Wl,-rpath,{fake.parent}", "-o", str(binary)],
        ):
            done = subprocess.run([compiler, "-O2", "-w", *words], capture_output=True, text=True, check=False)
            if done.returncode:
                raise BenchError(f"{source.name} does not compile: {done.stderr[-800:]}")
        return str(binary)

    @contextlib.contextmanager
    def display(self) -> Iterator[dict[str, str]]:
        """Run an X server without a screen; yield the environment that makes programs use it."""
        if not shutil.which("Xvfb"):
            raise BenchError("Xvfb is not installed (Debian package xvfb)")
        read, write = os.pipe()
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "640x480x24", "-noreset", "-nolisten", "tcp"],
            pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(write)
        try:
            with os.fdopen(read) as reader:
                number = reader.readline().strip()
            if not number:
                raise BenchError("Xvfb did not start")
            yield {"DISPLAY": f":{number}", "EGL_PLATFORM": ""}
        finally:
            server.terminate()
            server.wait()


def _libraries(name: str) -> list[str]:
    if name.startswith("vulkan"):
        return ["-lvulkan"]
    # As the tests link it; those of bench/programs are programs of OpenGL ES.
    listed = (ROOT / "tests/gl/programs/CMakeLists.txt").read_text()
    found = re.search(rf"^program\({re.escape(name)} ([\w ]+)", listed, re.MULTILINE)
    return [f"-l{word}" for word in (found[1] if found else "EGL GLESv2").split()]


def drawtap(*arguments: str) -> list[str]:
    """Return the command line that runs drawtap as a user does, with Python's start and all."""
    return [sys.executable, "-m", "drawtap", *arguments]
