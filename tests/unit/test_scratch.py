"""Temporary folders: they go with their owners, and those of killed processes go with the next run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drawtap import scratch
from drawtap.scratch import Scratch
from drawtap.trace import engine
from writer import small_trace

ROOT = Path(__file__).parents[2]

# A process that makes a folder with something in it, says so, and waits.
OWNER = """
import sys
from drawtap.scratch import Scratch
made = Scratch(sys.argv[1])
open(made.name + "/file", "w").close()
print(made.name, flush=True)
sys.stdin.read()
"""

# The same, of a database whose rows do not fit into memory.
SPILLING = """
import sys
from drawtap.trace.result import connect
connection = connect()
connection.execute("SET threads = 1; SET memory_limit = '5000000 bytes'")
connection.execute("CREATE TABLE t AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(1000000) r(i)")
print("there", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this test and of what it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(parent: Path) -> Iterator[subprocess.Popen[str]]:
    process = _start(OWNER, parent)
    yield process
    process.kill()
    process.wait()


def _start(code: str, parent: Path) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", code, str(parent)], text=True, **pipes)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def test_a_folder_goes_with_its_block_its_object_and_its_process(parent: Path) -> None:
    with Scratch() as name:
        (Path(name) / "file").touch()
        assert (Path(name).parent, Path(name).stat().st_mode & 0o777) == (parent, 0o700)
    made = Scratch()
    assert len(list(parent.iterdir())) == 1
    del made
    assert list(parent.iterdir()) == []
    subprocess.run([sys.executable, "-c", OWNER, str(parent)], input="", check=True, text=True, capture_output=True)
    assert list(parent.iterdir()) == []


def test_a_folder_stays_while_its_owner_lives_and_goes_when_that_was_killed(
    parent: Path, owner: subprocess.Popen[str]
) -> None:
    (folder,) = parent.iterdir()
    scratch.sweep(str(parent))
    assert (folder / "file").exists()
    assert scratch.is_held(folder)
    owner.kill()
    owner.wait()
    assert not scratch.is_held(folder)
    scratch.sweep(str(parent))
    assert list(parent.iterdir()) == []


def test_a_child_that_has_the_lock_keeps_the_folder(parent: Path) -> None:
    made = Scratch()
    child = subprocess.Popen(["sleep", "1000"], pass_fds=(made.lock,))
    made._end.detach()  # as if this process had been killed
    scratch.os.close(made.lock)
    scratch.sweep(str(parent))
    assert len(list(parent.iterdir())) == 1
    child.kill()
    child.wait()
    scratch.sweep(str(parent))
    assert list(parent.iterdir()) == []


def test_what_is_not_ours_stays(parent: Path) -> None:
    (parent / "drawtap-notes").mkdir()
    (parent / f"{scratch.PREFIX}file").touch()
    (parent / "there").mkdir()
    (parent / f"{scratch.PREFIX}link").symlink_to(parent / "there")
    before = sorted(parent.rglob("*"))
    scratch.sweep(str(parent))
    assert sorted(parent.rglob("*")) == before


def test_the_next_run_removes_what_a_killed_database_had_spilled(parent: Path) -> None:
    killed = _start(SPILLING, parent)
    (spilled,) = parent.glob("drawtap-scratch-*/*")
    assert any(file.stat().st_size for file in spilled.iterdir())
    killed.kill()
    killed.wait()
    assert spilled.exists()
    trace = small_trace().write(parent / "t.dtap")
    command = [sys.executable, "-m", "drawtap", "sql", trace, "SELECT count(*) FROM calls"]
    subprocess.run(command, check=True, capture_output=True)
    assert [path.name for path in parent.iterdir()] == ["t.dtap"]


def test_a_missing_folder_for_temporary_files_does_not_matter_until_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with engine.connect(None) as connection:
        assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_the_doctor_tells_folders_in_use_from_others(parent: Path) -> None:
    from drawtap.capture import leftovers

    with Scratch() as held:
        gone = parent / f"{scratch.PREFIX}0123456789abcdef"
        gone.mkdir()
        found = {item.path: item.in_use for item in leftovers._temporary()}
    assert found == {Path(held): True, gone: False}


def test_temporary_folders_of_ours_are_made_in_one_place() -> None:
    """Folders and files beside a target (`dir=`) and files without a name need no sweep."""
    named = re.compile(r"\b(?:mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile)\((?!.*dir=)")
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "src").rglob("*.py"))
        if named.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []
