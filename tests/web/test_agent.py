"""`drawtap view --mcp` as a client of the protocol sees it: a process, its tools, answers as the command line gives."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys

import pytest

import drawtap as library
from drawtap.trace.moment import computed_state
from shared import run_alone

# Imported where it is used: every worker would spend a second on it.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="the package mcp is not installed")


def conversation(files, *questions):
    """Start the server on files, ask (tool, arguments) one after the other, return tools and answers."""
    import mcp

    async def talk():
        process = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "drawtap", "view", "--mcp", *map(str, files)], env=None
        )
        async with mcp.Client(process) as client:
            tools = (await client.list_tools()).tools
            (language,) = (await client.read_resource("drawtap://filters")).contents
            assert "uses:" in language.text
            return tools, [await client.call_tool(tool, arguments) for tool, arguments in questions]

    return run_alone(talk)


def data(answer):
    assert not answer.is_error, answer.content
    return json.loads(answer.content[0].text) if answer.structured_content is None else answer.structured_content


def told(answer):
    """The answer of a tool that returns a list."""
    found = data(answer)
    return found["result"] if isinstance(found, dict) and "result" in found else found


def test_an_agent_asks_a_recording(chain, recordings):
    with library.open(chain) as trace:
        info = trace.info
        draws = trace.sql("SELECT seq FROM calls WHERE name LIKE 'glDraw%' ORDER BY seq").fetchall()
        functions = trace.sql("SELECT name, count(*) AS n FROM calls GROUP BY name ORDER BY n DESC, name").fetchall()
        shown = {path: value for path, value in computed_state(trace, draws[-1][0]).items() if "VIEWPORT" in path}
    draw = draws[-1][0]
    tools, answers = conversation(
        [chain, recordings / "debug_markers.dtap"],
        ("recordings", {}),
        ("sql", {"query": "SELECT name, count(*) AS n FROM calls GROUP BY name ORDER BY n DESC, name"}),
        ("find_calls", {"words": "glDraw*"}),
        ("call", {"number": draw}),
        ("state", {"number": draw, "path": "*VIEWPORT*", "only_changed": False}),
        ("picture", {"number": draw}),
        ("propose_cut", {"frame": 0}),
        ("tables", {"table": "frames"}),
        ("list_calls", {"first": info["calls"] - 2, "count": 5}),
        ("recordings", {}),
    )
    assert len(tools) >= 13
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint
    opened, counted, found, call, state, picture, cut, columns, last, again = answers
    assert told(opened)[0]["calls"] == info["calls"]
    assert len(told(opened)) == 2
    assert [tuple(row) for row in data(counted)["rows"]] == functions
    assert data(found)["matches"] == len(draws)
    assert [c["call"] for c in data(found)["calls"]] == [seq for (seq,) in draws][:50]
    assert data(call)["seq"] == draw
    assert shown
    assert {row["path"]: row["value"] for row in told(state)} == shown
    assert picture.content[0].mime_type == "image/png"
    assert base64.b64decode(picture.content[0].data).startswith(b"\x89PNG")
    assert 0 < data(cut)["calls"] <= info["calls"]
    assert data(cut)["command"].startswith("drawtap extract ")
    assert all(column["meaning"] for column in data(columns)["columns"])
    assert [c["call"] for c in told(last)] == [info["calls"] - 2, info["calls"] - 1]
    assert told(again) == told(opened)


def test_a_picture_is_the_one_of_the_command_line(chain, tmp_path, drawtap):
    with library.open(chain) as trace:
        draw = trace.sql("SELECT max(seq) FROM calls WHERE name LIKE 'glDraw%'").fetchone()[0]
    _, (picture,) = conversation([chain], ("picture", {"number": draw}))
    assert drawtap("image", chain, str(draw), "-o", tmp_path / "own.png").code == 0
    assert base64.b64decode(picture.content[0].data) == (tmp_path / "own.png").read_bytes()


def test_a_proposed_cut_works(chain, tmp_path, drawtap):
    _, (cut,) = conversation([chain], ("propose_cut", {"frame": 0}))
    words = data(cut)["command"].split()
    assert words[:2] == ["drawtap", "extract"]
    assert drawtap(*words[1:-1], tmp_path / "cut.dtap").code == 0


# Questions that cannot be answered, and words of the answer.
MISTAKES = [
    ("call", {"number": 10**9}, "there is no call"),
    ("sql", {"query": "COPY calls TO 'x.csv'"}, "only one question that reads"),
    ("sql", {"query": "SELECT * FROM nowhere"}, "nowhere"),
    ("find_calls", {"words": "frame:ten"}, "frame:ten"),
    ("picture", {"number": 0}, "no context"),
    ("state", {"number": 0, "recording": 5}, "there is no recording 5"),
    ("propose_cut", {"frame": 10**6}, "there is no frame"),
    ("call", {"number": -1}, "number"),
]


def test_mistakes_are_answers(chain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, (*answers, after) = conversation([chain], *(question[:2] for question in MISTAKES), ("tables", {}))
    for (tool, _, words), answer in zip(MISTAKES, answers, strict=True):
        assert answer.is_error, tool
        assert words in answer.content[0].text
        assert "Traceback" not in answer.content[0].text
    assert "calls" in data(after)["tables"]
    assert not list(tmp_path.iterdir())


def test_without_a_recording(drawtap, tmp_path):
    assert drawtap("view", "--mcp").code == 2
    absent = drawtap("view", "--mcp", tmp_path / "no.dtap")
    assert absent.code != 0
    assert "no.dtap" in absent.err
    assert not absent.out
