"""Record from Python: `drawtap.record(["./game"], "game.dtap")`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from drawtap.capture import launch
from drawtap.errors import UnavailableError
from drawtap.trace.trace import Trace, open_trace


def record(
    program: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    timing: Literal["both", "entry", "none"] = "both",
    frame_end: str | None = None,
    hash_frames: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Trace:
    """Run a program, record its graphics calls to `output`, and return the recording, opened.

    `program` is the program and its arguments; `environment` is added to this process's. The options are those of
    `drawtap record`. Raises UsageError where `output` exists and `force` is not set, ChildError where the program
    cannot be started, UnavailableError where no call was recorded or a part of drawtap is missing.
    """
    target = Path(output)
    how = launch.RecordOptions(timing=timing, frame_end=frame_end, hash_frames=hash_frames)
    words = [os.fspath(word) for word in program]
    recording = launch.record(words, target, how, force=force, settings=environment)
    if not target.exists() or recording.messages:
        why = "; ".join(recording.messages) or f"{words[0]} made no graphics calls"
        raise UnavailableError(f"nothing was recorded: {why}", hint=f"drawtap doctor {words[0]} says more")
    return open_trace(target, frame_end=frame_end)
