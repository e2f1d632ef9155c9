"""Metrics of Vulkan recordings: counts of draws that are known (draws.c), and what is said where there is none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from drawtap.replay import player
from shared import once, run_drawtap
from vulkan.conftest import HERE, build, environment, swiftshader

RUNS, DRAWS = 2, 4  # draws.c submits its four draws twice
PASSED = {"pass": (64, 56, 48, 40), "rendering": (64, 56, 48, 40), "samples": (256, 256, 256, 256)}


def profile(trace: Path, *arguments: str, env: dict[str, str] | None = None) -> dict[str, object]:
    done = run_drawtap("profile", trace, *arguments, "--json", environment=env or environment())
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def asked(trace: Path, question: str) -> list[tuple[object, ...]]:
    done = run_drawtap("sql", trace, question, "--json")
    assert done.returncode == 0, done.stderr
    return [tuple(row.values()) for row in json.loads(done.stdout)]


@pytest.fixture(scope="session")
def measured(draws: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings of draws.c, all counts of which were measured in each way."""

    def write(folder: Path) -> Path:
        for mode in PASSED:
            trace = shutil.copy(draws / f"{mode}.dtap", folder)
            profile(Path(trace), "--metrics", "vk:*,cpu:time/wall", "--per", "draw,pass,frame,call")
        return folder

    return once(tmp_path_factory, "vulkan-measured", write)


@pytest.mark.parametrize("mode", PASSED)
def test_counts_are_the_known_ones(mode: str, measured: Path) -> None:
    """Each draw as often as it ran, those of a secondary command buffer too."""
    rows = asked(
        measured / f"{mode}.dtap",
        "SELECT metric, list(value ORDER BY number) AS v FROM executed_metrics WHERE per = 'draw' GROUP BY ALL",
    )
    found = dict(rows)
    assert found["vk:samples/samples_passed"] == list(PASSED[mode]) * RUNS
    assert found["vk:samples/any_samples"] == [1] * DRAWS * RUNS
    assert found["vk:pipeline/vertices_submitted"] == found["vk:pipeline/vertex_shader_invocations"] == [3] * 4 * RUNS
    assert found["vk:pipeline/primitives_submitted"] == [1] * DRAWS * RUNS
    assert found["vk:pipeline/compute_shader_invocations"] == [0] * DRAWS * RUNS
    elapsed = found["vk:time/elapsed"]
    assert isinstance(elapsed, list)
    assert len(elapsed) == DRAWS * RUNS
    assert all(value > 0 for value in elapsed)


@pytest.mark.parametrize("mode", PASSED)
def test_wholes_are_the_sums_of_their_draws(mode: str, measured: Path) -> None:
    rows = asked(
        measured / f"{mode}.dtap",
        "SELECT name, per, sum(value) AS v FROM metrics WHERE name LIKE 'vk:pipeline/%' OR name LIKE 'vk:samples/%' "
        "GROUP BY ALL",
    )
    sums = {(str(name), str(per)): value for name, per, value in rows}
    names = {name for name, _ in sums}
    assert len(names) == 13
    for name in names:
        assert len({sums[name, per] for per in ("draw", "pass", "frame", "call")}) == 1, name
    assert sums["vk:samples/samples_passed", "call"] == sum(PASSED[mode]) * RUNS


def test_what_ran_stands_beside_its_values(measured: Path) -> None:
    trace = measured / "pass.dtap"
    [(draws, submits, passes)] = asked(
        trace,
        "SELECT count(*) AS d, count(DISTINCT submit_seq) AS s, count(DISTINCT pass_number) AS p "
        "FROM executed_metrics WHERE metric = 'vk:samples/samples_passed' AND kind = 'draw'",
    )
    assert (draws, submits, passes) == (DRAWS * RUNS, RUNS, 2 * RUNS)
    [(wrong,)] = asked(
        trace,
        "SELECT count(*) AS n FROM metrics m LEFT JOIN executed e ON e.number = m.number "
        "WHERE m.per = 'draw' AND (e.kind IS NULL OR e.kind <> 'draw' OR e.seq <> m.seq)",
    )
    assert wrong == 0
    passes_of = asked(
        trace, "SELECT number, value FROM metrics WHERE per = 'pass' AND name = 'vk:samples/samples_passed' ORDER BY 1"
    )
    assert passes_of == [(1, 120), (2, 88), (3, 120), (4, 88)]


def test_times_contain_each_other(measured: Path) -> None:
    rows = asked(
        measured / "pass.dtap",
        "SELECT per, sum(value) AS v, count(*) AS n FROM metrics WHERE name = 'vk:time/elapsed' GROUP BY ALL",
    )
    times = {str(per): (value, count) for per, value, count in rows}
    assert times["pass"][1] == 2 * RUNS
    assert times["call"][0] == times["frame"][0]  # both are those of the command buffers
    assert times["call"][0] >= times["pass"][0] > 0  # type: ignore[operator]


def test_the_processors_cost_is_of_calls(measured: Path) -> None:
    trace = measured / "pass.dtap"
    [(calls, with_cost)] = asked(
        trace,
        "SELECT count(*) AS n, count(value) AS v FROM executed_metrics WHERE metric = 'cpu:time/wall' AND per = 'call' "
        "AND function = 'vkCmdDraw'",
    )
    assert calls == with_cost == DRAWS * RUNS
    rows = asked(trace, "SELECT DISTINCT value, note FROM metrics WHERE name = 'cpu:time/wall' AND per = 'draw'")
    assert rows == [(None, "the processor's cost is a call's, which records once and may run often: --per call")]


def test_a_query_of_the_programs_goes_first(draws: Path, tmp_path: Path) -> None:
    trace = Path(shutil.copy(draws / "query.dtap", tmp_path))
    profile(trace, "--metrics", "vk:samples/samples_passed,vk:pipeline/vertices_submitted", "--per", "draw,frame")
    rows = asked(
        trace,
        "SELECT value, note FROM metrics WHERE per = 'draw' AND name = 'vk:samples/samples_passed' ORDER BY number",
    )
    note = "a query of the program's own of this kind runs: two do not at once"
    assert rows == [(64, None), (None, note), (48, None), (40, None)] * RUNS
    frames = asked(
        trace,
        "SELECT value, at_least, unknown_draws, draws FROM metrics WHERE per = 'frame' AND name LIKE 'vk:samples%'",
    )
    assert frames == [(None, 152, 1, DRAWS)] * RUNS  # each submission is waited for, which ends a frame
    vertices = asked(trace, "SELECT value FROM metrics WHERE per = 'frame' AND name LIKE 'vk:pipeline%'")
    assert vertices == [(3 * DRAWS,)] * RUNS


@pytest.mark.parametrize("mode", PASSED)
def test_measuring_changes_no_picture(mode: str, draws: Path, tmp_path: Path) -> None:
    """The program copies its image into memory: --verify compares that with the recording."""
    request = tmp_path / "request"
    specs = [("elapsed", "sum"), ("samples_passed", "sum"), ("fragment_shader_invocations", "sum")]
    request.write_text(
        json.dumps(
            {
                "metrics": [
                    {"id": f"vk:{spec}", "backend": "vk", "spec": spec, "fold": fold, "at": "d"} for spec, fold in specs
                ],
                "passes": [{"at": "d", "metrics": [0, 1, 2]}],
                "ranges": [],
            }
        )
    )
    heard = player.play(
        draws / f"{mode}.dtap",
        ["--measure", str(request), "--measured", str(tmp_path / "rows"), "--verify"],
        environment=environment(),
    )
    assert heard.compared > 0
    assert heard.different == 0
    assert (tmp_path / "rows").read_text().count("\nd,") == DRAWS * RUNS


def test_the_list_says_what_lacks(draws: Path) -> None:
    done = run_drawtap("profile", draws / "pass.dtap", "--list", "--json", environment=environment())
    rows = {row["metric"]: row for row in json.loads(done.stdout)}
    assert rows["vk:samples/samples_passed"]["here"] == rows["cpu:time/wall"]["here"] == "yes"
    assert rows["vkperf:*"]["why not"] == "the device lacks VK_KHR_performance_query"
    assert rows["gl:time/elapsed"]["why not"] == "the recording is of Vulkan"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--per", "group"), "debug groups of Vulkan are not measured yet"),
        (("--restart", "--frames", "0"), "frames of Vulkan cannot be played again alone"),
        (("--isolate",), "draws of Vulkan cannot be isolated"),
        (("--metrics", "vkperf:*"), "vkperf:*: the device lacks VK_KHR_performance_query"),
    ],
)
def test_nothing_is_left_out_in_silence(words: tuple[str, ...], said: str, draws: Path) -> None:
    done = run_drawtap("profile", draws / "pass.dtap", *words, environment=environment())
    assert done.returncode in (2, 3)
    assert done.stdout == ""
    assert said in done.stderr


def test_ranges_have_what_their_calls_submit(draws: Path, tmp_path: Path) -> None:
    trace = Path(shutil.copy(draws / "pass.dtap", tmp_path))
    (first, second) = (seq for (seq,) in asked(trace, "SELECT seq FROM submits ORDER BY seq"))
    found = profile(
        trace, "--metrics", "vk:samples/samples_passed", "--per", "range", "--range", f"first=0:{second}", "--range",
        f"both={first}:{int(str(second)) + 1}",
    )  # fmt: skip
    assert found["rows"] == 2
    rows = asked(trace, "SELECT range, value FROM metrics WHERE per = 'range' ORDER BY range")
    assert rows == [("both", 2 * 208), ("first", 208)]


def test_swiftshader_counts_alike(draws: Path, tmp_path: Path) -> None:
    """Another driver; it lacks statistics of the pipeline, and says so."""
    trace, env = Path(shutil.copy(draws / "pass.dtap", tmp_path)), swiftshader()
    profile(trace, "--metrics", "vk:samples/*,vk:time/*", "--per", "draw", env=env)
    rows = asked(trace, "SELECT value FROM metrics WHERE name LIKE 'vk:samples/samples%' ORDER BY number")
    assert [value for (value,) in rows] == list(PASSED["pass"]) * RUNS


@pytest.fixture(scope="session")
def stand_in(header: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a driver with VK_KHR_performance_query: lavapipe behind a layer that counts."""

    def write(folder: Path) -> Path:
        library = build(header, HERE / "fake_counters.c", folder / "libfake_counters.so", "-shared", "-fPIC")
        layer = {
            "name": "VK_LAYER_DRAWTAP_stand_in", "type": "GLOBAL", "library_path": str(library),
            "api_version": "1.3.0", "implementation_version": "1", "description": "a stand-in's counters",
        }  # fmt: skip
        (folder / "stand_in.json").write_text(json.dumps({"file_format_version": "1.1.0", "layer": layer}))
        return folder

    folder = once(tmp_path_factory, "vulkan-stand-in", write)
    return {**environment(), "VK_LAYER_PATH": str(folder), "VK_INSTANCE_LAYERS": "VK_LAYER_DRAWTAP_stand_in"}


def test_counters_of_the_driver(stand_in: dict[str, str], draws: Path, tmp_path: Path) -> None:
    """Those that do not fit together get a replay each; what does not even fit alone is named."""
    trace = Path(shutil.copy(draws / "query.dtap", tmp_path))
    names = ("stand-in-vertices", "stand-in-draws", "stand-in-draws-of-passes", "stand-in-share", "stand-in-slow")
    metrics = ",".join(f"vkperf:stand-in/{name}" for name in names)
    found = profile(trace, "--metrics", metrics, "--per", "draw,pass,frame", env=stand_in)
    slow = "the device counts it in 2 submits of one command buffer"
    assert found["refused"] == {"vkperf:stand-in/stand-in-slow": slow}
    assert len(found["passes"]) >= 4  # type: ignore[arg-type]
    rows = asked(
        trace,
        "SELECT name, per, list(value ORDER BY number) AS v, any_value(note) AS w FROM metrics GROUP BY ALL",
    )
    values = {(str(name).rpartition("/")[2], per): (value, note) for name, per, value, note in rows}
    per_draw = [1] * DRAWS * RUNS
    assert values["stand-in-vertices", "draw"] == ([3] * DRAWS * RUNS, None)
    assert values["stand-in-vertices", "frame"] == ([3 * DRAWS] * RUNS, None)
    assert values["stand-in-draws", "draw"] == (per_draw, None)
    assert values["stand-in-draws", "pass"] == ([DRAWS] * RUNS, None)
    assert values["stand-in-draws-of-passes", "pass"] == ([DRAWS] * RUNS, None)
    assert values["stand-in-draws-of-passes", "draw"][1] == "it counts whole render passes"
    assert values["stand-in-share", "frame"] == ([50] * RUNS, None)
    assert values["stand-in-share", "pass"][1] == "it counts whole command buffers"


def test_counters_of_the_stand_in_say_so(stand_in: dict[str, str], draws: Path) -> None:
    words = ("--list", "--metrics", "vkperf:*", "--json")
    done = run_drawtap("profile", draws / "pass.dtap", *words, environment=stand_in)
    rows = json.loads(done.stdout)
    assert len(rows) == 5
    assert all("stand-in" in row["description"] and row["here"] == "yes" for row in rows)


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ("vkCreateFence", "the device has no memory for a fence"),
        ("vkCreateCommandPool", "there is no memory for a command pool"),
        ("vkQueueSubmit", "the device has no memory for a submission"),
    ],
)
def test_a_lack_of_memory_is_no_lost_device(
    lacks: str, told: str, stand_in: dict[str, str], draws: Path, tmp_path: Path
) -> None:
    trace = Path(shutil.copy(draws / "pass.dtap", tmp_path))
    asks = ("profile", trace, "--metrics", "vk:samples/any_samples", "--per", "draw")
    shows = ("replay", trace, "--snapshots", tmp_path / "shown", "--snapshot-at", "draws")
    for words in (asks, shows):
        done = run_drawtap(*words, environment={**stand_in, "STAND_IN_LACKS": lacks})
        assert done.returncode > 1
        assert told in done.stdout + done.stderr
