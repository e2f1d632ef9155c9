"""Query objects of OpenGL and OpenGL ES: time, samples, primitives, statistics of the pipeline."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Fixed, Metric, backend, fixed

_STAGES = {
    "vertices_submitted": "vertices given to the first stage, as geometry:vertices/vertices_submitted (those that "
    "make no primitive may be left out)",
    "primitives_submitted": "primitives given to the first stage; a patch is one, a quad may be",
    "vertex_shader_invocations": "runs of vertex shaders",
    "tess_control_patches": "patches that tessellation control shaders processed",
    "tess_evaluation_invocations": "runs of tessellation evaluation shaders",
    "geometry_shader_invocations": "runs of geometry shaders",
    "geometry_shader_primitives": "primitives that geometry shaders emitted",
    "fragment_shader_invocations": "runs of fragment shaders (some drivers count helpers, or none before early tests: "
    "fragments:count/generated has what is rasterised)",
    "compute_shader_invocations": "runs of compute shaders",
    "clipping_input_primitives": "primitives that came to clipping, as geometry:primitives/submitted (a quad may be "
    "one, and none come with rasterizer discard)",
    "clipping_output_primitives": "primitives that clipping put out. Drivers choose which primitives they cut, and "
    "whether each part counts, or a part that faces away. No count of geometry:primitives equals this number",
}
_KNOWN = (
    Fixed(
        "time", "elapsed", "ns", "duration",
        "time on the GPU between two time stamps (else GL_TIME_ELAPSED). Tiled GPUs and llvmpipe put drawing off: "
        "their time of a frame is right, their time of a draw is not. --isolate finishes after each draw",
    ),
    Fixed("time", "start", "ns", "timestamp", "when the GPU began with it, by its own clock"),
    Fixed("samples", "samples_passed", "count", "counter", "samples that passed depth and stencil tests"),
    Fixed("samples", "any_samples", "count", "counter", "parts of the range in which any sample passed"),
    Fixed("primitives", "primitives_generated", "count", "counter", "primitives sent to rasterisation"),
    Fixed("primitives", "feedback_written", "count", "counter", "primitives that transform feedback wrote"),
    *(Fixed("pipeline", name, "count", "counter", text) for name, text in _STAGES.items()),
)  # fmt: skip


@backend("gl")
def gl(said: Capabilities) -> Iterable[Metric]:
    """Query objects of the context: GL_ARB_timer_query or GL_EXT_disjoint_timer_query, occlusion, primitives,
    GL_ARB_pipeline_statistics_query."""
    return fixed("gl", _KNOWN, said)
