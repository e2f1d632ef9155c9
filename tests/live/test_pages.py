"""The pages between program and manager: both sides mean the same bytes, and hostile pages are refused."""

from __future__ import annotations

import fcntl
import math
import os
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from drawtap.errors import InputError
from drawtap.live import pages
from drawtap.live.program import Limit, Pacing, Program, Surface

_OFFSETS = {
    "dt_live_control.word": pages._WORD,
    "dt_live_control.lease_ns": pages._LEASE,
    "dt_live_control.interval_ns": pages._INTERVAL,
    "dt_live_control.pacing": pages._PACING,
    "dt_live_control.spin_ns": pages._SPIN,
    "dt_live_control.letters": pages._LETTERS,
    "dt_live_control.surfaces": pages._LIMITS,
    "dt_live_stats.recording": pages._RECORDING,
    "dt_live_stats.letters": 20,
    "dt_live_stats.frames": pages._ALL_FRAMES,
    "dt_live_stats.seen_word": pages._SEEN_WORD,
    "dt_live_stats.values": pages._VALUES,
    "dt_live_value.set_ns": 40,
    "dt_live_value.value": 56,
    "dt_live_surface.frames": 48,
    "dt_live_surface.ring": 4096,
    "dt_live_surface.handle": 24,
    "dt_live_surface.swap_interval": 40,
    "dt_live_frame.wait_ns": 8,
    "dt_live_frame.swap_ns": 12,
}
_SIZES = {
    "dt_live_surface": pages.SURFACE_BYTES,
    "dt_live_frame": pages._FRAME.size,
    "dt_live_hello": pages.HELLO.size,
    "dt_live_welcome": pages.WELCOME.size,
    "dt_live_letter": pages.LETTER.size,
    "dt_live_value": pages._VALUE.size,
}
_HEADER = Path(__file__).parents[2] / "native" / "common" / "live.h"


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_python_and_c_lay_the_pages_out_alike(tmp_path):
    asserts = [f"static_assert(offsetof({k.replace('.', ', ')}) == {v});" for k, v in _OFFSETS.items()]
    asserts += [f"static_assert(sizeof({k}) == {v});" for k, v in _SIZES.items()]
    asserts.append(f"static_assert(DT_LIVE_STATS_BYTES == {pages.STATS_BYTES});")
    asserts.append(f"static_assert(sizeof(dt_live_control) <= {pages.CONTROL_BYTES});")
    source = tmp_path / "layout.cc"
    source.write_text(f'#include "{_HEADER}"\n#include <stddef.h>\n' + "\n".join(asserts))
    done = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_constants_are_those_of_the_header():
    text = _HEADER.read_text()
    numbers = {m[1]: int(m[2], 0) for m in re.finditer(r"(DT_LIVE_\w+)\s*=?\s*(0x[0-9a-f]+|\d+)u?(?:ll)?\b", text)}
    assert numbers["DT_LIVE_CONTROL_MAGIC"] == pages.CONTROL_MAGIC
    assert numbers["DT_LIVE_STATS_MAGIC"] == pages.STATS_MAGIC
    assert numbers["DT_LIVE_MAGIC"] == pages.MAGIC
    assert numbers["DT_LIVE_RING"] == pages.RING and numbers["DT_LIVE_SURFACES"] == pages.SURFACES
    assert numbers["DT_LIVE_VALUES"] == pages.VALUES
    assert numbers["DT_LIVE_REFUSED"] == pages.LETTER_REFUSED and numbers["DT_LIVE_TRACE"] == pages.LETTER_TRACE
    assert numbers["DT_LIVE_OVER"] == pages.LETTER_OVER and numbers["DT_LIVE_MARK"] == pages.LETTER_MARK


class _FakeProgram:
    """The program's side of its page."""

    def __init__(self, size: int = pages.STATS_BYTES, seals: int = pages.SEAL_SHRINK | pages.SEAL_SEAL):
        self.fd = os.memfd_create("stats", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.write(0, struct.pack("<QII", pages.STATS_MAGIC, pages.VERSION, 7))
        if seals:
            fcntl.fcntl(self.fd, pages._F_ADD_SEALS, seals)
        self.frames = 0

    def write(self, at: int, data: bytes) -> None:
        os.pwrite(self.fd, data, at)

    def show(self, slot: int, key: int, number: int, times: list[int], wait_ns: int = 0) -> None:
        at = pages.STATS_HEADER + slot * pages.SURFACE_BYTES
        for i, time_ns in enumerate(times):
            place = (number + i) % pages.RING
            self.write(at + 4096 + 16 * place, struct.pack("<QII", time_ns, wait_ns, 1000))
        self.frames += len(times)
        total = number + len(times)
        header = pages._SURFACE.pack(key, 0, 1, 0, 0xABC, 640, 480, 1, 5, total, 0, 0, 0)
        self.write(at, header)
        self.write(pages._ALL_FRAMES, struct.pack("<Q", self.frames))


def test_frames_of_two_surfaces_are_told_apart():
    program = _FakeProgram()
    page = pages.StatsPage(program.fd)
    now = time.monotonic_ns()
    ms = 1_000_000
    program.show(0, 11, 0, [now - 1000 * ms + i * 10 * ms for i in range(100)], wait_ns=4 * ms)
    program.show(1, 12, 0, [now - 1000 * ms + i * 50 * ms for i in range(20)])
    one, two = page.surfaces(now)
    assert (one.key, one.kind, one.handle, one.width, one.swap_interval) == (11, "egl", 0xABC, 640, 1)
    assert one.fps(now) == pytest.approx(100, rel=0.01) and two.fps(now) == pytest.approx(20, rel=0.06)
    assert one.percentiles(50, 99) == (10 * ms, 10 * ms)
    assert (one.work_ns == 6 * ms).all()
    # Shown no more: the rate goes down although no frame comes.
    assert one.fps(now + 500 * ms) < 70
    assert one.fps(now + 3000 * ms) == 0
    known = Program(1, program.fd, "p", surfaces=(two, one))
    assert known.surface == one
    program.show(0, 11, 100, [now + ms])
    assert page.surfaces(now + ms)[0].frames == 101
    assert len(page.surfaces(now + ms)[1].shown_ns) == 20
    page.close()


def test_a_frame_that_is_shown_while_others_are_looked_at_is_not_lost():
    program = _FakeProgram()
    page = pages.StatsPage(program.fd)
    begin = time.monotonic_ns()
    program.show(0, 11, 0, [begin - 2, begin - 1])
    time.sleep(0.001)
    program.show(0, 11, 2, [begin + 500_000])
    (surface,) = page.surfaces(begin)
    assert surface.shown_ns.tolist() == [begin - 2, begin - 1, begin + 500_000]
    page.close()


def test_what_was_handed_out_stays_as_it_was_while_frames_go_on():
    program = _FakeProgram()
    page = pages.StatsPage(program.fd)
    ms = 1_000_000
    begin = time.monotonic_ns()
    shown = [
        begin + i * 5 * ms for i in range(4000)
    ]  # 20 s: the rows of the last four move to new memory several times
    handed = []
    for i in range(0, len(shown), 50):
        program.show(0, 11, i, shown[i : i + 50], wait_ns=i)
        now = shown[i + 49] + ms
        (surface,) = page.surfaces(now)
        kept = [t for t in shown[: i + 50] if t >= now - 4000 * ms]
        waits = [j // 50 * 50 for j in range(i + 50 - len(kept), i + 50)]
        handed.append((surface, kept, waits))
    for surface, kept, waits in handed:
        assert surface.shown_ns.tolist() == kept
        assert surface.wait_ns.tolist() == waits
        assert (surface.swap_ns == 1000).all() and surface.lost == 0
    page.close()


def test_a_ring_that_went_round_says_what_was_lost():
    program = _FakeProgram()
    page = pages.StatsPage(program.fd)
    now = time.monotonic_ns()
    program.show(0, 11, 0, [now - 100])
    page.surfaces(now)
    program.show(0, 11, 1, [now + i for i in range(3 * pages.RING)])
    (surface,) = page.surfaces(now + 1_000_000)
    assert surface.frames == 3 * pages.RING + 1
    # The oldest of the ring is where the next frame is being written.
    assert surface.lost == 2 * pages.RING + 1
    assert len(surface.shown_ns) == pages.RING
    page.close()


def test_nonsense_on_the_page_is_no_danger():
    program = _FakeProgram()
    page = pages.StatsPage(program.fd)
    rng = np.random.default_rng(1)
    for _ in range(50):
        program.write(16, rng.bytes(pages.STATS_BYTES - 16))
        now = time.monotonic_ns()
        for surface in page.surfaces(now):
            assert len(surface.shown_ns) == len(surface.wait_ns) == len(surface.swap_ns) <= 60 * pages.RING
            assert (np.diff(surface.shown_ns) >= 0).all()
            assert surface.fps(now) >= 0
    page.close()


@pytest.mark.parametrize(
    ("size", "seals", "what"),
    [
        (pages.STATS_BYTES, 0, "not sealed"),
        (pages.STATS_BYTES, pages.SEAL_GROW, "not sealed"),
        (pages.STATS_BYTES, pages.SEAL_SHRINK, "not sealed"),  # the seal could not be taken back, but why not all
        (4096, pages.SEAL_SHRINK | pages.SEAL_SEAL, "4096 bytes"),
    ],
)
def test_a_page_that_could_shrink_is_not_mapped(size, seals, what):
    program = _FakeProgram(size, seals)
    with pytest.raises(InputError, match=what):
        pages.StatsPage(program.fd)


def test_numbers_of_a_program_that_are_none_are_left_out():
    program = _FakeProgram()
    now = time.monotonic_ns()
    for place, (name, set_ns, value) in enumerate(
        [(b"queue", now, 2.5), (b"nan", now, math.nan), (b"later", 1 << 63, 1.0), (b"x" * 40, now, 1.0), (b"", 0, 1.0),
         (b"behind the end", now, 1.0)]
    ):  # fmt: skip
        program.write(pages._VALUES + place * pages._VALUE.size, pages._VALUE.pack(name, set_ns, 3, value))
    seen = pages.StatsPage(program.fd).values(now)
    assert {name: (v.value, v.sets) for name, v in seen.items()} == {"queue": (2.5, 3), "x" * 40: (1.0, 3)}


def test_a_file_is_no_page(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\0" * pages.STATS_BYTES)
    with file.open("rb") as opened, pytest.raises(InputError, match=r"no memfd|not sealed"):
        pages.StatsPage(opened.fileno())


def test_the_control_page_cannot_be_written_by_others():
    page = pages.ControlPage()
    page.renew(123)
    page.hold(Limit(60, "why", pacing=Pacing.LATE), spin_ns=5)
    word = page.word
    page.hold(Limit(60, "why else", pacing=Pacing.LATE), spin_ns=5)
    assert page.word == word  # nothing changed: nobody is woken
    magic, version, _ = struct.unpack_from("<QII", os.pread(page.fd, 16, 0))
    assert (magic, version) == (pages.CONTROL_MAGIC, pages.VERSION)
    assert struct.unpack_from("<QQII", os.pread(page.fd, 24, pages._LEASE)) == (123, round(1e9 / 60), 1, 5)
    with pytest.raises(OSError):
        os.pwrite(page.fd, b"x", 0)
    with pytest.raises(OSError):
        os.ftruncate(page.fd, 10)
    fd = os.dup(page.fd)
    page.close()
    assert struct.unpack_from("<QQ", os.pread(fd, 16, pages._LEASE)) == (0, 0)
    os.close(fd)


def test_surfaces_have_limits_of_their_own():
    page = pages.ControlPage()
    assert page.hold_surface(5, Limit(30))
    assert page.hold_surface(6, Limit(20))
    assert page.hold_surface(5, None)
    assert page.hold_surface(99, None)
    entries = struct.unpack_from("<32Q", os.pread(page.fd, 256, pages._LIMITS), 0)
    assert entries[:4] == (0, 0, 6, 50_000_000)
    assert all(page.hold_surface(100 + i, Limit(10)) for i in range(15))
    assert not page.hold_surface(999, Limit(10))
    page.close()


def test_no_limit_stops_a_program():
    assert Limit(0.001).interval_ns == 1_000_000_000
    assert Limit(60).interval_ns == 16_666_667
    assert Surface(1).fps(1) == 0 and Program(1, 2, "x").fps(1) == 0 and Program(1, 2, "x").surface is None
