"""`drawtap merge`: recordings of one run as one, by time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.edit import verdicts
from drawtap.commands.join import existing
from drawtap.errors import check_target
from drawtap.view.result import Verdicts


@command(section="edit", examples=("drawtap merge browser.dtap browser-4711.dtap -o run.dtap",))
def merge(
    *recordings: Annotated[Path, Opt("two recordings or more", metavar="FILE")],
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write the processes or threads of one run as one recording, calls in the order of their times.

    The order of the calls of each recording stays as it is. What several programs called alike (contexts, surfaces,
    configurations, images, syncs, drawables, thread numbers) is told apart, so that each draws what it draws alone;
    parts of one recording keep their names. Times are those of one machine's clock: recordings of different machines,
    or from before and after a restart, do not become coherent. What programs shared through the system (a window that
    both draw into, buffers passed between them) each has for itself.
    """
    from drawtap.trace.edit import merge as merged

    check_target(output, force=force, replaced=True)
    return verdicts(merged(existing(recordings), output))
