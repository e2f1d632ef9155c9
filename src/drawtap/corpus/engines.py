"""Named engines: builds of drivers to play on, and what identifies each.

`engines.toml` names them:

    ["mesa-26.1"]
    base = "llvmpipe"                # an engine of drawtap whose environment it begins with; "system" by default
    family = "llvmpipe"              # engines whose pictures are approved together
    env = { LD_LIBRARY_PATH = "/opt/mesa-26.1/lib" }

The name says little: two machines may mean different builds by it. So an engine has a key: a hash of its driver's
answers, of the libraries that the driver loads, of its environment and of the kernel.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap.errors import InputError, UnavailableError, UsageError, did_you_mean, read_toml
from drawtap.parts import folders
from drawtap.replay import engine, player

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")
_KEYS = frozenset({"base", "family", "env"})


@dataclass(frozen=True)
class Engine:
    """An engine that plays here: `key` tells it from all others, `libraries` is the SHA-256 over its files."""

    name: str
    family: str
    environment: Mapping[str, str]
    key: str
    renderer: str
    version: str
    libraries: str
    kernel: str


@dataclass(frozen=True)
class Run:
    """The result of a task: `outcome`, at which call where one is to blame, and the hash of each frame's image."""

    task: str
    trace: str
    engine: Engine
    outcome: str
    started_ns: int = 0
    seconds: float = 0.0
    frames: int = 0
    calls: int = 0
    signal: int | None = None
    last_seq: int | None = None
    function: str | None = None
    detail: str = ""
    log: str = ""
    hashes: Mapping[int, str] | None = None


def default_file() -> Path:
    """Return where engines are named unless an option says so."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "drawtap" / "engines.toml"


def named(words: Sequence[str], file: Path | None) -> list[Engine]:
    """Return the engines of these names, from `file` (None: the default file, where it exists) or drawtap's own.

    Raises UsageError for unknown names, InputError for a file that makes no sense, UnavailableError for an engine that
    does not play here.
    """
    return [identified(word, family, environment) for word, (family, environment) in _said_of(words, file).items()]


def environments(words: Sequence[str], file: Path | None) -> dict[str, Mapping[str, str]]:
    """Return the environments of the engines of these names, without a question to their drivers.

    Raises what `named` raises, but for engines that do not play here.
    """
    return {word: environment for word, (_, environment) in _said_of(words, file).items()}


def _said_of(words: Sequence[str], file: Path | None) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return family ("": not named) and environment of each name."""
    listed = _read(file)
    by_word: dict[str, tuple[str, Mapping[str, str]]] = {}
    for word in dict.fromkeys(words):
        if word not in listed and word not in engine.ENGINES.names():
            known = [*listed, *engine.ENGINES.names()]
            hint = did_you_mean(word, known) or f"there are: {', '.join(known)}"
            raise UsageError(f"there is no engine called {word!r}", hint=hint)
        body = listed.get(word, {"base": word})
        own = body.get("env", {})
        assert isinstance(own, dict)
        environment = {**engine.environment_of(str(body.get("base", "system"))), **own}
        by_word[word] = (str(body.get("family") or ""), environment)
    return by_word


def _read(file: Path | None) -> dict[str, dict[str, object]]:
    path = default_file() if file is None else file
    if file is None and not path.exists():
        return {}
    bodies: dict[str, dict[str, object]] = {}
    for name, body in read_toml(path).items():
        if not _NAME.fullmatch(name):
            raise InputError(f"{path}: {name!r} is no name of an engine", hint='["mesa-26.1"]')
        if not isinstance(body, dict) or not set(body) <= _KEYS:
            raise InputError(f"{path}: {name} may have {', '.join(sorted(_KEYS))}", hint='env = { NAME = "VALUE" }')
        env = body.get("env", {})
        if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
            raise InputError(f"{path}: env of {name} is no table of texts", hint='env = { NAME = "VALUE" }')
        if not all(isinstance(body.get(word, ""), str) for word in ("base", "family")):
            raise InputError(f"{path}: base and family of {name} are texts")
        bodies[name] = body
    return bodies


def identified(name: str, family: str, environment: Mapping[str, str]) -> Engine:
    """Return an engine as it is on this machine. Raises UnavailableError where it does not play here."""
    said = player.probe(environment)
    if "error" in said:
        raise UnavailableError(f"engine {name} does not play here: {said['error']}", hint="drawtap replay --engines")
    renderer = str(said.get("renderer", ""))
    version = str(said.get("gl") or said.get("es") or "")
    paths = said.get("libraries")
    libraries = _libraries(tuple(str(path) for path in paths) if isinstance(paths, list) else ())
    kernel = platform.release()
    facts = [renderer, said.get("es"), said.get("gl"), libraries, kernel, sorted(environment.items())]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
    return Engine(
        name, family or renderer.partition(" ")[0] or name, environment, key, renderer, version, libraries, kernel
    )


def _libraries(paths: Sequence[str]) -> str:
    """Return the SHA-256 over the files of libraries, without drawtap's own, in the order of their names."""
    ours = tuple(str(folder.resolve()) for folder in folders())
    digests = [_digest(path) for path in sorted(paths) if not path.startswith(ours)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def machine() -> str:
    """Return a name of this machine that says nothing about it."""
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        try:
            identity = Path(path).read_bytes().strip()
        except OSError:
            continue
        if identity:
            return hashlib.blake2b(identity, key=b"drawtap", digest_size=8).hexdigest()
    return ""


@functools.cache
def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as the kernel names it
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return f"gone {Path(path).name}"
