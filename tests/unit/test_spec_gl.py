"""The OpenGL overlay: complete for every version, right where a reader can check it by hand."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import size_rules
from drawtap.instrument import generate_flags
from drawtap.spec import expr
from drawtap.spec.model import (
    Api,
    Array,
    BufferOffset,
    ClientArray,
    Command,
    CompressedImage,
    Data,
    Image,
    Opaque,
    String,
    Strings,
)
from drawtap.spec.registry import load_api

BAR = [
    ("gl", "4.6", "core"),
    ("gl", "4.6", "compatibility"),
    ("gl", "2.1", ""),
    ("gles1", "1.0", ""),
    ("gles2", "3.2", ""),
    ("glsc2", "2.0", ""),
]


@pytest.fixture(scope="module")
def gl() -> Api:
    return load_api("gl")


@pytest.mark.parametrize(("api", "version", "profile"), BAR)
def test_no_command_of_a_version_without_a_complete_rule(gl: Api, api: str, version: str, profile: str) -> None:
    commands = gl.command_set(api, version, profile)
    assert {name: command.uncovered for name, command in commands.items() if command.uncovered} == {}


def test_extensions_without_a_rule_become_fewer(gl: Api) -> None:
    without = [name for name, command in gl.commands.items() if command.uncovered]
    assert len(without) <= 35, without


def _data(gl: Api, name: str, param: str) -> Data | None:
    return gl.commands[name].param(param).data


INDICES = BufferOffset("GL_ELEMENT_ARRAY_BUFFER", Array("count * index_size(type)"))
RULES = {
    "glLightfv params": Array("light_values(pname)"),
    "glGetLightiv params": Array("light_values(pname)", out=True),
    "glDrawElements indices": INDICES,
    "glDrawElementsInstancedBaseVertexBaseInstance indices": INDICES,
    "glDrawElementsInstancedARB indices": INDICES,
    "glVertexAttribPointer pointer": ClientArray(),
    "glVertexPointer pointer": ClientArray(),
    "glTexImage2D pixels": Image("format", "type", "width", "height"),
    "glTexSubImage3D pixels": Image("format", "type", "width", "height", "depth", dimensions=3),
    "glTexImage3DEXT pixels": Image("format", "type", "width", "height", "depth", dimensions=3),
    "glReadPixels pixels": Image("format", "type", "width", "height", out=True),
    "glReadnPixelsARB data": Image("format", "type", "width", "height", out=True, limit="bufSize"),
    "glCompressedTexImage2D data": CompressedImage("imageSize"),
    "glShaderSource string": Strings("count", "length"),
    "glShaderSourceARB string": Strings("count", "length"),
    "glTransformFeedbackVaryings varyings": Strings("count"),
    "glBufferData data": Array("size"),
    "glUniformMatrix4fv value": Array("count*16"),
    "glUniform3fv value": Array("count*3"),
    "glGenBuffersARB buffers": Array("n", out=True),
    "glDeleteTextures textures": Array("n"),
    "glGetActiveUniform name": String(out=True, capacity="bufSize"),
    "glObjectLabel label": String(length="length"),
    "glGetUniformLocation name": String(),
    "glSelectBuffer buffer": Opaque("memory that later draws write"),
    "glDebugMessageCallbackKHR userParam": Opaque("user data"),
    "glViewportArrayvOES v": Array("count * 4"),
    "glMultiDrawElementsEXT indices": Array("primcount", element="ptr"),
    "glSpecializeShaderARB pConstantValue": Array("numSpecializationConstants"),
    "glTexStorageAttribs2DEXT attrib_list": None,
    # where the registry's own lengths are wrong
    "glVertexAttribs3hvNV v": Array("n * 3"),
    "glGetnMapfvARB v": Array("min(bufSize // 4, map_get_count(target, query))", out=True),
    "glSelectPerfMonitorCountersAMD counterList": Array("numCounters"),
    "glCompressedTexImage3DOES data": CompressedImage("imageSize"),
    "glGetVertexAttribIiv params": Array("vertex_attrib_values(pname)", out=True),
    "glDrawElementsInstancedBaseInstance indices": INDICES,
}


@pytest.mark.parametrize("where", RULES)
def test_rules_are_what_the_specification_says(gl: Api, where: str) -> None:
    command, param = where.split()
    expected = RULES[where]
    if expected is None:
        assert gl.commands[command].uncovered == ()
    else:
        assert _data(gl, command, param) == expected


def test_inherited_rules_use_the_alias_own_names(gl: Api) -> None:
    command = gl.commands["glMultiDrawArraysIndirectAMD"]
    assert {p.name for p in command.params} >= {"primcount", "stride"}
    rule = _data(gl, command.name, "indirect")
    assert isinstance(rule, BufferOffset)
    assert rule.otherwise is not None
    assert "primcount" in rule.otherwise.count
    assert "drawcount" not in rule.otherwise.count


VALUES = [
    ("glLightfv", "params", {"pname": "GL_POSITION"}, 4),
    ("glLightfv", "params", {"pname": "GL_SPOT_DIRECTION"}, 3),
    ("glLightfv", "params", {"pname": "GL_SPOT_CUTOFF"}, 1),
    ("glTexParameterfv", "params", {"pname": "GL_TEXTURE_BORDER_COLOR"}, 4),
    ("glTexParameteriv", "params", {"pname": "GL_TEXTURE_MIN_FILTER"}, 1),
    ("glSamplerParameterIuiv", "param", {"pname": "GL_TEXTURE_BORDER_COLOR"}, 4),
    ("glFogxv", "param", {"pname": "GL_FOG_COLOR"}, 4),
    ("glPointParameterfv", "params", {"pname": "GL_POINT_DISTANCE_ATTENUATION"}, 3),
    ("glPatchParameterfv", "values", {"pname": "GL_PATCH_DEFAULT_OUTER_LEVEL"}, 4),
    ("glGetProgramiv", "params", {"pname": "GL_COMPUTE_WORK_GROUP_SIZE"}, 3),
    ("glGetVertexAttribfv", "params", {"pname": "GL_CURRENT_VERTEX_ATTRIB"}, 4),
    ("glGetVertexAttribiv", "params", {"pname": "GL_VERTEX_ATTRIB_ARRAY_ENABLED"}, 1),
    ("glViewportArrayv", "v", {"count": 3}, 12),
    ("glDepthRangeArrayv", "v", {"count": 3}, 6),
    ("glMultiDrawArraysIndirect", "indirect", {"drawcount": 3, "stride": 0}, 48),
    ("glMultiDrawArraysIndirect", "indirect", {"drawcount": 3, "stride": 32}, 80),
    ("glMultiDrawElementsIndirect", "indirect", {"drawcount": 0, "stride": 0}, 0),
    ("glGetUniformIndices", "uniformIndices", {"uniformCount": 7}, 7),
]


@pytest.mark.parametrize(("name", "param", "given", "expected"), VALUES)
def test_counts(gl: Api, name: str, param: str, given: dict[str, int | str], expected: int) -> None:
    rule = _data(gl, name, param)
    if isinstance(rule, BufferOffset):
        rule = rule.otherwise
    assert isinstance(rule, Array)
    values = {key: gl.enums[value] if isinstance(value, str) else value for key, value in given.items()}
    assert size_rules.evaluate(rule.count, values, gl) == expected


def test_what_was_written_is_counted_after_the_call(gl: Api) -> None:
    binary = _data(gl, "glGetProgramBinary", "binary")
    assert isinstance(binary, Array)
    assert binary.actual is not None
    assert size_rules.evaluate(binary.actual, {"length": 100, "bufSize": 4096}, gl) == 100
    assert size_rules.evaluate(binary.actual, {"length": 0, "bufSize": 4096}, gl) == 4096
    log = _data(gl, "glGetDebugMessageLog", "ids")
    assert isinstance(log, Array)
    assert size_rules.evaluate(log.actual or "", {"result": 2, "count": 10}, gl) == 2


FLAGS = {
    "draw": "glDrawArrays glDrawElementsInstancedARB glMultiDrawElementsEXT glEnd glDrawTexiOES glDrawMeshTasksNV",
    "dispatch": "glDispatchCompute glDispatchComputeIndirect glDispatchComputeGroupSizeARB",
    "gpu_reads": "glDrawArrays glDispatchCompute glTexImage2D glCopyBufferSubData glCopyBufferSubDataNV glCallList",
    "readback": "glReadPixels glReadnPixelsEXT glGetTexImage glGetTextureImageEXT",
    "clear": "glClear glClearBufferfi glClearNamedFramebufferiv",
    "finish": "glFinish",
    "flush": "glFlush",
    "sync": "glFenceSync glWaitSyncAPPLE glFinish glSignalSemaphoreEXT",
    "upload": "glBufferData glBufferSubDataARB glTexSubImage2D glCompressedTexImage3DOES glNamedBufferStorage",
    "map": "glMapBuffer glMapBufferOES glMapBufferRangeEXT glMapNamedBufferRange",
    "unmap": "glUnmapBuffer glUnmapBufferOES glFlushMappedBufferRange glFlushMappedBufferRangeAPPLE",
    "marker": "glPushDebugGroupKHR glObjectLabel glInsertEventMarkerEXT",
    "draw_setup": "glVertexAttribPointerARB glVertexPointer glTexCoordPointer glInterleavedArrays",
    "error_query": "glGetError glGetGraphicsResetStatusARB",
    "callback": "glDebugMessageCallback glDebugMessageCallbackARB",
}


# OpenGL 4.6 (compatibility profile), 21.4: these run at once and do not go into a list; the others go into one.
NOT_COMPILED = "glGenTextures glDeleteLists glIsList glGetIntegerv glFinish glReadPixels glVertexPointer glPixelStorei"
COMPILED = "glBegin glVertex3f glCallList glTexImage2D glRotatef glDrawArrays glUseProgram glPopAttrib glRasterPos2i"


def test_shapes_of_calls_in_lists(gl: Api) -> None:
    assert [name for name in NOT_COMPILED.split() if "immediate" not in gl.commands[name].shapes] == []
    compiled = {name: gl.commands[name].shapes & {"immediate", "listed"} for name in COMPILED.split()}
    assert compiled == {name: {"listed"} for name in COMPILED.split()}


def test_shapes_are_a_table_of_the_player(gl: Api) -> None:
    text = generate_flags.shapes([gl])
    assert '{"glRectf", SHAPE_LISTED | SHAPE_RECT},' in text
    assert '{"glDispatchCompute", SHAPE_IMAGE_CHANGE},' in text
    assert '"glShadeModelFoo"' not in text and '"glMemoryBarrier"' not in text


@pytest.mark.parametrize("flag", FLAGS)
def test_flags(gl: Api, flag: str) -> None:
    assert [name for name in FLAGS[flag].split() if flag not in gl.commands[name].flags] == []


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("glDrawBuffer", set()),
        ("glDrawBuffers", set()),
        ("glGetIntegerv", {"query"}),
        ("glUseProgram", {"bind"}),
        ("glBlendFunc", set()),
    ],
)
def test_commands_that_draw_nothing(gl: Api, name: str, kinds: set[str]) -> None:
    assert gl.commands[name].flags - {"keeps_depth"} == kinds


def test_every_client_array_and_every_mapping_is_flagged(gl: Api) -> None:
    for command in gl.commands.values():
        if any(isinstance(p.data, ClientArray) for p in command.params):
            assert "draw_setup" in command.flags or command.name.startswith("glReplacement"), command.name
        if command.returns_data == Opaque("mapped memory"):
            assert "map" in command.flags, command.name


def test_effects_on_state(gl: Api) -> None:
    bind = gl.commands["glBindBuffer"].effects
    assert ("run", "context.bind_buffer", "target, buffer") in {(e.verb, e.path, e.value) for e in bind}
    assert gl.commands["glBindBufferARB"].effects == bind
    depth = gl.commands["glDepthFunc"].effects
    assert [(e.verb, e.path, e.value) for e in depth] == [("set", "context.GL_DEPTH_FUNC", "func")]


def test_object_classes_of_what_is_made_and_ended(gl: Api) -> None:
    for kind in ["Buffers", "Textures", "Samplers", "Renderbuffers", "Framebuffers", "VertexArrays", "Queries"]:
        for verb in ("Gen", "Delete"):
            command = gl.commands[f"gl{verb}{kind}"]
            assert command.params[-1].object_class, command.name
            assert command.effects, command.name


# ---- every rule as C++ ----------------------------------------------------------------------------------------


def _texts(rule: Data) -> Iterator[str]:
    for item in fields(rule):
        value = getattr(rule, item.name)
        if isinstance(value, Array | String):
            yield from _texts(value)
        elif isinstance(value, str) and item.name not in ("element", "group", "binding", "why", "lengths"):
            yield value


def _rules(command: Command) -> Iterator[str]:
    for param in command.params:
        if param.data is not None:
            yield from _texts(param.data)
    if command.returns_data is not None:
        yield from _texts(command.returns_data)


def test_all_rules_compile(gl: Api, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine")
    lines = [gl.typedefs, 'extern "C" void* _result_of();', expr.prototypes_to_cpp(), expr.tables_to_cpp(gl)]
    total = 0
    for command in gl.commands.values():
        texts = sorted(set(_rules(command)))
        if not texts:
            continue
        total += len(texts)
        parameters = ", ".join(f"[[maybe_unused]] {p.type.spelling} {p.name}" for p in command.params)
        result = "" if command.returns.spelling == "void" else f"{command.returns.spelling} _result, "
        lines.append(f"[[maybe_unused]] static int64_t use_{command.name}({result}{parameters}) {{".replace(", )", ")"))
        if result:
            lines.append("  (void)_result;")
        lines.append("  int64_t total = 0;")
        lines += [f"  total += {expr.to_cpp(text, command, gl)};" for text in texts]
        lines.append("  return total;\n}")
    assert total > 1500
    source = tmp_path / "rules.cc"
    source.write_text("\n".join(lines))
    done = subprocess.run(
        [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]


def test_every_table_is_used(gl: Api) -> None:
    texts = {text for command in gl.commands.values() for text in _rules(command)}
    called = {name for text in texts for name, _, _ in expr.names(text)[1]}
    assert set(gl.tables) - called == set()


def test_the_types_of_all_apis_go_into_one_unit(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine")
    source = tmp_path / "types.cc"
    source.write_text("\n".join(load_api(name).typedefs for name in ("gl", "egl", "glx")))
    done = subprocess.run([compiler, "-fsyntax-only", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
