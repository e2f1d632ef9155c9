"""The load of NVIDIA devices and its users, by NVIDIA's management library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.live.signal import Signals, source

_LIBRARY = "libnvidia-ml.so.1"
_SUCCESS, _NOT_FOUND, _NOT_SUPPORTED, _INSUFFICIENT_SIZE = 0, 6, 3, 7
_MOST = 4096


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Sample(ctypes.Structure):
    # nvmlProcessUtilizationSample_t
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("time_us", ctypes.c_ulonglong),
        ("sm", ctypes.c_uint),
        ("memory", ctypes.c_uint),
        ("encoder", ctypes.c_uint),
        ("decoder", ctypes.c_uint),
    ]


@source("nvml")
class Nvml:
    """The whole device by nvmlDeviceGetUtilizationRates, processes by nvmlDeviceGetProcessUtilization (not
    everywhere)."""

    def __init__(self, root: Path) -> None:
        name = _LIBRARY if root == Path("/") else str(root / _LIBRARY)
        try:
            self._nvml = ctypes.CDLL(name)
        except OSError:
            raise UnavailableError(f"there is no {_LIBRARY}: no NVIDIA driver here") from None
        code = self._call("nvmlInit_v2")
        if code != _SUCCESS:
            raise UnavailableError(f"{_LIBRARY} does not start: error {code}")
        count = ctypes.c_uint()
        self._devices: list[ctypes.c_void_p] = []
        if self._call("nvmlDeviceGetCount_v2", ctypes.byref(count)) == _SUCCESS:
            for index in range(count.value):
                device = ctypes.c_void_p()
                if self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device)) == _SUCCESS:
                    self._devices.append(device)
        if not self._devices:
            self.close()
            raise UnavailableError("NVIDIA's library knows of no device")
        self._seen_us = [0] * len(self._devices)

    def read(self, pids: Sequence[int], now_ns: int, look: Signals) -> None:
        """Read the devices; of a process the newest sample of each device counts."""
        for index, device in enumerate(self._devices):
            rates = _Utilization()
            if self._call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(rates)) == _SUCCESS:
                look.devices[f"nvidia{index}"] = rates.gpu / 100
            newest: dict[int, _Sample] = {}
            for sample in self._samples(index, device):
                self._seen_us[index] = max(self._seen_us[index], sample.time_us)
                if sample.pid not in newest or newest[sample.pid].time_us <= sample.time_us:
                    newest[sample.pid] = sample
            for pid in pids:
                if pid in newest:
                    look.busy[pid] = max(look.busy.get(pid, 0.0), min(newest[pid].sm, 100) / 100)

    def _samples(self, index: int, device: ctypes.c_void_p) -> Sequence[_Sample]:
        count, since = ctypes.c_uint(0), ctypes.c_ulonglong(self._seen_us[index])
        code = self._call("nvmlDeviceGetProcessUtilization", device, None, ctypes.byref(count), since)
        if code not in (_INSUFFICIENT_SIZE, _SUCCESS) or not 0 < count.value <= _MOST:
            return ()
        samples = (_Sample * count.value)()
        code = self._call("nvmlDeviceGetProcessUtilization", device, samples, ctypes.byref(count), since)
        return list(samples[: min(count.value, len(samples))]) if code == _SUCCESS else ()

    def _call(self, name: str, *arguments: object) -> int:
        try:
            return int(getattr(self._nvml, name)(*arguments))
        except AttributeError:
            return _NOT_SUPPORTED

    def close(self) -> None:
        """Give the library up."""
        self._call("nvmlShutdown")
