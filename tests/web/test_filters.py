"""The filter language: what it means, asked of a recording, against the calls one by one."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import drawtap
from drawtap.errors import UsageError
from drawtap.web.filters import Vocabulary, condition
from drawtap.web.recording import Recording
from shared import steps


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


_term = st.sampled_from(sorted(_MEANINGS))
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
        return tree
    if tree[0] == "not":
        return f"-({_text(tree[1])})"
    return f"({_text(tree[1])}{' OR ' if tree[0] == 'or' else ' '}{_text(tree[2])})"


def _meant(tree, call):
    if isinstance(tree, str):
        return _MEANINGS[tree](call)
    if tree[0] == "not":
        return not _meant(tree[1], call)
    both = [_meant(part, call) for part in tree[1:]]
    return any(both) if tree[0] == "or" else all(both)


@settings(max_examples=steps(30, 200))
@given(_tree)
def test_words_together_mean_what_logic_says(viewed, calls, tree):
    assert _kept(viewed, _text(tree))[1] == sum(_meant(tree, call) for call in calls)


def test_the_other_words_ask_the_tables_they_name(viewed):
    with drawtap.open(viewed.path) as trace:

        def count(query):
            return trace.sql(f"SELECT count(DISTINCT seq) FROM ({query})").fetchall()[0][0]

        texture = trace.sql("SELECT textures[1] FROM draws WHERE len(textures) > 0 LIMIT 1").fetchall()[0][0]
        rule = trace.sql("SELECT rule FROM findings WHERE seq IS NOT NULL LIMIT 1").fetchall()[0][0]
        for text, query in (
            ("changes:program", "SELECT begin_seq AS seq FROM state WHERE path ILIKE '%program%'"),
            (f"uses:texture={texture}", f"SELECT seq FROM draws WHERE list_contains(textures, {texture})"),
            ("uses:program=1", "SELECT seq FROM draws WHERE program = 1"),
            ("redundant", "SELECT seq FROM redundancy"),
            (f"finding:{rule}", f"SELECT seq FROM findings WHERE seq IS NOT NULL AND rule = '{rule}'"),
            ("sql: seq % 7 = 3", "SELECT seq FROM calls WHERE seq % 7 = 3"),
            ("is:draw sql: seq % 2 = 0", "SELECT seq FROM draws WHERE kind = 'draw' AND seq % 2 = 0"),
        ):
            assert _kept(viewed, text)[1] == count(query), text


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
