"""The little of BPF that watching functions from outside needs: maps, a program, uprobes on many functions, a ring.

Everything goes through bpf(2) by ctypes: no compiler, no kernel headers, no library. The one program is put together
here from instructions; nothing in it writes to a process. Constants are those of include/uapi/linux/bpf.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import select
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drawtap.errors import UnavailableError

_SYSCALL = {"x86_64": 321, "aarch64": 280}
# Where the first and the second argument of a function stand in struct pt_regs.
_ARGUMENTS = {"x86_64": (112, 104), "aarch64": (0, 8)}
_MAP_CREATE, _PROG_LOAD, _LINK_CREATE = 0, 5, 28
_RINGBUF, _KPROBE, _UPROBE_MULTI = 27, 2, 48
_KTIME, _PID_TGID, _RESERVE, _SUBMIT, _COOKIE = 5, 14, 131, 132, 174
_BUSY, _DISCARD = 1 << 31, 1 << 30

EVENT = np.dtype([("t", "<i8"), ("pid_tid", "<u8"), ("cookie", "<u8"), ("first", "<u8"), ("second", "<u8")])
_RECORD = np.dtype([("length", "<u4"), ("page", "<u4"), ("event", EVENT)])

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Probe:
    """A function to watch: `offset` in the file, and a number that its events carry."""

    offset: int
    cookie: int


class Watcher:
    """A loaded program with a ring of events; `attach` puts probes on the functions of a file.

    Raises UnavailableError with the reason where the kernel does not let us.
    """

    def __init__(self, *, ring_bytes: int = 1 << 20) -> None:
        machine = platform.machine()
        if machine not in _SYSCALL:
            raise UnavailableError(f"watching from outside is not written for {machine}")
        self._fds: list[int] = []
        self._links: dict[tuple[int, int], int] = {}
        self._ring_bytes = ring_bytes
        page = mmap.PAGESIZE
        self.ring = self._made(_MAP_CREATE, struct.pack("<IIII", _RINGBUF, 0, 0, ring_bytes), "a ring of events")
        try:
            self.program = self._load(_instructions(self.ring, machine))
            self._consumer = mmap.mmap(self.ring, page)
            self._data = mmap.mmap(self.ring, page + 2 * ring_bytes, prot=mmap.PROT_READ, offset=page)
        except BaseException:
            self.close()
            raise
        self._read_to = ctypes.c_uint64.from_buffer(self._consumer)
        self._poll = select.epoll()
        self._poll.register(self.ring, select.EPOLLIN)

    def _load(self, code: bytes) -> int:
        instructions = ctypes.create_string_buffer(code, len(code))
        licence = ctypes.create_string_buffer(b"GPL")
        log = ctypes.create_string_buffer(65536)
        attributes = struct.pack(
            "<IIQQIIQII16sII", _KPROBE, len(code) // 8, ctypes.addressof(instructions), ctypes.addressof(licence),
            1, len(log), ctypes.addressof(log), 0, 0, b"drawtap_swap", 0, _UPROBE_MULTI,
        )  # fmt: skip
        try:
            return self._made(_PROG_LOAD, attributes, "the program")
        except UnavailableError as error:
            said = log.value.decode(errors="replace").strip().splitlines()
            more = f": {said[-1]}" if said else ""
            raise UnavailableError(f"{error.message}{more}", hint=error.hint) from None

    def _made(self, command: int, attributes: bytes, what: str) -> int:
        fd = _bpf(command, attributes)
        if fd < 0:
            raise _refused(-fd, what)
        self._fds.append(fd)
        return fd

    def attach(self, path: Path, probes: Sequence[Probe]) -> bool:
        """Watch functions of a file in all processes that map it, now and later. False: this file is watched already.

        The file is known by device and inode: another path to it makes no second probe.
        """
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        if key in self._links or not probes:
            return False
        name = ctypes.create_string_buffer(os.fsencode(path))
        offsets = (ctypes.c_uint64 * len(probes))(*(p.offset for p in probes))
        cookies = (ctypes.c_uint64 * len(probes))(*(p.cookie for p in probes))
        attributes = struct.pack(
            "<IIIIQQQQIII", self.program, 0, _UPROBE_MULTI, 0, ctypes.addressof(name), ctypes.addressof(offsets), 0,
            ctypes.addressof(cookies), len(probes), 0, 0,
        )  # fmt: skip
        self._links[key] = self._made(_LINK_CREATE, attributes.ljust(64, b"\0"), f"probes on {path}")
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until there are events, at most so long."""
        return bool(self._poll.poll(seconds))

    def events(self) -> NDArray[np.void]:
        """Return the events since the last call, in the order in which they were reserved."""
        begin = self._read_to.value
        (end,) = struct.unpack_from("<Q", self._data, 0)
        count = (end - begin) // _RECORD.itemsize
        if count <= 0:
            return np.empty(0, EVENT)
        # The kernel maps the ring twice in a row, so that what wraps round can be read through.
        at = mmap.PAGESIZE + begin % self._ring_bytes
        records = np.frombuffer(self._data, _RECORD, count, at)
        unfinished = np.flatnonzero(records["length"] & _BUSY)
        records = records[: unfinished[0]] if len(unfinished) else records
        events_: NDArray[np.void] = records["event"][(records["length"] & _DISCARD) == 0].copy()
        self._read_to.value = begin + len(records) * _RECORD.itemsize
        return events_

    def close(self) -> None:
        """Take all probes away: links end with their descriptors."""
        if hasattr(self, "_poll"):
            self._poll.close()
        for fd in reversed(self._fds):
            os.close(fd)
        self._fds.clear()
        self._links.clear()
        if hasattr(self, "_read_to"):
            del self._read_to
            self._consumer.close()
            # numpy's views of it may live a little longer: then it goes with them.
            with contextlib.suppress(BufferError):
                self._data.close()


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    number = _SYSCALL[platform.machine()]
    done = _libc.syscall(ctypes.c_long(number), ctypes.c_int(command), buffer, ctypes.c_uint(len(attributes)))
    return int(done) if done >= 0 else -ctypes.get_errno()


def _refused(code: int, what: str) -> UnavailableError:
    if code in (errno.EPERM, errno.EACCES):
        return UnavailableError(
            f"the kernel does not let us make {what} ({os.strerror(code)})",
            hint="it takes root, or CAP_BPF and CAP_PERFMON: setcap, or AmbientCapabilities in a unit",
        )
    if code in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.E2BIG):
        return UnavailableError(
            f"this kernel ({platform.release()}) cannot make {what} ({os.strerror(code)})",
            hint="Linux 6.6 or newer with CONFIG_BPF_SYSCALL and CONFIG_UPROBES",
        )
    return UnavailableError(f"{what} cannot be made: {os.strerror(code)}")


# ---- the program -------------------------------------------------------------------------------------------


def _op(code: int, destination: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("<BBhi", code, source << 4 | destination, offset, value)


_LDX, _STX, _MOV, _MOVK, _CALL, _JNE, _EXIT, _LD64 = 0x79, 0x7B, 0xBF, 0xB7, 0x85, 0x55, 0x95, 0x18
_MAP_FD = 1  # of a 64-bit constant: it is a map's descriptor


def _instructions(ring: int, machine: str) -> bytes:
    """Return: keep the context, take room for an event, fill it in from helpers and two registers, hand it over."""
    first, second = _ARGUMENTS[machine]
    return b"".join(
        (
            _op(_MOV, 6, 1),
            _op(_LD64, 1, _MAP_FD, 0, ring), _op(0),
            _op(_MOVK, 2, value=EVENT.itemsize), _op(_MOVK, 3), _op(_CALL, value=_RESERVE),
            _op(_JNE, 0, 0, 2), _op(_MOVK, 0), _op(_EXIT),  # the ring is full: the event is lost
            _op(_MOV, 7, 0),
            _op(_CALL, value=_KTIME), _op(_STX, 7, 0, 0),
            _op(_CALL, value=_PID_TGID), _op(_STX, 7, 0, 8),
            _op(_MOV, 1, 6), _op(_CALL, value=_COOKIE), _op(_STX, 7, 0, 16),
            _op(_LDX, 1, 6, first), _op(_STX, 7, 1, 24),
            _op(_LDX, 1, 6, second), _op(_STX, 7, 1, 32),
            _op(_MOV, 1, 7), _op(_MOVK, 2), _op(_CALL, value=_SUBMIT),
            _op(_MOVK, 0), _op(_EXIT),
        )
    )  # fmt: skip
