"""The terminal view, without a terminal."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from textual.widgets import DataTable, Static

from drawtap.errors import UnavailableError
from drawtap.live.program import Importance
from drawtap.output.top import Top, milliseconds, spark
from shared import run_alone

_CLASSES = [i.value for i in Importance]


def _program(key: int, name: str, importance: str, surfaces: int = 1, **more: object) -> dict[str, Any]:
    shown = [
        {
            "number": n + 1,
            "kind": "egl",
            "handle": "0x1",
            "width": 640,
            "height": 480,
            "fps": 60.0 / (n + 1),
            "frame_ms": {"p50": 16.67, "p95": 17.0, "p99": 21.5, "max": 33.0},
            "waited": 0.25,
            "limit": more.get("limit"),
            "recent_ms": [16.0] * 100 + [40.0] + [16.0] * 19,
        }
        for n in range(surfaces)
    ]
    return {
        "id": key,
        "pid": 4000 + key,
        "name": name,
        "exe": f"/usr/bin/{name}",
        "command": [name, "--fast"],
        "class": importance,
        "target_fps": None,
        "goal_fps": None,
        "profile": "",
        "recording": False,
        "fps": 60.0,
        "limit": None,
        "alarms": [],
        "surfaces": shown,
        **more,
    }


class _Source:
    def __init__(self) -> None:
        self.wishes: list[tuple[object, ...]] = []
        self.asked = threading.Event()
        limit = {"fps": 30.0, "reason": "terrain misses 60 FPS", "origin": "adaptive", "pacing": "early"}
        alarm = {"rule": "target-missed", "since_s": 3.0, "text": "41 of 60 FPS"}
        self.programs = [
            _program(1, "refract", "background", limit=limit),
            _program(
                2, "terrain-with-a-long-name", "high", 2, target_fps=60.0, goal_fps=60.0, alarms=[alarm], recording=True
            ),
            _program(3, "computes", "background", 0, frames=0, observed=True),
        ]

    def looks(self) -> Iterator[Mapping[str, Any]]:
        yield {"programs": self.programs, "manager": {"policies": ["adaptive"], "config_error": None}}
        self.asked.wait()

    def limit(self, pid: int, surface: int | None, fps: float | None, *, free: bool = False) -> None:
        self.wishes.append(("limit", pid, fps, free))

    def give_class(self, pid: int, importance: str) -> None:
        self.wishes.append(("class", pid, importance))

    def record(self, pid: int) -> str:
        self.wishes.append(("record", pid))
        raise UnavailableError("nothing draws")


def test_programs_are_shown_and_keys_are_wishes():
    source = _Source()

    async def use() -> None:
        app = Top(source, _CLASSES)
        async with app.run_test(size=(80, 24)) as pilot:

            async def until(condition) -> None:
                for _ in range(3000):
                    if condition():
                        return
                    await pilot.pause(0.01)
                raise AssertionError("it did not happen")

            table = app.query_one(DataTable)
            await until(lambda: table.row_count == 4)
            rows = [[str(cell) for cell in table.get_row_at(i)] for i in range(3)]
            # The important ones first; a program with two surfaces has two rows.
            assert [r[0] for r in rows] == ["4002", "4002", "4001"]
            assert rows[0][1] == "● terrain… #1" and rows[1][1].endswith("#2")
            assert rows[2][2:5] == ["60.0", "16.67", "21.50"] and rows[2][6:] == ["30", "background"]
            assert sum(table.columns[key].get_render_width(table) for key in table.columns) <= 80
            assert table.get_row_at(3)[5].plain == "no frames" and table.get_row_at(3)[2].plain == "-"
            await pilot.resize_terminal(200, 50)
            await until(lambda: table.get_row_at(0)[1].plain == "● terrain-with-a-long-name #1")
            assert len(table.get_row_at(0)[5].plain) > 40
            await pilot.resize_terminal(80, 24)
            await until(lambda: table.get_row_at(0)[1].plain == "● terrain… #1")
            await pilot.press("down", "down")
            about = app.query_one("#detail", Static)
            await until(lambda: "limited to 30 FPS by adaptive: terrain misses 60 FPS" in str(about.content))
            await pilot.press("down")
            await until(lambda: "it has shown no frame" in str(about.content))
            assert "observed only" in str(about.content)
            await pilot.press("up")
            await until(lambda: "limited to 30 FPS" in str(about.content))
            for key in ("plus", "minus", "n", "f", "c", "r"):
                count = len(source.wishes)
                await pilot.press(key)
                await until(lambda before=count: len(source.wishes) > before)
            await pilot.press("l", "4", "5", "enter")
            await until(lambda: len(source.wishes) > 6)
            await pilot.press("l", "x", "enter")
            await pilot.press("q")

    run_alone(use)
    source.asked.set()
    assert source.wishes == [
        ("limit", 4001, 35.0, False),
        ("limit", 4001, 25.0, False),
        ("limit", 4001, None, False),
        ("limit", 4001, None, True),
        ("class", 4001, "critical"),
        ("record", 4001),
        ("limit", 4001, 45.0, False),
    ]


def test_without_the_manager_nothing_old_is_shown():
    source = _Source()
    there, gone = threading.Event(), threading.Event()
    seen = source.looks

    def looks() -> Iterator[Mapping[str, Any]]:
        if not there.is_set():
            there.set()
            yield next(seen())
            gone.wait()
        raise UnavailableError("no manager runs (nobody listens at /run/x)")

    source.looks = looks  # type: ignore[method-assign]

    async def use() -> None:
        app = Top(source, _CLASSES)
        async with app.run_test(size=(80, 24)) as pilot:
            table = app.query_one(DataTable)

            async def until(condition) -> None:
                for _ in range(6000):
                    if condition():
                        return
                    await pilot.pause(0.01)
                raise AssertionError("it did not happen")

            await until(lambda: table.row_count == 4)
            gone.set()
            await until(lambda: table.row_count == 0)
            await until(lambda: "nobody listens at /run/x" in str(app.query_one("#detail", Static).content))
            assert str(app.query_one("#head", Static).content) == "drawtap top   no manager runs; waiting for one"
            await pilot.press("plus", "q")

    run_alone(use)
    assert source.wishes == []


def test_one_long_frame_is_seen_in_a_line_of_blocks():
    line = spark([16.0] * 100 + [40.0] + [16.0] * 19)
    assert len(line) == 12 and line.count("█") == 1 and line.count("▁") == 11
    assert set(spark([16.6, 16.7, 16.65] * 40)) == {"▁"}  # an even line where nothing scatters
    assert spark([]) == "" and len(spark([1.0, 2.0])) == 2
    assert milliseconds(None) == "-" and milliseconds(123.4) == "123" and milliseconds(1.234) == "1.23"


def test_without_a_terminal_it_prints_once(drawtap, monkeypatch):
    class Client:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def ask(self, op):
            surface = {"number": 1, "width": 0, "height": 0, "fps": 60.0, "frame_ms": None, "limit": None}
            known = {"class": "normal", "alarms": [], "frames": 1, "limit": None, "surfaces": [surface]}
            programs = [{"pid": pid, "name": name, **known} for pid, name in ((7, "game"), (8, "viewer"))]
            return {"programs": programs, "manager": {"pid": 1, "policies": [], "config_error": None}}

    monkeypatch.setattr("drawtap.live.client.Client", Client)
    assert [row["pid"] for row in json.loads(drawtap("top", "--json").out)] == [7, 8]
    assert [row["pid"] for row in json.loads(drawtap("top", "view*", "--once", "--json").out)] == [8]
