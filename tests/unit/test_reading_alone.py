"""What `make demo` compiles of the core reads recordings, and names what it leaves out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drawtap.parts import DRAINER, READING, SIGNATURES, part
from writer import small_trace

BUILD = Path(__file__).parents[2] / "build/native"


def test_it_reads_and_says_that_it_does_no_more(tmp_path: Path) -> None:
    if not (BUILD / "build.ninja").is_file():
        pytest.skip(f"{BUILD} is not configured: make build does it")
    subprocess.run(["cmake", "--build", BUILD, "--target", "drawtap-reading"], check=True, capture_output=True)
    recording = tmp_path / "small.dtap"
    small_trace().write(recording)
    native = tmp_path / "native"
    native.mkdir()
    for file in (BUILD / "native/core" / READING, part(SIGNATURES), part(DRAINER)):
        shutil.copy(file, native)
    environment = {**os.environ, "DRAWTAP_NATIVE": str(native)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "drawtap", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)

    answer = run("sql", str(recording), "SELECT count(*) AS n FROM calls", "--json")
    assert (answer.returncode, '"n": 1' in answer.stdout) == (0, True), answer.stderr
    target = tmp_path / "x.dtap"
    for words in (("edit", "--keep", "#0"), ("export", "-f", "apitrace"), ("join", str(recording))):
        answer = run(words[0], str(recording), *words[1:], "-o", str(target))
        assert answer.returncode == 3, answer.stdout
        assert "was built for reading alone" in answer.stderr and "hint: make build" in answer.stderr
        assert not target.exists()
    # Where DuckDB asks for a table whose library is not there, the answer is ours and not DuckDB's.
    for words, lacks in (
        (("report", "-o", str(target)), "libdrawtap-extract.so"),
        (("shaders",), "libdrawtap-state.so"),
        (("sql", "SELECT * FROM redundancy"), "libdrawtap-extract.so"),
    ):
        answer = run(words[0], str(recording), *words[1:])
        assert answer.returncode == 3, (words, answer.stdout, answer.stderr)
        assert f"{lacks} is missing" in answer.stderr and "hint: " in answer.stderr, answer.stderr
        assert not target.exists()
