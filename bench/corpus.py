"""What a corpus takes: bytes of whole files beside bytes of the store, and a question to a thousand recordings.

Run with `python -m bench --only corpus`. The recordings are four of glmark2-es2: two runs of the same scenes, and two
that share scenes with them.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator

from bench.measure import BenchError, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap

_SCENES = {
    "run": ("terrain:nframes=20", "build:nframes=100", "texture:nframes=100"),
    "again": ("terrain:nframes=20", "build:nframes=100", "texture:nframes=100"),
    "one shared": ("terrain:nframes=20", "effect2d:nframes=50"),
    "two shared": ("build:nframes=50", "texture:nframes=50", "jellyfish:nframes=50", "refract:nframes=10"),
}
_MANY, _MORE = 1000, 10_000
_PIECE = 64 << 10


def rows(setup: Setup) -> Iterator[Row]:
    """Add four recordings and a cut; ask a corpus of a thousand; look at one of ten thousand."""
    yield from _bytes(setup)
    yield _question(setup)
    yield from _page(setup)


def _bytes(setup: Setup) -> Iterator[Row]:
    from drawtap.corpus.adding import Adder
    from drawtap.corpus.store import create

    if not shutil.which("glmark2-es2"):
        yield Row("corpus", "not measured", "", note="glmark2-es2 is not installed")
        return
    folder = setup.scratch / "corpus"
    folder.mkdir()
    adder = Adder(create(str(folder / "store")))
    files, contents, everything, cut = 0, [], 0, folder / "cut.dtap"
    with setup.display() as environment:
        for name, scenes in _SCENES.items():
            path = folder / f"{name}.dtap"
            program = ["glmark2-es2", "--off-screen", "-s", "64x64", *(w for s in scenes for w in ("-b", s))]
            run_process(drawtap("record", "-q", "-o", str(path), "--", *program), environment=environment)
            added = adder.add(path)
            files, everything = files + added.file_bytes, everything + added.new_bytes
            contents.append(added.new_content_bytes)
        run_process(
            drawtap("extract", str(folder / "run.dtap"), "--frames", "60", "-o", str(cut)), environment=environment
        )
    pieces = {
        hashlib.sha256(piece).digest(): len(piece)
        for name in _SCENES
        for piece in _cut((folder / f"{name}.dtap").read_bytes())
    }
    note = f"4 recordings of glmark2-es2, {files / 1e6:.1f} MB of files, {everything / 1e6:.1f} MB of store"
    yield Row("corpus", "files, times the store", "", files / everything, None, None, Goal(least=1.8), note)
    told = f"the files in pieces of {_PIECE >> 10} KiB, equal ones once: {files / sum(pieces.values()):.2f}"
    yield Row("corpus", "contents of a second run", "bytes", contents[1], None, None, Goal(most=0, unit="bytes"), told)
    added = adder.add(cut)
    share = 100 * added.new_bytes / (folder / "run.dtap").stat().st_size
    note = f"{added.new_content_bytes} bytes of contents, {added.new_bytes / 1e3:.0f} kB in all"
    yield Row("corpus", "a cut of one frame, of its recording", "%", share, None, None, Goal(most=2, unit="%"), note)


def _cut(content: bytes) -> Iterator[bytes]:
    for at in range(0, len(content), _PIECE):
        yield content[at : at + _PIECE]


def _question(setup: Setup) -> Row:
    from bench.simulated import simulated
    from drawtap.corpus.search import Corpus
    from drawtap.tables.corpus import FILED, OF_TASKS

    questions = {}
    for name, table in FILED.items():
        each = {"frames": 700, "functions": 60, "contents": 50, "features": 36, "findings": 15}.get(name, 1)
        cells = ", ".join(f'hash(trace, r) % 100000 AS "{c.name}"' for c in table.columns if c.name != "trace")
        if name not in OF_TASKS:
            questions[name] = f"SELECT trace, {cells} FROM ids, range({each}) t(r)"
    store = simulated(setup.scratch / "many", _MANY, questions)
    samples = []
    for _ in range(3):
        began = time.perf_counter()
        with Corpus(store) as corpus:
            question = (
                "SELECT t.program, sum(f.draws), max(f.duration) FROM traces t JOIN frames f USING (trace) GROUP BY 1"
            )
            if not corpus.query(question).fetchall():
                raise BenchError("a corpus of a thousand recordings answers nothing")
        samples.append(time.perf_counter() - began)
    note = f"{_MANY} recordings, {_MANY * 700:,} frames: from opening the corpus to the answer"
    return Row(
        "corpus",
        "a question to all",
        "s",
        sorted(samples)[1],
        None,
        None,
        Goal(most=1, unit="s"),
        note,
        {"all": samples},
    )


def _page(setup: Setup) -> Iterator[Row]:
    """Open the page of ten thousand recordings, and plan a verdict about them."""
    from bench.simulated import simulated
    from bench.view_page import ViewedPage, browser, cpu_s, resident_mb, row, served

    where = setup.scratch / "more"
    simulated(where, _MORE, tag=("smoke", "yes"))
    group, words = f"corpus of {_MORE:,} recordings", ("--corpus", str(where))
    shown, spent, memory, heap = [], [], [], []
    with browser() as chromium:
        for _ in range(5):
            begun = time.monotonic()
            with served("corpus", "serve", *words) as (address, process):
                page = ViewedPage(chromium, address)
                if page.page.evaluate("drawtap.view.length") != _MORE:
                    raise BenchError("the page does not show all recordings")
                shown.append(time.monotonic() - begun)
                spent.append(cpu_s(process))
                memory.append(resident_mb(process))
                heap.append(page.heap_mb())
                page.page.close()
    yield row(group, "from the command to the page's rows", shown, Goal(most=2, unit="s"))
    yield row(group, "processor time of the server until then", spent, Goal(unit="s"))
    yield row(group, "memory of the server", memory, Goal(most=1000, unit="MB"))
    yield row(group, "memory of the page's objects", heap, Goal(unit="MB"))
    engines = setup.scratch / "engines.toml"
    engines.write_text("".join(f'["mesa-26.{n}"]\nbase = "llvmpipe"\nenv = {{ BUILD = "{n}" }}\n' for n in range(2)))
    sides = ("--new", "mesa-26.1", "--base", "mesa-26.0", "--engines", str(engines))
    planned = []
    for _ in range(3):
        begun = time.monotonic()
        run_process(drawtap("corpus", "verdict", "--tag", "smoke=yes", "--speed", "--plan", *sides, *words))
        planned.append(time.monotonic() - begun)
    yield row(group, "verdict --speed --plan", planned, Goal(most=5, unit="s"))
