"""How often a run of a fragment shader reads a texture, told by its source.

Where every run reads as often: calls of functions are followed, so that a function that reads twice and is called three
times is six. Where branches, loops or the preprocessor decide it, the source does not tell, and the reason is said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from drawtap.errors import DrawtapError

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_REGION = re.compile(
    r"^[ \t]*#[ \t]*if(?:def|ndef)?\b(?:(?!^[ \t]*#[ \t]*(?:if|endif)).)*?^[ \t]*#[ \t]*endif[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)([^\n]*)", re.MULTILINE)
_READ = re.compile(
    r"\b(?:texture(?:1D|2D|3D|Cube|2DRect)?(?:Proj)?(?:Lod|Grad)?(?:Offset)?(?:EXT|ARB)?|texelFetch(?:Offset)?"
    r"|textureGather(?:Offsets?)?|shadow[12]D(?:Proj)?(?:Lod)?)\s*\("
)
_FLOW = re.compile(r"\b(?:if|for|while|do|switch|discard|return)\b|\?|&&|\|\|")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:if|elif)[^\n]*|#[ \t]*(?:else|endif)\b", re.MULTILINE)
_DEFINED = re.compile(r"\b[A-Za-z_]\w*\s+([A-Za-z_]\w*)\s*\([^(){};]*\)\s*\{")


class NotTold(DrawtapError):
    """Say why a source does not tell it."""


def fetches(source: str) -> int:
    """Return how many texture reads each run of a fragment shader does. Raises NotTold where runs may differ."""
    text = _COMMENT.sub(" ", source)
    if not _READ.search(text):
        return 0
    text = _without_preprocessor(text)
    bodies = {match[1]: _body(text, match.end() - 1) for match in _DEFINED.finditer(text)}
    if "main" not in bodies:
        raise NotTold("its shader has no main()")
    reading = {name for name in bodies if _reads(name, bodies, ())}
    if any(_decides(bodies[name]) for name in reading):
        raise NotTold("its shader branches or loops where it reads textures")
    return _count("main", bodies, ())


def _without_preprocessor(text: str) -> str:
    """Return a source without what neither reads nor decides: precisions, numbers, words for types."""

    def harmless(part: str) -> bool:
        return not re.search(r"[{}]", part) and not _READ.search(part) and not _FLOW.search(_DIRECTIVE.sub(" ", part))

    text = text.replace("\\\n", " ")
    before = None
    while before != text:
        before = text
        text = _REGION.sub(lambda m: "\n" if harmless(m[0]) else m[0], text)
    text = _DEFINE.sub(lambda m: "" if harmless(m[2]) else m[0], text)
    if re.search(r"^[ \t]*#[ \t]*(?:if|el|define)", text, re.MULTILINE):
        raise NotTold("the preprocessor decides what its shader is")
    return text


def _decides(body: str) -> bool:
    # A single return at the end decides nothing.
    plain = re.sub(r"\breturn\b[^;]*;\s*$", lambda m: m[0].replace("return", " "), body.strip())
    return bool(_FLOW.search(plain))


def _body(text: str, start: int) -> str:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            return text[start + 1 : at]
    raise NotTold("its shader has a bracket that is not closed")


def _called(body: str, bodies: dict[str, str]) -> list[str]:
    return [name for name in re.findall(r"\b([A-Za-z_]\w*)\s*\(", body) if name in bodies]


def _reads(name: str, bodies: dict[str, str], inside: tuple[str, ...]) -> bool:
    if name in inside:
        return False
    body = bodies[name]
    return bool(_READ.search(body)) or any(_reads(n, bodies, (*inside, name)) for n in _called(body, bodies))


def _count(name: str, bodies: dict[str, str], inside: tuple[str, ...]) -> int:
    if name in inside:
        raise NotTold("its shader calls itself")
    body = bodies[name]
    return len(_READ.findall(body)) + sum(_count(n, bodies, (*inside, name)) for n in _called(body, bodies))


def of_programs(trace: Trace) -> dict[int, int | str]:
    """Return the reads of a run of each program's fragment shader by the program's name, or why they are not told."""
    from drawtap.analysis.shaders import shaders

    sources: dict[int, list[str]] = {}
    for shader in shaders(trace, most=1 << 20):
        if shader.stage == "fragment":
            for program in shader.programs:
                sources.setdefault(program, []).append(shader.source)
    found: dict[int, int | str] = {}
    for program, texts in sources.items():
        try:
            counts = {fetches(text) for text in texts}
        except NotTold as error:
            found[program] = str(error)
        else:
            found[program] = counts.pop() if len(counts) == 1 else "it had several fragment shaders"
    return found
