"""Requests for synthetic benchmarks, and their form in TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from drawtap.errors import InputError, UsageError, did_you_mean, read_toml

#: The part of a request by which a measured value may be off.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that a request may have. Values are means per frame; of `once` ones there is one value.

    `counts` are columns of the table `content` that make it up. Without them it is measured while the program is
    played.
    """

    name: str
    title: str
    unit: str = "count"
    counts: tuple[str, ...] = ()
    once: bool = False


FEATURES: Mapping[str, Feature] = {
    f.name: f
    for f in (
        Feature("draws", "render calls", counts=("draws",)),
        Feature("triangles", "triangles", counts=("triangles",)),
        Feature("vertices", "vertices", counts=("vertices",)),
        Feature("clears", "clears", counts=("clears",)),
        Feature("state_calls", "state calls (binds and uniforms among them)", counts=("state_calls",)),
        Feature("binds", "binds", counts=("binds",)),
        Feature("same_binds", "binds of what was bound", counts=("same_binds",)),
        Feature("uniforms", "uniform calls", counts=("uniforms",)),
        Feature("texture_uploads", "texture upload calls", counts=("texture_uploads",)),
        Feature("texels", "texel uploads", counts=("texels",)),
        Feature("texture_bytes", "texture data", "bytes", ("texture_bytes",)),
        Feature("buffer_uploads", "buffer upload calls", counts=("buffer_uploads",)),
        Feature("buffer_bytes", "buffer data", "bytes", ("buffer_bytes", "mapped_bytes")),
        Feature("texture_memory", "memory of textures", "bytes", once=True),
        Feature("fragments", "fragments"),
        Feature("texture_fetches", "texture fetches"),
        Feature("backface_culled", "triangles that face away"),
        Feature("frustum_culled", "triangles out of view"),
    )
}


@dataclass(frozen=True)
class Request:
    """The request for a synthetic program: `asked` by the names of FEATURES, on a surface of `width` x `height` pixels.

    It has a first frame, which loads, and `frames` more, for which the request holds. `textures`: how many share the
    memory; None: as fits. `title` says where the request comes from.
    """

    asked: Mapping[str, float]
    width: int = 640
    height: int = 480
    frames: int = 30
    textures: int | None = None
    title: str = ""

    def __post_init__(self) -> None:
        """Raise UsageError for what makes no sense."""
        for name, value in self.asked.items():
            if name not in FEATURES:
                hint = did_you_mean(name, FEATURES) or ", ".join(FEATURES)
                raise UsageError(f"there is no feature {name!r}", hint=hint)
            if not (isinstance(value, int | float) and 0 <= value < 1e12):
                raise UsageError(f"{name} = {value!r} makes no sense", hint="a number from 0 to 1e12")
        if not (1 <= self.width <= 8192 and 1 <= self.height <= 8192):
            raise UsageError(f"a surface of {self.width} x {self.height} pixels", hint="1 to 8192")
        if not 1 <= self.frames <= 100_000:
            raise UsageError(f"{self.frames} frames", hint="1 to 100000")
        if self.textures is not None and not 1 <= self.textures <= 4096:
            raise UsageError(f"{self.textures} textures", hint="1 to 4096")
        triangles = self.asked.get("triangles", 0)
        if triangles > 5_000_000:
            raise UsageError(f"{triangles:.0f} triangles a frame are too many", hint="0 to 5000000")
        for name, most in (("draws", 1e5), ("state_calls", 1e6), ("uniforms", 1e6), ("binds", 1e6), ("clears", 1e4)):
            if self.asked.get(name, 0) > most:
                raise UsageError(f"{self.asked[name]:.0f} {name} a frame are too many", hint=f"0 to {most:.0f}")
        if max(self.asked.get(n, 0) for n in ("texture_memory", "texture_bytes", "buffer_bytes")) > 1 << 30:
            raise UsageError(
                "texture memory and the data of a frame are limited to 1 GiB each",
                hint=f"{1 << 30} bytes at most, for each of texture_memory, texture_bytes and buffer_bytes",
            )
        if self.asked.get("backface_culled", 0) + self.asked.get("frustum_culled", 0) > triangles:
            raise UsageError(
                "more triangles are to be culled than there are",
                hint=f"backface_culled and frustum_culled together {triangles:.0f} at most",
            )


_SETTINGS = ("width", "height", "frames", "textures")


def read(file: Path) -> Request:
    """Return the request that a TOML file holds: `width`, `height`, `frames`, `textures`, and a table `features`.

    `overdraw` among the features is fragments by the pixels of the surface. Raises InputError for another file.
    """
    data = read_toml(file)
    hint = "width = 640, height = 480, frames = 30, [features] draws = 100"
    features = data.pop("features", None)
    if not isinstance(features, Mapping) or not features:
        raise InputError(f"{file} has no features", hint=hint)
    unknown = [key for key in data if key not in (*_SETTINGS, "title")]
    if unknown:
        raise InputError(f"{file} has unknown words: {', '.join(unknown)}", hint=hint)
    for key, value in data.items():
        if key != "title" and (not isinstance(value, int) or isinstance(value, bool)):
            raise InputError(f"{file}: {key} = {value!r} is no whole number", hint=hint)
    for name, value in features.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InputError(f"{file}: {name} = {value!r} is no number", hint=hint)
    made = with_features(Request({}, title=str(data.pop("title", file.stem)), **data), features)
    if not made.asked:
        raise InputError(f"{file} has no features", hint=hint)
    return made


def with_features(base: Request, features: Mapping[str, float]) -> Request:
    """Return a request with other values; `overdraw` becomes fragments."""
    asked = {**base.asked, **features}
    if "overdraw" in asked:
        asked["fragments"] = asked.pop("overdraw") * base.width * base.height
    return replace(base, asked=asked)


def text(request: Request) -> str:
    """Return a request as the TOML that `read` reads."""
    lines = [f"title = {_quoted(request.title)}"] if request.title else []
    lines += [f"width = {request.width}", f"height = {request.height}", f"frames = {request.frames}"]
    lines += [f"textures = {request.textures}"] if request.textures else []
    lines += ["", "[features]  # means per frame; texture_memory in all"]
    for name, value in request.asked.items():
        shown = int(value) if float(value).is_integer() else round(value, 6)
        lines.append(f"{name} = {shown}")
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
