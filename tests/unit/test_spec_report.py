"""The coverage report: its figures, the bar, and that everything it counts is C++ that compiles."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from drawtap.errors import UsageError
from drawtap.spec import expr, report
from drawtap.spec.model import Api, Array, AttributeList, Command, CType, Data, String
from drawtap.spec.registry import load_api

APIS = ("gl", "egl", "glx", "vg", "toy")


def _row(label: str) -> report.Coverage:
    return next(row for row in report.coverage((*report.APIS, "toy")) if row.label == label)


def test_no_command_of_the_versions_of_the_bar_is_incomplete() -> None:
    assert {row.label: row.incomplete for row in report.below_bar()} == {}
    counted = {(row.api, row.version, row.profile) for row in report.coverage()}
    assert set(report.BAR) <= counted


@pytest.mark.parametrize(
    ("label", "commands"),
    [
        ("OpenGL 4.6 core", 657),
        ("OpenGL 1.0", 306),
        ("OpenGL ES 2.0", 142),
        ("OpenGL ES 3.2", 358),
        ("EGL 1.5", 44),
        ("GLX 1.4", 39),
        ("OpenVG 1.0", 75),
        ("OpenVG 1.1", 87),
        ("VGU 1.0", 9),
        ("Toy 1.0", 12),
    ],
)
def test_versions_have_their_commands(label: str, commands: int) -> None:
    row = _row(label)
    assert row.commands == commands
    assert row.wrapped == commands
    assert row.complete == commands
    assert row.known_pointers == row.pointers > 0


def test_every_version_of_every_api_has_a_row() -> None:
    versions = [row for row in report.coverage() if row.version]
    keys = {(row.api, row.version) for row in versions}
    assert keys == {(f.api, f.number) for name in report.APIS for f in load_api(name).features}
    assert len({row.label for row in versions}) == len(versions)


def test_profiles_begin_with_the_version_that_removes_commands() -> None:
    profiles = {row.label for row in report.coverage(["gl"])}
    assert {"OpenGL 3.1", "OpenGL 3.2 core", "OpenGL 3.2 compatibility"} <= profiles
    assert "OpenGL 3.2" not in profiles
    assert "OpenGL 3.1 core" not in profiles


def test_extensions_add_up() -> None:
    for name in report.APIS:
        api = load_api(name)
        total = next(row for row in report.coverage([name]) if not row.version)
        each = report.extensions([name])
        assert {c for row in each for c in row.incomplete} == set(total.incomplete)
        assert total.commands == len({c for f in api.extensions for names in f.commands.values() for c in names})


@pytest.mark.parametrize("name", ["egl", "glx", "vg"])
def test_extension_commands_of_the_window_system_apis_are_complete(name: str) -> None:
    assert [row.label for row in report.extensions([name]) if row.incomplete] == []


def test_rows_are_json() -> None:
    rows = report.coverage(["vg"])
    told = json.loads(json.dumps(report.as_json(rows)))
    assert told[1]["label"] == "OpenVG 1.1"
    assert told[1]["complete"] == told[1]["commands"] == 87
    assert told[1]["incomplete"] == []


def test_incomplete_commands_are_counted_and_named() -> None:
    # A command that lost its rule must show up: the figures are not constants.
    command = Command(
        name="odd",
        api="toy",
        returns=CType("void", "void", 0, const=False, scalar="void"),
        params=load_api("toy").commands["toyNotify"].params[2:],
    )
    bare = Command(command.name, "toy", command.returns, tuple(_without_rule(p) for p in command.params))
    row = report._row("odd", "toy", {"odd": bare})
    assert (row.pointers, row.known_pointers, row.incomplete) == (1, 0, ("odd",))


def _without_rule(param: object) -> object:
    from dataclasses import replace

    return replace(param, data=None)  # type: ignore[type-var]


# ---- one command ------------------------------------------------------------------------------------------


def test_describe_tells_prototype_versions_rules_and_flags() -> None:
    text = report.describe("eglSwapBuffersWithDamageKHR")
    assert text.startswith("EGLBoolean eglSwapBuffersWithDamageKHR(EGLDisplay dpy, EGLSurface surface, const EGLint *")
    assert "in EGL_KHR_swap_buffers_with_damage" in text
    assert "n_rects * 4 values, read" in text
    assert "frame_end" in text
    assert "names a surface" in text


def test_describe_tells_groups_and_effects() -> None:
    text = report.describe("toySet")
    assert "one of ToyName (TOY_STRIDE, TOY_LEVEL, TOY_HISTORY ... 5 names)" in text
    assert "set context.value[name] = value" in text
    assert "bits of ToyFlags (TOY_READ, TOY_WRITE, TOY_FAST)" in report.describe("toyOpen")


def test_describe_draw_elements() -> None:
    text = report.describe("glDrawElements")
    assert "offset while GL_ELEMENT_ARRAY_BUFFER is bound, else count * index_size(type) bytes, read" in text
    assert "one of DrawElementsType (GL_UNSIGNED_BYTE, GL_UNSIGNED_SHORT, GL_UNSIGNED_INT)" in text


@pytest.mark.parametrize("name", APIS)
def test_every_command_can_be_described(name: str) -> None:
    for command in load_api(name).commands.values():
        text = report.describe(command.name)
        assert text.startswith(report.prototype(command))
        assert "None" not in text.split("\n\n")[0]


def test_unknown_commands_get_near_misses() -> None:
    with pytest.raises(UsageError) as raised:
        report.describe("eglSwapBufers")
    assert "eglSwapBuffers" in str(raised.value)


# ---- everything together in one C++ translation unit --------------------------------------------------------


_EXPRESSIONS = {"count", "actual", "length", "capacity", "format", "type", "width", "height", "depth", "limit", "size"}


def _rules(rule: Data) -> Iterator[tuple[str, bool]]:
    """Size expressions of a rule, and whether they are of after the call."""
    for item in fields(rule):
        value = getattr(rule, item.name)
        if isinstance(value, str) and item.name in _EXPRESSIONS:
            yield value, item.name == "actual"
        elif isinstance(value, Array | String):
            yield from _rules(value)


def _check(command: Command, api: Api) -> str:
    params = [f"{p.type.spelling} {p.name}" for p in command.params]
    rules = {(text, after) for p in command.params if p.data for text, after in _rules(p.data)}
    if command.returns_data:
        rules |= {(text, True) for text, _ in _rules(command.returns_data)}
    if not rules:
        return ""
    if report.prototype(command).split()[0] != "void" or command.returns.indirection:
        params.append(f"{command.returns.spelling} _result")
    body = " ".join(f"_sum += {expr.to_cpp(text, command, api)};" for text, _ in sorted(rules))
    return f"int64_t check_{command.name}({', '.join(params)}) {{ int64_t _sum = 0; {body} return _sum; }}"


def test_types_commands_tables_and_rules_of_all_apis_compile_together(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    apis = [load_api(name) for name in APIS]
    lines = ["#include <stdint.h>", expr.prototypes_to_cpp(), *(api.typedefs for api in apis), 'extern "C" {']
    lines += [f"{report.prototype(c)};" for api in apis for c in api.commands.values()]
    lines += ["}", *(expr.tables_to_cpp(api) for api in apis)]
    lines += [_check(c, api) for api in apis for c in api.commands.values()]
    source = tmp_path / "all.cc"
    source.write_text("\n".join(lines))
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wno-unused", str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.parametrize("name", APIS)
def test_rules_name_enum_groups_that_exist(name: str) -> None:
    api = load_api(name)
    for command in api.commands.values():
        for rule in (*(p.data for p in command.params), command.returns_data):
            group = rule.group if isinstance(rule, Array | AttributeList) else None
            assert group is None or group in api.groups, (command.name, group)
            for attribute, values in rule.values if isinstance(rule, AttributeList) else ():
                assert attribute in api.enums and values in api.groups, (command.name, attribute, values)
        for group in (command.returns_group, *(p.group for p in command.params)):
            assert group is None or group in api.groups, (command.name, group)


@pytest.mark.parametrize("name", APIS)
def test_only_pointers_have_rules(name: str) -> None:
    for command in load_api(name).commands.values():
        assert [p.name for p in command.params if p.data is not None and not p.is_pointer] == [], command.name
