"""Enumerants have their names: what the registry's groups lack is put in."""

from __future__ import annotations

import fnmatch

import pytest

from drawtap.spec.model import Api
from drawtap.spec.registry import load_api

# Results and contents of parameters that are numbers to GL: no parameter of an enumerated type takes them.
VALUES = (
    *("GL_IMAGE_CLASS_*", "GL_VIEW_CLASS_*", "GL_IMAGE_FORMAT_COMPATIBILITY_BY_*", "GL_FULL_SUPPORT"),
    *("GL_CAVEAT_SUPPORT", "GL_CONTEXT_RELEASE_BEHAVIOR_FLUSH", "GL_LOSE_CONTEXT_ON_RESET", "GL_NO_RESET_NOTIFICATION"),
    *("GL_DOT3_RGB", "GL_DOT3_RGBA", "GL_SUBTRACT", "GL_FRACTIONAL_EVEN", "GL_FRACTIONAL_ODD", "GL_ISOLINES"),
    *("GL_FRAMEBUFFER_DEFAULT", "GL_INDEX", "GL_MIRROR_CLAMP_TO_EDGE", "GL_SIGNALED", "GL_UNSIGNALED", "GL_SYNC_FENCE"),
    *("GL_SIGNED_NORMALIZED", "GL_UNSIGNED_NORMALIZED", "GL_UNDEFINED_VERTEX"),
)


@pytest.fixture(scope="module")
def gl() -> Api:
    return load_api("gl")


def test_every_enumerant_of_a_version_is_in_a_group_or_a_value(gl: Api) -> None:
    grouped = {value for name, group in gl.groups.items() if name != "GLenum" for value in group.values.values()}
    versions = {name for feature in gl.features for names in feature.enums.values() for name in names}
    alone = {name for name in versions if gl.enums[name] not in grouped}
    assert {name for name in alone if not any(fnmatch.fnmatch(name, pattern) for pattern in VALUES)} == set()
    for pattern in VALUES:
        assert fnmatch.filter(alone, pattern), f"{pattern} is in a group"


@pytest.mark.parametrize(
    ("function", "parameter", "enumerant"),
    [
        ("glGetIntegerv", "pname", "GL_MAX_SAMPLES"),
        ("glGetIntegerv", "pname", "GL_FRAMEBUFFER_BINDING"),
        ("glGetFramebufferAttachmentParameteriv", "attachment", "GL_BACK_LEFT"),
        ("glPixelStorei", "pname", "GL_UNPACK_COMPRESSED_BLOCK_WIDTH"),
        ("glEnableClientState", "array", "GL_SECONDARY_COLOR_ARRAY"),
        ("glVertexPointer", "type", "GL_FIXED"),
        ("glTexImage2D", "internalformat", "GL_SLUMINANCE_ALPHA"),
        ("glGetTexLevelParameteriv", "pname", "GL_TEXTURE_COMPRESSED_IMAGE_SIZE"),
        ("glProgramParameteri", "pname", "GL_PROGRAM_SEPARABLE"),
        ("glBlendEquation", "mode", "GL_MULTIPLY"),
    ],
)
def test_what_programs_pass_has_a_name(gl: Api, function: str, parameter: str, enumerant: str) -> None:
    group = gl.commands[function].param(parameter).group
    assert group is not None
    assert enumerant in gl.groups[group].values


def test_names_of_state_are_not_mistaken_for_small_numbers(gl: Api) -> None:
    for name in ("GetPName", "EnableCap", "GetTextureParameter", "ProgramPropertyARB", "InternalFormat"):
        assert min(gl.groups[name].values.values()) >= 0x100, name
