"""`drawtap verify-state`: the computed state against a driver's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Rows, Sheets

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_MOST_SHOWN = 200


@command(
    section="replay",
    examples=("drawtap verify-state game.dtap", "drawtap verify-state game.dtap --every 100 --on llvmpipe"),
)
def verify_state(
    trace: Trace,
    *,
    every: Annotated[
        int, Opt("Ask after each N-th call; 0: at the ends of frames and some calls between.", "-n", "N")
    ] = 0,
    on: Annotated[str, Opt("The engine; drawtap engines lists them.", metavar="ENGINE")] = "system",
) -> Sheets:
    """Compare the state that is computed from the calls with what a driver says.

    The recording is played once and the driver asked with glGet* and the like. Every value that differs is shown, and
    the variables that were not compared because only one side knows them. Exit code 1 where something differs.
    """
    from drawtap.replay import engine
    from drawtap.replay.verify import points_of, verify

    found = verify(trace, points_of(trace, every or None), environment=engine.environment_of(on))
    different = [(d.seq, d.path, d.computed, d.driver) for d in found.disagreements]
    notes = [
        f"{found.compared:,} values of {len(found.variables):,} variables compared after {len(found.points)} calls: "
        f"{len(different):,} disagree"
    ]
    if len(different) > _MOST_SHOWN:
        notes.append(f"only the first {_MOST_SHOWN} are shown; --json has all")
    data = {
        "points": found.points,
        "compared": found.compared,
        "variables": len(found.variables),
        "disagreements": [
            {"seq": d.seq, "path": d.path, "computed": d.computed, "driver": d.driver} for d in found.disagreements
        ],
        "not_compared": dict(found.not_compared),
        "only_computed": dict(found.only_computed),
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
            sorted(found.not_compared.items()),
            {"times": "count"},
            title="Not compared: only the driver tells them",
        ),
        Rows(
            ("variable", "times"),
            sorted(found.only_computed.items()),
            {"times": "count"},
            title="Not compared: the driver does not tell them",
        ),
    )
    return Sheets(tables, data, notes)
