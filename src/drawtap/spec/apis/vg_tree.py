"""The state of OpenVG: its classes, their variables and initial values (OpenVG 1.1, tables in its chapters).

Lists of any length (scissor rectangles, dashes, stops of a colour ramp) are texts with their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drawtap.spec.tree import Tree

# Enum groups of variables.
GROUPS: dict[tuple[str, str], str] = {
    ("vg_context", "VG_MATRIX_MODE"): "VGMatrixMode",
    ("vg_context", "VG_FILL_RULE"): "VGFillRule",
    ("vg_context", "VG_IMAGE_QUALITY"): "VGImageQuality",
    ("vg_context", "VG_RENDERING_QUALITY"): "VGRenderingQuality",
    ("vg_context", "VG_BLEND_MODE"): "VGBlendMode",
    ("vg_context", "VG_IMAGE_MODE"): "VGImageMode",
    ("vg_context", "VG_STROKE_CAP_STYLE"): "VGCapStyle",
    ("vg_context", "VG_STROKE_JOIN_STYLE"): "VGJoinStyle",
    ("vg_context", "VG_PIXEL_LAYOUT"): "VGPixelLayout",
    ("vg_path", "VG_PATH_DATATYPE"): "VGPathDatatype",
    ("vg_paint", "VG_PAINT_TYPE"): "VGPaintType",
    ("vg_paint", "VG_PAINT_COLOR_RAMP_SPREAD_MODE"): "VGColorRampSpreadMode",
    ("vg_paint", "VG_PAINT_PATTERN_TILING_MODE"): "VGTilingMode",
    ("vg_image", "VG_IMAGE_FORMAT"): "VGImageFormat",
}
# Their texts are lists of numbers.
LISTS = ("VG_SCISSOR_RECTS", "VG_STROKE_DASH_PATTERN", "VG_PAINT_COLOR_RAMP_STOPS")
# Name, variables, and collections below it.
_CLASSES: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("vg_matrix", "values f9 1 0 0 0 1 0 0 0 1", {}),
    (
        "vg_context",
        """
        VG_MATRIX_MODE e VG_MATRIX_PATH_USER_TO_SURFACE
        VG_FILL_RULE e VG_EVEN_ODD
        VG_IMAGE_QUALITY e VG_IMAGE_QUALITY_FASTER
        VG_RENDERING_QUALITY e VG_RENDERING_QUALITY_BETTER
        VG_BLEND_MODE e VG_BLEND_SRC_OVER
        VG_IMAGE_MODE e VG_DRAW_IMAGE_NORMAL
        VG_SCISSOR_RECTS s
        VG_COLOR_TRANSFORM b
        VG_COLOR_TRANSFORM_VALUES f8 1 1 1 1 0 0 0 0
        VG_STROKE_LINE_WIDTH f 1
        VG_STROKE_CAP_STYLE e VG_CAP_BUTT
        VG_STROKE_JOIN_STYLE e VG_JOIN_MITER
        VG_STROKE_MITER_LIMIT f 4
        VG_STROKE_DASH_PATTERN s
        VG_STROKE_DASH_PHASE f 0
        VG_STROKE_DASH_PHASE_RESET b
        VG_TILE_FILL_COLOR f4 0
        VG_CLEAR_COLOR f4 0
        VG_GLYPH_ORIGIN f2 0
        VG_MASKING b
        VG_SCISSORING b
        VG_PIXEL_LAYOUT e VG_PIXEL_LAYOUT_UNKNOWN
        VG_FILTER_FORMAT_LINEAR b
        VG_FILTER_FORMAT_PREMULTIPLIED b
        VG_FILTER_CHANNEL_MASK u 15
        fill_paint n
        stroke_paint n
        paints h                    # that they are others than before, whatever their names
        """,
        {
            "matrices": "vg_matrix{VG_MATRIX_PATH_USER_TO_SURFACE VG_MATRIX_IMAGE_USER_TO_SURFACE "
            "VG_MATRIX_FILL_PAINT_TO_USER VG_MATRIX_STROKE_PAINT_TO_USER VG_MATRIX_GLYPH_USER_TO_SURFACE}"
        },
    ),
    (
        "vg_path",
        """
        VG_PATH_FORMAT i 0
        VG_PATH_DATATYPE e VG_PATH_DATATYPE_F
        VG_PATH_SCALE f 1
        VG_PATH_BIAS f 0
        VG_PATH_NUM_SEGMENTS i 0
        VG_PATH_NUM_COORDS i 0
        capabilities u
        content h
        """,
        {},
    ),
    (
        "vg_paint",
        """
        VG_PAINT_TYPE e VG_PAINT_TYPE_COLOR
        VG_PAINT_COLOR f4 0 0 0 1
        VG_PAINT_COLOR_RAMP_SPREAD_MODE e VG_COLOR_RAMP_SPREAD_PAD
        VG_PAINT_COLOR_RAMP_PREMULTIPLIED b 1
        VG_PAINT_COLOR_RAMP_STOPS s
        VG_PAINT_LINEAR_GRADIENT f4 0 0 1 0
        VG_PAINT_RADIAL_GRADIENT f5 0 0 0 0 1
        VG_PAINT_PATTERN_TILING_MODE e VG_TILE_FILL
        pattern n
        """,
        {},
    ),
    (
        "vg_image",
        """
        VG_IMAGE_FORMAT e VG_sRGBX_8888
        VG_IMAGE_WIDTH i 0
        VG_IMAGE_HEIGHT i 0
        allowed_quality u
        parent n
        left i 0                    # where a child lies in its parent
        bottom i 0
        drawn_to b                  # by an EGL surface
        content h
        shown h                     # of an EGLImage: what OpenGL sees of it
        """,
        {},
    ),
    ("vg_glyph", "path n\nimage n\nhinted b\norigin f2 0\nescapement f2 0", {}),
    ("vg_font", "VG_FONT_NUM_GLYPHS i 0", {"glyphs": "vg_glyph()"}),
    ("vg_mask_layer", "width i 0\nheight i 0\ncontent h", {}),
    (
        "vg_share",
        "",
        {
            "paths": "vg_path()",
            "paints": "vg_paint()",
            "images": "vg_image()",
            "fonts": "vg_font()",
            "mask_layers": "vg_mask_layer()",
        },
    ),
)


def add_classes(t: Tree) -> None:
    """Add the classes of OpenVG to a tree."""
    for name, variables, below in _CLASSES:
        t.add(name, variables, **below)


__all__ = ["GROUPS", "LISTS", "add_classes"]
