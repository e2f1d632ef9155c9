"""The recorder's end of streams and its control socket, with AddressSanitizer and UBSan, against hostile peers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import sanitized

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    ROOT / "tests/native/fuzz_stream.cc",
    *(ROOT / f"native/drain/{name}.cc" for name in ("stream", "control", "proof")),
)


def test_peers_may_say_anything(tmp_path: Path) -> None:
    program = sanitized.build(tmp_path / "fuzz_stream", SOURCES, libraries=("pthread",))
    place = Path("/tmp") / f"dt-fuzz-{os.getpid()}-{os.urandom(4).hex()}"  # short: names of sockets are
    place.mkdir(mode=0o700)
    try:
        done = subprocess.run([program, "7", "40", place], capture_output=True, text=True, timeout=300)
    finally:
        shutil.rmtree(place)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]
