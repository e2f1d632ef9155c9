"""Find the native parts of drawtap: the tap, its signatures, the drainer, the reader core, the player,
the importer, the reader of kernel traces, what cuts traces."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from drawtap.errors import UnavailableError

TAP = "libdrawtap-tap.so"
TAP_VULKAN = "libdrawtap-tap-vk.so"  # the same with Vulkan
PRELOAD = "libdrawtap-preload.so"
PRELOAD_VULKAN = "libdrawtap-preload-vk.so"
SIGNATURES = "tap.sig"
SIGNATURES_VULKAN = "tap-vk.sig"
DRAINER = "drawtap-drain"
CORE = "libdrawtap-core.so"
READING = "libdrawtap-reading.so"  # what of the core reads: all that `make demo` makes of it
PLAYER = "drawtap-play"
PLAYER_ONLY = "drawtap-play-only"  # it measures nothing: all that `make demo` makes of the player
PLAYER_VULKAN = "drawtap-play-vk"  # what the player hands recordings of Vulkan to
PEERS = "libdrawtap-peers.so"
SYSTEM = "libdrawtap-system.so"
STATE = "libdrawtap-state.so"  # the state machine, and which calls need which
OPENVG = "openvg/libOpenVG.so.1"
RING = "drawtap-ring"
PARTS = (
    TAP,
    TAP_VULKAN,
    PRELOAD,
    SIGNATURES,
    DRAINER,
    CORE,
    PLAYER,
    PLAYER_VULKAN,
    PEERS,
    SYSTEM,
    STATE,
    RING,
)


def folders() -> list[Path]:
    """Return where parts are looked for: $DRAWTAP_NATIVE alone where it is set, else `_native` in the package.

    The package may have several folders: an editable installation keeps what is built apart from the sources.
    """
    override = os.environ.get("DRAWTAP_NATIVE")
    if override:
        return [Path(override)]
    return [Path(folder) / "_native" for folder in sys.modules[__package__].__path__]


def part(name: str, hint: str = "make build makes it; wheels contain it") -> Path:
    """Return the absolute path of a part. Raises UnavailableError, with `hint`, where it was not built."""
    for folder in folders():
        if (folder / name).is_file():
            return (folder / name).resolve()
    looked = ", ".join(str(folder) for folder in folders())
    raise UnavailableError(f"{name} is missing from {looked}", hint=hint)


def core(hint: str = "make build makes it; wheels contain it") -> Path:
    """Return the path of the core, or of what reads in it where no more was built. Raises UnavailableError."""
    return part(READING if is_there(READING) and not is_there(CORE) else CORE, hint)


def player(*, measures: bool = False) -> Path:
    """Return the path of the player, or of one that only plays where no more was built and it need not measure.

    Raises UnavailableError.
    """
    alone = not measures and is_there(PLAYER_ONLY) and not is_there(PLAYER)
    return part(PLAYER_ONLY if alone else PLAYER, "make build makes it where the EGL headers are")


def is_there(name: str) -> bool:
    """Tell whether a part was built: `make demo` leaves some out."""
    return any((folder / name).is_file() for folder in folders())


def whole_tap() -> str:
    """Return the name of the tap of all APIs, or of the one without Vulkan where no other was built."""
    return TAP_VULKAN if is_there(TAP_VULKAN) else TAP


def preloadable(module: Path) -> Path:
    """Return what a program preloads to get a module: a library that other C libraries than glibc can load as well.

    It is the module itself where no such library was made.
    """
    own = {TAP: PRELOAD, TAP_VULKAN: PRELOAD_VULKAN}.get(module.name)
    other = module.with_name(own) if own else module.with_suffix(".preload.so")
    return other if other.is_file() else module


def openvg_environment() -> dict[str, str]:
    """Return what makes a program find drawtap's OpenVG engine, and the EGL that makes contexts of it, before others.

    Raises UnavailableError where the engine was not built.
    """
    folder = part(OPENVG, "it needs libagg-dev; make build makes it").parent
    old = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{old}" if old else str(folder)}


def cache_folder(name: str) -> Path:
    """Return a folder of the user's caches: `drawtap/NAME` below $XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "drawtap" / name
