"""Annotations: what a file says of itself in JSON, in which anything may stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Answer
from drawtap.trace.trace import open_trace
from writer import small_trace

VERBS = ("info", "frames", "checklist", "verdict")
BROKEN = (
    ('{"kind": "end", "calls": 1', "not closed"),
    ('{"kind": "end"} {}', "behind"),
    ("[1]", "no object"),
    ("", "no object"),
    ('{"kind": "end", "calls": 01}', "not closed"),
    ('{"kind": "end", "calls": NaN}', "none"),
    ('{"kind": "end", "calls": 1e999}', "too large"),
    ('{"kind": "end", "calls": 1' + "0" * 5000 + "}", "too large"),
    ('{"kind": "end", "reason": "\\ud800"}', "half of a character"),
    ('{"kind": "end", "reason": "\\udc00\\ud800"}', "half of a character"),
    ('{"kind": "end", "reason": "\\x41"}', "escape"),
    ('{"kind": "end", "reason": "a\nb"}', "control character"),
    ('{"kind": "end", "x": ' + "[" * 5000 + "]" * 5000 + "}", "too deep"),
    ('{"kind": "end", "x": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}", "too deep"),
    ('{"kind": "end",}', "name is missing"),
)


def test_what_is_no_json_is_left_out_and_said(tmp_path: Path, drawtap: Callable[..., Answer]) -> None:
    made = small_trace()
    for annotation, _ in BROKEN:
        made.annotate(annotation)
    made.annotate('{"kind": "good", "n": [1, -0.5e3, "\\ud83d\\ude00", {"a": null, "b": [true, false, {}, []]}]}')
    path = made.write(tmp_path / "t.dtap")
    with open_trace(path) as trace:
        kinds = [row["kind"] for row in trace.table("annotations")]
        said = [str(row["text"]) for row in trace.table("problems") if "no JSON" in str(row["text"])]
    assert kinds == ["recording", "good"]
    assert len(said) == len(BROKEN)
    for text, (_, reason) in zip(said, BROKEN, strict=True):
        assert reason in text
    for verb in VERBS:
        outcome = drawtap(verb, path)
        assert outcome.code in (0, 1), outcome


def test_definitions_without_bound_are_left_out_and_said(tmp_path: Path) -> None:
    made = small_trace()
    made.text_chunk(1, "".join(f"G\tgroup{n:x}\tenum\n" for n in range(70_000)))
    with open_trace(made.write(tmp_path / "t.dtap")) as trace:
        assert 0 < len({row["group"] for row in trace.table("enums")}) <= 1 << 16
        [said] = [str(row["text"]) for row in trace.table("problems")]
        assert "too many" in said
        assert int(said.split()[0]) > 4000
        assert trace.sql("SELECT count(*) FROM glEnable").fetchone() == (1,)


def test_configurations_of_thousands_of_levels_are_refused(tmp_path: Path, drawtap: Callable[..., Answer]) -> None:
    path = tmp_path / "manager.toml"
    path.write_text("x = " + "[" * 5000 + "]" * 5000)
    outcome = drawtap("manager", "--check", "--config", path)
    assert outcome.code == 4, outcome
    assert "too deeply" in outcome.err


_ODD = (None, True, -1, 10**300, 1.5, "text", [], [[[]]], {}, {"a": [None]}, [{"text": 3}], "\x1b[2J\n")
_KNOWN = {
    "recording": ("version", "program", "command_line", "pid", "time_realtime_ns", "machine", "timing", "clock"),
    "command": ("arguments", "directory", "environment", "frame_end", "program"),
    "process": ("pid", "program", "command_line"),
    "end": (
        "reason",
        "exit_code",
        "signal",
        "calls_lost",
        "frames_dropped",
        "wait_ns",
        "drainer_cpu_ns",
        "stream_error",
    ),
    "flight_recorder": (
        "reason",
        "frame",
        "first_frame",
        "frames",
        "assumed_because",
        "whole_because",
        "missing_ns",
        "calls_lost",
    ),
    "continues": ("of", "bytes", "why"),
    "derived": ("sources", "order"),
    "edit": ("operation", "changes"),
}


@pytest.mark.parametrize("odd", _ODD, ids=lambda value: json.dumps(value)[:12])
def test_what_has_another_type_than_expected_ends_nothing(
    tmp_path: Path, drawtap: Callable[..., Answer], odd: object
) -> None:
    made = small_trace()
    for kind, fields in _KNOWN.items():
        made.annotate(json.dumps({"kind": kind} | dict.fromkeys(fields, odd)))
    path = made.write(tmp_path / "t.dtap")
    for verb in ("info", "frames"):
        outcome = drawtap(verb, path)
        assert outcome.code in (0, 1), (verb, outcome)


def test_a_report_of_odd_annotations_and_of_a_frame_without_duration(
    tmp_path: Path, drawtap: Callable[..., Answer]
) -> None:
    made = small_trace()
    for kind, fields in _KNOWN.items():
        made.annotate(json.dumps({"kind": kind} | {key: [{"text": 3}] for key in fields}))
    thread = made.thread(context=3)
    for _ in range(3):
        thread.call("eglSwapBuffers", dpy=0x10, surface=0x20, result=1, start=9000, duration=0)
    outcome = drawtap("report", made.write(tmp_path / "t.dtap"), "-o", tmp_path / "r.html")
    assert outcome.code == 0, outcome


def test_only_what_an_annotation_says_of_its_recording_counts(tmp_path: Path) -> None:
    """Names inside texts and inside other objects are not those of the annotation."""
    made = small_trace()
    made.annotate('{"note": {"kind": "end", "calls_lost": 7}, "kind": "remark", "text": "\\"calls_lost\\": 8"}')
    made.annotate('{"was": {"write_error": "disk full", "calls_lost": 9}, "kind": "end", "chunks_lost": 2}')
    with open_trace(made.write(tmp_path / "t.dtap")) as trace:
        assert [row["kind"] for row in trace.table("annotations")] == ["recording", "remark", "end"]
        losses = {row["kind"]: str(row["text"]) for row in trace.table("problems") if "lost" in str(row["kind"])}
    assert losses == {"chunks_lost": "2 chunks of calls were lost"}
