"""Counters of drivers, on a driver of ours that implements both extensions as specified, with values that are known.

fake_counters/fake_counters.c stands in front of the real one: it counts draws, vertices, clears and binds itself, has a
limit of counters per group, and writes down what no program may do.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.errors import UnavailableError
from drawtap.metrics import listing, passes, profile
from drawtap.metrics.passes import Plan
from drawtap.replay import player
from drawtap.trace.trace import Trace, open_trace

if TYPE_CHECKING:
    from conftest import Bench

SOURCE = Path(__file__).parent / "fake_counters" / "fake_counters.c"
FRAMES = range(1, 4)  # of six: the first sets up, the last makes a display list
PIPE = [f"amd:fake-pipe/{name}" for name in ("draws", "vertices", "clears", "binds")]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    player.program()
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    built = tmp_path_factory.mktemp("driver") / "libfake_counters.so"
    command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(built), str(SOURCE)]
    subprocess.run([*command, "-ldl", "-lEGL"], check=True)
    return {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1", "LD_PRELOAD": str(built)}


@pytest.fixture(scope="module")
def recording(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs.recorded(["measured", "6"], tmp_path_factory.mktemp("counted")).traces[0]


@pytest.fixture
def trace(recording: Path) -> Iterator[Trace]:
    with open_trace(recording) as opened:
        yield opened


def _plan(trace: Path, ids: list[str], per: list[str], environment: Mapping[str, str]) -> Plan:
    return passes.plan(
        trace, listing.chosen(listing.metrics(trace, environment=environment), ids), per, environment=environment
    )


def _measured(
    trace: Trace, ids: list[str], per: list[str], environment: Mapping[str, str], *, restart: bool = False
) -> profile.Profile:
    made = _plan(trace.path, ids, per, environment)
    wanted = profile.ProfileOptions(frames=FRAMES, images=False, restart=restart)
    return profile.profile(trace, made, wanted, environment=environment)


def _frames(trace: Trace) -> dict[object, set[tuple[object, object]]]:
    found: dict[object, set[tuple[object, object]]] = {}
    for name, value, note in trace.sql("SELECT name, value, note FROM metrics WHERE per = 'frame'"):
        found.setdefault(name, set()).add((value, note))
    return found


# The draws of frame 2 with their vertices, which every driver that counts them has to agree on.
VERTICES = [
    ("glClear", 0), ("glEnd", 4), ("glEnd", 4), ("glEnd", 4), ("glEnd", 4), ("glCallList", 0), ("glClear", 0),
    ("glEnd", 4), ("glDrawArrays", 4),
]  # fmt: skip


class TestPlans:
    def test_groups_are_packed_side_by_side(self, recording: Path, driver: Mapping[str, str]):
        made = _plan(recording, ["amd:*"], ["frame"], driver)
        assert len(made.passes) == 3  # five of which two run at once, and three of which three do
        for one in made.passes:
            assert sum(m.id.startswith("amd:fake-pipe") for m in one.metrics) <= 2
        assert sum(len(one.metrics) for one in made.passes) == 8

    def test_what_no_hint_tells_the_driver_is_asked(self, recording: Path, driver: Mapping[str, str]):
        made = _plan(recording, ["amd:*"], ["frame"], {**driver, "FAKE_TOTAL": "3"})
        assert len(made.passes) == 3
        assert all(len(one.metrics) <= 3 for one in made.passes)

    def test_back_ends_go_along_in_the_passes_of_the_one_that_needs_most(
        self, recording: Path, driver: Mapping[str, str]
    ):
        made = _plan(recording, ["amd:*", "intel:*", "gl:samples/*", "cpu:*", "gl:time/*"], ["frame"], driver)
        assert len(made.passes) == 3  # not 3 + 2 + 2 + 1

    def test_what_cannot_be_added_up_has_a_pass_for_each_kind_of_range(
        self, recording: Path, driver: Mapping[str, str]
    ):
        made = _plan(recording, ["amd:fake-pipe/busy", "amd:fake-pipe/draws"], ["draw", "frame"], driver)
        shown = sorted((m.name, sorted(one.per)) for one in made.passes for m in one.metrics)
        assert shown == [("busy", ["draw"]), ("busy", ["frame"]), ("draws", ["draw", "frame"])]

    def test_hundreds_of_counters(self, recording: Path, driver: Mapping[str, str]):
        made = _plan(recording, ["amd:many/*"], ["frame"], {**driver, "FAKE_MANY": "400", "FAKE_ROOM": "8"})
        assert len(made.passes) == 50
        assert made.questions <= 110


class TestAmd:
    def test_passes_are_merged_and_every_number_is_right(self, trace: Trace, driver: Mapping[str, str], tmp_path: Path):
        log = tmp_path / "log"
        done = _measured(
            trace, ["amd:*", "gl:samples/samples_passed"], ["frame", "draw"], {**driver, "FAKE_LOG": str(log)}
        )
        assert not log.exists(), log.read_text()  # nothing runs while its context goes
        assert done.calls_same
        found = _frames(trace)
        assert found["amd:fake-pipe/draws"] == {(6, None)}
        assert found["amd:fake-pipe/vertices"] == {(24, None)}
        assert found["amd:fake-pipe/clears"] == {(2, None)}
        assert found["amd:fake-pipe/binds"] == {(2, None)}
        assert found["amd:fake-memory/bytes"] == {(384, None)}
        assert found["amd:fake-memory/wraps"] == {(None, "overflow")}
        # Two contexts, four moves between them: a mean over what each had.
        assert {value for value, _ in found["amd:fake-pipe/busy"]} == {25}
        assert {value for value, _ in found["amd:fake-memory/mean"]} == {1.5}
        draws = trace.sql(
            "SELECT c.name, v.value FROM calls c JOIN metrics v ON v.seq = c.seq AND v.per = 'draw' "
            "AND v.name = 'amd:fake-pipe/vertices' WHERE c.frame = 2 ORDER BY c.seq"
        ).fetchall()
        assert draws == VERTICES

    def test_frames_again_in_one_process_give_the_same(self, recording: Path, driver: Mapping[str, str]):
        with open_trace(recording) as trace:
            _measured(trace, PIPE, ["frame"], driver, restart=True)
            assert {name: {value for value, _ in rows} for name, rows in _frames(trace).items()} == {
                PIPE[0]: {6}, PIPE[1]: {24}, PIPE[2]: {2}, PIPE[3]: {2}
            }  # fmt: skip

    def test_results_in_another_form_than_their_type_says(self, trace: Trace, driver: Mapping[str, str]):
        _measured(trace, PIPE, ["frame"], {**driver, "FAKE_BREAK": "angle"})
        assert _frames(trace)[PIPE[0]] == {(6, None)}
        assert _frames(trace)[PIPE[1]] == {(24, None)}

    @pytest.mark.parametrize(
        ("word", "note"),
        [
            ("garbage", "the driver's result makes no sense"),
            pytest.param(  # which takes seconds
                *("never", "the driver did not finish the counters in time"), marks=pytest.mark.exhaustive
            ),
        ],
    )
    def test_results_that_are_none_are_said(self, trace: Trace, driver: Mapping[str, str], word: str, note: str):
        _measured(trace, PIPE[:1], ["frame"], {**driver, "FAKE_BREAK": word})
        assert _frames(trace)[PIPE[0]] == {(None, note)}

    def test_counters_that_cannot_be_selected_are_refused(self, recording: Path, driver: Mapping[str, str]):
        with pytest.raises(UnavailableError, match="refuses to select"):
            _plan(recording, PIPE, ["frame"], {**driver, "FAKE_BREAK": "select"})

    def test_an_extension_without_its_functions(self, recording: Path, driver: Mapping[str, str]):
        known = listing.metrics(recording, environment={**driver, "FAKE_BREAK": "lacks"})
        why = {m.id: m.missing for m in known}
        assert "lacks functions" in why["amd:*"]
        assert "lacks functions" in why["intel:*"]


class TestIntel:
    def test_queries_that_exclude_each_other_go_into_two_passes(
        self, trace: Trace, driver: Mapping[str, str], tmp_path: Path
    ):
        log = tmp_path / "log"
        done = _measured(trace, ["intel:*"], ["frame"], {**driver, "FAKE_ONLY": "intel", "FAKE_LOG": str(log)})
        assert not log.exists(), log.read_text()
        assert len(done.plan.passes) == 2
        found = _frames(trace)
        assert found["intel:fake-pipeline/draws"] == {(6, None)}
        assert found["intel:fake-pipeline/vertices"] == {(24, None)}
        assert {value for value, _ in found["intel:fake-pipeline/share"]} == {0.5}
        assert found["intel:fake-raster/clears"] == {(2, None)}
        assert found["intel:fake-raster/binds"] == {(2, None)}
        assert found["intel:fake-raster/full"] == {(None, "overflow")}

    def test_no_result_is_said(self, trace: Trace, driver: Mapping[str, str]):
        _measured(trace, ["intel:fake-pipeline/draws"], ["frame"], {**driver, "FAKE_BREAK": "never"})
        assert _frames(trace)["intel:fake-pipeline/draws"] == {(None, "the driver has no result")}


NVIDIA = [f"nvperf:{name}.sum" for name in ("fe/fe__draws", "vaf/vaf__vertices", "fe/fe__clears", "fe/fe__binds")]


@pytest.fixture(scope="module")
def nvidia(driver: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The driver, as NVIDIA's, with a stand-in for NvPerf: its functions and their rules, but no counter of a GPU."""
    folder = tmp_path_factory.mktemp("nvperf")
    source = SOURCE.with_name("fake_nvperf.c")
    built = folder / "libnvperf_grfx_host.so"
    command = ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(built), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return {**driver, "FAKE_VENDOR": "NVIDIA Corporation", "DRAWTAP_NVPERF": str(folder)}


class TestNvPerf:
    """NvPerf's interface as NVIDIA's headers have it, by a stand-in: no GPU of theirs is on machines that test."""

    def test_what_the_library_names(self, recording: Path, nvidia: Mapping[str, str]):
        known = {m.id: m for m in listing.metrics(recording, environment=nvidia) if m.backend == "nvperf"}
        assert sorted(known) == sorted(
            [*NVIDIA, *(name.replace(".sum", ".avg") for name in NVIDIA),
             "nvperf:fe/fe__clears_of_all.pct", "nvperf:gpu/gpu__throughput.avg.pct_of_peak_sustained_elapsed"]
        )  # fmt: skip
        assert not any(m.missing for m in known.values())
        assert known[NVIDIA[1]].unit == "vertices"
        assert known[NVIDIA[0]].description == "Something that a stand-in counts."
        assert known["nvperf:fe/fe__clears_of_all.pct"].kind == "percent"

    @pytest.mark.parametrize("word", ["", "old"])
    def test_numbers_of_frames_and_draws_in_two_contexts(
        self, trace: Trace, nvidia: Mapping[str, str], tmp_path: Path, word: str
    ):
        log = tmp_path / "log"
        environment = {**nvidia, "FAKE_LOG": str(log), "FAKE_NVPERF": word}  # old: without the interface for EGL
        done = _measured(trace, [*NVIDIA, "nvperf:*clears_of_all.pct"], ["frame", "draw"], environment)
        assert not log.exists(), log.read_text()
        # Two raw counters go into a pass; a share is no sum, so that it has one for draws and one for frames.
        assert len(done.plan.passes) == 4
        found = _frames(trace)
        assert [found[name] for name in NVIDIA] == [{(6, None)}, {(24, None)}, {(2, None)}, {(2, None)}]
        # Draws 6, clears 2, in parts: a mean by their time.
        assert all(0 < value < 100 for value, _ in found["nvperf:fe/fe__clears_of_all.pct"])  # type: ignore[operator]
        draws = trace.sql(
            f"SELECT c.name, v.value FROM calls c JOIN metrics v ON v.seq = c.seq AND v.per = 'draw' "
            f"AND v.name = '{NVIDIA[1]}' WHERE c.frame = 2 ORDER BY c.seq"
        ).fetchall()
        assert draws == VERTICES

    def test_what_the_gpu_does_not_count_at_once(self, recording: Path, nvidia: Mapping[str, str]):
        made = _plan(recording, [*NVIDIA, "nvperf:gpu/*"], ["frame"], nvidia)
        assert [len(one.metrics) for one in made.passes] == [2, 2]
        assert [(m.id, why) for m, why in made.refused] == [
            ("nvperf:gpu/gpu__throughput.avg.pct_of_peak_sustained_elapsed", "the GPU counts it in several passes only")
        ]

    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            ("unsupported", "NvPerf does not support this GPU, Fake GPU of a test: its architecture"),
            ("denied", "keeps counters for administrators"),
            ("busy", "another profiler uses the GPU"),
        ],
    )
    def test_why_there_is_nothing(self, recording: Path, nvidia: Mapping[str, str], word: str, reason: str):
        known = listing.metrics(recording, environment={**nvidia, "FAKE_NVPERF": word})
        assert [reason in m.missing for m in known if m.backend == "nvperf"] == [True]

    def test_no_library_and_no_gpu(self, recording: Path, nvidia: Mapping[str, str], tmp_path: Path):
        for environment, reason in (
            ({**nvidia, "DRAWTAP_NVPERF": str(tmp_path)}, "no libnvperf_host.so can be loaded from"),
            ({**nvidia, "FAKE_VENDOR": "Somebody"}, "the driver of this context is not NVIDIA's"),
            ({**nvidia, "FAKE_CHIP": "FAKE2"}, "unsupported GPU"),
        ):
            known = listing.metrics(recording, environment=environment)
            assert [reason in m.missing for m in known if m.backend == "nvperf"] == [True], reason

    def test_results_that_are_lost_are_said(self, trace: Trace, nvidia: Mapping[str, str]):
        # The last range of each pass is missing; which frame had it does not matter, none has a wrong number.
        _measured(trace, NVIDIA[:1], ["frame"], {**nvidia, "FAKE_NVPERF": "dropped"})
        assert _frames(trace)[NVIDIA[0]] == {(None, "overflow: the GPU had no room for the counters")}
        _measured(trace, NVIDIA[:1], ["frame"], {**nvidia, "FAKE_NVPERF": "never"})
        assert _frames(trace)[NVIDIA[0]] == {(None, "the GPU did not finish the counters in time")}

    def test_what_fits_is_asked_of_nvidia_s_own_library(self, recording: Path, nvidia: Mapping[str, str]):
        """The half that needs no GPU knows what its chips count. Only the GPU is the stand-in's."""
        library = ctypes.util.find_library("nvperf_host")
        wheel = importlib.util.find_spec("nvidia")
        inside = [
            Path(place) / "cuda_cupti/lib/libnvperf_host.so"
            for place in (wheel and wheel.submodule_search_locations) or ()
        ]
        found = next((str(path) for path in inside if path.exists()), library)
        if not found:
            pytest.skip("no libnvperf_host.so here (CUDA has it, and the wheel nvidia-cuda-cupti)")
        environment = {**nvidia, "FAKE_NVPERF_HOST": found, "FAKE_CHIP": "GA102"}
        known = {m.id: m for m in listing.metrics(recording, environment=environment) if m.backend == "nvperf"}
        assert known["nvperf:gpu/gpu__time_duration.sum"].unit == "ns"
        assert known["nvperf:sm/sm__cycles_active.avg"].kind == "counter"
        assert known["nvperf:l1tex/l1tex__t_sector_hit_rate.pct"].kind == "percent"
        assert len(known) > 500
        wanted = [
            m
            for m in known
            if m.startswith(("nvperf:raster/", "nvperf:sm/")) and "elapsed" not in m and "ratio" not in m
        ][:80]
        made = _plan(recording, wanted, ["frame"], environment)
        placed = [m.id for one in made.passes for m in one.metrics]
        assert sorted([*placed, *(m.id for m, _ in made.refused)]) == sorted(wanted)
        assert all("in several passes only" in why for _, why in made.refused)
        assert 1 < len(made.passes) < len(placed)


class TestOthers:
    def test_the_kernel_s_usage_of_the_gpu(self, recording: Path, driver: Mapping[str, str], tmp_path: Path):
        client = "drm-driver: fake\ndrm-client-id: 7\ndrm-engine-render: 5000 ns\ndrm-total-vram: 3 MiB\npos: 0\n"
        for name in ("3", "4"):  # two files of one client
            (tmp_path / name).write_text(client)
        (tmp_path / "5").write_text("drm-driver: fake\ndrm-client-id: 8\ndrm-engine-render: 1000 ns\n")
        environment = {**driver, "DRAWTAP_FDINFO": str(tmp_path)}
        with open_trace(recording) as trace:
            _measured(trace, ["drm:*"], ["frame"], environment)
            found = {name: {value for value, _ in rows} for name, rows in _frames(trace).items()}
        assert found == {"drm:engine/render": {0}, "drm:total/vram": {3 << 20}}

    def test_counters_of_the_kernel(self, trace: Trace, driver: Mapping[str, str]):
        known = {m.id: m for m in listing.metrics(trace.path, environment=driver)}
        wanted = [i for i in ("perf:software/task_clock", "perf:software/page_faults") if not known[i].missing]
        if not wanted:
            pytest.skip(known["perf:software/task_clock"].missing)
        _measured(trace, [*wanted, "cpu:time/process"], ["frame"], driver)
        found = _frames(trace)
        assert all(value is not None and value >= 0 for value, _ in found[wanted[0]])  # type: ignore[operator]
        for metric in known.values():
            if metric.id.startswith("perf:hardware"):
                assert not metric.missing or "counter" in metric.missing or "allowed" in metric.missing

    def test_the_counters_of_a_real_driver(self, programs: Bench, tmp_path: Path):
        from drawtap.replay import engine

        try:
            environment = dict(engine.environment_of("angle"))
        except UnavailableError as error:
            pytest.skip(str(error))
        found = programs.recorded(["es2_triangle", "6"], tmp_path).traces[0]
        with open_trace(found) as trace:
            _measured(trace, ["amd:vulkan/*"], ["frame"], environment)
            rows = _frames(trace)
        # One clear and one draw to one surface in each frame, although ANGLE's counters go on from frame to frame.
        assert rows["amd:vulkan/renderpasses"] == {(1, None)}

    def test_a_real_driver_whose_monitors_serve_once(self, programs: Bench, tmp_path: Path):
        from drawtap.replay import engine

        try:
            environment = {"EGL_PLATFORM": "surfaceless", **engine.environment_of("zink")}
        except UnavailableError as error:
            pytest.skip(str(error))
        found = programs.recorded(["es2_triangle", "6"], tmp_path).traces[0]
        known = {m.id: m for m in listing.metrics(found, environment=environment)}
        if "amd:zink-counters/render-passes" not in known:
            pytest.skip(f"zink of Mesa 25 has it: {known['amd:*'].missing}")
        with open_trace(found) as trace:
            _measured(trace, ["amd:zink-counters/*", "gl:primitives/*"], ["frame", "draw"], environment)
            # Mesa 25.0 leaves the counter at 0: that it is read, in each part, and nothing else suffers.
            assert len(_frames(trace)["amd:zink-counters/render-passes"]) == 1
            assert _frames(trace)["gl:primitives/primitives_generated"] == {(1, None)}

    def test_a_gpu_of_nvidia_s(self, recording: Path, driver: Mapping[str, str], tmp_path: Path):
        library = tmp_path / "libnvidia-ml.so.1"
        source = SOURCE.with_name("fake_nvml.c")
        subprocess.run(["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        environment = {**driver, "LD_LIBRARY_PATH": str(tmp_path)}
        with open_trace(recording) as trace:
            known = {m.id for m in listing.metrics(recording, environment=environment)}
            assert "nvml:gpu0/temperature" not in known  # the library says that it has none
            _measured(trace, ["nvml:gpu0/*"], ["frame"], environment)
            found = {str(name): {value for value, _ in rows} for name, rows in _frames(trace).items()}
        assert found["nvml:gpu0/gpu_utilization"] == {40}
        assert found["nvml:gpu0/power"] == {12345}
        assert found["nvml:gpu0/memory_clock"] == {1002}
        assert found["nvml:gpu0/memory_used"] == {40}
        # What is asked at once for nothing is taken off: 5 mJ in each part are what asking itself has.
        assert found["nvml:gpu0/energy"] == {0}

    def test_a_clock_that_is_not_steady(self, programs: Bench, driver: Mapping[str, str], tmp_path: Path):
        found = programs.recorded(["es2_triangle", "4"], tmp_path).traces[0]
        environment = {**driver, "FAKE_BREAK": "disjoint"}
        with open_trace(found) as trace:
            made = _plan(found, ["gl:time/elapsed"], ["frame"], environment)
            profile.profile(trace, made, profile.ProfileOptions(images=False), environment=environment)
            notes = {note for rows in _frames(trace).values() for _, note in rows}
        assert notes == {"disjoint: the clock of the GPU was not steady"}
