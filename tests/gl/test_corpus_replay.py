"""Recordings are played on engines, each in a process of its own; what goes wrong there has a name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shared
from drawtap.corpus import engines, hiding, history, rows, search
from drawtap.corpus.adding import Adder
from drawtap.corpus.checking import check
from drawtap.corpus.minimizing import minimize
from drawtap.corpus.playing import Limits, Run, play, play_all, task_key
from drawtap.corpus.store import Store, create
from drawtap.corpus.timing import METRICS
from drawtap.errors import DrawtapError, InputError, UnavailableError, UsageError
from drawtap.replay import player
from drawtap.trace.trace import open_trace
from gl.conftest import Bench
from shared import SOFTWARE, run_drawtap, steps
from writer import Writer

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def triangle(tmp_path_factory: pytest.TempPathFactory, programs: Bench) -> Path:
    """Return a recording of ten frames with the hash of each."""
    player.program()

    def record(folder: Path) -> Path:
        return programs.record(["es2_triangle"], folder / "triangle.dtap", "--hash-frames")

    return shared.once(tmp_path_factory, "corpus-triangle", record)


def test_json_of_a_replay_has_numbers(triangle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SOFTWARE.items():
        monkeypatch.setenv(name, value)
    answer = run_drawtap("replay", triangle, "--verify", "--benchmark", "--hashes", "--json")
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    played = player.play(triangle, ["--hashes"])
    assert said["hashes"] == [{"frame": f, "hash": h} for f, h in sorted(played.hashes.items())]
    assert len(said["hashes"]) == said["frames"] == played.frames
    assert len(said["frame_times_ns"]) in (said["frames"], said["frames"] - 1)
    assert all(isinstance(ns, int) and ns > 0 for ns in said["frame_times_ns"])
    assert said["compared"] > 0
    assert said["different"] == 0


# ---- engines that go wrong -----------------------------------------------------------------------------------------

SOURCE = Path(__file__).parent / "fake_engine" / "fake_engine.c"
FAULTS = "hang stop kill crash eat wrong exit blend mask jitter slow error lost wait spoiled tires none"
AT = 4  # the draw at which a fake engine goes wrong
PATIENT = Limits(stall_s=120, seconds=600)


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an engines.toml of a sound engine, and of engines that go wrong at a draw."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")

    def build(folder: Path) -> Path:
        module = folder / "libfake_engine.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(module), str(SOURCE), "-ldl"], check=True)
        surface = 'EGL_PLATFORM = "surfaceless"'
        lines = [f'[sound]\nbase = "llvmpipe"\nenv = {{ {surface} }}\n']
        for word in FAULTS.split():
            own = f'LD_PRELOAD = "{module}", FAKE_DOES = "{word}", FAKE_AT = "{AT}"'
            lines.append(f'["{word}-1.0"]\nbase = "llvmpipe"\nfamily = "fake"\nenv = {{ {surface}, {own} }}\n')
        (folder / "engines.toml").write_text("\n".join(lines))
        return folder / "engines.toml"

    return shared.once(tmp_path_factory, "corpus-engines", build)


@pytest.fixture
def store(tmp_path: Path, triangle: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return a corpus with the recording of a triangle."""
    monkeypatch.setitem(rows.QUESTIONS, "findings", "SELECT NULL AS rule, NULL severity, 0 n, 0 first_seq WHERE false")
    made = create(str(tmp_path / "store"))
    Adder(made).add(triangle, {"app": "triangle"})
    return made


def played(store: Store, fakes: Path, *names: str, limits: Limits = PATIENT, jobs: int = 2) -> dict[str, Run]:
    chosen = engines.named(names, fakes)
    return {run.engine.name: run for run in play_all(store, list(store.recordings()), chosen, limits, jobs=jobs)}


def draw(triangle: Path, number: int) -> int:
    with open_trace(triangle) as trace:
        found = trace.sql("SELECT seq FROM calls WHERE name = 'glDrawArrays' ORDER BY seq").fetchall()
    return int(found[number][0])


def test_outcomes_are_values(store: Store, fakes: Path, triangle: Path) -> None:
    found = played(store, fakes, "sound", "crash-1.0", "wrong-1.0", "exit-1.0")
    assert {name: run.outcome for name, run in found.items()} == {
        "sound": "ok", "crash-1.0": "crash", "wrong-1.0": "differs", "exit-1.0": "crash",
    }  # fmt: skip
    bad = found["crash-1.0"]
    assert (bad.last_seq, bad.function, bad.signal, bad.detail) == (draw(triangle, AT), "glDrawArrays", 11, "SIGSEGV")
    assert found["exit-1.0"].detail == "exit code 9"
    sound, wrong = found["sound"].hashes, found["wrong-1.0"].hashes
    assert sound
    assert wrong
    assert [frame for frame in sound if sound[frame] != wrong[frame]] == [AT]
    with search.Corpus(store) as corpus:
        assert corpus.scalar("SELECT count(*) FROM runs") == 4
        assert dict(corpus.query("SELECT name, outcome FROM runs").fetchall()) == {
            n: r.outcome for n, r in found.items()
        }
        differing = corpus.query(
            "SELECT a.frame FROM images a JOIN images b USING (trace, frame) JOIN runs r ON r.task = a.task"
            " JOIN runs s ON s.task = b.task WHERE r.name = 'sound' AND s.name = 'wrong-1.0' AND a.digest <> b.digest"
        )
        assert differing.fetchall() == [(AT,)]


@pytest.mark.exhaustive
def test_a_hang_is_named_by_its_call(store: Store, fakes: Path, triangle: Path) -> None:
    found = played(store, fakes, "hang-1.0", "stop-1.0", limits=Limits(stall_s=4, seconds=600))
    for run in found.values():
        assert (run.outcome, run.last_seq, run.function) == ("hang", draw(triangle, AT), "glDrawArrays"), run


def test_a_player_that_eats_memory_is_ended(store: Store, fakes: Path, triangle: Path) -> None:
    (run,) = played(store, fakes, "eat-1.0", limits=Limits(stall_s=120, memory_bytes=1 << 30)).values()
    assert (run.outcome, run.last_seq) == ("oom", draw(triangle, AT))


def test_what_has_a_result_is_not_played_again(store: Store, fakes: Path) -> None:
    (first,) = played(store, fakes, "crash-1.0").values()
    assert not played(store, fakes, "crash-1.0")
    assert search.done_tasks(store) == {first.task}
    # Another build under the same name is another engine.
    text = fakes.read_text().replace('FAKE_DOES = "crash"', 'FAKE_DOES = "none"')
    other = Path(store.where).parent / "other.toml"
    other.write_text(text)
    (second,) = played(store, other, "crash-1.0").values()
    assert (second.outcome, second.engine.name) == ("ok", first.engine.name)
    assert second.engine.key != first.engine.key


def test_results_are_put_together_too(store: Store, fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MANY_FILES", 1)
    (run,) = played(store, fakes, "sound").values()
    made = search.compact(store)
    assert made is not None
    assert run.task in made.recordings
    assert not played(store, fakes, "sound")
    with search.Corpus(store) as corpus:
        assert corpus.scalar("SELECT count(*) FROM images WHERE task = ?", (run.task,)) == run.frames
    store.remove(run.trace)
    with search.Corpus(store) as corpus:
        assert corpus.scalar("SELECT count(*) FROM runs") == 0


def test_the_command(store: Store, fakes: Path, tmp_path: Path) -> None:
    words = ("corpus", "replay", "--corpus", store.where, "--tag", "app=triangle", "--engines", fakes)
    answer = run_drawtap(*words, "--on", "sound,wrong-1.0", "--json")
    assert answer.returncode == 1, answer.stderr
    assert {row["engine"]: row["outcome"] for row in json.loads(answer.stdout)} == {
        "sound": "ok",
        "wrong-1.0": "differs",
    }
    again = run_drawtap(*words, "--on", "sound,wrong-1.0", "--json")
    assert (again.returncode, json.loads(again.stdout)) == (0, [])
    assert run_drawtap(*words, "--on", "sonud").returncode == 2


def test_a_budget_names_what_it_leaves_out(store: Store, fakes: Path, tmp_path: Path) -> None:
    writer = Writer()
    thread = writer.thread()
    for at in (1000, 10**12):  # ns: a quarter of an hour
        thread.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=at, duration=9)
    thread.flush()
    long = Adder(store).add(writer.write(tmp_path / "long.dtap"), {"app": "triangle"}).id
    (short,) = set(store.recordings()) - {long}
    words = (
        "corpus",
        "verdict",
        "--tag",
        "app=triangle",
        "--new",
        "sound",
        "--corpus",
        store.where,
        "--engines",
        fakes,
    )
    answer = run_drawtap(*words, "--budget", "60s")
    assert answer.returncode == 0, answer.stderr
    assert f"1 recording does not fit into the budget: {long[:12]}" in answer.stdout
    assert short[:12] in answer.stdout
    with search.Corpus(store) as tables:
        assert tables.query("SELECT DISTINCT trace FROM runs").fetchall() == [(short,)]
    plan = json.loads(run_drawtap(*words, "--budget", "60s", "--plan", "--json").stdout)
    assert (plan["recordings"], plan["left_out"]) == (1, [long])
    assert "fit" not in run_drawtap(*words, "--budget", "8h", "--plan").stdout


def test_a_canary_names_the_machine(store: Store, fakes: Path) -> None:
    folder = Path(store.where).parent
    file = folder / "engines.toml"
    file.write_text(fakes.read_text().replace('"spoiled"', f'"spoiled", FAKE_FILE = "{folder}/bad"'))
    (trace,) = store.recordings()
    store.tag(trace, {"canary": "yes"})
    (run,) = played(store, file, "spoiled-1.0").values()
    assert run.outcome == "ok"
    (folder / "bad").touch()  # nothing of the build changes
    (bad,) = engines.named(["spoiled-1.0"], file)
    assert bad.key == run.engine.key
    (again,) = play_all(store, [trace], [bad], PATIENT, jobs=1, again=True)
    assert (again.outcome, f"canary {trace[:12]} draws frame 0 as never before" in again.detail) == (
        "machine-lost",
        True,
    )
    assert search.done_tasks(store) == {run.task}  # nothing is said about the build
    (folder / "bad").unlink()
    (sound,) = play_all(store, [trace], [bad], PATIENT, jobs=1, again=True)
    assert sound.outcome == "ok"
    with search.Corpus(store) as tables:
        alarms = tables.query("SELECT engine, kind, alarm FROM checks ORDER BY checked").fetchall()
        assert alarms == [(bad.key, "images", "draws frame 0 as never before"), (bad.key, "images", None)]
        assert tables.query("SELECT sum(checks), sum(alarms), max(spread) FROM canaries").fetchall() == [(2, 1, None)]


# ---- pictures --------------------------------------------------------------------------------------------------


def _verdict(store: Store, fakes: Path, *words: object) -> tuple[int, dict[str, Any]]:
    answer = run_drawtap(
        "corpus", "verdict", "--tag", "app=triangle", "--corpus", store.where, "--engines", fakes, "--json", *words
    )
    assert answer.returncode in (0, 1), answer.stderr
    (one,) = json.loads(answer.stdout)
    return answer.returncode, one


def _decide(store: Store, fakes: Path, verb: str, *words: object) -> None:
    words = ("--tag", "app=triangle", "--why", "looked at", *words)
    answer = run_drawtap("corpus", verb, "--corpus", store.where, "--engines", fakes, *words)
    assert answer.returncode == 0, answer.stderr


def test_injected_faults_get_the_right_label(store: Store, fakes: Path, triangle: Path, tmp_path: Path) -> None:
    faults = (("blend", ()), ("mask", ("--no-cut",)))[: steps(1, 2)]
    for fault, words in faults:
        code, said = _verdict(store, fakes, "--new", f"{fault}-1.0", "--base", "sound", *words)
        assert (code, said["label"], said["frame"]) == (1, "differs", AT), said
        assert (said["call"], said["function"]) == (draw(triangle, AT), "glDrawArrays")
        # The frame is in the corpus as a recording of its own.
        answer = run_drawtap("corpus", "ls", "--corpus", store.where, "--tag", f"differs=sound {fault}-1.0", "--json")
        cuts = [(row["trace"], row["frames"]) for row in json.loads(answer.stdout)]
        assert cuts == ([] if words else [(said["cut"], 1)])
    files = ("--junit", tmp_path / "out.xml", "--sarif", tmp_path / "out.sarif")
    code, said = _verdict(store, fakes, "--new", "jitter-1.0", "--base", "sound", *files)
    assert (code, said["label"]) == (0, "flaky"), said
    (result,) = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("images/flaky", "warning")
    assert 'failures="0"' in (tmp_path / "out.xml").read_text()
    assert "equal to the other engine elsewhere" in said["detail"]
    with search.Corpus(store) as tables:
        found = tables.query("SELECT name, label FROM verdicts ORDER BY judged").fetchall()
        diffs = tables.query(
            "SELECT e.name, pixels > 0, max > 0, ssim < 1, mask > 0, first_draw, d.frame, d.a = d.b FROM diffs d JOIN"
            " engines e USING (engine) ORDER BY e.name, d.frame"
        ).fetchall()
    assert found == [*((f"{fault}-1.0", "differs") for fault, _ in faults), ("jitter-1.0", "flaky")]
    first = draw(triangle, AT)
    wrong = [row for row in diffs if row[0] != "jitter-1.0"]
    assert wrong == [(f"{fault}-1.0", True, True, True, False, first, AT, False) for fault, _ in faults]
    # Outside of the pixels that change from run to run both engines agree.
    assert {row[:6] for row in diffs if row not in wrong} == {("jitter-1.0", False, False, False, True, None)}
    # What differs has to differ from something while it gets smaller, and what is flaky is no failure.
    words = ("--tag", "app=triangle", "--corpus", store.where, "--engines", fakes)
    for new, hint in (("blend-1.0", "--base ENGINE"), ("jitter-1.0", "no failure to keep")):
        answer = run_drawtap("corpus", "minimize", *words, "--new", new)
        assert (answer.returncode, hint in answer.stderr) == (2, True), answer.stderr


def _minimized(store: Store, fakes: Path, *words: object) -> dict[str, Any]:
    words = ("--tag", "app=triangle", "--corpus", store.where, "--engines", fakes, *words)
    answer = run_drawtap("corpus", "minimize", "--json", *words)
    assert answer.returncode == 0, answer.stderr
    (one,) = json.loads(answer.stdout)
    return one


@pytest.mark.exhaustive  # make test has the page that shows this way
def test_a_failing_recording_becomes_a_minimal_one(store: Store, fakes: Path, tmp_path: Path) -> None:
    out = tmp_path / "minimal.dtap"
    words = ("--new", "crash-1.0", "--seconds", steps(10, 60), "-o", out)
    answer = run_drawtap(
        "corpus", "minimize", "--tag", "app=triangle", "--corpus", store.where, "--engines", fakes, *words
    )
    assert (answer.returncode, "nothing was judged" in answer.stderr) == (2, True)
    _verdict(store, fakes, "--new", "crash-1.0")
    said = _minimized(store, fakes, *words)
    assert (said["label"], said["oracle"]) == ("crash", "crash in glDrawArrays")
    assert said["calls"] < said["before"] / 2
    # It crashes alone, at the fifth draw: four others are needed for that, and the rest of their frames is not.
    (id_,) = store.recordings().keys() - {said["trace"]}
    assert id_ == said["id"]
    assert store.tags(id_)[id_] == {"minimal_of": said["trace"][:12], "fails": "crash-1.0", "label": "crash"}
    with open_trace(out) as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM calls WHERE name = 'glDrawArrays'").fetchall()]
        assert len(draws) >= AT + 1
        assert trace.call_count == said["calls"]
    (crash,) = engines.named(["crash-1.0"], fakes)
    (tmp_path / "home").mkdir()
    assert play(out, crash, PATIENT, tmp_path / "home").outcome == "crash"


@pytest.mark.parametrize(
    ("engine", "label", "oracle"),
    [pytest.param("hang-1.0", "hang", "hang in glDrawArrays", marks=pytest.mark.exhaustive),
     pytest.param("eat-1.0", "oom", "oom in glDrawArrays", marks=pytest.mark.exhaustive),
     ("error-1.0", "gl-error", "gl-error"),
     pytest.param("wrong-1.0", "rejected", "pixels", marks=pytest.mark.exhaustive)],
)  # fmt: skip
def test_every_failure_is_kept(store: Store, fakes: Path, engine: str, label: str, oracle: str) -> None:
    stall_s = 2 if label == "hang" else PATIENT.stall_s
    limits = replace(PATIENT, stall_s=stall_s, memory_bytes=1 << 30)
    (run,) = played(store, fakes, engine, limits=limits).values()
    if label == "rejected":
        _decide(store, fakes, "reject", "--on", engine, "--frame", AT)
    assert _verdict(store, fakes, "--new", engine)[1]["label"] == label
    (bad,) = engines.named([engine], fakes)
    # One second is enough for a step or two: what is left must fail as the whole recording does.
    made = minimize(store, run.trace, bad, None, seconds=steps(1, 60), limits=limits)
    assert (made.label, made.oracle, made.trace) == (label, oracle, run.trace)
    assert made.calls < made.before
    if label == "rejected":
        # A frame needs few calls, and this image still comes. One second may end after the first step.
        assert made.calls < made.before / steps(1, 2)
        return
    (again,) = play_all(store, [made.id], [bad], limits, jobs=1)
    assert again.outcome == run.outcome
    assert again.function == run.function or " in " not in oracle  # an error alone may come at another call


@pytest.mark.exhaustive  # make test has the page that shows this way
def test_images_that_differ_differ_in_the_minimal_recording(store: Store, fakes: Path) -> None:
    builds = ("--new", "mask-1.0", "--base", "sound")
    _verdict(store, fakes, *builds)
    said = _minimized(store, fakes, *builds, "--seconds", 60)
    # The driver is wrong from its fifth draw on, so the frame alone is drawn right: the search takes them all.
    assert (said["label"], said["oracle"], said["start"]) == ("differs", "engines=sound,mask-1.0", said["trace"])
    assert said["calls"] < said["before"]
    _verdict(store, fakes, "--new", "none-1.0", "--base", "sound")
    words = ("--tag", "app=triangle", "--corpus", store.where, "--engines", fakes, "--new", "none-1.0")
    answer = run_drawtap("corpus", "minimize", *words)
    assert (answer.returncode, "no failure to keep" in answer.stderr) == (2, True)


def test_approved_and_rejected_images(store: Store, fakes: Path) -> None:
    code, said = _verdict(store, fakes, "--new", "sound")
    assert (code, said["label"], said["detail"]) == (0, "unknown", "nothing approved")
    _decide(store, fakes, "approve", "--on", "sound", "--for", "fake")
    assert _verdict(store, fakes, "--new", "sound")[1]["label"] == "unknown"  # it is of another family
    code, said = _verdict(store, fakes, "--new", "wrong-1.0")
    assert (code, said["label"], said["frame"], said["call"]) == (1, "differs", AT, None)
    # The recording differs too, but people decide.
    words = ("corpus", "replay", "--corpus", store.where, "--tag", "app=triangle", "--engines", fakes, "--again")
    for verb, label, code in (("approve", "approved", 0), ("reject", "rejected", 1)):
        _decide(store, fakes, verb, "--on", "wrong-1.0", "--frame", AT)
        assert _verdict(store, fakes, "--new", "wrong-1.0")[1]["label"] == label
        answer = run_drawtap(*words, "--on", "wrong-1.0", "--json")
        (run,) = json.loads(answer.stdout)
        assert (answer.returncode, run["outcome"], run["images"]) == (code, "differs", label)
    _decide(store, fakes, "approve", "--on", "sound")
    assert _verdict(store, fakes, "--new", "sound")[1]["label"] == "approved"
    assert not check(store).faults


# ---- speed -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive  # tests/unit/test_slower.py has the rules with given times
def test_a_slow_build_is_found_and_an_equal_one_is_not(store: Store, fakes: Path) -> None:
    pytest.importorskip("scipy", reason="SciPy is an extra: pip install 'drawtap[fleet]'")
    words = ("corpus", "verdict", "--tag", "app=triangle", "--corpus", store.where, "--engines", fakes, "--speed")
    labels = {}
    builds = ["slow-1.0", "none-1.0"][: steps(1, 2)]  # an equal one: see what follows the canary that gets slower
    for name in builds:
        answer = run_drawtap(*words, "--new", name, "--base", "sound", "--pairs", 8, "--threshold", 20, "--json")
        said = json.loads(answer.stdout)
        (one,) = said["recordings"]
        labels[name] = one["label"]
        assert answer.returncode == (one["label"] == "regression"), answer.stderr
        assert said["metric"] in METRICS
        if name == "slow-1.0":
            assert one["low"] > 0.2
    assert labels["slow-1.0"] == "regression"
    assert labels.get("none-1.0") != "regression"
    with search.Corpus(store) as tables:
        orders = tables.query("SELECT name, base_first, count(*) FROM pairs GROUP BY ALL ORDER BY ALL").fetchall()
        assert {count for name, _, count in orders if name == "slow-1.0"} == {8}  # 8 that find it, 8 that confirm it
        assert {count for name, _, count in orders if name == "none-1.0"} <= {4, 8}  # a suspect gets twice as many
        # Medians of all pairs, and the frames of those that confirmed the slowdown.
        samples = tables.query(
            "SELECT p.name, count(DISTINCT task) FILTER (frame IS NOT NULL), count(*) FILTER (frame IS NULL) = 2 *"
            " count(DISTINCT task) FROM samples s JOIN pairs p USING (task) GROUP BY p.name ORDER BY p.name"
        ).fetchall()
        assert samples == [(name, 8 * (name == "slow-1.0"), True) for name in sorted(builds)]
        medians = tables.query(
            "SELECT median(r.value) FILTER (r.frame > 0), any_value(if(pass = 'base', p.base_value, p.value))"
            " FROM readings r JOIN pairs p USING (task) GROUP BY task, pass"
        ).fetchall()
        assert [raw for raw, _ in medians] == pytest.approx([kept for _, kept in medians])
    (id_,) = store.recordings()
    answer = run_drawtap("corpus", "history", id_[:12], "--corpus", store.where, "--json")
    told = {build["name"]: build for build in json.loads(answer.stdout)["builds"]}
    assert set(told) == {"sound", *builds}
    assert told["slow-1.0"]["effect"] > 0.2
    for _ in range(2):  # what is there already is not written again
        with search.Corpus(store) as tables:
            history.keep(store, tables, id_, history.history(tables, id_))
    with search.Corpus(store) as tables:
        series = tables.query("SELECT trace, metric, name, effect FROM series ORDER BY number").fetchall()
        assert series == [(id_, said["metric"], name, pytest.approx(told[name]["effect"])) for name in builds]
        changes = tables.query("SELECT build, before, after, p < 0.01 FROM changes").fetchall()
    effects = [pytest.approx(told[name]["effect"]) for name in builds]
    assert changes == ([("none-1.0", *effects, True)] if len(builds) == 2 else [])
    plan = run_drawtap(*words, "--new", "slow-1.0", "--base", "sound", "--plan", "--json")
    assert {n: json.loads(plan.stdout)[n] for n in ("runs", "pairs", "failed")} == {"runs": 0, "pairs": 40, "failed": 0}


@pytest.mark.exhaustive  # it lasts as long as its pairs
def test_no_pair_counts_on_a_machine_whose_canary_gets_slower(store: Store, fakes: Path) -> None:
    pytest.importorskip("scipy", reason="SciPy is an extra: pip install 'drawtap[fleet]'")
    file, (trace,) = Path(store.where).parent / "engines.toml", store.recordings()
    file.write_text(fakes.read_text().replace('"tires"', f'"tires", FAKE_FILE = "{file}.runs"'))
    store.tag(trace, {"canary": "yes"})
    words = ("corpus", "verdict", "--tag", "app=triangle", "--corpus", store.where, "--engines", file, "--speed")
    answer = run_drawtap(*words, "--new", "sound", "--base", "tires-1.0", "--pairs", 8, "--json")
    (one,) = json.loads(answer.stdout)["recordings"]
    assert (one["label"], one["pairs"], answer.returncode) == ("unknown", 0, 0)
    assert re.search(
        f"is not fit to measure: with its canary {trace[:12]}, (a second run|runs) of the same build", one["detail"]
    )
    with search.Corpus(store) as tables:
        assert tables.query("SELECT count(*) FROM pairs").fetchall() == [(0,)]
        assert tables.query("SELECT count(*) FROM verdicts").fetchall() == [(0,)]
        assert tables.query("SELECT sum(alarms), min(spread) > 0 FROM canaries").fetchall() == [(1, True)]
    answer = run_drawtap(*words, "--new", "none-1.0", "--base", "sound", "--pairs", 8, "--threshold", 50, "--json")
    (one,) = json.loads(answer.stdout)["recordings"]
    assert (one["pairs"] >= 8, one["label"] != "regression") == (True, True), one
    with search.Corpus(store) as tables:
        alarms = "SELECT name, alarm IS NULL, spread > 0 FROM checks WHERE kind = 'speed' ORDER BY checked"
        assert tables.query(alarms).fetchall() == [("tires-1.0", False, True), ("sound", True, True)]


def test_bisection_over_builds_finds_the_first_one_that_draws_wrong(store: Store, fakes: Path, tmp_path: Path) -> None:
    count, sections = steps(8, 32), fakes.read_text().split("\n[")
    culprit = count * 2 // 3
    of = {name: next(s for s in sections if s.startswith(f'"{name}-1.0"]')) for name in ("none", "mask")}
    lines = [
        "[" + of["mask" if n >= culprit else "none"].replace("-1.0", f"-{n}", 1).replace("{ EGL", f'{{ N = "{n}", EGL')
        for n in range(count)
    ]
    (tmp_path / "builds.toml").write_text("\n".join(lines))
    names = [f"mask-{n}" if n >= culprit else f"none-{n}" for n in range(count)]
    (id_,) = store.recordings()
    words = ("corpus", "bisect", id_[:12], "--corpus", store.where, "--engines", tmp_path / "builds.toml")
    answer = run_drawtap(*words, "--builds", ",".join(names), "--repeats", 1, "--json")
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    assert (said["good"], said["bad"], said["between"]) == (f"none-{culprit - 1}", f"mask-{culprit}", [])
    answer = run_drawtap(*words, "--builds", "none-1,none-2", "--repeats", 1)
    assert (answer.returncode, "has to be a bad one" in answer.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "x may have"),
        ('["a/b"]\n', "is no name"),
        ("[a]\nenv = { A = 1 }", "no table of texts"),
        ("[a]\nhost = 'x'", "may have"),
        ("[a", "is no TOML"),
    ],
)
def test_an_engines_file_that_makes_no_sense(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        engines.named(["system"], tmp_path / "e.toml")


def test_an_engine_that_is_not_here(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no engine called"):
        engines.named(["none"], None)
    (tmp_path / "e.toml").write_text('[a]\nenv = { LIBGL_DRIVERS_PATH = "/nowhere", EGL_PLATFORM = "surfaceless" }\n')
    with pytest.raises(UnavailableError, match="does not play here"):
        engines.named(["a"], tmp_path / "e.toml")


def test_tasks_have_names_of_their_own(fakes: Path) -> None:
    one, two = engines.named(["sound", "crash-1.0"], fakes)
    names = {task_key(trace, engine, attempt) for trace in "ab" for engine in (one, two) for attempt in ("", "1")}
    assert len(names) == 8
    assert task_key("a", one) == task_key("a", engines.named(["sound"], fakes)[0])


def test_a_redacted_recording_draws_the_same(triangle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SOFTWARE.items():
        monkeypatch.setenv(name, value)
    level = ("--level", "names")
    (tmp_path / "words").write_text("turn\n")
    for words, code in ((("--deny", tmp_path / "words"), 4), ((*level, "--deny", tmp_path / "words"), 0)):
        answer = run_drawtap("redact", triangle, "-o", tmp_path / "b.dtap", "--on", "llvmpipe", "--json", *words)
        assert answer.returncode == code, answer.stderr
    said = json.loads(answer.stdout)
    assert said["frames"] == 10
    assert all(name.startswith("id_") for name in said["texts"]["glGetUniformLocation.name"])
    assert str(triangle.parent).encode() not in (tmp_path / "b.dtap").read_bytes()
    verified = player.play(tmp_path / "b.dtap", ["--verify"])
    assert verified.compared > 0
    assert verified.different == 0


@pytest.fixture(scope="module")
def textured(tmp_path_factory: pytest.TempPathFactory, programs: Bench) -> Path:
    """Return a recording of two frames with a texture that is replaced in part."""

    def record(folder: Path) -> Path:
        return programs.record(["textured"], folder / "textured.dtap", "--hash-frames")

    return shared.once(tmp_path_factory, "corpus-textured", record)


def _contents(path: Path) -> set[str]:
    with open_trace(path) as trace:
        return {str(row["hash"]) for row in trace.table("blobs")}


def test_pictures_are_hidden_and_the_work_stays(textured: Path, fakes: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.dtap"
    words = ("redact", textured, "-o", out, "--level", "content", "--on", "llvmpipe", "--engines", fakes, "--json")
    answer = run_drawtap(*words, "--oracle", "grep -q drawtap {}")
    assert (answer.returncode, "does not hold" in answer.stderr) == (2, True)
    answer = run_drawtap(*words, "--oracle", "test -s {}")
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    assert (said["frames"], said["mixed"], said["kept"]) == (2, 2, {})
    assert not _contents(out) & _contents(textured)
    played = [player.play(path, ["--hashes"], environment=SOFTWARE) for path in (textured, out)]
    assert played[0].hashes != played[1].hashes  # it shows something else
    assert played[1].different == 0  # and says nothing of what the program showed


def test_a_failure_outlives_its_redaction(triangle: Path, fakes: Path, tmp_path: Path) -> None:
    for number, oracle in enumerate(("engines=sound,mask-1.0", "crash=crash-1.0")):
        answer = run_drawtap(
            "redact", triangle, "-o", tmp_path / f"{number}.dtap", "--level", "content", "--on", "llvmpipe",
            "--engines", fakes, "--oracle", oracle, "--json",
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr
        assert json.loads(answer.stdout)["oracle"] == oracle
    answer = run_drawtap("redact", triangle, "-o", tmp_path / "c.dtap", "--engines", fakes, "--oracle", "hang=sound")
    assert (answer.returncode, "does not hold" in answer.stderr) == (2, True)


def test_a_texture_that_steers_stays(textured: Path, tmp_path: Path) -> None:
    with open_trace(textured) as trace:
        (seq,) = [s for (s,) in trace.sql("SELECT seq FROM calls WHERE name = 'glTexSubImage2D'").fetchall()]
        before = bytes(trace.calls[seq].args["pixels"])

    def holds(path: Path) -> bool:
        with open_trace(path) as made:
            return bytes(made.calls[seq].args["pixels"]) == before

    hidden = hiding.hide(textured, tmp_path / "b.dtap", b"1", holds, 60)
    assert (hidden.mixed, list(hidden.kept.values())) == (1, [1])
    assert holds(tmp_path / "b.dtap")
    with pytest.raises(DrawtapError, match="another"):
        hiding.hide(textured, tmp_path / "c.dtap", b"1", lambda _: False, 60)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_what_holds_is_signed_and_its_receiver_plays_nothing(triangle: Path, tmp_path: Path) -> None:
    file, key = Path(shutil.copy(triangle, tmp_path / "t.dtap")), tmp_path / "ada"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "signers").write_text(f"ada@example {key.with_suffix('.pub').read_text()}")
    answer = run_drawtap("sign", file, "--key", key, "--on", "llvmpipe")
    assert answer.returncode == 0, answer.stderr
    envelope = json.loads((tmp_path / "t.dtap.sig.json").read_text())
    said = json.loads(base64.b64decode(envelope["payload"]))
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["subject"] == [{"name": "t.dtap", "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}]
    check = ("verify", file, "--signers", tmp_path / "signers")
    assert run_drawtap(*check).returncode == 0
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 1
    file.write_bytes(body)
    answer = run_drawtap(*check)
    assert (answer.returncode, "about another file" in answer.stderr) == (4, True)
