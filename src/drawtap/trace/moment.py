"""The computed state after one call, as docs/state-paths.md names it: of the context that is current then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from drawtap.tables.recording import ContextRow
from drawtap.trace.core import Selection

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

# Variables that glGet* has several names for, or that it tells of the object that is bound.
_SAME = {
    "context.GL_BLEND_DST": "context.GL_BLEND_DST_RGB",
    "context.GL_BLEND_SRC": "context.GL_BLEND_SRC_RGB",
    "context.GL_CURRENT_FOG_COORDINATE": "context.GL_CURRENT_FOG_COORD",
    "context.GL_PARAMETER_BUFFER_BINDING": "context.GL_PARAMETER_BUFFER_BINDING_ARB",
    **{f"context.enabled.GL_CLIP_PLANE{i}": f"context.enabled.GL_CLIP_DISTANCE{i}" for i in range(8)},
}
_ARRAY = re.compile(r"(GL_\w+_ARRAY(?:_OES)?)\.(\w+)$")
_COORDINATES = re.compile(r"texture_coord_arrays\[(\d+)\]\.(\w+)$")


def computed_state(trace: Trace, seq: int, path: str = "") -> dict[str, str]:
    """Return the state after a call, path to JSON text; empty where no context is current.

    `path` keeps what begins with it. Raises what making the state index raises.
    """
    everything: dict[str, str] = {}
    for kind, root in roots(trace, seq):
        cut = len(root)
        for name, value in trace.state_index.at(seq, root):
            everything[kind + name[cut:]] = value
    everything |= dict(_aliases(everything))
    return {name: value for name, value in everything.items() if name.startswith(path)} if path else everything


def current(trace: Trace, seq: int, api: str = "context") -> tuple[int, int] | None:
    """Return the context that is current after a call on its thread, and its share group; None where none is.

    `api`: "context" for OpenGL's, "vg_context" for OpenVG's.
    """
    rows = trace.core.rows(Selection(first_seq=seq, end_seq=seq + 1))
    if not rows:
        return None
    values = dict(trace.state_index.at(seq, f"threads[{rows[0]['thread']}].{api}"))
    number = int(next(iter(values.values()), "0"))
    if not number:
        return None
    group = next((row["share_group"] for row in trace.table(ContextRow) if row["context"] == number), None)
    return number, int(group) if isinstance(group, int) else number


def roots(trace: Trace, seq: int) -> Iterator[tuple[str, str]]:
    """Yield the names of the state after a call (`context`, `share`, ...) with the paths of the index for them."""
    if (context := current(trace, seq)) is not None:
        yield "context", f"contexts[{context[0]}]"
        yield "share", f"shares[{context[1]}]"
    if (context := current(trace, seq, "vg_context")) is not None:
        yield "vg_context", f"vg_contexts[{context[0]}]"
        yield "vg_share", f"vg_shares[{context[1]}]"


def _aliases(state: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for alias, name in _SAME.items():
        if name in state:
            yield alias, state[name]
    unit = state.get("context.GL_ACTIVE_TEXTURE", "")
    number = re.search(r"\d+$", unit.strip('"'))
    if number and (depth := state.get(f"context.texture_units[{number[0]}].GL_TEXTURE_STACK_DEPTH")):
        yield "context.GL_TEXTURE_STACK_DEPTH", depth
    yield from _of_bound_objects(state)
    for name, value in state.items():
        if name.endswith(".shaders") and name.startswith("share.programs["):
            yield name.removesuffix("shaders") + "GL_ATTACHED_SHADERS", str(len(json.loads(value)))
        elif match := re.match(r"context\.image_units(\[\d+\])\.(GL_IMAGE_BINDING_\w+)$", name):
            yield f"context.{match[2]}{match[1]}", value
        elif ".pixel_maps." in name and name.endswith(".size"):
            yield f"context.{name.split('.')[2]}_SIZE", value


def _of_bound_objects(state: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    array = f"context.vertex_arrays[{state.get('context.GL_VERTEX_ARRAY_BINDING', '0')}]."
    feedback = f"context.transform_feedbacks[{state.get('context.GL_TRANSFORM_FEEDBACK_BINDING', '0')}]."
    for field, word in (("active", "ACTIVE"), ("paused", "PAUSED")):
        if feedback + field in state:
            yield f"context.GL_TRANSFORM_FEEDBACK_BUFFER_{word}", state[feedback + field]
    for name, value in state.items():
        if name.startswith(f"{feedback}GL_TRANSFORM_FEEDBACK_BUFFER_"):
            yield "context." + name.removeprefix(feedback), value
        if not name.startswith(array):
            continue
        rest = name[len(array) :]
        if match := _ARRAY.match(rest):
            yield from _client_array("context.", match[1], match[2], value)
        elif match := _COORDINATES.match(rest):
            yield from _client_array(f"context.texture_units[{match[1]}].", "GL_TEXTURE_COORD_ARRAY", match[2], value)
        elif match := re.match(r"bindings(\[\d+\])\.(GL_VERTEX_BINDING_\w+)$", rest):
            yield f"context.{match[2]}{match[1]}", value


def _client_array(where: str, array: str, field: str, value: str) -> Iterator[tuple[str, str]]:
    array = array.replace("COORDINATE", "COORD")
    if field == "enabled":
        yield f"{where}enabled.{array}", value
    elif field == "buffer":
        yield f"{where}{array.replace('COORD_ARRAY', 'COORDINATE_ARRAY')}_BUFFER_BINDING", value
        yield f"{where}{array}_BUFFER_BINDING", value
    elif field in ("size", "type", "stride"):
        yield f"{where}{array}_{field.upper()}", value
