"""Start the player (`drawtap-play`, a C++ program) and take in what it reports.

The only place that starts it. It writes JSON lines: progress, images, findings, and a result at the end.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drawtap import activity, parts
from drawtap.errors import ChildError, InputError, UnavailableError, UsageError
from drawtap.parts import PRELOAD, PRELOAD_VULKAN, TAP, TAP_VULKAN
from drawtap.units import as_float, as_int


@dataclass(frozen=True)
class Finding:
    """Something that was not as in the recording: `what` kind, at which call, how often."""

    what: str
    call: int
    function: str
    text: str
    count: int


@dataclass(frozen=True)
class Replay:
    """The outcome of playing a trace.

    `seconds` is the time for everything, `measured_seconds` that from the first wanted frame on; `compared` counts the
    read-backs, answers and frames that were compared with the recording, `different` the unequal ones among them.
    `uncompared` counts answers that cannot be equal, `unseen` images and read-backs of frames whose draws the recorder
    left out. `hashes` has the frames' hashes (32 hex digits), on request.
    """

    calls: int
    frames: int
    seconds: float
    measured_seconds: float
    measured_calls: int
    compared: int
    different: int
    skipped: int
    engine: str
    uncompared: int = 0
    unseen: int = 0
    findings: tuple[Finding, ...] = ()
    images: tuple[Path, ...] = ()
    hashes: Mapping[int, str] = field(default_factory=dict)
    frame_times_ns: tuple[int, ...] = ()


# Our own libraries in LD_PRELOAD of a recorded program.
_OURS = frozenset({"", TAP, PRELOAD, TAP_VULKAN, PRELOAD_VULKAN})
# Complaints that another driver may not have.
_OF_A_DRIVER = re.compile(r"\b(driver|device|here)\b")
_MEASURING = frozenset({"--measure", "--plan", "--metrics", "--look"})


def program(arguments: Sequence[str] = ()) -> Path:
    """Return where the player is that can do what `arguments` say. Raises UnavailableError where it was not built."""
    return parts.player(measures=not _MEASURING.isdisjoint(arguments))


def play(
    trace: Path,
    arguments: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[Mapping[str, object]], object] | None = None,
) -> Replay:
    """Play `trace` with options of the player and return what it reports.

    `environment` is added to this process's: it chooses the engine. `on_line` gets every line that the player writes.
    Raises UnavailableError where nothing here can play it, InputError for a broken trace, ChildError where the player
    ends before it has reported a result.
    """
    command = [str(program(arguments)), *arguments, str(trace)]
    with activity.step(f"playing {trace.name}"):
        lines, code, complaint = _run(command, environment)
    if on_line is not None:
        for line in lines:
            on_line(line)
    result = next((line for line in lines if line["kind"] == "result"), None)
    if code == 2:
        raise UsageError(complaint or "the player does not understand its arguments")
    if code == 3:
        raise unavailable(complaint or "no driver here plays it")
    if code == 4:
        raise InputError(complaint or f"{trace} cannot be read")
    if result is None:
        last = next((line["calls"] for line in reversed(lines) if line["kind"] == "progress"), 0)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise ChildError(f"the player ended with {how} after call {last}" + (f": {complaint}" if complaint else ""))
    return _replay(result, lines)


def unavailable(complaint: str) -> UnavailableError:
    """Return the error of a player that cannot meet a request.

    The hint names other drivers where the complaint is about the driver, the device or what is here.
    """
    elsewhere = _OF_A_DRIVER.search(complaint)
    return UnavailableError(complaint, hint="drawtap replay --engines lists the drivers here" if elsewhere else None)


def probe(environment: Mapping[str, str], *, seconds: float = 20) -> dict[str, object]:
    """Ask the player what it would play on with that environment: `es`, `gl` (renderer, version), or `error`."""
    try:
        done = subprocess.run(
            [str(program()), "--probe"],
            env=environment_with(environment),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"the driver did not answer in {seconds:g} s"}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines()
        return {"error": said[-1] if said else f"the driver ended the process with {done.returncode}"}
    return answer if isinstance(answer, dict) else {"error": "no answer"}


def offers(trace: Path | None, *, environment: Mapping[str, str] | None = None) -> list[Mapping[str, object]]:
    """Return what the player says can be measured, in the contexts of a recording's first frame or in those that the
    driver makes. Raises what `play` raises."""
    heard: list[Mapping[str, object]] = []
    if trace is not None:
        play(trace, ["--metrics", "--frames", "0:1"], environment=environment, on_line=heard.append)
        return heard
    lines, code, complaint = _run([str(program(["--metrics"])), "--metrics"], environment)
    if code:
        raise unavailable(complaint or "no driver here measures anything")
    return list(lines)


def _run(command: Sequence[str], environment: Mapping[str, str] | None) -> tuple[list[dict[str, object]], int, str]:
    lines: list[dict[str, object]] = []
    child = subprocess.Popen(
        command,
        env=environment_with(environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    complaints: list[str] = []
    assert child.stdout is not None
    assert child.stderr is not None
    errors = child.stderr
    listener = threading.Thread(target=lambda: complaints.extend(errors), daemon=True)
    listener.start()
    try:
        for text in child.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # something that the driver printed
            lines.append(line)
            if line["kind"] == "progress":
                activity.at(int(line["calls"]), int(line["total"]))
        code = child.wait()
    except BaseException:
        child.kill()
        child.wait()
        raise
    listener.join()
    said = [text.strip() for text in complaints if text.startswith("drawtap-play:")]
    return lines, code, said[-1].removeprefix("drawtap-play: ") if said else "".join(complaints).strip()[-400:]


def environment_with(more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment for a player, with `more` added.

    Libraries that the user preloads stay, as in a recorded program; only the tap is taken out of `LD_PRELOAD`.
    """
    kept = dict(os.environ)
    libraries = [name for name in re.split("[ :]+", kept.pop("LD_PRELOAD", "")) if Path(name).name not in _OURS]
    if libraries:
        kept["LD_PRELOAD"] = " ".join(libraries)
    return {**kept, **more}


def _replay(result: Mapping[str, object], lines: Sequence[Mapping[str, object]]) -> Replay:
    counted = ("calls", "frames", "measured_calls", "compared", "different", "skipped")
    return Replay(
        **{name: as_int(result[name]) for name in counted},
        seconds=as_float(result["seconds"]),
        measured_seconds=as_float(result["measured_seconds"]),
        engine=str(result["engine"]),
        uncompared=as_int(result.get("uncompared", 0)),
        unseen=as_int(result.get("unseen", 0)),
        findings=tuple(
            Finding(str(f["what"]), as_int(f["call"]), str(f["function"]), str(f["text"]), as_int(f["count"]))
            for f in lines
            if f["kind"] == "finding"
        ),
        images=tuple(Path(str(line["path"])) for line in lines if line["kind"] == "image"),
        hashes={as_int(line["frame"]): str(line["hash"]) for line in lines if line["kind"] == "frame"},
        frame_times_ns=tuple(as_int(t) for t in _list(result["frame_times_ns"])),
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
