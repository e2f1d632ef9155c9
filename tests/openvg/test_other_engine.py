"""The engine draws what another one draws: ShivaVG, as Debian's libsimgear-dev carries it (SimGear's canvas uses it).

That build has neither gradients nor images, and says so; its objects lie in a static library among much else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

SIDE = 256
MEMBERS = (
    "Arrays",
    "Context",
    "Extensions",
    "Geometry",
    "Image",
    "Paint",
    "Params",
    "Path",
    "Pipeline",
    "Vectors",
    "Vgu",
)
NEEDED = ("GL/gl.h",)


@pytest.fixture
def shiva(headers: Path, tmp_path: Path) -> Path:
    """Return the program of scenes, built with ShivaVG. DRAWTAP_TEST_SIMGEAR names the library elsewhere."""
    named = os.environ.get("DRAWTAP_TEST_SIMGEAR")
    found = [Path(named)] if named else sorted(Path("/usr/lib").glob("*/libSimGearScene.a"))
    if not found or not found[0].exists():
        pytest.skip("libsimgear-dev is not installed: there is no other engine to compare with")
    for tool in ("ar", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if not all((Path("/usr/include") / name).exists() for name in NEEDED):
        pytest.skip("the headers of OpenGL are not installed")
    objects = [f"sh{name}.c.o" for name in MEMBERS]
    subprocess.run(["ar", "x", found[0].resolve(), *objects], cwd=tmp_path, check=True, timeout=300)
    for header in (headers / "VG").iterdir():  # handles are pointers there
        (tmp_path / "VG").mkdir(exist_ok=True)
        text = header.read_text().replace("typedef VGuint VGHandle;", "typedef void *VGHandle;")
        (tmp_path / "VG" / header.name).write_text(text)
    source = Path(__file__).parent / "scenes.c"
    command = ["cc", "-DSHIVA", "-Wno-int-conversion", f"-I{tmp_path}", source, *objects]
    subprocess.run([*command, "-o", "shiva", "-lEGL", "-lGL", "-lm"], cwd=tmp_path, check=True, timeout=300)
    return tmp_path / "shiva"


def test_scenes_are_those_of_another_engine(
    shiva: Path, program: Callable[[str], Path], environment: dict[str, str], tmp_path: Path
) -> None:
    ours = program("scenes")
    names = subprocess.run(
        [ours], env=environment, capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    compared = {}
    for name in names:
        images = []
        for who, env in ((ours, environment), (shiva, dict(os.environ))):
            file = tmp_path / f"{who.name}-{name}.rgba"
            done = subprocess.run([who, name, file], env=env, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, (name, done.stderr)
            if "not supported" in done.stdout + done.stderr:
                break
            images.append(np.fromfile(file, np.uint8).reshape(SIDE, SIDE, 4)[..., :3].astype(int))
        if len(images) == 2:
            assert len(np.unique(images[0].reshape(-1, 3), axis=0)) > 1, f"{name} is empty"
            compared[name] = float(np.abs(images[0] - images[1]).mean())
    assert len(compared) >= 10, compared
    assert max(compared.values()) <= 2, compared
