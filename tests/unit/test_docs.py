"""The documents: fresh, with links that lead somewhere and commands that exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import click
import pytest

import drawtap
from drawtap.cli import _group
from drawtap.commands import COMMANDS
from drawtap.tables import kernel, recording
from drawtap.trace import computed

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
    assert recording.declared.named("computed") == tuple(computed.names())


@pytest.mark.parametrize("table", kernel.TABLES.values(), ids=lambda table: table.name)
def test_every_column_of_kernel_tables_is_explained(table):
    assert table.doc
    assert all(column.doc for column in table.columns)
    assert all(column.unit == "ns" for column in table.columns if column.name.endswith("_ns"))


@pytest.mark.parametrize("table", recording.declared.by_name.values(), ids=lambda table: table.name)
def test_every_column_is_explained(table):
    with drawtap.open(ROOT / "tests" / "data" / "trace-v1-es2_triangle.dtap") as trace:
        described = trace.sql(f"DESCRIBE SELECT * FROM {table.name}").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == [(c.name, c.type) for c in table.columns]
    assert all(column.doc for column in table.columns)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def _lines(text):
    """Yield the command lines of a page, and whether they stand alone: what stands in a sentence may be cut short."""
    for kind, block in re.findall(r"^ *```(\w*)\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL):
        if kind == "text":  # what a program said
            continue
        prompt = r"\$ " if kind == "console" else ""
        quoted = (
            r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\"'\\\n])*"  # to the end of the line, or of what is quoted in it
        )
        for line in re.findall(rf"^ *{prompt}({quoted})", block, flags=re.MULTILINE | re.DOTALL):
            of_shell = kind in ("console", "sh", "bash") and re.search(r"(?:[|;(]|&&) *drawtap ", line)
            if of_shell or re.match(r"(?:sudo |xvfb-run [^|;]*?|[A-Z_]+=\S+ )*drawtap ", line):
                yield line, True
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    for line in re.findall(r"`((?:sudo |xvfb-run -a )?drawtap [^`\[]+)`", prose):
        yield " ".join(line.split()), False


def _calls(line):
    """Yield the arguments of every drawtap in a line of shell."""
    words = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>()")
    words.whitespace_split = True
    found, skipped = [], False
    for word in [*words, ";"]:
        if set(word) <= set("<>"):
            skipped = True  # with the file behind it
        elif set(word) <= set("|&;<>()"):
            if "drawtap" in found:
                yield found[found.index("drawtap") + 1 :]
            found = []
        elif skipped:
            skipped = False
        else:
            found.append(word)


def _parse(words, *, whole):
    group = _group()
    context = click.Context(group, info_name="drawtap")
    command: click.Command | None = group
    while isinstance(command, click.Group) and words:
        _, command, words = command.resolve_command(context, words)
    if command is None or isinstance(command, click.Group):
        return
    try:
        command.make_context(command.name, list(words), parent=context)
    except (click.MissingParameter, click.BadOptionUsage):
        if whole:
            raise
    except click.exceptions.Exit:  # --help
        pass


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_in_the_pages_are_understood(page):
    for line, whole in _lines(page.read_text(encoding="utf-8")):
        for words in _calls(line):
            try:
                _parse(words, whole=whole)
            except click.ClickException as error:
                pytest.fail(f"{page.name}: {line}: {error}")


@pytest.mark.parametrize("name", COMMANDS.names())
def test_examples_of_commands_are_understood(name):
    for line in COMMANDS.get(name).examples:
        for words in _calls(line):
            _parse(words, whole=True)


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
    # tests/unit/test_queries_page.py asks these of a recording of Vulkan.
    text = re.sub(r"^## Vulkan\n.*?(?=^## )", "", text, flags=re.M | re.S)
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("query", [q for block in _queries() for q in block.split(";") if q.strip()])
def test_queries_in_the_pages_are_answered(tmp_path, query):
    import drawtap
    from writer import MANY, Writer

    path = Writer(MANY).write(tmp_path / "x.dtap")
    with drawtap.open(path) as trace:
        assert trace.sql(query).columns
