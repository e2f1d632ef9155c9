"""The documents: fresh, with links that lead somewhere and commands that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from drawtap.commands import COMMANDS, GROUPS

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
    assert set(module._ROWS) == {*module.TABLES, *module.STATE_TABLES, *module.GRAPH_TABLES}


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
    word = rf"drawtap ((?:(?:{'|'.join(GROUPS)}) )?[a-z]+(?:-[a-z]+)*)"
    verbs = set(re.findall(rf"(?:\$ |`|&& |<\()(?:xvfb-run [^`\n]*?)?{word}\b", text))
    assert verbs <= {*COMMANDS.names(), *GROUPS, "shaders"}, f"{page.name} names commands that do not exist"
    for verb, options in re.findall(rf"{word}([^`\n|]*)", text):
        if verb not in COMMANDS.names() or verb in {"record", "system record"}:
            continue
        known = {f"--{p.name.strip('_').replace('_', '-')}" for p in COMMANDS.get(verb).params}
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", options):
            assert option in known | {"--json", "--frame-end", "--help"}, f"{page.name}: drawtap {verb} has no {option}"


def test_the_example_of_repeated_uploads(tmp_path, capsys):
    from writer import Writer, blob

    spec = importlib.util.spec_from_file_location("repeated_uploads", ROOT / "examples" / "repeated_uploads.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    w = Writer()
    content = bytes(range(256)) * 20
    w.add_blobs([content])
    t = w.thread()
    t.call("glClear", mask=0, start=1, duration=1)
    for _ in range(2):
        t.call("glUniform4fv", location=0, count=320, value=blob(content), start=2, duration=1)
    t.flush()
    path = w.write(tmp_path / "x.dtap")
    assert module.main(str(path)) == 0
    module.UPLOADS["glUniform4fv"] = "value"
    assert module.main(str(path)) == 1
    assert f"glUniform4fv: {len(content)} bytes" in capsys.readouterr().out


def _queries() -> list[str]:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("query", [q for block in _queries() for q in block.split(";") if q.strip()])
def test_queries_in_the_pages_are_answered(tmp_path, query):
    import drawtap
    from writer import MANY, Writer

    path = Writer(MANY).write(tmp_path / "x.dtap")
    with drawtap.open(path) as trace:
        assert trace.sql(query).columns
