"""Fates of vertices and primitives, counted by drawing them once more and catching their positions."""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.metrics.metric import Capabilities, Fixed, Metric, backend, fixed

_CLASSES = "every primitive submitted is one of degenerate, frustum_culled, backface_culled, discarded, rasterised"
_AREA = "area on the screen of the part inside of the viewport, exact, not counted in pixels that are hit"
_MODEL = "modelled: a first-in-first-out cache of {} transformed vertices, empty before each draw and instance"
_KNOWN = (
    Fixed(
        "primitives", "submitted", "count", "counter",
        "points, lines and triangles that come out of the last vertex stage, such as a geometry shader. Without "
        f"one: as assembled (a quad is two triangles, a polygon of n corners n - 2); {_CLASSES}",
    ),
    Fixed(
        "primitives", "degenerate", "count", "counter",
        "triangles with two equal corners or no area (of homogeneous coordinates, exactly 0), lines without length, "
        "primitives with a coordinate that is no number",
    ),
    Fixed(
        "primitives", "frustum_culled", "count", "counter",
        "primitives of which no part is inside of the view volume and of the program's own clip planes or distances, "
        "and those that cull distances leave out; a point by its centre, a line by its middle",
    ),
    Fixed(
        "primitives", "backface_culled", "count", "counter",
        "triangles that GL_CULL_FACE leaves out, by where their corners are, exactly: see culling_in_doubt",
    ),
    Fixed(
        "primitives", "culling_in_doubt", "count", "counter",
        "a bound: while one face is culled, triangles in view so thin that rounding their corners as drivers do "
        "(GL_SUBPIXEL_BITS) may turn them round or leave them no area. For this number, the driver may differ in "
        "backface_culled, discarded and rasterised",
    ),
    Fixed(
        "primitives", "discarded", "count", "counter",
        "primitives that come as far as rasterisation where nothing can come of it: rasterizer discard, a viewport or "
        "scissor box without area, colour, depth and stencil all masked or off",
    ),
    Fixed("primitives", "rasterised", "count", "counter", "primitives that are rasterised, if into no fragment at all"),
    Fixed(
        "primitives", "clipped", "count", "counter",
        "of those rasterised, the ones that cross the boundary of the view volume or a clip plane that is on (whether "
        "the driver cuts them or has a guard band)",
    ),
    Fixed("triangles", "area", "pixels", "counter", f"triangles rasterised: {_AREA}"),
    Fixed(
        "triangles", "average_area", "pixels", "ratio",
        f"area by triangles rasterised, both summed up over the frame or whatever it is measured for: {_AREA}",
    ),
    *(
        Fixed("triangles", f"area_{name}", "count", "counter", f"triangles rasterised with {text}")
        for name, text in (
            ("below_1", "less than 1 pixel"), ("1_to_4", "1 to 4 pixels"), ("4_to_16", "4 to 16 pixels"),
            ("16_to_64", "16 to 64 pixels"), ("64_to_256", "64 to 256 pixels"),
            ("256_to_1024", "256 to 1024 pixels"), ("from_1024", "1024 pixels and more"),
        )
    ),
    Fixed(
        "vertices", "vertices_submitted", "count", "counter",
        "vertices and indices given to draws, times instances; indices that restart a primitive are none",
    ),
    Fixed("vertices", "distinct", "count", "counter", "different vertices of each draw and instance"),
    Fixed(
        "vertices", "transformed_fifo_32", "count", "counter",
        f"vertices transformed; {_MODEL.format(32)}. Draws without indices transform each",
    ),
    Fixed(
        "vertices", "lit", "count", "counter",
        "vertices transformed (modelled likewise) while fixed-function lighting was on",
    ),
    Fixed(
        "vertices", "viewport_transformed", "count", "counter",
        "vertices that the viewport transformation gets: corners of primitives rasterised, after clipping; one that "
        "primitives share counts for each",
    ),
    Fixed("vertices", "cache_accesses", "count", "counter", "vertices that draws with indices ask for"),
    Fixed("vertices", "cache_hits_fifo_16", "count", "counter", f"of these, found; {_MODEL.format(16)}"),
    Fixed("vertices", "cache_hits_fifo_32", "count", "counter", f"of these, found; {_MODEL.format(32)}"),
    Fixed("calls", "render", "count", "counter", "calls that draw primitives, glBegin and glCallList among them"),
    Fixed("calls", "matrix", "count", "counter", "calls that change a fixed-function matrix or its stack"),
    Fixed("calls", "matrix_uniforms", "count", "counter", "glUniformMatrix and its kin"),
    Fixed(
        "calls", "texels_uploaded", "count", "counter",
        "texels given to glTexImage, glTexSubImage and their compressed kin; generated mipmaps are not counted",
    ),
)  # fmt: skip


@backend("geometry")
def geometry(said: Capabilities) -> Iterable[Metric]:
    """Primitives and vertices, by class. Each draw is made a second time with its positions captured and nothing
    rasterised; positions are the driver's own (OpenGL ES 1: computed here from its arrays and matrices), their
    classification is exact. The picture stays as it is."""
    return fixed("geometry", _KNOWN, said)
