"""The window of a killed flight recorder: it becomes a recording, with the calls that stood in the program's memory."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drawtap.capture import pools
from drawtap.errors import UnavailableError
from drawtap.parts import DRAINER, RING, part
from drawtap.scratch import Scratch

REASON = "recorder"
# The counts of calls, by their words in the last annotation of a recording.
_COUNTS = ("calls_in_flight", "calls_dropped", "calls_nested", "calls_lost", "chunks_lost", "invalid_records")


def save(pool: int, window: pools.Window, output: Path, why: str) -> Mapping[str, Any] | None:
    """Write what is held to a file with a name made from `output`, and return what is in it.

    `pool` is the memory of the program (a descriptor): recording of it ends, and what stands there comes last. The
    answer has what a drainer says of a file that it saved. None: there was no call. Raises UnavailableError where it
    cannot be written.
    """
    heard: list[pools.Entry] = []
    command = [str(part(DRAINER)), "--output", str(output), "--control", "none", "--end-it", "yes"]
    command += ["--adopt-fd", str(pool), "--window-fd", str(window.raw)]
    failed = pools.have_done(command, [pool, window.raw], "", heard.append)
    files = [entry for entry in heard if entry.get("event") == "file"]
    if failed or not files:
        text = "; ".join(str(entry["text"]) for entry in heard if entry.get("event") == "error")
        raise UnavailableError(text or f"the recorder's process ended with status {failed}")
    (drained,) = files
    if window.base is None and not drained.get("calls"):
        return None
    frame = int(drained.get("frames") or 0)
    target = _free_name(output, f"f{frame}-{REASON}")
    lost = window.calls_lost + int(drained.get("calls_lost") or 0)
    about = {"reason": REASON, "detail": why, "frame": frame, "time_monotonic_ns": time.monotonic_ns()}
    about |= {"calls_lost": lost}
    end = {"kind": "end", "reason": f"saved: {REASON}", "calls": drained.get("calls")}
    end |= {name: drained.get(name, 0) for name in _COUNTS} | {"calls_lost": lost}
    answer = _written(window, target, about, end)
    names = ("calls", "frames", "first_frame", "kept", "assumed", "assumed_because", "whole_because")
    kept = {name: answer.get(name) for name in names}
    return {**about, **kept, "event": "saved", "file": str(target), "earlier": answer.get("calls_past")}


def _written(
    window: pools.Window, target: Path, about: Mapping[str, object], end: Mapping[str, object]
) -> Mapping[str, Any]:
    files = {"base": window.base, "frames_in": window.frames, "raw": window.raw}
    paths = {name: f"/proc/self/fd/{descriptor}" for name, descriptor in files.items() if descriptor is not None}
    with Scratch() as folder:
        job = Path(folder) / "job"
        said = json.dumps({**window.job, **paths, "out": str(target), "about": about, "after": [end]})
        job.write_text(said, encoding="utf-8")
        given = [descriptor for descriptor in files.values() if descriptor is not None]
        done = subprocess.run(
            [part(RING), "save", job], pass_fds=given, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if done.returncode or not isinstance(answer, dict):
        why = answer.get("error") if isinstance(answer, dict) else f"{RING} ended with status {done.returncode}"
        raise UnavailableError(f"{target} could not be written: {why}")
    return answer


def _free_name(output: Path, what: str) -> Path:
    # As the drainer names what it saves.
    number = 1
    while True:
        name = output.with_name(f"{output.stem}-{what}{f'-{number}' if number > 1 else ''}{output.suffix}")
        if not name.exists():
            return name
        number += 1
