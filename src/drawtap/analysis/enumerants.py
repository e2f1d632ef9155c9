"""Names of enumerants in questions: bare words in SQL stand for their numbers, as the columns of calls have them."""

from __future__ import annotations

import re

# Those that questions name. The registry has them all, and takes longer to load than most questions.
NUMBERS = {
    "EGL_SUCCESS": 0x3000,
    "GL_ACTIVE_ATTRIBUTES": 0x8B89,
    "GL_ARRAY_BUFFER": 0x8892,
    "GL_BYTE": 0x1400,
    "GL_COMPILE": 0x1300,
    "GL_COMPILE_STATUS": 0x8B81,
    "GL_DEPTH_ATTACHMENT": 0x8D00,
    "GL_DEPTH_STENCIL_ATTACHMENT": 0x821A,
    "GL_DOUBLE": 0x140A,
    "GL_DRAW_FRAMEBUFFER": 0x8CA9,
    "GL_EXTENSIONS": 0x1F03,
    "GL_FLOAT_MAT2": 0x8B5A,
    "GL_FLOAT_MAT2x3": 0x8B65,
    "GL_FLOAT_MAT2x4": 0x8B66,
    "GL_FLOAT_MAT3": 0x8B5B,
    "GL_FLOAT_MAT3x2": 0x8B67,
    "GL_FLOAT_MAT3x4": 0x8B68,
    "GL_FLOAT_MAT4": 0x8B5C,
    "GL_FLOAT_MAT4x2": 0x8B69,
    "GL_FLOAT_MAT4x3": 0x8B6A,
    "GL_FRAGMENT_SHADER": 0x8B30,
    "GL_FRAMEBUFFER": 0x8D40,
    "GL_GENERATE_MIPMAP": 0x8191,
    "GL_HALF_FLOAT": 0x140B,
    "GL_INT_2_10_10_10_REV": 0x8D9F,
    "GL_LINEAR": 0x2601,
    "GL_LINK_STATUS": 0x8B82,
    "GL_MODELVIEW": 0x1700,
    "GL_NEAREST": 0x2600,
    "GL_NEAREST_MIPMAP_LINEAR": 0x2702,
    "GL_QUERY_RESULT": 0x8866,
    "GL_QUERY_RESULT_AVAILABLE": 0x8867,
    "GL_READ_ONLY": 0x88B8,
    "GL_RENDERER": 0x1F01,
    "GL_SCISSOR_TEST": 0x0C11,
    "GL_SHORT": 0x1402,
    "GL_TEXTURE0": 0x84C0,
    "GL_TEXTURE_CUBE_MAP": 0x8513,
    "GL_TEXTURE_CUBE_MAP_NEGATIVE_Z": 0x851A,
    "GL_TEXTURE_CUBE_MAP_POSITIVE_X": 0x8515,
    "GL_TEXTURE_MAX_LEVEL": 0x813D,
    "GL_TEXTURE_MIN_FILTER": 0x2801,
    "GL_UNSIGNED_BYTE": 0x1401,
    "GL_UNSIGNED_INT_2_10_10_10_REV": 0x8368,
    "GL_UNSIGNED_SHORT": 0x1403,
    "GL_VERSION": 0x1F02,
    "GL_VERTEX_SHADER": 0x8B31,
}
_WORD = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|\b(?:GL|EGL)_\w+""")


def numbered(question: str) -> str:
    """Return the question with a number in place of each name above that is in no quotes."""
    return _WORD.sub(lambda found: str(NUMBERS.get(found[0], found[0])), question)
