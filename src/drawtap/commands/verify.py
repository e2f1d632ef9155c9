"""`drawtap verify`: whether a recording shows what it should."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import Findings, UsageError, no_file
from drawtap.output.result import Rows, Sheets, Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.trace.core import Row
    from drawtap.trace.trace import Trace

_MOST_SHOWN = 200


@command(
    section="replay",
    examples=(
        "drawtap verify frame.dtap                 # what drawtap extract or drawtap simplify wrote",
        "drawtap verify frame.dtap --source game.dtap --on llvmpipe",
        "drawtap verify game.dtap                  # any recording: the same as drawtap replay --verify",
        "drawtap verify game.dtap --state --every 100",
        "drawtap verify frame.dtap --sign ~/.ssh/id_ed25519",
        "drawtap verify frame.dtap --signers allowed_signers",
    ),
)
def verify(
    trace: Trace,
    *,
    source: Annotated[
        Path | None, Opt("The original: check that FILE was cut from it, and play it too.", "-s", "FILE")
    ] = None,
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
    state: Annotated[bool, Opt("Compare the computed state with what a driver says.")] = False,
    every: Annotated[int | None, Opt("With --state: ask after each N-th call, not at frame ends.", "-n", "N")] = None,
    sign: Annotated[Path | None, Opt("If it holds, sign that with this key of OpenSSH, into FILE.sig.json.")] = None,
    signers: Annotated[
        Path | None, Opt("Play nothing: check FILE.sig.json against these allowed signers of OpenSSH.", metavar="FILE")
    ] = None,
) -> Verdicts | Sheets | Rows:
    """Check a recording: its certificate, its images, or its state.

    A recording that drawtap extract or drawtap simplify wrote carries a certificate. It is played, and its images are
    compared with those that the certificate names; that the file was not changed since is checked, too. Other engines
    draw other pixels: with --source the recording that it was made from is played here as well, and known by its
    SHA-256. A recording without a certificate is played and compared with its own images and read-backs; the exit code
    is 1 where it has none.

    With --state the recording is played once, and drawtap asks the driver with glGet* and the like. Every value that
    differs from the computed state is shown, and the variables that only one side knows. The exit code is 1 where
    something differs.

    --sign puts the outcome into a signed statement (in-toto) beside the recording, if nothing is wrong. --signers reads
    such a statement: it says whether an allowed signer signed it for exactly this file. Both work offline, by
    ssh-keygen.
    """
    if every is not None and not state:
        raise UsageError("--every is about the state", hint="--state --every 100")
    if state:
        if source is not None:
            raise UsageError("--source is about certificates", hint="leave out --source, or --state")
        return _state(trace, every, on)
    if source is not None and not source.is_file():
        raise no_file(source)
    if signers is not None:
        if sign is not None or source is not None:
            raise UsageError("--signers plays nothing", hint="leave out --sign and --source")
        return _signed(trace, signers)
    checked = _checked(trace, source, on)
    if sign is None:
        return checked
    if not isinstance(checked, Verdicts) or checked.worst not in ("ok", "note"):
        raise Findings(
            f"{trace.path.name} is not signed: it does not hold", hint="without --sign, drawtap verify says why"
        )
    from drawtap.analysis import statement

    predicate: dict[str, object] = {
        "result": "PASSED",
        "configuration": [{"engine": on}],
        "verdicts": [{"subject": v.subject, "finding": v.finding} for v in checked.verdicts],
    }
    path = statement.sign(trace, predicate, sign)
    return Verdicts([*checked.verdicts, Verdict("ok", "signed", str(path))], data=checked.data)


def _signed(trace: Trace, signers: Path) -> Verdicts:
    from drawtap.analysis import statement

    signed = statement.check(trace, signers)
    lines = [Verdict("ok", "signed", f"by {signed.signer}, for this file")]
    verdicts = signed.predicate.get("verdicts")
    for verdict in verdicts if isinstance(verdicts, list) else []:
        if isinstance(verdict, dict):
            lines.append(Verdict("note", str(verdict.get("subject")), str(verdict.get("finding"))))
    return Verdicts(lines, data={"signer": signed.signer, "predicate": dict(signed.predicate)})


def _checked(trace: Trace, source: Path | None, on: str) -> Verdicts | Rows:
    from drawtap.analysis import certificate

    if source is None and not certificate.has_certificate(trace):
        from drawtap.commands.replay import replay

        return replay(trace.path, on=on, verify=True, frame_end=None if trace.frame_end == "auto" else trace.frame_end)
    return _certificate(trace, certificate.certificate_of(trace), source, on)


def _certificate(trace: Trace, said: Row, source: Path | None, on: str) -> Verdicts:
    from drawtap.analysis import certificate
    from drawtap.trace.trace import open_trace

    rule = str(said.get("frame_end", "auto"))
    about = f"{said.get('what')} {said.get('target', '')}".strip()
    made = certificate.file_of(said)
    lines = [Verdict("ok", "certificate", f"{about} of {made}, by drawtap {said.get('version', '')}".rstrip())]
    with open_trace(trace.path, frame_end=None if rule == "auto" else rule) as cut:
        if source is None:
            checks = list(certificate.check(cut, on=on))
        else:
            with open_trace(source, frame_end=None if rule == "auto" else rule) as whole:
                checks = list(certificate.check(cut, on=on, source=whole))
    lines += [Verdict("note" if c.holds is None else "ok" if c.holds else "error", c.what, c.text) for c in checks]
    data = {"certificate": said, "checks": [{"what": c.what, "holds": c.holds, "text": c.text} for c in checks]}
    return Verdicts(lines, data=data)


def _state(trace: Trace, every: int | None, on: str) -> Sheets:
    from drawtap.output.text import counted
    from drawtap.replay import engine
    from drawtap.replay.verify import points_of, verify
    from drawtap.trace import apis

    apis.refuse(trace, "verify: state")
    verified = verify(trace, points_of(trace, every or None), environment=engine.environment_of(on))
    different = [(d.seq, d.path, d.computed, d.driver) for d in verified.disagreements]
    notes = [
        f"{verified.compared:,} values of {len(verified.variables):,} variables compared "
        f"after {counted(len(verified.points), 'call')}: {len(different):,} disagree"
    ]
    if len(different) > _MOST_SHOWN:
        notes.append(f"only the first {_MOST_SHOWN} are shown; --json has all")
    data = {
        "points": verified.points,
        "compared": verified.compared,
        "variables": len(verified.variables),
        "disagreements": [asdict(one) for one in verified.disagreements],
        "not_compared": dict(verified.not_compared),
        "only_computed": dict(verified.only_computed),
    }
    tables = (
        Rows(
            ("seq", "path", "computed", "driver"),
            different[:_MOST_SHOWN],
            title="They disagree",
            findings=bool(different),
        ),
        Rows(
            ("variable", "times"),
            sorted(verified.not_compared.items()),
            {"times": "count"},
            title="Not compared: only the driver tells them",
        ),
        Rows(
            ("variable", "times"),
            sorted(verified.only_computed.items()),
            {"times": "count"},
            title="Not compared: the driver does not tell them",
        ),
    )
    return Sheets(tables, data, notes)
