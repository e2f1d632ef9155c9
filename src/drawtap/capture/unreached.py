"""Processes with the tap that could not reach the recorder, as they say themselves in a file that they map."""

from __future__ import annotations

import errno
import fnmatch
import os
import struct
from pathlib import Path

_HEAD, _ENTRY, _MOST = struct.Struct("=I28x"), struct.Struct("=ii24s"), 127  # native/common/unreached.h


class Unreached:
    """The file, which is there for as long as the recording goes on."""

    def __init__(self, folder: Path, wanted: str) -> None:
        """Make the file in `folder`; `wanted` is a pattern of programs' names.

        Programs that changed their user map it too: others may enter the folder, but nobody else learns the name.
        """
        self._path, self._wanted = folder / f"unreached-{os.urandom(8).hex()}", wanted
        self._path.write_bytes(bytes(_HEAD.size + _ENTRY.size * _MOST))
        self._path.chmod(0o666)
        folder.chmod(0o711)

    def environment(self) -> dict[str, str]:
        """Return what a program's environment says for the tap to find the file."""
        return {"DRAWTAP_UNREACHED": str(self._path)}

    def found(self) -> dict[int, str]:
        """Return a sentence about each of the processes, by its number."""
        content = self._path.read_bytes()
        (count,) = _HEAD.unpack_from(content)
        said: dict[int, str] = {}
        for i in range(min(count, _MOST)):
            pid, error, raw = _ENTRY.unpack_from(content, _HEAD.size + i * _ENTRY.size)
            name = raw.split(b"\0")[0].decode("utf-8", "replace")
            if error and fnmatch.fnmatchcase(name, self._wanted):
                why = f"{os.strerror(error)} ({errno.errorcode.get(error, error)})"
                said[pid] = f"process {pid} ({name}): its tap was loaded and could not reach the recorder: {why}"
        return said

    def without_room(self) -> int:
        """Return the number of processes that the file had no room for."""
        (count,) = _HEAD.unpack_from(self._path.read_bytes())
        return max(0, int(count) - _MOST)
