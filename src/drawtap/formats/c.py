"""Write frames as C source: a folder that compiles with a C compiler, EGL and the GL headers, and nothing else.

The folder of a recording of Vulkan compiles with a C compiler, the headers of Vulkan and its loader.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from drawtap.errors import InputError, QueryError, UnavailableError, UsageError
from drawtap.formats import export_format
from drawtap.formats.c_vulkan import older_names
from drawtap.instrument.generate_vg import headers as vg_headers
from drawtap.spec.registry import load_api
from drawtap.tables.recording import AnnotationRow, NativeRow
from drawtap.trace import core
from drawtap.trace.ranges import ENDLESS, Selection
from drawtap.units import as_int

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_TEMPLATES = Path(__file__).parent / "c_templates"


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export. `repeated`: frames that are the same as an earlier one, and have its function.

    `left_out`: functions that C source cannot call, with their numbers of calls.
    """

    frames: int
    repeated: int
    files: tuple[str, ...]
    data_bytes: int
    arrays: int
    sources: int
    left_out: Mapping[str, int]


@export_format("c", "")
def write_c(trace: Trace, selection: Selection, path: Path) -> None:
    """A folder of C source that needs EGL, or Vulkan, only: compile it, run it, hand it to a driver's vendor.

    One function a frame, constants and objects by name, shaders line by line, long arrays in a file beside it.
    With frames (`#3` or `#2-4`) the calls before them become set-up.
    """
    export_c(trace, path, frames=_frames(selection))


def export_c(
    trace: Trace,
    folder: Path,
    *,
    frames: range | None = None,
    calls_per_file: int = 20_000,
    calls_per_function: int = 1_000,
) -> Exported:
    """Write the frames (None: all) and what must stand before them into `folder`, which is made where it is missing.

    Files hold about `calls_per_file` calls and functions at most `calls_per_function`: compilers take long for more.
    Raises UsageError for frames that the trace does not have, UnavailableError for calls that C source cannot make,
    OSError where the folder cannot be written.
    """
    known = len(trace.frames)
    first, end = (0, None) if frames is None else (frames.start, min(frames.stop, known))
    if frames is not None and (first >= known or end == first):
        raise UsageError(
            f"there are no frames {_range_text(frames)}", hint=f"{trace.path.name} has frames 0 to {known - 1}"
        )
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = core.Selection(first_frame=first, end_frame=end)
    try:
        said = trace.core.export_c(wanted, folder, calls_per_file, calls_per_function)
    except QueryError as error:  # there are calls that C source cannot make
        if fresh and not any(folder.iterdir()):
            folder.rmdir()
        raise UnavailableError(error.message, hint="-f json, csv or parquet have all calls") from None
    vulkan = bool(said["vulkan"])
    left_out = said["left_out"]
    files = said["files"]
    if not isinstance(left_out, Mapping) or not isinstance(files, list):
        raise InputError(f"{trace.path} could not be written as C")
    made = Exported(
        as_int(said["frames"]),
        as_int(said["repeated"]),
        tuple(str(f) for f in files),
        as_int(said["data_bytes"]),
        as_int(said["arrays"]),
        as_int(said["sources"]),
        {str(k): as_int(v) for k, v in left_out.items()},
    )
    _write_templates(trace, folder, made, first, said)
    if vulkan:
        enumerants, types = said["enumerants"], said["types"]
        if isinstance(enumerants, Mapping) and isinstance(types, list):
            text = older_names({str(name): as_int(value) for name, value in enumerants.items()}, set(map(str, types)))
            (folder / "names.h").write_text(text, encoding="utf-8")
    if said["vg"]:  # no distribution has them
        for name, text in vg_headers(load_api("vg")).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return made


def _write_templates(trace: Trace, folder: Path, made: Exported, first: int, said: Mapping[str, object]) -> None:
    templates = _TEMPLATES / "vulkan" if said["vulkan"] else _TEMPLATES
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        variable_start_string="@{",
        variable_end_string="}@",
        comment_start_string="{##",
        comment_end_string="##}",
        keep_trailing_newline=True,
    )
    info = trace.info
    command = _command_line(trace)
    natives = [str(row["text"]) for row in trace.table(NativeRow) if row["kind"] == "driver"]
    about = dict(part.partition("=")[::2] for part in natives[0].split(";")) if natives else {}
    driver = str(said.get("device", "")) or ", ".join(v for v in (about.get("renderer"), about.get("version")) if v)
    values = {
        "title": _plain(f"{Path(command[0]).name if command else 'recorded calls'}, recorded in {trace.path.name}"),
        "program": _plain(" ".join(command) or "not known"),
        "driver": _plain(driver or "not known"),
        "frames": made.frames,
        "first_frame": first,
        "calls": info.get("calls"),
        "files": made.files,
        "left_out": made.left_out,
        "gl": bool(said["gl"]),
        "vg": bool(said["vg"]),
    }
    for template in sorted(templates.iterdir()):
        if template.is_file():
            (folder / template.name).write_text(
                environment.get_template(template.name).render(values), encoding="utf-8"
            )


def _command_line(trace: Trace) -> list[str]:
    for row in trace.table(AnnotationRow):
        if row["kind"] == "recording":
            words = json.loads(row["json"]).get("command_line")
            return [str(word) for word in words] if isinstance(words, list) else []
    return []


def _frames(selection: Selection) -> range | None:
    if selection.name is not None or any(not span.frames for span in selection.spans) or len(selection.spans) > 1:
        raise UsageError("C source is made of whole frames", hint="name one range of frames: '#3' or '#2-4'")
    if not selection.spans:
        return None
    span = selection.spans[0]
    return range(span.first, ENDLESS if span.last is None else span.last + 1)


def _range_text(frames: range) -> str:
    return f"{frames.start}-" if frames.stop == ENDLESS else f"{frames.start}-{frames.stop - 1}"


def _plain(text: str) -> str:
    # It stands in C comments.
    return text.replace("*/", "* /").replace("\n", " ")
