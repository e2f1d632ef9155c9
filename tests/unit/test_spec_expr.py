"""The language of size rules: what it allows, what it means in Python and in C++."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import size_rules
from drawtap.spec import expr
from drawtap.spec.expr import Scope, SpecError
from drawtap.spec.model import Api, Command, CType, Param

INT = CType("int", "int", 0, const=False, scalar="i32")
POINTER = CType("const int *", "int", 1, const=True, scalar="i32")
VOID = CType("void", "void", 0, const=False, scalar="void")
API = Api(
    name="gl",
    commands={},
    groups={},
    enums={"GL_A": 0x8000, "GL_B": 7, "GL_ALL": 0xFFFFFFFFFFFFFFFF},
    features=(),
    extensions=(),
    tables={"widths": {"GL_A": 4, "GL_B": "GL_B * 2", "default": 1}},
)
COMMAND = Command("glCall", "gl", INT, (Param("n", INT), Param("m", INT), Param("p", POINTER)))
SCOPE = Scope("glCall", frozenset("nmp"), API.enums, frozenset({"widths"}))

MEANINGS = [
    ("n * 4", {"n": 3}, 12),
    ("n + m - 1", {"n": 3, "m": 4}, 6),
    ("n // 4", {"n": 11}, 2),
    ("n // 4", {"n": -11}, -2),  # as C++ divides
    ("n % 4", {"n": -11}, -3),
    ("-n", {"n": 5}, -5),
    ("n << 2 | 1", {"n": 5}, 21),
    ("n & 6", {"n": 5}, 4),
    ("n if n > 0 else 0", {"n": -5}, 0),
    ("1 if n == GL_A else 2", {"n": 0x8000}, 1),
    ("1 if n != GL_A and m >= 2 else 0", {"n": 1, "m": 2}, 1),
    ("n or m", {"n": 0, "m": 7}, 1),
    ("not n", {"n": 0}, 1),
    ("widths(n)", {"n": 0x8000}, 4),
    ("widths(n)", {"n": 7}, 14),
    ("widths(n) * m", {"n": 8, "m": 3}, 3),
    ("min(n, m) + max(n, m)", {"n": 2, "m": 9}, 11),
    ("deref(p) if p else n", {"p": 6, "n": 1}, 6),
]


@pytest.mark.parametrize(("text", "values", "expected"), MEANINGS)
def test_meaning_in_python(text: str, values: dict[str, int], expected: int) -> None:
    expr.validate(text, SCOPE)
    assert size_rules.evaluate(text, values, API) == expected


REFUSED = [
    ("n +", "no expression"),
    ("n / 2", "operator Div"),
    ("n ** 2", "operator Pow"),
    ("n // m", "division"),
    ("n // 0", "division"),
    ("'text'", "constant"),
    ("1.5", "constant"),
    ("True", "constant"),
    ("n.real", "Attribute"),
    ("n[0]", "Subscript"),
    ("[n]", "List"),
    ("lambda: n", "Lambda"),
    ("0 < n < 9", "chained comparison"),
    ("min(a=n, b=m)", "call that is not"),
    ("p.q(n)", "call that is not"),
    ("n in m", "operator In"),
    ("(x := n)", "NamedExpr"),
    ("missing", "neither a parameter nor an enumerant"),
    ("GL_AA", "neither a parameter nor an enumerant"),
    ("unheard(n)", "neither a function nor a table"),
    ("min(n)", "1 arguments instead of 2"),
    ("widths(n, m)", "2 arguments instead of 1"),
    ("deref(n + 1)", "must give deref a parameter"),
    ("result", "neither a parameter"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_refused(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        expr.validate(text, SCOPE)


def test_errors_name_the_command_and_hint() -> None:
    with pytest.raises(SpecError) as caught:
        expr.validate("GL_AX * 2", SCOPE)
    assert "glCall" in caught.value.message
    assert caught.value.hint is not None
    assert "GL_A" in caught.value.hint


def test_result_only_where_it_is_known() -> None:
    after = Scope("glCall", frozenset("n"), {}, result=True)
    expr.validate("result if n else 0", after)


def test_renaming_leaves_functions_alone() -> None:
    assert expr.renamed("min(min_, n) * n", (("n", "count"), ("min_", "low"))) == "min(low, count) * count"
    assert expr.renamed("n * 4", (("other", "x"),)) == "n * 4"
    # two parameters that change places
    assert expr.renamed("a - b", (("a", "b"), ("b", "a"))) == "b - a"


def test_cpp_names() -> None:
    assert expr.to_cpp("n * 4", COMMAND, API) == "((int64_t)n * (int64_t)4)"
    assert expr.to_cpp("deref(p)", COMMAND, API) == "(p ? (int64_t)*p : (int64_t)0)"
    assert expr.to_cpp("strlen(p)", COMMAND, API) == "dt::size::strlen((const void*)p)"
    assert expr.to_cpp("get_count(n)", COMMAND, API) == "dt::size::get_count((int64_t)n)"
    assert expr.to_cpp("widths(n)", COMMAND, API) == "dt::table::widths((int64_t)n)"
    assert expr.to_cpp("GL_A", COMMAND, API) == "(int64_t)0x8000"
    assert expr.to_cpp("GL_ALL", COMMAND, API) == "(int64_t)(-1)"
    assert expr.to_cpp("result", COMMAND, API) == "(int64_t)_result"
    assert expr.to_cpp("1 if p else 0", COMMAND, API) == "((int64_t)(intptr_t)p ? (int64_t)1 : (int64_t)0)"


def test_every_declared_function_has_a_prototype() -> None:
    text = expr.prototypes_to_cpp()
    for name in expr.function_parameters():
        assert name == "deref" or f"int64_t {name}(" in text
    assert "int64_t sum(const void* counts, int64_t n);" in text


def test_an_overlay_may_declare_functions() -> None:
    with pytest.raises(SpecError):
        expr.validate("test_only_size(n)", SCOPE)
    expr.declare("test_only_size(a)", "for this test")
    try:
        expr.validate("test_only_size(n)", SCOPE)
        assert expr.to_cpp("test_only_size(n)", COMMAND, API) == "dt::size::test_only_size((int64_t)n)"
    finally:
        del expr.FUNCTIONS["test_only_size(a)"]
        del expr._PARAMETERS["test_only_size"]


_leaves = st.one_of(st.sampled_from(["n", "m", "GL_A", "GL_B"]), st.integers(-100, 100).map(str))


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "==", "<", ">=", "and", "or"]), inner)
    return st.one_of(
        pair.map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"(not {t})"),
        inner.map(lambda t: f"widths({t})"),
        st.tuples(inner, st.integers(1, 9)).map(lambda t: f"({t[0]} // {t[1]})"),
        st.tuples(inner, st.integers(1, 9)).map(lambda t: f"({t[0]} % {t[1]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
    )


def test_cpp_and_python_agree(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine")
    rules: list[str] = []

    @settings(max_examples=300, database=None, derandomize=True, deadline=None)
    @given(st.recursive(_leaves, _compound, max_leaves=6))
    def collect(text: str) -> None:
        rules.append(text)

    collect()
    pairs = [(3, 5), (-7, 0), (0x8000, 7)]
    lines = ["#include <stdint.h>", "#include <stdio.h>", "namespace dt::size {",
             "static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }", "}", expr.tables_to_cpp(API),
             "int main() {", "  const int inputs[][2] = {" + ", ".join(f"{{{n}, {m}}}" for n, m in pairs) + "};",
             "  for (auto& input : inputs) {", "    int n = input[0], m = input[1]; (void)n; (void)m;"]  # fmt: skip
    lines += [f'    printf("%lld\\n", (long long){expr.to_cpp(text, COMMAND, API)});' for text in rules]
    source, program = tmp_path / "rules.cc", tmp_path / "rules"
    source.write_text("\n".join([*lines, "  }", "}"]))
    done = subprocess.run(
        [compiler, "-std=c++20", "-O0", "-w", "-o", program, source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    printed = [int(line) for line in output.split()]
    expected = [size_rules.evaluate(text, {"n": n, "m": m}, API) for n, m in pairs for text in rules]
    assert len(rules) > 100
    assert printed == expected
