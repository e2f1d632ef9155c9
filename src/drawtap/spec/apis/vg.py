"""OpenVG 1.0 and 1.1 with VGU. Khronos has no XML for it: the registry file is ours and says the plain lengths."""

from drawtap.spec import expr
from drawtap.spec.model import Array, String
from drawtap.spec.overlay import Overlay, create, delete, run, set_
from drawtap.spec.registry import OVERLAYS

o = OVERLAYS.register("vg")(
    Overlay("vg", xml="vg.xml", libraries=("libOpenVG.so.1", "libOpenVG.so", "libOpenVGU.so.1", "libOpenVGU.so"))
)

# Implemented by native/mirror/sizes_vg.h.
expr.declare("vg_path_data_size(path, segments, commands)", "bytes of path data that these segment commands take")
expr.declare(
    "vg_path_part_size(path, start, segments, data)",
    "bytes of path data of these segments; more, of what can be read of `data`, where they are not known",
)

# ---- paths --------------------------------------------------------------------------------------------------

o.data(
    "vgAppendPathData",
    pathSegments=Array("numSegments", group="VGPathCommand"),
    pathData=Array("vg_path_data_size(dstPath, numSegments, pathSegments)"),
)
o.data("vgModifyPathCoords", pathData=Array("vg_path_part_size(dstPath, startIndex, numSegments, pathData)"))
o.data("vguPolygon", points=Array("count * 2"))

# ---- images and pixels --------------------------------------------------------------------------------------

_FORMATS_32 = " ".join(
    f"VG_{space}{order}_8888{pre}"
    for space in "sl"
    for order in ("RGB{}", "{}RGB", "BGR{}", "{}BGR")
    for order, pre in ((order.format("X"), ""), (order.format("A"), ""), (order.format("A"), "_PRE"))
)
_FORMATS_16 = """VG_sRGB_565 VG_sRGBA_5551 VG_sRGBA_4444 VG_sARGB_1555 VG_sARGB_4444
    VG_sBGR_565 VG_sBGRA_5551 VG_sBGRA_4444 VG_sABGR_1555 VG_sABGR_4444"""
o.table(
    "vg_pixel_bits",
    {_FORMATS_32: 32, _FORMATS_16: 16, "VG_sL_8 VG_lL_8 VG_A_8": 8, "VG_A_4": 4, "VG_BW_1 VG_A_1": 1},
)
# A negative stride runs backwards from the pointer: all rows but the first lie in front of it.
_ROW = "((width * vg_pixel_bits(dataFormat) + 7) // 8)"
_STEP = "(-dataStride if dataStride < 0 else dataStride)"
_IMAGE = f"0 if width <= 0 or height <= 0 else (height - 1) * {_STEP} + {_ROW}"
_BEFORE = "(height - 1) * -dataStride if dataStride < 0 and height > 0 else 0"
o.data("vgImageSubData vgWritePixels", data=Array(_IMAGE, before=_BEFORE))
o.data("vgGetImageSubData vgReadPixels", data=Array(_IMAGE, out=True, before=_BEFORE))
o.data("vgConvolve", kernel=Array("kernelWidth * kernelHeight"))
o.data("vguGradientGlowKHR", glowColorRampStops=Array("stopsCount * 5"))
o.data("vguGradientBevelKHR", bevelColorRampStops=Array("stopsCount * 5"))
o.data("vgGetString", returns=String())

# ---- what commands are --------------------------------------------------------------------------------------

o.flags("draw", "vgDrawPath vgDrawImage vgDrawGlyph vgDrawGlyphs vgSetPixels vgWritePixels vgCopyPixels")
o.flags("gpu_reads", "vgDrawPath vgDrawImage vgDrawGlyph vgDrawGlyphs")
o.flags("clear", "vgClear")
o.flags("upload", "vgAppendPathData vgModifyPathCoords vgImageSubData vgWritePixels")
o.flags("texture_upload", "vgImageSubData vgWritePixels")
o.flags("path_upload", "vgAppendPathData")
o.flags("query", "vgGet*")
o.flags("create", "vgCreate*")
o.flags("delete", "vgDestroy*")
o.flags("matrix", "vgLoadIdentity vgLoadMatrix vgMultMatrix vgTranslate vgScale vgShear vgRotate")
o.flags("readback", "vgReadPixels vgGetImageSubData")
o.flags("finish", "vgFinish")
o.flags("flush", "vgFlush")
o.flags("error_query", "vgGetError")

# ---- state --------------------------------------------------------------------------------------------------

# Classes and variables are those of `vg_tree`.
o.effects("vgSetf vgSeti", set_("context[type]", "value"))
o.effects("vgSetfv vgSetiv", run("vg_set_vector", "type, count, values"))
o.effects("vgSetParameterf vgSetParameteri", run("vg_parameter", "object, paramType, value"))
o.effects("vgSetParameterfv vgSetParameteriv", run("vg_parameters", "object, paramType, count, values"))
o.effects("vgLoadIdentity", run("vg_scale_matrix", "1, 1, 1"))
o.effects("vgLoadMatrix", run("vg_matrix", "m, 1"))
o.effects("vgMultMatrix", run("vg_matrix", "m, 0"))
o.effects("vgTranslate", run("vg_translate", "tx, ty"))
o.effects("vgScale", run("vg_scale_matrix", "sx, sy, 0"))
o.effects("vgShear", run("vg_shear", "shx, shy"))
o.effects("vgRotate", run("vg_rotate", "angle"))

# Drawing, and what is read back.
o.effects("vgClear", run("vg_clear", "x, y, width, height"))
o.effects("vgDrawPath", run("vg_draw_path", "path, paintModes"))
o.effects("vgDrawImage", run("vg_draw_image", "image"))
o.effects("vgDrawGlyph", run("vg_draw_glyph", "font, glyphIndex, paintModes"))
o.effects(
    "vgDrawGlyphs",
    run("vg_draw_glyphs", "font, glyphCount, glyphIndices, adjustments_x, adjustments_y, paintModes"),
)
o.effects("vgSetPixels", run("vg_set_pixels", "dx, dy, src, sx, sy, width, height"))
o.effects("vgWritePixels", run("vg_write_pixels", "dx, dy, width, height"))
o.effects("vgCopyPixels", run("vg_copy_pixels", "width, height"))
o.effects("vgReadPixels", run("vg_read_pixels"))
o.effects("vgGetImageSubData", run("vg_get_image", "image"))

o.effects("vgFlush vgFinish", run("vg_exchange"))  # with OpenGL, what both see

# Masks and their layers.
o.effects("vgMask", run("vg_mask", "mask, operation, x, y, width, height"))
o.effects("vgRenderToMask", run("vg_render_to_mask", "path, paintModes, operation"))
o.effects("vgCreateMaskLayer", run("vg_create_mask_layer", "result, width, height"))
o.effects("vgFillMaskLayer", run("vg_fill_mask_layer", "maskLayer, x, y, width, height"))
o.effects("vgCopyMask", run("vg_copy_mask", "maskLayer, dx, dy, sx, sy, width, height"))

# Paths. The shapes of VGU always have as many segments and coordinates (OpenVG 1.1, chapter 17).
o.effects("vgCreatePath", run("vg_create_path", "result, pathFormat, datatype, scale, bias, capabilities"))
o.effects("vgClearPath", run("vg_clear_path", "path, capabilities"))
o.effects("vgRemovePathCapabilities", run("vg_remove_capabilities", "path, capabilities"))
o.effects("vgAppendPathData", run("vg_append_data", "dstPath, numSegments, pathSegments, pathData"))
o.effects("vgModifyPathCoords", run("vg_modify_path", "dstPath, pathData"))
o.effects("vgAppendPath", run("vg_append_paths", "dstPath, srcPath, 0, 0"))
o.effects("vgTransformPath", run("vg_append_paths", "dstPath, srcPath, 0, 1"))
o.effects("vgInterpolatePath", run("vg_append_paths", "dstPath, startPath, endPath, 0"))
done = "result == 0"  # VGU_NO_ERROR
o.effects("vguLine", run("vg_append_line", "path, x0, y0, x1, y1", done))
o.effects("vguRect", run("vg_append_shape", "path, 5, 5, 3, x, y, width, height", done))
o.effects("vguRoundRect", run("vg_append_shape", "path, 10, 26, 4, x, y, width, height", done))
o.effects("vguEllipse", run("vg_append_ellipse", "path, cx, cy, width, height", done))
o.effects("vguArc", run("vg_append_arc", "path, x, y, width, height, angleExtent, arcType", done))
o.effects("vguPolygon", run("vg_append_polygon", "path, points, count, closed", done))

# Paints.
o.effects("vgSetPaint", run("vg_set_paint", "paint, paintModes"))
o.effects("vgSetColor", run("vg_set_color", "paint, rgba"))
o.effects("vgPaintPattern", run("vg_paint_pattern", "paint, pattern"))
o.effects("vgCreatePaint", create("share.paints", "result"))

# Images and filters.
o.effects("vgCreateImage", run("vg_create_image", "result, format, width, height, allowedQuality"))
o.effects("vgChildImage", run("vg_child_image", "result, parent, x, y, width, height"))
o.effects("vgCreateEGLImageTargetKHR", run("vg_image_target", "result, image"))
o.effects("vgImageSubData", run("vg_upload", "image, x, y, width, height, data"))
o.effects("vgClearImage", run("vg_clear_image", "image, x, y, width, height"))
o.effects("vgCopyImage", run("vg_copy_image", "dst, dx, dy, src, sx, sy, width, height"))
o.effects("vgGetPixels", run("vg_get_pixels", "dst, dx, dy, sx, sy, width, height"))
o.effects(
    "vgColorMatrix vgConvolve vgSeparableConvolve vgGaussianBlur vgLookup vgLookupSingle vgIterativeAverageBlurKHR "
    "vgu{DropShadow,Glow,Bevel,GradientGlow,GradientBevel}KHR",
    run("vg_filter", "dst, src, 0"),
)
o.effects(
    "vgParametricFilterKHR",
    run("vg_filter", "dst, src, blur"),
    run("vg_filter_paint", "highlightPaint"),
    run("vg_filter_paint", "shadowPaint"),
)

# Fonts.
o.effects("vgCreateFont", create("share.fonts", "result"))
o.effects("vgSetGlyphToPath", run("vg_glyph", "font, glyphIndex, path, 0, isHinted, glyphOrigin, escapement"))
o.effects("vgSetGlyphToImage", run("vg_glyph", "font, glyphIndex, 0, image, 0, glyphOrigin, escapement"))
o.effects("vgClearGlyph", run("vg_clear_glyph", "font, glyphIndex"))

for _kind, _collection in (("Path", "paths"), ("Image", "images"), ("Paint", "paints"), ("Font", "fonts")):
    o.effects(f"vgDestroy{_kind}", delete(f"share.{_collection}", _kind.lower()))
o.effects("vgDestroyMaskLayer", delete("share.mask_layers", "maskLayer"))
