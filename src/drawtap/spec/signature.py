"""Where each argument stands in a record, and the signature text that tells a trace's readers so (docs/format.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from drawtap.spec.model import (
    Api,
    Array,
    AttributeList,
    BufferOffset,
    Chain,
    ClientArray,
    Command,
    CompressedImage,
    CType,
    Data,
    Each,
    EnumGroup,
    Image,
    Member,
    Opaque,
    Param,
    String,
    Strings,
    Struct,
    TemplateData,
    Tree,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_NARROW = {"i8": "i32", "u8": "u32", "i16": "i32", "u16": "u32"}
_WIDE = frozenset({"i64", "u64", "f64", "ptr"})
_INTEGERS = frozenset({"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: the value of a parameter ("" is the return value), or the descriptor of its content."""

    param: str
    role: str = "value"  # value data


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a command's record: first those of 8 bytes, then those of 4, each in order."""

    w8: tuple[Field, ...]
    w4: tuple[Field, ...]

    @property
    def words(self) -> str:
        """The fields as C++ has them: two strings, "=" stands for the return value and "#" for a descriptor."""
        return ", ".join(
            '"' + " ".join((field.param or "=") + "#" * (field.role == "data") for field in fields) + '"'
            for fields in (self.w8, self.w4)
        )

    def slot(self, param: str, role: str = "value") -> str:
        """Return the place of a field as signatures have it: "8:0". Raises KeyError where there is none."""
        field = Field(param, role)
        if field in self.w8:
            return f"8:{self.w8.index(field)}"
        if field in self.w4:
            return f"4:{self.w4.index(field)}"
        raise KeyError(f"no field for the {role} of {param or 'the return value'}")


def is_captured(ctype: CType, data: Data | None) -> bool:
    """Tell whether a record has a descriptor for what a pointer points to.

    A pointer without a rule has one too: it then says that the content is unknown.
    """
    if not ctype.indirection:
        return False
    if isinstance(data, BufferOffset):
        return data.otherwise is not None
    return not isinstance(data, ClientArray | Opaque)


def layout(command: Command) -> Layout:
    """Lay out a command's record; the only place that knows the rule."""
    w8: list[Field] = []
    w4: list[Field] = []
    returns = command.returns
    if not _is_void(returns):
        (w8 if _is_wide(returns) else w4).append(Field(""))
    for param in command.params:
        if _is_wide(param.type):
            w8.append(Field(param.name))
            if is_captured(param.type, param.data):
                w8.append(Field(param.name, "data"))
        else:
            w4.append(Field(param.name))
    if is_captured(returns, command.returns_data):
        w8.append(Field("", "data"))
    return Layout(tuple(w8), tuple(w4))


def _is_void(ctype: CType) -> bool:
    return ctype.scalar == "void" and not ctype.indirection


def _is_wide(ctype: CType) -> bool:
    if not ctype.indirection and ctype.scalar in ("struct", "void"):
        raise ValueError(f"a value of type {ctype.spelling} has no place in a record")
    return bool(ctype.indirection) or ctype.scalar in _WIDE


# ---- signature text ---------------------------------------------------------------------------------------


def signature_text(commands: Iterable[Command], apis: Sequence[Api], ids: Mapping[str, int]) -> str:
    """Return the signature lines of `commands` and of the tap's own functions.

    `apis` are those the commands come from (for enum groups); `ids` gives each command's function id by name.
    """
    groups = _Groups(apis)
    lines: list[str] = []
    for command in commands:
        api = groups.api_of(command)
        lines += _function(command, api, ids[command.name], layout(command), groups)
    lines += tap_signatures(groups)
    structs = [line for api in apis for line in _structures(api, groups)]
    return "\n".join(["V\t1", *groups.lines(), *structs, *lines]) + "\n"


class _Groups:
    """Names that enum groups have in the text: two APIs' groups of one name differ."""

    def __init__(self, apis: Sequence[Api]) -> None:
        self._apis = apis
        self._names: dict[tuple[str, str], str] = {}
        self._used: dict[str, EnumGroup] = {}
        taken: dict[str, Mapping[str, int]] = {}
        for api in apis:
            for group in api.groups.values():
                same = taken.setdefault(group.name, group.values) == group.values
                self._names[api.name, group.name] = group.name if same else f"{api.name}:{group.name}"

    def api_of(self, command: Command) -> Api:
        for api in self._apis:
            if api.commands.get(command.name) == command:
                return api
        raise KeyError(f"{command.name} is of none of these APIs: {', '.join(a.name for a in self._apis)}")

    def use(self, api: Api | None, name: str | None) -> str:
        if api is None or name is None or name not in api.groups:
            return "-"
        shown = self._names[api.name, name]
        self._used.setdefault(shown, api.groups[name])
        return shown

    def anywhere(self, name: str) -> str:
        """Use a group of whichever API has it."""
        for api in self._apis:
            if name in api.groups:
                return self.use(api, name)
        return "-"

    def bitmask(self, api: Api | None, name: str | None) -> bool:
        return api is not None and name is not None and name in api.groups and api.groups[name].bitmask

    def lines(self) -> Iterator[str]:
        for shown, group in self._used.items():
            yield f"G\t{shown}\t{'bitmask' if group.bitmask else 'enum'}"
            for name, value in group.values.items():
                yield f"E\t{name}\t{value}"


def _function(command: Command, api: Api | None, number: int, places: Layout, groups: _Groups) -> Iterator[str]:
    # readers cannot tell a missing rule from the flags of a rule: it is one more flag
    flags = ",".join(sorted(command.flags | ({"no_rule"} if command.uncovered else set()))) or "-"
    provided = ",".join(command.provided_by) or "-"
    where = api.name if api else command.api
    yield f"F\t{number}\t{where}\t{command.name}\t{len(places.w8)}\t{len(places.w4)}\t{flags}\t{provided}"
    if not _is_void(command.returns):
        kind, group = _kind(command.returns, command.returns_group, api, groups)
        yield f"R\t{command.returns.spelling}\t{kind}\t{places.slot('')}\t{group}\t{command.returns_class or '-'}"
        if is_captured(command.returns, command.returns_data):
            data, slot = command.returns_data, places.slot("", "data")
            yield _content(command.returns, data, command.returns_group, slot, api=api, groups=groups)
    for param in command.params:
        kind, group = _kind(param.type, param.group, api, groups)
        own = _slot_of_value(places, param)
        yield f"P\t{param.name}\t{param.type.spelling}\t{kind}\t{own}\t{group}\t{param.object_class or '-'}"
        if is_captured(param.type, param.data):
            slot = places.slot(param.name, "data")
            yield _content(param.type, param.data, param.group, slot, api=api, groups=groups)


def _slot_of_value(places: Layout, param: Param) -> str:
    # The tap's own records hold some contents without their address: the descriptor stands for it.
    has_value = Field(param.name) in places.w8 or Field(param.name) in places.w4
    return places.slot(param.name, "value" if has_value else "data")


def _kind(ctype: CType, group: str | None, api: Api | None, groups: _Groups) -> tuple[str, str]:
    if ctype.indirection:
        return "ptr", "-"
    if ctype.scalar == "ptr":
        return "handle", "-"
    if ctype.scalar not in _INTEGERS:
        return ctype.scalar, "-"
    if ctype.base in ("Bool", "VkBool32") or ctype.base.lower().endswith("boolean"):
        return "bool", "-"
    if group is not None:
        kind = "bitmask" if groups.bitmask(api, group) or ctype.base.endswith("bitfield") else "enum"
        return kind, groups.use(api, group)
    if ctype.base.endswith("bitfield"):
        return "bitmask", "-"
    return _NARROW.get(ctype.scalar, ctype.scalar), "-"


def _content(ctype: CType, data: Data | None, group: str | None, slot: str, *, api: Api | None, groups: _Groups) -> str:
    rule: Data | None = data.otherwise if isinstance(data, BufferOffset) else data
    element, out = _pointee(ctype), not ctype.const
    match rule:
        case Array():
            element, out, group = rule.element or element, rule.out, rule.group or group
        case String():
            element, out = "char", rule.out
        case Strings():
            element, out = "strings", False
        case Image():
            element, out = "pixels", rule.out
        case CompressedImage():
            element, out = "bytes", rule.out
        case AttributeList():
            element, out, group = f"attribs{'64' if ctype.scalar in _WIDE else '32'}", False, rule.group or group
        case Tree():
            assert api is not None
            kind = "tree" if rule.count == "1" else "tree[]"
            element, out = f"{kind}:{api.structs[ctype.base].name}", rule.out
        case TemplateData():
            element, out = "bytes", False
        case Struct():
            element, out = f"struct:{ctype.base.replace(' ', '_')}", rule.out
    named = element in _INTEGERS or element.startswith("attribs")
    of_list = _of_attributes(rule, api, groups) if isinstance(rule, AttributeList) and api is not None else ""
    return f"D\t{slot}\t{element}\t{'out' if out else 'in'}\t{groups.use(api, group) if named else '-'}{of_list}"


def _of_attributes(rule: AttributeList, api: Api, groups: _Groups) -> str:
    """Return the last fields of a list of attributes: those without a value, and enum groups of values."""
    alone = ",".join(str(api.enums[name]) for name in rule.valueless)
    listed = api.groups[rule.group].values if rule.group else {}
    values = ",".join(f"{api.enums[name]}={groups.use(api, g)}" for name, g in rule.values if name in listed)
    return f"\t{alone or '-'}\t{values}" if values else f"\t{alone}" if alone else ""


def _pointee(ctype: CType) -> str:
    if ctype.indirection > 1 or ctype.scalar == "ptr":
        return "ptr"
    return {"void": "bytes", "struct": f"struct:{ctype.base.replace(' ', '_')}"}.get(ctype.scalar, ctype.scalar)


# ---- structures -------------------------------------------------------------------------------------------


def _structures(api: Api, groups: _Groups) -> Iterator[str]:
    for name, struct in api.structs.items():
        if name != struct.name:
            continue
        extends = ",".join(api.structs[base].name for base in struct.extends if base in api.structs) or "-"
        stype = f"{api.enums[struct.stype]}:{struct.stype}" if struct.stype else "-"
        yield f"T\t{name}\t{struct.size}\t{stype}\t{'union' if struct.union else 'struct'}\t{extends}"
        for member in struct.members:
            yield _member(member, api, groups)


def _member(member: Member, api: Api, groups: _Groups) -> str:
    kind, of = _member_kind(member, api)
    # The type of a structure says which one it is: the names of all would be in every recording.
    group = "-" if member.name == "sType" else groups.use(api, member.group)
    count = "-"
    if member.bits:
        count = f"{member.bits[0]}+{member.bits[1]}"
    elif member.lengths:
        count = "x".join(map(str, member.lengths))
    choice = member.selector or ",".join(str(api.enums[name]) for name in member.selections) or "-"
    place = ("M", member.name, member.offset, member.type.spelling, kind, of, count)
    return "\t".join(map(str, (*place, group, member.object_class or "-", choice)))


def _member_kind(member: Member, api: Api) -> tuple[str, str]:
    """Return how a member is to be read, and of what: a scalar, a structure, or what a pointer leads to."""
    ctype, data = member.type, member.data
    if not ctype.indirection:
        if ctype.scalar == "struct":
            return "struct", api.structs[ctype.base].name
        return "value", _scalar_of(ctype, member.group, api)
    element = "ptr" if ctype.indirection > 1 else _scalar_of(ctype, member.group, api)
    match data:
        case Chain():
            return "chain", "-"
        case Tree(count=count):
            return "tree" if count == "1" else "tree[]", api.structs[ctype.base].name
        case Each(of=Tree()):
            return "trees", api.structs[ctype.base].name
        case Each():
            return "arrays", _scalar_of(ctype, member.group, api)
        case String():
            return "string", "-"
        case Strings():
            return "strings", "-"
        case Array():
            return "array", "u8" if element == "void" else element
        case TemplateData():
            return "array", "u8"
        case _:
            return "address", "-"


def _scalar_of(ctype: CType, group: str | None, api: Api) -> str:
    """Return a scalar's kind: its storage, with what it means before it where that is more."""
    stored = ctype.scalar
    if ctype.base == "char":
        return "char"
    if ctype.base == "VkBool32":
        return "bool:u32"
    if stored == "ptr":
        return "handle"
    if group is not None and group != "VkStructureType" and group in api.groups and stored in _INTEGERS:
        return f"{'bitmask' if api.groups[group].bitmask else 'enum'}:{stored}"
    return stored


# ---- the tap's own functions (native/common/ring.h) -------------------------------------------------------

_U64 = CType("uint64_t", "uint64_t", 0, const=False, scalar="u64")
_U32 = CType("uint32_t", "uint32_t", 0, const=False, scalar="u32")
_F64 = CType("double", "double", 0, const=False, scalar="f64")
_BYTES = CType("const void *", "void", 1, const=True, scalar="void")
_TEXT = CType("const char *", "char", 1, const=True, scalar="i8")


def _u64(name: str) -> Param:
    return Param(name, _U64)


def _u32(name: str, *, group: str | None = None, object_class: str | None = None) -> Param:
    return Param(name, _U32, group, object_class)


def _text(name: str) -> Param:
    return Param(name, _TEXT, data=String())


_DATA = Param("data", _BYTES, data=Array("0"))

# id, name, parameters, and whether contents stand there without their address
_TAP: tuple[tuple[int, str, tuple[Param, ...], bool], ...] = (
    (0x3FF1, "dtapOrder", (_u64("order"),), False),
    (0x3FF2, "dtapLongDuration", (_u64("ticks"),), False),
    (
        0x3FF3,
        "dtapContext",
        (
            *(_u64(name) for name in ("handle", "draw", "read")),
            *(_u32("context"), _u32("share_group"), _u32("api", group="dtapApi")),
        ),
        False,
    ),
    (0x3FF4, "dtapMemory", (Param("address", _BYTES, data=Array("0")),), False),
    (
        0x3FF5,
        "dtapMapWrite",
        (_u64("offset"), _DATA, _u32("target", group="GLenum"), _u32("buffer", object_class="buffer")),
        True,
    ),
    (0x3FF6, "dtapNative", (_u64("handle"), _text("kind"), _text("text")), True),
    (0x3FF7, "dtapNote", (_text("code"), _text("text")), True),
    (0x3FF8, "dtapLibrary", (_text("path"), _u64("base")), True),
    (0x3FF9, "dtapMetric", (_text("name"), Param("value", _F64)), True),
    (0x3FFA, "dtapMark", (_text("text"),), True),
    (0x3FFB, "dtapMemoryWrite", (_u64("memory"), _u64("offset"), _DATA), True),
    (0x3FFC, "dtapDeviceWrite", (_u64("memory"), _u64("offset"), _DATA), True),
)
_TAP_GROUP = EnumGroup("dtapApi", {"DTAP_API_UNKNOWN": 0, "DTAP_API_GL": 1, "DTAP_API_GLES": 2, "DTAP_API_VG": 3})
_VOID = CType("void", "void", 0, const=False, scalar="void")


@cache
def tap_functions() -> tuple[tuple[int, Command, Layout], ...]:
    """Return the tap's own functions: id, description and layout."""
    functions = []
    for number, name, params, bare in _TAP:
        command = Command(name=name, api="drawtap", returns=_VOID, params=params, flags=frozenset({"tap"}))
        places = layout(command)
        if bare:
            w8 = tuple(f for f in places.w8 if f.role == "data" or not command.param(f.param).type.indirection)
            places = Layout(w8, places.w4)
        functions.append((number, command, places))
    return tuple(functions)


def tap_signatures(groups: _Groups) -> Iterator[str]:
    """Yield the signature lines of the tap's own functions."""
    yield f"G\t{_TAP_GROUP.name}\tenum"
    for name, value in _TAP_GROUP.values.items():
        yield f"E\t{name}\t{value}"
    for number, command, places in tap_functions():
        for line in _function(command, None, number, places, groups):
            yield _tap_line(line, command, groups)


def _tap_line(line: str, command: Command, groups: _Groups) -> str:
    """Put in the groups of a parameter of the tap: they are no API's."""
    if not line.startswith("P\t"):
        return line
    fields = line.split("\t")
    group = command.param(fields[1]).group
    if group == _TAP_GROUP.name:
        fields[3], fields[5] = "enum", group
    elif group is not None:
        fields[3], fields[5] = "enum", groups.anywhere(group)
    return "\t".join(fields)
