"""The recorder's end of streams and its control socket, with AddressSanitizer and UBSan, against hostile peers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("tests/native/fuzz_stream.cc", "native/drain/stream.cc", "native/drain/control.cc", "native/drain/proof.cc")
FLAGS = ("-std=c++20", "-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra")


def test_peers_may_say_anything(tmp_path: Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    program = tmp_path / "fuzz_stream"
    command = [compiler, *FLAGS, *(str(ROOT / s) for s in SOURCES), "-lpthread", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    place = Path("/tmp") / f"dt-fuzz-{os.getpid()}-{os.urandom(4).hex()}"  # short: names of sockets are
    place.mkdir(mode=0o700)
    try:
        done = subprocess.run([program, "7", "40", place], capture_output=True, text=True, timeout=300)
    finally:
        shutil.rmtree(place)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]
