"""What drawtap records is what apitrace records of the same program, but for what apitrace leaves out or adds."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from crosscheck import Comparison, Difference

    from conftest import Bench

pytestmark = pytest.mark.gl

# Queries that apitrace does not record.
UNRECORDED = frozenset(
    {
        *("glGetString", "glGetStringi", "glIsEnabled", "eglGetProcAddress", "eglGetConfigAttrib", "eglQueryString"),
        *("glXGetProcAddress", "glXGetProcAddressARB", "glXGetConfig", "glXGetFBConfigAttrib", "glXGetCurrentContext"),
        *("glXQueryVersion", "glXQueryExtensionsString", "glXGetClientString", "glXIsDirect"),
    }
)
# Calls that apitrace adds: the initial viewport, attribute locations before a link, stores through mapped buffers.
MADE = frozenset({"glViewport", "glScissor", "glBindAttribLocation", "memcpy"})
# Where arrays stand in client memory, apitrace records these at the draw that reads them, as calls of its own.
CLIENT_ARRAYS = frozenset({"glVertexAttribPointer", "glVertexPointer", "glColorPointer"})

# client_arrays_es2, client_arrays_gl1 and pixels are missing: apitrace 11.1 reads beyond the end of their memory and
# dies of it, with or without us.
PROGRAMS = ("es2_triangle", "es1_cube", "readback", "maps", "shared_contexts", "debug_markers")
SCENES = (
    *("build", "build:use-vbo=false", "texture", "shading", "bump:bump-render=normals", "effect2d", "refract"),
    *("desktop:windows=2", "shadow", "jellyfish", "buffer:update-method=map:columns=20"),
    "buffer:update-method=subdata:columns=20:interleave=true",
)


def _unexplained(difference: Difference) -> bool:
    d = difference
    if d.kind == "made by apitrace":
        return d.function not in MADE | CLIENT_ARRAYS
    if d.kind == "only ours":
        # apitrace records glGetError only where there was an error.
        return d.function not in UNRECORDED | CLIENT_ARRAYS | {"glGetError"}
    if d.kind == "content that apitrace lacks":
        # It does not record what is read back.
        return d.function not in ("glReadPixels", "glGetNamedBufferSubData")
    if d.kind == "a number that has a name":
        # The parameter is a number or an enumerant, depending on another one: we keep the number.
        return (d.function, d.parameter) != ("glTexParameteri", "param")
    return True


def _by_the_clock(difference: Difference) -> bool:
    # glmark2's objects turn with the time of day, and its jellyfish has one of 32 textures after the other.
    d = difference
    if d.kind in ("number", "element: number"):
        return d.function.startswith("glUniform") or d.function == "glBindTexture"
    return False


def _module():  # type: ignore[no-untyped-def]
    # Test folders are no packages; this module stands beside this file.
    if "crosscheck" not in sys.modules:
        spec = importlib.util.spec_from_file_location("crosscheck", Path(__file__).with_name("crosscheck.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["crosscheck"] = module
        spec.loader.exec_module(module)
    return sys.modules["crosscheck"]


@pytest.fixture
def compared(programs: Bench, tmp_path: Path) -> Callable[..., Comparison]:
    """Return a function that records a program with both and gives the comparison."""
    if shutil.which("apitrace") is None:
        pytest.skip("apitrace is not installed")

    def compare(api: str, argv: list[str], *, display: bool = False) -> Comparison:
        if display and programs.display is None:
            pytest.skip("Xvfb is not installed")
        if shutil.which(argv[0]) is None:
            pytest.skip(f"{argv[0]} is not installed")
        environment = programs.environment()
        if display:
            del environment["EGL_PLATFORM"]
        trace = programs.recorded_as(argv, tmp_path, environment)
        theirs = tmp_path / "apitrace.trace"
        _module().apitrace_record(api, argv, theirs, environment)
        return _module().Comparison(trace, theirs)  # type: ignore[no-any-return]

    return compare


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_ours(name: str, programs: Bench, compared: Callable[..., Comparison]) -> None:
    comparison = compared("egl", [str(programs.programs / name)])
    assert [d for d in comparison.differences() if _unexplained(d)] == []
    assert comparison.arguments_compared > 50


@pytest.mark.sample(3)
@pytest.mark.parametrize(("api", "program"), [("egl", "glmark2-es2"), ("gl", "glmark2")])
@pytest.mark.parametrize("scene", SCENES)
def test_glmark2(api: str, program: str, scene: str, compared: Callable[..., Comparison]) -> None:
    argv = [program, "--size", "64x64", "-b", f"{scene}:duration=1000:nframes=2"]
    comparison = compared(api, argv, display=True)
    differences = list(comparison.differences())
    assert [d for d in differences if _unexplained(d) and not _by_the_clock(d)] == []
    assert comparison.arguments_compared > 100
    made = {
        d.kind: sum(1 for e in differences if e.kind == d.kind and e.function in CLIENT_ARRAYS) for d in differences
    }
    # Arrays in client memory: each call of the program that only we have is there again as one of apitrace's.
    assert made.get("only ours", 0) == made.get("made by apitrace", 0)


@pytest.mark.exhaustive
def test_what_apitrace_does_not_record_is_never_in_its_files(compared: Callable[..., Comparison]) -> None:
    comparison = compared("gl", ["glxinfo"], display=True)
    assert {line.name for line in comparison.lines} & UNRECORDED == set()
    others = [d for d in comparison.differences() if _unexplained(d)]
    # apitrace adds extensions of its own to the list, and to their number.
    assert [(d.kind, d.function, d.parameter) for d in others] == [("element: number", "glGetIntegerv", "params")]
