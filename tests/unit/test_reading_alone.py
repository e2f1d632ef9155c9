"""What `make demo` compiles of the core reads recordings, and names what it leaves out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drawtap.parts import CORE, DRAINER, PRELOAD, READING, SIGNATURES, TAP, part
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


# Verbs that lack a part in a tree where `make demo` has only compiled what records and reads.
_LACKING = (
    "shaders FILE",
    "textures FILE -o new",
    "state FILE #0",
    "report FILE -o new",
    "slower FILE FILE",
    "extract FILE --frames 0 -o new",
    "simplify FILE -o new",
    "replay FILE",
    "compare FILE FILE",
    "image FILE #0 -o new.png",
    "profile FILE --list",
    "verify FILE",
    "record --ring 10s -o new -- true",
    "synthesize --set triangles=10 -o new",
)
_ASKED = """
import json, sys
from shared import run_drawtap
done = [run_drawtap(*words) for words in json.load(sys.stdin)]
json.dump([(answer.returncode, answer.stderr) for answer in done], sys.stdout)
"""


def test_verbs_name_the_part_that_they_lack(tmp_path: Path) -> None:
    native = tmp_path / "native"
    native.mkdir()
    for name in (CORE, SIGNATURES, DRAINER, TAP, PRELOAD):
        (native / name).symlink_to(part(name))
    recording = tmp_path / "small.dtap"
    small_trace().write(recording)
    words = [
        [word.replace("FILE", str(recording)).replace("new", str(tmp_path / f"new{i}")) for word in line.split()]
        for i, line in enumerate(_LACKING)
    ]
    # Another process: this one may have loaded the parts.
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "DRAWTAP_NATIVE": str(native), "PYTHONPATH": tests}
    command = [sys.executable, "-c", _ASKED]
    done = subprocess.run(command, input=json.dumps(words), capture_output=True, text=True, env=environment, check=True)
    answers = json.loads(done.stdout)
    assert len(answers) == len(_LACKING)
    for line, (code, text) in zip(_LACKING, answers, strict=True):
        assert code == 3, (line, text)
        assert re.match(
            r"drawtap: error: (libdrawtap-\w+\.so|drawtap-\w+) is missing from .*\nhint: make build", text
        ), line
    assert not list(tmp_path.glob("new*"))
