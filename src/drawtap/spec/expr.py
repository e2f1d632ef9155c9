"""The small language of size rules: Python expressions over a command's parameters.

A rule is a string such as ``"count * 4"``, ``"light_params(pname)"`` or ``"n if n > 0 else 0"``. Names are the
command's parameters, enumerants of its API, ``result`` (the return value, in `actual` rules only), the named
tables of the overlay (called with one argument) and the functions of FUNCTIONS, which the runtime
(native/runtime/sizes.h) implements. Arithmetic is 64-bit signed; negative counts mean zero.
"""

from __future__ import annotations

FUNCTIONS: dict[str, str] = {
    "index_size(type)": "bytes of an index of that type",
    "type_size(type)": "bytes of a component of that type",
    "pixel_size(format, type)": "bytes of one pixel, unpadded",
    "map_components(target)": "components of an evaluator target",
    "map1_size(target, stride, order)": "values that glMap1 reads",
    "map2_size(target, ustride, uorder, vstride, vorder)": "values that glMap2 reads",
    "call_lists_size(type)": "bytes of a list name of that type",
    "get_count(pname)": "values that glGet* returns for pname (asks the driver where the count is dynamic)",
    "get_indexed_count(target)": "values that glGet*i_v returns",
    "get_int(pname)": "asks the driver: glGetIntegerv(pname), without changing errors",
    "deref(pointer)": "*pointer, 0 when NULL; only of parameters",
    "tex_image_size(target, level, format, type)": "bytes that glGetTexImage writes",
    "compressed_image_size(target, level)": "bytes that glGetCompressedTexImage writes",
    "named_tex_image_size(texture, level, format, type)": "bytes that glGetTextureImage writes",
    "uniform_size(program, location)": "components of a uniform",
    "bound(enumerant)": "1 while a buffer is bound to that target",
    "clear_components(buffer)": "values that glClearBuffer* reads",
    "map_get_count(target, query)": "values that glGetMap returns",
    "pixel_map_size(map)": "values that glGetPixelMap returns",
    "strlen(s)": "length of a terminated string, 0 when NULL",
    "min(a, b)": "the smaller", "max(a, b)": "the larger",
}
