"""perf: `perf record` of the chosen tracepoints on all CPUs."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time

from drawtap.errors import UnavailableError
from drawtap.system.recorder import RECORDERS, KernelRecordOptions, Recorded

_START_S, _STOP_S = 10.0, 60.0


@RECORDERS.register("perf")
class PerfRecorder:
    """Drives `perf record -k CLOCK_MONOTONIC`; it needs root or a `perf_event_paranoid` of -1. Writes perf.data."""

    def __init__(self, wish: KernelRecordOptions) -> None:
        self._wish = wish
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the recorder

    def start(self) -> None:
        """Start perf and wait until it records."""
        if shutil.which("perf") is None:
            raise UnavailableError("perf is not installed", hint="Debian: apt install linux-perf; or leave --with out")
        pages = 1 << max(0, (self._wish.buffer_kib // 4).bit_length() - 1)
        events = ",".join(self._wish.events)
        command = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-a", "-m", str(pages), "-e", events]
        output = self._wish.output
        output.unlink(missing_ok=True)
        # In a group of its own: Ctrl-C is for the program, and stop() ends perf.
        self._process = subprocess.Popen(
            [*command, "-o", str(output)], stdout=self._said, stderr=self._said, process_group=0
        )
        end = time.monotonic() + _START_S
        while not (output.exists() and output.stat().st_size) and time.monotonic() < end:
            if self._process.poll() is not None:
                raise UnavailableError(f"perf does not record: {self._words()}", hint=_PARANOID)
            time.sleep(0.02)

    def stop(self) -> Recorded:
        """Interrupt perf and wait until its file is whole."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        said = self._words()
        self._said.close()
        output = self._wish.output
        if not output.exists():
            raise UnavailableError(f"perf did not write {output}: {said}", hint=_PARANOID)
        lost = re.search(r"[Ll]ost (\d+)", said)
        return Recorded(output, output.stat().st_size, {0: int(lost[1])} if lost else {}, (said,) if lost else ())

    def _words(self) -> str:
        self._said.seek(0)
        return " ".join(self._said.read().decode(errors="replace").split())[:400]


_PARANOID = "it needs root (sudo), or kernel.perf_event_paranoid = -1 and readable /sys/kernel/tracing"
