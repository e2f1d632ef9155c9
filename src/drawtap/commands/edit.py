"""`drawtap edit`: change, drop, replace and insert calls."""

from __future__ import annotations

import dataclasses
import re
import runpy
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.replay import check_config
from drawtap.errors import InputError, UsageError, check_target, did_you_mean, no_file
from drawtap.output.result import Verdict, Verdicts
from drawtap.tables.recording import FunctionRow
from drawtap.trace.ranges import RANGE_HELP, selection

if TYPE_CHECKING:
    from drawtap.replay.player import Replay
    from drawtap.trace.edit import Editor, Saved
    from drawtap.trace.trace import Trace


@command(
    section="edit",
    examples=(
        "drawtap edit game.dtap -o red.dtap --set 'glClearColor red = 1'",
        "drawtap edit game.dtap -o nomask.dtap --drop glColorMask --check",
        "drawtap edit game.dtap -o fix.dtap --set '1041 width = 64, pixels = file(\"small.raw\")'",
        "drawtap edit cube.dtap -o front.dtap --set '87 pCreateInfos[0].pRasterizationState.cullMode = 1'",
        "drawtap edit cube.dtap -o flat.dtap --set '85 pCreateInfo.pCode = glsl(\"flat.frag\")'",
        "drawtap edit game.dtap -o wait.dtap --insert '1042 glFinish()'",
        "drawtap edit game.dtap -o small.dtap --script shrink_textures.py",
        "drawtap edit game.dtap -o first.dtap --keep '#0:#100'",
        "drawtap edit game.dtap -o window.dtap --name 'egl*'",
        "drawtap edit game.dtap -o smooth.dtap --config samples=4",
        "drawtap edit cut.dtap -o fresh.dtap --renumber",
    ),
)
def edit(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    set_: Annotated[
        tuple[str, ...],
        Opt("CALLS NAME = VALUE, ...: change arguments of a call, a range or a function.", metavar="TEXT"),
    ] = (),
    drop: Annotated[
        tuple[str, ...], Opt("Leave out a call, a range, or all calls of a function.", metavar="CALLS")
    ] = (),
    keep: Annotated[
        str | None, Opt(f"{RANGE_HELP}; or a function. All other calls are left out.", metavar="RANGE")
    ] = None,
    name: Annotated[
        str | None, Opt("Keep only functions that match (* stands for anything), of --keep or of all.", "-n", "PATTERN")
    ] = None,
    replace: Annotated[
        tuple[str, ...], Opt("CALL NAME(...): make it a call of another function.", metavar="TEXT")
    ] = (),
    insert: Annotated[tuple[str, ...], Opt("CALL NAME(...): put a new call before it.", metavar="TEXT")] = (),
    script: Annotated[
        Path | None, Opt("A Python script that edits the recording called trace.", metavar="FILE")
    ] = None,
    config: Annotated[
        str | None,
        Opt(
            "Play the new file on this framebuffer configuration: red=8,samples=4,... as for replay --config; or "
            "recorded.",
            metavar="LIST",
        ),
    ] = None,
    renumber: Annotated[bool, Opt("Forget the numbers that calls had in other recordings (column origin).")] = False,
    check: Annotated[bool, Opt("Play the result too, and say what goes wrong that did not before.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording with changes; the old one stays as it is.

    Values are written as drawtap list shows them: numbers, names of enumerants, "text", {1, 2, 3}, NULL; file("x.raw")
    is the content of a file. A member of a structure has a path: pViewports[0].width. The code of a shader of Vulkan is
    file("x.spv"), glsl("x.frag") for glslang to compile, or spirv("text") for spirv-as. A script has the recording as
    `trace`: its events, find, set, drop, replace and insert (drawtap.trace.edit.Editor). Numbers are those in the old
    recording.

    The exit code is 1 where a call no longer has what it needs: an object, a context or a mapping that a dropped call
    made. Calls from the beginning on need nothing; drawtap extract adds the earlier calls that a frame needs. Calls of
    Vulkan also need what a dropped call began, ended, bound, set, signalled or reset; the edit does not look at layouts
    of images.

    With --config the calls stay as they are. Verbs that play the new file (replay, compare, image, extract, state
    --from-driver) ask the driver for the nearest configuration; recorded takes an earlier --config back. With
    --renumber the calls forget their earlier numbers (column origin).
    """
    from drawtap.trace.edit import Editor

    if config not in {None, "recorded"}:
        check_config(str(config))
    check_target(output, force=force, replaced=True)
    editor = Editor(trace)
    if script is not None:
        _run(script, editor)
    _change(editor, set_, replace, insert)
    for target in drop:
        editor.drop(_seqs(trace, target))
    if (keep or name) is not None:
        editor.keep(_seqs(trace, keep, name))
    changed = bool(script or set_ or replace or insert or drop or (keep or name) is not None)
    saved = _written(editor, output, config, changed=changed, renumber=renumber)
    return verdicts(saved, _played(trace.path, output) if check else ())


def _written(editor: Editor, output: Path, config: str | None, *, changed: bool, renumber: bool) -> Saved:
    """Write what the editor has, then what --config and --renumber make of that, each from a whole file."""
    from drawtap.trace import edit as editing
    from drawtap.trace.trace import open_trace

    steps: list[Callable[[Trace, Path], Saved]] = []
    if changed or not (config or renumber):
        steps.append(lambda _, path: editor.save(path))
    if config is not None:
        steps.append(lambda trace, path: editing.set_egl_config(trace, "" if config == "recorded" else config, path))
    if renumber:
        steps.append(lambda trace, path: editing.renumber(trace.path, path))
    with tempfile.TemporaryDirectory(prefix=f".{output.name[:40]}.", dir=output.absolute().parent) as folder:
        done: list[Saved] = []
        trace = editor.trace
        for number, step in enumerate(steps):
            path = output if number == len(steps) - 1 else Path(folder) / f"{number}.dtap"
            done.append(step(trace, path))
            if path is not output:
                trace = open_trace(path)
    first = done[0]  # the later steps change no call
    return dataclasses.replace(done[-1], kept=first.kept, changed=first.changed, inserted=first.inserted,
                               lost=first.lost, problems=first.problems, broken=first.broken,
                               stored=first.stored)  # fmt: skip


def verdicts(saved: Saved, more: Iterable[Verdict] = ()) -> Verdicts:
    """Return what to say of a recording that was written."""
    from drawtap.output.text import counted, number, size

    done = [f"{counted(saved.calls, 'call')}, {size(saved.bytes)}"]
    done += [f"{number(n)} {what}" for n, what in ((saved.changed, "changed"), (saved.inserted, "new")) if n]
    lines = [Verdict("ok", "written", f"{saved.path}: {', '.join(done)}")]
    if saved.renamed:
        text = f"{number(saved.renamed)} contexts, surfaces, ... of several programs got names of their own"
        lines.append(Verdict("note", "renamed", text))
    if saved.stored:
        text = f"{counted(saved.stored, 'row')} of bytes stored in memory that no call makes any more"
        lines.append(Verdict("note", "left out", text))
    if saved.lost:
        lines.append(Verdict("warning", "lost", f"{counted(saved.lost, 'call')} that could not be read"))
    lines += [Verdict("warning", "damaged", text) for text in saved.problems]
    lines += [Verdict("error", "broken", str(broken)) for broken in saved.broken]
    lines += more
    fields = ("calls", "kept", "changed", "inserted", "bytes", "lost", "renamed")
    data: dict[str, object] = {"path": str(saved.path), **{name: getattr(saved, name) for name in fields}}
    data["problems"] = list(saved.problems)
    data["broken"] = [
        {n: getattr(b, n) for n in ("seq", "function", "cause", "cause_function", "text")} for b in saved.broken
    ]
    data["findings"] = [v.finding for v in more]
    return Verdicts(lines, data=data)


def _change(editor: Editor, set_: Iterable[str], replace: Iterable[str], insert: Iterable[str]) -> None:
    from drawtap.analysis.spirv import translated
    from drawtap.formats.editable import parse, value

    for text in set_:
        target, assignments = _split(text, "CALLS NAME = VALUE, ...")
        values = {name: translated(value(word)) for name, word in parse(f"f({assignments})").values.items()}
        for seq in _seqs(editor.trace, target):
            editor.set(seq, **values)
    for text in replace:
        target, call = _split(text, "CALL NAME(...)")
        for seq in _seqs(editor.trace, target):
            parsed = parse(call)
            editor.replace(seq, parsed.name, **{name: translated(value(word)) for name, word in parsed.values.items()})
    for text in insert:
        target, call = _split(text, "CALL NAME(...)")
        parsed = parse(call)
        before = len(editor.trace.calls) if target == "end" else next(iter(_seqs(editor.trace, target)))
        editor.insert(before, parsed.name, **{name: translated(value(word)) for name, word in parsed.values.items()})


def _run(script: Path, editor: Editor) -> None:
    if not script.exists():
        raise no_file(script)
    try:
        runpy.run_path(str(script), init_globals={"trace": editor, "recording": editor}, run_name="__main__")
    except (UsageError, InputError):
        raise
    except Exception as error:
        raise UsageError(f"{script} failed: {type(error).__name__}: {error}") from error


def _split(text: str, form: str) -> tuple[str, str]:
    target, _, rest = text.strip().partition(" ")
    if not rest.strip():
        raise UsageError(f"{text!r} does not say what to do", hint=form)
    return target, rest.strip()


def _seqs(trace: Trace, target: str | None, name: str | None = None) -> Iterator[int]:
    """The calls of a range (None: all), or of a function (with *), in order; with `name` those of these functions."""
    if target is not None and re.fullmatch(r"[A-Za-z_*][\w*?]*", target):
        parts = [selection(None, name=target), selection(None, name=name)]
    else:
        parts = [selection(target, name=name, of=trace)]
    where = " AND ".join(part.where() for part in parts)
    seqs = [row[0] for row in trace.sql(f"SELECT seq FROM calls WHERE {where} ORDER BY seq").fetchall()]
    if not seqs:
        function = name or target or ""
        near = did_you_mean(function, (row["name"] for row in trace.table(FunctionRow) if row["calls"]))
        raise UsageError(
            f"{trace.path.name} never calls {function}" + (f" in {target}" if name and target else ""),
            hint=near or "drawtap histogram lists the functions that it calls",
        )
    for seq in seqs:
        assert isinstance(seq, int)
        yield seq


def _played(old: Path, new: Path) -> tuple[Verdict, ...]:
    from drawtap.replay import engine, player

    environment = engine.environment_of("system")
    before = _wrong(player.play(old, environment=environment))
    after = _wrong(player.play(new, environment=environment))
    losses = [text for key, text in after.items() if key not in before]
    return tuple(Verdict("error", "playing", text) for text in losses) or (
        Verdict("ok", "playing", "nothing goes wrong"),
    )


def _wrong(played: Replay) -> Mapping[tuple[str, str, str], str]:
    return {(f.what, f.function, f.text): f"call {f.call} {f.function}: {f.text}" for f in played.findings}
