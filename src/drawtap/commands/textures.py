"""`drawtap textures`: textures, renderbuffers and images of OpenVG as files."""

from __future__ import annotations

import io
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from drawtap.commands import Opt, command
from drawtap.errors import check_folder, made_folder
from drawtap.output.result import Rows
from drawtap.trace import apis
from drawtap.trace.ranges import CALL_HELP, call_of

if TYPE_CHECKING:
    from drawtap.analysis.held import HeldContent, Part
    from drawtap.trace.trace import Trace

_COLUMNS = ("kind", "name", "share_group", "call", "width", "height", "format", "source", "files", "note")


@command(
    section="replay",
    examples=(
        "drawtap textures game.dtap -o textures",
        "drawtap textures game.dtap --at 1234 -o textures      # those there are, as they are after call 1234",
        "drawtap textures game.dtap --at '#10' -o textures --on softpipe",
    ),
)
def textures(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("The folder that the files go to; it is made.", "-o", "FOLDER")],
    at: Annotated[str | None, Opt(CALL_HELP, metavar="CALL")] = None,
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
    force: Annotated[bool, Opt("Write into a folder that is not empty.")] = False,
) -> Rows:
    """Save textures, renderbuffers and images of OpenVG and Vulkan as files.

    It plays the recording and reads the content from the driver. With --at, it reads every object that exists after
    this call; otherwise each object, just before its deletion or at the end. Colours of at most 8 bits a channel become
    PNG. Others keep every value in a NumPy array (.npy, layers x height x width x channels); depth and stencil are
    channels of one. Compressed textures keep their blocks (.ktx), with a PNG beside them where drawtap decodes them.
    Levels, faces and layers are files of their own.

    Where a driver does not hand a texture over, as OpenGL ES with formats that nothing draws to, the last upload of the
    whole level is taken. Images of Vulkan are read after the call, or behind a command where it runs first.
    The table and `manifest.json` say for each object where its content is from, what is lost, and why an object could
    not be had. In PNG of textures the first row is that of t = 0, in those of Vulkan's images the top one.
    """
    from drawtap.analysis.held import held
    from drawtap.analysis.vulkan_held import held_images
    from drawtap.replay import engine

    check_folder(output, force=force)
    call = None if at is None else call_of(trace, at)
    environment = engine.environment_of(on)
    rows, objects, taken = [], [], set[str]()
    with made_folder(output), tempfile.TemporaryDirectory(prefix=".drawtap-", dir=output) as folder:
        of = held_images if apis.is_vulkan(trace) else held
        for content in of(trace, Path(folder).absolute(), at=call, environment=environment):
            stem = f"{content.kind}-{content.share_group}-{content.name}"
            if apis.is_vulkan(trace):
                stem = f"{content.kind}-{content.name:x}"
            if not content.name:
                stem += "-" + content.target.removeprefix("GL_TEXTURE_").lower()
            if stem in taken:
                stem += f"-made{content.created_seq}"
            taken.add(stem)
            parts = [_saved(output, stem, part, content) for part in content.parts]
            objects.append(_about(content, parts))
            rows.append(_row(content, parts))
    listed = {"recording": Path(trace.path).name, "at": call, "objects": objects}
    (output / "manifest.json").write_text(json.dumps(listed, indent=1) + "\n")
    had = sum(1 for row in rows if row[8])
    note = f"{had} of {len(rows)} objects written to {output}; manifest.json says what each file is"
    if not rows:
        note = f"there are no textures, renderbuffers or images {'' if at is None else 'then'}".rstrip()
    return Rows(_COLUMNS if rows else (), rows, {"name": "plain", "call": "plain"}, note=note)


def _saved(folder: Path, stem: str, part: Part, of: HeldContent) -> dict[str, Any]:
    """Write the files of a part and return what the manifest says of it."""
    import numpy as np

    from drawtap.analysis.held import picture
    from drawtap.analysis.textures import ordered
    from drawtap.output.ktx import ktx
    from drawtap.output.picture import png

    files: list[str] = []

    def write(name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        files.append(name)

    base = stem + part.suffix
    if part.blocks is not None:
        target = "GL_TEXTURE_2D" if "CUBE" in of.target and part.depth == 1 else of.target  # a face is a file
        write(f"{base}.ktx", ktx(replace(of, target=target, parts=(replace(part, suffix=""),))))
        image = picture(part, of.format)
        if image is not None:
            write(f"{base}.png", png(image))
    elif part.pixels is not None and part.pixels.dtype == np.uint8 and part.channels != "s":
        for layer, image in enumerate(part.pixels):
            planes = [image[..., i] for i in range(len(part.channels))]
            write(f"{base}{f'-layer{layer}' if len(part.pixels) > 1 else ''}.png", png(ordered(planes, part.channels)))
    elif part.pixels is not None:
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(part.pixels))
        write(f"{base}.npy", buffer.getvalue())
    said = {"files": files, "width": part.width, "height": part.height, "depth": part.depth}
    said |= {"channels": part.channels or None, "source": part.source or None, "upload": part.upload}
    return {**said, "lost": part.lost or None, "why": part.why or None}


def _about(content: HeldContent, parts: list[dict[str, Any]]) -> dict[str, Any]:
    said = {"kind": content.kind, "name": content.name, "share_group": content.share_group}
    said |= {"label": content.label, "created_seq": content.created_seq, "deleted_seq": content.deleted_seq}
    said |= {"target": content.target or None, "format": content.format or None, "call": content.call}
    return {
        **said,
        "first_row": "t = 0" if content.kind == "texture" else "top",
        "why": content.why or None,
        "parts": parts,
    }


def _row(content: HeldContent, parts: list[dict[str, Any]]) -> tuple[object, ...]:
    files = [name for part in parts for name in part["files"]]
    sources = list(dict.fromkeys(str(part["source"]) for part in parts if part["source"]))
    notes = [content.why, *(part["why"] or part["lost"] or "" for part in parts)]
    shown = files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "") if files else None
    note = "; ".join(dict.fromkeys(n for n in notes if n))
    name = f"{content.name:#x}" if content.target.startswith("VK_") else content.name
    return (
        content.kind, name, content.share_group, content.call, content.width, content.height, content.format or None,
        ", ".join(sources) or None, shown, note or None,
    )  # fmt: skip
