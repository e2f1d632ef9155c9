"""New names for the identifiers of shaders: the words that GLSL has itself stay."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from drawtap.errors import InputError

_TYPES = (
    "void bool int uint float double half atomic_uint string struct "
    + " ".join(f"{p}vec{n}" for p in ("", "b", "i", "u", "d", "h", "f") for n in "234")
    + " "
    + " ".join(f"{p}mat{n}{m}" for p in ("", "d") for n in "234" for m in ("", "x2", "x3", "x4"))
    + " "
    + " ".join(
        f"{p}{kind}{shape}"
        for p in ("", "i", "u")
        for kind in ("sampler", "image", "texture", "subpassInput")
        for shape in (
            "", "1D", "2D", "3D", "Cube", "2DRect", "1DArray", "2DArray", "CubeArray", "Buffer", "2DMS", "2DMSArray",
            "1DShadow", "2DShadow", "CubeShadow", "2DRectShadow", "1DArrayShadow", "2DArrayShadow", "CubeArrayShadow",
            "Shadow", "MS", "ExternalOES", "External2DY2YEXT",
        )
    )
)  # fmt: skip
_WORDS = """
attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly layout centroid flat smooth
noperspective patch sample invariant precise break continue do for while switch case default if else subroutine in out
inout true false discard return lowp mediump highp precision common partition active asm class union enum typedef
template this packed resource goto inline noinline public static extern external interface long short fixed unsigned
superp input output filter sizeof cast namespace using row_major column_major std140 std430 binding location offset
index component set align origin_upper_left pixel_center_integer early_fragment_tests local_size_x local_size_y
local_size_z local_size_x_id local_size_y_id local_size_z_id xfb_buffer xfb_stride xfb_offset points lines isolines
triangles quads equal_spacing fractional_even_spacing fractional_odd_spacing cw ccw point_mode lines_adjacency
triangles_adjacency invocations line_strip triangle_strip max_vertices stream vertices depth_any depth_greater
depth_less depth_unchanged constant_id push_constant input_attachment_index num_views blend_support_all_equations
blend_support_multiply blend_support_screen blend_support_overlay rgba32f rgba16f rg32f rg16f r11f_g11f_b10f r32f r16f
rgba16 rgb10_a2 rgba8 rg16 rg8 r16 r8 rgba16_snorm rgba8_snorm rg16_snorm rg8_snorm r16_snorm r8_snorm rgba32i rgba16i
rgba8i rg32i rg16i rg8i r32i r16i r8i rgba32ui rgba16ui rgb10_a2ui rgba8ui rg32ui rg16ui rg8ui r32ui r16ui r8ui
shared_vertices main length define undef ifdef ifndef elif endif error pragma extension version line include defined
require enable warn disable all core es compatibility STDGL optimize debug on off
radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 log2 sqrt inversesqrt abs
sign floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf floatBitsToInt
floatBitsToUint intBitsToFloat uintBitsToFloat fma frexp ldexp packUnorm2x16 packSnorm2x16 packUnorm4x8 packSnorm4x8
unpackUnorm2x16 unpackSnorm2x16 unpackUnorm4x8 unpackSnorm4x8 packHalf2x16 unpackHalf2x16 packDouble2x32
unpackDouble2x32 distance dot cross normalize ftransform faceforward reflect refract matrixCompMult outerProduct
transpose determinant inverse lessThan lessThanEqual greaterThan greaterThanEqual equal notEqual any not uaddCarry
usubBorrow umulExtended imulExtended bitfieldExtract bitfieldInsert bitfieldReverse bitCount findLSB findMSB
textureSize textureQueryLod textureQueryLevels textureSamples texture textureProj textureLod textureOffset texelFetch
texelFetchOffset textureProjOffset textureLodOffset textureProjLod textureProjLodOffset textureGrad textureGradOffset
textureProjGrad textureProjGradOffset textureGather textureGatherOffset textureGatherOffsets texture1D texture1DProj
texture1DLod texture1DProjLod texture2D texture2DProj texture2DLod texture2DProjLod texture2DRect texture2DRectProj
texture3D texture3DProj texture3DLod texture3DProjLod textureCube textureCubeLod shadow1D shadow2D shadow1DProj
shadow2DProj shadow1DLod shadow2DLod shadow1DProjLod shadow2DProjLod shadow2DRect shadow2DRectProj
atomicCounterIncrement atomicCounterDecrement atomicCounter atomicCounterAdd atomicCounterSubtract atomicCounterMin
atomicCounterMax atomicCounterAnd atomicCounterOr atomicCounterXor atomicCounterExchange atomicCounterCompSwap atomicAdd
atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExchange atomicCompSwap imageSize imageSamples imageLoad
imageStore imageAtomicAdd imageAtomicMin imageAtomicMax imageAtomicAnd imageAtomicOr imageAtomicXor imageAtomicExchange
imageAtomicCompSwap dFdx dFdy dFdxFine dFdyFine dFdxCoarse dFdyCoarse fwidth fwidthFine fwidthCoarse
interpolateAtCentroid interpolateAtSample interpolateAtOffset noise1 noise2 noise3 noise4 EmitStreamVertex
EndStreamPrimitive EmitVertex EndPrimitive barrier memoryBarrier memoryBarrierAtomicCounter memoryBarrierBuffer
memoryBarrierShared memoryBarrierImage groupMemoryBarrier subpassLoad anyInvocation allInvocations allInvocationsEqual
"""
_KEPT = frozenset((*_TYPES.split(), *_WORDS.split()))
# Components of vectors; and what extensions and the language itself name.
_KEPT_FORMS = re.compile(
    r"[xyzw]{1,4}|[rgba]{1,4}|[stpq]{1,4}|(?:gl|GL)_\w*|__\w*|subgroup\w*|"
    r"\w+(?:ARB|EXT|OES|KHR|NV|NVX|AMD|INTEL|APPLE|ANGLE|ATI|MESA|QCOM|IMG|ARM|OVR|SGIX?)"
)
_TOKEN = re.compile(
    r"(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))"
    r"|(?P<fixed>^[ \t]*#[ \t]*(?:version|extension)\b[^\n]*)"
    r"|(?P<free>^[ \t]*#[ \t]*(?:error|pragma)\b[^\n]*)"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)[a-zA-Z]*)"
    r"|(?P<word>[A-Za-z_]\w*)",
    re.DOTALL | re.MULTILINE,
)
_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+(?:STDGL[ \t]+\w+|(?:optimize|debug))[ \t]*\(\w+\)\s*")


@dataclass
class Names:
    """New names: identifiers of shaders, and other texts, each with one name everywhere."""

    identifiers: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def is_kept(word: str) -> bool:
        """Return whether the language has a word."""
        return word in _KEPT or _KEPT_FORMS.fullmatch(word) is not None

    def identifier(self, word: str) -> str:
        """Return the new name of an identifier, the word itself where the language has it."""
        if self.is_kept(word):
            return word
        return self.identifiers.setdefault(word, f"id_{len(self.identifiers)}")

    def text(self, text: str) -> str:
        """Return what stands for a text that only people read."""
        return self.texts.setdefault(text, f"text-{len(self.texts)}") if text else text

    def name(self, text: str) -> str:
        """Return the new name of a uniform, attribute, block or varying: lights[0].color has three parts."""
        return re.sub(r"[A-Za-z_]\w*", lambda match: self.identifier(match[0]), text)

    def source(self, text: str) -> str:
        """Return a shader with new identifiers and without comments; line numbers stay.

        Raises InputError where words are put together from pieces: they cannot be renamed.
        """
        plain = re.sub(r"\\\r?\n", "", text)
        if "##" in _TOKEN.sub(lambda match: "" if match["comment"] else match[0], plain):
            raise InputError("a shader puts names together from pieces (##)", hint="the level identity keeps shaders")
        return _TOKEN.sub(self._token, text)

    def _token(self, match: re.Match[str]) -> str:
        text = match[0]
        if match["comment"] is not None:
            return "\n" * text.count("\n") or " "
        if match["free"] is not None and not _PRAGMA.fullmatch(text):
            return ""
        return self.identifier(text) if match["word"] is not None else text
