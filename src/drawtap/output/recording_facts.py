"""The facts that a recording tells of itself: program, driver, machine, calls, and what is missing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from drawtap.output.text import duration, number, size

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


def groups(trace: Trace, data: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return the facts that people want to see, by heading."""
    notes = {str(note.get("kind")): note for note in _maps(data["annotations"])}
    by_title = {
        "program": _program(notes),
        "driver": _driver(trace),
        "machine": _machine(notes.get("recording", {})),
        "recording": _recording(data, notes),
        "flight recorder": _flight(notes.get("flight_recorder")),
        "begun while it ran": _late(trace),
        "corpus": _restored(notes.get("restored")),
    }
    return {title: group for title, group in by_title.items() if group}


def problems(data: Mapping[str, object]) -> list[str]:
    """Return what is missing in a recording, one sentence each."""
    texts = [str(p["text"]) for p in _maps(data["problems"])]
    end = next((note for note in _maps(data["annotations"]) if note.get("kind") == "end"), {})
    for name, what in _LOSSES.items():
        if end.get(name):
            texts.append(f"{what}: {text(name, end[name])}")
    nested, calls = end.get("calls_nested"), end.get("calls")
    if isinstance(nested, int) and isinstance(calls, int) and nested > max(calls // 100, 100):
        texts.append(f"calls that were made inside of other calls, and are not recorded: {text('', nested)}")
    for lost in _maps(data.get("content_lost")):
        why = lost["why"] or f"data of calls was not recorded ({lost['code']})"
        place = f", first for call #{lost['seq']} ({lost['function']})" if lost["function"] else ""
        texts.append(f"{why}: {text('', lost['calls'])} times{place}")
    for note in _maps(data["annotations"]):
        if note.get("kind") == "continues":
            before = text("bytes", note.get("bytes"))
            texts.append(f"this is the rest of a recording: the {before} before went to {note.get('of')}")
    return texts


_LOSSES = {
    "calls_dropped": "calls made where they cannot be recorded (in a signal handler, after recording had stopped)",
    "calls_in_flight": "calls that had not returned when the program ended, and so have no duration and no outputs",
    "calls_left": "calls that the program left by longjmp or an exception, and so have no duration and no outputs",
    "frames_dropped": "frames whose draws were left out, since disk or receiver could not keep up",
    "frames_unrecorded": "frames that the program showed while it was not recorded",
}


_TIMING = {"both": "begin and duration of each call", "start": "begin of each call", "none": "no times"}


def facts(trace: Trace) -> dict[str, object]:
    """Return what the reader says of a trace, with the annotations as objects."""
    notes = trace.info["annotations"]
    assert isinstance(notes, list)
    annotations = [json.loads(str(note)) for note in notes]
    end: Mapping[str, object] = next((note for note in annotations if note.get("kind") == "end"), {})
    return {**trace.info, "annotations": annotations, "content_lost": _content_lost(trace, end.get("content_lost"))}


def _content_lost(trace: Trace, counts: object) -> list[dict[str, object]]:
    """Return what of the calls' data was not recorded: a code, how often, why, and the first call that it is about."""
    if not isinstance(counts, Mapping) or not counts:
        return []
    notes = trace.sql(
        "SELECT n.code, n.text, c.seq, c.name"
        " FROM notes n ASOF LEFT JOIN calls c ON n.thread = c.thread AND n.seq <= c.seq"
    ).fetchall()
    first = {str(code): (why, seq, function) for code, why, seq, function in reversed(notes)}
    keys = ("code", "calls", "why", "seq", "function")
    return [dict(zip(keys, (code, n, *first.get(code, (None, None, None))), strict=True)) for code, n in counts.items()]


def _program(notes: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    command_, recording, end = notes.get("command", {}), notes.get("recording", {}), notes.get("end", {})
    line = recording.get("command_line") or command_.get("arguments")
    group = {"command": text("", line) if line else None, "file": recording.get("program")}
    group["folder"] = command_.get("directory")
    environment = command_.get("environment")
    if isinstance(environment, Mapping) and environment:
        group["environment"] = "\n".join(f"{k}={v}" for k, v in environment.items())
    if end:
        signal, code = end.get("signal"), end.get("exit_code")
        by_code = end.get("reason") if code is None else f"exit code {code}"
        group["ended"] = f"by signal {signal}" if signal else by_code
    return {k: v for k, v in group.items() if v}


def _flight(note: Mapping[str, object] | None) -> dict[str, object]:
    # The files of a flight recorder, and why it wrote them.
    if note is None:
        return {}
    why = text("", note.get("reason")) + (f": {note['detail']}" if note.get("detail") else "")
    first, frames = note.get("first_frame"), note.get("frames")
    group: dict[str, object] = {
        "saved because": f"{why} (at frame {text('', note.get('frame'))})",
        "window": f"{text('', frames)} frames from frame {text('', first)} of the program on,"
        f" {text('', note.get('calls'))} calls from call {text('', note.get('first_call'))} of this file on",
        "before it": f"{text('', note.get('kept'))} of {text('', note.get('earlier'))} calls still matter",
    }
    if note.get("assumed"):
        because = note.get("assumed_because")
        which = f" ({'; '.join(map(str, because))})" if isinstance(because, list) and because else ""
        group["assumed"] = "pictures that are never wiped are painted over in each frame" + which
    if note.get("whole_because"):
        group["all kept"] = f"every earlier call of Vulkan: {text('', note['whole_because'])}"
    if note.get("missing_ns"):
        group["shorter"] = (
            f"the first {text('missing_ns', note['missing_ns'])} of the requested time had left the recorder"
        )
    if note.get("calls_lost"):
        group["lost"] = f"{text('', note['calls_lost'])} calls: it may not replay as it was"
    return group


def _restored(note: Mapping[str, object] | None) -> dict[str, object]:
    # The recording that a corpus gave back, and how it compares with the file that was added.
    if note is None:
        return {}
    group: dict[str, object] = {
        "state": text("", note.get("text")),
        "recording": text("", note.get("id")),
        "contents": f"{text('', note.get('contents'))}, each equal by its SHA-256",
        "the file was": f"SHA-256 {text('', note.get('file_sha256'))}; its bytes stood in another order",
    }
    if note.get("contents_lost"):
        group["lost"] = f"{text('', note['contents_lost'])} contents that the file itself did not have whole"
    problems_ = note.get("problems")
    if isinstance(problems_, list) and problems_:
        group["the file had"] = "; ".join(map(str, problems_))
    return group


def _late(trace: Trace) -> dict[str, object]:
    from drawtap.tables.recording import NoteRow  # few verbs read them

    # The state that drawtap took of a program that had drawn before, and the state that it could not get.
    said: dict[str, list[str]] = {}
    for row in trace.table(NoteRow):
        said.setdefault(str(row["code"]), []).append(str(row["text"]))
    if "began-late" not in said:
        return {}
    parts = {"recording": "began-late", "taken": "base-ends", "not taken": "not-taken"}
    return {title: "\n".join(said[code]) for title, code in parts.items() if code in said}


def _driver(trace: Trace) -> dict[str, object]:
    from drawtap.tables.recording import NativeRow  # few verbs read them

    lines: dict[str, object] = {}
    for row in trace.table(NativeRow):
        if row["kind"] != "driver":
            continue
        said = dict(part.partition("=")[::2] for part in str(row["text"]).split(";"))
        context = said.pop("context", "")
        line = ", ".join(said[k] for k in ("renderer", "version", "vendor") if said.get(k))
        if line not in lines.values():
            lines[f"context {context}"] = line
    return lines | _devices(trace)


_PROPERTIES = {
    "vkGetPhysicalDeviceProperties": "p.pProperties",
    "vkGetPhysicalDeviceProperties2": "p.pProperties.properties",
    "vkGetPhysicalDeviceProperties2KHR": "p.pProperties.properties",
}


def _devices(trace: Trace) -> dict[str, object]:
    # The program made these devices of Vulkan, and asked for their properties before.
    called = trace.database.functions
    if "vkcreatedevice" not in called:
        return {}
    asked = [
        f'SELECT p."physicalDevice" AS device, {of}.deviceName AS name, {of}.apiVersion AS version FROM "{name}" p'
        for name, of in _PROPERTIES.items()
        if name.lower() in called
    ] or ["SELECT NULL::UBIGINT AS device, NULL AS name, NULL::UBIGINT AS version WHERE false"]
    rows = trace.sql(
        "SELECT DISTINCT a.name, a.version FROM"
        ' (SELECT c."physicalDevice" AS device, min(c.seq) AS seq FROM "vkCreateDevice" c GROUP BY 1) c'
        f" LEFT JOIN ({' UNION ALL '.join(asked)}) a ON a.device = c.device ORDER BY c.seq"
    ).fetchall()
    return {f"device {i}": _device(*row) for i, row in enumerate(rows, 1)}


def _device(name: object, version: object) -> str:
    if not isinstance(version, int):
        return "of Vulkan; the program did not ask for its name"
    return f"{name}, Vulkan {version >> 22 & 0x7F}.{version >> 12 & 0x3FF}.{version & 0xFFF}"


def _machine(recording: Mapping[str, object]) -> dict[str, object]:
    machine = recording.get("machine")
    if not isinstance(machine, Mapping):
        return {}
    cores = f"{machine.get('cpu')}, {machine.get('cores')} cores, {text('bytes', machine.get('memory_bytes'))}"
    system = " ".join(str(machine[k]) for k in ("sysname", "release", "machine") if k in machine)
    return {"processor": cores, "system": system} | ({"name": machine["hostname"]} if "hostname" in machine else {})


def _recording(data: Mapping[str, object], notes: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    rule, apis = data["frame_end"], data["apis"]
    assert isinstance(rule, Mapping)
    assert isinstance(apis, Mapping)
    complete = "whole" if data["complete"] else "closed, and calls are missing"
    if not data["closed"]:
        complete = "not closed: everything up to where recording stopped is here"
    by_api = ", ".join(f"{api} {text(api, n)}" for api, n in apis.items())
    group: dict[str, object] = {
        "file": f"{data['path']}, {text('bytes', data['file_bytes'])}, {complete}",
        "calls": f"{text('calls', data['calls'])} ({by_api})" if apis else "0",
        "frames": f"{text('frames', data['frames'])}; {rule['why']}",
        "threads": text("threads", data["threads"]),
        "duration": text("duration", data["duration"]),
        "content": f"{text('bytes', data['payload_bytes'])} in arrays",
        "timing": _TIMING.get(str(data["timing"]), data["timing"]),
    }
    when = notes.get("recording", {}).get("time_realtime_ns")
    if isinstance(when, int):
        with contextlib.suppress(ValueError, OverflowError, OSError):  # the clock of a machine may say anything
            group["recorded"] = datetime.fromtimestamp(when / 1e9).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    end = notes.get("end", {})
    if end:
        waited, spent = text("duration", end.get("wait_ns")), text("duration", end.get("drainer_cpu_ns"))
        group["cost"] = f"the program waited {waited} for the recorder, which took {spent} of processor time"
    return group | {"format": f"version {data['format_version']}, {data['uuid']}"}


def text(name: str, value: object) -> str:
    """Return a fact as people read it; the end of its name says the unit (_ns, _bytes, duration)."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if name.endswith("_ns") or name == "duration":
            return duration(value)
        if name.endswith("bytes"):
            return size(value)
        return str(value) if name.endswith(("pid", "clock", "tid", "_id")) else number(value)
    if isinstance(value, Mapping):
        return "\n".join(f"{k}: {text(str(k), v)}" for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(v if isinstance(v, str) and " " not in v else json.dumps(v, ensure_ascii=False) for v in value)
    return str(value)


def _maps(value: object) -> list[Mapping[str, object]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []
