"""The registry: one class for everything that can be added by name."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from drawtap import plugins
from drawtap.errors import UsageError
from drawtap.plugins import PluginWarning, Registry


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "zoo_for_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from drawtap.plugins import Registry\nZOO = Registry('animal', 'zoo_for_tests')\n"
    )
    (folder / "red_panda.py").write_text("from zoo_for_tests import ZOO\nZOO.register('red-panda')('panda')\n")
    (folder / "owl.py").write_text("from zoo_for_tests import ZOO\nZOO.register('owl')('owl')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "load_plugins", lambda: None)
    yield "zoo_for_tests"
    for name in [n for n in sys.modules if n.startswith("zoo_for_tests")]:
        del sys.modules[name]


def test_one_entry_imports_one_file(package):
    zoo = __import__(package).ZOO
    assert zoo.get("red-panda") == "panda"
    assert f"{package}.owl" not in sys.modules
    assert zoo.names() == ["owl", "red-panda"]
    assert dict(zoo.items()) == {"owl": "owl", "red-panda": "panda"}


def test_unknown_name_has_a_hint(package):
    zoo = __import__(package).ZOO
    with pytest.raises(UsageError, match="no animal called 'red-pnda'") as error:
        zoo.get("red-pnda")
    assert error.value.hint == "did you mean red-panda?"
    with pytest.raises(UsageError) as error:
        zoo.get("xyz")
    assert error.value.hint == "there are: owl, red-panda"


def test_the_same_name_twice_is_an_error():
    registry: Registry[object] = Registry("thing", "drawtap.commands")

    def one() -> None: ...

    def two() -> None: ...

    registry.register("x")(one)
    registry.register("x")(one)
    with pytest.raises(ValueError, match="two things are called 'x'"):
        registry.register("x")(two)


def test_a_broken_plug_in_is_a_warning(monkeypatch):
    loaded = []

    class Point:
        def __init__(self, name, fails):
            self.name, self.value, self.fails = name, f"{name}:module", fails
            self.dist = type("Dist", (), {"name": "somebodys-package"})

        def load(self):
            if self.fails:
                raise ImportError("no such thing")
            loaded.append(self.name)

    points = [Point("bad", fails=True), Point("good", fails=False)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == "drawtap.plugins" else [])
    monkeypatch.setattr(plugins, "_loaded", set())
    with pytest.warns(PluginWarning, match="'bad' of somebodys-package does not load: ImportError: no such thing"):
        plugins.load_plugins()
    assert loaded == ["good"]
    plugins.load_plugins()  # each once
    assert loaded == ["good"]
