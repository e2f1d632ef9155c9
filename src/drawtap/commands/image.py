"""`drawtap image`: what was drawn at a call or a frame, and who drew a pixel of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError, check_target, write_whole
from drawtap.output.result import Rows, Sheets, Written
from drawtap.trace.ranges import CALL_HELP

if TYPE_CHECKING:
    from drawtap.replay.look import PixelEvent, PixelValues
    from drawtap.replay.place import Place
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace

# Four million corners make a file of about 250 MB.
_PASS_DRAWS, _PASS_CORNERS = 1 << 16, 1 << 22


@command(
    section="replay",
    examples=(
        "drawtap image game.dtap 1234 -o draw.png",
        "drawtap image game.dtap '#10' -o frame.ppm --on softpipe",
        "drawtap image game.dtap '#10' --pixel 320,240    # who wrote it, and who failed to",
        "drawtap image game.dtap 1234 --overlay depth -o fails.png    # pixels where the depth test fails",
        "drawtap image game.dtap 1234 --mesh draw.obj",
        "drawtap image game.dtap 1234 --mesh pass.obj --whole-pass",
        "drawtap image game.dtap 109@144 -o draw.png    # of Vulkan: draw 109 as call 144 submits it",
        "drawtap image game.dtap 109@144 --pixel 320,240    # and the history of a pixel of it",
    ),
)
def image(
    trace: Trace,
    call: Annotated[str, Opt(CALL_HELP, metavar="CALL")],
    *,
    output: Annotated[Path | None, Opt("Where it goes: .png, .ppm, or .rgba for the bare bytes.", "-o", "FILE")] = None,
    pixel: Annotated[
        str | None, Opt("Print the history of a pixel, counted from the lower left corner.", metavar="X,Y")
    ] = None,
    overlay: Annotated[
        str | None,
        Opt(
            "Write these fragments instead: of the draw drawn, covered, culled, discarded, those that fail stencil or "
            "depth; of the frame overdraw. .npy keeps their numbers, the lowest row first.",
            metavar="WHAT",
        ),
    ] = None,
    mesh: Annotated[
        Path | None, Opt("Write the draw's vertices: .csv what goes in, .obj what comes out.", metavar="FILE")
    ] = None,
    whole_pass: Annotated[bool, Opt("With --mesh FILE.obj: all draws of the draw's pass, a group each.")] = False,
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written | Sheets:
    """Save what the framebuffer that is drawn to holds after a call.

    The recording is played up to there. For a frame: the image just before the call that ends it. A draw of Vulkan is
    shown where it runs first, or as 109@144 where call 144 submits draw 109.

    --pixel lists the calls of the frame that wrote this pixel, with the values before and after. It also lists draws
    that cover the pixel and wrote nothing, with the first test that failed: face culling, scissor, discard, coverage
    (also the alpha test), stencil or depth. OpenGL ES 1 has no queries for the tests. There, only the values are known.
    Commands of Vulkan are listed as the frame's submissions run them. Variants of the draw's pipeline tell the tests.

    --overlay and --mesh show a draw: which pixels it reaches, which test keeps it from others, its vertices.
    """
    from drawtap.replay import engine, warm
    from drawtap.replay.place import named, place

    environment = engine.environment_of(on)
    for target in filter(None, (output, mesh)):
        check_target(target, force=force, replaced=True)
    if whole_pass and (mesh is None or mesh.suffix != ".obj" or pixel is not None):
        raise UsageError("--whole-pass is for --mesh FILE.obj", hint="vertices that go in are a table of one draw")
    if pixel is not None or overlay is not None or mesh is not None:
        where = place(trace, call)
        with warm.Warm(Path(trace.path), environment=environment, frame_end=trace.frame_end, looks=True) as player:
            if pixel is not None:
                return _history(trace, where, pixel, player)
            if mesh is not None:
                return _pass(trace, where, mesh, player) if whole_pass else _mesh(trace, where, mesh, player)
            return _overlay(trace, where, overlay, output, player)
    where = place(trace, call)
    if output is None:
        raise UsageError("where does the picture go?", hint="-o FILE.png, or --pixel X,Y for the history of a pixel")
    if output.suffix not in (".png", ".ppm", ".rgba"):
        raise UsageError(f"no picture is written as {output.suffix or output.name}", hint="name it .png, .ppm or .rgba")
    asked = warm.shared(Path(trace.path), environment=environment, frame_end=trace.frame_end)
    why = asked.image(where, output)
    if why:
        raise UnavailableError(f"no image at {named(call)}: {why}")
    if output.suffix == ".png":
        from drawtap.replay.picture import packed

        output.write_bytes(packed(output.read_bytes()))
    how = "of" if call.startswith("#") else "after"
    return Written(str(output), output.stat().st_size, f"image {how} {named(call)}")


def _history(trace: Trace, place: Place, pixel: str, player: Warm) -> Sheets:
    from drawtap.replay.look import pixel_history

    match = re.fullmatch(r"(\d{1,6}),(\d{1,6})", pixel)
    if match is None:
        raise UsageError(f"{pixel} is no pixel", hint="two numbers from the lower left corner, as 320,240")
    history = pixel_history(trace, place, int(match[1]), int(match[2]), player.look)
    rows = [(_place(e), e["name"], _became(e), _values(e["before"]), _values(e["after"])) for e in history["events"]]
    call = place.call if place.draw is None else f"{place.draw}@{place.call}"
    title = f"pixel {pixel} after call {call}, {history['format']}: color, depth, stencil"
    kinds = {"call": "plain"}
    note = None if rows else "no call of the frame wrote or covered this pixel"
    table = Rows(("call", "name", "what became of it", "before", "after"), rows, kinds, title=title, note=note)
    return Sheets((table,), history, () if rows else (str(note),))


def _became(event: PixelEvent) -> str:
    """Say what the event did to the pixel, and why; in few words, for a terminal has room for few."""
    from drawtap.replay.look import OUTCOMES

    if event["outcome"] == "wrote":
        return event["reason"]
    return f"{OUTCOMES[event['outcome']]}: {event['reason']}"


def _place(event: PixelEvent) -> int | str:
    """Return the call of an event; of Vulkan also the one that submits it, as `place` takes it."""
    return event["call"] if event["submit"] is None else f"{event['call']}@{event['submit']}"


def _mesh(trace: Trace, place: Place, output: Path, player: Warm) -> Written:
    from drawtap.output.text import counted
    from drawtap.replay import look

    if output.suffix not in (".csv", ".obj"):
        raise UsageError(f"no mesh is written as {output.suffix or output.name}", hint="name it .csv or .obj")
    call = place.call if place.draw is None else place.draw
    mesh = look.mesh(trace, place, player.look)
    why = mesh.why_in if output.suffix == ".csv" else mesh.why
    if why:
        raise UnavailableError(f"no vertices of call {call}: {why}")
    if output.suffix == ".csv":
        write_whole(output, look.mesh_csv(mesh))
        what = counted(len(mesh.vertices), "vertex", "vertices")
        if mesh.instances > 1:
            given = look.csv_instances(mesh)
            what += f", instances 0 to {given - 1} of {mesh.instances},"
    else:
        write_whole(output, look.mesh_obj(mesh))
        what = f"{len(mesh.fates)} primitives" + (f", {mesh.instances} instances," if mesh.instances > 1 else "")
    return Written(str(output), output.stat().st_size, f"{what} of call {call}")


def _pass(trace: Trace, place: Place, output: Path, player: Warm) -> Written:
    from drawtap.output.text import counted
    from drawtap.replay import look

    of = look.pass_draws(trace, place, _PASS_DRAWS)
    call = place.call if place.draw is None else place.draw
    draws = look.pass_mesh(of, call, player.look, _PASS_CORNERS)
    shown = [one.mesh for one in draws if one.mesh is not None]
    if not shown:
        why = f": {draws[0].why}" if draws else ""
        raise UnavailableError(f"no primitives of pass {of.number} are known{why}")
    write_whole(output, look.pass_obj(of, draws))
    without = len(draws) - len(shown) + of.left_out
    rest = f"; {counted(without, 'draw')} without any, the file says why" if without else ""
    primitives = counted(sum(len(mesh.fates) for mesh in shown), "primitive")
    what = f"{primitives} of {counted(len(shown), 'draw')} of pass {of.number}{rest}"
    return Written(str(output), output.stat().st_size, what)


def _overlay(trace: Trace, place: Place, overlay: str | None, output: Path | None, player: Warm) -> Written:
    import numpy as np

    from drawtap.output.picture import png
    from drawtap.replay import look

    if overlay not in (*look.MASKS, "overdraw"):
        raise UsageError(f"there is no overlay {overlay}", hint=f"{', '.join(look.MASKS)} or overdraw")
    if output is None or output.suffix not in (".png", ".npy"):
        raise UsageError("where does the overlay go?", hint="-o FILE.png, or -o FILE.npy for the numbers")
    call = place.call if place.draw is None else place.draw
    if overlay == "overdraw":
        counts = look.overdraw(trace, place, player.look)[0].astype(np.int64)
    else:
        masks = look.masks(trace, place, player.look)
        if overlay in masks.why:
            raise UnavailableError(f"no overlay {overlay} of call {call}: {masks.why[overlay]}")
        counts = masks.counts[overlay]
    if output.suffix == ".npy":
        np.save(output, counts)
    else:
        grey = (counts[::-1] * 255 // max(int(counts.max()), 1)).astype(np.uint8)
        output.write_bytes(png(np.dstack([grey, grey, grey, np.full_like(grey, 255)])))
    return Written(str(output), output.stat().st_size, f"{int(counts.sum())} fragments of call {call}")


def _values(of: PixelValues) -> str:
    values = [of["color"], of["depth"], of["stencil"]]
    return "; ".join(" ".join(f"{n:.6g}" if isinstance(n, float) else str(n) for n in v) for v in values if v)
