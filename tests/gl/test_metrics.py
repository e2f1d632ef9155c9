"""What is measured while a recording is played, held against what its draws are known to have."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from drawtap.analysis import shader_cost
from drawtap.errors import UnavailableError, UsageError
from drawtap.metrics import listing, passes, profile, sets
from drawtap.metrics.metric import Metric
from drawtap.metrics.passes import Plan
from drawtap.replay import player
from drawtap.trace import measured
from drawtap.trace.trace import Trace, open_trace
from shared import run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

FRAMES = 6
LLVMPIPE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
OWN = "the program's own query of this kind ran"


@pytest.fixture(scope="module", autouse=True)
def _player() -> None:
    player.program()


@pytest.fixture(scope="module")
def recording(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    return programs.recorded(["measured", str(FRAMES)], folder).traces[0]


@pytest.fixture
def trace(recording: Path) -> Iterator[Trace]:
    with open_trace(recording) as opened:
        yield opened


Measure = Callable[..., profile.Profile]


@pytest.fixture
def measure(trace: Trace) -> Measure:
    def run(
        ids: list[str], per: list[str], environment: dict[str, str] | None = None, **wanted: object
    ) -> profile.Profile:
        where = {**LLVMPIPE, **(environment or {})}
        made = _plan(trace.path, ids, per, where)
        ranges = profile.ranges(trace, ["range"]) if "range" in per else ()
        return profile.profile(trace, made, profile.ProfileOptions(ranges=ranges, **wanted), environment=where)  # type: ignore[arg-type]

    return run


def _plan(trace: Path, ids: list[str], per: list[str], environment: dict[str, str]) -> Plan:
    known = listing.metrics(trace, environment=environment)
    return passes.plan(trace, listing.chosen(known, ids), per, environment=environment)


def _values(trace: Trace, query: str) -> list[tuple[object, ...]]:
    return trace.sql(query).fetchall()


class TestCounts:
    def test_every_draw_and_frame_has_exactly_the_samples_and_primitives_that_it_draws(
        self, trace: Trace, measure: Measure
    ):
        done = measure(["gl:samples/samples_passed", "gl:primitives/primitives_generated"], ["draw", "frame"])
        assert len(done.plan.passes) == 1  # frames and draws together, and two counters
        rows = _values(
            trace,
            "SELECT m.value, m.note FROM metrics m JOIN calls c ON c.seq = m.seq WHERE m.per = 'draw' AND "
            "m.name = 'gl:samples/samples_passed' AND m.frame = 1 AND c.name <> 'glClear' ORDER BY m.seq",
        )
        assert rows == [(4096, None), (2048, None), (None, OWN), (256, None), (1024, None), (1024, None), (4096, None)]
        primitives = _values(
            trace,
            "SELECT frame, value FROM metrics WHERE per = 'frame' AND name LIKE '%primitives_generated' ORDER BY frame",
        )
        assert primitives[:-1] == [(frame, 8) for frame in range(FRAMES - 1)]

    def test_what_could_not_be_counted_has_no_value_and_says_why(self, trace: Trace, measure: Measure):
        done = measure(["gl:samples/samples_passed"], ["frame"])
        rows = _values(trace, "SELECT DISTINCT value, note FROM metrics WHERE per = 'frame'")
        assert (None, OWN) in rows
        assert sum(cost.paused for cost in done.costs) == FRAMES

    def test_what_a_list_does_while_it_is_made_is_said_to_be_missing(self, trace: Trace, measure: Measure):
        measure(["gl:primitives/primitives_generated", "cpu:time/wall"], ["frame"])
        [(value, note)] = _values(
            trace, f"SELECT value, note FROM metrics WHERE name LIKE 'gl%' AND frame = {FRAMES - 1} AND per = 'frame'"
        )
        assert value is None
        assert note == "a display list is compiled and executed"
        [(missing,)] = _values(
            trace, "SELECT count(*) FROM metrics WHERE name LIKE 'cpu%' AND per <> 'mark' AND value IS NULL"
        )
        assert missing == 0

    def test_groups_nest_and_overlap_with_passes_by_target(self, trace: Trace, measure: Measure):
        measure(["gl:primitives/primitives_generated", "gl:samples/any_samples"], ["range", "draw"])
        rows = dict(
            _values(
                trace,
                "SELECT range, min(value) FROM metrics WHERE name LIKE '%primitives_generated' AND per = 'range' "
                "AND frame = 2 GROUP BY range",
            )
        )
        assert rows["group world"] == 2
        assert rows["group half"] == 1
        assert {name for name in rows if str(name).startswith("pass")} == {"pass window", "pass framebuffer 1"}
        assert rows["pass framebuffer 1"] == 1

    def test_calls_are_measured_too_and_draws_among_them(self, trace: Trace, measure: Measure):
        measure(["gl:primitives/primitives_generated", "cpu:time/wall"], ["call"], frames=range(1, 2))
        rows = _values(
            trace,
            "SELECT c.name, m.value FROM metrics m JOIN calls c USING (seq) WHERE m.name LIKE '%primitives_generated' "
            "AND m.value > 0 ORDER BY seq",
        )
        assert [value for _, value in rows] == [1.0] * 6 + [2.0]
        [(calls, measured_calls)] = _values(
            trace,
            "SELECT count(*) FILTER (name NOT IN ('glBegin', 'glVertex2f')), (SELECT count(*) FROM metrics WHERE "
            "per = 'call' AND name LIKE 'cpu%') FROM calls WHERE frame = 1",
        )
        assert measured_calls == calls  # what stands between glBegin and glEnd is measured with glEnd


class TestPasses:
    def test_what_the_driver_does_not_count_at_once_goes_into_two_passes(self, recording: Path):
        made = _plan(recording, ["gl:samples/*", "cpu:time/wall"], ["frame", "draw"], LLVMPIPE)
        assert [sorted(m.id for m in one.metrics) for one in made.passes] == [
            ["cpu:time/wall", "gl:samples/samples_passed"],
            ["gl:samples/any_samples"],
        ]

    def test_frames_are_played_again_instead_of_everything(self, trace: Trace, measure: Measure):
        done = measure(
            ["gl:samples/*", "gl:primitives/primitives_generated"],
            ["frame"],
            frames=range(2, 4),
            restart=True,
            repeat=3,
        )
        assert len(done.plan.passes) == 2
        assert not done.differing
        assert done.compared == 2 * 2 * 3
        rows = _values(
            trace,
            "SELECT frame, value, spread, samples FROM metrics WHERE name LIKE '%primitives%' ORDER BY frame",
        )
        assert rows == [(2, 8, 0, 3), (3, 8, 0, 3)]

    def test_replays_make_the_same_calls_and_show_the_same(self, measure: Measure):
        done = measure(["cpu:time/wall"], ["frame"], repeat=2)
        assert done.calls_same
        assert done.compared == FRAMES * 2
        assert not done.differing


class TestTime:
    def test_time_stamps_and_clocks_make_sense(self, trace: Trace, measure: Measure):
        measure(["gl:time/*", "cpu:time/*", "cpu:memory/resident"], ["frame", "draw"], repeat=2)
        [(bad,)] = _values(trace, "SELECT count(*) FROM metrics WHERE frame < 5 AND (value IS NULL OR value < 0)")
        assert bad == 0
        starts = _values(
            trace,
            "SELECT value FROM metrics WHERE name = 'gl:time/start' AND per = 'frame' AND frame < 5 ORDER BY frame",
        )
        assert starts == sorted(starts)
        # A frame has no less than its draws had.
        [(wrong,)] = _values(
            trace,
            "SELECT count(*) FROM (SELECT frame, sum(value) FILTER (per = 'frame') AS whole, "
            "sum(value) FILTER (per = 'draw') AS parts FROM metrics WHERE name = 'cpu:memory/minor_faults' "
            "OR name = 'cpu:time/wall' AND samples = 1 GROUP BY frame) WHERE parts > whole",
        )
        assert wrong == 0

    def test_es_has_time_too(self, programs: Bench, tmp_path: Path):
        found = programs.recorded(["two_draws"], tmp_path).traces[0]
        with open_trace(found) as trace:
            made = _plan(found, ["gl:time/elapsed"], ["frame"], LLVMPIPE)
            done = profile.profile(trace, made, profile.ProfileOptions(isolate=True), environment=LLVMPIPE)
            assert "OpenGL ES" in done.engine
            [(rows, missing)] = _values(trace, "SELECT count(*), count(*) FILTER (value IS NULL) FROM metrics")
            assert rows > 0
            assert missing == 0


class TestTheTable:
    def test_runs_replace_each_other_or_are_kept(self, trace: Trace, measure: Measure):
        measure(["cpu:time/wall"], ["frame"])
        measure(["cpu:time/thread"], ["frame"], add=True)
        assert _values(trace, "SELECT DISTINCT run, name FROM metrics ORDER BY run") == [
            (1, "cpu:time/wall"),
            (2, "cpu:time/thread"),
        ]
        measure(["cpu:time/wall"], ["frame"])
        assert _values(trace, "SELECT DISTINCT run, name FROM metrics") == [(1, "cpu:time/wall")]

    def test_a_damaged_file_is_an_error_with_a_hint(self, recording: Path, tmp_path: Path):
        copy = tmp_path / "copy.dtap"
        copy.write_bytes(recording.read_bytes())
        folder = measured.folder(copy)
        folder.mkdir()
        (folder / "001.parquet").write_bytes(b"PAR1 no")
        with open_trace(copy) as trace, pytest.raises(Exception, match="cannot be read"):
            _values(trace, "SELECT * FROM metrics")

    def test_the_columns_are_the_documented_ones(self, trace: Trace):
        described = _values(trace, "DESCRIBE metrics")
        assert [(row[0], row[1]) for row in described] == [(c.name, c.type) for c in measured.columns()]


def _drawtap(*words: str) -> subprocess.CompletedProcess[str]:
    return run_drawtap(*words)


class TestHandedOn:
    def test_the_report_draws_it_and_perfetto_gets_it(self, trace: Trace, measure: Measure, tmp_path: Path):
        import trace_processor

        measure(["gl:primitives/primitives_generated", "cpu:time/wall"], ["frame", "draw"])
        added = _drawtap("profile", str(trace.path), "-m", "gl:time/elapsed", "--on", "llvmpipe", "--add")
        assert added.returncode == 0, added.stderr
        page, timeline = tmp_path / "page.html", tmp_path / "timeline.pftrace"
        for words in (["report", "--pictures", "0", "-o", str(page)], ["export", "-o", str(timeline)]):
            done = _drawtap(words[0], str(trace.path), *words[1:])
            assert done.returncode == 0, done.stderr
        text = page.read_text()
        assert "Measured: gl:primitives" in text
        assert "Draws that cost most" in text
        counters, calls = trace_processor.ask(
            timeline.read_bytes(),
            [
                "SELECT t.name, count(*), max(value) FROM counter c JOIN counter_track t ON t.id = c.track_id "
                "WHERE t.name LIKE 'gl:%' GROUP BY 1 ORDER BY 1",
                "SELECT count(*) FROM slice WHERE name = 'glDrawArrays'",
            ],
            tmp_path,
        )
        assert [name for name, _, _ in counters] == [
            "gl:primitives/primitives_generated per draw",
            "gl:primitives/primitives_generated per frame",
            "gl:time/elapsed per frame",
        ]
        assert counters[1][2] == 8
        assert counters[2][1] == counters[1][1] and counters[2][2] > 0, counters
        assert calls == [(FRAMES,)]


class TestCommands:
    def test_what_can_be_measured_is_listed_with_reasons(self, recording: Path):
        done = _drawtap("profile", str(recording), "--list", "--on", "llvmpipe", "--json")
        rows = {row["metric"]: row for row in json.loads(done.stdout)}
        assert rows["gl:time/elapsed"]["here"] == "yes"
        assert all(row["why not"] for row in rows.values() if row["here"] == "no")
        # As text a metric is one line of a width that people can read, in a pipe too.
        text = _drawtap("profile", str(recording), "--list", "--on", "llvmpipe").stdout
        shown = [line for line in text.splitlines() if line.split(" ", 1)[0] in rows]
        assert len(shown) == len(rows)
        assert max(map(len, shown)) < 160

    def test_profile_writes_the_table_and_a_file(self, recording: Path, tmp_path: Path):
        out = tmp_path / "out.csv"
        done = _drawtap(
            "profile", str(recording), "--metrics", "gl:primitives/primitives_generated,cpu:time/wall", "--per",
            "frame,range", "--range", "mine=#1-2", "--on", "llvmpipe", "-o", str(out), "--json",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["passes"] == [
            {"per": ["frame", "range"], "metrics": ["cpu:time/wall", "gl:primitives/primitives_generated"]}
        ]
        assert said["costs"][0]["cuts"] > 0
        connection = duckdb.connect()
        question = f"SELECT value FROM '{out}' WHERE range = 'mine' AND name LIKE 'gl%'"
        assert connection.execute(question).fetchall() == [(16.0,)]

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["--metrics", "gl:tim/elapsed"], 2),
            (["--metrics", "cpu:time/wall", "--per", "pixel"], 2),
            (["--metrics", "cpu:time/wall", "--restart"], 2),
            (["--metrics", "cpu:time/wall", "--frames", "900:901"], 2),
            (["--metrics", "cpu:time/wall", "-o", "x.doc"], 2),
            (["--set", "nothing"], 2),
            (["--sets", "/nonexistent.toml"], 4),
            (["--metrics", "cpu:time/wall", "--range", "a=0:5"], 2),
        ],
    )
    def test_what_makes_no_sense_is_said(self, recording: Path, words: list[str], code: int):
        done = _drawtap("profile", str(recording), "--on", "llvmpipe", *words)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr

    def test_a_torn_recording_without_a_call_is_said_to_be_one(self, recording: Path, tmp_path: Path):
        torn = tmp_path / "torn.dtap"
        torn.write_bytes(recording.read_bytes()[:3000])
        done = _drawtap("profile", str(torn), "--on", "llvmpipe")
        assert done.returncode == 4, done.stderr
        assert "no call that can be played" in done.stderr


class TestSets:
    def test_a_set_of_a_file(self, tmp_path: Path):
        file = tmp_path / "sets.toml"
        file.write_text('[mine]\nmetrics = ["cpu:time/wall"]\nper = ["draw"]\nrepeat = 3\n')
        assert sets.read("mine", file) == sets.Set("mine", ("cpu:time/wall",), ("draw",), 3)
        assert sets.read(None, file).name == "mine"

    def test_patterns_take_what_can_be_had(self):
        known = [
            Metric("a:b/one", "one", "ns", "duration", "", "one"),
            Metric("a:b/two", "two", "ns", "duration", "", "two", missing="no"),
        ]
        assert [m.id for m in listing.chosen(known, ["a:*"])] == ["a:b/one"]
        assert [m.id for m in listing.chosen(known, ["a:b/two"])] == ["a:b/two"]
        with pytest.raises(UsageError, match="can be measured here"):
            listing.chosen(known, ["a:b/tw*"])

    def test_what_nothing_measures_is_not_available(self, recording: Path):
        known = [Metric("gl:pipeline/none", "none", "count", "counter", "", "none", missing="no such thing")]
        with pytest.raises(UnavailableError, match="no such thing"):
            passes.plan(recording, known, ["frame"], environment=LLVMPIPE)


#: Of each draw of a frame of `pipeline`: what the specification leaves no choice in. None: where drivers have one.
STAGES = {
    "vertices_submitted": (3, 6, 3, 3, 6, 0),
    "primitives_submitted": (1, 2, 1, 3, 2, 0),
    "vertex_shader_invocations": (3, None, 3, 3, 6, 0),  # of six indices of four vertices: four to six
    "geometry_shader_invocations": (0, 0, 0, 3, 0, 0),
    "geometry_shader_primitives": (0, 0, 0, 6, 0, 0),
    "tess_control_patches": (0, 0, 0, 0, 2, 0),
    "tess_evaluation_invocations": (0, 0, 0, 0, 6, 0),
    "clipping_input_primitives": (1, 2, 1, 6, 2, 0),
    "clipping_output_primitives": (None, 2, 0, 6, 2, 0),  # a triangle larger than the view may be cut up
    "compute_shader_invocations": (0, 0, 0, 0, 0, 32),
}
#: Pixels that the draws cover: drivers may count helpers, and nothing less.
COVERED = (64 * 64, 32 * 32, 0, 0, 64 * 64, 0)


def test_every_stage_of_the_pipeline_has_what_its_draws_have(programs: Bench, tmp_path: Path):
    path = programs.recorded(["pipeline", "3"], tmp_path).traces[0]
    known = {m.id: m for m in listing.metrics(path, environment=LLVMPIPE)}
    if known["gl:pipeline/vertices_submitted"].missing:
        pytest.skip(known["gl:pipeline/vertices_submitted"].missing)
    with open_trace(path) as opened:
        plan = _plan(path, ["gl:pipeline/*"], ["draw", "frame"], LLVMPIPE)
        profile.profile(opened, plan, profile.ProfileOptions(), environment=LLVMPIPE)
        for frame in range(3):
            for stage, wanted in STAGES.items():
                rows = _values(
                    opened,
                    "SELECT value FROM metrics WHERE per = 'draw' AND frame = "
                    f"{frame} AND name = 'gl:pipeline/{stage}' ORDER BY seq",
                )
                found = [value for (value,) in rows]
                shown = [w if w is not None else f for w, f in zip(wanted, found, strict=True)]
                assert found == shown, f"{stage} in frame {frame}"
            rows = _values(
                opened,
                "SELECT value FROM metrics WHERE per = 'draw' AND name = 'gl:pipeline/fragment_shader_invocations' "
                f"AND frame = {frame} ORDER BY seq",
            )
            for (value,), pixels in zip(rows, COVERED, strict=True):
                assert isinstance(value, float) and value >= pixels
        # A frame is the sum of its draws.
        for stage, wanted in STAGES.items():
            if None not in wanted:
                rows = _values(
                    opened, f"SELECT value FROM metrics WHERE per = 'frame' AND name = 'gl:pipeline/{stage}'"
                )
                assert rows == [(sum(w or 0 for w in wanted),)] * 3, stage


def test_the_estimate_of_a_draw_has_the_stages_between(programs: Bench, tmp_path: Path):
    path = programs.recorded(["pipeline", "1"], tmp_path).traces[0]
    known = {m.id: m for m in listing.metrics(path, environment=LLVMPIPE)}
    if known["gl:pipeline/tess_control_patches"].missing:
        pytest.skip(known["gl:pipeline/tess_control_patches"].missing)
    parts = ("geometry", "tessellation", "total")
    columns = ", ".join(f"any_value(value) FILTER (name = 'estimate:operations/{part}')" for part in parts)
    question = (
        f"SELECT {columns}, any_value(note) FILTER (name = 'estimate:operations/total'), "
        "sum(value) FILTER (name IN ('estimate:operations/vertex', 'estimate:operations/fragment')) FROM metrics "
        "WHERE name LIKE 'estimate:%' GROUP BY seq ORDER BY seq"
    )
    with open_trace(path) as opened:
        text = {one.stage: one.cost.operations for one in shader_cost.shader_costs(opened)}
        assert min(text[stage] for stage in ("geometry", "tessellation control", "tessellation evaluation")) > 0
        plan = _plan(path, ["fragments:count/generated", "gl:pipeline/*"], ["draw"], LLVMPIPE)
        profile.profile(opened, plan, profile.ProfileOptions(), environment=LLVMPIPE)
        *plain, points, patches = _values(opened, question)
        assert {row[:2] for row in plain} == {(None, None)}
        assert points == (3 * text["geometry"], None, points[4] + 3 * text["geometry"], None, points[4])
        # Two patches of three vertices each, and three corners of the one triangle that either becomes.
        between = 2 * 3 * text["tessellation control"] + 6 * text["tessellation evaluation"]
        assert patches == (None, between, patches[4] + between, None, patches[4])
        plan = _plan(path, ["fragments:count/generated"], ["draw"], LLVMPIPE)
        profile.profile(opened, plan, profile.ProfileOptions(), environment=LLVMPIPE)
        *plain, points, patches = _values(opened, question)
        assert None not in [row[2] for row in plain]
        assert points[:3] == patches[:3] == (None, None, None)
        assert "geometry_shader_invocations counts the runs of its geometry shader, and was not measured" in points[3]
        assert "tess_evaluation_invocations counts the runs of its" in patches[3]


def test_the_listing_says_why_a_back_end_cannot_be_had(programs: Bench, tmp_path: Path):
    command = [sys.executable, "-m", "drawtap", "profile", "--list", "-m", "nvperf:*", "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        env={**programs.environment(), "DRAWTAP_NVPERF": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)
    assert (row["metric"], row["here"]) == ("nvperf:*", "no")
    assert "libnvperf_host.so can be loaded from" in row["why not"]
    with pytest.raises(UsageError, match="no metric of 'nvperf:\\*' can be measured here") as raised:
        listing.chosen([Metric("nvperf:x", "", "", "counter", "", "", "no library")], ["nvperf:*"])
    assert raised.value.hint == "no library"


def test_names_of_ours_are_never_those_that_the_program_gets(programs: Bench, tmp_path: Path):
    # It makes framebuffers of several sizes between draws: counting makes one of its own for each size meanwhile.
    trace = programs.recorded(["fbo_sizes", "3"], tmp_path).traces[0]
    known = {m.id: m for m in listing.metrics(trace, environment=LLVMPIPE)}
    metric = known["fragments:count/generated"]
    if metric.missing:
        pytest.skip(metric.missing)
    plain = player.play(trace, ["--hashes"], environment=LLVMPIPE).hashes
    request = tmp_path / "request"
    request.write_text(passes.request_text([metric], ["frame"], passes=[passes.Pass((metric,), ("frame",))]))
    arguments = ["--hashes", "--measure", str(request), "--measured", str(tmp_path / "rows")]
    counted = player.play(trace, arguments, environment=LLVMPIPE).hashes
    assert len(plain) == 3
    assert counted == plain


def test_what_cannot_be_measured_so_is_said_before_anything_is_played(recording: Path, programs: Bench, tmp_path: Path):
    for extra, said in (
        (["--repeat", "0"], "--repeat 0 makes no sense"),
        (["-o", str(tmp_path / "none" / "out.csv")], f"there is no folder {tmp_path / 'none'}"),
        (["-o", str(tmp_path / "out.txt")], "has no known format"),
    ):
        command = [sys.executable, "-m", "drawtap", "profile", str(recording), "--metrics", "cpu:time/wall", *extra]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=programs.environment())
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr and not done.stdout


def test_ranges_end_with_the_frames_that_are_measured_or_are_left_out(recording: Path, programs: Bench, tmp_path: Path):
    command = [
        sys.executable,
        "-m",
        "drawtap",
        "profile",
        str(recording),
        "--metrics",
        "gl:primitives/primitives_generated",
    ]
    ranges = {"all": "#1-2", "last": "#2", "early": "#0-1", "late": "#2-3"}
    named = [word for name, calls in ranges.items() for word in ("--range", f"{name}={calls}")]
    extra = ["--per", "range,frame", *named, "--frames", "1:3", "-o", str(tmp_path / "out.json")]
    done = subprocess.run([*command, *extra], capture_output=True, text=True, timeout=300, env=programs.environment())
    assert done.returncode == 0, done.stderr
    assert "reach beyond the frames that were: early, late" in done.stdout + done.stderr
    rows = json.loads((tmp_path / "out.json").read_text())
    frames = {row["frame"]: row["value"] for row in rows if row["per"] == "frame"}
    found = {row["range"]: row["value"] for row in rows if row["range"] in ranges}
    assert found == {"all": frames[1] + frames[2], "last": frames[2]}
