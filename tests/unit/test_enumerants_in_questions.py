"""Names of enumerants in questions stand for the numbers of the registries."""

from __future__ import annotations

from drawtap.analysis.enumerants import NUMBERS, numbered
from drawtap.spec.registry import load_api


def test_the_numbers_are_those_of_the_registries() -> None:
    known = load_api("gl").enums | load_api("egl").enums
    assert {name: known[name] for name in NUMBERS} == NUMBERS


def test_names_in_quotes_and_unknown_names_stay() -> None:
    question = """SELECT 'it''s GL_LINEAR', "GL_LINEAR", GL_NOTHING FROM x WHERE a IN (GL_NEAREST,GL_LINEAR)"""
    assert numbered(question) == question.replace("(GL_NEAREST,GL_LINEAR)", "(9728,9729)")
