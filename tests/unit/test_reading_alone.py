"""What `make demo` compiles of core and player reads and plays recordings, and names what it leaves out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from drawtap import parts
from drawtap.parts import CORE, DRAINER, PLAYER, PLAYER_ONLY, PRELOAD, READING, SIGNATURES, TAP, part
from writer import small_trace

BUILD = Path(__file__).parents[2] / "build/native"
_SOFTWARE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}


_ASKED = """
import json, sys
from shared import run_drawtap
done = [run_drawtap(*words) for words in json.load(sys.stdin)]
json.dump([(answer.returncode, answer.stdout, answer.stderr) for answer in done], sys.stdout)
"""


@dataclass(frozen=True)
class Answer:
    """What `drawtap WORDS` did."""

    code: int
    out: str
    err: str


def _ask(environment: Mapping[str, str], *words: list[str]) -> list[Answer]:
    """Run command lines in another process: this one may have loaded the parts."""
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", _ASKED]
    variables = {**environment, "PYTHONPATH": tests}
    done = subprocess.run(command, input=json.dumps(words), capture_output=True, text=True, env=variables, check=True)
    return [Answer(*answer) for answer in json.loads(done.stdout)]


@pytest.mark.exhaustive
def test_they_read_and_play_and_say_that_they_do_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (BUILD / "build.ninja").is_file():
        pytest.skip(f"{BUILD} is not configured: make build does it")
    subprocess.run(
        ["cmake", "--build", BUILD, "--target", "drawtap-reading", PLAYER_ONLY], check=True, capture_output=True
    )
    recording = tmp_path / "small.dtap"
    small_trace().write(recording)
    native = tmp_path / "native"
    native.mkdir()
    alone = BUILD / "native/player" / PLAYER_ONLY
    for file in (BUILD / "native/core" / READING, alone, part(SIGNATURES), part(DRAINER)):
        shutil.copy(file, native)
    environment = {**os.environ, **_SOFTWARE, "DRAWTAP_NATIVE": str(native)}

    target = tmp_path / "x.dtap"
    refused = (["edit", "--keep", "#0"], ["export", "-f", "apitrace"], ["join", str(recording)])
    rows, *answers, played, listed = _ask(
        environment,
        ["sql", str(recording), "SELECT count(*) AS n FROM calls", "--json"],
        *([verb, str(recording), *options, "-o", str(target)] for verb, *options in refused),
        ["replay", str(recording)],
        ["profile", str(recording), "--list"],
    )
    assert (rows.code, '"n": 1' in rows.out) == (0, True), rows.err
    for answer in answers:
        assert answer.code == 3, answer.out
        assert "was built for reading alone" in answer.err and "hint: make build" in answer.err
    assert not target.exists()
    assert (played.code, "played   15 calls" in played.out) == (0, True), (played.out, played.err)
    assert listed.code == 3 and f"{PLAYER} is missing from" in listed.err, listed.err
    assert "hint: make build" in listed.err
    for asked in (["--metrics"], ["--serve", "--look", str(recording)]):
        answer = subprocess.run([alone, *asked], capture_output=True, text=True, env=environment, timeout=300)
        assert (answer.returncode, "was built for playing alone" in answer.stderr) == (3, True), answer.stderr
    monkeypatch.setenv("DRAWTAP_NATIVE", str(native))
    assert parts.player().name == PLAYER_ONLY
    (native / PLAYER).touch()
    assert parts.player().name == PLAYER


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
    answers = _ask({**os.environ, "DRAWTAP_NATIVE": str(native)}, *words)
    assert len(answers) == len(_LACKING)
    for line, answer in zip(_LACKING, answers, strict=True):
        assert answer.code == 3, (line, answer.err)
        assert re.match(
            r"drawtap: error: (libdrawtap-\w+\.so|drawtap-\w+) is missing from .*\nhint: make build", answer.err
        ), line
    assert not list(tmp_path.glob("new*"))
