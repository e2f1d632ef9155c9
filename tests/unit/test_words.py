"""Plain English: sentences of at most 30 words, without the patterns that make readers stop (tests/words.py)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import words
from drawtap.cli import _group

#: How many faults a page, a help or a module still has. The list only shrinks.
EXCEPTIONS = Path(__file__).parents[1] / "data" / "words.txt"


def _faults() -> list[words.Fault]:
    pages = [fault for page in words.pages() for fault in words.of_page(page)]
    sources = [fault for source in words.sources() for fault in words.of_source(source)]
    return [*pages, *words.of_help("", _group()), *sources]


def test_sentences_are_plain():
    allowed = {}
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        count, _, place = line.partition(" ")
        allowed[place] = int(count)
    faults = _faults()
    counts = Counter(fault.place for fault in faults)
    worse = "\n".join(str(fault) for fault in faults if counts[fault.place] > allowed.get(fault.place, 0))
    assert not worse, f"please write these in plain English:\n{worse}"
    better = {place: counts[place] for place, count in allowed.items() if counts[place] < count}
    assert not better, f"{EXCEPTIONS.name} allows more than there is: {better}"


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
