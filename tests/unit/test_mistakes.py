"""A tour of the mistakes that people make: each has the right word, a hint, and the right exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawtap.corpus.store import create as make_store
from drawtap.errors import UsageError, check_target
from writer import Writer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording of three frames, game.dtap, and files that are none."""
    place = tmp_path_factory.mktemp("mistakes")
    w = Writer()
    t = w.thread(context=1)
    for frame in range(3):
        t.call("glClear", mask=16640, start=1000 + 10_000 * frame, duration=5)
        t.call("glDrawElements", mode=4, count=3, type=5123, indices=0, start=2000 + 10_000 * frame, duration=5)
        t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=3000 + 10_000 * frame, duration=5)
    t.flush()
    w.write(place / "game.dtap")
    whole = (place / "game.dtap").read_bytes()
    files = {"picture.png": PNG, "game": b"\x7fELF" + bytes(60), "x.trace": b"at\x01\x02snappy", "empty.dtap": b"",
             "notes.txt": b"hello\n", "perf.data": b"PERFILE2" + bytes(60), "half.dtap": whole[:20],
             "run.sh": b"#!/bin/sh\n"}  # fmt: skip
    for name, content in files.items():
        (place / name).write_bytes(content)
    (place / "full").mkdir()
    (place / "full" / "one.dtap").write_bytes(whole)
    make_store(str(place / "store"))
    return place


# What is typed (in the folder), the exit code, and what standard error says: the mistake, then what to do.
TOUR = [
    # words that are no verbs
    ("recrod -- ./game", 2, "there is no command called 'recrod'", "did you mean record?"),
    ("game.dtap", 2, "there is no command called 'game.dtap'", "drawtap info game.dtap"),
    ("close", 2, "there is no command called 'close'", "drawtap shell FILE"),
    ("system recrod", 2, "there is no command called 'system recrod'", "did you mean record?"),
    # files that are none, or none of ours
    ("info", 2, "missing argument 'FILE'", "usage: drawtap info"),
    ("info gmae.dtap", 4, "there is no file gmae.dtap", "did you mean game.dtap?"),
    ("info full", 4, "full is a folder, neither a recording nor a trace of the kernel", "one.dtap"),
    ("info picture.png", 4, "picture.png is a picture (PNG), not a recording", "name the recording"),
    ("info game", 4, "game is a program or library (ELF), not a recording", "drawtap record"),
    ("frames run.sh", 4, "run.sh is a script, not a recording", "drawtap record"),
    ("report x.trace", 4, "x.trace is a trace of apitrace, not a recording", "drawtap import"),
    ("frames perf.data", 4, "perf.data is a trace of the kernel (perf), not a recording", "drawtap info"),
    ("info empty.dtap", 4, "empty.dtap is empty, not a recording", "drawtap record"),
    ("info notes.txt", 4, "notes.txt is text, not a recording", "drawtap import"),
    ("info half.dtap", 4, "half.dtap", ""),
    ("diff game.dtap other.dtap", 4, "there is no file other.dtap", "recordings there: empty.dtap, game.dtap"),
    ("join game.dtap gmae.dtap -o x.dtap", 4, "there is no file gmae.dtap", "did you mean game.dtap?"),
    # options
    ("record -o x.dtap --ouput foo -- ./game", 2, "no such option: --ouput", "did you mean --output?"),
    ("record --pid 7 -- ./game", 2, "a program that runs already is recorded as it is", "--pid goes with"),
    ("record --frames 5 -- ./game", 2, "about a program that runs already", "--pid PID"),
    ("record", 2, "which program?", "drawtap record -o FILE -- PROGRAM"),
    ("record -- ./gmae", 127, "gmae", ""),
    ("record --before 5s -- true", 2, "that is for a flight recorder", "--ring 10s"),
    ("frames game.dtap --slwest 3", 2, "no such option: --slwest", "did you mean --slowest?"),
    ("export game.dtap -f xml", 2, "'xml' is not one of", "usage: drawtap export"),
    ("export game.dtap -o calls.doc", 2, "no format ends in .doc", "csv"),
    ("export game.dtap -o calls.c", 2, "no format ends in .c", "-f c -o calls"),
    ("profile", 2, "which recording?", "--list"),
    ("replay", 2, "which recording?", "--engines"),
    ("checklist", 2, "which recording?", "--list"),
    ("checklist --explain shader-compile", 2, "no rule called 'shader-compile'", "did you mean shader-compiles"),
    ("checklist game.dtap --rule gl-erors", 2, "gl-erors", "did you mean gl-errors?"),
    ("simplify game.dtap", 2, "where to?", "--dry-run"),
    ("sensors game.dtap", 2, "which readings?", "drawtap sensors FILE READINGS"),
    ("verify game.dtap --every 10", 2, "--every is about the state", "--state"),
    ("policy adptive", 2, "there is no policy called 'adptive'", "did you mean adaptive?"),
    ("limit", 2, "which program?", "drawtap limit PROGRAM 60"),
    ("limit game 30 --focus game", 2, "--focus goes without PROGRAM and WHAT", "drawtap limit --focus PROGRAM"),
    ("top --follow", 2, "--seconds, --follow and --interval are of --observe", "drawtap top --observe"),
    ("doctor --yes", 2, "--yes: only with --clean", ""),
    ("doctor --plugins game", 2, "--plugins looks at no program", "leave out PROGRAM"),
    ("--completion csh", 2, "'csh' is not one of", ""),
    ("limit game fast", 2, "'fast' is no number", "drawtap limit PROGRAM 60"),
    # targets
    ("edit game.dtap --keep #0 -o full/one.dtap", 2, "full/one.dtap exists", "--force replaces it"),
    ("edit game.dtap --keep #0 -o game.dtap", 2, "the recording itself is not replaced", "name another file than"),
    ("report game.dtap -o ./game.dtap --force", 2, "the recording itself is not replaced", "name another file than"),
    (
        "export game.dtap -f csv -o game.dtap --force",
        2,
        "the recording itself is not replaced",
        "name another file than",
    ),
    (
        "join game.dtap full/one.dtap -o full/one.dtap --force",
        2,
        "the recording itself is not",
        "name another file than",
    ),
    ("image game.dtap 1 -o frame.jpg", 2, "no picture is written as .jpg", ".png, .ppm or .rgba"),
    ("edit game.dtap --keep #0 -o nowhere/x.dtap", 2, "there is no folder", "mkdir -p"),
    # ranges
    ("list game.dtap #99", 2, "there is no frame 99", "there are 3: 0 to 2"),
    ("edit game.dtap --keep 5:3 -o x.dtap", 2, "the range 5:3 ends before it begins", ""),
    ("frames game.dtap x", 2, "'x' is no range of frames", "frames: 3, 2:5"),
    ("list game.dtap -99:", 2, "begins before the first of 9 calls", ""),
    # SQL
    ("sql game.dtap|SELEC 1", 2, 'syntax error at or near "SELEC"', "did you mean SELECT?"),
    ("sql game.dtap|SELECT durtion FROM calls", 2, "no column durtion", "did you mean duration?"),
    ("sql game.dtap|SELECT * FROM frmes", 2, "no table frmes", "did you mean frames"),
    (
        "sql game.dtap|SELECT seq FROM glClear WHERE mask = GL_COLOR_BUFFER_BIT",
        2,
        "no column GL_COLOR_BUFFER_BIT",
        "write 'GL_COLOR_BUFFER_BIT' in quotes",
    ),
    ("list game.dtap --grep gl[", 2, "'gl[' is no regular expression", ""),
    # a corpus: store/ is one, with game.dtap
    ("corpus ls", 2, "which corpus?", "--corpus STORE, or DRAWTAP_CORPUS=STORE"),
    ("corpus lss", 2, "there is no command called 'corpus lss'", "did you mean ls?"),
    ("corpus init full", 2, "full is not empty, and no corpus", "name a new folder"),
    ("corpus ls --corpus nowhere", 4, "there is no corpus at nowhere", "drawtap corpus init nowhere"),
    ("corpus ls --corpus game.dtap", 4, "game.dtap is no folder, so no corpus", "drawtap corpus init STORE"),
    ("corpus add gmae.dtap --corpus store", 4, "there is no file gmae.dtap", "did you mean game.dtap?"),
    (
        "corpus add picture.png --corpus store",
        4,
        "picture.png is a picture (PNG), not a recording",
        "name the recording",
    ),
    ("corpus add game.dtap --corpus store --tag app", 2, "'app' is no tag", "NAME=VALUE"),
    ("corpus add game.dtap --store store", 2, "no such option: --store", "drawtap corpus add --help"),
    ("corpus get --corpus store", 2, "which recordings?", "drawtap corpus ls"),
    ("corpus get 123 -o x.dtap --corpus store", 2, "'123' is no id of a recording", "at least 6 digits"),
    ("corpus sql --corpus store|SELECT * FROM trases", 2, "no table trases", "did you mean traces"),
    # redact, view
    ("redact game.dtap", 2, "missing option '-o' / '--output'", "drawtap redact --help"),
    ("redact game.dtap -o game.dtap", 2, "the recording itself is not replaced", "name another file than"),
    ("redact picture.png -o x.dtap", 4, "picture.png is a picture (PNG), not a recording", "name the recording"),
    ("redact game.dtap -o x.dtap --level everything", 2, "'everything' is not", "drawtap redact --help"),
    ("view", 2, "name a recording", "drawtap view game.dtap"),
    ("view gmae.dtap", 4, "there is no file gmae.dtap", "did you mean game.dtap?"),
    ("view picture.png", 4, "picture.png is a picture (PNG), not a recording", "name the recording"),
    ("view game.dtap --port 99999", 2, "there is no port 99999", "0 takes a free one"),
    ("view game.dtap --at #7", 2, "there is no frame 7", "there are 3: 0 to 2"),
    ("view game.dtap --publish x", 2, "no such option: --publish", "drawtap view --help"),
    # calls
    ("edit game.dtap -o x.dtap --drop glFinish", 2, "game.dtap never calls glFinish", "drawtap histogram"),
    (
        "edit game.dtap -o x.dtap --keep #0 --name glFinish",
        2,
        "game.dtap never calls glFinish in #0",
        "drawtap histogram",
    ),
    ("edit game.dtap -o x.dtap --set|glClear maks = 1", 2, "glClear has no parameter maks", "did you mean mask?"),
    ("spec show glTexImage", 2, "glTexImage", "glTexImage2D"),
]


def test_the_tour_is_long():
    assert len(TOUR) >= 40


@pytest.mark.parametrize("mistake", TOUR, ids=[typed for typed, *_ in TOUR])
def test_a_mistake_is_named(drawtap, folder, monkeypatch, mistake):
    typed, code, said, hint = mistake
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    command, _, last = typed.partition("|")
    answer = drawtap(*command.split(), *([last] if last else []))
    assert answer.code == code, answer.err
    assert answer.out == ""
    assert said in answer.err
    assert "Traceback" not in answer.err
    error, _, advice = answer.err.partition("\nhint: ")
    assert error.startswith("drawtap: error: ")
    assert hint in advice if hint else True
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)  # root may write everywhere
    with pytest.raises(UsageError, match=f"the folder {tmp_path} cannot be written to"):
        check_target(tmp_path / "new", force=False)


def test_sql_may_begin_with_a_comment(drawtap, folder):
    answer = drawtap("sql", folder / "game.dtap", "-- how many?\nSELECT count(*) AS n FROM calls", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert '"n": 9' in answer.out
    assert drawtap("sql", folder / "game.dtap", "--how many?\nSELECT 1 AS n", "--json").code == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("call-histogram game.dtap", "histogram game.dtap"),
        ("calc-stats game.dtap", "stats game.dtap"),
        ("calc-frame-stats game.dtap #1", "stats game.dtap #1 --per-frame"),
        ("redundancy game.dtap --by function", "simplify game.dtap --dry-run --by function"),
        ("rules", "checklist --list"),
        ("rules shader-compiles", "checklist --explain shader-compiles"),
        ("policy list", "policy"),
        ("policy try none --seconds 4", "policy none --seconds 4"),
        ("show plugins", "doctor --plugins"),
        ("plugins", "doctor --plugins"),
        ("grep game.dtap CLEAR -i -c #1", "list game.dtap #1 --grep CLEAR -i"),
        ("grep game.dtap glDraw --limit 1", "list game.dtap --grep glDraw --limit 1"),
        ("cut game.dtap 9: -o x.dtap", "edit game.dtap --keep 9: -o x.dtap"),
        ("cut game.dtap --name egl*x -o x.dtap", "edit game.dtap --name egl*x -o x.dtap"),
        ("observe --seconds 0.01", "top --observe --seconds 0.01"),
        ("completion zsh", "--completion zsh"),
        ("select game.dtap FROM\tcalls", "sql game.dtap FROM\tcalls"),
        ("set-egl-config game.dtap purple=8 -o x.dtap", "edit game.dtap --config purple=8 -o x.dtap"),
        ("merge game.dtap -o x.dtap", "join --by-time game.dtap -o x.dtap"),
        ("save-inst game.dtap x.csv", "sensors game.dtap --save x.csv"),
        ("load-inst game.dtap nowhere.csv", "sensors game.dtap nowhere.csv"),
        ("apps", "top --once"),
        ("trace game --frames 0", "record --pid game --frames 0"),
        ("verify-state notes.txt", "verify --state notes.txt"),
        ("metrics notes.txt", "profile --list notes.txt"),
        ("show state game.dtap 99", "state game.dtap 99"),
        ("play nowhere.dtap", "replay nowhere.dtap"),
    ],
)
def test_old_names_do_the_same(drawtap, folder, monkeypatch, old, new):
    monkeypatch.chdir(folder)
    was, now = (drawtap(*(word.replace("\t", " ") for word in words.split(" "))) for words in (old, new))
    assert (was.code, was.out, was.err) == (now.code, now.out, now.err)
