"""Hold the computed state against the driver's: play a recording once, ask at many calls, compare value by value."""

from __future__ import annotations

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.replay import state
from drawtap.scratch import Scratch
from drawtap.spec.registry import load_api
from drawtap.tables.recording import FrameRow
from drawtap.trace.moment import computed_state

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

# Initial values that are the driver's own: not compared until a call sets them.
_DRIVERS_OWN = {"context.GL_POINT_SIZE_MAX": "1"}
# Drivers keep as many bits of these as a stencil buffer can have.
_STENCIL_BITS = re.compile(r"context\.GL_STENCIL_(BACK_)?(VALUE_MASK|WRITEMASK)$")

# Values that a driver clamps in its answers, as long as colours are clamped.
_CLAMPED = re.compile(
    r"context\.(GL_(FOG_COLOR|COLOR_CLEAR_VALUE|BLEND_COLOR|ALPHA_TEST_REF)"
    r"|texture_units\[\d+\]\.env\.GL_TEXTURE_ENV_COLOR)$"
)
# Values whose answers are whole numbers.
_ROUNDED = re.compile(r"context\.GL_VIEWPORT(\[\d+\])?$")
# Integers of glVertexAttribI stand as the floats with the same bits: in OpenGL ES no query says which they are.
_ATTRIBUTE = re.compile(r"context\.attributes\[\d+\]\.GL_CURRENT_VERTEX_ATTRIB$")
# Values whose answers keep to the bits of the current stencil buffer.
_STENCIL_REF = re.compile(r"context\.GL_STENCIL_(BACK_)?REF$")

Value = None | bool | int | float | str | list["Value"]

# Multisample textures are never filtered: no call sets these, and drivers start them as they like.
_SAMPLING = re.compile(r"(share\.textures\[\d+\])\.GL_TEXTURE_(MIN_FILTER|MAG_FILTER|WRAP_[STR])$")
_NEVER_SAMPLED = ('"GL_TEXTURE_2D_MULTISAMPLE"', '"GL_TEXTURE_2D_MULTISAMPLE_ARRAY"')

# The driver's words about itself, and objects of the comparison's own.
_ABOUT_DRIVER = ("limits.", "driver.")
_RELATIVE, _ABSOLUTE = 2e-4, 2e-5
_MOST_POINTS = 400
_INDEX = re.compile(r"\[\d+\]|\[\"[^\"]*\"\]")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A variable for which driver and computation differ after a call; values as JSON texts."""

    seq: int
    path: str
    computed: str
    driver: str


@dataclass
class Verified:
    """The findings of a comparison.

    `compared` counts values, `points` are the calls; `not_compared` counts, by variable, what the driver told and the
    computation does not have, `only_computed` what the driver did not tell.
    """

    points: list[int]
    compared: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)
    not_compared: Counter[str] = field(default_factory=Counter)
    only_computed: Counter[str] = field(default_factory=Counter)


def points_of(trace: Trace, every: int | None) -> list[int]:
    """Return the calls to ask after: each `every`-th; without it the ends of frames and some 60 between."""
    calls = trace.info["calls"]
    if every:
        return list(range(every - 1, calls, every))[:_MOST_POINTS]
    ends = [row["end_seq"] - 1 for row in trace.table(FrameRow)]
    frames = ends if len(ends) <= 20 else [ends[round(i * (len(ends) - 1) / 19)] for i in range(20)]
    between = [round((i + 0.5) * calls / 60) for i in range(60)]
    return sorted({seq for seq in (*frames, *(seq - 1 for seq in frames), *between) if 0 <= seq < calls})


def verify(trace: Trace, points: Sequence[int], *, environment: Mapping[str, str] | None = None) -> Verified:
    """Play the recording and compare the state after each of `points`. Raises what `player.play` raises."""
    verified = Verified(sorted(set(points)))
    with Scratch() as folder:
        output = Path(folder) / "state"
        state.query(trace.path, verified.points, output, frame_end=trace.frame_end, environment=environment)
        for seq, answers in _answers(output):
            _compare(trace, seq, answers, verified)
    return verified


def _answers(output: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The driver's answers, call by call."""
    current, answers = -1, dict[str, str]()
    with output.open(encoding="utf-8") as lines:
        for line in lines:
            number, path, value = json.loads(line)
            if number != current:
                if answers:
                    yield current, answers
                current, answers = number, {}
            if not path.startswith(_ABOUT_DRIVER):
                answers[path] = value
    if answers:
        yield current, answers


def _compare(trace: Trace, seq: int, answers: Mapping[str, str], verified: Verified) -> None:
    computed = computed_state(trace, seq)
    if not computed:
        return
    for path, driver in answers.items():
        ours = computed.get(path)
        if ours is None and path.endswith("]") and "_BUFFER_" not in path:
            # An array of which only the first element stands: the others are like it.
            stem = path[: path.rindex("[")]
            ours = computed.get(stem) if stem.startswith("context.") and "[" not in stem else None
        if path == "context.in_begin":
            continue  # the player's own mirror
        if ours is None or "nan" in ours or _DRIVERS_OWN.get(path) == ours or _meaningless(path, computed):
            verified.not_compared[_INDEX.sub("[]", path)] += 1
            continue
        verified.compared += 1
        verified.variables.add(_INDEX.sub("[]", path))
        if ours == driver or _told_otherwise(path, ours, driver, computed):
            continue
        if not _alike(path, json.loads(ours), json.loads(driver)):
            verified.disagreements.append(Disagreement(seq, path, ours, driver))
    for path in computed:
        if path not in answers and f"{path}[0]" not in answers:
            verified.only_computed[_INDEX.sub("[]", path)] += 1


def _meaningless(path: str, computed: Mapping[str, str]) -> bool:
    sampling = _SAMPLING.match(path)
    return sampling is not None and computed.get(f"{sampling[1]}.target") in _NEVER_SAMPLED


def _told_otherwise(path: str, ours: str, driver: str, computed: Mapping[str, str]) -> bool:
    """Return True where the specification lets drivers answer with their own form of a value.

    Levels of a texture of fixed size are clamped to those that it has; an image unit with a texture of one layer
    binds all of it, whatever the program wants.
    """
    stem, _, name = path.rpartition(".")
    if name in ("GL_TEXTURE_BASE_LEVEL", "GL_TEXTURE_MAX_LEVEL"):
        levels = computed.get(f"{stem}.GL_TEXTURE_IMMUTABLE_LEVELS", "0")
        return levels != "0" and json.loads(driver) == min(json.loads(ours), int(levels) - 1)
    if name.startswith("GL_IMAGE_BINDING_LAYER"):
        return driver in ("false", "0")
    return False


def _alike(path: str, ours: Value, driver: Value) -> bool:
    if _same(ours, driver):
        return True
    if _STENCIL_BITS.match(path) and isinstance(ours, int) and isinstance(driver, int):
        return ours & 255 == driver & 255
    if _STENCIL_REF.match(path) and isinstance(ours, int) and isinstance(driver, int):
        return driver in (min(max(ours, 0), 255), 0)
    if _ATTRIBUTE.match(path) and isinstance(ours, list) and isinstance(driver, list):
        return all(map(_same_bits, ours, driver))
    if _CLAMPED.match(path):
        return _same(_clamped(ours), driver)
    if _ROUNDED.match(path) and isinstance(ours, list) and isinstance(driver, list):
        return all(abs((_number(x) or 0) - (_number(y) or 0)) <= 0.5 for x, y in zip(ours, driver, strict=True))
    return False


def _same_bits(ours: Value, driver: Value) -> bool:
    theirs = _number(driver)
    if not isinstance(ours, int) or theirs is None:
        return _same(ours, driver)
    if math.isnan(theirs):  # which one is not told
        return -(2**23) < ours < 0 or _same(ours, driver)
    return struct.unpack("<i", struct.pack("<f", theirs))[0] == ours or _same(ours, driver)


def _clamped(value: Value) -> Value:
    if isinstance(value, list):
        return [_clamped(v) for v in value]
    return min(max(value, 0), 1) if isinstance(value, int | float) else value


def _same(ours: Value, driver: Value) -> bool:
    if isinstance(ours, list) or isinstance(driver, list):
        a = ours if isinstance(ours, list) else [ours]
        b = driver if isinstance(driver, list) else [driver]
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    x, y = _number(ours), _number(driver)
    if x is None or y is None:
        return ours == driver
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if x == y or (abs(x - y) == 2**32 and x.is_integer()):  # an unsigned number asked for as a signed one
        return True
    return abs(x - y) <= max(_ABSOLUTE, _RELATIVE * max(abs(x), abs(y)))


def _number(value: Value) -> float | None:
    """The number that a value stands for, so that an enumerant's several names are one."""
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, str):
        if value in ("nan", "inf", "-inf"):
            return float(value)
        if re.fullmatch(r"0[xX][0-9a-fA-F]+", value):
            return float(int(value, 16))
        known = load_api("gl").enums.get(value)
        return None if known is None else float(known)
    return None
