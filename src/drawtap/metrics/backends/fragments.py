"""Fates of fragments, counted by drawing each draw once more."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Fixed, Metric, backend, fixed

_HOW = (
    "On a multisampled target a fragment counts once, whatever number of its samples is covered: see samples_generated"
)
_SAMPLES = "in samples, of a target with several a pixel (as many as fragments where there is one)"
_FRAME = "so far in the frame, over all targets that it draws to; tests are off, so hidden fragments count too"
_VULKAN = "Of Vulkan alone"
_KNOWN = (
    Fixed(
        "count", "generated", "count", "counter",
        "fragments that rasterisation made inside of scissor and viewport, before any test, and before the shader or "
        f"the alpha test could discard them. {_HOW}",
    ),
    Fixed(
        "count", "discarded", "count", "counter",
        "of those that were generated, how many the shader's discard, the alpha test or sample coverage left out, with "
        "depth and stencil tests off: of fragments that are hidden too",
    ),
    Fixed(
        "count", "passed", "count", "counter",
        "fragments that were not discarded and passed depth and stencil tests: of the draw itself (OpenGL), or of one "
        "like it onto a copy of the depth buffer (OpenGL ES)",
    ),
    Fixed(
        "count", "written", "count", "counter",
        "those that passed, of draws that write to a colour buffer (a colour mask lets something through)",
    ),
    Fixed("count", "samples_generated", "count", "counter", f"what rasterisation made, {_SAMPLES}"),
    Fixed(
        "count", "samples_discarded", "count", "counter",
        f"of those, what the shader, the alpha test or coverage left out, {_SAMPLES}",
    ),
    Fixed(
        "count", "samples_passed", "count", "counter",
        f"what was not discarded and passed depth and stencil tests, {_SAMPLES}",
    ),
    Fixed("count", "samples_written", "count", "counter", "samples that passed, of draws that write a colour buffer"),
    Fixed(
        "texture", "fetches", "count", "counter",
        "texture reads by fragment shaders. Copies of the shaders count them while they run: each call of a built-in "
        "function that reads a texture is one read, however many texels its filter takes. All generated fragments "
        "count, with tests off; discarded ones up to their discard. "
        "Fixed function reads each unit that is on once a fragment",
    ),
    Fixed(
        "texture", "vertex_fetches", "count", "counter",
        "the same by vertex, tessellation and geometry shaders, as often as this driver runs them: what it finds in "
        "its cache of vertices is not read again",
    ),
    Fixed("count", "culled", "count", "counter", f"fragments that there would be without face culling. {_VULKAN}"),
    Fixed(
        "count", "failed_stencil", "count", "counter",
        f"of those that were not discarded, how many the stencil test left out. {_VULKAN}",
    ),
    Fixed(
        "count", "failed_depth", "count", "counter",
        f"of those that passed the stencil test, how many the depth test or depth bounds left out. {_VULKAN}",
    ),
    Fixed("overdraw", "mean", "count", "gauge", f"fragments a covered pixel, {_FRAME}"),
    Fixed("overdraw", "most", "count", "gauge", f"the most fragments that one pixel had, {_FRAME}"),
    Fixed("overdraw", "covered", "count", "gauge", f"pixels that had any fragment, {_FRAME}"),
    *(
        Fixed("overdraw", f"above_{n}", "percent", "gauge", f"of covered pixels, those with more than {n}, {_FRAME}")
        for n in (1, 2, 4, 8)
    ),
)  # fmt: skip


@backend("fragments")
def fragments(said: Capabilities) -> Iterable[Metric]:
    """Each draw performed once more before it is played, with what it could change switched off. The fragments of a
    program that discards are made by a copy of it whose fragment shader does nothing. Draws of Vulkan are repeated with
    variants of their pipelines when they run."""
    return fixed("fragments", _KNOWN, said)
