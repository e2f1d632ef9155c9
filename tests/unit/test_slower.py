"""Why frames are slower: the difference is the sum of its parts, and what explains it comes first."""

from __future__ import annotations

import json

import pytest

import drawtap
from drawtap.analysis import slower, spent
from drawtap.analysis.checklist import checklist
from drawtap.analysis.slower import Frame, Side
from drawtap.analysis.verdict import verdict
from drawtap.errors import UsageError
from drawtap.output import slower as view
from drawtap.trace import measured
from scene import Scene
from writer import Writer

MS = 1_000_000


def side(name: str, frames: list[Frame]) -> Side:
    return Side(name, "as recorded", dict(enumerate(frames, 1)))


def frame(draws: float = 1, outside: float = 1, **work: float) -> Frame:
    parts = {spent.DRAWS: draws * MS, spent.OUTSIDE: outside * MS}
    return Frame((draws + outside) * MS, parts, {"triangles": 100.0, "texture_bytes": 0.0, **work})


def test_what_grew_with_the_time_comes_first():
    one = side("a", [frame(), frame(), frame()])
    other = side("b", [frame(), frame(draws=3, triangles=300.0, draws_=1.0, vertices=101.0), frame()])
    found = slower.explain(one, other)
    assert [f.number for f in found.slower] == [2]
    assert (found.compared, found.faster) == (3, 0)
    assert {p.name: p.difference for p in found.parts} == {spent.DRAWS: 2 * MS, spent.OUTSIDE: 0}
    [cause] = found.causes
    assert (cause.name, cause.a, cause.b, cause.ns, cause.share, cause.paid) == (
        "triangles",
        100,
        300,
        2 * MS,
        1,
        spent.DRAWS,
    )
    assert found.unexplained == 0
    assert "triangles (3.0 times as many) explain 100 % of the difference" in found.verdict


def test_time_that_grew_more_than_the_work_is_not_explained():
    found = slower.explain(side("a", [frame()]), side("b", [frame(draws=5, triangles=200.0)]))
    [cause] = found.causes
    assert cause.ns == 1 * MS, "twice the triangles are twice the time of draws"
    assert cause.share == pytest.approx(0.25)
    assert found.unexplained == pytest.approx(0.75)
    assert found.verdict.startswith("nothing that was measured explains most of it")


def test_the_same_work_explains_nothing():
    found = slower.explain(side("a", [frame(), frame()]), side("b", [frame(draws=4), frame(draws=4)]))
    assert found.causes == [] and found.same_work
    assert found.unexplained == 1
    assert found.verdict.startswith("nothing of the work explains it: both sides do the same")
    assert {f.cause for f in found.slower} == {""}


def test_time_of_the_program_itself_is_named():
    found = slower.explain(side("a", [frame()]), side("b", [frame(outside=9, triangles=300.0)]))
    assert found.verdict == "nothing that was measured explains it: 100 % of the difference is outside of the API"


def test_work_that_is_new_has_all_that_came_with_it():
    other = Frame(
        4 * MS,
        {spent.DRAWS: 1 * MS, spent.UPLOADS: 2 * MS, spent.OUTSIDE: 1 * MS},
        {"triangles": 100.0, "texture_bytes": 5e5},
    )
    found = slower.explain(side("a", [frame()]), side("b", [other]))
    [cause] = found.causes
    assert (cause.name, cause.unit, cause.ns, cause.paid) == ("texture data", "bytes", 2 * MS, spent.UPLOADS)
    assert "texture data (A has none) explain 100 %" in found.verdict


def test_several_causes_are_ranked_by_share():
    one = Frame(2 * MS, {spent.DRAWS: 1 * MS, spent.UNIFORMS: 1 * MS}, {"triangles": 10.0, "uniforms": 10.0})
    other = Frame(7 * MS, {spent.DRAWS: 2 * MS, spent.UNIFORMS: 5 * MS}, {"triangles": 20.0, "uniforms": 50.0})
    found = slower.explain(side("a", [one]), side("b", [other]))
    assert [(c.name, c.share) for c in found.causes] == [("uniform calls", 0.8), ("triangles", 0.2)]
    assert found.unexplained == 0


def test_times_beside_are_in_no_sum():
    one, other = frame(), frame(draws=4)
    a = side("a", [Frame(one.time, one.parts, one.work, {"gl:time/elapsed": 1 * MS})])
    b = side("b", [Frame(other.time, other.parts, other.work, {"gl:time/elapsed": 4 * MS})])
    found = slower.explain(a, b)
    [cause] = found.causes
    assert (cause.name, cause.beside, cause.ns) == ("gl:time/elapsed", True, 3 * MS)
    assert found.unexplained == 1


def test_frames_that_are_not_slower_are_told():
    found = slower.explain(side("a", [frame(), frame(draws=2)]), side("b", [frame(draws=1.05), frame()]))
    assert (len(found.slower), found.faster, found.verdict) == (0, 1, "none of 2 frames is slower")
    with pytest.raises(UsageError, match="no frames in common"):
        slower.explain(side("a", [frame()]), side("b", []))


def test_the_first_frame_is_left_out_unless_named():
    a, b = (Side(n, "as recorded", {0: frame(), 1: frame(), 2: frame()}) for n in "ab")
    assert slower.explain(a, b).compared == 2
    assert slower.explain(a, b, frames=range(3)).compared == 3


# ---- recordings, written by hand ------------------------------------------------------------------------------------


def recording(path, draw_ns: int, triangles: int, *, rest_ns: int = 1000):
    """Three frames: a state change of 1000 ns, a draw, the end of 500 ns, and `rest_ns` between the calls."""
    w = Writer()
    t = w.thread()
    now = 10_000
    for _ in range(3):
        t.call("glEnable", cap=2929, start=now, duration=1000)
        t.call("glDrawElements", mode=4, count=3 * triangles, type=5123, start=now + 1000, duration=draw_ns)
        t.call("eglSwapBuffers", dpy=1, surface=1, result=1, start=now + 1000 + draw_ns, duration=500)
        now += 1500 + draw_ns + rest_ns
    t.flush()
    w.write(path)
    return path


def test_parts_of_a_recorded_frame_add_up(tmp_path):
    with drawtap.open(recording(tmp_path / "a.dtap", 40_000, 10)) as trace:
        found = slower.recorded(trace)
    assert set(found.frames) == {0, 1, 2}
    last = found.frames[2]
    assert last.time == pytest.approx(42_500, abs=2)
    assert sum(last.parts.values()) == pytest.approx(last.time)
    assert last.parts[spent.DRAWS] == pytest.approx(40_000, abs=2)
    assert last.parts[spent.STATE] == pytest.approx(1_000, abs=2)
    assert last.parts[spent.SHOW] == pytest.approx(500, abs=2)
    assert last.parts[spent.OUTSIDE] == pytest.approx(1_000, abs=4)
    assert (last.work["triangles"], last.work["draws"]) == (10, 1)


@pytest.mark.parametrize(("took", "said"), [(20, True), (200, False)])
def test_a_pause_between_short_calls_may_be_theirs(tmp_path, took: int, said: bool):
    def scene(calls: int, pause: int) -> Scene:
        s = Scene().eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1)
        for _ in range(4):
            for _ in range(calls):
                s.glBlendColor(0.5, 0, 0, 0, duration=took).wait(20)
            s.wait(pause).glDrawArrays("GL_TRIANGLES", 0, 3).frame()
        return s

    one = scene(1, 0).write(tmp_path / "a.dtap")
    other = scene(1500, 100_000).write(tmp_path / "b.dtap")
    with drawtap.open(one) as a, drawtap.open(other) as b:
        found = slower.explain(slower.recorded(a), slower.recorded(b))
        judged = verdict(b, checklist(b))
    assert any("as short as the time between them" in note for note in found.notes) == said
    [other_class] = [c for c in judged.classes if c.name == "other"]
    assert any("as short as the time between them" in line for line in other_class.evidence) == said


def test_the_command_line(tmp_path, drawtap):
    one = recording(tmp_path / "a.dtap", 100_000, 10)
    other = recording(tmp_path / "b.dtap", 300_000, 30)
    page = tmp_path / "why.html"
    answer = drawtap("slower", one, other, "--json", "-o", page)
    assert answer.code == 1, answer.err
    said = json.loads(answer.out)
    assert [f["frame"] for f in said["slower"]] == [1, 2]
    assert (said["causes"][0]["metric"], round(said["causes"][0]["share"], 2)) == ("triangles", 1.0)
    assert said["unexplained"] < 0.01
    text = page.read_text(encoding="utf-8")
    assert "Triangles (3.0 times as many) explain 100 %" in text
    assert "://" not in text.replace("http://www.w3.org", "")
    shown = drawtap("slower", one, other)
    assert shown.code == 1 and "triangles (3.0 times as many)" in shown.out + shown.err
    same = drawtap("slower", one, one)
    assert same.code == 0 and "none of 2 frames is slower" in same.out + same.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "one recording on one engine"),
        (["--runs", "1"], "names no two runs"),
        (["--runs", "1,2"], "nothing was measured"),
        (["--runs", "1,2", "--on", "llvmpipe"], "--runs are measured already"),
        (["--runs", "1,2", "--threshold", "-1"], "--threshold -1"),
    ],
)
def test_what_makes_no_sense(tmp_path, drawtap, arguments, said):
    one = recording(tmp_path / "a.dtap", 100, 1)
    answer = drawtap("slower", one, *arguments)
    assert answer.code == 2 and said in answer.err


def test_two_runs_of_a_profile(tmp_path):
    import duckdb

    path = recording(tmp_path / "a.dtap", 100, 1)
    folder = tmp_path / "a_metrics"
    folder.mkdir()
    for run, draw in ((1, 1.0), (2, 3.0)):
        rows = []
        for n in range(3):
            rows += [("cpu:time/wall", "frame", n, 3 * n, (draw + 1) * MS, "ns")]
            rows += [("cpu:time/wall", "draw", 3 * n + 1, 3 * n + 1, draw * MS, "ns")]
            rows += [("fragments:count/generated", "frame", n, 3 * n, 1000 * draw, "count")]
        connection = duckdb.connect(":memory:")
        connection.execute(
            "CREATE TABLE m (name VARCHAR, per VARCHAR, number UBIGINT, seq UBIGINT, value DOUBLE, unit VARCHAR)"
        )
        connection.executemany("INSERT INTO m VALUES (?, ?, ?, ?, ?, ?)", rows)
        there = ("name", "per", "number", "seq", "value", "unit", "frame", "engine", "run")
        more = ", ".join(f'NULL::{c.type} AS "{c.name}"' for c in measured.columns() if c.name not in there)
        connection.execute(
            f"COPY (SELECT *, (seq // 3)::UBIGINT AS frame, 'made up' AS engine, {run}::INTEGER AS run, {more} FROM m) "
            f"TO '{folder}/{run:03}.parquet' (FORMAT parquet)"
        )
        connection.close()
    with drawtap.open(path) as trace:
        found = slower.explain(slower.profiled(trace, 1), slower.profiled(trace, 2))
        with pytest.raises(UsageError, match="there is no run 3"):
            slower.profiled(trace, 3)
    assert [f.number for f in found.slower] in ([1, 2], [2, 1])
    assert (found.causes[0].name, found.causes[0].share) == ("fragments:count/generated", 1.0)
    assert {p.name: p.difference for p in found.parts}[spent.DRAWS] == 2 * MS


def test_what_rounds_to_nothing_has_no_sign():
    assert [view._percent(share) for share in (-0.001, 0.004, -0.02)] == ["0 %", "0 %", "-2 %"]


# ---- drawing that was put off ---------------------------------------------------------------------------------------


def parts_of(tmp_path, body, frames: int = 3) -> dict[str, float]:
    scene = Scene()
    for _ in range(frames):
        body(scene)
        scene.eglSwapBuffers(0x10, 0x20, result=1, duration=1000)
    with drawtap.open(scene.write(tmp_path / "waits.dtap")) as trace:
        return dict(spent.spent(trace).frames[frames - 1])


def test_what_a_wait_completes_is_drawing_and_the_rest_its_own(tmp_path):
    def body(scene):
        scene.glDrawArrays("GL_TRIANGLES", 0, 3, duration=1000)
        scene.glFinish(duration=50_000).glFinish(duration=2000).glFinish(duration=2000)

    found = parts_of(tmp_path, body)
    assert found == {spent.DRAWS: 1000, spent.DRAWN: 48_000, spent.WAITS: 6000, spent.SHOW: 1000}


def test_of_a_mipmap_after_a_draw_it_is_said_that_it_cannot_be_told(tmp_path):
    def body(scene):
        scene.glBindTexture("GL_TEXTURE_2D", 1, duration=1000).glDrawArrays("GL_TRIANGLES", 0, 3, duration=1000)
        scene.glGenerateMipmap("GL_TEXTURE_2D", duration=60_000)

    assert parts_of(tmp_path, body) == {
        spent.BINDS: 1000, spent.DRAWS: 1000, spent.UNCLEAR: 60_000, spent.SHOW: 1000,
    }  # fmt: skip

    def both(scene):
        body(scene)
        scene.glGenerateMipmap("GL_TEXTURE_2D", duration=8000)  # nothing was drawn before it

    found = parts_of(tmp_path, both)
    assert (found[spent.COPIES], found[spent.DRAWN]) == (16_000, 52_000)
    assert spent.UNCLEAR not in found


def test_binds_are_not_the_cause_of_what_mipmaps_take(tmp_path):
    def recorded(name: str, binds: int, mipmap: int):
        scene = Scene()
        for _ in range(3):
            for _ in range(binds):
                scene.glBindTexture("GL_TEXTURE_2D", 1, duration=100)
            scene.glDrawArrays("GL_TRIANGLES", 0, 3, duration=1000)
            scene.glGenerateMipmap("GL_TEXTURE_2D", duration=mipmap)
            scene.eglSwapBuffers(0x10, 0x20, result=1, duration=1000)
        with drawtap.open(scene.write(tmp_path / name)) as trace:
            return slower.recorded(trace)

    found = slower.explain(recorded("a.dtap", 2, 100_000), recorded("b.dtap", 40, 900_000))
    assert "binds" not in [c.name for c in found.causes]  # they grew by 3.8 us, mipmaps by 800
    assert found.verdict.startswith("nothing that was measured explains most of it")
    assert "mipmaps and copies that follow draws" in found.verdict
    assert any("inseparable" in note and "copies" in note for note in found.notes)


def test_vertices_given_one_by_one_set_no_state(tmp_path):
    def body(scene):
        scene.glBegin("GL_TRIANGLES", duration=500)
        for _ in range(3):
            scene.glColor3f(1, 1, 1, duration=500).glVertex2f(0, 0, duration=500)
        scene.glEnd(duration=500).glEnable("GL_BLEND", duration=500)

    found = parts_of(tmp_path, body)
    assert (found[spent.VERTICES], found[spent.STATE]) == (4000, 500)


def test_redundant_calls_get_what_they_took_and_no_more():
    def frame(state: float, needless: float) -> Frame:
        own = {"redundant": {spent.STATE: needless}}
        return Frame(state, {spent.STATE: state}, {"redundant": needless / 10}, {}, own)

    one, other = (side(n, [frame(s, r)]) for n, s, r in (("a", 1 * MS, 1000), ("b", 9 * MS, 5000)))
    assert slower.explain(one, other).causes == []  # 4 us of 8 ms
