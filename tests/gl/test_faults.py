"""Faults at each place where the tap and the drainer ask the system for something: nothing is lost that is not said.

A library that is preloaded makes one call fail, kills the process there, or jumps out of it (faults.c). A sample runs
here, chosen by a seed; `python tests/gl/test_faults.py` runs all of them and prints the figures.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import drawtap
from drawtap.errors import DrawtapError
from drawtap.output.recording_facts import facts, problems
from drawtap.parts import DRAINER, TAP, part

pytestmark = pytest.mark.gl
HERE = Path(__file__).parent
CALLS = 9000  # four chunks
SAMPLE, SEED = 5 if os.environ.get("DRAWTAP_TESTS") == "all" else 2, 7  # of each kind
# "record", "stream": the drainer's, under `drawtap record` to a file and to a receiver.
WAYS = {
    "tap": (errno.ENOMEM, errno.EMFILE, errno.EINTR, "kill", "jump"),
    "drainer": (errno.ENOMEM, errno.ENOSPC, errno.EIO, "kill"),
    "record": (errno.ENOMEM, errno.ENOSPC, "kill"),
    "stream": (errno.EPIPE, errno.ENOMEM, "kill"),
}
SAMPLES = {"record": 1, "stream": 1}
# Only the first drainer of a recording has the fault; where it is killed, record starts another.
DRAIN = """#!/bin/sh
if mkdir "$(dirname "$0")/was"; then export LD_PRELOAD={faults}; fi 2>/dev/null
exec {real} "$@"
"""


@dataclass(frozen=True)
class Fault:
    """One call that goes wrong: whose, which, and how (an errno, "kill" or "jump")."""

    where: str
    at: int
    how: int | str


@dataclass(frozen=True)
class Outcome:
    """What came of a run: calls made, left by a jump and recorded, and all that was said about it."""

    fault: Fault
    made: int
    recorded: int
    said: tuple[str, ...]
    code: int
    seen: int
    site: str

    @property
    def lost_silently(self) -> int:
        """Return how many calls are missing where nothing says that any may be."""
        return 0 if self.said else max(self.made - self.recorded, 0)

    @property
    def disturbed(self) -> bool:
        """Tell whether the program ended in another way than it would have by itself.

        `drawtap record` ends with 1 where calls are missing, and with another code where it starts no program.
        """
        if self.fault.where in SAMPLES:
            good = (1,) if self.recorded < self.made else (0, 1) if self.said else (0,)
            return bool(self.made) and self.code not in good
        killed = (self.fault.where, self.fault.how) == ("tap", "kill")
        return self.code not in ((0, -signal.SIGKILL) if killed else (0,))


@dataclass
class Bench:
    """Where the programs are, and a folder for each run."""

    folder: Path
    runs: int = 0

    def build(self) -> None:
        """Compile the library and the program."""
        for name, flags in (("faults", ["-shared", "-fPIC", "-ldl"]), ("fault_calls", ["-lGL"])):
            target = self.folder / name
            subprocess.run(["cc", "-O1", "-Wall", "-Wextra", HERE / f"{name}.c", "-o", target, *flags], check=True)

    def run(self, fault: Fault) -> Outcome:
        """Record the program with one fault."""
        self.runs += 1
        here = self.folder / str(self.runs)
        here.mkdir()
        outcome = self._recorded(fault, here) if fault.where in SAMPLES else self._drained(fault, here)
        shutil.rmtree(here)
        return outcome

    def _recorded(self, fault: Fault, here: Path) -> Outcome:
        """Have `drawtap record` start the drainer with the fault, and a receiver where it is to go to one."""
        native, plain = here / "native", _plain()
        native.mkdir()
        real = part(DRAINER)
        for entry in real.parent.iterdir():
            if entry.name != real.name:
                (native / entry.name).symlink_to(entry)
        (native / real.name).write_text(DRAIN.format(faults=self.folder / "faults", real=real))
        (native / real.name).chmod(0o755)
        plain |= {"DRAWTAP_NATIVE": str(native), "DRAWTAP_MANAGER": "off", "FAULT_IN": "", "FAULT_AT": str(fault.at)}
        plain |= {"FAULT_DO": str(fault.how), "FAULT_LOG": str(here / "sites")}
        drawtap_command = [sys.executable, "-m", "drawtap"]
        where, receiver = ["-o", "t.dtap"], None
        if fault.where == "stream":
            where = ["--to", "unix:r", "--spill", "t.dtap", "--wait=20"]
            listen = [*drawtap_command, "receive", "--listen", "unix:r", "-o", "r.dtap"]
            receiver = subprocess.Popen(
                listen, cwd=here, env=_plain(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            assert receiver.stderr is not None and receiver.stderr.readline()  # it listens
        program = [str(self.folder / "fault_calls"), str(here / "progress"), str(CALLS)]
        done = subprocess.run(
            [*drawtap_command, "record", *where, "--", *program],
            cwd=here,
            env=plain,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if receiver is not None:
            if not (here / "r.dtap").exists():
                receiver.terminate()
            receiver.communicate(timeout=300)
        said = [line for line in done.stderr.splitlines() if line.startswith(("!", "\u2717", "drawtap: "))]
        recorded, missing = 0, list[str]()
        for file in sorted(here.glob("*.dtap")):
            with drawtap.open(file) as trace:
                data = facts(trace)
            recorded += int(str(data["calls"]))
            missing += problems(data)
        return self._outcome(here, fault, recorded, [*said, *missing], done.returncode)

    def _outcome(self, here: Path, fault: Fault, recorded: int, said: list[str], code: int) -> Outcome:
        progress = here / "progress"
        made = struct.unpack_from("<Q", progress.read_bytes())[0] if progress.exists() else 0
        sites = (here / "sites").read_text().split() if (here / "sites").exists() else []
        seen, site = (int(sites[0]), sites[1]) if len(sites) > 1 else (0, "-")
        return Outcome(fault, made, recorded, tuple(said), code, seen, site)

    def _drained(self, fault: Fault, here: Path) -> Outcome:
        """Start a drainer and the program beside it."""
        plain = _plain()
        faults = {"FAULT_AT": str(fault.at), "FAULT_DO": str(fault.how), "FAULT_LOG": str(here / "sites")}
        of = {"tap": {**faults, "FAULT_IN": "libdrawtap-tap"}, "drainer": {**faults, "FAULT_IN": ""}}
        wrong = str(self.folder / "faults")
        environment = plain | (of["drainer"] | {"LD_PRELOAD": wrong} if fault.where == "drainer" else {})
        command = [
            str(part(DRAINER)),
            "--socket",
            f"{here}/s",
            "--output",
            f"{here}/t.dtap",
            "--status",
            f"{here}/status",
        ]
        command += ["--chunk-bytes", "65536", "--exit-when-idle", "60"]
        with (here / "said").open("wb") as said:
            drainer = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=said, stderr=said)
            try:
                while not (here / "s").exists() and drainer.poll() is None:
                    time.sleep(0.002)
                preload = f"{wrong} {part(TAP)}" if fault.where == "tap" else str(part(TAP))
                environment = plain | {
                    "LD_PRELOAD": preload,
                    "DRAWTAP_SOCKET": str(here / "s"),
                    "DRAWTAP_MANAGER": "off",
                }
                environment |= of["tap"] if fault.where == "tap" else {}
                program = [str(self.folder / "fault_calls"), f"{here}/progress", str(CALLS)]
                code = subprocess.run(program, env=environment, stdout=said, stderr=said, timeout=300).returncode
                self._let_end(here, drainer)
                drainer_code = drainer.wait(30)
            finally:
                drainer.kill()
                drainer.wait()
        return self._judge(here, fault, code, drainer_code)

    def _let_end(self, here: Path, drainer: subprocess.Popen[bytes]) -> None:
        """Wait until the drainer has nothing to do any more, and end it."""
        status = here / "status"
        while drainer.poll() is None:  # a drainer that cannot say what it did leaves by --exit-when-idle
            events = status.read_text(errors="replace") if status.exists() else ""
            if '"event": "file"' in events or "not recording" in (here / "said").read_text(errors="replace"):
                break
            time.sleep(0.005)
        drainer.terminate()

    def _judge(self, here: Path, fault: Fault, code: int, drainer_code: int) -> Outcome:
        said = [line for line in (here / "said").read_text(errors="replace").splitlines() if line]
        if (here / "status").exists():
            said += [line for line in (here / "status").read_text().splitlines() if '"event": "error"' in line]
        said += [f"the recorder ended with {drainer_code}"] if drainer_code else []
        while _drains(here / "t.dtap"):  # the tap may have started another drainer, which is about to end the file
            time.sleep(0.02)
        try:
            with drawtap.open(here / "t.dtap") as trace:
                data = facts(trace)
            recorded, missing = int(str(data["calls"])), problems(data)
        except (DrawtapError, OSError) as error:
            recorded, missing = 0, [str(error)] if (here / "t.dtap").exists() else []
        return self._outcome(here, fault, recorded, [*said, *missing], code)

    def sites(self, where: str) -> int:
        """Return how many calls of the system a run without a fault makes there."""
        whole = self.run(Fault(where, 1 << 30, 0))
        assert (whole.recorded, whole.made, whole.said, whole.code) == (CALLS, CALLS, (), 0)
        return whole.seen

    def faults(self) -> Iterator[Fault]:
        """Yield every fault that there is, of both processes."""
        for where, ways in WAYS.items():
            for at in range(1, self.sites(where) + 1):
                for how in ways:
                    yield Fault(where, at, how)


def _plain() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("DRAWTAP_", "LD_PRELOAD"))}


def _drains(path: Path) -> bool:
    """Tell whether a process writes a recording of that name: the tap's drainer has it in its command line."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process is gone
            if str(path).encode() in entry.read_bytes().split(b"\0"):
                return True
    return False


def bad(outcomes: list[Outcome]) -> list[Outcome]:
    """Return those runs that lost calls without a word, or that changed how the program ended."""
    return [o for o in outcomes if o.lost_silently or o.disturbed]


def test_no_fault_loses_a_call_that_is_not_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.build()
    every, chance = list(bench.faults()), random.Random(SEED)
    outcomes = [
        bench.run(fault)
        for where, ways in WAYS.items()
        for how in ways
        for fault in chance.sample([f for f in every if (f.where, f.how) == (where, how)], SAMPLES.get(where, SAMPLE))
    ]
    assert not bad(outcomes)
    failed = [o for o in outcomes if isinstance(o.fault.how, int)]
    assert sum(o.site != "-" for o in failed) > len(failed) // 2  # else they were not where the calls are


def main() -> None:
    """Run every fault and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.build()
        every = list(bench.faults())
        outcomes = [bench.run(fault) for fault in every]
    for where in WAYS:
        of = [o for o in outcomes if o.fault.where == where]
        silently, incomplete = sum(o.lost_silently for o in of), sum(o.recorded < o.made for o in of)
        sites = ", ".join(f"{n} {name}" for name, n in collections.Counter(o.site for o in of).most_common())
        print(
            f"{where}: {len(of)} faults; {incomplete} incomplete recordings, each said; calls lost beyond: {silently}"
        )
        print(f"  at {sites}")
    for outcome in bad(outcomes):
        print(outcome)
    sys.exit(bool(bad(outcomes)))


if __name__ == "__main__":
    main()
