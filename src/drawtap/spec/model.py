"""Immutable model of a graphics API: what a registry and its overlay say, in one form.

Everything that knows an API is generated from these values: the tap, the signatures inside a trace, the
reports. Nothing here reads XML (`registry` does) or writes code (`instrument.generate` does).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CType:
    """Type of a parameter or a return value, as the C header has it.

    `spelling` is the whole declaration type ("const GLfloat *"), `base` the innermost name ("GLfloat"),
    `indirection` the number of pointers, `const` whether the innermost pointee is const.
    `scalar` is how a value of `base` is stored: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 ptr void struct.
    """

    spelling: str
    base: str
    indirection: int
    const: bool
    scalar: str


# The ways to find the content behind a pointer. One of these is a pointer parameter's `data`.


@dataclass(frozen=True, slots=True)
class Array:
    """`count` elements (an expression, see `expr`) of the pointed-to type; bytes where that is void.

    `out`: the driver writes it. `actual`: expression for the count really written, evaluated after the call
    (default: `count`). `element` overrides the element's scalar kind, `group` names the enum group of the elements.
    `before`: bytes of them that lie in front of the pointer (rows that run backwards).
    """

    count: str
    out: bool = False
    actual: str | None = None
    element: str | None = None
    group: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class String:
    """Characters: up to the terminator, or `length` of them where that expression is >= 0.

    `out`: at most `capacity` characters are written by the driver; `actual` is the count after the call
    (default: up to the terminator).
    """

    length: str | None = None
    out: bool = False
    capacity: str | None = None
    actual: str | None = None


@dataclass(frozen=True, slots=True)
class Strings:
    """`count` strings; `lengths` is the parameter with their lengths (NULL or a negative entry: terminated)."""

    count: str
    lengths: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """Pixels whose extent follows from format, type, sizes and the pixel-store parameters.

    Expressions over the parameters; `dimensions` 1 to 3. `out`: written by the driver with the PACK parameters,
    otherwise read with the UNPACK parameters. With a pixel (un)pack buffer bound the pointer is an offset.
    """

    format: str
    type: str
    width: str
    height: str = "1"
    depth: str = "1"
    dimensions: int = 2
    out: bool = False
    limit: str | None = None  # never more bytes than this (robust read-backs' bufSize)


@dataclass(frozen=True, slots=True)
class CompressedImage:
    """`size` bytes of compressed image data, or an offset while a pixel (un)pack buffer is bound."""

    size: str
    out: bool = False


@dataclass(frozen=True, slots=True)
class BufferOffset:
    """An offset while a buffer is bound to `binding` (an enumerant's name), else `otherwise` describes the memory."""

    binding: str
    otherwise: Array | None = None


@dataclass(frozen=True, slots=True)
class ClientArray:
    """A vertex array in client memory or an offset into the bound array buffer; read by draws, not by this call."""


@dataclass(frozen=True, slots=True)
class AttributeList:
    """Pairs (name, value) of the pointed-to integer type up to a name equal to `terminator`.

    `valueless`: enumerants that stand alone, without a value (GLX 1.2's GLX_RGBA and its kind).
    `values`: attributes whose value is no number, each with the enum group of its value; those that are not of `group`
    do not count.
    """

    terminator: str
    valueless: tuple[str, ...] = ()
    group: str | None = None
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Struct:
    """One value of the structure type, `size` bytes (an expression; default sizeof the type)."""

    size: str | None = None
    out: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """`count` structures (an expression), each with all that its pointers and its chain of extensions lead to.

    `out`: the driver fills them in; `actual`: expression for the count really written (default: `count`).
    `stride`: bytes from one structure to the next (an expression; default: the size of the type).
    """

    count: str = "1"
    out: bool = False
    actual: str | None = None
    stride: str | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain of extending structures that begins here (`pNext`): each says its own type and the next address.

    `out`: the driver fills in the structures; their types and addresses are the program's.
    """

    out: bool = False


@dataclass(frozen=True, slots=True)
class Each:
    """`count` addresses, and behind each what `of` describes. The rules of `of` may use `index`, the place."""

    count: str
    of: Data


@dataclass(frozen=True, slots=True)
class TemplateData:
    """The content that an update of descriptors reads; `update` is an expression for its template.

    The parts that are read lie apart in memory. A recording has them one behind the other.
    """

    update: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """An address that is never looked behind: a handle, user data, a call-back. `why` says what it is."""

    why: str = "handle"


Data = (
    Array
    | String
    | Strings
    | Image
    | CompressedImage
    | BufferOffset
    | ClientArray
    | AttributeList
    | Struct
    | Tree
    | Chain
    | Each
    | TemplateData
    | Opaque
)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter. `data` is None for values, and for pointers that no rule covers yet."""

    name: str
    type: CType
    group: str | None = None  # enum group
    object_class: str | None = None  # kind of object that the value names ("texture", "buffer")
    kind: str | None = None  # the registry's `kind` attribute
    registry_len: str | None = None  # the registry's `len` attribute, unread
    data: Data | None = None
    optional: bool = False  # the registry lets a pointer be NULL

    @property
    def is_pointer(self) -> bool:
        return self.type.indirection > 0


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a command on a state path: one vocabulary for capture, analysis and extraction.

    `verb` is set, get, copy, create or delete. `path` is hierarchical with expressions as keys:
    "context.buffer[target]". `value` is the expression stored (set), the source path (copy), the parameter
    or "result" with the names (create, delete). `when` is a condition; an effect without one is the default rule.
    """

    verb: str
    path: str
    value: str | None = None
    when: str | None = None


@dataclass(frozen=True)
class Command:
    """One entry point."""

    name: str
    api: str  # gl egl glx vg vgu toy: which registry it comes from
    returns: CType
    params: tuple[Param, ...]
    returns_group: str | None = None
    returns_class: str | None = None
    returns_data: Data | None = None  # what a returned pointer points to (String for glGetString)
    alias: str | None = None
    provided_by: tuple[str, ...] = ()  # features and extensions that require it
    flags: frozenset[str] = frozenset()  # see FLAGS
    shapes: frozenset[str] = frozenset()  # see SHAPES
    effects: tuple[Effect, ...] = ()

    def param(self, name: str) -> Param:
        for p in self.params:
            if p.name == name:
                return p
        raise KeyError(f"{self.name} has no parameter {name}")

    @property
    def parameters(self) -> str:
        """The parameters as C declares them."""
        return ", ".join(f"{p.type.spelling} {p.name}" for p in self.params) or "void"

    @property
    def types(self) -> str:
        """The types of the parameters as C lists them."""
        return ", ".join(p.type.spelling for p in self.params) or "void"

    @cached_property
    def uncovered(self) -> tuple[str, ...]:
        """Names of the pointers ("return" for the result) for which no rule says what they point to."""
        names = [p.name for p in self.params if p.is_pointer and p.data is None]
        if self.returns.indirection and self.returns_data is None:
            names.append("return")
        return tuple(names)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a structure type.

    `offset` and `size` are the bytes that it takes on 64-bit Linux; `lengths` are the dimensions of a fixed array,
    `bits` the first bit and the width of a bit-field, counted from `offset`. `data` says what a pointer points to,
    `when` (an expression over the members) where that holds; the registry lets a pointer be NULL that is `optional`. A
    pointer that is `unsure` has no such rule, though the
    API ignores the pointer at times: a recorder must probe the memory before it reads. A handle that is `unsure` may
    be anything at times. A union's member is the one in use where the structure's `selector` has a value of
    `selections`.
    """

    name: str
    type: CType
    offset: int
    size: int
    lengths: tuple[int, ...] = ()
    bits: tuple[int, int] | None = None
    group: str | None = None
    object_class: str | None = None
    data: Data | None = None
    when: str | None = None
    unsure: bool = False
    optional: bool = False
    selector: str | None = None
    selections: tuple[str, ...] = ()

    @property
    def is_pointer(self) -> bool:
        return self.type.indirection > 0


@dataclass(frozen=True)
class StructType:
    """A structure or a union that commands take: its layout on 64-bit Linux and what its pointers point to.

    `stype` is the enumerant that the first member of an extensible structure has; `extends` names the structures
    in whose chains this one may stand. `returned_only`: only the driver fills it in.
    """

    name: str
    members: tuple[Member, ...]
    size: int
    align: int
    union: bool = False
    stype: str | None = None
    extends: tuple[str, ...] = ()
    returned_only: bool = False

    def member(self, name: str) -> Member:
        for each in self.members:
            if each.name == name:
                return each
        raise KeyError(f"{self.name} has no member {name}")

    @cached_property
    def uncovered(self) -> tuple[str, ...]:
        """Names of the pointers for which no rule says what they point to."""
        return tuple(m.name for m in self.members if m.is_pointer and m.data is None)

    @cached_property
    def probed(self) -> tuple[str, ...]:
        """Names of the pointers whose memory must be probed: no rule says when the API ignores them."""
        unsure = [m for m in self.members if m.is_pointer and m.unsure and m.when is None]
        return tuple(m.name for m in unsure if not isinstance(m.data, Opaque))


@dataclass(frozen=True, slots=True)
class HandleType:
    """A type whose values name objects. `object_type` is the enumerant that names the type in the API."""

    name: str
    dispatchable: bool
    parent: str | None = None
    object_type: str | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """The content of one XML file, before any overlay."""

    name: str
    commands: Mapping[str, Command]
    groups: Mapping[str, EnumGroup]
    enums: Mapping[str, int]
    features: tuple[Feature, ...]
    extensions: tuple[Feature, ...]
    typedefs: str
    origin: str
    structs: Mapping[str, StructType] = field(default_factory=dict)
    handles: Mapping[str, HandleType] = field(default_factory=dict)


# The kinds of a call, for tools that count calls and for tools that leave some out. Older recordings have none of these
# words, or none of the later ones; the reader knows them of the functions of our own APIs
# (`instrument.generate_flags`).
LATER_KINDS: Mapping[str, str] = {
    "group_begin": "begins a group of calls that has a name",
    "group_end": "ends such a group",
    "label": "names an object, or gives it a tag",
    "pass_begin": "begins a render pass",
    "pass_end": "ends a render pass",
    "commands_begin": "begins a command buffer",
    "commands_end": "ends a command buffer",
    "commands_call": "runs command buffers inside of another",
    "reset": "empties a command buffer, or takes back all that a pool gave out",
    "barrier": "orders what the GPU does with memory",
    "memory_bind": "gives memory to an image or a buffer",
    "memory_query": "asks how much memory an object needs, or which memory a device has",
    "keeps_depth": "leaves depth buffers as they are, apart from draws and clears, and the choice of depth buffers too",
}

KINDS: Mapping[str, str] = {
    "bind": "chooses what later calls are about: binds an object, uses a program",
    "framebuffer_bind": "binds a framebuffer",
    "uniform": "sets uniforms",
    "matrix": "changes a matrix",
    "compile": "compiles a shader",
    "link": "links a program, or takes one that is linked",
    "query": "asks for state",
    "create": "makes objects: as many as a parameter `n` or `range` says, else one",
    "delete": "ends objects: as many as a parameter `n` or `range` says, else one",
    "texture_upload": "hands texels over",
    "buffer_upload": "hands content of a buffer over",
    "path_upload": "hands segments of a path over",
    "indirect": "a draw whose counts lie in a buffer",
    "rectangle": "a draw of one rectangle",
    "mesh": "a draw of a grid: parameters `mode`, `i1`, `i2`, `j1`, `j2`",
    "vertex": "gives a vertex",
    "vertex_part": "gives a vertex, or what it is made of, or stands around vertices",
    "vertices_begin": "begins a primitive whose vertices are given one by one: parameter `mode`",
    "vertices_end": "ends and draws such a primitive",
    "list_call": "calls lists",
    "list_base": "says what is added to the names of lists",
    "list_delete": "deletes lists",
    "exchange": "lets OpenVG and OpenGL see each other's work",
    "leaves_nothing": "of the window system: leaves nothing behind that drawing would notice",
    **LATER_KINDS,
}

FLAGS: Mapping[str, str] = {
    "frame_end": "shows a frame (swap)",
    "swap_interval": "sets how many refreshes of the screen lie between frames: parameter `interval`",
    "finish": "waits for the GPU; ends a frame of programs that never swap",
    "flush": "submits work",
    "readback": "returns pixels; may end a frame of programs that never swap",
    "draw": "renders from vertices or pixels",
    "stateful_draw": "a draw that changes state too, or ends what another call began: never left out",
    "dispatch": "starts a compute grid",
    "list_begin": "begins a list of calls: draws up to its end are kept there, not made",
    "list_end": "ends a list of calls",
    "clear": "clears a framebuffer",
    "gpu_reads": "lets the GPU read memory that the application may have mapped",
    "make_current": "changes the thread's current context",
    "context": "creates, destroys or copies a context",
    "sync": "orders threads or contexts: gets an exact order mark",
    "upload": "hands texture or buffer content to the API",
    "error_query": "returns the error state",
    "lookup": "returns an entry point by name",
    "map": "maps memory into the application",
    "unmap": "ends a mapping or hands over part of it",
    "marker": "names or groups work for people",
    "draw_setup": "sets a client array",
    "callback": "installs an application function that the driver calls",
    "records": "goes into a command buffer: runs when that is submitted",
    "submits": "hands recorded work to the GPU",
    "blocks": "returns after a wait: its end, not its start, orders it among threads",
    **KINDS,
}

# The ways in which the player treats calls, where their flags do not say it. Shapes do not travel in recordings: the
# player has them as a table by name (`instrument.generate_flags`).
SHAPES: Mapping[str, str] = {
    "immediate": "runs at once while a display list is made, and is no part of the list",
    "listed": "goes into a display list, and can be played in the list's place",
    "repeatable": "in a list: leaves state of vertices, materials, lights and textures alone, so that it may run twice",
    "list_matrix": "in a list: changes a matrix, which is put back before the list runs twice",
    "vertex_call": "gives a vertex, whatever is on",
    "array_vertex": "gives a vertex from arrays",
    "evaluator": "gives a vertex where an evaluator of vertices is on",
    "arrays": "draws from arrays with one count: parameters `first`, `count`",
    "multi_arrays": "draws from arrays with many counts",
    "rect": "draws a rectangle from two corners",
    "pixels": "draws pixels, which are no primitives",
    "clear_object": "clears an object by its name, and not the framebuffer that is bound",
    "draw_input": "sets uniforms of the program in use, or an array of vertices: an input of draws alone",
    "keeps_images": "leaves images, framebuffers and the choice of framebuffer as they are, but for draws and clears",
    "image_upload": "hands texels over, or lets go of what an image held",
    "image_copy": "copies between images",
    "image_change": "changes images in another way: by a shader, by new storage, by letting the content go",
}


@dataclass(frozen=True, slots=True)
class EnumGroup:
    """Named values. `values` maps name to number; `bitmask` says they are or-ed together."""

    name: str
    values: Mapping[str, int] = field(default_factory=dict)
    bitmask: bool = False


@dataclass(frozen=True, slots=True)
class Feature:
    """A version of an API ("GL_VERSION_3_2") or an extension, and what it requires and removes.

    `api` is the registry's word: gl gles1 gles2 glsc2 egl glx vg vgu toy; extensions have several in `supported`.
    Each of the four maps a profile ("core", "compatibility", "" for all) to names.
    """

    name: str
    api: str
    number: str = ""
    supported: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed_commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed_enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Api:
    """A registry with its overlay applied."""

    name: str  # gl egl glx vg toy
    commands: Mapping[str, Command]
    groups: Mapping[str, EnumGroup]
    enums: Mapping[str, int]
    features: tuple[Feature, ...]
    extensions: tuple[Feature, ...]
    typedefs: str = ""  # C text that declares the types the commands use
    tables: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)  # named size tables, see `expr`
    libraries: tuple[str, ...] = ()  # sonames that export the commands
    lookups: tuple[str, ...] = ()  # commands that return entry points (eglGetProcAddress)
    origin: str = ""  # where the registry comes from, its hash and licence
    structs: Mapping[str, StructType] = field(default_factory=dict)  # aliases are keys too
    handles: Mapping[str, HandleType] = field(default_factory=dict)

    def command_set(self, api: str, version: str, profile: str = "") -> dict[str, Command]:
        """Return the commands of a version (all features of `api` up to `version`, removals applied).

        `profile` is "core", "compatibility" or "". Raises KeyError for a version that does not exist.
        """
        wanted = _number(version)
        features = [f for f in self.features if f.api == api and _number(f.number) <= wanted]
        if not any(f.number == version for f in features):
            known = ", ".join(f.number for f in self.features if f.api == api)
            raise KeyError(f"{api} has no version {version}; versions: {known}")
        names: dict[str, None] = {}
        for feature in sorted(features, key=lambda f: _number(f.number)):
            for key in ("", profile):
                names.update(dict.fromkeys(feature.commands.get(key, ())))
                if not key and not profile:
                    break
            for key in {"", profile}:
                for name in feature.removed_commands.get(key, ()):
                    names.pop(name, None)
        return {name: self.commands[name] for name in names}


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part)
