"""`drawtap corpus bisect`: which build broke a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.corpus_verdict import PAIRS
from drawtap.commands.options import CORPUS, ENGINES_FILE
from drawtap.errors import UsageError
from drawtap.output.result import Rows, Sheets


@command(
    name="corpus bisect",
    section="corpus",
    examples=(
        "drawtap corpus bisect 3f2a91c04d77 --builds mesa-26.0,b1,b2,b3,mesa-26.1 --corpus recordings/",
        "drawtap corpus bisect 3f2a91c04d77 --builds mesa-26.0,b1,b2,b3,mesa-26.1 --speed --pairs 80",
    ),
)
def corpus_bisect(
    id_: Annotated[str, Opt("a recording, by the first digits of its id", metavar="ID")],
    *,
    builds: Annotated[
        str, Opt("Engines in their order, separated by commas: a good one first, a bad one last.", metavar="ENGINES")
    ],
    corpus: Annotated[str | None, CORPUS] = None,
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    speed: Annotated[bool, Opt("Find the build that is slower, not the one that draws something else.")] = False,
    pairs: Annotated[int, PAIRS] = 80,
    repeats: Annotated[int, Opt("Play a recording that differs so often in all.")] = 3,
) -> Sheets:
    """Find the first build that draws a recording wrong, or plays it slower, than the first one.

    Images that change from run to run are no reason. For speed, builds are measured in pairs with the first one, and
    held against half of the slowdown of the last one, until that is certain. A build that cannot be judged is gone
    around; then several builds may be left. The exit code is 1 where no single build is found.
    """
    from drawtap.corpus import history
    from drawtap.corpus.engines import Engine, named
    from drawtap.corpus.speed import Rule
    from drawtap.corpus.store import chosen
    from drawtap.corpus.verdicts import Effort

    names = [word.strip() for word in builds.split(",") if word.strip()]
    if len(names) < 2 or len(set(names)) < len(names):
        raise UsageError("a series has two builds or more, each once", hint="--builds GOOD,...,BAD")
    rule = Rule(0, pairs)
    rule.looks()
    store = chosen(corpus)
    trace = store.find(id_)

    def engine(name: str) -> Engine:
        return named([name], engines)[0]

    effect = None
    if speed:
        culprit, effect = history.bisect_speed(store, trace, names, engine, rule)
    else:
        effort = Effort(repeats=repeats, draws=False, cuts=False)
        culprit = history.bisect_images(store, trace, names, engine, effort)
    words = {True: "bad", False: "good", None: "cannot be judged"}
    rows = [(build, words[bad]) for build, bad in culprit.asked]
    note = f"first bad: {culprit.bad}; last good: {culprit.good}"
    note += f"; between them, and not judged: {', '.join(culprit.between)}" if culprit.between else ""
    data = {
        "good": culprit.good,
        "bad": culprit.bad,
        "between": list(culprit.between),
        "effect": effect,
        "asked": [{"build": build, "bad": bad} for build, bad in culprit.asked],
    }
    return Sheets([Rows(("build", "it is"), rows, note=note, findings=bool(culprit.between))], data, [])
