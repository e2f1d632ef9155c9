"""Bound textures that are incomplete by OpenGL's specification, why, and how to mend each.

Shaders read (0, 0, 0, 1) from an incomplete texture. The rules are those of "Texture Completeness" (OpenGL 4.6, 8.17;
OpenGL ES 3.2, 8.17). The rule `incomplete-textures` of the checklist is less exact: it asks tables, not states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_FACES = tuple(f"GL_TEXTURE_CUBE_MAP_{sign}_{axis}" for axis in "XYZ" for sign in ("POSITIVE", "NEGATIVE"))
_BOUND = re.compile(r"context\.texture_units\[(\d+)\]\.GL_TEXTURE_BINDING_(1D|2D|3D|CUBE_MAP|1D_ARRAY|2D_ARRAY)$")
_INTEGER = re.compile(r"(8|16|32|2)U?I(_EXT)?$")
_SIZED_DEPTH = re.compile(r"DEPTH\w*\d")
_NO_MIPMAPS = ("GL_NEAREST", "GL_LINEAR")
_NEAREST = ("GL_NEAREST", "GL_NEAREST_MIPMAP_NEAREST")


@dataclass(frozen=True, slots=True)
class Incomplete:
    """An incomplete texture: the unit and target that it is bound to, its name, why, and what makes it complete."""

    unit: int
    target: str
    texture: int
    why: str
    mend: str


@dataclass(frozen=True, slots=True)
class _Level:
    size: tuple[int, int, int]
    format: str

    def __str__(self) -> str:
        width, height, depth = self.size
        return f"{width} × {height}{f' × {depth}' if depth > 1 else ''} {self.format}"


def incomplete(values: Mapping[str, str], *, es: bool) -> list[Incomplete]:
    """Return the incomplete textures of a state: `values` by path, as `trace.moment.computed_state` has them.

    `es` says that the context is one of OpenGL ES, where depth without comparison must not be filtered.
    """
    bound = [(int(m[1]), m[2], int(value)) for path, value in values.items() if (m := _BOUND.match(path))]
    names = {name for _, _, name in bound if name}
    own: dict[int, dict[str, str]] = {name: {} for name in names}
    for path, value in values.items():
        if path.startswith("share.textures[") and (name := int(path[15 : path.index("]")])) in names:
            own[name][path[path.index("]") + 2 :]] = value
    bad = []
    for unit, target, name in bound:
        if not name or not own[name]:
            continue
        sampler = values.get(f"context.texture_units[{unit}].GL_SAMPLER_BINDING", "0")
        texture = own[name] | _of_sampler(values, sampler)
        fault = next(_faults(texture, target, sampled=sampler != "0", es=es), None)
        if fault is not None:
            bad.append(Incomplete(unit, target, name, *fault))
    return bad


def _of_sampler(values: Mapping[str, str], sampler: str) -> dict[str, str]:
    head = f"share.samplers[{sampler}]."
    keys = ("GL_TEXTURE_MIN_FILTER", "GL_TEXTURE_MAG_FILTER", "GL_TEXTURE_COMPARE_MODE")
    return {key: values[head + key] for key in keys if head + key in values}


def _faults(texture: Mapping[str, str], target: str, *, sampled: bool, es: bool) -> Iterator[tuple[str, str]]:
    def word(key: str, first: str) -> str:
        return str(json.loads(texture.get(key, json.dumps(first))))

    base, most = int(texture.get("GL_TEXTURE_BASE_LEVEL", "0")), int(texture.get("GL_TEXTURE_MAX_LEVEL", "1000"))
    smaller = word("GL_TEXTURE_MIN_FILTER", "GL_NEAREST_MIPMAP_LINEAR")
    larger = word("GL_TEXTURE_MAG_FILTER", "GL_LINEAR")
    faces = [f"{face}." for face in _FACES] if target == "CUBE_MAP" else [""]
    first = _level(texture, faces[0], base)
    if first is None:
        yield f"level {base}, its GL_TEXTURE_BASE_LEVEL, has no image", "upload it, or choose a level that has one"
        return
    for face in faces[1:]:
        if (other := _level(texture, face, base)) != first:
            has = "has no image" if other is None else f"is {other}"
            yield f"{face.strip('.')} {has}, {_FACES[0]} is {first}", "give all six faces one size and one format"
    if target == "CUBE_MAP" and first.size[0] != first.size[1]:
        yield f"its faces are {first}, not square", "give all six faces one width and height"
    by = "the sampler's" if sampled else "its"
    if smaller not in _NO_MIPMAPS:
        for fault in _without_mipmaps(texture, target, faces, base, most):
            yield (
                f"{by} GL_TEXTURE_MIN_FILTER is {smaller}, but {fault}",
                "set it to GL_LINEAR, or upload or generate all levels, or set GL_TEXTURE_MAX_LEVEL to the last one",
            )
    filtered = larger if larger != "GL_NEAREST" else smaller if smaller not in _NEAREST else ""
    if filtered and _INTEGER.search(first.format):
        yield f"{first.format} holds integers, which {filtered} cannot filter", "set both filters to GL_NEAREST"
    compared = word("GL_TEXTURE_COMPARE_MODE", "GL_NONE") != "GL_NONE"
    if filtered and es and _SIZED_DEPTH.search(first.format) and not compared:
        yield (
            f"{first.format} without GL_TEXTURE_COMPARE_MODE cannot be filtered with {filtered} in OpenGL ES",
            "set both filters to GL_NEAREST, or GL_TEXTURE_COMPARE_MODE to GL_COMPARE_REF_TO_TEXTURE",
        )


def _without_mipmaps(texture: Mapping[str, str], target: str, faces: list[str], base: int, most: int) -> Iterator[str]:
    """Yield what keeps the levels from being a whole pyramid."""
    first = _level(texture, faces[0], base)
    assert first is not None
    if base > most:
        yield f"GL_TEXTURE_BASE_LEVEL {base} lies above GL_TEXTURE_MAX_LEVEL {most}"
    halved = {"1D": 1, "2D": 2, "3D": 3, "CUBE_MAP": 2, "1D_ARRAY": 1, "2D_ARRAY": 2}[target]
    last = min(base + max(first.size[:halved]).bit_length() - 1, most)
    if texture.get("GL_TEXTURE_IMMUTABLE_FORMAT") == "true":
        kept = [level for level in range(base, last + 1) if _level(texture, faces[0], level)]
        last = kept[-1] if kept else last
    for level in range(base + 1, last + 1):
        size = tuple(max(n >> (level - base), 1) if i < halved else n for i, n in enumerate(first.size))
        wanted = _Level((size[0], size[1], size[2]), first.format)
        for face in faces:
            there = _level(texture, face, level)
            of = f"level {level}{f' of {face.strip(chr(46))}' if face else ''}"
            if there is None:
                yield f"{of} has no image"
            elif there != wanted:
                yield f"{of} is {there}, not {wanted}"


def _level(texture: Mapping[str, str], face: str, level: int) -> _Level | None:
    head = f"{face}levels[{level}]."
    width, height, depth = (int(texture.get(f"{head}GL_TEXTURE_{n}", "0")) for n in ("WIDTH", "HEIGHT", "DEPTH"))
    if width <= 0:
        return None
    return _Level((width, max(height, 1), max(depth, 1)), str(json.loads(texture[f"{head}GL_TEXTURE_INTERNAL_FORMAT"])))
