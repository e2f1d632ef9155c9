"""The protocol between a manager and its clients: JSON objects, one a line, over a UNIX stream socket.

`SCHEMA` is the published description (docs/reference/manager-protocol.schema.json): what a request may say and what is
answered. A request has `op`, and `id` if its answer is to carry one. An answer has `ok`; without it `error`, `hint` and
the exit `code` that a command ends with. After `watch`, and about traces, the manager also sends objects with `event`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from drawtap.errors import UsageError, did_you_mean
from drawtap.live.program import Alarm, Importance, Limit, Pacing, Program, Surface

VERSION = 1
MOST_LINE = 65536  # bytes of a request

_PROGRAM = {"description": "a process number, or a name with * and ?", "type": ["integer", "string"]}
_FPS = {"type": ["number", "null"], "minimum": 1, "maximum": 10000}
_NAMES = {"type": "array", "items": {"type": "string"}, "maxItems": 16}

# By op: what it does, its fields, those that must be there.
REQUESTS: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]], tuple[str, ...]]] = {
    "hello": ("Say who answers.", {}, ()),
    "list": ("Return the programs.", {"recent": {"type": "integer", "minimum": 0, "maximum": 600}}, ()),
    "limit": (
        "Hold a program to `fps` frames a second; null: no longer. `free`: never, whatever a policy says.",
        {
            "program": _PROGRAM,
            "fps": _FPS,
            "free": {"type": "boolean"},
            "pacing": {"enum": [p.value for p in Pacing]},
            "surface": {"type": "integer", "minimum": 1, "maximum": 16},
        },
        ("program",),
    ),
    "class": (
        "Give a program another class, target or weight; null: what the configuration says.",
        {
            "program": _PROGRAM,
            "class": {"enum": [*(i.value for i in Importance), None]},
            "target_fps": _FPS,
            "weight": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1000},
        },
        ("program",),
    ),
    "focus": (
        "Tell which program has the focus, null for none of them; `unknown`: that nobody tells any more; `held`: it "
        "holds until the connection ends.",
        {
            "program": {"type": ["integer", "string", "null"]},
            "unknown": {"type": "boolean"},
            "held": {"type": "boolean"},
        },
        ("program",),
    ),
    "watch": (
        "Send the programs every `period` seconds until the connection ends.",
        {
            "period": {"type": "number", "minimum": 0.1, "maximum": 60},
            "recent": {"type": "integer", "minimum": 0, "maximum": 600},
        },
        (),
    ),
    "policy": ("Return the policies that decide; `policies` sets them, none for none.", {"policies": _NAMES}, ()),
    "config": ("Return what the configuration says; `reload` reads it again.", {"reload": {"type": "boolean"}}, ()),
    "log": ("Return the last entries of the log.", {"most": {"type": "integer", "minimum": 1, "maximum": 200}}, ()),
    "trace": (
        "Prepare a recording of a running program: a recorder is to listen at `socket` in the folder that is returned.",
        {"program": _PROGRAM, "frames": {"type": "integer", "minimum": 0, "maximum": 1_000_000}},
        ("program",),
    ),
    "trace-begin": ("The recorder listens: begin.", {"token": {"type": "string", "maxLength": 64}}, ("token",)),
    "trace-end": ("Record no more.", {"token": {"type": "string", "maxLength": 64}}, ("token",)),
}


# The answers, and the messages that the manager sends by itself.
_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
_TIMES: Mapping[str, Any] = {
    "type": ["object", "null"],
    "description": "percentiles of the frame times of the last second, ms",
    "properties": dict.fromkeys(("p50", "p95", "p99", "max"), _NUMBER),
}
_LIMIT: Mapping[str, Any] = {
    "type": ["object", "null"],
    "properties": {"fps": _NUMBER, "reason": _TEXT, "origin": _TEXT, "pacing": {"enum": [p.value for p in Pacing]}},
    "required": ["fps", "reason", "origin", "pacing"],
}
_SURFACE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "description": "from 1, as `limit` takes it"},
        "kind": _TEXT,
        "handle": _TEXT,
        "width": {"type": "integer"},
        "height": {"type": "integer"},
        "swap_interval": {"type": ["integer", "null"]},
        "frames": {"type": "integer"},
        "lost": {"type": "integer"},
        "fps": _NUMBER,
        "frame_ms": _TIMES,
        "waited": {"type": "number", "description": "share of the last second spent in the limiter"},
        "limit": {**_LIMIT, "description": "what holds for it: a limit of its own, else the program's"},
        "recent_ms": {"type": "array", "items": _NUMBER, "description": "the last frame times, newest last"},
    },
    "required": ["number", "kind", "handle", "frames", "fps", "frame_ms", "limit"],
}
_SHOWN: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "description": "of the manager's own: process numbers are used again"},
        "pid": {"type": "integer"},
        "uid": {"type": "integer"},
        "name": _TEXT,
        "exe": _TEXT,
        "command": {"type": "array", "items": _TEXT},
        "cgroup": _TEXT,
        "class": {"enum": [i.value for i in Importance]},
        "weight": _NUMBER,
        "target_fps": {"type": ["number", "null"]},
        "goal_fps": {"type": ["number", "null"], "description": "the target, or a limit below it on purpose"},
        "floor_fps": _NUMBER,
        "cap_fps": {"type": ["number", "null"]},
        "profile": _TEXT,
        "focused": {"type": ["boolean", "null"]},
        "recording": {"type": "boolean"},
        "observed": {"type": "boolean", "description": "seen by the kernel's probes alone: it cannot be limited"},
        "frames": {"type": "integer", "description": "shown so far; 0: none yet, and perhaps none ever"},
        "fps": _NUMBER,
        "limit": _LIMIT,
        "free": {
            "type": ["string", "null"],
            "description": "who said that nothing holds it, whatever policies say",
        },
        "values": {
            "type": "object",
            "description": "numbers of the program's own by name: the last value, how long ago, how often",
            "additionalProperties": {
                "type": "object",
                "properties": {"value": _NUMBER, "age_s": _NUMBER, "sets": {"type": "integer"}},
                "required": ["value", "age_s", "sets"],
            },
        },
        "alarms": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"rule": _TEXT, "since_s": _NUMBER, "text": _TEXT},
                "required": ["rule", "since_s", "text"],
            },
        },
        "surfaces": {"type": "array", "items": {"$ref": "#/$defs/surface"}},
    },
    "required": ["id", "pid", "uid", "name", "class", "fps", "limit", "surfaces"],
}
_FAILURE: Mapping[str, Any] = {
    "title": "failure",
    "type": "object",
    "properties": {
        "ok": {"const": False},
        "id": {"type": ["integer", "string"]},
        "error": _TEXT,
        "hint": {"type": ["string", "null"]},
        "code": {"type": "integer", "description": "the exit code for a command: 2 usage, 3 not available"},
    },
    "required": ["ok", "error", "code"],
}
_ANSWER: Mapping[str, Any] = {
    "title": "answer",
    "type": "object",
    "properties": {
        "ok": {"const": True},
        "id": {"type": ["integer", "string"]},
        "programs": {"type": "array", "items": {"$ref": "#/$defs/program"}},
        "manager": {"type": "object"},
        "token": _TEXT,
        "folder": _TEXT,
    },
    "required": ["ok"],
}
_EVENT: Mapping[str, Any] = {
    "title": "event",
    "type": "object",
    "properties": {
        "event": {"enum": ["programs", "trace-over"]},
        "time_ns": {"type": "integer", "description": "CLOCK_MONOTONIC"},
        "programs": {"type": "array", "items": {"$ref": "#/$defs/program"}},
        "manager": {"type": "object"},
        "token": _TEXT,
    },
    "required": ["event"],
}


def schema() -> dict[str, Any]:
    """Return the JSON schema of requests, answers and events."""
    requests = []
    for op, (about, fields, required) in REQUESTS.items():
        properties = {"op": {"const": op}, "id": {"type": ["integer", "string"]}, **fields}
        requests.append(
            {
                "title": op,
                "description": about,
                "type": "object",
                "properties": properties,
                "required": ["op", *required],
                "additionalProperties": False,
            }
        )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The protocol of drawtap manager",
        "description": "JSON objects, one a line, over the UNIX stream socket control.sock",
        "version": VERSION,
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in ("request", "answer", "failure", "event")],
        "$defs": {
            "request": {"anyOf": requests},
            "answer": _ANSWER,
            "failure": _FAILURE,
            "event": _EVENT,
            "program": _SHOWN,
            "surface": _SURFACE,
        },
    }


def parse(line: bytes) -> dict[str, Any]:
    """Return a request. Raises UsageError that says what is wrong with it."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("a request is a JSON object on one line") from None
    if not isinstance(request, dict):
        raise UsageError("a request is a JSON object on one line")
    op = request.get("op")
    if not isinstance(op, str) or op not in REQUESTS:
        near = did_you_mean(str(op)[:40], REQUESTS)
        raise UsageError(f"there is no op {str(op)[:40]!r}", hint=near or f"there are: {', '.join(REQUESTS)}")
    _, fields, required = REQUESTS[op]
    for name in required:
        if name not in request:
            raise UsageError(f"{op} needs {name}")
    for name, value in request.items():
        if name in ("op", "id"):
            continue
        if name not in fields:
            raise UsageError(f"{op} has no field {name[:40]!r}", hint=f"fields: {', '.join(fields) or 'none'}")
        wrong = _wrong(value, fields[name])
        if wrong:
            raise UsageError(f"{op}: {name} {wrong}")
    if not isinstance(request.get("id", 0), int | str):
        raise UsageError("id is a number or a text")
    return request


_TYPES: Mapping[str, Any] = {
    "integer": int,
    "number": (int, float),
    "string": str,
    "boolean": bool,
    "array": list,
    "null": type(None),
}


def _wrong(value: object, rule: Mapping[str, Any]) -> str:
    """Say what is wrong with a value: the few words of JSON schema that `REQUESTS` uses."""
    if "enum" in rule:
        names = ", ".join("none" if v is None else str(v) for v in rule["enum"])
        return "" if value in rule["enum"] else f"is one of {names}"
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    if not any(isinstance(value, _TYPES[k]) and (k == "boolean") == isinstance(value, bool) for k in kinds):
        return f"is of type {' or '.join(kinds)}"
    if isinstance(value, str) and len(value) > rule.get("maxLength", 256):
        return "is too long"
    if isinstance(value, list):
        if len(value) > rule["maxItems"]:
            return "has too many entries"
        return next((w for v in value if (w := _wrong(v, rule["items"]))), "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = rule.get("minimum", rule.get("exclusiveMinimum", -math.inf)), rule.get("maximum", math.inf)
        if not low <= value <= high or value == rule.get("exclusiveMinimum"):
            return f"is from {low} to {high}"
    return ""


# ---- values as JSON ----------------------------------------------------------------------------------------


def program_json(program: Program, now_ns: int, *, recent: int = 0) -> dict[str, object]:
    """Return a program as the protocol has it, with the last `recent` frame times of its surfaces."""
    return {
        "id": program.id,
        "pid": program.pid,
        "uid": program.uid,
        "name": program.name,
        "exe": str(program.exe),
        "command": list(program.command),
        "cgroup": program.cgroup,
        "class": program.importance.value,
        "weight": program.weight,
        "target_fps": program.target_fps,
        "goal_fps": program.goal_fps,
        "floor_fps": program.floor_fps,
        "cap_fps": program.cap_fps,
        "profile": program.profile,
        "focused": program.focused,
        "recording": program.recording,
        "frames": program.frames,
        "observed": program.id < 0,
        "fps": round(program.fps(now_ns), 2),
        "limit": _limit_json(program.limit),
        "free": program.freed or None,
        "values": {
            name: {"value": v.value, "age_s": round(max(0, now_ns - v.set_ns) / 1e9, 3), "sets": v.sets}
            for name, v in program.values.items()
        },
        "alarms": [_alarm_json(alarm, now_ns) for alarm in program.alarms],
        "surfaces": [
            {**_surface_json(s, i + 1, now_ns, recent), "limit": _limit_json(s.limit or program.limit)}
            for i, s in enumerate(program.surfaces)
        ],
    }


def limit_of(program: Mapping[str, Any], surface: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the limit that holds for a surface of a program, or for the program itself, as a manager told of them.

    Managers of before tell it of programs alone. None: there is no limit.
    """
    limit: Mapping[str, Any] | None = (surface or program).get("limit", program["limit"])
    return limit


def _limit_json(limit: Limit | None) -> dict[str, object] | None:
    if limit is None or limit.fps <= 0:
        return None
    return {
        "fps": round(limit.fps, 2),
        "reason": limit.reason,
        "origin": limit.origin,
        "pacing": limit.pacing.value,
    }


def _alarm_json(alarm: Alarm, now_ns: int) -> dict[str, object]:
    return {"rule": alarm.rule, "since_s": round((now_ns - alarm.since_ns) / 1e9, 1), "text": alarm.text}


def _surface_json(surface: Surface, number: int, now_ns: int, recent: int) -> dict[str, object]:
    last = surface.since(now_ns - 1_000_000_000)
    p50, p95, p99, most = (round(v / 1e6, 3) for v in last.percentiles(50, 95, 99, 100))
    waited = float(last.wait_ns[1:].sum()) / 1e9 if len(last.wait_ns) > 1 else 0.0
    made: dict[str, object] = {
        "number": number,
        "kind": surface.kind,
        "handle": f"{surface.handle:#x}",
        "width": surface.width,
        "height": surface.height,
        "swap_interval": surface.swap_interval,
        "frames": surface.frames,
        "lost": surface.lost,
        "fps": round(surface.fps(now_ns), 2),
        "frame_ms": None if math.isnan(p50) else {"p50": p50, "p95": p95, "p99": p99, "max": most},
        "waited": round(min(waited, 1.0), 3),
    }
    if recent:
        made["recent_ms"] = [round(float(v) / 1e6, 2) for v in surface.frame_ns[-recent:]]
    return made
