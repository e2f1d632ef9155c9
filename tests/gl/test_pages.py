"""README, tutorial and how-tos: their blocks run on the tutorial's recording, and print lines of the shape shown."""

from __future__ import annotations

import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import drawtap as library
import shared
from conftest import Answer
from drawtap import parts
from drawtap.live.client import Client
from drawtap.live.folder import Folder
from gl.conftest import TIMEOUT_S, Bench
from pretended import wait_for

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs/tutorial.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
TUTORIAL = ROOT / "docs/tutorial.md"
RED_CELL = ROOT / "docs/howto/red-cell.md"
#: Recordings that pages name: each is the tutorial's.
RECORDINGS = ("mark", "game", "before", "after", "good", "a", "b", "other", "demo", "run", "first", "rest")
#: The kernel trace that pages name `trace.dat`.
KERNEL_TRACE = ROOT / "tests/data/kernel/drm-sched-6.1.dat.xz"
#: Programs that pages name: each draws ten frames of a triangle, whatever its arguments are.
PROGRAMS = ("game", "program", "offscreen", "test_scene")
#: Programs that pages run in the background: they show frames until their standard input ends.
ENDLESS = ("glmark2",)
#: Blocks that are nothing to run: what a file has, or what a program printed.
DATA = ("toml", "ini", "c", "text")
#: Pages whose questions other tests ask of recordings with rows for each (tests/unit/test_queries_page.py).
ROWS_ELSEWHERE = ("queries",)


@dataclass
class Block:
    """A block of a page, and the remarks on it: `<!-- not run: why -->`, `<!-- no rows: why -->` and the like."""

    kind: str
    line: int
    text: str
    remarks: dict[str, str]
    before: str  # the text above it


@dataclass
class Step:
    """A line of a shell, and the lines that the page shows below it."""

    command: str
    shown: list[str] = field(default_factory=list)


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page that a reader can run."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"((?:^<!-- (?:(?!-->).)*-->\n)?)^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        remark, kind, body = match.groups()
        said = re.fullmatch(r"<!-- (not run|no rows|other output): (\S.*?) -->\s*", remark, re.DOTALL)
        remarks = {said.group(1): said.group(2)} if said else {}
        above = text[: match.start()].rstrip()
        yield Block(kind, text[: match.start(2)].count("\n") + 1, body, remarks, above[above.rfind("\n") + 1 :])


def steps(text: str) -> list[Step]:
    """Return the commands of a console block."""
    found: list[Step] = []
    for line in text.splitlines():
        if found and _open(found[-1].command):
            found[-1].command += "\n" + line
        elif line.startswith("$ "):
            found.append(Step(line[2:]))
        else:
            assert found, f"a console block begins with its output: {line}"
            found[-1].shown.append(line)
    return found


def _open(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:  # a quotation goes on in the next line
        return True
    return False


def shape(line: str) -> str:
    """Return a line without what differs from run to run: numbers, units of time and size, bars, names of drivers."""
    line = re.sub(r"\(LLVM [^)]*\)|Mesa [\d.]+", "DRIVER", line)
    line = re.sub(r"[-+×]? ?\d[\d ,.]*", " N ", line)  # a sign takes the place of the blank before a number
    line = re.sub(r"N +(?:ns|µs|ms|s|B|KiB|MiB|GiB|%)(?!\w)", "N", line)
    return re.sub(r"[\W_]+", " ", line).strip()


def missing(shown: list[str], printed: str) -> str | None:
    """Return the first line of a page that a program did not print in this order; `...` stands for any lines."""
    lines = iter([shape(line) for line in printed.splitlines()])
    for line in shown:
        wanted = shape(line.removesuffix("...").rstrip())
        cut = line.rstrip().endswith("...")
        if wanted and not any(p == wanted or (cut and p.startswith(wanted)) for p in lines):
            return line
    return None


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory, programs: Bench) -> Path:
    """Return the folder of the tutorial's recording, made by the tutorial's own first line."""
    for tool in ("glmark2-es2", "xvfb-run"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")

    def record(folder: Path) -> Path:
        binary = folder / "bin" / "drawtap"
        binary.parent.mkdir()
        binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m drawtap "$@"\n')
        binary.chmod(0o755)
        step = next(step for block in blocks(TUTORIAL) if block.kind == "console" for step in steps(block.text))
        environment = programs.environment() | {"PATH": f"{binary.parent}:{os.environ['PATH']}"}
        environment.pop("EGL_PLATFORM")
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert missing(step.shown, done.stdout + done.stderr) is None, done.stderr
        command = [str(binary), "export", "mark.dtap", "-o", "game.trace"]  # as apitrace would have recorded it
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=TIMEOUT_S)
        return folder

    return shared.once(tmp_path_factory, "tutorial", record)


@pytest.fixture
def folder(recording: Path, programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which a page's blocks run, with the recordings and programs that pages name."""
    for name in RECORDINGS:
        shutil.copy(recording / "mark.dtap", tmp_path / f"{name}.dtap")
    shutil.copy(recording / "game.trace", tmp_path)
    (tmp_path / "trace.dat").write_bytes(lzma.decompress(KERNEL_TRACE.read_bytes()))
    for name in PROGRAMS:
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nexec "{programs.programs / "es2_triangle"}"\n', encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for name, value in programs.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{recording / 'bin'}:{os.environ['PATH']}")
    return tmp_path


@dataclass
class Background:
    """What a page starts with `&`: a manager and endless programs are stopped at its end, others end by themselves."""

    folder: Path
    started: list[tuple[str, Step, subprocess.Popen[str]]] = field(default_factory=list)

    def start(self, where: str, step: Step) -> None:
        words = shlex.split(step.command, comments=True)[:-1]
        with (self.folder / f"background{len(self.started)}").open("w") as said:
            self.started.append((where, step, subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=said, stderr=subprocess.STDOUT, text=True)))  # fmt: skip
        if "manager" in words:
            wait_for((self.folder / "drawtap" / "control.sock").exists, "the manager")
        if words[-1] in ENDLESS:
            wait_for(lambda: any(p["surfaces"] for p in _programs(self.folder)), "its first frame")
        if "--listen" in words:
            wait_for((self.folder / words[words.index("--listen") + 1].removeprefix("unix:")).exists, "the receiver")

    def finish(self) -> None:
        for number, (where, step, process) in enumerate(self.started):
            assert process.stdin is not None
            process.stdin.close()
            if "manager" in step.command:
                process.terminate()
            assert process.wait(TIMEOUT_S) == 0, f"{where}: {step.command}"
            line = missing(step.shown, (self.folder / f"background{number}").read_text())
            assert line is None, f"{where}: {step.command} does not print {line!r}"


def _programs(folder: Path) -> list[dict[str, object]]:
    with Client(Folder(folder / "drawtap")) as client:
        found: list[dict[str, object]] = client.ask("list")["programs"]
    return found


@pytest.fixture
def background(folder: Path) -> Iterator[Background]:
    made = Background(folder)
    yield made
    for _, _, process in made.started:
        if process.poll() is None:
            process.kill()
            process.wait()


def _openvg_program(folder: Path) -> None:
    """Make the OpenVG program of the page on OpenVG."""
    library, source = parts.part(parts.OPENVG).parent, ROOT / "tests/openvg/frames.c"
    headers = shared.write_headers(folder / "headers")
    paths = [
        f"-I{headers}",
        f"-L{library}",
        "-l:libOpenVG.so.1",
        "-l:libEGL.so.1",
        "-lm",
        "-Wl,--as-needed",
        "-lGLESv2",
    ]
    subprocess.run(["cc", str(source), "-o", str(folder / "tiger"), *paths], check=True)


def _folder_of_recordings(folder: Path) -> None:
    """Make the folder of the page on alike applications: two programs, one of them recorded twice."""
    (folder / "recordings").mkdir()
    sources = {"scene": "mark.dtap", "again": "other.dtap", "triangle": ROOT / "tests/data/trace-v1-es2_triangle.dtap"}
    for name, source in sources.items():
        shutil.copy(folder / source, folder / "recordings" / f"{name}.dtap")


def _endless_programs(folder: Path) -> None:
    for name in ENDLESS:
        source = ROOT / "tests/live/programs/frames.c"
        target = folder / "endless" / name
        target.parent.mkdir(exist_ok=True)
        subprocess.run(["cc", str(source), "-o", str(target), "-lEGL", "-lGLESv2"], check=True)


@pytest.mark.sample(5)
@pytest.mark.parametrize("page", [page for page in PAGES if page != RED_CELL], ids=lambda page: page.stem)
def test_blocks_run(
    page: Path,
    folder: Path,
    drawtap: Callable[..., Answer],
    background: Background,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _blocks_run(page, folder, drawtap, background, monkeypatch)


def test_the_way_to_a_red_cell_and_its_minimal_recording(
    folder: Path, drawtap: Callable[..., Answer], background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    _blocks_run(RED_CELL, folder, drawtap, background, monkeypatch)


def _blocks_run(
    page: Path,
    folder: Path,
    drawtap: Callable[..., Answer],
    background: Background,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepare = {"openvg": _openvg_program, "cluster": _folder_of_recordings}.get(page.stem)
    if prepare:
        prepare(folder)
    if "-- glmark2 &" in page.read_text(encoding="utf-8"):
        _endless_programs(folder)
        monkeypatch.setenv("PATH", f"{folder / 'endless'}:{os.environ['PATH']}")
        monkeypatch.delenv("DRAWTAP_MANAGER")
    with library.open(folder / "mark.dtap") as trace:
        for block in blocks(page):
            where = f"{page.name}:{block.line}"
            if "not run" in block.remarks:
                continue
            if block.kind == "console":
                for step in steps(block.text):
                    if not (page == TUTORIAL and " record " in step.command):  # which the fixture ran
                        if re.search(r"&\s*(#|$)", step.command):
                            background.start(where, step)
                        else:
                            _run(where, step, block, drawtap)
            elif block.kind == "sql":
                for query in filter(str.strip, block.text.split(";")):
                    rows = trace.sql(query).fetchall()
                    assert rows or "no rows" in block.remarks or page.stem in ROWS_ELSEWHERE, (
                        f"{where}: no rows: {query}"
                    )
            elif prompted := re.findall(r"^\w+> (.*)", block.text, re.MULTILINE):
                script = folder / "script.txt"
                script.write_text("\n".join(prompted) + "\n", encoding="utf-8")
                answer = drawtap("shell", "mark.dtap", "--script", str(script))
                assert answer.code == 0, f"{where}: {answer.out}{answer.err}"
            elif named := re.search(r"`(\w+\.(?:toml|py|c))`:$", block.before):
                (folder / named.group(1)).write_text(block.text, encoding="utf-8")
            elif block.kind == "python":
                done = subprocess.run([sys.executable, "-c", block.text], capture_output=True, text=True)
                assert done.returncode == 0, f"{where}: {done.stderr}"
            else:
                assert block.kind in DATA, f"{where}: nobody runs {block.kind}"
    background.finish()


def _run(where: str, step: Step, block: Block, drawtap: Callable[..., Answer]) -> None:
    for name in re.findall(r"-o (\S+\.dtap)", step.command):
        Path(name).unlink(missing_ok=True)  # a prepared one
    words = shlex.split(step.command, comments=True)
    if words[0] == "drawtap" and not re.search(r"[|&<>$;]", re.sub(r"'[^']*'|\"[^\"$]*\"", "", step.command)):
        answer = drawtap(*words[1:])
        code, printed = answer.code, answer.out + answer.err
        assert code in (0, 1), f"{where}: {step.command}: exit code {code}\n{printed}"  # 1: findings
    else:
        done = subprocess.run(["bash", "-c", step.command], capture_output=True, text=True, timeout=TIMEOUT_S)
        code, printed = done.returncode, done.stdout + done.stderr
        assert code == 0, f"{where}: {step.command}: exit code {code}\n{printed}"
    assert "(no rows)" not in printed or "drawtap sql" not in step.command or "no rows" in block.remarks, (
        f"{where}: {step.command}: no rows"
    )
    if "other output" not in block.remarks:
        line = missing(step.shown, printed)
        assert line is None, f"{where}: {step.command} does not print {line!r} but\n{printed}"
