"""The check of the native sources: how long functions, lambdas and files are, how deep they nest, what lists allow."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = """
namespace {
const auto add = [](int a, int b) {
  return a + b;
};
}  // namespace

int C::outer(std::vector<int>& all) {
  for (int one : all)
    if (one) {
      std::for_each(all.begin(), all.end(), [&](int other) {
        while (other) --other;
        return;
      });
    }
  return 0;
}

struct Plain {
  int value;
};
"""


@pytest.fixture(scope="module")
def check() -> ModuleType:
    path = Path(__file__).parents[2] / "native/check.py"
    spec = importlib.util.spec_from_file_location("native_check", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_functions_and_lambdas_are_measured(check: ModuleType) -> None:
    measured = {body.name: (body.lines, body.levels) for body in check.functions(SOURCE)}
    assert measured == {"add": (3, 0), "C::outer": (10, 4), "a lambda": (4, 1)}


def test_functions_may_become_flatter_only(check: ModuleType) -> None:
    known = {("a.cc", "kept"): 9, ("a.cc", "mended"): 9}
    here = {("a.cc", "kept"): 9, ("b.cc", "new"): 6}
    assert list(check.grown(known, here)) == [
        "native/b.cc: new has 6 levels; 5 are the limit: split it",
        "native/a.cc: mended has at most 5 levels now: take it out of the list in native/check.py",
    ]
    assert list(check.grown(known, {("a.cc", "kept"): 10, ("a.cc", "mended"): 7})) == [
        "native/a.cc: kept has 10 levels; 9 are the limit: split it"
    ]


def test_long_files_say_why(check: ModuleType) -> None:
    long = "int a;\n" * 801
    assert list(check.too_long("native/a.cc", long)) == [
        "native/a.cc has 801 lines; 800 are the limit: split it, or say why at its top"
    ]
    assert list(check.too_long("a.cc", "int a;\n" * 800)) == []
    assert list(check.too_long("a.cc", "// A table.\n// In one file: it is one table.\n" + long)) == []


def test_scripts_of_pages_and_tests_are_measured_too(
    check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "NATIVE", tmp_path / "native")
    for name, lines in {"src/short.js": 800, "src/long.js": 801, "src/plots.min.js": 801, "tests/long.c": 801}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("f();\n" * lines, encoding="utf-8")
    said = "has 801 lines; 800 are the limit: split it, or say why at its top"
    assert list(check.other_faults()) == [f"src/long.js {said}", f"tests/long.c {said}"]
    for name, lines in {"src/a.py": 801, "tests/unit/test_a.py": 801, "tests/test_b.py": 800}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("f()\n" * lines, encoding="utf-8")
    said = "has 801 lines; 800 are the limit: split it"
    assert list(check.python_faults()) == [f"src/a.py {said}", f"tests/unit/test_a.py {said}"]


def test_includes_lead_downwards(check: ModuleType) -> None:
    path = check.NATIVE / "core/trace.cc"
    assert list(check.wrong_includes(path, '#include "../common/ring.h"\n#include "chunk.h"\n#include <map>\n')) == []
    assert list(check.wrong_includes(path, '\n#include "../export/names.h"\n')) == [
        "native/core/trace.cc:2: core includes ../export/names.h, but export is not below it"
    ]


def test_no_two_sources_of_a_folder_give_one_name(check: ModuleType, tmp_path: Path) -> None:
    texts = {
        "a.h": "namespace dt {\nenum Kind : int { SMALL, LARGE };\n}  // namespace dt\n",
        "a.cc": '#include "a.h"\nnamespace dt {\nnamespace {\nconstexpr int MOST = 1, LEAST = 0;\nusing Row = int;\n'
        "int size_of(int a) { return a; }\n}  // namespace\n}  // namespace dt\n#define SHORT 1\n",
        "b.cc": "namespace dt {\nstatic bool size_of() { return true; }\nstruct LARGE {\n};\nusing Row = int;\n"
        "namespace other {\nconst int MOST = 2;\n}  // namespace other\n}  // namespace dt\n#define SHORT 2\n",
        "c.cc": "namespace dt {\nconstexpr int LEAST = 3;\nint size_of(long);\n}  // namespace dt\n",
    }
    room = tmp_path / "core"
    room.mkdir()
    for name, text in texts.items():
        (room / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "NATIVE", tmp_path)
        assert sorted(check.names_that_meet(sorted(room.glob("*.cc")))) == [
            "native/core/a.h:2: LARGE is a name at file level in native/core/b.cc:3 too: rename one",
            "native/core/b.cc:10: SHORT is a name at file level in native/core/a.cc:9 too: rename one",
            "native/core/b.cc:2: size_of is a name at file level in native/core/a.cc:6 too: rename one",
            "native/core/c.cc:2: LEAST is a name at file level in native/core/a.cc:4 too: rename one",
        ]
