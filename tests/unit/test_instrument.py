"""The generator: every command becomes a wrapper that compiles, hooks compose in order, modules are cached."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from drawtap.errors import UsageError
from drawtap.instrument import compile as compiling
from drawtap.instrument import generate, generate_headers, module
from drawtap.instrument.compile import CompileError
from drawtap.instrument.hook import Function, Hook, Hooks
from drawtap.instrument.hooks import capture_state, recorder
from drawtap.spec.signature import layout


def _functions(*apis: str) -> dict[str, Function]:
    return {f.name: f for f in generate.functions_of(apis or generate.DEFAULT_APIS)}


@pytest.fixture(scope="module")
def whole() -> generate.Sources:
    return generate.generate()


def test_every_command_of_every_registry_is_wrapped(whole: generate.Sources) -> None:
    functions = _functions()
    counts = {api: sum(f.api.name == api for f in functions.values()) for api in generate.DEFAULT_APIS}
    assert counts["gl"] == 3295
    assert counts["egl"] == 158
    assert counts["glx"] == 134
    units = "".join(text for name, text in whole.files.items() if name.startswith("wrappers_"))
    entered, quoted = set(re.findall(r" (\w+)\(", units)), set(re.findall(r'"(\w+)"', whole.files["tables.cc"]))
    entries = set(re.findall(r"DT_FUNCTION (\d+, \w+)", whole.files["entries.S"]))
    for name, function in functions.items():
        # What has something to do while nothing is recorded is called itself, else a jump to where calls go now.
        assert (name in entered) != (f"dt_enter_{name}" in entered), name
        assert f"{function.id}, {name}" in entries, name
        assert name in quoted, name


def test_only_what_has_something_to_do_is_entered_while_nothing_is_recorded(whole: generate.Sources) -> None:
    kept = {line.split()[2].strip(",") for line in whole.files["entries.S"].splitlines() if line.endswith(", 1")}
    assert {"eglSwapBuffers", "glXSwapBuffers", "eglGetProcAddress", "glFinish", "glReadPixels", "glFlush"} <= kept
    assert not {"glEnable", "glDrawElements", "eglMakeCurrent"} & kept
    # What no driver tells later: called rarely, and long beside what the tap does then.
    assert {"glNewList", "glLinkProgram", "eglCreateContext", "glXCreatePbuffer", "glFenceSync"} <= kept
    assert len(kept) < 75


def test_what_versions_have_is_optimized_and_what_extensions_alone_have_is_not(whole: generate.Sources) -> None:
    units = {name: text for name, text in whole.files.items() if name.startswith("wrappers_")}
    rare = "".join(text for name, text in units.items() if name.startswith(generate.RARE))
    common = "".join(text for name, text in units.items() if not name.startswith(generate.RARE))
    for name in ("glDrawElements", "glDrawArraysEXT", "glMapBufferOES", "eglSwapBuffers", "glVertex3f", "vgDrawPath"):
        assert f" dt_record_{name}(" in common and f" dt_record_{name}(" not in rare, name
    for name in ("glNamedBufferDataEXT", "glPathCommandsNV", "glVertex2hNV"):
        assert f" dt_record_{name}(" in rare, name


def test_generating_twice_gives_the_same_text() -> None:
    assert generate.generate(("toy",)).files == generate.generate(("toy",)).files


def test_record_fields_do_not_overlap_and_stay_inside_the_record() -> None:
    for function in _functions().values():
        fields = layout(function.command)
        slots = [fields.slot(f.param, f.role) for f in (*fields.w8, *fields.w4)]
        assert len(slots) == len(set(slots)), function.name
        assert 16 + 8 * len(fields.w8) + 4 * len(fields.w4) < 1024, function.name


def test_before_code_runs_in_order_and_after_code_in_reverse() -> None:
    sets = [
        Hooks(name="one", hook_funcs=[lambda f: Hook(before_run="one_before();", after_run="one_after();")]),
        Hooks(name="two", hook_funcs=[lambda f: Hook(before_run="two_before();", after_run="two_after();")]),
    ]
    text = generate.wrapper(_functions("toy")["toySwap"], sets)
    order = [text.index(part) for part in ("one_before", "two_before", "_real(handle);", "two_after", "one_after")]
    assert order == sorted(order)


def test_a_hook_that_does_not_want_a_function_leaves_it_alone() -> None:
    sets = [Hooks(hook_funcs=[lambda f: Hook(is_target=lambda: f.name == "toySwap", before_run="mine();")])]
    assert "mine();" in generate.wrapper(_functions("toy")["toySwap"], sets)
    assert "mine();" not in generate.wrapper(_functions("toy")["toyClose"], sets)


def test_show_names_near_misses() -> None:
    with pytest.raises(UsageError) as raised:
        generate.show("glDrawElement")
    assert "glDrawElements" in str(raised.value.hint)


def test_the_record_is_committed_before_the_driver_runs() -> None:
    text = generate.show("glDrawElements")
    assert text.index("dt::commit(") < text.index("_real(mode, count, type, indices);") < text.index("dt::finish(")


def test_aliases_share_the_hooks_of_what_they_are_aliases_of() -> None:
    state = capture_state.hooks(generate.mirror_folder())
    functions = _functions("gl")
    own = state.for_function(functions["glBindBuffer"])
    alias = state.for_function(functions["glBindBufferARB"])
    assert own and alias
    assert own[0].after_run == alias[0].after_run


def test_functions_that_read_client_memory_get_its_hook() -> None:
    for name in ("glDrawArrays", "glDrawElements", "glMultiDrawElements", "glDrawArraysInstanced"):
        assert f"before_{name}" in generate.show(name)


def test_a_compiler_error_is_reported_with_the_compilers_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWTAP_CACHE", str(tmp_path))
    with pytest.raises(CompileError, match="no_such_thing"):
        compiling.compile_module("broken", {"a.cc": "int f() { return no_such_thing; }"}, [], [])
    assert not list(tmp_path.glob("modules/*/*.so"))


def test_a_compiled_module_is_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWTAP_CACHE", str(tmp_path))
    files = {"a.cc": 'extern "C" __attribute__((visibility("default"))) int f() { return 1; }', "x.sig": "V\t1\n"}
    folder = compiling.compile_module("x", files, [], [])
    before = (folder / "libdrawtap-x.so").stat().st_mtime_ns
    assert compiling.compile_module("x", files, [], []) == folder
    assert (folder / "libdrawtap-x.so").stat().st_mtime_ns == before
    assert (folder / "x.sig").read_text() == "V\t1\n"


def test_modules_share_the_objects_of_their_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWTAP_CACHE", str(tmp_path))
    include, header, runtime = tmp_path / "include", tmp_path / "include/r.h", tmp_path / "r.cc"
    include.mkdir()
    header.write_text("int r();\n")
    runtime.write_text('#include "r.h"\nint r() { return 1; }\n')

    def objects(module: str) -> dict[Path, int]:
        files = {"a.cc": f'#include "r.h"\nint {module}() {{ return r(); }}', "x.sig": "V\t1\n"}
        assert list(compiling.compile_module(module, files, [runtime], [include]).glob("*.so"))
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "modules/objects").rglob("*.o")}

    first = objects("one")
    assert len(first) == 1 and objects("two") == first
    header.write_text("int r();  // another\n")
    assert len(objects("two")) == 2


def test_modules_with_and_without_users_code_share_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands beside code of a user's is compiled as this code is, the rest of the runtime as for every module."""
    monkeypatch.setenv("DRAWTAP_CACHE", str(tmp_path))
    runtime, beside = tmp_path / "r.cc", tmp_path / "u.cc"
    runtime.write_text("#ifdef __cpp_exceptions\n#error thrown\n#endif\nint r() { return 1; }\n")
    beside.write_text("#include <string>\nint u() try { return std::string().at(1); } catch (...) { return 2; }\n")
    files = {"a.cc": "#include <string>\nint a() { throw std::string(); }", "x.sig": "V\t1\n"}
    compiling.compile_module("own", files, [runtime], [], user_runtime=[beside])
    kept = {path.name for path in (tmp_path / "modules/objects").rglob("*.o")}
    compiling.compile_module("plain", {"a.cc": "int a() { return 1; }", "x.sig": "V\t1\n"}, [runtime], [])
    assert {path.name for path in (tmp_path / "modules/objects").rglob("*.o")} == kept
    assert len(list((tmp_path / "modules/objects").rglob("r-*.o"))) == 1


def test_sources_of_another_version_are_removed_and_equal_ones_left_alone(tmp_path: Path) -> None:
    sources = generate.generate(("toy",), [recorder.hooks()])
    sources.write(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert set(before) == set(sources.files)
    for name in ("wrappers_77.cc", "other.S"):
        (tmp_path / name).write_text("#error\n")
    sources.write(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_the_whole_toy_module_is_clean_under_wall_wextra(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    generate.generate(("toy",), [recorder.hooks()]).write(tmp_path)
    generate.write_files(tmp_path, generate_headers.headers())
    folders = [f"-I{folder}" for folder in (tmp_path, *module.include_folders())]
    done = subprocess.run(
        [compiler, "-std=c++20", "-O1", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
         "-fno-exceptions", "-fno-rtti", *folders, *map(str, sorted(tmp_path.glob("*.cc")))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
