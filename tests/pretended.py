"""Programs that only pretend to draw, for a manager to look after."""

from __future__ import annotations

import array
import fcntl
import mmap
import os
import socket
import struct
import time
from collections.abc import Callable

from drawtap.live import pages
from drawtap.live.folder import Folder

PATIENCE_S = 300.0


def wait_for(condition: Callable[[], object], what: str = "it") -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.005)


class PretendedProgram:
    """The program's side: a page of statistics, a connection, a control page."""

    def __init__(
        self,
        folder: Folder,
        *,
        greet: bool = True,
        size: int = pages.STATS_BYTES,
        seal: bool = True,
        own_ns: int = 0,  # least time between two frames that the program was started with
    ) -> None:
        self.fd = os.memfd_create("drawtap-stats", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        if size >= 64:
            os.pwrite(self.fd, struct.pack("<QII", pages.STATS_MAGIC, pages.VERSION, os.getpid()), 0)
            os.pwrite(self.fd, struct.pack("<Q", own_ns), pages._OWN_INTERVAL)
        if seal:
            fcntl.fcntl(self.fd, pages._F_ADD_SEALS, pages.SEAL_SHRINK | pages.SEAL_GROW | pages.SEAL_SEAL)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connect(str(folder.programs))
        self.socket.settimeout(PATIENCE_S)
        self.control: mmap.mmap | None = None
        self.shown = 0
        if greet:
            self.hello()
            assert self.hear_welcome()

    def _connect(self, path: str) -> None:
        def connected() -> bool:
            try:
                self.socket.connect(path)
            except BlockingIOError:  # as many as the manager's queue takes wait already
                return False
            return True

        self.socket.setblocking(False)
        wait_for(connected, "room in the queue")

    def hello(self, data: bytes | None = None, *, descriptors: int = 1) -> None:
        packet = pages.HELLO.pack(pages.MAGIC, pages.VERSION, os.getpid(), 0, b"/usr/bin/pretended", b"egl")
        rights = array.array("i", [self.fd] * descriptors)
        self.socket.sendmsg(
            [packet if data is None else data],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if descriptors else [],
        )

    def hear_welcome(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self.socket, 100, 2)
        if len(data) != pages.WELCOME.size or not pages.WELCOME.unpack(data)[2]:
            return False
        assert len(fds) == 1
        self.control = mmap.mmap(fds[0], pages.CONTROL_BYTES, prot=mmap.PROT_READ)
        os.close(fds[0])
        return True

    def show(self, frames: int, every_ns: int, *, slot: int = 0, key: int = 77) -> None:
        """Have shown frames at even distances up to now."""
        now = time.monotonic_ns()
        at = pages.STATS_HEADER + slot * pages.SURFACE_BYTES
        for i in range(frames):
            place = (self.shown + i) % pages.RING
            shown_ns = now - (frames - 1 - i) * every_ns
            os.pwrite(self.fd, struct.pack("<QII", shown_ns, 0, 1000), at + 4096 + 16 * place)
        self.shown += frames
        os.pwrite(self.fd, pages._SURFACE.pack(key, 0, 1, 1, 2, 640, 480, 1, 5, self.shown, 0, 0, 0), at)
        os.pwrite(self.fd, struct.pack("<Q", self.shown), pages._ALL_FRAMES)

    def _u64(self, at: int) -> int:
        assert self.control is not None
        return int(struct.unpack_from("<Q", self.control, at)[0])

    @property
    def interval_ns(self) -> int:
        return self._u64(pages._INTERVAL)

    @property
    def lease_ns(self) -> int:
        return self._u64(pages._LEASE)

    def close(self) -> None:
        self.socket.close()
        os.close(self.fd)
