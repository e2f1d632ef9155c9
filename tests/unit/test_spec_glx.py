"""The GLX overlay: rules of every command, groups, flags, and types as Xlib has them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import size_rules
from drawtap.spec import report
from drawtap.spec.model import Array, AttributeList, Opaque, String, Struct
from drawtap.spec.registry import load_api

API = load_api("glx")


def test_it_has_all_commands_and_none_is_incomplete() -> None:
    assert len(API.commands) == 134
    assert [c.name for c in API.commands.values() if c.uncovered] == []
    assert set(API.lookups) == {"glXGetProcAddress", "glXGetProcAddressARB"}


def test_the_visual_list_has_attributes_without_value() -> None:
    data = API.commands["glXChooseVisual"].param("attribList").data
    assert isinstance(data, AttributeList)
    assert data.terminator == "0"
    assert set(data.valueless) == {"GLX_USE_GL", "GLX_RGBA", "GLX_DOUBLEBUFFER", "GLX_STEREO"}
    assert data.group is not None
    assert {"GLX_RGBA", "GLX_DEPTH_SIZE", "GLX_SAMPLES"} <= API.groups[data.group].values.keys()


def test_all_other_attribute_lists_are_pairs() -> None:
    for command in API.commands.values():
        for param in command.params:
            if param.name in ("attrib_list", "attribList") and param.type.base == "int" and param.is_pointer:
                assert isinstance(param.data, AttributeList), command.name
                assert bool(param.data.valueless) == (command.name == "glXChooseVisual")


def test_displays_are_addresses_and_visuals_structures() -> None:
    for command in API.commands.values():
        for param in command.params:
            if param.type.base == "Display":
                assert isinstance(param.data, Opaque), command.name
            if param.type.base == "XVisualInfo":
                assert param.data == Struct("64"), command.name
    assert API.commands["glXChooseVisual"].returns_data == Struct("64", out=True)


def test_returned_arrays_have_as_many_elements_as_the_call_says() -> None:
    for command in ("glXChooseFBConfig", "glXGetFBConfigs", "glXChooseFBConfigSGIX"):
        assert API.commands[command].returns_data == Array("deref(nelements)", out=True)
        assert API.commands[command].param("nelements").data == Array("1", out=True)


def _actual(command: str, param: str, **values: int) -> int:
    data = API.commands[command].param(param).data
    assert isinstance(data, Array)
    assert data.actual is not None
    return size_rules.evaluate(data.actual, values, API)


def test_query_results() -> None:
    assert _actual("glXGetConfig", "value", result=0) == 1
    assert _actual("glXGetConfig", "value", result=API.enums["GLX_BAD_ATTRIBUTE"]) == 0
    assert _actual("glXQueryVersion", "maj", result=1) == 1
    assert _actual("glXQueryVersion", "maj", result=0) == 0
    version = API.enums["GLX_RENDERER_VERSION_MESA"]
    assert _actual("glXQueryRendererIntegerMESA", "value", attribute=version, result=1) == 3
    profile = API.enums["GLX_RENDERER_OPENGL_CORE_PROFILE_VERSION_MESA"]
    assert _actual("glXQueryCurrentRendererIntegerMESA", "value", attribute=profile, result=1) == 2
    memory = API.enums["GLX_RENDERER_VIDEO_MEMORY_MESA"]
    assert _actual("glXQueryCurrentRendererIntegerMESA", "value", attribute=memory, result=1) == 1


def test_strings() -> None:
    for command in ("glXGetProcAddress", "glXGetProcAddressARB"):
        assert API.commands[command].param("procName").data == String()
    for command in ("glXQueryExtensionsString", "glXQueryServerString", "glXGetClientString"):
        assert API.commands[command].returns_data == String()


@pytest.mark.parametrize(
    ("flag", "commands"),
    [
        ("frame_end", {"glXSwapBuffers", "glXSwapBuffersMscOML", "glXCopySubBufferMESA"}),
        ("make_current", {"glXMakeCurrent", "glXMakeContextCurrent", "glXMakeCurrentReadSGI",
                          "glXMakeAssociatedContextCurrentAMD"}),
        ("lookup", {"glXGetProcAddress", "glXGetProcAddressARB"}),
        ("finish", {"glXWaitGL"}),
    ],
)  # fmt: skip
def test_flags(flag: str, commands: set[str]) -> None:
    assert {c.name for c in API.commands.values() if flag in c.flags} == commands


def test_contexts_are_created_and_destroyed() -> None:
    effects = [(c.name, e.verb, e.path) for c in API.commands.values() for e in c.effects]
    created = {name for name, verb, path in effects if (verb, path) == ("create", "display.context")}
    assert created == {"glXCreateContext", "glXCreateNewContext", "glXCreateContextAttribsARB",
                       "glXCreateContextWithConfigSGIX", "glXCreateAssociatedContextAMD",
                       "glXCreateAssociatedContextAttribsAMD", "glXImportContextEXT"}  # fmt: skip
    for name in created:
        assert "context" in API.commands[name].flags
        assert API.commands[name].returns_class == "context"


def test_names_are_readable() -> None:
    assert API.groups["GLXErrorCode"].values["GLX_BAD_VISUAL"] == 4
    assert API.commands["glXGetConfig"].param("attrib").group == "GLXVisualAttribute"
    assert API.commands["glXGetClientString"].param("name").group == "GLXStringName"
    assert set(API.groups["GLXStringName"].values) >= {"GLX_VENDOR", "GLX_VERSION", "GLX_EXTENSIONS"}
    for command in API.commands.values():
        for param in command.params:
            if param.name == "attribute" and not param.is_pointer:
                assert param.group is not None, command.name


def test_prototypes_and_sizes_agree_with_xlibs_headers(tmp_path: Path) -> None:
    headers = ("/usr/include/GL/glx.h", "/usr/include/X11/Xutil.h")
    if shutil.which("g++") is None or not all(Path(h).exists() for h in headers):
        pytest.skip("no C++ compiler or no GLX headers on this machine")
    source = tmp_path / "same.cc"
    wanted = [c for c in API.commands.values() if "GLX_VERSION" in " ".join(c.provided_by)]
    lines = ["#include <X11/Xutil.h>", "#include <GL/glx.h>"]
    lines += ["static_assert(sizeof(XVisualInfo) == 64);", 'extern "C" {']
    source.write_text("\n".join([*lines, *(f"{report.prototype(c)};" for c in wanted), "}"]))
    done = subprocess.run(["g++", "-fsyntax-only", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
