"""The wheel that `make wheel` made: what is in it, what it needs, and whether it works with no compiler in sight.

`make wheel` runs these tests on what it has built. In other runs they look at dist/ where it has a wheel of the sources
as they are, and say why they skip where it has none. `make wheel-test` adds fresh roots of Debian (.ci/wheel-roots).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from drawtap.parts import PRELOAD, PRELOAD_VULKAN
from shared import once

ROOT = Path(__file__).parents[2]
_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}
_PARTS = "drawtap/_native/"
# What is preloaded finds the tap beside it.
_LED_TO = {
    PRELOAD: (["$ORIGIN"], ["libdrawtap-tap.so"]),
    PRELOAD_VULKAN: (["$ORIGIN"], ["libdrawtap-tap-vk.so"]),
}


@pytest.fixture(scope="module")
def wheel():
    sys.path.insert(0, str(ROOT))
    from bench.setting_up import fresh_wheel

    found = fresh_wheel()
    if found is None:
        pytest.skip("dist/ has no wheel of these sources: make wheel builds and tests it")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    def fill(folder: Path) -> Path:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        return folder

    return once(tmp_path_factory, "wheel", fill)


def _read(option: str, file: Path) -> str:
    return subprocess.run(["readelf", "-W", option, file], capture_output=True, text=True, check=True).stdout


def _exported(file: Path) -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True)
    return {line.split()[2].partition("@")[0] for line in done.stdout.splitlines()}


def _binaries(folder: Path) -> list[Path]:
    return [file for file in sorted((folder / _PARTS).rglob("*")) if file.is_file() and _is_elf(file)]


def _is_elf(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def test_nothing_is_in_it_twice_and_nothing_is_missing(wheel):
    from drawtap.parts import OPENVG, PARTS

    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: info for info in archive.infolist()}
    assert {_PARTS + name for name in (*PARTS, OPENVG, "openvg/libEGL.so.1")} <= files.keys()
    large = [(info.CRC, info.file_size) for info in files.values() if info.file_size > 10_000]
    assert len(large) == len(set(large))
    assert not [name for name in files if re.search(r"\.a$|\.pyc$|/tests?/|__pycache__", name)]
    assert "drawtap/demo_program.py" in files
    assert wheel.stat().st_size < 15 << 20
    assert "-py3-none-manylinux_2_28_x86_64" in wheel.name


def test_it_needs_an_old_c_library_and_nothing_else(unpacked):
    found = _binaries(unpacked)
    assert len(found) == 14
    for file in found:
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", _read("-d", file)))
        assert needed <= _SYSTEM | ({"libEGL.so.1"} if file.name == "drawtap-play" else set()), file.name
        paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.+)\]", _read("-d", file))
        auxiliary = re.findall(r"\(AUXILIARY\).*\[(.+)\]", _read("-d", file))
        assert (paths, auxiliary) == _LED_TO.get(file.name, ([], []))
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", _read("-V", file))
        assert max([(0, 0), *((int(a), int(b)) for a, b in versions)]) <= (2, 28), file.name
        assert not re.search(r"GLIBCXX|CXXABI|GCC_", _read("-V", file)), file.name


def test_it_shows_what_a_build_in_the_tree_shows(unpacked):
    from drawtap.parts import part

    for file in _binaries(unpacked):
        name = str(file.relative_to(unpacked / _PARTS))
        if ".so" in name:
            assert _exported(file) == _exported(part(name)), name
    tap = unpacked / _PARTS / "libdrawtap-tap.so"
    assert not [name for name in _exported(tap) if name.startswith(("_Z", "ZSTD", "__cxa", "XXH"))]
    # No objects are made before main: no more than the one function of the tap's own, where gcc's runtime adds one.
    sizes = [int(found[1]) for found in re.finditer(r"\(INIT_ARRAYSZ\)\s+(\d+)", _read("-d", tap))]
    assert sum(sizes) <= 16


def test_it_records_asks_and_plays_where_there_is_no_compiler(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    tools, site = tmp_path / "venv/bin", next((tmp_path / "venv/lib").glob("python*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for file in (site / _PARTS).iterdir():
        file.chmod(0o755)  # as pip does by what the archive says
    # What drawtap depends on comes from here, behind the venv's own; drawtap's editable installation does not.
    here = Path(next(path for path in sys.path if path.endswith("site-packages")))
    (site / "others.pth").write_text(f"{here}\n")
    for tool in ("env", "sh"):
        (tools / tool).symlink_to(shutil.which(tool))
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "LIBGL_ALWAYS_SOFTWARE": "1", "DRAWTAP_MANAGER": "off"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(tmp_path / "cache"), "LANG": "C.UTF-8"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(tools / "python"), "-m", "drawtap", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    where = run("doctor")
    assert "all parts there" in where.stdout, where.stdout + where.stderr
    assert "compiler       none" in where.stdout or re.search(r"compiler\s+none", where.stdout)
    demo = run("demo", "--no-open", "-o", "demo")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "122 of 122 images and read-backs are equal" in demo.stdout
    assert str(site) in demo.stdout
    # The other libraries: state and cutting, export and import.
    for arguments in (
        ("extract", "demo/demo.dtap", "--frames", "30", "-o", "cut.dtap"),
        ("verify", "cut.dtap"),
        ("export", "cut.dtap", "-f", "apitrace", "-o", "cut.trace"),
        ("import", "cut.trace", "-o", "back.dtap"),
        ("info", "back.dtap"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
