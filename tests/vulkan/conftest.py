"""What the tests with Vulkan need: a header made from the registry, programs, recordings of them on lavapipe."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from drawtap.parts import TAP_VULKAN, is_there
from drawtap.spec.registry import load_api
from shared import once, run_drawtap, x_server
from writer import Writer, table

HERE = Path(__file__).parent
MODES = ("pass", "rendering", "samples", "subpasses", "query", "integers", "dispatch")  # of draws.c
DRIVERS = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not is_there(TAP_VULKAN):
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=f"{TAP_VULKAN} is not built (make build)"))


@pytest.fixture(scope="session")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with vk.h: the types, enumerants and commands of the registry."""

    def write(folder: Path) -> Path:
        api = load_api("vk")
        lines = ["#pragma once", api.typedefs]
        lines += [f"#define {name} {value}{'ull' if value > 0x7FFFFFFF else ''}" for name, value in api.enums.items()]
        for command in api.commands.values():
            params = ", ".join(f"{p.type.spelling} {p.name}" for p in command.params) or "void"
            lines.append(f"{command.returns.spelling} {command.name}({params});")
        (folder / "vk.h").write_text("\n".join(lines) + "\n")
        return folder

    return once(tmp_path_factory, "vulkan-header", write)


def build(header: Path, source: Path, output: Path, *options: str) -> Path:
    """Compile a program against the header of the registry."""
    command = ["gcc", "-O1", "-w", "-I", str(header), str(source), "-o", str(output), *options, "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return output


def environment() -> dict[str, str]:
    """Return the environment of a program that runs on lavapipe."""
    if not DRIVERS:
        pytest.skip("lavapipe is not here (Debian: mesa-vulkan-drivers)")
    return {**os.environ, "VK_ICD_FILENAMES": str(DRIVERS[0])}


def swiftshader() -> dict[str, str]:
    """Return the environment of a program that runs on SwiftShader, which Chromium brings along."""
    file = Path(os.environ.get("DRAWTAP_SWIFTSHADER_VULKAN", "/usr/lib/chromium")) / "vk_swiftshader_icd.json"
    if not file.exists():
        pytest.skip(f"there is no {file} (Debian: chromium-common; $DRAWTAP_SWIFTSHADER_VULKAN names another folder)")
    return {**os.environ, "VK_ICD_FILENAMES": str(file)}


@pytest.fixture(scope="session")
def linked(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """headless.c, linked to the loader."""
    environment()
    return once(
        tmp_path_factory,
        "vulkan-linked",
        lambda f: build(header, HERE / "headless.c", f / "linked", "-l:libvulkan.so.1"),
    )


@pytest.fixture(scope="session")
def opened(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with every function looked up."""
    environment()
    source = HERE / "headless.c"
    return once(tmp_path_factory, "vulkan-opened", lambda f: build(header, source, f / "opened", "-DOPENED"))


Record = Callable[..., Path]


@pytest.fixture(scope="session")
def record(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Return a function from a program's name, and its modes, to a folder with a recording in each: MODE.dtap.

    A program without modes is recorded as NAME.dtap.
    """
    environment()

    def recordings(name: str, *modes: str) -> Path:
        def write(folder: Path) -> Path:
            program = build(header, HERE / f"{name}.c", folder / name, "-l:libvulkan.so.1", "-lpthread")
            for mode in modes or ("",):
                trace = folder / f"{mode or name}.dtap"
                words = ["record", "-q", "-o", trace, "--", program, *filter(None, [mode])]
                done = run_drawtap(*words, environment=environment())
                assert done.returncode == 0, done.stderr
            return folder

        return once(tmp_path_factory, f"vulkan-{name}", write)

    return recordings


@pytest.fixture(scope="session")
def recorded(record: Record) -> Path:
    """A recording of headless.c."""
    return record("headless") / "headless.dtap"


@pytest.fixture(scope="session")
def draws(record: Record) -> Path:
    """A folder with a recording of draws.c in each of its modes."""
    return record("draws", *MODES)


@pytest.fixture(scope="session")
def fates(record: Record) -> Path:
    """A folder with a recording of fates.c in each of its modes."""
    return record("fates", "pass", "rendering", "query", "stores", "many", "indexed", "early")


SIZE, PLACE = 300, 100  # of vkcube's window; it asks for that place


@dataclass(frozen=True)
class Cube:
    """A recording of vkcube, and pictures of its window (RGB, the upper row first)."""

    trace: Path
    window: frozenset[bytes]


@pytest.fixture(scope="session")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Cube:
    if shutil.which("vkcube") is None:
        pytest.skip("vkcube is not installed (Debian: vulkan-tools)")

    def write(folder: Path) -> Path:
        with x_server("-screen", "0", "640x480x24") as display:
            if display is None:
                pytest.skip("Xvfb is not installed")
            sizes = ["--width", str(SIZE), "--height", str(SIZE)]
            record = [sys.executable, "-m", "drawtap", "record", "-q", "-o", folder / "cube.dtap", "--"]
            grab = [sys.executable, HERE / "grab.py", folder, str(PLACE), str(PLACE), str(SIZE)]
            command = [*grab, *record, "vkcube", "--c", "60", *sizes]
            done = subprocess.run(command, env={**environment(), "DISPLAY": display}, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        return folder

    folder = once(tmp_path_factory, "vulkan-cube", write)
    shown = [path.read_bytes() for path in sorted(folder.glob("*.rgb"))]
    return Cube(folder / "cube.dtap", frozenset(each for each in shown if any(each)))


@pytest.fixture(scope="session")
def past(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings of past.c in each of its modes: all.dtap and fresh.dtap."""
    environment()

    def write(folder: Path) -> Path:
        program = build(header, HERE / "past.c", folder / "past", "-l:libvulkan.so.1")
        with x_server() as display:
            if display is None:
                pytest.skip("Xvfb is not installed")
            for mode in ("all", "fresh"):
                words = ("record", "-q", "-o", folder / f"{mode}.dtap", "--", program, mode)
                done = run_drawtap(*words, environment={**environment(), "DISPLAY": display})
                assert done.returncode == 0, done.stderr
        return folder

    return once(tmp_path_factory, "vulkan-past", write)


RAYS = "vkCmdSetRayTracingPipelineStackSizeKHR"  # a command that nothing here plays


@pytest.fixture
def rays(tmp_path: Path) -> Path:
    """A recording with such a command."""
    w = Writer(
        table(f"""\
F  1  vk  {RAYS}  1  1  -  -
P  commandBuffer  VkCommandBuffer  handle  8:0  -  -
P  pipelineStackSize  uint32_t  u32  4:0  -  -
""")
    )
    w.thread().call(RAYS, start=1000, duration=5, commandBuffer=1, pipelineStackSize=64).flush()
    return w.write(tmp_path / "rays.dtap")
