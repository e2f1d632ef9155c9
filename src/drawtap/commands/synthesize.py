"""`drawtap synthesize`: a program that does as much as another, or as much as a request says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_folder, made_folder, no_file
from drawtap.output.result import Rows, Sheets
from drawtap.trace.ranges import FRAMES_HELP

if TYPE_CHECKING:
    from drawtap.analysis.synthesis_request import Request
    from drawtap.metrics.synthetic import Checked


@command(
    section="edit",
    examples=(
        "drawtap synthesize game.dtap -o like_game/",
        "drawtap synthesize game.dtap -o heavier/ --set triangles=200000 --set overdraw=3.5",
        "drawtap synthesize load.toml -o load/ --size 1280x720 --length 100",
        "drawtap synthesize --set draws=500,triangles=60000,state_calls=4000,overdraw=2 -o states/",
        "drawtap synthesize game.dtap --without texture_uploads,buffer_bytes -o still/ --check never",
    ),
)
def synthesize(
    source: Annotated[
        Path | None,
        Opt("a recording or TOML file with the features; without it --set gives them", metavar="SOURCE"),
    ] = None,
    *,
    output: Annotated[Path | None, Opt("The folder for the program.", "-o", "FOLDER")] = None,
    set: Annotated[  # noqa: A002 - the word of the command line
        tuple[str, ...],
        Opt("Features of your own, as draws=100,overdraw=2.5; docs: howto/synthesize.", metavar="NAME=N"),
    ] = (),
    without: Annotated[tuple[str, ...], Opt("Features to leave out.", metavar="NAMES")] = (),
    frames: Annotated[str | None, Opt(f"{FRAMES_HELP}; of a recording", metavar="RANGE")] = None,
    length: Annotated[int | None, Opt("Frames of the program, after the first.  [default: 30]", metavar="N")] = None,
    size: Annotated[
        str | None, Opt("Its surface, in pixels.  [default: the source's, or 640x480]", metavar="WxH")
    ] = None,
    check: Annotated[
        Literal["auto", "always", "never"],
        Opt("Compile, record, play and measure it; auto: where the engine works."),
    ] = "auto",
    tolerance: Annotated[float, Opt("Allowed difference of a feature, in percent.", metavar="P")] = 5.0,
    on: Annotated[
        str, Opt("The engine that measures; drawtap replay --engines lists them.", metavar="ENGINE")
    ] = "system",
    force: Annotated[bool, Opt("Replace what is in the folder.")] = False,
) -> Sheets:
    """Write a benchmark in C that draws, uploads and changes as asked.

    The features come from a recording (means per frame), a TOML file, or --set, which overrides both. The folder gets C
    source for OpenGL ES 2 (compile it with make). program.dtap has the same calls, to query and play; request.toml
    makes the program again. The check compiles and records the program and measures it by the same features; the exit
    code is 1 where one is off by more than the tolerance.
    """
    from drawtap.analysis import synthesis, synthesis_request
    from drawtap.formats.c import export_c
    from drawtap.output.text import counted
    from drawtap.trace.trace import open_trace

    if output is None:
        raise UsageError("there is no place for the program", hint="-o FOLDER")
    check_folder(output, force=force)
    if not 0 < tolerance <= 100:
        raise UsageError(
            f"a tolerance of {tolerance} percent makes no sense", hint="above 0, 100 at most; --tolerance 5"
        )
    if frames is not None and (source is None or source.suffix == ".toml"):
        raise UsageError("--frames names frames of a recording", hint="--length says how many the program has")
    base, notes = _source(source, frames, on, own=bool(set))
    request = _with(base, set, without, length, size)
    recording = output / "program.dtap"
    with made_folder(output):
        made = synthesis.make(request, recording)
    with open_trace(recording) as trace:
        export_c(trace, output)
    (output / "request.toml").write_text(synthesis_request.text(request), encoding="utf-8")
    notes += made.notes
    made_of = f"{counted(made.calls, 'call')}, {counted(request.frames + 1, 'frame')}"
    notes.append(f"{output}: C source, program.dtap ({made_of}), request.toml")
    checked, lines = _checked(output, request, check, tolerance / 100, on)
    notes += lines
    return _sheets(request, checked, output, notes)


def _source(source: Path | None, frames: str | None, on: str, *, own: bool) -> tuple[Request, list[str]]:
    from drawtap.analysis import synthesis_request

    if source is None:
        if not own:
            raise UsageError("no feature is requested", hint="a recording, a TOML file, or --set draws=100")
        return synthesis_request.Request({}, title="given on the command line"), []
    if not source.is_file():
        raise no_file(source)
    return (synthesis_request.read(source), []) if source.suffix == ".toml" else _of_recording(source, frames, on)


def _with(
    base: Request, own: tuple[str, ...], without: tuple[str, ...], length: int | None, size: str | None
) -> Request:
    from drawtap.analysis import synthesis_request
    from drawtap.errors import did_you_mean

    names = [word.strip() for text in without for word in text.split(",") if word.strip()]
    for name in names:
        if name not in synthesis_request.FEATURES:
            hint = did_you_mean(name, synthesis_request.FEATURES) or ", ".join(synthesis_request.FEATURES)
            raise UsageError(f"there is no feature {name!r}", hint=hint)
    request = replace(base, asked={k: v for k, v in base.asked.items() if k not in names})
    if size is not None:
        width, times, height = size.partition("x")
        if not (times and width.isdigit() and height.isdigit()):
            raise UsageError(f"{size!r} is no size", hint="--size 1280x720")
        request = replace(request, width=int(width), height=int(height))
    if length is not None:
        request = replace(request, frames=length)
    return synthesis_request.with_features(request, _values(own))


def _values(texts: tuple[str, ...]) -> dict[str, float]:
    values = {}
    for part in (part for text in texts for part in text.split(",") if part.strip()):
        name, equals, value = part.partition("=")
        try:
            values[name.strip()] = float(value)
        except ValueError:
            raise UsageError(f"{part.strip()!r} says no value", hint="--set draws=100,overdraw=2.5") from None
        if not equals:
            raise UsageError(f"{part.strip()!r} says no value", hint="--set draws=100")
    return values


def _of_recording(source: Path, frames: str | None, on: str) -> tuple[Request, list[str]]:
    from drawtap.analysis.synthesis_counts import not_repeated
    from drawtap.metrics import synthetic
    from drawtap.output.text import number
    from drawtap.trace import apis
    from drawtap.trace.ranges import frame_range
    from drawtap.trace.trace import open_trace

    with open_trace(source) as trace:
        apis.refuse(trace, "synthesize")
        within = frame_range(frames, trace)
        request, counts = synthetic.request_of(trace, frames=within, engine_name=on)
        left = not_repeated(trace, within)
    notes = []
    if left:
        rest = ", ".join(
            f"{title} ({number(round(v)) if v >= 10 else f'{v:.2g}'} a frame)" for title, v in left.items()
        )
        notes.append(f"not repeated: {rest}")
    notes += [f"not known of {source.name}: {name}: {why}" for name, why in counts.missing.items()]
    return request, notes


def _checked(folder: Path, request: Request, when: str, tolerance: float, on: str) -> tuple[Checked | None, list[str]]:
    from drawtap.metrics import synthetic
    from drawtap.replay import engine

    if when == "never":
        return None, ["not checked (--check never)"]
    if when == "auto":
        answer = engine.ask(engine.ENGINES.get(on))
        if not answer.works:
            return None, [f"not checked: {on} does not work here: {answer.reason}"]
    checked = synthetic.check(folder, folder / "program.dtap", request, engine_name=on, tolerance=tolerance)
    notes = [f"measured: {checked.how}", *checked.notes]
    off = [row.feature for row in checked.rows if row.met(tolerance) is False]
    if off:
        notes.append(
            f"off by more than {100 * tolerance:g} %: {', '.join(off)}; features that exclude each other, or fractions "
            "that more frames (--length) can tell"
        )
    return checked, notes


def _sheets(request: Request, checked: Checked | None, output: Path, notes: list[str]) -> Sheets:
    from drawtap.analysis.synthesis_request import FEATURES, text

    rows, data = [], []
    for name, asked in request.asked.items():
        row = next((r for r in checked.rows if r.feature == name), None) if checked else None
        met = row.met(checked.tolerance) if row and checked else None
        apart = row.difference if row else None
        percent = 0.0 if apart is None else round(100 * apart, 2) + 0.0  # no -0.00
        shown = "–" if apart is None else "only here" if apart == float("inf") else f"{percent:+.2f} %"
        word = "not measured" if met is None else "met" if met else "off"
        unit = FEATURES[name].unit
        rows.append((name, _shown(asked, unit), _shown(row.measured if row else None, unit), shown, word))
        data.append(
            {
                "feature": name,
                "unit": unit,
                "asked": asked,
                "measured": row.measured if row else None,
                "difference": apart,
                "met": met,
                "measured_by": row.source if row else "",
                "why_not": row.why if row else "not checked",
            }
        )
    notes = [*notes, *(f"not measured: {r.feature}: {r.why}" for r in (checked.rows if checked else ()) if r.why)]
    met = checked is None or checked.met
    table = Rows(("feature", "asked", "measured", "difference", "verdict"), rows, findings=not met)
    return Sheets(
        [table],
        {
            "folder": str(output),
            "recording": str(output / "program.dtap"),
            "request": text(request),
            "checked": checked.how if checked else None,
            "met": checked.met if checked else None,
            "features": data,
            "notes": notes,
        },
        notes,
    )


def _shown(value: float | None, unit: str) -> str:
    from drawtap.output.text import number, size

    if value is None:
        return "–"
    if unit == "bytes":
        return size(round(value))
    return number(round(value)) if value == round(value) or value >= 1000 else f"{value:.2f}"
