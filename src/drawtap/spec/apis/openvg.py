"""OpenVG 1.0 and 1.1 with VGU. Khronos has no XML for it: the registry file is ours and says the plain lengths."""

from __future__ import annotations

from drawtap.spec import expr
from drawtap.spec.model import Array, String
from drawtap.spec.overlay import Overlay, create, delete, set_

OVERLAY = o = Overlay(
    "vg", xml="vg.xml", libraries=("libOpenVG.so.1", "libOpenVG.so", "libOpenVGU.so.1", "libOpenVGU.so")
)

# Implemented by native/runtime/sizes_vg.h.
expr.declare("vg_path_data_size(path, segments, commands)", "bytes of path data that these segment commands take")
expr.declare(
    "vg_path_part_size(path, start, segments)", "bytes of path data of these segments, as far as they are known"
)

# ---- paths --------------------------------------------------------------------------------------------------

o.data(
    "vgAppendPathData",
    pathSegments=Array("numSegments", group="VGPathCommand"),
    pathData=Array("vg_path_data_size(dstPath, numSegments, pathSegments)"),
)
o.data("vgModifyPathCoords", pathData=Array("vg_path_part_size(dstPath, startIndex, numSegments)"))
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
# A negative stride runs backwards from the pointer: only the first row lies at and after it.
_ROW = "((width * vg_pixel_bits(dataFormat) + 7) // 8)"
_IMAGE = f"0 if width <= 0 or height <= 0 else {_ROW} if dataStride < 0 else (height - 1) * dataStride + {_ROW}"
o.data("vgImageSubData vgWritePixels", data=Array(_IMAGE))
o.data("vgGetImageSubData vgReadPixels", data=Array(_IMAGE, out=True))
o.data("vgConvolve", kernel=Array("kernelWidth * kernelHeight"))
o.data("vguGradientGlowKHR", glowColorRampStops=Array("stopsCount * 5"))
o.data("vguGradientBevelKHR", bevelColorRampStops=Array("stopsCount * 5"))
o.data("vgGetString", returns=String())

# ---- what commands are --------------------------------------------------------------------------------------

o.flags("draw", "vgDrawPath vgDrawImage vgDrawGlyph vgDrawGlyphs vgSetPixels vgWritePixels vgCopyPixels")
o.flags("gpu_reads", "vgDrawPath vgDrawImage vgDrawGlyph vgDrawGlyphs")
o.flags("clear", "vgClear")
o.flags("upload", "vgAppendPathData vgModifyPathCoords vgImageSubData vgWritePixels")
o.flags("readback", "vgReadPixels vgGetImageSubData")
o.flags("finish", "vgFinish")
o.flags("flush", "vgFlush")
o.flags("error_query", "vgGetError")

# ---- state --------------------------------------------------------------------------------------------------

o.effects("vgSetf vgSeti", set_("context.parameter[type]", "value"))
o.effects("vgSetfv vgSetiv", set_("context.parameter[type]", "values"))
o.effects("vgSetParameterf vgSetParameteri", set_("share.object[object].parameter[paramType]", "value"))
o.effects("vgSetParameterfv vgSetParameteriv", set_("share.object[object].parameter[paramType]", "values"))
o.effects("vgSetPaint", set_("context.paint[paintModes]", "paint"))
for _kind in ("Path", "Image", "Paint", "Font", "MaskLayer"):
    _name = "maskLayer" if _kind == "MaskLayer" else _kind.lower()
    o.effects(f"vgCreate{_kind}", create(f"share.{_name}", "result"))
    o.effects(f"vgDestroy{_kind}", delete(f"share.{_name}", _name))
o.effects("vgChildImage vgCreateEGLImageTargetKHR", create("share.image", "result"))
