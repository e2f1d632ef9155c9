"""The stages of the pipeline, and which state variables belong to each: patterns, with the objects in use filled in.

A `{...}` in a pattern is the path of a variable; its value takes that place. A pattern whose variable is missing or
names no object shows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VERTEX_ARRAY = r"context\.vertex_arrays\[{context.GL_VERTEX_ARRAY_BINDING}\]\."
_PROGRAM = r"share\.programs\[{context.GL_CURRENT_PROGRAM}\]\."
_TARGET = r"framebuffers\[{context.GL_DRAW_FRAMEBUFFER_BINDING}\]\."


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: a word for its address, its name, regular expressions of paths, and variables it always shows."""

    key: str
    name: str
    patterns: tuple[str, ...]
    always: tuple[str, ...] = ()


STAGES = (
    Stage(
        "input",
        "Vertex input",
        (
            _VERTEX_ARRAY,
            r"context\.GL_(ARRAY_BUFFER|ELEMENT_ARRAY|VERTEX_ARRAY|PRIMITIVE_RESTART|CURRENT_(?!PROGRAM))",
            r"context\.enabled\.GL_\w+_ARRAY$",
        ),
        ("context.GL_VERTEX_ARRAY_BINDING",),
    ),
    Stage(
        "shaders",
        "Shaders",
        (
            _PROGRAM,
            r"context\.GL_(CURRENT_PROGRAM|PROGRAM_PIPELINE|UNIFORM_BUFFER|SHADER_STORAGE|ATOMIC_COUNTER)",
            r"context\.(lights|materials|GL_\w*MATRIX|GL_LIGHT|GL_SHADE|GL_FOG|GL_PATCH)",
            r"context\.enabled\.GL_(LIGHT|FOG|NORMALIZE|RESCALE|COLOR_MATERIAL)",
        ),
        ("context.GL_CURRENT_PROGRAM",),
    ),
    Stage(
        "raster",
        "Rasteriser",
        (
            r"context\.GL_(VIEWPORT|DEPTH_RANGE|CULL|FRONT_FACE|POLYGON|LINE_|POINT_|PROVOKING|SAMPLE_|CLIP)",
            r"context\.(viewports|clip_planes)",
            r"context\.enabled\.GL_(CULL|POLYGON|LINE|POINT|MULTISAMPLE|SAMPLE|RASTERIZER|DEPTH_CLAMP|CLIP)",
        ),
        ("context.GL_VIEWPORT", "context.enabled.GL_CULL_FACE"),
    ),
    Stage(
        "textures",
        "Textures",
        (
            r"context\.(GL_ACTIVE_TEXTURE|texture_units|image_units|samplers)",
            r"share\.textures\[{context.texture_units[0].GL_TEXTURE_BINDING_2D}\]\.",
        ),
        ("context.GL_ACTIVE_TEXTURE",),
    ),
    Stage(
        "tests",
        "Tests",
        (
            r"context\.GL_(DEPTH_|STENCIL_|SCISSOR|ALPHA_TEST|SAMPLE_COVERAGE)",
            r"context\.enabled\.GL_(DEPTH_TEST|STENCIL|SCISSOR|ALPHA_TEST)",
            r"context\.scissors",
        ),
        ("context.enabled.GL_DEPTH_TEST", "context.GL_DEPTH_FUNC", "context.enabled.GL_STENCIL_TEST"),
    ),
    Stage(
        "blend",
        "Blending",
        (r"context\.GL_(BLEND|LOGIC_OP|COLOR_WRITE|COLOR_CLEAR)", r"context\.enabled\.GL_(BLEND|COLOR_LOGIC|DITHER)"),
        ("context.enabled.GL_BLEND",),
    ),
    Stage(
        "target",
        "Framebuffer",
        (rf"context\.{_TARGET}", rf"share\.{_TARGET}", r"context\.GL_(DRAW|READ)_(FRAMEBUFFER|BUFFER)"),
        ("context.GL_DRAW_FRAMEBUFFER_BINDING",),
    ),
)


def stage_of(state: Mapping[str, str]) -> dict[str, str]:
    """Return the stage that each variable belongs to, path to key; a variable of no stage is left out."""
    rules = [(stage.key, re.compile(filled)) for stage in STAGES for p in stage.patterns if (filled := _fill(p, state))]
    stages: dict[str, str] = {}
    for path in state:
        for key, rule in rules:
            if rule.match(path):
                stages[path] = key
                break
    return stages


def always_shown() -> frozenset[str]:
    """Return the variables that a stage shows even at their first value."""
    return frozenset(path for stage in STAGES for path in stage.always)


def _fill(pattern: str, state: Mapping[str, str]) -> str | None:
    def value(match: re.Match[str]) -> str:
        return state.get(match[1], "").strip('"')

    names = re.findall(r"\{([^}]+)\}", pattern)
    if any(not state.get(name, "").strip('"').isdigit() for name in names):
        return None
    return re.sub(r"\{([^}]+)\}", value, pattern)
