"""The door: help, hints, exit codes, and what a verb's signature becomes."""

from __future__ import annotations

import ast
import ctypes
import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal

import click
import duckdb
import pytest

from drawtap import cli, command_line
from drawtap.commands import COMMANDS, FIRST, GROUPS, SECTIONS, Command, Opt, Options, _parameters
from drawtap.commands.toolkit import ALIASES, OLD_NAMES, find
from drawtap.errors import (
    ChildError,
    DrawtapError,
    ExhaustedError,
    Findings,
    InputError,
    QueryError,
    UnavailableError,
    UsageError,
)
from drawtap.output.progress import cancelled_by_ctrl_c
from drawtap.output.result import ExitStatus, Rows, Verdict, Verdicts
from drawtap.trace.trace import open_trace
from writer import Writer

SOURCE = Path(__file__).parents[2] / "src"


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    return subprocess.run(
        [sys.executable, "-m", "drawtap", *arguments], capture_output=True, text=True, env=env, timeout=300
    )


def test_help_lists_every_command_in_its_section(drawtap):
    answer = drawtap("--help")
    assert answer.code == 0
    assert answer.err == ""
    said = " ".join(answer.out.split())
    for name, command in COMMANDS.items():
        assert (f"\n  {name} " if " " not in name else f" {name.partition(' ')[2]}") in (answer.out + said)
        assert command.section in SECTIONS
    for section, title in SECTIONS.items():
        assert section in ("system", "corpus") or f"{title}:" in answer.out


def test_help_fits_two_screens_and_begins_with_what_a_newcomer_needs(drawtap):
    lines = drawtap("--help").out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    first = lines[lines.index("Begin with:") + 1 :][: len(FIRST)]
    assert [line.split()[0] for line in first] == list(FIRST) == ["record", "info", "report", "sql", "replay"]


def test_verbs_are_few(drawtap):
    assert set(GROUPS) == {"corpus", "system"}
    assert len({name for name in COMMANDS.names() if " " not in name}) <= 45
    assert not OLD_NAMES & set(COMMANDS.names())
    assert not any(f"  {name} " in drawtap("--help").out for name in OLD_NAMES)


@pytest.mark.parametrize("name", sorted(OLD_NAMES))
def test_old_names_have_help_and_the_arguments_of_what_they_mean(drawtap, name):
    answer = drawtap(*name.split(), "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Usage: drawtap ")
    if name in ALIASES:
        alias, known = ALIASES[name], {p.name for p in COMMANDS.get(ALIASES[name].verb).params}
        assert {*alias.values, *alias.arguments, *alias.without, *alias.needed} <= known
        assert not {*alias.values, *alias.without} & {p.name for p in find(name).params}


_EXAMPLES = [pytest.param(example, id=example[:60]) for _, command in COMMANDS.items() for example in command.examples]


@pytest.mark.parametrize("example", _EXAMPLES)
def test_examples_are_commands_that_exist(example):
    # Parsed as the command line parses them: an option or an argument that is wrong raises.
    words = shlex.shlex(re.sub(r"^eval \"\$\((.*)\)\"", r"\1", example), posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    parts, found = [[]], 0
    for word in words:
        if set(word) <= set("|&;<>"):
            parts.append([])
        else:
            parts[-1].append(word)
    for part in parts:
        if "drawtap" not in part:
            continue
        group, rest = cli._group(), part[part.index("drawtap") + 1 :]
        context = click.Context(group, info_name="drawtap")
        while isinstance(group, click.Group):
            _, group, rest = group.resolve_command(context, rest)
        group.make_context(group.name, list(rest), parent=context)
        found += 1
    assert found


def test_options_of_record_stand_in_groups(drawtap):
    said = drawtap("record", "--help").out
    titles = re.findall(r"^([A-Z].*):$", said, flags=re.MULTILINE)
    assert titles == ["Arguments", "Options", "Around the program", "Cost", "To a receiver, over a socket",
                      "Flight recorder", "A program that runs already", "Examples"]  # fmt: skip
    flight = said.partition("Flight recorder:")[2].partition("A program that runs already:")[0]
    assert "--ring-take" in flight and "--timing" not in flight
    plain = said.partition("Options:")[2].partition("Around the program:")[0]
    assert "--help" in plain and "PROGRAM..." not in plain


@pytest.mark.parametrize("name", COMMANDS.names())
def test_every_command_has_help_with_examples(drawtap, name):
    answer = drawtap(*name.split(), "--help")
    assert answer.code == 0
    assert "Examples:" in answer.out
    assert f"drawtap {name}" in answer.out
    command = COMMANDS.get(name)
    assert command.summary
    assert not command.summary.startswith(name)
    for param in command.params:
        assert param.kind == "trace" or param.opt.help, f"{name}: {param.name} has no help"
    explained = answer.out.partition("\nArguments:\n")[2].partition("\nOptions:\n")[0]
    assert all((p.opt.metavar or p.name.upper()) in explained for p in command.params if p.kind in ("argument", "rest"))


def test_no_arguments_means_help(drawtap):
    answer = drawtap()
    assert answer == drawtap("--help")
    assert answer.code == 0


def test_version(drawtap):
    assert drawtap("--version").out == "drawtap 0.1.0\n"


@pytest.mark.parametrize(("typed", "meant"), [("histogramm", "histogram"), ("recrod", "record"), ("INFO", "info")])
def test_unknown_command_names_the_closest(drawtap, typed, meant):
    answer = drawtap(typed)
    assert answer.code == 2
    assert f"there is no command called '{typed}'" in answer.err
    assert meant in answer.err
    assert answer.out == ""


def test_a_file_instead_of_a_command(drawtap, tmp_path):
    file = tmp_path / "x.dtap"
    file.touch()
    answer = drawtap(file)
    assert answer.code == 2
    assert f"drawtap info {file}" in answer.err


def test_unknown_option_names_the_closest(drawtap, tmp_path):
    answer = drawtap("info", "--jsn", "x.dtap")
    assert answer.code == 2
    assert "--json" in answer.err


def test_missing_argument_shows_the_usage(drawtap):
    answer = drawtap("info")
    assert answer.code == 2
    assert "usage: drawtap info" in answer.err


def test_missing_file_names_one_close_by(drawtap, tmp_path, monkeypatch):
    (tmp_path / "glmark2.dtap").touch()
    monkeypatch.chdir(tmp_path)
    answer = drawtap("info", "glmrk2.dtap")
    assert answer.code == 4
    assert "there is no file glmrk2.dtap" in answer.err
    assert "did you mean glmark2.dtap?" in answer.err
    assert drawtap("info", "glmark2").err.endswith("did you mean glmark2.dtap?\n")
    assert "there is no folder" in drawtap("info", "nowhere/x.dtap").err


def test_a_folder_is_not_a_recording(drawtap, tmp_path):
    answer = drawtap("info", tmp_path)
    assert answer.code == 4
    assert "is a folder" in answer.err


@pytest.mark.parametrize("content", [b"", b"hello, this is no trace at all\n" * 10, b"\x7fELF" + bytes(200)])
def test_a_file_that_is_no_recording(drawtap, tmp_path, content):
    file = tmp_path / "x.dtap"
    file.write_bytes(content)
    answer = drawtap("info", file)
    assert answer.code == 4
    assert answer.err.startswith("drawtap: error: ")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DrawtapError("x"), 1),
        (Findings("x"), 1),
        (UsageError("x"), 2),
        (QueryError("x"), 2),
        (UnavailableError("x"), 3),
        (InputError("x"), 4),
        (ChildError("x"), 5),
        (ExhaustedError("x"), 6),
        (OSError(28, "No space left on device", "/x"), 6),
        (OSError(13, "Permission denied", "/x"), 4),
        (MemoryError("out of memory"), 6),
        (duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block (5.0 MiB/5.0 MiB used)"), 6),
        (duckdb.IOException("IO Error: Could not write file x: No space left on device"), 6),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (ZeroDivisionError("x"), 70),
    ],
)
def test_exit_codes(drawtap, monkeypatch, error, code):
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "_group", lambda: lambda **_: fail())
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    answer = drawtap("anything")
    assert answer.code == code
    assert "Traceback" not in answer.err
    if isinstance(error, OSError) and error.filename:
        assert f"/x: {error.strerror}" in answer.err
    assert ("internal" in answer.err) == (code == 70)


def test_debug_shows_the_traceback(drawtap, monkeypatch):
    def fail(**_: object) -> None:
        raise InputError("broken", hint="mend it")

    monkeypatch.setattr(cli, "_group", lambda: fail)
    monkeypatch.setenv("DRAWTAP_DEBUG", "1")
    answer = drawtap("anything")
    assert "Traceback" in answer.err
    assert answer.err.endswith("drawtap: error: broken\nhint: mend it\n")


def test_results_decide_the_exit_code(drawtap):
    assert command_line.show(ExitStatus(7), as_json=False) == 7
    assert command_line.show(Rows(("a",), [(1,)]), as_json=False) == 0
    assert command_line.show(Rows(("a",), [(1,)], findings=True), as_json=False) == 1
    assert command_line.show(Verdicts([Verdict("warning", "a", "b")]), as_json=True) == 0
    assert command_line.show(Verdicts([Verdict("error", "a", "b")]), as_json=True) == 1


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A recording whose text is longer than any pipe."""
    w = Writer()
    t = w.thread(context=1)
    for call in range(20_000):
        t.call("glClear", mask=16640, start=1000 * call, duration=5)
    t.flush()
    return w.write(tmp_path_factory.mktemp("large") / "large.dtap")


@pytest.mark.parametrize(
    "verb", ["spec list", "list {}", "list {} --json", "export {}", "export {} -f csv", "export {} --editable"]
)
def test_closed_pipe_is_no_error(large, verb):
    # What every program does that SIGPIPE ends: nothing is said, and the code is 128 + 13.
    script = f"{sys.executable} -m drawtap {verb.format(large)} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(SOURCE)}
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "141"


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("info {} >&-", 2, "error: standard output is closed\nhint: > FILE"),
        ("--version >&-", 2, "error: standard output is closed\nhint: > FILE"),
        ("export {} -f csv >&-", 2, '"/dev/stdout"'),
        ("info no-such-file 2>&- >&- <&-", 4, ""),
        ("info {} > /dev/full", 6, "error: No space left on device"),
    ],
)
def test_standard_streams_may_be_closed_or_full(large, typed, code, said):
    done = _in_shell(f"{sys.executable} -m drawtap {typed.format(large)}")
    assert done.returncode == code, done.stderr
    assert said in done.stderr and "internal" not in done.stderr and "Traceback" not in done.stderr


def test_a_folder_that_was_deleted_is_named(tmp_path):
    place = tmp_path / "gone"
    place.mkdir()
    done = _in_shell(f"cd {place}; rmdir {place}; {sys.executable} -m drawtap record -o x.dtap -- true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("drawtap: error: the folder in which drawtap runs was deleted\nhint: ")


def test_bytes_that_are_no_text_are_a_mistake_of_the_asker(drawtap, large):
    answer = drawtap("sql", large, "SELECT '\udcff'")
    assert (answer.code, answer.out) == (2, "")
    assert "has bytes that are no UTF-8" in answer.err


def _in_shell(script):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    "typed",
    [
        "sql {half} FROM|frames",
        "frames {half}",
        "diff {whole} {half}",
        "edit {half} --keep :5 -o {new}",
        "stats {half}",
    ],
)
def test_verbs_say_that_a_recording_has_no_end(drawtap, large, tmp_path, typed):
    half = tmp_path / "half.dtap"
    half.write_bytes(large.read_bytes()[:-40])
    answer = drawtap(*(word.format(half=half, whole=large, new=tmp_path / "new").replace("|", " ")
                       for word in typed.split()))  # fmt: skip
    assert answer.code in (0, 1), answer.err
    assert answer.err.count("has no end: it was cut off, or is still written") == 1
    assert f"drawtap info {half} says" in answer.err


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A recording with an end, and with a wrong checksum in its middle."""
    w = Writer()
    t = w.thread(context=1)
    for call in range(40):
        t.call("glClear", mask=16640, start=1000 * call, duration=5)
        if call % 10 == 9:
            t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=1000 * call + 500, duration=5).flush()
    path = w.write(tmp_path_factory.mktemp("damaged") / "damaged.dtap")
    with open_trace(path) as trace:
        second = [chunk for chunk in trace.core.table_rows("chunks") if chunk["type"] == "calls"][1]
    content = bytearray(path.read_bytes())
    content[second["offset"] + second["bytes"] - 1] ^= 1
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("typed", ["sql {} FROM|calls", "frames {}", "stats {}", "list {}"])
def test_verbs_say_that_a_recording_is_damaged(drawtap, damaged, typed):
    answer = drawtap(*(word.format(damaged).replace("|", " ") for word in typed.split()))
    assert answer.code == 0, answer.err
    assert answer.err.count(f"{damaged} is damaged: a calls chunk could not be read") == 1
    assert answer.err.count("this answer is about what is left") == 1


def test_verbs_of_several_files_say_which_of_them_are_damaged(drawtap, damaged, large, tmp_path):
    other = tmp_path / "other.dtap"
    other.write_bytes(damaged.read_bytes())
    answer = drawtap("diff", large, damaged)
    assert answer.code == 1 and answer.err.count(f"{damaged} is damaged") == 1
    answer = drawtap("diff", damaged, other)
    assert answer.code == 1 and all(answer.err.count(f"{path} is damaged") == 1 for path in (damaged, other))
    assert "11 only in A, 11 only in B, 33 equal" in answer.out  # what neither can read is not equal
    assert "a call that cannot be read" in answer.out


def test_a_damaged_recording_is_not_complete(drawtap, damaged):
    told = json.loads(drawtap("info", damaged, "--json").out)
    assert (told["closed"], told["complete"], [p["kind"] for p in told["problems"]]) == (True, False, ["damaged"])
    answer = drawtap("info", damaged)
    assert "closed, and calls are missing" in answer.out
    assert "this answer" not in answer.err


def loaded_by(*arguments):
    code = (
        "import sys, drawtap.cli as c; c.run(sys.argv[1:]);"
        " print(sorted(m for m in sys.modules if m.startswith('drawtap.')))"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=env)
    return ast.literal_eval(done.stdout.splitlines()[-1])


def test_a_verb_loads_itself_and_no_other():
    names = ["drawtap.commands.toolkit"]  # old names, none of which is loaded
    for arguments, verb in ((["state", "--help"], "state"), (["info", "there-is-none"], "info")):
        loaded = loaded_by(*arguments)
        assert [m for m in loaded if m.startswith("drawtap.commands.")] == [f"drawtap.commands.{verb}", *names]
        assert len(loaded) <= 16, loaded


def test_the_list_of_verbs_loads_what_they_are_declared_with_and_nothing_behind():
    loaded = [m for m in loaded_by("--help") if not m.startswith("drawtap.commands.")]
    assert len(loaded) < 21, loaded
    assert not {"drawtap.trace.trace", "drawtap.trace.database", "drawtap.trace.core"} & set(loaded)
    assert not [m for m in loaded if m.startswith(("drawtap.spec", "drawtap.instrument", "drawtap.analysis"))]


def test_a_question_loads_and_makes_what_it_names(large):
    # Neither columns of other tables nor what DuckDB's package has beside the engine, which is there for who asks.
    code = """
import contextlib, sys, threading, drawtap.cli as c
with contextlib.suppress(SystemExit):
    c.main(["sql", sys.argv[1], "SELECT count(*) FROM calls"])
import duckdb
from drawtap.tables.recording import declared
print("by_name" in vars(declared), "duckdb._relation" in sys.modules)
connection = duckdb.connect()
try:
    connection.execute("no SQL")
except duckdb.Error as error:
    kind = type(error)
found = []
threads = [threading.Thread(target=lambda: found.append(connection.cursor().sql("SELECT 1").fetchall()))]
threads.append(threading.Thread(target=lambda: found.append(duckdb.sql("SELECT 1").fetchall())))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
from duckdb import ParserException, _sources
print(found, kind is ParserException, duckdb.__version__[0].isdigit(), hasattr(duckdb, "no"), hasattr(connection, "no"))
"""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code, str(large)], capture_output=True, text=True, env=env)
    assert done.stdout.splitlines()[-2:] == ["False False", "[[(1,)], [(1,)]] True True False False"], done.stderr


def test_a_question_starts_duckdb_before_the_command_line_is_loaded(large):
    code = """
import sys
from pathlib import Path
import drawtap.trace.engine as engine
kept = engine.open_ahead
engine.open_ahead = lambda: (print("drawtap.cli" in sys.modules), kept())
def imported(event, words):
    if event == "import" and words[0] == "_duckdb" and words[1]:
        print("_duckdb." in Path("/proc/self/maps").read_text())  # mapped, while others run
sys.addaudithook(imported)
from drawtap.__main__ import main
main()
"""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for file, printed in ((str(large), ["False", "True", "True"]), ("no-file", [])):
        words = [sys.executable, "-c", code, "sql", file, "SELECT 1", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, env=env)
        assert [line for line in done.stdout.splitlines() if line in ("False", "True")] == printed, done.stderr


def test_frames_are_read_beside_the_command_line(large, tmp_path):
    code = """
import sys, threading
from drawtap import cli
from drawtap.trace import core
main = threading.main_thread()
kept, text = cli.main, core.CoreTrace._text
def read(trace, function, *arguments):
    if arguments == (b"frames",):
        print("in main" if threading.current_thread() is main else "beside")
    return text(trace, function, *arguments)
core.CoreTrace._text = read
def late():
    for thread in {*threading.enumerate()} - {main}:
        thread.join()
    kept()
cli.main = late
from drawtap.__main__ import main as run
run()
"""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", code, "frames"]
    ruled = Writer()
    thread = ruled.thread(context=1)
    for call in range(2):
        thread.call("glClear", mask=1, start=1000 * call, duration=5)
    thread.flush()
    ruled.annotate('{"kind": "command", "frame_end": "glClear"}')
    own_rule = ruled.write(tmp_path / "own_rule.dtap")
    (tmp_path / "text").write_text("no recording")
    for words, places, rows in (
        ([str(large), "--json"], ["beside"], 1),
        ([str(large), "--json", "--frame-end", "glClear"], ["in main"], 20_000),
        ([str(own_rule), "--json"], ["beside", "in main"], 2),
    ):
        done = subprocess.run([*command, *words], capture_output=True, text=True, env=env)
        lines = done.stdout.splitlines()
        assert lines[: len(places)] == places, done.stderr
        assert len(json.loads("".join(lines[len(places) :]))) == rows
    done = subprocess.run([*command, str(tmp_path / "text")], capture_output=True, text=True, env=env)
    assert done.returncode == 4
    assert done.stderr.startswith("drawtap: error: ")
    assert "Traceback" not in done.stderr


def test_a_duckdb_whose_types_are_sealed_is_loaded_whole(large):
    # Its connections take no attribute of ours: answers are the same.
    code = """
import contextlib, sys, types, _duckdb, drawtap.cli as c
class Other(types.ModuleType):
    sealed = [object, object]  # what takes no attributes, as long as the engine alone is loaded
    def __getattr__(self, name):
        if name == "DuckDBPyConnection" and self.sealed:
            return self.sealed.pop()
        return getattr(_duckdb, name)
sys.modules["_duckdb"] = Other("_duckdb")
with contextlib.suppress(SystemExit):
    c.main(["sql", sys.argv[1], "SELECT count(*) > 0 AS any FROM calls", "--json"])
import duckdb
print("duckdb._relation" in sys.modules, duckdb.connect().sql("SELECT 1").fetchall())
"""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code, str(large)], capture_output=True, text=True, env=env)
    assert done.stdout.splitlines()[-3:] == ['{"any": true}', "]", "True [(1,)]"], done.stderr


def test_a_question_ends_with_its_code_after_what_was_left_to_do(large):
    # DuckDB's database in memory is not taken apart at the end: all that was registered for the end comes before.
    code = """
import atexit, os, sys, drawtap.cli as c
kept = c.load_lazily
c.load_lazily = lambda: (kept(), atexit.register(print, "done at the end"))
end = os._exit
os._exit = lambda code: (print("left", flush=True), end(code))
sys.argv[0] = "drawtap"
c.main()
"""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for question, status in (("SELECT count(*) AS calls FROM calls", 0), ("SELECT nothing FROM calls", 2)):
        command = [sys.executable, "-c", code, "sql", str(large), question]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == status
        assert done.stdout.splitlines()[-2:] == ["done at the end", "left"], done.stderr
        assert ("calls" in done.stdout) is (status == 0)


def test_help_loads_nothing_heavy():
    heavy = "{'duckdb', 'numpy', 'rich', 'jinja2', 'ctypes'}"
    code = f"import sys, drawtap.cli as c; c.run(['--help']); print(sorted({heavy} & set(sys.modules)))"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts(drawtap, name):
    answer = drawtap("--completion", name)
    assert drawtap("completion", name) == answer  # the old name
    assert answer.code == 0
    assert "_DRAWTAP_COMPLETE" in answer.out


def test_completion_answers():
    done = shell(COMP_WORDS="drawtap hist", COMP_CWORD="1", _DRAWTAP_COMPLETE="bash_complete")
    assert done.stdout == "plain,histogram\n"
    done = shell(COMP_WORDS="drawtap info gam", COMP_CWORD="2", _DRAWTAP_COMPLETE="bash_complete")
    assert done.stdout == "file,gam\n"
    done = shell(COMP_WORDS="drawtap histogram x --by ti", COMP_CWORD="4", _DRAWTAP_COMPLETE="bash_complete")
    assert done.stdout == "plain,time\n"


def _sample(
    first: Annotated[str, Opt("a word")],
    *rest: Annotated[str, Opt("more")],
    number: Annotated[int, Opt("a number", "-n")] = 3,
    mode: Annotated[Literal["a", "b"], Opt("a choice")] = "a",
    flag: Annotated[bool, Opt("a switch")] = False,
) -> object:
    """Do something."""
    return f"{first} {rest} {number} {mode} {flag}"


def _sampled(function):
    spread, params = _parameters(function)
    return spread, "know", ("drawtap sample x",), False, params


def test_a_signature_becomes_arguments_and_options(capsys):
    made = command_line.click_command(Command("sample", *_sampled(_sample)))
    assert isinstance(made, click.Command)
    made(args=["-n", "5", "--mode", "b", "w", "-x", "--flag"], standalone_mode=False)
    assert capsys.readouterr().out == "w ('-x', '--flag') 5 b False\n"
    with pytest.raises(click.BadParameter):
        made(args=["--mode", "c", "w"], standalone_mode=False)


@dataclass(frozen=True)
class _Paint(Options):
    colour: Annotated[str | None, Opt("a colour", "-c")] = None
    coats: Annotated[int, Opt("how often")] = 1


def _painted(
    what: Annotated[str, Opt("a thing")], *, paint: _Paint, dry: Annotated[bool, Opt("wait")] = False
) -> object:
    """Paint something."""
    return f"{what} {paint} {dry}"


def test_options_that_belong_together_are_options_of_their_own(capsys):
    spread, *_, params = _sampled(_painted)
    assert [p.name for p in params] == ["what", "colour", "coats", "dry"]
    assert list(inspect.signature(spread).parameters) == ["what", "colour", "coats", "dry"]
    made = command_line.click_command(Command("sample", *_sampled(_painted)))
    made(args=["-c", "red", "--coats", "2", "door"], standalone_mode=False)
    assert capsys.readouterr().out == "door _Paint(colour='red', coats=2) False\n"
    assert spread("door", dry=True) == f"door {_Paint()} True"
    with pytest.raises(TypeError, match="gloss"):
        spread("door", gloss=True)


def test_sql_without_a_question_is_a_prompt_on_a_terminal(large, monkeypatch, drawtap):
    asked = []
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("drawtap.prompt.prompt", lambda wanted: asked.append(wanted.recordings) or 7)
    answer = drawtap("sql", large)
    assert (answer.code, answer.out, answer.err) == (7, "", "")
    assert asked == [(str(large),)]


def test_record_says_on_a_terminal_what_it_records_and_where_to(tmp_path):
    words = [sys.executable, "-m", "drawtap", "record", "-o", "x.dtap", "--", "true"]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    first = "drawtap: recording true to x.dtap; Ctrl-C ends the program"
    reader, terminal = os.openpty()
    subprocess.run(words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=terminal, check=True)
    assert os.read(reader, 65536).decode().splitlines()[0] == first
    os.close(terminal), os.close(reader)
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "no calls" in done.stderr and first not in done.stderr


def test_ctrl_c_stops_the_reader_while_it_works():
    begun, stopped = threading.Event(), threading.Event()

    def work() -> None:
        begun.wait(5)
        os.kill(os.getpid(), signal.SIGINT)

    def wait_in_one_byte_code() -> None:
        begun.set()
        ctypes.CDLL(None).usleep(300_000)  # as a query: no Python handler can run before it ends

    threading.Thread(target=work).start()
    with pytest.raises(KeyboardInterrupt), cancelled_by_ctrl_c(stopped.set):
        wait_in_one_byte_code()
    assert stopped.wait(5)


@pytest.mark.parametrize("words", [("limit",), ("limit", "glmark2"), ("edit",), ("edit", "--name", "x")])
def test_arguments_that_must_be_there_are_asked_for(drawtap, words):
    said = drawtap(*words)
    assert said.code == 2, said.err
