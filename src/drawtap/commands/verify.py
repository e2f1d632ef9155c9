"""`drawtap verify`: whether a cut shows what its certificate says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import InputError
from drawtap.view.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=("drawtap verify frame.dtap", "drawtap verify frame.dtap --source game.dtap --on llvmpipe"),
)
def verify(
    trace: Trace,
    *,
    source: Annotated[
        Path | None, Opt("What it was made from: look whether it is, and play it too.", "-s", "FILE")
    ] = None,
    on: Annotated[str, Opt("The engine; drawtap engines lists them.", metavar="ENGINE")] = "system",
) -> Verdicts:
    """Check the certificate of a recording that drawtap extract or drawtap simplify wrote.

    The recording is played and its images compared with those that the certificate names; that it was not changed
    since is checked, too. Other engines draw other pixels: with --source the recording that it was made from is
    played here as well, and known by its SHA-256. The exit code is 1 where something is not so.
    """
    from drawtap.analysis import certificate
    from drawtap.trace.trace import open_trace

    said = certificate.certificate_of(trace)
    rule = str(said.get("frame_end", "auto"))
    about = f"{said.get('what')} {said.get('target', '')}".strip()
    made = certificate.file_of(said)
    lines = [Verdict("ok", "certificate", f"{about} of {made}, by drawtap {said.get('version', '')}".rstrip())]
    if source is not None and not source.is_file():
        raise InputError(f"there is no file {source}")
    with open_trace(trace.path, frame_end=None if rule == "auto" else rule) as cut:
        if source is None:
            checks = list(certificate.check(cut, on=on))
        else:
            with open_trace(source, frame_end=None if rule == "auto" else rule) as whole:
                checks = list(certificate.check(cut, on=on, source=whole))
    lines += [Verdict("note" if c.holds is None else "ok" if c.holds else "error", c.what, c.text) for c in checks]
    data = {"certificate": said, "checks": [{"what": c.what, "holds": c.holds, "text": c.text} for c in checks]}
    return Verdicts(lines, data=data)
