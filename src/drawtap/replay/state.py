"""The driver's state of OpenGL at calls of a recording. Paths and values: docs/state-paths.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from drawtap.errors import UsageError
from drawtap.replay import player
from drawtap.scratch import Scratch


def query(
    trace: Path,
    calls: Sequence[int],
    output: Path,
    *,
    path: str = "",
    frame_end: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> player.Replay:
    """Play `trace` once and write the state after each of `calls` to `output`.

    A line is JSON: [seq, path, value as JSON text]. `path` keeps those that begin with it. The numbers of calls ascend
    in the file. Raises what `player.play` raises, and UsageError where no call is named.
    """
    if not calls:
        raise UsageError("name at least one call for the state")
    rule = [] if frame_end in (None, "auto") else ["--frame-end", str(frame_end)]
    with Scratch() as folder:
        listed = Path(folder) / "calls"
        listed.write_text("\n".join(str(call) for call in sorted(set(calls))), encoding="utf-8")
        stop = ["--stop-at", str(max(calls))]
        wanted = ["--query-path", path] if path else []
        ask = ["--query-state", f"@{listed}", "--query-file", str(output)]
        return player.play(trace, [*ask, *wanted, *stop, *rule], environment=environment)
