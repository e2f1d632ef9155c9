"""What CONTRIBUTING promises: an API is one overlay and its XML, an export format is one file."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import drawtap
from drawtap.formats import FORMATS
from drawtap.instrument import generate_flags
from drawtap.spec.model import LATER_KINDS
from drawtap.spec.registry import OVERLAYS, load_api, recorded_apis
from drawtap.spec.signature import signature_text
from drawtap.tables.recording import ContentRow, FunctionRow
from shared import run_drawtap
from writer import Writer, small_trace

XML = """<registry>
  <types><type>typedef unsigned int <name>TinyUint</name>;</type></types>
  <commands namespace="TINY">
    <command><proto>void <name>tinyShow</name></proto></command>
    <command><proto>void <name>tinyDraw</name></proto>
      <param><ptype>TinyUint</ptype> <name>count</name></param></command>
    <command><proto>void <name>tinyColour</name></proto>
      <param><ptype>TinyUint</ptype> <name>value</name></param></command>
  </commands>
  <feature api="tiny" name="TINY_1" number="1.0"><require>
    <command name="tinyShow"/><command name="tinyDraw"/><command name="tinyColour"/></require></feature>
</registry>
"""
OVERLAY = """
from pathlib import Path
from drawtap.spec.overlay import Overlay
from drawtap.spec.registry import OVERLAYS

o = OVERLAYS.register("tiny")(Overlay("tiny", xml=str(Path(__file__).with_name("tiny.xml")), recorded=False))
o.flags("frame_end", "tinyShow")
o.flags("draw", "tinyDraw")
o.flags("uniform", "tinyColour")
"""
FORMAT = '''
from drawtap.formats import export_format


@export_format("numbers", ".numbers")
def write_numbers(trace, selection, path):
    """The number of each call, one a line."""
    path.write_text("".join(f"{call.seq}\\n" for call in trace.calls))
'''


def _plug_in(path: Path, text: str) -> None:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "tiny.xml").write_text(XML)
    _plug_in(tmp_path / "tiny.py", OVERLAY)
    yield "tiny"
    del OVERLAYS._entries["tiny"]
    load_api.cache_clear()


def test_an_api_is_an_overlay_and_its_xml(tiny: str, tmp_path: Path) -> None:
    api = load_api(tiny)
    ids = {name: number for number, name in enumerate(api.commands)}
    text = signature_text(api.commands.values(), (api,), ids)
    trace = Writer(text)
    thread = trace.thread()
    for start, (name, values) in enumerate(
        (("tinyColour", {"value": 1}), ("tinyColour", {"value": 2}), ("tinyDraw", {"count": 3}), ("tinyShow", {}))
    ):
        thread.call(name, start=1000 + start, duration=1, **values)
    with drawtap.open(trace.write(tmp_path / "tiny.dtap")) as opened:
        flags = {row["name"]: row["flags"] for row in opened.table(FunctionRow)}
        [content] = opened.table(ContentRow)
        assert len(opened.frames) == 1
    assert (flags["tinyShow"], flags["tinyDraw"], flags["tinyColour"]) == ("frame_end", "draw", "uniform")
    assert (content["calls"], content["draws"], content["uniforms"]) == (4, 1, 2)
    assert '{"tinyColour", FLAG_UNIFORM},' in generate_flags.kinds([api])


def test_the_apis_of_this_house_are_their_overlays() -> None:
    assert recorded_apis() == ("gl", "egl", "glx", "vg")
    assert set(OVERLAYS.names()) == {"gl", "egl", "glx", "vg", "vk", "toy"}


def test_a_format_is_one_file(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "small.dtap")
    with drawtap.open(path) as trace:
        calls = len(trace.calls)
    _plug_in(tmp_path / "numbers.py", FORMAT)
    try:
        for options in (("-f", "numbers", "-o", tmp_path / "a"), ("-o", tmp_path / "b.numbers")):
            done = run_drawtap("export", path, *options)
            assert done.returncode == 0, done.stderr
            assert Path(options[-1]).read_text().split() == [str(number) for number in range(calls)]
        assert "numbers" in run_drawtap("export", "--help").stdout
    finally:
        del FORMATS._entries["numbers"]


def test_kinds_are_known_of_recordings_that_do_not_tell_them() -> None:
    old = Path(__file__).parents[1] / "data/trace-v1-es2_triangle.dtap"
    with drawtap.open(old) as trace:
        flags = {row["name"]: row["flags"].split(",") for row in trace.table(FunctionRow)}
    assert {"uniform", "keeps_depth"} <= set(flags["glUniform2f"])
    assert {"upload", "buffer_upload"} <= set(flags["glBufferData"])


def test_later_kinds_are_known_of_recordings_that_tell_the_earlier_ones_alone(tmp_path: Path) -> None:
    apis = []
    for api, names in (
        (load_api("gl"), ("glUniform1f", "glPushDebugGroup")),
        (load_api("vk"), ("vkEndCommandBuffer",)),
    ):
        known = (api.commands[name] for name in names)
        apis.append(replace(api, commands={c.name: replace(c, flags=c.flags - LATER_KINDS.keys()) for c in known}))
    commands = [command for api in apis for command in api.commands.values()]
    ids = {command.name: number for number, command in enumerate(commands)}
    with drawtap.open(Writer(signature_text(commands, apis, ids)).write(tmp_path / "old.dtap")) as trace:
        flags = {row["name"]: row["flags"].split(",") for row in trace.table(FunctionRow)}
    assert sorted(flags["glUniform1f"]) == ["keeps_depth", "uniform"]
    assert {"marker", "group_begin"} <= set(flags["glPushDebugGroup"])
    assert flags["vkEndCommandBuffer"] == ["commands_end"]
