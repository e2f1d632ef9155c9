"""The filter language: what it means, asked of a recording, against the calls one by one."""

from __future__ import annotations

import contextlib
import json
import re
from collections import OrderedDict

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import drawtap
from drawtap.errors import UsageError
from drawtap.web.callset import Growing
from drawtap.web.filters import Vocabulary, condition, in_pieces
from drawtap.web.recording import Recording
from shared import run_drawtap, steps


@pytest.fixture(scope="module")
def viewed(recordings):
    recording = Recording(recordings / "fbo_chain.dtap")
    yield recording
    recording.close()


@pytest.fixture(scope="module")
def calls(recordings):
    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        return [
            (c.seq, c.frame, c.name, c.duration or 0, str(c), {k: str(v) for k, v in c.args.items()})
            for c in trace.calls
        ]


def _kept(viewed, text):
    found = viewed.filter(text, "")
    return {row[0] for row in viewed.matches(found["id"], 0, 512)["calls"]}, found["count"]


_MEANINGS = {
    "texture": lambda c: "texture" in c[4].lower(),
    '"GL_TEXTURE_2D, "': lambda c: "gl_texture_2d, " in c[4].lower(),
    "glUniform*": lambda c: c[2].startswith("glUniform"),
    "glDrawArrays": lambda c: c[2] == "glDrawArrays",
    "name=glClear": lambda c: c[2] == "glClear",
    "frame=2": lambda c: c[1] == 2,
    "frame=1..3": lambda c: 1 <= c[1] <= 3,
    "frame>=4": lambda c: c[1] >= 4,
    "duration>5us": lambda c: c[3] > 5000,
    "is:draw": lambda c: c[2].startswith("glDraw") and c[2] != "glDrawBuffers",
    "is:clear": lambda c: c[2].startswith("glClear") and not c[2].startswith("glClearColor"),
    "mode=GL_TRIANGLE_STRIP": lambda c: c[5].get("mode") == "GL_TRIANGLE_STRIP",
    "normalized=GL_FALSE": lambda c: c[5].get("normalized") == "False",
    "texture=GL_TEXTURE1": lambda c: c[5].get("texture") == "GL_TEXTURE1",
    "texture>1": lambda c: c[5].get("texture", "").isdigit() and int(c[5]["texture"]) > 1,
    "seq<40": lambda c: c[0] < 40,
}


@pytest.mark.parametrize("text", _MEANINGS)
def test_a_word_keeps_the_calls_it_means(viewed, calls, text):
    kept, count = _kept(viewed, text)
    meant = {c[0] for c in calls if _MEANINGS[text](c)}
    assert count == len(meant)
    assert kept == set(sorted(meant)[:512])
    assert meant, "a word without calls here proves nothing"


# Twenty questions: a filter, and the same asked of `grep` (a tuple: its arguments) or `sql` (a condition on `calls`).
_QUESTIONS: dict[str, tuple[str, ...] | str] = {
    "texture": ("(?i)texture",),
    '"= 1, "': ("= 1, ",),
    "glVertex*": ("", "--name", "glVertex*"),
    "gl*Buffer?": ("", "--name", "gl*Buffer?"),
    "glDrawArrays mode=GL_TRIANGLE_STRIP": ("GL_TRIANGLE_STRIP", "--name", "glDrawArrays"),
    "-gl*": "name NOT LIKE 'gl%'",
    "gl* -glUniform* -is:draw": "name LIKE 'gl%' AND name NOT LIKE 'glUniform%' AND seq NOT IN "
    "(SELECT seq FROM draws WHERE kind = 'draw')",
    "duration>20us": "duration > 20000",
    "duration<=1.5us is:draw": "duration <= 1500 AND seq IN (SELECT seq FROM draws WHERE kind = 'draw')",
    "duration=2..9us OR duration>1ms": "duration BETWEEN 2000 AND 9000 OR duration > 1000000",
    "frame=1..2": "frame IN (1, 2)",
    "frame!=0 thread=0 seq>=100": "frame <> 0 AND thread = 0 AND seq >= 100",
    "fails": "result IS NOT NULL AND name LIKE '%GetError' AND result NOT IN ('GL_NO_ERROR', 'EGL_SUCCESS', '0')",
    "-fails glGetError": "name = 'glGetError' AND result = 'GL_NO_ERROR'",
    "is:clear OR is:frame_end": "name IN ('glClear', 'eglSwapBuffers')",
    "changes:program": "seq IN (SELECT begin_seq FROM state WHERE path ILIKE '%program%')",
    "changes:viewport OR changes:blend": "seq IN (SELECT begin_seq FROM state WHERE path ILIKE '%viewport%' "
    "OR path ILIKE '%blend%')",
    "uses:program=1": "seq IN (SELECT seq FROM draws WHERE program = 1)",
    "uses:texture=1": "seq IN (SELECT seq FROM draws WHERE list_contains(textures, 1))",
    "uses:framebuffer=0 -uses:buffer=1": "seq IN (SELECT seq FROM draws WHERE framebuffer = 0 AND NOT "
    "(list_contains(buffers, 1) OR index_buffer = 1))",
    "redundant": "seq IN (SELECT seq FROM redundancy)",
    "finding:client-arrays OR finding:gl-errors": "seq IN (SELECT seq FROM findings WHERE rule IN "
    "('client-arrays', 'gl-errors'))",
    "is:draw sql: seq % 2 = 0 AND payload_bytes IS NOT NULL": "seq % 2 = 0 AND payload_bytes IS NOT NULL AND seq IN "
    "(SELECT seq FROM draws WHERE kind = 'draw')",
}  # fmt: skip
_ASKED = ("fbo_chain", "client_arrays_es2")


@pytest.fixture(scope="module")
def answers(recordings):
    """Return the calls that `grep` and `sql` find, by recording and filter."""
    found: dict[str, dict[str, set[int]]] = {name: {} for name in _ASKED}
    for name in _ASKED:
        path = recordings / f"{name}.dtap"
        for text, asked in _QUESTIONS.items():
            given = ("grep", path, *asked, "--json") if isinstance(asked, tuple) else (
                "sql", path, f"SELECT seq FROM calls WHERE {asked}", "--json")  # fmt: skip
            answer = run_drawtap(*given)
            assert answer.returncode in (0, 1), answer.stderr
            found[name][text] = {row["seq"] for row in json.loads(answer.stdout)}
    return found


@pytest.fixture(scope="module")
def asked(recordings, viewed):
    """Return the recordings that filters are asked of, by name."""
    other = Recording(recordings / f"{_ASKED[1]}.dtap")
    yield {_ASKED[0]: viewed, _ASKED[1]: other}
    other.close()


@pytest.mark.parametrize("text", _QUESTIONS)
def test_a_filter_keeps_the_rows_of_grep_and_sql(asked, answers, text):
    assert any(answers[name][text] for name in _ASKED), "a question without an answer proves nothing"
    for name in _ASKED:
        kept, count = _kept(asked[name], text)
        assert count == len(answers[name][text])
        assert kept == set(sorted(answers[name][text])[:512])


_term = st.sampled_from([*sorted(_MEANINGS), *(text for text in _QUESTIONS if "sql:" not in text)])
_tree = st.recursive(
    _term,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=5,
)


def _text(tree):
    if isinstance(tree, str):
        return f"({tree})"
    if tree[0] == "not":
        return f"-({_text(tree[1])})"
    return f"({_text(tree[1])}{' OR ' if tree[0] == 'or' else ' '}{_text(tree[2])})"


def _meant(tree, terms, whole):
    """Return the calls that a tree of terms means."""
    if isinstance(tree, str):
        return terms[tree]
    parts = [_meant(part, terms, whole) for part in tree[1:]]
    if tree[0] == "not":
        return whole - parts[0]
    return parts[0] | parts[1] if tree[0] == "or" else parts[0] & parts[1]


@settings(max_examples=steps(30, 200))
@given(_tree)
def test_words_together_mean_what_logic_says(viewed, calls, answers, tree):
    terms = answers["fbo_chain"] | {text: {c[0] for c in calls if means(c)} for text, means in _MEANINGS.items()}
    meant = _meant(tree, terms, {c[0] for c in calls})
    kept, count = _kept(viewed, _text(tree))
    assert count == len(meant)
    assert kept == set(sorted(meant)[:512])


@pytest.mark.sample(4)
@pytest.mark.parametrize("text", [*_MEANINGS, "fails"])
def test_a_filter_that_is_asked_in_pieces_keeps_the_same_calls(viewed, monkeypatch, text):
    whole, count = _kept(viewed, text)
    total, seen = viewed.trace.info["calls"], []
    monkeypatch.setattr("drawtap.web.recording.PIECE", 100)
    monkeypatch.setattr(viewed, "_sets", OrderedDict())
    grown = Growing.add

    def add(growing, seqs, until):
        grown(growing, seqs, until)
        seen.append(viewed.matches_so_far("q", 10))

    monkeypatch.setattr(Growing, "add", add)
    viewed.filter(text, "q")
    assert _kept(viewed, text) == (whole, count)
    assert [one["until"] for one in seen] == [*range(100, total, 100), total]
    # What is found so far are the calls up to there, no more and no fewer.
    (key,) = viewed._sets
    calls = viewed.kept(key)
    assert [one["count"] for one in seen] == [calls.rank(one["until"]) for one in seen]
    assert [sum(one["density"]) for one in seen] == [one["count"] for one in seen]
    assert seen[-1]["density"] == viewed.density(key, 10)
    assert viewed.matches_so_far("q", 10) == {"count": None}


@pytest.mark.parametrize(
    ("text", "cheap"),
    [("is:draw OR width>2", True), ("sql: duration > 5", True), ("finding:x", False), ("is:draw -redundant", False),
     ("changes:blend", False), ("uses:texture=1", False), ("sql: seq IN (FROM frames SELECT first_seq)", False),
     ("sql: seq IN (Select seq FROM draws)", False)],
)  # fmt: skip
def test_what_is_computed_whole_is_not_asked_in_pieces(viewed, text, cheap):
    words = Vocabulary(viewed.vocabulary.functions, {"width": (("glViewport", "number"),)})
    assert in_pieces(text, condition(text, words)) == cheap


def test_changes_means_the_text_and_no_pattern():
    assert "ILIKE '%a\\_b\\%c''%'" in condition("changes:a_b%c'", Vocabulary({}, {}))


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("widht=3", "no function that was called has a parameter 'widht'", "width"),
        ("count=many", "count is no text here, and 'many' no number", "count=1"),
        ("is:drw", "no function of this recording is of the kind 'drw'", "draw"),
        ("chnages:blend", "the filter has no word 'chnages:blend'", "changes:"),
        ("uses:textures=1", "uses:textures=1 names no object", "texture"),
        ("duration>fast", "'fast' is no value for duration", "duration>1.5ms"),
        ("frame=1..2ms", "'1..2ms' is no value for frame", "frame=3..5"),
        ("duration>1us..2us", "'1us..2us' is no value for duration", "duration=2us..1ms"),
        ("frame=2ms", "'2ms' is no value for frame", "frame=3"),
        ("(is:draw", "there is a ( without its )", "quotes"),
        ("is:draw)", "there is a ) without its (", "quotes"),
        ("is:draw OR", "the filter has an empty part", "OR"),
        ("sql:", "sql: has no condition behind it", "duration"),
        ('"open', "the filter cannot be read from '\"open' on", '"'),
    ],
)
def test_mistakes_are_named_with_what_would_work(viewed, text, error, hint):
    with pytest.raises(UsageError, match=re.escape(error)) as raised:
        viewed.filter(text, "")
    assert hint in str(raised.value.hint)


@settings(max_examples=steps(30, 200))
@given(st.text(max_size=40))
@example("-)")
def test_any_text_is_a_filter_or_a_mistake(viewed, text):
    with contextlib.suppress(UsageError):
        assert viewed.filter(text, "")["count"] >= 0
