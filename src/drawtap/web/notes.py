"""The user's bookmarks, notes, filters and queries, in a file beside the recording."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from drawtap.errors import InputError, UsageError, whole_file
from drawtap.web.answer import object_of

MOST_BYTES = 1 << 20
_LISTS = ("bookmarks", "filters", "queries")


class Notes:
    """The file `NAME.notes.json` of the recording `NAME`."""

    def __init__(self, recording: Path) -> None:
        self.path = recording.with_name(recording.name + ".notes.json")
        self._lock = threading.Lock()

    def read(self) -> dict[str, object]:
        """Return what was written down; empty lists where there is no file. Raises InputError for a broken file."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return _checked("{}", str(self.path))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} cannot be read: {error}", hint="mend the file, or move it away") from None
        return _checked(text, str(self.path))

    def write(self, text: bytes) -> None:
        """Replace the file by `text` as a whole. Raises UsageError for anything but notes, or too many of them."""
        if len(text) > MOST_BYTES:
            raise UsageError(f"the notes take more than {MOST_BYTES >> 20} MiB", hint="remove bookmarks or queries")
        notes = _checked(text.decode("utf-8", errors="replace"), "the notes")
        with self._lock, whole_file(self.path) as part:
            part.write_text(json.dumps(notes, indent=1, ensure_ascii=False), encoding="utf-8")


def _checked(text: str, what: str) -> dict[str, object]:
    notes = object_of(text)
    if notes is None or any(not isinstance(notes.get(key, []), list) for key in _LISTS):
        raise InputError(f"{what} are no notes of drawtap view", hint="move the file away to begin anew")
    return {"version": 1, **{key: [] for key in _LISTS}, **notes}
