"""The reader core, built with AddressSanitizer and UBSan, against files that are torn, flipped and hostile.

`fuzz_core.cc` opens every one, reads every table and every column, prints the text; any report of a sanitizer ends it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import sanitized
import writer
from drawtap.instrument import generate_player_vk
from shared import once, steps
from writer import Writer, blob, f32, small_trace, strings, text

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def fuzz_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "fuzz_core", build)


def build(folder: Path) -> Path:
    """Build the program in `folder`."""
    native, generated = ROOT / "native", folder / "play-vk"
    generate_player_vk.main(["--output", str(generated)])
    sources = [
        *sorted((native / "core").glob("*.cc")),
        *(native / f"abi/{name}.cc" for name in ("core", "export")),
        *sorted((native / "export").glob("*.cc")),
        *(native / f"edit/{name}.cc" for name in ("check", "vulkan_check", "vulkan_check_commands")),
        *(native / f"player/vulkan/{name}.cc" for name in ("arguments", "channels", "relocation", "running", "stores")),
        *sorted(generated.glob("*.cc")),
        *sanitized.HASH,
        native / "state/feed.cc",
        native / "common/container.cc",
        native / "common/signatures.cc",
        *(native / f"peers/{name}.cc" for name in ("apitrace_export", "apitrace_values", "apitrace_writer", "snappy")),
        ROOT / "tests/native/fuzz_core.cc",
    ]
    rooms = (generated, *(native / room for room in ("player/vulkan", "mirror", "third_party")))
    return sanitized.build(folder / "fuzz_core", sources, libraries=("zstd", "pthread", "dl"), includes=rooms)


def tiny(*, codec: int = writer.STORE) -> Writer:
    """Little of much: two threads that interleave, an array, a blob, strings, a mark."""
    names = ("glEnable", "glUniform4fv", "glShaderSource", "eglSwapBuffers", "dtapOrder")
    kept, keep = [], True
    for line in writer.SIGNATURES.splitlines():
        if line.startswith("F"):
            keep = line.split("\t")[3] in names
        elif line.startswith("G"):
            keep = line.split("\t")[1] == "Cap"
        if keep:
            kept.append(line)
    w = Writer("\n".join(kept) + "\n", codec=codec)
    a, b = w.thread(), w.thread(context=2)
    a.call("glEnable", cap=2929, start=1000, duration=5)
    a.call("glUniform4fv", location=1, count=1, value=f32(1), start=1200, duration=5)
    a.tap("dtapOrder", order=1).call("eglSwapBuffers", dpy=1, surface=2, result=1, start=1300, duration=5)
    b.call("glUniform4fv", location=2, count=2, value=blob(b"12345678"), start=1100, duration=5)
    b.tap("dtapOrder", order=2).call(
        "glShaderSource", shader=1, count=1, string=strings("a"), length=writer.NULL, start=1400
    )
    return w


def run(program: Path, mode: str, path: Path, step: int = 1, seed: int = 0) -> dict[str, int]:
    environment = os.environ | {"ASAN_OPTIONS": sanitized.OPTIONS}
    done = subprocess.run(
        [str(program), mode, str(path), str(step), str(seed)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-500:]
    words = done.stdout.split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


@pytest.mark.parametrize("footer", [True, False])
@pytest.mark.parametrize("codec", [writer.STORE, writer.ZSTD])
def test_whole_files(fuzz_core: Path, tmp_path: Path, codec: int, footer: bool) -> None:
    counts = run(fuzz_core, "read", small_trace(codec=codec).write(tmp_path / "t.dtap", footer=footer))
    assert counts["opened"] == 2 and counts["rows"] > 100


def test_cut_at_every_byte(fuzz_core: Path, tmp_path: Path) -> None:
    path = tiny().write(tmp_path / "t.dtap")
    size = path.stat().st_size
    step = steps(11, 1)
    counts = run(fuzz_core, "truncate", path, step)
    assert counts["runs"] == len(range(0, size, step))
    assert counts["opened"] == sum(at >= 32 for at in range(0, size, step))  # all that have a file header


@pytest.mark.parametrize(("mode", "step"), [("flip", 5), ("reseal", 3), ("sizes", 2)])
def test_damage_everywhere(fuzz_core: Path, tmp_path: Path, mode: str, step: int) -> None:
    counts = run(fuzz_core, mode, tiny().write(tmp_path / "t.dtap"), steps(step * 16, step) | 1)
    assert counts["opened"] > counts["runs"] * 0.9


def test_compressed_blocks_that_are_damaged(fuzz_core: Path, tmp_path: Path) -> None:
    assert run(fuzz_core, "reseal", tiny(codec=writer.ZSTD).write(tmp_path / "t.dtap"), steps(29, 7))["opened"] > 0


@pytest.mark.parametrize(("mode", "step"), [("truncate", 23), ("reseal", 17), ("sizes", 9)])
def test_damaged_recordings_as_c_source(
    fuzz_core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, step: int
) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    monkeypatch.setenv("FUZZ_EXPORT", str(folder))
    assert run(fuzz_core, mode, tiny().write(tmp_path / "t.dtap"), steps(step * 8, step) | 1)["opened"] > 0
    assert (folder / "frame_list.h").exists()


def test_a_block_that_claims_to_be_huge(fuzz_core: Path, tmp_path: Path) -> None:
    """A few bytes that decompress to a gigabyte are refused by their sizes, not tried."""
    w = Writer(codec=writer.ZSTD)
    w.annotate("x" * (200 << 20))
    w.thread().call("glPushDebugGroup", source=1, id=1, length=1, message=text("a"), duration=1)
    assert run(fuzz_core, "read", w.write(tmp_path / "t.dtap"))["opened"] == 2
