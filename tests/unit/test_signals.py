"""Signals: every source on made-up trees as the kernel documents them, and on this machine where it has one."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from drawtap.errors import UnavailableError
from drawtap.live.signal import SOURCES, Sensors, Signals

SECOND = 1_000_000_000


def _fdinfo(root: Path, pid: int, fd: int, **values: str) -> None:
    folder = root / f"proc/{pid}/fdinfo"
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"drm-{k.replace('_', '-')}:\t{v}\n" for k, v in values.items())
    (folder / str(fd)).write_text(f"pos:\t0\nflags:\t02\n{lines}")


def _read(name: str, root: Path, pids: list[int], steps: list[tuple[int, object]]) -> list[Signals]:
    source = SOURCES.get(name)(root)
    drafts = []
    for now, change in steps:
        if callable(change):
            change()
        draft = Signals()
        source.read(pids, now, draft)
        drafts.append(draft)
    source.close()
    return drafts


def test_gpu_time_of_processes_as_drm_tells_it(tmp_path: Path) -> None:
    (tmp_path / "dev/dri").mkdir(parents=True)
    card = {"driver": "i915", "pdev": "0000:00:02.0"}

    def begin() -> None:
        _fdinfo(tmp_path, 7, 3, **card, client_id="11", engine_render="1000 ns", engine_video="0 ns",
                engine_capacity_video="2", resident_system="2048 KiB")  # fmt: skip
        _fdinfo(tmp_path, 7, 4, **card, client_id="11", engine_render="1000 ns")  # the same client again
        _fdinfo(tmp_path, 8, 3, driver="xe", pdev="1", client_id="1", cycles_rcs="100", total_cycles_rcs="1000")
        _fdinfo(tmp_path, 9, 3)  # a file that is no device

    def later() -> None:
        for fd in (3, 4):
            _fdinfo(tmp_path, 7, fd, **card, client_id="11", engine_render=f"{SECOND // 4 + 1000} ns",
                    engine_video=f"{SECOND // 4} ns", engine_capacity_video="2")  # fmt: skip
        _fdinfo(tmp_path, 8, 3, driver="xe", pdev="1", client_id="1", cycles_rcs="400", total_cycles_rcs="2000")

    def back() -> None:  # values may go back: nothing is used then, and what was counted is not counted again
        _fdinfo(tmp_path, 7, 3, **card, client_id="11", engine_render="5 ns")
        _fdinfo(tmp_path, 7, 4, **card, client_id="11", engine_render="5 ns")

    first, second, third, fourth = _read(
        "drm-fdinfo", tmp_path, [7, 8, 9, 10],
        [(SECOND, begin), (2 * SECOND, later), (3 * SECOND, back), (4 * SECOND, later)],
    )  # fmt: skip
    assert first.busy == {} and first.memory_bytes == {7: 2048 * 1024}
    assert second.busy == {7: pytest.approx(0.25), 8: pytest.approx(0.3)}
    assert third.busy == {7: 0.0, 8: 0.0} and fourth.busy[7] == 0.0


def test_devices_by_sysfs(tmp_path: Path) -> None:
    amd, intel = tmp_path / "sys/class/drm/card0/device", tmp_path / "sys/class/drm/card1/gt/gt0"
    amd.mkdir(parents=True)
    intel.mkdir(parents=True)
    (tmp_path / "sys/class/drm/card0-HDMI-A-1").mkdir()
    (amd / "gpu_busy_percent").write_text("37\n")
    (amd / "mem_busy_percent").write_text("5\n")
    (intel / "rc6_residency_ms").write_text("1000\n")
    drafts = _read(
        "sysfs", tmp_path, [],
        [
            (SECOND, None),
            (2 * SECOND, lambda: (intel / "rc6_residency_ms").write_text("1400\n")),
            (3 * SECOND, lambda: (amd / "gpu_busy_percent").write_text("EBUSY")),
        ],
    )  # fmt: skip
    assert drafts[0].devices == {"card0": 0.37, "card0/memory": 0.05}
    assert drafts[1].devices["card1"] == pytest.approx(0.6)
    assert drafts[2].devices == {"card0/memory": 0.05, "card1": 1.0}


def test_pressure(tmp_path: Path) -> None:
    folder = tmp_path / "proc/pressure"
    folder.mkdir(parents=True)
    (folder / "cpu").write_text("some avg10=12.50 avg60=3.00 avg300=1.00 total=123\nfull avg10=0.00 avg60=0 total=0\n")
    [draft] = _read("pressure", tmp_path, [], [(SECOND, None)])
    assert draft.pressure == {"cpu some": 0.125, "cpu full": 0.0}


def test_processor_time_and_waiting(tmp_path: Path) -> None:
    for thread, text in (("7", "1000 2000 3"), ("8", "0 0 1")):
        (tmp_path / f"proc/7/task/{thread}").mkdir(parents=True)
        (tmp_path / f"proc/7/task/{thread}/schedstat").write_text(text)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/self/schedstat").write_text("1 1 1")

    def later() -> None:
        (tmp_path / "proc/7/task/7/schedstat").write_text(f"{1000 + SECOND // 2} {2000 + SECOND // 10} 9")
        (tmp_path / "proc/7/task/8/schedstat").write_text(f"{SECOND // 4} 0 9")

    first, second = _read("sched", tmp_path, [7, 99], [(SECOND, None), (2 * SECOND, later)])
    assert first.cpu == {}
    assert second.cpu == {7: pytest.approx(0.75)} and second.waited == {7: pytest.approx(0.1)}


# A stand-in for NVIDIA's library: two devices, one of which tells of processes.
_NVML = """
#include <stddef.h>
typedef struct { unsigned pid; unsigned long long time_us; unsigned sm, memory, encoder, decoder; } sample;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** d) { *d = (void*)(size_t)(i + 1); return 0; }
int nvmlDeviceGetUtilizationRates(void* d, unsigned* u) { u[0] = d == (void*)1 ? 80 : 10; u[1] = 3; return 0; }
int nvmlDeviceGetProcessUtilization(void* d, sample* s, unsigned* n, unsigned long long since) {
  if (d != (void*)1) return 3;
  if (since >= 2000) return 6;
  if (!s || *n < 3) { *n = 3; return 7; }
  s[0] = (sample){7, 1000, 90, 0, 0, 0};
  s[1] = (sample){7, 2000, 40, 0, 0, 0};
  s[2] = (sample){8, 2000, 25, 0, 0, 0};
  *n = 3;
  return 0;
}
"""


def test_nvidia_devices_by_a_stand_in_for_the_library(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make the stand-in with")
    (tmp_path / "nvml.c").write_text(_NVML)
    library = str(tmp_path / "libnvidia-ml.so.1")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, str(tmp_path / "nvml.c")], check=True)
    first, second = _read("nvml", tmp_path, [7, 9], [(SECOND, None), (2 * SECOND, None)])
    assert first.devices == {"nvidia0": 0.8, "nvidia1": 0.1}
    assert first.busy == {7: 0.4} and second.busy == {}  # the newest sample, and each only once


def test_what_is_absent_says_why(tmp_path: Path) -> None:
    for name, _ in SOURCES.items():
        with pytest.raises(UnavailableError):
            SOURCES.get(name)(tmp_path)
    sensors = Sensors(tmp_path)
    signals = sensors.read([1], SECOND)
    assert set(signals.absent) == set(SOURCES.names()) and all(signals.absent.values())
    assert not sensors.present and signals.busy == {}
    assert "switched off" in Sensors(tmp_path, without=("nvml",)).absent["nvml"]


def test_a_source_that_fails_later_is_said_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "proc/pressure/cpu").write_text("some avg10=1.00")
    sensors = Sensors(tmp_path)
    assert sensors.present == ("pressure",)

    def broken(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(sensors._sources["pressure"], "read", broken)
    assert "gone" in sensors.read([], SECOND).absent["pressure"] and not sensors.present


def test_this_machine() -> None:
    # Whatever it has must be readable; processor time is on every kernel that we know.
    sensors = Sensors()
    pid = os.getpid()
    sensors.read([pid], time.monotonic_ns())
    until = time.thread_time_ns() + 20_000_000
    while time.thread_time_ns() < until:
        pass
    signals = sensors.read([pid], time.monotonic_ns())
    if "sched" in signals.absent:
        pytest.skip(f"sched: {signals.absent['sched']}")
    assert signals.cpu[pid] > 0 and all(0 <= share <= 1 for share in signals.devices.values())
    sensors.close()
