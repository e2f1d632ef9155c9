"""GPU time of processes by the kernel's DRM drivers (Documentation/gpu/drm-usage-stats.rst)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.live.signal import Signals, source

_UNITS = {"": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_LINE = re.compile(r"^drm-([^:\n]+):[ \t]*(\S+)[ \t]*(\S*)", re.MULTILINE)


@dataclass
class _Client:
    # The client's use when it was last looked at: ns or cycles by engine. Values may go back: the largest stays.
    used: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)


@source("drm-fdinfo")
class DrmFdinfo:
    """Engines by `drm-engine-*` (ns) or `drm-cycles-*` beside `drm-total-cycles-*`, memory by `drm-total-*`.

    A client (`drm-client-id` of a `drm-pdev`) that several descriptors or processes share counts once in each process.
    """

    def __init__(self, root: Path) -> None:
        self._proc = root / "proc"
        if not (root / "dev/dri").is_dir() and not any((root / "sys/class/drm").glob("card*")):
            raise UnavailableError("there is no DRM device (/dev/dri, /sys/class/drm)")
        self._clients: dict[tuple[int, str, str], _Client] = {}
        self._then_ns = 0

    def read(self, pids: Sequence[int], now_ns: int, look: Signals) -> None:
        """Take the difference to the last look; the first look knows no shares."""
        span = now_ns - self._then_ns if self._then_ns else 0
        self._then_ns = now_ns
        seen: set[tuple[int, str, str]] = set()
        for pid in pids:
            shares: dict[str, float] = {}
            memory = 0
            any_client = False
            for (device, client), values in self._of(pid).items():
                any_client = True
                key = (pid, device, client)
                seen.add(key)
                known = self._clients.setdefault(key, _Client())
                for engine, share in known_shares(known, values, span).items():
                    name = f"{device}/{engine}"
                    shares[name] = shares.get(name, 0.0) + share
                memory += _memory(values)
            if any_client and span:
                look.busy[pid] = min(1.0, max(shares.values(), default=0.0))
            if memory:
                look.memory_bytes[pid] = memory
        self._clients = {key: value for key, value in self._clients.items() if key in seen}

    def _of(self, pid: int) -> dict[tuple[str, str], dict[str, tuple[int, str]]]:
        clients: dict[tuple[str, str], dict[str, tuple[int, str]]] = {}
        try:
            entries = list(os.scandir(self._proc / str(pid) / "fdinfo"))
        except OSError:
            return {}
        for entry in entries:
            try:
                text = Path(entry.path).read_text(errors="replace")
            except OSError:
                continue
            if "drm-driver:" not in text:
                continue
            raw = {m[1]: (m[2], m[3]) for m in _LINE.finditer(text)}
            key = (raw.get("pdev", raw.get("driver", ("", "")))[0], raw.get("client-id", (entry.name, ""))[0])
            clients.setdefault(key, {}).update({name: (int(v), unit) for name, (v, unit) in raw.items() if v.isdigit()})
        return clients

    def close(self) -> None:
        """Nothing is held."""


def known_shares(known: _Client, values: dict[str, tuple[int, str]], span: int) -> dict[str, float]:
    """Return the share of each engine that a client used since `known`, and bring that up to date."""
    shares: dict[str, float] = {}
    for name, (value, _) in values.items():
        kind, _, engine = name.partition("-")
        if kind not in ("engine", "cycles") or not engine or name.startswith("engine-capacity-"):
            continue
        before = known.used.get(name)
        known.used[name] = max(value, before or 0)
        capacity = max(values.get(f"engine-capacity-{engine}", (1, ""))[0], 1)
        if kind == "engine":
            if before is not None and span > 0:
                shares[engine] = max(value - before, 0) / span / capacity
            continue
        total = values.get(f"total-cycles-{engine}")
        if total is None:
            continue
        then = known.total.get(engine)
        known.total[engine] = total[0]
        if before is not None and then is not None and total[0] > then:
            shares[engine] = max(value - before, 0) / (total[0] - then) / capacity
    return shares


def _memory(values: dict[str, tuple[int, str]]) -> int:
    # drm-resident-* is what is there now, drm-memory-* its older spelling.
    for kind in ("resident-", "memory-"):
        sizes = [value * _UNITS.get(unit, 1) for name, (value, unit) in values.items() if name.startswith(kind)]
        if sizes:
            return sum(sizes)
    return 0
