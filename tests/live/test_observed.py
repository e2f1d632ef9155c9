"""Programs that were not started under drawtap, in the manager's lists."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from drawtap.commands.top import rows_of
from drawtap.errors import UnavailableError
from drawtap.live import observer
from drawtap.live.exporter import Exporter
from drawtap.live.program import Program, Surface
from pretended import wait_for

if TYPE_CHECKING:
    from conftest import Running


class Pretended:
    """An observer that sees one program; the real one is tested in tests/gl/test_observer.py."""

    def __init__(self) -> None:
        self.polled = 0

    def look_for_libraries(self) -> int:
        return 0

    def poll(self, seconds: float = 0.0) -> int:
        self.polled += 1
        return 0

    def programs(self, now_ns: int) -> tuple[Program, ...]:
        shown = now_ns - np.arange(60, dtype=np.int64)[::-1] * 16_000_000
        surface = Surface(5, "glx", 5, frames=60, shown_ns=shown, wait_ns=shown * 0, swap_ns=shown * 0)
        return (Program(-77, 77, "gears", uid=os.getuid(), surfaces=(surface,)),)

    def close(self) -> None:
        pass


def test_what_is_observed_is_listed_and_cannot_be_limited(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "Observer", Pretended)
    running = start({"manager": {"observe": True}})
    with running.client() as client:
        wait_for(lambda: client.ask("list")["programs"])
        [program] = client.ask("list")["programs"]
        assert program["observed"] and program["pid"] == 77 and 60 < program["fps"] < 65 and program["limit"] is None
        [row] = rows_of([program], "gears")
        assert "observed only" in row
        with pytest.raises(UnavailableError, match="only observed"):
            client.ask("limit", program=77, fps=30)


def test_what_is_observed_is_in_the_figures_for_prometheus(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    monkeypatch.setattr(observer, "Observer", Pretended)
    running = start({"manager": {"observe": True}})
    running.program().show(10, 10_000_000)
    wait_for(lambda: running.manager.observed and running.manager.seen.programs, "both programs")
    text = Exporter(running.manager).text().decode()
    families = {f.name: f.samples for f in text_string_to_metric_families(text)}
    info = {s.labels["pid"]: s.labels["observed"] for s in families["drawtap_program_info"]}
    assert info == {"77": "true", str(os.getpid()): "false"}
    [frames] = [s for s in families["drawtap_frames"] if s.labels["pid"] == "77"]
    assert frames.value == 60 and frames.labels["name"] == "gears" and frames.labels["surface"] == "1"
    assert "77" in {s.labels["pid"] for s in families["drawtap_fps"]}
    assert [families[f"drawtap_{n}programs"][0].value for n in ("", "observed_")] == [1, 1]


def test_where_it_cannot_be_done_the_rest_goes_on(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise UnavailableError("no rights to make a ring")

    monkeypatch.setattr(observer, "Observer", refused)
    running = start({"manager": {"observe": True}})
    with running.client() as client:
        answer = client.ask("list")
    assert answer["manager"]["not_available"]["observer"] == "no rights to make a ring"
    assert [e["because"] for e in running.events("not-available") if e.get("signal") == "observer"]
    assert "observer" not in start().client().ask("list")["manager"]["not_available"]  # nobody asked for it
