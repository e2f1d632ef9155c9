"""`drawtap set-egl-config`: a recording that asks for a framebuffer configuration of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.edit import verdicts
from drawtap.commands.replay import check_config
from drawtap.errors import check_target
from drawtap.view.result import Verdicts

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="edit",
    name="set-egl-config",
    examples=(
        "drawtap set-egl-config game.dtap red=5,green=6,blue=5 -o 565.dtap",
        "drawtap set-egl-config game.dtap samples=4 -o smooth.dtap",
        "drawtap set-egl-config 565.dtap recorded -o again.dtap",
    ),
)
def set_egl_config(
    trace: Trace,
    config: Annotated[str, Opt("red=8,green=8,..., as for replay --config, or: recorded")],
    *,
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording that is played on a framebuffer configuration of your choice.

    The calls stay as they are. Whatever plays it (replay, compare, image, extract, state --from-driver) asks the driver
    for the nearest configuration to this one, and replay notes what it had to relax; --config of replay goes before it.
    With "recorded" the recorded configuration counts again.
    """
    from drawtap.trace.edit import set_egl_config as with_config

    wanted = "" if config == "recorded" else config
    if wanted:
        check_config(wanted)
    check_target(output, force=force, replaced=True)
    return verdicts(with_config(trace, wanted, output))
