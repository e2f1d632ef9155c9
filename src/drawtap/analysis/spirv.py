"""SPIR-V modules of a recording: what they enter, who uses them, and their code as text.

`spirv-dis` writes the text where it is installed. Without it the text has what a module says of itself: the header,
entry points, names, and where its variables are bound.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.analysis.glsl import GLSLANG, NOTHING, counted
from drawtap.errors import UnavailableError, UsageError
from drawtap.formats.editable import ShaderText
from drawtap.scratch import Scratch

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

TOOL, ASSEMBLER = "spirv-dis", "spirv-as"
STAGES = (
    "vert",
    "tesc",
    "tese",
    "geom",
    "frag",
    "comp",
    "mesh",
    "task",
    "rgen",
    "rint",
    "rahit",
    "rchit",
    "rmiss",
    "rcall",
)
_MAGIC = 0x07230203
_HEADER = 5  # words
_TIMEOUT_S = 20
_NAME, _MEMBER_NAME, _ENTRY_POINT, _DECORATE = 5, 6, 15, 71
_FUNCTION, _FUNCTION_END, _FUNCTION_CALL, _EXECUTION_MODE, _OUTPUT_VERTICES = 54, 56, 57, 16, 26
_POINTER, _IMAGE_WRITE, _ATOMICS, _BUFFER_BLOCK, _STORED = 32, 99, range(227, 243), 3, (12, 5349)
_STAGES_OF_RUNS = ("vertex", "tess_control", "tess_evaluation", "geometry", "fragment", "compute")
_STAGES = ("vertex", "tessellation control", "tessellation evaluation", "geometry", "fragment", "compute")
_DECORATIONS = {1: "SpecId", 30: "Location", 33: "Binding", 34: "DescriptorSet"}


@dataclass(frozen=True)
class Module:
    """A shader module or shader object; `instructions` are those in its functions, None where the code is not SPIR-V.

    `pipelines` were made of it; `draws` are the draws and dispatches that ran with one of them.
    """

    handle: int
    seq: int
    name: str | None
    entry_points: Sequence[str]
    size: int
    instructions: int | None
    pipelines: int
    draws: int
    code: bytes | None

    @property
    def text(self) -> str | None:
        """Its code for people; None where the recording has none."""
        return None if self.code is None else text(self.code)


# A pipeline has the module that had its handle when the pipeline was made.
_MODULES = """
WITH made AS (
  SELECT s.seq AS module_seq, s.shader, p.seq, p.uses FROM shaders s JOIN pipelines p
  ON list_contains(p.shaders, s.shader) AND p.seq > s.seq AND (s.destroyed_seq IS NULL OR p.seq < s.destroyed_seq)
)
SELECT s.shader, s.seq, s.name, s.entry_points, s.bytes, s.pipelines,
       coalesce((SELECT sum(uses) FROM made m WHERE m.shader = s.shader AND m.module_seq = s.seq), 0), s.code
FROM shaders s WHERE {where} ORDER BY s.seq, s.shader
"""


def modules(trace: Trace, where: str = "true") -> list[Module]:
    """Return the shader modules of a recording of Vulkan, in order of creation; `where` is a condition on `s`."""
    listed = []
    for handle, seq, name, entries, size, pipelines, draws, code in trace.sql(_MODULES.format(where=where)).fetchall():
        content = None if code is None else bytes(code)
        instructions = None if content is None else counted(content).instructions
        listed.append(Module(handle, seq, name, entries or (), size, instructions, pipelines, int(draws), content))
    return listed


def text(code: bytes) -> str:
    """Return a module as text: of spirv-dis, or what it says of itself, headed by why."""
    program = shutil.which(TOOL)
    if program is None:
        return described(code, f"{TOOL} is not installed (Debian: spirv-tools): names and bindings only")
    try:
        done = subprocess.run([program, "-"], input=code, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return described(code, f"{TOOL} did not end in {_TIMEOUT_S} s: names and bindings only")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return described(code, f"{TOOL} does not take it: {said[0] if said else 'no reason'}")
    return done.stdout.decode(errors="replace")


def module_of(source: ShaderText) -> bytes:
    """Return the module that glslang or spirv-as makes of a text, for Vulkan.

    Raises UnavailableError where the tool is not installed, UsageError with its words where it refuses the text.
    """
    tool, package = (GLSLANG, "glslang-tools") if source.language == "glsl" else (ASSEMBLER, "spirv-tools")
    program = shutil.which(tool)
    if program is None:
        raise UnavailableError(
            f"{tool} is not installed (Debian: {package})",
            hint='file("shader.spv") takes a module that is made already',
        )
    if source.language == "glsl" and source.stage not in STAGES:
        raise UsageError(f"{source.stage!r} is no stage of a shader", hint=f"one of {', '.join(STAGES)}")
    with Scratch() as folder:
        file, module = Path(folder) / "shader", Path(folder) / "module"
        file.write_text(source.text, encoding="utf-8")
        options = ["-V", "-S", source.stage]
        if source.language == "spirv":
            version = re.search(r"^; Version: (1\.\d)", source.text, re.MULTILINE)
            options = ["--target-env", f"spv{version[1] if version else '1.0'}"]
        try:
            done = subprocess.run(
                [program, *options, "-o", str(module), str(file)],
                capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise UnavailableError(f"{tool} did not end in {_TIMEOUT_S} s") from None
        if done.returncode or not module.exists():
            lines = (done.stdout + done.stderr).replace(f"{file}:", "").splitlines()
            said = [line.strip() for line in lines if "error" in line.lower()] or [
                line for line in lines if line.strip()
            ]
            raise UsageError(f"{tool} refuses the shader: {' '.join(said[:3])}", hint="correct its text")
        return module.read_bytes()


def translated(value: object) -> object:
    """Return a written value with the text of a shader as the module that it makes. Raises what `module_of` raises."""
    return module_of(value) if isinstance(value, ShaderText) else value


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point of a module: instructions of a run, and vertices that a tessellation control shader puts out."""

    instructions: int
    output_vertices: int | None = None


def entries(code: bytes) -> dict[tuple[str, str], Entry]:
    """Return the entry points of a module by stage and name; none where the code is no SPIR-V.

    Called functions count with each call; both sides of a branch count, and a loop counts once.
    """
    own: dict[int, int] = {}
    calls: dict[int, list[int]] = {}
    points: dict[int, list[tuple[str, str]]] = {}
    vertices: dict[int, int] = {}
    inside = 0
    for operation, operands in _instructions(_words(code) or ()):
        if operation == _ENTRY_POINT and len(operands) > 2 and operands[0] < len(_STAGES_OF_RUNS):
            point = (_STAGES_OF_RUNS[operands[0]], _string(operands[2:])[0])
            points.setdefault(operands[1], []).append(point)
        elif operation == _EXECUTION_MODE and len(operands) > 2 and operands[1] == _OUTPUT_VERTICES:
            vertices[operands[0]] = operands[2]
        elif operation == _FUNCTION and len(operands) > 1:
            inside = operands[1]
            own[inside], calls[inside] = 0, []
        elif operation == _FUNCTION_END:
            inside = 0
        elif inside and operation not in NOTHING:
            own[inside] += 1
            if operation == _FUNCTION_CALL and len(operands) > 2:
                calls[inside].append(operands[2])
    counts: dict[int, int] = {}
    for function in _callees_first(calls):
        counts[function] = own[function] + sum(counts.get(called, 0) for called in calls[function])
    return {
        point: Entry(counts[function], vertices.get(function))
        for function, named in points.items()
        if function in counts
        for point in named
    }


def may_store(code: bytes) -> bool:
    """Tell whether a module may store to buffers or images, or is no SPIR-V."""
    words = _words(code)
    for operation, operands in _instructions(words or ()):
        buffer = operation == _POINTER and len(operands) > 1 and operands[1] in _STORED
        block = operation == _DECORATE and len(operands) > 1 and operands[1] == _BUFFER_BLOCK
        if buffer or block or operation == _IMAGE_WRITE or operation in _ATOMICS:
            return True
    return words is None


def _callees_first(calls: Mapping[int, Sequence[int]]) -> list[int]:
    """Return functions behind those that they call; a function that calls itself, against the rules, comes once."""
    order: dict[int, None] = {}
    begun: set[int] = set()
    for first in calls:
        open_ = [first]
        while open_:
            function = open_[-1]
            begun.add(function)
            ahead = [one for one in calls[function] if one in calls and one not in begun]
            open_ += ahead[:1]
            if not ahead:
                order.setdefault(open_.pop())
    return list(order)


def described(code: bytes, why: str) -> str:
    """Return the header, entry points, names and bindings of a module as text, under the line `why`."""
    words = _words(code)
    if words is None:
        return f"; {why}\n; this is no SPIR-V: {len(code)} bytes\n"
    major, minor = words[1] >> 16 & 0xFF, words[1] >> 8 & 0xFF
    lines = [f"; {why}", f"; SPIR-V {major}.{minor}, generator {words[2]:#x}, ids below {words[3]}"]
    names: dict[int, str] = {}
    entries: list[tuple[int, int, str, Sequence[int]]] = []
    members: list[tuple[int, int, str]] = []
    decorations: dict[int, list[str]] = {}
    for operation, operands in _instructions(words):
        if operation == _NAME and operands:
            names[operands[0]] = _string(operands[1:])[0]
        elif operation == _MEMBER_NAME and len(operands) > 2:
            members.append((operands[0], operands[1], _string(operands[2:])[0]))
        elif operation == _ENTRY_POINT and len(operands) > 2:
            name, used = _string(operands[2:])
            entries.append((operands[0], operands[1], name, operands[2 + used :]))
        elif operation == _DECORATE and len(operands) > 2 and operands[1] in _DECORATIONS:
            decorations.setdefault(operands[0], []).append(f"{_DECORATIONS[operands[1]]} {operands[2]}")
    for model, function, name, interface in entries:
        stage = _STAGES[model] if model < len(_STAGES) else f"model {model}"
        uses = " ".join(names.get(one) or f"%{one}" for one in interface)
        lines.append(f'entry point %{function} {stage} "{name}" {uses}'.rstrip())
    for one in sorted({*names, *decorations}):
        if names.get(one) or one in decorations:
            lines.append(
                f"%{one} {names.get(one, '')} {' '.join(decorations.get(one, ()))}".replace("  ", " ").rstrip()
            )
    lines += [f"%{one}[{number}] {name}" for one, number, name in members]
    count = counted(code)
    lines.append(f"; {count.instructions} instructions in functions")
    return "\n".join(lines) + "\n"


def _words(code: bytes) -> tuple[int, ...] | None:
    """Return the words of a module, of either order of bytes; None where it is none."""
    for order in "<>":
        words = struct.unpack(f"{order}{len(code) // 4}I", code[: len(code) // 4 * 4])
        if len(words) >= _HEADER and words[0] == _MAGIC:
            return words
    return None


def _instructions(words: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield operation and operands; it ends where an instruction leads behind the module."""
    at = _HEADER
    while at < len(words):
        length = words[at] >> 16
        if not length or at + length > len(words):
            return
        yield words[at] & 0xFFFF, words[at + 1 : at + length]
        at += length


def _string(words: Sequence[int]) -> tuple[str, int]:
    """Return a text at the beginning of operands, and the words that it takes."""
    data = struct.pack(f"<{len(words)}I", *words)
    length = data.find(b"\0")
    length = len(data) if length < 0 else length
    return data[:length].decode(errors="replace"), min(length // 4 + 1, len(words))
