"""Engines: the drivers that this machine can play a trace on, and why it cannot on others.

An engine is a set of environment variables. The driver itself shows whether it works, in a process of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.parts import cache_folder
from drawtap.plugins import Registry
from drawtap.replay import player

_SOFTWARE = {"LIBGL_ALWAYS_SOFTWARE": "1"}


@dataclass(frozen=True)
class Engine:
    """A driver to play on.

    `environment` raises UnavailableError where something that the driver needs is not here.
    """

    name: str
    about: str
    environment: Callable[[], Mapping[str, str]]


@dataclass(frozen=True)
class Answer:
    """The answer of an engine: `renderer` and the versions of its contexts, or the `reason` why it does not work."""

    engine: Engine
    renderer: str = ""
    es: str = ""
    gl: str = ""
    reason: str = ""

    @property
    def works(self) -> bool:
        """Tell whether the engine can play."""
        return not self.reason


ENGINES: Registry[Engine] = Registry("engine", "drawtap.replay")


def engine(name: str) -> Callable[[Callable[[], Mapping[str, str]]], Callable[[], Mapping[str, str]]]:
    """Register the decorated function, which returns the environment, as an engine described by its docstring."""

    def add(environment: Callable[[], Mapping[str, str]]) -> Callable[[], Mapping[str, str]]:
        ENGINES.register(name)(Engine(name, (environment.__doc__ or "").strip(), environment))
        return environment

    return add


@engine("system")
def _system() -> Mapping[str, str]:
    """The driver that programs get here."""
    return {}


@engine("llvmpipe")
def _llvmpipe() -> Mapping[str, str]:
    """Mesa on the processor, compiled by LLVM."""
    return {**_SOFTWARE, "GALLIUM_DRIVER": "llvmpipe"}


@engine("softpipe")
def _softpipe() -> Mapping[str, str]:
    """Mesa on the processor, the plain reference."""
    return {**_SOFTWARE, "GALLIUM_DRIVER": "softpipe", **_opengl("softpipe")}


@engine("zink")
def _zink() -> Mapping[str, str]:
    """Mesa's OpenGL on Vulkan, on the processor (lavapipe)."""
    folders = [Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"), Path("/usr/local/share/vulkan/icd.d")]
    drivers = sorted(path for folder in folders for path in folder.glob("lvp_icd*.json"))
    if not drivers and "VK_ICD_FILENAMES" not in os.environ:
        raise UnavailableError("there is no Vulkan driver lavapipe", hint="the package mesa-vulkan-drivers has it")
    chosen = {} if "VK_ICD_FILENAMES" in os.environ else {"VK_ICD_FILENAMES": str(drivers[0])}
    return {**_SOFTWARE, "GALLIUM_DRIVER": "zink", **chosen, **_opengl("zink")}


@engine("angle")
def _angle() -> Mapping[str, str]:
    """ANGLE on SwiftShader: OpenGL ES as browsers have it. $DRAWTAP_ANGLE names the folder of its libraries."""
    return {"DRAWTAP_PLAY_ANGLE": "1", **_libraries("DRAWTAP_ANGLE", "ANGLE"), **_opengl("angle")}


@engine("swiftshader")
def _swiftshader() -> Mapping[str, str]:
    """SwiftShader's own OpenGL ES. $DRAWTAP_SWIFTSHADER names the folder of its libraries."""
    return {**_libraries("DRAWTAP_SWIFTSHADER", "SwiftShader"), **_opengl("swiftshader")}


def _opengl(name: str) -> dict[str, str]:
    """Have the player of Vulkan refuse an engine of OpenGL alone: it would play on the system's driver."""
    return {"DRAWTAP_PLAY_OPENGL": name}


def _libraries(variable: str, name: str) -> dict[str, str]:
    folder = os.environ.get(variable)
    if not folder:
        raise UnavailableError(f"the libraries of {name} are not named", hint=f"{variable}=FOLDER names their folder")
    missing = [stem for stem in _SONAMES if not _library(Path(folder), stem)]
    if missing:
        raise UnavailableError(
            f"there is no {' and no '.join(missing)} in {folder}",
            hint="the how-to on replay says which packages have it",
        )
    path = os.pathsep.join(filter(None, (str(_linked(Path(folder).resolve())), os.environ.get("LD_LIBRARY_PATH"))))
    return {"LD_LIBRARY_PATH": path}


_SONAMES = {"libEGL.so": "libEGL.so.1", "libGLESv2.so": "libGLESv2.so.2"}
_LEAST_BYTES = 64 << 10  # Debian's Chromium has stubs of these names, and ANGLE inside the browser


def _library(folder: Path, stem: str) -> Path | None:
    for path in (folder / stem, folder / _SONAMES[stem]):
        if path.is_file() and path.stat().st_size >= _LEAST_BYTES:
            return path
    return None


def _linked(folder: Path) -> Path:
    # The linker looks for the names with numbers, browsers ship the libraries without. The others stand beside them.
    if all((folder / soname).exists() for soname in _SONAMES.values()):
        return folder
    links = cache_folder("engines") / hashlib.blake2b(os.fsencode(folder), digest_size=8).hexdigest()
    links.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        _link(links / path.name, path)
    for stem, soname in _SONAMES.items():
        _link(links / soname, folder / stem)
    return links


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    # Another process may make it at the same time: a link that is complete takes the name.
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


_lent: dict[str, Mapping[str, str]] = {}


@contextlib.contextmanager
def lent(environments: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Let names mean these environments for a while: builds of drivers that a file of engines names."""
    before = dict(_lent)
    _lent.update(environments)
    try:
        yield
    finally:
        _lent.clear()
        _lent.update(before)


def environment_of(name: str) -> Mapping[str, str]:
    """Return the environment of an engine.

    Raises UsageError for an unknown one, UnavailableError where something it needs is not here.
    """
    return _lent[name] if name in _lent else ENGINES.get(name).environment()


def ask(engine: Engine) -> Answer:
    """Ask an engine what it is; the reason why it does not work is in the answer."""
    try:
        said = player.probe(engine.environment())
    except UnavailableError as error:
        return Answer(engine, reason=str(error))
    if "error" in said:
        return Answer(engine, reason=str(said["error"]))
    return Answer(engine, str(said.get("renderer", "")), str(said.get("es", "")), str(said.get("gl", "")))
