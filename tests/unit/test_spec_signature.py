"""Layouts and signature text: what the tap writes and what readers are told are one rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from drawtap.spec.model import Api, Array, Command, CType, EnumGroup, Param
from drawtap.spec.registry import load_api
from drawtap.spec.signature import Field, is_captured, layout, signature_text, tap_functions


@pytest.fixture(scope="module")
def gl() -> Api:
    return load_api("gl")


def _fields(fields: tuple[Field, ...]) -> list[str]:
    return [f.param + ("+" if f.role == "data" else "") for f in fields]


LAYOUTS = {
    # name: (w8, w4); "+" is a descriptor, "" the return value
    "glClear": ([], ["mask"]),
    "glFlush": ([], []),
    "glGetError": ([], [""]),
    "glFenceSync": ([""], ["condition", "flags"]),
    "glGetString": (["", "+"], ["name"]),
    "glMapBufferRange": (["", "offset", "length"], ["target", "access"]),
    "glBufferData": (["size", "data", "data+"], ["target", "usage"]),
    "glVertexAttribPointer": (["pointer"], ["index", "size", "type", "normalized", "stride"]),
    "glDrawElements": (["indices", "indices+"], ["mode", "count", "type"]),
    "glDepthRange": (["n", "f"], []),
    "glVertexAttrib4Nub": ([], ["index", "x", "y", "z", "w"]),
    "glShaderSource": (["string", "string+", "length", "length+"], ["shader", "count"]),
    "glGetUniformLocation": (["name", "name+"], ["", "program"]),
    "glDebugMessageCallback": (["callback", "userParam"], []),
    "glSelectBuffer": (["buffer"], ["size"]),
    "glMultiDrawElements": (["count", "count+", "indices", "indices+"], ["mode", "type", "drawcount"]),
    "glSetInvariantEXT": (["addr", "addr+"], ["id", "type"]),  # no rule: a descriptor says so at run time
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(gl: Api, name: str) -> None:
    places = layout(gl.commands[name])
    assert (_fields(places.w8), _fields(places.w4)) == LAYOUTS[name]


def test_slots(gl: Api) -> None:
    places = layout(gl.commands["glBufferData"])
    assert places.slot("data") == "8:1"
    assert places.slot("data", "data") == "8:2"
    assert places.slot("usage") == "4:1"
    with pytest.raises(KeyError, match="no field for the data of usage"):
        places.slot("usage", "data")


def test_every_command_has_a_layout() -> None:
    for name in ("gl", "egl", "glx"):
        for command in load_api(name).commands.values():
            places = layout(command)
            values = [f.param for f in (*places.w8, *places.w4) if f.role == "value"]
            assert sorted(v for v in values if v) == sorted(p.name for p in command.params)
            assert len(set(places.w8)) + len(set(places.w4)) == len(places.w8) + len(places.w4)
            assert len(places.w8) <= 255
            assert len(places.w4) <= 255


def test_structures_by_value_are_refused() -> None:
    struct = CType("Rect", "Rect", 0, const=False, scalar="struct")
    void = CType("void", "void", 0, const=False, scalar="void")
    with pytest.raises(ValueError, match="Rect has no place"):
        layout(Command("glRect", "gl", void, (Param("rect", struct),)))


@dataclass
class _Function:
    line: list[str]
    params: list[list[str]] = field(default_factory=list)
    data: dict[str, list[str]] = field(default_factory=dict)
    result: list[str] | None = None


def _parsed(text: str) -> tuple[dict[str, _Function], dict[str, dict[str, int]]]:
    functions: dict[str, _Function] = {}
    groups: dict[str, dict[str, int]] = {}
    current: _Function | None = None
    last = group = ""
    for kind, *rest in _lines(text):
        if kind == "F":
            current = functions[rest[2]] = _Function(rest)
        elif kind == "P" and current:
            current.params.append(rest)
            last = rest[0]
        elif kind == "R" and current:
            current.result = rest
            last = ""
        elif kind == "D" and current:
            current.data[last] = rest
        elif kind == "G":
            assert rest[0] not in groups
            group = rest[0]
            groups[group] = {}
        elif kind == "E":
            groups[group][rest[0]] = int(rest[1])
    return functions, groups


def _lines(text: str) -> Iterator[list[str]]:
    assert text.endswith("\n")
    for line in text.splitlines():
        yield line.split("\t")


@pytest.fixture(scope="module")
def parsed(gl: Api) -> tuple[dict[str, _Function], dict[str, dict[str, int]]]:
    apis = [gl, load_api("egl"), load_api("glx")]
    commands = [c for api in apis for c in api.commands.values()]
    return _parsed(signature_text(commands, apis, {c.name: i for i, c in enumerate(commands)}))


Parsed = tuple[dict[str, _Function], dict[str, dict[str, int]]]


def test_all_functions_are_there(parsed: Parsed) -> None:
    functions, _ = parsed
    assert len(functions) == 3295 + 158 + 134 + 12
    assert functions["glClear"].line[1:] == ["gl", "glClear", "0", "1", "clear,keeps_depth", ",".join(
        load_api("gl").commands["glClear"].provided_by)]  # fmt: skip


def test_lines_are_well_formed(parsed: Parsed) -> None:
    functions, groups = parsed
    kinds = {"i32", "u32", "i64", "u64", "f32", "f64", "bool", "enum", "bitmask", "ptr", "handle"}
    for name, function in functions.items():
        w8, w4 = int(function.line[3]), int(function.line[4])
        values = function.params + ([["", *function.result]] if function.result else [])
        for _, _, kind, slot, group, _ in values:
            assert kind in kinds, name
            width, _, index = slot.partition(":")
            assert int(index) < (w8 if width == "8" else w4), name
            assert group == "-" or group in groups, (name, group)
            assert (width == "8") == (kind in {"i64", "u64", "f64", "ptr", "handle"}) or kind in {"enum", "bitmask"}
        for slot, element, direction, group, *of_list in function.data.values():
            assert slot.startswith("8:")
            assert not of_list or element.startswith("attribs"), name
            for pair in of_list[1].split(",") if len(of_list) > 1 else ():
                attribute, _, values = pair.partition("=")
                assert int(attribute) in groups[group].values(), (name, pair)
                assert values in groups, (name, pair)
            assert direction in ("in", "out")
            assert group == "-" or group in groups, (name, group)


def test_contents(parsed: Parsed) -> None:
    functions, groups = parsed
    assert functions["glTexImage2D"].data["pixels"] == ["8:1", "pixels", "in", "-"]
    assert functions["glReadPixels"].data["pixels"] == ["8:1", "pixels", "out", "-"]
    assert functions["glShaderSource"].data["string"][1] == "strings"
    assert functions["glGetString"].data[""] == ["8:1", "char", "in", "-"]
    assert functions["glUniform4fv"].data["value"][1] == "f32"
    assert functions["glBufferData"].data["data"][1] == "bytes"
    assert functions["glDrawElements"].data["indices"][1] == "bytes"
    assert functions["glMultiDrawElements"].data["indices"][1] == "ptr"
    assert functions["glDrawBuffers"].data["bufs"] == ["8:1", "u32", "in", "DrawBufferMode"]
    assert "GL_BACK" in groups["DrawBufferMode"]
    assert functions["glDrawArrays"].data == {}


def test_values(parsed: Parsed) -> None:
    functions, groups = parsed
    clear = functions["glClear"].params[0]
    assert clear == ["mask", "GLbitfield", "bitmask", "4:0", "ClearBufferMask", "-"]
    assert functions["glDepthMask"].params[0][2] == "bool"
    assert functions["glFenceSync"].result == ["GLsync", "handle", "8:0", "-", "sync"]
    assert functions["glBindTexture"].params[1][-1] == "texture"
    assert functions["glVertexAttrib4Nub"].params[1][2] == "u32"
    assert functions["glVertex2s"].params[0][2] == "i32"
    assert groups["PrimitiveType"]["GL_TRIANGLES"] == 4


def test_missing_rules_are_said(parsed: Parsed, gl: Api) -> None:
    functions, _ = parsed
    for name, command in gl.commands.items():
        assert ("no_rule" in functions[name].line[5].split(",")) == bool(command.uncovered)


def test_the_taps_own_functions(parsed: Parsed) -> None:
    functions, groups = parsed
    # as native/runtime/payload.cc writes them
    expected = {
        "dtapOrder": (["order"], []), "dtapLongDuration": (["ticks"], []),
        "dtapContext": (["handle", "draw", "read"], ["context", "share_group", "api"]),
        "dtapMemory": (["address", "address+"], []),
        "dtapMapWrite": (["offset", "data+"], ["target", "buffer"]),
        "dtapMemoryWrite": (["memory", "offset", "data+"], []), "dtapDeviceWrite": (["memory", "offset", "data+"], []),
        "dtapNative": (["handle", "kind+", "text+"], []),
        "dtapNote": (["code+", "text+"], []),
        "dtapLibrary": (["path+", "base"], []),
        "dtapMetric": (["name+", "value"], []),
        "dtapMark": (["text+"], []),
    }  # fmt: skip
    assert {c.name: (_fields(p.w8), _fields(p.w4)) for _, c, p in tap_functions()} == expected
    for number, command, _ in tap_functions():
        assert functions[command.name].line[0] == str(number)
        assert functions[command.name].line[1] == "drawtap"
        assert 0x3FF0 < number < 0x4000
        assert functions[command.name].line[5] == "tap"
    assert functions["dtapMapWrite"].params[2][4] == "GLenum"
    assert groups["dtapApi"]["DTAP_API_GLES"] == 2


def test_groups_of_one_name_in_two_apis_are_told_apart() -> None:
    def api(name: str, value: int) -> Api:
        ctype = CType("E", "E", 0, const=False, scalar="u32")
        void = CType("void", "void", 0, const=False, scalar="void")
        command = Command(f"{name}Do", name, void, (Param("e", ctype, "Kind"),))
        return Api(name, {command.name: command}, {"Kind": EnumGroup("Kind", {"ONE": value})}, {"ONE": value}, (), ())

    first, second, third = api("a", 1), api("b", 2), api("c", 1)
    commands = [c for x in (first, second, third) for c in x.commands.values()]
    functions, groups = _parsed(signature_text(commands, [first, second, third], {"aDo": 0, "bDo": 1, "cDo": 2}))
    assert groups["Kind"] == {"ONE": 1}
    assert groups["b:Kind"] == {"ONE": 2}
    assert [functions[n].params[0][4] for n in ("aDo", "bDo", "cDo")] == ["Kind", "b:Kind", "Kind"]


def test_a_command_of_another_api_is_refused(gl: Api) -> None:
    stranger = Command("notGl", "gl", gl.commands["glClear"].returns, ())
    with pytest.raises(KeyError, match="notGl is of none of these APIs: gl"):
        signature_text([stranger], [gl], {"notGl": 1})


def test_values_are_never_captured() -> None:
    ctype = CType("GLsync", "GLsync", 0, const=False, scalar="ptr")
    assert not is_captured(ctype, None)
    assert not is_captured(ctype, Array("1"))
