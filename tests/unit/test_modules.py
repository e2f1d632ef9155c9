"""Users' modules: scripts, targets, composition, and errors that name the script's lines."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from drawtap.errors import InputError, UnavailableError, UsageError
from drawtap.instrument import generate, script, user_module
from drawtap.instrument.compile import CompileError, find_compiler
from drawtap.instrument.generate_module import Target, generate_module
from drawtap.instrument.module import build_projects

FIGURE_8 = """def _print_enter(f: func.Func) -> str:
    return f'std::cerr << "{f.name} Enter" << std::endl;'
def _print_leave(f: func.Func) -> str:
    return f'std::cerr << "{f.name} Leave" << std::endl;'
debug_hooks = func.Hooks(
    header="#include <iostream>",
    hook_funcs=[
        lambda f: func.Hook(
            is_target=lambda f: "glDraw" in f.name,
            before_run=_print_enter(f),
            after_run=_print_leave(f),
        ),
    ],
)
"""
needs_compiler = pytest.mark.skipif(not shutil.which("c++") and not shutil.which("g++"), reason="no C++ compiler here")


def _project(folder: Path, text: str, name: str = "hooks.py") -> script.Project:
    path = folder / name
    path.write_text(text)
    return script.load(path)


def _toy(folder: Path, text: str, name: str = "hooks.py") -> str:
    made = generate_module([_project(folder, text, name)], Target("toy"))
    return "\n".join(text for file, text in made.files.items() if file.startswith("wrappers_"))


def test_the_script_of_the_paper_works_as_printed(tmp_path: Path) -> None:
    made = generate_module([_project(tmp_path, FIGURE_8)], Target("gl", "3.2", "core"))
    assert "glDrawArrays" in made.hooked and "glDrawBuffers" in made.hooked
    assert all("glDraw" in name for name in made.hooked)
    text = user_module.shown(made, "glDrawBuffers")
    enter, leave = text.index('"glDrawBuffers Enter"'), text.index('"glDrawBuffers Leave"')
    assert enter < text.index("_next();") < leave
    assert f'#line 2 "{tmp_path / "hooks.py"}"' in text[:enter]
    assert f'#line 4 "{tmp_path / "hooks.py"}"' in text[:leave]


@pytest.mark.parametrize(
    "target", ['f.name == "toySwap"', 'lambda: f.name == "toySwap"', 'lambda g: g.name == "toySwap"']
)
def test_is_target_is_a_value_or_something_to_call(tmp_path: Path, target: str) -> None:
    text = f'h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target={target}, before_run="mine();")])'
    made = generate_module([_project(tmp_path, text)], Target("toy"))
    assert made.hooked == ("toySwap",)


def test_targets_are_the_registrys() -> None:
    assert len(Target("gles2", "2.0").commands() or ()) == 142 + 158  # and the window system's
    es31, with_timer = (
        Target("gles2", "3.1", extensions=e).commands() or set() for e in ((), ("GL_EXT_disjoint_timer_query",))
    )
    assert "glQueryCounterEXT" in with_timer - es31
    assert "glBegin" in (Target("gl", "4.6", "compatibility").commands() or ())
    assert "glBegin" not in (Target("gl", "4.6", "core").commands() or ())
    assert "glDrawArrays" in (Target("glsc2").commands() or ())
    for target, said in (
        (Target("gles9"), "gles9"),
        (Target("gles2", "9.9"), "9.9"),
        (Target("gles2", extensions=("GL_EXT_no_such",)), "GL_EXT_no_such"),
        (Target("glsc2", extensions=("GL_ARB_sync",)), "GL_ARB_sync"),
        (Target(version="3.0"), "API"),
    ):
        with pytest.raises(UsageError, match=said):
            target.commands()


def test_safety_critical_modules_are_generated(tmp_path: Path) -> None:
    made = generate_module([_project(tmp_path, FIGURE_8)], Target("glsc2"))
    user_module.write(made, tmp_path / "out")
    assert "glDrawRangeElements" in made.hooked
    assert (tmp_path / "out" / "wrappers_0.cc").exists()


def test_hooks_enclose_each_other_in_the_order_given(tmp_path: Path) -> None:
    one = 'a = func.Hooks(hook_funcs=[lambda f: func.Hook(before_run="first();", after_run="last();")])'
    two = 'b = func.Hooks(hook_funcs=[lambda f: func.Hook(before_run="second();", after_run="third();")])'
    projects = [_project(tmp_path, one, "one.py"), _project(tmp_path, two, "two.py")]
    text = user_module.shown(generate_module(projects, Target("toy")), "toySwap")
    body = text[text.index("dt_record_toySwap(") :]
    places = [body.index(f"module_{name}::hook_0_toySwap(") for name in ("one_a", "two_b")]
    assert places == sorted(places) and places[1] < body.index("dt_core_toySwap(")


def test_headers_of_two_scripts_cannot_clash(tmp_path: Path) -> None:
    header = 'h = func.Hooks(header="static int counter;", hook_funcs=[lambda f: func.Hook(before_run="counter++;")])'
    projects = [_project(tmp_path, header, name) for name in ("one.py", "two.py")]
    text = generate_module(projects, Target("toy")).files["module.h"]
    assert text.count("static int counter;") == 2
    assert (
        text.index("namespace module_one_h") < text.index("static int counter;") < text.index("namespace module_two_h")
    )
    macros = 'h = func.Hooks(header="#define N {}", hook_funcs=[lambda f: func.Hook(before_run="(void)N;")])'
    different = [_project(tmp_path, macros.format(n), f"{name}.py") for n, name in ((1, "x"), (2, "y"))]
    with pytest.raises(UsageError, match="macro N"):
        generate_module(different, Target("toy"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("func.Hooks(", "hooks.py:1"),
        ("x = 1", "makes no hooks"),
        ("x = 1\nraise ValueError('no')", "hooks.py:2: ValueError: no"),
        ("h = func.Hooks(hook_funcs=[\n  lambda f: f.nothing])", "hooks.py:2: AttributeError"),
        ("h = func.Hooks(hook_funcs=[lambda f: 1])", "returned int"),
        ("h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target=False)])", "no function"),
    ],
)
def test_mistakes_in_a_script_are_said_with_its_lines(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        generate_module([_project(tmp_path, text)], Target("toy"))
    assert said in str(raised.value)


def test_a_script_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"no-such\.py"):
        user_module.project("no-such.py")
    with pytest.raises(InputError, match="comes with drawtap: gl-errors"):
        user_module.project("gl_errors.py")
    with pytest.raises(UsageError, match="frame-limiter"):
        user_module.project("frame-limite")


def test_every_module_that_comes_along_is_documented_and_generates() -> None:
    for own in user_module.own_modules():
        assert own.about.partition("\n")[0].endswith("."), own.name
        made = generate_module([script.load(own.script)], Target("gles2", "3.2"))
        assert made.hooked, own.name


@needs_compiler
def test_the_compiler_speaks_of_the_scripts_lines(tmp_path: Path) -> None:
    text = '''
hooks = func.Hooks(
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.name == "toySwap",
            before_run="""
                int fine = 1;
                (void)fine;
                no_such_function();
            """,
        ),
    ],
)
'''
    with pytest.raises(CompileError) as raised:
        build_projects([_project(tmp_path, text)], Target("toy"))
    assert f"{tmp_path / 'hooks.py'}:9:" in raised.value.output
    assert "no_such_function" in raised.value.output


@needs_compiler
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("cpp", "line", "said"),
    [
        (("\n#include <stdio.h>\nstatic int f() {\n  return missing_thing; }", "f();"), 4, "missing_thing"),
        (("#ifdef NEVER\n#include <no>\n#endif\nint a = missing_thing;", ""), 4, "missing_thing"),
        (("static int a = 1", "missing_thing();"), 5, "missing_thing"),  # an end that lacks is no mistake
        (("", "int a = (;"), 5, "expected"),
    ],
)
def test_lines_are_right_beside_inclusions_and_at_ends(
    tmp_path: Path, cpp: tuple[str, str], line: int, said: str
) -> None:
    header, code = cpp
    rows = header.count("\n")
    text = f"""h = func.Hooks(header='''{header}''',
  hook_funcs=[lambda f: func.Hook(
    is_target=f.name == "toySwap",
    # a remark
    before_run="{code}")])"""
    with pytest.raises(CompileError) as raised:
        build_projects([_project(tmp_path, text)], Target("toy"))
    there = line + (rows if line == 5 else 0)
    errors = [row for row in raised.value.output.splitlines() if " error: " in row]
    assert errors and errors[0].startswith(f"{tmp_path / 'hooks.py'}:{there}:") and said in errors[0]


@needs_compiler
def test_a_brace_left_open_is_looked_for_in_the_script(tmp_path: Path) -> None:
    text = 'h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target=f.name == "toySwap", before_run="{")])'
    with pytest.raises(CompileError) as raised:
        build_projects([_project(tmp_path, text)], Target("toy"))
    assert "left open" in str(raised.value.hint) and str(tmp_path / "hooks.py") in str(raised.value.hint)


def test_helpers_in_a_header_know_the_context_too(tmp_path: Path) -> None:
    text = """h = func.Hooks(header="static int& n() { return drawtap::per_context<int>(); }",
      hook_funcs=[lambda f: func.Hook(is_target=f.name == "glClear", before_run="n()++;")])"""
    made = generate_module([_project(tmp_path, text)], Target("gles2", "2.0"))
    assert "made_current" in user_module.shown(made, "eglMakeCurrent")


@needs_compiler
@pytest.mark.exhaustive
def test_a_project_may_have_sources_and_headers(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "own.h").write_text("int own(const char* name);\n")
    (project / "tables.cc").write_text(  # a generated source is called so, too
        '#include "own.h"\n#include <string>\nint own(const char* n) { return (int)std::string(n).size(); }\n'
    )
    (project / "hooks.py").write_text(
        "h = func.Hooks(header='#include \"own.h\"',\n"
        "  hook_funcs=[lambda f: func.Hook(before_run='own(_function.name);')])\n"
    )
    library = build_projects([user_module.project(str(project))], Target("toy")).library
    assert library.exists()
    (project / "own.h").write_text("int own(const char* name);  // changed\n")
    assert build_projects([user_module.project(str(project))], Target("toy")).library != library


def _wheel(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Hide every compiler, and put a package `ziglang` on the path."""
    (folder / "ziglang").mkdir(parents=True)
    (folder / "ziglang" / "__init__.py").write_text("")
    (folder / "ziglang" / "__main__.py").write_text(body)
    (folder / "empty").mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH")))))
    monkeypatch.setenv("PATH", str(folder / "empty"))
    monkeypatch.delenv("CXX", raising=False)


@needs_compiler
def test_without_a_compiler_the_wheel_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here a stand-in that calls the system's compiler; the last test is with the real one.
    compiler = shutil.which("c++") or shutil.which("g++")
    own_path = os.environ["PATH"]
    body = f"import os, sys\nos.environ['PATH'] = {own_path!r}\nos.execv({compiler!r}, ['c++', *sys.argv[2:]])\n"
    _wheel(tmp_path, monkeypatch, body)
    monkeypatch.setenv("DRAWTAP_CACHE", str(tmp_path / "cache"))
    assert find_compiler().is_zig
    text = 'h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target=f.name == "toySwap", before_run="no_such();")])'
    with pytest.raises(CompileError) as raised:
        build_projects([_project(tmp_path, text)], Target("toy"))
    assert "ziglang c++ failed" in str(raised.value)
    assert f"{tmp_path / 'hooks.py'}:1:" in raised.value.output


def test_neither_compiler_nor_wheel_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _wheel(tmp_path, monkeypatch, "raise SystemExit(1)")
    with pytest.raises(UnavailableError) as raised:
        find_compiler()
    assert "g++" in str(raised.value) and "drawtap[compiler]" in str(raised.value)


def test_the_runtime_needs_no_header_of_the_cxx_library() -> None:
    # clang, and so the wheel, takes a loop over braces only with <initializer_list>, which g++ sees by accident.
    rooms = (generate.runtime_folder(), generate.mirror_folder())
    for source in (path for room in rooms for path in room.rglob("*.*")):
        if source.suffix in (".cc", ".h", ".inc"):
            assert not re.search(r"\bfor \([^;()]*: *\{", source.read_text()), source


def test_whose_mistake_it_is_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = _project(tmp_path, 'h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target=True, before_run=";")])')
    for place, said in ((generate.runtime_folder() / "resolve.cc", "$CXX"), ("wrappers_0.cc", "is a brace")):
        error = CompileError("c++ failed", f"{place}:1:2: error: it does not like that\n  1 | code\n")
        monkeypatch.setattr("drawtap.instrument.module.compile_module", Mock(side_effect=error))
        with pytest.raises(CompileError) as raised:
            build_projects([project], Target("toy"))
        assert said in str(raised.value.hint)


def test_the_wheel_itself_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("the wheel is not installed (pip install 'drawtap[compiler]')")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("DRAWTAP_CACHE", str(tmp_path / "cache"))
    text = """h = func.Hooks(header="#include <iostream>", hook_funcs=[
  lambda f: func.Hook(is_target=f.name == "toySwap", before_run="std::cerr << _frame;")])"""
    assert build_projects([_project(tmp_path, text)], Target("toy")).library.stat().st_size > 10_000
