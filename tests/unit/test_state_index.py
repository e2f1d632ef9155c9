"""The computed state: values, lifetimes and tables, from recordings made call by call."""

from __future__ import annotations

import json
import os
import re
import struct
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Answer
from drawtap.trace.moment import computed_state
from drawtap.trace.trace import open_trace
from state_traces import Recording, enums, names, opened, value
from writer import NULL, Data, blob, f32, i32, strings, text

pytestmark = pytest.mark.usefixtures("computed_state_here")


@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_a_value_holds_from_its_call_to_the_next(recording: Recording, tmp_path: Path) -> None:
    first = recording.gl("glDepthFunc", func="GL_GREATER")
    recording.gl("glFlush")
    second = recording.gl("glDepthFunc", func="GL_EQUAL")
    with opened(recording, tmp_path) as trace:
        path = "context.GL_DEPTH_FUNC"
        assert value(trace, first - 1, path) == "GL_LESS"
        assert value(trace, first, path) == value(trace, second - 1, path) == "GL_GREATER"
        assert value(trace, second, path) == "GL_EQUAL"
        query = "SELECT begin_seq, end_seq, value FROM state WHERE path = 'contexts[1].GL_DEPTH_FUNC' ORDER BY 1"
        assert trace.sql(query).fetchall() == [
            (0, first, '"GL_LESS"'),
            (first, second, '"GL_GREATER"'),
            (second, second + 1, '"GL_EQUAL"'),
        ]
        stab = query.replace("ORDER", f"AND begin_seq <= {first + 1} AND end_seq > {first + 1} ORDER")
        assert trace.sql(stab).fetchall() == [(first, second, '"GL_GREATER"')]
        changes = list(trace.state_index.changes(0, 10, "contexts[1].GL_DEPTH_FUNC"))
        assert [(c.seq, c.value, c.before) for c in changes if c.seq] == [
            (first, '"GL_GREATER"', '"GL_LESS"'),
            (second, '"GL_EQUAL"', '"GL_GREATER"'),
        ]


def test_selection_has_names_and_its_end_drops_them(recording: Recording, tmp_path: Path) -> None:
    path = "context.GL_NAME_STACK_DEPTH"
    recording.gl("glPushName", name=1)
    recording.gl("glRenderMode", mode="GL_SELECT")
    recording.gl("glPushName", name=7)
    pushed = recording.gl("glPushName", name=8)
    left = recording.gl("glRenderMode", mode="GL_RENDER")
    recording.gl("glRenderMode", mode="GL_SELECT")
    again = recording.gl("glPushName", name=9)
    with opened(recording, tmp_path) as trace:
        assert [value(trace, seq, path) for seq in (pushed, left, again)] == [2, 0, 1]


def test_the_surface_gives_viewport_and_scissor_their_size(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glViewport", x=1, y=2, width=3, height=4)
    recording.gl("glViewport", x=1, y=2, width=-3, height=4)
    with opened(recording, tmp_path) as trace:
        assert value(trace, 0, "context.GL_VIEWPORT") == value(trace, 0, "context.GL_SCISSOR_BOX") == [0, 0, 320, 240]
        assert value(trace, 2, "context.GL_VIEWPORT") == [1, 2, 3, 4]


def test_an_error_that_the_program_learns_of_leaves_state_alone(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glBlendEquation", mode="GL_MAX")
    recording.gl("glBlendEquation", mode=0x1234)
    recording.gl("glGetError", result=0x0500)
    recording.gl("glBlendEquation", mode="GL_MIN")
    recording.gl("glGetError", result=0)
    with opened(recording, tmp_path) as trace:
        path = "context.GL_BLEND_EQUATION_RGB"
        assert [value(trace, seq, path) for seq in (1, 2, 4)] == ["GL_MAX", "GL_MAX", "GL_MIN"]


def test_elements_of_arrays_part_when_one_is_set_by_itself(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glEnable", cap="GL_BLEND")
    recording.gl("glDisablei", target="GL_BLEND", index=2)
    recording.gl("glColorMaski", index=1, r=1, g=0, b=0, a=1)
    with opened(recording, tmp_path) as trace:
        index = trace.state_index
        assert dict(index.at(1, "contexts[1].enabled.GL_BLEND")) == {"contexts[1].enabled.GL_BLEND": "true"}
        after = dict(index.at(2, "contexts[1].enabled.GL_BLEND"))
        # Elements that are like the first one go without saying.
        assert after == {"contexts[1].enabled.GL_BLEND": "true", "contexts[1].enabled.GL_BLEND[2]": "false"}
        assert dict(index.at(1, "contexts[1].enabled.GL_BLEND[2]")) == {"contexts[1].enabled.GL_BLEND[2]": "true"}
        masks = dict(index.at(3, "contexts[1].GL_COLOR_WRITEMASK"))
        assert masks["contexts[1].GL_COLOR_WRITEMASK[1]"] == "[true, false, false, true]"
        assert masks["contexts[1].GL_COLOR_WRITEMASK"] == "[true, true, true, true]"


def test_a_deleted_object_leaves_bindings_and_its_name_begins_anew(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glGenTextures", n=1, textures=names(7))
    recording.gl("glBindTexture", target="GL_TEXTURE_2D", texture=7)
    made = recording.gl("glTexParameteri", target="GL_TEXTURE_2D", pname="GL_TEXTURE_MIN_FILTER", param=0x2600)
    gone = recording.gl("glDeleteTextures", n=1, textures=names(7))
    again = recording.gl("glBindTexture", target="GL_TEXTURE_3D", texture=7)
    with opened(recording, tmp_path) as trace:
        unit = "context.texture_units[0].GL_TEXTURE_BINDING_2D"
        assert value(trace, made, unit) == 7
        assert value(trace, made, "share.textures[7].GL_TEXTURE_MIN_FILTER") == "GL_NEAREST"
        assert value(trace, gone, unit) == 0
        assert value(trace, gone, "share.textures[7].GL_TEXTURE_MIN_FILTER") is None
        assert value(trace, again, "share.textures[7].GL_TEXTURE_MIN_FILTER") == "GL_NEAREST_MIPMAP_LINEAR"
        assert value(trace, again, "share.textures[7].target") == "GL_TEXTURE_3D"
        lives = trace.sql(
            "SELECT created_seq, deleted_seq, target FROM resources WHERE class = 'texture' AND name = 7 ORDER BY 1"
        ).fetchall()
        assert lives == [(1, gone, "GL_TEXTURE_2D"), (again, None, "GL_TEXTURE_3D")]


def test_vertex_array_objects_keep_their_own(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glBindVertexArray", array=1)
    recording.gl("glBindBuffer", target="GL_ELEMENT_ARRAY_BUFFER", buffer=4)
    recording.gl("glBindBuffer", target="GL_ARRAY_BUFFER", buffer=3)
    recording.gl("glVertexAttribPointer", index=2, size=3, type="GL_FLOAT", normalized=0, stride=0, pointer=16)
    recording.gl("glEnableVertexAttribArray", index=2)
    recording.gl("glBindVertexArray", array=0)
    last = recording.gl("glDeleteBuffers", n=2, buffers=names(3, 4))
    with opened(recording, tmp_path) as trace:
        assert value(trace, last, "context.vertex_arrays[0].GL_ELEMENT_ARRAY_BUFFER_BINDING") == 0
        # A vertex array object that is not bound keeps what it had.
        assert value(trace, last, "context.vertex_arrays[1].GL_ELEMENT_ARRAY_BUFFER_BINDING") == 4
        attribute = "context.vertex_arrays[1].attributes[2]."
        assert value(trace, last, attribute + "GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING") == 3
        assert value(trace, last, attribute + "GL_VERTEX_ATTRIB_ARRAY_ENABLED") is True
        assert value(trace, last, "context.GL_ARRAY_BUFFER_BINDING") == 0


def test_matrices_and_their_stacks(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glTranslatef", x=1.0, y=2.0, z=3.0)
    recording.gl("glPushMatrix")
    recording.gl("glScalef", x=2.0, y=2.0, z=2.0)
    scaled = recording.gl("glRotatef", angle=90.0, x=0.0, y=0.0, z=1.0)
    popped = recording.gl("glPopMatrix")
    underflow = recording.gl("glPopMatrix")
    with opened(recording, tmp_path) as trace:
        matrix = "context.GL_MODELVIEW_MATRIX"
        rotated = value(trace, scaled, matrix)
        assert isinstance(rotated, list)
        assert rotated == pytest.approx([0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1], abs=1e-6)
        assert value(trace, popped, matrix) == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1]
        assert value(trace, scaled, "context.GL_MODELVIEW_STACK_DEPTH") == 2
        assert value(trace, underflow, "context.GL_MODELVIEW_STACK_DEPTH") == 1


def test_lights_stand_in_eye_coordinates_and_materials_follow_the_color(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glTranslatef", x=0.0, y=0.0, z=-5.0)
    recording.gl("glLightfv", light="GL_LIGHT0", pname="GL_POSITION", params=f32(1, 2, 3, 1))
    recording.gl("glColorMaterial", face="GL_FRONT", mode="GL_DIFFUSE")
    recording.gl("glEnable", cap="GL_COLOR_MATERIAL")
    recording.gl("glColor3f", red=0.25, green=0.5, blue=0.75)
    last = recording.gl("glMaterialfv", face="GL_FRONT", pname="GL_DIFFUSE", params=f32(1, 1, 1, 1))
    with opened(recording, tmp_path) as trace:
        assert value(trace, last, "context.lights[0].GL_POSITION") == [1, 2, -2, 1]
        assert value(trace, last, "context.materials.GL_FRONT.GL_DIFFUSE") == [0.25, 0.5, 0.75, 1]
        assert value(trace, last, "context.materials.GL_BACK.GL_DIFFUSE") == [0.8, 0.8, 0.8, 1]


def test_attribute_stack(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glEnable", cap="GL_LIGHTING")
    recording.gl("glPushAttrib", mask=0x2000 | 0x100)  # enables, depth
    recording.gl("glDisable", cap="GL_LIGHTING")
    recording.gl("glDepthFunc", func="GL_ALWAYS")
    inside = recording.gl("glLineWidth", width=4.0)
    outside = recording.gl("glPopAttrib")
    with opened(recording, tmp_path) as trace:
        assert value(trace, inside, "context.enabled.GL_LIGHTING") is False
        assert value(trace, outside, "context.enabled.GL_LIGHTING") is True
        assert value(trace, outside, "context.GL_DEPTH_FUNC") == "GL_LESS"
        assert value(trace, outside, "context.GL_LINE_WIDTH") == 4  # its group was not saved
        assert value(trace, outside, "context.GL_ATTRIB_STACK_DEPTH") == 0


def test_fog_of_nv_is_state_of_the_fog_group(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glPushAttrib", mask=0x80)  # fog
    inside = recording.gl("glFogi", pname=0x855A, param=0x855B)
    outside = recording.gl("glPopAttrib")
    with opened(recording, tmp_path) as trace:
        assert value(trace, inside, "context.GL_FOG_DISTANCE_MODE_NV") == "GL_EYE_RADIAL_NV"
        assert value(trace, outside, "context.GL_FOG_DISTANCE_MODE_NV") == "GL_EYE_PLANE_ABSOLUTE_NV"


def test_display_lists_are_kept_and_executed(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glNewList", list=3, mode="GL_COMPILE")
    recording.gl("glEnable", cap="GL_FOG")
    recording.gl("glShadeModel", mode="GL_FLAT")
    for call in ("glBegin",):
        recording.gl(call, mode="GL_TRIANGLES")
    for _ in range(3):
        recording.gl("glVertex2f", x=0.0, y=0.0)
    recording.gl("glEnd")
    ended = recording.gl("glEndList")
    called = recording.gl("glCallLists", n=2, type="GL_UNSIGNED_BYTE", lists=Data(bytes([3, 3])))
    deleted = recording.gl("glDeleteLists", list=3, range=1)
    recording.gl("glDisable", cap="GL_FOG")
    nothing = recording.gl("glCallList", list=3)
    with opened(recording, tmp_path) as trace:
        assert value(trace, ended, "context.enabled.GL_FOG") is False
        assert value(trace, ended, "share.lists[3].calls") == 7
        assert value(trace, called, "context.enabled.GL_FOG") is True
        assert value(trace, called, "context.GL_SHADE_MODEL") == "GL_FLAT"
        assert value(trace, deleted, "share.lists[3].calls") is None
        assert value(trace, nothing, "context.enabled.GL_FOG") is False
        draws = trace.sql("SELECT seq, function, vertices, primitives FROM draws WHERE kind = 'draw'").fetchall()
        assert draws == [(called, "glCallLists", 6, 2)]


def test_arrays_that_a_list_draws_leave_what_nobody_can_know(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glColor4f", red=1.0, green=0.0, blue=0.0, alpha=1.0)
    recording.gl("glEnableClientState", array="GL_COLOR_ARRAY")
    recording.gl("glColorPointer", size=4, type="GL_FLOAT", stride=0, pointer=0x1000)
    direct = recording.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    recording.gl("glNewList", list=3, mode="GL_COMPILE")
    recording.gl("glNormal3f", nx=1.0, ny=0.0, nz=0.0)
    recording.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    recording.gl("glEndList")
    ended = recording.gl("glDisableClientState", array="GL_COLOR_ARRAY")
    called = recording.gl("glCallList", list=3)
    with opened(recording, tmp_path) as trace:
        color, normal = "context.GL_CURRENT_COLOR", "context.GL_CURRENT_NORMAL"
        assert value(trace, direct, color) == value(trace, ended, color) == [1, 0, 0, 1]
        assert value(trace, called, color) == ["nan"] * 4
        assert value(trace, called, normal) == [1, 0, 0]


def test_contexts_share_objects_but_not_bindings(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glBindBuffer", target="GL_ARRAY_BUFFER", buffer=5)
    recording.gl("glBufferData", target="GL_ARRAY_BUFFER", size=8, data=blob(b"12345678"), usage="GL_STREAM_DRAW")
    recording.current(2, 1)
    shared = recording.gl("glEnable", cap="GL_DITHER")
    recording.current(3, 3)
    alone = recording.gl("glEnable", cap="GL_DITHER")
    with opened(recording, tmp_path) as trace:
        assert value(trace, shared, "share.buffers[5].GL_BUFFER_SIZE") == 8
        assert value(trace, shared, "context.GL_ARRAY_BUFFER_BINDING") == 0
        assert value(trace, alone, "share.buffers[5].GL_BUFFER_SIZE") is None
        assert dict(trace.state_index.at(alone, "contexts[1].GL_ARRAY_BUFFER_BINDING")) == {
            "contexts[1].GL_ARRAY_BUFFER_BINDING": "5"
        }


def program(recording: Recording, *, sampler: bool = False) -> None:
    for shader, kind in ((2, "GL_VERTEX_SHADER"), (3, "GL_FRAGMENT_SHADER")):
        source = "uniform sampler2D picture; uniform mat4 m[2];" if sampler and shader == 3 else "uniform mat4 m[2];"
        recording.gl("glCreateShader", type=kind, result=shader)
        recording.gl("glShaderSource", shader=shader, count=1, string=strings(source), length=NULL)
        recording.gl("glCompileShader", shader=shader)
    recording.gl("glCreateProgram", result=1)
    for shader in (2, 3):
        recording.gl("glAttachShader", program=1, shader=shader)
    recording.gl("glLinkProgram", program=1)
    recording.gl("glUseProgram", program=1)


def test_programs_and_uniforms(recording: Recording, tmp_path: Path) -> None:
    program(recording)
    recording.gl("glGetUniformLocation", program=1, name=text("m"), result=4)
    numbers = [float(i) for i in range(32)]
    set_ = recording.gl("glUniformMatrix4fv", location=4, count=2, transpose=1, value=f32(*numbers))
    recording.gl("glDeleteShader", shader=2)
    deleted = recording.gl("glDeleteProgram", program=1)
    unused = recording.gl("glUseProgram", program=0)
    with opened(recording, tmp_path) as trace:
        first, second = (value(trace, set_, f'share.programs[1].uniforms["{name}"]') for name in ("m", "m[1]"))
        assert first == [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]
        assert isinstance(second, list)
        assert second[:4] == [16, 20, 24, 28]
        assert value(trace, set_, "share.programs[1].shaders") == [2, 3]
        # In use, it lives on; so do its shaders.
        assert value(trace, deleted, "share.programs[1].GL_DELETE_STATUS") is True
        assert value(trace, deleted, "share.shaders[2].GL_DELETE_STATUS") is True
        assert value(trace, unused, "share.programs[1].GL_DELETE_STATUS") is None
        assert value(trace, unused, "share.shaders[2].GL_DELETE_STATUS") is None
        assert value(trace, unused, "share.shaders[3].GL_DELETE_STATUS") is False


def test_textures_levels_and_mipmaps(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glBindTexture", target="GL_TEXTURE_CUBE_MAP", texture=1)
    for face in range(6):
        recording.gl(
            "glTexImage2D",
            target=0x8515 + face, level=0, internalformat=0x8058, width=8, height=8, border=0,
            format="GL_RGBA", type="GL_UNSIGNED_BYTE", pixels=blob(bytes([face]) * 256),
        )  # fmt: skip
    last = recording.gl("glGenerateMipmap", target="GL_TEXTURE_CUBE_MAP")
    with opened(recording, tmp_path) as trace:
        path = "share.textures[1].GL_TEXTURE_CUBE_MAP_NEGATIVE_Y.levels[{}].GL_TEXTURE_WIDTH"
        assert [value(trace, last, path.format(level)) for level in range(5)] == [8, 4, 2, 1, None]
        row = trace.sql("SELECT bytes, levels, uploads, uploaded_bytes, format FROM resources").fetchone()
        assert row == (6 * 4 * (64 + 16 + 4 + 1), 24, 6, 6 * 256, "GL_RGBA8")


def test_draws_know_what_they_read_and_write(recording: Recording, tmp_path: Path) -> None:
    program(recording, sampler=True)
    recording.gl("glGetUniformLocation", program=1, name=text("picture"), result=0)
    recording.gl("glUniform1i", location=0, v0=2)
    for unit, texture in ((2, 9), (3, 8)):
        recording.gl("glActiveTexture", texture=0x84C0 + unit)
        recording.gl("glBindTexture", target="GL_TEXTURE_2D", texture=texture)
    recording.gl("glEnable", cap="GL_BLEND")
    recording.gl("glClear", mask=0x4000)
    seq = recording.gl("glDrawElementsInstanced", mode="GL_TRIANGLES", count=6, type="GL_UNSIGNED_SHORT",
                       indices=Data(b"\0" * 12), instancecount=3)  # fmt: skip
    with opened(recording, tmp_path) as trace:
        row = trace.sql(
            "SELECT vertices, instances, primitives, program, textures, targets, width, height, blend, indexed"
            f" FROM draws WHERE seq = {seq}"
        ).fetchone()
        # Texture 8 is bound, but no sampler reads its unit.
        assert row == (6, 3, 6, 1, [9], ["surfaces[0x20].color"], 320, 240, True, True)
        kinds = trace.sql("SELECT kind, count(*) FROM draws GROUP BY 1 ORDER BY 1").fetchall()
        assert kinds == [("clear", 1), ("draw", 1)]


def test_draws_without_a_mode_have_none(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glDrawArrays", mode="GL_POINTS", first=0, count=3)
    recording.gl("glRectf", x1=0, y1=0, x2=1, y2=1)
    recording.gl("glBitmap", width=1, height=1, xorig=0, yorig=0, xmove=0, ymove=0, bitmap=Data(b"\1"))
    recording.gl("glEvalMesh2", mode=0x1B02, i1=0, i2=1, j1=0, j2=1)
    recording.gl("glClear", mask=0x4000)
    with opened(recording, tmp_path) as trace:
        modes = trace.sql("SELECT function, mode FROM draws ORDER BY seq").fetchall()
        assert modes == [
            ("glDrawArrays", "GL_POINTS"),
            ("glRectf", "GL_POLYGON"),
            ("glBitmap", None),
            ("glEvalMesh2", None),
            ("glClear", None),
        ]


def test_names_that_are_no_text_leave_every_table_readable(recording: Recording, tmp_path: Path) -> None:
    odd = Data(b"caf\xe9 \xff\xc3(\xed\xa0\x80\x1b[31m\0")
    gl = recording.gl
    gl("glGenTextures", n=1, textures=names(7))
    gl("glBindTexture", target="GL_TEXTURE_2D", texture=7)
    gl("glObjectLabel", identifier="GL_TEXTURE", name=7, length=-1, label=odd)
    gl("glPushDebugGroup", source="GL_DEBUG_SOURCE_APPLICATION", id=1, length=-1, message=odd)
    gl("glCreateProgram", result=3)
    gl("glBindAttribLocation", program=3, index=0, name=odd)
    gl("glUseProgram", program=3)
    gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    with opened(recording, tmp_path) as trace:
        texts = []
        for table in trace.sql("SHOW TABLES").fetchall():
            texts += [str(row) for row in trace.sql(f'SELECT * FROM "{table[0]}"').fetchall()]
        labels = trace.sql("SELECT label FROM resources WHERE name = 7 AND class = 'texture'").fetchall()
    assert labels == [("caf\ufffd \ufffd\ufffd(\ufffd\ufffd\ufffd\x1b[31m",)]
    assert any("caf\ufffd" in text and "glPushDebugGroup" in text for text in texts)


def test_words_of_the_program_do_not_reach_the_terminal_as_commands(
    recording: Recording, tmp_path: Path, drawtap: Callable[..., Answer]
) -> None:
    odd = Data("a\x1b]0;owned\x07b\x9b31mc\u202ed\0".encode())
    recording.writer.annotate(json.dumps({"kind": "recording", "command_line": "x\x1b[2J\ny", "program": "\x9b1m"}))
    recording.writer.annotate(json.dumps({"kind": "end", "exit_code": 0, "reason": "\x1b[5m"}))
    gl = recording.gl
    gl("glGenTextures", n=1, textures=names(7))
    gl("glBindTexture", target="GL_TEXTURE_2D", texture=7)
    gl("glObjectLabel", identifier="GL_TEXTURE", name=7, length=-1, label=odd)
    gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    path = recording.write(tmp_path / "t.dtap")
    said = ""
    for words in (
        ("info", path), ("state", path, "3"), ("list", path), ("frames", path), ("checklist", path), ("verdict", path),
        ("sql", path, "SELECT label, [label] AS l, {'a': label} AS s FROM resources"), ("grep", path, "a"),
    ):  # fmt: skip
        outcome = drawtap(*words)
        assert outcome.code in (0, 1), outcome
        said += outcome.out + outcome.err
    acted_on = {c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Cs")} - {"\n", "\t"}
    assert not acted_on
    assert "x\\x1b[2J" in said
    assert "\\u202e" in said


def test_what_is_kept_is_found_again(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glBufferData", target="GL_ARRAY_BUFFER", size=4, data=i32(1), usage="GL_STATIC_DRAW")
    recording.gl("glDepthFunc", func="GL_NEVER")
    path = recording.write(tmp_path / "t.dtap")
    with open_trace(path) as trace:
        first = trace.state_index.at(2)
    kept = list((tmp_path / "cache" / "drawtap" / "state").glob("*.state"))
    assert len(kept) == 1
    with open_trace(path) as trace:
        assert trace.state_index.at(2) == first
    # A file that was cut is made anew.
    kept[0].write_bytes(kept[0].read_bytes()[:-100])
    with open_trace(path) as trace:
        assert trace.state_index.at(2) == first


def test_without_a_context_there_is_no_state(tmp_path: Path) -> None:
    recording = Recording()
    recording.thread.call("eglMakeCurrent", dpy=0x10, draw=0, read=0, ctx=0, result=1)
    recording.thread.tap("dtapContext", handle=0, draw=0, read=0, context=0, share_group=0, api=0)
    recording.thread.call("glDepthFunc", func=0x0200, duration=3)
    with opened(recording, tmp_path) as trace:
        assert computed_state(trace, 2) == {}
        assert dict(trace.state_index.at(2, "contexts[1].GL_DEPTH_FUNC")) == {"contexts[1].GL_DEPTH_FUNC": '"GL_LESS"'}


def test_float_values_are_short(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glClearColor", red=0.1, green=struct.unpack("<f", struct.pack("<f", 1 / 3))[0], blue=0.0, alpha=1.0)
    with opened(recording, tmp_path) as trace:
        assert computed_state(trace, 1)["context.GL_COLOR_CLEAR_VALUE"] == "[0.1, 0.33333334, 0, 1]"


def test_state_in_queries_of_the_thesis_form(recording: Recording, tmp_path: Path) -> None:
    before = recording.gl("glFlush")
    recording.gl("glDepthFunc", func="GL_GREATER")
    recording.gl("glEnable", cap="GL_BLEND")
    after = recording.gl("glFlush")
    with opened(recording, tmp_path) as trace:
        query = (
            "SELECT event.seq, event.state.GL_DEPTH_FUNC, event.state.context.enabled.GL_BLEND, event.state.no.such "
            "FROM trace WHERE event.name = 'glFlush' ORDER BY event.seq"
        )
        assert trace.sql(query).fetchall() == [(before, "GL_LESS", "false", None), (after, "GL_GREATER", "true", None)]
        only = "SELECT event.seq FROM trace WHERE event.name = 'glFlush' AND event.state.enabled.GL_BLEND = 'true'"
        assert trace.sql(only).fetchall() == [(after,)]


def test_objects_that_a_call_names_in_queries(recording: Recording, tmp_path: Path) -> None:
    for texture in (5, 6):
        recording.gl("glBindTexture", target="GL_TEXTURE_2D", texture=texture)
        recording.gl("glTexParameteri", target="GL_TEXTURE_2D", pname="GL_TEXTURE_MAX_LEVEL", param=texture - 2)
    again = [recording.gl("glBindTexture", target="GL_TEXTURE_2D", texture=texture) for texture in (5, 6)]
    with opened(recording, tmp_path) as trace:

        def found(condition: str) -> list[tuple[object, ...]]:
            level = "event.state.texture.GL_TEXTURE_MAX_LEVEL"
            return trace.sql(f"SELECT event.seq, {level} FROM trace WHERE {condition.format(level)}").fetchall()

        # Compared with numbers it is one ("3" would come behind "20"), else it is text.
        assert found("{} > 3 AND event.seq >= ?".replace("?", str(again[0]))) == [(again[1], 4.0)]
        assert found("{} IN (3, 20)") == [(again[0], 3.0)]
        assert found("{} BETWEEN 2.5 AND 20") == [(again[0], 3.0), (again[1], 4.0)]
        assert found("{} = '4'") == [(again[1], "4")]


STABS = (
    ("path = ?", ["{path}"]),
    ("path IN ('{path}', '{path}')", []),
    ("path LIKE 'contexts[1].GL_DEPTH_FUN_'", []),
    ("path LIKE 'contexts[1].GL\\_DEPTH\\_FUNC' ESCAPE '\\'", []),
    ("starts_with(path, 'contexts[1].GL_DEPTH_FUN')", []),
    ("path ^@ ? ", ["contexts[1].GL_DEPTH_FUN"]),
    ("path = '{path}'", []),
)
TIMES = (
    ("begin_seq <= {seq} AND end_seq > {seq}", 0),
    ("begin_seq <= ? AND end_seq > ?", 2),
    ("? >= begin_seq AND ? < end_seq", 2),
    ("{seq} BETWEEN begin_seq AND end_seq - 1", 0),
)


def test_a_question_about_a_moment_is_looked_up(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "contexts[1].GL_DEPTH_FUNC"
    for func in ("GL_GREATER", "GL_EQUAL", "GL_LESS"):
        last = recording.gl("glDepthFunc", func=func)
    seq = last - 1
    asked: list[tuple[str, int, int | None]] = []
    with opened(recording, tmp_path) as trace:
        index = trace.state_index
        table = type(index).table
        monkeypatch.setattr(
            type(index), "table", lambda self, name, *limits: [asked.append(limits), table(self, name, *limits)][1]
        )
        for which, values in STABS:
            for when, marks in TIMES:
                query = f"SELECT path, value FROM state WHERE {which} AND {when}".format(path=path, seq=seq)
                parameters = [value.format(path=path) for value in values] + [seq] * marks
                assert trace.sql(query, parameters).fetchall() == [(path, '"GL_EQUAL"')], query
                beginning, first, end = asked[-1]
                assert (first, end) == (seq, seq + 1), query
                if "ESCAPE" not in which:  # DuckDB looks through all of them there
                    like = "contexts[1].GL?DEPTH?FUN" if "LIKE" in which else "contexts[1].GL_DEPTH_FUN"
                    assert beginning.startswith(like), query


def test_patterns_find_what_a_search_through_all_finds(recording: Recording, tmp_path: Path) -> None:
    last = recording.gl("glDepthFunc", func="GL_GREATER")
    patterns = {
        "contexts[1].texture_units[0].env.GL_TEXTURE_ENV_MODE": 1,
        "contexts[1].texture_units[?].env.GL_TEXTURE?ENV_MODE": 8,
        "contexts[1].texture_units[1*": None,
        "contexts[1].texture_un*[1].env.GL_TEXTURE_ENV_MODE": 1,
        "*.GL_DEPTH_FUNC": 1,
        "contexts[1].GL_DEPTH_F": 0,
        "contexts[1].GL_DEPTH_F*": 1,
        "contexts[1].GL_DEPTH_F?NC": 1,
        "contexts[2]": 0,
        "": None,
    }
    with opened(recording, tmp_path) as trace:
        everything = [path for path, _ in trace.state_index.at(last)]
        for pattern, found in patterns.items():
            quoted = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern)
            below = re.compile(quoted + ("" if pattern.endswith("*") else r"($|[.\[].*)"))
            wanted = [path for path in everything if not pattern or below.fullmatch(path)]
            assert [path for path, _ in trace.state_index.at(last, pattern)] == wanted, pattern
            assert found is None or len(wanted) == found, pattern


def test_an_index_is_of_one_content_of_one_file(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "t.dtap"
    cache = tmp_path / "cache"
    kept = cache / "drawtap" / "state"

    def depth_func(func: str) -> tuple[object, int]:
        again = Recording()
        seq = again.gl("glDepthFunc", func=func)
        again.write(path)
        with open_trace(path) as trace:
            return value(trace, seq, "context.GL_DEPTH_FUNC"), len(list(kept.iterdir()))

    # The same length, the same identity, other bytes: what an edit in place leaves.
    assert depth_func("GL_GREATER") == ("GL_GREATER", 1)
    length = path.stat().st_size
    assert depth_func("GL_ALWAYS") == ("GL_ALWAYS", 2)
    assert path.stat().st_size == length
    # Bytes that changed without their checksums are seen by when they were written.
    times = path.stat()
    content = bytearray(path.read_bytes())
    with open_trace(path) as trace:
        trace.state_index.at(0)
    assert len(list(kept.iterdir())) == 2
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1_000_000))
    with open_trace(path) as trace:
        trace.state_index.at(0)
    assert len(list(kept.iterdir())) == 3
    # And one that went on being written.
    with path.open("ab") as file:
        file.write(b"\0" * 64)
    with open_trace(path) as trace:
        trace.state_index.at(0)
    assert len(list(kept.iterdir())) == 4


def test_images_by_name_and_by_unit(recording: Recording, tmp_path: Path) -> None:
    bits = 0x3FF | 0x200 << 20 | 1 << 30  # all, none, minus 512, 1
    recording.gl("glVertexAttribP4ui", index=3, type="GL_INT_2_10_10_10_REV", normalized=0, value=bits)
    recording.gl("glNormalP3ui", type="GL_UNSIGNED_INT_2_10_10_10_REV", coords=0x3FF)
    recording.gl(
        "glTextureImage2DEXT",
        texture=7, target="GL_TEXTURE_2D", level=0, internalformat="GL_RGBA8", width=4, height=2, border=0,
        format="GL_RGBA", type="GL_UNSIGNED_BYTE", pixels=blob(bytes(32)),
    )  # fmt: skip
    recording.gl("glBindMultiTextureEXT", texunit=enums()["GL_TEXTURE0"] + 2, target="GL_TEXTURE_2D", texture=8)
    recording.gl(
        "glMultiTexImage2DEXT",
        texunit=enums()["GL_TEXTURE0"] + 2, target="GL_TEXTURE_2D", level=0, internalformat="GL_R8", width=8, height=8,
        border=0, format="GL_RED", type="GL_UNSIGNED_BYTE", pixels=blob(bytes(64)),
    )  # fmt: skip
    recording.gl(
        "glMultiTexParameteriEXT",
        texunit=enums()["GL_TEXTURE0"] + 2, target="GL_TEXTURE_2D", pname="GL_TEXTURE_MIN_FILTER",
        param=enums()["GL_NEAREST"],
    )  # fmt: skip
    last = recording.gl("glBindTexture", target="GL_TEXTURE_2D", texture=9)
    with opened(recording, tmp_path) as trace:
        assert value(trace, last, "context.attributes[3].GL_CURRENT_VERTEX_ATTRIB") == [-1, 0, -512, 1]
        assert value(trace, last, "context.GL_CURRENT_NORMAL") == [1, 0, 0]
        assert value(trace, last, "share.textures[7].levels[0].GL_TEXTURE_WIDTH") == 4
        assert value(trace, last, "context.texture_units[2].GL_TEXTURE_BINDING_2D") == 8
        assert value(trace, last, "context.texture_units[0].GL_TEXTURE_BINDING_2D") == 9
        assert value(trace, last, "share.textures[8].levels[0].GL_TEXTURE_INTERNAL_FORMAT") == "GL_R8"
        assert value(trace, last, "share.textures[8].GL_TEXTURE_MIN_FILTER") == "GL_NEAREST"
        assert value(trace, last, "share.textures[9].levels[0].GL_TEXTURE_WIDTH") is None


def test_matrices_by_mode(recording: Recording, tmp_path: Path) -> None:
    recording.gl("glActiveTexture", texture="GL_TEXTURE1")
    recording.gl("glMatrixMode", mode="GL_PROJECTION")
    recording.gl("glMatrixTranslatefEXT", mode="GL_MODELVIEW", x=1.0, y=2.0, z=3.0)
    recording.gl("glMatrixPushEXT", mode="GL_MODELVIEW")
    recording.gl("glMatrixLoadTransposefEXT", mode="GL_MODELVIEW", m=f32(*range(16)))
    inner = recording.gl("glMatrixScaledEXT", mode="GL_TEXTURE0", x=2.0, y=3.0, z=4.0)
    recording.gl("glMatrixPopEXT", mode="GL_MODELVIEW")
    recording.gl("glMatrixMultfEXT", mode="GL_TEXTURE", m=f32(*(2.0 * (i % 5 == 0) for i in range(16))))
    recording.gl("glMatrixPopEXT", mode="GL_MODELVIEW")  # an error: that is the last one
    recording.gl("glMatrixRotatefEXT", mode="GL_COLOR", angle=90.0, x=0.0, y=0.0, z=1.0)
    recording.gl(
        "glMatrixOrthoEXT", mode="GL_PROJECTION", left=0.0, right=4.0, bottom=0.0, top=2.0, zNear=-1.0, zFar=1.0
    )
    last = recording.gl("glMatrixLoadIdentityEXT", mode="GL_COLOR")
    identity = [float(i % 5 == 0) for i in range(16)]
    moved = [*identity[:12], 1, 2, 3, 1]
    with opened(recording, tmp_path) as trace:
        assert value(trace, inner, "context.GL_MODELVIEW_MATRIX") == [i % 4 * 4 + i // 4 for i in range(16)]
        assert value(trace, inner, "context.GL_MODELVIEW_STACK_DEPTH") == 2
        turned = value(trace, last - 2, "context.GL_COLOR_MATRIX")
        assert isinstance(turned, list)
        assert turned[1] == pytest.approx(1)
        found = {path: json.loads(text) for path, text in computed_state(trace, last).items() if "MATRIX" in path}
    assert found["context.GL_MODELVIEW_MATRIX"] == moved
    assert found["context.GL_PROJECTION_MATRIX"] == [0.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, -1, -1, 0, 1]
    assert found["context.GL_COLOR_MATRIX"] == identity
    assert found["context.GL_MATRIX_MODE"] == "GL_PROJECTION"
    assert found["context.texture_units[0].GL_TEXTURE_MATRIX"] == [2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 0, 0, 0, 1]
    assert found["context.texture_units[1].GL_TEXTURE_MATRIX"] == [2.0 * v for v in identity]


def test_the_imaging_subset(recording: Recording, tmp_path: Path) -> None:
    rgba = {"format": "GL_RGBA", "type": "GL_UNSIGNED_BYTE"}
    table = {"target": "GL_COLOR_TABLE"}
    scale = {**table, "pname": "GL_COLOR_TABLE_SCALE"}
    recording.gl("glColorTableParameterfv", **scale, params=f32(0.5, 0.5, 0.5, 1))
    recording.gl("glColorTable", **table, internalformat="GL_RGB8", width=4, **rgba, table=Data(bytes(16)))
    recording.gl("glColorTable", **table, internalformat="GL_RGB8", width=3, **rgba, table=Data(bytes(12)))
    before = recording.gl("glPushAttrib", mask="GL_PIXEL_MODE_BIT")
    recording.gl("glEnable", cap="GL_COLOR_TABLE")
    recording.gl("glColorTableParameterfv", **scale, params=f32(2, 2, 2, 2))
    recording.gl("glPixelTransferf", pname="GL_POST_CONVOLUTION_RED_SCALE", param=3.0)
    changed = recording.gl("glColorSubTable", **table, start=1, count=2, **rgba, data=Data(bytes(8)))
    recording.gl("glPopAttrib")
    row = {"width": 3, **rgba, "row": Data(bytes(12)), "column": Data(bytes(8))}
    recording.gl("glSeparableFilter2D", target="GL_SEPARABLE_2D", internalformat="GL_RGBA8", height=2, **row)
    border = {"target": "GL_CONVOLUTION_2D", "pname": "GL_CONVOLUTION_BORDER_MODE"}
    recording.gl("glConvolutionParameteri", **border, params="GL_CONSTANT_BORDER")
    recording.gl("glHistogram", target="GL_HISTOGRAM", width=256, internalformat="GL_LUMINANCE", sink=1)
    proxy = {"target": "GL_PROXY_COLOR_TABLE", "internalformat": "GL_RGB8"}
    recording.gl("glColorTable", **proxy, width=64, **rgba, table=NULL)
    last = recording.gl("glMinmax", target="GL_MINMAX", internalformat="GL_RGB", sink=0)
    with opened(recording, tmp_path) as trace:
        found = {p: json.loads(v) for p, v in computed_state(trace, last).items()}
        first = value(trace, before, "context.color_tables.GL_COLOR_TABLE.content")
        assert value(trace, changed, "context.color_tables.GL_COLOR_TABLE.content") == f"call {changed}" != first
        assert value(trace, changed, "context.color_tables.GL_COLOR_TABLE.GL_COLOR_TABLE_SCALE") == [2, 2, 2, 2]
        assert value(trace, changed, "context.GL_POST_CONVOLUTION_RED_SCALE") == 3
    wanted = {
        "context.color_tables.GL_COLOR_TABLE.GL_COLOR_TABLE_WIDTH": 4,
        "context.color_tables.GL_COLOR_TABLE.GL_COLOR_TABLE_FORMAT": "GL_RGB8",
        "context.color_tables.GL_COLOR_TABLE.GL_COLOR_TABLE_SCALE": [0.5, 0.5, 0.5, 1],
        "context.color_tables.GL_COLOR_TABLE.content": f"call {changed}",
        "context.enabled.GL_COLOR_TABLE": False,
        "context.GL_POST_CONVOLUTION_RED_SCALE": 1,
        "context.convolutions.GL_SEPARABLE_2D.GL_CONVOLUTION_WIDTH": 3,
        "context.convolutions.GL_SEPARABLE_2D.GL_CONVOLUTION_HEIGHT": 2,
        "context.convolutions.GL_CONVOLUTION_2D.GL_CONVOLUTION_BORDER_MODE": "GL_CONSTANT_BORDER",
        "context.histograms.GL_HISTOGRAM.GL_HISTOGRAM_WIDTH": 256,
        "context.histograms.GL_HISTOGRAM.GL_HISTOGRAM_SINK": True,
        "context.minmaxes.GL_MINMAX.GL_MINMAX_FORMAT": "GL_RGB",
    }
    assert {path: found.get(path) for path in wanted} == wanted
