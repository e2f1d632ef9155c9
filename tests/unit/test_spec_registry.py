"""Registries: everything that the XML says is in the model, in numbers that are known from elsewhere."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

import pytest

from drawtap.errors import InputError, UsageError
from drawtap.spec import registry
from drawtap.spec.model import Api, CType, String
from drawtap.spec.overlay import Overlay
from drawtap.spec.registry import XML, load_api, read_registry


@pytest.fixture(scope="module")
def gl() -> Api:
    return load_api("gl")


@pytest.mark.parametrize(("name", "count"), [("gl", 3295), ("egl", 158), ("glx", 134)])
def test_all_commands(name: str, count: int) -> None:
    api = load_api(name)
    assert len(api.commands) == count
    assert all(command.name == key for key, command in api.commands.items())


# The sizes of the versions as other loaders that are made from the registries have them.
VERSIONS = [
    ("gl", "1.0", "", 306), ("gl", "1.1", "", 336), ("gl", "2.1", "", 551), ("gl", "3.0", "", 635),
    ("gl", "3.2", "core", 316), ("gl", "3.3", "core", 344), ("gl", "4.3", "core", 534), ("gl", "4.6", "core", 657),
    ("gl", "4.6", "compatibility", 1048), ("gles1", "1.0", "", 144), ("gles2", "2.0", "", 142),
    ("gles2", "3.0", "", 246), ("gles2", "3.1", "", 314), ("gles2", "3.2", "", 358), ("glsc2", "2.0", "", 111),
    ("egl", "1.0", "", 24), ("egl", "1.4", "", 34), ("egl", "1.5", "", 44),
    ("glx", "1.0", "", 17), ("glx", "1.3", "", 38), ("glx", "1.4", "", 39),
]  # fmt: skip


@pytest.mark.parametrize(("api", "version", "profile", "count"), VERSIONS)
def test_commands_of_versions(api: str, version: str, profile: str, count: int) -> None:
    owner = load_api("gl" if api.startswith("gl") and api != "glx" else api)
    assert len(owner.command_set(api, version, profile)) == count


def test_profiles_remove_and_bring_back(gl: Api) -> None:
    core, compatibility = (gl.command_set("gl", "4.6", profile) for profile in ("core", "compatibility"))
    assert "glBegin" not in core
    assert "glBegin" in compatibility
    assert "glGetPointerv" in core  # removed by 3.2, required again by 4.3
    assert "glGetPointerv" not in gl.command_set("gl", "3.2", "core")
    assert core.keys() < compatibility.keys()


def test_unknown_version_lists_the_known(gl: Api) -> None:
    with pytest.raises(KeyError, match=r"no version 9\.9; versions: 1\.0"):
        gl.command_set("gl", "9.9")


def test_extensions_and_their_apis(gl: Api) -> None:
    assert len(gl.extensions) == 857
    by_name = {e.name: e for e in gl.extensions}
    assert by_name["GL_ARB_buffer_storage"].supported == ("gl", "glcore")
    assert by_name["GL_EXT_buffer_storage"].supported == ("gles2",)
    assert "glBufferStorage" in by_name["GL_ARB_buffer_storage"].commands[""]
    assert "GL_ARB_buffer_storage" in gl.commands["glBufferStorage"].provided_by
    assert "GL_VERSION_4_4" in gl.commands["glBufferStorage"].provided_by


def test_every_command_is_provided_by_something_or_known_not_to_be(gl: Api) -> None:
    orphans = {name for name, command in gl.commands.items() if not command.provided_by}
    assert all(not gl.commands[name].flags & {"draw", "upload"} for name in orphans)
    assert len(orphans) < 20


def test_aliases_exist(gl: Api) -> None:
    assert gl.commands["glBindBufferARB"].alias == "glBindBuffer"
    aliases = [c.alias for c in gl.commands.values() if c.alias]
    assert len(aliases) > 600
    assert gl.commands["glBitmapxOES"].alias is None  # like glBitmap for our rules, but with other types
    assert all(alias in gl.commands for alias in aliases)


def test_parameters(gl: Api) -> None:
    command = gl.commands["glTexImage2D"]
    assert [p.name for p in command.params] == [
        "target", "level", "internalformat", "width", "height", "border", "format", "type", "pixels",
    ]  # fmt: skip
    assert command.params[0].type == CType("GLenum", "GLenum", 0, const=False, scalar="u32")
    assert command.params[-1].type == CType("const void *", "void", 1, const=True, scalar="void")
    assert command.param("target").group == "TextureTarget"
    assert gl.commands["glBindTexture"].param("texture").object_class == "texture"
    assert gl.commands["glCreateShader"].returns_class == "shader"
    strings = gl.commands["glShaderSource"].param("string").type
    assert (strings.spelling, strings.indirection, strings.const) == ("const GLchar *const *", 2, True)


SCALARS = {
    "gl": {"GLenum": "u32", "GLboolean": "u8", "GLbyte": "i8", "GLshort": "i16", "GLushort": "u16", "GLint": "i32",
           "GLuint": "u32", "GLfixed": "i32", "GLfloat": "f32", "GLdouble": "f64", "GLintptr": "i64",
           "GLsizeiptr": "i64", "GLint64": "i64", "GLuint64": "u64", "GLsync": "ptr", "GLhalfNV": "u16",
           "GLhandleARB": "u32", "GLeglImageOES": "ptr", "GLDEBUGPROC": "ptr", "GLvdpauSurfaceNV": "i64",
           "GLchar": "i8", "GLubyte": "u8", "struct _cl_context": "struct", "void": "void"},
    "egl": {"EGLint": "i32", "EGLAttrib": "i64", "EGLTime": "u64", "EGLBoolean": "u32", "EGLDisplay": "ptr",
            "EGLNativeWindowType": "u64", "EGLNativeDisplayType": "ptr", "EGLnsecsANDROID": "i64",
            "EGLSetBlobFuncANDROID": "ptr", "struct AHardwareBuffer": "struct"},
    "glx": {"Bool": "i32", "GLXDrawable": "u64", "Window": "u64", "Pixmap": "u64", "GLXContext": "ptr",
            "GLXFBConfig": "ptr", "Display": "struct", "XVisualInfo": "struct", "int64_t": "i64", "VLPath": "i32"},
}  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
def test_how_values_are_stored(name: str) -> None:
    found: dict[str, str] = {}
    for command in load_api(name).commands.values():
        for ctype in (command.returns, *(p.type for p in command.params)):
            found[ctype.base] = ctype.scalar
    assert {base: found[base] for base in SCALARS[name] if base in found} == {
        base: scalar for base, scalar in SCALARS[name].items() if base in found
    }
    assert len(found.keys() & SCALARS[name].keys()) >= len(SCALARS[name]) - 2
    assert set(found.values()) <= {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "ptr", "void",
                                   "struct"}  # fmt: skip


def test_enumerants_and_groups(gl: Api) -> None:
    assert gl.enums["GL_TRIANGLES"] == 4
    assert gl.enums["GL_TIMEOUT_IGNORED"] == 0xFFFFFFFFFFFFFFFF
    assert gl.groups["PrimitiveType"].values["GL_TRIANGLES"] == 4
    assert gl.groups["ClearBufferMask"].bitmask
    assert not gl.groups["PrimitiveType"].bitmask
    assert gl.groups["BufferTargetARB"].values["GL_ARRAY_BUFFER"] == 0x8892
    assert load_api("egl").enums["EGL_NO_FILE_DESCRIPTOR_KHR"] == -1
    assert load_api("egl").enums["EGL_NO_CONTEXT"] == 0


def test_groups_show_core_names_first(gl: Api) -> None:
    for group in gl.groups.values():
        first: dict[int, str] = {}
        for name, value in group.values.items():
            first.setdefault(value, name)
        for name, value in group.values.items():
            if not re.search(r"_(ARB|EXT|OES|KHR|NV|AMD|ATI|SGIS|SGIX|APPLE|QCOM|INTEL)$", name) and any(
                name in names for f in gl.features for names in f.enums.values()
            ):
                assert not first[value].endswith(("_ARB", "_EXT", "_OES")), (group.name, name, first[value])


def test_every_enum_parameter_can_be_named(gl: Api) -> None:
    for command in gl.commands.values():
        for param in command.params:
            if param.type.base == "GLenum" and not param.is_pointer:
                assert param.group in gl.groups, f"{command.name}.{param.name}"
    everything = gl.groups["GLenum"].values
    assert everything["GL_TEXTURE_2D"] == 0x0DE1
    assert min(everything.values()) >= 0x100
    assert len(set(everything.values())) == len(everything)
    assert "GL_ARRAY_BUFFER_ARB" not in everything


def test_vendored_registries_are_unmodified() -> None:
    origin = (XML / "ORIGIN.md").read_text()
    for name in ("gl.xml", "egl.xml", "glx.xml"):
        digest = hashlib.sha256((XML / name).read_bytes()).hexdigest()
        assert f"| {name} | {digest} |" in origin
    assert f"sha256 {hashlib.sha256((XML / 'gl.xml').read_bytes()).hexdigest()}" in load_api("gl").origin


OLD_FORM = """<?xml version="1.0"?>
<registry>
  <types>
    <type>typedef unsigned int <name>GLenum</name>;</type>
    <type>typedef int <name>GLint</name>;</type>
    <type>typedef enum { A_ONE = 1 } <name>Kind</name>;</type>
    <type>typedef struct { int x; } <name>Rect</name>;</type>
  </types>
  <groups>
    <group name="Mode"><enum name="GL_ONE_MODE"/><enum name="GL_TWO_MODE"/></group>
  </groups>
  <enums namespace="GL"><enum value="1" name="GL_ONE_MODE"/><enum value="0x8002" name="GL_TWO_MODE"/></enums>
  <enums namespace="Bits" type="bitmask"><enum value="0x4" name="GL_BIT_FOUR"/></enums>
  <commands namespace="GL">
    <command>
      <proto>void <name>glThing</name></proto>
      <param group="Mode"><ptype>GLenum</ptype> <name>mode</name></param>
      <param group="Missing,Mode"><ptype>GLenum</ptype> <name>other</name></param>
      <param><ptype>Kind</ptype> <name>kind</name></param>
      <param len="4">const <ptype>GLint</ptype> <name>v</name>[4]</param>
      <param><ptype>Rect</ptype> *<name>rect</name></param>
    </command>
  </commands>
  <feature api="gl" name="GL_VERSION_1_0" number="1.0"><require><command name="glThing"/></require></feature>
  <extensions/>
</registry>
"""


def test_the_older_form_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "old.xml"
    path.write_text(OLD_FORM)
    api = Overlay("gl", xml="old.xml").apply(read_registry(path, "gl"))
    thing = api.commands["glThing"]
    assert thing.param("mode").group == "Mode"
    assert thing.param("other").group == "Mode"
    assert thing.param("kind").type.scalar == "u32"
    assert thing.param("v").type.indirection == 1
    assert thing.param("rect").type.scalar == "struct"
    assert api.groups["Bits"].bitmask
    assert thing.uncovered == ("rect",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<registry><commands>", "cannot read the registry"),
        (OLD_FORM.replace("<ptype>Rect</ptype> *", "<ptype>Unheard</ptype> *"), "Unheard"),
        (OLD_FORM.replace("<proto>void <name>glThing</name></proto>", ""), "without <proto>"),
        (OLD_FORM.replace("<name>mode</name>", ""), "without a name"),
    ],
)
def test_broken_registries_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "broken.xml"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_registry(path, "gl")
    with pytest.raises(InputError, match="cannot read the registry"):
        read_registry(tmp_path / "absent.xml", "gl")


def test_unknown_api_lists_the_known() -> None:
    with pytest.raises(UsageError, match="egl, gl, glx"):
        load_api("direct3d")


def test_defaults_from_len(gl: Api) -> None:
    assert gl.commands["glBindAttribLocation"].param("name").data == String()


def test_loading_is_quick() -> None:
    # 0.25 s on the machine where this was written; a loader that has become ten times slower is a fault.
    start = time.process_time()
    registry.load_api.__wrapped__("gl")
    assert time.process_time() - start < 2.5
