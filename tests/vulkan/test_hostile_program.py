"""Programs that lie to Vulkan, above a loader that does nothing: the tap reads no further than memory goes."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from shared import run_drawtap

FUNCTIONS = ("vkCreateFence", "vkQueueSubmit", "vkQueueBindSparse", "vkAllocateMemory", "vkGetInstanceProcAddr")
_FENCE, _EXPORT, _SUBMIT, _ALLOCATE, _FROM_FD, _FROM_HOST = 8, 1000113000, 4, 5, 1000074000, 1000178000
_NOWHERE = 0x1357


def child(loader: str) -> None:
    """Call Vulkan with what lies: it runs under the tap."""
    library = ctypes.CDLL(loader)
    for name in FUNCTIONS:
        getattr(library, name).argtypes = [ctypes.c_void_p] * 4
    room = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(room))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(base + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0)

    def put(at: int, form: str, *values: int) -> int:
        struct.pack_into("<" + form, room, at, *values)
        return base + at

    def fence(chain: int) -> None:
        library.vkCreateFence(None, put(0, "iiQQ", _FENCE, 0, chain, 0), None, base + 3000)

    # A chain that leads to itself, one that leads nowhere, one that goes over the end of memory.
    fence(put(64, "iiQQ", _EXPORT, 0, base + 64, 1))
    fence(_NOWHERE)
    fence(put(64, "iiQQ", _EXPORT, 0, base + mmap.PAGESIZE - 8, 1))
    # One that ends, behind more structures than any program chains.
    link, count = struct.calcsize("iiQQ"), 100_000
    long = ctypes.create_string_buffer(link * count)
    at = ctypes.addressof(long)
    for i in range(count):
        struct.pack_into("iiQQ", long, link * i, _EXPORT, 0, at + link * (i + 1) if i + 1 < count else 0, 1)
    fence(at)
    # Counts: of submits, and of command buffers in one.
    submit = put(128, "iiQIIQQIIQIIQ", _SUBMIT, 0, 0, 0, 0, 0, 0, 2**32 - 1, 0, base + 3072, 0, 0, 0)
    library.vkQueueSubmit(None, 1, submit, None)
    library.vkQueueSubmit(None, 2**32 - 1, submit, None)
    for chained in (_FROM_FD, _FROM_HOST):
        chain = put(64, "iiQQQ", chained, 0, 0, 1, _NOWHERE)
        library.vkAllocateMemory(None, put(0, "iiQQQ", _ALLOCATE, 0, chain, 4096, 0), None, base + 3000)


def sparse(loader: str) -> None:
    """Bind memory piece by piece, and go on when that has left a window of 10 ms."""
    library = ctypes.CDLL(loader)
    library.vkQueueBindSparse(None, 0, None, None)
    time.sleep(0.02)
    library.vkQueueSubmit(None, 0, None, None)


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loader")
    (folder / "fake.c").write_text("\n".join(f"long {name}(void) {{ return 0; }}" for name in FUNCTIONS))
    made = folder / "libvulkan.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, folder / "fake.c", "-Wl,-soname,libvulkan.so.1"], check=True)
    return made


def recorded(loader: Path, program: str, *words: object) -> str:
    """Record a function of this file; return what `drawtap record` printed."""
    here = f"import sys; sys.path[:0] = {sys.path!r}; from vulkan.test_hostile_program import {program}; "
    line = [os.path.realpath("/proc/self/exe"), "-c", here + f"{program}({str(loader)!r})"]
    done = run_drawtap("record", *words, "--", *line)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def recording(loader: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A recording of `child`, and what `drawtap record` printed."""
    trace = tmp_path_factory.mktemp("hostile") / "t.dtap"
    return trace, recorded(loader, "child", "-o", trace)


def test_calls_are_whole_and_what_is_not_is_counted(recording: tuple[Path, str]) -> None:
    trace_path, said = recording
    with open_trace(trace_path) as trace:
        names = [row[0] for row in trace.sql("SELECT name FROM calls WHERE name NOT LIKE '%Addr' ORDER BY seq")]
        assert names == ["vkCreateFence"] * 4 + ["vkQueueSubmit"] * 2 + ["vkAllocateMemory"] * 2
        lengths = trace.sql('SELECT json_array_length(pCreateInfo.pNext) FROM "vkCreateFence" ORDER BY seq').fetchall()
        assert 1 < lengths[0][0] <= 512  # the one that leads to itself
        assert 1 < lengths[3][0] <= 512  # the long one
        [(buffers,)] = trace.sql('SELECT pSubmits[1].pCommandBuffers FROM "vkQueueSubmit" LIMIT 1').fetchall()
        assert buffers is None
        codes = dict(trace.sql("SELECT code, count(*) FROM notes GROUP BY code").fetchall())
    assert codes["tree-cut"] >= 1
    assert codes["vulkan-imported-memory"] == 1  # the first; the summary counts them
    text = "was imported: what is stored in it is not recorded"
    assert f"{text}: 2 times" in said
    assert text in run_drawtap("info", trace_path).stdout


def test_a_flight_recorder_that_keeps_everything_says_so(loader: Path, tmp_path: Path) -> None:
    """In its summary, in the file that it saved, and where that is shown."""
    said = recorded(loader, "sparse", "--ring", "10ms", "--trigger", "exit", "-o", tmp_path / "r.dtap")
    why = "vkQueueBindSparse is not followed yet"
    assert "all earlier calls of Vulkan are kept" in said
    assert why in said
    [saved] = tmp_path.iterdir()
    with open_trace(saved) as trace:
        notes = [json.loads(str(note)) for note in trace.info["annotations"]]
    assert [note["whole_because"] for note in notes if note["kind"] == "flight_recorder"] == [why]
    assert why in run_drawtap("info", saved).stdout
