"""The report and the text view."""

from __future__ import annotations

import io
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from drawtap.view import progress
from drawtap.view.data import dumps, write_json
from drawtap.view.report import CallRow, FrameRow, FunctionRow, Report, SmallTable, render
from drawtap.view.result import Facts, Rows, Text, Verdict, Verdicts
from drawtap.view.text import TextView, duration, number, percentile, size, wants_color
from writer import Writer, small_trace


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in {"src", "href"} and value]
        if tag not in {"meta", "link", "br", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def report(**changes: object) -> Report:
    values: dict[str, object] = {
        "title": "a <b> & c",
        "subtitle": "s",
        "tiles": [("1", "frame")],
        "frames": [FrameRow(0, 1_000_000, 3, 0), FrameRow(1, 2_000_000, 3, 16)],
        "functions": [FunctionRow("glClear", 2, 1.0, 100, 50.0, 60)],
        "functions_note": "1 function",
        "slowest": [CallRow(5, 1, 0, 'glShaderSource(string = {"</script><script>alert(1)"})', 60)],
        "tables": [SmallTable("Threads", ("thread",), (True,), [("0",)])],
        "facts": [("program", [("file", "x<y")])],
        "notes": [("warning", "2 calls & more were lost")],
    }
    return Report(**{**values, **changes})  # type: ignore[arg-type]


def test_a_page_is_whole_and_alone():
    html = render(report())
    page = _Page()
    page.feed(re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", html, flags=re.DOTALL))
    assert page.open == []
    assert all(link.startswith("#") for link in page.links)
    outside = set(re.findall(r"https?://[^\s\"')]+", html)) - {"https://github.com/leeoniya/uPlot"}
    assert outside == set()
    assert "@import" not in html
    assert "url(" not in html
    assert len(html) < 200_000


def test_a_page_escapes_what_programs_say():
    html = render(report())
    assert "<b> &" not in html.split("<script")[0]
    assert "a &lt;b&gt; &amp; c" in html
    assert "</script><script>alert" not in html
    assert "x&lt;y" in html


def test_the_plots_data():
    data = json.loads(re.search(r'id="data">(.*?)</script>', render(report()), re.DOTALL)[1])
    assert data["frames"] == {"number": [0, 1], "duration": [1_000_000, 2_000_000], "calls": [3, 3], "uploads": [0, 16]}
    assert data["levels"] == {"p50": 1_000_000, "p99": 2_000_000}


def test_without_frames_there_is_no_plot():
    html = render(report(frames=[]))
    assert 'id="frame-times"' not in html
    assert "<canvas" not in html


def test_many_frames_keep_the_longest():
    frames = [FrameRow(i, 10 if i != 77_777 else 9_999, 1, 0) for i in range(100_000)]
    html = render(report(frames=frames))
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert len(data["frames"]["number"]) <= 8000
    assert 9_999 in data["frames"]["duration"]
    assert len(html) < 1_000_000


def test_the_verb_writes_a_page(drawtap, tmp_path):
    trace = small_trace().write(tmp_path / "small.dtap")
    answer = drawtap("report", trace)
    assert answer.code == 0, answer.err
    html = (tmp_path / "small.html").read_text()
    assert "glDrawElements" in html
    assert drawtap("report", trace).code == 2
    assert drawtap("report", trace, "--force").code == 0
    told = json.loads(drawtap("report", trace, "-o", tmp_path / "b.html", "--json").out)
    assert Path(told["path"]).stat().st_size == told["bytes"]


def test_the_verb_on_an_empty_and_on_a_torn_recording(drawtap, tmp_path):
    empty = Writer().write(tmp_path / "empty.dtap")
    assert drawtap("report", empty).code == 0
    torn = tmp_path / "torn.dtap"
    torn.write_bytes(small_trace().write(tmp_path / "whole.dtap").read_bytes()[:-200])
    assert drawtap("report", torn).code == 0
    assert "Notes and problems" in torn.with_suffix(".html").read_text()


# ---- text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 ns"), (7, "7.00 ns"), (999, "999 ns"), (1234, "1.23 µs"), (999_999, "1.00 ms"), (16_666_667, "16.7 ms"),
     (2.5e9, "2.50 s"), (3e11, "5.00 min"), (-1500, "-1.50 µs")],
)  # fmt: skip
def test_durations(ns, text):
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (5_000_000, "4.77 MiB"), (1 << 40, "1.00 TiB")],
)
def test_sizes(count, text):
    assert size(count) == text


def test_numbers():
    assert number(1234567) == "1 234 567"
    assert number(0.5) == "0.50"
    assert percentile([1, 2, 3, 4], 0.5) == 2
    assert percentile(list(range(1, 101)), 0.99) == 99
    assert percentile([5], 0.99) == 5


def shown(result: object, *, width: int | None = None, color: bool = False, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    TextView(stream, width=width, color=color).show(result)
    return raw.getvalue().decode(encoding)


def test_a_table():
    rows = Rows(
        ("name", "n", "time", "share"), [("a", 1, 1500, 1.0), ("bcd", 20, None, 0.25)], {"time": "ns", "share": "bar"}
    )
    assert shown(rows) == (
        "name   n     time\n"
        "a      1  1.50 µs  ████████████████████\n"
        "bcd   20           █████\n"
    )  # fmt: skip
    assert list(rows.objects()) == [{"name": "a", "n": 1, "time": 1500}, {"name": "bcd", "n": 20, "time": None}]


def test_a_table_fits_the_terminal():
    text = shown(Rows(("a", "b"), [("x" * 200, 1)]), width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert "…" in text
    assert "x" * 200 in shown(Rows(("a", "b"), [("x" * 200, 1)]))


def test_a_table_streams():
    seen = []

    def rows():
        for i in range(5000):
            seen.append(i)
            yield (i,)

    class Stop(io.StringIO):
        def write(self, text: str) -> int:
            if text.strip() == "10":
                raise BrokenPipeError
            return len(text)

    with pytest.raises(BrokenPipeError):
        TextView(Stop()).show(Rows(("n",), rows()))
    assert len(seen) <= 1001


def test_ascii_streams_get_ascii():
    text = shown(Rows(("t", "s"), [(1500, 0.5)], {"t": "ns", "s": "bar"}), encoding="ascii")
    assert "1.50 us  ##########" in text


def test_nothing_a_program_says_reaches_the_terminal_as_control():
    assert "\x1b" not in shown(Rows(("a",), [("\x1b[31mred\x07",)]))


def test_color(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    assert wants_color(Terminal())
    assert not wants_color(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color(Terminal())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(Terminal())
    assert "\x1b[1m" in shown(Rows(("a",), [(1,)]), color=True)


def test_json():
    out = io.StringIO()
    write_json(Rows(("a", "b"), iter([(1, b"\x00\x01"), (float("nan"), [1, {"x": 2}])])), out)
    assert json.loads(out.getvalue()) == [{"a": 1, "b": "AAE="}, {"a": None, "b": [1, {"x": 2}]}]
    assert len(out.getvalue().splitlines()) == 4
    for value, text in ((Rows(("a",), []), "[]"), (Facts({"x": 1}, {}), '{\n  "x": 1\n}'), (Text("t"), '"t"')):
        out = io.StringIO()
        write_json(value, out)
        assert out.getvalue() == text + "\n"
    assert dumps({"ä": "ö"}) == '{"ä": "ö"}'


def test_verdicts():
    text = shown(Verdicts([Verdict("ok", "a", "fine"), Verdict("error", "long", "bad", "mend it")]))
    assert text == "✓ a     fine\n✗ long  bad\n        mend it\n"
    assert Verdicts([]).worst == "ok"


def test_progress_shows_after_a_while_and_goes_away(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    err = Terminal()
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(progress, "_STEP_S", 0.01)

    def slow():
        time.sleep(0.2)
        yield 1
        assert err.getvalue().endswith("\x1b[K")
        yield 2

    with progress.Progress(lambda: (30, 60)) as line:
        assert list(line.until_first(slow())) == [1, 2]
    assert "\r[===============               ]  50 %" in err.getvalue()


def test_progress_is_silent_in_a_pipe(capsys):
    with progress.Progress(lambda: (1, 2)) as line:
        assert list(line.until_first([])) == []
        assert list(line.until_first([7])) == [7]
    assert capsys.readouterr().err == ""
