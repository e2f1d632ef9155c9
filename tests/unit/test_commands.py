"""What the verbs answer, on recordings written by hand."""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from drawtap import cli  # noqa: F401 - it loads the verbs
from drawtap.commands import COMMANDS
from drawtap.errors import UsageError, write_whole
from drawtap.formats import FORMATS
from drawtap.trace.ranges import CALL_HELP, FRAMES_HELP, RANGE_HELP, Selection, Span, selection
from drawtap.trace.trace import open_trace
from writer import Writer, f32

SOURCE = Path(__file__).parents[2] / "src"
ANNOTATIONS = (
    {"kind": "recording", "program": "/usr/bin/gears", "command_line": ["gears", "-v", "two words"]},
    {"kind": "command", "program": "/usr/bin/gears", "directory": "/home/me", "environment": {"DISPLAY": ":1"}},
    {"kind": "end", "reason": "exit", "exit_code": 0, "calls_dropped": 7, "wait_ns": 0, "drainer_cpu_ns": 1000},
)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three frames of 1, 2 and 4 ms, two draws each, the first with an upload."""
    w = Writer()
    for note in ANNOTATIONS:
        w.annotate(json.dumps(note))
    t = w.thread(context=1)
    now = 1_000_000
    for frame, length in enumerate((1_000_000, 2_000_000, 4_000_000)):
        t.call("glClear", mask=16640, start=now, duration=500)
        if frame == 0:
            t.call("glUniform4fv", location=2, count=1, value=f32(1, 2, 3, 4), start=now + 1000, duration=100)
        for draw in range(2):
            t.call("glDrawElements", mode=4, count=3 * (frame + 1), type=5123, indices=0,
                   start=now + 2000 + 1000 * draw, duration=900)  # fmt: skip
        t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=now + length - 50_000, duration=50_000)
        now += length
    t.flush()
    return w.write(tmp_path / "gears.dtap")


def objects(drawtap, *arguments: object) -> list[dict[str, object]]:
    answer = drawtap(*arguments, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("report",),
        ("export",),
        ("extract", "--frames", "1"),
        ("simplify",),
        ("edit", "--keep", "0:2"),
        ("checklist",),
        ("profile",),
    ],
    ids=lambda words: words[0],
)
def test_where_something_cannot_be_written_is_said_at_once(drawtap, recording, tmp_path, words):
    (tmp_path / "there.csv").write_text("precious")
    (tmp_path / "folder.csv").mkdir()
    for name, said in (
        ("none/x.csv", f"there is no folder {tmp_path / 'none'}"),
        ("there.csv", f"{tmp_path / 'there.csv'} exists"),
        ("folder.csv", f"{tmp_path / 'folder.csv'} is a folder"),
    ):
        if (words[0], name) == ("export", "folder.csv"):
            continue  # a format may be a folder
        answer = drawtap(words[0], recording, *words[1:], "-o", tmp_path / name)
        assert (answer.code, said in answer.err) == (2, True), answer.err
    assert (tmp_path / "there.csv").read_text() == "precious"


def test_info_is_one_object(drawtap, recording):
    answer = drawtap("info", recording, "--json")
    data = json.loads(answer.out)
    assert (data["calls"], data["frames"], data["threads"]) == (13, 3, 1)
    assert data["frame_end"]["rule"] == "frame_end"
    assert [note["kind"] for note in data["annotations"]] == ["recording", "command", "end"]


def test_info_says_what_is_missing(drawtap, recording):
    out = drawtap("info", recording).out
    assert 'gears -v "two words"' in out
    assert "DISPLAY=:1" in out
    assert "3; the program shows frames with eglSwapBuffers" in out
    assert "recording had stopped): 7" in out


def test_sql_prints_a_list_of_objects(drawtap, recording):
    query = 'SELECT sum("count") AS vertices FROM "glDrawElements" WHERE mode = \'GL_TRIANGLES\''
    assert objects(drawtap, "sql", recording, query) == [{"vertices": 36}]
    assert objects(drawtap, "sql", recording, query.replace("'GL_TRIANGLES'", "4")) == [{"vertices": 36}]
    assert objects(drawtap, "sql", recording, "SELECT seq FROM calls WHERE duration > 10000000") == []


@pytest.mark.parametrize(
    "query",
    ["SELECT seq, name, duration FROM calls WHERE duration > 10000",
     "SELECT event.seq, event.name, event.duration FROM trace WHERE event.duration > 10000"],
)  # fmt: skip
def test_sql_takes_both_forms(drawtap, recording, query):
    found = objects(drawtap, "sql", recording, query)
    assert [row["name"] for row in found] == ["eglSwapBuffers"] * 3
    assert {row["duration"] for row in found} == {50_000}


def test_sql_text_is_a_table(drawtap, recording):
    answer = drawtap(
        "sql", recording, "SELECT name, count(*) AS n FROM calls GROUP BY name ORDER BY n DESC, name LIMIT 2"
    )
    assert answer.out == "name            n\nglDrawElements  6\neglSwapBuffers  3\n"


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT nam FROM calls", "did you mean name?"),
        ("SELECT * FROM cals", "calls"),
        ("SELEC 1", ""),
        ("DROP TABLE calls", ""),
    ],
)
def test_sql_mistakes(drawtap, recording, query, hint):
    answer = drawtap("sql", recording, query)
    assert answer.code == 2
    assert answer.out == ""
    assert hint in answer.err
    assert "Traceback" not in answer.err


def test_sql_from_standard_input(recording):
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "drawtap", "sql", str(recording), "--json"]
    done = subprocess.run(command, input="SELECT 1 AS one;", capture_output=True, text=True, env=env)
    assert json.loads(done.stdout) == [{"one": 1}]


def test_list_prints_calls(drawtap, recording):
    lines = drawtap("list", recording).out.splitlines()
    assert len(lines) == 13
    assert lines[0] == "0 glClear(mask = GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT)  [500 ns]"
    assert "value = {1, 2, 3, 4}" in lines[1]
    assert drawtap("list", recording, "0-1,12", "--no-times").out.splitlines() == [
        "0 glClear(mask = GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT)",
        lines[1].split("  [")[0],
        lines[12].split("  [")[0],
    ]
    assert drawtap("list", recording, "#1").out.splitlines() == lines[5:9]
    assert drawtap("list", recording, "9-").out.splitlines() == lines[9:]
    assert drawtap("list", recording, "--limit", "2").out.splitlines() == lines[:2]
    assert drawtap("list", recording, "--name", "glClear").out.splitlines() == [lines[0], lines[5], lines[9]]


def test_list_with_a_pattern_and_as_json(drawtap, recording):
    found = objects(drawtap, "list", recording, "#2", "--name", "gl*")
    assert [row["seq"] for row in found] == [9, 10, 11]
    assert found[1]["call"].startswith("glDrawElements(mode = GL_TRIANGLES, count = 9")


def test_grep(drawtap, recording):
    assert [row["seq"] for row in objects(drawtap, "list", recording, "--grep", r"count = [69]\b")] == [6, 7, 10, 11]
    assert [row["seq"] for row in objects(drawtap, "list", recording, "#0-1", "--grep", "SWAP", "-i")] == [4, 8]
    answer = drawtap("list", recording, "--grep", "(")
    assert answer.code == 2
    assert "is no regular expression" in answer.err


def test_histogram_counts(drawtap, recording):
    found = objects(drawtap, "histogram", recording)
    assert [(row["name"], row["calls"]) for row in found] == [
        ("glDrawElements", 6), ("eglSwapBuffers", 3), ("glClear", 3), ("glUniform4fv", 1),
    ]  # fmt: skip
    assert found[0] == {
        "name": "glDrawElements",
        "calls": 6,
        "total_ns": 5400,
        "mean_ns": 900.0,
        "max_ns": 900,
        "payload_bytes": 0,
    }
    by_time = objects(drawtap, "histogram", recording, "--by", "time", "--limit", "1")
    assert [row["name"] for row in by_time] == ["eglSwapBuffers"]
    assert "and 3 more functions" in drawtap("histogram", recording, "--limit", "1").out


def test_histogram_of_a_range_agrees_with_the_whole(drawtap, recording):
    whole, ranged = objects(drawtap, "histogram", recording), objects(drawtap, "histogram", recording, "0-")
    assert ranged == whole
    assert [row["calls"] for row in objects(drawtap, "histogram", recording, "#0")] == [2, 1, 1, 1]


def test_frames(drawtap, recording):
    found = objects(drawtap, "frames", recording)
    assert [row["interval"] for row in found] == [None, 2_000_000, 4_000_000]
    assert [row["draws"] for row in found] == [2, 2, 2]
    assert [row["upload_bytes"] for row in found] == [16, 0, 0]
    assert [row["frame"] for row in objects(drawtap, "frames", recording, "--slowest", "2")] == [2, 1]
    assert [row["frame"] for row in objects(drawtap, "frames", recording, "1-")] == [1, 2]
    assert "3 frames: mean 2.33 ms, median 2.00 ms, 99 % 4.00 ms, longest 4.00 ms" in drawtap("frames", recording).out


def test_frame_end_is_anybodys_choice(drawtap, recording):
    assert json.loads(drawtap("info", recording, "--frame-end", "glClear", "--json").out)["frames"] == 3
    answer = drawtap("frames", recording, "--frame-end", "glNothing")
    assert answer.code == 2
    assert "glNothing" in answer.err


@pytest.mark.parametrize("verb", ["checklist", "state 0", "verdict", "report -o out.html --pictures 0"])
def test_a_frame_end_that_was_never_called_is_said_and_works(drawtap, recording, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    name, *words = verb.split()
    answer = drawtap(name, recording, *words, "--frame-end", "glFlush")
    assert answer.code in (0, 1), answer.err
    assert "never calls glFlush: all of it is one frame" in answer.err


@pytest.mark.parametrize("name", FORMATS.names())
def test_export_writes_every_format(drawtap, recording, tmp_path, name):
    target = tmp_path / f"out{FORMATS.get(name).suffix}"
    answer = drawtap("export", recording, "#1", "-o", target, *(["-f", "c"] if name == "c" else []))
    assert answer.code == 0, answer.err
    assert FORMATS.get(name).help
    if name == "text":
        lines = target.read_text().splitlines()
        assert lines[0].startswith("5 glClear(")
        assert len(lines) == 4
    elif name == "csv":
        with target.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["seq"] for row in rows] == ["5", "6", "7", "8"]
        assert rows[1]["call"].startswith("glDrawElements(mode = GL_TRIANGLES, count = 6")
    elif name == "json":
        rows = json.loads(target.read_text())
        assert rows[1]["params"]["count"] == 6
        assert rows[1]["params"]["mode"] == "GL_TRIANGLES"
    elif name == "apitrace":
        assert target.read_bytes()[:2] == b"at" and b"glDrawElements" in target.read_bytes()
    elif name == "c":
        text = (target / "frames_000.c").read_text()
        assert "void frame_1(void) {" in text and "glDrawElements(GL_TRIANGLES, 6, " in text
    else:
        import duckdb

        with duckdb.connect() as connection:
            found = connection.execute(f"SELECT seq, name, duration FROM '{target}' ORDER BY seq").fetchall()
        assert found[1] == (6, "glDrawElements", 900)
    assert drawtap("export", recording, "-o", target).code == 2
    assert drawtap("export", recording, "-o", target, "--force").code == 0


def test_export_of_everything_as_text_is_the_list(drawtap, recording, tmp_path):
    target = tmp_path / "all.txt"
    drawtap("export", recording, "-o", target)
    assert target.read_text() == drawtap("list", recording, "--no-times").out


def test_export_refuses_a_suffix_it_does_not_know(drawtap, recording):
    answer = drawtap("export", recording, "-o", "x.docx")
    assert answer.code == 2
    assert "csv, json, parquet, text" in answer.err


def test_export_to_standard_output(recording):
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for name in ("csv", "json", "text"):
        command = [sys.executable, "-m", "drawtap", "export", str(recording), "-f", name, "0"]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert "glClear" in done.stdout, done.stderr


def test_export_leaves_what_stands_in_standard_output(recording, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for name in ("csv", "json", "text"):
        log = tmp_path / f"log.{name}"
        log.write_text("before\n")
        with log.open("a") as out:
            command = [sys.executable, "-m", "drawtap", "export", str(recording), "-f", name, "0"]
            subprocess.run(command, stdout=out, check=True, env=env)
        text = log.read_text()
        assert text.startswith("before\n") and "glClear" in text


@pytest.mark.parametrize("format", ["text", "csv", "json", "parquet"])
def test_what_is_not_read_back_says_so_and_which_is(drawtap, recording, tmp_path, format):  # noqa: A002
    written = tmp_path / f"calls.{format}"
    assert drawtap("export", recording, "-f", format, "-o", written).code == 0
    answer = drawtap("import", written, "-o", tmp_path / "again.dtap")
    assert answer.code == 4
    assert "cannot be read back" in answer.err and "export --editable" in answer.err
    assert not (tmp_path / "again.dtap").exists()
    text = tmp_path / "frame.txt"
    assert drawtap("export", recording, "--editable", "-o", text).code == 0
    again = drawtap("import", text, "--base", recording, "-o", tmp_path / "again.dtap")
    assert (tmp_path / "again.dtap").exists(), again.err


def test_text_with_readings_beside_each_call(drawtap, recording, tmp_path):
    plain = drawtap("export", recording, "-f", "text", "--sensors", "-o", tmp_path / "none.txt")
    assert plain.code == 2 and "has no readings" in plain.err and "drawtap sensors" in plain.err
    (tmp_path / "calls.csv").write_text("seq,power,temperature\n2,1.5,30\n3,2.5,\n")
    (tmp_path / "frames.csv").write_text("frame,average_load\n1,0.25\n")
    assert drawtap("sensors", recording, tmp_path / "calls.csv").code == 0
    assert drawtap("sensors", recording, tmp_path / "frames.csv", "--name", "load").code == 0
    answer = drawtap("export", recording, "1:6", "-f", "text", "--sensors", "-o", tmp_path / "some.txt")
    assert answer.code == 0, answer.err
    lines = (tmp_path / "some.txt").read_text().splitlines()
    assert [line.partition("  [")[2] for line in lines] == [
        "", "sensors.power = 1.5, sensors.temperature = 30]", "sensors.power = 2.5]", "",
        "frame: load.average_load = 0.25]",
    ]  # fmt: skip
    assert lines[1].startswith("2 glDrawElements(")
    assert drawtap("export", recording, "-f", "csv", "--sensors").code == 2


def test_f_is_the_format_everywhere():
    named = {(c.name, p.name) for _, c in COMMANDS.items() for p in c.params if p.opt.short == "-f"}
    assert named and {name for _, name in named} == {"format"}


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("10-20,30,5-", (Span(10, 20), Span(30, 30), Span(5, None))),
        ("#3", (Span(3, 3, frames=True),)),
        ("#2-4, 7", (Span(2, 4, frames=True), Span(7, 7))),
        ("10:20", (Span(10, 19),)),
        ("10:", (Span(10, None),)),
        (":10", (Span(0, 9),)),
        (":", (Span(0, None),)),
        ("10:+5", (Span(10, 14),)),
        ("#2:#5", (Span(2, 4, frames=True),)),
        ("#2:+#3", (Span(2, 4, frames=True),)),
        ("#2:#+3", (Span(2, 4, frames=True),)),
        ("#2:", (Span(2, None, frames=True),)),
        ("", ()),
    ],
)
def test_ranges(text, spans):
    assert selection(text).spans == spans


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("-1", (Span(12, 12),)),
        ("-3:", (Span(10, None),)),
        ("-3:-1", (Span(10, 11),)),
        (":-10", (Span(0, 2),)),
        ("-5:+2", (Span(8, 9),)),
        ("#-1", (Span(2, 2, frames=True),)),
        ("#-2:", (Span(1, None, frames=True),)),
        ("#1:+2", (Span(5, 6),)),
        ("2:#1", (Span(2, 4),)),
        ("#1:7", (Span(5, 6),)),
    ],
)
def test_ranges_that_take_a_recording(recording, text, spans):
    with open_trace(recording) as trace:
        assert selection(text, of=trace).spans == spans


@pytest.mark.parametrize(
    "text", ["x", "3-1", "1--2", "#", "1 2", "1-2-3", "5:3", "1:+0", "1:++2", "-1", "#1:3", "1:2:3"]
)
def test_what_is_no_range(text):
    with pytest.raises(UsageError):
        selection(text)


def test_ranges_before_the_beginning(recording):
    with open_trace(recording) as trace, pytest.raises(UsageError, match="before the first of 13 calls"):
        selection("-14", of=trace)


def test_verbs_take_ranges(drawtap, recording):
    lines = drawtap("list", recording, "--no-times", "--", "-3:").out.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["10", "11", "12"]
    assert drawtap("list", recording, "--no-times", "-3:").out.splitlines() == lines
    assert [row["frame"] for row in objects(drawtap, "frames", recording, "1:")] == [1, 2]
    assert [row["frame"] for row in objects(drawtap, "frames", recording, "-1")] == [2]
    assert [row["frame"] for row in objects(drawtap, "frames", recording, "0:+2")] == [0, 1]


RANGES = {
    "calls": RANGE_HELP,
    "part": RANGE_HELP,
    "keep": RANGE_HELP,
    "frames": FRAMES_HELP,
    "span": FRAMES_HELP,
    "call": CALL_HELP,
}
NOWHERE = {RANGE_HELP: ("99999", "99999:", "#99999"), FRAMES_HELP: ("99999", "#99999:"), CALL_HELP: ("99999", "#99999")}
FORMS = {
    RANGE_HELP: ("3", "2:5", "2:+3", "-3:", "2-4", "#1", "#0:#2", "#0:+#2", "#-1"),
    FRAMES_HELP: ("1", "0:2", "0:+2", "-2:", "0-1", "#1", "#0:#2"),
    CALL_HELP: ("3", "-1", "#1", "#-1", "2:5"),
}
RANGED = [
    (name, param)
    for name, command in COMMANDS.items()
    for param in command.params
    if param.name in RANGES and param.opt.metavar in {"RANGE", "CALL"}
]


def _ranged(name, param, recording, text, folder):
    # The verb with this range, and whatever else it cannot do without.
    words = [*name.split(), recording]
    if name in {"compare", "diff", "slower"}:
        words.append(recording)
    if name == "compare":
        words.append("--no-bisect")
    if name == "synthesize" or any(p.name == "output" and p.required for p in COMMANDS.get(name).params):
        words += ["-o", folder / "out.png", "--force"]
    words += [f"--{param.name}={text}"] if param.kind == "option" else ["--", text]
    return words


def test_the_verbs_that_take_ranges_are_all_looked_at():
    names = {name for name, _ in RANGED}
    assert names >= {"list", "export", "edit", "frames", "stats", "histogram"}
    assert names >= {"replay", "compare", "diff", "image", "extract", "state"}
    others = [p.name for _, c in COMMANDS.items() for p in c.params if p.opt.metavar in {"A:B", "N:M"}]
    assert not others, "a range that is written in a way of its own"


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "param"), RANGED, ids=[f"{name}-{param.name}" for name, param in RANGED])
def test_every_verb_reads_ranges_alike(drawtap, recording, tmp_path, name, param):
    form = RANGES[param.name]
    assert param.opt.help.startswith(form)
    # What is played needs a driver and calls of GL; that the range was understood is seen from what it says instead.
    plays = name in {"replay", "compare", "image", "extract", "state", "profile", "overdraw", "synthesize"}
    for text in FORMS[form]:
        said = drawtap(*_ranged(name, param, recording, text, tmp_path))
        assert plays or said.code in {0, 1}, said.err
        assert "range" not in said.err, said.err
    for text in ("x", "5:3", "1:2:3", "1:++2"):
        said = drawtap(*_ranged(name, param, recording, text, tmp_path))
        assert said.code == 2, said.err
        assert text in said.err
    for text in NOWHERE[form]:
        said = drawtap(*_ranged(name, param, recording, text, tmp_path))
        what, last = ("frame", 2) if "#" in text or form == FRAMES_HELP else ("call", 12)
        assert said.code == 2, said.out
        assert f"there is no {what} 99999" in said.err
        assert f"0 to {last}" in said.err


def test_selection_in_sql():
    assert Selection().where() == "true"
    assert selection("1-2,#3-", name="gl'x*").where() == "(seq BETWEEN 1 AND 2 OR frame >= 3) AND name GLOB 'gl''x*'"


def test_the_prompt(recording):
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    lines = [
        "tables",
        "histogram --limit 1",
        "SELECT count(*) AS n \\",
        " FROM calls",
        "histogrm",
        "frames --slwest 1",
        "help",
        "exit",
        "info",
    ]
    command = [sys.executable, "-m", "drawtap", "shell", str(recording)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert "glDrawElements" in done.stdout
    assert " n\n13\n" in done.stdout
    assert "did you mean histogram" in done.stderr
    assert "--slowest" in done.stderr
    assert "format_version" not in done.stdout  # after exit nothing runs
    assert "Traceback" not in done.stderr


def test_a_full_disk_ends_a_trace_with_an_error(tmp_path, monkeypatch, drawtap):
    from drawtap.commands import record as recording
    from drawtap.live.attach import Attached

    def ended(files: list[Path]):
        complaint = (f"{tmp_path / 'x.dtap'}: No space left on device",)
        monkeypatch.setattr(
            recording, "_attached", lambda *args, **options: Attached(7, "game", tuple(files), complaint)
        )
        return drawtap("record", "--pid", "game")

    whole = tmp_path / "whole.dtap"
    whole.write_bytes((Path(__file__).parents[1] / "data" / "trace-v1-toy.dtap").read_bytes())
    some = ended([whole])
    assert some.code == 1 and "No space left" in some.err and whole.exists()
    empty = tmp_path / "empty.dtap"
    empty.write_bytes(Writer().bytes())
    for files in ([], [tmp_path / "never-written.dtap"], [empty]):
        none = ended(files)
        assert none.code == 3 and "nothing was recorded of game" in none.err and "No space left" in none.err
    assert not empty.exists()


def test_of_a_page_that_does_not_fit_nothing_stays(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = tmp_path / "old.html"
    old.write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for page in (tmp_path / "page.html", old):
            with pytest.raises(OSError, match="too large"):
                write_whole(page, "x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [file.name for file in tmp_path.iterdir()] == ["old.html"]
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "page.html", "\ud800")
    assert not (tmp_path / "page.html").exists()


def test_metrics_that_nobody_could_write_are_refused_before_the_program_starts(tmp_path, drawtap):
    for place in (tmp_path / "missing" / "metrics", tmp_path):
        answer = drawtap("run", "--metrics", str(place), "--", "true")
        assert answer.code == 2 and str(place.parent if "missing" in str(place) else place) in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "{}", "--keep", "#0"),
        ("extract", "{}", "--frames", "0"),
        ("export", "{}", "-f", "perfetto"),
        ("edit", "{}", "--renumber"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_no_file_is_not_replaced_by_one(drawtap, recording, tmp_path, words):
    out = tmp_path / "out"
    out.symlink_to("/dev/null")
    answer = drawtap(*(word.format(recording) for word in words), "--force", "-o", out)
    assert answer.code == 2, answer.err
    assert "is not a regular file" in answer.err
    assert out.is_symlink()
