"""Generate the C++ tables of the player of Vulkan from the specification.

A row for each command says what its parameters are: values, handles, structure trees, arrays. Hand-written code
(native/player/vulkan) makes a call of a row and a record. Nothing but the row is generated for each command. Types of
parameters alone decide the call of the driver's function: a hundred such shapes serve all commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from drawtap.instrument import generate_trees
from drawtap.instrument.generate import command_line, functions_of, write_files
from drawtap.instrument.hook import Function
from drawtap.spec import expr
from drawtap.spec.model import Api, Array, Each, Param, String, TemplateData, Tree
from drawtap.spec.registry import load_api

# Commands that leave nothing behind that work on the device would notice. The answers that they ask for are in the
# recording.
_SKIPPED = re.compile(
    r"^vk(Get|Enumerate|SetDebugUtils|SubmitDebugUtils|DebugMarkerSet|DebugReport|SetPrivateData|(Create|Destroy)Debug|"
    r"InvalidateMapped|SetHdrMetadata|(Acquire|Release)Profiling|WaitForPresent|CreateDisplayMode|"
    r"(Acquire|Release)(Xlib|Drm|Full|Winrt)?.*Display|RegisterD|LatencySleep|SetLatency|QueueNotifyOutOfBand)"
)
# The commands that cannot be played, by name: (why, pattern). Asking whether something is supported is harmless.
_REFUSED = (
    ("ray tracing", r"AccelerationStructure|RayTracing|TraceRays|Micromap|ShaderBindingTable|ShaderGroup"),
    ("device addresses", r"DeviceAddress|CaptureAddress|MemoryIndirect"),
    (
        "descriptor buffers",
        r"DescriptorBuffer|GetDescriptorEXT|OpaqueCapture|DescriptorHeap|DescriptorSetHostMapping",
    ),
    ("video", r"Video|DecodeV|EncodeV"),
    (
        "memory or signals that other programs share",
        r"^vkGet(Memory|Semaphore|Fence)(Fd|Zircon|Win32|Remote|Metal|Sci)|^vkImport|ExternalComputeQueue",
    ),
    ("texels that the program copies by itself", r"CopyMemoryToImage|CopyImageToMemory|CopyMemoryToMicro"),
    ("commands that the device makes", r"GeneratedCommands|IndirectCommands|IndirectExecution|ExecutionGraph"),
    ("code of other compilers", r"CuModule|CuFunction|CuLaunch|Cuda|NVX|DataGraph|Tensor|OpticalFlow"),
)  # fmt: skip
_QUERIES = re.compile(r"^vkGetPhysicalDevice|^vkEnumerate")
_PLAIN = {"i32": "int32_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "f32": "float", "ptr": "uint64_t"}
_ALWAYS = 0xFFFF
_NEEDED = frozenset(("TREE", "ARRAY", "HANDLES", "MADE"))  # ways of pointers that a call follows


def generate() -> dict[str, str]:
    """Return the generated files by name."""
    api = load_api("vk")
    made = _Commands(api)
    table = made.table(functions_of(("vk",)))
    trees = generate_trees.tables(api, "commands.h", handles=True)
    return {"vulkan_types.h": _header(api), "vulkan_trees.cc": trees, "vulkan_commands.cc": table}


def _header(api: Api) -> str:
    """Types, enumerants, numbers and types of commands, numbers of types of handles."""
    small = [f"{name} = {value}" for name, value in api.enums.items() if value <= 0x7FFFFFFFFFFFFFFF]
    large = [f"{name} = {value}ull" for name, value in api.enums.items() if value > 0x7FFFFFFFFFFFFFFF]
    functions = functions_of(("vk",))
    return "\n".join(
        [
            "// Generated. Vulkan's types, and its commands and handles by number.",
            "#pragma once",
            "#include <stdint.h>",
            f"enum : int64_t {{ {', '.join(small)} }};",
            f"enum : uint64_t {{ {', '.join(large)} }};",
            _typedefs(api),
            expr.prototypes_to_cpp(),
            expr.tables_to_cpp(api),
            generate_trees.numbers(api),
            "namespace dt::play::vk {",
            f"enum Kind : uint16_t {{ {', '.join(map(_kind, api.handles))}, KINDS }};",
            "namespace number {",
            f"enum : uint16_t {{ {', '.join(f.name for f in functions)}, COMMANDS }};",
            "}",
            "namespace type {",
            *(f"using {f.name} = {f.command.returns.spelling} (*)({f.command.types});" for f in functions),
            "}",
            "}  // namespace dt::play::vk",
            "",
        ]
    )


def _typedefs(api: Api) -> str:
    """Declare the types; structures say themselves which they are, wherever one is made."""
    own = {name: struct.stype for name, struct in api.structs.items() if struct.stype}
    begin = re.compile(r"(struct (\w+) \{\n  VkStructureType sType);")
    return begin.sub(lambda m: f"{m[1]} = {own[m[2]]};" if m[2] in own else m[0], api.typedefs)


def _kind(handle: str) -> str:
    return "OF_" + handle.removeprefix("Vk")


@dataclass
class _Commands:
    api: Api
    rules: list[str] = field(default_factory=list)  # C++ of each
    shapes: dict[tuple[str, ...], int] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # other names of commands

    def table(self, functions: Sequence[Function]) -> str:
        """Return the C++ of the tables."""
        kinds = generate_trees.handle_numbers(self.api)
        rows: list[str] = []
        params: list[str] = []
        known: list[str] = []
        for f in functions:
            if f.command.alias:
                self.aliases |= {f.name: f.command.alias, f.command.alias: f.name}
        for f in functions:
            first = len(params)
            params += [f"  {row},  // {f.name} {p.name}" for p, row in self._params(f, kinds)]
            known.append(f'  {{"{f.name}", nullptr, {f.layout.words}, 0}},')
            rows.append(f"  {self._command(f, first, len(params) - first)},")
        names = ", ".join(f'"{name}"' for name in kinds)
        return "\n".join(
            [
                "// Generated.",
                '#include "commands.h"',
                '#include "../../state/known.h"',
                "namespace dt::play {",
                f"extern const Known g_known[] = {{\n{chr(10).join(known)}\n}};",
                f"extern const unsigned g_known_count = {len(functions)};",
                "}",
                "namespace dt::play::vk {",
                f"const char* const KIND_NAMES[] = {{{names}}};",
                f"const Param PARAMS[] = {{\n{chr(10).join(params)}\n}};",
                *self._shapes(),
                f"const Command COMMANDS[] = {{\n{chr(10).join(rows)}\n}};",
                *self._rules(),
                *self._features(),
                "}  // namespace dt::play::vk",
                "",
            ]
        )

    def _command(self, f: Function, first: int, count: int) -> str:
        shape = (f.command.returns, *(p.type for p in f.command.params))
        key = tuple("ptr" if t.indirection else t.scalar for t in shape)
        number = self.shapes.setdefault(key, len(self.shapes))
        refused = "" if _QUERIES.search(f.name) else next((w for w, p in _REFUSED if re.search(p, f.name)), "")
        skips = bool(_SKIPPED.search(f.name)) or any(isinstance(p.data, Tree) and p.data.out for p in f.command.params)
        judged = f.command.returns.base == "VkResult"
        flags = " | ".join(f"FLAG_{word.upper()}" for word in sorted(f.command.flags)) or "0"
        result = f.layout.slot("", "value").split(":") if f.returns_value else ("0", "0")
        own, alias = f.command.alias or f.name, self.aliases.get(f.name, "COMMANDS")
        why = f'"{refused}"' if refused else "nullptr"
        return (
            f'{{"{f.name}", shape_{number}, {first}, {count}, number::{own}, number::{alias}, '
            f"{result[0]}, {result[1]}, {str(skips).lower()}, {str(judged).lower()}, {flags}, {why}}}"
        )

    def _params(self, f: Function, kinds: dict[str, int]) -> Iterator[tuple[Param, str]]:
        names = {p.name: number for number, p in enumerate(f.command.params)}
        pointers = {p.name for p in f.command.params if p.type.indirection}
        data = [each.param for each in f.layout.w8 if each.role == "data"]
        for p in f.command.params:
            way, type_, element, count, stride = self._way(f, p, kinds)
            late = bool(count and (expr.paths(count) or expr.names(count)[0] & pointers))
            rule = _ALWAYS if count is None or count == "1" else self._rule(f, count)
            width, slot = f.layout.slot(p.name, "value").split(":")
            has_data = p.name in data
            at = f.layout.slot(p.name, "data").split(":")[1] if has_data else "-1"
            payload = data.index(p.name) if has_data else -1
            place = names[stride] if stride else -1
            needed = way in _NEEDED and not p.optional
            values = (way, width, slot, at, payload, type_, element, rule, *map(_word, (late, needed)), place)
            yield p, "{" + ", ".join(map(str, values)) + "}"

    def _way(self, f: Function, p: Param, kinds: dict[str, int]) -> tuple[str, int | str, int, str | None, str | None]:
        """Return the way of a parameter: (word, number of its type, bytes of an element, count, stride)."""
        kind = kinds.get(p.object_class or "", 0)
        is_handle = p.object_class in kinds
        outer = 0
        match p.data:
            case _ if not p.type.indirection:
                return ("HANDLE" if is_handle else "VALUE"), kind, 0, None, None
            case Tree(out=True):
                return "NOTHING", 0, 0, None, None
            case Tree(count=count, stride=stride):
                number = generate_trees.number_name(p.type.base, self.api)
                command = generate_trees.outer_command(self.api.structs[p.type.base], self.api)
                outer = int(command is not None and f.name in (command.name, command.alias))
                return "TREE", number, outer, count, stride
            case Array(count=count, out=out) as array:
                width = generate_trees.element_bytes(p.type, array)
                if is_handle and p.type.indirection == 1:
                    return ("MADE" if out else "HANDLES"), kind, 8, count, None
                return ("ROOM" if out else "ARRAY"), 0, width, count, None
            case String(out=False):
                return "WORDS", 0, 0, None, None
            case TemplateData(update=update):
                return "TEMPLATE_DATA", 0, 0, update, None
            case Each():
                return "NOTHING", 0, 0, None, None
        return "NOTHING", 0, 0, None, None

    def _rule(self, f: Function, text: str) -> int:
        wanted = expr.names(text)[0] | {path[0] for path in expr.paths(text)}
        locals_ = [
            f"const auto {p.name} = ({p.type.spelling})a[{place}];"
            for place, p in enumerate(f.command.params)
            if p.name in wanted
        ]
        body = " ".join([*locals_, f"return {expr.to_cpp(text, f.command, self.api)};"])
        if body not in self.rules:
            self.rules.append(body)
        return self.rules.index(body)

    def _rules(self) -> Iterator[str]:
        yield "int64_t count_of(uint16_t number, const uint64_t* a) {"
        yield "  switch (number) {"
        for number, body in enumerate(self.rules):
            yield f"    case {number}: {{ {body} }}"
        yield "    default: return 1;"
        yield "  }"
        yield "}"

    def _features(self) -> Iterator[str]:
        """The sizes of structures that switch features on; bytes behind the last member may be anything."""
        yield "size_t features_bytes(int32_t stype) {"
        yield "  switch (stype) {"
        for name, struct in generate_trees.own_structs(self.api).items():
            if struct.stype and (name == "VkPhysicalDeviceFeatures2" or "VkPhysicalDeviceFeatures2" in struct.extends):
                last = struct.members[-1]
                yield f"    case {self.api.enums[struct.stype]}: return {last.offset + last.size};"
        yield "    default: return 0;"
        yield "  }"
        yield "}"

    def _shapes(self) -> Iterator[str]:
        yield "namespace {"
        yield "inline float real(uint64_t v) { float f; memcpy(&f, &v, 4); return f; }"
        for key, number in self.shapes.items():
            returns, *params = ("void" if key[0] == "void" else _PLAIN[key[0]], *(_PLAIN[k] for k in key[1:]))
            given = ", ".join(
                f"real(a[{i}])" if kind == "float" else f"({kind})a[{i}]" for i, kind in enumerate(params)
            )
            call = f"(({returns} (*)({', '.join(params) or 'void'}))f)({given})"
            body = f"{call}; return 0;" if returns == "void" else f"return (uint64_t){call};"
            yield f"uint64_t shape_{number}(void* f, [[maybe_unused]] const uint64_t* a) {{ {body} }}"
        yield "}  // namespace"


def _word(truth: bool) -> str:
    return "true" if truth else "false"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sources: `python -m drawtap.instrument.generate_player_vk --output DIR`."""
    folder = command_line(main.__doc__).parse_args(arguments).output
    write_files(folder, generate())


if __name__ == "__main__":
    main()
