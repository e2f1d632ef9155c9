"""`drawtap engines`: what recordings can be played on here."""

from __future__ import annotations

from drawtap.commands import command
from drawtap.view.result import Rows


@command(section="replay", examples=("drawtap engines", "drawtap engines --json"))
def engines() -> Rows:
    """List the drivers that a recording can be played on here, and why it cannot on others.

    Each driver is asked in a process of its own. drawtap replay --on NAME plays on one of them.
    """
    from drawtap.replay import engine

    answers = [engine.ask(engine.ENGINES.get(name)) for name in engine.ENGINES.names()]
    return Rows(
        ("engine", "works", "renderer", "es", "gl", "about"),
        [
            (a.engine.name, "yes" if a.works else "no", a.renderer or a.reason, a.es, a.gl, a.engine.about)
            for a in answers
        ],
    )
