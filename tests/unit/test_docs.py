"""The documents: fresh, with links that lead somewhere and commands that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from drawtap.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(p for p in ROOT.glob("docs/**/*.md") if "_build" not in p.parts)], key=lambda p: str(p)
)


def _reference():
    spec = importlib.util.spec_from_file_location("docs_reference", ROOT / "docs" / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_pages_are_fresh():
    for name, text in _reference().pages().items():
        path = ROOT / "docs" / "reference" / name
        assert path.read_text(encoding="utf-8") == text, f"{path} is stale: make docs writes it"


def test_every_table_is_explained():
    module = _reference()
    assert set(module._ROWS) == set(module.TABLES)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_in_the_pages_exist(page):
    text = page.read_text(encoding="utf-8")
    verbs = set(re.findall(r"(?:\$ |`|&& |<\()(?:xvfb-run [^`\n]*?)?drawtap ([a-z]+)\b", text))
    assert verbs <= {*COMMANDS.names(), "shaders"}, f"{page.name} names commands that do not exist"
    for verb, options in re.findall(r"drawtap ([a-z]+)([^`\n|]*)", text):
        if verb not in COMMANDS.names() or verb == "record":
            continue
        known = {f"--{p.name.strip('_').replace('_', '-')}" for p in COMMANDS.get(verb).params}
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", options):
            assert option in known | {"--json", "--frame-end", "--help"}, f"{page.name}: drawtap {verb} has no {option}"
