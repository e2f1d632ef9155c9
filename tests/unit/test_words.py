"""Plain English: sentences of at most 30 words, without the patterns that make readers stop (tests/words.py)."""

from __future__ import annotations

import pytest

import words
from drawtap.cli import _group


def _faults() -> list[words.Fault]:
    pages = [fault for page in words.pages() for fault in words.of_page(page)]
    sources = [fault for source in words.spoken() for fault in words.of_spoken(source)]
    return [*pages, *words.of_help("", _group()), *sources]


def test_sentences_are_plain():
    faults = "\n".join(str(fault) for fault in _faults())
    assert not faults, f"please write these in plain English:\n{faults}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("What was timed is honest.", "a clause as subject"),
        ("The driver is asked for it.", "who says, who asks?"),
        ("Print at most so many rows.", "give the number"),
        ("The times are those of the driver.", "repeat the noun"),
        ("Of a frame the last image is taken.", "begin with the actor"),
        ("It keeps that of one that needs it or that.", "it, that, one: name them"),
        (" ".join(["word"] * 31) + ".", "31 words"),
    ],
)
def test_a_hard_sentence_is_found(tmp_path, monkeypatch, text, why):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"# What a heading may say\n\nA plain sentence. {text}\n\n```console\n$ what is said here\n```\n")
    assert [(f.line, f.why) for f in words.of_page(page)] == [(3, why)]


def test_plain_sentences_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "What was bound? Run `drawtap state`. Which one, e.g. the first?\n\n- Where a driver fails, drawtap says why.\n"
    )
    assert [f.why for f in words.of_page(page)] == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", '"""What a docstring says."""\n\nfail(f"{name}: the driver is asked for it")\n'),
        ("a.cc", '// What a comment says\n\nfail("the driver is "\n     "asked for it");\n'),
        ("a.js", '// What a comment says\n\nfail("the driver is asked for it");\n'),
    ],
)
def test_a_hard_message_is_found(tmp_path, monkeypatch, name, source):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / name).write_text(source)
    assert [(f.line, f.why) for f in words.of_messages(tmp_path / name)] == [(3, "who says, who asks?")]


@pytest.mark.parametrize("name", ["shown", "_hidden"])
def test_a_hard_docstring_is_found(tmp_path, monkeypatch, name):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text(f'def {name}():\n    """Return what the driver is asked for."""\n')
    assert [f.why for f in words.of_source(tmp_path / "a.py")] == ["who says, who asks?"]


@pytest.mark.parametrize(
    ("name", "source", "lines"),
    [
        ("a.py", "# The driver\n# is asked.\nx = 1  # What it is\ny = '# What'  # noqa\n", [1, 3]),
        ("a.cc", 'int x = 1\'000;  // What it is\n// The driver\n// is asked.\nf("// What");\n', [1, 2]),
        ("a.h", "/* The driver\n * is asked. */\nint a;  // What it is\nint b;  // how it is\n", [1, 3]),
        ("a.js", "/**\n * The driver is asked.\n * @param {{a: 1}} x What it is\n */\nf(/What/);\n", [2, 3]),
    ],
)
def test_a_hard_comment_is_found(tmp_path, monkeypatch, name, source, lines):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / name).write_text(source)
    assert [f.line for f in words.of_comments(tmp_path / name)] == lines
