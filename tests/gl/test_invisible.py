"""What a program can find out about itself is the same with and without the tap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl


def test_results_errors_threads_signals_and_descriptors_are_the_same(traps: Bench, tmp_path: Path) -> None:
    plain = traps.plain(["invisible"])
    assert plain.returncode == 0, plain.stdout + plain.stderr
    seen = traps.recorded(["invisible"], tmp_path)
    assert seen.result.returncode == 0, seen.result.stdout + seen.result.stderr
    assert _stable(seen.result.stdout) == _stable(plain.stdout)
    # It was under the tap, and each call was seen once.
    assert seen.count("glDrawElements") == 1
    assert seen.count("glDrawArrays") == 1
    assert seen.count("glFlush") == 1


def test_programs_run_the_same_twice(traps: Bench) -> None:
    # Otherwise the comparison above would prove nothing.
    first, second = traps.plain(["invisible"]), traps.plain(["invisible"])
    assert _stable(first.stdout) == _stable(second.stdout)
    assert "checksum" in first.stdout


def _stable(output: str) -> list[str]:
    # The shell's own variables may count how deep it is nested.
    return [line for line in output.splitlines() if not line.startswith(("environment _=", "environment SHLVL="))]
