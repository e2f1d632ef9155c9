"""Write the reference pages from what the code says: commands, tables, errors, formats, the specification.

`python docs/reference.py` writes docs/reference/*.md; `--check` changes nothing and fails where a page is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from drawtap import cli, errors
from drawtap.commands import COMMANDS, SECTIONS, Command
from drawtap.formats import FORMATS
from drawtap.spec import report
from drawtap.trace.core import TABLES

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/reference.py: change the code it reads, not this page. -->\n\n"


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    return {
        "commands.md": NOTE + "".join(_commands()),
        "tables.md": NOTE + "".join(_tables()),
        "errors.md": NOTE + "".join(_errors()),
        "formats.md": NOTE + "".join(_formats()),
        "specification.md": NOTE + "".join(_specification()),
    }


def _commands() -> Iterator[str]:
    yield "# Commands\n\n"
    yield "Every command that reads takes `--json`. Data goes to standard output, the rest to standard error.\n\n"
    yield "`NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` are honoured; `DRAWTAP_DEBUG=1` shows tracebacks;\n"
    yield "`DRAWTAP_NATIVE` names a folder to take the native parts from.\n\n"
    for section, title in SECTIONS.items():
        yield f"## {title}\n\n"
        for name, command in COMMANDS.items():
            if command.section == section:
                yield f"### drawtap {name}\n\n```text\n{_help(command)}\n```\n\n"


def _help(command: Command) -> str:
    made = cli.click_command(command)
    context = click.Context(made, info_name=f"drawtap {command.name}", terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    lines = made.get_help(context).rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _tables() -> Iterator[str]:
    yield "# Tables\n\nWhat `drawtap sql` and `Trace.sql` can ask. Times are int64 nanoseconds of CLOCK_MONOTONIC.\n\n"
    yield 'Beside these, every function that the trace explains has a table of its own (`FROM "glDrawElements"`) with\n'
    yield "the columns seq, frame, thread, context, t_start, duration, one column a parameter, and result. For a\n"
    yield "parameter `p` that is an enumerant there is also `p_value`, the number; for an array `p_pointer`,\n"
    yield "`p_bytes`, `p_blob` (the hash of long content) and `p_data` (the content).\n\n"
    yield "`trace` has one row `event` a call: `SELECT event.name FROM trace WHERE event.duration > 10000`.\n\n"
    yield "| table | one row is |\n|---|---|\n"
    yield "| `calls` | a call, with its arguments as JSON (`params`) and as text (`call`) |\n"
    for name in TABLES:
        yield f"| `{name}` | {_ROWS.get(name, '')} |\n"


_ROWS = {
    "functions": "a function that the trace explains: API, category, flags, number of calls, what provides it",
    "params": "a parameter of a function: type, kind, enum group, direction",
    "enums": "a member of an enum group",
    "frames": "a frame: first and end call, times, draws, uploaded bytes, the call that ended it",
    "threads": "a thread: process and kernel ids, name, number of calls",
    "contexts": "a context: share group, API, native handle, first call",
    "blobs": "content that stands in the file once, by hash",
    "markers": "a debug group or label, with the calls it encloses",
    "memory": "application memory that a call read (client arrays)",
    "map_writes": "bytes that the program stored in a mapped buffer",
    "natives": "portable attributes of a display, config, surface, window, driver; of a `frame` its hash",
    "notes": "a remark of the recorder",
    "libraries": "a library in which functions were found",
    "problems": "something that is missing or damaged in this file",
    "annotations": "what the recorder wrote about machine, program and end, as JSON",
    "chunks": "a chunk of the file",
    "histogram": "a function that was called: number, times, bytes; from the index, without decoding calls",
}


def _errors() -> Iterator[str]:
    yield "# Errors and exit codes\n\n"
    yield "| exit code | class | when |\n|---|---|---|\n| 0 | | all is well |\n"
    classes = (
        errors.Findings,
        errors.UsageError,
        errors.QueryError,
        errors.UnavailableError,
        errors.InputError,
        errors.ChildError,
    )
    for kind in classes:
        yield f"| {kind.exit_code} | `{kind.__name__}` | {(kind.__doc__ or '').partition(chr(10))[0]} |\n"
    yield "| 126, 127 | `ChildError` | `record`: the program cannot be run; there is no such program |\n"
    yield "| 130 | | interrupted by Ctrl-C |\n| 141 | | the reader of the output closed its end |\n"
    yield "| the program's | | `record` passes it on; 128 + n where signal n ended the program |\n\n"
    yield "Every class descends from `drawtap.DrawtapError`, which has `message`, `hint` and `exit_code`.\n"


def _formats() -> Iterator[str]:
    yield "# Export formats\n\n| format | files end in | what it is |\n|---|---|---|\n"
    for name, entry in FORMATS.items():
        yield f"| `{name}` | `{entry.suffix}` | {entry.help} |\n"


def _specification() -> Iterator[str]:
    yield "# What is known of the APIs\n\n"
    yield "A command is complete when a rule says for every pointer how much it points to. Of the others the plain\n"
    yield "arguments are recorded. `drawtap spec report --all` lists every extension, `drawtap spec show NAME` one\n"
    yield "command.\n\n"
    yield "| API | commands | complete | pointers | with a rule |\n|---|---:|---:|---:|---:|\n"
    for row in report.coverage():
        yield f"| {row.label} | {row.commands} | {row.complete} | {row.pointers} | {row.known_pointers} |\n"


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check compare them; return the exit code."""
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        sys.stderr.write(f"stale: {', '.join(str(p) for p in stale)}; make docs writes them\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
