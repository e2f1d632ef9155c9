"""`drawtap export`: calls in other formats."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CALLS, GUEST, NO_CACHE
from drawtap.errors import DrawtapError, UsageError, check_folder, check_target
from drawtap.formats import FORMATS
from drawtap.output.result import Text, Written
from drawtap.trace.ranges import FRAMES_HELP, RANGE_HELP, Selection, selection
from drawtap.units import moment

if TYPE_CHECKING:
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace


def _formats() -> list[str]:
    return [*FORMATS.names(), "perfetto"]


def _kernel_formats() -> list[str]:
    from drawtap.system.exporter import EXPORTS

    return EXPORTS.names()


def _of_kernel(
    trace: KernelTrace,
    *,
    output: Annotated[Path | None, Opt("", "-o", "FILE")] = None,
    format: Annotated[str | None, Opt("", "-f", choices=_kernel_formats)] = None,  # noqa: A002
    from_: Annotated[str | None, Opt("Begin of a part: 1.5, 200ms, @NS.", None, "TIME")] = None,
    to: Annotated[str | None, Opt("End of a part.", None, "TIME")] = None,
    api: Annotated[Path | None, CALLS] = None,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    force: Annotated[bool, Opt("")] = False,
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Written:
    """For a trace of the kernel, timelines for other tools: perfetto, chrome, ctf (a folder), parquet (a folder).

    Perfetto and Chrome get lives of requests: work on engines, queues, threads, virtual machines, with arrows along
    each request's way, and counters. CTF has the events themselves, from whatever format, as LTTng names them; parquet
    the tables that drawtap sql asks, and the events. --from and --to write a part: its events, and what lasts into it,
    whole.
    """
    from drawtap.system.drawn import opened
    from drawtap.system.exporter import EXPORTS, Window
    from drawtap.system.levels import check_window

    if output is None:
        raise UsageError("a timeline of the kernel is a file or a folder", hint="name it with -o")
    chosen = EXPORTS.get(format or _kernel_format(output))
    _check_kernel(output, folder=not chosen.suffix, force=force)
    with opened(trace, api, guest, keep=not no_cache) as model:
        begin, end = (moment(text, model.window[0]) for text in (from_, to))
        window = None
        if begin is not None or end is not None:
            first, last = check_window(model, begin, end)
            window = Window(first, last + (last == model.window[1]))  # the last event of a trace is in its last part
        written = chosen.write(trace, model, output, window)
    return Written(str(output), written, f"timelines as {chosen.name}")


def _kernel_format(output: Path) -> str:
    from drawtap.system.exporter import EXPORTS

    if output.name.endswith((".perfetto-trace", ".perfetto")):
        return "perfetto"
    for name, entry in EXPORTS.items():
        if entry.suffix and output.suffix == entry.suffix:
            return name
    raise UsageError(f"{output.name} is the name of no format", hint=f"name one with -f: {', '.join(EXPORTS.names())}")


def _check_kernel(output: Path, *, folder: bool, force: bool) -> None:
    if not folder:
        check_target(output, force=force, replaced=True)
    elif not output.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {output.parent}")
    elif output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file, and this format a folder")
    elif output.is_dir() and any(output.iterdir()) and not force:
        raise UsageError(f"{output} is not empty", hint="--force replaces what is in the way")


@command(
    section="edit",
    kernel=_of_kernel,
    examples=(
        "drawtap export game.dtap -o calls.parquet",
        "drawtap export game.dtap -f csv '#100-200' > frames.csv",
        "drawtap export game.dtap -f text --name 'glUniform*' -o uniforms.txt",
        "drawtap export game.dtap --sensors -o calls.txt            # with what drawtap sensors stored",
        "drawtap export game.dtap '#3' --editable -o frame.txt     # drawtap import reads it back",
        "drawtap export game.dtap -o game.trace         # for apitrace replay and qapitrace",
        "drawtap export game.dtap -f c --frames 100:101 -o bug/",
        "drawtap export game.dtap -o game.pftrace       # ui.perfetto.dev, with what drawtap profile measured",
        "drawtap export trace.dat --calls game.dtap -o both.pftrace     # the kernel's timeline, with frames and calls",
        "drawtap export perf.data -f ctf -o ctf/        # for babeltrace2 and Trace Compass",
    ),
    json=False,
)
def export(
    trace: Trace,
    calls: Annotated[str | None, Opt(RANGE_HELP, metavar="RANGE")] = None,
    *,
    format: Annotated[  # noqa: A002 - the word of the command line
        str | None,
        Opt("The format; c is a folder.  [default: by the name of the file, else text]", "-f", choices=_formats),
    ] = None,
    output: Annotated[Path | None, Opt("Where to.  [default: standard output]", "-o", "FILE")] = None,
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    editable: Annotated[bool, Opt("Text that can be edited and imported again.")] = False,
    sensors: Annotated[
        bool, Opt("With text: beside each call what drawtap sensors stored and what drawtap profile measured of it.")
    ] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written | Text:
    """Write calls as text, csv, json, parquet, C, or for other tools.

    C source (-f c) is a folder that compiles and draws what was recorded, with a C compiler, EGL and GL headers and
    nothing of drawtap. Perfetto gets frames, the calls of each thread, and what drawtap profile measured as counters.

    drawtap import reads what --editable writes, and traces of apitrace. All other formats are for people and other
    tools: they shorten arrays or leave them out.
    """
    if format == "perfetto" or (format is None and output is not None and output.suffix == ".pftrace"):
        return _to_perfetto(trace, output, whole=calls is None and frames is None and name is None, force=force)
    chosen = FORMATS.get(format or _by_suffix(output))
    if calls is not None and frames is not None:
        raise UsageError("calls and frames are both named", hint="a range like '#3-5' names frames as well")
    if sensors and (chosen.name != "text" or editable):
        raise UsageError("--sensors is for text that people read", hint="-f text --sensors; tables: drawtap sql")
    wanted = selection(calls if frames is None else frames, name=name, of=trace, frames=frames is not None)
    if editable:
        return _editable(trace, chosen.name, wanted, output, force)
    if chosen.name == "c":
        return _to_folder(trace, wanted, output, force)
    if output is None:
        return _to_stdout(trace, chosen.name, wanted, sensors=sensors)
    check_target(output, force=force)
    _write(trace, chosen.name, wanted, output, sensors=sensors)
    return Written(str(output), output.stat().st_size, f"calls as {chosen.name}")


def _to_perfetto(trace: Trace, output: Path | None, *, whole: bool, force: bool) -> Written:
    from drawtap.metrics.timeline import write_timeline

    if output is None or not whole:
        raise UsageError("Perfetto gets the whole recording, in a file", hint="-f perfetto -o game.pftrace")
    check_target(output, force=force, replaced=True)
    return Written(str(output), write_timeline(trace, output), "a timeline for Perfetto")


def _editable(trace: Trace, name: str, wanted: Selection, output: Path | None, force: bool) -> Written | Text:
    from drawtap.formats.editable import write_editable

    if name != "text" or wanted.name is not None or len(wanted.spans) > 1:
        raise UsageError("what can be edited is the text of one range of calls", hint="-f text, one range, no --name")
    seqs = range(len(trace.calls))
    if wanted.spans:
        [span] = wanted.spans
        last = span.numbers().stop
        if span.frames:
            frames = trace.frames[span.first : min(last, len(trace.frames))]
            if not len(frames):
                raise UsageError(f"there are {len(trace.frames)} frames")
            seqs = range(frames[0].first_seq, frames[len(frames) - 1].end_seq)
        else:
            seqs = range(min(span.first, len(trace.calls)), min(last, len(trace.calls)))
    if not seqs:
        raise UsageError(f"no call is in that range: there are {len(trace.calls)}")
    if output is None:
        with _until_nobody_reads():
            write_editable(trace, seqs, sys.stdout)
        return Text("")
    check_target(output, force=force)
    with output.open("w", encoding="utf-8") as file:
        write_editable(trace, seqs, file)
    return Written(str(output), output.stat().st_size, f"{len(seqs)} calls to be edited")


def _to_folder(trace: Trace, wanted: Selection, output: Path | None, force: bool) -> Written:
    if output is None:
        raise UsageError("C source is a folder", hint="name it with -o")
    check_folder(output, force=force)
    FORMATS.get("c").write(trace, wanted, output)
    written = sum(file.stat().st_size for file in output.iterdir() if file.is_file())
    return Written(str(output), written, "C source: cmake -S . -B build && cmake --build build")


def _by_suffix(output: Path | None) -> str:
    if output is None:
        return "text"
    if output.is_dir():
        return "c"
    for name, entry in FORMATS.items():
        if entry.suffix and output.suffix == entry.suffix:
            return name
    if output.suffix in {"", ".log"}:
        return "text"
    folder = f"C source goes into a folder: -f c -o {output.with_suffix('')}"
    hint = folder if output.suffix == ".c" else f"name one with -f: {', '.join(FORMATS.names())}"
    raise UsageError(f"no format ends in {output.suffix}", hint=hint)


def _write(trace: Trace, name: str, wanted: Selection, target: Path, *, sensors: bool) -> None:
    if sensors:
        from drawtap.formats.text import write_text_with_readings

        write_text_with_readings(trace, wanted, target)
    else:
        FORMATS.get(name).write(trace, wanted, target)


def _to_stdout(trace: Trace, name: str, wanted: Selection, *, sensors: bool) -> Text:
    if name == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal", hint="name a file with -o")
    sys.stdout.flush()
    if stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode):
        # A process that opens standard output by a file name begins the file anew: its earlier content would be lost.
        from drawtap.scratch import Scratch

        with Scratch() as folder:
            part = Path(folder) / "calls"
            _write(trace, name, wanted, part, sensors=sensors)
            with part.open("rb") as written, os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
                shutil.copyfileobj(written, out)
        return Text("")
    # DuckDB writes to a path; /dev/stdout is this process's own standard output.
    target = Path(f"/proc/self/fd/{os.dup(sys.stdout.fileno())}") if name == "text" else Path("/dev/stdout")
    with _until_nobody_reads():
        _write(trace, name, wanted, target, sensors=sensors)
    return Text("")


@contextlib.contextmanager
def _until_nobody_reads() -> Iterator[None]:
    """Turn what the core or DuckDB say of a closed pipe into BrokenPipeError, which ends every verb alike."""
    try:
        yield
    except DrawtapError as error:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        if any(events & select.POLLERR for _, events in poll.poll(0)):
            raise BrokenPipeError from error
        raise
