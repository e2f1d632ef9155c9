"""Users' modules as commands meet them: a script, a folder, a built library, or the name of one of drawtap's own."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap.errors import InputError, UsageError, did_you_mean
from drawtap.instrument import generate_module as generating
from drawtap.instrument import module, script
from drawtap.instrument.script import Project

_OWN = Path(__file__).parent / "modules"


@dataclass(frozen=True)
class Own:
    """A module that comes with drawtap: its script is also an example."""

    name: str
    script: Path
    about: str


def own_modules() -> Iterator[Own]:
    """Yield the modules that come with drawtap, by name."""
    for path in sorted(_OWN.glob("*.py")):
        if path.stem != "__init__":
            about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            yield Own(path.stem.replace("_", "-"), path, about)


def project(named: str) -> Project:
    """Return the project at a path, or drawtap's own module of that name. Raises InputError, UsageError."""
    path = Path(named)
    if path.exists():
        return script.load(path)
    own = {module.name: module for module in own_modules()}
    if named in own:
        return script.load(own[named].script)
    if "/" in named or path.suffix:
        without = path.stem.replace("_", "-")
        hint = f"without .py it is the module that comes with drawtap: {without}" if without in own else None
        raise InputError(f"there is no instrumentation script {named}", hint=hint)
    raise UsageError(f"there is no module {named!r}", hint=did_you_mean(named, own) or f"there are: {', '.join(own)}")


def libraries(named: Sequence[str], announce: Callable[[int], None] | None = None) -> tuple[list[Path], list[Project]]:
    """Return the libraries to preload for modules named by path or name, and the projects among them.

    Scripts become one library together, the first outermost; libraries (*.so) stay as they are, in front of it. Raises
    InputError for a library that is not there, and what `project` raises.
    """
    built = [Path(name).resolve() for name in named if name.endswith(".so")]
    for path in built:
        if not path.is_file():
            raise InputError(f"there is no module {path}", hint="drawtap build SCRIPT -o FILE makes one")
    projects = [project(name) for name in named if not name.endswith(".so")]
    if projects:
        built.append(module.build_projects(projects, announce=announce).library)
    return built, projects


def write(sources: generating.ModuleSources, folder: Path) -> None:
    """Write generated sources into `folder`, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources.files.items():
        (folder / name).write_text(text, encoding="utf-8")


def copy(library: Path, target: Path) -> Path:
    """Copy a built library and its signatures to `target`, and return where the library is now."""
    target = target / library.name if target.is_dir() else target
    if target.suffix != ".so":
        raise UsageError(f"{target} does not end in .so", hint="name a library: -o libhooks.so")
    shutil.copyfile(library, target)
    # The runtime looks for NAME.sig beside libdrawtap-NAME.so or NAME.so.
    signatures = next(library.parent.glob("*.sig"))
    shutil.copyfile(signatures, target.with_name(target.stem.removeprefix("libdrawtap-") + ".sig"))
    return target


def shown(sources: generating.ModuleSources, name: str) -> str:
    """Return all that is generated for the function `name`. Raises UsageError where the module does not have it."""
    functions = {f.name: f for f in sources.functions}
    if name not in functions:
        raise UsageError(f"the module has no {name}", hint=did_you_mean(name, functions))
    # The function that the program calls itself, or that its jump leads to.
    begins = re.compile(rf"^DT_(?:EXPORT|INNER) .*\b(?:dt_enter_)?{name}\(", re.MULTILINE)
    for file, text in sources.files.items():
        if file.startswith("wrappers_"):
            for part in text.split(generating.BETWEEN):
                if begins.search(part):
                    return part
    raise AssertionError(f"{name} has no wrapper")
