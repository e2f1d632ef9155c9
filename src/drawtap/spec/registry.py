"""Read a Khronos registry (XML) into model values, and load an API: its registry with its overlay applied.

Both generations of the format are understood: one group per parameter or several separated by commas,
groups listed under <groups> or named by the enumerants themselves.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from drawtap import plugins
from drawtap.errors import InputError
from drawtap.spec import vulkan
from drawtap.spec.model import Api, Command, CType, EnumGroup, Feature, Param, Registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from drawtap.spec.overlay import Overlay

XML = Path(__file__).parent / "xml"

# An API is a module of `drawtap.spec.apis`, or of a plug-in, that registers its overlay.
OVERLAYS: plugins.Registry[Overlay] = plugins.Registry("API", "drawtap.spec.apis")


@cache
def load_api(name: str) -> Api:
    """Load an API ("gl", "egl", "glx", "vg" with VGU, "toy"): its registry with its overlay applied.

    Cached. Raises UsageError for an unknown name and SpecError where overlay and registry disagree.
    """
    overlay = OVERLAYS.get(name)
    return overlay.apply(read_registry(XML / overlay.xml, name))


@cache
def recorded_apis() -> tuple[str, ...]:
    """Return the APIs that are recorded unless the user chooses others; OpenGL comes first."""
    return tuple(sorted((n for n, overlay in OVERLAYS.items() if overlay.recorded), key=lambda n: (n != "gl", n)))


def read_registry(path: Path, name: str) -> Registry:
    """Parse the registry at `path`. Raises InputError where it is missing or malformed."""
    try:
        content = path.read_bytes()
        root = ElementTree.fromstring(content)
    except (OSError, ElementTree.ParseError) as error:
        raise InputError(f"cannot read the registry {path}: {error}") from None
    digest = hashlib.sha256(content).hexdigest()
    origin = f"{path.name}, sha256 {digest}"
    if root.find("types/type/member") is not None:  # structures with members: the form of Vulkan's registry
        return vulkan.read(root, path, name, origin)
    types = _Types(root)
    enums, groups = _enums(root, name)
    features = tuple(_feature(e, e.get("api", name)) for e in root.findall("feature"))
    extensions = tuple(_feature(e, name) for e in root.findall("extensions/extension"))
    providers = _providers((*features, *extensions))
    commands = dict(_commands(root, types, groups, providers))
    return Registry(name, commands, groups, enums, features, extensions, types.text(), origin)


# ---- types ------------------------------------------------------------------------------------------------

_SCALARS: dict[str, str] = {
    "char": "i8", "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16",
    "int": "i32", "signed int": "i32", "unsigned int": "u32", "unsigned": "u32", "long": "i64", "unsigned long": "u64",
    "long long": "i64", "float": "f32", "double": "f64", "void": "void",
    "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32",
    "int64_t": "i64", "uint64_t": "u64", "intptr_t": "i64", "uintptr_t": "u64", "size_t": "u64",
    "unsigned long long int": "u64", "signed long long int": "i64", "long int": "i64", "unsigned long int": "u64",
}  # fmt: skip

# Types that the registries take from elsewhere, as the LP64 systems declare them.
_EXTERNAL: dict[str, str] = {
    "khronos_int8_t": "typedef int8_t khronos_int8_t;",
    "khronos_uint8_t": "typedef uint8_t khronos_uint8_t;",
    "khronos_int16_t": "typedef int16_t khronos_int16_t;",
    "khronos_uint16_t": "typedef uint16_t khronos_uint16_t;",
    "khronos_int32_t": "typedef int32_t khronos_int32_t;",
    "khronos_uint32_t": "typedef uint32_t khronos_uint32_t;",
    "khronos_int64_t": "typedef int64_t khronos_int64_t;",
    "khronos_uint64_t": "typedef uint64_t khronos_uint64_t;",
    "khronos_float_t": "typedef float khronos_float_t;",
    "khronos_intptr_t": "typedef long khronos_intptr_t;",
    "khronos_uintptr_t": "typedef unsigned long khronos_uintptr_t;",
    "khronos_ssize_t": "typedef long khronos_ssize_t;",
    "khronos_usize_t": "typedef unsigned long khronos_usize_t;",
    "khronos_utime_nanoseconds_t": "typedef uint64_t khronos_utime_nanoseconds_t;",
    "khronos_stime_nanoseconds_t": "typedef int64_t khronos_stime_nanoseconds_t;",
    "EGLNativeDisplayType": "typedef void *EGLNativeDisplayType;",
    "EGLNativePixmapType": "typedef unsigned long EGLNativePixmapType;",
    "EGLNativeWindowType": "typedef unsigned long EGLNativeWindowType;",
    "NativeDisplayType": "typedef void *NativeDisplayType;",
    "NativePixmapType": "typedef unsigned long NativePixmapType;",
    "NativeWindowType": "typedef unsigned long NativeWindowType;",
    "EGLint": "typedef int EGLint;",
    "Bool": "typedef int Bool;",
    "Status": "typedef int Status;",
    "XID": "typedef unsigned long XID;",
    "Colormap": "typedef XID Colormap;",
    "Font": "typedef XID Font;",
    "Pixmap": "typedef XID Pixmap;",
    "Window": "typedef XID Window;",
    "Display": "typedef struct _XDisplay Display;",
    "Screen": "typedef struct _XScreen Screen;",
    "XVisualInfo": "typedef struct XVisualInfo XVisualInfo;",
    "DMbuffer": "typedef struct DMbufferRec *DMbuffer;",
    "DMparams": "typedef struct DMparamsRec DMparams;",
    "VLServer": "typedef struct VLServerRec *VLServer;",
    "VLPath": "typedef int VLPath;",
    "VLNode": "typedef int VLNode;",
    "GLbitfield": "typedef unsigned int GLbitfield;",
    "GLboolean": "typedef unsigned char GLboolean;",
    "GLenum": "typedef unsigned int GLenum;",
    "GLfloat": "typedef float GLfloat;",
    "GLint": "typedef int GLint;",
    "GLintptr": "typedef long GLintptr;",
    "GLsizei": "typedef int GLsizei;",
    "GLsizeiptr": "typedef long GLsizeiptr;",
    "GLubyte": "typedef unsigned char GLubyte;",
    "GLuint": "typedef unsigned int GLuint;",
}

_TYPEDEF = re.compile(r"typedef\s+(.*?)\s*(\**)\s*(\w+)\s*;", re.DOTALL)


class _Types:
    """The <types> of a registry: their C text, and how a value of each is stored."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._declared: dict[str, str] = {}
        self._scalars = dict(_SCALARS)
        self._cache: dict[tuple[str, str], CType] = {}
        for name, text in _EXTERNAL.items():
            self._learn(name, text)
        for element in root.findall("types/type"):
            for apientry in element.findall("apientry"):
                apientry.tail = apientry.tail or ""
            text = "".join(element.itertext()).strip()
            name = element.get("name") or (element.findtext("name") or "").strip()
            self._declare(name, text)

    def _declare(self, name: str, text: str) -> None:
        if not name:  # a structure without <name>: its name is the last word
            name = text.rstrip("; \n").rsplit(None, 1)[-1]
        if name == "GLhandleARB":
            text = "typedef unsigned int GLhandleARB;"
        if not text:
            text = _EXTERNAL.get(name, "")
        if not text or text.startswith("#"):
            return  # includes and macros: nothing that a command's parameter is made of
        self._declared[name] = text
        self._learn(name, text)

    def _learn(self, name: str, text: str) -> None:
        self._scalars[name] = self._scalar_of(text)

    def _scalar_of(self, text: str) -> str:
        if not text.startswith("typedef"):
            return "struct"
        if re.match(r"typedef\s+enum\b", text):
            return "u32"
        if "{" in text:
            return "struct"
        match = _TYPEDEF.fullmatch(text)
        if match is None:
            return "ptr"  # a pointer to a function
        if match[2]:
            return "ptr"
        return self.scalar(match[1])

    def scalar(self, base: str) -> str:
        scalar = self._scalars.get(base)
        if scalar is None:
            scalar = "struct" if base.startswith(("struct ", "union ")) else ""
        if not scalar:
            raise InputError(f"the registry uses the type {base!r}, which it does not declare")
        return scalar

    def ctype(self, before: str, after: str) -> CType:
        """Make a CType of a declaration's text before and after the name."""
        key = (before, after)
        if key not in self._cache:
            self._cache[key] = self._parse(before, after)
        return self._cache[key]

    def _parse(self, before: str, after: str) -> CType:
        spelling = re.sub(r"\s+", " ", before).strip()
        indirection = spelling.count("*")
        if after.strip().startswith("["):
            spelling, indirection = spelling + " *", indirection + 1
        innermost = spelling.split("*", 1)[0]
        const = re.search(r"\bconst\b", innermost) is not None
        base = re.sub(r"\bconst\b", "", innermost).strip()
        base = re.sub(r"\s+", " ", base)
        shown = re.sub(r"\s*\*\s*", " *", spelling).replace("* *", "**")
        return CType(shown, base, indirection, const, self.scalar(base))

    def text(self) -> str:
        needed: dict[str, None] = {}
        for name, text in self._declared.items():
            self._need(name, text, needed)
        lines = ["#include <stddef.h>", "#include <stdint.h>"]
        lines += [self._declared.get(name) or _EXTERNAL[name] for name in needed]
        return "\n".join(lines) + "\n"

    def _need(self, name: str, text: str, needed: dict[str, None]) -> None:
        for word in re.findall(r"\w+", text):
            if word != name and word not in needed and word in _EXTERNAL:
                self._need(word, self._declared.get(word, _EXTERNAL[word]), needed)
        needed[name] = None


# ---- enumerants -------------------------------------------------------------------------------------------

_CAST = re.compile(r"\w+\(\s*\w+\s*,\s*(-?\w+)\s*\)")
_API_NAMESPACES = frozenset({"GL", "EGL", "GLX", "VG", "VGU", "TOY"})


def _number(text: str) -> int | None:
    match = _CAST.fullmatch(text.strip())
    try:
        return int(match[1] if match else text, 0)
    except ValueError:
        return None  # a string constant


def _enums(root: ElementTree.Element, api: str) -> tuple[dict[str, int], dict[str, EnumGroup]]:
    values: dict[str, int] = {}
    members: dict[str, dict[str, int]] = {}
    bitmasks: set[str] = set()
    for block in root.findall("enums"):
        shared = _block_groups(block)
        if block.get("type") == "bitmask":
            bitmasks.update(shared)
        for element in block.findall("enum"):
            name, value = element.get("name", ""), _number(element.get("value", ""))
            if value is None:
                continue
            if name not in values or element.get("api") == api:
                values[name] = value
            own = [g for g in element.get("group", "").split(",") if g]
            for group in dict.fromkeys([*own, *shared]):
                members.setdefault(group, {})[name] = value
    for element in root.findall("groups/group"):
        names = [e.get("name", "") for e in element.findall("enum")]
        members.setdefault(element.get("name", ""), {}).update((n, values[n]) for n in names if n in values)
    return values, {g: EnumGroup(g, m, g in bitmasks) for g, m in members.items()}


def _block_groups(block: ElementTree.Element) -> list[str]:
    groups = [g for g in block.get("group", "").split(",") if g]
    namespace = block.get("namespace", "")
    if not groups and namespace and namespace.upper() not in _API_NAMESPACES:
        groups = [namespace]
    return groups


# ---- features ---------------------------------------------------------------------------------------------


def _feature(element: ElementTree.Element, api: str) -> Feature:
    commands, enums = _listed(element.findall("require"))
    removed_commands, removed_enums = _listed(element.findall("remove"))
    return Feature(
        name=element.get("name", ""),
        api=api,
        number=element.get("number", ""),
        supported=tuple(word for word in element.get("supported", "").split("|") if word),
        commands=commands,
        removed_commands=removed_commands,
        enums=enums,
        removed_enums=removed_enums,
    )


def _listed(blocks: Iterable[ElementTree.Element]) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    commands: dict[str, dict[str, None]] = {}
    enums: dict[str, dict[str, None]] = {}
    for block in blocks:
        profile = block.get("profile", "")
        if profile == "common":
            profile = ""  # ES 1.1 common, beside the common-lite that nothing implements
        for child in block:
            into = {"command": commands, "enum": enums}.get(child.tag)
            if into is not None:
                into.setdefault(profile, {})[child.get("name", "")] = None
    return ({k: tuple(v) for k, v in commands.items()}, {k: tuple(v) for k, v in enums.items()})


def _providers(features: Iterable[Feature]) -> dict[str, dict[str, None]]:
    providers: dict[str, dict[str, None]] = {}
    for feature in features:
        for names in feature.commands.values():
            for name in names:
                providers.setdefault(name, {})[feature.name] = None
    return providers


# ---- commands ---------------------------------------------------------------------------------------------


def _commands(
    root: ElementTree.Element,
    types: _Types,
    groups: Mapping[str, EnumGroup],
    providers: Mapping[str, Mapping[str, None]],
) -> Iterable[tuple[str, Command]]:
    for block in root.findall("commands"):
        api = block.get("namespace", "").lower()
        for element in block.findall("command"):
            proto = element.find("proto")
            if proto is None:
                raise InputError("the registry has a command without <proto>")
            name, returns = _declaration(proto, types)
            alias = element.find("alias")
            yield (
                name,
                Command(
                    name=name,
                    api=api,
                    returns=returns,
                    params=tuple(_param(p, types, groups) for p in element.findall("param")),
                    returns_group=_group(proto, returns, groups),
                    returns_class=proto.get("class"),
                    alias=None if alias is None else alias.get("name"),
                    provided_by=tuple(providers.get(name, ())),
                ),
            )


def _declaration(element: ElementTree.Element, types: _Types) -> tuple[str, CType]:
    before = [element.text or ""]
    for child in element:
        if child.tag == "name":
            return (child.text or "").strip(), types.ctype("".join(before), child.tail or "")
        before += [child.text or "", child.tail or ""]
    raise InputError(f"the registry has a declaration without a name: {''.join(before)}")


def _param(element: ElementTree.Element, types: _Types, groups: Mapping[str, EnumGroup]) -> Param:
    name, ctype = _declaration(element, types)
    return Param(
        name=name,
        type=ctype,
        group=_group(element, ctype, groups),
        object_class=element.get("class"),
        kind=element.get("kind"),
        registry_len=element.get("len"),
    )


def _group(element: ElementTree.Element, ctype: CType, groups: Mapping[str, EnumGroup]) -> str | None:
    if ctype.scalar not in ("i32", "u32", "u64", "i64") or ctype.base == "GLboolean":
        return None
    named = [g.strip() for g in element.get("group", "").split(",") if g.strip()]
    for group in (*named, ctype.base):  # OpenVG's enumerations are types of their own
        if group in groups:
            return group
    return None
