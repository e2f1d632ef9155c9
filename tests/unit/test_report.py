"""The report and the text view."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import threading
import time
from dataclasses import replace
from html import unescape as html_of
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from drawtap import activity
from drawtap.analysis.content import Series
from drawtap.metrics.tables import Heat, HeatMap, Table, TableRow
from drawtap.output import progress
from drawtap.output.data import dumps, write_json
from drawtap.output.overdraw import STEPS, small
from drawtap.output.report import (
    CallRow,
    CheckRow,
    Checks,
    FrameDetail,
    FrameRow,
    Plot,
    Report,
    ShaderCard,
    SmallTable,
    TextureCard,
    bars,
    quantity,
    render,
)
from drawtap.output.result import Facts, Lines, Rows, Text, Verdict, Verdicts
from drawtap.output.text import TextView, counted, duration, number, percentile, size, wants_color
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


SERIES = Series("draws", "draws", "count", total=7, minimum=1, maximum=6, mean=3.5, bins=(1, 0, 1))
PART = replace(SERIES, unit="percent", minimum=31, mean=140, maximum=315)
CLEAR = {"name": "glClear", "calls": 2, "total_ns": 100, "mean_ns": 50.0, "max_ns": 60}
PLOTS = [Plot("uploads", "Uploads", "", "bytes", [("textures", "orange", [0.0, 16.0])], bars=True)]


def detail(**changes: object) -> FrameDetail:
    values: dict[str, object] = {
        "number": 1,
        "why": "longest",
        "picture": "data:image/png;base64,AAAA",
        "duration_ns": 2_000_000,
        "facts": [("calls", "3")],
        "functions": [("glClear", 2, 100)],
        "calls": [CallRow(5, 1, 0, "glClear(<b>)", 60)],
        "findings": [("gl-errors", "Calls that <i> fail")],
    }
    return FrameDetail(**{**values, **changes})  # type: ignore[arg-type]


def full() -> Report:
    """A report with one of everything."""
    return report(
        overview=[("frames / second", "60.0"), ("frames", "2")],
        rates=[0, 2, 1],
        checks=Checks(
            "1 error",
            [CheckRow("gl-errors", "Bad & worse", "error", "API usage", "tiled", "2 calls", "Why.", "Fix.",
                      [(1, "call 3 (frame 1)", "<script>x", "1 ms"), (9, "frame 9", "", "")], 4)],
            [("a", "A", "pass", ""), ("b", "B", "not looked", "no frames"), ("c", "C", "suppressed", "known")],
            ["rule = 'x'"], ["torn"],
        ),
        plots=PLOTS,
        strip=[(0, "data:image/png;base64,BBBB")],
        statistics=[SERIES],
        chosen=[detail(picture="")],
        slow=[detail()],
        textures=[TextureCard("4 × 4", "RGBA", "data:image/png;base64,CCCC", ""),
                  TextureCard("8 × 8", "X", "", "GL_X is not decoded")],
        textures_note="2 with content",
        shaders=[ShaderCard("vertex shader 1", "1 line", "void main() { a < b; }")],
        configs=SmallTable("Configurations", ("id",), (True,), [("5",)]),
        redundancy=[SmallTable("What", ("", "calls"), (False, True), [("same value", "3")], "share")],
        missing={"pictures": "stopped"},
        content=[Table("OpenGL", [
            TableRow("draws <b>", "count", SERIES, "calls"),
            TableRow("rasterised pixels", "percent", PART, "fragments:x", lacks="without 2 frames"),
            TableRow("lit vertices", "count", None, "", "not measured"),
        ], "drawtap profile a.dtap --metrics 'geometry:*'")],
        sizes=[("below 1", 3), ("1 to 4", 1200)],
        heat=HeatMap([0, 1], [["glDrawArrays"], ["glDrawArrays", "<glEnd>"]],
                  [Heat("gl:time/elapsed", "ns", [[5.0], [None, 12345.678]])]),
        overdraw=[("frame 1", "2.50 fragments a covered pixel", "data:image/png;base64,DDDD")],
    )  # fmt: skip


def report(**changes: object) -> Report:
    values: dict[str, object] = {
        "title": "a <b> & c",
        "subtitle": "s",
        "tiles": [("1", "frame")],
        "frames": [FrameRow(0, 1_000_000, 3, 0), FrameRow(1, 2_000_000, 3, 16)],
        "functions": [CLEAR],
        "functions_note": "1 function",
        "slowest": [CallRow(5, 1, 0, 'glShaderSource(string = {"</script><script>alert(1)"})', 60)],
        "tables": [SmallTable("Threads", ("thread",), (True,), [("0",)])],
        "facts": [("program", [("file", "x<y")])],
        "notes": [("warning", "2 calls & more were lost")],
    }
    return Report(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [report, full])
def test_a_page_is_whole_and_alone(made):
    html = render(made())
    page = _Page()
    page.feed(re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", html, flags=re.DOTALL))
    assert page.open == []
    assert all(link.startswith(("#", "data:image/png")) for link in page.links)
    inside = set(re.findall(r' id="([^"]+)"', html))
    assert all(link[1:] in inside for link in page.links if link.startswith("#"))
    outside = set(re.findall(r"https?://[^\s\"')]+", html)) - {"https://github.com/leeoniya/uPlot"}
    assert outside == set()
    assert "@import" not in html
    assert "url(" not in html
    assert len(html) < 200_000


def test_calls_that_are_not_timed_take_no_zero_nanoseconds():
    untimed = {"name": "glFlush", "calls": 1, "total_ns": None, "mean_ns": None, "max_ns": None}
    line = next(row for row in render(report(functions=[CLEAR, untimed])).splitlines() if ">glFlush<" in row)
    assert re.findall(r">([^<>]+)</td>", line) == ["glFlush", "1", "–", "–", "–"]
    assert "width:50.00%" in line


def test_a_page_runs_our_scripts_and_nothing_else():
    html = render(report())
    policy = html_of(re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)[1])
    rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert "unsafe" not in rules["script-src"]
    scripts = re.findall(r'<script(?: type="module")?>(.*?)</script>', html, re.DOTALL)
    assert len(scripts) == 2  # uPlot, and ours with all that it imports
    assert not re.search(r"^(im|ex)port\b", scripts[1], re.MULTILINE)
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in rules["script-src"].split()
    assert html.index("Content-Security-Policy") < html.index("<title")


def test_a_page_escapes_what_programs_say():
    html = render(report())
    assert "<b> &" not in html.split("<script")[0]
    assert "a &lt;b&gt; &amp; c" in html
    assert "</script><script>alert" not in html
    assert "x&lt;y" in html


def test_what_was_measured_is_shown_and_what_was_not_is_told():
    html = render(full())
    assert "draws &lt;b&gt;" in html and "draws <b>" not in html
    assert '<td class="n">31 %</td><td class="n">140 %</td><td class="n">315 %</td>' in html
    folded = html.partition('<details class="rest"><summary>1 quantity was not measured</summary>')[2]
    assert "not measured" in folded.partition("</details>")[0]
    assert "drawtap profile a.dtap --metrics &#39;geometry:*&#39;" in html
    assert "1\u202f200" in html or "1 200" in html
    assert 'src="data:image/png;base64,DDDD"' in html
    assert "32 and more" in html and "12 to 15" in html
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["heat"]["frames"] == [0, 1]
    assert data["heat"]["names"] == ["glDrawArrays", "<glEnd>"]
    assert data["heat"]["functions"] == [[0], [0, 1]]
    assert data["heat"]["layers"] == [{"title": "gl:time/elapsed", "unit": "ns", "cells": [[5.0], [None, 12300.0]]}]
    assert json.loads(re.search(r'id="data">(.*?)</script>', render(report()), re.DOTALL)[1])["heat"] is None


def test_a_picture_of_overdraw_shows_the_largest():
    counts = np.zeros((5, 7), np.uint32)
    counts[0, 0], counts[1, 1], counts[4, 6] = 1, 3, 400
    whole = small(counts, 10)
    assert whole.shape == (5, 7, 4)
    assert (whole[..., 3] == 255).all()
    assert tuple(whole[2, 2, :3]) == STEPS[0][1] and tuple(whole[4, 6, :3]) == STEPS[-1][1]
    half = small(counts, 4)
    assert half.shape == (3, 4, 4)
    assert (half[0, 0] == whole[1, 1]).all(), "of 0, 1 and 3 the largest"
    assert (half[2, 3] == whole[4, 6]).all()


def test_the_plots_data():
    data = json.loads(re.search(r'id="data">(.*?)</script>', render(report()), re.DOTALL)[1])
    assert data["frames"] == {"number": [0, 1], "duration": [1_000_000, 2_000_000], "calls": [3, 3], "uploads": [0, 16]}
    assert data["levels"] == {"p50": 1_000_000, "p99": 2_000_000}


def test_what_is_in_a_report_is_on_the_page():
    html = render(full())
    head = html.split('<script type="application/json"')[0]
    expected = (
        "60.0", "Bad &amp; worse", "&lt;script&gt;x", "and 4 more", "1 rule not checked", "no frames", "known",
        "GL_X is not decoded", "a &lt; b", "Pictures: stopped", "same value", "longest", "glClear(&lt;b&gt;)",
    )  # fmt: skip
    for text in expected:
        assert text in head, text
    assert '<a href="#frame-1">call 3 (frame 1)</a>' in head
    assert "#frame-9" not in head  # that one is not shown in detail
    assert head.count('id="frame-1"') == 1
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["strip"] == [[0, "data:image/png;base64,BBBB"]]
    assert data["plots"][0]["series"] == [{"label": "textures", "color": "orange", "values": [0.0, 16.0]}]


def test_what_is_not_in_a_report_has_no_heading():
    html = render(report()).split("<script")[0]
    for part in ("checklist", "verdict", "statistics", "chosen", "textures", "shaders", "redundancy", "strip"):
        assert f'id="{part}"' not in html


def test_many_frames_keep_the_largest_upload():
    frames = [FrameRow(i, 10, 1, 0) for i in range(50_000)]
    uploads = [0.0] * 50_000
    uploads[31_111] = 99.0
    made = report(frames=frames, plots=[Plot("uploads", "U", "", "bytes", [("t", "orange", uploads)])])
    data = json.loads(re.search(r'id="data">(.*?)</script>', render(made), re.DOTALL)[1])
    [series] = data["plots"][0]["series"]
    assert max(series["values"]) == 99.0
    assert len(series["values"]) == len(data["frames"]["number"])


def test_quantities_and_histograms():
    assert quantity(1500, "ns") == "1.50 µs"
    assert quantity(1024, "bytes") == "1.00 KiB"
    assert quantity(3.25, "count") == "3.25"
    assert quantity(1.004, "count") == "1.00"
    assert quantity(32.51, "count") == "32.5"
    assert quantity(1234.5, "count") == "1 234"
    drawn = bars([0, 4, 1])
    assert drawn.count("<rect") == 3
    assert drawn.count('class="none"') == 1
    assert 'aria-label="0, 4, 1"' in drawn


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


def test_the_verb_without_pictures(drawtap, tmp_path, monkeypatch):
    monkeypatch.setattr("drawtap.replay.warm.Warm.__init__", lambda *a, **k: pytest.fail("it plays"))
    trace = small_trace().write(tmp_path / "small.dtap")
    assert drawtap("report", trace, "--pictures", "0").code == 0
    assert "Pictures: they were not wanted" in (tmp_path / "small.html").read_text()
    assert drawtap("report", trace, "--pictures", "-1", "--force").code == 2


def test_the_verb_where_nothing_can_be_played(drawtap, tmp_path):
    trace = small_trace().write(tmp_path / "small.dtap")
    answer = drawtap("report", trace, "--on", "no-such-engine")
    assert answer.code == 0, answer.err
    assert "no-such-engine" in (tmp_path / "small.html").read_text()


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


def test_counts_agree_with_their_words():
    assert [counted(n, "call") for n in (0, 1, 2000)] == ["0 calls", "1 call", "2 000 calls"]
    assert [counted(n, "pass", "passes") for n in (1, 2)] == ["1 pass", "2 passes"]


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


def test_names_that_begin_alike_stay_apart_on_a_narrow_terminal():
    names = [f"geometry:triangles/{end}" for end in ("culled", "clipped", "degenerate", "area_below_1")]
    table = Rows(("per", "metric", *"abcdef"), [("draw", name, *["a value or so"] * 6) for name in names])
    lines = shown(table, width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert len({line.split()[1] for line in lines[1:5]}) == 4
    assert "--json has them: " in " ".join(lines[5:])


def test_columns_that_do_not_fit_are_named():
    names = [f"column_{i}" for i in range(9)]
    table = Rows(names, [[f"a longer value {i}" for i in range(9)]])
    lines = shown(table, width=40).splitlines()
    assert max(map(len, lines)) <= 40
    named = " ".join(lines[2:])
    fit = lines[1].count("a long")
    assert named.startswith("too wide for this terminal, --json has them:")
    assert [name for name in names if name in named] == names[fit:]
    assert 1 <= fit < 9
    whole = shown(table).splitlines()
    assert len(whole) == 2 and "a longer value 8" in whole[1]  # a file or pipe gets all of it


def test_bars_are_the_first_to_be_narrow():
    table = Rows(("name", "calls", "share", "bytes"), [("glDrawElements", 12, 1.0, 5), ("glClear", 6, 0.5, 5)],
                 {"share": "bar"})  # fmt: skip
    out = io.StringIO()
    TextView(out, width=40).show(table)
    lines = out.getvalue().splitlines()
    assert [line.split() for line in lines] == [
        ["name", "calls", "bytes"],
        ["glDrawElements", "12", "██████████", "5"],
        ["glClear", "6", "█████", "5"],
    ]
    assert max(map(len, lines)) <= 40


def test_a_column_of_one_value_becomes_a_note():
    rows = [(0, "eglSwapBuffers"), (1, "eglSwapBuffers"), (2, None)]
    table = Rows(("frame", "end_function"), rows, {"end_function": "same"}, note="3 frames")
    out = io.StringIO()
    TextView(out).show(table)
    note = "3 frames; end function: eglSwapBuffers, except for 1 row"
    assert out.getvalue().splitlines() == ["frame", "    0", "    1", "    2", note]
    assert [row["end_function"] for row in table.objects()] == ["eglSwapBuffers", "eglSwapBuffers", None]
    out = io.StringIO()
    TextView(out).show(Rows(("a",), [(1,), (2,)], {"a": "same"}))
    assert out.getvalue().splitlines() == ["a", "1", "2"]


def test_paragraphs_are_broken_at_the_width_of_the_terminal():
    text = "✗ A title\n    why  one two three four\n      call 3 (frame 1)  glClear and more\n"
    out = io.StringIO()
    TextView(out, width=22).show(Text(text, wrap=True))
    assert out.getvalue().splitlines() == [
        "✗ A title", "    why  one two three", "         four", "      call 3 (frame 1)", "          glClear and",
        "          more",
    ]  # fmt: skip
    out = io.StringIO()
    TextView(out, width=22).show(Text(text))
    assert out.getvalue() == text
    out = io.StringIO()
    TextView(out, width=30).show(Lines(lambda fd: None, lambda: iter(["7 glClear(mask = GL_COLOR_BUFFER_BIT)"]),
                                       lambda: Rows((), []), wrap=True))  # fmt: skip
    assert out.getvalue().splitlines() == ["7 glClear(mask =", "    GL_COLOR_BUFFER_BIT)"]
    out = io.StringIO()
    TextView(out, width=26).show(Text("glFlush() took a time [12.8 us]", wrap=True))
    assert out.getvalue().splitlines() == ["glFlush() took a time", "    [12.8 us]"]


def test_a_first_frame_that_loads_does_not_press_a_short_plot_flat():
    loads = shown(Rows(("a",), [(1,)], plot=[7e9, 2e6, 1e6, 2e6, 1e6]), width=60)
    assert "↑" in loads
    assert " 2.60 ms ┤" in loads
    assert "↑" not in shown(Rows(("a",), [(1,)], plot=[3e6, 2e6, 1e6, 2e6, 1e6]), width=60)
    assert "↑" not in shown(Rows(("a",), [(1,)], plot=[7e9]), width=60)


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


@pytest.mark.parametrize("result", [Facts({"file": "\udce4.dtap"}, {}), Rows(("file",), [("\udce4.dtap",)])])
def test_json_is_utf8_whatever_the_names_of_files_are(result):
    out = io.StringIO()
    write_json(result, out)
    assert json.loads(out.getvalue().encode()) in ({"file": "\ufffd.dtap"}, [{"file": "\ufffd.dtap"}])


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
    rows = [(1, 'a\n",\n% ä', None, 0.5), (True, "", [1, "\n,"], float("inf")), (1 << 70, "%s", b"\x00", 1e300)] * 2000
    for columns in (("100 %", "%s", "c\n", "d"), ("same", "b", "same", "d")):
        whole, streamed = io.StringIO(), io.StringIO()
        write_json(Rows(columns, rows, {"b": "bar"}), whole)
        write_json(Rows(columns, iter(rows), {"b": "bar"}), streamed)
        assert whole.getvalue() == streamed.getvalue()


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
    monkeypatch.setenv("DRAWTAP_PROGRESS", "on")
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


def test_progress_never_stands_at_100_percent():
    assert progress.Progress(lambda: (60, 60))._line(3.2) == "working, 3 s"
    assert progress.Progress(lambda: (0, 0))._line(0) == "working, 0 s"
    with activity.step("report"), activity.step("checklist"):
        assert progress.Progress(lambda: (60, 60))._line(3.2) == "report: checklist, 3 s"
        activity.at(12, 48)
        assert progress.Progress(lambda: (60, 60))._line(3.2, bar=False) == "25 %, report: checklist"
        activity.at(48, 48)
        assert progress.Progress(lambda: (1, 2))._line(3.2, bar=False) == "50 %, report: checklist"
    assert activity.now() == ("", 0, 0)


def test_equal_steps_of_several_threads_are_named_once():
    begun, over = threading.Barrier(3, timeout=300), threading.Event()

    def play():
        with activity.step("playing trial.dtap"):
            activity.at(3, 10)
            begun.wait()
            over.wait(30)

    threads = [threading.Thread(target=play) for _ in range(2)]
    with activity.step("minimizing"):
        for thread in threads:
            thread.start()
        begun.wait()
        assert activity.now() == ("minimizing: playing trial.dtap (2 at once)", 0, 0)
        with activity.step("looking"):
            activity.at(1, 4)
            assert activity.now() == ("minimizing: playing trial.dtap (2 at once): looking", 1, 4)
        over.set()
        for thread in threads:
            thread.join()
        activity.at(2, 5)
        assert activity.now() == ("minimizing", 2, 5)
    assert activity.now() == ("", 0, 0)


def test_long_work_says_what_it_does_on_a_pipe(monkeypatch):
    err = io.StringIO()
    said = threading.Event()

    def write(text):
        said.set()
        return io.StringIO.write(err, text)

    monkeypatch.setattr(err, "write", write)
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr(progress, "_EVERY_S", 0.01)
    monkeypatch.setenv("DRAWTAP_PROGRESS", "on")
    with activity.step("playing game.dtap"), progress.Progress():
        assert said.wait(30)
    assert err.getvalue().startswith("drawtap: playing game.dtap, 0 s\n")


def test_short_work_is_silent_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setenv("DRAWTAP_PROGRESS", "on")
    with progress.Progress(lambda: (1, 2)) as line:
        assert list(line.until_first([])) == []
        assert list(line.until_first([7])) == [7]
    assert capsys.readouterr().err == ""
