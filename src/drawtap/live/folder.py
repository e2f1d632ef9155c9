"""Where a manager and those who talk to it meet: a folder of the user's with two sockets in it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from drawtap.errors import UnavailableError

VARIABLE = "DRAWTAP_MANAGER"
SYSTEM = Path("/run/drawtap")


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of one manager: programs connect to `programs`, people's commands to `clients`."""

    path: Path

    @property
    def programs(self) -> Path:
        """Return the SOCK_SEQPACKET socket that taps connect to (native/runtime/live.cc looks for it)."""
        return self.path / "manager.sock"

    @property
    def clients(self) -> Path:
        """Return the SOCK_STREAM socket of the protocol (docs/reference/manager-protocol.md)."""
        return self.path / "control.sock"

    @property
    def lock(self) -> Path:
        """Return the file that a running manager holds a lock on; its process number stands in it."""
        return self.path / "manager.lock"

    @property
    def kept(self) -> Path:
        """Return the file of what people said of programs, for the manager after this one."""
        return self.path / "limits.json"

    def session(self, token: str) -> Path:
        """Return the folder in which the recorder of one trace listens."""
        return self.path / f"trace-{token}"


def user_folder() -> Folder:
    """Return the folder of this user's manager: $DRAWTAP_MANAGER says which, else $XDG_RUNTIME_DIR."""
    named = os.environ.get(VARIABLE)
    if named and named != "off":
        return Folder(Path(named).absolute().parent)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    uid = os.geteuid()
    if runtime and runtime.startswith("/"):
        return Folder(Path(runtime) / "drawtap")
    if Path(f"/run/user/{uid}").is_dir():
        return Folder(Path(f"/run/user/{uid}/drawtap"))
    return Folder(Path(f"/tmp/drawtap-{uid}"))


def state_folder() -> Path:
    """Return where things go that outlive a session: drawtap below $XDG_STATE_HOME."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "drawtap"


def client_folder() -> Folder:
    """Return the folder of the manager to talk to: the user's, or the system's where only that one runs."""
    own = user_folder()
    if os.environ.get(VARIABLE) or os.path.lexists(own.clients):
        return own
    system = Folder(SYSTEM)
    # a folder that cannot be opened says so when somebody uses it
    return system if os.path.lexists(system.clients) else own


def make_folder(folder: Folder, *, shared: bool = False) -> None:
    """Make the folder, or check the one that is there. Raises UnavailableError where it belongs to somebody else.

    `shared`: users other than the manager's pass through it to the sockets.
    """
    mode = 0o755 if shared else 0o700
    try:
        folder.path.mkdir(mode=mode, exist_ok=True)
        about = folder.path.lstat()
    except OSError as error:
        raise UnavailableError(f"cannot make {folder.path}: {error.strerror}") from error
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        raise UnavailableError(
            f"{folder.path} belongs to somebody else", hint="remove it, or set XDG_RUNTIME_DIR to a folder of yours"
        )
    if about.st_mode & 0o777 != mode:
        folder.path.chmod(mode)
