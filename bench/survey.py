"""One question asked of many programs: what is common to `python -m bench exact` and `python -m bench extract`."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rich.console import Console
from rich.table import Table

from bench.measure import BenchError
from bench.setup import ROOT, Setup
from drawtap.errors import DrawtapError

if TYPE_CHECKING:
    from bench.exact import Program

R = TypeVar("R")


@dataclass(frozen=True)
class Survey(Generic[R]):
    """What is asked of each program, and how the answers look.

    `check` takes a program, a folder, the display's variables and whether apitrace is to do it as well, and raises
    BenchError or DrawtapError where something does not run; `failed` is the answer then. `line` is said of each as it
    comes, `cells` is its row under `headings`; `good` says whether it is as wanted.
    """

    name: str
    title: str
    about: str
    frames: int
    programs: Callable[[Setup, int], Iterator[Program]]
    check: Callable[[Program, Path, Mapping[str, str], bool], R]
    failed: Callable[[str, str], R]
    good: Callable[[R], bool]
    line: Callable[[R], str]
    headings: tuple[str, ...]
    cells: Callable[[R], Sequence[str]]
    summary: Callable[[Sequence[R]], str]

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Ask all programs and print a table. Returns 1 where something was not as wanted or did not run."""
        parser = argparse.ArgumentParser(prog=f"python -m bench {self.name}", description=self.about)
        parser.add_argument("--only", default="*", metavar="PATTERN", help="programs that match, as 'glmark2-es2 *'")
        words = f"of each benchmark of glmark2 (default: {self.frames})"
        parser.add_argument("--frames", type=int, default=self.frames, help=words)
        parser.add_argument("--apitrace", action="store_true", help="let apitrace do the same, to compare")
        words = f"where the JSON goes (default: bench/results/DATE-{self.name}.json)"
        parser.add_argument("--output", type=Path, help=words)
        options = parser.parse_args(arguments)
        console = Console() if sys.stdout.isatty() else Console(width=150)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"drawtap-{self.name}-") as folder:
            setup = Setup(Path(folder), quick=False)
            wanted = [p for p in self.programs(setup, options.frames) if fnmatch.fnmatch(p.name, options.only)]
            results = self.ask(setup, wanted, apitrace=options.apitrace, say=console.print)
        console.print(self.table(results))
        path = options.output or ROOT / "bench" / "results" / f"{time.strftime('%Y-%m-%d')}-{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([_record(r) for r in results], indent=1) + "\n")
        console.print(self.summary(results))
        console.print(f"{time.monotonic() - started:.0f} s, stored in {path}")
        return 0 if results and all(map(self.good, results)) else 1

    def ask(
        self, setup: Setup, programs: Sequence[Program], *, apitrace: bool = False, say: Callable[[str], Any] = print
    ) -> list[R]:
        """Return the answers of all programs, and say each as it comes."""
        results = []
        with setup.display() as display:
            for program in programs:
                try:
                    result = self.check(program, setup.scratch, display, apitrace)
                except (BenchError, DrawtapError) as error:
                    result = self.failed(program.name, str(error))
                say(f"{'ok    ' if self.good(result) else 'DIFFERS'} {program.name}: {self.line(result)}")
                results.append(result)
        return results

    def table(self, results: Sequence[R]) -> Table:
        """Return the answers as a table: the first column is the program, the last one a note."""
        made = Table("program", title=self.title, title_justify="left")
        for heading in self.headings:
            made.add_column(heading, justify="right", no_wrap=True)
        made.add_column("note", overflow="fold")
        for result in results:
            made.add_row(*self.cells(result))
        return made


def _record(result: Any) -> dict[str, object]:
    return asdict(result)
