"""The manager's figures for Prometheus, on loopback or a UNIX socket."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import math
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UnavailableError, UsageError
from drawtap.live.manager import Manager, bind
from drawtap.live.program import Program

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_SECONDS = 5.0  # for a scraper to say what it wants
_QUANTILES = (0.5, 0.95, 0.99)


def checked_address(text: str) -> tuple[str, int] | Path:
    """Return what `HOST:PORT` or `unix:PATH` means. Raises UsageError for what is not on this machine."""
    if text.startswith("unix:"):
        return Path(text[5:])
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
        number = int(port)
    except ValueError:
        raise UsageError(f"{text!r} is no address", hint="127.0.0.1:9105 or unix:PATH") from None
    if not local or not 0 <= number < 65536:
        raise UsageError(
            f"{text}: figures are given out on this machine only", hint="127.0.0.1:9105, or unix:PATH behind a proxy"
        )
    return host, number


class Exporter:
    """Answer `GET /metrics`."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._server: asyncio.Server | None = None
        self._path: Path | None = None

    async def start(self, address: tuple[str, int] | Path) -> str:
        """Listen, and return where."""
        if isinstance(address, Path):
            self._path = address
            self._server = await asyncio.start_unix_server(
                self._serve, sock=bind(address, socket.SOCK_STREAM, 0o600), limit=4096
            )
            return f"unix:{address}"
        try:
            self._server = await asyncio.start_server(self._serve, *address, limit=4096)
        except OSError as error:
            raise UnavailableError(f"cannot listen at {address[0]}:{address[1]}: {error.strerror}") from error
        return "{}:{}".format(*self._server.sockets[0].getsockname()[:2])

    async def close(self) -> None:
        """Stop to listen."""
        if self._server:
            self._server.close()
        if self._path:
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
            method, _, rest = head.partition(b" ")
            path = rest.partition(b" ")[0].partition(b"?")[0]
            status, body = (b"200 OK", self.text()) if path in (b"/metrics", b"/") else (b"404 Not Found", b"")
            if method not in (b"GET", b"HEAD"):
                status, body = b"405 Method Not Allowed", b""
            kind = b"text/plain; version=0.0.4; charset=utf-8"
            length = str(len(body)).encode()
            lines = (b"HTTP/1.0 " + status, b"Content-Type: " + kind, b"Content-Length: " + length, b"", b"")
            writer.write(b"\r\n".join(lines) + (body if method == b"GET" else b""))
            await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return bytes(generate_latest(registry))

    def collect(self) -> Iterator[Metric]:
        """Yield the figures of all programs."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        seen = self._manager.seen
        programs = seen.programs
        names = ["pid", "name", "uid", "surface"]
        own = names[:3]

        def labels(program: Program, *more: str) -> list[str]:
            return [str(program.pid), program.name, str(program.uid), *more]

        frames = CounterMetricFamily("drawtap_frames", "Frames shown", labels=names)
        fps = GaugeMetricFamily("drawtap_fps", "Frames a second over the last second", labels=names)
        times = GaugeMetricFamily(
            "drawtap_frame_seconds", "Percentiles of the frame times of the last second", labels=[*names, "quantile"]
        )
        limit = GaugeMetricFamily("drawtap_limit_fps", "Frames a second that are allowed", labels=[*own, "origin"])
        target = GaugeMetricFamily("drawtap_target_fps", "Frames a second that are wanted", labels=own)
        info = GaugeMetricFamily(
            "drawtap_program_info",
            "One for every program; observed: it was not started under drawtap and cannot be limited",
            labels=[*own, "class", "profile", "observed"],
        )
        alarms = GaugeMetricFamily("drawtap_alarm", "One while the alarm is on", labels=[*own, "rule"])
        values = GaugeMetricFamily("drawtap_value", "Numbers of the program's own", labels=[*own, "value"])
        observed = self._manager.observed
        for program in (*programs, *observed):
            # A program that the manager only observes has no number of its own there.
            known = "true" if program.id < 0 else "false"
            info.add_metric(labels(program, program.importance.value, program.profile, known), 1)
            for number, surface in enumerate(program.surfaces, 1):
                key = labels(program, str(number))
                frames.add_metric(key, surface.frames)
                fps.add_metric(key, surface.fps(seen.now_ns))
                quantiles = surface.since(seen.now_ns - 1_000_000_000).percentiles(*(q * 100 for q in _QUANTILES))
                for quantile, value in zip(_QUANTILES, quantiles, strict=True):
                    if not math.isnan(value):
                        times.add_metric([*key, str(quantile)], value / 1e9)
            if program.limit:
                limit.add_metric(labels(program, program.limit.origin), program.limit.fps)
            if program.target_fps:
                target.add_metric(labels(program), program.target_fps)
            for alarm in program.alarms:
                alarms.add_metric(labels(program, alarm.rule), 1)
            for name, own_number in program.values.items():
                values.add_metric(labels(program, name), own_number.value)
        yield from (info, frames, fps, times, limit, target, alarms, values)
        yield GaugeMetricFamily("drawtap_programs", "Programs that are managed", value=len(programs))
        yield GaugeMetricFamily("drawtap_observed_programs", "Programs that are only observed", value=len(observed))
        yield CounterMetricFamily("drawtap_refused", "Connections refused", value=self._manager.programs.refused)
        busy = GaugeMetricFamily("drawtap_device_busy", "Share of the device's time that is used", labels=["device"])
        for device, share in seen.signals.devices.items():
            busy.add_metric([device], share)
        yield busy
