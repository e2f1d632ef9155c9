"""`drawtap system export`: kernel timelines in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.system_metrics import CALLS, GUEST, NO_CACHE, moment
from drawtap.errors import UsageError, check_target
from drawtap.view.result import Written


@command(
    name="system export",
    section="system",
    examples=(
        "drawtap system export trace.dat -o gpu.pftrace          # for ui.perfetto.dev",
        "drawtap system export lttng-run/ -o gpu.json",
        "drawtap system export kernel.dat --calls game.dtap -o both.pftrace",
        "drawtap system export trace.dat -f ctf -o ctf/          # for babeltrace2 and Trace Compass",
        "drawtap system export perf.data -f parquet -o tables/ --from 2s --to 2500ms",
    ),
)
def system_export(
    file: Annotated[Path, Opt("a trace of the kernel: a file, or a folder of CTF", metavar="TRACE")],
    *,
    output: Annotated[Path, Opt("Where to; ctf and parquet are folders.", "-o", "FILE")],
    format: Annotated[  # noqa: A002 - the word of the command line
        Literal["perfetto", "chrome", "ctf", "parquet"] | None,
        Opt("The format.  [default: by the name of the file]", "-f"),
    ] = None,
    from_: Annotated[str | None, Opt("Begin of a part, as in drawtap system metrics.", None, "TIME")] = None,
    to: Annotated[str | None, Opt("End of a part.", None, "TIME")] = None,
    calls: Annotated[Path | None, CALLS] = None,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    force: Annotated[bool, Opt("Replace what exists.")] = False,
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Written:
    """Write the timelines of a kernel trace for other tools.

    Perfetto and Chrome get lives of requests: work on engines, queues, threads, virtual machines, with arrows along
    each request's way, and counters. CTF has the events themselves, from whatever format, as LTTng names them; parquet
    the tables that `drawtap system sql` asks, and the events. --from and --to write a part: its events, and what lasts
    into it, whole.
    """
    from drawtap.system import reader
    from drawtap.system.drawn import opened
    from drawtap.system.exporter import EXPORTS, Window
    from drawtap.system.levels import check_window

    chosen = EXPORTS.get(format or _by_suffix(output))
    _check(output, folder=not chosen.suffix, force=force)
    with reader.open(file) as trace, opened(trace, calls, guest, keep=not no_cache) as model:
        begin, end = (moment(text, model.window[0]) for text in (from_, to))
        window = None
        if begin is not None or end is not None:
            first, last = check_window(model, begin, end)
            window = Window(first, last + (last == model.window[1]))  # the last event of a trace is in its last part
        written = chosen.write(trace, model, output, window)
    return Written(str(output), written, f"timelines as {chosen.name}")


def _by_suffix(output: Path) -> str:
    from drawtap.system.exporter import EXPORTS

    if output.name.endswith((".perfetto-trace", ".perfetto")):
        return "perfetto"
    for name, entry in EXPORTS.items():
        if entry.suffix and output.suffix == entry.suffix:
            return name
    raise UsageError(
        f"no format has files that are called {output.name}", hint=f"name one with -f: {', '.join(EXPORTS.names())}"
    )


def _check(output: Path, *, folder: bool, force: bool) -> None:
    if not folder:
        check_target(output, force=force, replaced=True)
    elif not output.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {output.parent}")
    elif output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file, and this format a folder")
    elif output.is_dir() and any(output.iterdir()) and not force:
        raise UsageError(f"{output} is not empty", hint="--force replaces what is in the way")
