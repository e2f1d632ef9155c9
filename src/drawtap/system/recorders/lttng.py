"""LTTng: a session of its kernel tracer."""

from __future__ import annotations

import os
import shutil
import subprocess

from drawtap.errors import UnavailableError
from drawtap.system.recorder import RECORDERS, KernelRecordOptions, Recorded

# Where LTTng's probes have other names than the kernel's tracepoints.
_NAMES = {"kvm_entry": "kvm_x86_entry", "kvm_exit": "kvm_x86_exit"}


@RECORDERS.register("lttng")
class LttngRecorder:
    """Drives `lttng` with its kernel modules; thread and process of each event are recorded. Writes a folder of CTF.

    LTTng knows the events that it was built with: those it does not know are left out, with a note.
    """

    def __init__(self, wish: KernelRecordOptions) -> None:
        self._wish = wish
        self._session = f"drawtap-{os.getpid()}"
        self._left_out: list[str] = []
        self._made = False

    def start(self) -> None:
        """Create the session and start it."""
        if shutil.which("lttng") is None:
            raise UnavailableError("lttng is not installed", hint="Debian: apt install lttng-tools lttng-modules-dkms")
        self._do("create", self._session, f"--output={self._wish.output.absolute()}")
        self._made = True
        try:
            size = 1 << max(12, (self._wish.buffer_kib * 1024 // 4).bit_length() - 1)
            self._do("enable-channel", "--kernel", f"--session={self._session}", f"--subbuf-size={size}", "drawtap")
            channel = ("--kernel", f"--session={self._session}", "--channel=drawtap")
            for event in self._wish.events:
                name = event.partition(":")[2]
                try:
                    self._do("enable-event", *channel, _NAMES.get(name, name))
                except UnavailableError:
                    self._left_out.append(event)
            if len(self._left_out) == len(self._wish.events):
                raise UnavailableError("LTTng knows none of these events")
            for context in ("tid", "pid", "procname"):
                self._do("add-context", *channel, f"--type={context}")
            self._do("start", self._session)
        except BaseException:
            self._destroy()
            raise

    def stop(self) -> Recorded:
        """Stop and destroy the session."""
        try:
            self._do("stop", self._session)
        finally:
            self._destroy()
        size = sum(f.stat().st_size for f in self._wish.output.rglob("*") if f.is_file())
        notes = (f"LTTng does not know: {', '.join(self._left_out)}",) if self._left_out else ()
        return Recorded(self._wish.output, size, notes=notes)

    def _destroy(self) -> None:
        if self._made:
            self._made = False
            subprocess.run(["lttng", "--no-sessiond", "destroy", self._session], capture_output=True, check=False)

    def _do(self, *arguments: str) -> None:
        done = subprocess.run(
            ["lttng", "--no-sessiond", *arguments], capture_output=True, text=True, check=False, errors="replace"
        )
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())[:300]
            raise UnavailableError(
                f"lttng {arguments[0]}: {said or f'exit code {done.returncode}'}",
                hint="its kernel tracer needs lttng-modules, a running lttng-sessiond, and root or the group tracing",
            )
