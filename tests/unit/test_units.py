"""Durations, sizes and times as people write them."""

from __future__ import annotations

import pytest

from drawtap import units
from drawtap.capture.flight import Ring
from drawtap.errors import UsageError


@pytest.mark.parametrize(
    ("text", "ns"),
    [("50ms", 5e7), ("2 min", 12e10), (".5s", 5e8), ("1h", 36e11), ("7ns", 7), ("1µs", 1e3), ("5", None), ("s", None),
     ("-1s", None), ("1.2.3s", None), ("5K", None), ("", None)],
)  # fmt: skip
def test_durations(text, ns):
    assert units.duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "size"),
    [("64M", 64 << 20), ("1g", 1 << 30), ("500 KiB", 500 << 10), ("0.5MB", 1 << 19), ("12", 12), ("5s", None),
     ("M", None), ("-1M", None), ("", None)],
)  # fmt: skip
def test_sizes(text, size):
    assert units.size_bytes(text) == size


def test_numbers_without_a_unit():
    assert units.duration_ns("2", bare="s") == 2e9
    assert units.size_bytes("2", bare=1024) == 2048
    assert units.moment("1.5", 10) == 1_500_000_010
    assert units.moment("@123", 10) == 123
    assert units.moment(None, 10) is None
    with pytest.raises(UsageError, match="no time"):
        units.moment("soon", 0)


@pytest.mark.parametrize("window", ["0s", "5", "1M5", "9999999999h", "x"])
def test_windows_that_are_none(window):
    with pytest.raises(UsageError, match="expected a time or a size"):
        Ring(window).options()


@pytest.mark.parametrize(("window", "told"), [("2 min", "120000ms"), ("1.5s", "1500ms"), ("64 MiB", "65536K")])
def test_the_drainer_gets_windows_in_its_own_units(window, told):
    assert Ring(window).options()[:2] == ["--ring", told]
