"""Read Vulkan's registry: vk.xml, with video.xml beside it for the structures of video codecs.

Its form differs from the older registries': structures have members, arrays name their lengths, chains of extensions
say what they extend. Layouts are those of 64-bit Linux. The model leaves out other
systems, Vulkan SC, and types that no version and no extension requires.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from drawtap.errors import InputError
from drawtap.spec import expr
from drawtap.spec.model import (
    Array,
    Chain,
    Command,
    CType,
    Data,
    Each,
    EnumGroup,
    Feature,
    HandleType,
    Member,
    Opaque,
    Param,
    Registry,
    String,
    Strings,
    StructType,
    Tree,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

Element = ElementTree.Element

# Window systems and other platforms that Linux has; extensions of the others are left out.
PLATFORMS = frozenset({"xlib", "xlib_xrandr", "xcb", "wayland", "directfb", "ubm", "provisional"})

# Types from other headers: (how a value is stored, C declaration). Those without one are only ever pointed to.
_EXTERNAL: Mapping[str, tuple[str, str]] = {
    "Display": ("struct", "typedef struct _XDisplay Display;"),
    "VisualID": ("u64", "typedef unsigned long VisualID;"),
    "Window": ("u64", "typedef unsigned long Window;"),
    "RROutput": ("u64", "typedef unsigned long RROutput;"),
    "xcb_connection_t": ("struct", "typedef struct xcb_connection_t xcb_connection_t;"),
    "xcb_visualid_t": ("u32", "typedef uint32_t xcb_visualid_t;"),
    "xcb_window_t": ("u32", "typedef uint32_t xcb_window_t;"),
    "wl_display": ("struct", "struct wl_display;"),
    "wl_surface": ("struct", "struct wl_surface;"),
    "ubm_device": ("struct", "struct ubm_device;"),
    "ubm_surface": ("struct", "struct ubm_surface;"),
    "IDirectFB": ("struct", "typedef struct _IDirectFB IDirectFB;"),
    "IDirectFBSurface": ("struct", "typedef struct _IDirectFBSurface IDirectFBSurface;"),
}
_BASIC: Mapping[str, str] = {
    "void": "void", "char": "i8", "float": "f32", "double": "f64", "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16",
    "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "size_t": "u64",
    "int": "i32",
}  # fmt: skip
_BYTES: Mapping[str, int] = {
    "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8, "ptr": 8,
}  # fmt: skip


def read(root: Element, path: Path, name: str, origin: str) -> Registry:
    """Return the content of vk.xml, whose root is `root`.

    Raises InputError where the file is malformed, or where video.xml is not there.
    """
    try:
        video = ElementTree.fromstring((path.parent / "video.xml").read_bytes())
    except (OSError, ElementTree.ParseError) as error:
        raise InputError(f"cannot read the registry {path.parent / 'video.xml'}: {error}") from None
    return _Reader(root, video, name).registry(origin)


@dataclass(frozen=True, slots=True)
class _Declaration:
    """A parameter or a member as C declares it."""

    name: str
    type: CType
    lengths: tuple[int, ...]
    width: int | None  # of a bit-field
    element: Element


@dataclass
class _Reader:
    root: Element
    video: Element
    name: str
    constants: dict[str, int] = field(default_factory=dict)
    enums: dict[str, int] = field(default_factory=dict)
    groups: dict[str, EnumGroup] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    handles: dict[str, HandleType] = field(default_factory=dict)
    structs: dict[str, StructType] = field(default_factory=dict)
    _types: dict[str, Element] = field(default_factory=dict)
    _group_of: dict[str, str] = field(default_factory=dict)

    def registry(self, origin: str) -> Registry:
        self._read_types()
        features, extensions = self._features()
        self._read_enums([*self._required(features), *self._required(extensions)])
        providers: dict[str, dict[str, None]] = {}
        made_features = _merged([self._feature(e) for e in features])
        base = {e.get("name", ""): None for block in self.root.findall("enums") for e in block.findall("enum")}
        first = made_features[0]  # the enumerants that stand with their types came with the first version
        every = {"": tuple({**base, **dict.fromkeys(first.enums[""])})}
        made_features = (replace(first, enums=every), *made_features[1:])
        made_extensions = tuple(self._feature(e) for e in extensions)
        for each in (*made_features, *made_extensions):
            for command in each.commands.get("", ()):
                providers.setdefault(command, {})[each.name] = None
        commands = dict(self._commands(providers))
        blocks = (*self._required(features), *self._required(extensions))
        types = {t.get("name", "") for block, _ in blocks for t in block.findall("type")}
        for name in sorted(types):
            self._struct(name)
        return Registry(
            name=self.name,
            commands=commands,
            groups=self.groups,
            enums=self.enums,
            features=made_features,
            extensions=made_extensions,
            typedefs=self._typedefs(),
            origin=origin,
            structs=self.structs,
            handles={name: handle for name, handle in self.handles.items() if name in types},
        )

    # -- which parts of the registry count

    def _features(self) -> tuple[list[Element], list[Element]]:
        features = [e for e in self.root.findall("feature") if _ours(e)]
        extensions = [
            e
            for e in self.root.findall("extensions/extension")
            if "vulkan" in e.get("supported", "").split(",") and (e.get("platform") or "provisional") in PLATFORMS
        ]
        return features, extensions

    def _required(self, elements: Iterable[Element]) -> list[tuple[Element, str]]:
        """Return the blocks of what versions and extensions require, each with its extension's number."""
        return [(b, e.get("number", "")) for e in elements for b in e.findall("require") if _ours(b)]

    def _feature(self, element: Element) -> Feature:
        commands: dict[str, None] = {}
        enums: dict[str, None] = {}
        for block, _ in self._required([element]):
            commands.update((c.get("name", ""), None) for c in block.findall("command") if _ours(c))
            enums.update((e.get("name", ""), None) for e in block.findall("enum") if _ours(e))
        version = element.tag == "feature"
        return Feature(
            name=element.get("name", ""),
            api=self.name,
            number=element.get("number", "") if version else "",
            supported=() if version else (self.name,),
            commands={"": tuple(commands)},
            enums={"": tuple(enums)},
        )

    # -- types

    def _read_types(self) -> None:
        self.scalars.update(_BASIC)
        self.scalars.update((name, stored) for name, (stored, _) in _EXTERNAL.items())
        for element in (*self.root.findall("types/type"), *self.video.findall("types/type")):
            if not _ours(element) or element.get("category") is None:
                continue  # a type of another header: _EXTERNAL and video.xml know them
            name = element.get("name") or element.findtext("name") or element.findtext("proto/name") or ""
            self._types.setdefault(name, element)
            self._learn(name, element)
        for element in (*self.root.findall("enums"), *self.video.findall("enums")):
            if element.get("type") in ("enum", "bitmask"):
                wide = element.get("bitwidth") == "64"
                self.scalars[element.get("name", "")] = (
                    "u64" if wide else "i32" if element.get("type") == "enum" else "u32"
                )

    def _learn(self, name: str, element: Element) -> None:
        category = element.get("category")
        if category in ("struct", "union"):
            self.scalars[name] = "struct"
        elif category == "handle":
            alias = element.get("alias")
            kind = element.findtext("type") or ""
            self.scalars[name] = "ptr"
            if alias is None:
                self.handles[name] = HandleType(
                    name, kind == "VK_DEFINE_HANDLE", element.get("parent"), element.get("objtypeenum")
                )
        elif category == "funcpointer":
            self.scalars[name] = "ptr"
        elif category == "bitmask":
            target = element.get("alias") or name
            base = element.findtext("type") or (self._types[target].findtext("type") if target in self._types else "")
            self.scalars[name] = "u64" if base == "VkFlags64" else "u32"
            bits = element.get("requires") or element.get("bitvalues")
            if bits:
                self._group_of[name] = bits
            elif element.get("alias"):
                self._group_of[name] = self._group_of.get(target, target)
        elif category == "basetype":
            text = "".join(element.itertext())
            match = re.fullmatch(r"typedef\s+(\w+)\s*(\*?)\s*\w+;", text.strip())
            if match is not None:
                self.scalars[name] = "ptr" if match[2] else self.scalars.get(match[1], "")
        elif category == "enum":
            self.scalars.setdefault(name, "i32")
            if element.get("alias"):
                self._group_of[name] = element.get("alias", "")

    def _declaration(self, element: Element) -> _Declaration:
        before, after, name = [element.text or ""], "", ""
        for child in element:
            if child.tag == "name":
                name = (child.text or "").strip()
                after += child.tail or ""
            elif name:
                after += ("" if child.tag == "comment" else child.text or "") + (child.tail or "")
            else:
                before += [child.text or "", child.tail or ""]
        if not name:
            raise InputError(f"the registry has a declaration without a name: {''.join(before).strip()}")
        lengths = tuple(self._number(text) for text in re.findall(r"\[\s*(\w+)\s*\]", after))
        width = re.search(r":\s*(\d+)", after)
        return _Declaration(name, self._ctype("".join(before)), lengths, int(width[1]) if width else None, element)

    def _ctype(self, text: str) -> CType:
        spelling = re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text).strip()).replace("* *", "**")
        base = re.sub(r"\b(const|struct)\b", "", spelling.split("*", 1)[0]).strip()
        scalar = self.scalars.get(base)
        if not scalar:
            raise InputError(f"the registry uses the type {base!r}, which it does not declare")
        const = re.search(r"\bconst\b", spelling.split("*", 1)[0]) is not None
        return CType(spelling, base, spelling.count("*"), const, scalar)

    def _number(self, text: str) -> int:
        value = self.constants.get(text)
        if value is None:
            value = self._constant(text)
        return value

    def _constant(self, text: str) -> int:
        """Return a number, or the value of a constant that a fixed array names as its length."""
        if text.isdigit():
            return int(text)
        for root in (self.root, self.video):
            for element in root.iter("enum"):
                if element.get("name") == text and element.get("value", "").isdigit():
                    self.constants[text] = int(element.get("value", ""))
                    return self.constants[text]
        raise InputError(f"the registry has an array of the unknown length {text}")

    # -- structures

    def _struct(self, name: str) -> StructType | None:
        """Return the structure or union of that name with its layout, and learn those that it has as members."""
        if name in self.structs:
            return self.structs[name]
        element = self._types.get(name)
        if element is None or element.get("category") not in ("struct", "union"):
            return None
        alias = element.get("alias")
        if alias is not None:
            made = self._struct(alias)
            if made is not None:
                self.structs[name] = made
            return made
        declared = [self._declaration(e) for e in element.findall("member") if _ours(e)]
        union = element.get("category") == "union"
        placed = _Layout(union=union)
        for each in declared:
            placed.add(each, *self._size(each.type))
        members = tuple(self._member(d, place, declared) for d, place in zip(declared, placed.places, strict=True))
        first = declared[0].element.get("values") if declared and declared[0].name == "sType" else None
        made = StructType(
            name=name,
            members=members,
            size=placed.total(),
            align=placed.align,
            union=union,
            stype=first,
            extends=tuple(e for e in element.get("structextends", "").split(",") if e),
            returned_only=element.get("returnedonly") == "true",
        )
        self.structs[name] = made
        for each in declared:  # what is only pointed to may point back: after this one is known
            self._struct(each.type.base)
        return made

    def _size(self, ctype: CType) -> tuple[int, int]:
        """Return bytes and alignment of a value."""
        if ctype.indirection:
            return 8, 8
        if ctype.scalar == "struct":
            inner = self._struct(ctype.base)
            if inner is None:
                raise InputError(f"the registry has a member of the type {ctype.base}, whose layout nothing tells")
            return inner.size, inner.align
        return _BYTES[ctype.scalar], _BYTES[ctype.scalar]

    def _member(self, declared: _Declaration, place: _Place, siblings: list[_Declaration]) -> Member:
        element = declared.element
        return Member(
            name=declared.name,
            type=declared.type,
            offset=place.offset,
            size=place.size,
            lengths=declared.lengths,
            bits=place.bits,
            group=self._group(declared.type),
            object_class=self._class(declared.type),
            data=self._data(declared, siblings, member=True),
            unsure=element.get("noautovalidity") == "true"
            and (declared.type.indirection > 0 or declared.type.base in self.handles)
            and declared.name != "pNext",
            optional=element.get("optional", "").startswith("true"),
            selector=element.get("selector"),
            selections=tuple(s for s in element.get("selection", "").split(",") if s),
        )

    # -- what a pointer points to

    def _data(self, declared: _Declaration, siblings: list[_Declaration], *, member: bool) -> Data | None:
        ctype, element = declared.type, declared.element
        if not ctype.indirection:
            return None
        if declared.name == "pNext":
            return Chain(out=not ctype.const)
        if ctype.base in _EXTERNAL and ctype.scalar == "struct":
            return Opaque("an object of the window system")
        length = element.get("altlen") or element.get("len") or ""
        if length.startswith("*"):
            return None  # "*_max_sub_layers_minus1 + 1": the count stands in whichever structure points here
        counts = [_c_to_rule(c) for c in length.split(",") if c]
        known = {d.name: d for d in siblings}
        count = self._count(counts[0], known) if counts else None
        if ctype.base == "char":
            return _characters(ctype, count, counts)
        if ctype.indirection == 2 and len(counts) == 2 and counts[1] == "1" and count:
            inner = Tree("1") if ctype.scalar == "struct" else Array("1")
            return Each(count, inner)
        if ctype.indirection > 1 or (ctype.scalar == "void" and count is None):
            return None  # a rule by hand says what it is
        out = not ctype.const
        count = count or "1"
        actual = count if out and count.startswith("deref(") and not member else None
        if ctype.scalar == "struct":
            return Tree(count, out=out, actual=actual, stride=element.get("stride"))
        return Array(count, out=out, actual=actual)

    def _count(self, text: str, known: Mapping[str, _Declaration]) -> str | None:
        if text == "null-terminated":
            return None
        target = known.get(text)
        return f"deref({text})" if target is not None and target.type.indirection else text

    def _group(self, ctype: CType) -> str | None:
        name = self._group_of.get(ctype.base, ctype.base)
        return name if name in self.groups and ctype.scalar in ("i32", "u32", "u64") else None

    def _class(self, ctype: CType) -> str | None:
        return ctype.base if ctype.base in self.handles else None

    # -- enumerants

    def _read_enums(self, required: list[tuple[Element, str]]) -> None:
        members: dict[str, dict[str, int]] = {}
        bitmasks: set[str] = set()
        for block in (*self.root.findall("enums"), *self.video.findall("enums")):
            group = block.get("name", "") if block.get("type") in ("enum", "bitmask") else ""
            if block.get("type") == "bitmask":
                bitmasks.add(group)
            for element in block.findall("enum"):
                self._enumerant(element, group, members)
        for block, number in required:
            for element in block.findall("enum"):
                if _ours(element):
                    self._enumerant(element, element.get("extends", ""), members, number)
        self.groups = {g: EnumGroup(g, values, g in bitmasks) for g, values in members.items() if g}

    def _enumerant(self, element: Element, group: str, members: dict[str, dict[str, int]], number: str = "") -> None:
        name = element.get("name", "")
        value = _value(element, number)
        if value is None and element.get("alias"):
            value = self.enums.get(element.get("alias", ""))
        if value is None:
            return  # text, a number with a point, or an enumerant that something else requires
        self.enums.setdefault(name, value)
        if group and element.get("alias") is None:
            members.setdefault(group, {}).setdefault(name, value)

    # -- commands

    def _commands(self, providers: Mapping[str, Mapping[str, None]]) -> Iterator[tuple[str, Command]]:
        elements = [e for e in self.root.findall("commands/command") if _ours(e)]
        own = {e.findtext("proto/name") or "": e for e in elements if e.get("alias") is None}
        aliases = {e.get("name", ""): e.get("alias", "") for e in elements if e.get("alias") is not None}
        needed = [name for name in own if name in providers or name in aliases.values()]
        made = {name: self._command(name, own[name], providers) for name in needed}
        for name, command in made.items():
            if name in providers:
                yield name, command
        for name, target in aliases.items():
            if name in providers and target in made:
                yield name, replace(made[target], name=name, alias=target, provided_by=tuple(providers[name]))

    def _command(self, name: str, element: Element, providers: Mapping[str, Mapping[str, None]]) -> Command:
        proto = element.find("proto")
        if proto is None:
            raise InputError("the registry has a command without <proto>")
        returns = self._declaration(proto).type
        declared = [self._declaration(e) for e in element.findall("param") if _ours(e)]
        self._struct(returns.base)
        for each in declared:
            self._struct(each.type.base)
        return Command(
            name=name,
            api=self.name,
            returns=returns,
            params=tuple(self._param(d, declared) for d in declared),
            returns_group=self._group(returns),
            returns_class=self._class(returns),
            provided_by=tuple(providers.get(name, ())),
        )

    def _param(self, declared: _Declaration, siblings: list[_Declaration]) -> Param:
        ctype = declared.type
        data = self._data(declared, siblings, member=False)
        if declared.lengths:  # "float blendConstants[4]": a pointer, as C has it
            spelling = f"{ctype.spelling} *"
            ctype = CType(spelling, ctype.base, ctype.indirection + 1, ctype.const, ctype.scalar)
            data = Array(str(declared.lengths[0]), out=not ctype.const)
        return Param(
            name=declared.name,
            type=ctype,
            group=self._group(declared.type),
            object_class=self._class(declared.type),
            registry_len=declared.element.get("len"),
            data=data,
            optional=declared.element.get("optional", "").startswith("true"),
        )

    # -- C text

    def _typedefs(self) -> str:
        lines = ["#include <stddef.h>", "#include <stdint.h>", *(text for _, text in _EXTERNAL.values())]
        lines += [f"typedef struct {name}_T *{name};" for name in self.handles]
        spelled = {stored: base for base, stored in reversed(list(_BASIC.items()))} | {"ptr": "void *"}
        for name, element in self._types.items():
            category, stored = element.get("category"), self.scalars.get(name)
            if category == "handle" and name not in self.handles:
                lines.append(f"typedef {element.get('alias')} {name};")
            elif category in ("bitmask", "basetype", "funcpointer", "enum") and stored and name not in _EXTERNAL:
                lines.append(f"typedef {spelled[stored]} {name};")
        named = {id(made): name for name, made in reversed(list(self.structs.items()))}
        lines += [f"typedef {'union' if self.structs[n].union else 'struct'} {n} {n};" for n in named.values()]
        lines += [f"typedef {made.name} {n};" for n, made in self.structs.items() if n != made.name]
        done: set[str] = set()
        for made in self.structs.values():
            self._define(made, done, lines)
        return "\n".join(lines) + "\n"

    def _define(self, made: StructType, done: set[str], lines: list[str]) -> None:
        if made.name in done:
            return
        done.add(made.name)
        for each in made.members:
            if not each.type.indirection and each.type.scalar == "struct":
                self._define(self.structs[each.type.base], done, lines)
        lines.append(f"{'union' if made.union else 'struct'} {made.name} {{")
        for each in made.members:
            length = "".join(f"[{n}]" for n in each.lengths)
            bits = f" : {each.bits[1]}" if each.bits else ""
            gap = "" if each.type.spelling.endswith("*") else " "
            lines.append(f"  {each.type.spelling}{gap}{each.name}{length}{bits};")
        lines.append("};")


# ---- layout -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    offset: int
    size: int
    bits: tuple[int, int] | None


@dataclass
class _Layout:
    """Places the members of a structure as the System V ABI of 64-bit systems does."""

    union: bool
    places: list[_Place] = field(default_factory=list)
    align: int = 1
    _end: int = 0  # bytes in use
    _bit: int = 0  # bits in use of a unit of bit-fields that is open, counted from the start of the structure

    def add(self, declared: _Declaration, size: int, align: int) -> None:
        self.align = max(self.align, align)
        if declared.width is not None and not self.union:
            self._add_bits(declared.width, size)
            return
        count = 1
        for length in declared.lengths:
            count *= length
        start = 0 if self.union else _up(self._end, align)
        self.places.append(_Place(start, size * count, None))
        self._end = max(self._end, start + size * count)
        self._bit = self._end * 8

    def _add_bits(self, width: int, size: int) -> None:
        first = max(self._bit, self._end * 8) if self._bit <= self._end * 8 - 8 else self._bit
        unit = size * 8
        if first // unit != (first + width - 1) // unit:
            first = _up(first, unit)
        offset = first // unit * size
        self.places.append(_Place(offset, size, (first - offset * 8, width)))
        self._bit = first + width
        self._end = max(self._end, (self._bit + 7) // 8)

    def total(self) -> int:
        return _up(max(self._end, 1), self.align)


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align


# ---- small readings ---------------------------------------------------------------------------------------


def _ours(element: Element) -> bool:
    """Tell whether an element is there for Vulkan proper, not for Vulkan SC alone."""
    apis = element.get("api")
    return apis is None or bool({"vulkan", "vulkanbase"} & set(apis.split(",")))


def _merged(features: list[Feature]) -> tuple[Feature, ...]:
    """Join the parts that newer registries split a version into: one feature for each number."""
    joined: dict[str, Feature] = {}
    for each in features:
        known = joined.get(each.number)
        if known is None:
            joined[each.number] = replace(each, name=f"VK_VERSION_{each.number.replace('.', '_')}")
            continue
        commands = dict.fromkeys((*known.commands[""], *each.commands[""]))
        enums = dict.fromkeys((*known.enums[""], *each.enums[""]))
        joined[each.number] = replace(known, commands={"": tuple(commands)}, enums={"": tuple(enums)})
    return tuple(joined.values())


def _c_to_rule(text: str) -> str:
    """Turn a length as the registry writes it in C into a rule."""
    text = re.sub(r"\s*/\s*", " // ", text.strip().replace("->", "."))
    return text if text == "null-terminated" else expr.tidy(text)


def _characters(ctype: CType, count: str | None, counts: list[str]) -> Data | None:
    if ctype.indirection == 2:
        return Strings(count) if count else None
    if ctype.const:
        return String(length=count)
    return String(out=True, capacity=count) if count or counts else None


def _value(element: Element, number: str) -> int | None:
    """Return an enumerant's value: plain, a bit, or counted from an extension's number."""
    if element.get("bitpos") is not None:
        return 1 << int(element.get("bitpos", ""))
    if element.get("offset") is not None:
        extension = int(element.get("extnumber") or number)
        value = 1_000_000_000 + (extension - 1) * 1000 + int(element.get("offset", ""))
        return -value if element.get("dir") == "-" else value
    text = element.get("value", "")
    match = re.fullmatch(r"\(~(\d+)(U|ULL)(?:-(\d+))?\)", text)
    if match is not None:
        return (1 << (64 if match[2] == "ULL" else 32)) - 1 - int(match[1]) - int(match[3] or 0)
    try:
        return int(text, 0)
    except ValueError:
        return None
