"""The hash of contents, which every part of drawtap shares: the vectors of no processor may change it."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import sanitized

ROOT = Path(__file__).resolve().parents[2]


def test_each_kind_of_vectors_hashes_as_xxhash(tmp_path: Path) -> None:
    program = tmp_path / "hash_check"
    sources = [ROOT / "tests/native/hash_check.cc", *sanitized.HASH]
    command = [sanitized.compiler(), "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, *sources]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    found = dict(line.split() for line in done.stdout.splitlines())
    flags = Path("/proc/cpuinfo").read_text().split() if platform.machine() == "x86_64" else []
    expected = {"chosen", *(("avx2",) if "avx2" in flags else ()), *(("avx512",) if "avx512f" in flags else ())}
    assert set(found) == expected
    assert set(found.values()) == {"0"}
    assert done.returncode == 0
