"""Generate a driver that draws nothing and touches exactly the memory that GL may touch.

Every command of GL and OpenVG becomes a function that reads each byte of its arrays and writes each byte of its
answers, as many as the specification's rules give for its arguments. Behind the player, built with AddressSanitizer,
it turns a wrong pointer or size into a report. What is written by hand in fuzz_player.cc (names that begin with fake_)
is left out here: there the driver keeps bindings, pixel storage, vertex arrays and buffers of its
own, apart from the player's mirror.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from drawtap.instrument import generate_player
from drawtap.instrument.generate import functions_of
from drawtap.instrument.hook import Function
from drawtap.instrument.hooks import recorder
from drawtap.spec.model import (
    Array,
    AttributeList,
    BufferOffset,
    ClientArray,
    CompressedImage,
    Image,
    Param,
    String,
    Strings,
)

_HAND = re.compile(r"\bfake_(gl\w+)\(")


def generate(hand_written: str) -> str:
    """Return the C++ that `fuzz_player.cc` includes; `hand_written` is the text of that file."""
    by_hand = frozenset(_HAND.findall(hand_written))
    functions = [f for f in functions_of(generate_player.KNOWN) if f.api.name in generate_player.PLAYED]
    bodies = [_function(f, by_hand) for f in functions if f.name not in by_hand]
    rows = [f'  {{"{f.name}", reinterpret_cast<void*>(&fake_{f.name})}},' for f in functions]
    table = "\n".join(rows)
    return "\n".join(bodies) + f"\nconst Entry g_entries[] = {{\n{table}\n}};\n"


def _function(f: Function, by_hand: frozenset[str]) -> str:
    command = f.command
    parameters = ", ".join(f"[[maybe_unused]] {p.type.spelling} {p.name}" for p in command.params)
    if command.alias in by_hand:
        passed = ", ".join(p.name for p in command.params)
        return f"{command.returns.spelling} fake_{f.name}({parameters}) {{ return fake_{command.alias}({passed}); }}"
    lines = ["  [[maybe_unused]] dt::Thread* const _t = &dt::tls;"]
    if not generate_player._refusal(f):
        for p in command.params:
            if p.type.indirection:
                lines += [f"  {line}" for line in _touched(f, p)]
    if f.returns_value:
        lines.append(f"  return {_answer(f)};")
    return f"{command.returns.spelling} fake_{f.name}({parameters}) {{\n" + "\n".join(lines) + "\n}"


def _touched(f: Function, p: Param) -> list[str]:
    if not any(field.param == p.name and field.role == "data" for field in f.layout.w8):
        return []
    memory = p.type.base == "void" and p.type.indirection == 1
    optional = int(memory or p.name in ("length", "lengths") or f.name.startswith("glBind") or f.api.name == "vg")
    match p.data:
        case None | AttributeList() | ClientArray():
            return []
        case Image(out=out) as image:
            extent = ", ".join(
                recorder._expr(f, e) for e in (image.format, image.type, image.width, image.height, image.depth)
            )
            limit = recorder._expr(f, image.limit) if image.limit else "INT64_MAX"
            return [f"fake::image({int(out)}, (const void*){p.name}, {extent}, {image.dimensions}, {limit});"]
        case Strings():
            return [f"fake::read_texts((const char* const*){p.name}, {generate_player._need(f, p)});"]
        case String(out=False):
            return [f"fake::read_text((const char*){p.name}, {generate_player._need(f, p)});"]
    need = generate_player._need(f, p)
    out = generate_player._is_out(p)
    how = "fill_bytes" if out else "read_bytes"
    begin = recorder._begin(f, p.name, p.data) if isinstance(p.data, Array) else p.name
    touch = f"fake::{how}((const void*){begin}, {need}, {optional});"
    binding = None
    match p.data:
        case BufferOffset(binding=binding):
            pass
        case CompressedImage():
            binding = "GL_PIXEL_PACK_BUFFER" if out else "GL_PIXEL_UNPACK_BUFFER"
    if binding:
        return [f"if (!fake::buffer_of({f.api.enums[binding]})) {touch}"]
    return [touch]


def _answer(f: Function) -> str:
    returns = f.command.returns
    spelling = returns.spelling
    if spelling.replace("const", "").strip() in ("GLubyte *", "GLubyte*"):
        return '(const GLubyte*)"fake"'
    if returns.indirection:
        return "nullptr"
    if f.name.startswith(("glGen", "glCreate", "glFenceSync", "vgCreate", "vgChild")):
        return f"({spelling})new_name()"
    if f.name.startswith("glCheck"):
        return f"({spelling})0x8CD5"
    return f"({spelling}){int(f.name.startswith('glIs'))}"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(generate(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
