"""The identity of the other end of a socket: as the kernel says, never as the other end says."""

from __future__ import annotations

import contextlib
import ctypes
import grp
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

_SO_PEERPIDFD = 77  # Linux 6.5
_SO_PEERGROUPS = 59  # Linux 4.13
_MOST_GROUPS = 65536  # of a process


@dataclass(frozen=True, slots=True)
class Peer:
    """A process: `pid` is 0 where it lives in a pid namespace that cannot be seen from here."""

    pid: int
    uid: int
    gid: int


def peer_of(connection: socket.socket) -> Peer:
    """Return the process that connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return Peer(*struct.unpack("iII", raw))


def pidfd_of(connection: socket.socket, peer: Peer) -> int:
    """Return a descriptor that names the process for good, -1 where there is none: numbers are used again."""
    with contextlib.suppress(OSError):
        return int(connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD))
    with contextlib.suppress(OSError):
        if peer.pid:
            return os.pidfd_open(peer.pid)
    return -1


def groups_of(connection: socket.socket, peer: Peer) -> frozenset[int]:
    """Return the groups that the process at the other end is in, its own among them."""
    # Python's own getsockopt refuses more than 1024 bytes.
    groups, size = (ctypes.c_uint32 * _MOST_GROUPS)(), ctypes.c_uint32(4 * _MOST_GROUPS)
    ask = ctypes.CDLL(None).getsockopt
    failed = ask(connection.fileno(), socket.SOL_SOCKET, _SO_PEERGROUPS, ctypes.byref(groups), ctypes.byref(size))
    return frozenset((peer.gid, *(() if failed else groups[: size.value // 4])))


def is_admin(peer: Peer, groups: frozenset[int], group: str) -> bool:
    """Tell whether a client may see to the programs of others: root, this manager's user, the members of `group`."""
    if peer.uid in (0, os.geteuid()):
        return True
    try:
        return bool(group) and grp.getgrnam(group).gr_gid in groups
    except KeyError:
        return False


@dataclass(frozen=True, slots=True)
class About:
    """The facts of /proc about a process."""

    name: str
    exe: Path
    command: tuple[str, ...]
    cgroup: str


def about(pid: int, path: str) -> About:
    """Return what /proc says of `pid`; `told` is the program's own word for its file where /proc says nothing."""
    folder = Path(f"/proc/{pid}")
    exe = Path(path)
    with contextlib.suppress(OSError):
        if pid:
            exe = Path(str((folder / "exe").readlink()).removesuffix(" (deleted)"))
    command = tuple(_text(folder / "cmdline").rstrip("\0").split("\0")) if pid else ()
    groups = _text(folder / "cgroup").splitlines() if pid else []
    cgroup = next((line.split(":", 2)[2] for line in groups if line.startswith("0::")), "")
    comm = _text(folder / "comm").strip() if pid else ""
    # A link to the program is what people called it by: glxgears, not glxgears.x86_64-linux-gnu.
    called = Path(command[0]).name if command and comm else ""
    name = called if called and called.encode()[:15] == comm.encode() else exe.name or comm or f"pid {pid}"
    return About(name[:64], exe, tuple(part[:200] for part in command[:32]), cgroup[:200])


def started_of(pid: int) -> str | None:
    """Return when a process began, as /proc has it (ticks after boot): with its number that names it for good."""
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(8192).decode("utf-8", "replace")
    except OSError:
        return ""
