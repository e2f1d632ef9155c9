"""Keep what can be added by name: commands, hooks, file formats, APIs.

One class serves all of them. A registry knows its package: the modules of that package are the built-in entries, one
file each, imported at the first use of an entry. Other distributions add entries with one entry-point group,
`drawtap.plugins`: each entry point names a module, which is imported once and registers what it has. A plug-in that
fails to import is reported as a warning and does not stop anything else.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from drawtap.errors import UsageError, did_you_mean

T = TypeVar("T")
E = TypeVar("E")
ENTRY_POINT_GROUP = "drawtap.plugins"


class PluginWarning(UserWarning):
    """Report that a third-party plug-in could not be loaded."""


_registries: list[Registry[Any]] = []


def all_registries() -> list[Registry[Any]]:
    """Return the registries of this process; each knows its kind and its entries."""
    return list(_registries)


class Registry(Generic[T]):
    """Map names to objects of one kind.

    `kind` is the singular noun that messages use ("command"); `package` is the package whose modules are the
    built-in entries. A module's name, with `-` or a space for `_`, is taken to be the name of the entry it registers,
    so that asking for one entry imports one file.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._entries: dict[str, T] = {}
        self._walked = False
        self._files: frozenset[str] | None = None  # names of the package's modules, once they were listed
        _registries.append(self)

    def register(self, name: str) -> Callable[[E], E]:
        """Return a decorator that adds its argument under `name`. The same name twice is an error.

        A class that is decorated keeps its own type.
        """

        def add(entry: E) -> E:
            present = self._entries.get(name)
            if present is not None and _identity(present) != _identity(entry):
                raise ValueError(f"two {self.kind}s are called {name!r}: {_identity(present)} and {_identity(entry)}")
            self._entries[name] = cast("T", entry)
            return entry

        return add

    def get(self, name: str) -> T:
        """Return the entry called `name`. Raises UsageError with the closest names where there is none."""
        if name not in self._entries:
            self._import_one(name)
        if name not in self._entries:
            self._walk()
        if name not in self._entries:
            hint = did_you_mean(name, self._entries) or f"there are: {', '.join(sorted(self._entries))}"
            raise UsageError(f"there is no {self.kind} called {name!r}", hint=hint)
        return self._entries[name]

    def names(self) -> list[str]:
        """Return the names of all entries, sorted."""
        self._walk()
        return sorted(self._entries)

    def known_names(self) -> list[str]:
        """Return the names of the built-in entries, by their files alone, and of what is registered already, sorted."""
        return sorted(self._modules() | set(self._entries))

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield (name, entry) in order of the names."""
        for name in self.names():
            yield name, self._entries[name]

    def _import_one(self, name: str) -> None:
        module = name.replace("-", "_").replace(" ", "_")
        if module.isidentifier() and module in self._modules():
            importlib.import_module(f"{self.package}.{module}")

    def _modules(self) -> frozenset[str]:
        if self._files is None:
            path = importlib.import_module(self.package).__path__
            self._files = frozenset(module.name for module in pkgutil.iter_modules(path))
        return self._files

    def _walk(self) -> None:
        if self._walked:
            return
        self._walked = True
        for module in sorted(self._modules()):
            importlib.import_module(f"{self.package}.{module}")
        load_plugins()


_loaded: set[str] = set()


def load_plugins() -> None:
    """Import every module that the entry-point group names, once in this process.

    A module that raises is skipped with a PluginWarning that says which distribution it came from.
    """
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT_GROUP):
        key = f"{point.name}={point.value}"
        if key in _loaded:
            continue
        _loaded.add(key)
        try:
            point.load()
        except Exception as error:
            origin = point.dist.name if point.dist else "an unknown distribution"
            warnings.warn(
                f"plug-in {point.name!r} of {origin} does not load: {type(error).__name__}: {error}",
                PluginWarning,
                stacklevel=2,
            )


def _identity(entry: object) -> str:
    inner = getattr(entry, "function", entry)
    return f"{getattr(inner, '__module__', '?')}.{getattr(inner, '__qualname__', type(entry).__qualname__)}"
