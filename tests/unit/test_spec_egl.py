"""The EGL overlay: rules of every command, groups, flags, and types as the system's headers have them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import size_rules
from drawtap.spec import report
from drawtap.spec.model import Array, AttributeList, Opaque, String
from drawtap.spec.registry import load_api

API = load_api("egl")


def test_it_has_all_commands_and_none_is_incomplete() -> None:
    assert len(API.commands) == 158
    assert [c.name for c in API.commands.values() if c.uncovered] == []
    assert API.lookups == ("eglGetProcAddress",)


def test_every_attribute_list_ends_with_none_and_has_named_attributes() -> None:
    lists = [(c, p) for c in API.commands.values() for p in c.params if p.name == "attrib_list"]
    assert len(lists) >= 35
    for command, param in lists:
        assert isinstance(param.data, AttributeList), command.name
        assert API.enums[param.data.terminator] == 0x3038
        assert param.data.group is not None
        assert 0x3038 in API.groups[param.data.group].values.values()
        assert param.type.base in ("EGLint", "EGLAttrib", "EGLAttribKHR")


@pytest.mark.parametrize(
    ("command", "group", "name"),
    [
        ("eglChooseConfig", "EGLConfigAttribute", "EGL_RENDERABLE_TYPE"),
        ("eglCreateContext", "EGLContextAttribute", "EGL_CONTEXT_OPENGL_PROFILE_MASK"),
        ("eglCreatePbufferSurface", "EGLSurfaceAttribute", "EGL_WIDTH"),
        ("eglCreatePlatformWindowSurfaceEXT", "EGLSurfaceAttribute", "EGL_GL_COLORSPACE"),
        ("eglCreateImageKHR", "EGLImageAttribute", "EGL_DMA_BUF_PLANE3_MODIFIER_HI_EXT"),
        ("eglCreateSync", "EGLSyncAttribute", "EGL_CL_EVENT_HANDLE"),
        ("eglGetPlatformDisplay", "EGLPlatformAttribute", "EGL_PLATFORM_X11_SCREEN_KHR"),
    ],
)
def test_attribute_lists_name_their_attributes(command: str, group: str, name: str) -> None:
    data = API.commands[command].param("attrib_list").data
    assert isinstance(data, AttributeList)
    assert data.group == group
    assert name in API.groups[group].values


@pytest.mark.parametrize(
    ("command", "attribute", "value"),
    [
        ("eglChooseConfig", "EGL_RENDERABLE_TYPE", "EGL_OPENGL_ES2_BIT"),
        ("eglChooseConfig", "EGL_SURFACE_TYPE", "EGL_DONT_CARE"),
        ("eglCreateContext", "EGL_CONTEXT_OPENGL_DEBUG", "EGL_TRUE"),
        ("eglCreateWindowSurface", "EGL_RENDER_BUFFER", "EGL_SINGLE_BUFFER"),
        ("eglCreatePbufferSurface", "EGL_TEXTURE_FORMAT", "EGL_NO_TEXTURE"),
        ("eglCreateImageKHR", "EGL_IMAGE_PRESERVED", "EGL_TRUE"),
    ],
)
def test_values_of_attributes_have_names(command: str, attribute: str, value: str) -> None:
    data = API.commands[command].param("attrib_list").data
    assert isinstance(data, AttributeList)
    assert value in API.groups[dict(data.values)[attribute]].values


def _actual(command: str, param: str, **values: int) -> int:
    data = API.commands[command].param(param).data
    assert isinstance(data, Array)
    assert data.actual is not None
    return size_rules.evaluate(data.actual, values, API)


def test_configs_are_those_that_were_written() -> None:
    for command in ("eglGetConfigs", "eglChooseConfig"):
        data = API.commands[command].param("configs").data
        assert isinstance(data, Array)
        assert data.out
        assert data.count == "config_size"
        assert _actual(command, "configs", config_size=10, num_config=3, result=1) == 3
        assert _actual(command, "configs", config_size=2, num_config=30, result=1) == 2
        assert _actual(command, "configs", config_size=10, num_config=77, result=0) == 0


def test_nothing_is_read_after_a_failed_query() -> None:
    outputs = [(c.name, p) for c in API.commands.values() for p in c.params if isinstance(p.data, Array) and p.data.out]
    assert len(outputs) > 40
    for name, param in outputs:
        assert isinstance(param.data, Array)
        assert param.data.actual is not None, name
        values = {p.name: 4 for p in API.commands[name].params}
        functions = {"egl_image_planes": lambda *_: 4}
        assert size_rules.evaluate(param.data.actual, {**values, "result": 0}, API, functions) == 0, name
        assert size_rules.evaluate(param.data.actual, {**values, "result": 1}, API, functions) > 0, name


def test_input_arrays() -> None:
    for command in ("eglSwapBuffersWithDamageKHR", "eglSwapBuffersWithDamageEXT", "eglSetDamageRegionKHR"):
        assert API.commands[command].param("rects").data == Array("n_rects * 4")
    assert API.commands["eglStreamImageConsumerConnectNV"].param("modifiers").data == Array("num_modifiers")


def test_strings_and_addresses() -> None:
    assert API.commands["eglGetProcAddress"].param("procname").data == String()
    for command in ("eglQueryString", "eglQueryDeviceStringEXT", "eglGetDisplayDriverName"):
        assert API.commands[command].returns_data == String()
    assert isinstance(API.commands["eglCreatePlatformWindowSurface"].param("native_window").data, Opaque)


@pytest.mark.parametrize(
    ("flag", "commands"),
    [
        ("frame_end", {"eglSwapBuffers", "eglSwapBuffersWithDamageKHR", "eglSwapBuffersWithDamageEXT",
                       "eglSwapBuffersRegionNOK", "eglSwapBuffersRegion2NOK", "eglPostSubBufferNV", "eglCopyBuffers"}),
        ("make_current", {"eglMakeCurrent", "eglReleaseThread"}),
        ("context", {"eglCreateContext", "eglDestroyContext"}),
        ("finish", {"eglWaitGL", "eglWaitClient"}),
        ("lookup", {"eglGetProcAddress"}),
        ("error_query", {"eglGetError"}),
        ("callback", {"eglSetBlobCacheFuncsANDROID", "eglDebugMessageControlKHR"}),
    ],
)  # fmt: skip
def test_flags(flag: str, commands: set[str]) -> None:
    assert {c.name for c in API.commands.values() if flag in c.flags} == commands


def test_swaps_let_the_gpu_read_and_waits_order() -> None:
    assert "gpu_reads" in API.commands["eglSwapBuffers"].flags
    for command in ("eglClientWaitSync", "eglWaitSyncKHR", "eglCreateSync64KHR", "eglDestroySyncNV", "eglFenceNV"):
        assert "sync" in API.commands[command].flags


def test_groups_make_errors_and_names_readable() -> None:
    errors = API.groups["EGLErrorCode"].values
    assert errors["EGL_SUCCESS"] == 0x3000
    assert errors["EGL_CONTEXT_LOST"] == 0x300E
    assert len([n for n in errors if n.endswith(("_KHR", "_EXT", "_NV"))]) < len(errors) / 2
    assert API.commands["eglGetError"].returns_group == "EGLErrorCode"
    assert API.commands["eglBindAPI"].param("api").group == "EGLClientApi"
    assert API.commands["eglClientWaitSync"].param("flags").group == "EGLSyncFlagsKHR"
    assert API.groups["EGLSyncFlagsKHR"].bitmask
    for command in API.commands.values():
        for param in command.params:
            if param.name in ("attribute", "attrib") and param.type.base in ("EGLint", "EGLenum"):
                assert param.group is not None, command.name


def test_handles_name_their_objects() -> None:
    classes = {"EGLDisplay": "display", "EGLConfig": "config", "EGLContext": "context", "EGLSurface": "surface",
               "EGLImage": "image", "EGLImageKHR": "image", "EGLSync": "sync", "EGLSyncKHR": "sync",
               "EGLSyncNV": "sync", "EGLStreamKHR": "stream"}  # fmt: skip
    for command in API.commands.values():
        for param in command.params:
            if not param.is_pointer and param.type.base in classes and command.name != "eglLabelObjectKHR":
                assert param.object_class == classes[param.type.base], (command.name, param.name)
        if not command.returns.indirection and command.returns.base in classes:
            assert command.returns_class == classes[command.returns.base], command.name


def test_what_is_created_is_deleted() -> None:
    created = {e.path for c in API.commands.values() for e in c.effects if e.verb == "create"}
    deleted = {e.path for c in API.commands.values() for e in c.effects if e.verb == "delete"}
    assert created == deleted >= {"display.context", "display.surface", "display.image", "display.sync"}


def test_prototypes_agree_with_the_systems_headers(tmp_path: Path) -> None:
    if shutil.which("g++") is None or not Path("/usr/include/EGL/eglext.h").exists():
        pytest.skip("no C++ compiler or no EGL headers on this machine")
    source = tmp_path / "same.cc"
    wanted = [c for c in API.commands.values() if "EGL_VERSION" in " ".join(c.provided_by)]
    lines = ["#define EGL_NO_X11", "#define MESA_EGL_NO_X11_HEADERS", "#include <EGL/egl.h>", 'extern "C" {']
    source.write_text("\n".join([*lines, *(f"{report.prototype(c)};" for c in wanted), "}"]))
    done = subprocess.run(["g++", "-fsyntax-only", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
