"""Queries of Vulkan: time stamps, samples, statistics of the pipeline."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Fixed, Metric, backend, fixed

_STAGES = {
    "vertices_submitted": "vertices given to the first stage",
    "primitives_submitted": "primitives given to the first stage; a patch is one",
    "vertex_shader_invocations": "runs of vertex shaders; drivers may use results again or shade a vertex twice",
    "geometry_shader_invocations": "runs of geometry shaders",
    "geometry_shader_primitives": "primitives that geometry shaders emitted",
    "clipping_input_primitives": "primitives that came to clipping",
    "clipping_output_primitives": "primitives that clipping put out: drivers choose whether culled and cut ones count",
    "fragment_shader_invocations": "runs of fragment shaders (drivers may count helpers, or omit what tests drop)",
    "tess_control_patches": "patches that tessellation control shaders processed",
    "tess_evaluation_invocations": "runs of tessellation evaluation shaders",
    "compute_shader_invocations": "runs of compute shaders",
}
_KNOWN = (
    Fixed(
        "time", "elapsed", "ns", "duration",
        "time on the GPU between two time stamps: of a draw or dispatch, of a render pass, of the command buffers of a "
        "submit, frame or range. Draws that overlap have parts of each other; tiled GPUs and llvmpipe draw at the end "
        "of the pass",
    ),
    Fixed(
        "time", "start", "ns", "timestamp",
        "when the GPU began with it: CLOCK_MONOTONIC with VK_EXT_calibrated_timestamps, else its own clock",
    ),
    Fixed("samples", "samples_passed", "count", "counter", "samples that passed depth and stencil tests"),
    Fixed("samples", "any_samples", "count", "counter", "draws of which any sample passed"),
    *(Fixed("pipeline", name, "count", "counter", text) for name, text in _STAGES.items()),
)  # fmt: skip


@backend("vk")
def vk(said: Capabilities) -> Iterable[Metric]:
    """Queries in the command buffers of a Vulkan recording: time stamps, occlusion, pipeline statistics. A value
    belongs to what ran: a draw that was recorded once and submitted ten times has ten."""
    return fixed("vk", _KNOWN, said)
