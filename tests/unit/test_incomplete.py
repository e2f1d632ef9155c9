"""Incomplete textures of a state: for each rule a texture that breaks it, and one that does not."""

from __future__ import annotations

import json

import pytest

from drawtap.analysis.incomplete import Incomplete, incomplete

FACES = [f"GL_TEXTURE_CUBE_MAP_{sign}_{axis}." for axis in "XYZ" for sign in ("POSITIVE", "NEGATIVE")]
MIPMAPS = {"GL_TEXTURE_MIN_FILTER": "GL_LINEAR_MIPMAP_LINEAR"}
PLAIN = {"GL_TEXTURE_MIN_FILTER": "GL_LINEAR"}
NEAREST = {"GL_TEXTURE_MIN_FILTER": "GL_NEAREST", "GL_TEXTURE_MAG_FILTER": "GL_NEAREST"}


def level(number: int, width: int, height: int = 1, depth: int = 1, *, form: str = "GL_RGBA8", face: str = "") -> dict:
    head = f"{face}levels[{number}].GL_TEXTURE_"
    size = {"WIDTH": width, "HEIGHT": height, "DEPTH": depth}
    return {head + key: value for key, value in size.items()} | {f"{head}INTERNAL_FORMAT": form}


def of(target: str, *parts: dict, es: bool = False, sampler: dict | None = None) -> list[Incomplete]:
    """What is said of texture 7, bound to a target of unit 2."""
    values = {f"context.texture_units[2].GL_TEXTURE_BINDING_{target}": 7}
    values["context.texture_units[2].GL_SAMPLER_BINDING"] = 3 if sampler else 0
    values |= {f"share.textures[7].{key}": value for part in parts for key, value in part.items()}
    values |= {f"share.samplers[3].{key}": value for key, value in (sampler or {}).items()}
    return incomplete({path: json.dumps(value) for path, value in values.items()}, es=es)


PYRAMID = [level(0, 8, 4), level(1, 4, 2), level(2, 2, 1), level(3, 1, 1)]
CUBE = [level(0, 4, 4, face=face) for face in FACES]


@pytest.mark.parametrize(
    ("target", "parts", "why"),
    [
        ("2D", [MIPMAPS], "level 0, its GL_TEXTURE_BASE_LEVEL, has no image"),
        ("2D", [PYRAMID[0]], "its GL_TEXTURE_MIN_FILTER is GL_NEAREST_MIPMAP_LINEAR, but level 1 has no image"),
        (
            "2D",
            [MIPMAPS, *PYRAMID[:3]],
            "its GL_TEXTURE_MIN_FILTER is GL_LINEAR_MIPMAP_LINEAR, but level 3 has no image",
        ),
        ("2D", [MIPMAPS, *PYRAMID[:2], level(2, 4, 1), PYRAMID[3]], "level 2 is 4 × 1 GL_RGBA8, not 2 × 1 GL_RGBA8"),
        ("2D", [MIPMAPS, *PYRAMID[:3], level(3, 1, 1, form="GL_RGB8")], "level 3 is 1 × 1 GL_RGB8, not 1 × 1 GL_RGBA8"),
        (
            "2D",
            [MIPMAPS, PYRAMID[0], {"GL_TEXTURE_BASE_LEVEL": 0, "GL_TEXTURE_MAX_LEVEL": -1}],
            "lies above GL_TEXTURE_MAX_LEVEL",
        ),
        ("3D", [MIPMAPS, level(0, 2, 2, 4), level(1, 1, 1, 2)], "level 2 has no image"),
        ("2D_ARRAY", [MIPMAPS, level(0, 2, 2, 5), level(1, 1, 1, 2)], "level 1 is 1 × 1 × 2 GL_RGBA8, not 1 × 1 × 5"),
        ("CUBE_MAP", [PLAIN, *CUBE[:5]], "GL_TEXTURE_CUBE_MAP_NEGATIVE_Z has no image"),
        ("CUBE_MAP", [PLAIN, *CUBE[:5], level(0, 2, 2, face=FACES[5])], "GL_TEXTURE_CUBE_MAP_NEGATIVE_Z is 2 × 2"),
        ("CUBE_MAP", [PLAIN, *(level(0, 4, 2, face=face) for face in FACES)], "not square"),
        ("CUBE_MAP", [MIPMAPS, *CUBE], "level 1 of GL_TEXTURE_CUBE_MAP_POSITIVE_X has no image"),
        ("2D", [PLAIN, level(0, 4, 4, form="GL_RGBA8UI")], "GL_RGBA8UI holds integers, which GL_LINEAR cannot filter"),
        (
            "2D",
            [NEAREST | PLAIN, level(0, 4, 4, form="GL_R32I")],
            "GL_R32I holds integers, which GL_LINEAR cannot filter",
        ),
    ],
)
def test_what_breaks_a_rule_is_named_with_what_mends_it(target: str, parts: list, why: str) -> None:
    (found,) = of(target, *parts)
    assert why in found.why
    assert (found.unit, found.target, found.texture) == (2, target, 7)
    assert found.mend


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("2D", [PLAIN, PYRAMID[0]]),
        ("2D", [MIPMAPS, *PYRAMID]),
        ("2D", [MIPMAPS, *PYRAMID[:2], {"GL_TEXTURE_MAX_LEVEL": 1}]),
        ("2D", [MIPMAPS, *PYRAMID[1:], {"GL_TEXTURE_BASE_LEVEL": 1}]),
        ("2D", [MIPMAPS, *PYRAMID[:2], {"GL_TEXTURE_IMMUTABLE_FORMAT": True}]),
        ("3D", [MIPMAPS, level(0, 2, 2, 4), level(1, 1, 1, 2), level(2, 1, 1, 1)]),
        ("2D_ARRAY", [MIPMAPS, level(0, 2, 2, 5), level(1, 1, 1, 5)]),
        ("1D_ARRAY", [MIPMAPS, level(0, 2, 9), level(1, 1, 9)]),
        ("CUBE_MAP", [PLAIN, *CUBE]),
        ("2D", [NEAREST, level(0, 4, 4, form="GL_RGBA8UI")]),
        ("2D", [PLAIN, level(0, 4, 4, form="GL_DEPTH_COMPONENT16")]),
    ],
)
def test_what_keeps_the_rules_is_complete(target: str, parts: list) -> None:
    assert of(target, *parts) == []


def test_depth_without_comparison_is_not_filtered_in_es() -> None:
    depth = level(0, 4, 4, form="GL_DEPTH_COMPONENT16")
    (found,) = of("2D", PLAIN, depth, es=True)
    assert "GL_TEXTURE_COMPARE_MODE" in found.why
    assert of("2D", NEAREST, depth, es=True) == []
    assert of("2D", PLAIN, depth, {"GL_TEXTURE_COMPARE_MODE": "GL_COMPARE_REF_TO_TEXTURE"}, es=True) == []
    assert of("2D", PLAIN, level(0, 4, 4, form="GL_DEPTH_COMPONENT"), es=True) == []


def test_a_sampler_takes_the_place_of_the_textures_own_filters() -> None:
    assert of("2D", MIPMAPS, PYRAMID[0], sampler=PLAIN) == []
    (found,) = of("2D", PLAIN, PYRAMID[0], sampler=MIPMAPS)
    assert found.why.startswith("the sampler's GL_TEXTURE_MIN_FILTER is GL_LINEAR_MIPMAP_LINEAR")
