"""Generate the tables by which the tap copies structures with all that they point to (native/runtime/vulkan/tree.h)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from drawtap.spec import expr
from drawtap.spec.checks import expressions
from drawtap.spec.model import (
    Api,
    Array,
    Chain,
    Command,
    CType,
    Each,
    Member,
    Opaque,
    String,
    Strings,
    StructType,
    TemplateData,
    Tree,
)

_BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8, "ptr": 8}
_ALWAYS = 0xFFFF
_STYPE_BITS = 12


def own_structs(api: Api) -> dict[str, StructType]:
    """Return the structures by their own names: without aliases."""
    return {name: struct for name, struct in api.structs.items() if name == struct.name}


def handle_numbers(api: Api) -> dict[str, int]:
    """Return the numbers of the types of handles."""
    return {name: number for number, name in enumerate(api.handles)}


def number_name(struct: str, api: Api) -> str:
    """Return the C++ name of a structure's number."""
    return f"dt::tree::TYPE_{api.structs[struct].name}"


def outer_command(struct: StructType, api: Api) -> Command | None:
    """Return the command whose parameters the rules of a structure read as `outer`, if one does."""
    outer = _outer(struct, api)
    return outer if isinstance(outer, Command) else None


def numbers(api: Api) -> str:
    """Return the C++ that names the numbers of the structures."""
    rows = ", ".join(f"TYPE_{name}" for name in own_structs(api))
    return f"namespace dt::tree {{ enum : uint16_t {{ {rows} }}; }}\n"


def tables(api: Api, header: str = "module_vk.h", *, handles: bool = False) -> str:
    """Return the C++ of the tables and of the rules, behind an include of `header`.

    With `handles` they say where handles stand, too.
    """
    made = _Tables(api, handles)
    rows: list[str] = []
    types: list[str] = []
    structs = own_structs(api)
    for struct in structs.values():
        first = len(rows)
        rows += list(made.members(struct))
        types.append(f"  {{{struct.size}, {first}, {len(rows) - first}}},  // {struct.name}")
    stypes = [api.enums[s.stype] if s.stype else -1 for s in structs.values()]
    places = [0] * (1 << _STYPE_BITS)
    for number, struct in enumerate(structs.values()):
        if struct.stype:
            place = (api.enums[struct.stype] * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - _STYPE_BITS)
            while places[place]:
                place = (place + 1) % len(places)
            places[place] = number + 1
    return "\n".join(
        [
            "// Generated. Structures and what their pointers lead to.",
            f'#include "{header}"',
            "#include <stddef.h>",
            *_assertions(structs),
            "namespace dt::tree {",
            "const Member MEMBERS[] = {",
            *rows,
            "};",
            "const Type TYPES[] = {",
            *types,
            "};",
            f"const int32_t STYPES[] = {{{', '.join(map(str, stypes))}}};",
            f"static_assert(STYPE_BITS == {_STYPE_BITS});",
            f"const uint16_t BY_STYPE[] = {{{', '.join(map(str, places))}}};",
            *made.rule_functions(),
            "}  // namespace dt::tree",
            "",
        ]
    )


def _assertions(structs: Mapping[str, StructType]) -> Iterator[str]:
    for name, struct in structs.items():
        yield f"static_assert(sizeof({name}) == {struct.size});"
        for member in struct.members:
            if member.bits is None:
                yield f"static_assert(offsetof({name}, {member.name}) == {member.offset});"


@dataclass
class _Tables:
    api: Api
    handles: bool
    rules: dict[tuple[str, str], int] = field(default_factory=dict)  # of a structure, by text
    _deep: dict[str, bool] = field(default_factory=dict)

    def members(self, struct: StructType) -> Iterator[str]:
        """Yield a row for each member that has pointers."""
        if struct.union:
            return  # whoever has it knows which member counts
        for member in struct.members:
            inner = self.api.structs.get(member.type.base) if not member.type.indirection else None
            if inner is not None and inner.union and member.selector:
                for choice in inner.members:
                    yield from self._row(struct, choice, member.offset, _selected(member.selector, choice))
            else:
                yield from self._row(struct, member, 0, member.when)

    def _row(self, struct: StructType, member: Member, base: int, when: str | None) -> Iterator[str]:
        offset, data = base + member.offset, member.data
        condition = self._rule(struct, when) if when is not None else _ALWAYS
        if not member.type.indirection:
            inner = self.api.structs.get(member.type.base)
            if inner is not None and not inner.union and self._has_pointers(inner):
                row = _Row(member, offset, condition)
                yield row.text("EMBEDDED", number=self._order[inner.name], count=prod(member.lengths))
            elif member.object_class and member.object_class in self._kinds:
                row = _Row(member, offset, condition, "PROBE" if member.unsure else "0")
                yield row.text("HANDLE", number=self._kinds[member.object_class], count=prod(member.lengths))
            return
        flags = "PROBE" if member.unsure and member.when is None else "0"
        flags += " | OUT" if getattr(data, "out", False) and not isinstance(data, Chain) else ""
        sure = not (member.unsure or member.optional or "OUT" in flags) and member in struct.members
        flags += " | NEEDED" if self.handles and sure and not isinstance(data, Chain) else ""
        row = _Row(member, offset, condition, flags)
        match data:
            case Chain():
                yield row.text("CHAIN")
            case Tree(count=count):
                number = self._order[self.api.structs[member.type.base].name]
                yield row.text("TREE", number=number, count=self._count(struct, count))
            case Array(count=count):
                kind = self._kinds.get(member.object_class or "", 0)
                if member.object_class in self._kinds and member.type.indirection == 1:
                    row = replace(row, flags=f"{flags} | HANDLES")
                width = element_bytes(member.type, data)
                yield row.text("ARRAY", element=width, number=kind, count=self._count(struct, count))
            case String(length=length):
                yield row.text("STRING", count=self._rule(struct, length) if length else _ALWAYS)
            case Strings(count=count):
                yield row.text("STRINGS", count=self._count(struct, count))
            case Each(count=count, of=Tree()):
                number = self._order[self.api.structs[member.type.base].name]
                yield row.text("TREES", number=number, count=self._count(struct, count))
            case Each(count=count, of=Array()):
                width = _BYTES.get(member.type.scalar, 1)
                yield row.text("ARRAYS", element=width, count=self._count(struct, count))
            case TemplateData(update=update):
                yield row.text("TEMPLATE", count=self._rule(struct, update))
            case Opaque():
                return
            case _:
                raise AssertionError(f"{struct.name}.{member.name}: no row for {data!r}")

    def _count(self, struct: StructType, text: str) -> int:
        return _ALWAYS if text == "1" else self._rule(struct, text)

    def _rule(self, struct: StructType, text: str) -> int:
        return self.rules.setdefault((struct.name, text), len(self.rules))

    def __post_init__(self) -> None:
        self._order = {name: number for number, name in enumerate(own_structs(self.api))}
        self._kinds = handle_numbers(self.api) if self.handles else {}

    def _has_pointers(self, struct: StructType) -> bool:
        if struct.name not in self._deep:
            self._deep[struct.name] = False  # structures do not contain themselves
            self._deep[struct.name] = any(True for _ in self.members(struct))
        return self._deep[struct.name]

    def rule_functions(self) -> Iterator[str]:
        """Yield the C++ of the rules: one switch, so that nothing of it has to be relocated."""
        yield "int64_t rule(uint16_t number, const void* a, const void* b) {"
        yield "  switch (number) {"
        for (name, text), number in self.rules.items():
            struct = self.api.structs[name]
            lines = [f"[[maybe_unused]] const auto* self = (const {name}*)a;"]
            outer: Command | StructType = struct
            if any(path[0] == "outer" for path in expr.paths(text)):
                outer = _outer(struct, self.api) or struct
                lines += list(_outer_locals(outer, text))
            lines.append(f"return {expr.struct_to_cpp(text, struct, self.api, outer)};")
            yield f"    case {number}: {{ {' '.join(lines)} }}"
        yield "    default: return 0;"
        yield "  }"
        yield "}"


def element_bytes(ctype: CType, array: Array) -> int:
    """Return the bytes of one element that a pointer of this type points to; of nothing known, 1."""
    return 8 if ctype.indirection > 1 else _BYTES.get(array.element or ctype.scalar, 1)


@dataclass(frozen=True)
class _Row:
    """A row of the table: a member that has pointers. `count` and `when` are numbers of rules."""

    member: Member
    offset: int
    when: int
    flags: str = "0"

    def text(self, kind: str, *, element: int = 0, number: int = 0, count: int = _ALWAYS) -> str:
        """Return its C++."""
        values = (self.offset, element, number, count, self.when, kind, self.flags)
        return f"  {{{', '.join(map(str, values))}}},  // {self.member.name}"


def _selected(selector: str, choice: Member) -> str:
    return " or ".join(f"{selector} == {name}" for name in choice.selections) or "0"


def _outer_locals(outer: Command | StructType, text: str) -> Iterator[str]:
    if isinstance(outer, StructType):
        yield f"const auto* outer = (const {outer.name}*)b;"
        return
    yield "if (!b) return 0;"
    wanted = {path[1] for path in expr.paths(text) if path[0] == "outer"}
    for place, param in enumerate(outer.params):
        if param.name in wanted:
            yield f"const auto {param.name} = ({param.type.spelling})((const uint64_t*)b)[{place}];"


def _outer(struct: StructType, api: Api) -> Command | StructType | None:
    """Return what leads to a structure and has all that its rules read there; None: its rules read nothing."""
    texts = [text for member in struct.members for text in _texts(member)]
    wanted = {path[1] for text in texts for path in expr.paths(text) if path[0] == "outer"}
    if not wanted:
        return None
    for command in api.commands.values():
        names = {p.name for p in command.params}
        if command.alias is None and wanted <= names and any(p.type.base == struct.name for p in command.params):
            return command
    for leading in own_structs(api).values():
        names = {m.name for m in leading.members}
        if wanted <= names and any(m.type.base == struct.name for m in leading.members):
            return leading
    raise AssertionError(f"nothing that leads to {struct.name} has {', '.join(sorted(wanted))}")


def _texts(member: Member) -> Iterator[str]:
    yield from expressions(member.data)
    if member.when:
        yield member.when
