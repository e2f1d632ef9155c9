"""Generate the C++ of the player from the specification: one function per command that plays a recorded call.

A generated function loads the arguments from the columns of a decoded chunk and translates the names of objects. It
checks, by the recorder's size rules, that an array is as long as the driver will read. Then it calls the driver and
takes over the results. It tells the mirror of GL state (native/mirror/gl_state.h) what happened, as the tap does.
Functions that need more are hand-written in native/player/special.h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from drawtap.instrument import generate_driver, generate_queries
from drawtap.instrument.generate import (
    by_use,
    command_line,
    functions_of,
    mirror_folder,
    remove_others,
    runtime_folder,
    write_files,
)
from drawtap.instrument.hook import Function, Hooks
from drawtap.instrument.hooks import capture_state, recorder
from drawtap.spec import expr
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
    Struct,
)
from drawtap.spec.registry import load_api

FUNCTIONS_PER_UNIT = 600
PLAYED = ("gl", "vg")
KNOWN = ("gl", "egl", "vg")  # the mirror asks these for their functions

# Object classes with a table of names each; programs and shaders have one namespace.
CLASSES = (
    "texture",
    "buffer",
    "framebuffer",
    "renderbuffer",
    "vertex array",
    "sampler",
    "query",
    "program",
    "program pipeline",
    "transform feedback",
    "display list",
    "arb program",
)
_ARB_PROGRAM = re.compile(
    r"^gl(Bind|Gen|Delete|Is|AreResident|AreProgramsResident|RequestResident)Programs?(Resident)?(ARB|NV)$"
)
_LOCATION = re.compile(r"^gl(Program)?Uniform(?!Block|Subroutines)|^glGetn?Uniform[a-z64]*v")
# Objects of OpenVG have one namespace, whatever they are.
_VG_HANDLES = frozenset({"VGHandle", "VGPath", "VGImage", "VGPaint", "VGFont", "VGMaskLayer"})
# Handles made of addresses of the recording machine's GPU, call-backs into the application, other devices.
_UNPLAYABLE = re.compile(
    r"(Texture|Image)Handle|HandleResident|HandleNonResident|UniformHandle|Uniformui64|BufferAddress|Win32|Vk|CLevent|"
    r"PerfQuery|VDPAU|Fd$|FdEXT|DebugMessageCallback|DebugProc|AMDX|Extget|glExtGet"
)
# Answers that are the driver's words, addresses, or true at one time only.
_UNCOMPARED = re.compile(
    r"InfoLog|ProgramBinary|DebugMessageLog|Pointer|Synciv|PerfMonitor|PerfCounter|GraphicsReset|Handle|UnsignedBytev|"
    r"InternalformatSample|GetString|AttachedShaders|AttachedObjects"
)
_ASKED = ("pname", "target", "value", "query")
_OPTIONAL = frozenset({"length", "lengths"})


@dataclass(frozen=True)
class _Code:
    """Statements of one play function: in the order load, check, outs, call, after."""

    load: list[str]
    check: list[str]
    after: list[str]


def generate() -> dict[str, str]:
    """Return the generated files by name."""
    functions = functions_of(KNOWN)
    specials = _specials()
    hooks = capture_state.hooks(mirror_folder())
    files = {"player_module.h": _header()}
    played = [function for function in functions if function.api.name in PLAYED]
    for stem, part in zip(("play", "play_rare"), by_use(played, PLAYED), strict=True):
        for number, start in enumerate(range(0, len(part), FUNCTIONS_PER_UNIT)):
            text = "\n".join(play(f, hooks, specials) for f in part[start : start + FUNCTIONS_PER_UNIT])
            files[f"{stem}_{number}.cc"] = (
                f'#include "player_module.h"\nnamespace dt::play {{\n{text}\n}}  // namespace dt::play\n'
            )
    files["play_table.cc"] = _table(functions)
    files["driver.cc"] = generate_driver.table({f.name: f.id for f in functions})
    files["queries.cc"] = generate_queries.generate(load_api("gl"), CLASSES)
    return files


def _specials() -> frozenset[str]:
    header = runtime_folder().parent / "player" / "special.h"
    return frozenset(re.findall(r"\bspecial_((?:gl|vg)\w+)\(", header.read_text()))


def _header() -> str:
    loaded = [load_api(name) for name in KNOWN]
    return "\n".join(
        [
            "// Generated. Types, size rules and tables of the played APIs.",
            "#pragma once",
            *(f'#include "{name}"' for name in capture_state.HEADERS),
            '#include "sizes.h"',
            '#include "sizes_egl.h"',
            '#include "sizes_vg.h"',
            *(api.typedefs for api in loaded),
            *(expr.tables_to_cpp(load_api(name)) for name in PLAYED),
            '#include "play.h"',
            '#include "special.h"',
            "",
        ]
    )


def play(f: Function, hooks: Hooks, specials: frozenset[str]) -> str:
    """Return the C++ function that plays one recorded call of a command."""
    command = f.command
    head = f"void play_{f.name}(Player& _p, const Row& _w) {{"
    refusal = _refusal(f)
    if refusal:
        return f'{head} _p.refuse(_w, "{f.name}", "{refusal}"); }}'
    code = _arguments(f)
    before, after = _hook_text(f, hooks)
    names = ", ".join(p.name for p in command.params)
    result = f"{command.returns.spelling} _result = " if f.returns_value else ""
    lines = [
        "  dt::Thread* const _t = &dt::tls; (void)_t, (void)_w;",
        f"  void* const _f = _p.real({f.id});",
        f'  if (DT_UNLIKELY(!_f)) return _p.refuse(_w, "{f.name}", "the driver here does not have it");',
        *(f"  {line}" for line in code.load + code.check),
    ]
    client = _client_array(f)
    if before:
        lines.append(f"  {before}")
    if f.has("draw") or f.name.startswith("glArrayElement"):
        lines.append("  if (DT_UNLIKELY(_p.reads_client_memory(_t)) && !_p.client_arrays(_t, _w)) return;")
    if re.match(r"gl(Multi)?(Mode)?Draw(Range)?Elements|glMultiModeDrawElements", f.name):
        lines.append("  if (!_p.indices_there(_w)) return;")
    if f.name in specials:
        lines.append(f"  {result}special_{f.name}(_p, _w{', ' if names else ''}{names});")
    else:
        call = f"(({command.returns.spelling} (*)({command.types}))_f)"
        passed = ", ".join("_at" if client and p.name == client.name else p.name for p in command.params)
        if client:
            # The mirror follows the recorded addresses, the driver gets those where their content will be.
            lines += [
                f"  const auto _at = ({client.type.spelling})_p.array(_t, (const void*){client.name});",
                f"  {call}({passed});",
            ]
        else:
            lines.append(f"  {result}{call}({names});")
    lines += [f"  {line}" for line in code.after]
    if f.returns_value:
        lines += [f"  {line}" for line in _returned(f)]
    if after:
        lines.append(f"  {after}")
    return "\n".join([head, *(line for line in lines if line.strip()), "}"])


def _client_array(f: Function) -> Param | None:
    for p in f.command.params:
        if isinstance(p.data, ClientArray) and p.type.indirection == 1:
            return p
    return None


def _refusal(f: Function) -> str:
    if _UNPLAYABLE.search(f.name):
        return "it hands over addresses, call-backs or handles of the machine it was recorded on"
    for p in f.command.params:
        if p.type.scalar == "struct" and not p.type.indirection:
            return f"{p.name} is a structure"
        if isinstance(p.data, ClientArray) and p.type.indirection > 1:
            return f"{p.name} is a list of arrays in client memory"
    return ""


def _hook_text(f: Function, hooks: Hooks) -> tuple[str, str]:
    before, after = [], []
    for hook in hooks.for_function(f):
        text = "\n".join(
            line
            for line in hook.before_run.splitlines()
            if not any(word in line for word in ("g_maps_alive", "before_frame_end", "take_targets"))
        )
        before.append(text)
        after.append(hook.after_run)
    return "\n".join(filter(None, before)).strip(), "\n".join(filter(None, after)).strip()


# ---- arguments -----------------------------------------------------------------------------------------------


def _slot(f: Function, name: str, role: str = "value") -> tuple[str, int]:
    width, index = f.layout.slot(name, role).split(":")
    return width, int(index)


def _payload(f: Function, name: str) -> int:
    order = [field.param for field in f.layout.w8 if field.role == "data"]
    return order.index(name)


def _scalar(f: Function, p: Param) -> str:
    width, index = _slot(f, p.name)
    raw = f"_w.w{width}({index})"
    scalar = p.type.scalar
    if scalar == "f32":
        return f"_w.f32({index})"
    if scalar == "f64":
        return f"_w.f64({index})"
    spelling = p.type.spelling
    if p.type.base in _VG_HANDLES:
        return f"({spelling})_p.vg((uint32_t){raw})"
    kind = object_class(f, p)
    if kind == "sync":
        return f"({spelling})_p.sync({raw})"
    if spelling in ("GLeglImageOES", "VGeglImageKHR"):
        return f"({spelling})_p.image({raw})"
    if kind in CLASSES:
        return f"({spelling})_p.name({CLASSES.index(kind)}, (uint32_t){raw})"
    if p.name == "location" and _LOCATION.search(f.name):
        program = next((q.name for q in f.command.params if q.object_class == "program"), None)
        return f"({spelling})_p.location({program or '~0u'}, (int32_t){raw})"
    if p.name in ("uniformBlockIndex", "storageBlockIndex"):
        return f"({spelling})_p.block(program, (uint32_t){raw}, {int(p.name.startswith('storage'))})"
    if scalar == "ptr":
        return f"({spelling})(uintptr_t)_p.pointer({raw})"
    return f"({spelling}){raw}"


def object_class(f: Function, p: Param) -> str | None:
    """Return the table that a parameter's names stand in; None for values."""
    kind = p.object_class
    if kind == "shader" or (f.name.endswith("ObjectARB") and p.type.base == "GLhandleARB"):
        return "program"
    if kind == "program" and _ARB_PROGRAM.match(f.name):
        return "arb program"
    if kind is None and f.name in (
        "glDeleteObjectARB",
        "glGetObjectParameterivARB",
        "glGetObjectParameterfvARB",
        "glGetInfoLogARB",
    ):
        return "program" if p.type.base == "GLhandleARB" else None
    return kind


def _arguments(f: Function) -> _Code:
    load: list[str] = []
    check: list[str] = []
    after: list[str] = []
    pointers = []
    for p in f.command.params:
        if p.type.indirection:
            pointers.append(p)
        else:
            # An index of a program's block needs the program, which every such command has before it.
            load.append(f"{p.type.spelling} {p.name} = {_scalar(f, p)}; (void){p.name};")
    ins = [p for p in pointers if not _is_out(p)]
    for p in ins:
        load += _in(f, p)
    # A length that stands behind another pointer is looked at when that one is known to be whole.
    names = [p.name for p in ins]
    for p in sorted(ins, key=lambda p: any(_mentions(_need(f, p), n) for n in names)):
        check += _checked(f, p)
    for p in pointers:
        if _is_out(p):
            check += _out(f, p)
            after += _taken(f, p)
    return _Code(load, check, after)


def _is_out(p: Param) -> bool:
    data = p.data.otherwise if isinstance(p.data, BufferOffset) else p.data
    return bool(getattr(data, "out", False))


def _in(f: Function, p: Param) -> list[str]:
    width, slot = _slot(f, p.name)
    raw = f"_w.w{width}({slot})"
    spelling = p.type.spelling
    if not any(field.param == p.name and field.role == "data" for field in f.layout.w8):
        if isinstance(p.data, ClientArray | BufferOffset):
            return [f"{spelling} {p.name} = ({spelling})_p.pointer({raw}); (void){p.name};"]
        if f.name in ("glFeedbackBuffer", "glSelectBuffer"):
            return [f"{spelling} {p.name} = ({spelling})_p.lasting((int64_t)size * 4); (void){p.name};"]
        return [
            f"{spelling} {p.name} = nullptr; (void){p.name};",
            f'if ({raw}) return _p.refuse(_w, "{f.name}", "{p.name} is an address that was not looked behind");',
        ]
    index = _payload(f, p.name)
    _, data_slot = _slot(f, p.name, "data")
    lines = [f"const In _i_{p.name} = _p.in(_w, {index}, {data_slot}, {raw});"]
    if isinstance(p.data, Strings):
        lines.append(f"{spelling} {p.name} = ({spelling})_p.strings(_i_{p.name}); (void){p.name};")
    elif isinstance(p.data, String) or f"strlen((const void*){p.name})" in _need(f, p):
        lines.append(f"{spelling} {p.name} = ({spelling})_p.text(_i_{p.name}); (void){p.name};")
    else:
        lines.append(f"{spelling} {p.name} = ({spelling})_i_{p.name}.data; (void){p.name};")
    return lines


def _need(f: Function, p: Param) -> str:
    match p.data:
        case Array() as array:
            return recorder._bytes(f, array, p.type)
        case BufferOffset(otherwise=Array() as array):
            return recorder._bytes(f, array, p.type)
        case Image(out=out) as image:
            size = "dt::size::image_out" if out else "dt::size::image_in"
            extent = ", ".join(
                recorder._expr(f, e) for e in (image.format, image.type, image.width, image.height, image.depth)
            )
            text = f"{size}(_t, {extent}, {image.dimensions}, (const void*)1)"
            return f"dt::at_most({text}, {recorder._expr(f, image.limit)})" if image.limit else text
        case CompressedImage() as image:
            return recorder._expr(f, image.size)
        case String(length=length) as string:
            if string.out:
                return recorder._expr(f, string.capacity) if string.capacity else "(int64_t)256"
            return recorder._expr(f, length) if length else "(int64_t)-1"
        case Strings() as strings:
            return recorder._expr(f, strings.count)
        case Struct() as struct:
            return recorder._expr(f, struct.size) if struct.size else f"(int64_t)sizeof(*{p.name})"
    return "(int64_t)0"


def _mentions(code: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", code) is not None


def _binding(f: Function, p: Param) -> str | None:
    match p.data:
        case BufferOffset() as offset:
            return offset.binding
        case Image(out=out) | CompressedImage(out=out):
            return "GL_PIXEL_PACK_BUFFER" if out else "GL_PIXEL_UNPACK_BUFFER"
    return None


def _checked(f: Function, p: Param) -> list[str]:
    if not any(field.param == p.name and field.role == "data" for field in f.layout.w8):
        return []
    index = f"_i_{p.name}"
    if isinstance(p.data, AttributeList) or p.data is None:
        return [f'if ({p.name}) return _p.refuse(_w, "{f.name}", "no rule says how long {p.name} is");']
    if isinstance(p.data, Strings):
        return [f'if (!_p.enough_strings(_w, {index}, {_need(f, p)}, "{p.name}")) return;', *_names_in(f, p)]
    binding = _binding(f, p)
    memory = p.type.base == "void" and p.type.indirection == 1
    # OpenVG's engines look at every pointer before they follow it.
    null_ok = memory or p.name in _OPTIONAL or f.name.startswith("glBind") or f.api.name == "vg"
    lines, allowed = [], str(int(null_ok))
    if binding:
        bound = f"dt::size::bound((int64_t){f.api.enums[binding]})"
        lines.append(f'if ({index}.kind == DT_DATA_OFFSET && !_p.offset_ok(_w, {index}, {bound}, "{p.name}")) return;')
        # NULL is the offset 0 where a buffer is bound: recordings of other tools do not tell the two apart.
        allowed = f"{bound} ? 3 : 2" if isinstance(p.data, BufferOffset) else str(int(null_ok) | 2)
    lines.append(f'if (!_p.enough(_w, {index}, {_need(f, p)}, {allowed}, "{p.name}")) return;')
    return lines + _names_in(f, p) + _moved(f, p, "+")


def _moved(f: Function, p: Param, sign: str) -> list[str]:
    if not isinstance(p.data, Array) or not p.data.before:
        return []
    before = recorder._expr(f, p.data.before)
    return [f"if ({p.name}) {p.name} = ({p.type.spelling})((uint8_t*){p.name} {sign} ({before}));"]


def _names_in(f: Function, p: Param) -> list[str]:
    kind = object_class(f, p)
    if kind in CLASSES and p.type.base in ("GLuint", "GLhandleARB"):
        where = CLASSES.index(kind)
        return [f"{p.name} = ({p.type.spelling})_p.names({where}, (const uint32_t*){p.name}, _i_{p.name}.bytes / 4);"]
    if isinstance(p.data, Array) and p.type.indirection > 1:
        return [f"{p.name} = ({p.type.spelling})_p.pointers((const uint64_t*){p.name}, _i_{p.name}.bytes / 8);"]
    return []


def _out(f: Function, p: Param) -> list[str]:
    spelling = p.type.spelling
    if not any(field.param == p.name and field.role == "data" for field in f.layout.w8):
        return [
            f"{spelling} {p.name} = nullptr;",
            f'return _p.refuse(_w, "{f.name}", "no rule says how long {p.name} is");',
        ]
    _, slot = _slot(f, p.name)
    _, data_slot = _slot(f, p.name, "data")
    binding = _binding(f, p)
    bound = f"dt::size::bound((int64_t){f.api.enums[binding]})" if binding else "0"
    makes = f.has("create") and object_class(f, p) in CLASSES
    counted = f'if (!_p.names_recorded(_w, _o_{p.name}, {_need(f, p)}, "{p.name}")) return;'
    return [
        f"const In _o_{p.name} = _p.in(_w, {_payload(f, p.name)}, {data_slot}, _w.w8({slot}));",
        f"{spelling} {p.name} = nullptr; (void){p.name};",
        *([counted] if makes else []),
        f'if (!_p.room(_w, _o_{p.name}, {_need(f, p)}, {bound}, (void**)&{p.name}, "{p.name}")) return;',
        *_moved(f, p, "+"),
    ]


def _taken(f: Function, p: Param) -> list[str]:
    kind = object_class(f, p)
    if kind in CLASSES and p.type.base in ("GLuint", "GLhandleARB"):
        if f.has("create"):
            return [f"_p.made({CLASSES.index(kind)}, _o_{p.name}, (const uint32_t*){p.name});"]
        return []
    if f.has("readback"):
        return [*_moved(f, p, "-"), f'_p.compare(_w, _o_{p.name}, {p.name}, "{f.name}");']
    if f.name.startswith("glGet") and not _UNCOMPARED.search(f.name):
        asked = next((q.name for q in f.command.params if q.name in _ASKED and not q.type.indirection), None)
        about = f"(uint32_t){asked}" if asked else "0"
        query = next((q.name for q in f.command.params if object_class(f, q) == "query"), None)
        id_ = query if query and f.name.startswith("glGetQueryObject") else "0"
        return [f'_p.compare_answer(_w, _o_{p.name}, {p.name}, {about}, {id_}, "{f.name}");']
    return []


def _returned(f: Function) -> list[str]:
    returns = f.command.returns
    width, index = _slot(f, "")
    raw = f"_w.w{width}({index})"
    if returns.scalar in ("f32", "f64") or (returns.indirection and not f.has("map")):
        return ["(void)_result;"]
    if returns.base in _VG_HANDLES:
        made = f.name.startswith(("vgCreate", "vgChild"))
        return [f'_p.made_vg(_w, (uint32_t){raw}, (uint32_t)_result, "{f.name}");'] if made else ["(void)_result;"]
    if f.api.name == "vg":
        if f.has("error_query"):
            return [f"_p.vg_error_result(_w, (uint32_t){raw}, (uint32_t)_result);"]
        return ["(void)_result;"]
    kind = f.command.returns_class
    kind = "program" if kind == "shader" else kind
    if kind == "sync":
        return [f"_p.made_sync({raw}, (void*)_result);"]
    if f.name in ("glGenLists",):
        return [f"_p.made_range({CLASSES.index('display list')}, (uint32_t){raw}, (uint32_t)_result, (int64_t)range);"]
    if kind in CLASSES:
        return [f"_p.made_one({CLASSES.index(kind)}, (uint32_t){raw}, (uint32_t)_result);"]
    if f.has("error_query"):
        return [f"_p.error_result(_w, (uint32_t){raw}, (uint32_t)_result);"]
    if f.name.startswith("glCheckFramebufferStatus"):
        return [f'_p.same_result(_w, {raw}, (uint32_t)_result, "{f.name}");']
    return ["(void)_result;"]


# ---- tables --------------------------------------------------------------------------------------------------


def _table(functions: Sequence[Function]) -> str:
    declarations = "\n".join(f"void play_{f.name}(Player&, const Row&);" for f in functions if f.api.name in PLAYED)
    rows = []
    for f in functions:
        play_function = f"play_{f.name}" if f.api.name in PLAYED else "nullptr"
        marks = (f.has("frame_end"), f.has("draw"), f.api.name == "vg")
        flags = sum(bit << i for i, bit in enumerate(marks))
        rows.append(f'  {{"{f.name}", {play_function}, {f.layout.words}, {flags}}},')
    names = "\n".join(f'  "{name}",' for name in CLASSES)
    text = "\n".join(rows)
    return f"""// Generated. The functions that the player knows, by the number that the mirror uses too.
#include "play.h"
namespace dt::play {{
{declarations}
extern const Known g_known[] = {{
{text}
}};
extern const unsigned g_known_count = {len(functions)};
extern const char* const g_classes[] = {{
{names}
}};
void* g_pointers[{len(functions)}];
}}  // namespace dt::play
namespace dt {{
void* g_real[{len(functions)} + 1][VARIANTS];
const unsigned g_function_count = {len(functions)};
}}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sources of the player: `python -m drawtap.instrument.generate_player --output DIR`."""
    folder, files = command_line(main.__doc__).parse_args(arguments).output, generate()
    write_files(folder, files)
    remove_others(folder, files, "play_*.cc")


if __name__ == "__main__":
    main()
