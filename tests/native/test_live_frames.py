"""What the manager reads of programs' pages, with AddressSanitizer and UBSan: a program may write anything there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import sanitized

ROOT = Path(__file__).resolve().parents[2]


def test_a_page_of_nonsense_is_read_within_bounds(tmp_path: Path) -> None:
    sources = (ROOT / "native/core/live_frames.cc", ROOT / "tests/native/fuzz_live.cc")
    program = sanitized.build(tmp_path / "fuzz_live", sources, libraries=("pthread",))
    done = subprocess.run([str(program), "100000"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    kept, grown = map(int, done.stdout.split())
    assert kept > 0 and grown > 0
