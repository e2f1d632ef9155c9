"""Record layouts and signature text: what makes a trace readable without the specification.

`layout` decides in which order the fields of a call stand in its record; `signature_text` writes that down, with
names, types and enumerants, in the form that docs/format.md defines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from drawtap.spec.model import (
    Api,
    Array,
    AttributeList,
    BufferOffset,
    ClientArray,
    Command,
    CompressedImage,
    CType,
    Data,
    Image,
    Opaque,
    Param,
    String,
    Strings,
    Struct,
)

FALLBACK_GROUP = "GLenum"
_WIDE = frozenset({"i64", "u64", "f64", "ptr", "struct"})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: the value of `param` ("" for the return value), or the descriptor of its content."""

    param: str
    role: str  # "value" or "data"


@dataclass(frozen=True, slots=True)
class Layout:
    """The 8-byte fields, then the 4-byte fields, of a command's record."""

    w8: tuple[Field, ...]
    w4: tuple[Field, ...]

    def slot(self, param: str, role: str = "value") -> str | None:
        """Return "8:n" or "4:n" for a field, None where the record has none."""
        wanted = Field(param, role)
        for width, fields in (("8", self.w8), ("4", self.w4)):
            if wanted in fields:
                return f"{width}:{fields.index(wanted)}"
        return None


def is_wide(ctype: CType) -> bool:
    """Tell whether a value of the type takes 8 bytes in a record."""
    return ctype.indirection > 0 or ctype.scalar in _WIDE


def is_captured(param: Param) -> bool:
    """Tell whether a descriptor stands beside the parameter: there is a rule for its content, or none at all yet."""
    return param.is_pointer and _has_descriptor(param.data)


def _has_descriptor(data: Data | None) -> bool:
    if isinstance(data, Opaque | ClientArray):
        return False
    return not (isinstance(data, BufferOffset) and data.otherwise is None)


def returns_value(command: Command) -> bool:
    """Tell whether the command returns something."""
    return command.returns.scalar != "void" or command.returns.indirection > 0


@lru_cache(maxsize=None)
def layout(command: Command) -> Layout:
    """Return the fields of the command's record in their order."""
    w8: list[Field] = []
    w4: list[Field] = []
    if returns_value(command):
        (w8 if is_wide(command.returns) else w4).append(Field("", "value"))
    for param in command.params:
        (w8 if is_wide(param.type) else w4).append(Field(param.name, "value"))
        if is_captured(param):
            w8.append(Field(param.name, "data"))
    if command.returns.indirection and command.returns_data is not None and _has_descriptor(command.returns_data):
        w8.append(Field("", "data"))
    return Layout(tuple(w8), tuple(w4))


# ---- text ------------------------------------------------------------------------------------------------------


def signature_text(commands: Sequence[Command], apis: Sequence[Api], ids: Mapping[str, int]) -> str:
    """Return the signature lines of `commands` (numbered by `ids`), of the tap's own records and of all groups used."""
    by_name = {api.name: api for api in apis}
    owner = {name: api for api in apis for name in api.commands}
    lines = ["V\t1"]
    used: dict[str, tuple[Api, str]] = {}
    for command in commands:
        api = owner.get(command.name) or by_name[command.api]
        lines += _function_lines(command, api, ids[command.name], used)
    lines += TAP_FUNCTIONS
    for written, (api, group) in used.items():
        lines += _group_lines(written, api, group)
    return "\n".join(lines) + "\n"


def _function_lines(command: Command, api: Api, number: int, used: dict[str, tuple[Api, str]]) -> list[str]:
    fields = layout(command)
    flags = set(command.flags)
    if command.uncovered:
        flags.add("no_rule")
    lines = [
        "\t".join(
            (
                "F",
                str(number),
                command.api,
                command.name,
                str(len(fields.w8)),
                str(len(fields.w4)),
                ",".join(sorted(flags)) or "-",
                ",".join(command.provided_by) or "-",
            )
        )
    ]
    if returns_value(command):
        group = _group(api, command.returns, command.returns_group, used)
        lines.append(_value_line("R", (), command.returns, fields.slot("") or "-", group, command.returns_class, api))
        slot = fields.slot("", "data")
        if slot:
            lines.append(_data_line(slot, command.returns, command.returns_data, api, command.returns_group, used, out=True))
    for param in command.params:
        group = "-" if param.is_pointer else _group(api, param.type, param.group, used)
        slot = fields.slot(param.name) or "-"
        lines.append(_value_line("P", (param.name,), param.type, slot, group, param.object_class, api))
        data_slot = fields.slot(param.name, "data")
        if data_slot:
            lines.append(_data_line(data_slot, param.type, param.data, api, param.group, used))
    return lines


def _value_line(
    letter: str, name: tuple[str, ...], ctype: CType, slot: str, group: str, object_class: str | None, api: Api
) -> str:
    kind = _kind(ctype, group, api)
    spelling = " ".join(ctype.spelling.split())
    return "\t".join((letter, *name, spelling, kind, slot, group, (object_class or "-").replace("\t", " ")))


def _kind(ctype: CType, group: str, api: Api) -> str:
    if ctype.indirection or ctype.scalar == "ptr":
        return "ptr"
    if ctype.base in ("GLboolean", "EGLBoolean", "Bool", "VGboolean"):
        return "bool"
    if group != "-":
        base = group.split("/")[-1]
        return "bitmask" if base in api.groups and api.groups[base].bitmask else "enum"
    if ctype.scalar in ("i8", "i16", "i32"):
        return "i32"
    if ctype.scalar in ("u8", "u16", "u32"):
        return "u32"
    return "u64" if ctype.scalar == "struct" else ctype.scalar


def _group(api: Api, ctype: CType, group: str | None, used: dict[str, tuple[Api, str]]) -> str:
    """The name under which the group stands in the text; groups of different APIs cannot clash."""
    if ctype.base in ("GLboolean", "EGLBoolean", "Bool", "VGboolean"):
        return "-"
    name = group if group and group in api.groups else None
    if name is None:
        if ctype.base != "GLenum" or ctype.scalar != "u32":
            return "-"
        name = FALLBACK_GROUP
    written = name if api.name == "gl" else f"{api.name}/{name}"
    used.setdefault(written, (api, name))
    return written


def _data_line(
    slot: str,
    ctype: CType,
    data: Data | None,
    api: Api,
    param_group: str | None,
    used: dict[str, tuple[Api, str]],
    *,
    out: bool = False,
) -> str:
    element, group, writes = _element(ctype, data)
    wanted = group or (param_group if element in ("u32", "i32", "attribs32", "attribs64") else None)
    written = "-"
    if element in ("u32", "i32", "u64", "i64", "attribs32", "attribs64"):
        enum = CType(ctype.spelling, ctype.base, 0, ctype.const, ctype.scalar)
        written = _group(api, enum, wanted, used)
    return "\t".join(("D", slot, element, "out" if out or writes else "in", written))


def _element(ctype: CType, data: Data | None) -> tuple[str, str | None, bool]:
    """Element kind, enum group and whether the driver writes the content."""
    match data:
        case Array(out=writes, element=element, group=group):
            return element or _pointee(ctype), group, writes
        case String(out=writes):
            return "char", None, writes
        case Strings():
            return "strings", None, False
        case Image(out=writes) | CompressedImage(out=writes):
            return "pixels", None, writes
        case BufferOffset(otherwise=Array(out=writes, element=element, group=group)):
            return element or _pointee(ctype), group, writes
        case AttributeList(group=group):
            return ("attribs64" if ctype.scalar in ("i64", "u64") else "attribs32"), group, False
        case Struct(out=writes):
            return f"struct:{ctype.base.replace(' ', '_')}", None, writes
        case _:
            return _pointee(ctype), None, not ctype.const


def _pointee(ctype: CType) -> str:
    if ctype.indirection > 1:
        return "ptr"
    if ctype.scalar == "void":
        return "bytes"
    return f"struct:{ctype.base.replace(' ', '_')}" if ctype.scalar == "struct" else ctype.scalar


def _group_lines(written: str, api: Api, group: str) -> Iterable[str]:
    if group == FALLBACK_GROUP and group not in api.groups:
        yield f"G\t{written}\tenum"
        yield from (f"E\t{name}\t{value}" for name, value in _fallback(api))
        return
    enums = api.groups[group]
    yield f"G\t{written}\t{'bitmask' if enums.bitmask else 'enum'}"
    members = sorted(enums.values.items(), key=lambda item: (item[1], _suffixed(item[0]), len(item[0])))
    yield from (f"E\t{name}\t{value}" for name, value in members)


def _fallback(api: Api) -> list[tuple[str, int]]:
    """One name per value, unsuffixed ones first; small values mean too many things to be named."""
    named: dict[int, str] = {}
    for name, value in sorted(api.enums.items(), key=lambda item: (_suffixed(item[0]), len(item[0]), item[0])):
        if 0x100 <= value <= 0xFFFFFFFF and "_BIT" not in name and "_MASK" not in name:
            named.setdefault(value, name)
    return [(name, value) for value, name in sorted(named.items())]


_SUFFIXES = tuple("ARB EXT OES KHR NV AMD ATI APPLE INTEL QCOM IMG ANGLE SGI SGIS SGIX SUN HP IBM MESA ARM WIN NVX 3DFX INGR PGI REND S3 OML DMP FJ VIV".split())


def _suffixed(name: str) -> bool:
    return name.rsplit("_", 1)[-1] in _SUFFIXES


# ---- the tap's own records (native/common/ring.h, DT_FN_*) -------------------------------------------------------


def _tap(number: int, name: str, w8: int, w4: int, *lines: str) -> list[str]:
    return [f"F\t{number}\tdrawtap\t{name}\t{w8}\t{w4}\ttap\t-", *lines]


TAP_FUNCTIONS: list[str] = [
    *_tap(0x3FF1, "dtapOrder", 1, 0, "P\torder\tuint64_t\tu64\t8:0\t-\t-"),
    *_tap(0x3FF2, "dtapLongDuration", 1, 0, "P\tticks\tuint64_t\tu64\t8:0\t-\t-"),
    *_tap(
        0x3FF3,
        "dtapContext",
        3,
        3,
        "P\tcontext\tuint32_t\tu32\t4:0\t-\t-",
        "P\tshare_group\tuint32_t\tu32\t4:1\t-\t-",
        "P\tapi\tuint32_t\tu32\t4:2\t-\t-",
        "P\thandle\tvoid *\tptr\t8:0\t-\t-",
        "P\tdraw\tuint64_t\tu64\t8:1\t-\t-",
        "P\tread\tuint64_t\tu64\t8:2\t-\t-",
    ),
    *_tap(0x3FF4, "dtapMemory", 2, 0, "P\taddress\tconst void *\tptr\t8:0\t-\t-", "D\t8:1\tbytes\tin\t-"),
    *_tap(
        0x3FF5,
        "dtapMapWrite",
        2,
        2,
        "P\ttarget\tGLenum\tu32\t4:0\t-\t-",
        "P\tbuffer\tGLuint\tu32\t4:1\t-\tbuffer",
        "P\toffset\tuint64_t\tu64\t8:0\t-\t-",
        "P\tdata\tconst void *\tptr\t-\t-\t-",
        "D\t8:1\tbytes\tin\t-",
    ),
    *_tap(
        0x3FF6,
        "dtapNative",
        3,
        0,
        "P\thandle\tvoid *\tptr\t8:0\t-\t-",
        "P\tkind\tconst char *\tptr\t-\t-\t-",
        "D\t8:1\tchar\tin\t-",
        "P\ttext\tconst char *\tptr\t-\t-\t-",
        "D\t8:2\tchar\tin\t-",
    ),
    *_tap(
        0x3FF7,
        "dtapNote",
        2,
        0,
        "P\tcode\tconst char *\tptr\t-\t-\t-",
        "D\t8:0\tchar\tin\t-",
        "P\ttext\tconst char *\tptr\t-\t-\t-",
        "D\t8:1\tchar\tin\t-",
    ),
    *_tap(
        0x3FF8,
        "dtapLibrary",
        2,
        0,
        "P\tpath\tconst char *\tptr\t-\t-\t-",
        "D\t8:0\tchar\tin\t-",
        "P\tbase\tuint64_t\tu64\t8:1\t-\t-",
    ),
]
