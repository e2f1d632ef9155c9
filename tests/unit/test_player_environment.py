"""What of this process's environment a player gets, and what its refusals advise."""

from __future__ import annotations

from drawtap.parts import TAP
from drawtap.replay import player


def test_what_the_user_preloads_stays_and_only_the_tap_goes(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", f"/opt/libown.so /some/where/{TAP}:libother.so")
    assert player.environment_with({"A": "1"})["LD_PRELOAD"] == "/opt/libown.so libother.so"
    monkeypatch.setenv("LD_PRELOAD", f"/some/where/{TAP}")
    assert "LD_PRELOAD" not in player.environment_with({})
    monkeypatch.delenv("LD_PRELOAD")
    found = player.environment_with({"A": "1"})
    assert found["A"] == "1"
    assert "LD_PRELOAD" not in found


def test_other_drivers_are_named_where_the_complaint_is_about_this_one():
    assert (
        player.unavailable("the driver here does not have it").hint == "drawtap replay --engines lists the drivers here"
    )
    assert player.unavailable("there is no device for Vulkan").hint
    assert player.unavailable("calls of Vulkan draw when they are submitted").hint is None
